"""Reads the CLIPBOARD selection of an X display, whatever its owner makes of that: text of several kinds, pieces, silence (ICCCM 2).

Called by the clipboard's thread with each event that arrives. At most `limit` bytes and one are ever kept. An owner that still sends when
the answer is known is heard to the end, up to a deadline, with nothing kept: some programs end when the window that they write to vanishes.
Nor do some hear a second request while they answer one in pieces, so each owner gets one at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import xcffib.xproto as x

from ...errors import ProtocolError
from ...machines.desklink.clipboard import BUSY, EMPTY, NO_ANSWER, NO_TEXT, refused
from ..x11_text import decode_compound_text
from .selection_owner import SelectionOwner
from .x11_client import Property, Watched, read_property

TARGETS = ("UTF8_STRING", "text/plain;charset=utf-8", "TEXT", "STRING")
"""What is asked for, in this order, until something is granted; TEXT leaves the choice to the owner."""
KINDS = ("UTF8_STRING", "text/plain;charset=utf-8", "COMPOUND_TEXT", "STRING")
ATOMS = (*TARGETS, *KINDS, "CLIPBOARD", "INCR", "TRIPTYCH_CLIPBOARD")
MOST_READINGS = 32
FINISH_SECONDS = 0.5
"""How long an answer that is cut at the limit waits for the owner to have sent the rest, so that it is free again then."""
LISTEN_SECONDS = 10.0
"""How long an owner is heard to its end once the answer is told."""

Outcome: TypeAlias = bytes | ProtocolError
"""UTF-8, or at least the first `limit` + 1 bytes of it; or why there is none."""


@dataclass
class _Reading:
    window: int
    time: int
    limit: int
    deadline: float
    done: Callable[[Outcome], None] | None
    targets: Iterator[str] = field(default_factory=lambda: iter(TARGETS))
    owner: int = 0  #: who is asked; 0 while it waits for its turn
    kind: int = 0
    data: bytearray = field(default_factory=bytearray)
    in_pieces: bool = False

    @property
    def wanted(self) -> int:
        """How many bytes more are of use: up to one above the limit, which shows that there are more."""
        return 0 if self.done is None else max(0, self.limit + 1 - len(self.data))


class SelectionReader:
    """The readings under way on one connection. What `owner`, on the same connection, holds is answered without asking anybody."""

    def __init__(self, connection: Any, atoms: Mapping[str, int], owner: SelectionOwner, watched: Watched) -> None:
        self._connection = connection
        self._watched = watched
        self._core = connection.core
        self._root = connection.get_setup().roots[0].root
        self._atoms = atoms
        self._owner = owner
        self._readings: dict[int, _Reading] = {}
        self._waiting: list[_Reading] = []

    def start(self, at: int, limit: int, deadline: float, done: Callable[[Outcome], None]) -> None:
        """Read the text; `at` is the server time, `deadline` monotonic seconds. `done` is called once, perhaps before this returns."""
        if len(self._readings) >= MOST_READINGS:
            done(refused(BUSY))
            return
        window = int(self._connection.generate_id())
        events = [x.EventMask.PropertyChange]
        self._core.CreateWindow(0, window, self._root, 0, 0, 1, 1, 0, x.WindowClass.InputOnly, 0, x.CW.EventMask, events)
        reading = self._readings[window] = _Reading(window, at, limit, deadline, done)
        self._ask(reading)

    def handle(self, event: Any) -> None:
        """Do what an event asks for, if it concerns a reading."""
        match event:
            case x.SelectionNotifyEvent():
                reading = self._readings.get(event.requestor)
                if reading is not None and not reading.in_pieces:
                    self._granted(reading) if event.property else self._ask(reading)
            case x.PropertyNotifyEvent() if event.state == x.Property.NewValue and event.atom == self._atoms["TRIPTYCH_CLIPBOARD"]:
                reading = self._readings.get(event.window)
                if reading is not None and reading.in_pieces:
                    self._take_piece(reading)
            case x.DestroyNotifyEvent():
                self._owner_gone(event.window)

    def deadline(self) -> float | None:
        """When `expire` is due, in monotonic seconds."""
        return min((reading.deadline for reading in self._readings.values()), default=None)

    def expire(self, now: float) -> None:
        """Answer the readings whose time is over, and leave the owners that were heard for long enough."""
        for reading in [reading for reading in self._readings.values() if reading.deadline <= now]:
            if reading.done is None:
                self._end(reading)
            else:
                self._answer(reading, refused(NO_ANSWER) if reading.wanted else self._utf8(reading))
                if not (reading.owner or reading.in_pieces):  # it only waited for its turn
                    self._end(reading)

    def fail(self, error: ProtocolError) -> None:
        """Answer all readings so; the connection is gone."""
        for reading in self._readings.values():
            if reading.done is not None:
                reading.done(error)
        self._readings.clear()

    def _ask(self, reading: _Reading) -> None:
        """Ask for the next target. Whose the selection is may change at any time, so it is looked at each time."""
        if reading.done is None:
            self._end(reading)
            return
        owner = self._core.GetSelectionOwner(self._atoms["CLIPBOARD"]).reply().owner
        if not owner:
            self._finish(reading, refused(EMPTY))
        elif owner == self._owner.window:
            self._finish(reading, self._owner.text)
        elif any(other.owner == owner for other in self._readings.values() if other is not reading):
            self._asks(reading, 0)
            self._waiting.append(reading)
        else:
            self._asks(reading, owner)
            if (target := next(reading.targets, None)) is None:
                self._finish(reading, refused(NO_TEXT))
                return
            names = (self._atoms[name] for name in ("CLIPBOARD", target, "TRIPTYCH_CLIPBOARD"))
            self._core.ConvertSelection(reading.window, *names, reading.time)

    def _asks(self, reading: _Reading, owner: int) -> None:
        """Note who is asked, and watch for its end; another owner is asked from the first target on."""
        if owner == reading.owner:
            return
        if reading.owner:
            self._watched.remove(reading.owner, x.EventMask.StructureNotify)
        if owner:
            self._watched.add(owner, x.EventMask.StructureNotify)
        reading.owner, reading.targets = owner, iter(TARGETS)

    def _owner_gone(self, owner: int) -> None:
        """A window that owned the selection was destroyed. Pieces may go on: some owners have a window for each text."""
        for reading in [reading for reading in self._readings.values() if reading.owner == owner]:
            reading.owner = 0
            if not reading.in_pieces:
                self._ask(reading)
        self._ask_waiting()

    def _granted(self, reading: _Reading) -> None:
        found = self._take(reading)
        if found is None:
            self._finish(reading, refused(NO_TEXT))
        elif found.kind == self._atoms["INCR"]:
            reading.in_pieces = True
        elif self._keep(reading, found):
            self._finish(reading, self._utf8(reading))

    def _take_piece(self, reading: _Reading) -> None:
        found = self._take(reading)
        if found is None:
            return
        if not found.data and not found.left:
            self._finish(reading, self._utf8(reading))
        elif reading.wanted and self._keep(reading, found) and not reading.wanted:
            reading.deadline = min(reading.deadline, time.monotonic() + FINISH_SECONDS)

    def _take(self, reading: _Reading) -> Property | None:
        """What the owner has put there, as much of it as is wanted; it is deleted, which asks for the next piece."""
        found = read_property(self._connection, reading.window, self._atoms["TRIPTYCH_CLIPBOARD"], reading.wanted)
        if not found.kind:
            return None
        self._core.DeleteProperty(reading.window, self._atoms["TRIPTYCH_CLIPBOARD"])
        return found

    def _keep(self, reading: _Reading, found: Property) -> bool:
        """Keep a piece of text; False, and the reading answered, when it is none."""
        reading.kind = reading.kind or found.kind
        if found.format == 8 and reading.kind in (self._atoms[name] for name in KINDS):
            reading.data += found.data
            return True
        if reading.in_pieces:
            self._answer(reading, refused(NO_TEXT))
        else:
            self._finish(reading, refused(NO_TEXT))
        return False

    def _utf8(self, reading: _Reading) -> bytes:
        if reading.kind == self._atoms["STRING"]:
            return reading.data.decode("latin-1").encode()
        if reading.kind == self._atoms["COMPOUND_TEXT"]:
            return decode_compound_text(bytes(reading.data)).encode()
        return bytes(reading.data)

    def _answer(self, reading: _Reading, outcome: Outcome) -> None:
        """Tell the outcome, and go on to hear the owner."""
        done, reading.done = reading.done, None
        reading.data.clear()
        reading.deadline = time.monotonic() + LISTEN_SECONDS
        if done is not None:
            done(outcome)

    def _finish(self, reading: _Reading, outcome: Outcome) -> None:
        self._answer(reading, outcome)
        self._end(reading)

    def _end(self, reading: _Reading) -> None:
        if self._readings.pop(reading.window, None) is None:
            return
        self._asks(reading, 0)
        self._core.DestroyWindow(reading.window)
        self._ask_waiting()

    def _ask_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for next_one in waiting:
            if next_one.window in self._readings:
                self._ask(next_one)
