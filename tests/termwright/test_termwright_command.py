from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from triptych.adapters.termwright.recording import Recording
from triptych.engine import terminal, terminal_sync

TRIPTYCH = [sys.executable, "-W", "error", "-c", "from triptych.engine.cli import main; main()", "terminal"]
COMMAND = [*TRIPTYCH, "run"]
FORM = [
    sys.executable,
    "-m",
    "termwright_probe",
    "--",
    sys.executable,
    str(Path(__file__).resolve().parents[1] / "programs" / "textual_form.py"),
]


def run(tmp_path: Path, *arguments: str, command: str = "run") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.run([*TRIPTYCH, command, *arguments], capture_output=True, text=True, env=environment, timeout=120, check=False)


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
    for option in ("--timeout", "--tree-timeout"):
        for number in ("nan", "inf", "-1", "soon"):
            answer = run(tmp_path, option, number, "--", "ls")
            assert (answer.returncode, answer.stdout) == (2, ""), (option, number)
            assert option in answer.stderr
    answer = run(tmp_path, "--keys", "hyper+a", "--", "sh", "-c", "echo")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "unknown-key" in answer.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["run", "tree", "screen", "press", "click"])
def test_an_interrupt_ends_the_program_and_leaves_nothing(tmp_path: Path, command: str, number: signal.Signals) -> None:
    said = tmp_path / "pid"
    child = ["sh", "-c", f"echo $$ > {said}.part; mv {said}.part {said}; exec sleep 1000"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    arguments = [command, *{"press": ["tab"], "click": ["text"]}.get(command, []), "--", *child]
    running = subprocess.Popen([*TRIPTYCH, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        deadline = time.monotonic() + 60
        while not said.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
        running.communicate()
    assert (running.returncode, out) == (1, "")
    assert "interrupted" in err
    assert "Traceback" not in err
    assert not Path(f"/proc/{int(said.read_text())}").exists()
    said.unlink()
    assert list(tmp_path.iterdir()) == []


PATIENCE = ["--tree-timeout", "60", "--timeout", "60"]
DIALOGUE = ["sh", "-c", "printf '\\033[31mwho?\\033[0m '; read name; echo hello $name $WORD; read again"]


def test_the_tree_of_a_program(tmp_path: Path) -> None:
    answer = run(tmp_path, *PATIENCE, "--", *FORM, command="tree")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith('application "Release form"')
    snapshot = json.loads(run(tmp_path, *PATIENCE, "--json", "--", *FORM, command="tree").stdout)
    assert snapshot["v"] == 3
    assert any(node["role"] == "button" and node["name"] == "Approve" for node in snapshot["nodes"])


def test_a_program_without_a_tree_has_none_to_print(tmp_path: Path) -> None:
    answer = run(tmp_path, "--tree-timeout", "0.1", "--", "sleep", "1000", command="tree")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "negotiation-timeout" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_the_screen_of_a_program_without_an_adapter_comes_at_once(tmp_path: Path) -> None:
    started = time.monotonic()
    answer = run(tmp_path, "--size", "30x4", "--tree-timeout", "60", "--", *DIALOGUE, command="screen")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "who?\n", "")
    assert time.monotonic() - started < 30

    answer = run(tmp_path, "--size", "30x4", "--json", "--", *DIALOGUE, command="screen")
    told = json.loads(answer.stdout)
    assert told == {"columns": 30, "rows": 4, "cursor": [5, 0], "cursor_visible": True, "lines": ["who?", "", "", ""]}


def test_the_screen_of_a_program_with_an_adapter_waits_for_its_tree(tmp_path: Path) -> None:
    picture = tmp_path / "form.png"
    answer = run(tmp_path, *PATIENCE, "--size", "60x20", "--png", str(picture), "--", *FORM, command="screen")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"{picture}\n", "")
    with Image.open(picture) as image:
        assert image.size == (60 * 12, 20 * 24)
        assert len(image.getcolors(1 << 20) or ()) > 20
    answer = run(tmp_path, "--png", str(tmp_path / "no" / "such.png"), "--", "echo", command="screen")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "cannot be written" in answer.stderr


def test_keys_are_pressed_and_the_screen_is_printed(tmp_path: Path) -> None:
    answer = run(tmp_path, "--env", "WORD=again", "--wait-text", "hello A", "A enter", "--", *DIALOGUE, command="press")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.splitlines() == ["who? A", "hello A again"]
    answer = run(tmp_path, "--timeout", "0.5", "--wait-text", "never", "x", "--", *DIALOGUE, command="press")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "never" in answer.stderr
    told = json.loads(run(tmp_path, "--json", "--type", "\n", "B", "--", *DIALOGUE, command="press").stdout)
    assert told["screen"].splitlines()[0] == "who? B"
    assert told["tree"] is None

    answer = run(tmp_path, *PATIENCE, "--tree", "tab tab space", "--", *FORM, command="press")
    assert '    checkbox "Urgent" #urgent [focused checked]' in answer.stdout
    answer = run(tmp_path, "--tree-timeout", "0.1", "--tree", "tab", "--", *DIALOGUE, command="press")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "no semantic tree" in answer.stderr


def test_a_click_goes_where_the_program_proves_it_and_nowhere_else(tmp_path: Path) -> None:
    approve = ["--probe", "--wait-text", "Approve:"]
    for target in (["#approve"], ["Approve"], ["--role", "button", "appro"]):
        answer = run(tmp_path, *PATIENCE, *approve, *target, "--", sys.executable, FORM[-1], command="click")
        assert (answer.returncode, answer.stderr) == (0, ""), target
        assert "Approve:" in answer.stdout
    answer = run(tmp_path, "--timeout", "1", "--tree-timeout", "0.1", "who", "--", *DIALOGUE, command="click")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "[not-actionable] no-tree" in answer.stderr
    answer = run(tmp_path, "--role", "knob", "who", "--", *DIALOGUE, command="click")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "unknown-role" in answer.stderr


def test_the_environment_is_an_allow_list_unless_asked(tmp_path: Path) -> None:
    os.environ["SECRET"] = "mine"
    try:
        program = ["sh", "-c", "echo ${SECRET:-hidden} $WORD; pwd"]
        plain = run(tmp_path, "--", *program, command="screen")
        passed = run(
            tmp_path,
            "--tree-timeout",
            "0.2",
            "--inherit-env",
            "--env",
            "WORD=x=y",
            "--directory",
            str(tmp_path),
            "--size",
            "200x5",
            "--",
            *program,
        )
    finally:
        del os.environ["SECRET"]
    assert plain.stdout.splitlines()[0] == "hidden"
    assert passed.stdout.splitlines() == ["mine x=y", str(tmp_path)]
    answer = run(tmp_path, "--env", "WORD", "--", "ls")
    assert answer.returncode == 2
    assert "NAME=VALUE" in answer.stderr


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    folder = tmp_path / "record"
    answer = run(tmp_path, *PATIENCE, "--size", "60x20", "--record", str(folder), "--keys", "tab tab space", "--", *FORM)
    assert (answer.returncode, answer.stderr) == (0, "")
    return folder


def test_a_recording_is_shown_where_there_is_no_terminal(tmp_path: Path, recorded: Path) -> None:
    shown = run(tmp_path, str(recorded), command="show")
    assert (shown.returncode, shown.stderr) == (0, "")
    screen, _, tree = shown.stdout.partition("\n--- revision ")
    assert "Urgent" in screen
    assert '    checkbox "Urgent" #urgent [focused checked]' in tree

    first = run(tmp_path, "--tree", "--at", "1", str(recorded), command="show")
    assert '    checkbox "Urgent" #urgent at' in first.stdout
    assert "--- revision" not in first.stdout

    told = json.loads(run(tmp_path, "--json", str(recorded), command="show").stdout)
    assert told["revision"] == told["tree"]["revision"] > 1
    assert [key for action in told["actions"] if action["type"] == "press" for key in action["keys"]] == ["tab", "tab", "space"]
    start = json.loads(run(tmp_path, "--json", "--at", "0s", str(recorded), command="show").stdout)
    assert (start["revision"], start["tree"], start["screen"], start["actions"]) == (0, None, "", [])
    half = json.loads(run(tmp_path, "--json", "--at", f"{told['duration'] / 2:.3f}", str(recorded), command="show").stdout)
    assert 0 < half["at"] < told["at"]

    picture = tmp_path / "at.png"
    assert run(tmp_path, "--at", "1", "--png", str(picture), str(recorded), command="show").returncode == 0
    with Image.open(picture) as image:
        assert image.size == (60 * 12, 20 * 24)


def test_what_cannot_be_shown(tmp_path: Path, recorded: Path) -> None:
    for arguments, code, why in (
        (["--at", "9999", str(recorded)], 1, "no revision 9999"),
        (["--at", "soon", str(recorded)], 2, "1.5 or 2s"),
        (["--at", "0", str(recorded)], 2, "1.5 or 2s"),
        (["--at", "-1s", str(recorded)], 2, "1.5 or 2s"),
        (["--speed", "0", str(recorded)], 2, "--speed"),
        (["--tree", "--at", "0s", str(recorded)], 1, "no semantic tree"),
        ([str(tmp_path / "nothing")], 1, "no recording"),
    ):
        answer = run(tmp_path, *arguments, command="show")
        assert (answer.returncode, answer.stdout) == (code, ""), arguments
        assert why in answer.stderr
    answer = run(tmp_path, "--record", str(recorded), "--", "ls")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "not empty" in answer.stderr


def test_a_recording_is_replayed_on_a_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "record"
    options = ["--tree-timeout", "0.2", "--size", "30x5", "--record", str(folder), "--keys", "A enter"]
    assert run(tmp_path, *options, "--", *DIALOGUE).returncode == 0
    assert Recording.read(folder).meta["program"] == DIALOGUE
    with terminal_sync.launch([*TRIPTYCH, "show", "--speed", "2", str(folder)], columns=50, rows=12, ready_timeout=0.1) as app:
        app.wait_for_text("who? A", timeout=60)
        app.wait_for_text("hello A", timeout=60)
        assert app.exited(timeout=60) == 0
        # The person's own screen is back, with the last screen of the recording printed on it, in its colours.
        assert app.screen.lines[:2] == ("who? A", "hello A")
        assert app.screen.cells[0][0].style.foreground is not None
        assert app.screen.cells[1][0].style.foreground is None
        assert app.screen.cursor_visible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_replay_that_is_interrupted_gives_the_terminal_back(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "record"
    options = ["--tree-timeout", "0.2", "--size", "30x5", "--record", str(folder), "--keys", "A enter"]
    assert run(tmp_path, *options, "--", *DIALOGUE).returncode == 0
    shown = [*TRIPTYCH, "show", "--speed", "0.001", str(folder)]

    async def main() -> None:
        async with terminal.launch(shown, columns=50, rows=12, ready_timeout=0.1) as app:
            await app.wait_until(lambda: app.modes.alternate_screen, timeout=60)
            await app.signal(number)
            assert await app.exited(timeout=60) == 1
            assert app.screen.text.strip() == "triptych: interrupted"
            assert app.screen.cursor_visible
            assert not app.modes.alternate_screen

    asyncio.run(main())


def test_a_program_becomes_itself_under_our_probe(tmp_path: Path) -> None:
    app = FORM[-1]
    answer = run(tmp_path, *PATIENCE, "--", *TRIPTYCH, "probe", "--", sys.executable, app, command="tree")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert 'button "Approve" #approve' in answer.stdout
    assert run(tmp_path, *PATIENCE, "--probe", "--", sys.executable, app, command="tree").stdout == answer.stdout
    # Nobody drives: nothing but the program.
    plain = run(tmp_path, "--", "echo", "plain", command="probe")
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, "plain\n", "")
    assert run(tmp_path, "--", "no-such-program", command="probe").returncode == 127


def test_nothing_of_a_program_s_reaches_the_person_s_terminal_but_letters(tmp_path: Path) -> None:
    answer = run(tmp_path, "--", "printf", r"\302\2336n\033[6n\033]0;title\007text", command="screen")
    assert answer.returncode == 0
    assert answer.stdout.endswith("text\n")
    assert not [letter for letter in answer.stdout if letter != "\n" and (letter < " " or "\x7f" <= letter < "\xa0")]
