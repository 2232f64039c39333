"""A semantic tree as text, one line a node, for people and for the messages of failed waits. Pure; the engine shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from ...generated.termwright.models import Node, Rect, Snapshot, ValueKnown


def format_tree(snapshot: Snapshot, *, refs: bool = False) -> str:
    """The tree, indented by depth in snapshot order: `button "Approve" #approve [focused] at 4,2 16x3`.

    After the role and the name come the test id, the states that are set, the value where it is known and public, and the visible (else the
    intended) rectangle as column,row widthxheight; with `refs` also its reference, as `[w15@42]`. A node is one line whatever it is called.
    """
    children: dict[object, list[Node]] = {}
    for node in snapshot.nodes:
        children.setdefault(node.parent_id, []).append(node)
    by_id = {node.id: node for node in snapshot.nodes}
    lines = []
    waiting = [(0, by_id[root]) for root in reversed(snapshot.root_ids)]
    while waiting:
        depth, node = waiting.pop()
        ref = f" [{_bare(node.id)}@{snapshot.revision}]" if refs else ""
        lines.append("  " * depth + " ".join(_words(node)) + ref)
        waiting += [(depth + 1, child) for child in reversed(children.get(node.id, ()))]
    return "\n".join(lines)


def _words(node: Node) -> Iterator[str]:
    yield node.role if node.role != "generic" else f"generic({_bare(str(node.framework_type))})"
    if node.name:
        yield _quoted(node.name)
    if node.test_id is not UNSET and node.test_id:
        yield f"#{_bare(node.test_id)}"
    if node.state is not UNSET:
        states = msgspec.to_builtins(node.state)
        shown = [name if value is True else f"{name}={value}" for name, value in states.items() if value is not False]
        if shown:
            yield f"[{' '.join(shown)}]"
    value = node.value
    if type(value) is ValueKnown and value.sensitivity == "public":
        yield f"value={_quoted(value.value)}"
    for fact in (node.geometry.visible_rect, node.geometry.intended_rect):
        rect = getattr(fact, "value", None)
        if type(rect) is Rect:
            yield f"at {rect.column},{rect.row} {rect.width}x{rect.height}"
            break


def _quoted(text: str) -> str:
    """As a JSON string, in which a line feed is two characters."""
    return json.dumps(text, ensure_ascii=False)


def _bare(text: str) -> str:
    return _quoted(text)[1:-1]
