"""The fuzz targets hold for what their mutations start from, and tell when something breaks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from triptych.tools import fuzz_termwright
from triptych.tools.fuzz_termwright import CAMPAIGN, TARGETS, seeds


@pytest.mark.parametrize("target", TARGETS)
def test_every_vector_holds_as_an_input(target: str) -> None:
    ends = {TARGETS[target](data) for data in seeds(target)}
    assert len(ends) > 1  # some are accepted, and some are not


def test_a_run_is_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert CAMPAIGN.by_mutation("marker", 0.05, 1, tmp_path)
    assert capsys.readouterr().out.startswith("marker: ")
    assert list(tmp_path.iterdir()) == []


def test_an_input_that_breaks_something_is_kept_and_runs_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz_termwright, "verify_marker", lambda *_: 9)  # it takes every payload for a proof
    assert not CAMPAIGN.by_mutation("marker", 5.0, 1, tmp_path)
    (kept,) = tmp_path.iterdir()
    assert "nobody signed" in capsys.readouterr().err
    with pytest.raises(fuzz_termwright.Broken):
        CAMPAIGN.main(["--target", "marker", "--input", str(kept)])


def test_the_command_runs_the_targets_that_it_is_given(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "triptych.tools.fuzz_termwright", "--target", "delta", "--seconds", "1", "--into", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("delta: ")
    assert " runs by " in ended.stdout
