"""What the fast decoder leaves open in an adapter's message: the gate behind messages.py that answers only yes or "not sure".

msgspec has checked types, keys, ranges and code point lengths. The rest of the schema's words is asked here, on the struct and in one pass:
string bytes, negotiated ceilings, row-major runs, recipes, free-form values. "Not sure" sends the message to the explaining walker. A look
at the whole body costs no more than a memory search. termwright/3, limits and snapshot validation, step 3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET, UnsetType

from ...generated.termwright.models import (
    FrameBegin,
    HitRegion,
    InputRecipe,
    InsertActionValueStep,
    KnownHitGrid,
    KnownPaintedRegion,
    Log,
    LogRecord,
    ProviderAvailable,
    RevisionCommit,
    SemanticFull,
    Snapshot,
    Span,
)
from .marker import MAX_SAFE_INTEGER
from .projection import FRAME_DEPTH, RESERVED_KEYS

# A string token of the JSON text. Possessive, so that no text makes it try twice.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# The first bytes of characters that count two UTF-16 units.
_ASTRAL: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
#: Depth of the value of `extended` in a semantic-full: message, snapshot, nodes, node.
_EXTENDED_DEPTH: Final = 4


def accepts(body: bytes, message: object, limits: Mapping[str, int]) -> bool:
    """Whether the walker would surely accept the same body; False means not sure."""
    kind = type(message)
    if kind is RevisionCommit or kind is FrameBegin:
        return True
    if kind is SemanticFull:
        snapshot: Snapshot = message.snapshot  # type: ignore[attr-defined]  # narrowed by the exact type
        return (
            strings_fit(body, limits["maxStringBytes"])
            and _snapshot_holds(snapshot, limits)
            and (not _may_be_astral(body) or _names_fit(snapshot))
        )
    if kind is Log:
        record: LogRecord = message.record  # type: ignore[attr-defined]  # narrowed by the exact type
        return strings_fit(body, limits["maxStringBytes"]) and (record.attrs is UNSET or RESERVED_KEYS.isdisjoint(record.attrs))
    return False


def strings_fit(body: bytes, limit: int) -> bool:
    """Whether surely no string of the JSON text has more than `limit` UTF-8 bytes; an escape is never shorter than what it stands for.

    Without escaped quotes, a run of more than `limit` bytes between two quotes covers a whole aligned block of half that size, so one
    search for a quote in each block decides: 20 µs for 726 kB.
    """
    size = len(body)
    if size <= limit + 2:
        return True
    half = limit // 2
    if (b"\\" in body and b'\\"' in body) or not half:  # the first is a memchr, and usually says no
        return all(len(token) <= limit + 2 for token in _STRING.findall(body))
    find = body.find
    return all(find(b'"', start, start + half) >= 0 for start in range(0, size - half + 1, half))


def _may_be_astral(body: bytes) -> bool:
    return (not body.isascii() and any(byte in body for byte in _ASTRAL)) or (b"\\" in body and b"\\u" in body)


def _snapshot_holds(snapshot: Snapshot, limits: Mapping[str, int]) -> bool:
    most_nodes, most_targets = limits["maxNodes"], limits["maxRelationTargets"]
    if len(snapshot.nodes) > most_nodes or len(snapshot.root_ids) > most_nodes:
        return False
    if type(snapshot.hit_grid) is KnownHitGrid and not _regions_hold(snapshot.hit_grid.value.regions, most_nodes):
        return False
    for node in snapshot.nodes:
        if node.input_recipes is not UNSET and not _recipes_hold(node.input_recipes, node.actions, most_targets):
            return False
        if node.extended is not UNSET and not _free_form_holds(node.extended, _EXTENDED_DEPTH, most_targets):
            return False
        if node.px is not UNSET and not RESERVED_KEYS.isdisjoint(node.px):
            return False
        if type(node.painted_region) is KnownPaintedRegion and not _spans_hold(node.painted_region.value.spans, most_nodes):
            return False
        if node.labelled_by is not UNSET and len(node.labelled_by) > most_targets:
            return False
        if node.described_by is not UNSET and len(node.described_by) > most_targets:
            return False
        if node.text_ranges is not UNSET and len(node.text_ranges) > most_targets:
            return False
    return not snapshot.provider_evidence or all(
        _provider_holds(entry, limits) for entry in snapshot.provider_evidence if type(entry) is ProviderAvailable
    )


def _provider_holds(entry: ProviderAvailable, limits: Mapping[str, int]) -> bool:
    most = limits["maxNodes"]
    for regions in (entry.pointer_regions, entry.painted_regions or ()):
        if len(regions) > most or not all(_spans_hold(region.spans, most) for region in regions):
            return False
    if entry.hit_grid is not UNSET and not _regions_hold(entry.hit_grid.regions, most):
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


def _regions_hold(regions: Sequence[HitRegion], most: int) -> bool:
    row = end = -1
    for region in regions:
        rect = region.rect
        if rect.row < row or (rect.row == row and rect.column < end):
            return False
        row, end = rect.row, rect.column + rect.width
    return len(regions) <= most


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
