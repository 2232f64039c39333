"""Reads the events of an accessibility bus, and remembers from them what has the focus and which window was activated last.

The Linux source feeds it. It only remembers: what it names is asked for its state again before it is believed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

EVENT_INTERFACE = "org.a11y.atspi.Event."
MAX_FOCUSED = 8  # Qt marks several nodes at once
MAX_PROGRAMS = 256

Ref: TypeAlias = tuple[str, str]
"""An accessible: the unique bus name of its program, and its path."""


@dataclass(frozen=True, slots=True)
class Event:
    """One signal of a program. `kind`: "activate", "deactivate", "focused", "accessible-name", "came" or "gone" (to or from the bus)."""

    kind: str
    sender: str
    path: str = ""
    on: bool = False


def read_event(interface: str, member: str, sender: str, path: str, body: Sequence[object]) -> Event | None:
    """The event of one signal, None when it says nothing of interest. GTK 4 writes members in lower case."""
    if member == "NameOwnerChanged" and len(body) == 3:
        return Event("came" if body[2] else "gone", str(body[0]))
    if interface == EVENT_INTERFACE + "Window" and member.casefold() in ("activate", "deactivate"):
        return Event(member.casefold(), sender, path)
    if interface == EVENT_INTERFACE + "Object" and len(body) > 1:
        kind = {"statechanged": "focused", "propertychange": "accessible-name"}.get(member.replace("-", "").casefold())
        if kind is not None and body[0] == kind:
            return Event(kind, sender, path, body[1] == 1)
    return None


class FocusMemory:
    """What the events of one bus tell. `active`: the window of the last activation that no deactivation followed."""

    def __init__(self) -> None:
        self.active: Ref | None = None
        self._focused: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def focused(self, program: str) -> tuple[str, ...]:
        """The paths of a program that gained the focus and have not lost it, oldest first."""
        return tuple(self._focused.get(program, ()))

    def forget(self) -> None:
        """Know nothing: events were missed, or another bus is listened to."""
        self.active = None
        self._focused.clear()

    def take(self, event: Event, titled: Ref | None) -> bool:
        """Take in one event. Whether another look is worth while; `titled`: the window whose title was read last."""
        here = (event.sender, event.path)
        if event.kind == "focused":
            self._take_focus(event)
        elif event.kind == "activate":
            self.active = here
        elif event.kind == "deactivate":
            self.active = None if self.active == here else self.active
        elif event.kind == "gone":
            known = self._focused.pop(event.sender, None) is not None
            if self.active is not None and self.active[0] == event.sender:
                self.active, known = None, True
            return known
        elif event.kind == "accessible-name":
            return titled == here
        else:
            return False
        return True

    def _take_focus(self, event: Event) -> None:
        paths = self._focused.setdefault(event.sender, OrderedDict())
        self._focused.move_to_end(event.sender)
        paths.pop(event.path, None)
        if event.on:
            paths[event.path] = None
        if len(paths) > MAX_FOCUSED:
            paths.popitem(last=False)
        if len(self._focused) > MAX_PROGRAMS:
            self._focused.popitem(last=False)
