"""The terminal emulator over pyghostty (libghostty-vt): the only module that knows its C interface. `emulator.open_emulator` makes one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final

from ...errors import LocalProtocolError, Unavailable
from ...machines.termwright.keys import KEYS, MODIFIERS, split_key
from ...machines.termwright.marker import OSC_CODE
from ...machines.termwright.mouse import BUTTONS, MOTION, PRESS, RELEASE, PointerEvent
from .emulator import Modes
from .ghostty_cells import read_cells
from .policy import Policy
from .screen import DEFAULT_BACKGROUND, DEFAULT_FOREGROUND, Cell, Screen

MARKER_PREFIX = b"%d;" % OSC_CODE
# A marker is at most 47 bytes; longer unknown sequences are cut here and cannot verify.
UNKNOWN_SEQUENCE_BYTES = 256
#: Lines above the screen that are kept, which only a growing screen shows again.
SCROLLBACK_LINES = 1000
#: The size of a cell in pixels, told to programs that ask.
CELL_WIDTH, CELL_HEIGHT = 8, 16
MAX_LINK_BYTES = 1 << 16

#: Control codes have no place in a paste: they would be keys (Ctrl-C), or end the brackets.
_CONTROLS: Final = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"}
_TRACKING: Final = ((1003, "any"), (1002, "drag"), (1000, "vt200"), (9, "x10"))
_ENCODING: Final = ((1016, "sgr-pixels"), (1006, "sgr"), (1015, "urxvt"), (1005, "utf8"))
_SHAPES: Final = ("bar", "block", "underline", "block")  # in the library's order; the last is a hollow block


@cache
def _ghostty() -> Any:
    try:
        return importlib.import_module("pyghostty.core")
    except (ImportError, OSError) as cause:
        raise Unavailable(f"the terminal emulator cannot be loaded: {cause}", "pip install 'triptych[terminal]'") from None


class GhosttyEmulator:
    """`Emulator` over pyghostty 0.1."""

    def __init__(
        self,
        columns: int,
        rows: int,
        policy: Policy,
        *,
        on_marker: Callable[[str], None] | None = None,
        on_reply: Callable[[bytes], None] | None = None,
        on_clipboard: Callable[[str], None] | None = None,
    ) -> None:
        core = _ghostty()
        self._ffi, self._lib, self._core = core.ffi, core.lib, core
        self._terminal = core.Terminal(columns, rows, scrollback=SCROLLBACK_LINES, fg=DEFAULT_FOREGROUND, bg=DEFAULT_BACKGROUND)
        self._cells = self._ffi.new("uint16_t[2]")  # where the size is written: it is asked after every piece of output
        self._policy = policy
        self._on_marker, self._on_reply, self._on_clipboard = on_marker, on_reply, on_clipboard
        # Registered even without a listener, so that the sequence is swallowed in every case.
        self._terminal.on_unknown_sequence(self._unknown, max_bytes=UNKNOWN_SEQUENCE_BYTES)
        if on_reply is not None:
            self._terminal.on_reply(self._reply)
        self._callbacks = {
            "SIZE": self._ffi.callback("GhosttyTerminalSizeFn", self._size),
            "CLIPBOARD_WRITE": self._ffi.callback("GhosttyTerminalClipboardWriteFn", self._clipboard),
        }
        for option, callback in self._callbacks.items():
            self._set(option, callback)
        self._set("KITTY_IMAGE_STORAGE_LIMIT", self._ffi.new("uint64_t *", 0))
        if policy.grapheme_clusters:
            mode = self._ffi.new("GhosttyTerminalModeConfig *")
            mode.mode, mode.value = 2027, True
            self._set("MODE", mode)
            self._set("MODE_DEFAULT", mode)  # what a reset of the terminal goes back to

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)."""
        lib, terminal, cells = self._lib, self._terminal._t[0], self._cells
        self._check(lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_COLS, cells), "columns")
        self._check(lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_ROWS, cells + 1), "rows")
        return int(cells[0]), int(cells[1])

    @property
    def modes(self) -> Modes:
        """What the program has switched on."""
        on = self._terminal.mode
        return Modes(
            mouse_tracking=next((name for mode, name in _TRACKING if on(mode)), "none"),
            mouse_encoding=next((name for mode, name in _ENCODING if on(mode)), "default"),
            alternate_screen=bool(self._terminal.get("active_screen", "int")),
            bracketed_paste=on(2004),
            focus_reporting=on(1004),
            application_cursor_keys=on(1),
            grapheme_clusters=on(2027),
            synchronized_output=on(2026),
        )

    def feed(self, data: bytes) -> None:
        """Parse the program's output."""
        self._terminal.feed(data)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size in cells."""
        self._terminal.resize(columns, rows, CELL_WIDTH, CELL_HEIGHT)

    def text(self) -> str:
        """The visible rows joined by line feeds, trailing blanks removed."""
        return str(self._terminal.text())

    def screen(self) -> Screen:
        """A copy of the present moment: one native copy of the rows, and nothing read in Python until it is looked at."""
        lib, terminal = self._lib, self._terminal
        state = self._ffi.new("GhosttyRenderState *")
        self._check(lib.ghostty_render_state_new(self._ffi.NULL, state), "render state")
        handle = self._ffi.gc(state[0], lib.ghostty_render_state_free)
        self._check(lib.ghostty_render_state_update(handle, terminal._t[0]), "render update")
        columns, rows = self.size
        column, row = terminal.cursor
        title = terminal.get("title", "GhosttyString")
        return Screen(
            columns,
            rows,
            partial(read_cells, self._core, handle),
            cursor=(int(column), int(row)),
            cursor_visible=bool(terminal.get("cursor_visible", "bool")),
            cursor_shape=self._cursor_shape(handle),
            title=self._string(title),
        )

    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The visible cells, row by row."""
        return self.screen().cells

    def link(self, column: int, row: int) -> str | None:
        """The address of the hyperlink that the cell belongs to, or None."""
        place, room, size = self._terminal.ref(column, row), self._ffi.new("uint8_t[]", MAX_LINK_BYTES), self._ffi.new("size_t *")
        result = self._lib.ghostty_grid_ref_hyperlink_uri(place, room, len(room), size)
        return None if result or not size[0] else bytes(self._ffi.buffer(room, size[0])).decode("utf-8", "replace")

    def encode_key(self, key: str) -> bytes:
        """The bytes that the key sends in the terminal's present modes; raises `LocalProtocolError` (`unknown-key`)."""
        name, modifiers = split_key(key)
        if len(name) == 1:
            return self._encode_key("UNIDENTIFIED", modifiers, name)
        if name == "space":
            return self._encode_key("SPACE", modifiers, " ")
        return self._encode_key(KEYS[name], modifiers, "")

    def encode_text(self, text: str) -> bytes:
        """The bytes that typing the text sends, key by key; a line feed is the Enter key, a tab the Tab key."""
        named = {"\n": "enter", "\r": "enter", "\t": "tab"}
        encoded = {character: self.encode_key(named.get(character, character)) for character in set(text)}  # a long text has few
        return b"".join([encoded[character] for character in text])

    def encode_paste(self, text: str) -> bytes:
        """The bytes that pasting the text sends; a line feed becomes a carriage return, other control codes become blanks."""
        data = text.translate(_CONTROLS).encode("utf-8", "replace")
        if not data:
            return b""
        given, room, size = self._ffi.new("char[]", data), self._ffi.new("char[]", len(data) + 16), self._ffi.new("size_t *")
        bracketed = self._terminal.mode(2004)
        self._check(self._lib.ghostty_paste_encode(given, len(data), bracketed, room, len(room), size), "paste encoding")
        return bytes(self._ffi.buffer(room, size[0]))

    def encode_pointer(self, events: Sequence[PointerEvent]) -> bytes:
        """The bytes that the events send, without those that the program did not ask to hear."""
        tracking, encoding = self.modes.mouse_tracking, self.modes.mouse_encoding
        told, pressed = b"", None
        for event in events:
            data = self._encode_event(event)
            if event.kind == PRESS:
                pressed = (event.column, event.row)
            silent_release = event.kind == RELEASE and tracking == "x10" and pressed == (event.column, event.row)
            if not data and event.kind != MOTION and not silent_release:
                where = f"cell {event.column},{event.row}"
                why = f"no {event.kind} of {event.button} at {where} can be told with mouse tracking {tracking} and encoding {encoding}"
                raise LocalProtocolError("not-actionable", why, "mouse-mode")
            told += data
        if not told:
            raise LocalProtocolError("not-actionable", f"the program does not hear it with mouse tracking {tracking}", "mouse-mode")
        return told

    def close(self) -> None:
        """Free it; a second call does nothing."""
        if self._terminal._t is not None:
            self._terminal.close()

    def _encode_key(self, key: str, modifiers: int, text: str) -> bytes:
        ffi, lib = self._ffi, self._lib
        encoder, event = ffi.new("GhosttyKeyEncoder *"), ffi.new("GhosttyKeyEvent *")
        try:
            self._check(lib.ghostty_key_encoder_new(ffi.NULL, encoder), "key encoder")
            self._check(lib.ghostty_key_event_new(ffi.NULL, event), "key event")
            lib.ghostty_key_encoder_setopt_from_terminal(encoder[0], self._terminal._t[0])
            if text.isascii() and text.isalnum():
                key = text.upper() if text.isalpha() else f"DIGIT_{text}"
                if text.isupper():
                    modifiers |= MODIFIERS["shift"]
                    lib.ghostty_key_event_set_consumed_mods(event[0], MODIFIERS["shift"])  # it made the letter; it is no chord
            lib.ghostty_key_event_set_action(event[0], lib.GHOSTTY_KEY_ACTION_PRESS)
            lib.ghostty_key_event_set_key(event[0], getattr(lib, f"GHOSTTY_KEY_{key}"))
            lib.ghostty_key_event_set_mods(event[0], modifiers)
            if text:
                utf8 = text.encode("utf-8", "replace")
                lib.ghostty_key_event_set_utf8(event[0], utf8, len(utf8))
                lib.ghostty_key_event_set_unshifted_codepoint(event[0], ord(text.lower()[0]))
            room, size = ffi.new("char[]", 128), ffi.new("size_t *")
            self._check(lib.ghostty_key_encoder_encode(encoder[0], event[0], room, len(room), size), "key encoding")
            return bytes(ffi.buffer(room, size[0]))
        finally:
            lib.ghostty_key_event_free(event[0])
            lib.ghostty_key_encoder_free(encoder[0])

    def _encode_event(self, event: PointerEvent) -> bytes:
        """The bytes of one pointer event in the terminal's present modes; none when the program does not want it, or it cannot be said."""
        ffi, lib = self._ffi, self._lib
        columns, rows = self.size
        encoder, told = ffi.new("GhosttyMouseEncoder *"), ffi.new("GhosttyMouseEvent *")
        try:
            self._check(lib.ghostty_mouse_encoder_new(ffi.NULL, encoder), "mouse encoder")
            self._check(lib.ghostty_mouse_event_new(ffi.NULL, told), "mouse event")
            lib.ghostty_mouse_encoder_setopt_from_terminal(encoder[0], self._terminal._t[0])
            size = self._core.init_sized("GhosttyMouseEncoderSize")
            size.screen_width, size.screen_height = columns * CELL_WIDTH, rows * CELL_HEIGHT
            size.cell_width, size.cell_height = CELL_WIDTH, CELL_HEIGHT
            lib.ghostty_mouse_encoder_setopt(encoder[0], lib.GHOSTTY_MOUSE_ENCODER_OPT_SIZE, size)
            lib.ghostty_mouse_encoder_setopt(encoder[0], lib.GHOSTTY_MOUSE_ENCODER_OPT_ANY_BUTTON_PRESSED, ffi.new("bool *", event.held))
            lib.ghostty_mouse_event_set_action(told[0], getattr(lib, f"GHOSTTY_MOUSE_ACTION_{event.kind.upper()}"))
            if event.button is not None:
                lib.ghostty_mouse_event_set_button(told[0], BUTTONS[event.button])
            lib.ghostty_mouse_event_set_mods(told[0], event.modifiers)
            middle = {"x": (event.column + 0.5) * CELL_WIDTH, "y": (event.row + 0.5) * CELL_HEIGHT}
            lib.ghostty_mouse_event_set_position(told[0], ffi.new("GhosttyMousePosition *", middle)[0])
            room, length = ffi.new("char[]", 64), ffi.new("size_t *")
            self._check(lib.ghostty_mouse_encoder_encode(encoder[0], told[0], room, len(room), length), "mouse encoding")
            return bytes(ffi.buffer(room, length[0]))
        finally:
            lib.ghostty_mouse_event_free(told[0])
            lib.ghostty_mouse_encoder_free(encoder[0])

    def _cursor_shape(self, state: Any) -> str:
        style = self._ffi.new("GhosttyRenderStateCursorVisualStyle *")
        self._check(self._lib.ghostty_render_state_get(state, self._lib.GHOSTTY_RENDER_STATE_DATA_CURSOR_VISUAL_STYLE, style), "cursor")
        return _SHAPES[int(style[0])]

    def _string(self, borrowed: Any) -> str:
        return bytes(self._ffi.buffer(borrowed.ptr, borrowed.len)).decode("utf-8", "replace") if borrowed.len else ""

    def _set(self, option: str, value: Any) -> None:
        number = getattr(self._lib, f"GHOSTTY_TERMINAL_OPT_{option}")
        self._check(self._lib.ghostty_terminal_set(self._terminal._t[0], number, value), option)

    def _check(self, result: int, what: str) -> None:
        if result:
            raise RuntimeError(f"libghostty-vt refused {what}: {result}")

    def _unknown(self, sequence: Any) -> None:
        if self._on_marker is not None and sequence.kind == "osc" and sequence.content.startswith(MARKER_PREFIX) and not sequence.truncated:
            self._on_marker(sequence.content[len(MARKER_PREFIX) :].decode("utf-8", "replace"))

    def _reply(self, data: bytes) -> None:
        if self._on_reply is not None and self._policy.permits(data):
            self._on_reply(data)

    def _size(self, terminal: Any, userdata: Any, out: Any) -> bool:
        out.columns, out.rows = self.size
        out.cell_width, out.cell_height = CELL_WIDTH, CELL_HEIGHT
        return True

    def _clipboard(self, terminal: Any, userdata: Any, write: Any) -> None:
        for content in self._ffi.unpack(write.contents, write.contents_len) if write.contents_len else ():
            plain = self._string(content.mime).startswith("text/plain")
            if plain and content.data.len <= self._policy.clipboard_bytes and self._on_clipboard is not None:
                self._on_clipboard(self._string(content.data))
