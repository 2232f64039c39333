"""Writes generated/<protocol>/validators.py: one lazily made decoder for each root, and the explaining walker as data.

machines/wire/walk.py interprets the data. It reads like the schema, in the schema's own key order, so a change is a one-line diff.
"""

from __future__ import annotations

from typing import Any

from .bundle import Bundle, Schema, snake, target
from .gen_models import header, python_pattern
from .schema_style import json_types, union_tags

Node = dict[str, Any]
STRING = {"minLength": "least", "maxLength": "most", "x-unit": "unit", "x-max-bytes": "limit"}
ARRAY = {"minItems": "least", "maxItems": "most", "x-max-items": "limit", "uniqueItems": "unique"}
NUMBER = {"minimum": "low", "maximum": "high"}
OBJECT = {"minProperties": "least", "maxProperties": "most", "x-max-items": "limit"}
WIDTH = 140


def validators(bundle: Bundle) -> str:
    """The text of validators.py."""
    reached = bundle.reached()
    functions = "\n\n".join(_decoder(name) for name in bundle.roots)
    roots = {name: root.direction for name, root in bundle.roots.items()}
    codes = {name: dict(root.codes or {}) for name, root in bundle.roots.items()}
    tables = "\n".join(f"    {name!r}: {layout(node(bundle, bundle.defs[name]), 4)}," for name in reached)
    decoders = "\n".join(f"    {name!r}: {snake(name)}_decoder," for name in bundle.roots)
    parts = [
        header(bundle.protocol, f"The decoders of {bundle.protocol}, and what machines/wire/walk.py needs to explain a refusal."),
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Callable",
        "from functools import cache",
        "from typing import Any, Final",
        "",
        "from msgspec.json import Decoder",
        "",
        "from . import models",
        "",
        "",
        functions,
        "",
        f"DECODERS: Final[dict[str, Callable[[], Decoder[Any]]]] = {{\n{decoders}\n}}",
        '"""Each root and the function that makes its decoder, once, when it is first needed."""',
        "",
        f"DIRECTIONS: Final[dict[str, str]] = {layout(roots)}",
        '"""What each root does with an unknown key: strict refuses it, tolerant drops it, report names it."""',
        "",
        f"CODES: Final[dict[str, dict[str, Any]]] = {layout(codes)}",
        '"""Which stable code a fault of each root has; the first rule that fits wins."""',
        "",
        f"WALK: Final[dict[str, dict[str, Any]]] = {{\n{tables}\n}}",
        '"""The walker: each type as the schema says it, keys in declared order."""',
    ]
    return "\n".join(parts) + "\n"


def node(bundle: Bundle, schema: Schema) -> Node:
    """One schema as walker data."""
    out = _raw(_plain(bundle, schema), schema)
    if isinstance(schema.get("x-code"), str):
        out = {"op": "coded", "code": schema["x-code"], "of": out}
    return out


def _raw(inner: Node, schema: Schema) -> Node:
    return {"op": "raw", "of": inner} if schema.get("x-python") == "raw-json" else inner


def _plain(bundle: Bundle, schema: Schema) -> Node:
    if "$ref" in schema:
        return {"op": "ref", "to": target(schema)}
    if "const" in schema:
        return {"op": "const", "value": schema["const"]}
    if "enum" in schema:
        return {"op": "enum", "values": tuple(schema["enum"])}
    if "discriminator" in schema:
        tagged = {"op": "tagged", "tag": schema["discriminator"]["propertyName"], "members": union_tags(bundle, schema)}
        return {**tagged, "fault_at_union": True} if schema.get("x-fault-at") == "union" else tagged
    if "oneOf" in schema or "anyOf" in schema:
        parts = schema.get("oneOf") or schema["anyOf"]
        return {"op": "types", "of": tuple((json_types(bundle, part), node(bundle, part)) for part in parts)}
    kinds = schema.get("type", ())
    if isinstance(kinds, list):
        return {"op": "types", "of": tuple(((kind,), _typed(bundle, kind, schema)) for kind in kinds)}
    return _typed(bundle, kinds, schema) if kinds else {"op": "any"}


def _typed(bundle: Bundle, kind: str, schema: Schema) -> Node:
    rules = _rules(schema)
    if kind == "string":
        out = {"op": "string", **_renamed(schema, STRING), **rules}
        return {**out, "pattern": python_pattern(schema["pattern"])} if "pattern" in schema else out
    if kind in ("integer", "number"):
        return {"op": kind, **_renamed(schema, NUMBER)}
    if kind == "array":
        return {"op": "array", "items": node(bundle, schema["items"]), **_renamed(schema, ARRAY), **rules}
    if kind == "object" and "properties" in schema:
        required = schema.get("required", ())
        fields = {key: (key in required, node(bundle, inner)) for key, inner in schema["properties"].items()}
        first = {"unknown_first": True} if schema.get("x-unknown") == "first" else {}
        return {"op": "object", "fields": fields, **first, **rules}
    if kind == "object":
        values = schema.get("additionalProperties")
        keys = {"keys": node(bundle, schema["propertyNames"])} if "propertyNames" in schema else {}
        free = {"free": True} if schema.get("x-python") == "json-object" else {}
        inner = node(bundle, values) if isinstance(values, dict) else {"op": "any"}
        return {"op": "map", **keys, "values": inner, **_renamed(schema, OBJECT), **free, **rules}
    return {"op": kind}


def _rules(schema: Schema) -> Node:
    rules = schema.get("x-rule", ())
    return {"rules": (rules,) if isinstance(rules, str) else tuple(rules)} if rules else {}


def _renamed(schema: Schema, names: dict[str, str]) -> Node:
    return {ours: schema[theirs] for theirs, ours in names.items() if theirs in schema}


def _decoder(name: str) -> str:
    return f"@cache\ndef {snake(name)}_decoder() -> Decoder[models.{name}]:\n    return Decoder(models.{name})\n"


def layout(value: Any, indent: int = 0) -> str:
    """A literal on one line where it fits, else one line an entry; the same text every time."""
    flat = literal(value)
    if len(flat) + indent <= WIDTH - 20 or not isinstance(value, dict | tuple | list) or not value:
        return flat
    pad, close = " " * (indent + 4), " " * indent
    if isinstance(value, dict):
        rows = [f"{pad}{literal(key)}: {layout(inner, indent + 4)},\n" for key, inner in value.items()]
        return "{\n" + "".join(rows) + close + "}"
    rows = [f"{pad}{layout(inner, indent + 4)},\n" for inner in value]
    return "(\n" + "".join(rows) + close + ")"


def literal(value: Any) -> str:
    """A plain value as Python text; lists become tuples, so that nobody changes a shared table."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)
