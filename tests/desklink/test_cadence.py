"""Pictures keep to their most in a second, and one late picture does not make the later ones late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.machines.desklink.cadence import Cadence

RATES = st.integers(1, 60)


def begin_all(fps: int, drawn: list[float]) -> list[float]:
    """When pictures that are drawn at these times begin, each as soon as it may."""
    cadence, begun, free = Cadence(fps), [], 0.0
    for at in drawn:
        free = max(at, cadence.at, free)
        cadence.began(free)
        begun.append(free)
    return begun


@pytest.mark.property
@given(RATES, st.lists(st.floats(0, 0.2), min_size=1, max_size=200))
def test_no_span_of_time_has_more_than_its_pictures_and_one(fps: int, pauses: list[float]) -> None:
    drawn = [100 + sum(pauses[: place + 1]) for place in range(len(pauses))]
    begun = begin_all(fps, drawn)
    for first in range(len(begun)):
        for last in range(first, len(begun)):
            assert last - first <= (begun[last] - begun[first]) * fps + 1 + 1e-6


@pytest.mark.property
@given(RATES, st.lists(st.floats(0, 0.99), min_size=2, max_size=100))
def test_a_rhythm_with_jitter_below_an_interval_is_never_waited_for(fps: int, jitter: list[float]) -> None:
    drawn = sorted(100 + (turn + off) / fps for turn, off in enumerate(jitter))
    late = [begun - at for begun, at in zip(begin_all(fps, drawn), drawn, strict=True)]
    assert max(late) < 1e-6


def test_after_a_pause_the_first_picture_begins_at_once() -> None:
    assert begin_all(20, [100.0, 100.01, 107.0]) == [100.0, 100.01, 107.0]


def test_a_flood_is_cut_to_the_rate() -> None:
    begun = begin_all(20, [100 + place / 1000 for place in range(400)])
    assert sum(at < 100.99 for at in begun) == 21
