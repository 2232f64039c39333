"""A client that has shaken hands, and then sends what no browser would: broken SCTP, broken RTCP; the engine goes on for the next one.

The client is aiortc's, which also shows that another implementation than the browsers' gets picture and control.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import json
import os
import random
import struct
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.rtcsctptransport import serialize_packet
from aiortc.sdp import candidate_from_sdp

from h264_kit import recorded
from triptych.adapters.desklink.host import Host
from triptych.adapters.desklink.webrtc.transport import WebRtc
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.requests import Request
from webrtc_kit import until

OPEN = {"source": {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}, "permissions": ["view", "control"]}
MOST_GROWTH_BYTES = 12 << 20


class Engine:
    """An engine in this process; `events` and `answers` are what it says."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}
        self.host = Host(self._said, greeted=True, transport=WebRtc)
        self._asked = 0

    def _said(self, effect: do.Emit) -> None:
        message = json.loads(msgspec.json.encode(effect.message))
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.events.append(message)

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._asked += 1
        number = self._asked
        self.host.request(Request(number, method, params))
        await until(lambda: number in self.answers)
        return self.answers[number]


class Peer:
    """A client of aiortc with one session of that engine. Its `dtls` sends whatever it is given."""

    def __init__(self, engine: Engine, session: str) -> None:
        self.engine = engine
        self.session = session
        self.pc = RTCPeerConnection()
        self.heard: list[dict[str, Any]] = []
        self.frames = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.channel: Any = None
        self.pc.on("track", lambda track: self._tasks.append(asyncio.get_running_loop().create_task(self._watch(track))))
        self.pc.on("datachannel", self._opened)

    def _opened(self, channel: Any) -> None:
        self.channel = channel
        channel.on("message", lambda text: self.heard.append(json.loads(text)))

    async def _watch(self, track: Any) -> None:
        with contextlib.suppress(Exception):  # it ends with the connection
            while True:
                await track.recv()
                self.frames += 1

    @property
    def dtls(self) -> Any:
        return self.pc.sctp.transport

    async def _feed(self) -> None:
        units = recorded()
        at = asked = 0
        while True:
            wanted = sum(event["event"] == "session.keyframeRequest" for event in self.engine.events)
            at = 0 if wanted != asked else at
            asked = wanted
            unit = base64.b64encode(units[at % len(units)]).decode()
            await self.engine.ask("session.feed", session_id=self.session, keyframe=False, data_b64=unit)
            at += 1
            await asyncio.sleep(1 / 30)

    async def connect(self) -> None:
        """Answer the offer, and wait for the control channel and a picture."""
        self._tasks.append(asyncio.get_running_loop().create_task(self._feed()))
        await until(lambda: self._offer() is not None)
        await self.pc.setRemoteDescription(RTCSessionDescription(self._offer(), "offer"))
        await self.pc.setLocalDescription(await self.pc.createAnswer())
        await until(lambda: any(event["event"] == "session.candidate" for event in self.engine.events))
        mine = [event["params"] for event in self.engine.events if event["params"].get("sessionId") == self.session]
        for params in mine:
            if "candidate" in params:
                candidate = candidate_from_sdp(params["candidate"].split(":", 1)[1])
                candidate.sdpMid, candidate.sdpMLineIndex = params["sdpMid"], params["sdpMLineIndex"]
                await self.pc.addIceCandidate(candidate)
        description = {"type": "answer", "sdp": self.pc.localDescription.sdp}
        answered = await self.engine.ask("session.description", session_id=self.session, description=description)
        assert answered.get("result") == {"accepted": True}, answered
        await until(lambda: any(message["kind"] == "hello" for message in self.heard))

    def _offer(self) -> str | None:
        offers = [
            event["params"]["description"]["sdp"]
            for event in self.engine.events
            if event["event"] == "session.description" and event["params"]["sessionId"] == self.session
        ]
        return offers[-1] if offers else None

    async def clicks(self, seq: int) -> None:
        """Say something, and wait until it is acknowledged."""
        self.channel.send(json.dumps({"kind": "pointer", "phase": "move", "x": 1, "y": 2, "seq": seq}))
        await until(lambda: any(message["kind"] == "ack" and message["seq"] == seq for message in self.heard))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self.pc.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def engine() -> AsyncIterator[Engine]:
    made = Engine()
    try:
        yield made
    finally:
        made.host.shutdown()
        await asyncio.wait_for(made.host.finished.wait(), 10)
    assert made.host.failure is None


