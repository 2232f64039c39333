"""Recorded facts in place of the desktop, for the conformance suite: the collector process takes it when FIXTURE_VARIABLE names a file.

Each step is looked at before the next is taken, and told as done by a `fixture` diagnostic when everything that follows from it has been
said. A named pipe is a file too: who writes it decides when each step comes.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...errors import RemoteProtocolError, Unavailable
from ...generated.collector.models import Diagnostic, FixtureStart, Platform
from ...generated.collector.vocabulary import FIXTURE_CODE, FIXTURE_VARIABLE
from ...machines.collector.fixture import Scene, read_start, read_step
from ...machines.collector.tracking import Application, Describe, Description
from ...machines.wire.lines import LineSplitter, TooLong
from ..stdio import LineReader
from .source import Availability

MAX_LINE_BYTES = 1 << 20
LOOKS = 2  # at each step: at the beginning of the second, everything that followed from the first has been said

Call: TypeAlias = Callable[[], None]


def fixture_factory(env: Mapping[str, str]) -> Callable[[Call, Callable[[bool], None]], FixtureSource] | None:
    """What makes the source, where the environment names a fixture. Raises nothing; the factory raises Unavailable."""
    path = env.get(FIXTURE_VARIABLE)
    return None if not path else lambda changed, slept: FixtureSource(path, changed, slept)


class FixtureSource:
    """One stream of facts, as a source. `say` is set by who made it, and sends a message to the host."""

    broken = False

    def __init__(self, path: str, changed: Call, slept: Callable[[bool], None]) -> None:
        """Open the file and read its first line; a named pipe has a writer by then. Raises Unavailable."""
        self._path = path
        self._changed, self._slept = changed, slept
        self.say: Callable[[Diagnostic], None] = lambda diagnostic: None
        self._scene = self._in_front = Scene()
        self._number, self._looks = 0, 0  # of the step that is in force; the start is step 0, and nobody looks at it
        self._opened = self._asleep = False
        self._waiting: deque[Scene] = deque()
        self._fault: Unavailable | None = None
        splitter = LineSplitter(MAX_LINE_BYTES)
        start, lines = self._open(splitter)
        self.platform: Platform = start.platform
        self.notes = f"fixture {start.name}"
        for line in lines:
            self._take(line)
        LineReader(self._descriptor, splitter, self._take, self._ended)

    async def availability(self) -> Availability:
        """What the step says of it. Raises Unavailable when the file is no fixture."""
        self._check()
        self.broken = False
        if not self._opened:
            self._opened = True
            _soon(self._done)
        elif not self._scene.trusted:
            self._looked()
        return Availability(self._scene.trusted, self._scene.reason)

    async def attach(self) -> None:
        """There is nothing to subscribe to."""

    def detach(self) -> None:
        """There is nothing to leave."""

    async def foreground(self) -> Application | None:
        """Who is in front in this step."""
        self._check()
        self._in_front = self._scene
        self._looked()
        return self._in_front.application

    async def describe(self, asked: Describe) -> Description | None:
        """The window of the step that was last looked at."""
        return self._in_front.window

    async def close(self) -> None:
        """Nothing is held but the file, until its writer closes it."""

    def _open(self, splitter: LineSplitter) -> tuple[FixtureStart, list[bytes | TooLong]]:
        try:
            self._descriptor = os.open(self._path, os.O_RDONLY)
            lines: list[bytes | TooLong] = []
            while not lines and (data := os.read(self._descriptor, MAX_LINE_BYTES)):
                lines = splitter.feed(data)
        except OSError as error:
            raise Unavailable(f"cannot read the fixture {self._path}: {error.strerror}", f"check {FIXTURE_VARIABLE}") from None
        if not lines or isinstance(lines[0], TooLong):
            raise self._unreadable(1, "the first line is missing, or too long")
        try:
            return read_start(lines[0]), lines[1:]
        except RemoteProtocolError as error:
            raise self._unreadable(1, str(error)) from None

    def _take(self, line: bytes | TooLong) -> None:
        try:
            if isinstance(line, TooLong):
                raise RemoteProtocolError("line-too-long", f"more than {line.limit} bytes")
            self._waiting.append(read_step(line, self.platform))
        except RemoteProtocolError as error:
            self._fault = self._fault or self._unreadable(self._number + len(self._waiting) + 2, str(error))
            self.broken = True
            self._changed()
        _soon(self._advance)

    def _advance(self) -> None:
        """Take the next step, when there is one and the one in force is done with."""
        if self._looks < LOOKS or not self._waiting:
            return
        before, self._scene = self._scene, self._waiting.popleft()
        # The first look after a wake reconciles, and tells nothing.
        self._number, self._looks = self._number + 1, -1 if self._scene.power == "wake" else 0
        self.broken = (before.trusted, before.reason) != (self._scene.trusted, self._scene.reason) or not self._scene.trusted
        if self._scene.power:
            self._asleep = self._scene.power == "sleep"
            self._slept(self._asleep)
        self._again()

    def _again(self) -> None:
        """Have it looked at; nobody looks while the machine sleeps."""
        if self._asleep:
            _soon(self._done)
        else:
            self._changed()

    def _looked(self) -> None:
        if self._looks >= LOOKS or not self._number:
            return
        self._looks += 1
        if self._looks == LOOKS:
            self._done()
        else:
            self.broken = not self._scene.trusted
            self._changed()

    def _done(self) -> None:
        """Say so, and go on after this look."""
        self._looks = LOOKS
        self.say(Diagnostic(v=1, level="debug", code=FIXTURE_CODE, message=str(self._number)))
        _soon(self._advance)

    def _check(self) -> None:
        if self._fault is not None:
            raise self._fault

    def _ended(self) -> None:
        os.close(self._descriptor)

    def _unreadable(self, number: int, fault: str) -> Unavailable:
        return Unavailable(f"line {number} of {self._path} is none of a fixture: {fault}", "its form is in docs/conformance.md")


def _soon(call: Call) -> None:
    asyncio.get_running_loop().call_soon(call)
