"""The collector's own side: what it says at each moment, and when it may look."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.errors import IllegalEvent
from triptych.machines.collector.collector import (
    ClearFingerprint,
    Collector,
    Detach,
    EmitConfigured,
    EmitDiagnostic,
    EmitFatal,
    EmitHello,
    EmitState,
    Exit,
    Memory,
    Reconcile,
)

GONE = {"trusted": False, "reason": "the accessibility bus does not answer", "warning": "at-spi-unavailable"}
BACK = {"trusted": True}
POLICY = {"revision": 4, "allows_any": True}
LOOK = (ClearFingerprint(), Reconcile())
RUNNING = EmitState("running", True)
REQUIRED = EmitState("permission-required", False, "the accessibility bus does not answer")
WARNING = EmitDiagnostic("at-spi-unavailable", "the accessibility bus does not answer")
ALIVE = ("unconfigured", "running", "paused", "asleep", "unavailable")


def lived(*steps: tuple[str, dict[str, Any]]) -> Collector:
    life = Collector()
    for event, data in steps:
        life.step(event, 1.0, **data)
    return life


def started(*steps: tuple[str, dict[str, Any]]) -> Collector:
    return lived(("start", BACK), ("configure", POLICY), *steps)


def test_hello_then_state_then_the_warning() -> None:
    life = Collector()
    assert life.step("start", 1.0, **BACK) == (EmitHello(), RUNNING)
    assert life.state == "unconfigured"
    without = Collector()
    assert without.step("start", 1.0, **GONE) == (EmitHello(), REQUIRED, WARNING)
    assert without.state == "unavailable"


def test_configure_is_acknowledged_before_the_first_look() -> None:
    life = lived(("start", BACK))
    assert life.step("configure", 1.0, **POLICY) == (EmitConfigured(4), *LOOK)
    assert (life.state, life.memory.revision) == ("running", 4)
    assert life.step("configure", 1.0, **POLICY) == (EmitConfigured(4), *LOOK)


def test_a_policy_that_allows_nothing_is_acknowledged_and_warned_about() -> None:
    effects = lived(("start", BACK)).step("configure", 1.0, revision=0, allows_any=False)
    assert [type(effect) for effect in effects] == [EmitConfigured, EmitDiagnostic, ClearFingerprint, Reconcile]
    assert effects[1] == EmitDiagnostic("no-allowed-applications", "the policy allows no application, so nothing will be observed")


@pytest.mark.parametrize("event", [("pause", {}), ("sleep", {}), ("availability", GONE)])
def test_configure_is_acknowledged_where_nothing_may_be_looked_at(event: tuple[str, dict[str, Any]]) -> None:
    life = lived(("start", BACK), event)
    state = life.state
    assert life.step("configure", 1.0, **POLICY) == (EmitConfigured(4),)
    assert (life.state, life.memory.revision) == (state, 4)


def test_pause_and_resume_are_always_answered() -> None:
    life = started()
    assert life.step("pause", 1.0) == (Detach(), EmitState("paused", True))
    assert life.step("pause", 1.0) == (Detach(), EmitState("paused", True))
    assert life.step("resume", 1.0) == (RUNNING, *LOOK)
    assert life.state == "running"
    assert life.step("resume", 1.0) == (RUNNING, *LOOK)


def test_without_a_policy_nothing_is_looked_at_whatever_is_asked() -> None:
    life = lived(("start", BACK), ("pause", {}))
    assert life.step("resume", 1.0) == (RUNNING,)
    assert life.state == "unconfigured"
    assert life.step("availability", 1.0, **GONE) == (Detach(), REQUIRED, WARNING)
    assert life.step("availability", 1.0, **BACK) == (RUNNING,)
    assert life.state == "unconfigured"
    life.step("sleep", 1.0)
    assert life.step("wake", 1.0) == (EmitState("running", True, "wake"),)
    assert life.state == "unconfigured"


def test_a_paused_collector_says_nothing_and_resumes_with_the_truth() -> None:
    life = started(("pause", {}))
    for event, data in (("availability", GONE), ("sleep", {}), ("wake", {})):
        assert life.step(event, 1.0, **data) == ()
    assert life.step("pause", 1.0) == (Detach(), EmitState("paused", False))
    assert life.step("resume", 1.0) == (REQUIRED,)
    assert life.state == "unavailable"
    asleep = started(("pause", {}), ("sleep", {}))
    assert asleep.step("resume", 1.0) == (EmitState("degraded", True, "sleep"),)
    assert asleep.state == "asleep"
    assert asleep.step("resume", 1.0) == (EmitState("degraded", True, "sleep"),)


def test_availability_is_said_on_change_only() -> None:
    life = started()
    assert life.step("availability", 1.0, **BACK) == ()
    assert life.step("availability", 1.0, **GONE) == (Detach(), REQUIRED, WARNING)
    assert life.step("availability", 1.0, **GONE) == ()
    assert life.step("availability", 1.0, trusted=False, reason="locked") == (Detach(), EmitState("permission-required", False, "locked"))
    assert life.step("resume", 1.0) == (EmitState("permission-required", False, "locked"),)
    assert life.step("availability", 1.0, **BACK) == (RUNNING, *LOOK)
    assert (life.state, life.memory.reason, life.memory.warning) == ("running", "", "")


def test_sleep_detaches_and_wake_is_said_before_the_first_look() -> None:
    life = started()
    assert life.step("sleep", 1.0) == (Detach(), EmitState("degraded", True, "sleep"))
    assert life.step("sleep", 1.0) == ()
    assert life.step("wake", 1.0) == (EmitState("running", True, "wake"), *LOOK)
    assert (life.state, life.memory.asleep) == ("running", False)
    assert life.step("wake", 1.0) == LOOK
    lost = started(("sleep", {}), ("availability", GONE))
    assert lost.state == "asleep"
    assert lost.step("wake", 1.0) == (REQUIRED,)
    assert lost.state == "unavailable"


@pytest.mark.parametrize("event", ["shutdown", "input_ended"])
@pytest.mark.parametrize("state", ["starting", *ALIVE])
def test_the_end_is_clean_and_silent(state: str, event: str) -> None:
    life = Collector.restore(state, Memory(revision=1, trusted=True))
    assert life.step(event, 1.0) == (Detach(), Exit(0))
    assert life.is_over


@pytest.mark.parametrize("event", [("configure", POLICY), ("pause", {}), ("resume", {}), ("availability", BACK), ("wake", {})])
def test_hello_comes_first_and_once(event: tuple[str, dict[str, Any]]) -> None:
    with pytest.raises(IllegalEvent):
        Collector().step(event[0], 1.0, **event[1])
    with pytest.raises(IllegalEvent):
        started().step("start", 1.0, **BACK)


def test_what_a_restart_does_not_cure_is_said_last_and_after_a_hello() -> None:
    why = {"code": "adapter-table", "message": "x is missing"}
    assert Collector().step("fail", 1.0, **why) == (EmitHello(), EmitFatal("adapter-table", "x is missing"), Exit(1))
    for state in ALIVE:
        life = Collector.restore(state, Memory(revision=1, trusted=True))
        assert life.step("fail", 1.0, **why) == (Detach(), EmitFatal("adapter-table", "x is missing"), Exit(1))
        assert life.is_over
        with pytest.raises(IllegalEvent):
            life.step("wake", 1.0)
