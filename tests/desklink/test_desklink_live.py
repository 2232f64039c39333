"""One live session: its lease, its peer connection, its control channel, its clipboard, its indicator."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from desklink_engine_kit import COPYING, FED, SCREEN, X11, Consumer
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.clipboard import refused
from triptych.machines.desklink.clipboard_requests import MOST_WAITING
from triptych.machines.desklink.counters import Sent
from triptych.machines.desklink.geometry import Size
from triptych.machines.desklink.input import Clipboard, Present
from triptych.machines.wire.read import Reader
from triptych.machines.wire.text import DESKLINK

# The lease, the transport, the control channel


def test_the_lease_ends_the_session_whatever_it_does() -> None:
    consumer = Consumer()
    session = consumer.open({**X11, "ttl_seconds": 10})
    consumer.later(9.9)
    consumer.capture(session)
    consumer.effects.clear()
    consumer.later(0.2)
    assert consumer.events("session.revoked") == [{"sessionId": session, "reason": "the session lease expired", "code": "lease"}]
    assert consumer.the(do.SendControl).message == {"kind": "revoked", "reason": "the session lease expired", "code": "lease"}
    assert consumer.count(do.LiftInput) == consumer.count(do.CloseSource) == 1
    assert consumer.code(consumer.send("session.frame", {"session_id": session})) == "session"
    consumer.take(consumer.engine.source_closed(session, consumer.now))
    assert consumer.said[-1]["params"] == {"sessionId": session, "capture": "ended", "transport": "closed", "firstFrame": False}
    assert consumer.engine.deadline() is None


@pytest.mark.parametrize("ttl", [0, 2**64 - 1])
def test_extreme_leases(ttl: int) -> None:
    consumer = Consumer()
    consumer.open({**X11, "ttl_seconds": ttl})
    consumer.later(0.0)
    assert bool(consumer.events("session.revoked")) == (ttl == 0)


def test_a_lost_transport_ends_the_session_and_a_silent_one_does_not() -> None:
    consumer = Consumer()
    session = consumer.connect(consumer.open())
    consumer.effects.clear()
    consumer.later(5.0)
    assert consumer.the(do.CheckPath).session_id == session
    consumer.take(consumer.engine.path_checked(session, consumer.now - 1, consumer.now))
    assert consumer.states()[-1] == ("consented", "connected", False)
    consumer.later(4.0)
    consumer.take(consumer.engine.path_checked(session, consumer.now - 5, consumer.now))
    # What is held is lifted before the silence is told.
    assert consumer.count(do.LiftInput) == 1
    assert consumer.states()[-1] == ("consented", "disconnected", False)
    restart = consumer.send("session.restart_ice", {"session_id": session})
    signal = [effect for effect in consumer.effects if isinstance(effect, do.Signal)][-1]
    consumer.take(consumer.engine.signalled(signal.token, None, consumer.now))
    assert consumer.result(restart) == {"accepted": True}
    consumer.later(30.0)
    consumer.take(consumer.engine.path_checked(session, consumer.now - 35, consumer.now))
    assert consumer.states()[-1] == ("consented", "failed", False)
    assert consumer.events("session.revoked") == [
        {"sessionId": session, "reason": "the connection to the phone was lost", "code": "transport"}
    ]
    assert consumer.code(consumer.send("session.metrics")) == "session"
    consumer.take(consumer.engine.source_closed(session, consumer.now))
    assert consumer.states()[-1] == ("ended", "closed", False)


def test_each_end_of_the_path_is_told_and_revokes() -> None:
    for event, word in (("transport_failed", "failed"), ("peer_closed", "closed")):
        consumer = Consumer()
        session = consumer.connect(consumer.open())
        consumer.effects.clear()
        consumer.take(consumer.engine.path_lost(session, event, consumer.now))  # type: ignore[arg-type]  # the two words
        assert consumer.states()[-1] == ("consented", word, False)
        assert consumer.events("session.revoked")[0]["code"] == "transport"
        assert [type(effect) for effect in consumer.effects[:1]] == [do.LiftInput]
        assert consumer.the(do.SendControl).message["code"] == "transport"


def test_the_first_frame_is_told_when_it_is_sent_and_counted_with_all_others() -> None:
    consumer = Consumer()
    session = consumer.connect(consumer.open())
    assert consumer.states() == [("consented", "new", False), ("consented", "connecting", False), ("consented", "connected", False)]
    assert consumer.count(do.ForceKeyframe) == 1
    consumer.said.clear()
    consumer.engine.encodes(session, "vp9", "libvpx")
    consumer.engine.target_changed(session, 2500)
    consumer.engine.superseded(session)
    sent = Sent(1000, key=True, motion=True, encode_micros=9000, convert_micros=300, queue_micros=70, send_micros=500)
    consumer.take(consumer.engine.sent(session, sent, consumer.now))
    assert consumer.states() == [("streaming", "connected", True)]
    consumer.take(consumer.engine.sent(session, Sent(200, refined=True, halved=True, encode_micros=4000), consumer.now))
    assert len(consumer.states()) == 1
    metrics = consumer.result(consumer.send("session.metrics"))
    assert metrics == {
        **dict.fromkeys(("captured_frames", "input_applied", "input_rejected", "fed_frames", "input_forwarded"), 0),
        **dict.fromkeys(("key_frames", "refined_frames", "halved_frames", "motion_frames", "dropped_frames"), 1),
        "encoded_frames": 2,
        "encoded_bytes": 1200,
        "encode_micros": 13000,
        "queue_micros": 70,
        "send_micros": 500,
        "capture_micros": 0,
        "convert_micros": 300,
        "target_kbps": 2500,
        "codec": "vp9",
        "encoder": "libvpx",
    }
    consumer.take(consumer.engine.keyframe_wanted(session, consumer.now))
    assert consumer.count(do.ForceKeyframe) == 2


def test_what_the_peer_connection_offers_is_told_to_the_consumer() -> None:
    consumer = Consumer()
    servers = [{"urls": ["stun:a", "turn:b"], "username": "u", "credential": None}]
    asked = {**X11, "ice_servers": servers, "loopback_tcp": True, "max_fps": 20, "bitrate_kbps": 900, "max_width": 640, "max_height": 640}
    session = consumer.open(asked)
    plan = consumer.the(do.StartPeer).plan
    assert (plan.surface, plan.max_fps, plan.target_kbps, plan.loopback_tcp, plan.profile) == (Size(640, 360), 20, 900, True, None)
    assert [server.urls for server in plan.ice_servers] == [("stun:a", "turn:b")]
    consumer.take(consumer.engine.described(session, "v=0"))
    consumer.take(consumer.engine.gathered(session, "candidate:1", "0", 0))
    assert consumer.events("session.description") == [
        {"sessionId": session, "generation": 1, "description": {"type": "offer", "sdp": "v=0"}}
    ]
    assert consumer.events("session.candidate") == [
        {"sessionId": session, "generation": 1, "candidate": "candidate:1", "sdpMid": "0", "sdpMLineIndex": 0}
    ]
    for late in (consumer.engine.described("gone", ""), consumer.engine.gathered("gone", "", None, None)):
        assert late == []


def test_an_answer_that_no_offer_waits_for_is_refused() -> None:
    consumer = Consumer()
    fed = consumer.open(FED)
    answer = {"session_id": fed, "description": {"type": "answer", "sdp": ""}}
    assert consumer.code(consumer.send("session.description", answer)) == "transport"
    assert consumer.code(consumer.send("session.restart_ice", {"session_id": fed})) == "transport"
    other = Consumer()
    session = other.connect(other.open())
    assert other.code(other.send("session.description", {**answer, "session_id": session})) == "transport"
    assert other.count(do.Signal) == 1


def test_the_indicator_shows_what_was_applied_to_whoever_asked_for_it() -> None:
    consumer = Consumer()
    session = consumer.open({**X11, "agent_indicator": True, "max_width": 640, "max_height": 360})
    assert consumer.count(do.StartIndicator) == 1
    for text, shown in (
        (b'{"kind":"pointer","phase":"move","x":320,"y":180}', [("M", 640, 360)]),
        (b'{"kind":"pointer","phase":"down","x":639,"y":0}', [("C", 1278, 0)]),
        (b'{"kind":"pointer","phase":"up","x":0,"y":0}', [("M", 0, 0)]),
        (b'{"kind":"pointer","phase":"cancel","x":0,"y":0}', []),
        (b'{"kind":"text","text":"x"}', [("T", -1, -1)]),
        (b'{"kind":"key","name":"Enter","down":true}', [("T", -1, -1)]),
        (b'{"kind":"key","name":"Enter","down":false}', []),
        (b'{"kind":"wheel","dy":1}', []),
        (b'{"kind":"release_all"}', []),
    ):
        told = consumer.engine.applied(session, text, SCREEN)
        assert [(effect.kind, effect.x, effect.y) for effect in told if isinstance(effect, do.Indicate)] == shown, text
    consumer.effects.clear()
    consumer.send("session.close", {"session_id": session})
    assert [type(effect) for effect in consumer.effects][:2] == [do.StopEncoding, do.StopIndicator]
    assert consumer.engine.applied(session, b'{"kind":"text","text":"x"}', SCREEN) == []


@pytest.mark.parametrize("params", [{**X11, "permissions": ["view"]}, X11, {**FED, "agent_indicator": True}])
def test_the_indicator_is_nobodys_without_control_and_without_being_asked_for(params: dict[str, Any]) -> None:
    consumer = Consumer()
    session = consumer.open(params if params is X11 else {**params, "agent_indicator": True})
    assert consumer.engine.applied(session, b'{"kind":"text","text":"x"}', SCREEN) == []
    consumer.send("session.close", {"session_id": session})
    assert consumer.count(do.StartIndicator) == consumer.count(do.StopIndicator) == 0


def test_a_point_is_judged_and_honestly_not_shown() -> None:
    consumer = Consumer()
    session = consumer.open()
    for params, code in (
        ({}, "malformed"),
        ({"x": 1}, "malformed"),
        ({"x": 1, "y": "2"}, "malformed"),
        ({"x": 1, "y": 2, "label": "é"}, "malformed"),
        ({"x": 1, "y": 2, "label": "x" * 97}, "malformed"),
        ({"x": 1, "y": 2, "timeout_ms": 0}, "malformed"),
        ({"x": 1280, "y": 2}, "coordinates"),
        ({"x": -1, "y": 2}, "coordinates"),
    ):
        assert consumer.code(consumer.send("session.point", {"session_id": session, **params})) == code, params
    for good in ({"x": 1, "y": 2, "label": "here", "timeout_ms": 120000}, {"clear": True}):
        assert consumer.result(consumer.send("session.point", {"session_id": session, **good})) == {"shown": False}


def test_the_control_channel_says_hello_and_lifts_when_it_goes() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.effects.clear()
    consumer.take(consumer.engine.channel_opened(session))
    reader: Reader[Any] = Reader("desklink", "EngineControl", DESKLINK)
    assert reader.read(msgspec.json.encode(consumer.the(do.SendControl).message)).protocol == 3
    consumer.take(consumer.engine.control(session, b'{"kind":"release_all"}'))
    assert consumer.the(do.JudgeInput).to is None
    assert consumer.the(do.JudgeInput).present == Present(SCREEN)
    consumer.effects.clear()
    consumer.take(consumer.engine.channel_closed(session))
    assert consumer.count(do.LiftInput) == 1
    consumer.capture(session, size=Size(640, 360))
    consumer.take(consumer.engine.control(session, b"{}"))
    consumer.take(consumer.engine.control(session, b"{}", 7))
    judged = [(effect.present, effect.to) for effect in consumer.effects if isinstance(effect, do.JudgeInput)]
    # Each message carries what held when it came in: the root window has shrunk, and a caller in this process needs no channel.
    assert judged == [(Present(Size(640, 360), reachable=False), None), (Present(Size(640, 360)), 7)]
    [reply] = consumer.engine.control("gone", b"{}", 7)
    assert isinstance(reply, do.SendControl)
    assert (reply.message["code"], reply.to) == ("session", 7)


def test_only_the_news_of_a_frame_may_be_dropped() -> None:
    consumer = Consumer()
    session = consumer.open()
    told = consumer.engine.captured(session, (SCREEN.box,), SCREEN, 100, consumer.now)
    assert [(effect.message["event"], effect.droppable) for effect in told if isinstance(effect, do.Emit)] == [
        ("session.frame.changed", True)
    ]
    closing = consumer.engine.line(b'{"id":99,"method":"session.close","params":{}}', consumer.now)
    assert not any(effect.droppable for effect in closing if isinstance(effect, do.Emit))


@pytest.mark.parametrize("display", ["\0", ":1\0x"])
def test_a_display_name_with_a_nul_is_refused(display: str) -> None:
    consumer = Consumer()
    request = consumer.send("session.open", {"source": {"kind": "x11", "display": display}, "permissions": ["view"]})
    assert consumer.code(request) == "source"
    assert consumer.count(do.OpenSource) == 0


# The clipboard


def test_the_clipboard_needs_its_permission_and_a_source_that_has_one() -> None:
    for params, reason in ((X11, "permission"), (FED, "no clipboard")):
        consumer = Consumer()
        session = consumer.open(params)
        for request in (
            consumer.send("session.clipboard.read", {"session_id": session}),
            consumer.send("session.clipboard.write", {"session_id": session, "text": "t", "mime": "text/plain"}),
        ):
            assert consumer.code(request) == "clipboard"
            assert reason in consumer.answer(request)["error"]["message"]
        assert consumer.count(do.ReadClipboard) == consumer.count(do.WriteClipboard) == 0


def test_clipboard_requests_hold_nothing_up_and_keep_their_order() -> None:
    consumer = Consumer()
    session = consumer.open(COPYING)
    read = consumer.send("session.clipboard.read", {"session_id": session})
    write = consumer.send("session.clipboard.write", {"session_id": session, "text": "ä\0"})
    empty = consumer.send("session.clipboard.write", {"session_id": session})
    assert consumer.result(consumer.send("session.metrics"))
    asked = [effect for effect in consumer.effects if isinstance(effect, do.ReadClipboard | do.WriteClipboard)]
    assert [getattr(effect, "text", None) for effect in asked] == [None, "ä\0", ""]
    consumer.take(consumer.engine.clipboard_answered(session, asked[1].token, None))
    assert (consumer.answered(read), consumer.result(write)) == (False, {"written": True})
    consumer.take(consumer.engine.clipboard_answered(session, asked[0].token, ("text", True)))
    assert consumer.result(read) == {"text": "text", "truncated": True}
    consumer.take(consumer.engine.clipboard_answered(session, asked[2].token, refused("the desktop clipboard did not answer")))
    assert consumer.answer(empty)["error"] == {"code": "clipboard", "message": "the desktop clipboard did not answer"}
    assert consumer.engine.clipboard_answered(session, asked[2].token, None) == []


def test_the_end_of_a_session_answers_whoever_waits_for_the_clipboard() -> None:
    consumer = Consumer()
    session = consumer.open(COPYING)
    consumer.take(consumer.engine.channel_opened(session))
    read = consumer.send("session.clipboard.read", {"session_id": session})
    consumer.take(consumer.engine.clipboard_asked(session, Clipboard(4, "r", None), None))
    consumer.take(consumer.engine.clipboard_asked(session, Clipboard(5, "r", "x"), 9))
    tokens = [effect.token for effect in consumer.effects if isinstance(effect, do.ReadClipboard | do.WriteClipboard)]
    consumer.effects.clear()
    consumer.send("session.close", {"session_id": session})
    assert consumer.code(read) == "session"
    said = [
        (effect.to, effect.message["kind"], effect.message.get("code")) for effect in consumer.effects if isinstance(effect, do.SendControl)
    ]
    # The client is told that it is over, and nothing after that.
    assert said == [(None, "revoked", "closed"), (9, "rejected", "session")]
    for token in tokens:
        assert consumer.engine.clipboard_answered(session, token, ("late", False)) == []
    consumer.take(consumer.engine.source_closed(session, consumer.now))
    assert consumer.engine.clipboard_asked(session, Clipboard(6, "r", None), None) == []
    [late] = consumer.engine.clipboard_asked(session, Clipboard(6, "r", None), 3)
    assert isinstance(late, do.SendControl)
    assert (late.message["code"], late.message["seq"]) == ("session", 6)


@pytest.mark.parametrize(
    ("text", "outcome", "reply"),
    [
        (None, ("copied", False), {"kind": "clipboard", "request": "r", "text": "copied", "truncated": False}),
        (None, ("cut", True), {"kind": "clipboard", "request": "r", "text": "cut", "truncated": True}),
        (None, refused("empty"), {"kind": "clipboard", "request": "r", "text": "", "truncated": False, "error": "empty"}),
        ("x", None, {"kind": "clipboard", "request": "r", "text": "", "truncated": False}),
        ("x", refused("taken"), {"kind": "rejected", "seq": 7, "code": "operation", "message": "taken"}),
    ],
)
def test_what_the_control_channel_answers_to_a_clipboard_message(text: str | None, outcome: Any, reply: dict[str, Any]) -> None:
    consumer = Consumer()
    session = consumer.open(COPYING)
    consumer.take(consumer.engine.clipboard_asked(session, Clipboard(7, "r", text), None))
    token = consumer.the(do.ReadClipboard if text is None else do.WriteClipboard).token
    consumer.take(consumer.engine.clipboard_answered(session, token, outcome))
    assert consumer.the(do.SendControl).message == reply
    reader: Reader[Any] = Reader("desklink", "EngineControl", DESKLINK)
    reader.read(msgspec.json.encode(reply))
    metrics = consumer.result(consumer.send("session.metrics"))
    assert (metrics["input_applied"], metrics["input_rejected"]) == (0, int(reply["kind"] == "rejected"))


def test_a_client_cannot_pile_up_clipboard_messages() -> None:
    consumer = Consumer()
    session = consumer.open(COPYING)
    for number in range(MOST_WAITING + 1):
        consumer.take(consumer.engine.clipboard_asked(session, Clipboard(number, str(number), None), None))
    assert consumer.count(do.ReadClipboard) == MOST_WAITING
    assert consumer.the(do.SendControl).message["error"] == "too many clipboard requests are under way"
