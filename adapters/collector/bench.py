"""A collector under test, with its pipes in the hands of the caller: what it says as it comes, what is sent to it, how it ends.

It records and sends; it answers nothing of itself. Only the conformance suite in engine/conformance uses it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ...errors import Unavailable
from ...generated.collector.vocabulary import MAX_STDERR_BYTES
from .piped_process import PipedProcess

#: Lines and bytes that are taken of one collector; one that says more is cut off, so that a flood cannot fill our memory.
MAX_LINES = 100_000
MAX_BYTES = 64 << 20
CLOSE_SECONDS = 2.0


class CollectorBench:
    """One process. `on_line(at, line)` gets each whole line, without its newline, with the monotonic time at which it came."""

    def __init__(self, on_line: Callable[[float, bytes], None]) -> None:
        self._on_line = on_line
        self._changed = asyncio.Event()
        self._process: PipedProcess | None = None
        self._rest = b""
        self._lines = self._bytes = 0
        self._pipe: int | None = None
        self._folder = ""
        self.stderr = b""
        self.status: int | None = None
        self.ended_at = 0.0
        self.overflown = False

    @classmethod
    async def start(
        cls,
        program: Sequence[str],
        on_line: Callable[[float, bytes], None],
        *,
        env: Mapping[str, str] | None = None,
        fixture_variable: str = "",
    ) -> CollectorBench:
        """Start it in a folder of its own. `env`: its whole environment, None for that of this process; `fixture_variable`: give it the
        path of a named pipe in this variable, for `feed`.

        Raises Unavailable when it cannot be started.
        """
        bench = cls(on_line)
        bench._folder = tempfile.mkdtemp(prefix="triptych-collector-")
        given = dict(os.environ if env is None else env)
        try:
            if fixture_variable:
                path = str(Path(bench._folder, "facts"))
                os.mkfifo(path, 0o600)
                # Both ends at once, so that the open here does not wait for the collector, nor its own for us.
                bench._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
                given[fixture_variable] = path
            await asyncio.get_running_loop().subprocess_exec(
                lambda: PipedProcess(bench._began, bench._heard, bench._complained, bench._ended),
                *program,
                cwd=bench._folder,
                env=given,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            await bench.close()
            raise Unavailable(f"cannot start {program[0]}: {error}", "name an executable, with its path or on the PATH") from None
        except BaseException:
            await bench.close()
            raise
        return bench

    @property
    def unfinished(self) -> bytes:
        """What came after the last newline."""
        return self._rest

    def write(self, data: bytes) -> bool:
        """Write to its standard input; False when that is closed, or the process gone."""
        return self._process is not None and self._process.write(data)

    def close_stdin(self) -> None:
        """End its standard input."""
        if self._process is not None:
            self._process.close_stdin()

    def feed(self, line: bytes) -> bool:
        """Write one line to its named pipe; False when there is no room, because nobody reads."""
        if self._pipe is None:
            return False
        try:
            return os.write(self._pipe, line + b"\n") == len(line) + 1
        except BlockingIOError:
            return False

    async def wait_until(self, met: Callable[[], bool], timeout: float) -> bool:
        """Whether `met()` came to hold within so many seconds; it is asked whenever something came, and at the end."""
        deadline = time.monotonic() + timeout
        while not met():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left)
        return True

    async def close(self) -> None:
        """End the process and all of its group, and remove its folder."""
        process = self._process
        if process is not None:
            process.close_stdin()
            process.send_signal(signal.SIGTERM)
            if not await self.wait_until(lambda: self.status is not None, CLOSE_SECONDS):
                process.send_signal(signal.SIGKILL)
            await process.close()
            process.send_signal(signal.SIGKILL)  # what it left behind in its group
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _began(self, process: PipedProcess) -> None:
        self._process = process

    def _heard(self, chunk: bytes) -> None:
        self._bytes += len(chunk)
        if self.overflown or self._bytes > MAX_BYTES or self._lines > MAX_LINES:
            self.overflown = True
            return
        now = time.monotonic()
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._lines += len(lines)
        for line in lines:
            self._on_line(now, line)
        self._changed.set()

    def _complained(self, chunk: bytes) -> None:
        self.stderr = (self.stderr + chunk)[:MAX_STDERR_BYTES]
        self._changed.set()

    def _ended(self, status: int) -> None:
        self.status, self.ended_at = status, time.monotonic()
        self._changed.set()
