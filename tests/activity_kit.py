"""A private desktop with a window manager and GTK programs that have ids of their own, and a scripted collector, for activity tests."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gtk_kit import GtkForm
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay

FORM = "org.example.Form.desktop"
KEEPER = (
    "import sys; from triptych.adapters.desklink.keeper import run_keeper; sys.exit(run_keeper(sys.argv[1], 'natural', sys.stdout.buffer))"
)


def adapter_entry(identifier: str, bundle_id: str, surface: str = "window") -> dict[str, object]:
    return {
        "id": identifier,
        "surfaceKind": surface,
        "suppressesWindowTitle": False,
        "documentResourceKind": "file",
        "focusedElementPolicy": "require",
        "ids": {"darwin": [], "win32": [], "linux": [bundle_id]},
    }


class Desk:
    """The desktop: `env` is what a collector looks at, `table` the file with the adapter entry of the form."""

    def __init__(self, display: PrivateDisplay, folder: Path, gtk_program: Callable[..., GtkForm]) -> None:
        self.display = display
        self.data = folder / "history"
        self.wire = folder / "wire.jsonl"
        self.table = folder / "adapters.json"
        self.table.write_text(json.dumps({"adapters": [adapter_entry("form", FORM)]}))
        applications = folder / "share" / "applications"
        applications.mkdir(parents=True)
        (applications / FORM).write_text("[Desktop Entry]\nType=Application\nName=Form\nExec=python3 gtk_form.py\nStartupWMClass=GtkForm\n")
        home = folder / "home"
        home.mkdir()
        self.env = {**display.env, "XDG_DATA_DIRS": f"{folder / 'share'}:/usr/share", "XDG_DATA_HOME": str(home), "HOME": str(home)}
        self._program = gtk_program
        self.input = X11Input(display.name)

    def form(self, title: str) -> GtkForm:
        """A form in front, its entry focused."""
        form = self._program(self.display, title=title, env=self.env)
        form.wait_for("focus", name="Name")
        return form

    def click(self, form: GtkForm, widget: str) -> None:
        """A real click into a widget of the form."""
        self.input.move(*form.centre(widget))
        self.input.button(1, True)
        self.input.button(1, False)
        self.input.sync()


@contextmanager
def desk(display: PrivateDisplay, folder: Path, gtk_program: Callable[..., GtkForm]) -> Iterator[Desk]:
    """A desktop whose windows are managed: without a window manager no program is told that it is active."""
    with subprocess.Popen([sys.executable, "-c", KEEPER, display.name], stdout=subprocess.PIPE, env=display.env) as keeper:
        try:
            assert keeper.stdout is not None
            assert select.select([keeper.stdout], [], [], 10.0)[0] and os.read(keeper.stdout.fileno(), 65536), "the keeper did not report"
            made = Desk(display, folder, gtk_program)
            try:
                yield made
            finally:
                made.input.close()
        finally:
            keeper.terminate()


def every_byte(folder: Path) -> bytes:
    """All that lies in the files of a folder, the write-ahead log included."""
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


SCRIPTED = """
import json, os, signal, sys, time
scripts, runs = json.loads(sys.argv[1]), sys.argv[2]
with open(runs, "a+") as file:
    file.seek(0); number = len(file.read()); file.write("x")
revision = 0
def command():
    global revision
    line = sys.stdin.readline()
    said = json.loads(line) if line else {"type": "end"}
    revision = said.get("revision", revision)
    return said["type"]
def say(text):
    sys.stdout.write(text + "\\n"); sys.stdout.flush()
for verb, *rest in scripts[min(number, len(scripts) - 1)]:
    if verb == "say": say(json.dumps(rest[0]))
    elif verb == "now": say(json.dumps({**rest[0], "observedAtMs": time.time_ns() // 1_000_000}))
    elif verb == "raw": say(rest[0])
    elif verb == "wait":
        while not os.path.exists(rest[0]): time.sleep(0.01)
    elif verb == "await":
        while (seen := command()) != rest[0]:
            if seen in ("end", "shutdown"): sys.exit(0)
    elif verb == "ack": say(json.dumps({"v": 1, "type": "configured", "revision": revision + (rest[0] if rest else 0)}))
    elif verb == "stderr": sys.stderr.write(rest[0]); sys.stderr.flush()
    elif verb == "close": os.close(rest[0])
    elif verb == "ignore": signal.signal(rest[0], signal.SIG_IGN)
    elif verb == "exit": sys.stdout.flush(); os._exit(rest[0])
while command() not in ("end", "shutdown"): pass
"""
"""A collector that does what its script says and then waits to be shut down: one script a run, the last one for all others."""


def scripted(folder: Path, *scripts: list[tuple[object, ...]]) -> list[str]:
    return [sys.executable, "-c", SCRIPTED, json.dumps(scripts), str(folder / "runs")]
