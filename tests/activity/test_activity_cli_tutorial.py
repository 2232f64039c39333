"""docs/activity.md: its five minutes are typed as they stand, on a desktop with one real program, and everything that it names exists."""

from __future__ import annotations

import calendar
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from activity_kit import desk
from gtk_kit import GtkForm
from triptych.adapters.display import PrivateDisplay
from triptych.engine.activity_cli.group import COMMANDS, activity_command

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "activity.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EDITOR = "org.gnome.TextEditor.desktop"
TITLE = "Letter to the museum"


def shape(text: str) -> str:
    """What of an output is the same for everybody: no numbers, days or months, lengths of bars, folders, nor what was refused."""
    text = re.sub(r"/\S+", "/…", text)
    text = re.sub(r"\b(observation|episode)s\b", r"\1", re.sub(r"(?m)^(refused since the host started): .*", r"\1", text))
    text = re.sub(r"[█▌▐]+", "█", re.sub(r"[─┬]+", "─", text))
    text = re.sub("|".join(name for name in (*calendar.day_name, *calendar.month_name) if name), "Someday", text)
    return re.sub(r"\s+", " ", re.sub(r"\d+", "0", text)).strip()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.slow
@pytest.mark.display
def test_the_five_minutes_work_as_typed(private_display: PrivateDisplay, tmp_path: Path, gtk_program: Callable[..., GtkForm]) -> None:
    with desk(private_display, tmp_path, gtk_program) as desktop:
        entry = "[Desktop Entry]\nType=Application\nName=Text Editor\nExec=gnome-text-editor\nStartupWMClass=GtkForm\n"
        (tmp_path / "share" / "applications" / EDITOR).write_text(entry)
        (tmp_path / "share" / "applications" / "org.example.Form.desktop").unlink()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = {**desktop.env, "PATH": path, "LANG": "C.UTF-8", "COLUMNS": "100", "PYTHONWARNINGS": "error"}
        data = Path(env["XDG_DATA_HOME"]) / "triptych" / "activity"
        opened, typed, printed, end = False, 0, "", 0
        text = section("Five minutes")
        try:
            for block in BLOCK.finditer(text):
                kind, content = block.groups()
                before, end = text[end : block.start()], block.end()
                if "Open Text Editor" in before and not opened:
                    opened = bool(desktop.form(TITLE))
                if kind == "sh":
                    if "activity today" in content:
                        wait_until_stored(data, env)
                    command = ["sh", "-e", "-c", content]
                    answer = subprocess.run(
                        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
                    )
                    assert answer.returncode == 0, content + answer.stdout + answer.stderr
                    printed, typed = shape(answer.stdout + answer.stderr), typed + 1
                else:
                    assert kind == "text", kind
                    for line in filter(None, map(shape, content.splitlines())):
                        assert line in printed, f"{line!r} is not in what was printed:\n{printed}"
        finally:
            subprocess.run([f"{Path(sys.executable).parent}/triptych", "activity", "stop"], env=env, timeout=60, check=False)
        assert opened and typed >= 9
        assert TITLE in (tmp_path / "week.html").read_text()
        assert not (data / "control.sock").exists()


def wait_until_stored(data: Path, env: dict[str, str]) -> None:
    """Work for a moment, as the page says."""
    deadline = time.monotonic() + 15
    command = [f"{Path(sys.executable).parent}/triptych", "activity", "show", "--data", str(data)]
    while not subprocess.run(command, env=env, capture_output=True, timeout=60, check=False).stdout:
        assert time.monotonic() < deadline, "nothing was stored"


def test_everything_that_the_page_names_exists() -> None:
    context = click.Context(activity_command)
    for line in re.findall(r"triptych activity ([^\n`|]*)", PAGE):
        words = line.split(" #")[0].replace("'", "").split()
        group: click.Command = activity_command
        while words and isinstance(group, click.Group):
            if (found := group.get_command(context, words[0])) is None:
                assert group.name == "policy" and words[0].startswith("-"), line
                break
            group, words = found, words[1:]
        options = {option for parameter in group.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-") and word not in ("--", "-f")} <= options, line
    for command in COMMANDS:
        assert f"`{command}" in PAGE or f"triptych activity {command}" in PAGE, command
    for target in re.findall(r"\]\(([^)#:]+\.md)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
