"""The fast yes to an adapter's message: the gate behind messages.py that answers only yes or "not sure".

msgspec has checked types, keys, ranges and code point lengths. What is left is asked here of the struct: the schema's other words (string
bytes, negotiated ceilings, row-major runs, recipes, free-form values), and of a tree the rules of validate.py too, in one loop over its
nodes. "Not sure" sends the message to the explaining walker and to check_snapshot, which find the first fault in the protocol's order: no
code is decided here. A look at the whole body costs no more than a memory search. termwright/3, limits and snapshot validation.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, UnsetType, structs

from ...errors import RemoteProtocolError
from ...generated.termwright.models import (
    FrameBegin,
    HitRegion,
    InputRecipe,
    InsertActionValueStep,
    KnownHitGrid,
    KnownPaintedRegion,
    KnownRect,
    Log,
    LogRecord,
    Node,
    ProviderAvailable,
    Rect,
    RevisionCommit,
    SemanticDelta,
    SemanticFull,
    Snapshot,
    Span,
)
from ..wire.text import HUGE_NUMBER, TERMWRIGHT, nesting_exceeds, outside_strings
from .marker import MAX_SAFE_INTEGER
from .projection import FRAME_DEPTH, RESERVED_KEYS
from .validate import check_cursor, check_nodes, check_snapshot

# A string token of the JSON text. Possessive, so that no text makes it try twice.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# The first bytes of characters that count two UTF-16 units.
_ASTRAL: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_RESERVED_BYTES: Final = tuple(key.encode() for key in RESERVED_KEYS)
#: Depth of the value of `extended` in a semantic-full: message, snapshot, nodes, node.
_EXTENDED_DEPTH: Final = 4


def accepts(body: bytes, message: object, limits: Mapping[str, int]) -> bool:
    """Whether the walker would surely accept the same body, and check_snapshot the tree in it; False means not sure."""
    kind = type(message)
    if kind is RevisionCommit or kind is FrameBegin:
        return True
    if kind is SemanticFull:
        snapshot: Snapshot = message.snapshot  # type: ignore[attr-defined]  # narrowed by the exact type
        escaped = b"\\" in body
        return (
            (len(body) <= limits["maxStringBytes"] or strings_fit(body, limits["maxStringBytes"], escaped))
            and _snapshot_holds(snapshot, limits)
            # What is ASCII, escapes and all, has as many UTF-16 units as characters.
            and ((not escaped and body.isascii()) or not _may_be_astral(body, escaped) or _names_fit(snapshot))
        )
    if kind is Log:
        record: LogRecord = message.record  # type: ignore[attr-defined]  # narrowed by the exact type
        return strings_fit(body, limits["maxStringBytes"], True) and (record.attrs is UNSET or RESERVED_KEYS.isdisjoint(record.attrs))
    return kind is SemanticDelta and _any_json_holds(body)


def _any_json_holds(body: bytes) -> bool:
    """Whether surely the text policy takes whatever JSON is in the body: for a delta, which stays text until it is applied."""
    if b"\\" in body or any(key in body for key in _RESERVED_BYTES) or not (body.isascii() or _is_utf8(body)):
        return False
    skeleton = outside_strings(body)
    return not nesting_exceeds(skeleton, TERMWRIGHT.depth) and HUGE_NUMBER.search(skeleton) is None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def strings_fit(body: bytes, limit: int, escaped: bool) -> bool:
    """Whether surely no string of the JSON text has more than `limit` UTF-8 bytes; an escape is never shorter than what it stands for.

    Without escaped quotes (there are none unless `escaped`), a run of more than `limit` bytes between two quotes covers a whole aligned
    block of half that size, so one search for a quote in each block decides.
    """
    size = len(body)
    if size <= limit + 2:
        return True
    half = limit // 2
    if (escaped and b'\\"' in body) or not half:
        return all(len(token) <= limit + 2 for token in _STRING.findall(body))
    find = body.find
    return all([find(b'"', start, start + half) >= 0 for start in range(0, size - half + 1, half)])


def _may_be_astral(body: bytes, escaped: bool) -> bool:
    return (escaped and b"\\u" in body) or (not body.isascii() and any(byte in body for byte in _ASTRAL))


def _snapshot_holds(snapshot: Snapshot, limits: Mapping[str, int]) -> bool:
    """The hot loop of a tree. A node that is as most are passes by comparisons alone; the others are asked one by one afterwards."""
    nodes, roots, most_nodes, deepest = snapshot.nodes, snapshot.root_ids, limits["maxNodes"], limits["maxDepth"]
    if len(nodes) > most_nodes:
        return False
    columns, rows = snapshot.columns, snapshot.rows
    absent, known_rect = UNSET, KnownRect  # a local name is the cheapest there is
    depths: dict[str | UnsetType, int] = {absent: 0}
    ordered = True
    others: list[Node] = []
    for node in nodes:
        try:
            depths[node.id] = depths[node.parent_id] + 1
        except KeyError:  # the parent comes later, or never
            depths[node.id] = deepest + 1
            ordered = False
        if (
            node.labelled_by is absent
            and node.described_by is absent
            and node.text_ranges is absent
            and node.painted_region is absent
            and node.extended is absent
            and node.px is absent
            and node.input_recipes is absent
            and (node.role != "generic" or node.framework_type)
            and ((state := node.state) is absent or state.offscreen is not True)
        ):
            geometry = node.geometry
            visible, intended = geometry.visible_rect, geometry.intended_rect
            if type(visible) is known_rect and type(intended) is known_rect:
                inner, outer = visible.value, intended.value
                row, column, height, width = inner.row, inner.column, inner.height, inner.width
                if (
                    # Not empty, in the viewport whether the space is that or not, and not larger than was intended.
                    row >= 0
                    and column >= 0
                    and height
                    and width
                    and row + height <= rows
                    and column + width <= columns
                    and (inner == outer or _encloses(outer, inner))
                ):
                    continue
        others.append(node)
    most_targets = limits["maxRelationTargets"]
    if others and not all(_node_holds(node, most_nodes, most_targets) for node in others):
        return False
    grid, evidence = snapshot.hit_grid, snapshot.provider_evidence
    if type(grid) is KnownHitGrid and not _regions_hold(grid.value.regions, most_nodes, columns, rows, depths):
        return False
    if evidence and not all(_provider_holds(entry, snapshot, depths, limits) for entry in evidence if type(entry) is ProviderAvailable):
        return False
    try:
        # Where parents come first, no tree of few nodes is too deep.
        if evidence or not ordered or (len(nodes) > deepest and max(depths.values()) > deepest):
            check_snapshot(snapshot, limits)
            return True
        if others:
            check_nodes(structs.replace(snapshot, nodes=tuple(others)), depths, frozenset(roots), most_targets)
        check_cursor(snapshot)
    except RemoteProtocolError:
        return False
    # Each node has an id of its own, and those without a parent are the roots.
    return (
        len(depths) == len(nodes) + 1
        and len(set(roots)) == len(roots) == list(depths.values()).count(1)
        and all([depths.get(root) == 1 for root in roots])
    )


def _encloses(outer: Rect, inner: Rect) -> bool:
    """Whether surely both are in the safe range, and the one is within the other."""
    bottom, right = outer.row + outer.height, outer.column + outer.width
    return (
        outer.row <= inner.row
        and outer.column <= inner.column
        and inner.row + inner.height <= bottom <= MAX_SAFE_INTEGER
        and inner.column + inner.width <= right <= MAX_SAFE_INTEGER
    )


def _node_holds(node: Node, most_nodes: int, most_targets: int) -> bool:
    """The schema's words on the fields that few nodes have."""
    return (
        (node.input_recipes is UNSET or _recipes_hold(node.input_recipes, node.actions, most_targets))
        and (node.extended is UNSET or _free_form_holds(node.extended, _EXTENDED_DEPTH, most_targets))
        and (node.px is UNSET or RESERVED_KEYS.isdisjoint(node.px))
        and (type(node.painted_region) is not KnownPaintedRegion or _spans_hold(node.painted_region.value.spans, most_nodes))
        and (node.labelled_by is UNSET or len(node.labelled_by) <= most_targets)
        and (node.described_by is UNSET or len(node.described_by) <= most_targets)
        and (node.text_ranges is UNSET or len(node.text_ranges) <= most_targets)
    )


