"""Covers $DISPLAY with a window that tells the time: the strip at its top is the wall clock, and below it things change as a mode says.

    python stamp_window.py WIDTH HEIGHT MODE HERTZ [WORK_HERTZ]

The strip is 24 blocks of 48 pixels, white is 1, the highest bit first: CLOCK_REALTIME in milliseconds, modulo 2**24. It is painted HERTZ
times a second, and what is below WORK_HERTZ times (as often, if absent). Modes: `typing` (nothing but the strip), `desk` (a page of text
with a character typed now and then, and a window that is dragged over it), `scroll` (the whole screen moves, 7 pixels a time), `still`
(as `typing`, and frozen after two seconds). The server does all painting, from pixmaps into the window; what is seen changes with one copy.
It ends when stdin does.
"""

from __future__ import annotations

import math
import random
import select
import sys
import time

import xcffib
import xcffib.xproto as x

BITS, BLOCK = 24, 48
WHITE, BLACK, PAPER, INK = 0xFFFFFF, 0x000000, 0xF5F5F5, 0x1E1E1E
FREEZE_SECONDS = 2.0
LINE = 18
"""Pixels from a line of text to the next."""
BOXES = 4000
"""So many rectangles fit into one request."""

Box = tuple[int, int, int, int]


class Window:
    """The window, and what is painted into it."""

    def __init__(self, width: int, height: int, mode: str) -> None:
        self.width, self.height = width, height
        self.connection = xcffib.connect()
        self.core = self.connection.core
        self.root = self.connection.get_setup().roots[0].root
        self.context = self.connection.generate_id()
        self.core.CreateGC(self.context, self.root, x.GC.GraphicsExposures, [0])
        self.chance = random.Random(1)
        self.turn = 0
        self.at: Box | None = None
        self.strip = self.pixmap(BITS * BLOCK, BLOCK)
        self.page = self.pixmap(width, height)
        self.text(self.page, (0, 0, width, height))
        self.drawn = self.pixmap(width, height)
        self.copy(self.page, self.drawn, (0, 0, width, height))
        self.dragged = self.pixmap(width // 3, height // 3)
        self.text(self.dragged, (0, 0, width // 3, height // 3))
        self.fill(self.dragged, 0x285AB4, [(0, 0, width // 3, 24)])
        if mode == "scroll":
            self.roll = self.stripes()
        self.window = self.connection.generate_id()
        self.core.CreateWindow(
            24,
            self.window,
            self.root,
            0,
            0,
            width,
            height,
            0,
            x.WindowClass.InputOutput,
            0,
            x.CW.BackPixel | x.CW.OverrideRedirect,
            [PAPER, 1],
        )
        self.core.MapWindow(self.window)
        self.copy(self.page, self.window, (0, 0, width, height))
        self.core.GetInputFocus().reply()

    def pixmap(self, width: int, height: int) -> int:
        made = self.connection.generate_id()
        self.core.CreatePixmap(24, made, self.root, width, height)
        return int(made)

    def fill(self, on: int, colour: int, boxes: list[Box]) -> None:
        self.core.ChangeGC(self.context, x.GC.Foreground, [colour])
        for start in range(0, len(boxes), BOXES):
            part = [x.RECTANGLE.synthetic(*box) for box in boxes[start : start + BOXES]]
            self.core.PolyFillRectangle(on, self.context, len(part), part)

    def copy(self, source: int, to: int, box: Box, at: tuple[int, int] | None = None) -> None:
        """Copy a box of `source`, to the same place if none is given."""
        to_x, to_y = at or box[:2]
        self.core.CopyArea(source, to, self.context, box[0], box[1], to_x, to_y, box[2], box[3])

    def text(self, on: int, place: Box) -> None:
        """Lines of what looks like words."""
        left, top, width, height = place
        self.fill(on, PAPER, [place])
        words: list[Box] = []
        for y in range(top + 4, top + height - LINE, LINE):
            for at in range(left + 8, left + self.chance.randrange(width // 3, width), 9):
                if self.chance.random() < 0.85:
                    words += self.glyph(at, y)
        self.fill(on, INK, words)

    def glyph(self, at: int, y: int) -> list[Box]:
        pick = self.chance.randrange
        return [(at + pick(5), y, 2, 12), (at, y + pick(10), 7, 2), (at + pick(4), y + pick(8), 3, 3)]

    def stripes(self) -> int:
        """Twice the screen, one below the other, alike: stripes that start in every line at another place."""
        height = self.height - BLOCK
        made = self.pixmap(self.width, 2 * height)
        self.text(made, (0, 0, self.width, height))
        self.fill(made, 0x3C8C50, [(row * 37 % self.width, row * 24, self.width // 3, 12) for row in range(height // 24)])
        self.copy(made, made, (0, 0, self.width, height), (0, height))
        return made

    def stamp(self) -> None:
        """Show the time."""
        now = time.time_ns() // 1_000_000 & (1 << BITS) - 1
        self.fill(self.strip, BLACK, [(0, 0, BITS * BLOCK, BLOCK)])
        self.fill(self.strip, WHITE, [(bit * BLOCK, 0, BLOCK, BLOCK) for bit in range(BITS) if now >> BITS - 1 - bit & 1])
        self.copy(self.strip, self.window, (0, 0, BITS * BLOCK, BLOCK))

    def scroll(self) -> None:
        """Move everything by seven pixels."""
        height = self.height - BLOCK
        self.copy(self.roll, self.window, (0, self.turn * 7 % height, self.width, height), (0, BLOCK))

    def work(self) -> None:
        """Drag the window on, and type a character every tenth of a second or so."""
        width, height = self.width // 3, self.height // 3
        if self.turn % 6 == 0:
            place = (8 + self.turn // 6 % 60 * 9, BLOCK + 4 + self.turn // 360 % 20 * LINE)
            self.fill(self.page, PAPER, [(*place, 9, LINE)])
            self.fill(self.page, 0x1414A0, self.glyph(*place))
            self.copy(self.page, self.drawn, (*place, 9, LINE))
            self.copy(self.page, self.window, (*place, 9, LINE))
        left = int((self.width - width) * (0.5 + 0.49 * math.sin(self.turn * 0.02)))
        top = BLOCK + int((self.height - BLOCK - height) * (0.5 + 0.49 * math.cos(self.turn * 0.013)))
        old = self.at or (left, top, width, height)
        self.copy(self.page, self.drawn, old)
        self.copy(self.dragged, self.drawn, (0, 0, width, height), (left, top))
        x0, y0 = min(old[0], left), min(old[1], top)
        x1, y1 = max(old[0], left) + width, max(old[1], top) + height
        self.copy(self.drawn, self.window, (x0, y0, x1 - x0, y1 - y0))
        self.at = (left, top, width, height)


def main() -> None:
    width, height, mode, hertz = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    every = round(hertz / float(sys.argv[5])) if len(sys.argv) > 5 else 1
    window = Window(width, height, mode)
    began = due = time.monotonic()
    paints = 0
    while not select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))[0]:
        due = max(due + 1 / hertz, time.monotonic() - 1 / hertz)
        if mode == "still" and time.monotonic() - began > FREEZE_SECONDS:
            continue
        if paints % every == 0:
            if mode == "scroll":
                window.scroll()
            elif mode == "desk":
                window.work()
            window.turn += 1
        window.stamp()
        window.connection.flush()
        paints += 1
    window.connection.disconnect()


if __name__ == "__main__":
    main()
