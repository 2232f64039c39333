"""Writes docs/protocols/<protocol>-reference.md: every shape, word and limit of the schemas, as a person reads it.

The pages beside it explain; this one only lists, so that it can be complete and never stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .bundle import SCHEMAS, Bundle, Schema, target

HEADING = """<!-- Written by `make gen` from schemas/{protocol}. Do not edit. -->

# {protocol}: every shape

All that goes over the wire, as the schemas in `schemas/{protocol}/` say it; [the page about the protocol]({protocol}.md) says what it
means and when it is sent. `triptych schema {protocol} NAME` prints one of these, and with `--check FILE` it explains every fault of a
document. A member that is not *required* may be absent.
"""


def reference(bundle: Bundle, schemas: Path = SCHEMAS) -> str:
    """The text of the page."""
    lines = [HEADING.format(protocol=bundle.protocol)]
    for file in dict.fromkeys(bundle.home.values()):
        title = json.loads((schemas / bundle.protocol / file).read_text(encoding="utf-8")).get("title", file)
        lines += [f"## {title}", "", f"`schemas/{bundle.protocol}/{file}`", ""]
        for name in (name for name, home in bundle.home.items() if home == file):
            lines += [f"### {name}", "", *_definition(bundle.defs[name]), ""]
    if bundle.constants:
        lines += ["## Constants", "", "| name | value |", "|---|---|"]
        lines += [f"| `{name}` | {_cell(value)} |" for name, value in bundle.constants.items()]
    return "\n".join(lines).rstrip() + "\n"


def _definition(schema: Schema) -> Iterator[str]:
    yield _text(schema.get("description", ""))
    if "properties" in schema:
        required = schema.get("required", ())
        if schema["properties"]:
            yield from ("", "| member | | value | meaning |", "|---|---|---|---|")
        for name, inner in schema["properties"].items():
            told = "required" if name in required else ""
            meaning = "" if "$ref" in inner else _text(inner.get("description", ""))
            yield f"| `{name}` | {told} | {_value(inner)} | {meaning} |"
    else:
        value = _value(schema)
        yield from ("", f"{value[0].upper()}{value[1:]}.")


def _value(schema: Schema) -> str:
    """What a schema accepts, in a few words."""
    if "$ref" in schema:
        name = target(schema)
        return f"[{name}](#{name.lower()})"
    if "const" in schema:
        return f"always {_cell(schema['const'])}"
    if "enum" in schema:
        return "one of " + ", ".join(map(_cell, schema["enum"]))
    for keyword in ("oneOf", "anyOf"):
        if keyword in schema:
            return " or ".join(map(_value, schema[keyword]))
    kinds = schema.get("type", "any value")
    words = " or ".join(kinds) if isinstance(kinds, list) else kinds
    if "items" in schema:
        words += f" of {_value(schema['items'])}"
    return words + "".join(f", {limit}" for limit in _limits(schema))


def _limits(schema: Schema) -> Iterator[str]:
    for low, high, what in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters"), ("minItems", "maxItems", " items")):
        least, most = schema.get(low), schema.get(high, schema.get("x-max-items") if what == " items" else None)
        if least is not None and least == most:
            yield f"{least}{what}"
        elif least is not None and most is not None:
            yield f"{least} to {most}{what}"
        elif most is not None:
            yield f"at most {most}{what}"
        elif least is not None:
            yield f"at least {least}{what}"
    if "x-max-bytes" in schema:
        yield f"at most {_cell(schema['x-max-bytes'])} bytes of UTF-8"
    if "pattern" in schema:
        yield f"matching {_cell(schema['pattern'])}"


def _cell(value: Any) -> str:
    """A value as code, fit for a table cell."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")


def _text(text: str) -> str:
    """A sentence of a schema, of which nothing is markup."""
    return "".join(f"\\{character}" if character in "\\|*_`<>[]$" else character for character in text)
