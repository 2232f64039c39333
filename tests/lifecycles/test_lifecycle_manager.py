"""The host's side of a collector: every named failure, the crashes and the breaker, the queue of controls, the two waits of a stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from triptych.errors import IllegalEvent
from triptych.machines.collector.controls import Control, Controls, RejectAck, ResolveAck, SendConfigure, SendPause, SendResume
from triptych.machines.collector.manager import (
    CloseStdin,
    DrainMessages,
    Manager,
    Memory,
    ReleaseOwnership,
    ReportDegraded,
    ReportState,
    SendShutdown,
    Spawn,
    Terminate,
)
from triptych.machines.lifecycle import Deadline, Effect

SERVING = ("configuring", "running", "paused", "permission-required", "degraded")
STOPPED = "collector stopped before acknowledgement"
EXITED = "collector exited before acknowledgement"
STOP_EFFECTS = (SendShutdown("protocol-error"), CloseStdin())


def say(report: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "state_reported", {"report": report, "trusted": True, **more}


def acknowledge(revision: int) -> tuple[str, dict[str, Any]]:
    return "policy_acknowledged", {"revision": revision}


def ask(kind: str, ticket: int, revision: int = 0) -> tuple[str, dict[str, Any]]:
    return "control", {"kind": kind, "ticket": ticket, "revision": revision}


START = (("start", {}), ("spawned", {"piped": True}), ("hello_received", {"revision": 7}))
RUNNING = (*START, say("running"), acknowledge(7))


def lived(*steps: tuple[str, dict[str, Any]], memory: Memory | None = None, at: float = 1.0) -> Manager:
    life = Manager(memory)
    for event, data in steps:
        life.step(event, at, **data)
    return life


def after(life: Manager, *steps: tuple[str, dict[str, Any]], at: float = 1.0) -> list[Effect]:
    """What these steps ask for, without deadlines and without what is only shown."""
    effects = [effect for event, data in steps for effect in life.step(event, at, **data)]
    return [effect for effect in effects if not isinstance(effect, Deadline | ReportState)]


def degraded(effects: tuple[Effect, ...]) -> list[str]:
    return [effect.reason for effect in effects if isinstance(effect, ReportDegraded)]


def test_the_straight_way() -> None:
    life = Manager()
    assert life.step("start", 1.0) == (Spawn(),)
    assert life.step("spawned", 1.1, piped=True) == (Deadline("hello_overdue", 6.1),)
    assert life.state == "hello"
    assert life.step("hello_received", 1.2, revision=7) == (
        SendConfigure(7),
        Deadline("hello_overdue", None),
        Deadline("ack_overdue", 6.2),
    )
    assert life.step("state_reported", 1.3, report="running", trusted=True) == (ReportState("running", True, ""),)
    assert life.state == "configuring"
    assert life.step("policy_acknowledged", 1.4, revision=7) == (ResolveAck(0), Deadline("ack_overdue", None))
    assert life.state == "running"
    assert life.memory.policy == 7
    assert life.step("stop", 2.0, reason="host-shutdown") == (
        SendShutdown("host-shutdown"),
        CloseStdin(),
        Deadline("grace_over", 3.5),
    )
    assert life.step("exited", 2.1, status=0) == (Deadline("grace_over", None), ReleaseOwnership(), DrainMessages(15.0))
    assert life.state == "stopped"


@pytest.mark.parametrize("report", ["running", "paused", "permission-required", "degraded"])
def test_the_state_follows_the_collector_once_the_policy_is_acknowledged(report: str) -> None:
    before_ack = lived(*START, say(report))
    assert before_ack.state == "configuring"
    before_ack.step("policy_acknowledged", 2.0, revision=7)
    assert before_ack.state == report
    after_ack = lived(*START, acknowledge(7))
    assert after_ack.state == "configuring"
    after_ack.step("state_reported", 2.0, report=report, trusted=True)
    assert after_ack.state == report
    for other in ("running", "paused", "permission-required", "degraded"):
        after_ack.step("state_reported", 3.0, report=other, trusted=True)
        assert after_ack.state == other


def test_a_collector_that_calls_itself_degraded_has_a_reason() -> None:
    life = lived(*RUNNING)
    assert life.step("state_reported", 2.0, report="degraded", trusted=True, reason="sleep") == (ReportState("degraded", True, "sleep"),)
    assert life.memory.reason == "sleep"
    assert life.step("state_reported", 2.0, report="degraded", trusted=True) == (ReportState("degraded", True, "collector-degraded"),)
    assert life.step("state_reported", 3.0, report="running", trusted=True, reason="wake") == (ReportState("running", True, "wake"),)
    assert life.memory.reason == ""


# what stops it for good


@pytest.mark.parametrize(
    ("before", "event", "data", "reason"),
    [
        (START[:2], "hello_overdue", {"spoke": False}, "hello-timeout"),
        (START[:2], "hello_overdue", {"spoke": True}, "collector-spoke-without-hello"),
        (START[:2], *say("running"), "protocol-error"),
        (START[:2], *acknowledge(7), "protocol-error"),
        (START[:2], "fatal_received", {"code": "no-display", "message": "gone"}, "protocol-error"),
        (START[:2], "protocol_broken", {"detail": "invalid JSON"}, "protocol-error"),
        (START, "hello_received", {"revision": 7}, "protocol-error"),
        (START, *acknowledge(8), "protocol-error"),
        (RUNNING, *acknowledge(7), "protocol-error"),
        (RUNNING, "fatal_received", {"code": "no-display", "message": "gone"}, "no-display"),
        (RUNNING, "protocol_broken", {"detail": "collector sequence regression"}, "protocol-error"),
        (START, "ack_overdue", {}, "configure-ack-timeout"),
        ((*RUNNING, ask("pause", 1)), "ack_overdue", {}, "paused-ack-timeout"),
        ((*RUNNING, say("paused"), ask("resume", 1)), "ack_overdue", {}, "running-ack-timeout"),
        (START, "write_failed", {"command": "configure", "detail": "EPIPE"}, "configure-send-failed"),
        ((*RUNNING, ask("pause", 1)), "write_failed", {"command": "pause", "detail": "EPIPE"}, "pause-send-failed"),
        ((*RUNNING, say("paused"), ask("resume", 1)), "write_failed", {"command": "resume", "detail": ""}, "resume-send-failed"),
        ((*RUNNING, ask("apply-policy", 1, 8)), "write_failed", {"command": "pause", "detail": ""}, "apply-policy-send-failed"),
        (RUNNING, "stop", {"reason": "protocol-error"}, "protocol-error"),
    ],
)
def test_every_failure_has_its_name_and_stops_for_good(before: Any, event: str, data: dict[str, Any], reason: str) -> None:
    life = lived(*before)
    effects = life.step(event, 2.0, **data)
    assert degraded(effects) == [reason]
    assert (life.state, life.memory.reason) == ("stopping", reason)
    assert [effect for effect in effects if isinstance(effect, SendShutdown | CloseStdin)] == list(STOP_EFFECTS)
    assert effects[-1] == Deadline("grace_over", 3.5)
    gone = life.step("exited", 2.5, status=0)
    assert gone == (Deadline("grace_over", None), ReleaseOwnership(), DrainMessages(15.0))
    assert (life.state, life.memory.reason) == ("broken", reason)
    with pytest.raises(IllegalEvent):
        life.step("restart_due", 9.0)


@pytest.mark.parametrize(
    ("before", "revision", "detail"),
    [
        (START[:2], 7, "collector must send hello first"),
        (START, 8, "collector policy acknowledgement mismatch: expected 7, received 8"),
        (RUNNING, 7, "collector sent unexpected policy acknowledgement"),
        ((*RUNNING, ask("pause", 1)), 7, "collector sent unexpected policy acknowledgement"),
    ],
)
def test_an_acknowledgement_that_is_not_the_one_waited_for(before: Any, revision: int, detail: str) -> None:
    effects = lived(*before).step("policy_acknowledged", 2.0, revision=revision)
    assert effects[0] == ReportDegraded("protocol-error", detail)


def test_a_late_acknowledgement_is_a_protocol_error_unless_the_host_asked_for_the_stop() -> None:
    life = lived(*START)
    life.step("ack_overdue", 6.0)
    late = ReportDegraded("protocol-error", "collector sent unexpected policy acknowledgement")
    assert life.step("policy_acknowledged", 6.1, revision=7) == (late,)
    assert (life.state, life.memory.reason) == ("stopping", "protocol-error")
    asked = lived(*START)
    asked.step("stop", 2.0, reason="plugin-dispose")
    assert asked.step("policy_acknowledged", 2.1, revision=7) == ()
    assert asked.state == "stopping"


@pytest.mark.parametrize("state", ["stopping", "terminating", "failing"])
def test_what_it_says_on_its_way_out_changes_nothing(state: str) -> None:
    memory = Memory(stop="host-shutdown", deadline="grace_over", reason="")
    for event, data in (
        say("running"),
        ("hello_received", {"revision": 1}),
        ("fatal_received", {"code": "x", "message": ""}),
        ("protocol_broken", {"detail": ""}),
        ("write_failed", {"command": "pause", "detail": ""}),
        ("handler_failed", {"detail": ""}),
        acknowledge(7),
    ):
        life = Manager.restore(state, memory)
        assert life.step(event, 2.0, **data) == ()
        assert (life.state, life.memory) == (state, memory)


# a process that ends


def test_restarts_after_1_2_5_15_seconds_and_the_breaker_at_the_fifth_crash() -> None:
    life, now = lived(*RUNNING), 10.0
    for delay in (1.0, 2.0, 5.0, 15.0):
        effects = life.step("exited", now, status=-11)
        assert effects == (ReportDegraded("collector-exited", "the collector exited with status -11"), Deadline("restart_due", now + delay))
        assert life.state == "backoff"
        now += delay
        assert life.step("restart_due", now) == (Spawn(),)
        for event, data in RUNNING[1:]:
            life.step(event, now, **data)
        assert life.state == "running"
    effects = life.step("exited", now, status=1)
    assert effects == (ReportDegraded("collector-exited", "the collector exited with status 1"), ReleaseOwnership())
    assert (life.state, life.memory.reason) == ("broken", "collector-exited")


def test_crashes_leave_the_window_after_600_seconds() -> None:
    life = Manager.restore("running", Memory(crashes=(0.0, 10.0, 20.0, 599.0)))
    assert life.step("exited", 600.0, status=1)[-1] == Deadline("restart_due", 615.0)
    assert life.memory.crashes == (10.0, 20.0, 599.0, 600.0)


def test_without_restarts_the_first_crash_opens_the_breaker() -> None:
    life = lived(*RUNNING, memory=Memory(restart=False))
    assert ReleaseOwnership() in life.step("exited", 2.0, status=1)
    assert life.state == "broken"


def test_a_crash_rejects_what_waits_but_never_a_policy() -> None:
    life = lived(*RUNNING, ask("pause", 1), ask("apply-policy", 2, 8), ask("resume", 3))
    effects = life.step("exited", 2.0, status=0)
    assert [effect for effect in effects if isinstance(effect, RejectAck | ResolveAck)] == [
        RejectAck(1, EXITED),
        ResolveAck(2),
        RejectAck(3, EXITED),
    ]
    assert effects[-2:] == (Deadline("ack_overdue", None), Deadline("restart_due", 3.0))


def test_our_own_failing_handler_counts_as_a_crash_and_keeps_its_reason() -> None:
    life = lived(*RUNNING)
    assert life.step("handler_failed", 2.0, detail="disk full") == (
        ReportDegraded("host-message-handler-error", "disk full"),
        Terminate(),
        Deadline("grace_over", 3.5),
    )
    assert life.state == "failing"
    assert life.step("exited", 2.5, status=-15) == (Deadline("grace_over", None), Deadline("restart_due", 3.5))
    assert (life.state, life.memory.reason, life.memory.crashes) == ("backoff", "host-message-handler-error", (2.5,))
    asleep = lived(*RUNNING, say("degraded", reason="sleep"))
    assert degraded(asleep.step("handler_failed", 2.0, detail="disk full")) == []
    assert asleep.memory.reason == "sleep"


def test_spawning_that_fails() -> None:
    first = lived(("start", {}))
    assert first.step("spawn_failed", 1.0, detail="no such file") == (
        ReportDegraded("collector-spawn-failed", "no such file"),
        ReleaseOwnership(),
    )
    assert first.state == "broken"
    again = lived(*RUNNING, ("exited", {"status": 1}), ("restart_due", {}))
    assert again.step("spawn_failed", 3.0, detail="no such file") == (
        ReportDegraded("collector-spawn-failed", "no such file"),
        Deadline("restart_due", 5.0),
    )
    assert again.state == "backoff"
    unpiped = lived(("start", {}), ask("pause", 5))
    assert unpiped.step("spawned", 1.0, piped=False) == (
        ReportDegraded("collector-stdio-missing", "collector requires piped stdio"),
        RejectAck(5, "collector requires piped stdio"),
        Terminate(),
        Deadline("grace_over", 2.5),
    )
    unpiped.step("exited", 1.2, status=-15)
    assert unpiped.state == "broken"


# stop, start, recover


def test_the_two_waits_of_a_stop() -> None:
    life = lived(*RUNNING, ("stop", {"reason": "plugin-dispose"}))
    assert life.step("grace_over", 2.5) == (Terminate(), Deadline("grace_over", 4.0))
    assert life.state == "terminating"
    assert life.step("grace_over", 4.0) == (
        Terminate(force=True),
        ReportDegraded("collector-exit-unconfirmed", "the collector did not confirm its exit"),
        ReleaseOwnership(),
        DrainMessages(15.0),
    )
    assert life.state == "stopped"


def test_a_stop_in_progress_is_not_begun_again_and_the_hosts_word_outweighs_a_failure() -> None:
    life = lived(*START, ("ack_overdue", {}))
    assert life.step("stop", 2.0, reason="host-shutdown") == ()
    assert life.step("stop", 2.0, reason="protocol-error") == ()
    life.step("exited", 2.1, status=0)
    assert life.state == "stopped"


def test_stop_rejects_what_waits() -> None:
    life = lived(*START, ask("resume", 4))
    assert after(life, ("stop", {"reason": "host-shutdown"})) == [
        RejectAck(0, STOPPED),
        RejectAck(4, STOPPED),
        SendShutdown("host-shutdown"),
        CloseStdin(),
    ]


@pytest.mark.parametrize(("before", "effects"), [((), (ReleaseOwnership(),)), ((*RUNNING, ("exited", {"status": 1})), None)])
def test_stop_without_a_process_only_releases_the_ownership(before: Any, effects: Any) -> None:
    life = lived(*before)
    expected = effects or (Deadline("restart_due", None), ReleaseOwnership())
    assert life.step("stop", 2.0, reason="host-shutdown") == expected
    assert life.state == "stopped"


def test_the_ownership_is_released_once() -> None:
    life = lived(("start", {}), ("spawn_failed", {"detail": ""}))
    assert life.step("stop", 2.0, reason="host-shutdown") == ()


def test_stop_while_spawning_stops_the_newborn() -> None:
    life = lived(("start", {}), ("stop", {"reason": "host-shutdown"}))
    assert life.state == "spawning"
    assert life.step("spawned", 2.0, piped=True) == (SendShutdown("host-shutdown"), CloseStdin(), Deadline("grace_over", 3.5))
    unborn = lived(("start", {}), ("stop", {"reason": "host-shutdown"}))
    assert ReleaseOwnership() in unborn.step("spawn_failed", 2.0, detail="")
    assert unborn.state == "stopped"


@pytest.mark.parametrize("state", ["spawning", "hello", *SERVING, "failing", "backoff", "stopping", "terminating"])
def test_start_is_refused_while_there_is_a_process_or_a_restart_due(state: str) -> None:
    with pytest.raises(IllegalEvent) as refused:
        Manager.restore(state).step("start", 1.0)
    assert refused.value.code == "collector-start-refused"


@pytest.mark.parametrize("state", ["spawning", "hello", *SERVING, "failing", "stopping", "terminating"])
def test_recover_is_refused_while_there_is_a_process(state: str) -> None:
    with pytest.raises(IllegalEvent) as refused:
        Manager.restore(state).step("recover", 1.0)
    assert refused.value.code == "collector-recover-refused"


def test_recover_forgets_the_crashes_and_start_does_not() -> None:
    broken = Memory(crashes=(1.0, 2.0), reason="collector-exited", owned=False)
    life = Manager.restore("broken", broken)
    assert life.step("recover", 3.0) == (Spawn(),)
    assert (life.memory.crashes, life.memory.owned, life.memory.reason) == ((), True, "collector-exited")
    started = Manager.restore("broken", broken)
    assert started.step("start", 3.0) == (Spawn(),)
    assert started.memory.crashes == (1.0, 2.0)
    waiting = lived(*RUNNING, ("exited", {"status": 1}))
    assert waiting.step("recover", 3.0) == (Deadline("restart_due", None), Spawn())
    unused = Manager()
    assert unused.step("recover", 3.0) == (Spawn(),)
    assert (unused.state, unused.memory) == ("spawning", Memory())


def test_the_words_of_a_fatal_are_marked_as_the_collectors_own() -> None:
    shown = lived(*RUNNING).step("fatal_received", 9.0, code="a title", message="of a window")[0]
    assert shown == ReportDegraded("a title", "of a window", quoted=True)
    assert not ReportDegraded("protocol-error", "").quoted


def test_nothing_is_spawned_beside_a_process_that_may_still_live() -> None:
    life = lived(*START, ("ack_overdue", {}), ("grace_over", {}), ("grace_over", {}))
    assert life.state == "broken"
    for event in ("start", "recover"):
        with pytest.raises(IllegalEvent):
            life.step(event, 9.0)
    assert life.step("exited", 10.0, status=-9) == ()
    assert life.step("recover", 11.0) == (Spawn(),)


# the queue of controls


def test_apply_policy_pauses_what_runs_and_resumes_it() -> None:
    life = lived(*RUNNING)
    assert after(life, ask("apply-policy", 1, 8)) == [SendPause()]
    assert after(life, say("paused")) == [SendConfigure(8)]
    assert after(life, acknowledge(8)) == [SendResume()]
    assert after(life, say("running")) == [ResolveAck(1)]
    assert (life.state, life.memory.policy, life.memory.deadline) == ("running", 8, "")


@pytest.mark.parametrize("report", ["paused", "permission-required", "degraded"])
def test_apply_policy_configures_in_place_what_does_not_run(report: str) -> None:
    life = lived(*START, say(report), acknowledge(7))
    assert after(life, ask("apply-policy", 1, 8)) == [SendConfigure(8)]
    assert after(life, acknowledge(8)) == [ResolveAck(1)]
    assert life.state == report


def test_a_pause_behind_a_policy_makes_it_apply_without_resuming() -> None:
    life = lived(*RUNNING)
    assert after(life, ask("apply-policy", 1, 8), ask("pause", 2)) == [SendPause()]
    assert after(life, say("paused")) == [SendConfigure(8)]
    assert after(life, acknowledge(8)) == [ResolveAck(1), SendPause(), ResolveAck(2)]
    assert life.state == "paused"


def test_controls_run_one_at_a_time_in_the_order_asked() -> None:
    life = lived(*RUNNING)
    assert after(life, ask("pause", 1), ask("resume", 2), ask("apply-policy", 3, 9)) == [SendPause()]
    assert after(life, say("paused")) == [ResolveAck(1), SendResume()]
    assert after(life, say("running")) == [ResolveAck(2), SendPause()]
    assert after(life, say("paused")) == [SendConfigure(9)]


def test_what_is_already_true_is_written_and_not_waited_for() -> None:
    life = lived(*RUNNING, say("paused"))
    assert life.step("control", 2.0, kind="pause", ticket=1) == (SendPause(), ResolveAck(1))
    assert life.memory.deadline == ""
    assert after(life, say("paused")) == []


def test_resume_is_true_without_permission_too() -> None:
    life = lived(*RUNNING, say("paused"), ask("resume", 1))
    assert after(life, say("degraded", reason="sleep")) == []
    assert after(life, say("permission-required")) == [ResolveAck(1)]
    assert life.memory.controls.awaiting is None


def test_paused_before_hello_means_paused_before_configured() -> None:
    life = lived(("start", {}), ask("pause", 1), ("spawned", {"piped": True}))
    assert after(life, ("hello_received", {"revision": 7})) == [SendPause()]
    assert after(life, say("running")) == []
    assert after(life, say("paused")) == [SendConfigure(7)]
    assert after(life, acknowledge(7)) == [ResolveAck(0), SendPause(), ResolveAck(1)]
    assert life.state == "paused"


def test_a_restarted_collector_is_paused_again() -> None:
    life = lived(*RUNNING, ask("pause", 1), say("paused"), ("exited", {"status": 1}), ("restart_due", {}), ("spawned", {"piped": True}))
    assert after(life, ("hello_received", {"revision": 7})) == [SendPause()]


@pytest.mark.parametrize("state", ["idle", "backoff", "broken", "stopping", "terminating", "failing"])
def test_where_nobody_can_be_told_the_wish_is_kept_and_answered(state: str) -> None:
    life = Manager.restore(state)
    assert life.step("control", 1.0, kind="pause", ticket=1) == (ResolveAck(1),)
    assert life.memory.controls == Controls(desired="paused")
    assert life.step("control", 1.0, kind="apply-policy", ticket=2, revision=3) == (ResolveAck(2),)
    assert life.memory.controls == Controls(desired="paused")
    assert life.step("control", 1.0, kind="resume", ticket=3) == (ResolveAck(3),)
    assert life.memory.controls == Controls(desired="running")
    assert life.state == state


def test_each_command_has_its_own_five_seconds() -> None:
    life = lived(*RUNNING)
    assert life.step("control", 10.0, kind="apply-policy", ticket=1, revision=8)[-1] == Deadline("ack_overdue", 15.0)
    assert life.step("control", 11.0, kind="pause", ticket=2) == ()
    assert life.step("state_reported", 12.0, report="paused", trusted=True)[-1] == Deadline("ack_overdue", 17.0)
    assert life.step("state_reported", 13.0, report="paused", trusted=True) == (ReportState("paused", True, ""),)
    assert life.step("policy_acknowledged", 14.0, revision=8)[-1] == Deadline("ack_overdue", None)


def test_an_ack_deadline_that_nothing_waits_for_is_illegal() -> None:
    life = lived(*RUNNING)
    with pytest.raises(IllegalEvent):
        life.step("ack_overdue", 9.0)


def test_a_failed_write_answers_the_asker() -> None:
    life = lived(*RUNNING, ask("pause", 1))
    assert RejectAck(1, "collector is not writable") in life.step("write_failed", 2.0, command="pause", detail="EPIPE")
    policy = lived(*RUNNING, ask("apply-policy", 1, 8))
    assert ResolveAck(1) in policy.step("write_failed", 2.0, command="pause", detail="EPIPE")


def test_the_memory_of_a_step_is_a_new_value() -> None:
    life = lived(*RUNNING)
    before = life.memory
    kept = replace(before)
    life.step("control", 2.0, kind="pause", ticket=1)
    assert before == kept
    assert life.memory.controls.queue == (Control("pause", 1),)
