"""The items that some of Textual's widgets draw themselves and that are no widgets: options, the lines of a tree, the cells of a table.

tree.py asks for each such widget after a frame was painted. Where an item is seen, and that the pointer there means this item, is read from
the strips that were painted: Textual marks their cells with the item, and its own mouse events look it up by that mark. Where an item would
be without clipping comes from the widget's layout. An item whose two answers disagree, or whose cells are no rectangle, is not told at all.

Only items in view are told: a list may have a million more, which are not painted and cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from textual.geometry import Region

from .recognise import drawn_by_textual, prompt_of, text_of

if TYPE_CHECKING:
    from textual.strip import Strip
    from textual.widget import Widget

    from ....generated.termwright.models import Action, Role


@dataclass(frozen=True)
class Cells:
    """Cells of one row of the terminal with one mark of Textual's."""

    row: int
    start: int
    end: int


@dataclass(frozen=True)
class Item:
    """One item in view. `key` is its identity in its widget, `parent` that of the item that it is in; `cells` are its painted ones."""

    key: Hashable
    role: Role
    name: str
    intended: Region
    visible: Region
    cells: tuple[Cells, ...]
    actions: tuple[Action, ...] = ()
    states: Mapping[str, object] = field(default_factory=dict)
    parent: Hashable = None
    test_id: str | None = None


@dataclass(frozen=True)
class Items:
    """The items of one widget in view, parents first, and whether there are no others."""

    found: tuple[Item, ...]
    complete: bool


NOTHING: Final = Items((), False)
#: Which item a cell is marked with, as far as its reader tells it apart: an option, a line, a cell (row, column, beside the cells).
Mark = tuple[int, ...]


@dataclass
class _Painted:
    """What one mark was painted on, in cells of the terminal, and the text there."""

    cells: list[Cells] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def rectangle(self) -> Region | None:
        """The rectangle that the cells fill, or None when they fill none."""
        first = self.cells[0]
        for place, cells in enumerate(self.cells):
            if (cells.row, cells.start, cells.end) != (first.row + place, first.start, first.end):
                return None
        return Region(first.start, first.row, first.end - first.start, len(self.cells))

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())


def items_of(widget: Widget, region: Region, visible: Region) -> Items:
    """The items of a widget in view. `region` is where the widget is, `visible` the part of it that no container cuts off."""
    if not drawn_by_textual(type(widget)) or not visible:
        return NOTHING
    for base in type(widget).__mro__:
        if base.__qualname__ in _READERS and base.__module__.partition(".")[0] == "textual":
            mark, read = _READERS[base.__qualname__]
            content = region.shrink(widget.gutter)  # its strips go on below its scroll bars
            painted = _scan(widget, region, visible.intersection(content), mark)
            return NOTHING if painted is None else read(widget, content, painted)
    return NOTHING


def _scan(widget: Widget, region: Region, visible: Region, mark: Callable[[Mapping[str, Any]], Mark | None]) -> dict[Mark, _Painted] | None:
    """The marks that were painted in the part of the widget that is seen, and where; None when a row of it was not painted."""
    strips: Mapping[int, Strip] = widget._styles_cache._cache
    found: dict[Mark, _Painted] = {}
    for row in range(visible.y, visible.bottom):
        strip = strips.get(row - region.y)
        if strip is None:
            return None
        for start, end, text, key in _joined(strip, region.x, mark):
            left, right = max(start, visible.x), min(end, visible.right)
            if left < right:
                painted = found.setdefault(key, _Painted())
                painted.cells.append(Cells(row, left, right))
                painted.text.append(f"{text} ")
    return found


def _joined(strip: Strip, column: int, mark: Callable[[Mapping[str, Any]], Mark | None]) -> Iterator[tuple[int, int, str, Mark]]:
    """The runs of one row with one mark: first column, end, text, mark."""
    start, text, held = column, "", None
    for segment in strip:
        key = mark(segment.style.meta) if segment.style is not None and segment.style._meta is not None else None
        if key != held:
            if held is not None:
                yield start, column, text, held
            start, text, held = column, "", key
        text += segment.text
        column += segment.cell_length
    if held is not None:
        yield start, column, text, held


# options


def _option_mark(meta: Mapping[str, Any]) -> Mark | None:
    index = meta.get("option")
    return (index,) if type(index) is int else None


def _options(widget: Any, content: Region, painted: Mapping[Mark, _Painted]) -> Items:
    layout, chosen = widget._line_cache, getattr(widget, "_selected", None)
    found: list[Item] = []
    for (index,), cells in painted.items():
        visible = cells.rectangle()
        if visible is None or not index < len(widget.options):
            return NOTHING
        option = widget.options[index]
        top = content.y + layout.index_to_line[index] - widget.scroll_offset.y
        intended = Region(content.x, top, content.width, layout.heights[index] - bool(option._divider))
        states = {"selected": widget.highlighted == index, "disabled": bool(option.disabled)}
        states |= {"position_in_set": index + 1, "set_size": len(widget.options)}
        if chosen is not None:
            states["checked"] = option.value in chosen
        name = prompt_of(option)
        action: Action = "select" if chosen is None else "toggle"
        item = Item(option, "listitem", name or cells.words, intended, visible, (*cells.cells,), (action,), states, None, option.id)
        if not intended.contains_region(visible):
            return NOTHING
        found.append(item)
    return Items((*found,), len(found) == len(widget.options))


# lines of a tree


def _line_mark(meta: Mapping[str, Any]) -> Mark | None:
    line = meta.get("line")
    return (line,) if type(line) is int else None


