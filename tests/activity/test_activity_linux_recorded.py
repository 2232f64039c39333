"""Recorded streams of real accessibility buses, played to the collector: at each quiet moment it must say what was in front then."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from activity_kit import adapter_entry
from shared_data import data
from triptych.adapters.collector.atspi import Accessibility
from triptych.adapters.collector.dbus import BusError
from triptych.generated.collector.models import Observation
from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.focus_events import Event, FocusMemory, read_event
from triptych.machines.collector.policy import CollectorPolicy
from triptych.machines.collector.tracking import Application, Describe, Description, Tracker

ROLES = {"password text": 40, "text": 61, "frame": 23, "dialog": 16, "label": 29}
QUIET_SECONDS = 0.4


class RecordedBus:
    """What the programs answered, as of the events that were played so far. `pid` is that of the recording."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[str, str], dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []

    def take(self, row: dict[str, Any]) -> None:
        self.nodes[row["sender"], row["path"]] = row

    async def call(self, name: str, path: str, interface: str, member: str) -> list[Any]:
        self.asked.append((path, member))
        if member == "GetChildren":
            return [self._children(name, path)]
        node = self._node(name, path)
        return [{"GetState": node["state"], "GetRole": ROLES[node["role"]], "GetRoleName": node["role"]}[member]]

    async def get(self, name: str, path: str, interface: str, member: str) -> Any:
        self.asked.append((path, member))
        return "the program" if path.endswith("/root") else self._node(name, path)["name"]

    async def pid_of(self, name: str) -> int:
        return next(int(row["pid"]) for (sender, _), row in self.nodes.items() if sender == name)

    def _children(self, name: str, path: str) -> list[tuple[str, str]]:
        if name == "org.a11y.atspi.Registry":
            return [(sender, path) for sender in dict.fromkeys(sender for sender, _ in self.nodes)]
        if path.endswith("/root"):
            return [(sender, node) for (sender, node), row in self.nodes.items() if sender == name and row["role"] in ("frame", "dialog")]
        return []

    def _node(self, name: str, path: str) -> dict[str, Any]:
        if (name, path) not in self.nodes:
            raise BusError("GetState", error_name="org.freedesktop.DBus.Error.UnknownObject")
        return self.nodes[name, path]


def played(recording: str) -> list[tuple[str | None, str | None, str | None]]:
    """Title, role and reason of what is observed at each quiet moment, None three times where nothing is; what repeats is left out."""
    rows = [json.loads(line) for line in data("collector", recording).read_text().splitlines() if '"t"' in line]
    rows = [row for row in rows if row["member"] != "ChildrenChanged"]
    ids = {row["pid"]: f"program-{row['pid']}.desktop" for row in rows}
    document = json.dumps({"adapters": [adapter_entry(name, name) for name in ids.values()]}).encode()
    tracker = Tracker("recorded", table=BUILT_IN.extended(document))
    tracker.configure(CollectorPolicy(allowed=tuple(ids.values())))
    bus, found = RecordedBus(), []

    async def look(accessibility: Accessibility) -> None:
        window = await accessibility.active_window()
        application = None if window is None or window.pid is None else Application(window.pid, (ids[window.pid],))
        seen = tracker.identified(application, 0.0, 0)
        if isinstance(seen, Describe):
            described = await accessibility.describe(seen.application.pid, None)
            seen = tracker.described(seen, Description(described.element, described.app_name, described.title, role=described.role), 0.0, 0)
        if isinstance(seen, Observation):
            reason = seen.privacy.reason if isinstance(seen.privacy.reason, str) else None
            assert isinstance(seen.window, type(seen.window)) and seen.window and seen.element
            found.append((seen.window.title, seen.element.role, reason))
        elif application is None:
            found.append((None, None, None))

    async def main() -> None:
        accessibility = Accessibility(lambda: None)
        accessibility.attach(bus)
        for row, after in zip(rows, [*rows[1:], None], strict=True):
            bus.take(row)
            event = read_event(row["iface"], row["member"], row["sender"], row["path"], row["args"])
            if event is not None:
                accessibility.on_event(event)
            if after is None or after["t"] - row["t"] > QUIET_SECONDS:
                await look(accessibility)

    asyncio.run(main())
    assert all(member != "GetText" for _, member in bus.asked)
    return [moment for position, moment in enumerate(found) if position == 0 or moment != found[position - 1]]


