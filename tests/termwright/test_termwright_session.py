from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.generated.termwright.models import LogRecord, Snapshot
from triptych.machines.termwright.framing import FrameDecoder, encode_frame
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.logs import BURST, RATE, WINDOW, LogChannel, Logged, LogNotice
from triptych.machines.termwright.marker import encode_marker
from triptych.machines.termwright.negotiation import CloseEndpoint, CloseSocket, Diagnostic
from triptych.machines.termwright.pairing import Pair
from triptych.machines.termwright.publisher import LogBucket
from triptych.machines.termwright.session import DriverSession, Output, Send

TOKEN, SESSION = "token", "session-1"
ALL = ["tree", "intended-geometry", "clipped-geometry", "states", "focus-state", "actions", "render-revisions"]
EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "p"}
ABSENT = {"status": "absent", "reason": "not-laid-out", "evidence": EVIDENCE}
RECIPE = {"action": "activate", "requiresFocus": False, "steps": [{"kind": "press", "key": "x"}]}
UNKNOWN = {"status": "unknown", "reason": "provider-refresh"}


def frame(message: object) -> bytes:
    return encode_frame(message, 1 << 20)


def hello(*capabilities: str, token: str = TOKEN, **more: Any) -> bytes:
    adapter = {"name": "test", "version": "1"}
    return frame(
        {"type": "hello", "protocol": "termwright/3", "token": token, "adapter": adapter, "capabilities": list(capabilities or ALL), **more}
    )


def snapshot(revision: int, *, session: str = SESSION, visible: Any = ABSENT, **node: Any) -> dict[str, Any]:
    geometry = {"displayed": {"status": "known", "value": True, "evidence": EVIDENCE}, "intendedRect": ABSENT, "visibleRect": visible}
    unsupported = {"status": "unsupported", "capability": "pointer-hit-grid", "reason": "not-negotiated"}
    return {
        "v": 3, "sessionId": session, "revision": revision, "columns": 80, "rows": 24, "rootIds": ["root"],
        "nodes": [{"id": "root", "role": "application", "name": "App", "geometry": geometry, **node}],
        "coordinateSpace": {"status": "known", "value": "viewport-cells", "evidence": EVIDENCE}, "hitGrid": unsupported,
    }  # fmt: skip


def full(revision: int, **how: Any) -> bytes:
    return frame({"type": "semantic-full", "snapshot": snapshot(revision, **how)})


def payload(revision: int, token: str = TOKEN) -> str:
    return encode_marker(token, SESSION, revision)[len(b"\x1b]8487;") :].decode()


def sent(outputs: list[Output[str]]) -> list[dict[str, Any]]:
    decoder = FrameDecoder(1 << 20)
    return [json.loads(body) for output in outputs if isinstance(output, Send) for body in decoder.bodies(output.data)]


def codes(outputs: list[Output[str]]) -> list[str]:
    return [output.code for output in outputs if isinstance(output, Diagnostic)]


def closed(outputs: list[Output[str]]) -> list[tuple[int, float]]:
    return [(output.socket, output.drain) for output in outputs if isinstance(output, CloseSocket)]


def pairs(outputs: list[Output[str]]) -> list[tuple[int, str | None]]:
    return [(output.revision, output.screen) for output in outputs if isinstance(output, Pair)]


def session(**limits: int) -> DriverSession[str]:
    core = DriverSession[str](TOKEN, SESSION, limits, now=0.0, now_ms=1_000_000)
    core.spawned(0.0)
    return core


def attached(*capabilities: str, **limits: int) -> DriverSession[str]:
    core = session(**limits)
    core.connected(1, 0.1)
    core.received(1, hello(*capabilities), 0.2)
    assert core.state == "attached"
    return core


def test_the_handshake() -> None:
    core = session(maxNodes=9, maxFrameBytes=1 << 40)
    assert core.connected(1, 0.1) == []
    outputs = core.received(1, hello("tree", "logs"), 0.2)
    (ack,) = sent(outputs)
    assert ack == {
        "type": "hello-ack",
        "protocol": "termwright/3",
        "sessionId": SESSION,
        "limits": {**DEFAULT_LIMITS, "maxNodes": 9, "maxFrameBytes": 8388608},  # never above the absolute ceiling
        "subscribe": "semantic",
        "marker": {"enabled": False},
        "logs": {"enabled": True, "maxRecordsPerSecond": RATE, "burst": BURST},
    }
    assert codes(outputs) == ["adapter-attached"]


