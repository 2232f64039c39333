"""The rules of a snapshot that no schema can say, in the protocol's own order: the first that is broken gives the code.

`check_snapshot` looks at a snapshot whose shape is already accepted (by the decoder or by the explaining walker); messages.py calls it for
every tree, so each rule exists once: one pass over the nodes, one over the parents. semantic_state.py asks the same rules of the part that
a delta touched. `validate_snapshot` takes a plain value through the whole order. termwright/3, snapshot validation.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NoReturn

from msgspec import UNSET, UnsetType
from msgspec.json import encode

from ...errors import RemoteProtocolError
from ...generated.termwright.models import (
    FocusOnNode,
    HitRegion,
    KnownCoordinateSpace,
    KnownHitGrid,
    KnownPaintedRegion,
    KnownRect,
    Node,
    PaintedRegion,
    ProviderAvailable,
    ProviderRegion,
    Rect,
    Snapshot,
)
from ..wire.faults import shortened
from ..wire.read import Reader
from ..wire.text import TERMWRIGHT
from .limits import DEFAULT_LIMITS
from .marker import MAX_SAFE_INTEGER
from .projection import project

SNAPSHOTS: Final[Reader[Snapshot]] = Reader("termwright", "Snapshot", TERMWRIGHT)

Parents = Mapping[str, str | UnsetType]
Ids = Container[object]


def _fail(code: str, detail: str, path: str = "") -> NoReturn:
    raise RemoteProtocolError(code, shortened(detail), path)


def validate_snapshot(value: object, limits: Mapping[str, int] = DEFAULT_LIMITS) -> Snapshot:
    """The snapshot in a plain value: projection, size, shape, then the rules. Raises `RemoteProtocolError` with a validation code."""
    try:
        plain = project(value, limits["maxDepth"])
    except RemoteProtocolError as fault:
        _fail("depth" if fault.code == "dto-depth" else "schema", fault.detail, fault.path)
    size = len(encode(plain))
    if size > limits["maxSnapshotBytes"]:
        _fail("bytes", f"{size} bytes; the ceiling is {limits['maxSnapshotBytes']}")
    snapshot = SNAPSHOTS.read_value(plain, limits)
    check_snapshot(snapshot, limits)
    return snapshot


def check_snapshot(snapshot: Snapshot, limits: Mapping[str, int]) -> None:
    """Raise `RemoteProtocolError` for the first broken rule; `limits` are the session's ceilings.

    Codes: `count`, `duplicate-id`, `missing-parent`, `schema`, `bad-rect`, `provider`, `cycle`, `depth`.
    """
    nodes = snapshot.nodes
    if len(nodes) > limits["maxNodes"]:
        _fail("count", f"{len(nodes)} nodes; the ceiling is {limits['maxNodes']}", "nodes")
    parents: Parents = {node.id: node.parent_id for node in nodes}
    if len(parents) != len(nodes):
        _fail("duplicate-id", f"node id {_first_repeated(node.id for node in nodes)!r} appears twice", "nodes")
    roots = _check_roots(snapshot, parents)
    if type(snapshot.hit_grid) is KnownHitGrid:
        check_hit_regions(snapshot, snapshot.hit_grid.value.regions, parents, "hitGrid.value.regions")
    if snapshot.provider_evidence is not UNSET:
        check_providers(snapshot, {node.id: node for node in nodes})
    check_nodes(snapshot, parents, roots, limits["maxRelationTargets"])
    check_ancestry(parents, roots, limits["maxDepth"])
    check_cursor(snapshot)


def _first_repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _check_roots(snapshot: Snapshot, parents: Parents) -> frozenset[str]:
    seen: set[str] = set()
    for index, root in enumerate(snapshot.root_ids):
        if root in seen:
            _fail("duplicate-id", f"root {root!r} appears twice", f"rootIds.{index}")
        if root not in parents:
            _fail("missing-parent", f"root {root!r} is no node of this snapshot", f"rootIds.{index}")
        if parents[root] is not UNSET:
            _fail("schema", f"root {root!r} has a parent", f"rootIds.{index}")
        seen.add(root)
    return frozenset(seen)


def check_hit_regions(snapshot: Snapshot, regions: Iterable[HitRegion], known: Ids, path: str) -> None:
    """Every run of a hit grid has a known recipient and meets the viewport."""
    columns, rows = snapshot.columns, snapshot.rows
    for index, region in enumerate(regions):
        if region.recipient_id not in known:
            _fail("missing-parent", f"recipient {region.recipient_id!r} is no node of this snapshot", f"{path}.{index}.recipientId")
        if region.rect.row >= rows or region.rect.column >= columns:
            _fail("bad-rect", "the region lies outside the viewport", f"{path}.{index}.rect")


def _check_painted(snapshot: Snapshot, region: PaintedRegion | ProviderRegion, path: str) -> None:
    bounds = region.region_bounds
    columns, rows = snapshot.columns, snapshot.rows
    top, left, bottom, right = bounds.row, bounds.column, bounds.row + bounds.height, bounds.column + bounds.width
    for index, span in enumerate(region.spans):
        if span.row >= rows or span.to > columns:
            _fail("bad-rect", "the span leaves the viewport", f"{path}.spans.{index}")
        if not (top <= span.row < bottom and left <= span.from_ and span.to <= right):
            _fail("bad-rect", "the span leaves the bounds of its region", f"{path}.spans.{index}")


def check_providers(snapshot: Snapshot, nodes: Mapping[str, Node]) -> None:
    """The evidence of every provider is of this session and revision, and speaks of `nodes`."""
    seen: set[str] = set()

    def recipient(name: str, path: str) -> None:
        if name not in nodes:
            _fail("missing-parent", f"recipient {name!r} is no node of this snapshot", path)

    for index, entry in enumerate(snapshot.provider_evidence or ()):
        path = f"providerEvidence.{index}"
        if entry.provider_id in seen:
            _fail("provider", f"provider {entry.provider_id!r} appears twice", path)
        seen.add(entry.provider_id)
        if entry.session_id != snapshot.session_id:
            _fail("provider", "the evidence belongs to another session", path)
        if entry.revision != snapshot.revision:
            _fail("provider", "the evidence belongs to another revision", path)
        if type(entry) is not ProviderAvailable:
            continue
        if entry.evidence.provider_id != entry.provider_id:
            _fail("schema", "the evidence names another provider", f"{path}.evidence.providerId")
        if type(entry.focus_state) is FocusOnNode:
            recipient(entry.focus_state.recipient_id, f"{path}.focusState.recipientId")
        for name, regions in (("pointerRegions", entry.pointer_regions), ("paintedRegions", entry.painted_regions)):
            for number, region in enumerate(regions or ()):
                recipient(region.recipient_id, f"{path}.{name}.{number}.recipientId")
                _check_painted(snapshot, region, f"{path}.{name}.{number}")
        if entry.hit_grid is not UNSET:
            check_hit_regions(snapshot, entry.hit_grid.regions, nodes, f"{path}.hitGrid.regions")
        for number, given in enumerate(entry.action_recipes or ()):
            recipient(given.recipient_id, f"{path}.actionRecipes.{number}.recipientId")
            for recipe in given.recipes:
                if recipe.action not in (nodes[given.recipient_id].actions or ()):
                    _fail("provider", f"node {given.recipient_id!r} has no action {recipe.action!r}", f"{path}.actionRecipes.{number}")
        for number, scroll in enumerate(entry.scroll_states or ()):
            recipient(scroll.recipient_id, f"{path}.scrollStates.{number}.recipientId")


def check_nodes(snapshot: Snapshot, known: Ids, roots: frozenset[str], most_targets: int) -> None:
    """Every node in order: its parent, its own shape, its geometry, its relations. The hot loop of a tree.

    `known` are the ids of the whole tree, of which `snapshot.nodes` may be a part.
    """
    columns, rows = snapshot.columns, snapshot.rows
    space = snapshot.coordinate_space
    viewport = type(space) is KnownCoordinateSpace and space.value == "viewport-cells"
    for index, node in enumerate(snapshot.nodes):
        parent = node.parent_id
        if parent is UNSET:
            if node.id not in roots:
                _refuse(index, node, "schema", "a node without a parent must be in rootIds")
        elif parent not in known:
            _refuse(index, node, "missing-parent", f"parent {parent!r} is no node of this snapshot")
        elif parent == node.id:
            _refuse(index, node, "cycle", "a node cannot be its own parent")
        if node.role == "generic" and not node.framework_type:
            _refuse(index, node, "schema", "a generic node names its frameworkType")
        state = node.state
        if state is not UNSET and state.offscreen is True and state.hidden is not True:
            _refuse(index, node, "schema", "an offscreen node is hidden too")
        geometry = node.geometry
        intended, visible = geometry.intended_rect, geometry.visible_rect
        if type(intended) is KnownRect:
            outer = intended.value
            top, left = outer.row, outer.column
            bottom, right = top + outer.height, left + outer.width
            if bottom > MAX_SAFE_INTEGER or right > MAX_SAFE_INTEGER:
                _refuse(index, node, "bad-rect", "intendedRect leaves the safe range")
            bounded = True
        else:
            bounded = False
        if type(visible) is KnownRect:
            rect = visible.value
            row, column = rect.row, rect.column
            end_row, end_column = row + rect.height, column + rect.width
            if end_row > MAX_SAFE_INTEGER or end_column > MAX_SAFE_INTEGER:
                _refuse(index, node, "bad-rect", "visibleRect leaves the safe range")
            shown = end_row > row and end_column > column
        else:
            shown = False
        if type(node.painted_region) is KnownPaintedRegion:
            _check_painted(snapshot, node.painted_region.value, f"nodes.{index}.paintedRegion.value")
        if shown:
            if viewport and (row >= rows or column >= columns or end_row <= 0 or end_column <= 0):
                _refuse(index, node, "bad-rect", "visibleRect does not meet the viewport")
            if bounded and (row < top or column < left or end_row > bottom or end_column > right):
                _refuse(index, node, "bad-rect", "visibleRect leaves intendedRect")
        if node.text_ranges is not UNSET:
            _check_text_ranges(index, node)
        if node.labelled_by is not UNSET:
            _check_targets(index, node, node.labelled_by, known, most_targets)
        if node.described_by is not UNSET:
            _check_targets(index, node, node.described_by, known, most_targets)


def _check_text_ranges(index: int, node: Node) -> None:
    for text_range in node.text_ranges or ():
        if text_range.end_offset < text_range.start_offset:
            _refuse(index, node, "bad-rect", "a text range ends before it starts")
        if not _safe(text_range.rect):
            _refuse(index, node, "bad-rect", "the rectangle of a text range leaves the safe range")


def _check_targets(index: int, node: Node, targets: Sequence[str], known: Ids, most: int) -> None:
    if len(targets) > most:
        _refuse(index, node, "count", f"{len(targets)} relation targets; the ceiling is {most}")
    for target in targets:
        if target not in known:
            _refuse(index, node, "missing-parent", f"relation target {target!r} is no node of this snapshot")


def check_cursor(snapshot: Snapshot) -> None:
    """The cursor, where there is one, stands inside the viewport."""
    cursor = snapshot.cursor
    if cursor is not UNSET and (cursor.row >= snapshot.rows or cursor.column >= snapshot.columns):
        _fail("bad-rect", "the cursor is outside the viewport", "cursor")


def check_ancestry(parents: Parents, roots: frozenset[str], deepest: int) -> int:
    """No node is its own ancestor, and no tree is deeper than allowed (a root is at depth 1). Each node is climbed over once.

    The answer is the depth of the deepest node, 0 without any.
    """
    depths: dict[str | UnsetType, int] = dict.fromkeys(roots, 1)
    for name, parent in parents.items():
        if parent is UNSET:
            continue
        try:
            depths[name] = depths[parent] + 1
        except KeyError:  # the parent comes later in the list, or never: a cycle
            chain: list[str | UnsetType] = [name]
            while parent not in depths:
                chain.append(parent)
                if len(chain) > len(parents):
                    _fail("cycle", f"node {name!r} has a cycle among its ancestors", "nodes")
                parent = parents[parent]  # type: ignore[index]  # only a root has no parent, and roots have a depth
            depth = depths[parent]
            for step in reversed(chain):
                depth += 1
                depths[step] = depth
    found = max(depths.values(), default=0)
    if found > deepest:
        _fail("depth", f"the tree is {found} deep; the ceiling is {deepest}", "nodes")
    return found


def _safe(rect: Rect) -> bool:
    return rect.row + rect.height <= MAX_SAFE_INTEGER and rect.column + rect.width <= MAX_SAFE_INTEGER


def _refuse(index: int, node: Node, code: str, detail: str) -> NoReturn:
    _fail(code, f"node {node.id!r}: {detail}", f"nodes.{index}")
