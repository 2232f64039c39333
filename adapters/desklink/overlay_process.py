"""The agent indicator's own process: `python -P overlay_process.py DISPLAY`; started by overlay.py and by nobody else.

It draws into the sprite of the pointer, as cursor of the root window: the one thing on an X screen that no picture of the root window
contains and no damage reports. A program that sets a cursor of its own hides it. Standard input has lines `K x y`: `M` the pointer moves,
`C` a button goes down, `T` something is typed (-1 -1), `S` fade away until told again, `A` come back. `READY` is printed when the halo
stands. The end of the input fades it away and ends the process.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import numpy
import xcffib
import xcffib.render
import xcffib.xproto as x
from numpy.typing import NDArray

TICK_SECONDS = 0.016
EASING = 0.24
"""How much of the way to the pointer the halo goes in one tick."""
RIPPLE_SECONDS, PULSE_SECONDS, FADE_SECONDS = 0.5, 0.35, 0.55
MIN_SIZE, MAX_SIZE = 32, 96
RING_RADIUS, RING_OPACITY = 12.0, 0.72
FAINT_RADIUS, FAINT_OPACITY = 20.0, 0.20
RING_COLOUR, PULSE_COLOUR, POINT_COLOUR = 0x4C9ED0, 0x5BAED8, 0xFFFFFF
STROKE = 2.0
ARGB32_DEPTH = 32

connect: Any = xcffib.connect

Pixels = NDArray[numpy.uint8]
Layer = NDArray[numpy.float64]


@dataclass
class Halo:
    """Where the halo is and what it does; pure, `now` in seconds. `size` is the side of the sprite in pixels."""

    size: int
    pointer: tuple[float, float] = (0.0, 0.0)
    eased: tuple[float, float] | None = None
    clicked: float = -math.inf
    typed: float = -math.inf
    leaving: float = math.inf
    _grid: Layer = field(init=False, compare=False)

    def __post_init__(self) -> None:
        middle = (self.size - 1) / 2
        rows, columns = numpy.mgrid[0 : self.size, 0 : self.size] - middle
        self._grid = numpy.hypot(rows, columns)

    def told(self, line: str, now: float) -> None:
        """Take one line; what is no such line is ignored."""
        kind, *numbers = line.split()[:3] or [""]
        if kind in {"M", "C"}:
            try:
                self.pointer = (int(numbers[0]), int(numbers[1]))
            except (IndexError, ValueError):
                return
            if self.eased is None:
                self.eased = self.pointer
        if kind == "C":
            self.clicked = now
        elif kind == "T":
            self.typed = now
        if kind == "S":
            self.leaving = min(self.leaving, now)
        elif kind in {"M", "C", "T", "A"}:
            self.leaving = math.inf

    def tick(self) -> None:
        """Come nearer to the pointer."""
        if self.eased is not None:
            (to_x, to_y), (at_x, at_y) = self.pointer, self.eased
            self.eased = (at_x + (to_x - at_x) * EASING, at_y + (to_y - at_y) * EASING)
            if math.dist(self.eased, self.pointer) < 0.5:
                self.eased = self.pointer

    def moves(self, now: float) -> bool:
        """Whether the next tick shows anything new."""
        playing = now - self.clicked < RIPPLE_SECONDS or now - self.typed < PULSE_SECONDS
        return playing or (self.eased is not None and self.eased != self.pointer)

    def opacity(self, now: float) -> float:
        """1 while it stands, 0 when it has faded away."""
        return 1.0 - min(1.0, max(0.0, (now - self.leaving) / FADE_SECONDS))

    def hotspot(self) -> tuple[int, int]:
        """The pixel of the sprite that lies under the pointer: the halo is in the middle, and comes behind."""
        behind = (0.0, 0.0) if self.eased is None else (self.pointer[0] - self.eased[0], self.pointer[1] - self.eased[1])
        middle, most = self.size / 2, self.size - 1
        return max(0, min(most, round(middle + behind[0]))), max(0, min(most, round(middle + behind[1])))

    def draw(self, now: float) -> Pixels:
        """The sprite: uint8 (size, size, 4), premultiplied B, G, R, A."""
        picture = numpy.zeros((self.size, self.size, 4))
        most = self.size / 2 - STROKE
        scale = min(1.0, most / FAINT_RADIUS)
        _over(picture, self._ring(FAINT_RADIUS * scale), RING_COLOUR, FAINT_OPACITY)
        _over(picture, self._ring(RING_RADIUS * scale), RING_COLOUR, RING_OPACITY)
        if 0 <= (rippled := (now - self.clicked) / RIPPLE_SECONDS) < 1:
            _over(picture, self._ring(RING_RADIUS * scale + (most - RING_RADIUS * scale) * rippled), RING_COLOUR, 1 - rippled)
        if 0 <= (pulsed := (now - self.typed) / PULSE_SECONDS) < 1:
            _over(picture, numpy.clip(RING_RADIUS * scale - self._grid, 0, 1), PULSE_COLOUR, 0.6 * (1 - pulsed))
        column, row = self.hotspot()
        rows, columns = numpy.mgrid[0 : self.size, 0 : self.size]
        _over(picture, numpy.clip(3.5 - numpy.hypot(rows - row, columns - column), 0, 1), RING_COLOUR, 1.0)
        _over(picture, numpy.clip(2.0 - numpy.hypot(rows - row, columns - column), 0, 1), POINT_COLOUR, 1.0)
        return (picture * 255 * self.opacity(now) + 0.5).astype(numpy.uint8)

    def _ring(self, radius: float) -> Layer:
        return numpy.clip(STROKE / 2 + 0.5 - numpy.abs(self._grid - radius), 0, 1)


def _over(picture: Layer, shape: Layer, colour: int, opacity: float) -> None:
    alpha = (shape * opacity)[..., None]
    premultiplied = numpy.array([colour & 0xFF, colour >> 8 & 0xFF, colour >> 16 & 0xFF, 0xFF]) / 255 * alpha
    picture *= 1 - alpha
    picture += premultiplied


class RootCursor:
    """The cursor of the root window of `display`."""

    def __init__(self, display: str) -> None:
        self._connection = connect(display=display)
        self._core = self._connection.core
        self._render = self._connection(xcffib.render.key)
        self._root = self._connection.get_setup().roots[0].root
        best = self._core.QueryBestSize(x.QueryShapeOf.LargestCursor, self._root, MAX_SIZE, MAX_SIZE).reply()
        self.size = max(MIN_SIZE, min(MAX_SIZE, best.width, best.height))
        self._pixmap, self._gc, self._picture = (self._connection.generate_id() for _ in range(3))
        self._core.CreatePixmap(ARGB32_DEPTH, self._pixmap, self._root, self.size, self.size)
        self._core.CreateGC(self._gc, self._pixmap, 0, [])
        self._render.CreatePicture(self._picture, self._pixmap, self._argb32(), 0, [])

    @property
    def descriptor(self) -> int:
        """Readable when the server says something, or is gone."""
        return int(self._connection.get_file_descriptor())

    def show(self, picture: Pixels, hotspot: tuple[int, int]) -> None:
        """Make the picture the sprite."""
        cursor = self._connection.generate_id()
        data = picture.tobytes()
        self._core.PutImage(x.ImageFormat.ZPixmap, self._pixmap, self._gc, self.size, self.size, 0, 0, 0, ARGB32_DEPTH, len(data), data)
        self._render.CreateCursor(cursor, self._picture, *hotspot)
        self._core.ChangeWindowAttributes(self._root, x.CW.Cursor, [cursor])
        self._core.FreeCursor(cursor)
        # A round trip: no more is sent than the server takes, and its end is noticed.
        self._core.GetInputFocus().reply()

    def undefine(self) -> None:
        """Give the root window the server's own cursor back."""
        self._core.ChangeWindowAttributes(self._root, x.CW.Cursor, [0])
        self._core.GetInputFocus().reply()

    def drain(self) -> None:
        """Take what the server said. Raises xcffib.ConnectionException when it is gone."""
        while self._connection.poll_for_event() is not None:
            pass
        self._connection.invalid()

    def _argb32(self) -> int:
        for one in self._render.QueryPictFormats().reply().formats:
            direct = one.direct
            shifts = (direct.alpha_shift, direct.red_shift, direct.green_shift, direct.blue_shift)
            if one.depth == ARGB32_DEPTH and direct.alpha_mask == 0xFF and shifts == (24, 16, 8, 0):
                return int(one.id)
        raise LookupError("the server knows no ARGB32 pictures")


def run(cursor: RootCursor, lines: int, ready: int) -> None:
    """Show the halo by what the descriptor `lines` says, until its end."""
    halo = Halo(cursor.size)
    rest = b""
    open_ = True
    cursor.show(halo.draw(time.monotonic()), halo.hotspot())
    with contextlib.suppress(BrokenPipeError):  # its owner has let go already
        os.write(ready, b"READY\n")
    shown = True
    while True:
        now = time.monotonic()
        wait = TICK_SECONDS if halo.moves(now) or (shown and halo.leaving < math.inf) else None
        readable, _, _ = select.select([cursor.descriptor, *([lines] if open_ else [])], [], [], wait)
        if cursor.descriptor in readable:
            cursor.drain()
        now = time.monotonic()
        if lines in readable:
            chunk = os.read(lines, 65536)
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                halo.told(line.decode(errors="replace"), now)
            if not chunk:
                open_ = False
                halo.told("S", now)
        halo.tick()
        if halo.opacity(now) > 0:
            cursor.show(halo.draw(now), halo.hotspot())
            shown = True
        elif shown:
            cursor.undefine()
            shown = False
        if not open_ and not shown:
            return
        if wait is not None:
            time.sleep(max(0.0, TICK_SECONDS - (time.monotonic() - now)))


def main(arguments: list[str]) -> int:
    """Run on the display named by the one argument. 0 at the end of the input, 1 when the display cannot be used, 2 for other arguments."""
    if len(arguments) != 1:
        return 2
    try:
        run(RootCursor(arguments[0]), 0, 1)
    except (xcffib.XcffibException, LookupError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
