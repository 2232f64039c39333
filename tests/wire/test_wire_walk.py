"""The walker's order: which fault is the first one, where it is, and what a walk gives back."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.machines.wire.faults import Fault, Path, code_of, dotted
from triptych.machines.wire.walk import Mode, Walker

INTEGER = {"op": "integer", "low": 1, "high": 9}
TABLES: dict[str, dict[str, Any]] = {
    "Leaf": {"op": "object", "fields": {"n": (True, INTEGER), "word": (False, {"op": "enum", "values": ("a", True, None)})}},
    "First": {"op": "object", "unknown_first": True, "fields": {"n": (True, INTEGER)}},
    "Tree": {
        "op": "object",
        "fields": {
            "one": (True, {"op": "ref", "to": "Leaf"}),
            "many": (False, {"op": "array", "items": {"op": "ref", "to": "Leaf"}, "most": 2, "rules": ("unique-by:n",)}),
            "map": (False, {"op": "map", "keys": {"op": "string", "most": 2}, "values": INTEGER, "most": 2}),
            "few": (False, {"op": "array", "items": INTEGER, "limit": "maxFew", "unique": True}),
            "text": (False, {"op": "string", "least": 1, "most": 4, "unit": "utf16", "limit": "maxText"}),
            "either": (False, {"op": "types", "of": ((("integer",), INTEGER), (("string", "null"), {"op": "any"}))}),
        },
    },
    "Versioned": {
        "op": "object",
        "fields": {
            "n": (True, INTEGER),
            "version": (True, {"op": "coded", "code": "bad-version", "of": {"op": "const", "value": "v1"}}),
            "hue": (False, {"op": "coded", "code": "hue", "of": {"op": "ref", "to": "Leaf"}}),
        },
    },
    "A": {"op": "object", "fields": {"kind": (True, {"op": "const", "value": "a"}), "n": (True, INTEGER)}},
    "B": {"op": "object", "fields": {"kind": (True, {"op": "const", "value": "b"})}},
    "Union": {"op": "tagged", "tag": "kind", "members": {"a": "A", "b": "B"}},
    "Blunt": {"op": "tagged", "tag": "kind", "members": {"a": "A", "b": "B"}, "fault_at_union": True},
}
LIMITS = {"maxFew": 3, "maxText": 5}
WALKER = Walker(TABLES)


def walk(name: str, value: object, unknown: str = "refuse", tokens: bool = False) -> Any:
    return WALKER.walk(name, value, Mode(unknown, LIMITS, tokens))


def fault(name: str, value: object, **mode: Any) -> tuple[str, str]:
    with pytest.raises(Fault) as raised:
        walk(name, value, **mode)
    return dotted(raised.value.path), raised.value.keyword


LEAF = {"n": 1}


@pytest.mark.parametrize(
    ("value", "first"),
    [
        ([], ("", "type")),
        ({}, ("one", "required")),
        ({"one": None, "zz": 1}, ("one", "type")),
        ({"zz": 1, "one": {"n": 0, "yy": 1}}, ("one.n", "minimum")),  # depth first, declared keys before unknown ones
        ({"zz": 1, "one": {"n": 1, "yy": 1}}, ("one", "unknown")),
        ({"zz": 1, "one": LEAF}, ("", "unknown")),
        ({"one": LEAF, "text": "", "many": [{"n": 10}, 5, 5, 5]}, ("many.0.n", "maximum")),  # the items before the size
        ({"one": LEAF, "many": [LEAF, LEAF, LEAF]}, ("many", "maxItems")),  # the size before the rule
        ({"one": LEAF, "many": [LEAF, LEAF]}, ("many.1.n", "unique-by:n")),
        ({"one": LEAF, "map": {"a": 1, "b": 2, "c": 3}}, ("map", "maxProperties")),
        ({"one": LEAF, "map": {"abc": 0}}, ("map.abc", "maxLength")),  # a key before its value
        ({"one": LEAF, "map": {"a": 0}}, ("map.a", "minimum")),
        ({"one": LEAF, "few": [1, 2, 3, 4]}, ("few", "maxItems")),
        ({"one": LEAF, "few": [1, 1.0]}, ("few", "uniqueItems")),
        ({"one": LEAF, "text": ""}, ("text", "minLength")),
        ({"one": LEAF, "text": "abcde"}, ("text", "maxLength")),
        ({"one": LEAF, "text": "\U0001f600" * 3}, ("text", "maxLength")),  # three characters, six UTF-16 units
        ({"one": LEAF, "text": "ééé"}, ("text", "maxBytes")),
        ({"one": LEAF, "either": []}, ("either", "type")),
        ({"one": LEAF, "either": 10}, ("either", "maximum")),
        ({"one": {"n": True}}, ("one.n", "type")),
        ({"one": {"n": 1.5}}, ("one.n", "type")),
        ({"one": {"n": 1, "word": 1}}, ("one.word", "enum")),  # true is not 1
    ],
)
def test_first_fault(value: object, first: tuple[str, str]) -> None:
    assert fault("Tree", value) == first


def test_unknown_first() -> None:
    assert fault("First", {"n": 0, "zz": 1}) == ("", "unknown")
    assert fault("First", {"n": 0}) == ("n", "minimum")


def test_a_walk_normalises() -> None:
    value = {"one": {"n": 1.0, "word": True}, "few": [2.0], "either": None}
    clean = walk("Tree", value)
    assert clean == {"one": {"n": 1, "word": True}, "few": [2], "either": None}
    assert type(clean["one"]["n"]) is int
    assert type(value["one"]["n"]) is float  # the value itself is left alone


def test_only_integer_tokens() -> None:
    assert fault("Leaf", {"n": 1.0}, tokens=True) == ("n", "type")
    assert fault("Leaf", {"n": -0.0}, tokens=True) == ("n", "type")


def test_unknown_keys_by_mode() -> None:
    value = {"zz": 1, "one": {"n": 1, "yy": {"deep": 1}}, "many": [LEAF, {"n": 2, "xx": 0}]}
    clean = {"one": LEAF, "many": [LEAF, {"n": 2}]}
    assert walk("Tree", value, unknown="drop") == clean
    mode = Mode("report", LIMITS)
    assert WALKER.walk("Tree", value, mode) == clean
    assert mode.reported == ["one.yy", "many.1.xx", "zz"]


@pytest.mark.parametrize(
    ("value", "first", "code"),
    [
        ({"version": "v2"}, ("version", "const"), "bad-version"),  # asked before n, which is missing
        ({"version": 2}, ("n", "required"), "other"),
        ({"n": 1}, ("version", "required"), "other"),
        ({"n": 1, "version": 2}, ("version", "const"), "other"),
        ({"n": 1, "version": "v1", "hue": {"n": 99}}, ("hue.n", "maximum"), "hue"),
        ({"n": 99, "version": "v1"}, ("n", "maximum"), "number"),
    ],
)
def test_codes_that_a_schema_names_in_place(value: object, first: tuple[str, str], code: str) -> None:
    table = {"Versioned": {"default": "other", "rules": ({"keyword": "maximum", "code": "number"},)}}
    with pytest.raises(Fault) as raised:
        walk("Versioned", value)
    assert (dotted(raised.value.path), raised.value.keyword) == first
    assert code_of(raised.value, table, "Versioned")[0] == code


@pytest.mark.parametrize(
    ("value", "sharp", "blunt"),
    [
        (7, ("", "type"), ("", "type")),
        ({}, ("kind", "tag"), ("", "tag")),
        ({"kind": "c"}, ("kind", "tag"), ("", "tag")),
        ({"kind": ["a"]}, ("kind", "tag"), ("", "tag")),
        ({"kind": "a"}, ("n", "required"), ("", "union")),
        ({"kind": "b", "n": 1}, ("", "unknown"), ("", "union")),
    ],
)
def test_tagged_unions(value: object, sharp: tuple[str, str], blunt: tuple[str, str]) -> None:
    assert fault("Union", value) == sharp
    assert fault("Blunt", value) == blunt


@pytest.mark.parametrize(
    ("path", "keyword", "code"),
    [
        (("nodes", 3, "px", "role"), "enum", "role"),  # a segment anywhere
        (("rect", "row"), "type", "rect"),  # the last segment
        (("row", "x"), "type", "other"),
        (("nodes",), "maxItems", "count"),  # keyword and segment together
        (("px",), "maxItems", "other"),
        (("inner", "row"), "type", "wire-limit"),  # an embedded document, translated
        (("inner", "x"), "type", "wire-other"),
    ],
)
def test_code_tables(path: Path, keyword: str, code: str) -> None:
    tables = {
        "Root": {
            "default": "other",
            "rules": (
                {"segment": "role", "code": "role"},
                {"last": ("row", "column"), "code": "rect"},
                {"keyword": ("maxItems",), "segment": "nodes", "code": "count"},
            ),
            "embedded": ({"at": ("inner",), "root": "Inner", "label": "inner", "to": {"big": "wire-limit"}, "else": "wire-other"},),
        },
        "Inner": {"default": "small", "rules": ({"last": "row", "code": "big"},)},
    }
    said, detail = code_of(Fault(path, keyword, "why"), tables, "Root")
    assert said == code
    assert detail == ("why" if path[0] != "inner" else "inner big: why" if path[1] == "row" else "inner small: why")
