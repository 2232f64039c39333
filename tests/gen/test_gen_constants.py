"""No constant is typed twice: what the schemas name is imported where it is needed, or held to its second place."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from triptych.generated.collector import vocabulary as collector
from triptych.generated.desklink import vocabulary as desklink
from triptych.generated.termwright import vocabulary as termwright
from triptych.machines.desklink.capture import RETRY_DELAYS
from triptych.machines.wire import text
from wire_kit import PROTOCOLS

ROOT = Path(__file__).parents[2]
ROOMS = ("machines", "adapters", "engine")

#: What is said a second time where nothing can be imported: in C, in a schema's own keyword, in a text policy. A test here holds each.
HELD = {
    "collector": {"MAX_COMMAND_DEPTH"},
    "desklink": {"CAPTURE_RETRIES", "ROOT_DEPTH", "MAX_ACCESS_UNIT_BASE64", "MAX_POINT_LABEL_CHARS", "MAX_POINT_TIMEOUT_MS"},
    "termwright": {"PROJECTION_DEPTH"},
}


@cache
def used() -> frozenset[str]:
    """Every name that the code of the rooms mentions, in any way but in a comment."""
    names: set[str] = set()
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                match node:
                    case ast.Name(name) | ast.Attribute(attr=name) | ast.alias(name):
                        names.add(name)
    return frozenset(names)


def constants(protocol: str) -> set[str]:
    files = (ROOT / "schemas" / protocol).glob("*.schema.json")
    return {name for file in files for name in json.loads(file.read_text(encoding="utf-8")).get("x-vocabulary", {})}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_constant_is_used_or_held(protocol: str) -> None:
    unused = constants(protocol) - used()
    assert unused - HELD[protocol] == set(), "nothing imports these: is one typed a second time somewhere?"
    assert HELD[protocol] - unused == set(), "these are used now: take them off the list"


def test_what_is_said_twice_is_the_same() -> None:
    def schema(protocol: str, file: str, name: str) -> dict[str, object]:
        found: dict[str, object] = json.loads((ROOT / "schemas" / protocol / f"{file}.schema.json").read_text())["$defs"][name]
        return found

    assert len(RETRY_DELAYS) == desklink.CAPTURE_RETRIES
    assert text.TERMWRIGHT.depth == termwright.PROJECTION_DEPTH + 1
    assert text.COLLECTOR_COMMAND.depth == collector.MAX_COMMAND_DEPTH
    assert schema("collector", "types", "AdapterId")["maxLength"] == collector.MAX_ADAPTER_BYTES
    point = schema("desklink", "request", "PointParams")["properties"]
    assert isinstance(point, dict)
    assert point["label"]["maxLength"] == desklink.MAX_POINT_LABEL_CHARS
    assert point["timeout_ms"]["maximum"] == desklink.MAX_POINT_TIMEOUT_MS
    assert schema("desklink", "request", "FeedParams")["properties"]["data_b64"]["maxLength"] == desklink.MAX_ACCESS_UNIT_BASE64  # type: ignore[index]  # plain JSON
    assert f"depth != {desklink.ROOT_DEPTH}" in (ROOT / "native" / "linux" / "x11_capture.c").read_text()
