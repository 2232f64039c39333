"""Touches an X display's root window: its pixels and what was drawn there; called by the source of a desktop session and by tests.

It has a connection of its own, so that no key waits behind a picture. Nothing is decided here: when a frame counts as new belongs to
`machines.desklink`. Every method may raise `DisplayLost` once the server is gone.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ...errors import LocalProtocolError, Unavailable
from ...generated.desklink.vocabulary import TILE_PIXELS
from ...machines.desklink.geometry import Box, Size, region_inside
from .display_name import display_name
from .x11_connection import DisplayLost, cannot_open, ffi, lib

if TYPE_CHECKING:
    from ...native.linux._x11 import CData

PIXEL = 4
#: Boxes that one wait may return; more damage than that comes as the one box around it all.
MOST_BOXES = 256
#: Memory for a copy is wholly written: to clear it first would cost as much as the copy.
_allocate = ffi.new_allocator(should_clear_after_alloc=False)


@dataclass(frozen=True)
class Frame:
    """Pixels of `width` x `height`: `data` holds rows of `stride` bytes, four bytes a pixel in the order B, G, R, X."""

    width: int
    height: int
    stride: int
    data: memoryview

    @property
    def size(self) -> Size:
        """Pixels across and down."""
        return Size(self.width, self.height)

    def copy(self, box: Box, surface: Size | None = None) -> memoryview:
        """The tight rows of one box of the frame, shown on `surface` (None: at its own size); read-only, and nobody else's.

        A surface of another size shows nearest samples, whose fourth byte is 255 (desklink v3, `session.frame`).
        """
        surface = surface or self.size
        if not region_inside(box, surface):
            raise LocalProtocolError("coordinates", f"{box} is outside the {surface.width}x{surface.height} frame", "region")
        pixels = _allocate("uint8_t[]", box[2] * box[3] * PIXEL)
        place = ffi.new("tx_box *", box)[0]
        lib.tx_scale_bgrx(ffi.from_buffer(self.data), self.width, self.height, self.stride, surface.width, surface.height, place, pixels)
        return memoryview(ffi.buffer(pixels)).toreadonly()


class X11Capture:
    """The root window of `display` (None: $DISPLAY), its pixels and their changes.

    One thread captures; `wake()` and `close()` may come from any. Raises Unavailable when the display cannot be opened, or its pixels
    are not BGRX of 24 bits in 32.
    """

    def __init__(self, display: str | None = None) -> None:
        self._display = display_name(display)
        self._lock = threading.Lock()  # the handle, for as long as a call lasts
        self._wake_lock = threading.Lock()  # the wake descriptor and who closes, for a moment
        self._closing = False
        error = ffi.new("char[]", 256)
        handle = lib.tx_capture_open(self._display.encode(), error, len(error))
        if handle == ffi.NULL:
            raise cannot_open(self._display, error)
        self._handle = handle
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._damage = ffi.new("tx_box[]", MOST_BOXES)
        self._kept: bytearray | None = None
        self._size = (0, 0)
        try:
            self._share()
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the root window in pixels, as of the last call."""
        return self._size

    @property
    def path(self) -> str:
        """How pixels come: "shm" (the server writes into our memory) or "get-image" (through the socket)."""
        return self._path

    @property
    def frame(self) -> Frame:
        """The kept frame, which `refresh` brings up to date in place; Unavailable before the first `refresh`."""
        if self._kept is None:
            raise Unavailable("no frame was captured yet", "call refresh() first")
        width, height = self._kept_size
        return Frame(width, height, width * PIXEL, memoryview(self._kept))

    def grab(self) -> Frame:
        """A fresh picture of the whole root window, not copied: the next `grab` or `refresh` overwrites it."""
        with self._lock:
            self._grab()
            width, height = self._size
            return Frame(width, height, width * PIXEL, memoryview(self._memory)[: width * height * PIXEL])

    def wait_damage(self, timeout: float | None) -> tuple[Box, ...]:
        """Sleep until something is drawn, for `timeout` seconds at most (None: without end); the boxes that cover it.

        Empty when the time passed, a signal came or `wake()` was called, even before the wait; a look that does not wait (0) leaves that
        call for the next one. After a resize of the root window `size` is new, and the one box is all of it. The first call returns at
        once, since all is new.
        """
        milliseconds = -1 if timeout is None else math.ceil(timeout * 1000)
        with self._lock:
            self._check_open()
            wake = self._wake if milliseconds else -1
            count = lib.tx_capture_wait(self._handle, wake, milliseconds, self._damage, MOST_BOXES)
            if count == lib.TX_WOKEN:
                os.eventfd_read(self._wake)
                return ()
            if count == lib.TX_RESIZED:
                self._share()
                return ((0, 0, *self._size),)
            self._checked(count)
            return _boxes(self._damage, count)

    def refresh(self, boxes: Sequence[Box] | None = None) -> tuple[Box, ...]:
        """Bring the kept frame up to date inside `boxes` (None: everywhere) and return what really changed.

        The answer is one box around each group of touching 32-pixel tiles with a differing byte, clipped to the frame; empty when nothing
        differs. For the first frame, and after a resize, it is the whole frame, which is then a new object.
        """
        with self._lock:
            self._check_open()
            if self._kept is None or self._kept_size != self._size:
                return self._start_over()
            width, height = self._size
            wanted = [(0, 0, width, height)] if boxes is None else list(boxes)
            for box in wanted:
                if not region_inside(box, Size(width, height)):
                    raise LocalProtocolError("coordinates", f"{box} is outside the {width}x{height} root window")
            kept = ffi.from_buffer("uint8_t[]", self._kept, require_writable=True)
            status = lib.tx_capture_refresh(self._handle, kept, ffi.new("tx_box[]", wanted), len(wanted), self._changed)
            if status == lib.TX_RESIZED:
                self._share()
                return self._start_over()
            self._checked(status)
            return _boxes(self._groups, lib.tx_tiles_group(self._changed, width, height, self._scratch, self._groups))

    def wake(self) -> None:
        """Make the present `wait_damage`, or the next one, return at once. From any thread, also when it is closed already."""
        with self._wake_lock:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """Close the connection; a waiting thread is woken first. Safe to call twice and from any thread."""
        with self._wake_lock:
            if self._closing:
                return
            self._closing = True
        self.wake()
        with self._lock:
            lib.tx_capture_close(self._handle)
            with self._wake_lock:
                os.close(self._wake)
                self._wake = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _share(self) -> None:
        """Give the helper memory for the root window as it is now. Older frames keep their own memory alive."""
        width, height = ffi.new("int32_t *"), ffi.new("int32_t *")
        lib.tx_capture_size(self._handle, width, height)
        size = int(width[0]), int(height[0])
        length = size[0] * size[1] * PIXEL
        descriptor = _memory_file(length)
        try:
            memory = mmap.mmap(descriptor, length, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
            pixels = ffi.from_buffer("uint8_t[]", memory, require_writable=True)
            shared = lib.tx_capture_share(self._handle, descriptor, pixels, length)
        except (OSError, ValueError) as error:
            raise Unavailable(f"no memory for a picture of {size[0]}x{size[1]}: {error}") from None
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        self._checked(shared)
        self._memory, self._pixels, self._size = memory, pixels, size
        self._path = "shm" if shared else "get-image"

    def _grab(self) -> None:
        self._check_open()
        while (status := lib.tx_capture_grab(self._handle)) == lib.TX_RESIZED:
            self._share()
        self._checked(status)

    def _start_over(self) -> tuple[Box, ...]:
        self._grab()
        width, height = self._kept_size = self._size
        self._kept = bytearray(memoryview(self._memory)[: width * height * PIXEL])
        tiles = -(-width // TILE_PIXELS) * -(-height // TILE_PIXELS)
        self._changed = ffi.new("uint8_t[]", tiles)
        self._scratch = ffi.new("uint32_t[]", tiles)
        self._groups = ffi.new("tx_box[]", tiles)
        return ((0, 0, width, height),)

    def _check_open(self) -> None:
        if self._closing:
            raise Unavailable("the capture is closed", "open a new one")

    def _checked(self, status: int) -> None:
        if status == lib.TX_LOST:
            raise DisplayLost(self._display)
        if status < 0:
            raise Unavailable(f"the X server of {self._display} refuses the picture of its root window")


def _memory_file(length: int) -> int:
    """A descriptor of memory that can be shared with the server; -1 when the system gives none, and pictures come through the socket."""
    try:
        descriptor = os.memfd_create("triptych-frame", os.MFD_CLOEXEC)
    except OSError:
        return -1
    try:
        os.ftruncate(descriptor, length)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def _boxes(boxes: CData, count: int) -> tuple[Box, ...]:
    return tuple((box.x, box.y, box.width, box.height) for box in boxes[0:count])
