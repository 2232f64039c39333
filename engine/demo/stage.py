"""Sets the stage of the demonstration: a private display with a window manager, and the GTK program with all that makes it known."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...adapters.display import STOP_SECONDS, PrivateDisplay
from ...adapters.process_end import end
from ...errors import Unavailable
from ..child import triptych_command

HERE = Path(__file__).parent
DESKTOP_ID = "org.triptych.FieldNotes.desktop"
SYSTEM_PYTHON = "/usr/bin/python3"

DESKTOP_FILE = f"""[Desktop Entry]
Type=Application
Name=Field notes
Exec={SYSTEM_PYTHON} {HERE / "field_notes.py"}
StartupWMClass=org.triptych.FieldNotes
"""

#: How the host and the collector know the program: a window whose title may be kept, and whose focused element must be readable.
ADAPTERS = {
    "adapters": [
        {
            "id": "field-notes",
            "surfaceKind": "window",
            "suppressesWindowTitle": False,
            "documentResourceKind": "file",
            "focusedElementPolicy": "require",
            "ids": {"darwin": [], "win32": [], "linux": [DESKTOP_ID]},
        }
    ]
}


@dataclass(frozen=True)
class Stage:
    """What stands: the display's name, the environment for programs on it, and the adapter table that knows the GTK program."""

    display: str
    env: dict[str, str]
    adapter_table: Path


@asynccontextmanager
async def private_stage(width: int, height: int) -> AsyncIterator[Stage]:
    """A display of that size with our window manager, and the program on it. Everything ends with the block. Raises Unavailable."""
    gtk_python = _python_with_gtk()
    with tempfile.TemporaryDirectory(prefix="triptych-demo-") as temporary, PrivateDisplay(width, height) as display:
        folder = Path(temporary)
        applications = folder / "share" / "applications"
        applications.mkdir(parents=True)
        (applications / DESKTOP_ID).write_text(DESKTOP_FILE)
        (folder / "adapters.json").write_text(json.dumps(ADAPTERS))
        env = {**display.env, "XDG_DATA_DIRS": f"{folder / 'share'}:/usr/local/share:/usr/share", "GSETTINGS_BACKEND": "memory"}
        with _x_authority(env), _window_manager(display.name, env) as keeper, _program([gtk_python, str(HERE / "field_notes.py")], env):
            await _window_reported(keeper, "Field notes")
            yield Stage(display.name, env, folder / "adapters.json")


def _python_with_gtk() -> str:
    """A Python that has PyGObject and GTK 3."""
    check = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk"
    for python in (SYSTEM_PYTHON, sys.executable):
        if (
            shutil.which(python)
            and subprocess.run([python, "-c", check], capture_output=True, start_new_session=True, check=False).returncode == 0
        ):
            return python
    raise Unavailable("there is no Python with GTK 3 to run the program that is shown", "apt-get install python3-gi gir1.2-gtk-3.0")


@contextmanager
def _x_authority(env: dict[str, str]) -> Iterator[None]:
    """Let this process open the display too: libxcb reads the cookie's place from the environment."""
    before = os.environ.get("XAUTHORITY")
    os.environ["XAUTHORITY"] = env["XAUTHORITY"]
    try:
        yield
    finally:
        if before is None:
            del os.environ["XAUTHORITY"]
        else:
            os.environ["XAUTHORITY"] = before


@contextmanager
def _program(argv: list[str], env: dict[str, str], stdout: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a session of its own, ended by its process id."""
    silent = subprocess.DEVNULL
    child = subprocess.Popen(argv, env=env, stdin=silent, stdout=stdout, stderr=silent, start_new_session=True)
    try:
        yield child
    finally:
        end(child, STOP_SECONDS)
        if child.stdout:
            child.stdout.close()


@contextmanager
def _window_manager(display: str, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """`triptych desktop keep` on the display, reporting its windows."""
    command = triptych_command("desktop", "keep", "--display", display, "--dialogs", "natural")
    with _program(command, env, stdout=subprocess.PIPE) as keeper:
        yield keeper


async def _window_reported(keeper: subprocess.Popen[bytes], title: str) -> None:
    """Wait until the window manager reports a window with that title. Raises Unavailable."""
    try:
        # In a thread, which ends with the pipe: a keeper whose reader has gone ends itself, so the pipe stays open.
        found = await asyncio.wait_for(asyncio.to_thread(_read_until, keeper, title), 20)
    except TimeoutError:
        found = False
    if not found:
        raise Unavailable(f"no window called {title!r} came", "look at what `triptych doctor` says of the desktop")


def _read_until(keeper: subprocess.Popen[bytes], title: str) -> bool:
    assert keeper.stdout is not None
    return any(window["title"] == title for line in keeper.stdout for window in json.loads(line).get("windows", ()))
