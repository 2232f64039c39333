"""docs/agent.md: its five minutes are typed as they stand, on a display with nothing but them, and everything that it names exists."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from desktop_agent_kit import Agent
from triptych.adapters.display import PrivateDisplay
from triptych.engine import desktop, desktop_sync
from triptych.engine.desktop_agent import steps
from triptych.engine.desktop_agent.commands import COMMANDS
from triptych.engine.desktop_agent.refusals import SUGGESTIONS
from triptych.engine.desktop_command import desktop_command
from x11_kit import Client

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "agent.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
needs_xterm = pytest.mark.skipif(shutil.which("xterm") is None, reason="xterm is not installed: apt install xterm")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def shape(text: str) -> str:
    """What of an answer is the same on every display."""
    return re.sub(r"\s+", " ", re.sub(r"\d+", "0", re.sub(r"/\S+/", "", text))).strip()


@pytest.fixture
def agent(bare_display: PrivateDisplay) -> Iterator[Agent]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with Agent(bare_display, PATH=path, LANG="C.UTF-8", PYTHONWARNINGS="error") as agent:
        yield agent


@pytest.mark.slow
@pytest.mark.display
@needs_xterm
def test_the_five_minutes_work_as_typed_and_cost_what_the_page_says(agent: Agent, tmp_path: Path) -> None:
    printed, last = "", ""
    costs: dict[str, int] = {}
    for kind, content in BLOCK.findall(section("Five minutes")):
        if kind == "sh":
            # Not a pipe: the program that stays in the background would keep it open.
            with (tmp_path / "printed").open("w+") as out:
                done = subprocess.run(
                    ["sh", "-e", "-c", content], cwd=tmp_path, env=agent.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=60
                )
            printed, last = (tmp_path / "printed").read_text(encoding="utf-8"), content
            assert done.returncode == 0, content + printed
            if (words := content.split())[:2] == ["triptych", "desktop"]:
                costs[words[2]] = len(content) - 1 + len(printed)
        else:
            assert kind == "text", kind
            for line in filter(None, map(shape, content.splitlines())):
                assert line in shape(printed), f"{line!r} is not in what {last!r} printed:\n{printed}"
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "Call the museum\nGrüße, 日本\n"
    for picture in ("typed.png", "all.png"):
        assert (tmp_path / picture).stat().st_mode & 0o777 == 0o600
    told = dict(re.findall(r"^\| `(type|diff) .*?\| (\d+) \|", section("For an LLM agent"), re.MULTILINE)) | dict(
        re.findall(r"^\| `(diff)`, command.*?\| (\d+) \|", section("For an LLM agent"), re.MULTILINE)
    )
    assert set(told) == {"type", "diff"}
    for name, characters in told.items():
        assert abs(costs[name] - int(characters)) <= 10, (name, costs[name], characters)


@pytest.mark.slow
@pytest.mark.display
def test_the_python_program_works_as_typed(agent: Agent, bare_display: PrivateDisplay, tmp_path: Path) -> None:
    [program] = [content for kind, content in BLOCK.findall(PAGE) if kind == "python"]
    (tmp_path / "typed.py").write_text(program, encoding="utf-8")
    with Client(bare_display) as client:
        running = subprocess.Popen([sys.executable, tmp_path / "typed.py"], env=agent.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # A program that answers clicks, in short: something is painted for as long as it waits.
        colour = 0
        while running.poll() is None:
            colour = (colour + 0x010203) & 0xFFFFFF
            client.fill(colour, (0, 0, 32, 32))
            try:
                running.wait(0.4)
            except subprocess.TimeoutExpired:
                continue
        out, said = running.communicate()
    assert (running.returncode, said) == (0, b"")
    assert b"((0, 0, 32, 32),) []" in out
    assert b"Status(capture='running'" in out


def test_every_python_block_is_python() -> None:
    for kind, content in BLOCK.findall(PAGE):
        if kind == "python":
            ast.parse(content)


def test_everything_that_the_page_names_exists() -> None:
    context = click.Context(desktop_command)
    for line in re.findall(r"triptych desktop ([^\n`|]*)", PAGE):
        word = line.split()[0] if line.split() else ""
        if word.isidentifier():
            assert desktop_command.get_command(context, word) is not None, line
    for command in COMMANDS:
        assert command.hidden or f"`{command.name}" in PAGE, command.name
    options = {option for command in COMMANDS for parameter in command.params for option in parameter.opts}
    options |= {"--help"}
    assert set(re.findall(r"`[a-z ]*(--[a-z-]+)", PAGE)) <= options
    for name in re.findall(r"session\.(\w+)", section("From Python")):
        for twin in (desktop.Session, desktop_sync.Session):
            assert hasattr(twin, name), name
    codes = {code for row in re.findall(r"^\| (`[^|]*`) \|", section("Errors"), re.MULTILINE) for code in re.findall(r"`([a-z-]+)`", row)}
    assert set(SUGGESTIONS) - {"session"} <= codes | {"text-too-large"}
    fields = section("The session").split("The fields of a step")[1]
    for kind in steps.Single.__args__:
        named = re.search(rf"`{kind.__struct_config__.tag}`([^;]*)", fields)
        assert named is not None, kind
        own = set(kind.__struct_encode_fields__) - ({"wait", "timeout"} if issubclass(kind, steps.Input) else set())
        assert own <= set(re.findall(r"`(\w+)`", named[1])), kind
    for target in re.findall(r"\]\(([^)#:]+\.md)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
