"""The life of one test run: fifteen states, nine of them verdicts. Run reporters step it; hosts ask `validate_transition`.

    requested ─▶ collecting ─▶ scheduled ─▶ running ─▶ finalizing ─▶ a verdict
        └─────────────┴────────────┴───────────┴─▶ cancelling ─▶ finalizing, or cancelled at once

Rule 1. Every verdict is reached through `finalizing`, but for what cannot be finalized: an infrastructure that failed (from any live
state), a crash (only of what was running), a run left incomplete (once collecting has begun), a cancellation confirmed while cancelling.
Rule 2. A verdict is final. `passed-with-skips` is a verdict of its own: not `passed`, not `skipped`; whether it certifies is the host's
policy.
Rule 3. Each state but the first has one event that leads to it, so "may A become B?" and "is B's event legal in A?" are one question.

The states and their transitions are termwright/3's run-state module. They are not on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass

from statemachine import State

from ...errors import LocalProtocolError
from ..lifecycle import Effect, Lifecycle, Plan, finals, plan, rows, states


@dataclass(frozen=True, slots=True)
class Memory:
    """When the run was last moved, in monotonic seconds; None before its first move."""

    moved_at: float | None = None


@dataclass(frozen=True, slots=True)
class Conclude(Effect):
    """The run has its verdict: report it, and drop what the run held."""

    verdict: str


class Run(Lifecycle[Memory]):
    """One test run, from the request to its verdict; a verdict never changes."""

    initial_memory = Memory()
    refusal = "illegal-run-transition"

    requested = State(initial=True)
    collecting = State()
    scheduled = State()
    running = State()
    cancelling = State()
    finalizing = State()
    passed = State(final=True)
    passed_with_skips = State(value="passed-with-skips", final=True)
    failed = State(final=True)
    skipped = State(final=True)
    cancelled = State(final=True)
    infrastructure_failed = State(value="infrastructure-failed", final=True)
    crashed = State(final=True)
    incomplete = State(final=True)
    flaky = State(final=True)

    collect = collecting.from_(requested, on="move")
    schedule = scheduled.from_(collecting, on="move")
    start = running.from_(scheduled, on="move")
    cancel = cancelling.from_(requested, collecting, scheduled, running, on="move")
    finalize = finalizing.from_(scheduled, running, cancelling, on="move")

    pass_ = passed.from_(finalizing, on="conclude")
    pass_with_skips = passed_with_skips.from_(finalizing, on="conclude")
    fail = failed.from_(finalizing, on="conclude")
    skip = skipped.from_(finalizing, on="conclude")
    confirm_cancel = cancelled.from_(cancelling, finalizing, on="conclude")
    fail_infrastructure = infrastructure_failed.from_(requested, collecting, scheduled, running, cancelling, finalizing, on="conclude")
    crash = crashed.from_(running, finalizing, on="conclude")
    leave_incomplete = incomplete.from_(collecting, scheduled, running, cancelling, finalizing, on="conclude")
    find_flaky = flaky.from_(finalizing, on="conclude")

    def move(self, now: float) -> Plan[Memory]:
        """Remember when the run moved."""
        return plan(Memory(moved_at=now))

    def conclude(self, now: float, target: State) -> Plan[Memory]:
        """Report the verdict; nothing follows it."""
        return plan(Memory(moved_at=now), Conclude(str(target.value)))


RUN_STATES = states(Run)  #: the fifteen words, in the order of the chart
VERDICTS = finals(Run)  #: the nine final ones
EVENT_TO = {row.target: row.event for row in rows(Run)}  #: state → the one event that leads to it


def validate_transition(source: object, target: object) -> None:
    """Whether a run in `source` may become `target`, for states named by others.

    Raises LocalProtocolError: `invalid-run-state` when either is not one of the fifteen words (looked at first), then
    `illegal-run-transition` when the run may not go there (staying where it is included).
    """
    for role, word in (("source", source), ("target", target)):
        if not isinstance(word, str) or word not in RUN_STATES:
            raise LocalProtocolError("invalid-run-state", f"{word!r} is not a run state", role)
    if not any(row.state == source and row.target == target for row in rows(Run)):
        raise LocalProtocolError("illegal-run-transition", f"a run may not go from {source} to {target}", "target")
