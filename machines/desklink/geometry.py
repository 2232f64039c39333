"""Decides sizes and places: the encoded surface that fits a source, and the maps between the two; called by the engine and input cores.

All numbers are whole pixels. The client aims at the encoded surface; input and pixels live on the source. Neither map adds the origin of a
monitor: a captured source starts at its own 0,0 (desklink v3, `geometry`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Box: TypeAlias = tuple[int, int, int, int]
"""x, y, width, height."""


@dataclass(frozen=True)
class Size:
    """Pixels across and down."""

    width: int
    height: int

    @property
    def box(self) -> Box:
        """The whole surface as one box."""
        return (0, 0, self.width, self.height)


def fit(source: Size, max_width: int, max_height: int) -> Size:
    """The encoded surface of `source` inside the box; never larger than the source, always even, at least 2x2. A side of 0 means no box."""
    if not max_width or not max_height or (source.width <= max_width and source.height <= max_height):
        return Size(source.width & ~1, source.height & ~1)
    # The smaller of the two ratios, kept as integers so that 2560x1440 into 1200x600 is 1066x600 on every machine.
    if max_width * source.height <= max_height * source.width:
        width, height = max_width, source.height * max_width // source.width
    else:
        width, height = source.width * max_height // source.height, max_height
    return Size(max(2, width & ~1), max(2, height & ~1))


def contains(surface: Size, x: int, y: int) -> bool:
    """Whether a pointer position lies on the surface."""
    return 0 <= x < surface.width and 0 <= y < surface.height


def to_source(encoded: Size, source: Size, x: int, y: int) -> tuple[int, int]:
    """A pointer position on the encoded surface as a source pixel, clamped to the source."""
    return min(x * source.width // encoded.width, source.width - 1), min(y * source.height // encoded.height, source.height - 1)


def damage_to_encoded(box: Box, source: Size, encoded: Size) -> Box:
    """The smallest box of encoded pixels that shows all of a changed source box; clipped to the encoded surface."""
    x, y, width, height = box
    left, top = x * encoded.width // source.width, y * encoded.height // source.height
    right = -(-(x + width) * encoded.width // source.width)
    bottom = -(-(y + height) * encoded.height // source.height)
    left, top = min(left, encoded.width - 1), min(top, encoded.height - 1)
    return (left, top, max(1, min(right, encoded.width) - left), max(1, min(bottom, encoded.height) - top))


def region_inside(region: Box, surface: Size) -> bool:
    """Whether a requested region is not empty and lies wholly on the surface."""
    x, y, width, height = region
    return x >= 0 and y >= 0 and width > 0 and height > 0 and x + width <= surface.width and y + height <= surface.height
