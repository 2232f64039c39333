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
    assert run("record", "now").returncode == 2
    assert run("show", "--data", "/tmp", "--nothing").returncode == 2


def test_a_folder_that_others_may_read_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    ended = run("record", "--data", str(tmp_path / "shared"), "--for", "1")
    assert ended.returncode == 1
    assert ended.stderr.startswith("triptych: ") and "chmod 700" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("unix:path={folder}/no-bus", "no session bus: No such file or directory"),
        ("unix:path={folder}/" + "x" * 200, "no session bus: its address cannot be used"),
        ("garbage", "no session bus: its address cannot be used"),
        ("tcp:host=127.0.0.1,port=none", "no session bus: its address cannot be used"),
        ("tcp:host=127.0.0.1,port=1", "no session bus: Connect call failed"),
        ("", "no session bus: DBUS_SESSION_BUS_ADDRESS is not set"),
    ],
)
def test_without_a_bus_the_reason_and_the_remedy_are_one_line(tmp_path: Path, address: str, words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DBUS_SESSION_BUS_ADDRESS": address.format(folder=tmp_path)}
    ended = run("record", "--data", str(tmp_path / "history"), "--for", "2.5", env=env)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"triptych: {words}")
    assert ended.stderr.endswith(" (run it inside a desktop session, or under dbus-run-session)\n")
    assert ended.stderr.count("\n") == 1


@pytest.mark.display
def test_what_a_person_can_mend_is_waited_for_and_the_remedy_is_said(private_display: PrivateDisplay, tmp_path: Path) -> None:
    ended = run("record", "--data", str(tmp_path / "history"), "--for", "3", env=private_display.env)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "capture permission-required: accessibility is off in this session (turn it on with: gsettings" in ended.stderr
    assert ended.stderr.endswith("refused: nothing\n")


BROKEN = """
import sys
from triptych.engine import activity, cli
from triptych.engine.activity_cli import service as activity_service
async def found(): pass
activity_service.require_bus = found
activity.collect_command = lambda **options: [sys.executable, "-c", PROGRAM]
sys.argv = ["triptych", "activity", "record", "--data", DATA]
cli.main()
"""


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; print('not a message', flush=True); print('Traceback', file=sys.stderr); sys.exit('no luck')", "protocol-error"),
        ("import sys; print('[]', flush=True); sys.stdin.read(); sys.exit('no luck\\x1b[31m')", "protocol-error"),
    ],
)
def test_a_collector_that_was_given_up_ends_the_recording_with_its_last_word(tmp_path: Path, program: str, reason: str) -> None:
    source = BROKEN.replace("PROGRAM", repr(program)).replace("DATA", repr(str(tmp_path / "history")))
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"triptych: the collector was given up: {reason}: no luck")
    assert "\x1b[31m" not in last


@pytest.mark.slow
def test_a_collector_that_crashes_at_once_ends_the_recording_when_the_breaker_opens(tmp_path: Path) -> None:
    source = BROKEN.replace("PROGRAM", repr("import sys; sys.exit('no luck')")).replace("DATA", repr(str(tmp_path / "history")))
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 1
    said = ended.stderr.splitlines()
    assert any(line.startswith("capture degraded: the collector crashed [collector-exited]: no luck (it is started again") for line in said)
    assert said[-1].startswith("triptych: the collector was given up: collector-exited: no luck")


@pytest.mark.parametrize("command", [["collect"], ["record", "--data", "history"]])
@pytest.mark.parametrize("module", ["dbus_fast", "xcffib"])
def test_without_the_extra_it_is_one_clear_line(tmp_path: Path, command: list[str], module: str) -> None:
    source = (
        "import sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {module!r}: raise ModuleNotFoundError(name)\n"
        "from importlib import util\n"
        "found = util.find_spec\n"
        f"util.find_spec = lambda name, package=None: None if name == {module!r} else found(name, package)\n"
        "sys.meta_path.insert(0, Gone())\n"
        f"sys.argv = ['triptych', 'activity', *{command!r}]\n"
        "from triptych.engine.cli import main; main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", source],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.returncode == 1
    assert ended.stderr == f"triptych: {module} is not installed (pip install 'triptych[activity]')\n"
    said = [(line["type"], line.get("code")) for line in map(json.loads, ended.stdout.splitlines())]
    fatal = [("hello", None), ("fatal", "cannot-run-here")]  # a collector tells its host too, which then does not start it again
    assert said == (fatal if command == ["collect"] else [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "x"])
def test_seconds_that_are_none_are_wrong_usage(tmp_path: Path, seconds: str) -> None:
    ended = run("record", "--data", str(tmp_path / "history"), "--for", seconds)
    assert ended.returncode == 2 and "--for" in ended.stderr
    assert not (tmp_path / "history").exists()


def test_an_application_id_that_is_no_text_is_one_clear_line(tmp_path: Path) -> None:
    ended = run("record", "--data", str(tmp_path / "history"), "--allow", "\udcff")
    assert ended.returncode == 1
    assert ended.stderr.startswith("triptych: [rule-text] ") and ended.stderr.count("\n") == 1


def test_a_lock_that_is_a_link_is_one_clear_line(tmp_path: Path) -> None:
    history = tmp_path / "history"
    history.mkdir(mode=0o700)
    (history / "capture-owner").symlink_to(tmp_path / "elsewhere")
    ended = run("record", "--data", str(history), "--for", "1")
    assert ended.returncode == 1
    assert ended.stderr.startswith("triptych: cannot open ") and ended.stderr.count("\n") == 1
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.display
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(private_display: PrivateDisplay, tmp_path: Path, number: signal.Signals) -> None:
    command = [*TRIPTYCH, "activity", "record", "--data", str(tmp_path / "history")]
    with subprocess.Popen(command, env=private_display.env, stderr=subprocess.PIPE, text=True) as recording:
        try:
            assert recording.stderr is not None
            while "permission-required" not in (line := recording.stderr.readline()):
                assert line, "it ended"
            children = Path(f"/proc/{recording.pid}/task/{recording.pid}/children").read_text().split()
            recording.send_signal(number)
            assert recording.wait(60) == 0
            assert recording.stderr.read().endswith("refused: nothing\n")
        finally:
            recording.kill()
    assert children and not any(Path(f"/proc/{child}").exists() for child in children)


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
                assert (seen["bundleId"], seen["title"], seen["pid"]) == (FORM, "Printed as it comes", form.pid)
                desktop.click(form, "Save")
                assert json.loads(recording.stdout.readline())["role"] == "push button"
                recording.send_signal(signal.SIGINT)
                assert recording.wait(60) == 0
                said = recording.stderr.read()
                assert "capture running" in said and said.splitlines()[-1].startswith("refused: ")
                assert "Traceback" not in said
            finally:
                recording.kill()
    shown = run("show", "--data", str(desktop.data))
    assert shown.returncode == 0
    assert [line.split("  ")[-1] for line in shown.stdout.splitlines()] == ["(text)", "(push button)"]
    lines = run("show", "--data", str(desktop.data), "--json").stdout.splitlines()
    assert [json.loads(line)["title"] for line in lines] == ["Printed as it comes"] * 2
