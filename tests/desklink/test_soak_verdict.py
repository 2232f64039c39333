"""What the soak calls flat: a pool that fills early is, what grows to the end is not."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from triptych.tools.soak import Sample, fifths, grew, table, trend

START = Sample(rss_mb=100.0, anonymous_mb=50.0, fds=14, sockets=4, threads=10, processes=3, shm_segments=1, x_clients=3, x_resources=8)
MEMORY = [field.name for field in fields(Sample) if field.name.endswith("_mb")]
COUNTS = [field.name for field in fields(Sample) if not field.name.endswith("_mb")]


def test_what_stays_is_flat() -> None:
    assert grew([START] * 50) == []


def test_what_fills_in_the_first_fifth_is_flat() -> None:
    assert grew([replace(START, rss_mb=60.0, fds=5)] * 10 + [START] * 40) == []


@pytest.mark.parametrize("name", MEMORY)
def test_memory_may_take_one_step_of_eight_megabytes_at_any_time(name: str) -> None:
    before = getattr(START, name)
    for at in range(50):
        assert grew([START] * at + [replace(START, **{name: before + 8})] * (50 - at)) == []
    assert grew([START] * 40 + [replace(START, **{name: before + 8.5})] * 10) == [
        f"{name} grew from {before:g} to {before + 8.5:g}, with a trend of +0.0"
    ]


@pytest.mark.parametrize("name", MEMORY)
def test_memory_that_never_stops_growing_is_seen_before_it_is_much(name: str) -> None:
    before = getattr(START, name)
    grown = [replace(START, **{name: before + number * 0.0875}) for number in range(100)]
    parts = fifths(grown, name)
    assert parts[4] - parts[1] < 8
    assert grew(grown) == [f"{name} grew from {parts[1]:g} to {parts[4]:g}, with a trend of +4.4"]


def test_memory_that_goes_up_and_down_or_shrinks_is_flat() -> None:
    assert grew([replace(START, rss_mb=100.0 + number * 7 % 30) for number in range(200)]) == []
    assert grew([replace(START, rss_mb=300.0 - number) for number in range(200)]) == []


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_counted_may_not_grow(name: str) -> None:
    before = getattr(START, name)
    grown = [replace(START, **{name: before + number // 10}) for number in range(50)]
    assert [fault.partition(",")[0] for fault in grew(grown)] == [f"{name} grew from {before + 1} to {before + 4}"]
    assert grew(grown[:40]) == []


def test_one_peak_is_not_growth() -> None:
    samples = [START] * 50
    samples[47] = replace(START, rss_mb=900.0, fds=400)
    assert grew(samples) == []
    assert fifths(samples, "rss_mb") == [100.0] * 5
    assert trend(samples, "rss_mb") == 0


def test_the_table_has_a_line_for_each_thing_and_its_trend() -> None:
    head, *lines = table("10 cycles", [replace(START, fds=14 + number) for number in range(10)]).splitlines()
    assert head.split() == ["10", "cycles", "(10", "samples)", "first", "second", "third", "fourth", "last", "most", "trend"]
    assert [line.split("  ")[0] for line in lines] == [
        "rss, MB",
        "anonymous, MB",
        "fds",
        "sockets",
        "threads",
        "processes",
        "shm segments",
        "x clients",
        "x resources",
    ]
    assert lines[2].split() == ["fds", "14.5", "16.5", "18.5", "20.5", "22.5", "23", "+4.0"]
