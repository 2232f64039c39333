"""The engine core: requests and their order, opening and ending, the checks of a session, signalling."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desklink_engine_kit import FACTS, FED, SCREEN, X11, Consumer
from triptych.errors import RemoteProtocolError
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.engine import MOST_BEHIND
from triptych.machines.desklink.geometry import Size
from triptych.machines.wire.lines import TooLong
from triptych.machines.wire.read import Reader
from triptych.machines.wire.text import DESKLINK

# Envelope and gate


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b"null",
        b"{}",
        b'{"id":1}',
        b'{"id":"1","method":"hello"}',
        b'{"id":-1,"method":"hello"}',
        b'{"id":1.0,"method":"hello"}',
        b'{"id":18446744073709551616,"method":"hello"}',
        b'{"id":1,"method":7}',
        b"\xff\xfe\n",
        b'{"id":1,"method":"a"}{}',
        b"[" * 5000,
    ],
)
def test_a_line_that_is_no_request_is_answered_without_an_id_and_the_channel_stays_usable(line: bytes) -> None:
    consumer = Consumer(greet=False)
    consumer.line(line)
    assert [(message.get("id"), message["error"]["code"]) for message in consumer.said] == [(None, "malformed")]
    assert "id" not in consumer.said[0]
    assert consumer.code(consumer.send("session.metrics")) == "unsupported-protocol"


def test_blank_lines_and_space_around_a_request() -> None:
    consumer = Consumer()
    for blank in (b"", b"   ", b"\r", b"\t"):
        consumer.line(blank)
    assert consumer.said == []
    consumer.line(b'  {"id":9,"method":"session.metrics"}\r')
    assert consumer.code(9) == "session"


def test_a_line_that_is_too_long() -> None:
    consumer = Consumer()
    consumer.take(consumer.engine.line(TooLong(16), 0.0))
    assert consumer.said[0]["error"]["code"] == "malformed"
    assert "id" not in consumer.said[0]


@pytest.mark.parametrize("absent", [{}, {"id": None}])
def test_a_request_without_an_id_is_carried_out_and_not_answered(absent: dict[str, None]) -> None:
    consumer = Consumer(greet=False)
    consumer.line(json.dumps({**absent, "method": "hello", "params": {"protocol": 2}}).encode())
    consumer.line(json.dumps({**absent, "method": "hello", "params": {"protocol": 3}}).encode())
    consumer.line(json.dumps({**absent, "method": "session.open", "params": X11}).encode())
    opening = consumer.the(do.OpenSource)
    consumer.take(consumer.engine.opened(opening.session_id, SCREEN, None, 0.0))
    assert consumer.states() == [("consented", "new", False)]
    assert len(consumer.said) == 1


@pytest.mark.parametrize("request_id", [0, 1, 2**53 + 1, 2**64 - 1])
def test_ids_come_back_exactly(request_id: int) -> None:
    consumer = Consumer()
    consumer.line(json.dumps({"id": request_id, "method": "session.metrics"}).encode())
    assert consumer.said[0]["id"] == request_id


def test_before_hello_everything_else_is_refused_the_same_way() -> None:
    consumer = Consumer(greet=False)
    for method, params in (("session.open", X11), ("session.frame", None), ("nonsense", None), ("session.metrics", {})):
        assert consumer.code(consumer.send(method, params)) == "unsupported-protocol"
    for wrong in ({}, {"protocol": 2}, {"protocol": 4}):
        assert consumer.code(consumer.send("hello", wrong)) == "unsupported-protocol"
    for malformed in (None, [], {"protocol": "3"}, {"protocol": -3}):
        assert consumer.code(consumer.send("hello", malformed)) == "malformed"
    assert consumer.code(consumer.send("session.metrics")) == "unsupported-protocol"
    asked = [consumer.send("capabilities"), consumer.send("hello", {"protocol": 3, "client": "x"})]
    # The gate is open as soon as the hello was read, whether or not the look at the machine is over.
    assert consumer.code(consumer.send("session.metrics")) == "session"
    for probe in [effect for effect in consumer.effects if isinstance(effect, do.Probe)]:
        consumer.take(consumer.engine.probed(probe.token, FACTS))
    reader: Reader[Any] = Reader("desklink", "Capabilities", DESKLINK)
    for request in asked:
        assert reader.read(json.dumps(consumer.result(request)).encode()).protocol == 3
    assert consumer.code(consumer.send("hello", {"protocol": 2})) == "unsupported-protocol"
    assert consumer.code(consumer.send("session.metrics")) == "session"


def test_unknown_methods() -> None:
    consumer = Consumer()
    for method in ("session.wait_frame", "", "Hello", "session.wait"):
        assert consumer.code(consumer.send(method, {})) == "operation"


# Opening


@pytest.mark.parametrize(
    ("params", "code"),
    [
        (None, "malformed"),
        ({"permissions": ["view", "fly"]}, "malformed"),
        ({"permissions": "view"}, "malformed"),
        ({"permissions": ["view"], "source": {"kind": "tv"}}, "malformed"),
        ({"permissions": ["view"], "source": "x11"}, "malformed"),
        ({"permissions": ["view"], "source": {"kind": "encoded", "codec": "vp9", "width": 1, "height": 1}}, "malformed"),
        ({"permissions": ["view"], "source": {"kind": "encoded", "codec": "h264"}}, "malformed"),
        ({"permissions": ["view"], "max_fps": -1}, "malformed"),
        ({"permissions": ["view"], "ttl_seconds": 1.5}, "malformed"),
        ({"permissions": ["view"], "ice_servers": [{}]}, "malformed"),
        ({}, "permission"),
        ({"permissions": ["control", "clipboard"], "source": {"kind": "x11"}}, "permission"),
        ({"permissions": ["control"]}, "permission"),
        ({"permissions": ["view", "control"]}, "input-unavailable"),
        ({"permissions": ["view", "control"], "source": {"kind": "portal"}}, "input-unavailable"),
        ({"permissions": ["view"], "source": None}, "source"),
        ({"permissions": ["view"], "source": {"kind": "display", "display_id": 1}}, "source"),
        ({"permissions": ["view"], "source": {"kind": "encoded", "codec": "h264", "width": 0, "height": 5}}, "source"),
        ({"permissions": ["view"], "source": {"kind": "encoded", "codec": "h264", "width": 7681, "height": 5}}, "source"),
        ({"permissions": ["view"], "source": {"kind": "encoded", "codec": "h264", "width": 7680, "height": 4321}}, "source"),
    ],
)
def test_an_open_that_is_refused_opens_nothing_and_leaves_the_old_session(params: Any, code: str) -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.effects.clear()
    assert consumer.code(consumer.send("session.open", params)) == code
    assert consumer.effects == []
    consumer.send("session.close", {"session_id": session})
    assert consumer.the(do.CloseSource).session_id == session


def test_what_an_open_answers() -> None:
    consumer = Consumer()
    request = consumer.send("session.open", {**X11, "max_width": 1280, "max_height": 800, "max_fps": 900, "unknown": 1})
    opening = consumer.the(do.OpenSource)
    assert (opening.display, opening.control, opening.max_fps) == (":170", True, 60)
    assert not consumer.answered(request)
    consumer.take(consumer.engine.opened(opening.session_id, Size(2560, 1440), None, 0.0))
    reader: Reader[Any] = Reader("desklink", "OpenResult", DESKLINK)
    result = reader.read(json.dumps(consumer.result(request)).encode())
    assert (result.session_id, result.generation, result.source.kind) == (opening.session_id, 1, "x11-root")
    assert (result.geometry.source.width, result.geometry.encoded.width, result.geometry.encoded.height) == (2560, 1280, 720)
    # The answer comes before the session's first event.
    assert [message.get("event", "answer") for message in consumer.said] == ["answer", "session.state"]
    assert consumer.states() == [("consented", "new", False)]
    assert consumer.count(do.StartPeer) == consumer.count(do.StartCapture) == 1


def test_a_source_that_cannot_be_opened_costs_nobody_the_old_session() -> None:

    consumer = Consumer()
    session = consumer.open()
    request = consumer.send("session.open", X11)
    opening = [effect for effect in consumer.effects if isinstance(effect, do.OpenSource)][-1]
    assert consumer.code(consumer.send("session.close", {"session_id": opening.session_id})) == "session"
    consumer.take(consumer.engine.open_failed(opening.session_id, RemoteProtocolError("source", "no display"), 0.0))
    assert consumer.code(request) == "source"
    assert consumer.count(do.CloseSource) == 0
    consumer.send("session.close", {"session_id": session})
    assert consumer.the(do.CloseSource).session_id == session


def test_a_second_open_replaces_the_first_which_says_its_last_before() -> None:
    consumer = Consumer()
    first = consumer.open()
    request = consumer.send("session.open", X11)
    second = [effect for effect in consumer.effects if isinstance(effect, do.OpenSource)][-1].session_id
    consumer.take(consumer.engine.opened(second, SCREEN, None, 0.0))
    assert not consumer.answered(request)
    assert consumer.the(do.CloseSource).session_id == first
    assert consumer.the(do.SendControl).message["code"] == "closed"
    consumer.said.clear()
    consumer.take(consumer.engine.source_closed(first, 0.0))
    assert [message.get("event", "answer") for message in consumer.said] == ["session.state", "answer", "session.state"]
    assert consumer.states() == [("ended", "closed", False), ("consented", "new", False)]
    assert consumer.events("session.revoked") == []
    assert consumer.result(request)["sessionId"] == second


def test_requests_behind_an_open_are_not_lost_and_keep_their_order() -> None:
    consumer = Consumer()
    opened = consumer.send("session.open", X11)
    metrics = consumer.send("session.metrics")
    again = consumer.send("session.open", FED)
    hello = consumer.send("hello", {"protocol": 2})
    assert consumer.code(hello) == "unsupported-protocol"
    assert not consumer.answered(metrics)
    first = consumer.the(do.OpenSource).session_id
    consumer.take(consumer.engine.opened(first, SCREEN, None, 0.0))
    assert consumer.result(opened)["sessionId"] == first
    assert consumer.result(metrics)["captured_frames"] == 0
    consumer.take(consumer.engine.source_closed(first, 0.0))
    assert consumer.result(again)["source"]["kind"] == "encoded"


def test_what_waits_behind_an_open_is_bounded() -> None:
    consumer = Consumer()
    consumer.send("session.open", X11)
    waiting = [consumer.send("session.metrics") for _ in range(MOST_BEHIND + 1)]
    assert consumer.code(waiting[-1]) == "session"
    assert not any(consumer.answered(request) for request in waiting[:-1])
    consumer.take(consumer.engine.opened(consumer.the(do.OpenSource).session_id, SCREEN, None, 0.0))
    assert all(consumer.result(request) for request in waiting[:-1])


# The checks of session-scoped methods

SCOPED = [
    ("session.description", {"description": {"type": "answer", "sdp": ""}}),
    ("session.candidate", {"candidate": ""}),
    ("session.restart_ice", {}),
    ("session.frame", {}),
    ("session.feed", {"keyframe": True, "data_b64": "AAAA"}),
    ("session.clipboard.read", {}),
    ("session.clipboard.write", {"text": "x"}),
    ("session.close", {}),
]


@pytest.mark.parametrize(("method", "more"), SCOPED)
def test_the_order_of_the_session_checks(method: str, more: dict[str, Any]) -> None:
    consumer = Consumer()
    assert consumer.code(consumer.send(method, None)) == "session"
    session = consumer.open()
    for params in (None, {}, [], {**more}, {**more, "session_id": 5}, {**more, "session_id": session, "generation": "1"}):
        assert consumer.code(consumer.send(method, params)) == "malformed"
    assert consumer.code(consumer.send(method, {**more, "session_id": "other", "generation": 7})) == "session"
    assert consumer.code(consumer.send(method, {**more, "session_id": session, "generation": 2})) == "generation"
    assert consumer.count(do.CloseSource) == consumer.count(do.Signal) == 0
    consumer.send("session.close", {"session_id": session, "generation": 1})
    consumer.take(consumer.engine.source_closed(session, 0.0))
    assert consumer.code(consumer.send(method, {**more, "session_id": session})) == "session"


def test_close_says_the_last_word_and_is_answered_after_it() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.said.clear()
    consumer.effects.clear()
    waiting = consumer.send("session.frame", {"session_id": session, "timeout_ms": 9000})
    request = consumer.send("session.close", {"session_id": session})
    assert [type(effect) for effect in consumer.effects] == [do.StopEncoding, do.LiftInput, do.SendControl, do.ClosePeer, do.CloseSource]
    assert not consumer.answered(request)
    assert consumer.code(waiting) == "session"
    consumer.take(consumer.engine.source_closed(session, 0.0))
    assert [message.get("event", "answer") for message in consumer.said[-2:]] == ["session.state", "answer"]
    assert consumer.result(request) == {"closed": True}
    assert consumer.events("session.revoked") == []
    # What the source still says of itself finds nobody.
    consumer.said.clear()
    consumer.capture(session)
    consumer.take(consumer.engine.capture_lost(session, "late", 0.0))
    assert consumer.said == []


def test_metrics_need_an_open_session_only() -> None:
    consumer = Consumer()
    assert consumer.code(consumer.send("session.metrics", {"session_id": "x"})) == "session"
    session = consumer.open()
    consumer.capture(session)
    consumer.engine.grab_failed(session)
    reader: Reader[Any] = Reader("desklink", "MetricsResult", DESKLINK)
    metrics = consumer.result(consumer.send("session.metrics", None))
    reader.read(json.dumps(metrics).encode())
    assert (metrics["captured_frames"], metrics["dropped_frames"], metrics["target_kbps"], metrics["capture_micros"]) == (1, 1, 3158, 100)


def test_signalling_goes_to_the_peer_connection_in_order() -> None:

    consumer = Consumer()
    session = consumer.open()
    offer = consumer.send("session.description", {"session_id": session, "description": {"type": "offer", "sdp": "x"}})
    assert consumer.code(offer) == "operation"
    answer = consumer.send("session.description", {"session_id": session, "description": {"type": "answer", "sdp": "x"}})
    candidate = consumer.send("session.candidate", {"session_id": session, "candidate": "c", "sdpMLineIndex": 0, "sdpMid": "0"})
    restart = consumer.send("session.restart_ice", {"session_id": session})
    signals = [effect for effect in consumer.effects if isinstance(effect, do.Signal)]
    assert [signal.kind for signal in signals] == ["description", "candidate", "restart_ice"]
    consumer.take(consumer.engine.signalled(signals[0].token, None, consumer.now))
    consumer.take(consumer.engine.signalled(signals[1].token, RemoteProtocolError("transport", "bad"), consumer.now))
    consumer.take(consumer.engine.signalled(signals[2].token, None, consumer.now))
    assert (consumer.result(answer), consumer.code(candidate), consumer.result(restart)) == (
        {"accepted": True},
        "transport",
        {"accepted": True},
    )


# The end


def test_shutdown_closes_the_session_answers_and_exits_last() -> None:
    consumer = Consumer()
    session = consumer.open()
    waiting = consumer.send("session.frame", {"session_id": session, "after_seq": 5})
    request = consumer.send("shutdown")
    assert consumer.code(waiting) == "session"
    assert consumer.code(consumer.send("session.metrics")) == "session"
    assert consumer.count(do.Exit) == 0
    again = consumer.send("shutdown")
    consumer.take(consumer.engine.shutdown(consumer.now))
    effects = consumer.take(consumer.engine.source_closed(session, consumer.now))
    assert isinstance(effects[-1], do.Exit)
    assert consumer.result(request) == {}
    assert [message.get("id") for message in consumer.said[-2:]] == [request, again]
    assert consumer.said[-3]["params"]["capture"] == "ended"


def test_the_end_waits_for_a_look_at_the_machine() -> None:
    consumer = Consumer(greet=False)
    request = consumer.send("capabilities")
    consumer.take(consumer.engine.shutdown(consumer.now))
    assert consumer.count(do.Exit) == 0
    consumer.take(consumer.engine.probed(consumer.the(do.Probe).token, FACTS))
    assert consumer.result(request)["platform"] == "linux"
    assert consumer.count(do.Exit) == 1


def test_shutdown_without_a_session_and_before_hello() -> None:
    consumer = Consumer(greet=False)
    request = consumer.send("shutdown")
    assert consumer.result(request) == {}
    assert consumer.count(do.Exit) == 1


def test_the_end_of_input_during_an_open_closes_what_is_being_opened() -> None:
    consumer = Consumer()
    request = consumer.send("session.open", X11)
    behind = consumer.send("session.metrics")
    opening = consumer.the(do.OpenSource)
    consumer.take(consumer.engine.shutdown(consumer.now))
    assert (consumer.code(request), consumer.code(behind)) == ("session", "session")
    assert consumer.the(do.CloseSource).session_id == opening.session_id
    assert consumer.take(consumer.engine.opened(opening.session_id, SCREEN, None, consumer.now)) == []
    assert consumer.count(do.Exit) == 0
    consumer.take(consumer.engine.source_closed(opening.session_id, consumer.now))
    assert consumer.count(do.Exit) == 1
    assert consumer.events("session.state") == []


def test_the_end_while_one_session_replaces_another() -> None:
    consumer = Consumer()
    first = consumer.open()
    request = consumer.send("session.open", X11)
    second = [effect for effect in consumer.effects if isinstance(effect, do.OpenSource)][-1].session_id
    consumer.take(consumer.engine.opened(second, SCREEN, None, consumer.now))
    consumer.take(consumer.engine.shutdown(consumer.now))
    assert consumer.code(request) == "session"
    consumer.take(consumer.engine.source_closed(first, consumer.now))
    assert consumer.count(do.Exit) == 0
    consumer.take(consumer.engine.source_closed(second, consumer.now))
    assert consumer.count(do.Exit) == 1
    assert consumer.states()[-1] == ("ended", "closed", False)
