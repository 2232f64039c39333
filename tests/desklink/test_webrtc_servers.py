"""STUN and TURN servers: how their addresses are read, and a browser that reaches the engine through a real coturn only."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import shutil
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from h264_kit import recorded
from triptych.adapters.desklink.webrtc.servers import Server, servers
from triptych.generated.desklink.models import IceServer
from webrtc_kit import OTHER, Lab, client, feeding, until

FED: dict[str, Any] = {"source": {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}, "permissions": ["view"]}


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("stun:a.example", Server("stun:a.example", "a.example", 3478)),
        ("STUN:192.0.2.1:19302", Server("STUN:192.0.2.1:19302", "192.0.2.1", 19302)),
        ("turn:a:1", Server("turn:a:1", "a", 1, True)),
        (
            "turn:[2001:db8::1]:3478?transport=tcp",
            Server("turn:[2001:db8::1]:3478?transport=tcp", "2001:db8::1", 3478, True, "tcp", False, "u", "p"),
        ),
        ("turns:a", Server("turns:a", "a", 5349, True, "tcp", True)),
        ("turns:a?transport=tcp", Server("turns:a?transport=tcp", "a", 5349, True, "tcp", True)),
    ],
)
def test_an_address_is_read(url: str, read: Server) -> None:
    assert servers([IceServer(urls=(url,), username="u", credential="p")]) == [replace(read, username="u", credential="p")]


USELESS = ["", "http://a", "stun:", "stun:a:0", "stun:a:65536", "stun:a/b", "stun:[a]"]
USELESS += ["turns:a?transport=udp", "turn:a?transport=sctp", "turn:u@a"]


@pytest.mark.parametrize("url", USELESS)
def test_an_address_that_cannot_be_used_is_left_out_and_the_others_are_kept(url: str) -> None:
    assert [server.host for server in servers([IceServer(urls=(url, "stun:b")), IceServer(urls=("stun:c", "stun:b"))])] == ["b", "c"]


@contextlib.asynccontextmanager
async def coturn(folder: Path) -> AsyncIterator[str]:
    """A TURN and STUN server in the network; its address."""
    if shutil.which("turnserver") is None:
        pytest.skip("turnserver is not installed: apt install coturn")
    certify(folder)
    command = f"turnserver -n --listening-ip={OTHER} --relay-ip=127.0.0.1 --allow-loopback-peers --no-cli --no-dtls".split()
    command += f"--cert={folder}/certificate --pkey={folder}/key".split()
    command += f"--lt-cred-mech --user=u:p --realm=r --min-port=50000 --max-port=50099 --pidfile={folder}/pid --userdb={folder}/db".split()
    silent = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdout=silent, stderr=silent, cwd=folder)
    try:
        await until(lambda: process.returncode is not None or listens(OTHER, 3478))
        assert process.returncode is None
        yield f"{OTHER}:3478"
    finally:
        process.terminate()
        await process.wait()


def certify(folder: Path) -> None:
    """A certificate of the server's address, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "turn")]), datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    made = made.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(OTHER))]), critical=False)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "certificate").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    (folder / "key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


def listens(host: str, port: int) -> bool:
    """Whether somebody takes TCP connections there."""
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


