"""Writes tests/vectors/generated/<protocol>.json: for every type the values that must be accepted and refused, by construction.

Each type stands once, at the shortest way from a root to it: a whole message with the least that is valid, and the path of the type in
it. A case puts one value there (or at one key of it) and says the verdict: minimum, maximum, one under, one over, wrong type, missing
key, unknown key, wrong word. `beyond` marks refusals that JSON Schema itself cannot say: negotiated limits and lengths in other units.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..machines.wire.faults import Fault, Path, code_of, dotted
from ..machines.wire.walk import Mode, Walker
from .bundle import Bundle, Schema, SchemaError, target
from .gen_validators import node
from .schema_style import json_types, union_tags

MAX_ITEMS = 300
WAYS = 6
WRONG = {"string": "text", "integer": 7, "number": 7.5, "boolean": True, "null": None, "array": [], "object": {}}
WORDS = ("a", "abc", "ABC", "/", "/a", "0", "a1", "0" * 32, "a" * 40, "0" * 64, "http://a", "127.0.0.1", "#000000")
UNKNOWN_KEY = "unheard-of"


@dataclass(frozen=True)
class Place:
    """Where a schema stands: in which message of which root, at which path, below which annotations that change a fault."""

    root: str
    message: Any
    at: Path
    union_at: Path | None = None
    code: str | None = None

    def put(self, value: Any, *keys: str | int) -> Any:
        """The message with `value` at this place, or at keys below it."""
        return put(self.message, (*self.at, *keys), value)


@dataclass(frozen=True)
class Site:
    """One schema inside a type: `wrap` puts a value of it into a value for the `key` of the type (for the type itself, without one)."""

    label: str
    key: str | None
    inner: Path
    wrap: Callable[[Any], Any]
    code: str | None = None
    union_at: Path | None = None


def cases(bundle: Bundle) -> str:
    """The text of the file: JSON, one line a case, the same every time. Raises SchemaError where a type needs an example."""
    generator = _Cases(bundle)
    types = generator.run()
    missing = [f"{bundle.home[name]}: {name} has no valid least value; give it one in `examples`" for name in generator.missing()]
    if missing:
        raise SchemaError(bundle.protocol, missing)
    lines = [
        "{",
        f'"banner": "Written by `make gen` from schemas/{bundle.protocol}/. Do not edit.",',
        '"types": {',
        ",\n".join(_type_text(name, entry) for name, entry in types.items()),
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def put(message: Any, at: Path, value: Any) -> Any:
    """A copy of the message with `value` at the path."""
    if not at:
        return value
    out = copy.copy(message)
    out[at[0]] = put(message[at[0]] if len(at) > 1 else None, at[1:], value)
    return out


def expand(value: Any) -> Any:
    """A value with its marks carried out: `{"$text": ["a", 3]}` is `"aaa"`, and `{"$items": ["a", 3]}` a list of three."""
    if isinstance(value, dict):
        if "$text" in value:
            return value["$text"][0] * value["$text"][1]
        if "$items" in value:
            item, count = value["$items"]
            return [expand(item) for _ in range(count)]
        return {key: expand(inner) for key, inner in value.items()}
    return [expand(inner) for inner in value] if isinstance(value, list) else value


def _type_text(name: str, entry: dict[str, Any]) -> str:
    rows = ",\n".join("  " + json.dumps(case, ensure_ascii=True) for case in entry.pop("cases"))
    head = json.dumps(entry, ensure_ascii=True)[1:-1]
    return f'"{name}": {{{head}, "cases": [\n{rows}\n]}}'


class _Cases:
    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._tables = {name: node(bundle, bundle.defs[name]) for name in bundle.reached()}
        self._walker = Walker(self._tables)
        self._codes = {root.name: dict(root.codes or {}) for root in bundle.roots.values()}
        self._limits: dict[str, int] = bundle.constants.get("DEFAULT_LIMITS", {})
        self._least: dict[str, Any] = {}
        self._queue: deque[tuple[str, Place]] = deque()
        self._done: dict[str, dict[str, Any]] = {}

    def run(self) -> dict[str, dict[str, Any]]:
        for root in self._bundle.roots:
            self._queue.append((root, Place(root, self.least({"$ref": f"#/$defs/{root}"}), ())))
        ways: Counter[str] = Counter()
        while self._queue:
            name, place = self._queue.popleft()
            if not self._valid(place):
                continue
            if name not in self._done:
                self._done[name] = {"root": place.root, "message": place.message, "at": list(place.at), "cases": self._of(name, place)}
            elif ways[name] < WAYS and any(self._composite(inner) and inner not in self._done for inner in self._bundle.reached(name)):
                ways[name] += 1
                self._of(name, place)  # another way to it, where what is below may be valid
        return {name: self._done[name] for name in self._bundle.defs if name in self._done}

    def missing(self) -> list[str]:
        """Composite types that no valid message was found for; inside free-form JSON the walker alone knows them."""
        free = {name for name in self._bundle.reached() if self._bundle.defs[name].get("x-python")}
        inside = {inner for name in free for inner in self._bundle.reached(name)}
        return [name for name in self._bundle.reached() if self._composite(name) and name not in self._done and name not in inside]

    def _composite(self, name: str) -> bool:
        schema = self._bundle.defs[name]
        if len(schema.get("properties", {})) == 1 and self._tag_of(name):
            return False  # only its tag, which the cases of the union try
        return "properties" in schema or "discriminator" in schema or schema.get("type") == "array"

    def _valid(self, place: Place) -> bool:
        try:
            self._walker.walk(place.root, place.message, Mode(self._unknown(place.root), self._limits))
        except Fault:
            return False
        return True

    def _unknown(self, root: str) -> str:
        return {"strict": "refuse", "tolerant": "drop", "report": "report"}[self._bundle.roots[root].direction]

    def least(self, schema: Schema) -> Any:
        """The least valid value of a schema: its first example, else only what is required."""
        if "examples" in schema:
            return copy.deepcopy(schema["examples"][0])
        if "$ref" in schema:
            name = target(schema)
            if name not in self._least:
                self._least[name] = self.least(self._bundle.defs[name])
            return copy.deepcopy(self._least[name])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return self.least(schema[word][0])
        kinds = schema.get("type", "null")
        return self._least_of(kinds if isinstance(kinds, str) else kinds[0], schema)

    def _least_of(self, kind: str, schema: Schema) -> Any:
        if kind == "object":
            required = schema.get("required", ())
            return {key: self.least(inner) for key, inner in schema.get("properties", {}).items() if key in required}
        if kind == "array":
            return [self.least(schema["items"]) for _ in range(schema.get("minItems", 0))]
        if kind in ("integer", "number"):
            return max(schema.get("minimum", 0), 0)
        if kind == "string":
            pattern = schema.get("pattern", "")
            words = ("a" * schema.get("minLength", 0), *WORDS)
            return next((word for word in words if re.search(pattern, word) and len(word) >= schema.get("minLength", 0)), "")
        return {"boolean": False, "null": None}[kind]

    def _of(self, name: str, place: Place) -> list[dict[str, Any]]:
        schema = self._bundle.defs[name]
        site = Site(name, None, (), lambda value: value, place.code, place.union_at)
        out = []
        for case in self._schema(schema, site, place):
            kept = self._settle(case, place)
            if kept is not None:
                out.append(kept)
        return out

    def _settle(self, case: dict[str, Any], place: Place) -> dict[str, Any] | None:
        """Give a refusal its code; leave an acceptance out that only a rule across fields refuses, since that is another test's."""
        fault: Fault | None = case.pop("fault", None)
        if fault is not None:
            code, _ = code_of(fault, self._codes, place.root)
            return {**case, "code": code, "path": dotted(fault.path), "keyword": fault.keyword}
        keys = () if case.get("key") is None else (case["key"],)
        message = place.put(expand(case["put"]), *keys) if "put" in case else self._without(place, case["drop"])
        return case if self._valid(replace(place, message=message)) else None

    def _without(self, place: Place, key: str) -> Any:
        value = self._at(place)
        return place.put({name: inner for name, inner in value.items() if name != key})

    def _at(self, place: Place) -> Any:
        value = place.message
        for step in place.at:
            value = value[step]
        return value

    # Each of these yields cases: {"name", "key", "put" or "drop"} and, when it must be refused, the fault it must be refused with.

    def _case(
        self, site: Site, what: str, value: Any, place: Place, keyword: str | None = None, *deeper: str | int, beyond: bool = False
    ) -> Any:
        case: dict[str, Any] = {"name": f"{site.label}: {what}", "key": site.key, "put": site.wrap(value)}
        if site.key is None:
            del case["key"]
        if keyword is not None:
            here = (*place.at, *((site.key,) if site.key is not None else ()), *site.inner, *deeper)
            case["fault"] = self._fault(site, here, keyword)
            if beyond:
                case["beyond"] = True
        return case

    def _fault(self, site: Site, path: Path, keyword: str) -> Fault:
        return Fault(path, keyword, "", site.code) if site.union_at is None else Fault(site.union_at, "union", "", site.code)

    def _schema(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        if isinstance(schema.get("x-code"), str) and site.inner:
            site = replace(site, code=schema["x-code"])
        if schema.get("x-python") == "raw-json":
            return
        if "$ref" in schema:
            yield from self._reference(target(schema), site, place)
        elif "const" in schema:
            yield from self._const(schema, site, place)
        elif "enum" in schema:
            yield from self._enum(schema["enum"], site, place)
        elif "discriminator" in schema:
            yield from self._union(schema, site, place)
        elif "oneOf" in schema or "anyOf" in schema or isinstance(schema.get("type"), list):
            yield from self._alternatives(schema, site, place)
        elif "type" in schema:
            yield from getattr(self, f"_{schema['type']}")(schema, site, place)

    def _reference(self, name: str, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        schema = self._bundle.defs[name]
        if not self._composite(name):
            yield from self._schema(schema, site, place)
            return
        keys = () if site.key is None else (site.key,)
        message = place.put(site.wrap(self.least({"$ref": f"#/$defs/{name}"})), *keys)
        below = Place(place.root, message, (*place.at, *keys, *site.inner), site.union_at, site.code)
        self._queue.append((name, below))
        yield from self._wrong_type(json_types(self._bundle, schema), site, place)

    def _wrong_type(self, kinds: tuple[str, ...], site: Site, place: Place, keyword: str = "type") -> Iterator[dict[str, Any]]:
        if site.key is None and place.at and not site.inner:
            return  # tried where the type is mentioned, which may admit other types too
        for kind, value in WRONG.items():
            fits = kind in kinds or (kind in ("integer", "number") and {"integer", "number"} & set(kinds))
            if not fits:
                yield self._case(site, f"wrong type, {kind}", value, place, keyword)

    def _const(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        wanted = schema["const"]
        kinds = json_types(self._bundle, schema)
        # A coded constant of the right type is asked first and has that code; anything else about it has the root's ordinary code.
        plain = replace(site, code=None) if "x-code" in schema else site
        yield self._case(site, "the word", wanted, place)
        yield from self._wrong_type(kinds, plain, place, "const")
        another = not wanted if isinstance(wanted, bool) else f"{wanted}x" if isinstance(wanted, str) else wanted + 1
        yield self._case(site, "another", another, place, "const")

    def _enum(self, words: list[Any], site: Site, place: Place) -> Iterator[dict[str, Any]]:
        for word in words:
            yield self._case(site, f"{json.dumps(word)}", word, place)
        kinds = json_types(self._bundle, {"enum": words})
        yield from self._wrong_type(kinds, site, place, "enum")
        yield self._case(site, "unknown word", "no-such-word", place, "enum")

    def _union(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        tag = schema["discriminator"]["propertyName"]
        at_union = schema.get("x-fault-at") == "union"
        yield from self._wrong_type(("object",), site, place)
        deeper = () if at_union else (tag,)
        first = self._constants_before(tag, schema)
        yield self._case(site, "no tag", {**first}, place, "tag", *deeper)
        yield self._case(site, "unknown tag", {**first, tag: "no-such-word"}, place, "tag", *deeper)
        yield self._case(site, "tag of a wrong type", {**first, tag: 1}, place, "tag", *deeper)
        for key, wanted in first.items():
            yield self._case(site, f"unknown tag, no {key}", {tag: "no-such-word"}, place, "required", key)
            yield self._case(site, f"unknown tag, another {key}", {tag: "no-such-word", key: [wanted]}, place, "const", key)
        for name in union_tags(self._bundle, schema).values():
            keys = () if site.key is None else (site.key,)
            here = (*place.at, *keys, *site.inner)
            message = place.put(site.wrap(self.least({"$ref": f"#/$defs/{name}"})), *keys)
            union_at = here if at_union and site.union_at is None else site.union_at
            self._queue.append((name, Place(place.root, message, here, union_at, site.code)))

    def _constants_before(self, tag: str, schema: Schema) -> dict[str, Any]:
        """What every member of a union declares before its tag as the same constant: it is asked before a tag that nobody knows."""
        declared = []
        for name in union_tags(self._bundle, schema).values():
            properties = self._bundle.resolve({"$ref": f"#/$defs/{name}"})["properties"]
            before = itertools.takewhile(lambda key: key != tag, properties)
            declared.append({key: self._bundle.resolve(properties[key]).get("const") for key in before})
        first, *others = declared
        return {key: value for key, value in first.items() if value is not None and all(other.get(key) == value for other in others)}

    def _alternatives(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        parts = schema.get("oneOf") or schema.get("anyOf")
        if parts is None:
            parts = [_only(schema, kind) for kind in schema["type"]]
        yield from self._wrong_type(json_types(self._bundle, schema), site, place)
        for part in parts:
            # What is a wrong type for one alternative may be another's.
            yield from (case for case in self._schema(part, site, place) if not case["name"].startswith(f"{site.label}: wrong type"))

    def _null(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        yield self._case(site, "null", None, place)
        yield from self._wrong_type(("null",), site, place)

    def _boolean(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        yield self._case(site, "true", True, place)
        yield self._case(site, "false", False, place)
        yield from self._wrong_type(("boolean",), site, place)

    def _number(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        yield from self._wrong_type((schema["type"],), site, place)
        if schema["type"] == "integer":
            yield self._case(site, "a fraction", max(schema.get("minimum", 0), 0) + 0.5, place, "type")
        for word, step, what in (("minimum", -1, "under"), ("maximum", 1, "over")):
            if word in schema:
                yield self._case(site, word, schema[word], place)
                yield self._case(site, f"one {what}", schema[word] + step, place, word)

    _integer = _number

    def _string(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        yield from self._wrong_type(("string",), site, place)
        if "pattern" in schema:
            yield self._case(site, "fits the pattern", self.least(schema), place)
            bad = next(
                (
                    word
                    for word in ("\n", "", "é", "a")
                    if not re.search(schema["pattern"], word) and len(word) >= schema.get("minLength", 0)
                ),
                None,
            )
            if bad is not None:
                yield self._case(site, "against the pattern", bad, place, "pattern")
            if "maxLength" not in schema:
                return
        least, most, limit = schema.get("minLength", 0), schema.get("maxLength"), self._limits.get(schema.get("x-max-bytes", ""))
        yield self._case(site, "shortest", "a" * least, place)
        if least:
            yield self._case(site, "one under", "a" * (least - 1), place, "minLength")
        if most is not None:
            yield self._case(site, "longest", _text("a", most), place)
            yield self._case(site, "one over", _text("a", most + 1), place, "maxLength")
            if "x-unit" in schema:
                wide = "é" if schema["x-unit"] == "utf8" else "\U0001f600"
                yield self._case(site, "longest, wide", _text(wide, most // 2), place)
                yield self._case(site, "over in its unit", _text(wide, most // 2 + 1), place, "maxLength", beyond=True)
        if limit is not None:
            yield self._case(site, "most bytes", _text("a", limit), place)
            yield self._case(site, "one byte over", _text("a", limit + 1), place, "maxBytes", beyond=True)
            yield self._case(site, "over in bytes", _text("é", limit // 2 + 1), place, "maxBytes", beyond=True)

    def _array(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        yield from self._wrong_type(("array",), site, place)
        item, least, most = self.least(schema["items"]), schema.get("minItems", 0), schema.get("maxItems")
        limit = self._limits.get(schema.get("x-max-items", ""))
        ceiling = most if limit is None else limit
        yield self._case(site, "fewest", [item] * least, place)
        if least:
            yield self._case(site, "one under", [item] * (least - 1), place, "minItems")
        if ceiling is not None and ceiling <= MAX_ITEMS:
            if not schema.get("uniqueItems"):
                yield self._case(site, "most", _items(item, ceiling), place)
            beyond = limit is not None and most is not None and limit < most
            yield self._case(site, "one over", _items(item, ceiling + 1), place, "maxItems", beyond=beyond)
        if schema.get("uniqueItems"):
            yield self._case(site, "repeated", [item, item], place, "uniqueItems")
        deeper = replace(site, label=f"{site.label}[]", inner=(*site.inner, 0), wrap=lambda value: site.wrap([value]))
        yield from self._schema(schema["items"], deeper, place)

    def _object(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        yield from self._wrong_type(("object",), site, place)
        if "properties" in schema:
            yield from self._properties(schema, site, place)
            return
        values = schema.get("additionalProperties")
        yield self._case(site, "empty", {}, place, *(("minProperties",) if schema.get("minProperties") else ()))
        most, limit = schema.get("maxProperties"), self._limits.get(schema.get("x-max-items", ""))
        ceiling = most if limit is None else limit
        if isinstance(values, dict):
            value = self.least(values)
            if ceiling is not None and ceiling <= MAX_ITEMS:
                yield self._case(site, "most", {f"k{number}": value for number in range(ceiling)}, place)
                over = {f"k{number}": value for number in range(ceiling + 1)}
                yield self._case(site, "one over", over, place, "maxProperties", beyond=limit is not None)
            if schema.get("x-python") is None:
                deeper = replace(site, label=f"{site.label}{{}}", inner=(*site.inner, "k"), wrap=lambda inner: site.wrap({"k": inner}))
                yield from self._schema(values, deeper, place)

    def _properties(self, schema: Schema, site: Site, place: Place) -> Iterator[dict[str, Any]]:
        required = schema.get("required", ())
        base = self._at(place)
        tag = self._tag_of(site.label)
        yield self._case(site, "only what is required", base, place)
        full = {key: base.get(key, self.least(inner)) for key, inner in schema["properties"].items()}
        yield self._case(site, "every key", full, place)
        strict = self._unknown(place.root) == "refuse"
        yield self._case(site, "an unknown key", {**base, UNKNOWN_KEY: 1}, place, *(("unknown",) if strict else ()))
        for key, inner in schema["properties"].items():
            if key == tag:
                continue  # the cases of the union
            label = f"{site.label}.{key}"
            drop: dict[str, Any] = {"name": f"{label}: missing", "drop": key}
            if key in required:
                drop["fault"] = self._fault(site, (*place.at, key), "required")
            if key in base:
                yield drop
            below = Site(label, key, (), lambda value: value, inner.get("x-code", site.code), site.union_at)
            yield from self._schema(inner, below, place)

    def _tag_of(self, name: str) -> str | None:
        for schema in self._bundle.defs.values():
            if "discriminator" in schema and name in (target(part) for part in schema["oneOf"]):
                return str(schema["discriminator"]["propertyName"])
        return None


def _text(word: str, count: int) -> Any:
    return word * count if count <= 64 else {"$text": [word, count]}


def _items(item: Any, count: int) -> Any:
    return [item] * count if count <= 64 else {"$items": [item, count]}


def _only(schema: Schema, kind: str) -> Schema:
    return {key: value for key, value in schema.items() if key not in ("type", "description")} | {"type": kind}
