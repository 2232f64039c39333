"""The benchmark command: what it prints for programs, and what it says to a name it does not know."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, str(Path(__file__).parents[2] / "benchmarks" / "run.py")]


@pytest.mark.slow
@pytest.mark.display
def test_the_desktop_benchmark_prints_one_object_with_both_sides_and_the_ratio() -> None:
    done = subprocess.run([*COMMAND, "--only", "desktop.grab_1080p", "--json"], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert {"name", "unit", "ours", "peer", "ratio", "spread"} <= set(result)
    assert (result["name"], result["unit"]) == ("desktop.grab_1080p", "ms")
    assert result["ratio"] == pytest.approx(result["peer"] / result["ours"], rel=0.01)


def test_an_unknown_benchmark_is_a_usage_error() -> None:
    done = subprocess.run([*COMMAND, "--only", "desktop.nothing"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "desktop.nothing" in done.stderr
