"""Reads one protocol's schema files into one bundle; called by every generator, touches nothing but the files it reads.

A bundle has every `$def` under one roof with local references, the roots (message unions and documents that are decoded on their own)
with their direction and refusal codes, and the constant tables that the vocabulary exports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
SCHEMAS = REPOSITORY / "schemas"
HOST = "https://triptych.invalid/schemas"
DIRECTIONS = ("strict", "tolerant", "report")

Schema = dict[str, Any]


class SchemaError(Exception):
    """The schemas of one protocol break rules; `faults` says each place and the remedy, one line each."""

    def __init__(self, protocol: str, faults: list[str]) -> None:
        super().__init__("\n".join(f"schemas/{protocol}: {fault}" for fault in faults))
        self.protocol = protocol
        self.faults = tuple(faults)


@dataclass(frozen=True)
class Root:
    """A type that is decoded on its own: what it does with unknown keys, and which code each of its faults has."""

    name: str
    direction: str
    codes: Mapping[str, Any] | None


@dataclass(frozen=True)
class Bundle:
    """All of one protocol. `home` names the file of each `$def`; `constants` are the `x-vocabulary` tables."""

    protocol: str
    defs: dict[str, Schema]
    home: dict[str, str]
    roots: dict[str, Root]
    constants: dict[str, Any]

    def resolve(self, schema: Schema) -> Schema:
        """Follow references until a schema that says something itself."""
        while "$ref" in schema:
            schema = self.defs[target(schema)]
        return schema

    def reached(self, *names: str) -> tuple[str, ...]:
        """The names of every `$def` that these roots (all roots by default) reach, in the order of declaration."""
        keep: set[str] = set()
        todo = list(names or self.roots)
        while todo:
            name = todo.pop()
            if name not in keep:
                keep.add(name)
                todo.extend(references(self.defs[name]))
        return tuple(name for name in self.defs if name in keep)


def target(schema: Schema) -> str:
    """The name of the `$def` that a `$ref` names."""
    return str(schema["$ref"]).rsplit("/", 1)[1]


def snake(name: str) -> str:
    """A type name as functions and constants spell it: `HitGrid` → `hit_grid`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def subschemas(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The schemas directly inside this one, each with the step that leads to it (`.name` for a property)."""
    for name, inner in schema.get("properties", {}).items():
        yield f".{name}", inner
    for keyword in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(keyword), dict):
            yield f"/{keyword}", schema[keyword]
    for keyword in ("oneOf", "anyOf", "allOf"):
        for number, inner in enumerate(schema.get(keyword, ())):
            yield f"/{keyword}[{number}]", inner


def references(schema: Schema) -> Iterator[str]:
    """The names of every `$def` that this schema mentions, at any depth."""
    if "$ref" in schema:
        yield target(schema)
    for _, inner in subschemas(schema):
        yield from references(inner)


def load(protocol: str, schemas: Path = SCHEMAS) -> Bundle:
    """Read `schemas/<protocol>/*.schema.json`. Raises SchemaError for what makes no bundle at all (bad JSON, dangling references)."""
    faults: list[str] = []
    files: dict[str, Schema] = {}
    for path in sorted((schemas / protocol).glob("*.schema.json")):
        try:
            files[path.name] = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_no_repeats)
        except ValueError as error:
            faults.append(f"{path.name}: is not JSON: {error}")
    if not files and not faults:
        faults.append("holds no *.schema.json")

    defs: dict[str, Schema] = {}
    home: dict[str, str] = {}
    for file, document in files.items():
        wanted = f"{HOST}/{protocol}/{file}"
        if document.get("$id", wanted) != wanted:
            faults.append(f"{file}: the $id is {wanted}, under a host that can never answer")
        for name, schema in document.get("$defs", {}).items():
            if name in home:
                faults.append(f"{file}: $defs/{name} is already in {home[name]}; names are unique in a protocol")
            defs[name], home[name] = schema, file

    roots: dict[str, Root] = {}
    constants: dict[str, Any] = {}
    for file, document in files.items():
        for name, direction in _declared_roots(file, document, faults):
            if name not in defs:
                faults.append(f"{file}: the root {name} is no $def")
            elif direction not in DIRECTIONS:
                faults.append(f"{file}: the root {name} has direction {direction!r}; it is one of {', '.join(DIRECTIONS)}")
            else:
                roots[name] = Root(name, direction, _codes(defs[name].get("x-code", document.get("x-code"))))
        for name, value in document.get("x-vocabulary", {}).items():
            if name in constants:
                faults.append(f"{file}: x-vocabulary {name} is named twice")
            constants[name] = value

    local = {name: _localise(schema, home[name], name, home, faults) for name, schema in defs.items()}
    if faults:
        raise SchemaError(protocol, faults)
    return Bundle(protocol, local, home, roots, constants)


def _declared_roots(file: str, document: Schema, faults: list[str]) -> Iterator[tuple[str, str]]:
    if "$ref" in document:
        if "x-direction" not in document:
            faults.append(f'{file}: has a "$ref" and so a root; say its "x-direction"')
        yield target(document), document.get("x-direction", "strict")
    yield from document.get("x-roots", {}).items()


def _codes(annotation: Any) -> Mapping[str, Any] | None:
    return {"default": annotation} if isinstance(annotation, str) else annotation


def _localise(schema: Any, file: str, place: str, home: Mapping[str, str], faults: list[str]) -> Any:
    if isinstance(schema, list):
        return [_localise(inner, file, place, home, faults) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    out: Schema = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str):
            where, _, name = value.partition("#/$defs/")
            if home.get(name) != (where or file):
                faults.append(f"{file}: {place} refers to {value}, which is not there")
            out[key] = f"#/$defs/{name}"
        else:
            out[key] = _localise(value, file, place, home, faults)
    return out


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        repeated = next(key for number, (key, _) in enumerate(pairs) if any(key == later for later, _ in pairs[number + 1 :]))
        raise ValueError(f"the key {repeated!r} stands twice in one object")
    return out
