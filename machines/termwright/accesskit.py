"""A semantic tree as AccessKit-compatible data, for hosts that hand trees to assistive technology or to tools that read them.

Pure conversion of an accepted snapshot. Focus becomes a property of the whole update, and children are listed by their parent, as AccessKit
has it. What it has no word for is left out: `level`, `orientation`, `positionInSet`, `setSize`, the action `select`. So is every value
that is not both known and public. termwright/3, AccessKit export.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final

from msgspec import UNSET

from ...errors import RemoteProtocolError
from ...generated.termwright.models import KnownRect, Node, NodeState, Rect, Snapshot, ValueKnown

__all__ = ["ACTIONS", "ROLES", "ROOT_TREE_ID", "node_id", "role_of", "to_accesskit"]

#: The tree that is no part of another one.
ROOT_TREE_ID: Final = "00000000-0000-0000-0000-000000000000"

#: AccessKit's word for each role. A textbox of several lines is a `multilineTextInput` (see `role_of`).
ROLES: Final = {
    **{role: role for role in ("application", "region", "dialog", "alert", "status", "list", "menu", "button", "tab", "heading")},
    **{role: role for role in ("table", "row", "cell")},
    "listitem": "listItem",
    "menuitem": "menuItem",
    "checkbox": "checkBox",
    "radio": "radioButton",
    "textbox": "textInput",
    "text": "label",
    "progressbar": "progressIndicator",
    "separator": "splitter",
    "scrollbar": "scrollBar",
    "generic": "genericContainer",
}
#: AccessKit's word for each action; `select` has none.
ACTIONS: Final = {
    "focus": "focus",
    "activate": "click",
    "toggle": "click",
    "setValue": "setValue",
    "expand": "expand",
    "scroll": "scrollIntoView",
}
# Attribute of NodeState and the property that it becomes, in the order of the output.
_FLAGS: Final = (
    ("disabled", "disabled"),
    ("selected", "selected"),
    ("expanded", "expanded"),
    ("busy", "busy"),
    ("modal", "modal"),
    ("hidden", "hidden"),
    ("readonly", "readOnly"),
    ("required", "required"),
    ("multiselectable", "multiselectable"),
)
_TOGGLED: Final = {True: "true", False: "false", "mixed": "mixed"}
#: Ids stay exact where a number is a double.
_ID_BITS: Final = 53


def node_id(name: str) -> int:
    """The AccessKit id of a node id: 53 bits of its SHA-256, and never 0."""
    first = int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8])
    return first % (1 << _ID_BITS) or 1


def role_of(node: Node) -> str:
    """The AccessKit role of a node."""
    if node.role == "textbox" and type(node.state) is NodeState and node.state.multiline is True:
        return "multilineTextInput"
    return ROLES[node.role]


def to_accesskit(
    snapshot: Snapshot,
    *,
    cell_size: tuple[float, float] | None = None,
    tree_id: str = ROOT_TREE_ID,
    toolkit_name: str | None = None,
    toolkit_version: str | None = None,
) -> dict[str, Any]:
    """`{"update": {nodes, tree, treeId, focus}, "cellBounds": {id: rect}}`, plain JSON values that share nothing with the snapshot.

    `cell_size` is the width and height of a cell in pixels: with it, nodes whose visible rectangle is known get `bounds`. `cellBounds`
    holds these rectangles in cells, by decimal id, in any case. Raises RemoteProtocolError (`dto-key`) when two node ids share one
    AccessKit id.
    """
    ids = _ids(snapshot.nodes)
    children: dict[str, list[int]] = {}
    for node in snapshot.nodes:
        if node.parent_id is not UNSET:
            children.setdefault(node.parent_id, []).append(ids[node.id])
    root = ids[snapshot.root_ids[0]] if snapshot.root_ids else None
    focused = (ids[node.id] for node in snapshot.nodes if type(node.state) is NodeState and node.state.focused is True)
    update: dict[str, Any] = {"nodes": [[ids[node.id], _converted(node, ids, children, cell_size)] for node in snapshot.nodes]}
    if root is not None:
        toolkit = {"toolkitName": toolkit_name, "toolkitVersion": toolkit_version}
        update["tree"] = {"root": root, **{key: text for key, text in toolkit.items() if text is not None}}
    update |= {"treeId": tree_id, "focus": next(focused, root or 0)}
    rects = {str(ids[node.id]): rect for node in snapshot.nodes if (rect := _visible(node)) is not None}
    cells = {key: {"row": rect.row, "column": rect.column, "width": rect.width, "height": rect.height} for key, rect in rects.items()}
    return {"update": update, "cellBounds": cells}


def _ids(nodes: Iterable[Node]) -> dict[str, int]:
    ids: dict[str, int] = {}
    owners: dict[int, str] = {}
    for node in nodes:
        ids[node.id] = made = node_id(node.id)
        if owners.setdefault(made, node.id) != node.id:
            raise RemoteProtocolError("dto-key", f"the node ids {owners[made]!r} and {node.id!r} have the same AccessKit id", "nodes")
    return ids


def _visible(node: Node) -> Rect | None:
    fact = node.geometry.visible_rect
    return fact.value if type(fact) is KnownRect else None


def _converted(node: Node, ids: dict[str, int], children: dict[str, list[int]], cell_size: tuple[float, float] | None) -> dict[str, Any]:
    out: dict[str, Any] = {"role": role_of(node)}
    if node.name:
        out["label"] = node.name
    if node.description is not UNSET:
        out["description"] = node.description
    if type(node.value) is ValueKnown and node.value.sensitivity == "public":
        out["value"] = node.value.value
    if node.id in children:
        out["children"] = children[node.id]
    rect = _visible(node)
    if rect is not None and cell_size is not None:
        width, height = cell_size
        right, bottom = (rect.column + rect.width) * width, (rect.row + rect.height) * height
        out["bounds"] = {"x0": rect.column * width, "y0": rect.row * height, "x1": right, "y1": bottom}
    actions = [ACTIONS[action] for action in node.actions or () if action in ACTIONS]
    if actions:
        out["actions"] = list(dict.fromkeys(actions))
    for key, targets in (("labelledBy", node.labelled_by), ("describedBy", node.described_by)):
        if targets:
            out[key] = [ids[name] for name in targets]
    if type(node.state) is NodeState:
        flags = ((key, getattr(node.state, attribute)) for attribute, key in _FLAGS)
        out |= {key: flag for key, flag in flags if flag is not UNSET}
        if node.state.checked is not UNSET:
            out["toggled"] = _TOGGLED[node.state.checked]
    return out