@contextlib.asynccontextmanager
async def peer(made: Engine) -> AsyncIterator[Peer]:
    opened = await made.ask("session.open", **OPEN)
    client = Peer(made, opened["result"]["sessionId"])
    try:
        await client.connect()
        yield client
    finally:
        await client.close()


def sctp_junk(chance: random.Random, sctp: Any) -> bytes:
    """An SCTP packet with the right tag and checksum, and chunks of any kind but those that honestly end the association."""
    kinds = [kind for kind in (*range(16), 64, 128, 130, 132, 192, 193, 194, 255) if kind not in (6, 7, 8, 14)]
    kind, flags = chance.choice(kinds), chance.choice((0, 1, 2, 3, 4, 7, 255))
    body = chance.randbytes(chance.randrange(0, 200))
    if kind == 0:  # data: pieces that never become a message, on streams that are not there
        tsn = (sctp._local_tsn + chance.randrange(-4, 4000)) & 0xFFFFFFFF
        body = struct.pack("!LHHL", tsn, chance.choice((0, 1, 2, 65535)), chance.getrandbits(16), chance.choice((0, 50, 51, 53))) + body
        flags = chance.choice((0, 1, 4, 5))  # never whole
    if kind == 3:  # acknowledges what was never sent
        body = (
            struct.pack("!LLHH", chance.getrandbits(32), chance.choice((0, 1, 0xFFFFFFFF)), chance.randrange(40), chance.randrange(9))
            + body
        )
    length = chance.choice((4 + len(body), 4 + len(body), 4 + len(body), chance.getrandbits(16)))
    chunk = struct.pack("!BBH", kind, flags, length) + body + bytes(-len(body) % 4)

    class Raw:
        def __bytes__(self) -> bytes:
            return chunk

    try:
        return bytes(serialize_packet(sctp._local_port, sctp._remote_port, sctp._remote_verification_tag, Raw()))
    except Exception:  # the library of the client will not even write it
        return os.urandom(64)


def rtcp_junk(chance: random.Random) -> bytes:
    """RTCP whose length may lie, and which may ask for anything."""
    body = chance.randbytes(4 * chance.randrange(1, 60))
    words = chance.choice((len(body) // 4, len(body) // 4, chance.getrandbits(16)))
    return struct.pack("!BBH", 0x80 | chance.getrandbits(5), chance.choice((200, 201, 202, 203, 204, 205, 206, 207)), words) + body


def test_what_a_client_sends_inside_its_own_encryption_costs_nobody_else_anything() -> None:
    async def main() -> None:
        chance = random.Random(6)
        async with engine() as made:
            async with peer(made) as hostile:
                await hostile.clicks(1)
                await until(lambda: hostile.frames > 5)
                gc.collect()
                tracemalloc.start()
                try:
                    before = tracemalloc.get_traced_memory()[0]
                    for number in range(3000):
                        with contextlib.suppress(ConnectionError):
                            if number % 3:
                                await hostile.dtls._send_data(sctp_junk(chance, hostile.pc.sctp))
                            else:
                                await hostile.dtls._send_rtp(rtcp_junk(chance))
                        if number % 20 == 0:
                            await asyncio.sleep(0.001)
                    answered = await made.ask("session.metrics")
                    assert "result" in answered, answered
                    gc.collect()
                    assert tracemalloc.get_traced_memory()[0] - before < MOST_GROWTH_BYTES
                finally:
                    tracemalloc.stop()
            # Whoever comes next finds the engine as it was.
            async with peer(made) as honest:
                await honest.clicks(1)
                await until(lambda: honest.frames > 5)
                states = [event["params"]["transport"] for event in made.events if event["event"] == "session.state"]
                assert states[-1] == "connected"

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_client_that_opens_channels_of_its_own_is_heard_on_none_of_them() -> None:
    async def main() -> None:
        async with engine() as made, peer(made) as client:
            others = [client.pc.createDataChannel("control", ordered=False) for _ in range(20)]
            await asyncio.sleep(0)  # they are announced by a task
            await client.clicks(1)
            # What is ordered after them has come, and nobody answered: nothing can be said on a channel that never opens.
            assert {other.readyState for other in others} == {"connecting"}
            assert [event["params"]["input"]["seq"] for event in made.events if event["event"] == "session.input"] == [1]

    asyncio.run(asyncio.wait_for(main(), 60))