def test_an_adapter_without_logs_gets_no_budget_and_with_revisions_gets_markers() -> None:
    core = session()
    core.connected(1, 0.1)
    (ack,) = sent(core.received(1, hello(), 0.2))
    assert ack["marker"] == {"enabled": True}
    assert "logs" not in ack


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (hello(token="wrong"), "bad-token"),
        (hello(protocol="termwright/2", extra=1), "bad-version"),
        (hello(extra=1), "malformed"),
        (hello("flying"), "malformed"),
        (full(1), "malformed"),
        (frame({"type": "revision-commit", "revision": 1}), "malformed"),
        (b"\x00\x00\x00\x02{{", "malformed"),
        (b"\x00\x00\x00\x00", "malformed"),
        (b"\x00\x00\x00\x02\xff\xff", "malformed"),
        (b"\x7f\x00\x00\x00", "limit-exceeded"),
        (frame([[[]]])[:4] + b"[[]]]]", "malformed"),
        ((70 * 2).to_bytes(4, "big") + b"[" * 70 + b"]" * 70, "limit-exceeded"),
        (frame({"type": "error", "code": "internal", "message": "no"}), "malformed"),
    ],
)
def test_a_refused_hello_settles_nothing(said: bytes, code: str) -> None:
    core = session()
    core.connected(1, 0.1)
    outputs = core.received(1, said, 0.2)
    (error,) = sent(outputs)
    assert (error["type"], error["code"]) == ("error", code)
    assert codes(outputs) == ["adapter-refused"]
    assert closed(outputs) == [(1, 1.0)]
    assert core.received(1, hello(), 0.3) == []  # what a closed socket still says is ignored
    assert core.state == "listening"
    core.connected(2, 0.4)
    assert sent(core.received(2, hello(), 0.5))[0]["type"] == "hello-ack"


@pytest.mark.parametrize("tree_first", [True, False])
def test_pairing_in_either_order_at_the_moment_of_the_marker(tree_first: bool) -> None:
    core = attached()
    published: list[tuple[int, str | None]] = []
    for half in ("tree", "marker") if tree_first else ("marker", "tree"):
        assert published == []
        published = pairs(core.received(1, full(1), 1.0) if half == "tree" else core.marker(payload(1), lambda: "the cells", 1.1))
    assert published == [(1, "the cells")]
    assert isinstance(core.tree, Snapshot)
    assert codes(core.marker(payload(1), lambda: "replayed", 2.0)) == ["revision-dropped"]


def test_without_render_revisions_a_tree_is_published_as_it_arrives() -> None:
    core = attached("tree")
    assert pairs(core.received(1, full(3), 1.0)) == [(3, None)]


def test_a_forged_marker_copies_no_screen() -> None:
    core = attached()

    def screen() -> str:
        raise AssertionError("the screen was copied")

    for forged in (payload(1, token="other"), "twm;1;AAAAAAAAAAAAAAAAAAAAAA", "", "rubbish"):
        assert codes(core.marker(forged, screen, 1.0)) == ["marker-unverified"]
    assert core.waiting == ((), ())


def test_any_split_of_the_bytes_is_the_same_session() -> None:
    stream = hello() + full(1) + frame({"type": "revision-commit", "revision": 1}) + full(2) + hello()
    for size in (1, 3, 7, 64, len(stream)):
        core = session()
        core.connected(1, 0.0)
        outputs = [output for start in range(0, len(stream), size) for output in core.received(1, stream[start : start + size], 0.1)]
        assert [message["type"] for message in sent(outputs)] == ["hello-ack", "error"]
        assert core.waiting == ((1, 2), ())
        assert core.tree is not None
        assert core.tree.revision == 2


