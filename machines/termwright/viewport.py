"""How much of a rectangle lies in the viewport. Pure arithmetic on half-open rectangles; the vector runner and visibility checks ask it."""

from __future__ import annotations

from dataclasses import dataclass

from ...generated.termwright.models import Rect


@dataclass(frozen=True)
class Clipped:
    """The part of a rectangle that is in the viewport, what share of its area that is (0 to 1), and whether that is all of it."""

    rect: Rect
    ratio: float
    fully_inside: bool


def clip(rect: Rect, columns: int, rows: int) -> Clipped:
    """`rect` cut to a viewport of `columns` x `rows` cells. An edge that only touches gives an empty part, and so does an empty `rect`."""
    top, left = max(rect.row, 0), max(rect.column, 0)
    height = max(min(rect.row + rect.height, rows) - top, 0)
    width = max(min(rect.column + rect.width, columns) - left, 0)
    area, part = rect.width * rect.height, width * height
    return Clipped(Rect(row=top, column=left, width=width, height=height), part / area if area else 0.0, 0 < area == part)
