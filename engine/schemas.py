"""The schemas that ship with the package: loaded, made self-contained, and asked about, for `triptych schema`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from typing import Any

from ..errors import LocalProtocolError, RemoteProtocolError
from ..machines.wire import text
from ..machines.wire.read import Reader

PROTOCOLS = ("termwright", "collector", "desklink")
MOST_SAID = 300
"""Characters: a fault quotes what it found, which may be a whole document."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a document: `path` is dotted, "" for the whole document."""

    path: str
    detail: str


@cache
def definitions(protocol: str) -> dict[str, Any]:
    """Every `$def` of a protocol by name, its references made local. Raises LocalProtocolError `unknown-protocol`."""
    if protocol not in PROTOCOLS:
        raise LocalProtocolError("unknown-protocol", f"there is no protocol {protocol!r}; there are {', '.join(PROTOCOLS)}")
    found: dict[str, Any] = {}
    folder = resources.files(__package__.rpartition(".")[0]) / "schemas" / protocol
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".schema.json"):
            found |= json.loads(file.read_text(encoding="utf-8")).get("$defs", {})
    return {name: _local(schema) for name, schema in found.items()}


def schema(protocol: str, message: str | None = None) -> dict[str, Any]:
    """One self-contained 2020-12 schema: of `message` and all it refers to, or of the whole protocol. Raises `unknown-message`."""
    defs = definitions(protocol)
    if message is None:
        return {"$schema": DIALECT, "$defs": defs}
    if message not in defs:
        near = [name for name in defs if message.lower() in name.lower()]
        hint = f"did you mean {', '.join(near[:5])}?" if near else f"`triptych schema {protocol} --list` names them all"
        raise LocalProtocolError("unknown-message", f"{protocol} has no message {message!r}; {hint}")
    needed: dict[str, Any] = {}
    todo = [message]
    while todo:
        name = todo.pop()
        if name not in needed:
            needed[name] = defs[name]
            todo += _references(defs[name])
    return {"$schema": DIALECT, "$ref": f"#/$defs/{message}", "$defs": {name: needed[name] for name in defs if name in needed}}


def faults(protocol: str, message: str, body: bytes) -> list[Fault]:
    """Every fault of the bytes of a document as a `message`, in document order; empty when the wire would take it.

    The text is read as the protocol reads it. Where it is no JSON to that protocol, that is the one fault. A message that fits its schema
    may still break a rule that no schema can say; the first of these is told.
    """
    alone, policy = schema(protocol, message), _policy(protocol, message)
    try:
        document = text.parse(body, policy)
    except text.TextFault as fault:
        return [Fault("", f"is not JSON as {protocol} reads it: {fault.detail}")]
    errors = sorted(_validator(alone, policy).iter_errors(document), key=lambda error: [str(part) for part in error.absolute_path])
    return [fault for error in errors for fault in _explained(error)] or _beyond(protocol, message, policy, document)


def _policy(protocol: str, message: str) -> text.TextPolicy:
    """The text rules of the wire that a message comes over."""
    if protocol != "collector":
        return text.TERMWRIGHT if protocol == "termwright" else text.DESKLINK
    if message.startswith("Received"):
        return text.COLLECTOR_COMMAND
    return text.COMPANION if message in schema(protocol, "CompanionPayload")["$defs"] else text.COLLECTOR


def _validator(alone: dict[str, Any], policy: text.TextPolicy) -> Any:
    from jsonschema import Draft202012Validator, validators

    def integer(_: object, value: object) -> bool:
        return type(value) is int or (type(value) is float and value.is_integer() and not policy.int_tokens_only)

    def number(_: object, value: object) -> bool:
        return type(value) is int or (type(value) is float and math.isfinite(value))

    types = Draft202012Validator.TYPE_CHECKER.redefine_many({"number": number, "integer": integer})
    extend: Any = validators.extend  # it has no annotations
    return extend(Draft202012Validator, type_checker=types)(alone)


def _beyond(protocol: str, message: str, policy: text.TextPolicy, document: object) -> list[Fault]:
    if message not in import_module(f"...generated.{protocol}.validators", __name__).DIRECTIONS:
        return []
    reader: Reader[Any] = Reader(protocol, message, policy)
    try:
        reader.explain(document)
    except RemoteProtocolError as refusal:
        return [Fault(refusal.path, refusal.detail)]
    return []


def _explained(error: Any) -> Iterator[Fault]:
    """Of a union, report the faults of the member that fits best: the reader wants the wrong field, not "no alternative fits"."""
    if error.context:
        by_member: dict[int, list[Any]] = {}
        for inner in error.context:
            by_member.setdefault(inner.schema_path[0], []).append(inner)
        tag_is_right = [errors for errors in by_member.values() if not any(inner.validator == "const" for inner in errors)]
        best = min(tag_is_right or by_member.values(), key=len)
        for inner in best:
            yield from _explained(inner)
    else:
        said = error.message if len(error.message) <= MOST_SAID else f"{error.message[:MOST_SAID]} ..."
        yield Fault(".".join(map(str, error.absolute_path)), said)


def _local(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: f"#/$defs/{value.rpartition('/')[2]}" if key == "$ref" else _local(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_local(value) for value in node]
    return node


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