@pytest.mark.parametrize(
    ("capabilities", "said", "reason"),
    [
        (["intended-geometry"], full(1), "tree"),
        (["tree"], full(1, state={"disabled": True}), "states"),
        (["tree"], full(1, extended={}), "states"),
        (["tree", "states"], full(1, state={"focused": False}), "focus-state"),
        (["tree"], full(1, actions=["activate"]), "actions"),
        (["tree"], full(1, textRanges=[]), "text-ranges"),
        (["tree", "actions"], full(1, actions=["activate"], inputRecipes=[RECIPE]), "action-recipes"),
        (["tree"], full(1, session="another"), "session"),
        (["tree"], frame({"type": "log", "record": {"ts": 1, "level": "info", "message": "", "seq": 0}}), "logs"),
        (["tree"], frame({"type": "semantic-delta", "delta": {}}), "incremental-tree"),
        (["tree"], hello("tree"), "second hello"),
        (["tree"], frame({"type": "hello-ack"}), "type"),
        (["tree"], full(0), "revision"),
    ],
)  # fmt: skip
def test_a_violation_ends_the_channel_and_keeps_the_tree(capabilities: list[str], said: bytes, reason: str) -> None:
    core = attached(*capabilities)
    if "tree" in capabilities:
        core.received(1, full(7), 0.5)
    held = core.tree
    outputs = core.received(1, said, 1.0)
    (error,) = sent(outputs)
    assert (error["type"], error["code"]) == ("error", "malformed")
    assert reason in error["message"]
    assert closed(outputs) == [(1, 1.0)]
    assert codes(outputs) == ["protocol-violation"]
    assert core.state == "detached"
    assert core.failure is not None
    assert core.failure.code == "protocol-violation"
    assert core.tree is held


def test_limits_are_the_session_s_own() -> None:
    core = attached("tree", maxStringBytes=8)
    outputs = core.received(1, full(1, name="123456789"), 1.0)
    assert sent(outputs)[0]["code"] == "limit-exceeded"
    core = attached("tree", maxFrameBytes=300)
    assert sent(core.received(1, full(1), 1.0))[0]["code"] == "limit-exceeded"


def test_a_broken_guarantee_is_told_when_the_revision_is_published() -> None:
    core = attached()
    core.received(1, full(1, visible=UNKNOWN), 1.0)
    outputs = core.marker(payload(1), lambda: "cells", 1.1)
    assert pairs(outputs) == []
    assert sent(outputs)[0]["code"] == "adapter-guarantee-violation"


def test_a_code_that_published_clients_do_not_know_is_not_sent() -> None:
    core = attached("tree")
    entry = {"status": "lost", "providerId": "p", "sessionId": "another", "revision": 1, "reason": "x"}
    given = {**snapshot(1), "providerEvidence": [entry]}
    outputs = core.received(1, frame({"type": "semantic-full", "snapshot": given}), 1.0)
    assert sent(outputs)[0]["code"] == "malformed"
    assert core.failure is not None
    assert core.failure.detail.startswith("capability-provider-violation")


def delta(revision: int, base: int, **groups: Any) -> bytes:
    return frame({"type": "semantic-delta", "delta": {"v": 3, "sessionId": SESSION, "revision": revision, "baseRevision": base, **groups}})


def renamed(revision: int, base: int, name: str) -> bytes:
    return delta(revision, base, updateNodes=[{"id": "root", "set": {"name": name}}])


def test_deltas_are_applied_to_the_last_accepted_tree() -> None:
    core = attached("tree", "incremental-tree", "render-revisions")
    core.received(1, full(1), 1.0)
    # Nothing is published yet: the base is what was accepted on the socket, paired or not.
    assert pairs(core.received(1, renamed(2, 1, "Second"), 1.1)) == []
    core.received(1, renamed(3, 2, "Third"), 1.2)
    (published,) = [output for output in core.marker(payload(2), lambda: "cells", 1.3) if isinstance(output, Pair)]
    assert published.tree.nodes[0].name == "Second"
    (published,) = core.marker(payload(3), lambda: "cells", 1.4)
    assert isinstance(published, Pair)
    assert published.tree.nodes[0].name == "Third"
    assert core.tree is published.tree


