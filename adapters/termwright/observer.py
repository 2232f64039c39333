"""Who is told what a driven terminal does, as it happens: recordings implement `Observer`, and the driver calls it. It decides nothing.

An observer sees everything in the order in which the driver did it, before any waiter sees the result, and must return at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...generated.termwright.models import Snapshot


class Observer(Protocol):
    """One observer. `at` is monotonic seconds since the spawn of the program."""

    def output(self, data: bytes, at: float) -> None:
        """The program printed these bytes: one chunk as read, render markers included, before the emulator parses it."""

    def input(self, data: bytes, at: float) -> None:
        """These bytes were sent to the program: keys, pointer events, pasted text, and answers to its device queries."""

    def resized(self, columns: int, rows: int, at: float) -> None:
        """The terminal has this size in cells from now on. Called once with the first size, at 0."""

    def published(self, revision: int, tree: Snapshot, at: float) -> None:
        """A revision was published: its tree was accepted, and its marker parsed where the adapter marks its revisions."""

    def acted(self, action: Mapping[str, object], at: float) -> None:
        """The API is about to act: `action` is plain JSON data with a `type` (`press`, `click`, …); what it sends follows as `input`."""

    def exited(self, status: int, at: float) -> None:
        """The program is gone and all its output was told: its exit status, or minus the number of the signal that ended it."""
