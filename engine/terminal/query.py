"""Finds nodes in a published tree: the steps that locators are made of, and the index of a tree that they look things up in. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from msgspec import UNSET

from ...errors import LocalProtocolError
from ...generated.termwright.models import KnownBoolean, KnownRect, Node, NodeState, Snapshot, ValueKnown
from ...generated.termwright.vocabulary import ROLE
from .matching import Wanted, matches, plain

#: Roles that a label or a name stands for something to fill in or to switch.
LABELLED: Final = frozenset({"textbox", "checkbox", "radio", "progressbar", "list", "table", "menu"})


class TreeIndex:
    """One published tree, with its nodes by id and the children of each."""

    def __init__(self, tree: Snapshot) -> None:
        self.tree = tree
        self.nodes = {node.id: node for node in tree.nodes}

    @cached_property
    def _children(self) -> dict[object, list[Node]]:
        children: dict[object, list[Node]] = {}
        for node in self.tree.nodes:
            children.setdefault(node.parent_id, []).append(node)
        return children

    def under(self, scope: Sequence[Node] | None) -> list[Node]:
        """The descendants of the nodes, each once, in the order of the tree; all nodes for None."""
        if scope is None:
            return list(self.tree.nodes)
        seen: set[str] = set()
        waiting = [child for node in scope for child in self._children.get(node.id, ())]
        while waiting:
            node = waiting.pop()
            if node.id not in seen:
                seen.add(node.id)
                waiting += self._children.get(node.id, ())
        return [node for node in self.tree.nodes if node.id in seen]

    def text(self, node: Node) -> str:
        """What the node says: its name, else the names of what is in it."""
        return plain(node.name) or plain(" ".join(inner.name for inner in self.under([node])))


@dataclass(frozen=True)
class Step:
    """One step of a locator: from the nodes so far (None at the start) to the next ones. `said` is how a caller would write it."""

    said: str
    pick: Callable[[TreeIndex, Sequence[Node] | None], list[Node]]


def by_role(role: str, name: Wanted | None, exact: bool) -> Step:
    """Nodes of a role, and of a name when one is given; raises `LocalProtocolError` (`unknown-role`)."""
    if role not in ROLE:
        raise LocalProtocolError("unknown-role", f"{role!r} is no role; there are {', '.join(ROLE)}", role)

    def pick(index: TreeIndex, scope: Sequence[Node] | None) -> list[Node]:
        return [node for node in index.under(scope) if node.role == role and (name is None or matches(name, index.text(node), exact))]

    return Step(f"get_by_role({_said(role, name, exact, 'name=')})", pick)


def by_test_id(test_id: str) -> Step:
    """Nodes whose test id is exactly this."""
    return Step(f"get_by_test_id({test_id!r})", lambda index, scope: [node for node in index.under(scope) if node.test_id == test_id])


def by_text(text: Wanted, exact: bool) -> Step:
    """Nodes whose own name or public value says the text: the innermost ones."""

    def pick(index: TreeIndex, scope: Sequence[Node] | None) -> list[Node]:
        said = [node for node in index.under(scope) if any(matches(text, words, exact) for words in _own_words(node))]
        outer = {parent for node in said for parent in _ancestors(index, node)}
        return [node for node in said if node.id not in outer]

    return Step(f"get_by_text({_said(text, None, exact)})", pick)


def by_label(text: Wanted, exact: bool) -> Step:
    """Nodes that a label of that text labels, or fields of that name."""

    def labelled(index: TreeIndex, node: Node) -> bool:
        labels = (index.nodes[name] for name in node.labelled_by or () if name in index.nodes)
        if any(matches(text, index.text(label), exact) for label in labels):
            return True
        return node.role in LABELLED and bool(node.name) and matches(text, node.name, exact)

    return Step(f"get_by_label({_said(text, None, exact)})", lambda index, scope: [n for n in index.under(scope) if labelled(index, n)])


def nth(number: int) -> Step:
    """The node of that number, from 0; from the end when negative."""

    def pick(index: TreeIndex, scope: Sequence[Node] | None) -> list[Node]:
        nodes = index.under(None) if scope is None else list(scope)
        return nodes[number : number + 1 or None]

    return Step({0: "first", -1: "last"}.get(number, f"nth({number})"), pick)


def filtered(text: Wanted | None, exact: bool, inner: Sequence[Step] | None, visible: bool | None, states: dict[str, object]) -> Step:
    """Of the nodes so far, those that say the text, hold a node that `inner` finds, can be seen, and declare the states."""
    for state in states:
        if state not in NodeState.__struct_fields__:
            raise LocalProtocolError("unknown-state", f"{state!r} is no state; there are {', '.join(NodeState.__struct_fields__)}", state)

    def fits(index: TreeIndex, node: Node) -> bool:
        if text is not None and not any(matches(text, words, exact) for words in (index.text(node), *_own_words(node))):
            return False
        if visible is not None and is_visible(node) is not visible:
            return False
        if any((state_of(node, state) or False) != value for state, value in states.items()):
            return False
        return inner is None or bool(pick_all(index, inner, [node]))

    def pick(index: TreeIndex, scope: Sequence[Node] | None) -> list[Node]:
        return [node for node in (index.under(None) if scope is None else scope) if fits(index, node)]

    words = [repr(text)] if text is not None else []
    words += [f"{name}={value!r}" for name, value in {**({} if visible is None else {"visible": visible}), **states}.items()]
    words += [f"has={'.'.join(step.said for step in inner)}"] if inner is not None else []
    return Step(f"filter({', '.join(words)})", pick)


def pick_all(index: TreeIndex, steps: Iterable[Step], scope: Sequence[Node] | None = None) -> list[Node]:
    """The nodes at the end of the steps."""
    for step in steps:
        scope = step.pick(index, scope)
    return index.under(None) if scope is None else list(scope)


def state_of(node: Node, state: str) -> object:
    """The state as declared; None when it was not."""
    value = UNSET if node.state is UNSET else getattr(node.state, state)
    return None if value is UNSET else value


def is_visible(node: Node) -> bool:
    """Whether the tree says that the node can be seen: displayed, not hidden, and with visible cells as far as cells are known."""
    geometry = node.geometry
    if state_of(node, "hidden") is True or not (type(geometry.displayed) is KnownBoolean and geometry.displayed.value):
        return False
    if type(geometry.visible_rect) is KnownRect:
        return geometry.visible_rect.value.width > 0 and geometry.visible_rect.value.height > 0
    return geometry.visible_rect.__struct_config__.tag != "absent"


def _own_words(node: Node) -> Iterator[str]:
    yield node.name
    if type(node.value) is ValueKnown and node.value.sensitivity == "public":
        yield node.value.value


def _ancestors(index: TreeIndex, node: Node) -> Iterator[str]:
    while node.parent_id is not UNSET and node.parent_id in index.nodes:
        yield node.parent_id
        node = index.nodes[node.parent_id]


def _said(first: object, second: object, exact: bool, label: str = "") -> str:
    words = [repr(first), *([f"{label}{second!r}"] if second is not None else []), *(["exact=True"] if exact else [])]
    return ", ".join(words)
