"""What every vector format shares: verdicts, outcomes by code, comparison of JSON values, and a snapshot to put things into.

vector_formats.py and vector_framing.py are made of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.json import encode

from ...errors import ProtocolError
from ...machines.termwright.limits import DEFAULT_LIMITS

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """One comparison: a match when `expected` equals `actual`."""

    case: str
    expected: str
    actual: str


@dataclass(frozen=True)
class Untestable:
    """A case that was not run, and why."""

    case: str
    reason: str


Answer = Verdict | Untestable


def outcome(call: Callable[..., object], *arguments: Any) -> tuple[str, Any]:
    """`ok` and the result, or the code and the fault; anything but a refusal by code is a crash, and says so."""
    try:
        return "ok", call(*arguments)
    except ProtocolError as fault:
        return fault.code, fault
    except Exception as crash:  # whatever a case makes our library do must be told, not end the run
        return f"crash: {type(crash).__name__}: {crash}", None


def canonical(value: object) -> str:
    """JSON with sorted keys, where 1.0 is 1 (a JavaScript number) and true is not 1."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value)


def plain(value: object) -> Any:
    """The plain JSON value of a struct."""
    return json.loads(encode(value))


def body(value: object) -> bytes:
    """The JSON text of a message in a vector. Escapes keep what has no UTF-8 form, so that the decoder is the one to refuse it."""
    return json.dumps(value, separators=(",", ":")).encode()


def limits_of(document: Document, case: Document) -> dict[str, int]:
    """The ceilings of a case: its own over its file's over the defaults."""
    return {**DEFAULT_LIMITS, **document.get("limits", {}), **case.get("limits", {})}


def cases(document: Any, *groups: str) -> Iterator[tuple[str, Document, str]]:
    """Name, case and expected outcome of every case in these groups. A case says `ok` or `code`; else its group does."""
    for group in groups:
        for index, case in enumerate(document.get(group, ())):
            accepted = case["ok"] if "ok" in case else group.startswith("accept") or (group != "reject" and case.get("code") is None)
            yield str(case.get("name", f"{group}[{index}]")), case, "ok" if accepted else str(case["code"])


def snapshot_of_size(size: int) -> dict[str, Any]:
    """A valid tree two deep, nested six deep as JSON, whose compact JSON has `size` bytes."""
    evidence = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "p"}
    known = {"status": "known", "value": True, "evidence": evidence}
    unsupported = {"status": "unsupported", "capability": "", "reason": "capability"}
    geometry = {"displayed": known, "intendedRect": unsupported, "visibleRect": unsupported}
    nodes = [{"id": "root", "role": "application", "name": ""}, {"id": "a", "parentId": "root", "role": "text", "name": ""}]
    made: dict[str, Any] = {
        "v": 3,
        "sessionId": "s",
        "revision": 1,
        "columns": 80,
        "rows": 24,
        "rootIds": ["root"],
        "nodes": [{**node, "geometry": geometry} for node in nodes],
        "coordinateSpace": {"status": "known", "value": "viewport-cells", "evidence": evidence},
        "hitGrid": unsupported,
    }
    made["nodes"][0]["name"] = "x" * (size - len(body(made)))
    return dict(json.loads(body(made)))  # fresh containers: no two are the same object, which a projection refuses
