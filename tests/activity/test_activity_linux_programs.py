"""Real programs on a private display: GTK 4, Qt 5, a terminal that is not on the accessibility bus, and a browser, which tells nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from activity_kit import FORM, Desk, adapter_entry, desk
from gtk_kit import PYTHON, GtkForm
from linux_kit import Collector, collector, eventually, unhurried_command
from triptych.adapters.collector.foreground_x11 import X11Foreground
from triptych.adapters.collector.process_names import sandboxed
from triptych.adapters.display import PrivateDisplay

pytestmark = [pytest.mark.display, pytest.mark.slow]

PROGRAMS = Path(__file__).parents[1] / "programs"
QT, GTK4, XTERM, CHROMIUM = "org.example.Qt.desktop", "org.example.Gtk4Form.desktop", "debian-xterm.desktop", "chromium.desktop"


@pytest.fixture
def desktop(private_display: PrivateDisplay, tmp_path: Path, gtk_program: Callable[..., GtkForm]) -> Iterator[Desk]:
    with desk(private_display, tmp_path, gtk_program) as made:
        applications = tmp_path / "share" / "applications"
        (applications / QT).write_text("[Desktop Entry]\nType=Application\nExec=python3 qt_form.py\nStartupWMClass=qt-form\n")
        (applications / GTK4).write_text("[Desktop Entry]\nType=Application\nExec=python3 gtk4_form.py\n")
        made.table.write_text(json.dumps({"adapters": [adapter_entry(name, name) for name in (FORM, QT, GTK4, XTERM, CHROMIUM)]}))
        yield made


@contextmanager
def running(desktop: Desk, command: Sequence[str] | None = None) -> Iterator[Collector]:
    with collector(desktop.env, "--enable-accessibility", "--adapter-table", str(desktop.table), command=command) as made:
        made.wait_for("state", state="running")
        made.acknowledged(1, FORM, QT, GTK4, XTERM, CHROMIUM)
        yield made
        assert made.end() == 0


@contextmanager
def program(desktop: Desk, *command: str) -> Iterator[subprocess.Popen[str]]:
    """A program on the desktop; its standard error goes nowhere."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    with subprocess.Popen(
        command, env=desktop.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        try:
            yield started
        finally:
            started.terminate()


@contextmanager
def form(desktop: Desk, file: str, needs: str) -> Iterator[Callable[[str], None]]:
    """One of the small forms, shown; what is yielded tells it what to do."""
    if subprocess.run([PYTHON, "-c", needs], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{PYTHON} cannot do: {needs}")
    with program(desktop, PYTHON, str(PROGRAMS / file), "--title", "A form") as started:
        assert started.stdin is not None and started.stdout is not None
        assert started.stdout.readline() == "ready\n"

        def tell(line: str) -> None:
            assert started.stdin is not None
            started.stdin.write(line + "\n")
            started.stdin.flush()

        yield tell


FORMS = [
    pytest.param("qt_form.py", "import PyQt5.QtWidgets", QT, "text", "push button", id="qt5"),
    pytest.param("gtk4_form.py", "import gi; gi.require_version('Gtk', '4.0')", GTK4, "text box", "button", id="gtk4"),
]


@pytest.mark.parametrize(("file", "needs", "bundle_id", "text", "button"), FORMS)
def test_focus_title_and_password_of_a_form(desktop: Desk, file: str, needs: str, bundle_id: str, text: str, button: str) -> None:
    with running(desktop, unhurried_command()) as made, form(desktop, file, needs) as tell:
        seen = made.observes(title="A form", role=text)
        assert seen["app"]["bundleId"] == bundle_id
        tell("focus Password")  # its role has no telling name here, only the number
        withheld = made.next()
        assert withheld["privacy"] == {"secure": True, "protected": False, "reason": "secure-field"}
        assert withheld["window"] == {"title": None, "document": None, "url": None}
        assert withheld["element"]["role"] is None
        tell("focus Save")
        made.observes(title="A form", role=button)
        tell("title Another title")
        made.observes(title="Another title", role=button)  # no heartbeat has come


def test_a_terminal_that_is_not_on_the_bus_tells_its_identity_only(desktop: Desk) -> None:
    with running(desktop) as made, program(desktop, "xterm", "-T", "secret cwd") as started:
        seen = made.observes(id=XTERM)
        assert seen["privacy"] == {"secure": True, "protected": False, "reason": "focused-element-unqueryable"}
        assert seen["app"]["pid"] == started.pid
        assert not any("secret cwd" in json.dumps(line) for line in made.lines)


def test_a_browser_tells_nothing_though_it_is_allowed_and_in_the_table(desktop: Desk) -> None:
    with running(desktop) as made:
        page = desktop.data.with_name("page.html")
        page.write_text("<title>Quokka page</title><input autofocus>")
        options = ("--no-sandbox", "--no-first-run", "--force-renderer-accessibility", f"--user-data-dir={desktop.data.parent}/profile")
        with program(desktop, "chromium", *options, str(page)):
            display = X11Foreground(desktop.env)
            try:
                eventually(lambda: (window := display.active()) is not None and "Quokka" in (display.title(window.window) or ""), 30)
            finally:
                display.close()
            made.says_nothing(2.0)
        desktop.form("A form after it")
        made.observes(title="A form after it", role="text")
        assert {line["app"]["bundleId"] for line in made.lines if line["type"] == "observation"} == {FORM}


def test_the_process_of_a_window_is_the_one_that_the_server_knows(desktop: Desk) -> None:
    """A window that claims another process's number is not taken for it."""
    with running(desktop) as made:
        honest = desktop.form("An honest form")
        made.observes(title="An honest form", role="text", pid=honest.pid)
        command = ["xprop", "-id", str(honest.window_id), "-f", "_NET_WM_PID", "32c", "-set", "_NET_WM_PID", str(os.getpid())]
        if shutil.which("xprop") is None:
            pytest.skip("xprop is not installed: apt install x11-utils")
        subprocess.run(command, env=desktop.env, check=True)
        display = X11Foreground(desktop.env)
        try:
            window = display.active()
            assert window is not None and window.pid == honest.pid
            assert honest.pid in [listed.pid for listed in display.windows()]
        finally:
            display.close()


def test_what_flatpak_wrote_into_a_sandbox_names_the_program(tmp_path: Path) -> None:
    assert sandboxed(os.getpid()) is None
    assert sandboxed(2**22) is None
    if os.getuid() != 0:
        pytest.skip("only root can change the root of a process")
    (tmp_path / ".flatpak-info").write_text("[Instance]\nname=wrong\n[Application]\nname=org.example.App\nruntime=x\n")
    child = os.fork()
    if child == 0:
        os.chroot(tmp_path)
        signal_wait()
    try:
        assert eventually(lambda: sandboxed(child)) == "org.example.App"
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def signal_wait() -> None:
    import signal

    while True:
        signal.pause()
