"""What a host remembers of its capture: what it judges by, what waits, what it refused and why, and what health shows. The host calls it.

It judges each observation at the choke point (`gates.admit`) under the state that the manager is in, and counts every refusal by reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ...generated.collector.models import (
    CaptureWord,
    CollectorIdentity,
    CollectorStateName,
    CompanionHealth,
    CompanionRefusal,
    Health,
    Hello,
    Maintenance,
    RefusalCounts,
)
from .controls import Desired
from .effects import ReportDegraded, ReportState
from .facts import Facts
from .gates import Admitted, Reason, Refused, Rulebook, admit
from .unknown_fields import UnknownFields

HealthReason = Literal["capture-owned-by-another-host", "no-apps-allowed", "collector-starting", "storage-locked", "storage-full"]

HELD = 1024  #: the most observations that wait for the acknowledgement of their policy

_STARTING = ("spawning", "hello", "configuring")
_WORKING = ("running", "paused", "permission-required", "degraded")


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of an observation of a companion: whether it is stored, and the reason where a companion may know it."""

    stored: bool
    reason: CompanionRefusal | None = None


class Capture:
    """The judgement, the display and the counters of one host, over all collector processes that it starts.

    `state` is the manager's state, `desired` what its controls want. `owned`: whether this host may capture into its data directory;
    `companion` says what health shows of the companion intake, when there is one. `waits`: why what was admitted is not stored yet.
    """

    def __init__(self, rules: Rulebook, unknown_fields: UnknownFields) -> None:
        self.rules = rules
        self.unknown_fields = unknown_fields
        self.refusals: dict[str, int] = {}
        self.owned = True
        self.companion: Callable[[], CompanionHealth] | None = None
        self.waits: str | None = None
        self._held: list[Facts] = []
        self._shown: tuple[CollectorStateName, str] | None = None
        self._trusted: bool | None = None
        self._detail: str | None = None

    def begin(self) -> None:
        """Another collector process was started: nothing is known of it, and nothing waits."""
        self._held.clear()
        self._shown, self._trusted, self._detail = None, None, None

    def report(self, effect: ReportState | ReportDegraded) -> None:
        """Take in what the manager wants shown."""
        match effect:
            case ReportState(state, trusted, reason):
                self._shown, self._trusted, self._detail = (state, reason), trusted, None
            case ReportDegraded(reason, detail, quoted):
                self._shown, self._detail = ("degraded", reason), None if quoted else detail or None

    def take(self, facts: Facts, now_ms: int, *, state: str, desired: Desired, acknowledged: bool = False) -> Admitted | None:
        """What of an observation may be stored; None when nothing may: then it is counted, or waits for its policy to be acknowledged.

        `acknowledged`: this collector has acknowledged a policy, though it may not have said its state yet. A pause counts from the moment
        that it is desired, though the collector may not know yet.
        """
        waits = state == "configuring" and not acknowledged
        if waits and len(self._held) < HELD:
            self._held.append(facts)
            return None
        if not waits and desired == "paused":
            self.refuse("capture-paused")
            return None
        if state not in _WORKING and not (acknowledged and state == "configuring"):
            self.refuse("collector-not-running")
            return None
        return self.judge(facts, now_ms)

    def take_companion(
        self, facts: Facts, now_ms: int, *, state: str, desired: Desired, vouched_root: str | None
    ) -> Admitted | CompanionRefusal | None:
        """The same for what a paired companion says, which waits for nothing: only a collector that runs lets it in.

        The answer is what may be stored, the reason that a companion is told, or None for a refusal that stays inside.
        """
        reason: CompanionRefusal
        if state in ("idle", "stopped"):
            reason = "capture-disabled"
        elif not self.owned:
            reason = "capture-not-owned"
        elif desired == "paused":
            reason = "capture-paused"
        elif state != "running":
            reason = "collector-not-running"
        else:
            return self.judge(facts, now_ms, vouched_root=vouched_root)
        self.refuse(reason)
        return reason

    def judge(self, facts: Facts, now_ms: int, *, vouched_root: str | None = None) -> Admitted | None:
        """Pass an observation to the gates, and count it when they refuse it."""
        verdict = admit(facts, self.rules, now_ms, vouched_root=vouched_root)
        if isinstance(verdict, Refused):
            self.refuse(verdict.reason)
            return None
        return verdict

    def release(self) -> tuple[Facts, ...]:
        """What has waited, in order, to be taken anew: the policy has been acknowledged."""
        held = tuple(self._held)
        self._held.clear()
        return held

    def refuse(self, reason: Reason, times: int = 1) -> None:
        """Count what was not stored."""
        if times:
            self.refusals[reason] = self.refusals.get(reason, 0) + times

    def health(self, state: str, hello: Hello | None, sweep_failed_at_ms: int | None, *, desired: Desired = "running") -> Health:
        """The health report. A capture that lets no application in says so, since its record stays empty."""
        word, reason = self._word(state)
        said = reason if reason != "wake" or word != "running" else None  # it runs, and there may be more to say than that it woke
        if said is None and word != "stopped":
            reason = self._why_nothing_is_stored(state, desired) or reason
        if self.waits is not None and state in _WORKING:
            word, reason, said = "degraded", self.waits, None
        return Health(
            capture=word,
            reason=reason,
            detail=self._detail if word == "degraded" and said is not None else None,
            collector=None if hello is None else CollectorIdentity(version=hello.collector_version, arch=hello.arch),
            accessibility_trusted=self._trusted,
            companion=None if self.companion is None else self.companion(),
            refusals=RefusalCounts(total=sum(self.refusals.values()), by_reason=dict(self.refusals)),
            unknown_fields=self.unknown_fields.report(),
            maintenance=Maintenance(retention="ok" if sweep_failed_at_ms is None else "failed", last_failure_at_ms=sweep_failed_at_ms),
        )

    def _word(self, state: str) -> tuple[CaptureWord, str | None]:
        """What is shown, and the reason that came with it."""
        if state in ("idle", "stopped"):
            return "stopped", None
        if self._shown is None:
            return "degraded", None
        word, reason = self._shown
        if state in _STARTING and word != "degraded":
            return "degraded", None
        return word, reason or None

    def _why_nothing_is_stored(self, state: str, desired: Desired) -> HealthReason | None:
        """What no state message says: another host captures, no rule lets anything in, the collector has not spoken yet."""
        if not self.owned:
            return "capture-owned-by-another-host"
        if desired != "paused" and not self.rules.policy.allows_an_app:
            return "no-apps-allowed"
        return "collector-starting" if self._shown is None or state in _STARTING else None
