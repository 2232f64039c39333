"""What the tests of deltas share: plain copies of trees, and the plainest reading of the protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.models import SemanticDelta
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.messages import read_adapter_message
from triptych.machines.termwright.semantic_state import BaseMismatch, SemanticState
from triptych.machines.termwright.validate import validate_snapshot

EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "p"}
ABSENT = {"status": "absent", "reason": "detached", "evidence": EVIDENCE}


def plain(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def copied(value: Any) -> Any:
    """A deep copy in which no container stands twice."""
    return json.loads(json.dumps(value))


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def held(snapshot: object, limits: Mapping[str, int] = DEFAULT_LIMITS) -> SemanticState:
    return SemanticState.of(validate_snapshot(snapshot, limits), limits)


def as_raw(delta: object) -> msgspec.Raw:
    """The delta as it arrives: out of a message that was read from a frame body."""
    message = read_adapter_message(
        json.dumps({"type": "semantic-delta", "delta": delta}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )
    assert isinstance(message, SemanticDelta)
    return message.delta


def refusal(call: Callable[[], object]) -> str | None:
    try:
        call()
    except RemoteProtocolError as fault:
        assert (fault.code == "base-revision") == isinstance(fault, BaseMismatch)
        return fault.code
    return None


def by_the_book(base: dict[str, Any], delta: dict[str, Any], limits: Mapping[str, int]) -> tuple[str | None, dict[str, Any]]:
    """The plainest reading of the protocol for a delta of sound shape: patch a plain copy, then validate all of it."""
    nodes = {node["id"]: node for node in base["nodes"]}
    for name in delta.get("removeNodeIds", ()):
        if name not in nodes:
            return "schema", {}
        del nodes[name]
    for node in delta.get("addNodes", ()):
        if node["id"] in nodes:
            return "duplicate-id", {}
        nodes[node["id"]] = node
    for update in delta.get("updateNodes", ()):
        if update["id"] not in nodes:
            return "schema", {}
        merged = {**nodes[update["id"]], **update.get("set", {})}
        nodes[update["id"]] = {key: value for key, value in merged.items() if key not in update.get("clear", ())}
    patch = delta.get("snapshot", {})
    cleared = {*patch.get("clear", ()), "clear"}
    result = {**base, **patch, "revision": delta["revision"], "nodes": list(nodes.values())}
    result = {key: value for key, value in result.items() if key not in cleared}
    return refusal(lambda: validate_snapshot(result, limits)), result


def delta_of(**parts: Any) -> dict[str, Any]:
    return {"v": 3, "sessionId": "s", "revision": 5, "baseRevision": 4, **parts}


def full(tree: object) -> bytes:
    return json.dumps({"type": "semantic-full", "snapshot": tree}).encode()


def book_code(base: dict[str, Any], delta: dict[str, Any], limits: Mapping[str, int]) -> tuple[str | None, dict[str, Any]]:
    """`by_the_book`, where a ceiling on the depth bounds the tree and not its JSON, as it does for what came out of a frame."""
    code, result = by_the_book(base, delta, {**limits, "maxDepth": 64})
    if code is None and refusal(partial(read_adapter_message, full(result), limits)) is not None:
        code = "depth"
    return code, result
