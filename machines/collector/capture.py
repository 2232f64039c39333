"""What a host remembers of its capture: what it judges by, what waits, what it refused and why, and what health shows. The host calls it.

It judges each observation at the choke point (`gates.admit`) under the state that the manager is in, and counts every refusal by reason.
"""

from __future__ import annotations

from ...generated.collector.models import (
    CaptureWord,
    CollectorIdentity,
    CollectorStateName,
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

HELD = 1024  #: the most observations that wait for the acknowledgement of their policy

_STARTING = ("spawning", "hello", "configuring")
_WORKING = ("running", "paused", "permission-required", "degraded")


class Capture:
    """The judgement, the display and the counters of one host, over all collector processes that it starts.

    `state` is the manager's state, `desired` what its controls want.
    """

    def __init__(self, rules: Rulebook, unknown_fields: UnknownFields) -> None:
        self.rules = rules
        self.unknown_fields = unknown_fields
        self.refusals: dict[str, int] = {}
        self._held: list[Facts] = []
        self._shown: tuple[CollectorStateName, str] | None = None
        self._trusted: bool | None = None

    def begin(self) -> None:
        """Another collector process was started: nothing is known of it, and nothing waits."""
        self._held.clear()
        self._shown, self._trusted = None, None

    def report(self, effect: ReportState | ReportDegraded) -> None:
        """Take in what the manager wants shown."""
        match effect:
            case ReportState(state, trusted, reason):
                self._shown, self._trusted = (state, reason), trusted
            case ReportDegraded(reason):
                self._shown = ("degraded", reason)

    def take(self, facts: Facts, now_ms: int, *, state: str, desired: Desired) -> Admitted | None:
        """What of an observation may be stored; None when nothing may: then it is counted, or waits for its policy to be acknowledged.

        A pause counts from the moment that it is desired, though the collector may not know yet.
        """
        if state == "configuring" and len(self._held) < HELD:
            self._held.append(facts)
            return None
        if state != "configuring" and desired == "paused":
            self.refuse("capture-paused")
            return None
        if state not in _WORKING:
            self.refuse("collector-not-running")
            return None
        verdict = admit(facts, self.rules, now_ms)
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

    def health(self, state: str, hello: Hello | None, sweep_failed_at_ms: int | None) -> Health:
        """The health report. A capture that runs and lets no application in says so, since its record stays empty."""
        word, reason = self._word(state)
        if reason is None and word == "running" and not self.rules.policy.allows_an_app:
            reason = "no-apps-allowed"
        return Health(
            capture=word,
            reason=reason,
            collector=None if hello is None else CollectorIdentity(version=hello.collector_version, arch=hello.arch),
            accessibility_trusted=self._trusted,
            companion=None,
            refusals=RefusalCounts(total=sum(self.refusals.values()), by_reason=dict(self.refusals)),
            unknown_fields=self.unknown_fields.report(),
            maintenance=Maintenance(retention="ok" if sweep_failed_at_ms is None else "failed", last_failure_at_ms=sweep_failed_at_ms),
        )

    def _word(self, state: str) -> tuple[CaptureWord, str | None]:
        if state in ("idle", "stopped"):
            return "stopped", None
        if self._shown is None:
            return "degraded", "collector-starting"
        word, reason = self._shown
        if state in _STARTING:
            return "degraded", reason if word == "degraded" else "collector-starting"
        return word, reason or None
