"""The life of a run, against the protocol's own list of transitions."""

from __future__ import annotations

import pytest

from triptych.errors import IllegalEvent, LocalProtocolError
from triptych.machines.termwright.run import EVENT_TO, RUN_STATES, VERDICTS, Conclude, Run, validate_transition

TERMINAL = ["passed", "passed-with-skips", "failed", "skipped", "cancelled", "infrastructure-failed", "crashed", "incomplete", "flaky"]
ALLOWED = {
    "requested": ["collecting", "cancelling", "infrastructure-failed"],
    "collecting": ["scheduled", "cancelling", "infrastructure-failed", "incomplete"],
    "scheduled": ["running", "cancelling", "finalizing", "infrastructure-failed", "incomplete"],
    "running": ["cancelling", "finalizing", "infrastructure-failed", "crashed", "incomplete"],
    "cancelling": ["finalizing", "cancelled", "infrastructure-failed", "incomplete"],
    "finalizing": TERMINAL,
    **{verdict: [] for verdict in TERMINAL},
}


def test_the_fifteen_states() -> None:
    assert sorted(RUN_STATES) == sorted(ALLOWED)
    assert sorted(VERDICTS) == sorted(TERMINAL)
    assert len(RUN_STATES) == 15
    assert set(EVENT_TO) == set(ALLOWED) - {"requested"}
    assert len(set(EVENT_TO.values())) == 14


@pytest.mark.parametrize("source", list(ALLOWED))
@pytest.mark.parametrize("target", list(ALLOWED))
def test_the_validator_and_the_chart_allow_the_same(source: str, target: str) -> None:
    run = Run.restore(source)
    if target in ALLOWED[source]:
        validate_transition(source, target)
        effects = run.step(EVENT_TO[target], 2.5)
        assert run.state == target
        assert run.memory.moved_at == 2.5
        assert effects == ((Conclude(target),) if target in TERMINAL else ())
        return
    with pytest.raises(LocalProtocolError) as refused:
        validate_transition(source, target)
    assert refused.value.code == "illegal-run-transition"
    if target != "requested":
        with pytest.raises(IllegalEvent) as illegal:
            run.step(EVENT_TO[target], 2.5)
        assert illegal.value.code == "illegal-run-transition"
        assert (run.state, run.memory.moved_at) == (source, None)


@pytest.mark.parametrize(
    ("source", "target", "at"),
    [
        ("nowhere", "running", "source"),
        ("scheduled", "nowhere", "target"),
        ("nowhere", "nowhere", "source"),
        ("passed", "passed_with_skips", "target"),
        ("", "running", "source"),
        (None, "running", "source"),
        ("scheduled", ["running"], "target"),
        (3, {}, "source"),
    ],
)
def test_what_is_no_state_is_said_first(source: object, target: object, at: str) -> None:
    with pytest.raises(LocalProtocolError) as refused:
        validate_transition(source, target)
    assert (refused.value.code, refused.value.path) == ("invalid-run-state", at)
