"""The held tree of one session: deltas applied to it whole or not at all, deltas made from two trees, and what to ask for without a base.

A driver keeps a `SemanticState` and applies what an adapter sends; an adapter calls `diff`. A state is immutable: a refused delta has
changed nothing, and an older state stays usable. termwright/3, semantic-delta and resynchronisation.

Cost. A state knows its nodes by id, who is spoken of, how deep the tree can be and how long its JSON is. A delta is checked where it
touches the tree, with the same rules that check a whole one; copying one table of pointers is all that grows with the tree. The short
check may only say yes. Where it cannot be sure (a rule is broken, or the viewport or the coordinate space changed, which bears on every
rectangle) the whole tree is checked, and the first fault in the protocol's order is what the peer is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import UNSET, structs

from ...errors import LocalProtocolError, RemoteProtocolError
from ...generated.termwright.models import Delta, KnownHitGrid, Node, NodePatch, NodeUpdate, SemanticResyncRequest, Snapshot, SnapshotPatch
from .delta import NODE_ATTRIBUTES, TOP_ATTRIBUTES, BaseMismatch, Change, named, read_delta
from .limits import DEFAULT_LIMITS
from .validate import check_ancestry, check_cursor, check_hit_regions, check_nodes, check_providers, check_snapshot

__all__ = ["Applied", "BaseMismatch", "SemanticState", "diff", "resync_request"]

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
_KEYS: Final = {attribute: key for key, attribute in TOP_ATTRIBUTES.items()}


@dataclass(frozen=True, slots=True)
class _Index:
    """What a delta is checked against. `spoken_of` counts how often a parentId or a relation names an id; `deepest` is an upper bound."""

    nodes: dict[str, Node]
    roots: frozenset[str]
    recipients: frozenset[str]
    spoken_of: dict[str, int]
    deepest: int
    size: int


@dataclass(frozen=True, slots=True)
class Applied:
    """An applied delta: the new state, and the ids that were removed, added and updated, in this order."""

    state: SemanticState
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SemanticState:
    """A tree that was accepted under `limits`, ready for the next delta. Make the first one with `of`."""

    snapshot: Snapshot
    limits: Mapping[str, int]
    _index: _Index

    @classmethod
    def of(cls, snapshot: Snapshot, limits: Mapping[str, int] = DEFAULT_LIMITS) -> SemanticState:
        """The state of a snapshot that read_adapter_message or validate_snapshot accepted under `limits`; it is not checked again."""
        return cls(snapshot, MappingProxyType(dict(limits)), _indexed(snapshot, limits))

    def node(self, name: str) -> Node | None:
        """The node of this id, or None."""
        return self._index.nodes.get(name)

    def apply(self, delta: object, *, size: int | None = None, limits: Mapping[str, int] | None = None) -> Applied:
        """The state after `delta`: msgspec.Raw as a SemanticDelta message holds it, a Delta, or a plain value.

        `size` is what counts against maxSnapshotBytes: the bytes of the whole frame body where there is one, else the delta's own JSON.
        Raises BaseMismatch when the delta is made for another revision (ask for a whole tree), else RemoteProtocolError with one of the
        validation codes. Nothing changes then.
        """
        ceilings = self.limits if limits is None else limits
        held, index = self.snapshot, self._index
        change = read_delta(delta, held, index.nodes, ceilings, size=size, whole=ceilings != self.limits)
        nodes = index.nodes.copy()
        for name in change.removed:
            del nodes[name]
        nodes.update((node.id, node) for node in change.updated)
        nodes.update((node.id, node) for node in change.added)
        following = structs.replace(held, revision=change.revision, nodes=tuple(nodes.values()), **change.top)
        length = self._size_after(change, len(nodes))
        if length > ceilings["maxSnapshotBytes"]:
            raise RemoteProtocolError("bytes", f"the changed tree has {length} bytes; the ceiling is {ceilings['maxSnapshotBytes']}")
        _check_intents(change)
        followed = None if ceilings != self.limits else self._followed(change, following, nodes, length)
        if followed is None:
            check_snapshot(following, ceilings)
            followed = _indexed(following, ceilings)
        changed = (*change.removed, *(node.id for node in change.added), *(node.id for node in change.updated))
        return Applied(SemanticState(following, self.limits if limits is None else MappingProxyType(dict(limits)), followed), changed)

    def _size_after(self, change: Change, count: int) -> int:
        """The length of the changed snapshot's compact JSON, from what comes and what goes."""
        held, nodes = self.snapshot, self._index.nodes
        size = self._index.size + len(str(change.revision)) - len(str(held.revision))
        size += max(count - 1, 0) - max(len(nodes) - 1, 0)  # commas
        size += sum(len(_encode(node)) for node in (*change.added, *change.updated))
        size -= sum(len(_encode(nodes[name])) for name in (*change.removed, *(node.id for node in change.updated)))
        for attribute, value in change.top.items():
            size += _member_size(attribute, value) - _member_size(attribute, getattr(held, attribute))
        return size

    def _followed(self, change: Change, snapshot: Snapshot, nodes: dict[str, Node], size: int) -> _Index | None:
        """The index of the changed snapshot when it surely holds every rule; None when that is not sure."""
        held, index, limits = self.snapshot, self._index, self.limits
        if len(nodes) > limits["maxNodes"] or (held.columns, held.rows) != (snapshot.columns, snapshot.rows):
            return None
        if held.coordinate_space != snapshot.coordinate_space:
            return None
        roots = index.roots if "root_ids" not in change.top else _sound_roots(snapshot, nodes, index.roots)
        if roots is None or not roots.isdisjoint(change.removed):
            return None
        touched = (*change.added, *change.updated)
        if any((node.parent_id is UNSET) != (node.id in roots) for node in touched):
            return None
        recipients = index.recipients if "hit_grid" not in change.top else _recipients(snapshot)
        if "hit_grid" not in change.top and not recipients.isdisjoint(change.removed):
            return None
        spoken_of = _spoken_of_after(index, change)
        deepest = self._deepest_after(change, nodes)
        if deepest is None or any(name in spoken_of for name in change.removed):
            return None
        try:
            if "hit_grid" in change.top and type(snapshot.hit_grid) is KnownHitGrid:
                check_hit_regions(snapshot, snapshot.hit_grid.value.regions, nodes, "")
            if snapshot.provider_evidence:
                check_providers(snapshot, nodes)
            if touched:
                check_nodes(structs.replace(snapshot, nodes=touched), nodes.keys(), roots, limits["maxRelationTargets"])
            check_cursor(snapshot)
        except RemoteProtocolError:
            return None
        return _Index(nodes, roots, recipients, spoken_of, deepest, size)

    def _deepest_after(self, change: Change, nodes: Mapping[str, Node]) -> int | None:
        """How deep the changed tree is at most; None when a cycle or the ceiling is possible.

        Below a node that moved, nothing moved with respect to it: no node there can be further below it than the tree was deep below its
        old place. A cycle has a node that moved, or is new, and a climb from there does not end.
        """
        before, most, deepest = self._index.nodes, self.limits["maxDepth"], self._index.deepest
        reach = deepest
        for node in (*change.added, *change.updated):
            old = before.get(node.id)
            if old is not None and old.parent_id == node.parent_id:
                continue
            depth = _depth(node, nodes, most)
            if depth is None:
                return None
            if old is not None:
                depth += deepest - (_depth(old, before, most) or 1)
            reach = max(reach, depth)
        return reach if reach <= most else None


