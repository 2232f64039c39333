"""Runs the engine as a child process on pipes: lines in, lines out, its stderr told on; called by the bridge.

A process of its own, since a consumer must be able to end an engine that hangs: whatever blocks it (a display server, a driver, a consent
dialog), SIGKILL ends it, its guard lifts what it held down, and the sockets of the bridge go on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from ...generated.desklink.vocabulary import MAX_LINE_BYTES
from ...machines.wire.lines import LineSplitter, TooLong

READ_BYTES = 1 << 16
LINE_OF_STDERR_BYTES = 4096
SHUTDOWN = b'{"method":"shutdown"}\n'


class EngineChild:
    """A running engine. `on_line` gets each line it says, `on_error` each line of its stderr, `on_end` is called once when it has gone."""

    def __init__(self, process: asyncio.subprocess.Process, on_line: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._process = process
        self._on_line = on_line
        self._on_end = on_end
        self._reading: asyncio.Task[None]

    @classmethod
    async def start(
        cls,
        command: list[str],
        env: Mapping[str, str],
        *,
        on_line: Callable[[bytes], None],
        on_error: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> EngineChild:
        """Start it. Raises OSError.

        It has a process group of its own: a Ctrl-C of the terminal is for the bridge, which ends its engine in order.
        """
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe, process_group=0, limit=READ_BYTES
        )
        child = cls(process, on_line, on_end)
        child._reading = asyncio.get_running_loop().create_task(child._read(on_error))
        return child

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, line: bytes) -> None:
        """Write one line, without its newline. An engine that has gone takes nothing, and `on_end` says so."""
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(line + b"\n")

    async def drained(self) -> None:
        """Wait until it has taken most of what it was sent."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            await self._process.stdin.drain()

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self, seconds: float) -> None:
        """Ask it to shut down, as it may take `seconds` for, then terminate and at last kill it. Everything it said is told before."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self.send(SHUTDOWN.strip())
            await self._process.stdin.drain()
        for harder in (self._process.terminate, self._process.kill):
            try:
                await asyncio.wait_for(self._process.wait(), seconds)
                break
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    harder()
        await self._reading

    async def _read(self, on_error: Callable[[str], None]) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None

        def say(line: bytes | TooLong) -> None:
            if isinstance(line, bytes):
                self._on_line(line)

        def complain(line: bytes | TooLong) -> None:
            if isinstance(line, bytes):
                on_error(line.decode(errors="replace"))

        await asyncio.gather(
            _lines(process.stdout, LineSplitter(MAX_LINE_BYTES), say), _lines(process.stderr, LineSplitter(LINE_OF_STDERR_BYTES), complain)
        )
        await process.wait()
        process.stdin.close()
        with contextlib.suppress(ConnectionError):
            await process.stdin.wait_closed()
        self._on_end()


async def _lines(stream: asyncio.StreamReader, splitter: LineSplitter, take: Callable[[bytes | TooLong], None]) -> None:
    while data := await stream.read(READ_BYTES):
        for line in splitter.feed(data):
            take(line)
    for line in splitter.finish():
        take(line)
