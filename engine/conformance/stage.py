"""One program on the suite's stage: start it, answer its adapter as a scenario wants, make it draw, see whether it still lives.

Scenarios (ordinary.py, misbehaviour.py, environment.py) and claims.py use it. All waiting is here and has a deadline.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ...adapters.termwright.bench import Bench
from ...machines.termwright.framing import encode_frame
from ...machines.termwright.limits import ABSOLUTE_LIMITS, DEFAULT_LIMITS
from .findings import Silent
from .fixture import EVENTS_VARIABLE, Fixture, Received
from .session import Session

#: Seconds for what must happen, and of silence before it is believed that nothing more comes.
PATIENCE = 10.0
QUIET = 0.25
#: Seconds for a key or a resize to make the program draw.
DRAWING = 3.0
#: What the suite grants to an adapter that announces logs: few enough that a flood shows at once.
LOG_RATE, LOG_BURST = 20, 10


@dataclass
class Lab:
    """What every scenario of one run shares."""

    program: tuple[str, ...]
    fixture: Fixture = field(default_factory=Fixture)
    adapter: str = ""  #: name and version, once it has said hello
    announced: tuple[str, ...] = ()  #: its capabilities

    @asynccontextmanager
    async def stage(self, *, endpoint: bool = True, token: bool = True) -> AsyncIterator[Stage]:
        """Start the program on a stage of its own, and end it."""
        session = Session(secrets.token_urlsafe(32), str(uuid.uuid4()))
        handle, events = (None, self.fixture.events) if self.fixture.events is not None else tempfile.mkstemp(prefix="triptych-events-")
        if handle is None:
            Path(events).write_bytes(b"")  # noqa: ASYNC240 - an empty file
        else:
            os.close(handle)
        bench = None
        try:
            bench = await Bench.start(
                self.program,
                session.take,
                columns=self.fixture.columns,
                rows=self.fixture.rows,
                endpoint=endpoint,
                token=session.token if token else "",
                environment={EVENTS_VARIABLE: events},
            )
            yield Stage(self, bench, session, Path(events))
        finally:
            if bench is not None:
                await bench.close()
            if handle is not None:
                Path(events).unlink(missing_ok=True)  # noqa: ASYNC240 - its own small file


class Stage:
    """The running program, its session so far, and what the scenario does to both."""

    def __init__(self, lab: Lab, bench: Bench, session: Session, events: Path) -> None:
        self.lab, self.bench, self.session = lab, bench, session
        self._events = events
        self._size = (lab.fixture.columns, lab.fixture.rows)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        return self._size

    async def until(self, met: Callable[[], bool], timeout: float = PATIENCE) -> bool:
        """Wait until `met()`, an exit of the program included; False when neither came in time or the program is gone without it."""
        await self.bench.wait_until(lambda: met() or self.bench.exit_status is not None, timeout)
        return met()

    async def quiet(self, quiet: float = QUIET, timeout: float = DRAWING) -> None:
        """Wait until the program says and prints nothing, or the time is over."""
        await self.bench.wait_quiet(quiet, timeout)

    async def hello(self) -> None:
        """Wait for the hello; raises `Silent` without one."""
        session = self.session
        if not await self.until(lambda: session.hello is not None or bool(session.faults)) or session.hello is None:
            seen = f"instead: {session.faults[0][2]}" if session.faults else self._seen()
            raise Silent(f"no hello within {PATIENCE:.0f} s; {seen}")
        said = session.hello
        self.lab.adapter, self.lab.announced = f"{said.adapter.name} {said.adapter.version}", tuple(said.capabilities)

    def acknowledgement(
        self,
        *,
        limits: Mapping[str, int] | None = None,
        marker: bool | None = None,
        logs: bool = True,
        protocol: str = "termwright/3",
        subscribe: str = "semantic",
        extra: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The frame of a hello-ack; `extra` adds unknown fields to it and to its objects. What it grants bounds the session from here."""
        session = self.session
        session.granted = {**DEFAULT_LIMITS, **(limits or {})}
        more = dict(extra or {})
        message: dict[str, Any] = {
            "type": "hello-ack",
            "protocol": protocol,
            "sessionId": session.session_id,
            "limits": {**session.granted, **more},
            "subscribe": subscribe,
            "marker": {"enabled": session.marked if marker is None else marker, **more},
            **more,
        }
        if logs and "logs" in session.announced:
            message["logs"] = {"enabled": True, "maxRecordsPerSecond": LOG_RATE, "burst": LOG_BURST, **more}
        return _frame(message)

    async def send(self, data: bytes) -> bool:
        """Write bytes to the adapter's socket as they are."""
        return await self.bench.send(self.session.link, data)

    async def say(self, message: Mapping[str, object]) -> bool:
        """Send one message."""
        return await self.send(_frame(message))

    async def attach(self, **changes: Any) -> None:
        """Hello, acknowledgement, and the first whole revision; raises `Silent` when one does not come."""
        await self.hello()
        await self.send(self.acknowledgement(**changes))
        await self.published()

    async def published(self, more_than: int = 0) -> None:
        """Wait for a revision above this one with its marker, then for silence; raises `Silent` when none comes."""
        session = self.session
        await self.until(lambda: session.revision > more_than or session.gone)
        if not await self.until(lambda: session.revision > more_than, QUIET):  # a socket may close just before its last marker comes
            raise Silent(f"no revision after {more_than} came with its tree{' and marker' if self.session.marked else ''}; {self._seen()}")
        await self.quiet()

    async def resync(self, session_id: str | None = None) -> None:
        """Ask for a whole tree, as a driver does whose base is another."""
        await self.say(self.resync_request(session_id))

    def resync_request(self, session_id: str | None = None) -> dict[str, object]:
        """The message that asks for a whole tree."""
        tree = self.session.tree
        return {
            "type": "semantic-resync-request",
            "sessionId": session_id or self.session.session_id,
            "expectedBaseRevision": None if tree is None else tree.revision,
            "reason": "missing-base" if tree is None else "base-mismatch",
        }

    def press(self, keys: Sequence[str]) -> None:
        """Press keys."""
        self.bench.press(*keys)

    async def wiggle(self) -> None:
        """Resize the terminal by one column and back, so that the program draws again and nothing has changed in the end."""
        columns, rows = self.size
        for size in ((columns - 1, rows), (columns, rows)):
            await self.resize(*size)
            await self.quiet(0.1, 1.0)

    async def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal and wait for the program to draw."""
        before = self.bench.printed
        self._size = (columns, rows)
        self.bench.resize(columns, rows)
        await self.until(lambda: self.bench.printed > before, 1.0)

    async def stimulate(self) -> bool:
        """Make the program publish: its stimulus keys, and a resize when they do nothing. Whether a revision was completed."""
        before = self.session.revision
        self.press(self.lab.fixture.stimulus)
        if not await self.until(lambda: self.session.revision > before, 1.0):
            await self.wiggle()
            await self.until(lambda: self.session.revision > before, 1.0)
        await self.quiet()
        return self.session.revision > before

    async def dead(self) -> str:
        """Why the program is taken to have died, "" when it still answers its keyboard or a resize."""
        bench, keys = self.bench, self.lab.fixture.stimulus
        before = bench.printed
        if bench.exit_status is None:
            self.press(keys)
            if not await self.until(lambda: bench.printed > before, DRAWING):
                await self.resize(self.size[0] - 1, self.size[1])
                await self.until(lambda: bench.printed > before, DRAWING)
            await self.quiet(0.1, 1.0)  # who draws may still be about to die of what it reads next
        if bench.exit_status is not None:
            return f"the program exited with status {bench.exit_status}"
        return "" if bench.printed > before else f"the program prints nothing after {' '.join(keys)} and a resize"

    async def drawn(self) -> bool:
        """Wait until the program has drawn its first screen and is quiet."""
        if not await self.until(lambda: self.bench.printed > 0):
            return False
        await self.quiet(2 * QUIET)
        return True

    def received(self) -> list[Received]:
        """What the program reported on its events file so far; a line that is not whole yet is left out."""
        lines = self._events.read_bytes().rpartition(b"\n")[0].splitlines()
        return [msgspec.json.decode(line, type=Received) for line in lines if line.strip()]

    def _seen(self) -> str:
        session, bench = self.session, self.bench
        parts = [f"{len(session.links)} connections", f"{len(session.publications)} trees", f"{len(session.marks)} markers"]
        if session.errors:
            parts.append(f"its error {session.errors[0].code}: {session.errors[0].message}")
        if session.faults:
            parts.append(session.faults[0][2])
        if bench.exit_status is not None:
            last = next((line.strip() for line in reversed(bench.text().splitlines()) if line.strip()), "")
            parts.append(f"the program exited with {bench.exit_status}" + (f", and printed last {last!r}" if last else ""))
        return "seen: " + ", ".join(parts)


def _frame(message: Mapping[str, object]) -> bytes:
    return encode_frame(message, ABSOLUTE_LIMITS["maxFrameBytes"])
