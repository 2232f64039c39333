"""The process behind one session of the agent command line: opens the display, serves the private socket, ends when nobody needs it.

`triptych desktop` starts it. A client sends one JSON object a line and gets one back for each; the work of all clients is done one request
after another. It ends on `stop`, SIGTERM, SIGINT and SIGHUP, when nobody has asked anything for long enough, and when the display is gone;
each time everything that is held is released first.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ...adapters.desklink import agent_socket
from ...adapters.desklink.display_name import display_name
from ...adapters.log import get_logger
from ...errors import LocalProtocolError, TriptychError, Unavailable
from .. import desktop
from . import steps as ask
from .looks import Looks
from .refusals import refusal
from .session import AgentSession
from .where import plain_display

log = get_logger()

LEASE_SECONDS = 30 * 24 * 3600
"""The session's lease: what ends it is that nobody uses it, long before."""
LINGER_SECONDS = 0.05
"""How long clients are still taken after the socket has gone: they connected while it was there."""
ENDED, INTERRUPTED = "ended", "interrupted"
"""Codes of a request that came too late, with which nothing was done, and of one that was cut off."""
ANSWER_SECONDS = 1.0
"""How long clients may take to read their answers when the daemon ends."""


@dataclass(frozen=True)
class Settings:
    """What a daemon is started with. `idle_seconds` 0: it never ends for want of work."""

    name: str
    display: str | None = None
    idle_seconds: float = 900.0
    control: bool = True
    indicator: bool = True


@dataclass
class _Life:
    """What ends the daemon, and why."""

    ended: asyncio.Event = field(default_factory=asyncio.Event)
    reason: str = ""

    def end(self, reason: str) -> None:
        if not self.ended.is_set():
            self.reason = reason
            self.ended.set()


async def serve(settings: Settings, folder: Path, ready: Any) -> str:
    """Serve one session until it ends; the reason. `ready()` is called once clients can connect. Raises TriptychError before that."""
    life = _Life()
    looks = Looks()

    def on_event(message: dict[str, Any]) -> None:
        looks.on_event(message)
        if message["event"] == "session.state" and message["params"]["capture"] == "ended":
            life.end(f"the X display {display} went away")
        elif message["event"] == "session.revoked":
            life.end(message["params"]["reason"])

    display = display_name(settings.display)
    permissions = ("view", "control", "clipboard") if settings.control else ("view",)
    with _ended_by_signals(life):
        async with desktop.open(
            display,
            permissions,
            max_width=0,
            max_height=0,
            ttl_seconds=LEASE_SECONDS,
            agent_indicator=settings.indicator and settings.control,
            on_event=on_event,
        ) as session:
            await looks.begin(session)
            listening = agent_socket.listen(folder, settings.name)
            server = _Server(AgentSession(looks, folder, settings.name), settings, display, life)
            await server.run(listening, folder, ready)
    return life.reason


