"""When a captured desktop is encoded, and how: cadence, refinement, keepalive, key frames, half size; time is an argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.machines.desklink.encode_schedule import ASK_AGAIN, FOREVER, KEEPALIVE_AFTER, REFINE_AFTER, Encode, EncodeSchedule, Pass, Wait

KBPS = 4000


@dataclass
class Encoder:
    """A schedule that is driven through time, by an encoder that takes `seconds` for a frame of `size` bytes."""

    schedule: EncodeSchedule
    seconds: float = 0.004
    size: int = 2000
    now: float = 100.0
    busy_until: float = 0.0
    done: list[tuple[float, Encode]] = field(default_factory=list)

    def until(self, end: float, changes: tuple[float, ...] = ()) -> list[tuple[float, Encode]]:
        """Run on to `end` while pictures come at `changes`; what was encoded."""
        first = len(self.done)
        waiting = sorted(changes)
        while True:
            while waiting and waiting[0] <= self.now:
                waiting.pop(0)
                self.schedule.changed()
            step = self.schedule.next(self.now)
            if isinstance(step, Encode):
                began, self.now = self.now, self.now + self.seconds
                newer = bool(waiting) and waiting[0] <= self.now
                self.schedule.encoded(step, self.size, began, self.now, kbps=KBPS, newer_waits=newer)
                self.done.append((began, step))
                continue
            then = min(step.until, *waiting[:1], end)
            if then >= end:
                self.now = end
                return self.done[first:]
            self.now = then


def whys(done: list[tuple[float, Encode]]) -> list[Pass]:
    return [step.why for _, step in done]


def test_nothing_is_due_before_a_picture_has_come_even_when_a_key_frame_is_wanted() -> None:
    schedule = EncodeSchedule(30, 1280)
    schedule.want_key()
    assert schedule.next(5.0) == Wait(FOREVER)
    schedule.changed()
    assert schedule.next(5.0) == Encode(Pass.MOTION, key=True)


def test_forty_frames_in_200_ms_at_20_fps_are_a_few_then_one_refinement_then_silence_then_a_keepalive() -> None:
    encoder = Encoder(EncodeSchedule(20, 1280))
    moving = encoder.until(100.2, tuple(100 + n * 0.005 for n in range(40)))
    assert 2 <= len(moving) <= 7
    assert set(whys(moving)) == {Pass.MOTION}
    still = encoder.until(101.2)
    assert whys(still)[-1] is Pass.REFINE
    assert whys(still).count(Pass.REFINE) == 1
    everything = moving + still
    assert [step.key for _, step in everything] == [True] + [False] * (len(everything) - 1)
    refined_at = still[-1][0]
    last_motion = everything[-2][0]
    assert REFINE_AFTER <= refined_at - last_motion <= REFINE_AFTER + 0.051
    later = encoder.until(refined_at + KEEPALIVE_AFTER + 0.1)
    assert whys(later) == [Pass.KEEPALIVE]
    assert later[0][0] == pytest.approx(refined_at + encoder.seconds + KEEPALIVE_AFTER)
    assert whys(encoder.until(encoder.now + 3.0)) == [Pass.KEEPALIVE] * 3


def test_a_picture_after_a_pause_goes_at_once_and_so_does_the_one_after() -> None:
    encoder = Encoder(EncodeSchedule(10, 1280), seconds=0.001)
    encoder.until(101.0, (100.0,))
    done = encoder.until(101.5, (101.03, 101.035, 101.04))
    assert [round(at, 3) for at, step in done if step.why is Pass.MOTION] == [101.03, 101.035, 101.13]


@given(st.integers(1, 60), st.lists(st.floats(0, 4), max_size=300), st.floats(0.0001, 0.1))
def test_never_more_than_the_cap_and_one_in_any_second(fps: int, changes: list[float], seconds: float) -> None:
    encoder = Encoder(EncodeSchedule(fps, 1280), seconds=seconds)
    times = [at for at, _ in encoder.until(107.0, tuple(100 + change for change in changes))]
    for first in times:
        assert sum(first <= at < first + 1 for at in times) <= fps + 1
    if changes:
        assert encoder.done[0][1] == Encode(Pass.MOTION, key=True)
        # Whatever came is encoded, and the still picture refined, exactly once for each stillness.
        assert Pass.REFINE in whys(encoder.done)
        assert (Pass.REFINE, Pass.REFINE) not in pairwise(whys(encoder.done))


def test_a_key_frame_on_a_still_picture_goes_at_once_and_is_refined_again() -> None:
    encoder = Encoder(EncodeSchedule(30, 1280))
    encoder.until(100.5, (100.0,))
    encoder.schedule.want_key()
    done = encoder.until(100.9)
    assert done[0] == (100.5, Encode(Pass.MOTION, key=True))
    assert whys(done) == [Pass.MOTION, Pass.REFINE]
    assert done[1][0] == pytest.approx(100.5 + REFINE_AFTER)


def test_a_path_that_takes_nothing_is_asked_again_soon_then_rarely_and_soon_again_when_woken() -> None:
    schedule = EncodeSchedule(30, 1280)
    schedule.changed()
    now, pauses = 100.0, []
    for _ in range(8):
        assert schedule.next(now) == Encode(Pass.MOTION, key=True)
        wait = schedule.held(now)
        pauses.append(wait.until - now)
        now = wait.until
    assert pauses[0] == pytest.approx(ASK_AGAIN[0])
    assert pauses[-1] == pytest.approx(ASK_AGAIN[1])
    assert pauses == sorted(pauses)
    schedule.woken()
    assert schedule.held(now).until - now == pytest.approx(ASK_AGAIN[0])


def test_a_picture_that_is_withdrawn_is_not_encoded() -> None:
    schedule = EncodeSchedule(30, 1280)
    schedule.changed()
    schedule.withdrawn(has_picture=False)
    assert schedule.next(100.0) == Wait(FOREVER)
    schedule.changed()
    schedule.encoded(Encode(Pass.MOTION, key=True), 1000, 100.0, 100.01, kbps=KBPS, newer_waits=True)
    schedule.changed()
    schedule.withdrawn(has_picture=True)
    assert schedule.next(100.1) == Wait(100.0 + REFINE_AFTER)


def test_a_refinement_that_the_path_carries_only_slowly_is_in_parts_and_motion_goes_between_them() -> None:
    schedule, rough, now = EncodeSchedule(30, 1920), 8160, 100.0

    def refine_part() -> int:
        nonlocal rough, now
        step = schedule.next(now)
        assert isinstance(step, Encode)
        assert step.why is Pass.REFINE
        coded = min(step.most, rough)
        rough -= coded
        schedule.encoded(step, coded * 60, now, now + 0.005, kbps=1500, newer_waits=False, coded=coded, rough=rough)
        now += 0.1
        return coded

    schedule.changed()
    schedule.encoded(Encode(Pass.MOTION, key=True), 50_000, now, now + 0.04, kbps=1500, newer_waits=False, coded=8160, rough=8160)
    now += 0.2
    assert refine_part() == 2812  # 300 ms of 1500 kbps at 20 bytes each
    assert refine_part() == 937  # at 60, as it turned out
    schedule.changed()
    assert schedule.next(now) == Encode(Pass.MOTION)
    schedule.encoded(Encode(Pass.MOTION), 500, now, now + 0.005, kbps=1500, newer_waits=False, coded=4, rough=rough)
    assert schedule.next(now + 0.1) == Wait(now + REFINE_AFTER)
    now += 0.2
    parts = 0
    while rough:
        assert refine_part() <= 937
        parts += 1
    assert parts == 5
    assert schedule.next(now) == Wait(pytest.approx(now - 0.095 + KEEPALIVE_AFTER))


def test_a_refinement_that_the_path_carries_is_one_frame() -> None:
    schedule = EncodeSchedule(30, 1920)
    schedule.changed()
    schedule.encoded(Encode(Pass.MOTION, key=True), 50_000, 100.0, 100.04, kbps=5232, newer_waits=False, coded=8160, rough=8160)
    step = schedule.next(100.3)
    assert isinstance(step, Encode)
    assert step.most >= 8160


def heavy(width: int = 1280, *, halves: bool = True) -> Encoder:
    """Five frames that take longer than the cadence and many bits, with the next one waiting."""
    encoder = Encoder(EncodeSchedule(30, width, halves=halves), seconds=0.040, size=60_000)
    encoder.until(100.35, tuple(100 + n / 30 for n in range(11)))
    return encoder


def test_motion_that_the_encoder_cannot_keep_up_with_is_halved_and_a_still_picture_is_whole() -> None:
    encoder = heavy()
    halves = [step.half for _, step in encoder.done]
    assert halves[:5] == [False] * 5
    assert halves[5:] == [True] * (len(halves) - 5)
    assert True in halves
    still = encoder.until(100.8)
    assert [(step.why, step.half) for _, step in still if step.why is Pass.REFINE] == [(Pass.REFINE, False)]
    assert encoder.until(101.0, (100.85,))[0][1] == Encode(Pass.MOTION)


def test_half_a_picture_becomes_whole_when_thirty_frames_were_light() -> None:
    encoder = heavy()
    encoder.seconds, encoder.size = 0.004, 100
    done = encoder.until(102.0, tuple(encoder.now + n / 30 for n in range(48)))
    halves = [step.half for _, step in done if step.why is Pass.MOTION]
    assert 28 <= halves.count(True) <= 31
    assert halves == sorted(halves, reverse=True)


@pytest.mark.parametrize(("width", "halves"), [(638, True), (1280, False)])
def test_a_small_picture_is_never_halved_nor_one_of_an_encoder_that_cannot(width: int, halves: bool) -> None:
    assert not any(step.half for _, step in heavy(width, halves=halves).done)


def test_a_debt_to_the_path_halves_after_two_frames_but_waiting_for_a_key_frame_is_none() -> None:
    def one(schedule: EncodeSchedule, now: float, held: float) -> Encode:
        schedule.changed()
        step = schedule.next(now)
        assert isinstance(step, Encode)
        if held:
            schedule.held(now)
        schedule.encoded(step, 100, now + held, now + held + 0.001, kbps=KBPS, newer_waits=False)
        return step

    schedule = EncodeSchedule(30, 1280)
    assert one(schedule, 100.0, 9.0).key
    assert not one(schedule, 110.0, 0.05).half
    assert not one(schedule, 110.1, 0.0).half
    assert not one(schedule, 110.2, 0.05).half
    assert not one(schedule, 110.3, 0.05).half
    assert one(schedule, 110.4, 0.0).half
