from __future__ import annotations

import pytest

from desklink_engine_kit import Consumer
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.frames import Frames, FrameWait
from triptych.machines.desklink.geometry import Size

FULL = ((0, 0, 320, 200),)


def frames(*changes: tuple[float, tuple[tuple[int, int, int, int], ...]]) -> Frames:
    made = Frames(Size(320, 200))
    for at, damage in changes:
        made.captured(damage, at)
    return made


def test_damage_since() -> None:
    made = frames((1.0, ()), (2.0, ((32, 0, 32, 32),)))
    assert made.seq == 2
    assert made.damage_since(2) == ()
    assert made.damage_since(1) == ((32, 0, 32, 32),)
    for other in (0, 3, 900, None):
        assert made.damage_since(other) == FULL


def test_the_first_frame_is_wholly_new() -> None:
    assert frames((1.0, ((0, 0, 32, 32),))).damage == FULL


def test_stillness_is_never_reported_short_of_a_fulfilled_wait() -> None:
    for start in (0.1, 12345.678, 987654.321):
        made = frames((start, ()))
        for wanted in (1, 50, 149, 150, 333):
            assert made.still_ms(made.still_at(wanted)) >= wanted


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((None, None, None), None),
        ((3, None, None), FrameWait(3, None, 105.0)),
        ((None, 400, None), FrameWait(None, 400, 105.0)),
        ((None, None, 50), FrameWait(None, 150, 100.05)),
        ((None, None, 0), FrameWait(None, 150, 100.0)),
        ((3, 20, 999_999), FrameWait(3, 20, 220.0)),
        ((0, None, 1000), FrameWait(0, None, 101.0)),
    ],
)
def test_what_a_request_waits_for(asked: tuple[int | None, int | None, int | None], expected: FrameWait | None) -> None:
    assert FrameWait.of(*asked, now=100.0) == expected


def test_a_wait_is_over_when_every_condition_holds() -> None:
    nothing_yet, one, two = frames(), frames((100.0, ())), frames((100.0, ()), (101.0, ()))
    after = FrameWait(1, None, 110.0)
    assert after.met_at(nothing_yet) is None
    assert after.met_at(one) is None
    assert after.met_at(two) == 0.0
    both = FrameWait(1, 500, 110.0)
    assert both.met_at(one) is None
    assert both.met_at(two) == 101.5
    assert both.next_look(one) == 110.0
    assert both.next_look(two) == 101.5
    assert FrameWait(None, 500, 100.2).next_look(one) == 100.2
    assert FrameWait(None, 0, 110.0).met_at(nothing_yet) is None


def test_pixels_that_cannot_be_read_in_time_are_refused_and_dropped_when_they_come() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    request = consumer.send("session.frame", {"session_id": session, "path": "/run/f"})
    token = consumer.the(do.ReadFrame).token
    consumer.later(4.9)
    assert not consumer.answered(request)
    consumer.later(0.2)
    assert consumer.code(request) == "frame-timeout"
    consumer.effects.clear()
    consumer.take(consumer.engine.frame_read(session, token, consumer.now))
    assert consumer.effects == [do.DropFrame(token)]


def test_a_read_that_came_in_time_may_be_written_slowly() -> None:
    consumer = Consumer()
    session = consumer.open()
    consumer.capture(session)
    request = consumer.send("session.frame", {"session_id": session, "path": "/run/f"})
    token = consumer.the(do.ReadFrame).token
    consumer.take(consumer.engine.frame_read(session, token, consumer.now))
    consumer.later(60)
    assert not consumer.answered(request)
    consumer.take(consumer.engine.frame_written(session, token, None, consumer.now))
    assert consumer.result(request)["written"]
