"""What the focused window and element of a program are, over AT-SPI2: focus is followed by events and read again before it is believed.

The Linux source asks it. It reads names, roles and states, and never the text, the value or the selection of an accessible. What it found
out is judged by `machines.collector.focus`, and no name of a window or element is read before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...machines.collector.active_window import ActiveWindow
from ...machines.collector.focus import ElementState, FocusEvidence, element_state
from ...machines.collector.focus_events import Event, FocusMemory, Ref
from .dbus import BusError

DESCRIBE_SECONDS = 1.5
SETTLE_SECONDS = 0.05  # a program shows a window before it is on the bus, and announces a focus before its states say so
ATTEMPTS = 4
AT_ONCE = 16  # questions under way to one program: it answers them between two of its frames
MAX_WALK_NODES = 400
MAX_WALK_DEPTH = 30

_ROOT = "/org/a11y/atspi/accessible/root"
_NULL = "/org/a11y/atspi/null"
_REGISTRY = "org.a11y.atspi.Registry"
_ACCESSIBLE = "org.a11y.atspi.Accessible"
_ACTIVE, _FOCUSABLE, _FOCUSED, _SHOWING = (1 << bit for bit in (1, 11, 12, 25))


class Bus(Protocol):
    """What is asked of an accessibility bus; every method may raise BusError."""

    async def call(self, name: str, path: str, interface: str, member: str) -> list[Any]:
        """Call a method of an accessible."""
        ...

    async def get(self, name: str, path: str, interface: str, member: str) -> Any:
        """Read a property of an accessible."""
        ...

    async def pid_of(self, name: str) -> int:
        """The process behind a bus name."""
        ...


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
        self._bus: Bus | None = None
        self._memory = FocusMemory()
        self._pids: dict[str, int] = {}
        self._names: dict[str, str] = {}  # what the programs call themselves
        self._titled: Ref | None = None  # the window whose title was last read
        self._vast: Ref | None = None  # the window that is too large to be searched: an event has to tell what has the focus in it
        self._look_for_active = True

    def attach(self, bus: Bus | None) -> None:
        """Use another bus, or none. Everything known of the old one is forgotten."""
        self._bus = bus
        self.forget()

    def forget(self) -> None:
        """Know nothing of what has the focus: from here on events were missed."""
        self._memory.forget()
        self._pids.clear()
        self._names.clear()
        self._titled = self._vast = None
        self._look_for_active = True

    def on_event(self, event: Event) -> None:
        """Take in one event of the bus."""
        if event.kind == "gone":
            self._pids.pop(event.sender, None)
            self._names.pop(event.sender, None)
        elif event.kind == "came":
            self._look_for_active = True  # it may have announced its window before it knew that somebody listens
        if self._memory.take(event, self._titled):
            self._changed()

    def reconcile(self) -> None:
        """Ask every program for its active window once more when no event names one: an announcement may have been missed."""
        self._look_for_active = True

    async def active_window(self) -> ActiveWindow | None:
        """The program whose window is active by its own word, for where no window system says so; None when that is not known.

        A program without AT-SPI says nothing: the one before it says that it is active no longer, and then nobody is.
        """
        if self._bus is None:
            return None
        bus, frame = self._bus, self._memory.active
        try:
            if frame is not None and not await _states(bus, frame) & _ACTIVE:
                frame = None
            if frame is None and self._look_for_active:
                self._look_for_active = False
                frame = await self._find_active(bus)
            if frame is None:
                return None
            pid, name = await asyncio.gather(self._pid(bus, frame[0]), self._name(bus, frame[0]))
        except BusError:
            return None
        return ActiveWindow(0, pid, (name,) if name else ())

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
                    if found.element in (ElementState.NOT_SECURE, ElementState.SECURE) or self._vast is not None:
                        break
                return found
        except TimeoutError:
            return FocusedWindow(element_state(FocusEvidence()))

    async def _describe(self, bus: Bus, pid: int, program: str | None) -> FocusedWindow:
        try:
            name = await self._program(bus, pid, program)
            frame = None if name is None else await self._frame(bus, name)
            evidence, element = (FocusEvidence(), None) if frame is None else await self._focus(bus, frame)
            state = element_state(replace(evidence, answered=True, on_bus=name is not None, window=frame is not None))
            if state is not ElementState.NOT_SECURE or frame is None or element is None:
                return FocusedWindow(state)
            title, app_name, [role] = await asyncio.gather(
                bus.get(*frame, _ACCESSIBLE, "Name"),
                self._name(bus, frame[0]),
                bus.call(*element, _ACCESSIBLE, "GetRoleName"),
            )
        except BusError:
            return FocusedWindow(element_state(FocusEvidence()))
        self._titled = frame
        return FocusedWindow(state, app_name or None, str(title) or None, str(role) or None)

    async def _program(self, bus: Bus, pid: int, program: str | None) -> str | None:
        """The bus name of a process; else of the program that calls itself like the executable; None when it is not on the bus."""
        for name, known in self._pids.items():
            if known == pid:
                return name
        names = await _programs(bus)
        for name, found in zip(names, await _all(self._pid(bus, name) for name in names), strict=True):
            if found == pid:
                return name
        if program:
            for name, called in zip(names, await _all(self._name(bus, name) for name in names), strict=True):
                if called == program:
                    return name
        return None

    async def _pid(self, bus: Bus, name: str) -> int:
        if name not in self._pids:
            self._pids[name] = await bus.pid_of(name)
        return self._pids[name]

    async def _name(self, bus: Bus, name: str) -> str:
        """What a program calls itself. It is kept once there is one: some have none in their first moments."""
        if not self._names.get(name):
            self._names[name] = str(await bus.get(name, _ROOT, _ACCESSIBLE, "Name"))
        return self._names[name]

    async def _frame(self, bus: Bus, name: str) -> Ref | None:
        """The active window of a program."""
        known = self._memory.active
        if known is not None and known[0] == name and await _has(bus, known, _ACTIVE):
            return known
        active = await _active_windows(bus, name)
        return active[-1] if active else None

    async def _find_active(self, bus: Bus) -> Ref | None:
        """The only window of all programs that says it is active. Two of them are none: nothing tells which one is in front."""
        found = await _all(_active_windows(bus, name) for name in await _programs(bus))
        active = [windows[-1] for windows in found if windows]
        return active[0] if len(active) == 1 else None

    async def _focus(self, bus: Bus, frame: Ref) -> tuple[FocusEvidence, Ref]:
        """What says that it has the focus in a window, with the element that counts as focused: without any, the window itself."""
        name = frame[0]
        paths = self._memory.focused(name)
        still = await asyncio.gather(*(_has(bus, (name, path), _FOCUSED) for path in paths))
        focused = [(name, path) for path, has in zip(paths, still, strict=True) if has]
        whole = focusable = False
        if not focused and self._vast != frame:
            self._vast = None
            focused, whole, focusable = await _search(bus, frame)
            if not focused and not whole:
                self._vast = frame
        roles = await asyncio.gather(*(bus.call(*ref, _ACCESSIBLE, "GetRole") for ref in focused))
        evidence = FocusEvidence(roles=tuple(int(role[0]) for role in roles), whole=whole, focusable=focusable)
        return evidence, focused[-1] if focused else frame


async def _all(questions: Iterable[Any]) -> list[Any]:
    """Every answer, None for one that did not come: the program has just left, or hangs."""
    answers = await asyncio.gather(*questions, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, BusError):
            raise answer
    return [None if isinstance(answer, BusError) else answer for answer in answers]


async def _programs(bus: Bus) -> list[str]:
    return [str(child[0]) for child in (await bus.call(_REGISTRY, _ROOT, _ACCESSIBLE, "GetChildren"))[0]]


async def _active_windows(bus: Bus, name: str) -> list[Ref]:
    children = [_ref(child) for child in (await bus.call(name, _ROOT, _ACCESSIBLE, "GetChildren"))[0]]
    windows = [child for child in children if child[1] != _NULL]
    states = await asyncio.gather(*(_states(bus, window) for window in windows))
    return [window for window, state in zip(windows, states, strict=True) if state & _ACTIVE]


async def _has(bus: Bus, ref: Ref, state: int) -> bool:
    try:
        return bool(await _states(bus, ref) & state)
    except BusError as error:
        if not error.error_name:
            raise  # it did not answer, which says nothing
        return False  # the node is gone


async def _states(bus: Bus, ref: Ref) -> int:
    words = (await bus.call(*ref, _ACCESSIBLE, "GetState"))[0]
    return sum(int(word) << (32 * position) for position, word in enumerate(words))


async def _search(bus: Bus, frame: Ref) -> tuple[list[Ref], bool, bool]:
    """The focused nodes under a window that show, breadth first; whether all was looked at, and whether anything could have the focus."""
    focused: list[Ref] = []
    focusable = False
    level, visited = [frame], 0
    for _ in range(MAX_WALK_DEPTH):
        visited += len(level)
        if visited > MAX_WALK_NODES:
            return focused, False, focusable
        states = [state for part in _parts(level) for state in await asyncio.gather(*(_states(bus, ref) for ref in part))]
        showing = [ref for ref, state in zip(level, states, strict=True) if state & _SHOWING or ref == frame]
        focused += [ref for ref, state in zip(level, states, strict=True) if state & _FOCUSED]
        focusable = focusable or any(state & _FOCUSABLE for state in states)
        below = [
            reply for part in _parts(showing) for reply in await asyncio.gather(*(bus.call(*r, _ACCESSIBLE, "GetChildren") for r in part))
        ]
        level = [ref for reply in below for ref in map(_ref, reply[0]) if ref[1] != _NULL]
        if not level:
            return focused, True, focusable
    return focused, False, focusable


def _parts(refs: list[Ref]) -> Iterable[list[Ref]]:
    return (refs[start : start + AT_ONCE] for start in range(0, len(refs), AT_ONCE))


def _ref(pair: Sequence[object]) -> Ref:
    return str(pair[0]), str(pair[1])
