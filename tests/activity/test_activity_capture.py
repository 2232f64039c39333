"""What a host remembers of its capture: what waits and what is dropped, what counts under which state, and the word that health shows."""

from __future__ import annotations

import msgspec
import pytest

from triptych.generated.collector.models import CollectorStateName, CompanionHealth, Hello
from triptych.generated.collector.vocabulary import CAPTURE_WORD
from triptych.machines.collector.capture import HELD, Capture
from triptych.machines.collector.controls import Desired
from triptych.machines.collector.effects import ReportDegraded, ReportState
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.gates import Admitted, Rulebook
from triptych.machines.collector.manager import Manager
from triptych.machines.collector.policy import Policy, allow_app
from triptych.machines.collector.unknown_fields import UnknownFields

NOW_MS = 1_791_000_000_000
HELLO = Hello(v=1, capabilities=(), platform="linux", arch="x64", collector_session="s", collector_version="1")


def facts(seq: int) -> Facts:
    return Facts(session="s", seq=seq, observed_at_ms=NOW_MS, pid=7, bundle_id="code.desktop", adapter="vscode", provider="at-spi")


@pytest.fixture
def capture() -> Capture:
    return Capture(Rulebook(Policy().replaced((allow_app("code.desktop"),))), UnknownFields())


def test_what_waits_for_its_policy_is_bounded_and_the_rest_is_counted(capture: Capture) -> None:
    for seq in range(HELD + 3):
        assert capture.take(facts(seq), NOW_MS, state="configuring", desired="running") is None
    assert capture.refusals == {"collector-not-running": 3}
    waited = capture.release()
    assert [each.seq for each in waited] == list(range(HELD))
    assert capture.release() == ()
    assert all(capture.take(each, NOW_MS, state="running", desired="running") is not None for each in waited)


def test_another_process_inherits_nothing_that_waited(capture: Capture) -> None:
    capture.take(facts(1), NOW_MS, state="configuring", desired="running")
    capture.report(ReportState("running", True, ""))
    capture.begin()
    assert capture.release() == ()
    health = capture.health("running", HELLO, None)
    assert (health.capture, health.reason, health.accessibility_trusted) == ("degraded", "collector-starting", None)


def test_in_every_state_of_the_manager_an_observation_is_stored_held_or_counted(capture: Capture) -> None:
    stored = {
        state.value for state in Manager.states if capture.take(facts(1), NOW_MS, state=str(state.value), desired="running") is not None
    }
    assert stored == {"running", "paused", "permission-required", "degraded"}
    assert len(capture.release()) == 1
    assert capture.refusals == {"collector-not-running": len(Manager.states) - len(stored) - 1}


@pytest.mark.parametrize(
    ("state", "desired", "reason"),
    [("running", "paused", "capture-paused"), ("backoff", "paused", "capture-paused"), ("backoff", "running", "collector-not-running")],
)
def test_a_pause_counts_from_the_moment_it_is_desired(capture: Capture, state: str, desired: Desired, reason: str) -> None:
    assert capture.take(facts(1), NOW_MS, state=state, desired=desired) is None
    assert capture.refusals == {reason: 1}


@pytest.mark.parametrize("said", ["running", "paused", "permission-required", "degraded"])
@pytest.mark.parametrize("state", [str(state.value) for state in Manager.states])
def test_the_word_of_health(capture: Capture, state: str, said: CollectorStateName) -> None:
    capture.report(ReportState(said, True, "why"))
    health = capture.health(state, HELLO, None)
    assert health.capture in CAPTURE_WORD
    if state in ("idle", "stopped"):
        assert (health.capture, health.reason) == ("stopped", None)
    elif state in ("spawning", "hello", "configuring"):
        assert (health.capture, health.reason) == ("degraded", "why" if said == "degraded" else "collector-starting")
    else:
        assert (health.capture, health.reason) == (said, "why")


def test_a_degradation_is_shown_while_another_process_starts_and_trust_stays_as_it_was(capture: Capture) -> None:
    capture.report(ReportState("running", True, ""))
    capture.report(ReportDegraded("collector-exited", "status 3"))
    for state in ("backoff", "spawning", "broken"):
        health = capture.health(state, HELLO, 5)
        assert (health.capture, health.reason, health.accessibility_trusted) == ("degraded", "collector-exited", True)
        assert health.maintenance is not None and health.maintenance.retention == "failed"


