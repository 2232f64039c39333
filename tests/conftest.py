"""Fixtures that several areas share: a display nobody else can see, and a real GTK program on it.

The surrounding desktop is out of reach for every test: its variables are removed before any test module is imported.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import hypothesis
import pytest
import structlog

# A worker of pytest-xdist ignores Ctrl-C, and what it starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# `make test` searches the same examples every time; `make fuzz` searches others, and many more.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=5000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

for _variable in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS"):
    os.environ.pop(_variable, None)

from gtk_kit import PYTHON, GtkForm  # noqa: E402  after the variables are gone
from triptych.adapters.display import PrivateDisplay  # noqa: E402  likewise


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every hypothesis test, so that `make fuzz` can pick them."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("property")


@cache
def _lacks_gtk() -> bool:
    probe = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk"
    return shutil.which(PYTHON) is None or subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode != 0


def _need_display(dbus: bool) -> None:
    for program, package in (("Xvfb", "xvfb"), *((("dbus-daemon", "dbus-daemon"),) if dbus else ())):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt install {package}")


@pytest.fixture(autouse=True)
def unconfigured_structlog() -> Iterator[None]:
    """`structlog.testing.capture_logs` leaves structlog configured: the lines of later tests would go to stdout."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def private_display(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateDisplay]:
    """An X server of 1280x800 with its own D-Bus session; this process can open it by `private_display.name`, but has no DISPLAY."""
    _need_display(dbus=True)
    with PrivateDisplay() as display:
        monkeypatch.setenv("XAUTHORITY", display.env["XAUTHORITY"])
        yield display


@pytest.fixture
def bare_display(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateDisplay]:
    """The same without a D-Bus session, which starts faster."""
    _need_display(dbus=False)
    with PrivateDisplay(dbus=False) as display:
        monkeypatch.setenv("XAUTHORITY", display.env["XAUTHORITY"])
        yield display


@pytest.fixture
def gtk_program() -> Iterator[Callable[..., GtkForm]]:
    """A factory of running GTK forms, `gtk_program(display, title="…", env=None)`; each is ended after the test."""
    if _lacks_gtk():
        pytest.skip(f"{PYTHON} has no GTK 3: apt install python3-gi gir1.2-gtk-3.0")
    with ExitStack() as running:

        def start(display: PrivateDisplay, title: str = "Triptych form", env: dict[str, str] | None = None) -> GtkForm:
            form = GtkForm(display, title, env)
            running.callback(form.close)
            return form

        yield start


@pytest.fixture
def gtk_window(private_display: PrivateDisplay, gtk_program: Callable[..., GtkForm]) -> GtkForm:
    """One form on `private_display`, shown and laid out."""
    return gtk_program(private_display)
