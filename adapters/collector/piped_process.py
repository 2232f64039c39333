"""One process with pipes for its three streams: its output as it comes, and its end when it ends. The host of a collector makes one a run.

What a process leaves behind may hold its pipes open for hours. So the end of the process counts, and not that of its pipes, and a process
that has closed its output, and so can say nothing any more, is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import cast

EOF_SECONDS = 1.0  # what output may still come after the end of the process, and what the process may still run after the end of its output


class PipedProcess(asyncio.SubprocessProtocol):
    """Made by `loop.subprocess_exec`, with `start_new_session`: all that the process starts is signalled with it.

    `on_start(self)` is called before any output, `on_output` and `on_stderr` with each chunk, and `on_end(status)` once and last.
    """

    def __init__(
        self,
        on_start: Callable[[PipedProcess], None],
        on_output: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
        on_end: Callable[[int], None],
    ) -> None:
        self._on_start = on_start
        self._take = {1: on_output, 2: on_stderr}
        self._on_end = on_end
        self._over = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._held = False

    def write(self, data: bytes) -> bool:
        """Queue data for its standard input; False when that is closed."""
        if self._stdin.is_closing():
            return False
        self._stdin.write(data)
        return True

    def close_stdin(self) -> None:
        """Close its standard input, after what is queued."""
        self._stdin.close()

    def hold(self) -> None:
        """Read no more of its output, so that it waits when its pipe is full. What a process leaves at its end is read all the same."""
        if self._transport.get_returncode() is None and not self._held:
            self._held = True
            self._stdout.pause_reading()

    def let_go(self) -> None:
        """Read its output again."""
        if self._held:
            self._held = False
            self._stdout.resume_reading()

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the process and all of its group; nothing happens when none is left."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    async def close(self) -> None:
        """Return when `on_end` has been called, or when the end did not come: then the pipes are closed all the same."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * EOF_SECONDS):
                await self._over.wait()
                return
        self._close_pipes()

    # called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It runs."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        self._stdout = cast(asyncio.ReadTransport, self._transport.get_pipe_transport(1))
        self._pid = self._transport.get_pid()
        self._on_start(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
        self._take[fd](data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """A pipe ended, or the process has closed it."""
        if fd == 1 and self._transport.get_returncode() is None:
            self._after(EOF_SECONDS, self._end, signal.SIGTERM)

    def process_exited(self) -> None:
        """It ended; the rest of its output may still be under way."""
        self.let_go()
        self._after(EOF_SECONDS, self._close_pipes)

    def connection_lost(self, exc: Exception | None) -> None:
        """It ended, and so have its pipes, here or there."""
        if self._timer is not None:
            self._timer.cancel()
        status = self._transport.get_returncode()
        assert status is not None  # asyncio calls this after the end of the process
        self._transport.close()
        self._over.set()
        self._on_end(status)

    def _end(self, number: signal.Signals) -> None:
        self.send_signal(number)
        self._after(EOF_SECONDS, self._end, signal.SIGKILL)

    def _close_pipes(self) -> None:
        self._stdin.abort()  # closing would wait until what is queued has been read
        self._transport.close()

    def _after(self, seconds: float, call: Callable[..., None], *arguments: object) -> None:
        """Set the one timer, in place of the one that is set."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, call, *arguments)
