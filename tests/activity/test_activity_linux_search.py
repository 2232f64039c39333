"""How the focused element of a window is found where no event named it: how much is asked of a program, and what stays unknown."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from triptych.adapters.collector import atspi
from triptych.adapters.collector.atspi import MAX_WALK_NODES, Accessibility, FocusedWindow
from triptych.adapters.collector.dbus import BusError
from triptych.machines.collector.focus import PASSWORD_ROLE, ElementState
from triptych.machines.collector.focus_events import Event

ACTIVE, FOCUSABLE, FOCUSED, SHOWING = (1 << bit for bit in (1, 11, 12, 25))
TEXT_ROLE = 61
PROGRAM, ROOT, WINDOW = ":1.5", "/org/a11y/atspi/accessible/root", "/window"


class Window:
    """One program with one active window on a bus. `children`: the tree below it; `states` and `roles` by path, SHOWING and text where
    none is set. `missing` answers that it is not there; `silent` does not answer."""

    def __init__(self, **children: list[str]) -> None:
        self.children = {"/" + name: ["/" + child for child in below] for name, below in children.items()}
        self.states = {WINDOW: ACTIVE | SHOWING}
        self.roles: dict[str, int] = {}
        self.missing: set[str] = set()
        self.silent: set[str] = set()
        self.asked = 0
        self.at_once = self.most_at_once = 0

    async def call(self, name: str, path: str, interface: str, member: str) -> list[Any]:
        self.asked += name == PROGRAM
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if path in self.missing:
            raise BusError(member, error_name="org.freedesktop.DBus.Error.UnknownObject")
        if path in self.silent:
            raise BusError(f"{member} timed out")
        if member == "GetChildren":
            if path == ROOT:
                return [[(PROGRAM, WINDOW if name == PROGRAM else ROOT)]]
            return [[(PROGRAM, child) for child in self.children.get(path, ())]]
        state = self.states.get(path, SHOWING)
        return [{"GetState": [state, 0], "GetRole": self.roles.get(path, TEXT_ROLE), "GetRoleName": "text"}[member]]

    async def get(self, name: str, path: str, interface: str, member: str) -> Any:
        return "The window" if path == WINDOW else "program"

    async def pid_of(self, name: str) -> int:
        return 7


def described(bus: Window, *events: Event) -> FocusedWindow:
    async def main() -> FocusedWindow:
        accessibility = Accessibility(lambda: None)
        accessibility.attach(bus)
        for event in events:
            accessibility.on_event(event)
        return await accessibility.describe(7, None)

    return asyncio.run(main())


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atspi, "SETTLE_SECONDS", 0.0)


def deep(levels: int) -> Window:
    names = ["window", *(f"n{number}" for number in range(levels))]
    return Window(**{name: [below] for name, below in itertools.pairwise(names)})


def test_a_focused_element_that_no_event_named_is_found() -> None:
    bus = deep(9)
    bus.states["/n8"] = SHOWING | FOCUSED
    assert described(bus) == FocusedWindow(ElementState.NOT_SECURE, "program", "The window", "text")


def test_a_password_field_is_found_as_deep_as_the_search_goes_and_withholds_beyond() -> None:
    near, far = deep(20), deep(40)
    for bus, path in ((near, "/n19"), (far, "/n39")):
        bus.states[path] = SHOWING | FOCUSED
        bus.roles[path] = PASSWORD_ROLE
    assert described(near).element is ElementState.SECURE
    assert described(far).element is ElementState.UNREADABLE


def test_an_event_names_what_a_search_would_not_reach() -> None:
    bus = deep(40)
    bus.states["/n39"] = SHOWING | FOCUSED
    assert described(bus, Event("focused", PROGRAM, "/n39", True)).element is ElementState.NOT_SECURE
    assert bus.asked < 12


def test_a_focus_that_moved_on_before_its_event_came_is_not_believed() -> None:
    bus = Window(window=["old", "new"])
    bus.states["/new"] = SHOWING | FOCUSED
    bus.roles["/new"] = PASSWORD_ROLE
    assert described(bus, Event("focused", PROGRAM, "/old", True)).element is ElementState.SECURE
    bus.missing.add("/old")  # it is gone, and from the tree too
    bus.children[WINDOW] = ["/new"]
    assert described(bus, Event("focused", PROGRAM, "/old", True)).element is ElementState.SECURE


def test_one_password_field_among_several_that_claim_the_focus_is_enough() -> None:
    bus = Window(window=["a", "b"])
    bus.states |= {"/a": SHOWING | FOCUSED, "/b": SHOWING | FOCUSED}
    bus.roles["/a"] = PASSWORD_ROLE
    events = [Event("focused", PROGRAM, path, True) for path in ("/a", "/b")]
    assert described(bus, *events).element is ElementState.SECURE


def test_no_answer_is_never_no_password() -> None:
    for silent in ("/a", WINDOW, ROOT):
        bus = Window(window=["a"])
        bus.states["/a"] = SHOWING | FOCUSED
        bus.silent.add(silent)
        assert described(bus, Event("focused", PROGRAM, "/a", True)) == FocusedWindow(ElementState.UNREADABLE)


def test_a_window_without_anything_to_focus_is_its_own_focus_and_one_with_is_unknown() -> None:
    bus = Window(window=["label"])
    assert described(bus).element is ElementState.NOT_SECURE
    bus.states["/label"] = SHOWING | FOCUSABLE
    assert described(bus).element is ElementState.UNREADABLE


def test_a_vast_window_is_searched_once_a_few_questions_at_a_time_until_an_event_tells() -> None:
    bus = Window(window=[f"n{number}" for number in range(2000)], n0=["deep"])

    async def main() -> None:
        accessibility = Accessibility(lambda: None)
        accessibility.attach(bus)
        assert (await accessibility.describe(7, None)).element is ElementState.UNREADABLE
        first = bus.asked
        assert first < 2 * MAX_WALK_NODES + 10
        assert bus.most_at_once <= atspi.AT_ONCE
        for _ in range(10):
            assert (await accessibility.describe(7, None)).element is ElementState.UNREADABLE
        assert bus.asked - first < 10 * 5
        bus.states["/n7"] = SHOWING | FOCUSED
        accessibility.on_event(Event("focused", PROGRAM, "/n7", True))
        assert (await accessibility.describe(7, None)).element is ElementState.NOT_SECURE

    asyncio.run(main())


def test_two_programs_that_call_themselves_active_are_nobody() -> None:
    class Two(Window):
        async def call(self, name: str, path: str, interface: str, member: str) -> list[Any]:
            if name == "org.a11y.atspi.Registry":
                return [[(PROGRAM, ROOT), (":1.6", ROOT)]]
            return await super().call(PROGRAM, path, interface, member)

    async def main(bus: Window) -> object:
        accessibility = Accessibility(lambda: None)
        accessibility.attach(bus)
        return await accessibility.active_window()

    assert asyncio.run(main(Two())) is None
    assert asyncio.run(main(Window())) is not None
