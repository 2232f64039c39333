"""Touches an X display: pixels and damage of its root window, and physical input; called by the desktop session and by tests.

Capture and input hold a connection each, so that a key never waits behind a picture. Nothing is decided here: which keys stay held, and
when a frame counts as new, belongs to `machines.desklink`. Every method may raise `DisplayLost` once the server is gone.
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
from ...machines.desklink.geometry import Box

try:
    from ...native.linux._x11 import ffi, lib
except ImportError as missing:
    raise Unavailable(
        f"the X11 helper cannot be loaded: {missing}",
        "apt install libxcb-shm0 libxcb-damage0 libxcb-xfixes0 libxcb-xtest0 libxcb-xkb1 libxkbcommon-x11-0, then reinstall triptych",
    ) from missing

if TYPE_CHECKING:
    from ...native.linux._x11 import CData

TILE = 32
PIXEL = 4
#: Boxes that one wait may return; more damage than that comes as the one box around it all.
MOST_BOXES = 256
REAL_MODIFIERS = 8


class DisplayLost(Unavailable):
    """The connection to the X server is gone. Only a new connection helps."""

    def __init__(self, display: str) -> None:
        super().__init__(f"the X display {display} went away", "start it again, then open a new session")


@dataclass(frozen=True)
class Frame:
    """Pixels of `width` x `height`: `data` holds rows of `stride` bytes, four bytes a pixel in the order B, G, R, X."""

    width: int
    height: int
    stride: int
    data: memoryview

    def copy(self, box: Box) -> bytes:
        """The tight rows of one box, which must lie inside the frame."""
        x, y, width, height = box
        if not _inside(box, self.width, self.height):
            raise LocalProtocolError("coordinates", f"{box} is outside the {self.width}x{self.height} frame", "region")
        if width == self.width:
            return bytes(self.data[y * self.stride : (y + height) * self.stride])
        starts = range(y * self.stride + x * PIXEL, (y + height) * self.stride, self.stride)
        return b"".join(self.data[start : start + width * PIXEL] for start in starts)


class X11Capture:
    """The root window of `display` (None: $DISPLAY), its pixels and their changes.

    One thread captures; `wake()` and `close()` may come from any. Raises Unavailable when the display cannot be opened, or its pixels
    are not BGRX of 24 bits in 32.
    """

    def __init__(self, display: str | None = None) -> None:
        self._display = _named(display)
        self._lock = threading.Lock()  # the handle, for as long as a call lasts
        self._wake_lock = threading.Lock()  # the wake descriptor, for a moment
        self._closing = False
        error = ffi.new("char[]", 256)
        handle = lib.tx_capture_open(_c_name(display), error, len(error))
        if handle == ffi.NULL:
            raise _cannot_open(self._display, error)
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

        Empty when the time passed, a signal came or `wake()` was called, even before the wait. After a resize of the root window `size`
        is new, and the one box is all of it. The first call returns at once, since all is new.
        """
        milliseconds = -1 if timeout is None else math.ceil(timeout * 1000)
        with self._lock:
            self._check_open()
            count = lib.tx_capture_wait(self._handle, self._wake, milliseconds, self._damage, MOST_BOXES)
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
                if not _inside(box, width, height):
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
        descriptor = os.memfd_create("triptych-frame", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, length)
            memory = mmap.mmap(descriptor, length, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
            pixels = ffi.from_buffer("uint8_t[]", memory, require_writable=True)
            shared = lib.tx_capture_share(self._handle, descriptor, pixels, length)
        finally:
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
        tiles = -(-width // TILE) * -(-height // TILE)
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


@dataclass(frozen=True)
class Stroke:
    """One character: while `group` is locked hold the keys `modifiers`, press and release `keycode`. All are X keycodes."""

    keycode: int
    modifiers: tuple[int, ...]
    group: int


@dataclass(frozen=True)
class TextPlan:
    """A whole text as strokes, by the keymap that was live when it was planned."""

    strokes: tuple[Stroke, ...]


class X11Input:
    """The pointer and keyboard of `display` (None: $DISPLAY) through XTEST. Keycodes are X keycodes: evdev codes + 8.

    Any thread may call; a call carries out its own edges without another's in between. Raises Unavailable when the display cannot be
    opened.
    """

    def __init__(self, display: str | None = None) -> None:
        self._display = _named(display)
        self._lock = threading.RLock()
        error = ffi.new("char[]", 256)
        handle = lib.tx_input_open(_c_name(display), error, len(error))
        if handle == ffi.NULL:
            raise _cannot_open(self._display, error)
        self._handle: CData | None = handle
        self._buttons: list[int] = []
        self._keys: list[int] = []

    def move(self, x: int, y: int) -> None:
        """Put the pointer on a pixel of the root window; the server clamps what lies outside."""
        with self._lock:
            self._checked(lib.tx_input_move(self._open(), _int16(x), _int16(y)))

    def button(self, button: int, down: bool) -> None:
        """Press or release button 1 left, 2 middle, 3 right, 4 to 7 wheel up, down, left, right."""
        with self._lock:
            self._checked(lib.tx_input_button(self._open(), _byte(button), down))
            _note(self._buttons, button, down)

    def key(self, keycode: int, down: bool) -> None:
        """Press or release one key."""
        with self._lock:
            self._checked(lib.tx_input_key(self._open(), _byte(keycode), down))
            _note(self._keys, keycode, down)

    def lookup(self, character: str) -> Stroke | None:
        """How the live keymap types one character in the layout group that is locked now; None when it cannot."""
        with self._lock:
            group, _ = self._locks()
            return self._strokes(group).get((group, character))

    def plan_text(self, text: str) -> TextPlan:
        """How the live keymap types `text`, "\\n" as Enter and "\\t" as Tab, switching layout groups only where it must.

        Raises LocalProtocolError (text-unsupported) that names every character which no key gives. Types nothing.
        """
        with self._lock:
            group, _ = self._locks()
            strokes = self._strokes(group)
            planned: list[Stroke] = []
            for character in text:
                stroke = strokes.get((group, character)) or strokes.get((None, character))
                if stroke is None:
                    break
                group = stroke.group
                planned.append(stroke)
            else:
                return TextPlan(tuple(planned))
        unreachable = dict.fromkeys(character for character in text if (None, character) not in strokes)
        raise LocalProtocolError("text-unsupported", f"the keyboard layout has no key for {' '.join(map(repr, unreachable))}", "text")

    def play(self, plan: TextPlan) -> None:
        """Type a planned text. CapsLock and a locked layout group are set aside for it and put back, whatever happens."""
        with self._lock:
            before = now = self._locks()
            try:
                for stroke in plan.strokes:
                    if now != (stroke.group, 0):
                        now = (stroke.group, 0)
                        self._checked(lib.tx_input_lock(self._open(), *now))
                    self._strike(stroke)
            finally:
                if now != before:
                    self._checked(lib.tx_input_lock(self._open(), *before))
            self.sync()

    def type_text(self, text: str) -> None:
        """Plan and type `text`; it is on the display's event queue when this returns. Raises like `plan_text`, having typed nothing."""
        with self._lock:
            self.play(self.plan_text(text))

    def pressed(self) -> frozenset[int]:
        """The keycodes that the server holds for down, whoever pressed them."""
        bits = ffi.new("uint8_t[32]")
        with self._lock:
            self._checked(lib.tx_input_keys_down(self._open(), bits))
        return frozenset(code for code in range(256) if bits[code // 8] & 1 << code % 8)

    def pointer(self) -> tuple[int, int, frozenset[int]]:
        """x and y on the root window, and the buttons among 1 to 5 that are down."""
        x, y, buttons = ffi.new("int32_t *"), ffi.new("int32_t *"), ffi.new("uint32_t *")
        with self._lock:
            self._checked(lib.tx_input_pointer(self._open(), x, y, buttons))
        return int(x[0]), int(y[0]), frozenset(number + 1 for number in range(5) if buttons[0] & 1 << number)

    def root_size(self) -> tuple[int, int]:
        """Width and height of the root window in pixels, asked now."""
        width, height = ffi.new("int32_t *"), ffi.new("int32_t *")
        with self._lock:
            self._checked(lib.tx_input_root_size(self._open(), width, height))
        return int(width[0]), int(height[0])

    def release_all(self) -> None:
        """Release what this object pressed and did not release: buttons, then keys, each in the order they were pressed."""
        with self._lock:
            for button in tuple(self._buttons):
                self.button(button, False)
            for keycode in tuple(self._keys):
                self.key(keycode, False)

    def sync(self) -> None:
        """Wait until the server has acted on everything that was sent."""
        with self._lock:
            self._checked(lib.tx_input_sync(self._open()))

    def close(self) -> None:
        """Release what is held, as far as the server still answers, and close the connection. Safe to call twice."""
        with self._lock:
            if self._handle is None:
                return
            try:
                self.release_all()
                self.sync()
            except DisplayLost:
                pass  # a server that is gone holds nothing down
            finally:
                lib.tx_input_close(self._handle)
                self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _strike(self, stroke: Stroke) -> None:
        held: list[int] = []
        try:
            for keycode in (*stroke.modifiers, stroke.keycode):
                self.key(keycode, True)
                held.append(keycode)
        finally:
            for keycode in reversed(held):
                self.key(keycode, False)

    def _strokes(self, group: int) -> dict[tuple[int | None, str], Stroke]:
        """The live keymap: (group, character) and, with `group` preferred, (None, character). The lowest keycode wins."""
        holders = ffi.new("int32_t[]", REAL_MODIFIERS)
        room = 1024
        while True:
            reaches = ffi.new("tx_reach[]", room)
            count = lib.tx_input_keymap(self._open(), reaches, room, holders)
            self._checked(count)
            if count <= room:
                break
            room = count
        strokes: dict[tuple[int | None, str], Stroke] = {}
        for reach in reaches[0:count]:
            modifiers = tuple(int(holders[bit]) for bit in range(REAL_MODIFIERS) if reach.modifiers & 1 << bit)
            character = "\n" if reach.codepoint == 0x0D else chr(reach.codepoint)
            stroke = Stroke(reach.keycode, modifiers, reach.group)
            strokes.setdefault((reach.group, character), stroke)
        for (_, character), stroke in list(strokes.items()):
            strokes.setdefault((None, character), strokes.get((group, character), stroke))
        return strokes

    def _locks(self) -> tuple[int, int]:
        group, modifiers = ffi.new("int32_t *"), ffi.new("uint32_t *")
        self._checked(lib.tx_input_locks(self._open(), group, modifiers))
        return int(group[0]), int(modifiers[0])

    def _open(self) -> CData:
        if self._handle is None:
            raise Unavailable("the input is closed", "open a new one")
        return self._handle

    def _checked(self, status: int) -> None:
        if status == lib.TX_LOST:
            raise DisplayLost(self._display)
        if status == lib.TX_ABSENT:
            raise Unavailable(f"the X server of {self._display} has no core keyboard")
        if status < 0:
            raise Unavailable(f"the X server of {self._display} refuses input")


def _named(display: str | None) -> str:
    return display or os.environ.get("DISPLAY") or "(none)"


def _c_name(display: str | None) -> CData | bytes:
    return display.encode() if display else ffi.NULL


def _cannot_open(display: str, error: CData) -> Unavailable:
    text = ffi.string(error)
    assert isinstance(text, bytes)
    return Unavailable(
        f"cannot open X display {display}: {text.decode()}", "set DISPLAY, and XAUTHORITY for its cookie, to a running X server"
    )


def _boxes(boxes: CData, count: int) -> tuple[Box, ...]:
    return tuple((box.x, box.y, box.width, box.height) for box in boxes[0:count])


def _inside(box: Box, width: int, height: int) -> bool:
    x, y, across, down = box
    return x >= 0 and y >= 0 and across > 0 and down > 0 and x + across <= width and y + down <= height


def _int16(value: int) -> int:
    return max(-32768, min(value, 32767))


def _byte(code: int) -> int:
    if not 0 < code < 256:
        raise LocalProtocolError("operation", f"{code} is neither a button nor a keycode: they are 1 to 255")
    return code


def _note(held: list[int], code: int, down: bool) -> None:
    if down and code not in held:
        held.append(code)
    elif not down and code in held:
        held.remove(code)
