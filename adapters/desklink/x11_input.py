"""Touches an X display's pointer and keyboard through XTEST; called by the source of a desktop session and by tests.

It has a connection of its own, so that no key waits behind a picture. Nothing is decided here: which keys stay held belongs to
`machines.desklink`. Every method may raise `DisplayLost` once the server is gone.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ...errors import LocalProtocolError, Unavailable
from .display_name import display_name
from .guard import Guard
from .program_rest import peer_process, wait_for_rest
from .x11_connection import DisplayLost, cannot_open, ffi, lib
from .x11_keymap import Keymap, Stroke, TextPlan, read_keymap

if TYPE_CHECKING:
    from ...native.linux._x11 import CData

SETTLE_SECONDS = 0.05
"""How long programs get at least to read a keymap that borrows keys, and again to look up what was struck."""
SETTLE_SECONDS_A_STROKE = 0.001
"""So much longer for each stroke that they must have handled by then."""
SETTLE_SECONDS_UNSEEN = 0.2
"""How much longer they get where it cannot be seen when they have done with it: on another machine, or when nobody has the keyboard."""


class X11Input:
    """The pointer and keyboard of `display` (None: $DISPLAY) through XTEST. Keycodes are X keycodes: evdev codes + 8.

    Any thread may call; a call carries out its own edges without another's in between. Raises Unavailable when the display cannot be
    opened. What is held when this process, or the connection, ends without `close` is lifted by the guard process that it starts.
    """

    def __init__(self, display: str | None = None) -> None:
        self._display = display_name(display)
        self._lock = threading.RLock()
        self.guard = Guard(self._display)
        error = ffi.new("char[]", 256)
        handle = lib.tx_input_open(self._display.encode(), self.guard.memory, error, len(error))
        if handle == ffi.NULL:
            self.guard.close()
            raise cannot_open(self._display, error)
        self._handle: CData | None = handle
        self._buttons: list[int] = []
        self._keys: list[int] = []
        self._keymaps: dict[int, Keymap] = {}
        self._serial = -1
        self._interrupted = threading.Event()
        self._server = peer_process(lib.tx_input_descriptor(handle))
        self.guard.start()

    @property
    def lost(self) -> bool:
        """Whether the server, or somebody on it, has ended the connection. Asks the server nothing, so it costs no wait."""
        with self._lock:
            return bool(lib.tx_input_drain(self._open()) == lib.TX_LOST)

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

    def lookup(self, character: str, *, any_group: bool = False) -> Stroke | None:
        """How the live keymap types one character with the layout group and the modifiers that are locked now; None when it cannot.

        With `any_group`, how it would in another group, when it cannot in this one.
        """
        with self._lock:
            group, modifiers, serial = self._locks()
            return self._keymap(serial, modifiers).find(character, group, any_group)

    def plan_text(self, text: str, *, unicode: bool = False) -> TextPlan:
        """How the live keymap types `text`, "\\n" as Enter and "\\t" as Tab, switching layout groups only where it must.

        With `unicode`, keycodes without a symbol are borrowed for the characters that no key gives. Types nothing. Raises
        LocalProtocolError (text-unsupported) that names every character which cannot be typed.
        """
        with self._lock:
            group, _, serial = self._locks()
            return self._keymap(serial, 0).plan(text, group, self._spares() if unicode else ())

    def play(self, plan: TextPlan) -> None:
        """Type a planned text. Locked modifiers and a locked layout group are set aside for it and put back, whatever happens.

        So is the keymap where keys of it are borrowed: then it takes a tenth of a second and more for each batch.
        """
        with self._lock:
            group, modifiers, _ = self._locks()
            before = now = group, modifiers
            lib.tx_input_note_locks(self._open(), 1, *before)
            try:
                for batch in plan.batches:
                    self._borrow(batch.borrowed)
                    for stroke in batch.strokes:
                        self._go_on()
                        if now != (stroke.group, 0):
                            now = (stroke.group, 0)
                            self._checked(lib.tx_input_lock(self._open(), *now))
                        self._strike(stroke)
                    self.sync()
                    if batch.borrowed:
                        self._interrupted.wait(SETTLE_SECONDS_A_STROKE * len(batch.strokes))
                        self._let_look_up()
            finally:
                if now != before:
                    self._checked(lib.tx_input_lock(self._open(), *before))
                lib.tx_input_note_locks(self._open(), 0, *before)
                if any(batch.borrowed for batch in plan.batches):
                    self._checked(lib.tx_input_give_back(self._open()))

    def interrupt(self) -> None:
        """Cut off what is being typed on another thread, and refuse what is still to come: `close` shall not wait for it."""
        self._interrupted.set()

    def type_text(self, text: str, *, unicode: bool = False) -> None:
        """Plan and type `text`; it is on the display's event queue when this returns. Raises like `plan_text`, having typed nothing."""
        with self._lock:
            self.play(self.plan_text(text, unicode=unicode))

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
                self.guard.close()

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

    def _go_on(self) -> None:
        if self._interrupted.is_set():
            raise Unavailable("the typing was cut off", "open a new session")

    def _borrow(self, borrowed: tuple[tuple[int, str], ...]) -> None:
        self._go_on()
        if not borrowed:
            return
        keycodes = bytes(keycode for keycode, _ in borrowed)
        codepoints = ffi.new("uint32_t[]", [ord(character) for _, character in borrowed])
        self._checked(lib.tx_input_borrow(self._open(), keycodes, codepoints, len(keycodes)))
        self._let_look_up()

    def _let_look_up(self) -> None:
        """Return when the program that has the keyboard has done with all that was sent so far: it looks keys up late when it is busy."""
        time.sleep(SETTLE_SECONDS)
        program = lib.tx_input_program(self._open())
        self._checked(program)
        if not wait_for_rest(program, self._server, self._interrupted):
            time.sleep(SETTLE_SECONDS_UNSEEN)

    def _spares(self) -> tuple[int, ...]:
        keycodes = ffi.new("uint8_t[]", 256)
        count = lib.tx_input_spares(self._open(), keycodes)
        self._checked(count)
        return tuple(keycodes[0:count])

    def _keymap(self, serial: int, locked: int) -> Keymap:
        if serial != self._serial:
            self._keymaps.clear()
            self._serial = serial
        if (keymap := self._keymaps.get(locked)) is None:
            read = read_keymap(self._open(), locked)
            if isinstance(read, int):
                self._checked(read)
                raise AssertionError("a status that is no failure is no keymap")
            keymap = self._keymaps[locked] = read
        return keymap

    def _locks(self) -> tuple[int, int, int]:
        """The layout group and the modifiers that are locked, and the serial of the keymap."""
        group, modifiers, serial = ffi.new("int32_t *"), ffi.new("uint32_t *"), ffi.new("uint32_t *")
        self._checked(lib.tx_input_locks(self._open(), group, modifiers, serial))
        return int(group[0]), int(modifiers[0]), int(serial[0])

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
