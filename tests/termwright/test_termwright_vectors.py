from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from shared_data import data
from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.models import HelloAck, SemanticFull
from triptych.machines.termwright.framing import FrameDecoder
from triptych.machines.termwright.limits import ABSOLUTE_LIMITS, DEFAULT_LIMITS
from triptych.machines.termwright.logs import validate_log_record
from triptych.machines.termwright.messages import (
    parse_adapter_message,
    parse_driver_message,
    read_adapter_message,
    read_driver_message,
    wire_code,
)
from triptych.machines.termwright.validate import validate_snapshot


def load(name: str) -> Any:
    return json.loads(data("termwright", name).read_text())


def body_of(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def sorted_cases(*groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**case, "code": case.get("code")} for group in groups for case in group]


SNAPSHOTS, SNAPSHOTS_EXTRA = load("snapshots.json"), load("snapshots-extra.json")
MESSAGES, MESSAGES_EXTRA = load("messages.json"), load("messages-extra.json")
SNAPSHOT_CASES = sorted_cases(SNAPSHOTS["accept"], SNAPSHOTS["reject"], SNAPSHOTS_EXTRA["cases"], SNAPSHOTS_EXTRA["limitCases"])
ADAPTER_CASES = sorted_cases(
    MESSAGES["adapterToDriver"]["accept"], MESSAGES["adapterToDriver"]["reject"], MESSAGES_EXTRA["adapterToDriver"]
)
DRIVER_CASES = sorted_cases(MESSAGES["driverToAdapter"]["accept"], MESSAGES["driverToAdapter"]["reject"], MESSAGES_EXTRA["driverToAdapter"])
LOG_CASES = sorted_cases(load("logs-extra.json")["cases"])


def limits_of(case: dict[str, Any]) -> dict[str, int]:
    return {**DEFAULT_LIMITS, **case.get("limits", {})}


def code_of(call: Any, *arguments: Any) -> str | None:
    try:
        call(*arguments)
    except RemoteProtocolError as fault:
        return fault.code
    return None


@pytest.mark.parametrize("case", SNAPSHOT_CASES, ids=lambda case: case["name"])
def test_snapshots(case: dict[str, Any]) -> None:
    assert code_of(validate_snapshot, case["snapshot"], limits_of(case)) == case["code"]


@pytest.mark.parametrize("case", SNAPSHOT_CASES, ids=lambda case: case["name"])
def test_snapshots_in_a_frame_body(case: dict[str, Any]) -> None:
    """The fast path and the explaining one, through the bytes: the embedded code is in the sentence, the result code is its mapping."""
    try:
        message = read_adapter_message(body_of({"type": "semantic-full", "snapshot": case["snapshot"]}), limits_of(case))
    except RemoteProtocolError as fault:
        assert fault.detail.split(":")[0] == f"snapshot {case['code']}"
        assert fault.code == {
            **dict.fromkeys(("bytes", "count", "depth", "string-bytes"), "limit-exceeded"),
            "provider": "capability-provider-violation",
        }.get(case["code"], "malformed")
    else:
        assert case["code"] is None
        assert isinstance(message, SemanticFull)
        assert json.loads(msgspec.json.encode(message.snapshot)) == case["snapshot"]


@pytest.mark.parametrize("case", ADAPTER_CASES, ids=lambda case: case["name"])
def test_adapter_messages(case: dict[str, Any]) -> None:
    assert code_of(parse_adapter_message, case["message"]) == case["code"]
    framed = code_of(read_adapter_message, body_of(case["message"]))
    assert (framed and wire_code(framed)) == case["code"]


@pytest.mark.parametrize("case", DRIVER_CASES, ids=lambda case: case["name"])
def test_driver_messages(case: dict[str, Any]) -> None:
    assert code_of(parse_driver_message, case["message"]) == case["code"]
    framed = code_of(read_driver_message, body_of(case["message"]))
    assert (framed and wire_code(framed)) == case["code"]


@pytest.mark.parametrize("case", LOG_CASES, ids=lambda case: case["name"])
def test_log_records(case: dict[str, Any]) -> None:
    assert code_of(validate_log_record, case["record"]) == case["code"]
    framed = code_of(read_adapter_message, body_of({"type": "log", "record": case["record"]}))
    assert framed == (case["code"] and {"string-bytes": "limit-exceeded"}.get(case["code"], "malformed"))


