"""docs/terminal.md: its five minutes are typed as they stand, and everything that it names exists."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from triptych.adapters.termwright.policy import QUESTIONS
from triptych.adapters.termwright.recording import Recording
from triptych.engine import terminal, terminal_sync
from triptych.engine.terminal_command import terminal_command

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"Save this as `([\w.]+)`")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_five_minutes_work_as_typed(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TMPDIR": str(tmp_path / "tmp"), "PYTHONWARNINGS": "error"}
    if not any(entry.value == "triptych.engine.pytest_plugin" for entry in entry_points(group="pytest11")):
        environment["PYTEST_ADDOPTS"] = "-p triptych.engine.pytest_plugin"  # a checkout that was installed before it had the plugin
    written, typed, printed, end = [], 0, "", 0
    text = section("Five minutes")
    for block in BLOCK.finditer(text):
        kind, content = block.groups()
        before, end = text[end : block.start()], block.end()
        if kind == "python":
            (name,) = SAVED.findall(before)
            (tmp_path / name).write_text(content)
            written.append(name)
        elif kind == "sh":
            command = ["sh", "-e", "-c", content]
            answer = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL
            )
            assert answer.returncode == 0, content + answer.stdout + answer.stderr
            printed, typed = answer.stdout, typed + 1
        else:
            assert kind == "text"
            position = 0
            for line in content.splitlines():
                position = printed.find(line, position)
                assert position >= 0, f"{line!r} is not in what was printed, or not in this place:\n{printed}"
                position += len(line)
    assert written == ["release.py", "approve.py", "test_release.py"]
    assert typed == 9
    assert (tmp_path / "screen.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "approved.png").read_bytes().startswith(b"\x89PNG")
    (recorded,) = (tmp_path / "record").iterdir()
    assert Recording.read(recorded).revisions
    assert '"verdict": "passed"' in (tmp_path / "report.json").read_text()
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("block", [content for kind, content in BLOCK.findall(PAGE) if kind == "python"])
def test_every_python_block_is_python(block: str) -> None:
    compile(block, "terminal.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)


def test_everything_that_the_page_names_exists() -> None:
    for name in re.findall(r"`app\.(\w+)", PAGE):
        for twin in (terminal.Terminal, terminal_sync.Terminal):
            assert hasattr(twin, name), name
    waits = re.findall(r"^\| `(\w+)\(", section("Running a program").split("| wait |")[1], re.MULTILINE)
    assert len(waits) == 6
    for name in waits:
        assert hasattr(terminal.Terminal, name), name
    for title in ("Finding", "Acting"):
        for name in re.findall(r"`\.?(\w+)\(", section(title)):
            assert hasattr(terminal.Locator, name) or name in ("get_by_", "locator"), name
    for name in re.findall(r"`(to_\w+)`", section("Expecting")):
        assert hasattr(terminal.Expectation, name), name
    granted = section("What the terminal grants a program")
    assert set(re.findall(r"^\| `(\w+)` \|", granted, re.MULTILINE)) == set(terminal.Policy.__dataclass_fields__)
    assert {name for name in re.findall(r"`(\w+)`", granted) if name in QUESTIONS} == QUESTIONS
    for command, rest in re.findall(r"triptych terminal (\w+)([^\n`]*)", PAGE):
        options = {option for parameter in terminal_command.commands[command].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z][a-z-]*", rest.split(" -- ")[0])) <= options, (command, rest)
    for target in re.findall(r"\]\(([^)#:]+\.md)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
