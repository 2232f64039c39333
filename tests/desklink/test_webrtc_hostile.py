"""A real engine process, and a client of it that breaks every rule it can: the engine, its memory and its honest sessions stand."""

from __future__ import annotations

import asyncio
import binascii
import os
import socket
import struct
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from aioice import stun

from hostile_kit import Viewer, chunk, data, engine, viewing
from triptych.adapters.desklink.encoder import encoder_name
from triptych.adapters.display import PrivateDisplay
from webrtc_kit import Network, until

pytestmark = [
    pytest.mark.display,
    pytest.mark.skipif(encoder_name() is None, reason="no libvpx: apt install libvpx7"),
]
MUCH_BYTES = 48 << 20
"""More memory than an attack may cost."""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """One for the module."""
    made = Network()
    yield made
    made.close()


def attacked(network: Network, display: PrivateDisplay, attack: Callable[[Viewer], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Let a client attack; then it works as before, in bounds."""

    async def main() -> None:
        async with engine(display.env) as made, viewing(made, display.name, **options) as viewer:
            await viewer.works(1)
            before, ran, said = made.resident, made.cpu, len(made.errors)
            await attack(viewer)
            await viewer.works(2)
            assert made.resident - before < MUCH_BYTES
            assert made.cpu - ran < 3
            assert len(made.errors) - said < 4096, made.errors[said : said + 2000]
            assert not made.events("session.revoked")

    network.run(main(), 60)


async def a_parameter_without_a_length(viewer: Viewer) -> None:
    await viewer.chunks(chunk(4, struct.pack("!HH", 1, 0) + bytes(8)))
    await viewer.chunks(chunk(130, bytes(12)))


async def gaps_over_everything(viewer: Viewer) -> None:
    gaps = struct.pack("!HH", 1, 65535) * 280
    for _ in range(5):
        await viewer.chunks(chunk(3, struct.pack("!LLHH", viewer.sctp._last_received_tsn, 1 << 20, 280, 0) + gaps))


async def pieces_out_of_turn(viewer: Viewer) -> None:
    first = viewer.sctp._local_tsn + 5
    for number in range(300):
        pieces = (data(first + 2 * (60 * number + place), b"x", viewer.channel.id, flags=0) for place in range(60))
        await viewer.chunks(*pieces)
        await asyncio.sleep(0)


async def pieces_of_other_channels(viewer: Viewer) -> None:
    first = viewer.sctp._local_tsn + 5
    for number in range(300):
        places = range(60 * number, 60 * number + 60)
        await viewer.chunks(*(data(first + 2 * place, b"x", place | 1024, flags=2) for place in places))
        await asyncio.sleep(0)


async def heartbeats(viewer: Viewer) -> None:
    for _ in range(50):
        await viewer.chunks(chunk(4) * 250)


async def reports_that_are_long_work(viewer: Viewer) -> None:
    feedback = struct.pack("!BBHIIHH", 0x8F, 205, 5, 7, 1, 0, 4096) + bytes(4) + b"\x10\0\0\0"
    for _ in range(300):
        await viewer.rtcp(feedback * 55)
    loss = struct.pack("!BBHII", 0x81, 206, 2, 7, 1)
    for _ in range(50):
        await viewer.rtcp(loss * 100)


async def packets_longer_than_any(viewer: Viewer) -> None:
    await viewer.ice.send(b"\x80\x62" + bytes(3000))
    await viewer.ice.send(b"\x80\xc8" + bytes(9000))
    await viewer.ice.send(b"\x16\xfe\xfd" + bytes(9000))


async def messages_made_to_be_long_work(viewer: Viewer) -> None:
    """Each fingerprint in it is right, so that all are computed, each over all before it."""
    name = f"{viewer.ice.remote_username}:abcd".encode()
    body, number = struct.pack("!HH", 6, len(name)) + name + bytes(-len(name) % 4), os.urandom(12)
    while len(body) < 50_000:
        head = struct.pack("!HHI", 1, len(body) + 8, stun.COOKIE) + number
        body += struct.pack("!HHI", 0x8028, 4, binascii.crc32(head + body) ^ stun.FINGERPRINT_XOR)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for _ in range(20):
            stranger.sendto(struct.pack("!HHI", 1, len(body), stun.COOKIE) + number + body, viewer.addresses()[0])
            await asyncio.sleep(0.01)


async def a_conflict_of_roles_for_ever(viewer: Viewer) -> None:
    """Each check is answered with a signed "you have my role"."""
    told = 0

    def conflict(message: stun.Message, address: tuple[str, int], protocol: Any) -> None:
        nonlocal told
        told += 1
        viewer.ice.respond_error(message, address, protocol, (487, "Role Conflict"))

    viewer.ice.request_received = conflict  # type: ignore[method-assign]  # an attacker's
    await viewer.engine.ask("session.restart_ice", session_id=viewer.session)
    description = {"type": "answer", "sdp": viewer.answer()}
    await viewer.engine.ask("session.description", session_id=viewer.session, description=description)
    for candidate in viewer.ice.local_candidates:
        await viewer.engine.ask("session.candidate", session_id=viewer.session, candidate=f"candidate:{candidate.to_sdp()}")
    await until(lambda: told >= 5)
    before = told
    await asyncio.sleep(1)
    assert told - before < 100
    del viewer.ice.request_received


@pytest.mark.parametrize(
    "attack",
    [
        a_parameter_without_a_length,
        gaps_over_everything,
        pieces_out_of_turn,
        pieces_of_other_channels,
        heartbeats,
        reports_that_are_long_work,
        packets_longer_than_any,
        messages_made_to_be_long_work,
        a_conflict_of_roles_for_ever,
    ],
)
def test_a_client_that_attacks_gains_nothing(
    network: Network, bare_display: PrivateDisplay, attack: Callable[[Viewer], Coroutine[Any, Any, None]]
) -> None:
    attacked(network, bare_display, attack)


def test_a_check_over_tcp_that_lacks_what_it_must_have(network: Network, bare_display: PrivateDisplay) -> None:
    async def attack(viewer: Viewer) -> None:
        await viewer.engine.ask("session.restart_ice", session_id=viewer.session)
        ours = dict(line[2:].split(":", 1) for line in viewer.offer.split("\r\n") if line.startswith("a=ice-"))
        tcp = [event["candidate"].split() for event in viewer.engine.events("session.candidate") if " tcp " in event["candidate"]][-1]
        _, writer = await asyncio.open_connection(tcp[4], int(tcp[5]))
        check = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
        check.attributes["USERNAME"] = f"{ours['ice-ufrag']}:{viewer.ice.local_username}"
        check.add_message_integrity(ours["ice-pwd"].encode())
        description = {"type": "answer", "sdp": viewer.answer()}
        await viewer.engine.ask("session.description", session_id=viewer.session, description=description)
        # A candidate of another component, at the very address that the checks come from.
        line = f"candidate:1 2 udp 5 127.0.0.1 {writer.get_extra_info('sockname')[1]} typ host"
        await viewer.engine.ask("session.candidate", session_id=viewer.session, candidate=line)
        for more in ({}, {"PRIORITY": 5}):
            check.attributes = {**check.attributes, **more}
            check.add_message_integrity(ours["ice-pwd"].encode())
            writer.write(struct.pack("!H", len(bytes(check))) + bytes(check))
        await asyncio.sleep(0.6)  # past the time for which TCP waits for UDP
        writer.close()

    attacked(network, bare_display, attack, loopback_tcp=True)


def test_a_client_that_closes_dtls_and_nothing_else_costs_its_session(network: Network, bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with engine(bare_display.env) as made:
            async with viewing(made, bare_display.name) as viewer:
                await viewer.works(1)
                await viewer.dtls.stop()
                await until(lambda: made.events("session.revoked"))
                await until(lambda: made.events("session.state", viewer.session)[-1]["capture"] == "ended")
            # The next client finds an engine that works.
            async with viewing(made, bare_display.name) as viewer:
                await viewer.works(1)

    network.run(main(), 60)


def test_input_that_would_wait_for_minutes_is_rejected(network: Network, bare_display: PrivateDisplay) -> None:
    async def attack(viewer: Viewer) -> None:
        async def rejected() -> bool:
            first, viewer.sctp._local_tsn = viewer.sctp._local_tsn, viewer.sctp._local_tsn + 1
            text = b'{"kind":"text","text":"%s","seq":%d}' % (b"ab" * 500, 100 + first % 100_000)
            await viewer.chunks(data(first, text, viewer.channel.id, flags=7))
            return any(message["kind"] == "rejected" and message["code"] == "operation" for message in viewer.messages)

        for number in range(3000):
            if await rejected():
                return
            if number % 4 == 0:
                await asyncio.sleep(0.002)
        raise AssertionError("everything is taken")

    async def main() -> None:
        async with engine(bare_display.env) as made, viewing(made, bare_display.name) as viewer:
            await viewer.works(1)
            await attack(viewer)
            await made.ask("session.close", session_id=viewer.session)
            await until(lambda: made.events("session.state", viewer.session)[-1]["capture"] == "ended", 5)

    network.run(main(), 60)