def _provider_holds(entry: ProviderAvailable, snapshot: Snapshot, known: Container[object], limits: Mapping[str, int]) -> bool:
    most = limits["maxNodes"]
    for regions in (entry.pointer_regions, entry.painted_regions or ()):
        if len(regions) > most or not all(_spans_hold(region.spans, most) for region in regions):
            return False
    if entry.hit_grid is not UNSET and not _regions_hold(entry.hit_grid.regions, most, snapshot.columns, snapshot.rows, known):
        return False
    recipes, scrolls = entry.action_recipes or (), entry.scroll_states or ()
    return (
        len(recipes) <= most
        and len({given.recipient_id for given in recipes}) == len(recipes)
        and all(_recipes_hold(given.recipes, None, limits["maxRelationTargets"]) for given in recipes)
        and len(scrolls) <= most
        and len({scroll.recipient_id for scroll in scrolls}) == len(scrolls)
        and all(scroll.offset + scroll.viewport <= scroll.extent for scroll in scrolls)
    )


def _regions_hold(regions: Sequence[HitRegion], most: int, columns: int, rows: int, known: Container[object]) -> bool:
    """The runs of a hit grid: row-major, without overlap, in the viewport, and each of a known node."""
    end = 0
    for region in regions:
        rect = region.rect
        column = rect.column
        start = rect.row * columns + column
        if start < end or column >= columns or region.recipient_id not in known:
            return False
        end = start + rect.width
    return end <= columns * rows and len(regions) <= most


