"""The terminal emulator seam: what the driver asks of one. `open_emulator` chooses the implementation, and only it knows which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...machines.termwright.mouse import PointerEvent
from .policy import Policy
from .screen import PLAIN, Cell, Screen, Style

__all__ = ["PLAIN", "Cell", "Emulator", "Modes", "Policy", "Screen", "Style", "open_emulator"]


@dataclass(frozen=True)
class Modes:
    """What the program has switched on in its terminal.

    `mouse_tracking`: `none`, `x10` (presses), `vt200` (presses and releases), `drag` (and motion with a button down), `any` (all motion).
    `mouse_encoding`: `default`, `utf8`, `urxvt`, `sgr` or `sgr-pixels`.
    """

    mouse_tracking: str
    mouse_encoding: str
    alternate_screen: bool
    bracketed_paste: bool
    focus_reporting: bool
    application_cursor_keys: bool
    grapheme_clusters: bool
    synchronized_output: bool


class Emulator(Protocol):
    """A terminal that is fed bytes and asked for what it shows. Callbacks run inside `feed`."""

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)."""
        ...

    @property
    def modes(self) -> Modes:
        """What the program has switched on."""
        ...

    def feed(self, data: bytes) -> None:
        """Parse the program's output."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Change the size in cells."""
        ...

    def screen(self) -> Screen:
        """A copy of the present moment."""
        ...

    def text(self) -> str:
        """The visible rows joined by line feeds, trailing blanks removed."""
        ...

    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The visible cells, row by row."""
        ...

    def link(self, column: int, row: int) -> str | None:
        """The address of the hyperlink (OSC 8) that the cell belongs to, or None."""
        ...

    def encode_key(self, key: str) -> bytes:
        """The bytes that the key sends in the terminal's present modes; raises `LocalProtocolError` (`unknown-key`)."""
        ...

    def encode_text(self, text: str) -> bytes:
        """The bytes that typing the text sends, key by key."""
        ...

    def encode_paste(self, text: str) -> bytes:
        """The bytes that pasting the text sends: in brackets where the program asked for them, and without control codes."""
        ...

    def encode_pointer(self, events: Sequence[PointerEvent]) -> bytes:
        """The bytes that the events send, without those that the program did not ask to hear.

        Raises `LocalProtocolError` (`not-actionable`, path `mouse-mode`) when it would not hear the gesture at all, or only half of it.
        """
        ...

    def close(self) -> None:
        """Free it."""
        ...


def open_emulator(
    columns: int,
    rows: int,
    *,
    policy: Policy | None = None,
    on_marker: Callable[[str], None] | None = None,
    on_reply: Callable[[bytes], None] | None = None,
    on_clipboard: Callable[[str], None] | None = None,
) -> Emulator:
    """A new terminal of that size.

    `on_marker` gets what follows `8487;` of each such OSC, verified or not, at the moment when the cells before it are on the screen and
    none after it; the sequence itself never shows. `on_reply` gets the answers to device queries that the policy permits, to be written to
    the program; `on_clipboard` the texts that the policy lets it put on the clipboard.
    Raises `Unavailable` when pyghostty is not installed.
    """
    from .ghostty import GhosttyEmulator

    return GhosttyEmulator(columns, rows, policy or Policy(), on_marker=on_marker, on_reply=on_reply, on_clipboard=on_clipboard)