def _lines(widget: Any, content: Region, painted: Mapping[Mark, _Painted]) -> Items:
    lines, scroll, found = widget._tree_lines, widget.scroll_offset, []
    width = max(widget.virtual_size.width, content.width)
    own_labels = drawn_by_textual(type(widget), ("render_label",))
    for (line,), cells in painted.items():
        visible = cells.rectangle()
        if visible is None or not line < len(lines):
            return NOTHING
        node = lines[line].path[-1]
        intended = Region(content.x - scroll.x, content.y + line - scroll.y, width, 1)
        if not intended.contains_region(visible):
            return NOTHING
        states: dict[str, object] = {"selected": widget.cursor_line == line, "level": len(lines[line].path)}
        if node.allow_expand:
            states["expanded"] = node.is_expanded
        actions: tuple[Action, ...] = ("select", "expand") if node.allow_expand else ("select",)
        name = text_of(node.label) if own_labels else cells.words
        found.append(Item(node, "listitem", name, intended, visible, (*cells.cells,), actions, states))
    return Items((*found,), len(found) == len(lines))


# cells of a table


def _cell_mark(meta: Mapping[str, Any]) -> Mark | None:
    row, column = meta.get("row"), meta.get("column")
    if type(row) is not int or type(column) is not int:
        return None
    return (row, -1 if meta.get("out_of_bounds") else column, int(bool(meta.get("out_of_bounds"))))


def _cells(widget: Any, content: Region, painted: Mapping[Mark, _Painted]) -> Items:
    """Rows with their cells. The header is a row too; what a row paints beside its cells belongs to the row."""
    columns, rows, found = widget.ordered_columns, widget.ordered_rows, []
    by_row: dict[int, dict[Mark, _Painted]] = {}
    for mark, cells in painted.items():
        by_row.setdefault(mark[0], {})[mark] = cells
    lefts = _lefts(widget, columns)
    for row, marks in by_row.items():
        if row >= len(rows):
            return NOTHING
        key = rows[row].key if row >= 0 else widget._header_row_key
        top = _top(widget, content, row, min(cells.cells[0].row for cells in marks.values()))
        height = rows[row].height if row >= 0 else widget.header_height
        texts = widget._row_renderable_cache.get((widget._update_count, row))
        inside, beside, seen = [], [], None
        for (_, column, outside), cells in marks.items():
            visible = cells.rectangle()
            if visible is None or top is None or not column < len(columns):
                return NOTHING
            seen = visible if seen is None else seen.union(visible)
            if outside or column == -1:
                beside += cells.cells
                continue
            scrolled = 0 if column < widget.fixed_columns else widget.scroll_offset.x
            left = content.x + lefts[column] - scrolled
            intended = Region(left, top, columns[column].get_render_width(widget), height)
            if not intended.contains_region(visible):
                return NOTHING
            told = columns[column].label if row < 0 else None if texts is None else texts.cells[column]
            name = text_of(told) or cells.words
            states: dict[str, object] = {}
            if widget.cursor_type == "cell" and row >= 0:
                states["selected"] = tuple(widget.cursor_coordinate) == (row, column)
            key_of = (key, columns[column].key)
            inside.append(Item(key_of, "cell", name, intended, visible, (*cells.cells,), ("select",), states, key))
        if seen is None or top is None:
            return NOTHING
        scrolled = widget.scroll_offset.x
        whole = Region(content.x - scrolled, top, max(content.width + scrolled, _width(widget, columns)), height)
        if not whole.contains_region(seen):
            return NOTHING
        states = {"position_in_set": row + 1, "set_size": len(rows)} if row >= 0 else {}
        if widget.cursor_type == "row" and row >= 0:
            states["selected"] = widget.cursor_row == row
        name = text_of(texts.label) if texts is not None and texts.label is not None else ""
        found += [Item(key, "row", name, whole, seen, (*beside,), ("select",) if row >= 0 else (), states), *inside]
    all_rows = len(rows) + bool(widget.show_header)
    return Items((*found,), len(by_row) == all_rows and len(found) == all_rows * (len(columns) + 1))


def _width(widget: Any, columns: Sequence[Any]) -> int:
    """The cells of all columns side by side, the labels of the rows included."""
    widths: int = sum(column.get_render_width(widget) for column in columns)
    return int(widget._row_label_column_width) + widths


def _lefts(widget: Any, columns: Sequence[Any]) -> list[int]:
    lefts, left = [], int(widget._row_label_column_width)
    for column in columns:
        lefts.append(left)
        left += column.get_render_width(widget)
    return lefts


def _top(widget: Any, content: Region, row: int, painted: int) -> int | None:
    """The first line of the row on the terminal, by the table's layout; `painted` is a line of the row."""
    header = widget.header_height if widget.show_header else 0
    if row == -1:
        return content.y
    line = painted - content.y
    fixed = header + sum(fixed.height for fixed in widget.ordered_rows[: widget.fixed_rows])
    line += 0 if line < fixed else widget.scroll_offset.y
    offsets = widget._y_offsets
    if not 0 <= line - header < len(offsets) or offsets[line - header][0] != widget.ordered_rows[row].key:
        return None
    return int(painted - offsets[line - header][1])


_Marker = Callable[[Mapping[str, Any]], Mark | None]
_Reader = Callable[[Any, Region, Mapping[Mark, _Painted]], Items]
_READERS: Final[Mapping[str, tuple[_Marker, _Reader]]] = {
    "OptionList": (_option_mark, _options),
    "Tree": (_line_mark, _lines),
    "DataTable": (_cell_mark, _cells),
}
"""By the name of Textual's class, for it and what is made from it."""
