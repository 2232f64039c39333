"""The bridge as a server: who may come in, what the page may do, and an engine of its own that is ended when it hangs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from triptych.adapters.desklink import bridge as adapter
from triptych.adapters.display import PrivateDisplay
from triptych.engine.child import triptych_command
from triptych.engine.desktop_bridge import Live, bridge, listen_address
from triptych.engine.web import page
from triptych.errors import Unavailable
from triptych.machines.desklink import bridge as rules

pytestmark = pytest.mark.display

HANGING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] in ("hello", "capabilities"):
        print(json.dumps({"id": asked["id"], "result": {"engine": "hanging/1"}}), flush=True)
    if asked["method"] == "die":
        sys.exit(3)
    if asked["method"] == "shutdown":
        break
"""
"""An engine that answers a greeting and nothing else, as one does whose display server hangs."""

Work = Callable[[Live, aiohttp.ClientSession], Awaitable[None]]


class Socket:
    """One browser's socket."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.events: list[dict[str, Any]] = []
        self._last = 0

    async def read(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await asyncio.wait_for(self.ws.receive_str(), 20))
        if "event" in message:
            self.events.append(message)
        return message

    async def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        self._last += 1
        await self.ws.send_str(json.dumps({"id": self._last, "method": method, "params": params}))
        while (message := await self.read()).get("id") != self._last:
            pass
        return message

    async def event(self, name: str, **params: Any) -> dict[str, Any]:
        def wanted(message: dict[str, Any]) -> bool:
            return message.get("event") == name and params.items() <= message["params"].items()

        for message in self.events:
            if wanted(message):
                return message
        while not wanted(message := await self.read()):
            pass
        return message


@contextlib.asynccontextmanager
async def connected(live: Live, session: aiohttp.ClientSession, **headers: str) -> AsyncIterator[Socket]:
    async with session.ws_connect(f"{live.address}/desktop?token={live.token}", headers=headers) as ws:
        yield Socket(ws)


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def with_bridge(display: PrivateDisplay, work: Work, **options: Any) -> None:
    async def main() -> None:
        async with bridge(display.name, env=display.env, port=0, **options) as live, aiohttp.ClientSession() as session:
            await work(live, session)

    asyncio.run(main())


def hanging(work: Callable[[Live, aiohttp.ClientSession, adapter.BridgeServer], Awaitable[None]]) -> None:
    async def main() -> None:
        server = adapter.BridgeServer([sys.executable, "-c", HANGING], {"kind": "x11", "display": ":9"}, page())
        host, port = await server.start("127.0.0.1", 0)
        try:
            async with aiohttp.ClientSession() as session:
                await work(Live(host, port, server.token, server.engine_name), session, server)
        finally:
            await server.close()

    asyncio.run(main())


def test_only_the_page_is_there_and_only_with_the_token(bare_display: PrivateDisplay) -> None:
    async def work(live: Live, session: aiohttp.ClientSession) -> None:
        async with session.get(live.url) as answer:
            text = await answer.text()
            assert (answer.status, answer.content_type, answer.charset) == (200, "text/html", "utf-8")
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            policy = dict(rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; "))
            assert (policy["default-src"], policy["frame-ancestors"], policy["form-action"]) == ("'none'", "'none'", "'none'")
            assert "unsafe" not in answer.headers["Content-Security-Policy"]
            assert live.token not in text
            assert 'src="' not in text, "the page needs no other file"
        wrong = (
            "/", "/?token=", "/?token=x", f"/?token={live.token}x", f"/?token={live.token[:-1]}", "/?token=%ff%00",
            f"/index.html?token={live.token}", f"/viewer.js?token={live.token}", f"/../?token={live.token}x",
        )  # fmt: skip
        for path in wrong:
            async with session.get(live.address + path) as answer:
                assert (answer.status, await answer.text()) == (404, "not found"), path
        for method in ("POST", "HEAD", "PUT", "DELETE", "OPTIONS"):
            async with session.request(method, live.url) as answer:
                assert answer.status == 404
        async with session.get(f"{live.address}/desktop?token={live.token}") as answer:
            assert answer.status == 404, "no upgrade"

    with_bridge(bare_display, work)


def test_a_foreign_page_a_foreign_name_and_a_wrong_token_get_no_socket(bare_display: PrivateDisplay) -> None:
    async def work(live: Live, session: aiohttp.ClientSession) -> None:
        async def status(path: str = f"/desktop?token={live.token}", **headers: str) -> int:
            try:
                async with session.ws_connect(live.address + path, headers=headers):
                    return 101
            except aiohttp.WSServerHandshakeError as error:
                return error.status

        host = f"127.0.0.1:{live.port}"
        assert await status("/desktop") == await status("/desktop?token=") == await status("/desktop?token=wrong") == 401
        assert await status() == 101, "a program says no origin"
        assert await status(Origin=f"http://{host}") == 101
        assert await status(Origin="https://desk.example.org", Host="desk.example.org") == 101, "behind a proxy"
        for origin in (
            "http://evil.example",
            "null",
            f"http://127.0.0.1:{live.port + 1}",
            f"http://{host}.evil.example",
            f"file://{host}",
            "http://[x",
        ):
            assert await status(Origin=origin) == 403, origin
        assert await status(Host=f"rebound.example:{live.port}", Origin=f"http://rebound.example:{live.port}") == 403
        async with session.get(live.url, headers={"Host": f"rebound.example:{live.port}"}) as answer:
            assert answer.status == 404
        for odd in ("", "127.0.0.1:1; script-src *", "user@127.0.0.1", "127.0.0.1:999999", "[::1", "[x]", "127.0.0.1 evil"):
            async with session.get(live.url, headers={"Host": odd}) as answer:
                assert answer.status == 404, odd
        async with session.get(live.url, headers={"Host": "[::1]:9"}) as answer:
            assert answer.status == 200
        async with session.get(live.url, headers={"Host": f"localhost:{live.port}"}) as answer:
            assert answer.status == 200
            assert f"ws://localhost:{live.port}" in answer.headers["Content-Security-Policy"]

    with_bridge(bare_display, work, hosts=["desk.example.org"])


def test_a_session_over_a_socket(bare_display: PrivateDisplay) -> None:
    async def work(live: Live, session: aiohttp.ClientSession) -> None:
        async with connected(live, session) as one, connected(live, session) as two:
            capabilities = (await one.ask("hello", {"protocol": 3}))["result"]
            # The bridge's own display is what is said to be there, its clipboard included.
            assert (capabilities["x11"], capabilities["clipboard"]["read"]) == ({"available": True, "size": [1280, 800]}, True)
            assert capabilities["clipboard"]["write"]
            assert (await one.ask("capabilities"))["result"] == capabilities
            for method in ("shutdown", "session.frame"):
                assert (await one.ask(method, {}))["error"]["code"] == "operation"
            assert (await one.ask("session.open", {"source": None}))["error"]["code"] == "source"
            assert (await one.ask("session.open", {}))["error"]["code"] == "permission"
            assert (await one.ask("session.open", [1]))["error"]["code"] == "malformed"
            opened = (await one.ask("session.open", {"permissions": ["view", "clipboard"]}))["result"]
            id = opened["sessionId"]
            assert opened["source"]["kind"] == "x11-root"
            for socket in (one, two):
                await socket.event("session.state", sessionId=id, capture="consented")
            assert (await one.ask("session.clipboard.write", {"session_id": id, "text": "over the bridge"}))["result"] == {"written": True}
            read = (await two.ask("session.clipboard.read", {"session_id": id}))["result"]
            assert read == {"text": "over the bridge", "truncated": False}
            assert (await one.ask("session.close", {"session_id": id}))["result"] == {"closed": True}
            await two.event("session.state", sessionId=id, capture="ended")
            names = {event["event"] for event in one.events + two.events}
            assert names.isdisjoint({"session.frame.changed", "session.restoreToken"})

    with_bridge(bare_display, work)


def test_the_last_socket_takes_the_session_along(bare_display: PrivateDisplay) -> None:
    async def work(live: Live, session: aiohttp.ClientSession) -> None:
        async with connected(live, session) as one, connected(live, session) as two:
            id = (await one.ask("session.open", {"permissions": ["view"]}))["result"]["sessionId"]
            await one.ws.close()
            assert "captured_frames" in (await two.ask("session.metrics"))["result"], "it goes on while somebody is there"
            assert (await two.ask("session.close", {"session_id": "x"}))["error"]["code"] == "session"
        async with connected(live, session) as three:
            assert (await three.ask("session.close", {"session_id": id}))["error"]["code"] == "session"
            assert (await three.ask("session.metrics"))["error"]["code"] == "session"

    with_bridge(bare_display, work)


def test_a_second_open_takes_over_and_the_first_is_told(bare_display: PrivateDisplay) -> None:
    async def work(live: Live, session: aiohttp.ClientSession) -> None:
        async with connected(live, session) as one, connected(live, session) as two:
            first = (await one.ask("session.open", {"permissions": ["view"]}))["result"]["sessionId"]
            second = (await two.ask("session.open", {"permissions": ["view"]}))["result"]["sessionId"]
            await one.event("session.state", sessionId=first, capture="ended", transport="closed")
            await one.event("session.state", sessionId=second)

    with_bridge(bare_display, work)


def test_everybody_hears_the_end(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with aiohttp.ClientSession() as session, contextlib.AsyncExitStack() as stack:
            async with bridge(bare_display.name, env=bare_display.env, port=0) as live:
                socket = await stack.enter_async_context(connected(live, session))
                id = (await socket.ask("session.open", {"permissions": ["view"]}))["result"]["sessionId"]
            await socket.event("session.state", sessionId=id, capture="ended", transport="closed")
            message = await asyncio.wait_for(socket.ws.receive(), 5)
            assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, adapter.GOING)

    asyncio.run(main())


def test_an_engine_that_hangs_is_killed_and_the_next_socket_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "TIMEOUT_SECONDS", 0.5)

    async def work(live: Live, session: aiohttp.ClientSession, server: adapter.BridgeServer) -> None:
        assert live.engine == "hanging/1"
        async with connected(live, session) as socket, connected(live, session) as other:
            pid = server._engine.pid if server._engine else 0
            assert (await socket.ask("session.metrics"))["error"]["code"] == "engine"
            for each in (socket, other):
                message = await asyncio.wait_for(each.ws.receive(), 5)
                assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, adapter.ENGINE_GONE)
            assert not exists(pid)
        async with connected(live, session) as socket:
            assert (await socket.ask("hello", {"protocol": 3}))["result"] == {"engine": "hanging/1"}

    hanging(work)


def test_an_engine_that_dies_answers_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(live: Live, session: aiohttp.ClientSession, server: adapter.BridgeServer) -> None:
        async with connected(live, session) as socket:
            assert (await socket.ask("die"))["error"]["code"] == "engine"
            assert (await asyncio.wait_for(socket.ws.receive(), 5)).type is aiohttp.WSMsgType.CLOSE

    hanging(work)


def test_a_browser_that_does_not_read_is_let_go_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_UNREAD_BYTES", 1000)

    async def work(live: Live, session: aiohttp.ClientSession, server: adapter.BridgeServer) -> None:
        async with connected(live, session) as slow:
            await slow.ask("hello")
            for _ in range(20):
                server._run([rules.ToAll(json.dumps({"event": "x", "params": {"text": "x" * 100}}).encode())])
            while (message := await asyncio.wait_for(slow.ws.receive(), 5)).type is aiohttp.WSMsgType.TEXT:
                pass
            assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, adapter.TOO_SLOW)
        async with connected(live, session) as next_one:
            assert "result" in await next_one.ask("hello")

    hanging(work)


def test_a_message_that_is_too_large_costs_its_sender_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(live: Live, session: aiohttp.ClientSession, server: adapter.BridgeServer) -> None:
        async with connected(live, session) as one, connected(live, session) as two:
            await one.ws.send_str("x" * (adapter.MOST_MESSAGE_BYTES + 1))
            assert (await asyncio.wait_for(one.ws.receive(), 5)).data == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
            assert "result" in await two.ask("hello")

    hanging(work)


def test_the_command_says_where_and_ends_on_a_signal(bare_display: PrivateDisplay) -> None:
    command = triptych_command("desktop", "bridge", "--listen", "0", "--display", bare_display.name)
    with subprocess.Popen(command, env=bare_display.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = dict(process.stdout.readline().split(maxsplit=1) for _ in range(4))
        assert list(told) == ["engine", "bridge", "token", "open"]
        assert told["engine"].startswith("triptych/")
        assert told["open"].strip() == f"{told['bridge'].strip()}/?token={told['token'].strip()}"
        assert len(told["token"].strip()) == 32
        children = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
        assert children
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert not any(exists(pid) for pid in children)


@pytest.mark.parametrize(("options", "code"), [(["--listen", "x"], 2), (["--listen", "1:70000"], 2), (["--token", " "], 1)])
def test_what_makes_no_sense_is_refused_before_anything_starts(options: list[str], code: int) -> None:
    env = {**os.environ, "DISPLAY": ":9"}
    done = subprocess.run(triptych_command("desktop", "bridge", *options), env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (code, "")


def test_addresses() -> None:
    assert listen_address("19401") == ("127.0.0.1", 19401)
    assert listen_address("0.0.0.0:0") == ("0.0.0.0", 0)
    assert listen_address("[::1]:8080") == ("::1", 8080)
    assert Live("::", 1, "a/b", "").url == "http://[::1]:1/?token=a%2Fb"
    for wrong in ("", ":", ":1", "host:", "1:-1", "²"):
        with pytest.raises(ValueError, match="no HOST:PORT"):
            listen_address(wrong)


def test_an_address_that_is_taken_is_one_line(bare_display: PrivateDisplay) -> None:
    async def work(live: Live, session: aiohttp.ClientSession) -> None:
        with pytest.raises(Unavailable, match=r"cannot listen on 127.0.0.1:\d+: Address already in use \("):
            async with bridge(bare_display.name, env=bare_display.env, port=live.port):
                pass

    with_bridge(bare_display, work)