def test_a_capture_that_lets_nothing_in_says_so() -> None:
    capture = Capture(Rulebook(), UnknownFields())
    capture.report(ReportState("running", True, ""))
    assert capture.health("running", HELLO, None).reason == "no-apps-allowed"
    assert capture.health("starting", None, None).reason == "no-apps-allowed"
    assert capture.health("running", HELLO, None, desired="paused").reason is None
    capture.report(ReportState("running", True, "wake"))
    assert capture.health("running", HELLO, None).reason == "no-apps-allowed"
    capture.report(ReportState("permission-required", False, "no bus"))
    assert capture.health("permission-required", HELLO, None).reason == "no bus"


def test_before_the_first_word_of_a_collector_health_says_why_nothing_is_stored(capture: Capture) -> None:
    assert Capture(Rulebook(), UnknownFields()).health("hello", None, None).reason == "no-apps-allowed"
    assert capture.health("hello", None, None).reason == "collector-starting"
    capture.owned = False
    health = capture.health("broken", None, None)
    assert (health.capture, health.reason) == ("degraded", "capture-owned-by-another-host")
    capture.report(ReportDegraded("collector-exited", "status 3"))
    assert capture.health("broken", None, None).reason == "collector-exited", "a reason of its own comes first"


def test_a_sentence_of_the_host_is_shown_beside_its_reason_and_none_of_a_collector(capture: Capture) -> None:
    capture.report(ReportDegraded("host-message-handler-error", "storage-full: the disk is full"))
    assert capture.health("failing", HELLO, None).detail == "storage-full: the disk is full"
    capture.report(ReportDegraded("Salary.ods", "Salary.ods", quoted=True))
    assert capture.health("stopping", HELLO, None).detail is None
    capture.report(ReportDegraded("collector-exited", "status 3"))
    capture.report(ReportState("running", True, ""))
    assert capture.health("running", HELLO, None).detail is None


def test_health_shows_the_companion_intake_when_there_is_one(capture: Capture) -> None:
    assert capture.health("running", HELLO, None).companion is None
    said = CompanionHealth(
        listening=True,
        port=19388,
        paired=True,
        editor_paired=False,
        reason=None,
        last_seen_at_ms=5,
        browser_last_seen_at_ms=5,
        editor_last_seen_at_ms=None,
    )
    capture.companion = lambda: said
    assert capture.health("running", HELLO, None).companion == said


def test_what_a_collector_says_under_an_acknowledged_policy_is_judged_though_it_never_said_its_state(capture: Capture) -> None:
    assert capture.take(facts(1), NOW_MS, state="configuring", desired="running", acknowledged=True) is not None
    assert capture.take(facts(2), NOW_MS, state="configuring", desired="paused", acknowledged=True) is None
    assert capture.take(facts(3), NOW_MS, state="backoff", desired="running", acknowledged=True) is None
    assert capture.refusals == {"capture-paused": 1, "collector-not-running": 1}
    assert capture.release() == ()


@pytest.mark.parametrize("state", [str(state.value) for state in Manager.states])
@pytest.mark.parametrize("desired", ["running", "paused"])
@pytest.mark.parametrize("owned", [True, False])
def test_a_companion_is_let_in_by_a_running_capture_only_and_is_told_why_not(
    capture: Capture, state: str, desired: Desired, owned: bool
) -> None:
    capture.owned = owned
    seen = msgspec.structs.replace(facts(1), provider="companion")
    taken = capture.take_companion(seen, NOW_MS, state=state, desired=desired, vouched_root="/work/app")
    if state in ("idle", "stopped"):
        assert taken == "capture-disabled"
    elif not owned:
        assert taken == "capture-not-owned"
    elif desired == "paused":
        assert taken == "capture-paused"
    elif state != "running":
        assert taken == "collector-not-running"
    else:
        assert isinstance(taken, Admitted) and taken.workspace is not None and taken.workspace.root == "/work/app"
        return
    assert capture.refusals == {taken: 1}


def test_a_companion_is_not_told_what_the_policy_refuses(capture: Capture) -> None:
    seen = msgspec.structs.replace(facts(1), provider="companion", document="/work/secrets/a.py")
    assert capture.take_companion(seen, NOW_MS, state="running", desired="running", vouched_root="/work") is None
    assert capture.refusals == {"protected-metadata": 1}
