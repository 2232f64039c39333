"""What a delta says: from its text or value to the nodes and fields that it replaces, or the first fault in the protocol's own order.

semantic_state.py reads every delta here and then asks what the changed tree must hold. The fast way takes a delta whose shape the generated
decoder vouches for; the plain way takes everything else, step by step. Both know the same rules of revisions and operations.
termwright/3, delta application.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from msgspec import UNSET, Raw, structs
from msgspec.json import decode, encode

from ...errors import RemoteProtocolError
from ...generated.termwright.models import Delta, Node, NodePatch, NodeUpdate, Snapshot, SnapshotPatch
from ...generated.termwright.vocabulary import CLEARABLE_SNAPSHOT_FIELD, KEYS
from ..wire.faults import shortened
from ..wire.read import Reader
from ..wire.text import TERMWRIGHT, TextFault, parse
from .marker import MAX_SAFE_INTEGER
from .projection import project
from .validate import SNAPSHOTS

DELTAS: Final[Reader[Delta]] = Reader("termwright", "Delta", TERMWRIGHT)

#: Key on the wire → attribute of the struct, for every field of a node, and for those of a snapshot that a delta may replace.
NODE_ATTRIBUTES: Final[Mapping[str, str]] = {each.encode_name: each.name for each in structs.fields(Node)}
TOP_ATTRIBUTES: Final[Mapping[str, str]] = {
    field.encode_name: field.name for field in structs.fields(SnapshotPatch) if field.name != "clear"
}

_PATCHED: Final = tuple(field.name for field in structs.fields(NodePatch))
_REQUIRED: Final = frozenset(("role", "name", "geometry"))


class BaseMismatch(RemoteProtocolError):
    """The delta is made for another revision than the one held (code `base-revision`): ask for a whole tree. The channel stays open."""

    def __init__(self, base: int, held: int) -> None:
        super().__init__("base-revision", f"the delta is made for revision {base}; revision {held} is held", "baseRevision")


@dataclass(frozen=True, slots=True)
class Change:
    """A delta that fits its base: ids that go, whole new nodes, and new values of snapshot fields by attribute (UNSET where cleared)."""

    revision: int
    removed: tuple[str, ...]
    added: tuple[Node, ...]
    updated: tuple[Node, ...]
    top: Mapping[str, Any]


def read_delta(
    delta: object, held: Snapshot, nodes: Mapping[str, Node], limits: Mapping[str, int], *, size: int | None, whole: bool
) -> Change:
    """The change that `delta` makes to `held`, whose nodes by id are `nodes`, in order.

    `delta` is msgspec.Raw (the text out of an accepted message), a Delta, or a plain value; `size` is what counts against maxSnapshotBytes,
    by default the delta's own JSON. With `whole`, the shape of every node is checked again under `limits`, and not only of what changes.
    """
    if type(delta) is Raw:
        body, plain = bytes(delta), None
    elif type(delta) is Delta:
        body, plain = encode(delta), None
    else:
        plain = _projected(delta, limits)
        body = encode(plain)
    counted = len(body) if size is None else size
    shaped = None if whole else DELTAS.accept(body, limits)
    if shaped is None:
        value = _parsed(body) if plain is None else plain
        return _Plain(held, nodes, limits, whole).change(value, counted)
    _check_size(counted, limits)
    return _shaped_change(shaped, held, nodes, limits)


def _fail(code: str, detail: str, path: str = "") -> NoReturn:
    raise RemoteProtocolError(code, shortened(detail), path)


def _projected(value: object, limits: Mapping[str, int]) -> object:
    try:
        return project(value, limits["maxDepth"])
    except RemoteProtocolError as fault:
        _fail("depth" if fault.code == "dto-depth" else "schema", fault.detail, fault.path)


def _parsed(body: bytes) -> object:
    try:
        return parse(body, TERMWRIGHT)
    except TextFault as fault:
        _fail("depth" if fault.kind == "depth" else "schema", fault.detail)


def _check_size(size: int, limits: Mapping[str, int]) -> None:
    if size > limits["maxSnapshotBytes"]:
        _fail("bytes", f"{size} bytes; the ceiling is {limits['maxSnapshotBytes']}")


def _check_revisions(held: Snapshot, session: object, revision: object, base: object) -> int:
    if session != held.session_id:
        _fail("schema", "the delta belongs to another session", "sessionId")
    made, made_for = _revision(revision, "revision"), _revision(base, "baseRevision")
    if made_for != held.revision:
        raise BaseMismatch(made_for, held.revision)
    if made <= held.revision:
        _fail("revision", f"revision {made} is not newer than its base {held.revision}", "revision")
    return made


def _revision(value: object, path: str) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 < value <= MAX_SAFE_INTEGER:
        _fail("revision", "a revision is a positive safe integer", path)
    return value


def _check_operations(ids: Sequence[object], limits: Mapping[str, int]) -> None:
    if len(ids) > limits["maxNodes"]:
        _fail("count", f"{len(ids)} node operations; the ceiling is {limits['maxNodes']}")
    for name in ids:
        if type(name) is not str or not name:
            _fail("schema", "every node operation needs a non-empty id")
    if len(set(ids)) != len(ids):
        _fail("duplicate-id", f"node {_repeated(ids)!r} is in two operations")


def _check_places(removed: Iterable[str], added: Iterable[str], nodes: Mapping[str, Node]) -> None:
    for name in removed:
        if name not in nodes:
            _fail("schema", f"unknown node {name!r} cannot be removed", "removeNodeIds")
    for name in added:
        if name in nodes:
            _fail("duplicate-id", f"node {name!r} exists and cannot be added", "addNodes")


def _repeated(names: Iterable[object]) -> object:
    seen: set[object] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]  # add answers None


def _shaped_change(delta: Delta, held: Snapshot, nodes: Mapping[str, Node], limits: Mapping[str, int]) -> Change:
    """The fast way: the shape is sound, so only the rules of revisions and operations are left."""
    revision = _check_revisions(held, delta.session_id, delta.revision, delta.base_revision)
    added, updates, removed = delta.add_nodes or (), delta.update_nodes or (), delta.remove_node_ids or ()
    _check_operations([*(node.id for node in added), *(update.id for update in updates), *removed], limits)
    _check_places(removed, (node.id for node in added), nodes)
    updated = tuple(_patched(update, nodes) for update in updates)
    return Change(revision, removed, added, updated, _top(delta.snapshot) if delta.snapshot else {})


def _patched(update: NodeUpdate, nodes: Mapping[str, Node]) -> Node:
    node = nodes.get(update.id)
    if node is None:
        _fail("schema", f"unknown node {update.id!r} cannot be updated", "updateNodes")
    values: dict[str, Any] = {}
    if update.set:
        values = {name: value for name in _PATCHED if (value := getattr(update.set, name)) is not UNSET}
    for key in update.clear or ():
        values[NODE_ATTRIBUTES[key]] = UNSET
    return structs.replace(node, **values)


def _top(patch: SnapshotPatch) -> dict[str, Any]:
    values = {name: value for name in TOP_ATTRIBUTES.values() if (value := getattr(patch, name)) is not UNSET}
    return {**values, **{TOP_ATTRIBUTES[key]: UNSET for key in patch.clear or ()}}


class _Plain:
    """The plain way, for whatever the decoder did not vouch for: a wrong delta, or a right one in unusual spelling."""

    def __init__(self, held: Snapshot, nodes: Mapping[str, Node], limits: Mapping[str, int], whole: bool) -> None:
        self._held, self._nodes, self._limits, self._whole = held, nodes, limits, whole

    def change(self, delta: object, size: int) -> Change:
        """The change, or the first fault."""
        if type(delta) is not dict:
            _fail("schema", "a delta is an object")
        _check_size(size, self._limits)
        for key in delta:
            if key not in KEYS["Delta"]:
                _fail("schema", f"unknown key {key!r}")
        if delta.get("v") != 3:
            _fail("schema", "v must be 3", "v")
        revision = _check_revisions(self._held, delta.get("sessionId"), delta.get("revision"), delta.get("baseRevision"))
        added, updates, removed = (_group(delta, name) for name in ("addNodes", "updateNodes", "removeNodeIds"))
        _check_operations([*map(_id, added), *map(_id, updates), *removed], self._limits)
        _check_places(removed, map(_id, added), self._nodes)
        updated = {update["id"]: self._merged(update) for update in updates}
        patch, cleared = _snapshot_patch(delta.get("snapshot"))
        top = {**_plain(structs.replace(self._held, nodes=())), **patch, "revision": revision}
        for key in cleared:
            top.pop(key, None)
        part = self._shaped(top, set(removed), updated, {node["id"]: node for node in added})
        fields = {TOP_ATTRIBUTES[key]: getattr(part, TOP_ATTRIBUTES[key]) for key in (*patch, *cleared)}
        changed = {node.id: node for node in part.nodes}
        return Change(
            revision, tuple(removed), tuple(changed[_id(node)] for node in added), tuple(changed[name] for name in updated), fields
        )

    def _merged(self, update: dict[str, Any]) -> dict[str, Any]:
        """The plain node after one update. Its shape is asked later, with the tree's."""
        name = update["id"]
        node = self._nodes.get(name)
        if node is None:
            _fail("schema", f"unknown node {name!r} cannot be updated", "updateNodes")
        if not set(update) <= set(KEYS["NodeUpdate"]):
            _fail("schema", f"the update of {name!r} has an unknown key", "updateNodes")
        given, cleared = _or_empty(update.get("set"), {}), _or_empty(update.get("clear"), [])
        if type(given) is not dict or type(cleared) is not list or not (given or cleared):
            _fail("schema", f"the update of {name!r} must set or clear at least one field", "updateNodes")
        _check_cleared(cleared, name)
        for key in given:
            if key not in KEYS["NodePatch"] or key in cleared:
                _fail("schema", f"the update of {name!r} cannot set {key!r}, which is no field of its own or is cleared too", "updateNodes")
        for key in cleared:
            if key not in NODE_ATTRIBUTES or key in _REQUIRED:
                _fail("schema", f"the update of {name!r} cannot clear {key!r}", "updateNodes")
        merged: dict[str, Any] = {**_plain(node), **given}
        for key in cleared:
            merged.pop(key, None)
        return merged

    def _shaped(self, top: dict[str, Any], removed: set[str], updated: dict[str, Any], added: dict[str, Any]) -> Snapshot:
        """The shape of the changed snapshot; only of its changed nodes, since the others have been found sound already."""
        limits = self._limits
        order = [*(name for name in self._nodes if name not in removed), *added]
        values: dict[str, Any] = {**self._nodes, **updated, **added}
        size = len(encode({**top, "nodes": [values[name] for name in order]}))
        _check_size(size, limits)
        if not self._whole and len(order) <= limits["maxNodes"]:
            touched = [name for name in order if name in updated or name in added]
        else:
            touched = order
        try:
            return SNAPSHOTS.read_value({**top, "nodes": [_plain(values[name]) for name in touched]}, limits)
        except RemoteProtocolError as fault:
            head, *rest = fault.path.split(".")
            if head == "nodes" and rest:  # the place in the whole tree, not in the part
                rest[0] = str(order.index(touched[int(rest[0])]))
            raise RemoteProtocolError(fault.code, fault.detail, ".".join((head, *rest))) from None


