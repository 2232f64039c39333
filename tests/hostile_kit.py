"""A real engine process, and a client of it whose every packet is in the test's hands: honest, until the test says something else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import struct
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aioice
from aiortc.rtcdtlstransport import RTCCertificate, RTCDtlsFingerprint, RTCDtlsParameters, RTCDtlsTransport
from aiortc.rtcsctptransport import RTCSctpCapabilities, RTCSctpTransport
from google_crc32c import value as crc32c

from desklink_kit import SERVE
from webrtc_kit import until

ANSWER = """v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0 1
m=video 9 UDP/TLS/RTP/SAVPF 98 99
c=IN IP4 0.0.0.0
a=mid:0
a=ice-ufrag:{ufrag}
a=ice-pwd:{pwd}
a=fingerprint:sha-256 {fingerprint}
a=setup:active
a=recvonly
a=rtcp-mux
a=rtcp-rsize
a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
a=rtpmap:98 VP9/90000
a=rtcp-fb:98 nack
a=rtcp-fb:98 nack pli
a=rtcp-fb:98 ccm fir
a=rtcp-fb:98 transport-cc
a=rtpmap:99 rtx/90000
a=fmtp:99 apt=98
m=application 9 UDP/DTLS/SCTP webrtc-datachannel
c=IN IP4 0.0.0.0
a=mid:1
a=ice-ufrag:{ufrag}
a=ice-pwd:{pwd}
a=fingerprint:sha-256 {fingerprint}
a=setup:active
a=sctp-port:5000
a=max-message-size:262144
"""


class Engine:
    """`triptych desktop serve` as a process, driven as a consumer does."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[dict[str, Any]] = []
        self.errors = b""
        self._asked = 0
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._read()), loop.create_task(self._complain())]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.said.append(json.loads(line))

    async def _complain(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(1 << 16):
            self.errors += data

    def send(self, method: str, **params: Any) -> int:
        """Send a request; its number."""
        assert self.process.stdin is not None
        self._asked += 1
        self.process.stdin.write(json.dumps({"id": self._asked, "method": method, "params": params}).encode() + b"\n")
        return self._asked

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and wait for what it is answered, an `error` too."""
        number = self.send(method, **params)
        await until(lambda: any(message.get("id") == number for message in self.said) or self.process.returncode is not None)
        assert self.process.returncode is None, self.errors.decode()
        return next(message for message in self.said if message.get("id") == number)

    def events(self, name: str, session: str = "") -> list[dict[str, Any]]:
        """The params of the events of that name, of that session when one is named."""
        found = [message["params"] for message in self.said if message.get("event") == name]
        return [params for params in found if session in ("", params["sessionId"])]

    @property
    def resident(self) -> int:
        """Its memory in bytes."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    @property
    def cpu(self) -> float:
        """The seconds for which it has run on a processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def close(self) -> int | None:
        """End it; its exit status, and all that it wrote to stderr is in `errors`."""
        assert self.process.stdin is not None
        if self.process.returncode is None:
            with contextlib.suppress(ConnectionError):
                self.process.stdin.write(b'{"method":"shutdown"}\n')
                await self.process.stdin.drain()
            try:
                await asyncio.wait_for(self.process.wait(), 10)
            except TimeoutError:
                self.process.kill()
        await asyncio.gather(*self._tasks)
        self.process.stdin.close()
        return await self.process.wait()


@contextlib.asynccontextmanager
async def engine(env: dict[str, str]) -> AsyncIterator[Engine]:
    """An engine that must not break, whatever happens to its sessions."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVE, env=env, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 24, process_group=0
    )
    made = Engine(process)
    try:
        await made.ask("hello", protocol=3)
        yield made
        assert process.returncode is None, made.errors.decode()
    finally:
        status = await made.close()
    assert status == 0, made.errors.decode()
    assert b"engine failed" not in made.errors, made.errors.decode()


class _Path:
    """What DTLS takes for its transport."""

    role = "controlled"

    def __init__(self, ice: aioice.Connection) -> None:
        self._recv, self._send = ice.recv, ice.send


class _Dtls(RTCDtlsTransport):
    def __init__(self, viewer: Viewer, certificate: RTCCertificate) -> None:
        super().__init__(_Path(viewer.ice), [certificate])
        self._viewer = viewer

    async def _handle_rtp_data(self, data: bytes, arrival_time_ms: int) -> None:
        self._viewer.packets.append(data)

    async def _handle_rtcp_data(self, data: bytes) -> None:
        self._viewer.reports.append(data)