class _Server:
    """Takes the clients of one session."""

    def __init__(self, agent: AgentSession, settings: Settings, display: str, life: _Life) -> None:
        self._agent = agent
        self._settings = settings
        self._display = display
        self._life = life
        self._turn = asyncio.Lock()
        self._clients: set[asyncio.Task[None]] = set()
        self._began = self._used = time.monotonic()
        self._served = self._under_way = 0

    async def run(self, listening: socket.socket, folder: Path, ready: Any) -> None:
        """Serve until the session's life ends."""
        made = (folder / f"{self._settings.name}.sock").lstat()
        server = await asyncio.start_unix_server(self._taken, sock=listening, limit=ask.MAX_LINE_BYTES)
        try:
            ready()
            await self._until_ended()
        finally:
            # Whoever has connected by now is still answered; whoever comes later finds no socket, and starts a daemon.
            agent_socket.remove(folder, self._settings.name, made)
            await asyncio.sleep(LINGER_SECONDS)
            server.close()
            if self._clients:
                await asyncio.wait(self._clients, timeout=ANSWER_SECONDS)
            for client in self._clients:
                client.cancel()
            await asyncio.gather(*self._clients, return_exceptions=True)

    async def _until_ended(self) -> None:
        idle = self._settings.idle_seconds
        while not self._life.ended.is_set():
            left = self._used + idle - time.monotonic() if idle else None
            if left is not None and left <= 0:
                if not self._under_way:
                    self._life.end(f"nobody has asked anything for {idle:g} s")
                    return
                left = idle  # counted from the end of what is under way, at the earliest
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._life.ended.wait()

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: asyncio.Task[None] | None = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)
        try:
            connection = writer.get_extra_info("socket")
            if agent_socket.peer(connection)[1] != os.geteuid():
                log.warning("another user's process was turned away", pid=agent_socket.peer(connection)[0])
                return
            await self._client(reader, writer)
        except (OSError, ValueError):
            pass  # it has gone, or sent a line that is longer than any request
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ahead = b""
        while True:
            try:
                line = ahead + await self._line(reader)
            except ValueError:
                line = b"a line that is too long"
            if not line:
                return
            answering, ahead = await self._answered_or_left(line, reader)
            if answering is None:
                log.info("a client left before its answer")
                return
            writer.write(json.dumps(answering).encode() + b"\n")
            await writer.drain()

    async def _answered_or_left(self, line: bytes, reader: asyncio.StreamReader) -> tuple[dict[str, Any] | None, bytes]:
        """The answer, and what the client has sent ahead; no answer when it hung up before.

        A client that hangs up, as on a Ctrl-C, wants none any more: what it waited for must not keep the others waiting.
        """
        answering = asyncio.create_task(self._answer(line))
        left = asyncio.create_task(reader.read(1))
        ending = asyncio.create_task(self._life.ended.wait())
        try:
            await asyncio.wait((answering, left, ending), return_when=asyncio.FIRST_COMPLETED)
            if left.done() and left.result() and not answering.done():
                await asyncio.wait((answering, ending), return_when=asyncio.FIRST_COMPLETED)
            ahead = left.result() if left.done() and not left.cancelled() else b""
            if not answering.done() and self._life.ended.is_set():
                # What ends the session may be what the answer is about to say, better.
                await asyncio.wait((answering,), timeout=LINGER_SECONDS)
                if not answering.done():
                    cut = Unavailable(f"the session has ended meanwhile: {self._life.reason}", "look, then repeat the command")
                    return {"ok": False, "error": refusal(cut) | {"code": INTERRUPTED}, "effect": "unknown"}, ahead
            return (answering.result() if answering.done() else None), ahead
        finally:
            for task in (answering, left, ending):
                task.cancel()
            await asyncio.gather(answering, left, ending, return_exceptions=True)

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        """The next request; nothing when the client has hung up, or the daemon ends. Raises ValueError for a line that is too long."""
        reading = asyncio.create_task(reader.readline())
        ending = asyncio.create_task(self._life.ended.wait())
        try:
            await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait((reading,), timeout=LINGER_SECONDS)  # what was sent already is still taken
            return reading.result() if reading.done() else b""
        finally:
            for task in (reading, ending):
                task.cancel()
            await asyncio.gather(reading, ending, return_exceptions=True)

    async def _answer(self, line: bytes) -> dict[str, Any]:
        self._served += 1
        self._under_way += 1
        step: ask.Asked | None = None
        try:
            step = ask.read_step(self._for_this_display(line))
            match step:
                case ask.Stop():
                    self._life.end("it was told to stop")
                    return {"ok": True, "command": "stop", "pid": os.getpid(), "session": self._settings.name}
                case ask.Health():
                    return {"ok": True, "command": "health", **await self._health()}
                case ask.Home():
                    health = await self._health()
                    return {"ok": True, "command": "home", **health, "windows": await self._agent.looks.windows()}
            async with self._turn:
                if self._life.ended.is_set():
                    raise LocalProtocolError(ENDED, f"the session has ended: {self._life.reason}")
                match step:
                    case ask.Batch():
                        done = await self._agent.batch(ask.read_steps(step))
                        return {"command": "batch", **done}
                    case single:
                        return {"ok": True, "command": single.__struct_config__.tag, **await self._agent.perform(single)}
        except Exception as error:
            if not isinstance(error, TriptychError | OSError):
                log.exception("a request broke")
            effect = self._agent.effect(error) if isinstance(step, ask.Input) else "none"
            return {"ok": False, "error": refusal(error), "effect": effect}
        finally:
            self._under_way -= 1
            self._used = time.monotonic()

    def _for_this_display(self, line: bytes) -> bytes | msgspec.Raw:
        """The request without the display that its sender means, if it says so. Raises LocalProtocolError (usage, other-display)."""
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            raise LocalProtocolError(ask.USAGE, "a request is one JSON object on one line") from None
        if not isinstance(request, dict) or "display" not in request:
            return line
        meant = request.pop("display")
        if not isinstance(meant, str) or plain_display(meant) != plain_display(self._display):
            raise LocalProtocolError("other-display", f"session {self._settings.name!r} is on {self._display}, not on {meant}")
        return json.dumps(request).encode()

    async def _health(self) -> dict[str, Any]:
        now = time.monotonic()
        return {
            "session": self._settings.name,
            "display": self._display,
            "pid": os.getpid(),
            "control": self._settings.control,
            "uptime_s": round(now - self._began, 1),
            "idle_after_s": self._settings.idle_seconds,
            "requests": self._served,
            "busy": self._turn.locked(),
            **await self._agent.health(),
        }


@contextlib.contextmanager
def _ended_by_signals(life: _Life) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, life.end, f"signal {number.name}")
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def main(settings: Settings, lock: int | None) -> int:
    """Be the daemon: one line on stdout says that clients can connect, or why not. `lock`: the starter's lock, held until then."""
    from ..logs import to_stderr

    to_stderr("info")
    folder = agent_socket.private_folder()
    os.umask(0o077)
    os.chdir("/")

    def say(answer: dict[str, Any]) -> None:
        """Tell the starter, who then goes away."""
        with contextlib.suppress(OSError):
            os.write(1, json.dumps(answer).encode() + b"\n")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        if lock is not None:
            os.close(lock)

    try:
        reason = asyncio.run(serve(settings, folder, lambda: say({"ok": True, "pid": os.getpid()})))
    except (TriptychError, OSError) as error:
        say({"ok": False, "error": refusal(error)})
        return 1
    log.info("the session has ended", session=settings.name, reason=reason)
    return 0
