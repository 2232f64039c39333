"""`triptych demo`, as `make run` plays it: three real panels, and nothing left behind whenever it is interrupted."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from triptych.engine.demo import show, stage

pytestmark = [pytest.mark.slow, pytest.mark.display]

SCRIPT = Path(sys.executable).with_name("triptych")


def start(out: Path, temporary: Path) -> subprocess.Popen[str]:
    """The demo, with every temporary file below `temporary`, which also marks its processes."""
    temporary.mkdir()
    env = {**os.environ, "TMPDIR": str(temporary), "COLUMNS": "120"}
    return subprocess.Popen(
        [SCRIPT, "demo", "--out", out], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def marked(temporary: Path, command_part: bytes = b"") -> list[int]:
    """The processes that have `temporary` in their environment, and `command_part` in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment, command = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(temporary).encode() in environment and command_part in command:
                found.append(int(entry.name))
    return found


def nothing_is_left(temporary: Path) -> None:
    deadline = time.monotonic() + 5
    while marked(temporary) and time.monotonic() < deadline:
        time.sleep(0.02)  # a killed process is gone only when its parent has reaped it
    assert marked(temporary) == []
    assert sorted(temporary.rglob("*")) == []


def test_it_shows_three_real_panels(tmp_path: Path) -> None:
    out = tmp_path / "out"
    demo = start(out, tmp_path / "tmp")
    stdout, stderr = demo.communicate(timeout=120)
    assert demo.returncode == 0, stderr
    assert "Traceback" not in stderr

    for part in ("desktop", 'button "Approve" #approve', "[focused]", "Field notes", "1 x secure-field", "history.sqlite"):
        assert part in stdout

    with Image.open(out / "desktop.png") as picture:
        assert picture.size == (show.WIDTH, show.HEIGHT)
        third_line, fourth_line = (picture.convert("L").crop((45, y, 600, y + 25)) for y in (263, 302))
    assert min(third_line.tobytes()) < 80, "the typed line is on the picture"
    assert min(fourth_line.tobytes()) > 200, "and nothing below it"

    folder = out / "activity"
    with closing(sqlite3.connect(folder / "history.sqlite")) as database:
        rows = database.execute("SELECT bundle_id, window_title FROM observations").fetchall()
    assert rows
    assert set(rows) == {(stage.DESKTOP_ID, "Field notes")}
    stored = b"".join(file.read_bytes() for file in folder.iterdir())
    for private in (show.SECRET, show.LINE, "password text", "Passphrase"):
        assert private.encode() not in stored
    nothing_is_left(tmp_path / "tmp")


@pytest.mark.parametrize("moment", ["Xvfb", "dbus-daemon", "field_notes.py", "collect", "release_board.py"])
def test_ctrl_c_at_any_moment_leaves_nothing(tmp_path: Path, moment: str) -> None:
    temporary = tmp_path / "tmp"
    demo = start(tmp_path / "out", temporary)
    deadline = time.monotonic() + 60
    while not marked(temporary, moment.encode()):
        assert demo.poll() is None, demo.communicate()
        assert time.monotonic() < deadline, f"{moment} never started"
        time.sleep(0.002)
    os.kill(demo.pid, signal.SIGINT)
    _, stderr = demo.communicate(timeout=30)
    assert demo.returncode == 1
    assert stderr.strip().splitlines()[-1:] == ["triptych: interrupted"]
    assert "Traceback" not in stderr
    nothing_is_left(temporary)