def _indexed(snapshot: Snapshot, limits: Mapping[str, int]) -> _Index:
    nodes = {node.id: node for node in snapshot.nodes}
    spoken_of: dict[str, int] = {}
    for node in snapshot.nodes:
        for name in named(node):
            spoken_of[name] = spoken_of.get(name, 0) + 1
    roots = frozenset(snapshot.root_ids)
    deepest = check_ancestry({node.id: node.parent_id for node in snapshot.nodes}, roots, limits["maxDepth"])
    return _Index(nodes, roots, _recipients(snapshot), spoken_of, deepest, len(_encode(snapshot)))


def _recipients(snapshot: Snapshot) -> frozenset[str]:
    grid = snapshot.hit_grid
    return frozenset(region.recipient_id for region in grid.value.regions) if type(grid) is KnownHitGrid else frozenset()


def _sound_roots(snapshot: Snapshot, nodes: Mapping[str, Node], before: frozenset[str]) -> frozenset[str] | None:
    """The new roots, when each is a node without a parent and no node lost its place among them."""
    roots = frozenset(snapshot.root_ids)
    sound = (
        len(roots) == len(snapshot.root_ids)
        and all(name in nodes and nodes[name].parent_id is UNSET for name in roots)
        and all(name not in nodes or nodes[name].parent_id is not UNSET for name in before - roots)
    )
    return roots if sound else None


