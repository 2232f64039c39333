"""The private display: nobody else gets in, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gtk_kit import GtkForm
from triptych.adapters import display as module
from triptych.adapters.display import PrivateDisplay
from triptych.errors import Unavailable
from x11_kit import Client, eventually

pytestmark = pytest.mark.display


def with_environment(folder: Path) -> list[str]:
    """Command names of live processes that know the display's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid() and str(folder).encode() in (entry / "environ").read_bytes():
                found.append((entry / "comm").read_text().strip())
        except OSError:
            continue
    return found


def left_behind(number: int) -> bool:
    """Whether our lock, or a socket that no lock protects, is still there. Another test run may take the number at any moment."""
    lock = Path(f"/tmp/.X{number}-lock")
    try:
        return int(lock.read_text()) == os.getpid()
    except FileNotFoundError:
        return Path(f"/tmp/.X11-unix/X{number}").exists() and not lock.exists()


def test_the_cookie_lets_us_in_and_nobody_without_it(private_display: PrivateDisplay) -> None:
    assert private_display.number >= 170
    with Client(private_display) as client:
        assert client.geometry(client.root) == (0, 0, 1280, 800)
    authority = Path(private_display.env["XAUTHORITY"])
    assert stat.S_IMODE(authority.stat().st_mode) == 0o600
    stranger = {**private_display.env, "XAUTHORITY": "/dev/null"}
    assert subprocess.run(["setxkbmap", "-query"], env=stranger, capture_output=True, check=False).returncode != 0
    assert subprocess.run(["setxkbmap", "-query"], env=private_display.env, capture_output=True, check=False).returncode == 0


def test_children_see_only_the_private_display_and_bus(private_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    env = private_display.env
    assert env["DISPLAY"] == private_display.name
    assert env["DBUS_SESSION_BUS_ADDRESS"] == private_display.bus_address
    assert "WAYLAND_DISPLAY" not in env and "NO_AT_BRIDGE" not in env
    runtime = Path(env["XDG_RUNTIME_DIR"])
    assert runtime == private_display.runtime_dir and stat.S_IMODE(runtime.stat().st_mode) == 0o700
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.setenv("NO_AT_BRIDGE", "1")
    with PrivateDisplay(dbus=False) as other:
        assert other.number != private_display.number
        assert other.bus_address is None and other.env["DBUS_SESSION_BUS_ADDRESS"] == "disabled:"
        assert "WAYLAND_DISPLAY" not in other.env and "NO_AT_BRIDGE" not in other.env


def test_close_ends_the_server_the_bus_and_all_that_the_bus_started(gtk_program: Callable[..., GtkForm]) -> None:
    display = PrivateDisplay()
    try:
        form = gtk_program(display)
        call = ["dbus-send", "--session", "--print-reply", "--dest=org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus.GetAddress"]
        subprocess.run(call, env=display.env, check=True, capture_output=True)
        folder = display.runtime_dir.parent
        started = with_environment(folder)
        assert {"Xvfb", "dbus-daemon"} <= set(started)
        assert any(name.startswith("at-spi") for name in started)
    finally:
        display.close()
    form.process.wait(60)
    assert with_environment(folder) == []
    assert not folder.exists()
    assert not left_behind(display.number)
    display.close()


def test_close_after_the_server_was_killed_removes_its_lock(bare_display: PrivateDisplay) -> None:
    assert left_behind(bare_display.number)
    os.kill(bare_display.pid, 9)
    bare_display.close()
    assert not left_behind(bare_display.number)


def test_a_number_claimed_or_served_at_the_last_moment_leads_to_the_next(
    bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = module._free_numbers
    monkeypatch.setattr(module, "_free_numbers", lambda: iter([bare_display.number, *free()]))
    with PrivateDisplay(dbus=False) as second:
        assert second.number != bare_display.number
    # A server that this /tmp shows no lock of, as in a container that shares the network: its abstract socket still holds the number.
    Path(f"/tmp/.X{bare_display.number}-lock").unlink()
    with PrivateDisplay(dbus=False) as third:
        assert third.number != bare_display.number


def test_a_failed_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(module.tempfile, "tempdir", None)
    with pytest.raises(Unavailable, match="Xvfb did not start"):
        PrivateDisplay(width=0)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_start_ends_what_was_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(module.tempfile, "tempdir", None)
    seen: list[str] = []

    def interrupt(self: PrivateDisplay, _program: str) -> str:
        seen.extend(with_environment(self.runtime_dir.parent))
        raise KeyboardInterrupt

    monkeypatch.setattr(PrivateDisplay, "_start_bus", interrupt)
    with pytest.raises(KeyboardInterrupt):
        PrivateDisplay()
    assert seen == ["Xvfb"]
    assert with_environment(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


INTERRUPTED = """
import signal
from triptych.adapters.display import PrivateDisplay
print("starting", flush=True)
with PrivateDisplay() as display:
    print("up", flush=True)
    signal.pause()
"""


@pytest.mark.parametrize("seen", ["nothing", "a folder", "Xvfb", "dbus-daemon", "up"])
def test_an_interrupt_at_any_step_leaves_nothing(tmp_path: Path, seen: str) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "starting\n"
        if seen == "a folder":
            eventually(lambda: any(tmp_path.iterdir()), "the display's folder is there")
        elif seen == "up":
            assert owner.stdout.readline() == "up\n"
        elif seen != "nothing":
            eventually(lambda: seen in with_environment(tmp_path), f"{seen} runs")
        owner.send_signal(signal.SIGINT)
        _, errors = owner.communicate(timeout=60)
        assert owner.returncode != 0 and "KeyboardInterrupt" in errors
    assert with_environment(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("missing", "package"), [("Xvfb", "xvfb"), ("dbus-daemon", "dbus-daemon")])
def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, missing: str, package: str) -> None:
    which = module.shutil.which
    monkeypatch.setattr(module.shutil, "which", lambda name: None if name == missing else which(name))
    with pytest.raises(Unavailable) as refusal:
        PrivateDisplay()
    assert (refusal.value.reason, refusal.value.remedy) == (f"{missing} is not installed", f"apt install {package}")


def test_a_temporary_folder_too_deep_for_sockets_is_refused_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("deep" * 20)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(Unavailable) as refused:
        PrivateDisplay()
    assert "too long a path" in refused.value.reason
    assert refused.value.remedy == "set TMPDIR to a shorter path, such as /tmp"
    assert list(deep.iterdir()) == []
