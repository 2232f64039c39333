"""Reads the cells, with their styles, out of a render state of libghostty-vt: one native copy of a terminal. Only ghostty.py uses it."""

from __future__ import annotations

from typing import Any, Final

from .screen import PLAIN, Cell, Colour, Style

MAX_GRAPHEME_BYTES = 1 << 14
# narrow, wide, the tail that a wide cell covers, the blank before a wide cell that wrapped
_WIDTHS: Final = (1, 2, 0, 1)


def read_cells(core: Any, state: Any) -> tuple[tuple[Cell, ...], ...]:
    """The cells of a render state. Equal raw cells have equal text, and within a row equal style numbers mean equal styles."""
    ffi, lib = core.ffi, core.lib
    reader = _CellReader(ffi, lib, core, _palette(ffi, lib, core, state))
    rows, cells = ffi.new("GhosttyRenderStateRowIterator *"), ffi.new("GhosttyRenderStateRowCells *")
    view = ffi.new("GhosttyCellsView *")
    try:
        core.check(lib.ghostty_render_state_row_iterator_new(ffi.NULL, rows), "row iterator")
        core.check(lib.ghostty_render_state_row_cells_new(ffi.NULL, cells), "row cells")
        core.check(lib.ghostty_render_state_get(state, lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR, rows), "rows")
        screen = []
        while lib.ghostty_render_state_row_iterator_next(rows[0]):
            core.check(lib.ghostty_render_state_row_get(rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS, cells), "cells")
            core.check(lib.ghostty_render_state_row_get(rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW, view), "raw cells")
            screen.append(reader.row(cells[0], ffi.unpack(view.ptr, view.len)))
        return tuple(screen)
    finally:
        lib.ghostty_render_state_row_cells_free(cells[0])
        lib.ghostty_render_state_row_iterator_free(rows[0])


def _palette(ffi: Any, lib: Any, core: Any, state: Any) -> list[Colour]:
    colors = core.init_sized("GhosttyRenderStateColors")
    core.check(lib.ghostty_render_state_get(state, lib.GHOSTTY_RENDER_STATE_DATA_COLORS, colors), "colours")
    return [(color.r, color.g, color.b) for color in colors.palette]


class _CellReader:
    """Turns the raw cells of one render state into `Cell`s, asking the library once for each distinct one."""

    def __init__(self, ffi: Any, lib: Any, core: Any, palette: list[Colour]) -> None:
        self._ffi, self._lib, self._core, self._palette = ffi, lib, core, palette
        self._plain: dict[int, Cell] = {}  # raw cells without a style, on any row
        self._number, self._style = ffi.new("int *"), core.init_sized("GhosttyStyle")
        self._room, self._grapheme = ffi.new("uint8_t[]", MAX_GRAPHEME_BYTES), ffi.new("GhosttyBuffer *")
        self._tag, self._wide, self._style_id = (
            lib.GHOSTTY_CELL_DATA_CONTENT_TAG,
            lib.GHOSTTY_CELL_DATA_WIDE,
            lib.GHOSTTY_CELL_DATA_STYLE_ID,
        )

    def row(self, cells: Any, raws: list[int]) -> tuple[Cell, ...]:
        """One row; `cells` is positioned on it."""
        styled: dict[int, Cell] = {}
        styles: dict[int, Style] = {0: PLAIN}
        line = []
        for column, raw in enumerate(raws):
            cell = self._plain.get(raw) or styled.get(raw)
            if cell is None:
                tag = self._get(raw, self._tag)
                self._core.check(self._lib.ghostty_render_state_row_cells_select(cells, column), "select")
                cell = Cell(self._text(cells), _WIDTHS[self._get(raw, self._wide)], self._styled(cells, raw, tag, styles))
                if tag != self._lib.GHOSTTY_CELL_CONTENT_CODEPOINT_GRAPHEME:  # a cluster's other code points are not in its raw cell
                    (self._plain if cell.style is PLAIN else styled)[raw] = cell
            line.append(cell)
        return tuple(line)

    def _text(self, cells: Any) -> str:
        grapheme = self._grapheme
        grapheme.ptr, grapheme.cap, grapheme.len = self._room, MAX_GRAPHEME_BYTES, 0
        wanted = self._lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_UTF8
        if self._lib.ghostty_render_state_row_cells_get(cells, wanted, grapheme):
            return "\N{REPLACEMENT CHARACTER}"  # more combining marks than there is room for
        return bytes(self._ffi.buffer(self._room, grapheme.len)).decode("utf-8", "replace")

    def _styled(self, cells: Any, raw: int, tag: int, styles: dict[int, Style]) -> Style:
        ffi, lib = self._ffi, self._lib
        if tag == lib.GHOSTTY_CELL_CONTENT_BG_COLOR_PALETTE:
            number = ffi.new("uint8_t *")
            lib.ghostty_cell_get(raw, lib.GHOSTTY_CELL_DATA_COLOR_PALETTE, number)
            return Style(background=self._palette[number[0]])
        if tag == lib.GHOSTTY_CELL_CONTENT_BG_COLOR_RGB:
            color = ffi.new("GhosttyColorRgb *")
            lib.ghostty_cell_get(raw, lib.GHOSTTY_CELL_DATA_COLOR_RGB, color)
            return Style(background=(color.r, color.g, color.b))
        identity = self._get(raw, self._style_id)
        known = styles.get(identity)
        if known is not None:
            return known
        style = self._style
        self._core.check(lib.ghostty_render_state_row_cells_get(cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE, style), "style")
        styles[identity] = found = Style(
            self._color(style.fg_color),
            self._color(style.bg_color),
            self._color(style.underline_color),
            style.bold,
            style.faint,
            style.italic,
            style.blink,
            style.inverse,
            style.invisible,
            style.strikethrough,
            style.overline,
            style.underline,
        )
        return found

    def _color(self, color: Any) -> Colour | None:
        if color.tag == self._lib.GHOSTTY_STYLE_COLOR_PALETTE:
            found: Colour = self._palette[color.value.palette]
            return found
        if color.tag == self._lib.GHOSTTY_STYLE_COLOR_RGB:
            return color.value.rgb.r, color.value.rgb.g, color.value.rgb.b
        return None

    def _get(self, raw: int, fact: int) -> int:
        self._number[0] = 0  # the library writes as many bytes as the fact has
        self._lib.ghostty_cell_get(raw, fact, self._number)
        return int(self._number[0])
