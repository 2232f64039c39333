"""Carries lines from one descriptor and lines to another, by two threads, so that neither ever blocks the event loop.

The descriptors are the other side's: they may be files, pipes, sockets or terminals. Setting O_NONBLOCK would change them under its feet,
and it may have set that itself. So the threads wait, each in its own place. Called by the desktop engine and by the collector process.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from ..machines.wire.lines import LineSplitter, TooLong

READ_BYTES = 1 << 20

SLICE_SECONDS = 0.005
"""How long lines may hold the event loop before it sees to others: one read may bring half a million of them."""


class LineReader:
    """Reads lines and hands them over on the event loop; `on_end` is called once, at the end of the stream or on a read error."""

    def __init__(
        self, descriptor: int, splitter: LineSplitter, on_line: Callable[[bytes | TooLong], None], on_end: Callable[[], None]
    ) -> None:
        self._descriptor = descriptor
        self._splitter = splitter
        self._on_line = on_line
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._taken = threading.Event()
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def _run(self) -> None:
        try:
            while data := self._read():
                # One chunk under way at a time: a peer that writes faster than we work is held back by its own pipe.
                self._taken.clear()
                self._loop.call_soon_threadsafe(self._deliver, iter(self._splitter.feed(data)))
                self._taken.wait()
            self._loop.call_soon_threadsafe(self._deliver, iter(self._splitter.finish()))
            self._loop.call_soon_threadsafe(self._on_end)
        except RuntimeError:
            # The loop is closed: the process is ending for another reason.
            return

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._descriptor, READ_BYTES)
            except BlockingIOError:
                select.select([self._descriptor], [], [])
            except OSError:
                return b""

    def _deliver(self, lines: Iterator[bytes | TooLong]) -> None:
        until = self._loop.time() + SLICE_SECONDS
        try:
            for line in lines:
                self._on_line(line)
                if self._loop.time() > until:
                    self._loop.call_soon(self._deliver, lines)
                    return
        except BaseException:
            self._taken.set()
            raise
        self._taken.set()


class LineWriter:
    """Writes lines in order; `on_broken` is called on the event loop once, when nobody reads any more."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._queued = 0
        self._written = 0
        self._ended = asyncio.Event()
        threading.Thread(target=self._run, name="stdout", daemon=True).start()

    @property
    def backlog(self) -> int:
        """Bytes that are handed over and not yet written."""
        return self._queued - self._written

    def write(self, line: bytes) -> None:
        """Queue one line; the newline is added here. Never blocks."""
        self._queued += len(line) + 1
        self._lines.put(line + b"\n")

    async def close(self, timeout: float) -> bool:
        """Write what is queued; False when the peer did not take it within `timeout` seconds."""
        self._lines.put(None)
        try:
            await asyncio.wait_for(self._ended.wait(), timeout)
        except TimeoutError:
            return False
        return True

    def _run(self) -> None:
        broken = False
        while (line := self._lines.get()) is not None:
            if not broken and not self._write(line):
                broken = True
                self._post(self._on_broken)
            self._written += len(line)
        self._post(self._ended.set)

    def _write(self, line: bytes) -> bool:
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [])
            except OSError:
                return False
        return True

    def _post(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            return
