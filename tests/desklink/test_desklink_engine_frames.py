"""The engine core: frames, what waits for them, and the loss of the capture that makes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desklink_engine_kit import SCREEN, X11, Consumer
from triptych.errors import RemoteProtocolError
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.geometry import Size
from triptych.machines.wire.read import Reader
from triptych.machines.wire.text import DESKLINK


def test_metadata_of_the_newest_frame() -> None:
    consumer = Consumer()
    session = consumer.open()
    assert consumer.code(consumer.send("session.frame", {"session_id": session})) == "frame"
    consumer.capture(session)
    consumer.now += 0.21
    consumer.capture(session, (32, 32, 32, 32))
    consumer.now += 0.05
    reader: Reader[Any] = Reader("desklink", "FrameResult", DESKLINK)
    result = consumer.result(consumer.send("session.frame", {"session_id": session, "since": 1}))
    reader.read(json.dumps(result).encode())
    assert result == {
        "seq": 2,
        "still_ms": 50,
        "width": 1280,
        "height": 720,
        "format": "bgrx",
        "damage": [[32, 32, 32, 32]],
        "written": False,
    }
    assert consumer.result(consumer.send("session.frame", {"session_id": session, "since": 2}))["damage"] == []
    for since in (None, 0, 7):
        assert consumer.result(consumer.send("session.frame", {"session_id": session, "since": since}))["damage"] == [[0, 0, 1280, 720]]
    region = consumer.result(consumer.send("session.frame", {"session_id": session, "region": [5, 6, 7, 8], "since": 1}))
    assert (region["width"], region["height"], region["damage"]) == (7, 8, [[32, 32, 32, 32]])
    changed = consumer.events("session.frame.changed")
    assert [(event["seq"], event["damage"]) for event in changed] == [(1, [[0, 0, 1280, 720]]), (2, [[32, 32, 32, 32]])]


@pytest.mark.parametrize(
    ("region", "code"),
    [
        ([0, 0, 0, 5], "coordinates"),
        ([0, 0, 1281, 5], "coordinates"),
        ([1279, 719, 2, 1], "coordinates"),
        ([4294967295, 0, 4294967295, 1], "coordinates"),
        ([-1, 0, 1, 1], "malformed"),
        ([0, 0, 1], "malformed"),
        ([0.5, 0, 1, 1], "malformed"),
    ],
)
def test_regions_that_do_not_fit(region: list[float], code: str) -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    assert consumer.code(consumer.send("session.frame", {"session_id": session, "region": region, "path": "/x/y"})) == code
    assert consumer.count(do.ReadFrame) == 0


def test_waiting_requests_do_not_hold_each_other_up() -> None:
    consumer = Consumer()
    session = consumer.open()
    after = consumer.send("session.frame", {"session_id": session, "after_seq": 1, "timeout_ms": 2000})
    still = consumer.send("session.frame", {"session_id": session, "still_ms": 400})
    default = consumer.send("session.frame", {"session_id": session, "timeout_ms": 1000})
    assert consumer.result(consumer.send("session.metrics"))
    consumer.capture(session)
    assert consumer.engine.deadline() == pytest.approx(1000.15)
    consumer.later(0.15)
    assert (consumer.answered(default), consumer.answered(still), consumer.answered(after)) == (True, False, False)
    consumer.later(0.25)
    assert consumer.answered(still)
    assert consumer.result(still)["still_ms"] >= 400
    consumer.capture(session, (0, 0, 32, 32))
    assert consumer.result(after)["seq"] == 2


def test_a_wait_that_is_not_met_in_time() -> None:
    consumer = Consumer()
    session = consumer.open()
    asked = {
        consumer.send("session.frame", {"session_id": session, "timeout_ms": 0}): 0.0,
        consumer.send("session.frame", {"session_id": session, "timeout_ms": 50}): 0.05,
        consumer.send("session.frame", {"session_id": session, "still_ms": 1}): 5.0,
        consumer.send("session.frame", {"session_id": session, "after_seq": 0, "timeout_ms": 10**15}): 120.0,
    }
    for request, seconds in asked.items():
        if seconds:
            consumer.later(1000 + seconds - 0.001 - consumer.now)
            assert not consumer.answered(request)
            consumer.later(0.002)
        assert consumer.code(request) == "frame-timeout"


def test_pixels_are_read_then_written_then_answered() -> None:

    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    request = consumer.send("session.frame", {"session_id": session, "path": "/run/f", "region": [1, 2, 3, 4]})
    read = consumer.the(do.ReadFrame)
    assert (read.region, read.surface) == ((1, 2, 3, 4), SCREEN)
    consumer.take(consumer.engine.frame_read(session, read.token, consumer.now))
    write = consumer.the(do.WriteFrame)
    assert (write.path, consumer.answered(request)) == ("/run/f", False)
    consumer.capture(session)
    consumer.take(consumer.engine.frame_written(session, write.token, None, consumer.now))
    result = consumer.result(request)
    assert (result["seq"], result["width"], result["height"], result["written"]) == (1, 3, 4, True)
    consumer.effects.clear()
    failing = consumer.send("session.frame", {"session_id": session, "path": "/run/f"})
    token = consumer.the(do.ReadFrame).token
    consumer.take(consumer.engine.frame_read(session, token, consumer.now))
    consumer.take(consumer.engine.frame_written(session, token, RemoteProtocolError("frame", "disk full"), consumer.now))
    assert consumer.code(failing) == "frame"


def test_a_newer_frame_is_answered_with_its_own_numbers_or_waited_for_again() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    consumer.now += 0.2
    request = consumer.send("session.frame", {"session_id": session, "path": "/run/f", "still_ms": 100})
    token = consumer.the(do.ReadFrame).token
    consumer.capture(session, (0, 0, 32, 32))
    consumer.effects.clear()
    consumer.take(consumer.engine.frame_read(session, token, consumer.now))
    # The picture is not still any more: the request waits again, and the copy is dropped.
    assert [type(effect) for effect in consumer.effects] == [do.DropFrame]
    consumer.later(0.1)
    consumer.take(consumer.engine.frame_read(session, consumer.the(do.ReadFrame).token, consumer.now))
    consumer.take(consumer.engine.frame_written(session, token, None, consumer.now))
    assert (consumer.result(request)["seq"], consumer.result(request)["still_ms"]) == (2, 100)


def test_a_newer_frame_that_came_too_late_for_the_conditions() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    consumer.now += 0.2
    request = consumer.send("session.frame", {"session_id": session, "path": "/run/f", "still_ms": 100, "timeout_ms": 50})
    token = consumer.the(do.ReadFrame).token
    consumer.now += 0.1
    consumer.capture(session)
    consumer.effects.clear()
    consumer.take(consumer.engine.frame_read(session, token, consumer.now))
    assert consumer.effects == [do.DropFrame(token)]
    assert consumer.code(request) == "frame-timeout"


def test_an_answer_tells_of_the_frame_whose_pixels_were_copied() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    request = consumer.send("session.frame", {"session_id": session, "path": "/run/f", "since": 1})
    token = consumer.the(do.ReadFrame).token
    consumer.capture(session, (0, 0, 32, 32))
    consumer.take(consumer.engine.frame_read(session, token, consumer.now))
    consumer.capture(session, (32, 0, 32, 32))
    consumer.take(consumer.engine.frame_written(session, token, None, consumer.now))
    assert (consumer.result(request)["seq"], consumer.result(request)["damage"]) == (2, [[0, 0, 32, 32]])


def test_closing_while_pixels_are_read_or_written() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    reading = consumer.send("session.frame", {"session_id": session, "path": "/run/a"})
    writing = consumer.send("session.frame", {"session_id": session, "path": "/run/b"})
    first, second = [effect.token for effect in consumer.effects if isinstance(effect, do.ReadFrame)]
    consumer.take(consumer.engine.frame_read(session, second, consumer.now))
    consumer.send("session.close", {"session_id": session})
    assert (consumer.code(reading), consumer.code(writing)) == ("session", "session")
    assert {effect.token for effect in consumer.effects if isinstance(effect, do.DropFrame)} == {first, second}
    assert consumer.take(consumer.engine.frame_read(session, first, consumer.now)) == [do.DropFrame(first)]
    assert consumer.take(consumer.engine.frame_written(session, second, None, consumer.now)) == []


def test_frames_of_a_scaled_source_are_told_in_encoded_pixels() -> None:
    consumer = Consumer()
    session = consumer.open({**X11, "max_width": 640, "max_height": 360}, size=Size(1280, 720))
    consumer.capture(session)
    consumer.capture(session, (64, 32, 32, 32))
    assert consumer.events("session.frame.changed")[-1]["damage"] == [[32, 16, 16, 16]]


def test_geometry_stays_when_the_root_window_is_resized() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    consumer.capture(session, size=Size(800, 600))
    assert consumer.events("session.frame.changed")[-1]["damage"] == [[0, 0, 1280, 720]]
    assert consumer.result(consumer.send("session.frame", {"session_id": session}))["width"] == 1280


def test_sessions_that_keep_no_frames() -> None:
    consumer = Consumer()
    session = consumer.open({**X11, "local_frames": False})
    consumer.capture(session)
    assert consumer.events("session.frame.changed") == []
    assert consumer.code(consumer.send("session.frame", {"session_id": session, "timeout_ms": 500})) == "operation"
    assert consumer.result(consumer.send("session.metrics"))["captured_frames"] == 1


# Loss of the capture


def test_a_lost_capture_is_told_once_retried_and_given_up_while_the_session_stays() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    waiting = consumer.send("session.frame", {"session_id": session, "after_seq": 1})
    consumer.take(consumer.engine.capture_lost(session, "the X display :170 went away", consumer.now))
    assert consumer.code(waiting) == "stream-stopped"
    assert consumer.events("session.capture.stopped") == [{"sessionId": session, "reason": "the X display :170 went away"}]
    for attempt in range(1, 4):
        assert consumer.code(consumer.send("session.frame", {"session_id": session})) == "stream-stopped"
        deadline = consumer.engine.deadline()
        assert deadline is not None
        consumer.later(deadline - consumer.now)
        assert consumer.count(do.ReopenSource) == attempt
        assert consumer.code(consumer.send("session.frame", {"session_id": session, "still_ms": 1})) == "stream-stopped"
        consumer.take(consumer.engine.reopen_failed(session, consumer.now))
    assert consumer.states()[-1] == ("ended", "new", False)
    assert len(consumer.events("session.capture.stopped")) == 1
    assert consumer.count(do.CloseSource) == 0
    assert consumer.result(consumer.send("session.metrics"))["captured_frames"] == 1
    assert consumer.code(consumer.send("session.frame", {"session_id": session})) == "stream-stopped"
    request = consumer.send("session.close", {"session_id": session})
    consumer.take(consumer.engine.source_closed(session, consumer.now))
    assert consumer.result(request) == {"closed": True}


def test_a_capture_that_comes_back_serves_no_stale_frame() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    consumer.take(consumer.engine.capture_lost(session, "gone", consumer.now))
    consumer.later(0.2)
    consumer.take(consumer.engine.reopened(session, consumer.now))
    assert consumer.states()[-1] == ("streaming", "new", False)
    assert consumer.code(consumer.send("session.frame", {"session_id": session})) == "frame"
    waiting = consumer.send("session.frame", {"session_id": session, "since": 1, "after_seq": 0})
    assert not consumer.answered(waiting)
    consumer.capture(session, (0, 0, 32, 32))
    result = consumer.result(waiting)
    assert (result["seq"], result["damage"]) == (2, [[0, 0, 1280, 720]])
