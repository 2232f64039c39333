from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMAND = [sys.executable, "-W", "error", "-c", "from triptych.engine.cli import main; main()", "terminal", "run"]
FORM = [
    sys.executable,
    "-m",
    "termwright_probe",
    "--",
    sys.executable,
    str(Path(__file__).resolve().parents[1] / "programs" / "textual_form.py"),
]


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=environment, timeout=120, check=False)


def test_the_tree_of_a_textual_program_after_some_keys(tmp_path: Path) -> None:
    patience = ["--tree-timeout", "60", "--timeout", "60"]
    answer = run(tmp_path, *patience, "--size", "60x24", "--keys", "tab tab space shift+tab", "--type", "Ada", "--", *FORM)
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert lines[0] == 'application "Release form" #_default at 0,0 60x24'
    assert '    textbox "Reviewer" #reviewer [focused] value="Ada" at 0,4 60x3' in lines
    assert any(line.startswith('    checkbox "Urgent" #urgent [checked]') for line in lines)


def test_json_of_a_program_that_has_no_tree(tmp_path: Path) -> None:
    answer = run(tmp_path, "--json", "--size", "40x5", "--", "sh", "-c", "printf 'one\\ntwo'; exit 4")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert json.loads(answer.stdout) == {"revision": 0, "tree": None, "screen": "one\ntwo", "exit_status": 4, "diagnostics": []}
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_never_stops_is_looked_at(tmp_path: Path) -> None:
    answer = run(tmp_path, "--tree-timeout", "0.1", "--timeout", "0.5", "--size", "20x3", "--", "yes")
    assert (answer.returncode, answer.stdout.splitlines()[0]) == (0, "y")


def test_refusals(tmp_path: Path) -> None:
    answer = run(tmp_path, "--", "no-such-program")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.count("\n") == 1
    assert "no-such-program" in answer.stderr
    for arguments in (["--size", "wide", "--", "ls"], ["--size", "0x5", "--", "ls"], []):
        answer = run(tmp_path, *arguments)
        assert (answer.returncode, answer.stdout) == (2, "")
    answer = run(tmp_path, "--keys", "hyper+a", "--", "sh", "-c", "echo")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "unknown-key" in answer.stderr


def test_an_interrupt_ends_the_program_and_leaves_nothing(tmp_path: Path) -> None:
    said = tmp_path / "pid"
    child = ["sh", "-c", f"echo $$ > {said}.part; mv {said}.part {said}; exec sleep 1000"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = subprocess.Popen([*COMMAND, "--", *child], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    deadline = time.monotonic() + 60
    while not said.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert (command.returncode, out) == (1, "")
    assert "Traceback" not in err
    assert not Path(f"/proc/{int(said.read_text())}").exists()
    said.unlink()
    assert list(tmp_path.iterdir()) == []
