"""What was there instead, for waits that fail: the tree, the screen, the logs and the diagnostics, as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET

from ...machines.termwright.logs import Logged
from ...machines.termwright.outline import format_tree

if TYPE_CHECKING:
    from ...adapters.termwright.driver import Driver

#: How many of the newest log records and diagnostics are told.
NEWEST = 10


def describe(driver: Driver) -> str:
    """The newest tree, the present screen, the newest records and diagnostics."""
    pair = driver.pair
    parts = ["no semantic tree" if pair is None else f"revision {pair.revision}\n{format_tree(pair.tree)}", f"--- screen\n{driver.text()}"]
    if driver.logs:
        parts.append(f"--- logs\n{format_logs(list(driver.logs)[-NEWEST:])}")
    notes = "\n".join(f"{note.at:.3f} {note.code}: {note.detail}" for note in list(driver.diagnostics)[-NEWEST:])
    if driver.exit_status is not None:
        notes += f"\nthe program exited with {driver.exit_status}"
    return "\n".join([*parts, f"--- diagnostics\n{notes.lstrip() or 'none'}"])


def format_logs(logs: Iterable[Logged]) -> str:
    """Records as text, one a line: `1.250 warn app.db: slow query rows=3`. Gaps read `3 lost at source`."""
    return "\n".join(line for logged in logs for line in _lines(logged))


def _lines(logged: Logged) -> Sequence[str]:
    record = logged.record
    attrs = "".join(f" {name}={_plain(value)}" for name, value in (record.attrs or {}).items())
    logger = "" if record.logger is UNSET else f" {record.logger}"
    line = f"{logged.at_ms / 1000:.3f} {record.level}{logger}: {record.message}{attrs}"
    return (f"{logged.lost} lost at source", line) if logged.lost else (line,)


def _plain(value: str | float | bool | None) -> object:
    """An attribute as it was written: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
