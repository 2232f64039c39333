"""The fuzz targets hold for what their mutations start from, and tell when something breaks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from triptych.errors import RemoteProtocolError
from triptych.tools import fuzz_rtc
from triptych.tools.fuzz_rtc import CAMPAIGN, TARGETS, seeds


@pytest.mark.parametrize("target", TARGETS)
def test_what_mutations_start_from_is_sound_and_mostly_accepted(target: str) -> None:
    ends = [TARGETS[target](data) for data in seeds(target)]
    assert len(ends) >= 2
    assert not any(end in ("transport", "operation") for end in ends)


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_of_mutations_breaks_nothing(target: str, tmp_path: Path) -> None:
    assert CAMPAIGN.by_mutation(target, 1.0, 7, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_breaks_is_kept_and_breaks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    honest = fuzz_rtc.read_candidate

    def careless(line: str) -> object:
        return honest(line) if line.startswith("candidate:") else honest("candidate:1 1 udp 1 192.0.2.7 5 typ host")._replace()

    monkeypatch.setattr(fuzz_rtc, "read_candidate", careless)
    assert not CAMPAIGN.by_mutation("candidate", 30.0, 1, tmp_path)
    (kept,) = tmp_path.iterdir()
    assert str(kept) in capsys.readouterr().err
    with pytest.raises(AttributeError):
        CAMPAIGN.main(["--target", "candidate", "--input", str(kept)])
    monkeypatch.undo()
    assert CAMPAIGN.main(["--target", "candidate", "--input", str(kept)]) == 0


def test_a_reader_that_raises_another_code_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_rtc.packets, "read", lambda _: (_ for _ in ()).throw(RemoteProtocolError("other", "x")))
    with pytest.raises(fuzz_rtc.Broken):
        fuzz_rtc.rtp(b"")


@pytest.mark.slow
def test_the_command_runs_by_coverage(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    command = [sys.executable, "-m", "triptych.tools.fuzz_rtc", "--target", "rtcp", "--seconds", "1", "--into", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "by atheris" in ended.stdout
    assert list(tmp_path.iterdir()) == []
