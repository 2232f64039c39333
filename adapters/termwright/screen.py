"""What a terminal showed at one moment: cells with their styles, and the cursor. Values for the driver, the engine and recordings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

#: Red, green and blue, each 0 to 255.
Colour = tuple[int, int, int]

#: What a colour of None stands for, and what a program is told that asks.
DEFAULT_FOREGROUND: Colour = (229, 229, 229)
DEFAULT_BACKGROUND: Colour = (0, 0, 0)


class Style(NamedTuple):
    """How a cell is drawn. A colour is None where the program left it to the terminal; palette colours are resolved to RGB."""

    foreground: Colour | None = None
    background: Colour | None = None
    underline_color: Colour | None = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    blink: bool = False
    inverse: bool = False
    invisible: bool = False
    strikethrough: bool = False
    overline: bool = False
    underline: int = 0  #: 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed


PLAIN = Style()


class Cell(NamedTuple):
    """One cell: its grapheme ("" when never written, or covered by a wide neighbour), its width in cells (0 when covered), its style."""

    text: str
    width: int
    style: Style = PLAIN


class Screen:
    """What a terminal showed at one moment. `cursor` is (column, row), from 0; `cursor_shape` is `block`, `underline` or `bar`.

    It keeps the emulator's own copy of the moment and reads it when the cells are first looked at.
    """

    def __init__(
        self,
        columns: int,
        rows: int,
        read: Callable[[], tuple[tuple[Cell, ...], ...]],
        *,
        cursor: tuple[int, int] = (0, 0),
        cursor_visible: bool = True,
        cursor_shape: str = "block",
        title: str = "",
    ) -> None:
        self.columns, self.rows = columns, rows
        self.cursor, self.cursor_visible, self.cursor_shape = cursor, cursor_visible, cursor_shape
        self.title = title
        self._read: Callable[[], tuple[tuple[Cell, ...], ...]] | None = read

    @cached_property
    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The cells, row by row."""
        assert self._read is not None
        cells, self._read = self._read(), None
        return cells

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The rows from the top, each without trailing blanks; always `rows` of them."""
        return tuple("".join(cell.text or " " * cell.width for cell in row).rstrip(" ") for row in self.cells)

    @cached_property
    def text(self) -> str:
        """The rows joined by line feeds, blank rows at the end removed."""
        return "\n".join(self.lines).rstrip("\n")

    def __repr__(self) -> str:
        return f"Screen({self.columns}x{self.rows}, cursor={self.cursor})"
