"""`triptych activity record` and `show`, as a person runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from activity_kit import FORM, desk
from gtk_kit import GtkForm
from triptych.adapters.display import PrivateDisplay

TRIPTYCH = [sys.executable, "-P", "-c", "from triptych.engine.cli import main; main()"]


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TRIPTYCH, "activity", *arguments], env=env, capture_output=True, text=True, check=False, timeout=60)


def test_an_empty_record_says_so_and_nothing_is_made(tmp_path: Path) -> None:
    ended = run("show", "--data", str(tmp_path / "none"))
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr.startswith("nothing is recorded")
    assert not (tmp_path / "none").exists()


def test_wrong_usage_ends_with_2() -> None:
    assert run("record").returncode == 2
    assert run("show", "--data", "/tmp", "--nothing").returncode == 2


def test_a_folder_that_others_may_read_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    ended = run("record", "--data", str(tmp_path / "shared"), "--for", "1")
    assert ended.returncode == 1
    assert ended.stderr.startswith("triptych: ") and "chmod 700" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_first_recording_says_that_it_lets_nothing_in(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/no-bus"}
    ended = run("record", "--data", str(tmp_path / "history"), "--for", "2.5", env=env)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "capture permission-required: no session bus" in ended.stderr
    assert ended.stderr.endswith("0 observations refused\n")


@pytest.mark.display
@pytest.mark.slow
def test_record_prints_what_it_stores_until_it_is_interrupted(
    private_display: PrivateDisplay, tmp_path: Path, gtk_program: Callable[..., GtkForm]
) -> None:
    with desk(private_display, tmp_path, gtk_program) as desktop:
        options = ["--data", str(desktop.data), "--allow", FORM, "--adapter-table", str(desktop.table), "--enable-accessibility"]
        command = [*TRIPTYCH, "activity", "record", *options, "--json"]
        with subprocess.Popen(command, env=desktop.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as recording:
            try:
                assert recording.stdout is not None and recording.stderr is not None
                form = desktop.form("Printed as it comes")
                seen = json.loads(recording.stdout.readline())
                assert (seen["bundle_id"], seen["title"], seen["pid"]) == (FORM, "Printed as it comes", form.pid)
                desktop.click(form, "Save")
                assert json.loads(recording.stdout.readline())["role"] == "push button"
                recording.send_signal(signal.SIGINT)
                assert recording.wait(10) == 0
                said = recording.stderr.read()
                assert "capture running" in said and said.splitlines()[-1].endswith("observations refused")
                assert "Traceback" not in said
            finally:
                recording.kill()
    shown = run("show", "--data", str(desktop.data))
    assert shown.returncode == 0
    assert [line.split("  ")[-1] for line in shown.stdout.splitlines()] == ["(text)", "(push button)"]
    lines = run("show", "--data", str(desktop.data), "--json").stdout.splitlines()
    assert [json.loads(line)["title"] for line in lines] == ["Printed as it comes"] * 2
