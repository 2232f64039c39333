"""Hypothesis strategies from our own schemas: messages that are valid, nearly valid, and spelled in every way that JSON allows."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

from hypothesis import strategies as st

from triptych.tools.bundle import Schema, target
from triptych.tools.gen_models import python_pattern
from wire_kit import bundle

CHARACTERS = st.text(st.sampled_from('aZ09 ./-_\\"é\u00df\u20ac\U0001f600\x00\n\x7f'), max_size=6)
KEYS = st.sampled_from(["k", "x-note", "role", "row", "revision", "__proto__", "constructor", ""])
NUMBERS = [0, 1, -1, 1.0, 0.5, -0.0, 2**53 - 1, 2**53, 2**63, 2**64 - 1, 2**64, 10**400, 1e300]
TEXTS = ["", "a", "é" * 300, "x" * 5000, "\ud800"]
CONTAINERS = [[], {}, [[[]]], {"k": {"k": []}}, {"__proto__": 1}]
# Copied, since `changed` changes what it draws in place.
EDGES = st.sampled_from([None, True, False, *NUMBERS, *TEXTS, *CONTAINERS]).map(copy.deepcopy)
ANYTHING = st.recursive(EDGES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2), max_leaves=4)


@cache
def message(protocol: str, root: str) -> st.SearchStrategy[Any]:
    """Values of one root, most of them valid; rules across fields are left to chance."""
    return _named(protocol, root)


@cache
def _named(protocol: str, name: str) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: _schema(protocol, bundle(protocol).defs[name]))


def _schema(protocol: str, schema: Schema) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _named(protocol, target(schema))
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return st.one_of([_schema(protocol, part) for part in schema[word]])
    kinds = schema.get("type")
    if kinds is None:
        return ANYTHING
    return st.one_of([_typed(protocol, kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)])


def _typed(protocol: str, kind: str, schema: Schema) -> st.SearchStrategy[Any]:
    if kind == "string":
        if "pattern" in schema:
            return st.from_regex(python_pattern(schema["pattern"]))
        return CHARACTERS.map(lambda text: text + "a" * (schema.get("minLength", 0) - len(text)))
    if kind == "integer":
        low, high = schema["minimum"], schema["maximum"]
        small = st.integers(max(low, -3), min(high, 40))
        return small | st.sampled_from([low, high])
    if kind == "number":
        return st.floats(
            allow_nan=False, allow_infinity=False, min_value=schema.get("minimum"), max_value=schema.get("maximum")
        ) | st.integers(0, 9)
    if kind == "array":
        least = schema.get("minItems", 0)
        return st.lists(_schema(protocol, schema["items"]), min_size=least, max_size=max(least, min(schema.get("maxItems", 3), 3)))
    if kind == "object" and "properties" in schema:
        required = set(schema.get("required", ()))
        parts = {key: _schema(protocol, inner) for key, inner in schema["properties"].items()}
        return st.fixed_dictionaries(
            {key: part for key, part in parts.items() if key in required},
            optional={key: part for key, part in parts.items() if key not in required},
        )
    if kind == "object":
        inner = schema.get("additionalProperties")
        return st.dictionaries(KEYS | CHARACTERS, _schema(protocol, inner) if isinstance(inner, dict) else ANYTHING, max_size=3)
    return {"boolean": st.booleans(), "null": st.none()}[kind]


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """The value with up to two places replaced, taken away or added to."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        holder = value
        while isinstance(holder, dict | list) and holder:
            key = draw(st.sampled_from(sorted(holder, key=repr))) if isinstance(holder, dict) else draw(st.integers(0, len(holder) - 1))
            inner = holder[key]
            if isinstance(inner, dict | list) and inner and draw(st.booleans()):
                holder = inner
                continue
            how = draw(st.sampled_from(["replace", "remove", "add"]))
            if how == "replace":
                holder[key] = draw(ANYTHING)
            elif how == "remove":
                del holder[key]
            elif isinstance(holder, dict):
                holder[draw(KEYS)] = draw(ANYTHING)
            else:
                holder.append(draw(ANYTHING))
            break
    return value


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> bytes:
    """The value as JSON text, now and then in a way that a careless reader gets wrong."""
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from([(",", ":"), (", ", ": ")])))
    body = text.encode("utf-8", "surrogatepass")
    trick = draw(st.sampled_from(["plain"] * 8 + list(TRICKS)))
    if trick == "flip" and body:
        at = draw(st.integers(0, len(body) - 1))
        return body[:at] + bytes([draw(st.integers(0, 255))]) + body[at + 1 :]
    if trick == "cut":
        return body[: draw(st.integers(0, len(body)))]
    old, new = TRICKS.get(trick, (b"", b""))
    return (new + body if trick == "bom" else body.replace(old, new, 1)) if new else body


TRICKS: dict[str, tuple[bytes, bytes]] = {
    "flip": (b"", b""),
    "cut": (b"", b""),
    "bom": (b"", b"\xef\xbb\xbf"),
    "fraction": (b":1", b":1.0"),
    "exponent": (b":1", b":1e0"),
    "minus zero": (b":0", b":-0"),
    "overflow": (b":1", b":1e999"),
    "long": (b":1", b":" + b"1" * 5000),
    "repeat": (b"{", b'{"type":7,'),
    "repeat id": (b"{", b'{"id":0,'),
    "surrogate bytes": (b'"a', b'"\xed\xa0\x80a'),
    "overlong": (b'"a', b'"\xc0\xafa'),
    "deep": (b":1", b":" + b"[" * 80 + b"]" * 80),
    "very deep": (b":{", b":" + b"[" * 200_000 + b"]" * 200_000 + b',"k":{'),
    "escaped key": (b'"k"', b'"\\u005f_proto__"'),
    "nan": (b":1", b":NaN"),
    "space": (b":", b" :\t\r\n "),
}
