"""The semantic tree of a Textual frame that was just drawn: one node for every widget of the active screen, and who gets the pointer.

hook.py asks for one after each frame. Every field says only what was measured or declared, and names its true source; an annotation of the
program wins where it may. termwright/3, semantic conventions and observations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary

import msgspec
from msgspec import UNSET, UnsetType

from ....errors import LocalProtocolError, RemoteProtocolError
from ....generated.termwright.models import (
    Absent,
    AuthoritativeEvidence,
    Cursor,
    Evidence,
    Geometry,
    HitGrid,
    HitRect,
    HitRegion,
    KnownBoolean,
    KnownCoordinateSpace,
    KnownHitGrid,
    KnownRect,
    KnownScroll,
    Node,
    NodeState,
    ProvenanceSource,
    Rect,
    Role,
    ScrollState,
    SemanticValueObservation,
    Unsupported,
    ValueAbsent,
    ValueKnown,
    ValueWithheld,
)
from ....machines.termwright.projection import project
from ....machines.termwright.publisher import Tree
from ..annotations import NOTHING, STATES, Annotation, annotation_of
from .geometry import Audit, Place, Places, Routing, Run
from .items import NOTHING as NO_ITEMS
from .items import Item, Items, items_of
from .recipes import set_value_recipe
from .recognise import WITHHELD, enumerates, kind_of, text_of

if TYPE_CHECKING:
    from textual.app import App
    from textual.geometry import Region
    from textual.screen import Screen
    from textual.widget import Widget

PROVIDER: Final = "triptych-textual"
_NATIVE: Final = Evidence(source="framework", method="native", strength="authoritative", provider_id=PROVIDER)
_PAINTED: Final = Evidence(source="framework", method="measured", strength="authoritative", provider_id=PROVIDER)
_ROUTED: Final = Evidence(source="framework", method="measured", strength="authoritative", provider_id=PROVIDER)
_SURE: Final = AuthoritativeEvidence(source="framework", method="native", strength="authoritative", provider_id=PROVIDER)

#: Bytes of a frame for each item that may be told: a table full of cells must not push the whole tree over the ceiling.
BYTES_AN_ITEM: Final = 2560
#: Items of one widget whose ids are remembered when they are out of view.
REMEMBERED: Final = 4096

_SHOWN: Final = KnownBoolean(value=True, evidence=_NATIVE)
_NOT_SHOWN: Final = KnownBoolean(value=False, evidence=_NATIVE)
_NOT_DISPLAYED: Final = Absent(reason="not-displayed", evidence=_SURE)
_NOT_LAID_OUT: Final = Absent(reason="not-laid-out", evidence=_SURE)
_UNCLIPPED: Final = Unsupported(capability="clipped-geometry", reason="framework-unobservable")
_UNROUTED: Final = Unsupported(capability="pointer-hit-grid", reason="framework-unobservable")
_NO_VALUE: Final = ValueAbsent(reason="no-value", evidence=_SURE)
_SECRET: Final = ValueWithheld(reason="sensitive", sensitivity="sensitive")
_TOO_LONG: Final = ValueWithheld(reason="provider-policy", sensitivity="public")


@dataclass(frozen=True)
class _Found:
    """One widget on the walk: the node above it, whether it and all above it are displayed, whether something above it is disabled."""

    widget: Widget
    parent: str | UnsetType
    displayed: bool
    disabled: bool


class TreeBuilder:
    """Makes the trees of one session. Node ids stay with their widgets for as long as these live."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._places = Places()
        self._routing = Routing()
        self._ids: WeakKeyDictionary[Widget, str] = WeakKeyDictionary()
        self._item_ids: WeakKeyDictionary[Widget, dict[Hashable, str]] = WeakKeyDictionary()
        self._made = 0

    def build(self, app: App[Any], limits: Mapping[str, int]) -> Tree:
        """The tree of the frame that `app` has just drawn, within the session's ceilings.

        Raises `LocalProtocolError` (`duplicate-semantic-key`) when the program gave two widgets the same key.
        """
        screen = app.screen
        places = self._places.of(screen)
        nodes: list[Node] = []
        annotated: list[tuple[int, Annotation]] = []
        names: dict[str, str] = {}  # by which an annotation may name a node → its id
        ids: dict[Widget, str] = {}
        marked: dict[Widget, _Owners] = {}
        room = limits["maxFrameBytes"] // BYTES_AN_ITEM
        waiting = [_Found(screen, UNSET, True, False)]
        while waiting:
            found = waiting.pop()
            widget = found.widget
            annotation = annotation_of(widget)
            node = self._node(found, annotation, places, screen, limits)
            ids[widget] = node.id
            place = len(nodes)
            if annotation is not NOTHING:
                annotated.append((place, annotation))
            nodes.append(node)
            items = self._items(widget, places)
            if items.found and len(items.found) <= room:
                room -= len(items.found)
                named = self._named(widget, items)
                nodes += (_item(item, named, node.id, found.disabled or widget.disabled, limits["maxStringBytes"]) for item in items.found)
                marked[widget] = _owners(items, named)
                if items.complete:
                    nodes[place] = msgspec.structs.replace(node, opaque_children=UNSET)
            for name in (widget.id, node.test_id, node.id):
                if name:
                    names.setdefault(name, node.id)
            disabled = found.disabled or widget.disabled
            inside = [_Found(child, node.id, found.displayed and child.display, disabled) for child in _inside(widget, places)]
            waiting += reversed(inside)
        if len(set(ids.values())) != len(ids):
            raise LocalProtocolError("duplicate-semantic-key", "two widgets of the screen were given the same key")
        for index, annotation in annotated:
            nodes[index] = _related(nodes[index], annotation, names)
        width, height = screen._compositor.size
        space = "viewport-cells" if self._audit.whole_terminal else "framework-local-cells"
        return Tree(
            columns=width,
            rows=height,
            cursor=self._cursor(app, width, height),
            root_ids=(nodes[0].id,),
            nodes=tuple(nodes),
            coordinate_space=KnownCoordinateSpace(value=space, evidence=_NATIVE),  # type: ignore[arg-type]  # both are of the set
            hit_grid=self._hit_grid(screen, ids, marked) if self._audit.whole_terminal else _UNROUTED,
        )

    def _id(self, widget: Widget) -> str:
        known = self._ids.get(widget)
        if known is None:
            self._made += 1
            known = self._ids[widget] = f"w{self._made}"
        return known

    def _node(
        self, found: _Found, annotation: Annotation, places: Mapping[Widget, Place], screen: Screen[Any], limits: Mapping[str, int]
    ) -> Node:
        widget = found.widget
        kind = kind_of(widget)
        most = limits["maxStringBytes"]
        place = places.get(widget._render_widget)
        # The compositor has places for visible widgets only; the styles say why another has none.
        shown = place is not None or (found.displayed and widget.visible)
        name, source = kind.name(widget)
        sources: dict[str, ProvenanceSource] = {}
        if kind.role != "generic":
            sources["role"] = "recognizer"
        if name and source != "framework":
            sources["name"] = source
        states = self._states(found, place, shown, screen)
        scroll = _scroll(widget) if widget.is_scrollable else UNSET
        actions = [*(("focus",) if widget.can_focus else ()), *kind.actions, *(("scroll",) if scroll is not UNSET else ())]
        if actions:
            sources["actions"] = "recognizer"
        recipe = set_value_recipe(widget) if "setValue" in kind.actions else None
        if recipe is not None:
            sources["inputRecipes"] = "recognizer"
        fields: dict[str, Any] = {
            "role": kind.role,
            "name": _fit(name, most),
            "description": (_fit(text_of(widget.tooltip), most) if widget.tooltip else "") or UNSET,
            "actions": tuple(actions) or UNSET,
            "input_recipes": UNSET if recipe is None else (recipe,),
            "test_id": _fit(widget.id, most) if widget.id and not widget.id.startswith("_") else UNSET,
            "extended": UNSET,
        }
        key = None
        if annotation is not NOTHING:
            key = _declare(widget, annotation, fields, states, sources, limits)
        return Node(
            id=key or self._id(widget),
            parent_id=found.parent,
            **fields,
            value=UNSET if kind.value is None else _value(kind.value(widget), most),
            state=NodeState(**states) if states else UNSET,
            framework_type=_fit(type(widget).__name__, most),
            opaque_children=UNSET if enumerates(widget) else True,
            p="framework",
            px=sources or UNSET,
            geometry=_geometry(place, shown),
            scroll=scroll,
        )

    def _states(self, found: _Found, place: Place | None, shown: bool, screen: Screen[Any]) -> dict[str, Any]:
        widget = found.widget
        kind = kind_of(widget)
        states: dict[str, Any] = dict(kind.states(widget)) if kind.states is not None else {}
        if found.disabled or widget.disabled:
            states["disabled"] = True
        elif widget.can_focus or kind.actions:
            states["disabled"] = False
        if widget.can_focus:
            states["focused"] = screen.focused is widget
        if widget.loading:
            states["busy"] = True
        if not shown or place is None:
            states["hidden"] = True
        elif place.visible is not None and not place.visible:
            states["hidden"] = states["offscreen"] = True
        return states

    def _items(self, widget: Widget, places: Mapping[Widget, Place]) -> Items:
        """What the widget draws itself, where it was painted and what of it is cut off is known."""
        place = places.get(widget) if kind_of(widget).draws_children and widget._render_widget is widget else None
        return NO_ITEMS if place is None or not place.visible else items_of(widget, place.region, place.visible)

    def _named(self, widget: Widget, items: Items) -> dict[Hashable, str]:
        """The ids of the items: each keeps its own for as long as it and its widget live."""
        known = self._item_ids.setdefault(widget, {})
        if len(known) > REMEMBERED:
            present = {item.key for item in items.found}
            for key in [key for key in known if key not in present]:
                del known[key]
        for item in items.found:
            if item.key not in known:
                self._made += 1
                known[item.key] = f"w{self._made}"
        return known

    def _hit_grid(self, screen: Screen[Any], ids: Mapping[Widget, str], marked: Mapping[Widget, _Owners]) -> KnownHitGrid:
        return KnownHitGrid(value=HitGrid(regions=(*_regions(self._routing.runs(screen), ids, marked),)), evidence=_ROUTED)

    def _cursor(self, app: App[Any], width: int, height: int) -> Cursor | UnsetType:
        """Where Textual left the terminal's cursor, which it hides: input methods look there."""
        column, row = app._previous_cursor_position
        if not self._audit.whole_terminal or not (0 <= row < height and 0 <= column < width):
            return UNSET
        return Cursor(row=row, column=column, visible=False)


