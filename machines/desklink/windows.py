"""Says what is told of a window of the display, and makes other programs' words safe to print; used by the window list and the API."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from .geometry import Box

MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Window:
    """One window. `box`: x, y, width, height in pixels of the frame; parts of it may lie outside. `visible`: it is not minimised.

    `title` and `class_name` are None where the program gives none, and so is `pid`, which is what the program says of itself.
    """

    id: int
    title: str | None
    class_name: str | None
    pid: int | None
    box: Box
    active: bool
    visible: bool


def printable(text: str | None) -> str | None:
    """A text of another program as one short line without control or format characters; None when nothing is left."""
    if text is None:
        return None
    # Cc, Cf, Cs, Co, Cn: control, format (among them changes of direction), surrogates, private use, unassigned.
    shown = "".join(" " if letter.isspace() else letter for letter in text[: 4 * MOST_CHARACTERS])
    line = " ".join("".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(one)[0] == "C" else one for one in shown).split())
    return (line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 1] + "…") or None
