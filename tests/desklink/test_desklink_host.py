"""The host of the engine core: what one effect takes away from another, a peer connection that breaks, an engine that breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from triptych.adapters.desklink.host import Host
from triptych.adapters.desklink.transport import NoTransport
from triptych.adapters.display import PrivateDisplay
from triptych.engine import desktop
from triptych.errors import RemoteProtocolError
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.engine import Engine
from triptych.machines.desklink.requests import Request

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
        await asyncio.wait_for(host.finished.wait(), 10)
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


class Broken(NoTransport):
    """A peer connection that cannot be built."""

    async def start(self, session_id: str) -> None:
        raise OSError("no socket")

    async def signal(self, session_id: str, kind: str, params: Any) -> None:
        raise OSError("no socket")


class Stuck(NoTransport):
    """A peer connection that refuses to be built, and cannot be closed."""

    async def start(self, session_id: str) -> None:
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
            await asyncio.wait_for(ended.wait(), 10)

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
        host.request(Request(2, "session.restart_ice", {"session_id": opened[0]["result"]["sessionId"]}))
        await asyncio.wait_for(answered.wait(), 10)

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
        channel = desktop._Channel()
        opened = await channel.ask("session.open", FED)
        monkeypatch.setattr(Engine, "signalled", bug)
        waiting = asyncio.create_task(channel.ask("session.restart_ice", {"session_id": opened["sessionId"]}))
        with pytest.raises(Bug):
            await asyncio.wait_for(waiting, 5)
        with pytest.raises(Bug):
            await channel.ask("session.metrics", {})
        with pytest.raises(Bug):
            await channel.close()

    asyncio.run(main())


def test_a_callback_that_breaks_ends_a_waiting_control(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        channel = desktop._Channel()
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