def _inside(widget: Widget, places: Mapping[Widget, Place]) -> Iterator[Widget]:
    """The widgets in a widget: its children, then what Textual itself puts there: the cover while it loads, its scroll bars."""
    for child in widget.children:
        if child.display or not child.has_class("-textual-system"):
            yield child
    for extra in (widget._cover_widget, widget._vertical_scrollbar, widget._horizontal_scrollbar, widget._scrollbar_corner):
        if extra is not None and extra in places:
            yield extra


def _geometry(place: Place | None, shown: bool) -> Geometry:
    if not shown:
        return Geometry(displayed=_NOT_SHOWN, intended_rect=_NOT_DISPLAYED, visible_rect=_NOT_DISPLAYED)
    if place is None:
        return Geometry(displayed=_NOT_SHOWN, intended_rect=_NOT_LAID_OUT, visible_rect=_NOT_LAID_OUT)
    if place.visible is None:
        return Geometry(displayed=_SHOWN, intended_rect=_known(place.region), visible_rect=_UNCLIPPED)
    visible = place.visible or (place.region.x, place.region.y, 0, 0)
    return Geometry(displayed=_SHOWN, intended_rect=_known(place.region), visible_rect=_known(visible))


def _known(region: Region | tuple[int, int, int, int], evidence: Evidence = _NATIVE) -> KnownRect:
    column, row, width, height = region
    return KnownRect(value=Rect(row=row, column=column, width=width, height=height), evidence=evidence)