def _plain(value: object) -> Any:
    return decode(encode(value))


def _id(item: object) -> Any:
    return item.get("id") if type(item) is dict else None


def _or_empty(value: object, empty: object) -> Any:
    return empty if value is None else value


def _group(delta: dict[str, Any], name: str) -> list[Any]:
    group: Any = _or_empty(delta.get(name), [])
    if type(group) is not list:
        _fail("schema", f"{name} must be an array", name)
    return group


def _check_cleared(cleared: Sequence[object], where: str) -> None:
    if not all(type(key) is str for key in cleared):
        _fail("schema", f"{where}: clear must name fields", "clear")
    if len(set(cleared)) != len(cleared):
        _fail("duplicate-id", f"{where}: {_repeated(cleared)!r} is cleared twice", "clear")


def _snapshot_patch(patch: object) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields that a delta sets on the snapshot, and those that it clears."""
    patch = _or_empty(patch, {})
    if type(patch) is not dict:
        _fail("schema", "the snapshot of a delta must be an object", "snapshot")
    for key in patch:
        if key not in KEYS["SnapshotPatch"]:
            _fail("schema", f"unknown key {key!r}", "snapshot")
    cleared = _or_empty(patch.get("clear"), [])
    if type(cleared) is not list:
        _fail("schema", "clear must be an array", "snapshot.clear")
    _check_cleared(cleared, "snapshot")
    for key in cleared:
        if key not in CLEARABLE_SNAPSHOT_FIELD or key in patch:
            _fail("schema", f"{key!r} cannot be cleared, or is set too", "snapshot.clear")
    return {key: value for key, value in patch.items() if key != "clear"}, tuple(cleared)


def named(node: Node) -> Iterator[str]:
    """The ids of other nodes that a node speaks of: its parent and the targets of its relations."""
    if node.parent_id is not UNSET:
        yield node.parent_id
    if node.labelled_by:
        yield from node.labelled_by
    if node.described_by:
        yield from node.described_by
