"""Drives one program on a pty: carries out on asyncio what the session core answers, and tells whoever waits that something changed.

The engine's terminal API is its only user. All decisions are in machines/termwright; here are the pty, the socket, the emulator and the
clock, and what was published so far.
"""

from __future__ import annotations

import asyncio
import secrets
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...errors import Unavailable
from ...generated.termwright.models import Snapshot
from ...machines.termwright.logs import Logged
from ...machines.termwright.negotiation import CloseEndpoint, CloseSocket, Diagnostic
from ...machines.termwright.pairing import Pair
from ...machines.termwright.session import DriverSession, Output, Send
from .emulator import Emulator, Screen, open_emulator
from .environment import child_environment
from .listener import Listener
from .pty import Pty

#: Diagnostics that a session keeps; the oldest go first.
MAX_DIAGNOSTICS = 1000
#: Bytes of unread input beyond which a device query is no longer answered.
MAX_UNREAD_REPLIES = 1 << 16


@dataclass(frozen=True)
class Noted:
    """One diagnostic: `at` is seconds since the spawn."""

    at: float
    code: str
    detail: str


class Driver:
    """One running session. Make it with `start`; `close` ends the program and removes everything that was made for it."""

    def __init__(self, session: DriverSession[Screen], listener: Listener, emulator: Emulator, now: float) -> None:
        self.session = session
        self.emulator = emulator
        self.pair: Pair[Snapshot, Screen] | None = None  #: the newest published revision
        self.diagnostics: deque[Noted] = deque(maxlen=MAX_DIAGNOSTICS)
        self.logs: deque[Logged] = deque(maxlen=session.limits["maxLogQueue"])
        self.exit_status: int | None = None  #: set once the program is gone and its output is parsed
        self._changed_at = now  # when something was last parsed or published
        self._last_screen: Screen | None = None
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._started = now
        self._pty: Pty | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._exit: asyncio.Task[None] | None = None
        self._waiters: set[asyncio.Future[None]] = set()

    @classmethod
    async def start(
        cls,
        program: Sequence[str],
        *,
        columns: int,
        rows: int,
        environment: Mapping[str, str] | None = None,
        inherit: bool = False,
        directory: str | None = None,
        window: float,
        limits: Mapping[str, int] | None = None,
    ) -> Driver:
        """Listen, then spawn. `environment` overrides the child's variables; `window` is how many seconds an adapter has to connect.

        Raises `Unavailable` when the program cannot be started or there is no emulator.
        """
        loop = asyncio.get_running_loop()
        token = secrets.token_urlsafe(32)
        session = DriverSession[Screen](token, str(uuid.uuid4()), limits, now=loop.time(), now_ms=time.time_ns() // 1_000_000)
        handlers = _Handlers()
        emulator = open_emulator(columns, rows, on_marker=handlers.marker, on_reply=handlers.reply)
        listener = Listener(handlers)
        driver = handlers.driver = cls(session, listener, emulator, loop.time())
        try:
            await listener.open()
            driver._pty = Pty.spawn(
                program,
                columns=columns,
                rows=rows,
                environment=child_environment(environment or {}, endpoint=listener.path, token=token, inherit=inherit),
                directory=directory,
                on_output=driver._output,
            )
        except BaseException:
            await driver.close()
            raise
        driver._carry(session.spawned(loop.time(), window))
        driver._exit = loop.create_task(driver._await_exit(driver._pty))
        return driver

    @property
    def pid(self) -> int:
        """The process number of the program, which leads its own session and group."""
        return self._running().pid

    def write(self, data: bytes) -> None:
        """Send input to the program, as its keyboard would."""
        self._running().write(data)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal and of the pty, which are always equal."""
        self.emulator.resize(columns, rows)
        self._running().resize(columns, rows)

    def signal(self, number: int) -> None:
        """Send a signal to the program's process group."""
        self._running().signal(number)

    @property
    def screen(self) -> Screen:
        """What the terminal shows now; after `close`, what it showed last."""
        return self._last_screen or self.emulator.screen()

    def text(self) -> str:
        """The rows of `screen`, joined by line feeds, without a copy of the screen: what waits look at."""
        return self._last_screen.text if self._last_screen is not None else self.emulator.text()

    async def wait_until(self, met: Callable[[], bool], timeout: float) -> bool:
        """Wait for a condition that only parsing, publishing, an exit or a diagnostic can change; False when the time is over."""
        deadline = self._loop.time() + timeout
        while not met():
            remaining = deadline - self._loop.time()
            if remaining <= 0:
                return False
            await self._next_change(remaining)
        return True

    async def wait_quiet(self, quiet: float, timeout: float) -> bool:
        """Wait until nothing was parsed or published for `quiet` seconds from now on; False when the time is over before."""
        started = self._loop.time()
        deadline = started + timeout

        def remaining() -> float:
            return max(self._changed_at, started) + quiet - self._loop.time()

        while remaining() > 0 and self._loop.time() < deadline:
            await self._next_change(min(remaining(), deadline - self._loop.time()))
        return remaining() <= 0

    async def close(self) -> None:
        """End the session, the program and its group; remove the socket and its directory. A second call does nothing."""
        self._carry(self.session.close(self._loop.time()))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._pty is not None:
            await self._pty.close()
        if self._exit is not None:
            await self._exit
        await self._listener.close()
        if self._last_screen is None:
            self._last_screen = self.emulator.screen()
            self.emulator.close()

    def _running(self) -> Pty:
        if self._pty is None:
            raise Unavailable("the program was not started")
        return self._pty

    async def _await_exit(self, pty: Pty) -> None:
        self.exit_status = await pty.wait()
        self._changed()

    def _output(self, data: bytes) -> None:
        self.emulator.feed(data)
        self.session.output(self._loop.time())
        self._rearm()
        self._changed()

    def _carry(self, outputs: Iterable[Output[Screen]]) -> None:
        """Carry out what the session core answered, in order."""
        for output in outputs:
            match output:
                case Send(socket, data):
                    self._listener.send(socket, data)
                case CloseSocket(socket, drain):
                    self._listener.end(socket, drain)
                case Diagnostic(code, detail):
                    self.diagnostics.append(Noted(self._loop.time() - self._started, code, detail))
                case Pair():
                    self.pair = output if output.screen is not None else Pair(output.revision, output.tree, self.emulator.screen())
                case Logged():
                    self.logs.append(output)
                case CloseEndpoint():
                    self._listener.stop()
        self._rearm()
        self._changed()

    def _rearm(self) -> None:
        due = self.session.deadline()
        if self._timer is not None:
            if due is not None and self._timer.when() <= due:
                return  # it fires early, finds nothing due, and is set again
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._carry(self.session.tick(self._loop.time()))

    async def _next_change(self, timeout: float) -> None:
        changed: asyncio.Future[None] = self._loop.create_future()
        self._waiters.add(changed)
        try:
            await asyncio.wait((changed,), timeout=timeout)
        finally:
            self._waiters.discard(changed)

    def _changed(self) -> None:
        self._changed_at = self._loop.time()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


class _Handlers:
    """What the listener and the emulator call, since both are made before the driver."""

    driver: Driver

    def connected(self, socket: int) -> None:
        driver = self.driver
        driver._carry(driver.session.connected(socket, driver._loop.time()))

    def received(self, socket: int, data: bytes) -> None:
        driver = self.driver
        driver._carry(driver.session.received(socket, data, driver._loop.time()))

    def disconnected(self, socket: int) -> None:
        driver = self.driver
        driver._carry(driver.session.disconnected(socket, driver._loop.time()))

    def marker(self, payload: str) -> None:
        driver = self.driver
        driver._carry(driver.session.marker(payload, driver.emulator.screen, driver._loop.time()))

    def reply(self, data: bytes) -> None:
        """Answer a device query, unless the program asks without ever reading: its own questions must not fill our memory."""
        pty = self.driver._running()
        if pty.unwritten < MAX_UNREAD_REPLIES:
            pty.write(data)
