"""What the peer connection does with strangers, with a client that misbehaves, on a machine without a network, and over many lives."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import struct
import threading
from pathlib import Path
from typing import Any

import pytest
from aioice import stun

from h264_kit import recorded
from triptych.adapters.desklink.webrtc.peer import Peer
from webrtc_kit import Client, Lab, client, feeding, until

FED: dict[str, Any] = {"source": {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}, "permissions": ["view", "control"]}


async def live(made: Client, **more: Any) -> None:
    """Open, and wait until the browser shows pictures."""
    await made.open(**FED, **more)
    await made.becomes("connected")
    await made.sees("seen.frames > 5 && seen.messages.length > 0")


async def more_frames(made: Client, count: int) -> None:
    """Wait for so many more pictures."""
    shown = await made.seen("seen.frames")
    await made.sees(f"seen.frames >= {shown + count}")


def host_addresses(made: Client) -> list[tuple[str, int]]:
    """Where the engine listens over UDP."""
    fields = [params["candidate"].split() for params in made.said("session.candidate")]
    return [(field[4], int(field[5])) for field in fields if field[2] == "udp" and ":" not in field[4]]


def bad_stun(chance: random.Random, ufrag: str) -> bytes:
    """A binding request with a user name that is nearly right, and a wrong password or none."""
    request = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
    if chance.random() < 0.8:
        request.attributes["USERNAME"] = f"{ufrag}:{chance.randbytes(4).hex()}"
    if chance.random() < 0.5:
        request.attributes["PRIORITY"] = chance.getrandbits(32)
    if chance.random() < 0.8:
        request.add_message_integrity(chance.randbytes(16))
    return bytes(request)


def test_strangers_change_nothing(lab: Lab) -> None:
    async def main() -> None:
        chance = random.Random(6)
        async with client(lab) as made, feeding(made, recorded()):
            await live(made, loopback_tcp=True)
            ufrag = made.said("session.candidate")[0]["candidate"].split(" ufrag ")[1]
            targets = host_addresses(made)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.setblocking(False)
                for number in range(3000):
                    junk = chance.randbytes(chance.randrange(0, 1400))
                    first = bytes((chance.choice((0, 1, 20, 22, 23, 63, 128, 144, 200, 255)),))
                    packet = bad_stun(chance, ufrag) if number % 3 == 0 else first + junk
                    for target in targets:
                        try:
                            stranger.sendto(packet, target)
                        except BlockingIOError:
                            break
                    if number % 50 == 0:
                        await asyncio.sleep(0)
            [tcp] = [params["candidate"].split() for params in made.said("session.candidate") if " tcp " in params["candidate"]]
            callers = [await asyncio.open_connection(tcp[4], int(tcp[5])) for _ in range(40)]
            for _, writer in callers:
                writer.write(struct.pack("!H", 65535) + chance.randbytes(3000))
            await more_frames(made, 30)
            for _, writer in callers:
                writer.close()
            await more_frames(made, 30)
            assert made.transports == ["new", "connecting", "connected"]

    lab.run(main())


def test_a_client_that_says_nonsense_harms_nothing(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            await made.page.evaluate("""() => {
                channel.send(new Uint8Array(10)); channel.send(''); channel.send('{'); channel.send('null');
                channel.send('x'.repeat(200000)); channel.send(JSON.stringify({kind: 'text', text: 'x'.repeat(100000), seq: 1}));
                for (let i = 0; i < 50; i++) pc.createDataChannel('control' + i, {ordered: i % 2 == 0});
            }""")
            await made.sees("seen.messages.filter(m => m.kind === 'rejected').length >= 5")
            for line in ("nonsense", "candidate:1 1 udp 1 1.2.3.4 99999 typ host", "candidate:" + "1" * 3000):
                refused = await made.answer(made.ask("session.candidate", candidate=line))
                assert refused["error"]["code"] == "transport"
            for number in range(150):
                await made.request("session.candidate", candidate=f"candidate:{number} 1 udp 1 10.77.0.9 {number + 1000} typ host")
            await made.request("session.candidate", candidate="")
            await made.page.evaluate("say({kind: 'pointer', phase: 'move', x: 3, y: 4, button: 1, seq: 7})")
            await made.sees("seen.messages.some(m => m.kind === 'ack' && m.seq === 7)")
            await more_frames(made, 20)
            assert made.transports == ["new", "connecting", "connected"]

    lab.run(main())


ANSWER = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n"


@pytest.mark.parametrize("sdp", ["", "v=0", ANSWER, ANSWER + "m=video 9 UDP/TLS/RTP/SAVPF 102\r\nm=application 9 UDP/DTLS/SCTP x\r\n"])
def test_an_answer_that_is_none_is_refused_and_the_offer_goes_on_waiting(lab: Lab, sdp: str) -> None:
    async def main() -> None:
        async with client(lab) as made:
            await made.page.evaluate("() => { window.kept = []; window.toHost = m => window.kept.push(m); }")
            await made.open(**FED)
            async with feeding(made, recorded()):
                await made.sees("window.kept.some(m => m.sdp)")
                refused = await made.answer(made.ask("session.description", description={"type": "answer", "sdp": sdp}))
                assert refused["error"]["code"] == "transport"
                [real] = await made.seen("window.kept.filter(m => m.sdp).map(m => m.sdp)")
                await made.request("session.description", description={"type": "answer", "sdp": real})
                await made.becomes("connected")

    lab.run(main())


def test_another_certificate_than_the_answer_names_is_no_client(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made:
            await made.page.evaluate("() => { window.kept = []; window.toHost = m => window.kept.push(m); }")
            await made.open(**FED)
            async with feeding(made, recorded()):
                await made.sees("window.kept.some(m => m.sdp)")
                [real] = await made.seen("window.kept.filter(m => m.sdp).map(m => m.sdp)")
                [mark] = {line for line in real.split("\r\n") if line.startswith("a=fingerprint:sha-256 ")}
                forged = real.replace(mark, mark[:-2] + ("00" if mark[-2:] != "00" else "01"))
                await made.request("session.description", description={"type": "answer", "sdp": forged})
                await until(lambda: made.said("session.revoked"))
                assert made.said("session.revoked")[0]["code"] == "transport"
                assert made.transports[-2:] == ["failed", "closed"]

    lab.run(main())


def test_a_viewer_on_a_machine_without_a_network() -> None:
    lab = Lab(routed=False)
    try:

        async def main() -> None:
            async with client(lab) as made, feeding(made, recorded()):
                await live(made)
                assert {address for address, _ in host_addresses(made)} == {"127.0.0.1"}
                before = await made.seen("seen.frames")
                await made.request("session.restart_ice")
                await made.sees(f"seen.frames > {before + 45}")
                assert made.transports == ["new", "connecting", "connected"]

        lab.run(main())
    finally:
        lab.close()


def held() -> tuple[int, int, int]:
    """File descriptors, threads and tasks of this process."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count(), len(asyncio.all_tasks())


def test_many_lives_leave_nothing_behind(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made:

            async def life(until_state: str | None) -> None:
                await made.renew()
                await made.open(**FED, loopback_tcp=True)
                async with feeding(made, recorded(), 100):
                    if until_state is None:
                        await until(lambda: made.said("session.candidate"))
                    else:
                        await until(lambda: until_state in made.transports)
                        if until_state == "connected":
                            await made.request("session.restart_ice")
                await made.request("session.close")
                await until(lambda: made.said("session.state")[-1]["capture"] == "ended")

            async def settled(most: tuple[int, int, int]) -> None:
                deadline = asyncio.get_running_loop().time() + 5
                while any(now > then for now, then in zip(held(), most, strict=True)):
                    assert asyncio.get_running_loop().time() < deadline, (held(), most)
                    await asyncio.sleep(0.05)

            for state in ("connected", "connecting", None):
                await life(state)
            await asyncio.sleep(1.2)  # a replaced agent is kept for a second
            before = held()
            for _ in range(6):
                for state in ("connected", "connecting", None):
                    await life(state)
            await settled(before)
            assert sum(isinstance(one, Peer) for one in gc.get_objects()) <= 1

    lab.run(main(), 120)