@pytest.mark.parametrize(
    ("record", "limits", "code"),
    [
        ({"message": "x" * 60}, {"maxLogRecordBytes": 50}, "bytes"),
        ([[[[]]]], {"maxDepth": 2}, "depth"),
        ({"__proto__": 1}, {}, "schema"),
        ({"ts": 1, "level": "info", "message": "m", "seq": 0, "revision": 0, "attrs": None}, {}, "revision"),
        ({"ts": 1, "level": "info", "message": "m", "seq": 0, "attrs": {str(n): n for n in range(65)}}, {}, "count"),
        ({"ts": 1, "level": "info", "message": "m", "seq": 0, "attrs": {"a": []}}, {}, "schema"),
        ({"unknown": 1, "ts": "late"}, {}, "schema"),
    ],
)
def test_the_order_of_the_checks_of_a_log_record(record: object, limits: dict[str, int], code: str) -> None:
    assert code_of(validate_log_record, record, {**DEFAULT_LIMITS, **limits}) == code


def test_granted_limits_are_clamped() -> None:
    case = next(case for case in DRIVER_CASES if case["name"].startswith("ack-limits-above-absolute"))
    ack = read_driver_message(body_of({**case["message"], "added": 1}))
    assert isinstance(ack, HelloAck)
    assert ack.limits.max_nodes == ABSOLUTE_LIMITS["maxNodes"]
    assert all(granted <= ABSOLUTE_LIMITS[name] for name, granted in msgspec.to_builtins(ack.limits).items())


def test_the_observation_examples() -> None:
    assert validate_snapshot(load("observations.json")["qualifiedSnapshot"]).revision == 7


def test_a_real_textual_tree() -> None:
    recorded = load("real-textual-8.2.8-first-semantic-full.json")
    message = read_adapter_message(body_of(recorded.get("message", recorded)))
    assert isinstance(message, SemanticFull)
    assert message.snapshot.revision == 1


@pytest.mark.parametrize(("name", "nodes"), [("frame-full-100.bin", 100), ("frame-full-1000.bin", 1000)])
def test_recorded_frames(name: str, nodes: int) -> None:
    (body,) = FrameDecoder(DEFAULT_LIMITS["maxFrameBytes"]).bodies(data("termwright", name).read_bytes())
    message = read_adapter_message(body)
    assert isinstance(message, SemanticFull)
    assert len(message.snapshot.nodes) == nodes


def test_a_framed_snapshot_is_measured_with_its_envelope_and_only_its_tree_with_maxDepth() -> None:
    quirks = load("framing-extra.json")["framedQuirks"]
    snapshot = next(case["snapshot"] for case in SNAPSHOT_CASES if case["name"] == "base")
    body = body_of({"type": "semantic-full", "snapshot": snapshot})
    between = {**DEFAULT_LIMITS, "maxSnapshotBytes": len(body) - 1}
    assert len(body_of(snapshot)) < len(body) - 1
    assert code_of(read_adapter_message, body, between) == quirks["bytes_between"]["code"]
    assert code_of(read_adapter_message, body, {**DEFAULT_LIMITS, "maxDepth": 5}) is None
    assert code_of(read_adapter_message, body, {**DEFAULT_LIMITS, "maxDepth": 1}) == quirks["framed_depth1"]["code"]
    unframed = {"type": "semantic-full", "snapshot": snapshot}
    assert code_of(parse_adapter_message, unframed, {**DEFAULT_LIMITS, "maxDepth": 5}) == quirks["unframed_depth5"]["code"]


def test_size_is_asked_before_shape() -> None:
    small = {**DEFAULT_LIMITS, "maxSnapshotBytes": 50, "maxLogRecordBytes": 50}
    full = {"type": "semantic-full", "snapshot": {"rubbish": "x" * 60}}
    log = {"type": "log", "record": {"rubbish": "x" * 60}}
    for message in (full, log):
        assert code_of(read_adapter_message, body_of(message), small) == "limit-exceeded"
        assert code_of(parse_adapter_message, message, small) == "limit-exceeded"
        assert code_of(read_adapter_message, body_of(message)) == "malformed"
    record = {"ts": 1, "level": "info", "message": "x" * 60, "seq": 0}
    assert code_of(read_adapter_message, body_of({"type": "log", "record": record}), small) == "limit-exceeded"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "malformed"),
        (b'{"type":1e999}', "malformed"),
        (b"[" * 70 + b"]" * 70, "limit-exceeded"),
        (b"\xff", "malformed"),
        (b"7", "malformed"),
    ],
)
def test_what_is_no_message_at_all(body: bytes, code: str) -> None:
    framed = code_of(read_adapter_message, body)
    assert framed is not None
    assert wire_code(framed) == code
