"""Explains slowly: walks a plain JSON value in the schema's declared key order and raises the first Fault. Called by the reader.

The tables of generated/<protocol>/validators.py are data; `Walker` makes them into one checking function a type, when first asked.
An object is asked in this order: its type; each declared key (missing and required is a fault at that key; else depth first); its
unknown keys, at the object's own path; its x-rules. An array: its type, its items in order, its size, uniqueness, its x-rules. A tagged
union: its type, its tag (before one that names no member the constants that every member declares first), its member. A walk answers a new,
normalised value (JavaScript's 1.0 is the integer 1, dropped keys are gone).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Raw

from .faults import Fault, Path, UnknownKey, dotted
from .rules import Rule, rule

Node = Mapping[str, Any]
PYTHON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


@dataclass(frozen=True)
class Mode:
    """How one walk goes.

    `unknown` is what happens to an unknown key: `refuse`, `drop`, `report` (dropped, its dotted path appended to `reported`), or `keep`
    (it stays in the value, where its sender put it and as it is).
    `limits` are the negotiated ceilings by name. With `int_tokens_only` a float is never an integer, so 1.0 and -0 are refused.
    `free_form` collects what the remainder met of free-form JSON.
    """

    unknown: str = "refuse"
    limits: Mapping[str, int] = field(default_factory=dict)
    int_tokens_only: bool = False
    reported: list[UnknownKey] = field(default_factory=list)
    free_form: list[Any] = field(default_factory=list)


Check = Callable[[Any, Path, Mode], Any]


class Walker:
    """The walker of one protocol. `walk` is pure: the same value, type and mode give the same answer."""

    def __init__(self, tables: Mapping[str, Node]) -> None:
        self._tables = tables
        self._checks: dict[str, Check] = {}

    def walk(self, name: str, value: object, mode: Mode) -> Any:
        """The normalised value of this type. Raises Fault for the first fault."""
        return self.check(name)(value, (), mode)

    def check(self, name: str) -> Check:
        """The checking function of one type, made once."""
        if name not in self._checks:
            self._checks[name] = self.make(self._tables[name])
        return self._checks[name]

    def make(self, node: Node) -> Check:
        """The checking function of one node of the tables."""
        maker: Callable[[Node], Check] = getattr(self, f"_{node['op']}")
        return maker(node)

    def _ref(self, node: Node) -> Check:
        name = node["to"]
        checks = self._checks

        def check(value: Any, path: Path, mode: Mode) -> Any:
            # Looked up late: a recursive type refers to itself before it is made.
            return (checks.get(name) or self.check(name))(value, path, mode)

        return check

    def _any(self, node: Node) -> Check:
        return lambda value, path, mode: value

    def _null(self, node: Node) -> Check:
        return _typed("null")

    def _boolean(self, node: Node) -> Check:
        return _typed("boolean")

    def _const(self, node: Node) -> Check:
        wanted = node["value"]
        shown = json.dumps(wanted)

        def check(value: Any, path: Path, mode: Mode) -> Any:
            if not _same(value, wanted, mode):
                raise Fault(path, "const", f"expected {shown}")
            return wanted

        return check

    def _enum(self, node: Node) -> Check:
        values = node["values"]
        words = frozenset(value for value in values if isinstance(value, str))
        others = tuple(value for value in values if not isinstance(value, str))
        shown = ", ".join(map(json.dumps, values))

        def check(value: Any, path: Path, mode: Mode) -> Any:
            if type(value) is str and value in words:
                return value
            for other in others:
                if _same(value, other, mode):
                    return other
            raise Fault(path, "enum", f"expected one of {shown}")

        return check

    def _integer(self, node: Node) -> Check:
        low, high = node.get("low"), node.get("high")

        def check(value: Any, path: Path, mode: Mode) -> int:
            if type(value) is float and value.is_integer() and not mode.int_tokens_only:
                value = int(value)
            if type(value) is not int:
                raise Fault(path, "type", "expected an integer")
            _between(value, low, high, path)
            return value

        return check

    def _number(self, node: Node) -> Check:
        low, high = node.get("low"), node.get("high")

        def check(value: Any, path: Path, mode: Mode) -> int | float:
            if type(value) not in (int, float) or not _finite(value):
                raise Fault(path, "type", "expected a finite number")
            _between(value, low, high, path)
            number: int | float = value
            return number

        return check

    def _string(self, node: Node) -> Check:
        least, most, limit = node.get("least", 0), node.get("most", math.inf), node.get("limit")
        size, units = SIZES[node.get("unit")]
        search = re.compile(node["pattern"]).search if "pattern" in node else None
        rules = _rules(node)

        def check(value: Any, path: Path, mode: Mode) -> str:
            if type(value) is not str:
                raise Fault(path, "type", "expected a string")
            if len(value) < least:
                raise Fault(path, "minLength", f"must have at least {least} characters")
            if len(value) > most or (not value.isascii() and size(value) > most):
                raise Fault(path, "maxLength", f"must have at most {most} {units}")
            if limit is not None and utf8_size(value) > mode.limits[limit]:
                raise Fault(path, "maxBytes", f"must have at most {mode.limits[limit]} UTF-8 bytes ({limit})")
            if search is not None and search(value) is None:
                raise Fault(path, "pattern", f"must match {node['pattern']}")
            for each in rules:
                each(value, path)
            return value

        return check

    def _array(self, node: Node) -> Check:
        item, unique, rules = self.make(node["items"]), node.get("unique", False), _rules(node)
        least, most, limit = node.get("least", 0), node.get("most", math.inf), node.get("limit")

        def check(value: Any, path: Path, mode: Mode) -> list[Any]:
            if type(value) is not list:
                raise Fault(path, "type", "expected an array")
            out = [item(inner, (*path, index), mode) for index, inner in enumerate(value)]
            ceiling = most if limit is None else mode.limits[limit]
            if len(out) < least:
                raise Fault(path, "minItems", f"must have at least {least} items")
            if len(out) > ceiling:
                raise Fault(path, "maxItems", f"must have at most {ceiling} items")
            if unique and not all_different(out):
                raise Fault(path, "uniqueItems", "must not repeat an item")
            for each in rules:
                each(out, path)
            return out

        return check

    def _map(self, node: Node) -> Check:
        keys = self.make(node["keys"]) if "keys" in node else None
        item, rules = self.make(node["values"]), _rules(node)
        least, most, limit = node.get("least", 0), node.get("most", math.inf), node.get("limit")

        def check(value: Any, path: Path, mode: Mode) -> dict[str, Any]:
            if type(value) is not dict:
                raise Fault(path, "type", "expected an object")
            ceiling = most if limit is None else mode.limits[limit]
            if len(value) < least:
                raise Fault(path, "minProperties", f"must have at least {least} properties")
            if len(value) > ceiling:
                raise Fault(path, "maxProperties", f"must have at most {ceiling} properties")
            out = {}
            for key, inner in value.items():
                if keys is not None:
                    keys(key, (*path, key), mode)
                out[key] = item(inner, (*path, key), mode)
            for each in rules:
                each(out, path)
            return out

        return check

    def _object(self, node: Node) -> Check:
        fields = {key: (required, self.make(inner)) for key, (required, inner) in node["fields"].items()}
        first = [(key, *_coded_const(inner)) for key, (_, inner) in node["fields"].items() if _coded_const(inner)]
        unknown_first, rules = node.get("unknown_first", False), _rules(node)

        def check(value: Any, path: Path, mode: Mode) -> dict[str, Any]:
            if type(value) is not dict:
                raise Fault(path, "type", "expected an object")
            for key, wanted, code in first:
                if type(value.get(key)) is type(wanted) and value[key] != wanted:
                    raise Fault((*path, key), "const", f"expected {json.dumps(wanted)}", code)
            if unknown_first:
                _unknown(value, fields, path, mode)
            out = {}
            for key, (required, inner) in fields.items():
                if key in value:
                    out[key] = inner(value[key], (*path, key), mode)
                elif required:
                    raise Fault((*path, key), "required", f"{key} is missing")
            if len(out) != len(value) and not unknown_first:
                _unknown(value, fields, path, mode)
            for each in rules:
                each(out, path)
            return {**value, **out} if mode.unknown == "keep" else out

        return check

    def _tagged(self, node: Node) -> Check:
        tag, at_union = node["tag"], node.get("fault_at_union", False)
        members = {value: self.make({"op": "ref", "to": name}) for value, name in node["members"].items()}
        before = self._constants_before(tag, node["members"].values())
        shown = ", ".join(map(json.dumps, members))

        def check(value: Any, path: Path, mode: Mode) -> Any:
            if type(value) is not dict:
                raise Fault(path, "type", "expected an object")
            word = value.get(tag)
            if type(word) is not str or word not in members:
                for key, constant in before.items():
                    if key not in value:
                        raise Fault((*path, key), "required", f"{key} is missing")
                    constant(value[key], (*path, key), mode)
                raise Fault(path if at_union else (*path, tag), "tag", f"expected {tag} to be one of {shown}")
            if not at_union:
                return members[word](value, path, mode)
            try:
                return members[word](value, path, mode)
            except Fault as fault:
                raise Fault(path, "union", f"{dotted(fault.path[len(path) :]) or word}: {fault.detail}", fault.code) from None

        return check

    def _constants_before(self, tag: str, members: Iterable[str]) -> dict[str, Check]:
        """The constants that every member declares before its tag, such as a version: of another version no tag is known."""
        declared: list[dict[str, Any]] = []
        for name in members:
            found: dict[str, Any] = {}
            for key, (_, inner) in self._resolved({"op": "ref", "to": name})["fields"].items():
                if key == tag:
                    break
                if (constant := self._resolved(inner))["op"] == "const":
                    found[key] = constant
            declared.append(found)
        first, *others = declared
        return {key: self.make(constant) for key, constant in first.items() if all(other.get(key) == constant for other in others)}

    def _resolved(self, node: Node) -> Node:
        while node["op"] == "ref":
            node = self._tables[node["to"]]
        return node

    def _types(self, node: Node) -> Check:
        table: dict[type, Check] = {}
        for kinds, inner in node["of"]:
            check_one = self.make(inner)
            for kind in kinds:
                # An integer alternative beside a number takes the integers, whichever stands first.
                for python in PYTHON_TYPES[kind] if kind != "integer" else (int,):
                    table[python] = check_one if kind == "integer" or python not in table else table[python]
                if kind == "integer":
                    table.setdefault(float, check_one)
        shown = " or ".join(dict.fromkeys(kind for kinds, _ in node["of"] for kind in kinds))

        def check(value: Any, path: Path, mode: Mode) -> Any:
            inner = table.get(type(value))
            if inner is None:
                raise Fault(path, "type", f"expected {shown}")
            return inner(value, path, mode)

        return check

    def _coded(self, node: Node) -> Check:
        code, inner = node["code"], self.make(node["of"])
        if _coded_const(node):
            return inner  # the object asks it first; what is left (missing, wrong type) has the root's ordinary code

        def check(value: Any, path: Path, mode: Mode) -> Any:
            try:
                return inner(value, path, mode)
            except Fault as fault:
                raise Fault(fault.path, fault.keyword, fault.detail, fault.code or code) from None

        return check

    def _raw(self, node: Node) -> Check:
        inner = self.make(node["of"])
        return lambda value, path, mode: Raw(json.dumps(inner(value, path, mode), separators=(",", ":")).encode())


def utf8_size(text: str) -> int:
    """The UTF-8 length in bytes; a lone surrogate counts three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def utf16_size(text: str) -> int:
    """The length in UTF-16 code units, as JavaScript counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


SIZES: Final[dict[str | None, tuple[Callable[[str], int], str]]] = {
    None: (len, "characters"),
    "utf8": (utf8_size, "UTF-8 bytes"),
    "utf16": (utf16_size, "UTF-16 code units"),
}


def all_different(items: Iterable[Any]) -> bool:
    """Whether no item repeats; structured items are compared by their JSON, where true is not 1."""
    texts = [json.dumps(item, sort_keys=True) for item in items]
    return len(set(texts)) == len(texts)


def _typed(kind: str) -> Check:
    (wanted,) = PYTHON_TYPES[kind]

    def check(value: Any, path: Path, mode: Mode) -> Any:
        if type(value) is not wanted:
            raise Fault(path, "type", f"expected {kind}")
        return value

    return check


def _coded_const(node: Node) -> tuple[Any, str] | tuple[()]:
    """The value and code of a constant that is asked before the rest of its object, such as a protocol version."""
    if node["op"] == "coded" and node["of"]["op"] == "const":
        return node["of"]["value"], node["code"]
    return ()


def _same(value: Any, wanted: Any, mode: Mode) -> bool:
    """JSON equality: true is not 1, and 1.0 is 1 unless only integer tokens count."""
    if type(value) is float and type(wanted) is int:
        return not mode.int_tokens_only and value == wanted
    return type(value) is type(wanted) and bool(value == wanted)


def _finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _between(value: int | float, low: int | float | None, high: int | float | None, path: Path) -> None:
    if low is not None and value < low:
        raise Fault(path, "minimum", f"must be at least {low}")
    if high is not None and value > high:
        raise Fault(path, "maximum", f"must be at most {high}")


def _unknown(value: Mapping[str, Any], fields: Mapping[str, Any], path: Path, mode: Mode) -> None:
    if mode.unknown in ("drop", "keep"):
        return
    for key in value:
        if key not in fields:
            if mode.unknown == "refuse":
                raise Fault(path, "unknown", f"unknown key {key!r}")
            mode.reported.append(UnknownKey(key, path))


def _rules(node: Node) -> tuple[Rule, ...]:
    return tuple(rule(name) for name in node.get("rules", ()))
