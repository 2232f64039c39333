"""Encoded sources: what is offered, sent, dropped and asked for; and input that goes to whoever feeds."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from desklink_engine_kit import FED, Consumer
from triptych.generated.desklink.vocabulary import MAX_ACCESS_UNIT_BYTES
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.counters import Sent

# Encoded sources


def test_an_encoded_session_captures_nothing_and_forwards_input() -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    assert consumer.effects == []
    assert consumer.states() == [("consented", "new", False)]
    consumer.take(consumer.engine.channel_opened(session))
    consumer.effects.clear()
    consumer.take(consumer.engine.control(session, b'{"kind":"pointer","phase":"down","x":100,"y":5000,"seq":4}'))
    assert consumer.events("session.input") == [
        {"sessionId": session, "input": {"kind": "pointer", "phase": "down", "x": 100, "y": 5000, "seq": 4}}
    ]
    assert consumer.the(do.SendControl).message == {"kind": "ack", "seq": 4}
    metrics = consumer.result(consumer.send("session.metrics"))
    assert (metrics["input_forwarded"], metrics["input_applied"], metrics["target_kbps"]) == (1, 0, 0)
    for method, code in (("session.frame", "operation"), ("session.clipboard.read", "clipboard")):
        assert consumer.code(consumer.send(method, {"session_id": session})) == code
    request = consumer.send("session.close", {"session_id": session})
    assert consumer.result(request) == {"closed": True}
    assert consumer.states()[-1] == ("ended", "closed", False)
    assert consumer.count(do.CloseSource) == 0


IDR, PICTURE, SETS = b"\0\0\0\1\x65\x88idr", b"\0\0\0\1\x41\x9adelta", b"\0\0\0\1\x67\x42\xc0\x29sps\0\0\0\1\x68pps"


def fed_by(consumer: Consumer, session: str) -> Any:
    def feed(unit: bytes, keyframe: bool = False) -> list[bytes]:
        """Feed a unit; the units that are sent for it."""
        consumer.effects = [effect for effect in consumer.effects if not isinstance(effect, do.SendUnit)]
        params = {"session_id": session, "keyframe": keyframe, "data_b64": base64.b64encode(unit).decode()}
        assert consumer.result(consumer.send("session.feed", params)) == {"accepted": True}
        return [effect.unit for effect in consumer.effects if isinstance(effect, do.SendUnit)]

    return feed


def test_fed_video_is_offered_from_its_first_sps_and_sent_from_the_first_idr_after_the_path_is_up() -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    feed = fed_by(consumer, session)
    assert feed(IDR, True) == []
    assert consumer.count(do.StartPeer) == 0
    consumer.said.clear()
    assert feed(SETS + IDR, True) == []
    assert consumer.the(do.StartPeer).plan.profile == "42c029"
    assert feed(SETS + IDR, True) == []
    assert consumer.count(do.StartPeer) == 1
    consumer.connect(session)
    assert consumer.events("session.keyframeRequest") == [{"sessionId": session, "generation": 1}]
    assert feed(PICTURE) == []
    assert feed(SETS + IDR, True) == [SETS + IDR]
    assert feed(PICTURE) == [PICTURE]
    consumer.take(consumer.engine.unit_sent(session, Sent(99, key=True, encode_micros=5), consumer.now))
    assert consumer.states()[-1] == ("streaming", "connected", True)
    consumer.take(consumer.engine.unit_sent(session, Sent(1, encode_micros=5), consumer.now))
    metrics = consumer.result(consumer.send("session.metrics"))
    assert (metrics["fed_frames"], metrics["dropped_frames"], metrics["encoded_frames"], metrics["encoded_bytes"]) == (6, 4, 2, 100)
    assert (metrics["key_frames"], metrics["encode_micros"], metrics["captured_frames"], metrics["target_kbps"]) == (1, 10, 0, 0)
    consumer.effects.clear()
    consumer.send("session.close", {"session_id": session})
    assert [type(effect) for effect in consumer.effects] == [do.StopEncoding, do.DropFeed, do.SendControl, do.ClosePeer]


def test_a_full_queue_drops_the_newest_and_all_up_to_the_next_idr() -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    feed = fed_by(consumer, session)
    feed(SETS + IDR, True)
    consumer.connect(session)
    assert [len(feed(SETS + IDR if number == 0 else PICTURE)) for number in range(9)] == [1] * 8 + [0]
    # It was asked for a key frame when the path came up; the next asking waits.
    assert len(consumer.events("session.keyframeRequest")) == 1
    consumer.later(0.5)
    assert len(consumer.events("session.keyframeRequest")) == 2
    for _ in range(3):
        consumer.take(consumer.engine.unit_sent(session, Sent(1), consumer.now))
    assert feed(PICTURE) == []
    assert feed(IDR, True) == [IDR]
    assert feed(PICTURE) == [PICTURE]
    consumer.later(10.0)
    assert len(consumer.events("session.keyframeRequest")) == 2
    assert consumer.result(consumer.send("session.metrics"))["dropped_frames"] == 3


def test_a_client_that_lost_a_picture_has_the_consumer_asked_but_not_without_end() -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    fed_by(consumer, session)(SETS + IDR)
    assert consumer.engine.keyframe_wanted(session, consumer.now) == []
    consumer.connect(session)
    consumer.later(1.0)
    for _ in range(5):
        consumer.take(consumer.engine.keyframe_wanted(session, consumer.now))
    assert len(consumer.events("session.keyframeRequest")) == 2
    assert consumer.engine.deadline() == pytest.approx(consumer.now + 0.5)
    consumer.later(0.5)
    assert len(consumer.events("session.keyframeRequest")) == 3


def test_units_that_cannot_be_taken() -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    unit = {"session_id": session, "keyframe": True, "data_b64": base64.b64encode(b"\0\0\0\1\x67abc").decode()}
    assert consumer.result(consumer.send("session.feed", unit)) == {"accepted": True}
    whole = {**unit, "data_b64": base64.b64encode(bytes(MAX_ACCESS_UNIT_BYTES)).decode()}
    assert consumer.result(consumer.send("session.feed", whole)) == {"accepted": True}
    bad = {
        "": "operation",
        "AAA": "malformed",
        "AAAA=": "malformed",
        "AAA=AAAA": "malformed",
        "AA A": "malformed",
        "AA-_": "malformed",
        "AAB=": "malformed",
        "ü": "malformed",
        base64.b64encode(bytes(MAX_ACCESS_UNIT_BYTES + 1)).decode(): "malformed",
    }
    for data, code in bad.items():
        assert consumer.code(consumer.send("session.feed", {**unit, "data_b64": data})) == code, data[:20]
    metrics = consumer.result(consumer.send("session.metrics"))
    assert (metrics["fed_frames"], metrics["dropped_frames"], metrics["encoded_frames"]) == (2, 2, 0)
    other = Consumer()
    captured = other.open()
    assert other.code(other.send("session.feed", {**unit, "session_id": captured})) == "operation"


def test_an_idr_without_its_parameter_sets_gets_those_that_were_dropped_before_it() -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    feed = fed_by(consumer, session)
    # Some encoders say them once, in a unit of their own, and long before anybody watches.
    feed(SETS)
    consumer.connect(session)
    assert feed(IDR, True) == [SETS + IDR]
    assert feed(IDR, True) == [IDR]
    assert feed(SETS) == [SETS]


def test_a_silent_path_is_fed_nothing_and_starts_again_with_an_idr() -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    feed = fed_by(consumer, session)
    feed(SETS + IDR)
    consumer.connect(session)
    assert feed(SETS + IDR) == [SETS + IDR]
    consumer.later(5.0)
    consumer.take(consumer.engine.path_checked(session, consumer.now - 6, consumer.now))
    assert consumer.count(do.LiftInput) == 0
    assert feed(PICTURE) == []
    consumer.take(consumer.engine.path_up(session, consumer.now))
    assert len(consumer.events("session.keyframeRequest")) == 2
    assert feed(PICTURE) == []
    assert feed(IDR) == [IDR]
    # What the consumer does not send is asked for again as long as it feeds what nobody can decode.
    assert feed(PICTURE) == [PICTURE]
    assert consumer.states()[-1] == ("consented", "connected", False)
