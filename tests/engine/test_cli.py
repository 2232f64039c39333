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
