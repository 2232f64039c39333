"""The command's face: help without heavy imports, versions, exit codes, and errors as one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import triptych

SCRIPT = Path(sys.executable).with_name("triptych")


def run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *argv], capture_output=True, text=True, input=stdin, timeout=60, check=False)


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    from triptych.engine.cli import COMMANDS

    code = (
        "import sys\nsys.argv = ['triptych', '--help']\nfrom triptych.engine.cli import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert done.code in (0, None), done.code\n"
        "heavy = set('structlog statemachine numpy msgspec jsonschema rich xcffib dbus_fast asyncio cffi'.split()) & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    for command in COMMANDS:
        assert f"  {command} " in answer.stdout


def test_version_is_bare() -> None:
    answer = run("version")
    assert (answer.returncode, answer.stdout) == (0, f"{triptych.__version__}\n")


def test_version_as_json_names_the_protocols() -> None:
    assert json.loads(run("version", "--json").stdout) == {"triptych": triptych.__version__, "termwright": 3, "collector": 1, "desklink": 3}


@pytest.mark.parametrize("argv", [["nonsense"], ["version", "--nonsense"]])
def test_wrong_usage_exits_2_and_keeps_stdout_clean(argv: list[str]) -> None:
    answer = run(*argv)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert "Usage:" in answer.stderr


@pytest.mark.parametrize("argv", [["doctor"], ["schema", "desklink"], ["machines", "ice"], ["version"]])
def test_an_answer_that_nobody_can_take_is_one_line_and_exit_1(argv: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run([SCRIPT, *argv], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    assert answer.stderr == "triptych: [Errno 28] No space left on device\n"


def test_a_reader_that_has_gone_is_no_fault_worth_a_word() -> None:
    shown = subprocess.run(f"{SCRIPT} schema desklink | head -n 1", shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert (shown.stdout, shown.stderr) == ("{\n", "")


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null"])
def test_a_place_that_cannot_be_written_is_one_line(place: str) -> None:
    answer = run("demo", "--out", place)
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    assert place in answer.stderr


def test_an_interrupt_while_modules_are_imported_is_one_line() -> None:
    code = (
        "import builtins, sys\nreal = builtins.__import__\n"
        "def interrupted(name, *rest, **more):\n    if name == 'click':\n        raise KeyboardInterrupt\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = interrupted\nfrom triptych.engine.__main__ import main\nmain()\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (1, "triptych: interrupted\n")


def test_no_control_character_of_another_program_reaches_the_terminal() -> None:
    code = (
        "from triptych.engine import cli\nfrom triptych.errors import Unavailable\n"
        "def fail(**_):\n    raise Unavailable('the screen was:\\n\\x1b]52;c;aGk=\\x07 and \\x9b31m')\n"
        "cli.triptych.main = fail\ncli.main()\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    assert answer.stderr == "triptych: the screen was:\n�]52;c;aGk=� and �31m\n"
