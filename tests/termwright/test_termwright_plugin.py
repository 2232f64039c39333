"""The pytest plugin, in real pytest sessions of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from triptych.adapters.termwright.recording import Recording
from triptych.engine.terminal_replay import screen_at
from triptych.machines.termwright.run import validate_transition

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
FORM = [sys.executable, "-m", "termwright_probe", "--", sys.executable, str(PROGRAMS / "textual_form.py")]
PATIENCE = 60.0
GREETS = """
def test_greets(terminal_app):
    app = terminal_app(["sh", "-c", "echo hello; read line; echo got $line"])
    app.wait_for_text("hello")
    app.type("you\\n")
    app.wait_for_text("got you")
    assert app.exited() == 0
"""
SKIPS = """
import pytest
@pytest.mark.skip(reason="no display here")
def test_shows(): ...
@pytest.mark.xfail(reason="known")
def test_expected(): assert False
"""


def command(folder: Path, *arguments: str) -> list[str]:
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n")
    return [sys.executable, "-m", "pytest", "-p", "triptych.engine.pytest_plugin", "-p", "no:cacheprovider", *arguments]


def environment(folder: Path) -> dict[str, str]:
    (folder / "tmp").mkdir(exist_ok=True)
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return {**outside, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TMPDIR": str(folder / "tmp"), "COLUMNS": "120"}


def session(folder: Path, tests: str, *arguments: str, conftest: str = "") -> subprocess.CompletedProcess[str]:
    folder.joinpath("test_them.py").write_text(tests)
    folder.joinpath("conftest.py").write_text(conftest)
    ended = subprocess.run(
        command(folder, *arguments),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    return ended


def report(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "report.json").read_text())
    assert told["lifecycle"] == "termwright/run"
    states = [each["state"] for each in told["states"]]
    assert states[0] == "requested"
    assert states[-1] == told["verdict"]
    for source, target in pairwise(states):
        validate_transition(source, target)
    return told


def test_a_session_that_passes(tmp_path: Path) -> None:
    ended = session(tmp_path, GREETS, "--triptych-report", "report.json")
    assert ended.returncode == 0, ended.stdout
    assert "triptych run: passed ===" in ended.stdout
    told = report(tmp_path)
    assert (told["verdict"], told["exit_status"]) == ("passed", 0)
    assert told["passed"] == ["test_them.py::test_greets"]
    assert (told["skipped"], told["failed"]) == ([], [])
    assert [each["state"] for each in told["states"]] == ["requested", "collecting", "scheduled", "running", "finalizing", "passed"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_session_without_terminals_hears_nothing(tmp_path: Path) -> None:
    tests = "import sys\ndef test_one():\n    assert not [name for name in sys.modules if 'statemachine' in name or 'msgspec' in name]\n"
    ended = session(tmp_path, tests)
    assert ended.returncode == 0, ended.stdout
    assert "triptych" not in ended.stdout.partition("test_them.py")[2]


def test_a_failure_shows_what_the_terminals_showed(tmp_path: Path) -> None:
    tests = f"""
def test_both(terminal_app):
    form = terminal_app({FORM!r}, ready_timeout=60)
    form.wait_for_revision(timeout=60)
    shell = terminal_app(["sh", "-c", "echo first line; echo second line; exit 3"])
    assert shell.exited() == 0
"""
    ended = session(tmp_path, tests, "--triptych-report", "report.json")
    assert ended.returncode == 1
    shown = ended.stdout
    assert "semantic tree (revision" in shown
    assert 'button "Approve" #approve' in shown
    assert "adapter-attached" in shown
    assert "terminal screen (80x24, running) of" in shown
    assert "terminal screen (80x24, exited with 3) of sh (2)" in shown
    assert "first line\nsecond line" in shown
    assert "triptych run: failed ===" in shown
    told = report(tmp_path)
    assert told["verdict"] == "failed"
    assert told["failed"] == [{"name": "test_them.py::test_both", "reason": "assert 3 == 0"}]


def test_a_failure_in_a_fixture_shows_them_too(tmp_path: Path) -> None:
    tests = """
import pytest
@pytest.fixture
def ready(terminal_app):
    app = terminal_app(["echo", "not what was awaited"])
    app.wait_for_text("ready")
def test_it(ready): ...
"""
    ended = session(tmp_path, tests)
    assert ended.returncode == 1
    assert "terminal screen (80x24, exited with 0) of echo" in ended.stdout
    assert "triptych run: failed ===" in ended.stdout


def test_options_come_from_the_marker_the_fixture_and_the_call(tmp_path: Path) -> None:
    tests = """
import pytest
pytestmark = pytest.mark.terminal(columns=50, rows=9)
@pytest.mark.terminal(rows=7)
def test_size(terminal_app):
    app = terminal_app(["sh", "-c", "stty size; echo $WORD"], environment={"WORD": "given"})
    app.exited()
    assert app.screen.lines[:2] == ("7 50", "given")
    app = terminal_app(["stty", "size"], columns=60)
    app.exited()
    assert app.screen.lines[0] == "7 60"
"""
    assert session(tmp_path, tests).returncode == 0
    conftest = """
import pytest
@pytest.fixture
def terminal_options(terminal_options): return {**terminal_options, "columns": 61}
"""
    tests = """
def test_size(terminal_app):
    app = terminal_app(["stty", "size"])
    app.exited()
    assert app.screen.lines[0] == "24 61"
"""
    assert session(tmp_path, tests, conftest=conftest).returncode == 0


def test_every_terminal_is_recorded(tmp_path: Path) -> None:
    tests = """
import pytest
@pytest.mark.parametrize("word", ["a/b", "a b", "a" * 300])
def test_word(terminal_app, word):
    for number in range(2):
        app = terminal_app(["echo", word[:5], str(number)])
        app.exited()
