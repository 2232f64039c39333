"""Sleep and wake, announced by a logind on a private system bus or noticed by the clocks: what is said, in which order, and what not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from activity_kit import FORM, Desk, desk
from gtk_kit import GtkForm
from linux_kit import Peer, accessibility_address, collector, eventually, peer, private_bus, registered
from triptych.adapters.collector.sleep import SleepClock
from triptych.adapters.display import PrivateDisplay
from triptych.engine.activity import collect_command

SLEEPS = {"v": 1, "type": "state", "state": "degraded", "accessibilityTrusted": True, "reason": "sleep"}
AWAKE = {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True, "reason": "wake"}


@pytest.fixture
def logind(tmp_path: Path) -> Iterator[tuple[str, Peer]]:
    """The address of a system bus, and a logind on it."""
    with private_bus(tmp_path) as address, peer(address) as program:
        program.own("org.freedesktop.login1")
        yield address, program


@pytest.fixture
def desktop(private_display: PrivateDisplay, tmp_path: Path, gtk_program: Callable[..., GtkForm]) -> Iterator[Desk]:
    with desk(private_display, tmp_path, gtk_program) as made:
        yield made


def prepare_for_sleep(program: Peer, going: bool) -> None:
    """Announce it, and return when the collector has taken it in."""
    program.emit("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep", "b", [going])
    program.settle()


@pytest.mark.display
def test_subscriptions_go_before_sleep_is_said_and_are_back_before_wake_is(desktop: Desk, logind: tuple[str, Peer]) -> None:
    address, program = logind
    env = {**desktop.env, "DBUS_SYSTEM_BUS_ADDRESS": address}
    with collector(env, "--enable-accessibility", "--adapter-table", str(desktop.table)) as running:
        running.wait_for("state", state="running")
        running.acknowledged(1, FORM)
        form = desktop.form("Before the night")
        running.observes(title="Before the night", role="text")
        with peer(str(desktop.env["DBUS_SESSION_BUS_ADDRESS"])) as session, peer(accessibility_address(session)) as buses:
            assert registered(buses)
            prepare_for_sleep(program, True)
            assert running.next() == SLEEPS
            eventually(lambda: not registered(buses))
            desktop.click(form, "Save")
            form.wait_for("click")
            prepare_for_sleep(program, True)  # said once
            assert running.acknowledged(2, FORM) == []
            prepare_for_sleep(program, False)
            assert running.next() == AWAKE
            assert registered(buses)
            assert running.next()["element"]["role"] == "push button"
        assert running.end() == 0


@pytest.mark.display
def test_trust_that_was_lost_in_the_night_is_said_instead(desktop: Desk, logind: tuple[str, Peer]) -> None:
    from dbus_fast import Variant

    address, program = logind
    with collector({**desktop.env, "DBUS_SYSTEM_BUS_ADDRESS": address}, "--enable-accessibility") as running:
        running.wait_for("state", state="running")
        prepare_for_sleep(program, True)
        assert running.wait_for("state") == SLEEPS
        with peer(str(desktop.env["DBUS_SESSION_BUS_ADDRESS"])) as session:
            off = ["org.a11y.Status", "IsEnabled", Variant("b", False)]
            session.call("org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties", "Set", "ssv", off)
        prepare_for_sleep(program, False)
        state = running.wait_for("state")
        assert (state["state"], state["accessibilityTrusted"]) == ("permission-required", False)
        assert running.end() == 0


@pytest.fixture
def nowhere(tmp_path: Path, logind: tuple[str, Peer]) -> dict[str, str]:
    """An environment with a system bus and nothing else."""
    no_bus = f"unix:path={tmp_path}/no-bus"
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DBUS_SESSION_BUS_ADDRESS": no_bus, "DBUS_SYSTEM_BUS_ADDRESS": logind[0]}


def test_a_paused_collector_says_neither_and_stays_paused(nowhere: dict[str, str], logind: tuple[str, Peer]) -> None:
    with collector(nowhere) as running:
        assert "sleep: logind" in running.wait_for("diagnostic", code="sources")["message"]
        running.send('{"type":"pause"}')
        running.wait_for("state", state="paused")
        prepare_for_sleep(logind[1], True)
        assert running.acknowledged(1) == []
        running.wait_for("diagnostic", code="no-allowed-applications")
        prepare_for_sleep(logind[1], False)
        running.says_nothing(0.3)
        running.send('{"type":"pause"}')
        assert running.next()["state"] == "paused"
        running.send('{"type":"resume"}')
        assert running.next()["state"] == "permission-required"
        assert running.end() == 0


def test_resume_during_the_night_says_that_it_sleeps(nowhere: dict[str, str], logind: tuple[str, Peer]) -> None:
    with collector(nowhere) as running:
        running.wait_for("diagnostic", code="sources")
        running.send('{"type":"pause"}')
        running.wait_for("state", state="paused")
        prepare_for_sleep(logind[1], True)
        running.send('{"type":"resume"}')
        assert running.next() == {**SLEEPS, "accessibilityTrusted": False}
        prepare_for_sleep(logind[1], False)
        assert running.next()["state"] == "permission-required"
        assert running.end() == 0


def test_a_night_after_the_wake_is_not_answered_with_a_wake(nowhere: dict[str, str], logind: tuple[str, Peer]) -> None:
    with collector(nowhere) as running:
        running.wait_for("diagnostic", code="sources")
        for going in (True, False, True):
            logind[1].emit("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep", "b", [going])
        logind[1].settle()
        assert running.next()["reason"] == "sleep"
        running.says_nothing(1.0)
        assert running.end() == 0


def test_only_logind_is_believed(nowhere: dict[str, str], logind: tuple[str, Peer]) -> None:
    with collector(nowhere) as running:
        running.wait_for("diagnostic", code="sources")
        with peer(logind[0]) as liar:
            liar.emit("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep", "b", [True])
            liar.settle()
        running.says_nothing(0.3)
        prepare_for_sleep(logind[1], True)
        assert running.next()["reason"] == "sleep"
        assert running.end() == 0


@pytest.mark.slow
def test_a_system_bus_that_comes_later_is_found_by_a_heartbeat(tmp_path: Path) -> None:
    address = f"unix:path={tmp_path}/private-bus"
    no_bus = f"unix:path={tmp_path}/no-bus"
    env = {"PATH": os.environ["PATH"], "DBUS_SESSION_BUS_ADDRESS": no_bus, "DBUS_SYSTEM_BUS_ADDRESS": address}
    with collector(env) as running:
        assert "sleep: not announced" in running.wait_for("diagnostic", code="sources")["message"]
        with private_bus(tmp_path) as made, peer(made) as program:
            assert made == address
            program.own("org.freedesktop.login1")
            assert "sleep: logind" in running.wait_for("diagnostic", code="sources")["message"]
            prepare_for_sleep(program, True)
            assert running.next()["reason"] == "sleep"
        assert running.end() == 0


class TestClocks:
    def test_a_night_is_noticed_once(self) -> None:
        ahead = [100.0]
        clock = SleepClock(lambda: ahead[0])
        assert not clock.slept()
        ahead[0] += 3600.0
        assert clock.slept()
        assert not clock.slept()
        ahead[0] += 1.9
        assert not clock.slept()

    def test_the_real_clocks_run_side_by_side(self) -> None:
        clock = SleepClock()
        assert not clock.slept()

    @pytest.mark.slow
    def test_a_heartbeat_says_a_night_that_nobody_announced(self, tmp_path: Path) -> None:
        asleep = tmp_path / "asleep"
        program = (
            "import asyncio, sys; from pathlib import Path; from triptych.adapters.collector.collect import CollectorProcess\n"
            "from triptych.adapters.collector.sleep import SleepClock\n"
            f"clock = SleepClock(lambda: 3600.0 * Path({str(asleep)!r}).exists())\n"
            "sys.exit(asyncio.run(CollectorProcess(sleep_clock=clock).run()))"
        )
        no_bus = f"unix:path={tmp_path}/no-bus"
        env = {"PATH": os.environ["PATH"], "DBUS_SESSION_BUS_ADDRESS": no_bus, "DBUS_SYSTEM_BUS_ADDRESS": no_bus}
        with collector(env, command=[*collect_command()[:3], program]) as running:
            running.wait_for("diagnostic", code="sources")
            asleep.touch()
            assert running.next() == {**SLEEPS, "accessibilityTrusted": False}
            assert running.next()["state"] == "permission-required"
            assert running.end() == 0
