"""Puts one engine on a WebSocket for browsers, beside the page that speaks with it; `triptych desktop bridge` and the demo start it.

Two addresses answer, to whoever has the token: `/`, the page, and `/desktop`, the socket. All else is 404. What passes through a socket,
machines/desklink/bridge.py decides; here is who may open one (desklink v3, "WebSocket bridge").
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import os
import re
import secrets
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web

from ...errors import Unavailable
from ...generated.desklink.vocabulary import BRIDGE_TOKEN_BYTES
from ...machines.desklink import bridge as do
from ..log import get_logger
from .engine_child import EngineChild

log = get_logger()

MOST_SOCKETS = 32
MOST_STRANGERS = 64
"""Connections that are no socket: whoever comes makes the one go that was this many before it, and has not become one."""

MOST_MESSAGE_BYTES = 2 << 20
"""A clipboard of 256 KiB, each character escaped."""

MOST_UNREAD_BYTES = 8 << 20
"""A browser that leaves more than this unread is let go."""

HEARTBEAT_SECONDS = 15.0
CLOSING_SECONDS = 1.0
START_SECONDS = 20.0
ENGINE_GONE, TOO_SLOW, GOING = 1011, 1008, 1001

HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "clipboard-read=(self), clipboard-write=(self), fullscreen=(self), camera=(), microphone=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Page:
    """The page, whole, and the sources that its Content-Security-Policy allows besides the socket: hashes of what stands in it."""

    html: bytes
    scripts: tuple[str, ...]
    styles: tuple[str, ...]

    def policy(self, host: str) -> str:
        """The policy on the host of a request. The socket is named in full: not every browser counts it among 'self'."""
        rules = {
            "default-src": ("'none'",),
            "script-src": self.scripts,
            "style-src": self.styles,
            "img-src": ("data:",),
            "connect-src": ("'self'", f"ws://{host}", f"wss://{host}"),
            "base-uri": ("'none'",),
            "form-action": ("'none'",),
            "frame-ancestors": ("'none'",),
        }
        return "; ".join(f"{name} {' '.join(sources)}" for name, sources in rules.items())


@dataclass
class _Socket:
    """One browser, and what it has still to read."""

    ws: web.WebSocketResponse
    texts: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    unread: int = 0


class BridgeServer:
    """One engine, one page, one token. Make it on a running event loop.

    `command` starts the engine, in `env`. `hosts` are names under which a browser may reach it, besides addresses and localhost: that of a
    proxy, for example. `on_engine_error` gets each line of the engine's stderr.
    """

    def __init__(
        self,
        command: list[str],
        source: Mapping[str, Any],
        page: Page,
        *,
        env: Mapping[str, str] | None = None,
        token: str | None = None,
        hosts: Iterable[str] = (),
        on_engine_error: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.token = secrets.token_urlsafe(BRIDGE_TOKEN_BYTES) if token is None else token
        self._command = command
        self._env = dict(os.environ if env is None else env)
        self._page = page
        self._hosts = {host.lower() for host in hosts}
        self._on_engine_error = on_engine_error
        self._bridge = do.Bridge(dict(source))
        self._loop = asyncio.get_running_loop()
        self._engine: EngineChild | None = None
        self._starting = asyncio.Lock()
        self._greeted = asyncio.Event()
        self._sockets: dict[int, _Socket] = {}
        self._numbers = count(1)
        self._timer: asyncio.TimerHandle | None = None
        self._runner: web.AppRunner | None = None
        self._listening: asyncio.Server | None = None
        self._strangers: dict[web.RequestHandler, None] = {}
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def engine_name(self) -> str:
        """What the engine calls itself."""
        return str((self._bridge.capabilities or {}).get("engine", ""))

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Start the engine and listen; the address. Raises Unavailable: no engine, or no such address."""
        await self._ensure_engine()
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        # Whoever sends rubbish would otherwise fill the disk with the server's complaints of it.
        quiet = logging.Logger("bridge", logging.CRITICAL + 1)
        self._runner = web.AppRunner(application, access_log=None, logger=quiet, handle_signals=False, shutdown_timeout=CLOSING_SECONDS)
        await self._runner.setup()
        try:
            self._listening = await self._loop.create_server(self._connected, host, port)
        except OSError as error:
            await self.close()
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error
            raise Unavailable(f"cannot listen on {host}:{port}: {why}", "name another address with --listen") from None
        address: tuple[str, int] = self._listening.sockets[0].getsockname()[:2]
        self._hosts.add(host.lower())
        return address

    async def close(self) -> None:
        """Take nobody new, end the engine while the browsers still hear what it says, and let them go."""
        self._closing = True
        if self._listening is not None:
            self._listening.close()
        if self._engine is not None:
            await self._engine.close(CLOSING_SECONDS)
        await self._dismiss(GOING, "the bridge has ended")
        await asyncio.gather(*self._tasks)
        if self._timer is not None:
            self._timer.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    # Who may come in

    def _connected(self) -> asyncio.Protocol:
        """Somebody connects. Descriptors are few, and who has no token may take them all and say nothing."""
        assert self._runner is not None and self._runner.server is not None
        made = self._runner.server()
        self._strangers[made] = None
        if len(self._strangers) > MOST_STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            self._loop.call_soon(oldest.force_close)  # after it is told of its connection, if it has just come
        return made

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answered(request)
        except Exception as error:
            log.error("a request failed", error=repr(error), exc_info=error)
            return web.Response(status=500, text="failed", headers=HEADERS)

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        known = self._host_known(request.host)
        if request.method == "GET" and request.path == "/desktop":
            if not self._token_given(request):
                return web.Response(status=401, text="unauthorized", headers=HEADERS)
            if not known or not _same_origin(request):
                return web.Response(status=403, text="forbidden", headers=HEADERS)
            return await self._serve(request)
        if request.method == "GET" and request.path == "/" and known and self._token_given(request):
            headers = {**HEADERS, "Content-Security-Policy": self._page.policy(request.host)}
            return web.Response(body=self._page.html, content_type="text/html", charset="utf-8", headers=headers)
        return web.Response(status=404, text="not found", headers=HEADERS)

    def _token_given(self, request: web.Request) -> bool:
        return hmac.compare_digest(request.query.get("token", "").encode(errors="replace"), self.token.encode())

    def _host_known(self, host: str) -> bool:
        """No name that only a foreign name server leads here: an address is what somebody typed, a name must be one of ours."""
        # It also goes into the page's policy: nothing may stand in it but a name, or an address, and a port.
        if (parts := HOST.fullmatch(host.lower())) is None:
            return False
        name = parts[1].strip("[]")
        if name == "localhost" or name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    # A socket

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        ws = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, max_msg_size=MOST_MESSAGE_BYTES, compress=False)
        if not ws.can_prepare(request):
            return web.Response(status=404, text="not found", headers=HEADERS)
        if self._closing or len(self._sockets) >= MOST_SOCKETS:
            return web.Response(status=503, text="no more sockets", headers=HEADERS)
        number, socket = next(self._numbers), _Socket(ws)
        self._sockets[number] = socket
        self._strangers.pop(request.protocol, None)
        writer: asyncio.Task[None] | None = None
        try:
            await ws.prepare(request)
            try:
                await self._ensure_engine()
            except Unavailable as error:
                log.error("the engine does not start", reason=str(error))
                await ws.close(code=ENGINE_GONE, message=b"the engine does not start")
                return ws
            self._bridge.joined(number)
            writer = self._loop.create_task(_write(socket))
            async for message in ws:
                if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    text = message.data.encode(errors="surrogatepass") if message.type is WSMsgType.TEXT else message.data
                    self._run(self._bridge.text(number, text, self._loop.time()))
                    if self._engine is not None:
                        await self._engine.drained()  # what it has not taken waits in the browser, and not here
        finally:
            del self._sockets[number]
            if writer is not None:
                writer.cancel()
                await asyncio.gather(writer, return_exceptions=True)
            self._run(self._bridge.left(number, self._loop.time()))
        return ws

    def _say(self, socket: _Socket, text: bytes) -> None:
        socket.unread += len(text)
        if socket.unread > MOST_UNREAD_BYTES:
            if not socket.ws.closed:
                self._spawn(_let_go(socket.ws, TOO_SLOW, "the browser does not read what it is told"))
            return
        socket.texts.put_nowait(text.decode())

    async def _dismiss(self, code: int, why: str) -> None:
        for socket in tuple(self._sockets.values()):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_drained(socket), CLOSING_SECONDS)
        await asyncio.gather(*(_let_go(socket.ws, code, why) for socket in tuple(self._sockets.values())))

    # The engine

    async def _ensure_engine(self) -> None:
        async with self._starting:
            if self._engine is not None:
                return
            self._greeted.clear()
            try:
                self._engine = await EngineChild.start(
                    self._command, self._env, on_line=self._said, on_error=self._on_engine_error, on_end=self._engine_ended
                )
            except OSError as error:
                raise Unavailable(f"the engine cannot be started: {error.strerror or error}") from None
            self._run(self._bridge.greet(self._loop.time()))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._greeted.wait(), START_SECONDS)
            if self._bridge.capabilities is None:
                if self._engine is not None:
                    self._engine.kill()
                raise Unavailable("the engine does not answer", "`triptych doctor` says what this machine lacks")

    def _said(self, line: bytes) -> None:
        self._run(self._bridge.said(line, self._loop.time()))
        if self._bridge.capabilities is not None:
            self._greeted.set()

    def _engine_ended(self) -> None:
        self._engine = None
        self._run(self._bridge.engine_ended("the engine has ended"))
        self._greeted.set()
        if not self._closing:
            log.warning("the engine has ended; the next socket starts another")
            self._spawn(self._dismiss(ENGINE_GONE, "the engine has ended"))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _run(self, effects: list[do.Effect]) -> None:
        for effect in effects:
            match effect:
                case do.ToEngine(line) if self._engine is not None:
                    self._engine.send(line)
                case do.ToSocket(number, text) if number in self._sockets:
                    self._say(self._sockets[number], text)
                case do.ToAll(text):
                    for socket in self._sockets.values():
                        self._say(socket, text)
                case do.KillEngine(reason) if self._engine is not None:
                    log.error("the engine is killed", reason=reason)
                    self._engine.kill()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (deadline := self._bridge.deadline()) is not None and self._engine is not None:
            self._timer = self._loop.call_at(deadline, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._run(self._bridge.tick(self._loop.time()))


def _same_origin(request: web.Request) -> bool:
    """A browser says which page opens the socket: it must be ours. A program says nothing, and has the token."""
    origin = request.headers.get("Origin")
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == request.host.lower()


async def _write(socket: _Socket) -> None:
    with contextlib.suppress(ConnectionError, RuntimeError):
        while True:
            text = await socket.texts.get()
            await socket.ws.send_str(text)
            socket.unread -= len(text.encode())
            socket.texts.task_done()


async def _drained(socket: _Socket) -> None:
    await socket.texts.join()


async def _let_go(ws: web.WebSocketResponse, code: int, why: str) -> None:
    with contextlib.suppress(ConnectionError, RuntimeError, TimeoutError):
        await asyncio.wait_for(ws.close(code=code, message=why.encode()), CLOSING_SECONDS)
