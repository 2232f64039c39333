"""Holds the newest captured picture for an encoder, as I420 of the surface's size: a slot of one between the capture thread and its own.

Nothing waits in a queue: a change that nobody took yet is overtaken by the next, and both are one picture then. Colours are converted when
a picture is taken, only where it changed since the one taken before; so a capture that nobody encodes costs nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...machines.desklink.geometry import Box, Size, damage_to_encoded
from .x11_capture import Frame
from .x11_connection import ffi, lib

MOST_BOXES = 64
"""More changes than that between two pictures are one change of everything."""


@dataclass(frozen=True)
class Picture:
    """`planes`: Y, then U, then V of `size`, rows tight; the next `take` changes them. `damage` are the boxes that differ from the picture
    taken before; `at` is the monotonic time at which the newest of its changes was seen.
    """

    planes: memoryview
    size: Size
    damage: tuple[Box, ...]
    at: float


class NewestFrame:
    """The slot. `surface` has even sides. `superseded` counts the changes that were overtaken before anybody took them."""

    def __init__(self, surface: Size) -> None:
        self.superseded = 0
        self._surface = surface
        self._changed = threading.Condition()
        self._bell = threading.Event()  # rung without the lock, which the capture thread holds for as long as a server hangs
        self._frame: Frame | None = None
        self._damage: tuple[Box, ...] = ()
        self._at = 0.0
        self._planes = ffi.new("uint8_t[]", surface.width * surface.height * 3 // 2)
        self._scratch = ffi.new("uint32_t[]", 1)

    @property
    def empty(self) -> bool:
        """Whether no picture has come since the slot was made, or dropped."""
        return self._frame is None

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """The capture thread changes its frame's pixels: nobody converts them meanwhile."""
        with self._changed:
            yield

    def put(self, frame: Frame, damage: tuple[Box, ...], at: float) -> None:
        """The frame has changed in these boxes of it, as seen at the monotonic time `at`."""
        with self._changed:
            self.superseded += bool(self._damage)
            boxes = damage if frame.size == self._surface else tuple(damage_to_encoded(box, frame.size, self._surface) for box in damage)
            whole = self._frame is None or self._frame.size != frame.size or len(self._damage) + len(boxes) > MOST_BOXES
            self._frame, self._damage, self._at = frame, (self._surface.box,) if whole else self._damage + boxes, at
            self._changed.notify()
            self._bell.set()

    def drop(self) -> None:
        """The capture is lost: what nobody took is not true any more."""
        with self._changed:
            self._frame, self._damage = None, ()

    @property
    def waiting(self) -> bool:
        """Whether a change waits to be taken."""
        return bool(self._damage)

    def wait(self, timeout: float) -> None:
        """Sleep until something is put, `wake` is called, or `timeout` seconds have passed; at once if that was so since the last wait."""
        self._bell.wait(timeout)
        self._bell.clear()

    def wake(self) -> None:
        """End the present `wait`, or the next. From any thread; never blocks."""
        self._bell.set()

    def take(self, timeout: float) -> Picture | None:
        """The newest picture, once it has changed since the last one; None when it has not within `timeout` seconds.

        None too while the capture waits for a display server that hangs, whatever the timeout.
        """
        if not self._changed.acquire(timeout=timeout):
            return None
        try:
            if not self._changed.wait_for(lambda: self._damage, timeout) or (frame := self._frame) is None:
                return None
            damage, self._damage = self._damage, ()
            self._convert(frame, damage)
            return Picture(memoryview(ffi.buffer(self._planes)), self._surface, damage, self._at)
        finally:
            self._changed.release()

    def _convert(self, frame: Frame, boxes: tuple[Box, ...]) -> None:
        width, height = self._surface.width, self._surface.height
        needed = 0 if frame.size == self._surface else 4 * frame.width + 2 * width
        if len(self._scratch) < needed:
            self._scratch = ffi.new("uint32_t[]", needed)
        source = ffi.from_buffer(frame.data)
        for box in boxes:
            place = ffi.new("tx_box *", box)[0]
            lib.tx_i420_from_bgrx(source, frame.width, frame.height, frame.stride, self._planes, width, height, place, self._scratch, 0)
