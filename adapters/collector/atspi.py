"""What the focused window and element of a program are, over AT-SPI2: focus is followed by events and read again before it is believed.

The Linux source asks it. It reads names, roles and states, and never the text, the value or the selection of an accessible. What it found
out is judged by `machines.collector.focus`, and no name is read before that.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...machines.collector.focus import ElementState, FocusEvidence, element_state
from .atspi_bus import AccessibilityBus, BusError, Event

DESCRIBE_SECONDS = 1.5
SETTLE_SECONDS = 0.05  # a program shows a window before it is on the bus, and announces a focus before its states say so
ATTEMPTS = 4
MAX_FOCUSED = 8  # Qt marks several nodes at once
MAX_WALK_NODES = 400
MAX_WALK_DEPTH = 30

_ROOT = "/org/a11y/atspi/accessible/root"
_NULL = "/org/a11y/atspi/null"
_REGISTRY = "org.a11y.atspi.Registry"
_ACCESSIBLE = "org.a11y.atspi.Accessible"
_ACTIVE, _FOCUSABLE, _FOCUSED, _SHOWING = (1 << bit for bit in (1, 11, 12, 25))

Ref = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FocusedWindow:
    """The window and element that have the focus. Texts are None unless `element` is NOT_SECURE."""

    element: ElementState
    app_name: str | None = None
    title: str | None = None
    role: str | None = None


class Accessibility:
    """The programs of one accessibility bus. `changed` is called when what is focused, or what it is called, may be another."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._bus: AccessibilityBus | None = None
        self._focused: dict[str, OrderedDict[str, None]] = {}  # by program: paths that gained the focus and have not lost it, oldest first
        self._pids: dict[str, int] = {}
        self._active: Ref | None = None  # the frame of the last activation that no deactivation followed
        self._titled: Ref | None = None  # the frame whose title was last read

    def attach(self, bus: AccessibilityBus | None) -> None:
        """Use another bus, or none. Everything known of the old one is forgotten."""
        self._bus = bus
        self._focused.clear()
        self._pids.clear()
        self._active = self._titled = None

    def on_event(self, event: Event) -> None:
        """Take in one event of the bus."""
        if event.kind == "focused":
            paths = self._focused.setdefault(event.sender, OrderedDict())
            paths.pop(event.path, None)
            if event.on:
                paths[event.path] = None
                if len(paths) > MAX_FOCUSED:
                    paths.popitem(last=False)
        elif event.kind == "activate":
            self._active = (event.sender, event.path)
        elif event.kind == "deactivate":
            if self._active == (event.sender, event.path):
                self._active = None
        elif event.kind == "gone":
            self._focused.pop(event.sender, None)
            if self._pids.pop(event.sender, None) is None:
                return
            if self._active is not None and self._active[0] == event.sender:
                self._active = None
        elif event.kind != "accessible-name" or self._titled != (event.sender, event.path):
            return
        self._changed()

    async def active_pid(self) -> int | None:
        """The process whose window was activated last, where no window system says so; None when that is not known."""
        if self._active is None or self._bus is None:
            return None
        try:
            return await self._pid(self._bus, self._active[0])
        except BusError:
            return None

    async def describe(self, pid: int, program: str | None) -> FocusedWindow:
        """Read the focused window and element of a process. `program`: its executable, for a program that answers from another process."""
        if self._bus is None:
            return FocusedWindow(element_state(FocusEvidence()))
        try:
            async with asyncio.timeout(DESCRIBE_SECONDS):
                for attempt in range(ATTEMPTS):
                    if attempt:
                        await asyncio.sleep(SETTLE_SECONDS)
                    found = await self._describe(self._bus, pid, program)
                    if found.element in (ElementState.NOT_SECURE, ElementState.SECURE):
                        break
                return found
        except TimeoutError:
            return FocusedWindow(element_state(FocusEvidence()))

    async def _describe(self, bus: AccessibilityBus, pid: int, program: str | None) -> FocusedWindow:
        try:
            name = await self._program(bus, pid, program)
            frame = None if name is None else await self._frame(bus, name)
            evidence, element = (FocusEvidence(), None) if frame is None else await self._focus(bus, frame)
            state = element_state(replace(evidence, answered=True, on_bus=name is not None, window=frame is not None))
            if state is not ElementState.NOT_SECURE or frame is None or element is None:
                return FocusedWindow(state)
            title, app_name, [role] = await asyncio.gather(
                bus.get(*frame, _ACCESSIBLE, "Name"),
                bus.get(frame[0], _ROOT, _ACCESSIBLE, "Name"),
                bus.call(*element, _ACCESSIBLE, "GetRoleName"),
            )
        except BusError:
            return FocusedWindow(element_state(FocusEvidence()))
        self._titled = frame
        return FocusedWindow(state, str(app_name) or None, str(title) or None, str(role) or None)

    async def _program(self, bus: AccessibilityBus, pid: int, program: str | None) -> str | None:
        """The bus name of a process; else of the program that calls itself like the executable; None when it is not on the bus."""
        for name, known in self._pids.items():
            if known == pid:
                return name
        names = [str(child[0]) for child in (await bus.call(_REGISTRY, _ROOT, _ACCESSIBLE, "GetChildren"))[0]]
        for name in names:
            try:
                if await self._pid(bus, name) == pid:
                    return name
            except BusError:  # it has just left
                continue
        for name in names:
            try:
                if program and await bus.get(name, _ROOT, _ACCESSIBLE, "Name") == program:
                    return name
            except BusError:
                continue
        return None

    async def _pid(self, bus: AccessibilityBus, name: str) -> int:
        if name not in self._pids:
            self._pids[name] = await bus.pid_of(name)
        return self._pids[name]

    async def _frame(self, bus: AccessibilityBus, name: str) -> Ref | None:
        """The active window of a program."""
        children = [_ref(child) for child in (await bus.call(name, _ROOT, _ACCESSIBLE, "GetChildren"))[0]]
        windows = [child for child in children if child[1] != _NULL]
        states = await asyncio.gather(*(_states(bus, window) for window in windows))
        active = [window for window, state in zip(windows, states, strict=True) if state & _ACTIVE]
        if self._active in active:
            return self._active
        return active[-1] if active else None

    async def _focus(self, bus: AccessibilityBus, frame: Ref) -> tuple[FocusEvidence, Ref]:
        """What says that it has the focus in a window, with the element that counts as focused: without any, the window itself."""
        name = frame[0]
        focused = [(name, path) for path in list(self._focused.get(name, ())) if await _has_focus(bus, (name, path))]
        whole = focusable = False
        if not focused:
            focused, whole, focusable = await _search(bus, frame)
        roles = await asyncio.gather(*(bus.call(*ref, _ACCESSIBLE, "GetRole") for ref in focused))
        evidence = FocusEvidence(roles=tuple(int(role[0]) for role in roles), whole=whole, focusable=focusable)
        return evidence, focused[-1] if focused else frame