def test_a_delta_without_its_base_is_answered_with_a_request_for_a_whole_tree() -> None:
    core = attached("tree", "incremental-tree")
    request = {"type": "semantic-resync-request", "sessionId": SESSION}
    assert sent(core.received(1, renamed(2, 1, "x"), 1.0)) == [{**request, "expectedBaseRevision": None, "reason": "missing-base"}]
    core.received(1, full(1), 1.1)
    held = core.tree
    for _ in range(2):  # requests are not counted: each such delta makes one
        assert sent(core.received(1, renamed(4, 3, "x"), 1.2)) == [{**request, "expectedBaseRevision": 1, "reason": "base-mismatch"}]
    assert core.state == "attached"
    assert core.tree is held
    assert pairs(core.received(1, renamed(2, 1, "x"), 1.3)) == [(2, None)]
    assert pairs(core.received(1, full(7), 1.4)) == [(7, None)]
    assert pairs(core.received(1, renamed(8, 7, "y"), 1.5)) == [(8, None)]


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (renamed(1, 1, "x"), "semantic delta revision"),
        (delta(2, 1, updateNodes=[{"id": "stranger", "set": {"name": "x"}}]), "semantic delta schema"),
        (delta(2, 1, removeNodeIds=["root"]), "semantic delta missing-parent"),
        (delta(2, 1, extra=1), "semantic delta schema"),
        (frame({"type": "semantic-delta", "delta": []}), "semantic delta schema"),
        (delta(2, 1, updateNodes=[{"id": "root", "set": {"state": {"disabled": True}}}]), "states"),
        (delta(2, 1, snapshot={"hitGrid": {"status": "known", "value": {"regions": []}, "evidence": EVIDENCE}}), "pointer-hit-grid"),
    ],
)
def test_a_delta_that_breaks_a_rule_ends_the_channel_and_changes_nothing(said: bytes, detail: str) -> None:
    core = attached("tree", "incremental-tree")
    core.received(1, full(1), 1.0)
    held = core.tree
    outputs = core.received(1, said, 1.1)
    (error,) = sent(outputs)
    assert error["code"] == "malformed"
    assert detail in error["message"]
    assert codes(outputs) == ["protocol-violation"]
    assert core.tree is held


def test_guarantees_follow_deltas() -> None:
    core = attached("tree", "intended-geometry", "clipped-geometry", "incremental-tree", "render-revisions")
    geometry = snapshot(1)["nodes"][0]["geometry"]

    def told(revision: int, visible: object) -> None:
        update = {"id": "root", "set": {"geometry": {**geometry, "visibleRect": visible}}}
        assert core.received(1, delta(revision, revision - 1, updateNodes=[update]), 1.0) == []

    core.received(1, full(1), 1.0)
    told(2, UNKNOWN)  # unsettled, and never published
    told(3, ABSENT)
    assert pairs(core.marker(payload(3), lambda: "cells", 1.1)) == [(3, "cells")]
    told(4, UNKNOWN)
    core.received(1, renamed(5, 4, "x"), 1.2)  # which leaves it unsettled
    outputs = core.marker(payload(5), lambda: "cells", 1.3)
    assert pairs(outputs) == []
    assert codes(outputs) == ["revision-superseded", "adapter-guarantee-violation", "protocol-violation"]
    assert core.failure is not None
    assert core.failure.code == "adapter-guarantee-violation"
    assert core.broken


UNSUPPORTED = {"status": "unsupported", "capability": "x", "reason": "capability"}