#: Row → the cells there that are marked with an item, from left to right: first column, end, id of the item.
_Owners = dict[int, list[tuple[int, int, str]]]


def _owners(items: Items, named: Mapping[Hashable, str]) -> _Owners:
    owners: _Owners = {}
    for item in items.found:
        for cells in item.cells:
            owners.setdefault(cells.row, []).append((cells.start, cells.end, named[item.key]))
    for row in owners.values():
        row.sort()
    return owners


def _item(item: Item, named: Mapping[Hashable, str], widget: str, disabled: bool, most: int) -> Node:
    """The node of one item. It is seen where it was painted, and would be where the layout of its widget puts it."""
    states: dict[str, Any] = {**item.states, **({"disabled": True} if disabled else {})}
    return Node(
        id=named[item.key],
        parent_id=widget if item.parent is None else named[item.parent],
        role=item.role,
        name=_fit(item.name, most),
        actions=item.actions or UNSET,
        test_id=_fit(item.test_id, most) if item.test_id else UNSET,
        state=NodeState(**states) if states else UNSET,
        p="framework",
        px={"role": "recognizer", **({"actions": "recognizer"} if item.actions else {})},
        geometry=Geometry(displayed=_SHOWN, intended_rect=_known(item.intended), visible_rect=_known(item.visible, _PAINTED)),
    )


def _regions(runs: Sequence[Run], ids: Mapping[Widget, str], marked: Mapping[Widget, _Owners]) -> Iterator[HitRegion]:
    """Each run by its recipient: the widget, or the item with whose mark Textual sends the event to the widget."""
    for row, column, width, owner in runs:
        recipient = ids.get(owner)
        if recipient is None:  # nothing in the tree is proved to get it
            continue
        end = column + width
        for start, stop, item in marked[owner].get(row, ()) if owner in marked else ():
            left, right = max(start, column), min(stop, end)
            if left < right:
                if column < left:
                    yield _run(row, column, left, recipient)
                yield _run(row, left, right, item)
                column = right
        if column < end:
            yield _run(row, column, end, recipient)


