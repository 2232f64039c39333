"""Sleep and a clock that is set are told from the clocks alone, and nothing else is taken for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.adapters.collector.clocks import read_clocks
from triptych.machines.collector.clock import ClockWatch, Gap, Reading

START = Reading(wall_ms=1_791_000_000_000, boottime_ms=500_000, monotonic_ms=400_000)


def later(wall: int, boottime: int, monotonic: int) -> Reading:
    return Reading(START.wall_ms + wall, START.boottime_ms + boottime, START.monotonic_ms + monotonic)


@pytest.mark.parametrize(
    ("now", "gap"),
    [
        (later(60_000, 60_000, 60_000), None),
        (later(62_000, 62_000, 60_000), None),
        (later(3_660_000, 3_660_000, 60_000), Gap("sleep", 3_600_000, START.wall_ms)),
        (later(62_001, 62_001, 60_000), Gap("sleep", 2_001, START.wall_ms)),
        (later(65_000, 60_000, 60_000), None),
        (later(65_001, 60_000, 60_000), Gap("clock-jump", 5_001, START.wall_ms)),
        (later(-3_540_000, 60_000, 60_000), Gap("clock-jump", -3_600_000, START.wall_ms - 3_540_001)),
        (later(-3_540_000, 3_660_000, 60_000), Gap("sleep", 3_600_000, START.wall_ms - 3_540_001)),
    ],
)
def test_a_gap(now: Reading, gap: Gap | None) -> None:
    watch = ClockWatch(START)
    assert watch.look(now) == gap
    assert watch.look(now) is None, "it is told once"


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(-20, 20)), max_size=20))
def test_clocks_that_run_evenly_show_no_gap(steps: list[tuple[int, int]]) -> None:
    watch, at = ClockWatch(START), 0
    for step, unevenly in steps:
        at += step
        assert watch.look(later(at + unevenly, at, at)) is None


def test_the_clocks_of_this_machine_run_evenly() -> None:
    watch = ClockWatch(read_clocks())
    now = read_clocks()
    assert watch.look(now) is None
    assert now.boottime_ms >= now.monotonic_ms > 0
