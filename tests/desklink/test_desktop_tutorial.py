"""docs/desktop.md: its five minutes are typed as they stand, and what it and the protocol's page name exists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.engine.desklink_command import USAGE
from triptych.engine.desktop_command import desktop_command
from triptych.generated.desklink import vocabulary
from x11_kit import eventually

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "desktop.md").read_text(encoding="utf-8")
PROTOCOL = (ROOT / "docs" / "protocols" / "desklink.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"Save this as `([\w.]+)`")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def free_display() -> int:
    """A number that nobody has, outside those of the private displays."""
    return next(number for number in range(120, 170) if not list(Path("/tmp").glob(f".X{number}-lock")))


@pytest.mark.slow
@pytest.mark.display
@pytest.mark.skipif(not (shutil.which("Xvfb") and shutil.which("xterm")), reason="Xvfb or xterm is not installed: apt install xvfb xterm")
def test_the_five_minutes_work_as_typed(tmp_path: Path) -> None:
    number = free_display()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "TMPDIR": str(tmp_path), "PYTHONWARNINGS": "error", "LC_ALL": "C.UTF-8"}
    written, typed, printed, end = [], 0, "", 0
    text = section("Five minutes").replace(":120", f":{number}").replace("X120", f"X{number}")
    lock = Path(f"/tmp/.X{number}-lock")
    try:
        for block in BLOCK.finditer(text):
            kind, content = block.groups()
            before, end = text[end : block.start()], block.end()
            if kind == "python":
                (name,) = SAVED.findall(before)
                (tmp_path / name).write_text(content)
                written.append(name)
            elif kind == "sh":
                command = ["sh", "-e", "-c", content]
                # A file, not a pipe: what goes on in the background would hold it open.
                with (tmp_path / "printed").open("w") as out:
                    subprocess.run(command, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, stdout=out, timeout=60, check=True)
                printed, typed = (tmp_path / "printed").read_text(), typed + 1
            else:
                assert kind == "text"
                position = 0
                for line in content.splitlines():
                    position = printed.find(line, position)
                    assert position >= 0, f"{line!r} is not in what was printed, or not in this place:\n{printed}"
                    position += len(line)
        eventually(lambda: not lock.exists(), "the display has ended")
    finally:
        if lock.exists():
            os.kill(int(lock.read_text()), 15)
    assert (written, typed) == (["look.py", "drive.py"], 6)
    assert (tmp_path / "after.png").read_bytes().startswith(b"\x89PNG")
    for log in ("keeper.log", "xvfb.log"):
        assert "Traceback" not in (tmp_path / log).read_text()


def test_every_command_that_the_page_names_exists() -> None:
    for command, rest in re.findall(r"triptych desktop ([a-z]\w+)([^\n`]*)", PAGE):
        options = {option for parameter in desktop_command.commands[command].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z][a-z-]*", rest.split("  ")[0])) <= options, (command, rest)
    for command in re.findall(r"triptych-desklink ([a-z][\w-]+)", PAGE):
        assert command in USAGE, command
    for target in re.findall(r"\]\(([^)#:]+\.md)", PAGE):
        assert (ROOT / "docs" / target).exists(), target


def first_cells(title: str) -> set[str]:
    """The words in the first column of the tables under a heading of the protocol's page."""
    text = PROTOCOL.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    return {word for line in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for word in re.findall(r"`([\w.-]+)`", line)}


def test_the_protocol_page_has_every_word_of_the_vocabulary() -> None:
    assert first_cells("Requests") >= set(vocabulary.METHOD)
    assert first_cells("Refusals") == set(vocabulary.ERROR_CODE)
    assert first_cells("Events") == set(vocabulary.EVENT_NAME)
    assert first_cells("Control channel") == {*vocabulary.CLIENT_CONTROL_KIND, *vocabulary.ENGINE_CONTROL_KIND}
    for code in vocabulary.CONTROL_ERROR_CODE:
        assert f"`{code}`" in PROTOCOL.split("## Control channel\n", 1)[1]
    for name in vocabulary.KEYS["MetricsResult"]:
        assert f"`{name}`" in PROTOCOL
    for name in vocabulary.KEYS["OpenParams"]:
        assert f"`{name}`" in PROTOCOL
