"""When a moving picture is halved, when it is whole again, and that it never flaps between the two."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.machines.desklink.frame_budget import CALM, CLIMBED, COARSEST, FINE, LONGEST_CALM, SETTLED, SOON, TRIAL, Halving

KBPS = 2000
SMOOTHED = 10
"""After so many frames it is known how long half a picture takes."""


@dataclass
class Stream:
    """A picture in motion, at a target that has long been known."""

    fps: int = 30
    halving: Halving = field(init=False)
    now: float = 100.0

    def __post_init__(self) -> None:
        self.halving = Halving(self.fps)
        self.light()
        self.now += 2 * SETTLED

    def one(
        self, size: int, seconds: float, *, waits: bool = False, kbps: int = KBPS, held: float = 0.0, key: bool = False, q: int = COARSEST
    ) -> bool:
        """One frame; whether the next is to be halved."""
        self.now += max(1 / self.fps, seconds)
        return self.halving.encoded(size, seconds, self.now, newer_waits=waits, kbps=kbps, held=held, key=key, quantizer=q)

    def light(self) -> bool:
        """A frame of few bits that took next to no time."""
        return self.one(100, 0.001)

    def heavy(self) -> bool:
        """One that took longer than it is shown, and many bits."""
        return self.one(9000, 0.05, waits=True)

    def filled(self, q: int = FINE, seconds: float = 0.004, **more: float) -> bool:
        """One that fills its share of the target, as every frame in motion does."""
        return self.one(KBPS * 125 // self.fps, seconds, q=q, **more)  # type: ignore[arg-type]  # only `held` is given

    def halved(self) -> None:
        """Make it half."""
        while not self.heavy():
            pass

    def frames_to_full(self, q: int = FINE) -> int:
        """So many calm frames until it is whole again."""
        return next(count for count in itertools.count(1) if not self.filled(q))


def test_five_slow_and_large_frames_halve_and_thirty_small_ones_restore() -> None:
    stream = Stream()
    assert [stream.heavy() for _ in range(5)] == [False] * 4 + [True]
    assert [stream.one(500, 0.01) for _ in range(30)] == [True] * 29 + [False]


def test_a_light_frame_begins_the_count_again() -> None:
    stream = Stream()
    for _ in range(3):
        assert not any([*(stream.heavy() for _ in range(4)), stream.one(9000, 0.05, waits=False)])
    assert not any([*(stream.heavy() for _ in range(4)), stream.one(100, 0.05, waits=True)])  # slow, and small: no motion


def test_two_frames_in_debt_halve_and_a_still_picture_restores() -> None:
    stream = Stream()
    assert not stream.one(20_000, 0.01, held=0.1)
    assert stream.one(20_000, 0.01, held=0.1)
    stream.halving.reset()
    assert not stream.halving.half


def test_a_picture_that_fills_the_target_is_whole_again_when_the_full_one_would_fit_too() -> None:
    stream = Stream()
    stream.halved()
    assert CALM <= stream.frames_to_full() <= CALM + SMOOTHED


@pytest.mark.parametrize(
    "frame",
    [
        {"q": FINE + 1},  # coarse: more would not fit
        {"seconds": 1 / 30 / 4 + 0.001},  # four times as long is too long
        {"held": 0.034},  # the path does not take even these
    ],
    ids=str,
)
def test_a_picture_stays_half_while_the_full_one_would_not_do(frame: dict[str, float]) -> None:
    stream = Stream()
    stream.halved()
    assert all(stream.filled(**frame) for _ in range(1000))  # type: ignore[arg-type]  # each of its own type


def test_one_frame_that_took_long_does_not_keep_it_half() -> None:
    stream = Stream()
    stream.halved()
    for _ in range(10):
        assert stream.filled()
    assert stream.filled(seconds=0.012)
    assert stream.frames_to_full() <= CALM + SMOOTHED


def test_a_return_that_fails_makes_the_next_wait_twice_as_long_until_one_lasts() -> None:
    stream = Stream()
    waits = []
    for _ in range(8):
        stream.halved()
        waits.append(stream.frames_to_full())
    # Twenty seconds at most.
    assert [wait - wait % 30 for wait in waits] == [30, 60, 120, 240, 480, 600, 600, 600]
    while stream.now < stream.halving._returned_at + LONGEST_CALM + 1:
        assert not stream.light()
    stream.halved()
    assert stream.frames_to_full() <= CALM + SMOOTHED


def test_what_a_key_frame_owes_does_not_halve_nor_what_a_refinement_does() -> None:
    stream = Stream()
    assert not any(stream.one(9000, 0.01, held=0.5, key=n % 2 == 0) for n in range(SOON - 1))
    assert not stream.light()
    stream.halving.reset()
    assert not stream.one(9000, 0.01, held=0.5)
    assert not stream.one(9000, 0.01, held=0.5)
    assert stream.one(9000, 0.01, held=0.5)


def test_debts_of_frames_that_the_encoder_can_make_coarser_do_not_halve() -> None:
    stream = Stream()
    assert not any(stream.one(40_000, 0.01, held=0.1, q=q) for q in (20, 25, 30, FINE))
    assert not stream.one(40_000, 0.01, held=0.1, q=FINE + 1)
    assert not stream.one(40_000, 0.01, held=0.1, q=FINE + 2)
    assert stream.one(40_000, 0.01, held=0.1, q=FINE + 3)


def test_nor_soon_but_a_path_that_goes_on_refusing_does_however_fine_they_are() -> None:
    stream = Stream()
    assert [stream.one(100, 0.001, held=0.1, q=2) for _ in range(SOON)] == [False] * (SOON - 1) + [True]


def test_a_target_that_climbs_after_connecting_does_not_halve_and_one_that_stays_low_does() -> None:
    halving, now = Halving(30), 50.0

    def owing(kbps: float) -> bool:
        return halving.encoded(20_000, 0.005, now, newer_waits=True, kbps=int(kbps), held=0.1)

    for turn in range(10):
        now += 0.2
        assert not owing(1000 * CLIMBED ** (2 * turn))
    reached = 1000 * CLIMBED**18
    while now < 52.9:
        now += 0.1
        assert not owing(reached)
    now += 0.2
    assert not owing(reached)
    assert owing(reached * 1.08)  # so little a second is no climb


def test_a_low_rate_after_a_back_off_halves() -> None:
    stream = Stream()
    assert not stream.one(9000, 0.01, kbps=1000, held=0.1)
    assert stream.one(9000, 0.01, kbps=1000, held=0.1)


def test_half_size_is_kept_while_the_encoder_cannot_keep_up() -> None:
    stream, chance = Stream(60), random.Random(1)
    states = [stream.one(chance.randrange(2000, 9000), 0.03, waits=True, kbps=1500, q=chance.randrange(64)) for _ in range(200)]
    assert list(itertools.dropwhile(lambda half: not half, states)) == [True] * 196


FRAMES = st.tuples(st.integers(0, 60_000), st.floats(0.0005, 0.1), st.booleans(), st.sampled_from([0.0, 0.2]), st.integers(0, 63))


@given(st.sampled_from([10, 30, 60]), st.lists(st.tuples(FRAMES, st.integers(1, 2000)), min_size=1, max_size=40), st.randoms())
def test_the_size_never_changes_more_often_than_sixteen_times_a_minute_whatever_comes(fps: int, runs: list, chance: random.Random) -> None:  # type: ignore[type-arg]  # long
    halving, now, changes, was = Halving(fps), 10.0, [], False
    for frame, count in runs:
        for _ in range(count):
            size, seconds, waits, held, q = frame
            now += max(1 / fps, seconds)
            half = halving.encoded(size, seconds, now, newer_waits=waits, kbps=2000, held=held, key=half_changed(changes, now), quantizer=q)
            if half is not was:
                was = half
                changes.append(now)
    assert most_in_a_minute(changes) <= 16


def test_nor_when_it_halves_as_soon_as_it_can_and_returns_as_soon_as_it_can() -> None:
    for fps, lasts in itertools.product((10, 30, 60), (0.0, 1.0, TRIAL - 0.5, TRIAL + 0.5, LONGEST_CALM + 0.5)):
        stream, changes, was = Stream(fps), [], False
        while stream.now < 100 + 600:
            if stream.halving.half:
                half = stream.one(100, 0.0001)
            elif stream.now - stream.halving._returned_at < lasts:
                half = stream.light()
            else:
                half = stream.one(60_000, 0.101, waits=True, held=0.2)
            if half is not was:
                was = half
                changes.append(stream.now)
        assert len(changes) > 40
        assert most_in_a_minute(changes) <= 16


def half_changed(changes: list[float], now: float) -> bool:
    """Whether the size has just changed, which makes a key frame."""
    return bool(changes) and now - changes[-1] < 0.05


def most_in_a_minute(times: list[float]) -> int:
    """The most of these times within any minute."""
    return max((sum(first <= at < first + 60 for at in times) for first in times), default=0)
