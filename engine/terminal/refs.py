"""Stable references to nodes, such as `n8@42`: a node's id and the revision in which it was seen. One `Refs` belongs to one session."""

from __future__ import annotations

from ...errors import LocalProtocolError
from ...generated.termwright.models import Node, Snapshot


class Refs:
    """Follows every published tree, so that a reference to a node that went and to another that came back under its id is told apart.

    `stable` says whether the adapter's ids outlive a frame (a probe of frame-local identity says no).
    """

    def __init__(self) -> None:
        self.stable = True
        self._tree: Snapshot | None = None
        self._since: dict[str, int] = {}  # since which revision each node of the tree has been there

    def published(self, tree: Snapshot) -> None:
        """Take note of the newest tree."""
        since, revision = self._since, tree.revision
        self._since = {node.id: since.get(node.id, revision) for node in tree.nodes}
        self._tree = tree

    def ref(self, node: Node) -> str:
        """The reference to a node of the newest tree."""
        return f"{node.id}@{self._tree.revision if self._tree is not None else 0}"

    def check(self, ref: str) -> str:
        """The id that the reference still means; raises `LocalProtocolError` (`stale-ref`, or `not-found` for what is no reference)."""
        name, at, number = ref.rpartition("@")
        if not (at and name and number.isascii() and number.isdigit()):
            raise LocalProtocolError("not-found", f"{ref!r} is no reference; it is written id@revision, such as n8@42", ref)
        newest = self._tree.revision if self._tree is not None else 0
        seen = int(number)
        if seen > newest:
            raise LocalProtocolError("stale-ref", f"revision {seen} has not been published; the newest is {newest}", ref)
        if not self.stable and seen != newest:
            raise LocalProtocolError("stale-ref", f"ids of this program hold for one revision; the newest is {newest}", ref)
        since = self._since.get(name)
        if since is None:
            raise LocalProtocolError("stale-ref", f"node {name!r} is not in revision {newest}", ref)
        if since > seen:
            raise LocalProtocolError("stale-ref", f"node {name!r} of revision {newest} came with revision {since}", ref)
        return name
