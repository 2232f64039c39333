"""The benchmark command: what it prints for programs, and what it says to a name it does not know."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "benchmarks" / "run.py")]


@pytest.mark.slow
@pytest.mark.display
def test_the_desktop_benchmark_prints_one_object_with_both_sides_and_the_ratio() -> None:
    done = subprocess.run([*COMMAND, "--only", "desktop.grab_1080p", "--json"], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert {"name", "unit", "ours", "peer", "ratio", "spread"} <= set(result)
    assert (result["name"], result["unit"]) == ("desktop.grab_1080p", "ms")
    assert result["ratio"] > 0


def test_an_unknown_benchmark_is_a_usage_error() -> None:
    done = subprocess.run([*COMMAND, "--only", "desktop.nothing"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "desktop.nothing" in done.stderr


@pytest.mark.parametrize(("better", "ratio"), [("lower", 3.0), ("higher", 1 / 3)])
def test_the_ratio_is_the_median_of_the_ratios_of_the_rounds(better: str, ratio: float) -> None:
    spec = importlib.util.spec_from_file_location("bench_harness", ROOT / "benchmarks" / "harness.py")
    assert spec is not None and spec.loader is not None
    harness = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = harness
    try:
        spec.loader.exec_module(harness)
    finally:
        del sys.modules[spec.name]
    # The machine is ten times slower in the second round: the medians of the sides are then of different rounds.
    ours, peer = iter([0.0, 1.0, 10.0, 4.0]), iter([0.0, 3.0, 30.0, 2.0])  # the first call of each warms up

    @contextlib.contextmanager
    def prepare() -> Iterator[Any]:
        yield harness.Sides(lambda: next(ours), lambda: next(peer))

    result = harness.measure(harness.Benchmark("x.y", "nobody", prepare, unit="MB", better=better, rounds=3))
    assert (result.ours, result.peer) == (4.0, 3.0)
    assert result.ratio == pytest.approx(ratio)