def _spans_hold(spans: Sequence[Span], most: int) -> bool:
    row = end = -1
    for span in spans:
        if span.to <= span.from_ or span.row < row or (span.row == row and span.from_ < end):
            return False
        row, end = span.row, span.to
    return len(spans) <= most


def _recipes_hold(recipes: Sequence[InputRecipe], actions: Sequence[str] | UnsetType | None, most: int) -> bool:
    """`actions` are the node's own, which must name each recipe's; None where that is asked later."""
    for recipe in recipes:
        inserts = sum(type(step) is InsertActionValueStep for step in recipe.steps)
        if inserts != (recipe.action == "setValue") or (recipe.action == "focus" and recipe.requires_focus) or len(recipe.steps) > most:
            return False
        if actions is not None and (actions is UNSET or recipe.action not in actions):
            return False
    return len({recipe.action for recipe in recipes}) == len(recipes)


def _free_form_holds(value: Any, depth: int, most: int) -> bool:
    """A value inside `extended`; `depth` is that of `value` in the message, as the projection counts it."""
    kind = type(value)
    if kind is dict:
        return (
            len(value) <= most
            and depth <= FRAME_DEPTH
            and RESERVED_KEYS.isdisjoint(value)
            and all(_free_form_holds(item, depth + 1, most) for item in value.values())
        )
    if kind is list:
        return len(value) <= most and depth <= FRAME_DEPTH and all(_free_form_holds(item, depth + 1, most) for item in value)
    return not (kind is int or kind is float) or -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER


def _names_fit(snapshot: Snapshot) -> bool:
    """Provider names and identifiers are bounded in UTF-16 units; half as many code points always fit."""
    for node in snapshot.nodes:
        geometry = node.geometry
        for fact in (geometry.displayed, geometry.intended_rect, geometry.visible_rect, node.value, node.scroll, node.painted_region):
            if len(getattr(getattr(fact, "evidence", None), "provider_id", "")) > 128:
                return False
    wide = (snapshot.coordinate_space, snapshot.hit_grid)
    return not snapshot.provider_evidence and all(len(getattr(getattr(fact, "evidence", None), "provider_id", "")) <= 128 for fact in wide)
