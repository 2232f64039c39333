"""The producer's core: handshake, publication order, deltas and when not, the log budget, and what ends a session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import UNSET, structs

from triptych.errors import LocalProtocolError
from triptych.generated.termwright.models import (
    AdapterInfo,
    Geometry,
    Instrumentation,
    Node,
    NodeState,
    ProbeInfo,
    Unknown,
    Unsupported,
)
from triptych.machines.termwright.framing import FrameDecoder, encode_frame
from triptych.machines.termwright.limits import ABSOLUTE_LIMITS, DEFAULT_LIMITS
from triptych.machines.termwright.marker import verify_marker
from triptych.machines.termwright.publisher import Attached, Closed, LogBucket, Publication, Publisher, Resync, Tree

TOKEN, SESSION = "a-token", "session-1"
ALL = ("tree", "states", "focus-state", "render-revisions", "incremental-tree", "logs")
RESYNC = {"type": "semantic-resync-request", "expectedBaseRevision": None, "reason": "missing-base"}
NOWHERE = Unsupported(capability="geometry", reason="capability")
GEOMETRY = Geometry(displayed=NOWHERE, intended_rect=NOWHERE, visible_rect=NOWHERE)


def node(identity: str, parent: str | None = "root", **fields: Any) -> Node:
    fields = {"role": "text", "name": identity, "geometry": GEOMETRY, **fields}
    return Node(id=identity, parent_id=UNSET if parent is None else parent, **fields)


def tree(*children: Node) -> Tree:
    return Tree(columns=80, rows=24, root_ids=("root",), nodes=(node("root", None), *children), coordinate_space=NOWHERE, hit_grid=NOWHERE)


def ack(**changes: Any) -> bytes:
    message = {
        "type": "hello-ack",
        "protocol": "termwright/3",
        "sessionId": SESSION,
        "limits": dict(DEFAULT_LIMITS),
        "subscribe": "semantic",
        "marker": {"enabled": True},
        "logs": {"enabled": True, "maxRecordsPerSecond": 10, "burst": 3},
    }
    return encode_frame({**message, **changes}, 1 << 20)


def publisher(capabilities: tuple[Any, ...] = ALL, **changes: Any) -> Publisher:
    made = Publisher(TOKEN, AdapterInfo(name="mine", version="1"), capabilities)
    made.hello()
    [event] = made.received(ack(**changes), 0.0)
    assert isinstance(event, Attached)
    return made


def messages(data: bytes) -> list[Mapping[str, Any]]:
    return FrameDecoder(8 << 20).push(data)  # type: ignore[return-value]


def kinds(publication: Publication) -> list[str]:
    return [message["type"] for message in messages(publication.frames)]


def test_hello_comes_first_and_once() -> None:
    probe = ProbeInfo(
        framework="own",
        probe_version="1",
        identity_kind="stable",
        capabilities=("stable-identity",),
        instrumentation=Instrumentation(
            highest_tier="T0", semantic_class="B", degraded_capabilities=("intended-geometry", "clipped-geometry")
        ),
    )
    made = Publisher(TOKEN, AdapterInfo(name="mine", version="1"), ALL, probe)
    [hello] = messages(made.hello())
    assert (hello["protocol"], hello["token"], hello["capabilities"]) == ("termwright/3", TOKEN, list(ALL))
    assert hello["probe"]["framework"] == "own"
    with pytest.raises(LocalProtocolError) as refused:
        made.hello()
    assert refused.value.code == "malformed"


def test_a_hello_that_breaks_the_protocol_is_not_sent() -> None:
    lying = ProbeInfo(
        framework="own",
        probe_version="1",
        identity_kind="frame-local",
        capabilities=("stable-identity",),
        instrumentation=Instrumentation(highest_tier="T0", semantic_class="A", degraded_capabilities=()),
    )
    for made in (
        Publisher(TOKEN, AdapterInfo(name="", version="1"), ALL),
        Publisher("", AdapterInfo(name="mine", version="1"), ALL),
        Publisher(TOKEN, AdapterInfo(name="mine", version="1"), ALL, lying),
    ):
        with pytest.raises(LocalProtocolError) as refused:
            made.hello()
        assert refused.value.code == "malformed"
        assert made.state == "idle"


def test_the_granted_limits_are_clamped_to_the_absolute_ones() -> None:
    made = publisher(limits={name: 10**9 for name in DEFAULT_LIMITS}, novelty={"ignored": True})
    assert made.session is not None
    assert made.session.limits == ABSOLUTE_LIMITS


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (ack(protocol="termwright/4"), "bad-version"),
        (ack(subscribe="snapshots"), "malformed"),
        (ack(limits={"maxNodes": 1}), "malformed"),
        (ack() + ack(), "malformed"),
        (encode_frame({**RESYNC, "sessionId": SESSION}, 999), "malformed"),
        (b"\0\0\0\0", "malformed"),
        (b"\xff\xff\xff\xff", "limit-exceeded"),
        (encode_frame({"type": "hello"}, 999), "malformed"),
    ],
)  # fmt: skip
def test_what_a_driver_may_not_say_ends_the_session(said: bytes, code: str) -> None:
    made = Publisher(TOKEN, AdapterInfo(name="mine", version="1"), ALL)
    made.hello()
    event = made.received(said, 0.0)[-1]
    assert isinstance(event, Closed)
    assert event.code == code
    [error] = messages(event.data)
    assert (error["type"], error["code"]) == ("error", code)
    assert made.state == "closed"
    assert made.received(ack(), 0.0) == []


def test_an_error_of_the_driver_ends_the_session_without_an_answer() -> None:
    made = Publisher(TOKEN, AdapterInfo(name="mine", version="1"), ALL)
    made.hello()
    assert made.received(encode_frame({"type": "error", "code": "bad-token", "message": "no"}, 999), 0.0) == [Closed("bad-token", "no")]
    with pytest.raises(LocalProtocolError) as refused:
        made.publish(tree())
    assert refused.value.code == "not-attached"


def test_tree_then_commit_then_the_marker_of_the_same_revision() -> None:
    made = publisher()
    for revision in (1, 2, 3):
        published = made.publish(tree(node("a", name=str(revision))))
        assert published.revision == made.revision == revision
        assert kinds(published) == ["semantic-full" if revision == 1 else "semantic-delta", "revision-commit"]
        assert messages(published.frames)[1]["revision"] == revision
        assert verify_marker(published.marker.decode()[len("\x1b]8487;") :], TOKEN, SESSION) == revision


def test_no_marker_when_the_driver_wants_none_or_it_was_not_announced() -> None:
    assert publisher(marker={"enabled": False}).publish(tree()).marker == b""
    assert publisher(("tree",)).publish(tree()).marker == b""


def test_full_trees_only_without_incremental_tree() -> None:
    made = publisher(("tree", "render-revisions"))
    assert [made.publish(tree(node("a"))).full for _ in range(3)] == [True, True, True]


def test_a_delta_names_its_base_and_says_what_changed() -> None:
    made = publisher()
    made.publish(tree(node("a"), node("b")))
    published = made.publish(tree(node("a"), node("b", name="changed"), node("c")))
    delta = messages(published.frames)[0]["delta"]
    assert (delta["baseRevision"], delta["revision"]) == (1, 2)
    assert [update["id"] for update in delta["updateNodes"]] == ["b"]
    assert [added["id"] for added in delta["addNodes"]] == ["c"]


def test_a_change_of_order_and_an_insertion_are_whole_trees() -> None:
    made = publisher()
    made.publish(tree(node("a"), node("b")))
    assert made.publish(tree(node("b"), node("a"))).full
    assert made.publish(tree(node("c"), node("b"), node("a"))).full
    assert not made.publish(tree(node("c"), node("a"))).full


def test_a_resync_request_makes_the_next_tree_whole() -> None:
    made = publisher()
    made.publish(tree())
    asked = {"type": "semantic-resync-request", "sessionId": SESSION, "expectedBaseRevision": 1, "reason": "base-mismatch", "more": 1}
    assert made.received(encode_frame(asked, 999), 0.0) == [Resync("base-mismatch")]
    assert [made.publish(tree()).full for _ in range(2)] == [True, False]


def test_a_resync_request_of_another_session_closes() -> None:
    made = publisher()
    asked = {"type": "semantic-resync-request", "sessionId": "other", "expectedBaseRevision": 1, "reason": "driver-reset"}
    [event] = made.received(encode_frame(asked, 999), 0.0)
    assert isinstance(event, Closed)
    assert event.code == "malformed"


def test_after_a_reconnect_revisions_go_on_and_the_first_tree_is_whole() -> None:
    made = publisher()
    made.publish(tree())
    made.disconnected()
    assert made.state == "idle"
    made.hello()
    made.received(ack(sessionId="session-2"), 5.0)
    published = made.publish(tree())
    assert (published.full, published.revision) == (True, 2)
    assert messages(published.frames)[0]["snapshot"]["sessionId"] == "session-2"


def test_a_tree_over_the_ceiling_gives_its_number_back() -> None:
    made = publisher(limits={**DEFAULT_LIMITS, "maxFrameBytes": 4000})
    assert made.publish(tree(node("a"))).revision == 1
    for _ in range(2):
        with pytest.raises(LocalProtocolError) as refused:
            made.publish(tree(node("a", name="x" * 5000)))
        assert refused.value.code == "frame-oversized"
    published = made.publish(tree(node("a", name="small")))
    assert (published.revision, published.full) == (2, False)
    assert messages(published.frames)[0]["delta"]["baseRevision"] == 1


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (tree(node("a"), node("a")), "duplicate-id"),
        (tree(node("a", parent="nobody")), "missing-parent"),
        (tree(node("a", actions=("focus",))), "capability"),
        (tree(node("a", geometry=structs.replace(GEOMETRY, visible_rect=Unknown(reason="stale-revision")))), "adapter-guarantee-violation"),
        ({"columns": 80}, "schema"),
        ({"columns": 80, "rows": 24, "rootIds": [], "nodes": [{"role": "wizard"}]}, "schema"),
    ],
)  # fmt: skip
def test_a_tree_that_a_driver_would_refuse_is_not_sent(said: Any, code: str) -> None:
    made = publisher()
    with pytest.raises(LocalProtocolError) as refused:
        made.publish(said)
    assert refused.value.code == code
    assert made.revision == 0
    assert made.publish(tree()).revision == 1


def test_a_tree_may_be_plain_json() -> None:
    nowhere = {"status": "unsupported", "capability": "geometry", "reason": "capability"}
    plain = {
        "columns": 80,
        "rows": 24,
        "rootIds": ["root"],
        "nodes": [
            {
                "id": "root",
                "role": "application",
                "name": "plain",
                "state": {"focused": True},
                "geometry": {"displayed": nowhere, "intendedRect": nowhere, "visibleRect": nowhere},
            }
        ],
        "coordinateSpace": nowhere,
        "hitGrid": nowhere,
    }
    snapshot = messages(publisher().publish(plain).frames)[0]["snapshot"]
    assert snapshot == {**plain, "v": 3, "sessionId": SESSION, "revision": 1}


def test_focus_needs_its_capability() -> None:
    focused = tree(node("a", state=NodeState(focused=True)))
    with pytest.raises(LocalProtocolError) as refused:
        publisher(("tree", "states", "render-revisions")).publish(focused)
    assert (refused.value.code, "focus-state" in refused.value.detail) == ("capability", True)


def test_no_log_record_before_the_budget_nor_without_one() -> None:
    made = Publisher(TOKEN, AdapterInfo(name="mine", version="1"), ALL)
    assert made.log("info", "too early", 0.0, 1) == b""
    made.hello()
    assert made.log("info", "still too early", 0.0, 1) == b""
    made.received(ack(), 0.0)
    [record] = [message["record"] for message in messages(made.log("info", "now", 0.0, 1))]
    assert (record["seq"], made.logs_dropped) == (3, 2)
    for other in (
        publisher(logs={"enabled": False, "maxRecordsPerSecond": 10, "burst": 3}),
        publisher(("tree",)),
    ):
        assert other.log("info", "never", 0.0, 1) == b""
        assert other.logs_dropped == 1
    silent = Publisher(TOKEN, AdapterInfo(name="mine", version="1"), ALL)
    silent.hello()
    plain = json.loads(ack()[4:])
    del plain["logs"]
    silent.received(encode_frame(plain, 1 << 20), 0.0)
    assert silent.log("info", "never", 0.0, 1) == b""


def test_records_over_the_budget_are_counted_and_take_their_numbers_with_them() -> None:
    made = publisher()
    sent = [made.log("debug", str(number), 0.0, 1) for number in range(10)]
    assert [bool(frame) for frame in sent] == [True] * 3 + [False] * 7
    assert made.logs_dropped == 7
    [later] = messages(made.log("debug", "later", 0.1, 1, logger="mine", attributes={"a": 1, "b": None}))
    assert later["record"] == {"ts": 1, "level": "debug", "message": "later", "seq": 11, "logger": "mine", "attrs": {"a": 1, "b": None}}
    made.publish(tree())
    [marked] = messages(made.log("debug", "drawn", 1.0, 1))
    assert marked["record"]["revision"] == 1


def test_a_record_that_the_protocol_does_not_allow_is_refused_and_counted() -> None:
    made = publisher()
    for code, record in (
        ("string-bytes", {"message": "x" * 20000}),
        ("schema", {"message": "x", "level": "loud"}),
        ("schema", {"message": "\ud800"}),
    ):
        with pytest.raises(LocalProtocolError) as refused:
            made.log(record.get("level", "info"), record["message"], 0.0, 1)  # type: ignore[arg-type]
        assert refused.value.code == code
    assert made.logs_dropped == 3


def test_the_bucket_fills_up_to_the_burst_and_no_further() -> None:
    bucket = LogBucket(rate=10, burst=2, now=0.0)
    assert [bucket.take(0.0) for _ in range(3)] == [True, True, False]
    assert not bucket.take(0.05)
    assert bucket.take(0.15)
    assert [bucket.take(100.0) for _ in range(3)] == [True, True, False]
    assert not bucket.take(99.0)  # a clock that goes back gives nothing
    assert LogBucket(rate=1, burst=0, now=0.0).take(0.0)
