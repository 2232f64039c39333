"""What the fast decoder leaves unchecked in a struct: the reader asks it before a fast yes.

msgspec checks types, keys, code point lengths and ranges in one pass. This checks the rest of the schema on the struct: lengths in
UTF-8 bytes or UTF-16 units, negotiated limits, unique items, keys of maps, x-rules, and everything inside free-form JSON. Types with
nothing left to check cost nothing: they have no function. A `no` is never an answer by itself, the walker then decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from .faults import Fault
from .rules import rule
from .text import TextFault, TextPolicy, parse, project
from .walk import SIZES, Mode, Node, Walker, all_different, utf8_size

Holds = Callable[[Any, Mode], bool]
INT64: Final = 2**63 - 1


class Remainder:
    """The remainder of one protocol's types under one text policy."""

    def __init__(self, tables: Mapping[str, Node], models: ModuleType, walker: Walker, policy: TextPolicy) -> None:
        self._tables = tables
        self._models = models
        self._walker = walker
        # What overflows a double is infinite on the slow path and exact here: not a fast yes, whatever the policy.
        self._policy = replace(policy, overflow="refuse")
        self._made: dict[str, Holds | None] = {}
        self._making: set[str] = set()

    def of(self, name: str) -> Holds | None:
        """Whether a struct of this type holds what is left to check; None when nothing is."""
        if name in self._making:  # a recursive type: ask again when everything is made
            return lambda value, mode: (made := self._made[name]) is None or made(value, mode)
        if name not in self._made:
            self._making.add(name)
            node = self._tables[name]
            self._made[name] = self._struct(name, node) if node["op"] == "object" else self.make(node)
            self._making.discard(name)
        return self._made[name]

    def make(self, node: Node) -> Holds | None:
        """What is left to check of one node; None when nothing is."""
        maker: Callable[[Node], Holds | None] = getattr(self, f"_{node['op']}")
        return maker(node)

    def _ref(self, node: Node) -> Holds | None:
        return self.of(node["to"])

    def _null(self, node: Node) -> Holds | None:
        return None

    _boolean = _enum = _number = _null

    def _coded(self, node: Node) -> Holds | None:
        return self.make(node["of"])

    def _const(self, node: Node) -> Holds | None:
        wanted = node["value"]
        return (lambda value, mode: value is wanted) if isinstance(wanted, bool) else None

    def _integer(self, node: Node) -> Holds | None:
        high = node.get("high", 0)
        return (lambda value, mode: bool(value <= high)) if high > INT64 else None

    def _string(self, node: Node) -> Holds | None:
        limit, most, rules = node.get("limit"), node.get("most", math.inf), node.get("rules", ())
        size, _ = SIZES[node.get("unit")]
        if limit is None and "unit" not in node and not rules:
            return None
        walk = self._by_walker(node) if rules else None

        def holds(value: str, mode: Mode) -> bool:
            if not value.isascii() and size(value) > most:
                return False
            if limit is not None and utf8_size(value) > mode.limits[limit]:
                return False
            return walk is None or walk(value, mode)

        return holds

    def _array(self, node: Node) -> Holds | None:
        item, limit, unique, rules = self.make(node["items"]), node.get("limit"), node.get("unique", False), _rules(node)
        if item is None and limit is None and not unique and not rules:
            return None

        def holds(value: list[Any], mode: Mode) -> bool:
            if limit is not None and len(value) > mode.limits[limit]:
                return False
            if item is not None and not all(item(inner, mode) for inner in value):
                return False
            if unique or rules:
                plain = msgspec.to_builtins(value)
                return (not unique or all_different(plain)) and all(passes(plain) for passes in rules)
            return True

        return holds

    def _map(self, node: Node) -> Holds | None:
        if node.get("free"):
            return self._free(node)
        keys = self.make(node["keys"]) if "keys" in node else None
        item, limit, reserved, rules = self.make(node["values"]), node.get("limit"), self._policy.reserved_keys, _rules(node)
        if keys is None and item is None and limit is None and not reserved and not rules:
            return None

        def holds(value: dict[str, Any], mode: Mode) -> bool:
            if not reserved.isdisjoint(value) or (limit is not None and len(value) > mode.limits[limit]):
                return False
            if keys is not None and not all(keys(key, mode) for key in value):
                return False
            if item is not None and not all(item(inner, mode) for inner in value.values()):
                return False
            return not rules or all(passes(msgspec.to_builtins(value)) for passes in rules)

        return holds

    def _struct(self, name: str, node: Node) -> Holds | None:
        attributes = {each.encode_name: each.name for each in msgspec.structs.fields(getattr(self._models, name))}
        made_fields = ((key, self.make(inner)) for key, (_, inner) in node["fields"].items())
        # A tag is no attribute of a struct, and msgspec has checked it.
        fields = [(attributes[key], made) for key, made in made_fields if made is not None and key in attributes]
        rules = _rules(node)
        if not fields and not rules:
            return None

        def holds(value: Any, mode: Mode) -> bool:
            for name, made in fields:
                inner = getattr(value, name, UNSET)
                if inner is not UNSET and not made(inner, mode):
                    return False
            return not rules or all(passes(msgspec.to_builtins(value)) for passes in rules)

        return holds

    def _tagged(self, node: Node) -> Holds | None:
        members = {name: made for name in node["members"].values() if (made := self.of(name)) is not None}
        if not members:
            return None

        def holds(value: Any, mode: Mode) -> bool:
            made = members.get(type(value).__name__)
            return made is None or made(value, mode)

        return holds

    def _types(self, node: Node) -> Holds | None:
        table: dict[str, Holds] = {}
        for kinds, inner in node["of"]:
            if (made := self.make(inner)) is not None:
                table.update(dict.fromkeys(kinds, made))
        if not table:
            return None

        def holds(value: Any, mode: Mode) -> bool:
            made = table.get(JSON_TYPES.get(type(value), "object"))
            return made is None or made(value, mode)

        return holds

    def _any(self, node: Node) -> Holds | None:
        return self._free(node)

    def _raw(self, node: Node) -> Holds | None:
        policy, inner = self._policy, self._by_walker(node["of"])

        def holds(value: Raw, mode: Mode) -> bool:
            mode.free_form.append(value)
            try:
                return inner(parse(bytes(value), policy), mode)
            except TextFault:
                return False

        return holds

    def _free(self, node: Node) -> Holds | None:
        """Free-form JSON is plain already, so the text rules and the walker look at it whole."""
        policy, inner = self._policy, self._by_walker(node)

        def holds(value: Any, mode: Mode) -> bool:
            mode.free_form.append(value)
            try:
                project(value, policy)
            except (TextFault, RecursionError):
                return False
            return inner(value, mode)

        return holds

    def _by_walker(self, node: Node) -> Holds:
        check = self._walker.make(node)

        def holds(value: Any, mode: Mode) -> bool:
            try:
                return bool(check(value, (), mode) == value)
            except Fault:
                return False

        return holds


JSON_TYPES: Final[dict[type, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
}


def _rules(node: Node) -> list[Callable[[Any], bool]]:
    def passing(name: str) -> Callable[[Any], bool]:
        check = rule(name)

        def passes(value: Any) -> bool:
            try:
                check(value, ())
            except Fault:
                return False
            return True

        return passes

    return [passing(name) for name in node.get("rules", ())]
