"""`triptych demo`, as `make run` plays it: three real panels, and nothing left behind whenever it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from triptych.engine import activity
from triptych.engine.demo import show, stage

pytestmark = [pytest.mark.slow, pytest.mark.display]

SCRIPT = Path(sys.executable).with_name("triptych")


def start(out: Path, temporary: Path, *options: str) -> subprocess.Popen[str]:
    """The demo, with every temporary file below `temporary`, which also marks its processes."""
    temporary.mkdir()
    env = {**os.environ, "TMPDIR": str(temporary), "COLUMNS": "120", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [SCRIPT, "demo", "--out", out, *options], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path leaves room for the names of sockets."""
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        yield Path(folder)


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


def test_it_shows_three_real_panels(short: Path) -> None:
    out = short / "out"
    demo = start(out, short / "tmp")
    stdout, stderr = demo.communicate(timeout=120)
    assert demo.returncode == 0, stderr
    assert "Traceback" not in stderr

    for part in (
        "desktop",
        'button "Approve" #approve',
        "[focused]",
        "Field notes",
        "1 × secure-field",
        "under a minute  Field Notes",
        "the focus moved from “Tests are green” to “A note",
        "history.sqlite",
    ):
        assert part in stdout

    with Image.open(out / "desktop.png") as picture:
        assert picture.size == (show.WIDTH, show.HEIGHT)
        typed, below = (picture.convert("L").crop((110, y, 600, y + 26)) for y in (398, 451))
    assert max(typed.tobytes()) > 200, "the typed line is on the picture"
    assert max(below.tobytes()) < 80, "and nothing below it"

    folder = out / "activity"
    rows = activity.observations(folder)
    assert rows
    assert {(row.bundle_id, row.title) for row in rows} == {(stage.DESKTOP_ID, "Field notes")}
    stored = b"".join(file.read_bytes() for file in folder.iterdir())
    for private in (show.SECRET, show.LINE, "password text", "Passphrase"):
        assert private.encode() not in stored
    nothing_is_left(short / "tmp")


MOMENTS = ("Xvfb", "dbus-daemon", "field_notes.py", "collect", "release_board.py")


@pytest.mark.parametrize(
    ("moment", "signals"),
    [
        *((moment, [signal.SIGINT]) for moment in MOMENTS),
        ("release_board.py", [signal.SIGTERM]),
        ("release_board.py", [signal.SIGHUP]),
        ("collect", [signal.SIGQUIT]),
        ("release_board.py", [signal.SIGINT, signal.SIGINT]),
        ("collect", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(signal.Signals(number).name for number in value),
)
def test_ended_at_any_moment_by_any_signal_it_leaves_nothing(short: Path, moment: str, signals: list[signal.Signals]) -> None:
    temporary = short / "tmp"
    demo = start(short / "out", temporary)
    deadline = time.monotonic() + 60
    while not marked(temporary, moment.encode()):
        assert demo.poll() is None, demo.communicate()
        assert time.monotonic() < deadline, f"{moment} never started"
        time.sleep(0.002)
    for number in signals:
        os.kill(demo.pid, number)
    _, stderr = demo.communicate(timeout=60)
    assert demo.returncode == 1
    assert stderr.strip().splitlines()[-1:] == ["triptych: interrupted"]
    assert "Traceback" not in stderr
    nothing_is_left(temporary)


def test_staying_ends_well_with_ctrl_c(short: Path) -> None:
    out, temporary = short / "out", short / "tmp"
    demo = start(out, temporary, "--keep")
    assert demo.stdout is not None
    url = ""
    for line in demo.stdout:
        if "/?token=" in line:
            url = line.strip()
        if "Everything stays until Ctrl-C" in line:
            break
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert b"<title>Desktop" in answer.read(), "the desktop is live in a browser"
    os.kill(demo.pid, signal.SIGINT)
    _, stderr = demo.communicate(timeout=60)
    assert (demo.returncode, stderr) == (0, "")
    nothing_is_left(temporary)
