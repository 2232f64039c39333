"""What an adapter may say, given what it announced: the capability gates of every accepted tree, and the guarantees of a published one.

The driver session asks; each answer is None, or the sentence that refuses. termwright/3, capabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from msgspec import UNSET

from ...generated.termwright.models import Absent, KnownHitGrid, KnownRect, Node, NodeState, Snapshot, Unknown

_GATED: Final[tuple[tuple[str, str, Callable[[Node], bool]], ...]] = (
    ("state", "states", lambda node: node.state is not UNSET),
    ("extended", "states", lambda node: node.extended is not UNSET),
    ("state.focused", "focus-state", lambda node: type(node.state) is NodeState and node.state.focused is not UNSET),
    ("actions", "actions", lambda node: node.actions is not UNSET),
    ("inputRecipes", "action-recipes", lambda node: node.input_recipes is not UNSET),
    ("textRanges", "text-ranges", lambda node: node.text_ranges is not UNSET),
)

_SETTLED: Final = (KnownRect, KnownHitGrid, Absent)


def gate_fault(snapshot: Snapshot, announced: Collection[str], nodes: Sequence[Node] | None = None) -> str | None:
    """Why this tree is more than the adapter announced, or None: such a tree is `malformed`. Without `nodes`, all are looked at."""
    nodes = snapshot.nodes if nodes is None else nodes
    if "tree" not in announced:
        return "a tree needs the capability tree"
    if type(snapshot.hit_grid) is KnownHitGrid and "pointer-hit-grid" not in announced:
        return "a known hitGrid needs the capability pointer-hit-grid"
    for field, capability, present in _GATED:
        if capability in announced:
            continue
        for node in nodes:
            if present(node):
                return f"node {node.id!r}: {field} needs the capability {capability}"
    return None


def guarantee_fault(snapshot: Snapshot, announced: Collection[str]) -> str | None:
    """Why a committed tree falls short of what the adapter guaranteed, or None: such a tree is an `adapter-guarantee-violation`."""
    shortfalls = (short for node in snapshot.nodes if (short := node_shortfall(node, announced)) is not None)
    return tree_shortfall(snapshot, announced) or next(shortfalls, None)


def node_shortfall(node: Node, announced: Collection[str]) -> str | None:
    """Why this node of a committed tree falls short of what the adapter guaranteed, or None.

    A committed observation is never `unknown`, and geometry that was announced is known or absent.
    """
    geometry = node.geometry
    displayed, intended, visible = type(geometry.displayed), type(geometry.intended_rect), type(geometry.visible_rect)
    if Unknown in (displayed, intended, visible, type(node.value), type(node.scroll), type(node.painted_region)):
        return f"node {node.id!r}: an observation is unknown in a committed revision"
    if intended not in _SETTLED and "intended-geometry" in announced:
        return f"node {node.id!r}: intendedRect was announced and is neither known nor absent"
    if visible not in _SETTLED and "clipped-geometry" in announced:
        return f"node {node.id!r}: visibleRect was announced and is neither known nor absent"
    return None


def tree_shortfall(snapshot: Snapshot, announced: Collection[str]) -> str | None:
    """The same for what the tree observes as a whole: the coordinate space and the hit grid."""
    grid = type(snapshot.hit_grid)
    if grid is Unknown or type(snapshot.coordinate_space) is Unknown:
        return "a snapshot-wide observation is unknown in a committed revision"
    if grid not in _SETTLED and "pointer-hit-grid" in announced:
        return "hitGrid was announced and is neither known nor absent"
    return None
