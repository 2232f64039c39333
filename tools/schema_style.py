"""The style rules of the schemas; `make gen` refuses what breaks one, since every break yields wrong code in silence.

schemas/README.md gives each rule with its reason. The check answers every fault at once, each with its place and the remedy.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator

import msgspec

from ..machines.wire.rules import is_rule
from .bundle import Bundle, Schema, SchemaError, subschemas, target

COMMON = {"description", "title", "default", "examples", "x-code", "x-python"}
KEYWORDS = {
    "string": {"minLength", "maxLength", "pattern", "x-unit", "x-max-bytes", "x-rule"},
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"},
    "boolean": set(),
    "null": set(),
    "array": {"items", "minItems", "maxItems", "uniqueItems", "x-max-items", "x-rule"},
    "object": {
        *("properties", "required", "additionalProperties", "minProperties", "maxProperties", "propertyNames"),
        *("x-rule", "x-unknown", "x-max-items"),
    },
}
UNIONS = {"oneOf", "anyOf", "discriminator", "x-fault-at"}
PYTHON = {"json-object", "raw-json"}
# What a generated module imports, and what every module has.
TAKEN = {*dir(builtins), *keyword.kwlist, "Annotated", "Any", "Literal", "TypeAlias", "Optional", "Union", *dir(msgspec)}


def check(bundle: Bundle) -> None:
    """Raises SchemaError with every broken rule of the bundle."""
    faults = list(_faults(bundle))
    if faults:
        raise SchemaError(bundle.protocol, faults)


def json_types(bundle: Bundle, schema: Schema) -> tuple[str, ...]:
    """The JSON types that a schema admits; empty for a schema that admits any."""
    schema = bundle.resolve(schema)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return tuple(dict.fromkeys(_json_type(value) for value in values))
    if "oneOf" in schema or "anyOf" in schema:
        inner = [json_types(bundle, part) for part in schema.get("oneOf") or schema["anyOf"]]
        return tuple(dict.fromkeys(name for part in inner for name in part))
    named = schema.get("type", ())
    return (named,) if isinstance(named, str) else tuple(named)


def union_tags(bundle: Bundle, schema: Schema) -> dict[str, str]:
    """The members of a tagged union: tag value → `$def` name."""
    tag = schema["discriminator"]["propertyName"]
    return {bundle.defs[target(part)]["properties"][tag]["const"]: target(part) for part in schema["oneOf"]}


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


def _faults(bundle: Bundle) -> Iterator[str]:
    for name, schema in bundle.defs.items():
        place = f"{bundle.home[name]}: {name}"
        if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
            yield f"{place}: name it in PascalCase; the name becomes a class"
        elif name in TAKEN:
            yield f"{place}: the name is taken in Python, typing or msgspec; choose another"
        if not schema.get("description") and "$ref" not in schema:
            yield f"{place}: has no description; it becomes the docstring"
        yield from _schema(bundle, schema, place, top=True)
    yield from _tagged(bundle)
    yield from _roots(bundle)


def _schema(bundle: Bundle, schema: Schema, place: str, *, top: bool) -> Iterator[str]:
    sentence = schema.get("description", "x.")
    if "\n" in sentence or not sentence.endswith((".", "?")):
        yield f"{place}: the description is one line that ends as a sentence"
    if schema.get("x-python", "json-object") not in PYTHON:
        yield f"{place}: x-python is one of {', '.join(sorted(PYTHON))}"
    yield from _keywords(schema, place)
    yield from _kind(bundle, schema, place, top=top)
    for rule in _listed(schema.get("x-rule", [])):
        if not is_rule(rule):
            yield f"{place}: x-rule {rule!r} is not in machines/wire/rules.py"
    yield from _bounds(bundle, schema, place)
    for step, inner in subschemas(schema):
        yield from _schema(bundle, inner, place + step, top=False)


def _keywords(schema: Schema, place: str) -> Iterator[str]:
    allowed = set(COMMON)
    if "$ref" in schema:
        allowed |= {"$ref"}
    elif "const" in schema or "enum" in schema:
        allowed |= {"const", "enum", "type"}
    elif "oneOf" in schema or "anyOf" in schema:
        allowed |= UNIONS
    else:
        allowed |= {"type"}.union(*(KEYWORDS.get(name, set()) for name in _listed(schema.get("type", []))))
    for word in schema:
        if word not in allowed:
            yield f"{place}: {word} is not understood here; generators would drop it in silence"


def _kind(bundle: Bundle, schema: Schema, place: str, *, top: bool) -> Iterator[str]:
    names = _listed(schema.get("type", []))
    for name in names:
        if name not in KEYWORDS:
            yield f"{place}: type {name!r} is no JSON type"
    if "properties" in schema:
        if not top:
            yield f"{place}: an inline object steals its class name from the property; give it a $def"
        if "type" not in schema:
            yield f'{place}: say "type": "object"'
        for key in schema.get("required", ()):
            if key not in schema["properties"]:
                yield f"{place}: requires {key}, which is no property"
        if isinstance(schema.get("additionalProperties"), dict):
            yield f"{place}: typed additionalProperties beside properties are dropped in silence; use one or the other"
    elif "object" in names and not isinstance(schema.get("additionalProperties"), dict) and schema.get("x-python") != "json-object":
        yield f"{place}: an object says its properties, or the type of its values in additionalProperties"
    if any(isinstance(word, float) for word in schema.get("enum", ())):
        yield f"{place}: an enumeration of fractions becomes plain float"
    if "array" in names and "items" not in schema:
        yield f"{place}: an array says its items"
    if top and "const" in schema and "type" not in schema:
        yield f"{place}: a const without type in a $def becomes Any; say its type"
    if "discriminator" in schema:
        return
    for word in ("oneOf", "anyOf"):
        parts = schema.get(word, ())
        if parts and not top and {"type": "null"} not in parts:
            yield f"{place}: an inline union; give it a $def"
        if len(set(names := [name for part in parts for name in (json_types(bundle, part) or ("any",))])) != len(names):
            yield f"{place}: alternatives without a discriminator differ in their JSON type, or the walker cannot choose"


def _bounds(bundle: Bundle, schema: Schema, place: str) -> Iterator[str]:
    if "integer" in _listed(schema.get("type", [])) and "const" not in schema and "number" not in _listed(schema["type"]):
        for word in ("minimum", "maximum"):
            if not isinstance(schema.get(word), int):
                yield f"{place}: an integer says both bounds; {word} is missing"
    if schema.get("x-unit", "utf8") not in ("utf8", "utf16"):
        yield f"{place}: x-unit is utf8 or utf16; without it lengths are in code points"
    ceilings = bundle.constants.get("ABSOLUTE_LIMITS", {})
    for word in ("x-max-bytes", "x-max-items"):
        if word in schema and schema[word] not in bundle.constants.get("DEFAULT_LIMITS", {}):
            yield f"{place}: {word} names {schema[word]}, which x-vocabulary DEFAULT_LIMITS lacks"
    plain = "maxProperties" if "object" in _listed(schema.get("type", [])) else "maxItems"
    if "x-max-items" in schema and schema.get(plain) != ceilings.get(schema["x-max-items"], schema.get(plain)):
        yield f"{place}: {plain} is the absolute ceiling of {schema['x-max-items']}: {ceilings[schema['x-max-items']]}"
    if "pattern" in schema:
        try:
            re.compile(schema["pattern"])
        except re.error as error:
            yield f"{place}: the pattern does not compile: {error}"


def _tagged(bundle: Bundle) -> Iterator[str]:
    tags: dict[str, tuple[str, str]] = {}
    for name, schema in bundle.defs.items():
        if "discriminator" not in schema:
            continue
        place = f"{bundle.home[name]}: {name}"
        tag, seen = schema["discriminator"]["propertyName"], set()
        if len(schema.get("oneOf", ())) < 2:
            yield f"{place}: a tagged union has at least two members, or its one member would not need the tag"
        for part in schema.get("oneOf", ()):
            if "$ref" not in part:
                yield f"{place}: the members of a tagged union are $refs"
                continue
            member = target(part)
            inner = bundle.defs[member]
            value = inner.get("properties", {}).get(tag, {}).get("const")
            if not isinstance(value, str) or tag not in inner.get("required", ()):
                yield f"{place}: {member} requires {tag} and gives it one const string; an enum there becomes the class name"
            elif value in seen:
                yield f"{place}: the tag {value!r} stands twice"
            elif tags.setdefault(member, (tag, value)) != (tag, value):
                yield f"{place}: {member} has another tag in another union; a struct has one"
            seen.add(value)
    for name in bundle.reached():
        for part in _refs_outside_unions(bundle.defs[name]):
            if part in tags:
                yield f"{bundle.home[name]}: {name} refers to {part}, a union member, which alone would not need its tag: refer to a union"
    for name in bundle.roots:
        if name in tags:
            yield f"{bundle.home[name]}: the root {name} is a member of a union; alone it would not need its tag: make the union a root"


def _refs_outside_unions(schema: Schema) -> Iterator[str]:
    if "discriminator" in schema:
        return
    if "$ref" in schema:
        yield target(schema)
    for _, inner in subschemas(schema):
        yield from _refs_outside_unions(inner)


def _roots(bundle: Bundle) -> Iterator[str]:
    for root in bundle.roots.values():
        place = f"{bundle.home[root.name]}: the root {root.name}"
        if root.codes is None or "default" not in root.codes:
            yield f"{place} has no x-code with a default; every refusal has a stable code"
        for name in bundle.reached(root.name):
            schema = bundle.defs[name]
            closed = schema.get("additionalProperties") is False
            if "properties" in schema and closed != (root.direction == "strict"):
                word = "says" if root.direction == "strict" else "does not say"
                yield f"{place} is {root.direction}, so {name} {word} additionalProperties: false"


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
