"""A real sway without a screen: its focused view, a terminal without AT-SPI, a GTK program with it, and the idle time of a real seat."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from activity_kit import FORM, adapter_entry
from gtk_kit import PYTHON, GtkForm
from linux_kit import Collector, collector, eventually
from triptych.adapters.display import PrivateDisplay

pytestmark = [pytest.mark.display, pytest.mark.slow]

NEEDED = {"sway": "sway", "foot": "foot", "wtype": "wtype", "setpriv": "util-linux", PYTHON: "python3-gi gir1.2-gtk-3.0"}
FOOT = "foot.desktop"
NOBODY = 65534


class Sway:
    """The compositor. `env` is the environment of programs on it, with the private bus of a display that nobody else uses."""

    def __init__(self, display: PrivateDisplay, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o777)
        self.config = folder / "config"
        self.config.write_text("output HEADLESS-1 resolution 1280x800\nxwayland disable\n")
        share = folder / "share" / "applications"
        share.mkdir(parents=True)
        (share / FORM).write_text("[Desktop Entry]\nType=Application\nExec=python3 gtk_form.py\nStartupWMClass=gtk_form.py\n")
        (share / FOOT).write_text("[Desktop Entry]\nType=Application\nExec=foot\n")
        self.table = folder / "adapters.json"
        self.table.write_text(json.dumps({"adapters": [adapter_entry("form", FORM), adapter_entry("foot", FOOT)]}))
        own = {"XDG_RUNTIME_DIR": str(folder), "HOME": str(folder), "XDG_CURRENT_DESKTOP": "sway"}
        headless = {"WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman"}
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        env = {**own, **headless, "PATH": os.environ["PATH"]}
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*as_nobody, "sway", "-c", str(self.config)], env=env, stdout=log, stderr=log)
        session = {name: value for name, value in display.env.items() if name not in ("DISPLAY", "XAUTHORITY", "GDK_BACKEND")}
        self.env = {**session, "HOME": str(folder), "XDG_CURRENT_DESKTOP": "sway", "XDG_SESSION_TYPE": "wayland", "GDK_BACKEND": "wayland"}
        self.env |= {"XDG_DATA_DIRS": f"{folder / 'share'}:/usr/share", "XDG_DATA_HOME": str(folder / "home")}

    def wait(self) -> None:
        """Return when it serves."""
        self.env["SWAYSOCK"] = str(eventually(lambda: next(self.folder.glob("sway-ipc.*.sock"), None)))
        display = eventually(lambda: next((path for path in self.folder.glob("wayland-?") if path.is_socket()), None))
        self.env["WAYLAND_DISPLAY"] = str(display)  # an absolute name: the runtime directory is the private bus's

    def say(self, *words: str) -> None:
        subprocess.run(["swaymsg", "-s", self.env["SWAYSOCK"], *words], check=True, capture_output=True)


@pytest.fixture
def sway(private_display: PrivateDisplay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sway]:
    for name, package in NEEDED.items():
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed: apt install {package}")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="triptych-sway-") as folder:
        made = Sway(private_display, Path(folder))
        try:
            made.wait()
            yield made
        finally:
            made.process.terminate()
            made.process.wait()


@contextmanager
def on(sway: Sway, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env=sway.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as made:
        try:
            yield made
        finally:
            made.terminate()


@contextmanager
def running(sway: Sway, *allowed: str) -> Iterator[Collector]:
    with collector(sway.env, "--enable-accessibility", "--adapter-table", str(sway.table)) as made:
        made.wait_for("state", state="running")
        notes = made.wait_for("diagnostic", code="sources")["message"]
        assert notes.startswith("foreground: sway IPC; idle: Wayland idle notification;"), notes
        made.acknowledged(1, *allowed)
        yield made
        assert made.end() == 0


def test_the_focused_view_is_followed_between_a_gtk_program_and_a_terminal(sway: Sway, gtk_program: Callable[..., GtkForm]) -> None:
    with running(sway, FORM, FOOT) as made, on(sway, "wtype", "-s", "60000", "-k", "Shift_L"):
        with on(sway, PYTHON, str(Path(__file__).parents[1] / "programs" / "gtk_form.py"), "/dev/null", "--title", "Under sway") as form:
            seen = made.observes(title="Under sway", role="text")
            assert (seen["app"]["bundleId"], seen["app"]["pid"]) == (FORM, form.pid)
            assert seen["activity"]["idleSeconds"] >= 0
            with on(sway, "foot", "--title", "secret cwd", "sleep", "60") as foot:
                terminal = made.observes(id=FOOT)
                assert terminal["app"]["pid"] == foot.pid
                assert terminal["privacy"]["reason"] == "focused-element-unqueryable"
            made.observes(title="Under sway", pid=form.pid)
        assert not any("secret cwd" in json.dumps(line) for line in made.lines)


def test_an_empty_workspace_is_nobody_and_coming_back_is_told_anew(sway: Sway, gtk_program: Callable[..., GtkForm]) -> None:
    with running(sway, FOOT) as made, on(sway, "foot", "sleep", "60"):
        made.observes(id=FOOT)
        sway.say("workspace", "2")
        made.says_nothing(0.5)
        sway.say("workspace", "1")
        made.observes(id=FOOT)


def test_a_sway_that_ends_leaves_the_foreground_to_at_spi(sway: Sway) -> None:
    with running(sway, FOOT) as made:
        os.kill(sway.process.pid, signal.SIGKILL)
        notes = made.wait_for("diagnostic", code="sources")["message"]
        assert notes.startswith("foreground: AT-SPI window events")
        assert "idle: none" in notes
