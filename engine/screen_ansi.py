"""Writes a terminal screen as text with colours for another terminal: styles and letters only, whatever the program printed.

No query, title, clipboard or link of a program gets through, so that a screen that somebody recorded can be shown on anybody's terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from ..adapters.termwright.screen import PLAIN, Cell, Screen, Style

#: C0 and C1: an emulator may hold the latter as letters, and some terminals would obey them.
_CONTROLS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0))}


def printable(text: str) -> str:
    """The text without control characters, line feeds aside: names and values come from programs, and go to a person's terminal."""
    return text.translate({**_CONTROLS, 10: "\n"})


def ansi_screen(screen: Screen) -> str:
    """The rows joined by line feeds, each with its styles; empty rows at the end are left out."""
    rows = [ansi_row(cells) for cells in screen.cells]
    while rows and not rows[-1]:
        rows.pop()
    return "\n".join(rows)


def ansi_row(cells: Sequence[Cell]) -> str:
    """One row; blanks without a style at its end are left out."""
    parts = []
    for style, run in groupby(cells, key=lambda cell: cell.style):
        text = "".join(cell.text or " " for cell in run if cell.width)
        parts.append((style, text.translate(_CONTROLS)))
    if parts and parts[-1][0] == PLAIN:
        parts[-1] = (PLAIN, parts[-1][1].rstrip(" "))
    return "".join(text if style == PLAIN else f"\x1b[{_parameters(style)}m{text}\x1b[0m" for style, text in parts if text)


@lru_cache(maxsize=1024)
def _parameters(style: Style) -> str:
    """The SGR parameters that give the style to text that has none."""
    flags = (
        (style.bold, "1"),
        (style.faint, "2"),
        (style.italic, "3"),
        (style.blink, "5"),
        (style.inverse, "7"),
        (style.invisible, "8"),
        (style.strikethrough, "9"),
        (style.overline, "53"),
    )
    found = [parameter for flag, parameter in flags if flag]
    if style.underline:
        found.append("4" if style.underline == 1 else f"4:{style.underline}")
    for code, colour in ((38, style.foreground), (48, style.background)):
        if colour is not None:
            found.append(f"{code};2;{colour[0]};{colour[1]};{colour[2]}")
    if style.underline_color is not None:
        found.append("58:2::{}:{}:{}".format(*style.underline_color))
    return ";".join(found)
