"""What an adapter may say, given what it announced: the capability gates of every accepted tree, and the guarantees of a published one.

The driver session asks; each answer is None, or the sentence that refuses. termwright/3, capabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
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


def gate_fault(snapshot: Snapshot, announced: Collection[str]) -> str | None:
    """Why this tree is more than the adapter announced, or None: such a tree is `malformed`."""
    if "tree" not in announced:
        return "a tree needs the capability tree"
    if type(snapshot.hit_grid) is KnownHitGrid and "pointer-hit-grid" not in announced:
        return "a known hitGrid needs the capability pointer-hit-grid"
    for field, capability, present in _GATED:
        if capability in announced:
            continue
        for node in snapshot.nodes:
            if present(node):
                return f"node {node.id!r}: {field} needs the capability {capability}"
    return None


def guarantee_fault(snapshot: Snapshot, announced: Collection[str]) -> str | None:
    """Why a committed tree falls short of what the adapter guaranteed, or None: such a tree is an `adapter-guarantee-violation`.

    A committed observation is never `unknown`, and what was announced as observable is known or absent for every node.
    """
    intended, clipped = "intended-geometry" in announced, "clipped-geometry" in announced
    for node in snapshot.nodes:
        geometry = node.geometry
        if type(geometry.displayed) is Unknown or type(geometry.intended_rect) is Unknown or type(geometry.visible_rect) is Unknown:
            return f"node {node.id!r}: its geometry is unknown in a committed revision"
        if intended and type(geometry.intended_rect) not in _SETTLED:
            return f"node {node.id!r}: intendedRect was announced and is neither known nor absent"
        if clipped and type(geometry.visible_rect) not in _SETTLED:
            return f"node {node.id!r}: visibleRect was announced and is neither known nor absent"
    grid = snapshot.hit_grid
    if type(grid) is Unknown or type(snapshot.coordinate_space) is Unknown:
        return "a snapshot-wide observation is unknown in a committed revision"
    if "pointer-hit-grid" in announced and type(grid) not in _SETTLED:
        return "hitGrid was announced and is neither known nor absent"
    return None
