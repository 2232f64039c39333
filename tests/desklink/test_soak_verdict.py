"""What the soak calls flat: a pool that fills early is, what grows to the end is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triptych.tools.soak import Sample, fifths, grew

START = Sample(rss_kib=100_000, fds=14, threads=10, shm_segments=1, x_clients=3, x_resources=8)


def test_what_stays_is_flat() -> None:
    assert grew([START] * 50) == []


def test_what_fills_in_the_first_fifth_is_flat() -> None:
    assert grew([replace(START, rss_kib=60_000, fds=5)] * 10 + [START] * 40) == []


def test_memory_may_grow_by_a_twentieth_and_eight_megabytes() -> None:
    most = round(100_000 * 1.05) + 8 * 1024
    assert grew([START] * 40 + [replace(START, rss_kib=most)] * 10) == []
    assert grew([START] * 40 + [replace(START, rss_kib=most + 1)] * 10) == [f"rss_kib grew from 100000 to {most + 1}"]


@pytest.mark.parametrize("name", ["fds", "threads", "shm_segments", "x_clients", "x_resources"])
def test_what_is_counted_may_not_grow(name: str) -> None:
    before = getattr(START, name)
    grown = [replace(START, **{name: before + number // 10}) for number in range(50)]
    assert grew(grown) == [f"{name} grew from {before + 1} to {before + 4}"]
    assert grew(grown[:40]) == []


def test_one_peak_is_not_growth() -> None:
    samples = [START] * 50
    samples[47] = replace(START, rss_kib=900_000, fds=400)
    assert grew(samples) == []
    assert fifths(samples, "rss_kib") == [100_000.0] * 5
