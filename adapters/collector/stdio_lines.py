"""The two ends of a collector's wire: lines read from standard input, messages written to standard output, each in a thread of its own.

Threads, since either may be a pipe, a file or a terminal, and neither a host that does not read nor one that does not write may keep the
collector from ending when it is told to.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable

import msgspec

from ...machines.collector.lines import CommandSplitter
from ...machines.collector.tracking import Message

CHUNK = 65_536


class StdioLines:
    """Must be made in the event loop; every callback runs there. `on_end` is called once, when nobody writes or nobody reads any more."""

    def __init__(self, on_line: Callable[[bytes], None], on_end: Callable[[], None], stdin: int = 0, stdout: int = 1) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._splitter = CommandSplitter()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._flushed = asyncio.Event()
        self._ended = False
        threading.Thread(target=self._read, args=(stdin,), daemon=True, name="stdin").start()
        threading.Thread(target=self._write, args=(stdout,), daemon=True, name="stdout").start()

    def send(self, message: Message) -> None:
        """Write one message as a line; never waits."""
        self._outgoing.put(msgspec.json.encode(message) + b"\n")

    async def flush(self, within: float) -> None:
        """Wait until everything is written, for at most `within` seconds. Nothing can be sent afterwards."""
        self._outgoing.put(None)
        try:
            async with asyncio.timeout(within):
                await self._flushed.wait()
        except TimeoutError:
            return

    def _read(self, stdin: int) -> None:
        while True:
            try:
                chunk = os.read(stdin, CHUNK)
            except OSError:
                chunk = b""
            if not self._tell(self._received, chunk) or not chunk:
                return

    def _write(self, stdout: int) -> None:
        while (line := self._outgoing.get()) is not None:
            try:
                while line:
                    line = line[os.write(stdout, line) :]
            except OSError:  # nobody reads any more
                self._tell(self._end)
                break
        self._tell(self._flushed.set)

    def _received(self, chunk: bytes) -> None:
        if not chunk:
            self._end()
        for line in self._splitter.feed(chunk):
            self._on_line(line)

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()

    def _tell(self, callback: Callable[..., None], *arguments: bytes) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop is closed: the process is ending
            return False
        return True
