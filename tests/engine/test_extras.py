"""On a base install, without any extra, each command that needs one is one clear line with the remedy, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXTRAS = ("PIL", "aiohttp", "dbus_fast", "numpy", "pyghostty", "rich", "xcffib")


def run(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys\nfor name in {EXTRAS!r}:\n    sys.modules[name] = None\n"
        f"sys.argv = ['triptych', *{argv!r}]\nfrom triptych.engine.cli import main\nmain()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "command",
    [
        "demo",
        "terminal run -- true",
        "terminal tree -- true",
        "terminal screen -- true",
        "terminal press enter -- true",
        "desktop keep --display :998",
        "desktop screenshot picture.png",
        "desktop serve",
        "activity collect",
        "activity record --data record --for 1",
        "activity start --data record",
        "activity policy --data record allow",
        "activity doctor --data record",
        "conformance termwright -- true",
        "doctor",
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_brings_it(tmp_path: Path, command: str) -> None:
    answer = run(tmp_path, *command.split())
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    assert "pip install 'triptych[" in answer.stdout + answer.stderr
    assert not (tmp_path / "record").exists()


@pytest.mark.parametrize(
    "command",
    [
        "version",
        "schema termwright Hello",
        "machines run",
        "activity status --data record",
        "activity today --data record",
        "activity export --data record --format html",
        "activity policy --data record",
        "activity policy --data record deny org.example.Form.desktop",
        "activity stop --data record",
    ],
)
def test_what_needs_no_extra_works(tmp_path: Path, command: str) -> None:
    answer = run(tmp_path, *command.split())
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout
