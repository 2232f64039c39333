"""The fixture manifest: what the suite may do to a program under test, and how its claims can be demonstrated. claims.py reads it too.

    {
      "columns": 80, "rows": 24,
      "stimulus": ["tab"],                                  keys after which the program draws something new
      "log": ["ctrl+l"],                                    keys after which it logs, many records at once
      "quit": {"keys": ["ctrl+q"], "status": 0},            how it ends, and with what status
      "events": "events.ndjson",                            where it reports what it received
      "focus": {"keys": ["tab", "tab"], "witness": "f8"},   keys that move the focus, and one that only asks
      "paint": {"title": ["#203040"]},                      test id → background colours that only this node has
      "type": [{"target": "title", "text": "hello"}]        text to type into a node, after a click into it
    }

Every key is optional.

The program appends one JSON object a line to the events file and flushes it: `{"event": "pointer", "target": "title"}` for a press of
a pointer button, `{"event": "key", "target": "title", "key": "f8"}` for a key. `target` is the test id (or else the node id) of the
widget that received it, null for none. The file's path, absolute, is in the variable `TRIPTYCH_FIXTURE_EVENTS`; a name in the manifest
is relative to the manifest, and without one the suite makes a file of its own. No click and no `focus` key may end the program.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from ...errors import LocalProtocolError, Unavailable
from ...machines.termwright.keys import split_key

EVENTS_VARIABLE = "TRIPTYCH_FIXTURE_EVENTS"

RgbText = Annotated[str, msgspec.Meta(pattern="^#[0-9a-fA-F]{6}$")]


class Quit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the program ends."""

    keys: tuple[str, ...]
    status: int = 0


class FocusKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Keys that move the focus, pressed one by one, and the witness key that is pressed after each."""

    keys: tuple[str, ...]
    witness: str


class Typing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text that is typed into a node."""

    target: str
    text: str


class Fixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A manifest. Without one, the suite uses these defaults and proves no claims."""

    columns: int = 80
    rows: int = 24
    stimulus: tuple[str, ...] = ("tab",)
    log: tuple[str, ...] = ()
    quit: Quit | None = None
    events: str | None = None
    focus: FocusKeys | None = None
    paint: dict[str, tuple[RgbText, ...]] = {}
    type: tuple[Typing, ...] = ()


class Received(msgspec.Struct, frozen=True):
    """One line of the events file."""

    event: str
    target: str | None = None
    key: str | None = None


def read_fixture(path: Path) -> Fixture:
    """The manifest in a file; `events` comes back absolute. Raises `Unavailable` when it is not one."""
    try:
        fixture = msgspec.json.decode(path.read_bytes(), type=Fixture)
        for key in (*fixture.stimulus, *fixture.log, *(fixture.quit.keys if fixture.quit else ()), *_focus_keys(fixture)):
            split_key(key)
    except (OSError, msgspec.MsgspecError, LocalProtocolError) as cause:
        raise Unavailable(f"{path} is no fixture manifest: {cause}", "see triptych.engine.conformance.fixture for the form") from None
    if fixture.events is None:
        return fixture
    return msgspec.structs.replace(fixture, events=str((path.parent / fixture.events).resolve()))


def _focus_keys(fixture: Fixture) -> tuple[str, ...]:
    return () if fixture.focus is None else (*fixture.focus.keys, fixture.focus.witness)
