"""The recorded termwright vectors through the walker: every acceptance, and for each refusal by shape the reference's own code."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from shared_data import data
from triptych.errors import RemoteProtocolError
from wire_kit import encode, reader

# How many refusals of each file are no matter of shape: order across nodes, ceilings of whole bodies, cursors outside the viewport.
BEYOND_SHAPE = {"snapshots.json": 20, "snapshots-extra.json": 7, "limits": 3, "messages-extra.json": 1}


def load(name: str) -> Any:
    return json.loads(data("termwright", name).read_text(encoding="utf-8"))


def check(root: str, cases: list[dict[str, Any]], key: str) -> int:
    """Assert verdict and code of each case; answer how many refusals the walker leaves to the protocol's core."""
    left: Counter[str] = Counter()
    for case in cases:
        refused = not case["ok"] if "ok" in case else "code" in case
        body, limits = encode(case[key]), case.get("limits")
        try:
            read = reader("termwright", root).read(body, limits)
        except RemoteProtocolError as refusal:
            assert refused, (case["name"], str(refusal))
            if refusal.code != case["code"]:
                left[case["name"]] += 1
        else:
            if refused:
                left[case["name"]] += 1
            fast = reader("termwright", root).accept(body, limits)
            assert fast is None or fast == read, case["name"]
    return left.total()


def test_snapshots() -> None:
    vectors = load("snapshots.json")
    assert check("Snapshot", vectors["accept"], "snapshot") == 0
    assert check("Snapshot", vectors["reject"], "snapshot") == BEYOND_SHAPE["snapshots.json"]


def test_more_snapshots() -> None:
    vectors = load("snapshots-extra.json")
    assert check("Snapshot", vectors["cases"], "snapshot") == BEYOND_SHAPE["snapshots-extra.json"]
    assert check("Snapshot", vectors["limitCases"], "snapshot") == BEYOND_SHAPE["limits"]


@pytest.mark.parametrize(("way", "root"), [("adapterToDriver", "AdapterMessage"), ("driverToAdapter", "DriverMessage")])
def test_messages(way: str, root: str) -> None:
    vectors = load("messages.json")[way]
    assert check(root, vectors["accept"] + vectors["reject"], "message") == 0
    beyond = BEYOND_SHAPE["messages-extra.json"] if root == "AdapterMessage" else 0  # nesting: the frame's code, not the message's
    assert check(root, load("messages-extra.json")[way], "message") == beyond


def test_logs() -> None:
    assert check("LogRecord", load("logs-extra.json")["cases"], "record") == 0


def test_a_real_frame_is_read_fast() -> None:
    recorded = load("real-textual-8.2.8-first-semantic-full.json")
    body = encode(recorded.get("message", recorded))
    assert reader("termwright", "AdapterMessage").accept(body) is not None
    for name in ("frame-full-100.bin", "frame-full-1000.bin", "frame-delta-1000-1pct.bin"):
        assert reader("termwright", "AdapterMessage").accept(data("termwright", name).read_bytes()[4:]) is not None
