"""What only the heartbeat can find out: the foreground, whether windows can be read, and whether events are still subscribed to."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dbus_fast import Variant

from activity_kit import FORM, Desk, desk
from gtk_kit import GtkForm
from linux_kit import (
    REGISTRY,
    Collector,
    Peer,
    accessibility_address,
    collector,
    eventually,
    peer,
    process_of,
    registered,
    unhurried_command,
)
from stopwatch_kit import Stopwatch
from triptych.adapters.display import PrivateDisplay

pytestmark = [pytest.mark.display, pytest.mark.slow]


@pytest.fixture
def desktop(private_display: PrivateDisplay, tmp_path: Path, gtk_program: Callable[..., GtkForm]) -> Iterator[Desk]:
    with desk(private_display, tmp_path, gtk_program) as made:
        yield made


@contextmanager
def running(desktop: Desk, command: Sequence[str] | None = None, **more: str) -> Iterator[Collector]:
    arguments = ("--enable-accessibility", "--adapter-table", str(desktop.table))
    with collector({**desktop.env, **more}, *arguments, command=command) as made:
        made.wait_for("state", state="running")
        made.acknowledged(1, FORM)
        yield made
        assert made.end() == 0


@contextmanager
def session_of(desktop: Desk) -> Iterator[Peer]:
    with peer(str(desktop.env["DBUS_SESSION_BUS_ADDRESS"])) as made:
        yield made


@contextmanager
def accessibility_of(desktop: Desk) -> Iterator[Peer]:
    with session_of(desktop) as session, peer(accessibility_address(session)) as made:
        yield made


def set_enabled(session: Peer, on: bool) -> None:
    body = ["org.a11y.Status", "IsEnabled", Variant("b", on)]
    session.call("org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties", "Set", "ssv", body)


def registry_pid_or_none(buses: Peer) -> int | None:
    """While it starts nobody has its name."""
    try:
        return process_of(buses, REGISTRY[0])
    except AssertionError:
        return None


def test_the_foreground_where_its_source_announces_nothing(desktop: Desk) -> None:
    told: dict[str, Any] = {}
    with session_of(desktop) as shell:
        shell.own("org.gnome.Shell")
        interface = "org.gnome.shell.extensions.FocusedWindow"
        shell.answers["/org/gnome/shell/extensions/FocusedWindow", interface, "Get"] = lambda: ("s", [json.dumps(told)])
        with running(desktop, WAYLAND_DISPLAY="none", XDG_CURRENT_DESKTOP="GNOME") as made:
            form = desktop.form("Only a look can tell")
            made.says_nothing(1.0)  # every event of its start is taken in by then, and nobody was in front
            told.update(pid=form.pid, wm_class="GtkForm", id=3)
            assert made.observes(title="Only a look can tell")["app"]["pid"] == form.pid
            told.clear()
            asked = len(shell.calls)
            eventually(lambda: len(shell.calls) > asked + 2)  # a whole heartbeat saw nobody
            told.update(pid=form.pid, wm_class="GtkForm", id=3)
            assert made.observes(title="Only a look can tell")  # what was not known in between is told anew


def test_trust_that_is_lost_and_given_back(desktop: Desk) -> None:
    with running(desktop) as made, session_of(desktop) as session:
        form = desktop.form("Off and on")
        made.observes(title="Off and on", role="text")
        set_enabled(session, False)
        state = made.wait_for("state")
        assert (state["state"], state["accessibilityTrusted"]) == ("permission-required", False)
        assert "accessibility is off in this session; turn it on with" in state["reason"]
        desktop.click(form, "Save")
        form.wait_for("click")
        set_enabled(session, True)
        assert made.wait_for("state")["state"] == "running"
        assert made.observes(title="Off and on")["element"]["role"] == "push button"


def test_a_registry_that_was_restarted_is_subscribed_to_again(desktop: Desk) -> None:
    with running(desktop) as made, accessibility_of(desktop) as buses:
        desktop.form("Before the restart")
        made.observes(title="Before the restart", role="text")
        subscribed = registered(buses)
        assert len(subscribed) == 1
        old = process_of(buses, REGISTRY[0])
        os.kill(old, signal.SIGKILL)
        eventually(lambda: registry_pid_or_none(buses) not in (None, old) and registered(buses) == subscribed)
        # A program that starts now asks the registry which events are wanted.
        form = desktop.form("After the restart")
        made.observes(title="After the restart", role="text")
        desktop.click(form, "Save")
        made.observes(title="After the restart", role="push button")
        assert not any(line["type"] == "state" for line in made.lines[4:])


def test_a_program_that_was_restarted_is_followed_again(desktop: Desk) -> None:
    with running(desktop) as made:
        first = desktop.form("The same again")
        made.observes(title="The same again", role="text", pid=first.pid)
        first.command("quit")
        first.wait_for("close")
        second = desktop.form("The same again")
        made.observes(title="The same again", role="text", pid=second.pid)
        desktop.click(second, "Password")
        made.observes(reason="secure-field", pid=second.pid)


def test_a_registry_that_is_silent_is_reported_and_blocks_nothing(desktop: Desk) -> None:
    with running(desktop) as made, accessibility_of(desktop) as buses:
        registry = process_of(buses, REGISTRY[0])
        os.kill(registry, signal.SIGSTOP)
        try:
            state = made.wait_for("state")
            assert state["state"] == "permission-required" and "does not answer" in state["reason"]
            asked = Stopwatch(made.process.pid)
            made.acknowledged(2, FORM)
            assert asked.seconds() < 0.5
            with collector(desktop.env) as other:
                started = Stopwatch(other.process.pid)
                other.wait_for("state")
                assert started.seconds() < 4  # a second of its own; the rest is Python's start
                assert other.lines[-1]["state"] == "permission-required" and "does not answer" in other.lines[-1]["reason"]
                assert other.end() == 0
        finally:
            os.kill(registry, signal.SIGCONT)
        assert made.wait_for("state")["state"] == "running"


def test_a_program_in_front_that_hangs_is_withheld_and_blocks_nothing(desktop: Desk) -> None:
    with running(desktop) as made:
        form = desktop.form("It hangs")
        made.observes(title="It hangs", role="text")
        os.kill(form.pid, signal.SIGSTOP)
        try:
            asked = Stopwatch(made.process.pid)
            made.configure(2, FORM)
            made.wait_for("configured", revision=2)
            assert asked.seconds() < 0.5
            assert made.observes()["privacy"] == {"secure": True, "protected": False, "reason": "unreadable-focused-element"}
        finally:
            os.kill(form.pid, signal.SIGCONT)
        made.observes(title="It hangs", role="text")


def test_a_bus_that_ends_is_noticed_at_once_and_the_next_one_is_found(desktop: Desk) -> None:
    with running(desktop, unhurried_command()) as made:
        desktop.form("Before the end")
        made.observes(title="Before the end", role="text")
        with accessibility_of(desktop) as buses:
            daemon = process_of(buses, "org.freedesktop.DBus")
        os.kill(daemon, signal.SIGKILL)
        made.observes(reason="focused-element-unqueryable")  # no heartbeat has come: the form stayed behind
        desktop.form("After the end")
        made.observes(title="After the end", role="text")
