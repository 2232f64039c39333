"""Pointer gestures as events at cells: what a hand does for a click, a drag, a turn of the wheel. The emulator encodes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...errors import LocalProtocolError
from .keys import MODIFIERS

#: The buttons, by the numbers that terminals count them with.
BUTTONS = {"left": 1, "right": 2, "middle": 3, "wheel-up": 4, "wheel-down": 5, "wheel-left": 6, "wheel-right": 7}
PRESS, RELEASE, MOTION = "press", "release", "motion"


@dataclass(frozen=True)
class PointerEvent:
    """One event of the pointer at a cell, from 0. `held` says whether a button is down while it moves."""

    kind: str
    column: int
    row: int
    button: str | None = None
    modifiers: int = 0
    held: bool = False


def click(column: int, row: int, *, button: str = "left", modifiers: str = "", count: int = 1) -> list[PointerEvent]:
    """The pointer comes, and the button goes down and up `count` times. `modifiers` as `ctrl` or `ctrl+shift`."""
    if button not in ("left", "middle", "right"):
        raise LocalProtocolError("unknown-button", "a click is made with left, middle or right", button)
    if count < 1:
        raise LocalProtocolError("out-of-range", "a click is made at least once", "count")
    bits = modifier_bits(modifiers)
    down = PointerEvent(PRESS, column, row, button, bits)
    return [PointerEvent(MOTION, column, row, None, bits), *[down, replace(down, kind=RELEASE)] * count]


def drag(start: tuple[int, int], end: tuple[int, int], *, button: str = "left", modifiers: str = "") -> list[PointerEvent]:
    """Down at one cell, over every cell of the line between them, up at the other."""
    down, up = click(*start, button=button, modifiers=modifiers)[:2], click(*end, button=button, modifiers=modifiers)[-1]
    bits = modifier_bits(modifiers)
    return [*down, *(PointerEvent(MOTION, *cell, button, bits, held=True) for cell in _line(start, end)), up]


def wheel(column: int, row: int, down: int, right: int = 0, *, modifiers: str = "") -> list[PointerEvent]:
    """Notches of the wheel: `down` (up when negative), and to the `right` (left when negative)."""
    bits = modifier_bits(modifiers)
    turns = (("wheel-down" if down > 0 else "wheel-up", down), ("wheel-right" if right > 0 else "wheel-left", right))
    return [PointerEvent(PRESS, column, row, button, bits) for button, notches in turns for _ in range(abs(notches))]


def hover(column: int, row: int) -> list[PointerEvent]:
    """The pointer comes to rest at a cell."""
    return [PointerEvent(MOTION, column, row)]


def modifier_bits(modifiers: str) -> int:
    """The bits of `ctrl+shift`; 0 for an empty text. Raises `LocalProtocolError` (`unknown-key`)."""
    bits = 0
    for name in filter(None, modifiers.lower().split("+")):
        if name not in MODIFIERS:
            raise LocalProtocolError("unknown-key", f"{name!r} is no modifier; there are {', '.join(MODIFIERS)}", modifiers)
        bits |= MODIFIERS[name]
    return bits


def _line(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    (column, row), (to_column, to_row) = start, end
    steps = max(abs(to_column - column), abs(to_row - row))
    for step in range(1, steps + 1):
        yield column + round((to_column - column) * step / steps), row + round((to_row - row) * step / steps)
