"""How the `triptych activity` commands print JSON: the names of the Python API in the spelling of the protocol, `observedAtMs`."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from typing import Any

import click

_COMMANDS = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # those below U+0020 are escaped by JSON itself


def json_value(value: Any) -> Any:
    """A row of the API as plain JSON: its fields by name in camelCase, tuples as lists. Keys of a mapping are data, and stay."""
    if is_dataclass(value):
        return {_camel(field.name): json_value(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_fields"):
        return {_camel(name): json_value(getattr(value, name)) for name in value._fields}
    if isinstance(value, dict):
        return {key: json_value(inner) for key, inner in value.items()}
    return [json_value(inner) for inner in value] if isinstance(value, list | tuple | frozenset) else value


def json_text(value: Any, indent: int | None = None) -> str:
    """The JSON of a value, as people read it. What a terminal takes for a command, or what turns the direction of a line, is escaped."""
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False, indent=indent))


def print_json(value: Any) -> None:
    """Print one JSON value, for a program or a patient person."""
    click.echo(json_text(json_value(value), 2).encode("utf-8", "replace"))


def print_json_line(value: Any) -> None:
    """Print one JSON value on one line."""
    click.echo(json_text(json_value(value)).encode("utf-8", "replace"))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