class Viewer:
    """One client. `packets` and `reports` are the RTP and RTCP that came, decrypted; `messages` what the control channel said."""

    def __init__(self, made: Engine, session: str) -> None:
        self.engine, self.session = made, session
        self.packets: list[bytes] = []
        self.reports: list[bytes] = []
        self.messages: list[dict[str, Any]] = []
        self.channel: Any = None
        self.ice = aioice.Connection(ice_controlling=False)
        certificate = RTCCertificate.generateCertificate()
        self.fingerprint = next(mark.value for mark in certificate.getFingerprints() if mark.algorithm == "sha-256")
        self.dtls = _Dtls(self, certificate)
        self.sctp = RTCSctpTransport(self.dtls)
        self.sctp.on("datachannel", self._opened)

    def _opened(self, channel: Any) -> None:
        self.channel = channel
        channel.on("message", lambda text: self.messages.append(json.loads(text)))

    @property
    def offer(self) -> str:
        """The newest."""
        text: str = self.engine.events("session.description", self.session)[-1]["description"]["sdp"]
        return text

    def answer(self) -> str:
        """The honest answer."""
        lines = ANSWER.format(ufrag=self.ice.local_username, pwd=self.ice.local_password, fingerprint=self.fingerprint)
        return lines.replace("\n", "\r\n")

    async def connect(self) -> None:
        """Answer honestly, and wait for pictures and for the control channel's first words."""
        await until(lambda: self.engine.events("session.candidate", self.session))
        offer = dict(line[2:].split(":", 1) for line in self.offer.split("\r\n") if line.startswith("a=") and ":" in line)
        self.ice.remote_username, self.ice.remote_password = offer["ice-ufrag"], offer["ice-pwd"]
        await self.ice.gather_candidates()
        answered = await self.engine.ask(
            "session.description", session_id=self.session, description={"type": "answer", "sdp": self.answer()}
        )
        assert "result" in answered, answered
        for candidate in self.ice.local_candidates:
            line = f"candidate:{candidate.to_sdp()}"
            await self.engine.ask("session.candidate", session_id=self.session, candidate=line, sdp_mid="0", sdp_m_line_index=0)
        for params in self.engine.events("session.candidate", self.session):
            text = params["candidate"].removeprefix("candidate:")
            if " udp " in text:
                await self.ice.add_remote_candidate(aioice.Candidate.from_sdp(text.partition(" generation ")[0]))
        await asyncio.wait_for(self.ice.connect(), 10)
        self.dtls._set_role("client")
        mark, value = offer["fingerprint"].split(" ")
        await asyncio.wait_for(self.dtls.start(RTCDtlsParameters([RTCDtlsFingerprint(mark, value)])), 10)
        assert self.dtls.state == "connected"
        await self.sctp.start(RTCSctpCapabilities(262144), 5000)
        await until(lambda: self.packets and any(message["kind"] == "hello" for message in self.messages))

    # What a client may send

    def addresses(self) -> list[tuple[str, int]]:
        """Where the engine listens over UDP and IPv4."""
        fields = [params["candidate"].split() for params in self.engine.events("session.candidate", self.session)]
        return [(field[4], int(field[5])) for field in fields if field[2] == "udp" and ":" not in field[4]]

    async def chunks(self, *chunks: bytes, tag: int | None = None) -> None:
        """Send one SCTP packet with these chunks, whatever they are."""
        head = struct.pack("!HHL", 5000, 5000, self.sctp._remote_verification_tag if tag is None else tag)
        body = b"".join(chunks)
        checked = head + bytes(4) + body
        await self.dtls._send_data(head + struct.pack("<L", crc32c(checked)) + body)

    async def rtcp(self, packet: bytes) -> None:
        """Send an RTCP datagram."""
        await self.ice.send(self.dtls._tx_srtp.protect_rtcp(packet))

    def say(self, **message: Any) -> None:
        """Send a control message."""
        self.channel.send(json.dumps(message))

    async def works(self, seq: int) -> None:
        """The session does what it should: input is acknowledged, heartbeats come."""
        self.say(kind="pointer", phase="move", x=5, y=6, button=1, seq=seq)
        await until(lambda: any(message["kind"] == "ack" and message["seq"] == seq for message in self.messages))

    async def close(self) -> None:
        """Go."""
        await self.sctp.stop()
        await self.dtls.stop()
        await self.ice.close()


@contextlib.asynccontextmanager
async def viewing(made: Engine, display: str, **more: Any) -> AsyncIterator[Viewer]:
    """A session, and its client."""
    source = {"kind": "x11", "display": display}
    opened = await made.ask("session.open", source=source, permissions=["view", "control"], **more)
    viewer = Viewer(made, opened["result"]["sessionId"])
    try:
        await viewer.connect()
        yield viewer
    finally:
        await viewer.close()


def chunk(kind: int, body: bytes = b"", flags: int = 0, length: int | None = None) -> bytes:
    """One SCTP chunk; `length` is what it says of itself."""
    said = 4 + len(body) if length is None else length
    return struct.pack("!BBH", kind, flags, said) + body + bytes(-len(body) % 4)


def data(tsn: int, payload: bytes, stream: int = 0, seq: int = 0, flags: int = 3, protocol: int = 51) -> bytes:
    """One DATA chunk: unordered 4, first piece 2, last piece 1."""
    return chunk(0, struct.pack("!LHHL", tsn & 0xFFFFFFFF, stream, seq, protocol) + payload, flags)


Attack = Callable[[Viewer], Any]