"""
    ended = session(tmp_path, tests, "--triptych-record", "record")
    assert ended.returncode == 0, ended.stdout
    folders = sorted((tmp_path / "record").iterdir())
    assert len(folders) == 6
    shown = set()
    for folder in folders:
        recording = Recording.read(folder)
        assert recording.meta["complete"] is True
        shown.add(screen_at(recording, recording.duration).lines[0])
    assert shown == {f"{word} {number}" for word in ("a/b", "a b", "aaaaa") for number in (0, 1)}

    ended = session(tmp_path, tests, "--triptych-record", "record")
    assert ended.returncode == 4
    assert "not empty" in ended.stderr
    assert len(list((tmp_path / "record").iterdir())) == 6


def test_skips_are_a_verdict_of_their_own(tmp_path: Path) -> None:
    ended = session(tmp_path, GREETS + SKIPS, "--triptych-report", "report.json")
    assert ended.returncode == 0
    assert "triptych run: passed-with-skips ===" in ended.stdout
    assert "skipped test_them.py::test_shows: no display here" in ended.stdout
    told = report(tmp_path)
    assert told["verdict"] == "passed-with-skips"
    assert told["skipped"] == [{"name": "test_them.py::test_shows", "reason": "no display here"}]

    session(tmp_path, SKIPS, "--triptych-report", "report.json", "-k", "shows")
    assert report(tmp_path)["verdict"] == "skipped"


@pytest.mark.parametrize(
    ("allowed", "code"),
    [
        (["test_them.py::test_shows"], 0),
        ([""], 1),
        (["test_them.py::test_greets"], 1),
        (["test_them.py::test_shows", "test_them.py::test_other"], 1),
    ],
)
def test_the_skip_policy_is_exact(tmp_path: Path, allowed: list[str], code: int) -> None:
    options = [f"--triptych-allow-skip={name}" for name in allowed]
    ended = session(tmp_path, GREETS + SKIPS, "--triptych-report", "report.json", *options)
    assert ended.returncode == code, ended.stdout
    assert ("against the policy" in ended.stdout) == bool(code)
    told = report(tmp_path)
    assert (told["verdict"], told["exit_status"]) == ("passed-with-skips", code)


@pytest.mark.parametrize(
    ("tests", "arguments", "verdict", "code"),
    [
        ("def test_one(: ...", [], "incomplete", 2),
        ("", [], "incomplete", 5),
        ("def test_one(): ...\ndef test_two(): raise KeyboardInterrupt", [], "cancelled", 2),
        ("import pytest\ndef test_one(): pytest.exit('enough')", [], "cancelled", 2),
        ("def test_one(): ...", ["--collect-only"], "incomplete", 0),
        ("def test_one(): assert 0\ndef test_two(): ...", ["-x"], "failed", 1),
        ("import pytest\n@pytest.fixture\ndef late():\n    yield\n    assert 0\ndef test_one(late): ...", [], "failed", 1),
        ("import pytest\n@pytest.mark.xfail(reason='known')\ndef test_one(): assert 0\ndef test_two(): ...", [], "passed", 0),
    ],
)
def test_verdicts(tmp_path: Path, tests: str, arguments: list[str], verdict: str, code: int) -> None:
    ended = session(tmp_path, tests, "--triptych-report", "report.json", *arguments)
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert f"triptych run: {verdict} ===" in ended.stdout
    told = report(tmp_path)
    assert (told["verdict"], told["exit_status"]) == (verdict, code)


def test_a_plugin_that_breaks_is_an_infrastructure_failure(tmp_path: Path) -> None:
    conftest = "def pytest_runtest_protocol(item): raise RuntimeError('the rig is on fire')"
    ended = session(tmp_path, "def test_one(): ...", "--triptych-report", "report.json", conftest=conftest)
    assert ended.returncode == 3
    told = report(tmp_path)
    assert (told["verdict"], told["reason"]) == ("infrastructure-failed", "the rig is on fire")


def test_a_test_that_passed_when_it_was_run_again_is_flaky(tmp_path: Path) -> None:
    # As pytest-rerunfailures does it.
    conftest = """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.failed:
            report.outcome = "rerun"
        item.ihook.pytest_runtest_logreport(report=report)
    item._initrequest()
    runtestprotocol(item, nextitem=nextitem)
    return True
def pytest_report_teststatus(report):
    return ("rerun", "R", "RERUN") if report.outcome == "rerun" else None
"""
    tests = "tries = []\ndef test_one():\n    tries.append(1)\n    assert len(tries) > 1"
    ended = session(tmp_path, tests, "--triptych-report", "report.json", conftest=conftest)
    assert report(tmp_path)["verdict"] == "flaky", ended.stdout


def test_ctrl_c_ends_the_programs_and_tells_cancelled(tmp_path: Path) -> None:
    tests = """
import os, pathlib
def test_waits(terminal_app):
    app = terminal_app(["sleep", "1000"])
    pathlib.Path("pid.part").write_text(str(app.pid))
    os.rename("pid.part", "pid")
    app.exited()
"""
    (tmp_path / "test_them.py").write_text(tests)
    running = subprocess.Popen(
        command(tmp_path, "--triptych-report", "report.json", "--triptych-record", "record"),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not (tmp_path / "pid").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 2, out
    assert "triptych run: cancelled" in out
    assert report(tmp_path)["verdict"] == "cancelled"
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
    (folder,) = (tmp_path / "record").iterdir()
    assert Recording.read(folder).meta["complete"] is True
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_report_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    ended = session(tmp_path, GREETS, "--triptych-report", "no/such/folder/report.json")
    assert "report.json cannot be written" in ended.stdout