@pytest.mark.parametrize("form", ["turn:{}?transport=udp", "turn:{}?transport=tcp", "turns:{}:5349"])
def test_a_browser_that_reaches_the_engine_through_turn_only(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", f"{tmp_path}/certificate")  # whom TLS trusts

    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            address = await stack.enter_async_context(coturn(tmp_path))
            # A relay lets in whom its owner names, and both name the relay of the other: no shorter way is open.
            servers = [{"urls": f"turn:{address}", "username": "u", "credential": "p"}]
            config = {"iceServers": servers, "iceTransportPolicy": "relay"}
            made = await stack.enter_async_context(client(lab, config=config))
            await stack.enter_async_context(feeding(made, recorded()))
            made.passes = lambda candidate: " typ relay " in candidate
            # The first server of the entry never answers; the others are used all the same.
            urls = [f"turn:{OTHER}:9?transport=udp", form.format(OTHER)]
            await made.open(**FED, ice_servers=[{"urls": urls, "username": "u", "credential": "p"}])
            await made.becomes("connected", 20)
            await made.sees("seen.frames > 30")
            remote = (await made.seen("stats()"))["remote"]
            assert (remote["candidateType"], remote["address"]) == ("relay", "127.0.0.1")
            before = await made.seen("seen.frames")
            await made.request("session.restart_ice")
            await until(lambda: len([line for line in candidates(made) if " typ relay " in line]) == 2)
            await made.sees(f"seen.frames > {before} + 60")
            assert made.transports == ["new", "connecting", "connected"]

    lab.run(main())


def test_a_server_whose_certificate_nobody_vouches_for_is_left_out(lab: Lab, tmp_path: Path) -> None:
    async def main() -> None:
        async with coturn(tmp_path) as address, client(lab) as made, feeding(made, recorded()):
            servers = [{"urls": [f"turns:{OTHER}:5349"], "username": "u", "credential": "p"}]
            servers.append({"urls": [f"turn:{address}?transport=tcp"], "username": "u", "credential": "p"})
            await made.open(**FED, ice_servers=servers)
            await made.becomes("connected")
            await until(lambda: any(" typ relay " in line for line in candidates(made)))
            assert len([line for line in candidates(made) if " typ relay " in line]) == 1

    lab.run(main())


def test_stun_gives_a_reflexive_candidate_and_all_urls_are_asked(lab: Lab, tmp_path: Path) -> None:
    async def main() -> None:
        async with coturn(tmp_path) as address, client(lab) as made, feeding(made, recorded()):
            entries = [
                {"urls": [f"stun:{OTHER}:9"]},
                {"urls": [f"stun:{address}"]},
                {"urls": [f"turn:{address}"], "username": "u", "credential": "p"},
            ]
            await made.open(**FED, ice_servers=[*entries, {"urls": [f"turn:{address}"], "username": "u", "credential": "wrong"}])
            await until(lambda: any(" typ relay " in line for line in candidates(made)))
            await made.becomes("connected")
            # What it sees of us is what we are, here: no other address is told twice.
            assert not any(" typ srflx " in line and " raddr " not in line for line in candidates(made))

    lab.run(main())


@contextlib.asynccontextmanager
async def router(server: tuple[str, int]) -> AsyncIterator[tuple[str, int]]:
    """Stands before a server as a router does that translates addresses: what passes comes from a port of its own, which is the second
    of what it gives; the first is the port where it is asked."""
    loop = asyncio.get_running_loop()
    inside, outside = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    asked: dict[bytes, Any] = {}

    def forth() -> None:
        packet, asker = inside.recvfrom(2048)
        asked[packet[8:20]] = asker
        outside.sendto(packet, server)

    def back() -> None:
        packet = outside.recv(2048)
        if (asker := asked.get(packet[8:20])) is not None:
            inside.sendto(packet, asker)

    try:
        for end, take in ((inside, forth), (outside, back)):
            end.bind((OTHER, 0))
            end.setblocking(False)
            loop.add_reader(end, take)
        yield inside.getsockname()[1], outside.getsockname()[1]
    finally:
        for end in (inside, outside):
            loop.remove_reader(end)
            end.close()


def test_behind_routers_each_server_tells_another_address_and_all_are_offered(lab: Lab, tmp_path: Path) -> None:
    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            host, port = (await stack.enter_async_context(coturn(tmp_path))).split(":")
            routers = [await stack.enter_async_context(router((host, int(port)))) for _ in range(3)]
            made = await stack.enter_async_context(client(lab))
            await stack.enter_async_context(feeding(made, recorded()))
            first, second, third = (f"stun:{OTHER}:{asked}" for asked, _ in routers)
            # Two of them are urls of one entry, the third is an entry of its own.
            await made.open(**FED, ice_servers=[{"urls": [first, f"stun:{OTHER}:9", second]}, {"urls": [third]}])
            seen = {f" {OTHER} {seen} typ srflx raddr " for _, seen in routers}
            await until(lambda: all(any(each in line for line in candidates(made)) for each in seen))
            assert sum(" typ srflx " in line for line in candidates(made)) == 3, "each once, though every address of this machine asked"
            await made.becomes("connected")

    lab.run(main())


def candidates(made: Any) -> list[str]:
    """The engine's candidates so far."""
    return [params["candidate"] for params in made.said("session.candidate")]
