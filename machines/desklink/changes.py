"""Decides what has changed since somebody last looked, and what merely moves by itself; called by the session of the agent command line.

A frame's damage goes in with its time, boxes of pixels come out. Nothing here knows a pixel. Times are monotonic seconds.

What blinks, spins or plays changes again and again without anybody's doing. A place that changed at least three times within the newest
600 ms counts as animating: it is told apart from the rest, and does not keep a picture from being still. A change within a moment of an
input is that input's, and never counts: fast typing is no animation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from .geometry import Box, Size

TILE = 32
"""Pixels of a tile's side: those of the tiles that damage is made of."""
ANIMATION_SECONDS = 0.6
ANIMATION_CHANGES = 3
ANSWER_SECONDS = 0.25
"""How long after an input a change is taken as the answer to it."""


@dataclass(frozen=True)
class Region:
    """A box of the frame that changed; `animating`: it does so by itself."""

    box: Box
    animating: bool = False


class Changes:
    """The changes of one frame of `surface` pixels since the last `look`. `news_at` is when something last changed that is no animation."""

    def __init__(self, surface: Size, now: float) -> None:
        self._surface = surface
        self._columns, self._rows = -(-surface.width // TILE), -(-surface.height // TILE)
        self._dirty = bytearray(self._columns * self._rows)
        self._recent: deque[tuple[float, tuple[Box, ...]]] = deque()
        self._input_at = float("-inf")
        self.news_at = now

    def acted(self, now: float) -> None:
        """An input was made now."""
        self._input_at = now

    def changed(self, boxes: tuple[Box, ...], now: float) -> None:
        """A frame came whose damage is `boxes`, on the surface."""
        for tiles in map(self._tiles, boxes):
            for row in tiles:
                self._dirty[row.start : row.stop] = b"\1" * len(row)
        if now - self._input_at <= ANSWER_SECONDS:
            self.news_at = now
            return
        self._forget(now)
        if not all(self._repeats(box) for box in boxes):
            self.news_at = now
        self._recent.append((now, boxes))

    def look(self, now: float) -> tuple[Region, ...]:
        """What has changed since the last look, which this one is from now on; the animating regions come last."""
        moving = self._animating(now)
        still = [tile for tile, dirty in enumerate(self._dirty) if dirty and tile not in moving]
        regions = [Region(box) for box in self._grouped(set(still))]
        regions += [Region(box, animating=True) for box in self._grouped({tile for tile in moving if self._dirty[tile]})]
        self._dirty = bytearray(len(self._dirty))
        return tuple(regions)

    def touched(self, box: Box) -> bool:
        """Whether anything in `box` has changed since the last look."""
        return any(any(self._dirty[row.start : row.stop]) for row in self._tiles(box))

    def _tiles(self, box: Box) -> Iterator[range]:
        """The tiles that a box touches, row by row."""
        x, y, width, height = box
        left, right = max(0, x // TILE), min(self._columns, -(-(x + width) // TILE))
        for row in range(max(0, y // TILE), min(self._rows, -(-(y + height) // TILE))):
            yield range(row * self._columns + left, row * self._columns + right)

    def _forget(self, now: float) -> None:
        while self._recent and now - self._recent[0][0] > ANIMATION_SECONDS:
            self._recent.popleft()

    def _repeats(self, box: Box) -> bool:
        """Whether this box lies, for at least the third time in the window, where a box of an earlier frame lay."""
        earlier = sum(any(_inside(box, other) for other in boxes) for _, boxes in self._recent)
        return earlier >= ANIMATION_CHANGES - 1

    def _animating(self, now: float) -> set[int]:
        self._forget(now)
        times = bytearray(len(self._dirty))
        for _, boxes in self._recent:
            for tile in {tile for box in boxes for row in self._tiles(box) for tile in row}:
                times[tile] = min(times[tile] + 1, ANIMATION_CHANGES)
        return {tile for tile, count in enumerate(times) if count == ANIMATION_CHANGES}

    def _grouped(self, tiles: set[int]) -> list[Box]:
        """One box around each group of tiles that touch by a side, clipped to the surface; in reading order of their first tiles."""
        boxes = []
        for first in sorted(tiles):
            if first not in tiles:
                continue
            tiles.discard(first)
            group = [first]
            for tile in group:
                column = tile % self._columns
                neighbours = (tile - self._columns, tile + self._columns, *([tile - 1] if column else []))
                for neighbour in (*neighbours, *([tile + 1] if column + 1 < self._columns else [])):
                    if neighbour in tiles:
                        tiles.discard(neighbour)
                        group.append(neighbour)
            columns, rows = [tile % self._columns for tile in group], [tile // self._columns for tile in group]
            x, y = min(columns) * TILE, min(rows) * TILE
            right = min((max(columns) + 1) * TILE, self._surface.width)
            bottom = min((max(rows) + 1) * TILE, self._surface.height)
            boxes.append((x, y, right - x, bottom - y))
        return boxes


def _inside(inner: Box, outer: Box) -> bool:
    return (
        outer[0] <= inner[0]
        and outer[1] <= inner[1]
        and inner[0] + inner[2] <= outer[0] + outer[2]
        and inner[1] + inner[3] <= outer[1] + outer[3]
    )