@pytest.mark.parametrize(
    ("capabilities", "node", "top", "kept"),
    [
        ([], {}, {}, True),
        ([], {"visible": UNSUPPORTED}, {}, True),
        ([], {"visible": UNKNOWN}, {}, False),
        ([], {"value": UNKNOWN}, {}, False),
        ([], {"scroll": UNKNOWN}, {}, False),
        ([], {"paintedRegion": UNKNOWN}, {}, False),
        (["clipped-geometry"], {"visible": UNSUPPORTED}, {}, False),
        (["intended-geometry"], {"visible": UNSUPPORTED}, {}, True),
        ([], {}, {"coordinateSpace": UNKNOWN}, False),
        ([], {}, {"hitGrid": UNKNOWN}, False),
        (["pointer-hit-grid"], {}, {}, False),
        (["pointer-hit-grid"], {}, {"hitGrid": ABSENT}, True),
    ],
)
def test_what_may_be_committed(capabilities: list[str], node: dict[str, Any], top: dict[str, Any], kept: bool) -> None:
    core = attached("tree", *capabilities)
    outputs = core.received(1, frame({"type": "semantic-full", "snapshot": {**snapshot(1, **node), **top}}), 1.0)
    assert (pairs(outputs) == [(1, None)]) is kept
    assert (core.failure is None) is kept


def test_frame_begin_is_believed_only_from_a_probe_that_claims_it() -> None:
    begin = frame({"type": "frame-begin", "revision": 1})
    assert codes(attached().received(1, begin, 1.0)) == ["adapter-capability"]
    core = session()
    core.connected(1, 0.0)
    probe = {
        "framework": "f", "probeVersion": "1", "identityKind": "stable", "capabilities": ["frame-begin"],
        "instrumentation": {"highestTier": "T0", "semanticClass": "A", "degradedCapabilities": []},
    }  # fmt: skip
    core.received(1, hello(probe=probe), 0.1)
    core.received(1, full(1), 0.2)
    assert core.deadline() is not None
    assert core.received(1, begin, 0.3) == []
    assert core.deadline() is None


def test_logs_are_kept_in_order_within_their_budget() -> None:
    core = attached("tree", "logs")

    def log(seq: int, now: float, ts: int = 1_000_700) -> list[Output[str]]:
        return core.received(1, frame({"type": "log", "record": {"ts": ts, "level": "info", "message": "m", "seq": seq}}), now)

    (first,) = log(5, 1.0)
    assert isinstance(first, Logged)
    assert (first.at_ms, first.lost) == (500, 0)  # the handshake was at 0.2 s, wall clock 1_000_200
    (gap,) = log(9, 1.0, ts=1)
    assert isinstance(gap, Logged)
    assert (gap.at_ms, gap.lost) == (0, 3)
    assert codes(log(9, 1.0)) == ["protocol-violation"]
    assert core.state == "attached"
    taken = sum(isinstance(output, Logged) for seq in range(10, 1000) for output in log(seq, 1.0))
    assert taken == RATE + BURST - 2  # all that was granted, and no more
    due = core.deadline()
    assert due == 1.25
    notices = core.tick(due)
    assert codes(notices) == ["log-dropped"]
    assert isinstance(notices[0], Diagnostic)
    assert notices[0].detail.startswith("292 ")
    assert core.tick(due) == []
    (taken_again,) = log(1000, 2.0)
    assert isinstance(taken_again, Logged)
    assert taken_again.lost == 0  # what was dropped on arrival was not lost at the source


@given(st.lists(st.tuples(st.floats(0, 0.2), st.integers(0, 3), st.integers(1, 300)), max_size=12))
def test_what_was_granted_is_taken_and_every_record_is_told_once(steps: list[tuple[float, int, int]]) -> None:
    core = attached("tree", "logs")
    now, seq, count = 1.0, 0, 0
    outputs: list[Output[str]] = []
    times: list[float] = []
    tokens = float(RATE + BURST)
    for pause, lost, burst in steps:
        now, seq = now + pause, seq + lost
        tokens = min(tokens + pause * RATE, RATE + BURST)
        kept = 0
        for _ in range(burst):
            seq, count = seq + 1, count + 1
            answers = core.received(1, frame({"type": "log", "record": {"ts": 1, "level": "info", "message": "m", "seq": seq}}), now)
            kept += sum(isinstance(output, Logged) for output in answers)
            outputs += answers
        assert abs(kept - min(int(tokens), burst)) <= 1
        tokens -= kept
        times += [now] * kept
    outputs += core.tick(now + 1)
    dropped = [int(output.detail.split()[0]) for output in outputs if isinstance(output, Diagnostic)]
    assert len(times) + sum(dropped) == count