async def _has_focus(bus: AccessibilityBus, ref: Ref) -> bool:
    try:
        return bool(await _states(bus, ref) & _FOCUSED)
    except BusError:  # the node is gone
        return False


async def _states(bus: AccessibilityBus, ref: Ref) -> int:
    words = (await bus.call(*ref, _ACCESSIBLE, "GetState"))[0]
    return sum(int(word) << (32 * position) for position, word in enumerate(words))


async def _search(bus: AccessibilityBus, frame: Ref) -> tuple[list[Ref], bool, bool]:
    """The focused nodes under a window that show, breadth first; whether all was looked at, and whether anything could have the focus."""
    focused: list[Ref] = []
    focusable = False
    level, visited = [frame], 0
    for _ in range(MAX_WALK_DEPTH):
        visited += len(level)
        if visited > MAX_WALK_NODES:
            return focused, False, focusable
        states = await asyncio.gather(*(_states(bus, ref) for ref in level))
        showing = [ref for ref, state in zip(level, states, strict=True) if state & _SHOWING or ref == frame]
        focused += [ref for ref, state in zip(level, states, strict=True) if state & _FOCUSED]
        focusable = focusable or any(state & _FOCUSABLE for state in states)
        replies = await asyncio.gather(*(bus.call(*ref, _ACCESSIBLE, "GetChildren") for ref in showing))
        level = [ref for reply in replies for ref in map(_ref, reply[0]) if ref[1] != _NULL]
        if not level:
            return focused, True, focusable
    return focused, False, focusable


def _ref(pair: Sequence[object]) -> Ref:
    return str(pair[0]), str(pair[1])