NOTES = "it's notes.txt (/tmp/lab2/work) - gedit"
NOBODY = (None, None, None)
PASSWORD = (None, None, "secure-field")


def test_gedit_a_password_dialog_and_a_terminal_without_at_spi_under_sway() -> None:
    page = (NOTES, "text", None)
    assert played("atspi-events-gtk3-sway-keyboard.jsonl") == [page, PASSWORD, NOBODY, page, PASSWORD, NOBODY]


def test_without_a_keyboard_nothing_ever_says_that_it_is_in_front() -> None:
    assert played("atspi-events-gtk3-sway-nokeyboard.jsonl") == [NOBODY]


def test_gedit_a_password_dialog_and_a_qt_editor_on_x11() -> None:
    found = played("atspi-events-gtk3-qt5-x11-nowm.jsonl")
    assert found == [("it's notes.txt (/home/demo) - gedit", "text", None), PASSWORD, ("/home/demo/a.txt", "text", None)]


OBJECT, WINDOW = "org.a11y.atspi.Event.Object", "org.a11y.atspi.Event.Window"


@pytest.mark.parametrize(
    ("signal", "event"),
    [
        ((WINDOW, "Activate", ["", 0, 0]), Event("activate", ":1", "/p")),
        ((WINDOW, "activate", ["", 0, 0]), Event("activate", ":1", "/p")),  # GTK 4
        ((WINDOW, "Deactivate", []), Event("deactivate", ":1", "/p")),
        ((WINDOW, "Create", []), None),
        ((OBJECT, "StateChanged", ["focused", 1, 0]), Event("focused", ":1", "/p", True)),
        ((OBJECT, "StateChanged", ["focused", 0, 0]), Event("focused", ":1", "/p", False)),
        ((OBJECT, "state-changed", ["focused", 1, 0]), Event("focused", ":1", "/p", True)),
        ((OBJECT, "StateChanged", ["defunct", 1, 0]), None),
        ((OBJECT, "StateChanged", ["accessible-name", 1, 0]), None),
        ((OBJECT, "StateChanged", ["focused"]), None),
        ((OBJECT, "PropertyChange", ["accessible-name", 0, 0, "secret"]), Event("accessible-name", ":1", "/p")),
        (("org.freedesktop.DBus", "NameOwnerChanged", [":2", ":2", ""]), Event("gone", ":2")),
        (("org.freedesktop.DBus", "NameOwnerChanged", [":2", "", ":2"]), Event("came", ":2")),
        (("org.freedesktop.DBus", "NameOwnerChanged", [":2"]), None),
        (("org.example", "Activate", ["", 0, 0]), None),
    ],
)
def test_what_a_signal_says(signal: tuple[str, str, list[object]], event: Event | None) -> None:
    interface, member, body = signal
    assert read_event(interface, member, ":1", "/p", body) == event


def test_what_has_the_focus_is_remembered_newest_last_and_bounded() -> None:
    memory = FocusMemory()
    for number in range(12):
        assert memory.take(Event("focused", ":1", f"/{number}", True), None)
    assert memory.focused(":1") == tuple(f"/{number}" for number in range(4, 12))
    memory.take(Event("focused", ":1", "/5", True), None)
    memory.take(Event("focused", ":1", "/7", False), None)
    assert memory.focused(":1")[-1] == "/5" and "/7" not in memory.focused(":1")
    assert memory.take(Event("gone", ":1"), None)
    assert memory.focused(":1") == ()
    assert not memory.take(Event("gone", ":1"), None)


def test_an_activation_lasts_until_its_own_end() -> None:
    memory = FocusMemory()
    memory.take(Event("activate", ":1", "/a"), None)
    memory.take(Event("activate", ":2", "/b"), None)
    memory.take(Event("deactivate", ":1", "/a"), None)  # GTK 3 says so after the other said the opposite
    assert memory.active == (":2", "/b")
    assert not memory.take(Event("came", ":3"), None)
    assert memory.take(Event("gone", ":2"), None) and memory.active is None
    memory.take(Event("activate", ":1", "/a"), None)
    memory.forget()
    assert memory.active is None


def test_only_the_title_that_was_read_is_worth_a_look() -> None:
    memory = FocusMemory()
    assert memory.take(Event("accessible-name", ":1", "/w"), (":1", "/w"))
    assert not memory.take(Event("accessible-name", ":1", "/label"), (":1", "/w"))
    assert not memory.take(Event("accessible-name", ":1", "/w"), None)
