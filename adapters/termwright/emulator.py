"""The terminal emulator seam: what the driver asks of one, and the implementation over pyghostty (libghostty-vt).

The driver and the engine use `Emulator` alone; `open_emulator` chooses the implementation. A `Screen` is a copy of one moment.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol

from ...errors import Unavailable
from .keys import KEYS, MODIFIERS, split_key

MARKER_PREFIX = b"8487;"
# A marker is at most 47 bytes; longer unknown sequences are cut here and cannot verify.
UNKNOWN_SEQUENCE_BYTES = 256
DEFAULT_FOREGROUND, DEFAULT_BACKGROUND = (229, 229, 229), (0, 0, 0)


class Cell(NamedTuple):
    """One cell: its grapheme ("" when never written or covered by a wide neighbour) and its width in cells (0 for a covered cell)."""

    text: str
    width: int


@dataclass(frozen=True)
class Screen:
    """What a terminal showed at one moment. `cursor` is (column, row), from 0; `dump` is the escape text that draws the screen again."""

    columns: int
    rows: int
    cursor: tuple[int, int]
    cursor_visible: bool
    dump: bytes

    @cached_property
    def text(self) -> str:
        """The visible rows joined by line feeds, trailing blanks removed."""
        with _replayed(self) as emulator:
            return emulator.text()

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The rows from the top, each without trailing blanks; always `rows` of them."""
        lines = [line.rstrip() for line in self.text.split("\n")]
        return (*lines, *[""] * (self.rows - len(lines)))

    @cached_property
    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The cells, row by row."""
        with _replayed(self) as emulator:
            return emulator.cells()


class Emulator(Protocol):
    """A terminal that is fed bytes and asked for what it shows. Callbacks run inside `feed`."""

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)."""
        ...

    def feed(self, data: bytes) -> None:
        """Parse the program's output."""
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Change the size in cells."""
        ...

    def screen(self) -> Screen:
        """A copy of the present moment."""
        ...

    def text(self) -> str:
        """The visible rows joined by line feeds, trailing blanks removed."""
        ...

    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The visible cells, row by row."""
        ...

    def encode_key(self, key: str) -> bytes:
        """The bytes that the key sends in the terminal's present modes; raises `LocalProtocolError` (`unknown-key`)."""
        ...

    def encode_text(self, text: str) -> bytes:
        """The bytes that typing the text sends, key by key."""
        ...

    def close(self) -> None:
        """Free it."""
        ...


def open_emulator(
    columns: int, rows: int, *, on_marker: Callable[[str], None] | None = None, on_reply: Callable[[bytes], None] | None = None
) -> Emulator:
    """A new terminal of that size.

    `on_marker` gets what follows `8487;` of each such OSC, verified or not, at the moment when the cells before it are on the screen and
    none after it; the sequence itself never shows. `on_reply` gets answers to device queries, to be written to the program.
    Raises `Unavailable` when pyghostty is not installed.
    """
    return GhosttyEmulator(columns, rows, on_marker=on_marker, on_reply=on_reply)


@cache
def _ghostty() -> Any:
    try:
        return importlib.import_module("pyghostty.core")
    except (ImportError, OSError) as cause:
        raise Unavailable(f"the terminal emulator cannot be loaded: {cause}", "pip install 'triptych[terminal]'") from None


