"""A program on a pty whose driver's socket is in the hands of the caller: the conformance suite listens and misbehaves through it.

It records what comes, in the order of arrival, and sends, delays, withholds or cuts as it is told; it answers nothing of itself. Whenever
a render marker is parsed, the socket is read empty first: what the adapter wrote before the marker is then surely before it in the record.
Only the suite in engine/conformance uses it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import LocalProtocolError, RemoteProtocolError
from ...generated.termwright.vocabulary import ENDPOINT_VARIABLE, TOKEN_VARIABLE
from ...machines.termwright.framing import FrameDecoder
from ...machines.termwright.limits import ABSOLUTE_LIMITS
from ...machines.termwright.mouse import click
from .emulator import open_emulator
from .environment import child_environment
from .pty import Pty
from .screen import Screen

READ_BYTES = 1 << 16
#: Things that are recorded of one program; one that says more is cut off, so that a flood cannot fill our memory.
MAX_HEARD = 100_000
#: Bytes of terminal output that are kept as they came.
MAX_OUTPUT = 8 << 20
#: Seconds that a peer has to take what we send.
SEND_TIMEOUT = 5.0


@dataclass(frozen=True)
class Connected:
    """A socket was accepted."""

    at: float
    link: int


@dataclass(frozen=True)
class Body:
    """A whole frame came."""

    at: float
    link: int
    data: bytes


@dataclass(frozen=True)
class BadFrame:
    """The stream broke a framing rule; nothing more of this socket is read."""

    at: float
    link: int
    code: str
    detail: str


@dataclass(frozen=True)
class Ended:
    """The peer closed its socket, or it broke."""

    at: float
    link: int


@dataclass(frozen=True)
class Marker:
    """The terminal parsed an OSC 8487; `payload` is what follows `8487;`."""

    at: float
    payload: str


Heard = Connected | Body | BadFrame | Ended | Marker


class _Link:
    def __init__(self, number: int, peer: socket.socket) -> None:
        self.number, self.peer = number, peer
        self.decoder = FrameDecoder(ABSOLUTE_LIMITS["maxFrameBytes"])
        self.held = self.over = False


class Bench:
    """One program under test. Make it with `start`; `close` ends everything that was made for it."""

    def __init__(self, columns: int, rows: int, tell: Callable[[Heard], None]) -> None:
        self.output = bytearray()  #: the terminal output as it came, up to a bound
        self.marked: Screen | None = None  #: what the terminal showed when it parsed the newest OSC 8487
        self.printed = 0  #: bytes of terminal output so far
        self.exit_status: int | None = None
        self._tell = tell
        self._told = itertools.count(1)
        self._loop = asyncio.get_running_loop()
        self._started = self._quiet_since = self._loop.time()
        self._directory = Path(tempfile.mkdtemp(prefix="termwright-"))
        self.endpoint = str(self._directory / "semantic.sock")
        self._listener: socket.socket | None = None
        self._links: dict[int, _Link] = {}
        self._emulator = open_emulator(columns, rows, on_marker=self._marker, on_reply=self._reply)
        self._pty: Pty | None = None
        self._exit: asyncio.Task[None] | None = None
        self._waiters: set[asyncio.Future[None]] = set()

    @classmethod
    async def start(
        cls,
        program: Sequence[str],
        tell: Callable[[Heard], None],
        *,
        columns: int = 80,
        rows: int = 24,
        endpoint: bool = True,
        token: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Bench:
        """Listen, then spawn; `tell` is called for everything that is heard, as it comes.

        Without `endpoint`, or with an empty `token`, the program gets no such variable (the socket listens, to see that nobody comes).
        Raises `Unavailable` when the program or the emulator cannot be started.
        """
        bench = cls(columns, rows, tell)
        try:
            bench._listen()
            # What the program puts into its temporary folder goes with the bench, even when it is killed.
            own = {"TMPDIR": str(bench._directory), **(environment or {})}
            variables = child_environment(own, endpoint=bench.endpoint, token=token)
            for name, given in ((ENDPOINT_VARIABLE, endpoint), (TOKEN_VARIABLE, bool(token))):
                if not given:
                    variables.pop(name)
            bench._pty = Pty.spawn(program, columns=columns, rows=rows, environment=variables, on_output=bench._output)
            bench._exit = asyncio.ensure_future(bench._await_exit(bench._pty))
        except BaseException:
            await bench.close()
            raise
        return bench

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self._loop.time() - self._started

    @property
    def pid(self) -> int:
        """The process number of the program, which leads its own session and group."""
        assert self._pty is not None
        return self._pty.pid

    def screen(self) -> Screen:
        """What the terminal shows now."""
        return self._emulator.screen()

    def text(self) -> str:
        """The rows of the screen, joined by line feeds."""
        return self._emulator.text()

    def press(self, *keys: str) -> None:
        """Press keys, as their names are in keys.py."""
        self.write(b"".join([self._emulator.encode_key(key) for key in keys]))

    def type(self, text: str) -> None:
        """Type text, key by key."""
        self.write(self._emulator.encode_text(text))

    def click(self, column: int, row: int) -> None:
        """Click a cell with the left button, as the terminal's mouse mode says; nothing in a terminal without one."""
        with contextlib.suppress(LocalProtocolError):  # not-actionable: the program hears no pointer
            self.write(self._emulator.encode_pointer(click(column, row)))

    def write(self, data: bytes) -> None:
        """Send input bytes as they are."""
        if self._pty is not None:
            self._pty.write(data)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal and of the pty."""
        self._emulator.resize(columns, rows)
        if self._pty is not None:
            self._pty.resize(columns, rows)

    def signal(self, number: int) -> None:
        """Send a signal to the program's process group."""
        if self._pty is not None:
            self._pty.signal(number)

    def survivors(self) -> list[int]:
        """The processes that the program started in its session and that still run, once it is gone itself."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if entry.name.isdigit() and int(session) == self.pid and int(entry.name) != self.pid and state != "Z":
                    found.append(int(entry.name))
        return found

    async def send(self, link: int, data: bytes) -> bool:
        """Write bytes to a socket as they are; False when the peer is gone or does not take them in time."""
        found = self._links.get(link)
        if found is None or found.over:
            return False
        try:
            await asyncio.wait_for(self._loop.sock_sendall(found.peer, data), SEND_TIMEOUT)
        except (OSError, TimeoutError):
            return False
        return True

    def hold(self, link: int) -> None:
        """Read no more of a socket: its peer's writes fill the kernel's buffer, and then wait."""
        found = self._links.get(link)
        if found is not None and not found.over:
            found.held = True
            self._loop.remove_reader(found.peer)

    def cut(self, link: int) -> None:
        """Close a socket at once."""
        found = self._links.get(link)
        if found is not None:
            self._end(found)

    async def wait_until(self, met: Callable[[], bool], timeout: float) -> bool:
        """Wait for a condition that something heard, output or an exit can make true; False when the time is over."""
        deadline = self._loop.time() + timeout
        while not met():
            if not await self._change(deadline - self._loop.time()):
                return met()
        return True

    async def wait_quiet(self, quiet: float, timeout: float) -> bool:
        """Wait until nothing was heard or printed for `quiet` seconds from now on; False when the time is over before."""
        started = self._loop.time()
        while (left := max(self._quiet_since, started) + quiet - self._loop.time()) > 0:
            if self._loop.time() >= started + timeout:
                return False
            await self._change(min(left, started + timeout - self._loop.time()))
        return True

    async def close(self) -> None:
        """End the program and its group, every socket, and remove the endpoint. A second call does nothing."""
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for link in self._links.values():
            self._end(link)
        if self._pty is not None:
            await self._pty.close()
        if self._exit is not None:
            await self._exit
        self._emulator.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _listen(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.setblocking(False)
        self._listener.bind(self.endpoint)
        self._listener.listen(8)
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        assert self._listener is not None
        with contextlib.suppress(BlockingIOError):
            peer, _ = self._listener.accept()
            peer.setblocking(False)
            link = _Link(len(self._links) + 1, peer)
            self._links[link.number] = link
            self._loop.add_reader(peer, self._read, link)
            self._say(Connected(self.now, link.number))

    def _read(self, link: _Link) -> None:
        """Everything that the socket holds now."""
        while not link.over and not link.held:
            try:
                data = link.peer.recv(READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._end(link)
                self._say(Ended(self.now, link.number))
                return
            try:
                for body in link.decoder.bodies(data):
                    self._say(Body(self.now, link.number, body))
            except RemoteProtocolError as fault:
                self._end(link)
                self._say(BadFrame(self.now, link.number, fault.code, fault.detail))

    def _end(self, link: _Link) -> None:
        if not link.over:
            link.over = True
            self._loop.remove_reader(link.peer)
            link.peer.close()

    def _marker(self, payload: str) -> None:
        if self._listener is not None:
            self._accept()
        for link in list(self._links.values()):
            self._read(link)
        self.marked = self._emulator.screen()
        self._say(Marker(self.now, payload))

    def _reply(self, data: bytes) -> None:
        if self._pty is not None and self._pty.unwritten < READ_BYTES:
            self._pty.write(data)

    def _output(self, data: bytes) -> None:
        self.printed += len(data)
        if len(self.output) < MAX_OUTPUT:
            self.output += data
        self._emulator.feed(data)
        self._changed()

    async def _await_exit(self, pty: Pty) -> None:
        self.exit_status = await pty.wait()
        self._changed()

    def _say(self, heard: Heard) -> None:
        count = next(self._told)
        if count <= MAX_HEARD:
            self._tell(heard)
        elif isinstance(heard, Body):
            self._end(self._links[heard.link])
            self._tell(BadFrame(self.now, heard.link, "limit-exceeded", f"more than {MAX_HEARD} messages and markers"))
        self._changed()

    async def _change(self, timeout: float) -> bool:
        changed: asyncio.Future[None] = self._loop.create_future()
        self._waiters.add(changed)
        try:
            done, _ = await asyncio.wait((changed,), timeout=max(timeout, 0))
        finally:
            self._waiters.discard(changed)
        return bool(done)

    def _changed(self) -> None:
        self._quiet_since = self._loop.time()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
