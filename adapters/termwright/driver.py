"""Drives one program on a pty: carries out on asyncio what the session core answers, and tells whoever waits that something changed.

The engine's terminal API is its only user. All decisions are in machines/termwright; here are the pty, the socket, the emulator and the
clock, and what was published so far.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...errors import LocalProtocolError, Unavailable
from ...generated.termwright.models import Snapshot
from ...machines.termwright.logs import Logged
from ...machines.termwright.negotiation import CloseEndpoint, CloseSocket, Diagnostic
from ...machines.termwright.pairing import Pair
from ...machines.termwright.session import DriverSession, Output, Send
from ...machines.termwright.terminal_size import check_size
from .diagnostics import Diagnostics
from .emulator import Emulator, Modes, Policy, Screen, open_emulator
from .environment import child_environment
from .listener import MAX_UNREAD, Listener
from .observer import Observer
from .pty import Pty

#: Bytes of unread input beyond which a device query is no longer answered.
MAX_UNREAD_REPLIES = 1 << 16

#: Seconds of silence after which a program that has answered an input is taken to have answered it whole, and seconds it has to begin.
SETTLE = 0.05
ANSWER = 0.5
#: The exit status of a program whose own status somebody else took.
UNKNOWN_EXIT = 255


class Driver:
    """One running session. Make it with `start`; `close` ends the program and removes everything that was made for it."""

    def __init__(
        self, session: DriverSession[Screen], listener: Listener, emulator: Emulator, now: float, observers: Sequence[Observer] = ()
    ) -> None:
        self.session = session
        self._emulator = emulator
        self.pair: Pair[Snapshot, Screen] | None = None  #: the newest published revision
        self.diagnostics = Diagnostics()
        self.logs: deque[Logged] = deque(maxlen=session.limits["maxLogQueue"])
        self.clipboard: str | None = None  #: what the program last put on the clipboard, as far as the policy lets it
        self.lost_logs = 0  #: how many records were lost at the source
        self.on_published: Callable[[Snapshot], None] | None = None  #: told every tree, before any waiter
        self.exit_status: int | None = None  #: set once the program is gone and its output is parsed
        self._changed_at = now  # when something was last parsed or published
        self._written_at = float("-inf")  # when the caller last sent something
        self._last_screen: Screen | None = None
        self._last_modes: Modes | None = None
        self._observers = list(observers)
        self._size = emulator.size
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._started = now
        self._pty: Pty | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._exit: asyncio.Task[None] | None = None
        self._closing = False
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
        policy: Policy | None = None,
        observers: Sequence[Observer] = (),
    ) -> Driver:
        """Listen, then spawn. `environment` overrides the child's variables; `window` is how many seconds an adapter has to connect.

        `policy` is what the terminal grants the program; `observers` are told everything that happens from the spawn on, in order.

        Raises `Unavailable` when the program cannot be started or there is no emulator, `LocalProtocolError` for arguments that are none
        (`terminal-size`, `out-of-range`, `invalid-limits`, `invalid-program`, `invalid-environment`).
        """
        check_size(columns, rows)
        if not window >= 0:
            raise LocalProtocolError("out-of-range", f"an adapter has some seconds to connect, not {window!r}", "ready_timeout")
        loop = asyncio.get_running_loop()
        token = secrets.token_urlsafe(32)
        session = DriverSession[Screen](token, str(uuid.uuid4()), limits, now=loop.time(), now_ms=time.time_ns() // 1_000_000)
        handlers = _Handlers()
        emulator = open_emulator(
            columns, rows, policy=policy, on_marker=handlers.marker, on_reply=handlers.reply, on_clipboard=handlers.clipboard
        )
        listener = Listener(handlers)
        driver = handlers.driver = cls(session, listener, emulator, loop.time(), observers)
        try:
            await listener.open()
            temporary = str(listener.temporary)
            variables = child_environment(environment or {}, endpoint=listener.path, token=token, inherit=inherit, temporary=temporary)
            driver._pty = Pty.spawn(
                program,
                columns=columns,
                rows=rows,
                environment=variables,
                directory=directory,
                on_output=driver._output,
                on_turn=driver._parsed,
            )
            driver._exit = loop.create_task(driver._await_exit(driver._pty))
            driver._tell("resized", columns, rows, 0.0)
            driver._carry(session.spawned(loop.time(), float(window)))
        except BaseException:
            await driver.close()
            raise
        return driver

    @property
    def emulator(self) -> Emulator:
        """The terminal, while the session is open; raises `Unavailable` after `close`."""
        if self._last_screen is not None:
            raise Unavailable("the terminal is closed: its program was ended when the block ended")
        return self._emulator

    @property
    def modes(self) -> Modes:
        """What the program has switched on in its terminal; after `close`, what it had last."""
        return self._last_modes or self._emulator.modes

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._loop.time() - self._started

    @property
    def pid(self) -> int:
        """The process number of the program, which leads its own session and group."""
        return self._running().pid

    def write(self, data: bytes) -> None:
        """Send input to the program, as its keyboard would."""
        self._send(data)
        self._written_at = self._loop.time()

    def encode_keys(self, keys: Iterable[str]) -> bytes:
        """The bytes that the keys send, one after the other, in the terminal's present modes; raises `unknown-key` for any of them."""
        return b"".join([self.emulator.encode_key(key) for key in keys])

    def acting(self, action: Mapping[str, object]) -> None:
        """Tell the observers what the caller is about to do."""
        self._tell("acted", action, self.elapsed)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal and of the pty, which are always equal; raises `LocalProtocolError` (`terminal-size`)."""
        check_size(columns, rows)
        self.emulator.resize(columns, rows)
        self._follow()

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
        deadline = self._until(timeout)
        while not met():
            remaining = deadline - self._loop.time()
            if remaining <= 0 or self._last_screen is not None:  # nothing changes any more after `close`
                return False
            await self._next_change(remaining)
        return True

    async def wait_quiet(self, quiet: float, timeout: float) -> bool:
        """Wait until nothing was parsed or published for `quiet` seconds from now on; False when the time is over before."""
        started = self._loop.time()
        deadline = self._until(timeout)

        def remaining() -> float:
            return max(self._changed_at, started) + quiet - self._loop.time()

        while remaining() > 0 and self._loop.time() < deadline and self._last_screen is None:
            await self._next_change(min(remaining(), deadline - self._loop.time()))
        return remaining() <= 0 or self._last_screen is not None

    async def wait_settled(self) -> None:
        """Wait until the program has answered the last input: it printed or published since, and is silent; or it had time enough to."""

        def remaining() -> float:
            answered = self._changed_at > self._written_at
            due = self._changed_at + SETTLE if answered else self._written_at + ANSWER
            return min(due, self._written_at + ANSWER) - self._loop.time()

        while (left := remaining()) > 0:
            await self._next_change(left)

    async def close(self) -> None:
        """End the session, the program and its group; remove the socket and its directory. A second call does nothing."""
        if not self._closing and self._pty is not None:
            self.acting({"type": "close"})  # what a program prints while it is ended comes after this
        self._closing = True
        self._carry(self.session.close(self._loop.time()))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            if self._pty is not None:
                await self._pty.close()
            if self._exit is not None:
                await self._exit
        finally:  # a cancelled close frees everything too
            if self._exit is not None:
                self._exit.cancel()
            try:
                await self._listener.close()
            finally:
                if self._last_screen is None:
                    self._last_screen, self._last_modes = self._emulator.screen(), self._emulator.modes
                    self._emulator.close()
                    self._changed()  # who still waits learns that nothing will change any more

    def _running(self) -> Pty:
        if self._pty is None:
            raise Unavailable("the program was not started")
        return self._pty

    async def _await_exit(self, pty: Pty) -> None:
        try:
            self.exit_status = await pty.wait()
        except Unavailable as lost:
            self.diagnostics.note(self.elapsed, "exit-unknown", lost.reason)
            self.exit_status = UNKNOWN_EXIT
        self._tell("exited", self.exit_status, self.elapsed)
        self._changed()

    def _output(self, data: bytes) -> None:
        if self._observers:
            self._tell("output", data, self.elapsed)
        self.emulator.feed(data)
        if self.emulator.size != self._size:
            self._follow()

    def _parsed(self) -> None:
        """What a turn of the loop brought is on the screen."""
        self.session.output(self._loop.time())
        self._rearm()
        self._changed()

    def _follow(self) -> None:
        """Give the pty the emulator's size: the caller changed it, or the program itself (DECCOLM)."""
        columns, rows = self._size = self.emulator.size
        self._running().resize(columns, rows)
        self._tell("resized", columns, rows, self.elapsed)

    def _carry(self, outputs: Iterable[Output[Screen]]) -> None:
        """Carry out what the session core answered, in order."""
        for output in outputs:
            match output:
                case Send(socket, data):
                    if not self._listener.send(socket, data):
                        why = f"the adapter left more than {MAX_UNREAD} bytes unread: its socket was destroyed"
                        self.diagnostics.note(self.elapsed, "endpoint-error", why)
                case CloseSocket(socket, drain):
                    self._listener.end(socket, drain)
                case Diagnostic(code, detail):
                    self.diagnostics.note(self.elapsed, code, detail)
                case Pair():
                    self.pair = output if output.screen is not None else Pair(output.revision, output.tree, self.emulator.screen())
                    if self.on_published is not None:
                        self.on_published(output.tree)
                    self._tell("published", output.revision, output.tree, self.elapsed)
                case Logged():
                    self.logs.append(output)
                    self.lost_logs += output.lost
                case CloseEndpoint():
                    self._listener.stop()
        self._rearm()
        self._changed()

    def _tell(self, what: str, *facts: object) -> None:
        """Tell every observer. One that raises is noted and told nothing more: it must not disturb the session."""
        for observer in tuple(self._observers):
            try:
                getattr(observer, what)(*facts)
            except Exception as fault:
                self._observers.remove(observer)
                self.diagnostics.note(self.elapsed, "observer-failed", f"{type(observer).__name__}.{what}: {fault!r}")

    def _send(self, data: bytes) -> None:
        pty = self._running()
        self._tell("input", data, self.elapsed)
        pty.write(data)

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

    def _until(self, timeout: float) -> float:
        """The deadline; no number of seconds is none that can be waited for."""
        if math.isnan(timeout):
            raise LocalProtocolError("out-of-range", "a timeout is a number of seconds, not nan", "timeout")
        return self._loop.time() + timeout

    async def _next_change(self, timeout: float) -> None:
        changed: asyncio.Future[None] = self._loop.create_future()
        late = self._loop.call_later(timeout, _settle, changed)
        self._waiters.add(changed)
        try:
            await changed
        finally:
            late.cancel()
            self._waiters.discard(changed)

    def _changed(self) -> None:
        self._changed_at = self._loop.time()
        for waiter in self._waiters:
            _settle(waiter)


def _settle(waiter: asyncio.Future[None]) -> None:
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

    def clipboard(self, text: str) -> None:
        self.driver.clipboard = text

    def reply(self, data: bytes) -> None:
        """Answer a device query, unless the program asks without ever reading: its own questions must not fill our memory."""
        if self.driver._running().unwritten < MAX_UNREAD_REPLIES:
            self.driver._send(data)