class GhosttyEmulator:
    """`Emulator` over pyghostty 0.1. OSC 52 reads stay unanswered; writes are ignored."""

    def __init__(
        self,
        columns: int,
        rows: int,
        *,
        on_marker: Callable[[str], None] | None = None,
        on_reply: Callable[[bytes], None] | None = None,
    ) -> None:
        core = _ghostty()
        self._ffi, self._lib, self._core = core.ffi, core.lib, core
        self._terminal = core.Terminal(columns, rows, fg=DEFAULT_FOREGROUND, bg=DEFAULT_BACKGROUND)
        self._on_marker = on_marker
        # Registered even without a listener, so that the sequence is swallowed in every case.
        self._terminal.on_unknown_sequence(self._unknown, max_bytes=UNKNOWN_SEQUENCE_BYTES)
        if on_reply is not None:
            self._terminal.on_reply(on_reply)

    def __enter__(self) -> GhosttyEmulator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)."""
        columns, rows = self._terminal.size
        return int(columns), int(rows)

    def feed(self, data: bytes) -> None:
        """Parse the program's output."""
        self._terminal.feed(data)

    def resize(self, columns: int, rows: int) -> None:
        """Change the size in cells."""
        self._terminal.resize(columns, rows)

    def text(self) -> str:
        """The visible rows joined by line feeds, trailing blanks removed."""
        return str(self._terminal.text())

    def screen(self) -> Screen:
        """A copy of the present moment: one formatter pass, and nothing parsed until the copy is looked at."""
        ffi, lib, terminal = self._ffi, self._lib, self._terminal
        columns, rows = self.size
        area = self._core.init_sized("GhosttySelection")
        area.start, area.end = terminal.ref(0, 0)[0], terminal.ref(columns - 1, rows - 1)[0]
        options = self._core.init_sized("GhosttyFormatterTerminalOptions")
        options.emit, options.trim, options.selection = lib.GHOSTTY_FORMATTER_FORMAT_VT, False, area
        options.extra.screen.cursor = options.extra.screen.style = True
        formatter = ffi.new("GhosttyFormatter *")
        self._check(lib.ghostty_formatter_terminal_new(ffi.NULL, formatter, terminal._t[0], options[0]), "formatter")
        try:
            size = ffi.new("size_t *")
            lib.ghostty_formatter_format_buf(formatter[0], ffi.NULL, 0, size)
            room = ffi.new("uint8_t[]", max(size[0], 1))
            self._check(lib.ghostty_formatter_format_buf(formatter[0], room, len(room), size), "format")
            dump = bytes(ffi.buffer(room, size[0]))
        finally:
            lib.ghostty_formatter_free(formatter[0])
        column, row = terminal.cursor
        return Screen(columns, rows, (int(column), int(row)), bool(terminal.get("cursor_visible", "bool")), dump)

    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The visible cells, row by row."""
        ffi, lib = self._ffi, self._lib
        state, rows = ffi.new("GhosttyRenderState *"), ffi.new("GhosttyRenderStateRowIterator *")
        cells = ffi.new("GhosttyRenderStateRowCells *")
        raw, wide, grapheme = ffi.new("GhosttyCell *"), ffi.new("GhosttyCellWide *"), ffi.new("GhosttyBuffer *")
        room = ffi.new("uint8_t[]", 4096)
        # narrow, wide, the tail that a wide cell covers, the blank before a wide cell that wrapped
        widths = (1, 2, 0, 1)
        try:
            self._check(lib.ghostty_render_state_new(ffi.NULL, state), "render state")
            self._check(lib.ghostty_render_state_row_iterator_new(ffi.NULL, rows), "row iterator")
            self._check(lib.ghostty_render_state_row_cells_new(ffi.NULL, cells), "row cells")
            self._check(lib.ghostty_render_state_update(state[0], self._terminal._t[0]), "render update")
            self._check(lib.ghostty_render_state_get(state[0], lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR, rows), "rows")
            screen = []
            while lib.ghostty_render_state_row_iterator_next(rows[0]):
                self._check(lib.ghostty_render_state_row_get(rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS, cells), "cells")
                line = []
                while lib.ghostty_render_state_row_cells_next(cells[0]):
                    lib.ghostty_render_state_row_cells_get(cells[0], lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_RAW, raw)
                    lib.ghostty_cell_get(raw[0], lib.GHOSTTY_CELL_DATA_WIDE, wide)
                    grapheme.ptr, grapheme.cap, grapheme.len = room, len(room), 0
                    lib.ghostty_render_state_row_cells_get(cells[0], lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_UTF8, grapheme)
                    line.append(Cell(bytes(ffi.buffer(room, grapheme.len)).decode("utf-8", "replace"), widths[int(wide[0])]))
                screen.append(tuple(line))
            return tuple(screen)
        finally:
            lib.ghostty_render_state_row_cells_free(cells[0])
            lib.ghostty_render_state_row_iterator_free(rows[0])
            lib.ghostty_render_state_free(state[0])

    def encode_key(self, key: str) -> bytes:
        """The bytes that the key sends in the terminal's present modes; raises `LocalProtocolError` (`unknown-key`)."""
        name, modifiers = split_key(key)
        if len(name) == 1:
            return self._encode("UNIDENTIFIED", modifiers, name)
        if name == "space":
            return self._encode("SPACE", modifiers, " ")
        return self._encode(KEYS[name], modifiers, "")

    def encode_text(self, text: str) -> bytes:
        """The bytes that typing the text sends, key by key; a line feed is the Enter key, a tab the Tab key."""
        named = {"\n": "enter", "\r": "enter", "\t": "tab"}
        return b"".join(self.encode_key(named.get(character, character)) for character in text)

    def close(self) -> None:
        """Free it; a second call does nothing."""
        if self._terminal._t is not None:
            self._terminal.close()

    def _encode(self, key: str, modifiers: int, text: str) -> bytes:
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

    def _check(self, result: int, what: str) -> None:
        if result:
            raise RuntimeError(f"libghostty-vt refused {what}: {result}")

    def _unknown(self, sequence: Any) -> None:
        if self._on_marker is not None and sequence.kind == "osc" and sequence.content.startswith(MARKER_PREFIX) and not sequence.truncated:
            self._on_marker(sequence.content[len(MARKER_PREFIX) :].decode("utf-8", "replace"))


def _replayed(screen: Screen) -> GhosttyEmulator:
    emulator = GhosttyEmulator(screen.columns, screen.rows)
    emulator.feed(screen.dump)
    return emulator