def _spoken_of_after(index: _Index, change: Change) -> dict[str, int]:
    """The counts after the change; the same table when nobody speaks of others than before."""
    gone: list[str] = []
    come = [name for node in change.added for name in named(node)]
    for node in change.updated:
        old, new = list(named(index.nodes[node.id])), list(named(node))
        if old != new:
            gone += old
            come += new
    for name in change.removed:
        gone += named(index.nodes[name])
    if not gone and not come:
        return index.spoken_of
    counts = index.spoken_of.copy()
    for name in come:
        counts[name] = counts.get(name, 0) + 1
    for name in gone:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]
    return counts


def _depth(node: Node, nodes: Mapping[str, Node], most: int) -> int | None:
    """The depth of a node (a root is at 1) by climbing; None beyond `most`, or where a parent is missing."""
    depth = 1
    above: Node | None = node
    while above is not None and above.parent_id is not UNSET:
        above = nodes.get(above.parent_id)
        depth += 1
        if depth > most:
            return None
    return depth if above is not None else None


def _check_intents(change: Change) -> None:
    """A recipe needs its action among its node's own: the one rule of a node's shape that a patch of single fields can break."""
    for node in change.updated:
        for recipe in node.input_recipes or ():
            if recipe.action not in (node.actions or ()):
                raise RemoteProtocolError("schema", f"node {node.id!r}: a recipe needs its action among the node's actions", "updateNodes")


def _member_size(attribute: str, value: object) -> int:
    return 0 if value is UNSET else len(_KEYS[attribute]) + 4 + len(_encode(value))


def diff(previous: Snapshot, following: Snapshot) -> Delta | None:
    """The delta that makes `following` out of `previous`, or None when only a whole tree can.

    A delta cannot say the order of nodes: None when the surviving nodes changed theirs, or when a new node is not at the end. The answer is
    deterministic: nodes in the order of `following`, removals in the order of `previous`, fields in the protocol's order, no empty group.
    Raises LocalProtocolError for two sessions (`schema`) and when `following` is not newer (`revision`).
    """
    if previous.session_id != following.session_id:
        raise LocalProtocolError("schema", "a delta is made within one session", "sessionId")
    if following.revision <= previous.revision:
        raise LocalProtocolError("revision", f"revision {following.revision} is not newer than {previous.revision}", "revision")
    before = {node.id: node for node in previous.nodes}
    after = {node.id: node for node in following.nodes}
    added = tuple(node for node in following.nodes if node.id not in before)
    if [*(name for name in before if name in after), *(node.id for node in added)] != list(after):
        return None
    updates = [_update(before[node.id], node) for node in following.nodes if node.id in before]
    updated = tuple(update for update in updates if update is not None)
    removed = tuple(name for name in before if name not in after)
    return Delta(
        v=3,
        session_id=following.session_id,
        revision=following.revision,
        base_revision=previous.revision,
        add_nodes=added or UNSET,
        update_nodes=updated or UNSET,
        remove_node_ids=removed or UNSET,
        snapshot=_snapshot_patch(previous, following),
    )


def _update(old: Node, new: Node) -> NodeUpdate | None:
    # Equality of structs is quick, and exact but for free-form values, where Python takes true for 1.
    if old is new or (old == new and new.extended is UNSET):
        return None
    given, cleared = _changes(old, new, NODE_ATTRIBUTES)
    if not given and not cleared:
        return None
    return NodeUpdate(id=new.id, set=NodePatch(**given) if given else UNSET, clear=cleared or UNSET)


def _snapshot_patch(previous: Snapshot, following: Snapshot) -> SnapshotPatch | msgspec.UnsetType:
    given, cleared = _changes(previous, following, TOP_ATTRIBUTES)
    return SnapshotPatch(**given, clear=cleared or UNSET) if given or cleared else UNSET


def _changes(old: object, new: object, attributes: Mapping[str, str]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """What to set, by attribute, and the keys to clear, both in the protocol's order."""
    given: dict[str, Any] = {}
    cleared = []
    for key, attribute in attributes.items():
        was, now = getattr(old, attribute), getattr(new, attribute)
        if was is now or (was is not UNSET and now is not UNSET and _encode_sorted(was) == _encode_sorted(now)):
            continue
        if now is UNSET:
            cleared.append(key)
        else:
            given[attribute] = now
    return given, tuple(cleared)


def resync_request(session_id: str, held: Snapshot | None) -> SemanticResyncRequest:
    """What a driver sends when a delta does not fit what it holds: the next publication is then a whole tree."""
    return SemanticResyncRequest(
        session_id=session_id,
        expected_base_revision=None if held is None else held.revision,
        reason="missing-base" if held is None else "base-mismatch",
    )