def _run(row: int, column: int, end: int, recipient: str) -> HitRegion:
    return HitRegion(rect=HitRect(row=row, column=column, width=end - column, height=1), recipient_id=recipient)


def _scroll(widget: Widget) -> KnownScroll | UnsetType:
    """How far a widget is scrolled, along the axis on which it has more than it shows, the vertical one first."""
    for axis, allowed in (("vertical", widget.allow_vertical_scroll), ("horizontal", widget.allow_horizontal_scroll)):
        if not allowed:
            continue
        down = axis == "vertical"
        offset = widget.scroll_offset.y if down else widget.scroll_offset.x
        extent = widget.virtual_size.height if down else widget.virtual_size.width
        shown = widget.scrollable_content_region.height if down else widget.scrollable_content_region.width
        if 0 <= offset <= extent:
            state = ScrollState(axis=axis, offset=offset, viewport=min(shown, extent - offset), extent=extent)  # type: ignore[arg-type]
            return KnownScroll(value=state, evidence=_NATIVE)
    return UNSET


def _value(value: object, most: int) -> SemanticValueObservation:
    if value is WITHHELD:
        return _SECRET
    if value is None:
        return _NO_VALUE
    text = str(value)
    if _fit(text, most) != text:
        return _TOO_LONG
    return ValueKnown(value=text, sensitivity="public", evidence=_NATIVE)


def _fit(text: str | None, most: int) -> str:
    """The text, or as much of its beginning as `most` bytes hold; an unpaired surrogate has no UTF-8 form and becomes a question mark."""
    if not text or (len(text) <= most and text.isascii()):
        return text or ""
    data = text.encode("utf-8", "replace")
    return data[:most].decode("utf-8", "ignore")


def _declare(
    widget: Widget,
    annotation: Annotation,
    fields: dict[str, Any],
    states: dict[str, Any],
    sources: dict[str, ProvenanceSource],
    limits: Mapping[str, int],
) -> str | None:
    """Put what the program said over what was recognised; returns the key it gave. What its callables fail to say is left as it was."""
    most = limits["maxStringBytes"]
    if annotation.role is not None:
        fields["role"] = cast(Role, annotation.role)
        sources["role"] = "annotation"
    if annotation.actions is not None:
        fields["actions"] = (*dict.fromkeys(annotation.actions),)
        sources["actions"] = "annotation"
        if fields["input_recipes"] is not UNSET and "setValue" not in annotation.actions:
            fields["input_recipes"] = UNSET
            sources.pop("inputRecipes")
    for field, wire, told in (
        ("name", "name", annotation.name),
        ("description", "description", annotation.description),
        ("test_id", "testId", annotation.test_id),
    ):
        text = _told(told, widget)
        if isinstance(text, str):
            fields[field] = _fit(text, most)
            sources[wire] = "annotation"
    declared = _told(annotation.state, widget)
    if isinstance(declared, Mapping):
        for word, value in declared.items():
            if word in STATES and _is_state(word, value):
                states[_STATE_FIELDS[word]] = value
                sources[f"state.{word}"] = "annotation"
    extended = _told(annotation.extended, widget)
    if isinstance(extended, Mapping):
        with contextlib.suppress(RemoteProtocolError):
            fields["extended"] = project(dict(extended), limits["maxDepth"])
            sources["extended"] = "application"
    key = _told(annotation.key, widget)
    return key if isinstance(key, str) and key else None


def _told(given: object, widget: Widget) -> object:
    """What an annotation says of this widget; None when it says nothing, or its callable fails: the program must not notice."""
    if not callable(given):
        return given
    with contextlib.suppress(Exception):
        return given(widget)
    return None


_STATE_FIELDS: Final = {field.encode_name: field.name for field in msgspec.structs.fields(NodeState)}
_STATE_TYPES: Final = {field.encode_name: field.type for field in msgspec.structs.fields(NodeState)}


def _is_state(word: str, value: object) -> bool:
    try:
        msgspec.convert(value, _STATE_TYPES[word])
    except msgspec.ValidationError:
        return False
    return True


def _related(node: Node, annotation: Annotation, names: Mapping[str, str]) -> Node:
    """The node with its declared relationships; a target that is not on the screen now is left out."""
    changes: dict[str, Any] = {}
    for field, wire, targets in (
        ("labelled_by", "labelledBy", annotation.labelled_by),
        ("described_by", "describedBy", annotation.described_by),
    ):
        present = [names[target.lstrip("#")] for target in targets or () if target.lstrip("#") in names]
        if present:
            changes[field] = tuple(present)
            changes["px"] = {**(changes.get("px") or node.px or {}), wire: "annotation"}
    return msgspec.structs.replace(node, **changes) if changes else node
