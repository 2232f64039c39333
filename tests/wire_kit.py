"""What the tests of schemas, walker and reader share: each root's text policy, readers, oracles and the generated cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from triptych.machines.wire import text
from triptych.machines.wire.read import Reader
from triptych.tools.bundle import Bundle, load
from triptych.tools.gen_cases import expand, put

PROTOCOLS = ("collector", "desklink", "termwright")
CASES = Path(__file__).parent / "vectors" / "generated"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def bundle(protocol: str) -> Bundle:
    return load(protocol)


def policy(protocol: str, root: str) -> text.TextPolicy:
    """The text policy that a root is read with on its wire."""
    if protocol == "collector":
        named = {"ReceivedCommand": text.COLLECTOR_COMMAND, "CompanionPayload": text.COMPANION}
        return named.get(root, text.COLLECTOR)
    return text.TERMWRIGHT if protocol == "termwright" else text.DESKLINK


@cache
def reader(protocol: str, root: str) -> Reader[Any]:
    return Reader(protocol, root, policy(protocol, root))


@cache
def document(protocol: str, root: str) -> dict[str, Any]:
    """The schema of one root as one self-contained JSON Schema document."""
    return {"$schema": DIALECT, "$ref": f"#/$defs/{root}", "$defs": bundle(protocol).defs}


@cache
def oracle(protocol: str, root: str) -> Any:
    return jsonschema_rs.validator_for(document(protocol, root))


def encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def roots() -> list[tuple[str, str]]:
    return [(protocol, root) for protocol in PROTOCOLS for root in bundle(protocol).roots]


@cache
def types(protocol: str) -> dict[str, Any]:
    """The generated cases of a protocol, by type."""
    loaded: dict[str, Any] = json.loads((CASES / f"{protocol}.json").read_text(encoding="utf-8"))["types"]
    return loaded


def messages(protocol: str, name: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each case of a type with its whole message."""
    entry = types(protocol)[name]
    at = tuple(entry["at"])
    for case in entry["cases"]:
        value = entry["message"]
        if "drop" in case:
            here = value
            for step in at:
                here = here[step]
            yield case, put(value, at, {key: inner for key, inner in here.items() if key != case["drop"]})
        else:
            keys = (case["key"],) if "key" in case else ()
            yield case, put(value, (*at, *keys), expand(case["put"]))
