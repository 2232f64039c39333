"""Touches an X display's pointer and keyboard through XTEST; called by the source of a desktop session and by tests.

It has a connection of its own, so that no key waits behind a picture. Nothing is decided here: which keys stay held belongs to
`machines.desklink`. Every method may raise `DisplayLost` once the server is gone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ...errors import LocalProtocolError, Unavailable
from .display_name import display_name
from .x11_connection import DisplayLost, cannot_open, ffi, lib

if TYPE_CHECKING:
    from ...native.linux._x11 import CData

REAL_MODIFIERS = 8


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
        self._display = display_name(display)
        self._lock = threading.RLock()
        error = ffi.new("char[]", 256)
        handle = lib.tx_input_open(self._display.encode(), error, len(error))
        if handle == ffi.NULL:
            raise cannot_open(self._display, error)
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
        before = frozenset(self._keys)
        struck: list[int] = []
        try:
            if stroke.keycode in before:
                self.key(stroke.keycode, False)  # a key that is down cannot be struck; it is down again after the stroke
            for keycode in (*(modifier for modifier in stroke.modifiers if modifier not in before), stroke.keycode):
                self.key(keycode, True)
                struck.append(keycode)
        finally:
            for keycode in reversed(struck):
                if keycode not in before:
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
