"""Finds text among the cells of a screen, for programs without a semantic tree. The locators are its only user."""

from __future__ import annotations

from dataclasses import dataclass

from ...adapters.termwright.screen import Cell, Screen
from ...generated.termwright.models import Rect
from .matching import Wanted, spans


@dataclass(frozen=True)
class ScreenText:
    """A run of text in one row of the screen, and its cells. It says what is shown, not which widget owns it."""

    text: str
    rect: Rect
    source: str = "screen"


def find(screen: Screen, wanted: Wanted, exact: bool) -> list[ScreenText]:
    """The places, row by row, where the screen shows the text; with `exact`, where a whole run between wide gaps is the text."""
    found = []
    for number, row in enumerate(screen.cells):
        text, columns = _line(row)
        for start, end in spans(wanted, text, exact):
            left, right = columns[start], columns[end]
            found.append(ScreenText(text[start:end], Rect(row=number, column=left, width=right - left, height=1)))
    return found


def _line(row: tuple[Cell, ...]) -> tuple[str, list[int]]:
    """The text of a row, and the column of each of its characters; one more column for the end."""
    text, columns = "", []
    for column, cell in enumerate(row):
        shown = cell.text or " " * cell.width
        text += shown
        columns += [column] * len(shown)
    return text, [*columns, len(row)]
