"""Owns the CLIPBOARD selection of an X display and hands its text to whoever asks, in pieces when it is long (ICCCM 2).

Called by the clipboard's thread with each event that arrives. A requestor may die, stall, or ask many times at once: each hand-over in
pieces has its own place in the text and its own deadline, and their number is limited. Nothing is kept once another owner came.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xcffib
import xcffib.xproto as x

from .x11_client import Watched, change_numbers, change_property, read_property

build: Any = x

TEXTS = ("UTF8_STRING", "text/plain;charset=utf-8", "TEXT", "STRING")
ATOMS = (*TEXTS, "CLIPBOARD", "TARGETS", "TIMESTAMP", "MULTIPLE", "ATOM_PAIR", "INCR")
PIECE = 1 << 17
"""A longer text is handed over in pieces of so many bytes: half of what the smallest X server takes in one request."""
PATIENCE = 5.0
"""Seconds that a requestor may take for one piece."""
TAKING = x.EventMask.PropertyChange | x.EventMask.StructureNotify
"""What a requestor does that concerns a hand-over in pieces: it takes one, or it vanishes."""
MOST_TRANSFERS = 64
MOST_PAIRS = 64


@dataclass(frozen=True)
class _Held:
    window: int
    text: bytes
    since: int


@dataclass
class _Transfer:
    text: bytes
    kind: int
    deadline: float
    at: int = 0


class SelectionOwner:
    """At most one text on the clipboard of `connection`'s display, from `own` until `release` or until another owner comes."""

    def __init__(self, connection: Any, atoms: Mapping[str, int], watched: Watched) -> None:
        self._connection = connection
        self._watched = watched
        self._core = connection.core
        self._atoms = atoms
        setup = connection.get_setup()
        self._root = setup.roots[0].root
        self._ours, self._our_ids = int(setup.resource_id_base), int(setup.resource_id_mask)
        self._held: _Held | None = None
        self._transfers: dict[tuple[int, int], _Transfer] = {}

    @property
    def window(self) -> int:
        """The window by which the selection is owned; 0 when it is not."""
        return self._held.window if self._held else 0

    @property
    def text(self) -> bytes:
        """What is held; empty when nothing is."""
        return self._held.text if self._held else b""

    def own(self, text: bytes, since: int) -> bool:
        """Take the selection at the server time `since`; False when another program has taken it at that moment.

        Each text has a window of its own, so that the notice of an earlier loss is never taken for the loss of this one.
        """
        window = int(self._connection.generate_id())
        self._core.CreateWindow(0, window, self._root, 0, 0, 1, 1, 0, x.WindowClass.InputOnly, 0, 0, [])
        self._core.SetSelectionOwner(window, self._atoms["CLIPBOARD"], since)
        if self._core.GetSelectionOwner(self._atoms["CLIPBOARD"]).reply().owner != window:
            self._core.DestroyWindow(window)
            return False
        self.release()
        self._held = _Held(window, text, since)
        return True

    def release(self) -> None:
        """Forget the text. Hand-overs that have begun go on to their end."""
        if self._held is not None:
            self._core.DestroyWindow(self._held.window)
            self._held = None

    def handle(self, event: Any) -> None:
        """Do what an event asks for, if it concerns the owner."""
        match event:
            case x.SelectionRequestEvent():
                self._answer(event)
            case x.SelectionClearEvent() if self._held is not None and event.owner == self._held.window:
                self.release()
            case x.PropertyNotifyEvent() if event.state == x.Property.Delete and (event.window, event.atom) in self._transfers:
                self._continue(event.window, event.atom)
            case x.DestroyNotifyEvent():
                for key in [key for key in self._transfers if key[0] == event.window]:
                    del self._transfers[key]

    def deadline(self) -> float | None:
        """When `expire` is due, in monotonic seconds."""
        return min((transfer.deadline for transfer in self._transfers.values()), default=None)

    def expire(self, now: float) -> None:
        """Give up the hand-overs whose requestors have stalled."""
        for key in [key for key, transfer in self._transfers.items() if transfer.deadline <= now]:
            self._end(*key)

    def _answer(self, event: Any) -> None:
        prop = event.property or event.target  # who names none is of before ICCCM, and reads there
        granted = self._may(event) and self._convert(event.requestor, prop, event.target, several=bool(event.property))
        told = build.SelectionNotifyEvent.synthetic(event.time, event.requestor, event.selection, event.target, prop if granted else 0)
        self._core.SendEvent(False, event.requestor, x.EventMask.NoEvent, told.pack())

    def _may(self, event: Any) -> bool:
        held = self._held
        # A window of this very connection is none that asks: somebody else names it, and its events are selected for something else.
        ours = event.requestor & ~self._our_ids == self._ours
        asked = event.owner, event.selection
        return held is not None and asked == (held.window, self._atoms["CLIPBOARD"]) and not ours and not _earlier(event.time, held.since)

    def _convert(self, requestor: int, prop: int, target: int, *, several: bool = False) -> bool:
        """Write what `target` asks for into the requestor's property, or begin to; False for what is not to be had."""
        atoms, held = self._atoms, self._held
        assert held is not None
        if target == atoms["TARGETS"]:
            offered = [atoms[name] for name in ("TARGETS", "TIMESTAMP", "MULTIPLE", *TEXTS)]
            if _latin1(held.text) is None:
                offered.remove(atoms["STRING"])
            change_numbers(self._connection, requestor, prop, x.Atom.ATOM, offered)
        elif target == atoms["TIMESTAMP"]:
            change_numbers(self._connection, requestor, prop, x.Atom.INTEGER, [held.since])
        elif target == atoms["MULTIPLE"]:
            return several and self._convert_several(requestor, prop)
        elif target == atoms["STRING"]:
            text = _latin1(held.text)
            return text is not None and self._put(requestor, prop, target, text)
        elif target in (atoms[name] for name in TEXTS):
            return self._put(requestor, prop, atoms["UTF8_STRING"] if target == atoms["TEXT"] else target, held.text)
        else:
            return False
        return True

    def _convert_several(self, requestor: int, prop: int) -> bool:
        """MULTIPLE: the property lists pairs of target and property; the property of each that is refused becomes None."""
        try:
            listed = read_property(self._connection, requestor, prop, MOST_PAIRS * 8)
        except xcffib.Error:
            return False
        numbers = list(listed.numbers)
        if not numbers or len(numbers) % 2 or listed.left:
            return False
        for place in range(0, len(numbers), 2):
            target, into = numbers[place : place + 2]
            if not into or into == prop or not self._convert(requestor, into, target):
                numbers[place + 1] = 0
        change_numbers(self._connection, requestor, prop, self._atoms["ATOM_PAIR"], numbers)
        return True

    def _put(self, requestor: int, prop: int, kind: int, text: bytes) -> bool:
        key = requestor, prop
        if len(text) <= PIECE:
            if key in self._transfers:  # it asks anew for what it was taking
                self._end(*key)
            change_property(self._connection, requestor, prop, kind, text)
            return True
        if len(self._transfers) >= MOST_TRANSFERS and key not in self._transfers:
            return False
        if key not in self._transfers:
            self._watched.add(requestor, TAKING)
        change_numbers(self._connection, requestor, prop, self._atoms["INCR"], [len(text)])
        self._transfers[key] = _Transfer(text, kind, time.monotonic() + PATIENCE)
        return True

    def _continue(self, requestor: int, prop: int) -> None:
        """The requestor has taken what was there: hand over the next piece; an empty one is the end."""
        transfer = self._transfers[requestor, prop]
        piece = transfer.text[transfer.at : transfer.at + PIECE]
        transfer.at += len(piece)
        transfer.deadline = time.monotonic() + PATIENCE
        change_property(self._connection, requestor, prop, transfer.kind, piece)
        if not piece:
            self._end(requestor, prop)

    def _end(self, requestor: int, prop: int) -> None:
        del self._transfers[requestor, prop]
        self._watched.remove(requestor, TAKING)


def _earlier(at: int, since: int) -> bool:
    """Whether one server time lies before another; they are milliseconds that start anew after 49 days. 0 is the present."""
    return at != 0 and (at - since) & 0xFFFFFFFF >= 0x80000000


def _latin1(text: bytes) -> bytes | None:
    try:
        return text.decode().encode("latin-1")
    except UnicodeEncodeError:
        return None
