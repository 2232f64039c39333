"""The host of the engine core: what one effect takes away from another, a peer connection that breaks, an engine that breaks."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from triptych.adapters.desklink.host import Host
from triptych.adapters.desklink.overlay import Overlay
from triptych.adapters.desklink.transport import NoTransport, Reports
from triptych.adapters.display import PrivateDisplay
from triptych.engine.desktop_channel import Channel
from triptych.errors import RemoteProtocolError
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.engine import Engine
from triptych.machines.desklink.requests import Request
from triptych.machines.desklink.rtp_h264 import Packetizer

FED = {"source": {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}, "permissions": ["view"]}
NOBODY = {"source": {"kind": "x11", "display": ":998"}, "permissions": ["view"]}


def with_host(
    act: Callable[[Host], Awaitable[None]], look: Callable[[dict[str, Any]], None] = lambda _: None, **options: Any
) -> list[dict[str, Any]]:
    """What a host said from its start to the end of its shutdown, each message shown to `look` first; it must not break."""
    said: list[dict[str, Any]] = []

    def take(effect: do.Emit) -> None:
        look(effect.message)
        said.append(effect.message)

    async def main() -> None:
        host = Host(take, greeted=True, **options)
        await act(host)
        host.shutdown()
        await asyncio.wait_for(host.finished.wait(), 60)
        assert host.failure is None

    asyncio.run(main())
    return said


def test_a_copy_that_is_dropped_before_it_is_written_is_not_written(tmp_path: Path) -> None:
    async def act(host: Host) -> None:
        host._copies[5] = b"pixels"
        host._do(do.WriteFrame("s", 5, str(tmp_path / "f"), 1))
        host._do(do.DropFrame(5))
        await asyncio.sleep(0)

    with_host(act)
    assert list(tmp_path.iterdir()) == []


def test_an_end_in_the_same_turn_as_an_open() -> None:
    async def act(host: Host) -> None:
        host.request(Request(1, "session.open", NOBODY))

    [refused] = with_host(act)
    assert (refused["id"], refused["error"]["code"]) == (1, "session")


@pytest.mark.display
def test_an_end_in_the_turn_in_which_the_indicator_is_to_start(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XAUTHORITY", bare_display.env["XAUTHORITY"])
    asked = {"source": {"kind": "x11", "display": bare_display.name}, "permissions": ["view"]}
    results: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def act(host: Host) -> None:
        host.request(Request(1, "session.open", asked))
        session = (await asyncio.wait_for(results.get(), 20))["sessionId"]
        host._do(do.StartIndicator(session))
        host.request(Request(2, "session.close", {"session_id": session}))
        await asyncio.wait_for(results.get(), 20)

    with_host(act, lambda message: results.put_nowait(message["result"]) if "result" in message else None)


class Broken(NoTransport):
    """A peer connection that cannot be built."""

    async def start(self, session_id: str, plan: do.PeerPlan) -> None:
        raise OSError("no socket")

    async def signal(self, session_id: str, kind: str, params: Any) -> None:
        raise OSError("no socket")


class Stuck(NoTransport):
    """A peer connection that refuses to be built, and cannot be closed."""

    async def start(self, session_id: str, plan: do.PeerPlan) -> None:
        raise RemoteProtocolError("transport", "no codec in common")

    async def close(self, session_id: str) -> None:
        raise RuntimeError("already closed")


@pytest.mark.display
@pytest.mark.parametrize(("transport", "reason"), [(Broken, "no socket"), (Stuck, "no codec in common")])
def test_a_peer_connection_that_breaks_costs_its_session_only(
    bare_display: PrivateDisplay, transport: type[NoTransport], reason: str
) -> None:
    source = {"source": {"kind": "x11", "display": bare_display.name}, "permissions": ["view"]}
    ended = asyncio.Event()

    async def act(host: Host) -> None:
        for number in (1, 2):
            ended.clear()
            host.request(Request(number, "session.open", source))
            await asyncio.wait_for(ended.wait(), 60)

    def look(message: dict[str, Any]) -> None:
        if message.get("event") == "session.state" and message["params"]["capture"] == "ended":
            ended.set()

    said = with_host(act, look, transport=transport)
    assert [message["result"]["source"]["kind"] for message in said if "id" in message] == ["x11-root"] * 2
    revoked = [message["params"] for message in said if message.get("event") == "session.revoked"]
    assert [(event["code"], reason in event["reason"]) for event in revoked] == [("transport", True)] * 2


def test_signalling_that_breaks_is_refused() -> None:
    class Deaf(NoTransport):
        async def signal(self, session_id: str, kind: str, params: Any) -> None:
            raise OSError("no socket")

    async def act(host: Host) -> None:
        host.request(Request(1, "session.open", FED))
        host.request(Request(2, "session.candidate", {"session_id": opened[0]["result"]["sessionId"], "candidate": ""}))
        await asyncio.wait_for(answered.wait(), 60)

    opened: list[dict[str, Any]] = []
    answered = asyncio.Event()

    def look(message: dict[str, Any]) -> None:
        opened.append(message)
        if message.get("id") == 2:
            answered.set()

    [answer] = [message for message in with_host(act, look, transport=Deaf) if message.get("id") == 2]
    assert answer["error"]["code"] == "transport"


class Bug(Exception):
    pass


def bug(*_: object, **__: object) -> list[do.Effect]:
    raise Bug


def test_what_breaks_the_engine_reaches_whoever_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        channel = Channel(None, None)
        opened = await channel.ask("session.open", FED)
        monkeypatch.setattr(Engine, "signalled", bug)
        waiting = asyncio.create_task(channel.ask("session.candidate", {"session_id": opened["sessionId"], "candidate": ""}))
        with pytest.raises(Bug):
            await asyncio.wait_for(waiting, 5)
        with pytest.raises(Bug):
            await channel.ask("session.metrics", {})
        with pytest.raises(Bug):
            await channel.close()

    asyncio.run(main())


def test_a_callback_that_breaks_ends_a_waiting_control(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        channel = Channel(None, None)
        await channel.ask("session.open", FED)
        pending: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        channel._host._callers[7] = pending
        monkeypatch.setattr(Engine, "tick", bug)
        channel._host.guarded(channel._host._tick)
        with pytest.raises(Bug):
            await asyncio.wait_for(pending, 5)
        with pytest.raises(Bug):
            await channel.close()

    asyncio.run(main())


class Peer(NoTransport):
    """A peer connection that is there as soon as it is built, and keeps the packets that it is given."""

    def __init__(self, reports: Reports) -> None:
        self.reports = reports
        self.built = asyncio.Event()
        self.plan: do.PeerPlan | None = None
        self.forced = 0
        self.said: list[dict[str, Any]] = []
        self.packets: list[bytes] = []
        self.rtp = Packetizer(ssrc=1, sequence=65530, timestamp=7)

    async def start(self, session_id: str, plan: do.PeerPlan) -> None:
        self.plan = plan
        self.built.set()
        self.reports.described(session_id, "v=0")
        self.reports.gathered(session_id, "candidate:1", "0", 0)

    async def signal(self, session_id: str, kind: str, params: Any) -> None:
        asyncio.get_running_loop().call_soon(self.reports.path_up, session_id)

    def force_keyframe(self, session_id: str) -> None:
        self.forced += 1

    async def send_unit(self, session_id: str, unit: bytes, at: float) -> int:
        if unit.endswith(b"refused"):
            raise RemoteProtocolError("transport", "the connection refused a packet")
        made = self.rtp.packets(unit, at)
        self.packets += made
        return sum(len(packet) for packet in made)

    def send(self, session_id: str, message: dict[str, Any]) -> None:
        self.said.append(message)


def fed(session: str, unit: bytes, keyframe: bool = False) -> dict[str, Any]:
    return {"session_id": session, "keyframe": keyframe, "data_b64": base64.b64encode(unit).decode()}


def test_fed_video_goes_to_the_peer_connection_in_order_and_what_it_refuses_ends_the_session() -> None:
    peers: list[Peer] = []
    sets, idr, picture = b"\0\0\0\1\x67\x42\xc0\x29s\0\0\0\1\x68p", b"\0\0\0\1\x65\x88idr", b"\0\0\0\1\x41\x9ap"
    said: list[dict[str, Any]] = []
    ended = asyncio.Event()

    def make(reports: Reports) -> Peer:
        peers.append(Peer(reports))
        return peers[0]

    def look(message: dict[str, Any]) -> None:
        said.append(message)
        match message:
            case {"event": "session.keyframeRequest"}:
                for number, unit in enumerate((sets + idr, picture, picture, picture + b"refused", picture)):
                    host[0].request(Request(20 + number, "session.feed", fed(session[0], unit, number == 0)))
            case {"event": "session.state", "params": {"capture": "ended"}}:
                ended.set()

    host: list[Host] = []
    session: list[str] = []

    async def act(made: Host) -> None:
        host.append(made)
        made.request(Request(1, "session.open", FED))
        session.append(said[0]["result"]["sessionId"])
        made.request(Request(2, "session.feed", fed(session[0], sets + idr, True)))
        await asyncio.wait_for(peers[0].built.wait(), 60)
        made.request(Request(3, "session.description", {"session_id": session[0], "description": {"type": "answer", "sdp": ""}}))
        await asyncio.wait_for(ended.wait(), 60)

    with_host(act, look, transport=make)
    [peer] = peers
    assert peer.plan is not None
    assert peer.plan.profile == "42c029"
    assert [packet[12:] for packet in peer.packets[:2]] == [b"\x78\0\x05\x67\x42\xc0\x29s\0\x02\x68p", idr[4:]]
    assert [packet[12:] for packet in peer.packets[2:]] == [picture[4:]] * 2
    assert [packet[1] for packet in peer.packets] == [102, 230, 230, 230]
    assert [int.from_bytes(packet[2:4], "big") for packet in peer.packets] == [65530, 65531, 65532, 65533]
    names = [message.get("event", message.get("id")) for message in said]
    # The unit is acknowledged before the offer that it made possible.
    assert names[: names.index("session.keyframeRequest")] == [
        *(1, "session.state", 2, "session.description", "session.candidate", 3),
        *("session.state", "session.state"),
    ]
    states = [tuple(message["params"].values())[1:] for message in said if message.get("event") == "session.state"]
    assert states[-2:] == [("streaming", "connected", True), ("ended", "closed", False)]
    [revoked] = [message["params"] for message in said if message.get("event") == "session.revoked"]
    assert (revoked["code"], revoked["reason"]) == ("transport", "the connection refused a packet")
    assert peer.said[-1]["kind"] == "revoked"


def test_fed_video_whose_peer_connection_cannot_be_built_is_an_error_for_good() -> None:
    ended = asyncio.Event()

    def look(message: dict[str, Any]) -> None:
        if message.get("id") == 1:
            opened.append(message["result"]["sessionId"])
        if message.get("event") == "session.state" and message["params"]["capture"] == "ended":
            ended.set()

    opened: list[str] = []

    async def act(host: Host) -> None:
        host.request(Request(1, "session.open", FED))
        host.request(Request(2, "session.feed", fed(opened[0], b"\0\0\0\1\x67\x42\xc0\x29s")))
        await asyncio.wait_for(ended.wait(), 60)

    [revoked] = [message["params"] for message in with_host(act, look, transport=Broken) if message.get("event") == "session.revoked"]
    assert revoked["code"] == "error"


@pytest.mark.display
def test_an_indicator_that_cannot_be_shown_costs_the_session_nothing(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.Event()

    async def start(self: Overlay) -> bool:
        started.set()
        return False

    monkeypatch.setattr(Overlay, "start", start)
    session: list[str] = []

    def look(message: dict[str, Any]) -> None:
        if message.get("id") == 1:
            session.append(message["result"]["sessionId"])
            opened.set()

    opened = asyncio.Event()
    answers: list[dict[str, Any]] = []

    async def act(host: Host) -> None:
        source = {"kind": "x11", "display": bare_display.name}
        host.request(Request(1, "session.open", {"source": source, "permissions": ["view", "control"], "agent_indicator": True}))
        await asyncio.wait_for(opened.wait(), 60)
        await asyncio.wait_for(started.wait(), 60)
        answers.append(await host.control(session[0], b'{"kind":"pointer","phase":"move","x":5,"y":6,"seq":1}'))

    with_host(act, look)
    assert answers == [{"kind": "ack", "seq": 1}]


@pytest.mark.display
def test_the_indicator_is_told_what_was_applied_and_nothing_else(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, told, closed = asyncio.Event(), [], asyncio.Event()

    async def start(self: Overlay) -> bool:
        shown.set()
        return True

    async def close(self: Overlay) -> None:
        closed.set()

    monkeypatch.setattr(Overlay, "start", start)
    monkeypatch.setattr(Overlay, "told", lambda self, *what: told.append(what))
    monkeypatch.setattr(Overlay, "close", close)
    session: list[str] = []
    opened = asyncio.Event()

    def look(message: dict[str, Any]) -> None:
        if message.get("id") == 1:
            session.append(message["result"]["sessionId"])
            opened.set()

    async def act(host: Host) -> None:
        source = {"kind": "x11", "display": bare_display.name}
        host.request(Request(1, "session.open", {"source": source, "permissions": ["view", "control"], "agent_indicator": True}))
        await asyncio.wait_for(opened.wait(), 60)
        await asyncio.wait_for(shown.wait(), 60)
        await asyncio.sleep(0)
        for text in (
            b'{"kind":"pointer","phase":"move","x":5,"y":6,"seq":1}',
            b'{"kind":"pointer","phase":"down","x":7,"y":8,"seq":1}',  # a replay
            b'{"kind":"pointer","phase":"down","x":9999,"y":8,"seq":2}',
            b'{"kind":"text","text":"a","seq":3}',
        ):
            await host.control(session[0], text)
        host.request(Request(2, "session.close", {"session_id": session[0]}))
        await asyncio.wait_for(closed.wait(), 60)

    with_host(act, look)
    assert told == [("M", 5, 6), ("T", -1, -1)]