@given(st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 1.0), st.integers(1, 600)), min_size=1, max_size=8))
def test_a_source_that_keeps_its_budget_loses_nothing_though_its_records_arrive_late(bursts: list[tuple[float, float, int]]) -> None:
    source, channel = LogBucket(RATE, BURST, 0.0), LogChannel(0.0, 0)
    now = arrived = 0.0
    seq = sent = 0
    answers: list[Logged | LogNotice] = []
    for pause, delay, many in bursts:
        now += pause
        arrived = max(arrived, now + delay)  # a stream keeps its order
        for _ in range(many):
            seq += 1
            if source.take(now):
                sent += 1
                answers += channel.accept(LogRecord(ts=1, level="info", message="m", seq=seq), arrived)
    assert len(answers) == sent > 0
    assert all(isinstance(answer, Logged) for answer in answers)


def test_a_flood_of_logs_is_cut_to_the_rate_and_reported_once_a_window() -> None:
    channel = LogChannel(0.0, 0)
    answers = [
        answer
        for number in range(10_000)  # a thousand a second, for ten seconds
        for answer in channel.accept(LogRecord(ts=1, level="info", message="m", seq=number), number / 1000)
    ]
    taken = sum(isinstance(answer, Logged) for answer in answers)
    assert taken == pytest.approx(RATE + BURST + 10 * RATE, abs=1)
    answers += channel.overdue(11.0)
    notices = [answer for answer in answers if isinstance(answer, LogNotice)]
    assert {notice.code for notice in notices} == {"log-dropped"}
    assert sum(int(notice.detail.split()[0]) for notice in notices) == 10_000 - taken
    assert len(notices) <= 10 / WINDOW


def test_the_watchdog_reports_and_keeps() -> None:
    core = attached()
    core.received(1, full(1), 1.0)
    core.output(1.5)
    assert core.deadline() == 3.5
    assert core.tick(3.0) == []
    assert codes(core.tick(3.5)) == ["revision-pairing-watchdog"]
    assert pairs(core.marker(payload(1), lambda: "late", 9.0)) == [(1, "late")]


def test_nobody_connects() -> None:
    core = session()
    assert core.deadline() == 2.0
    assert codes(core.tick(2.0)) == ["negotiation-timeout"]
    assert core.failure is not None
    assert core.state == "refused"
    outputs = core.connected(1, 2.1)
    assert sent(outputs)[0]["code"] == "internal"
    assert closed(outputs) == [(1, 1.0)]


def test_sockets_that_say_nothing_and_a_fifth_one() -> None:
    core = session()
    for socket in (1, 2, 3, 4):
        assert core.connected(socket, 0.1) == []
    assert closed(core.connected(5, 0.2)) == [(5, 0.0)]
    core.tick(2.0)
    outputs = core.tick(10.1)
    assert [message["code"] for message in sent(outputs)] == ["internal"] * 4
    assert core.state == "refused"


def test_an_adapter_that_gives_up_or_goes() -> None:
    core = attached()
    outputs = core.received(1, frame({"type": "error", "code": "duplicate-semantic-key", "message": "two"}), 1.0)
    assert codes(outputs) == ["duplicate-semantic-key", "adapter-disconnected"]
    assert closed(outputs) == [(1, 0.0)]
    core = attached()
    core.received(1, full(1), 1.0)
    assert codes(core.disconnected(1, 1.1)) == ["adapter-disconnected"]
    assert core.disconnected(1, 1.2) == []
    # The program goes on: its marker may come after the socket is gone.
    assert pairs(core.marker(payload(1), lambda: "cells", 1.3)) == [(1, "cells")]
    outputs = core.connected(2, 1.4)
    assert sent(outputs)[0]["code"] == "internal"


def test_closing() -> None:
    core = attached()
    outputs = core.close(1.0)
    assert closed(outputs) == [(1, 1.0)]
    assert isinstance(outputs[-1], CloseEndpoint)
    assert core.close(1.1) == []
    assert closed(core.connected(9, 1.2)) == [(9, 0.0)]
    assert core.received(1, full(1), 1.3) == []
    assert core.deadline() is None
