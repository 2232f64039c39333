"""What a host remembers of its capture: what it judges by, what it refused and why, and how that is shown as health. The host calls it.

It judges each observation at the choke point (`gates.admit`) under the state that the host is in, and counts every refusal by reason.
"""

from __future__ import annotations

from ...generated.collector.models import (
    CaptureWord,
    CollectorIdentity,
    Health,
    Hello,
    Maintenance,
    RefusalCounts,
)
from .facts import Facts
from .gates import Admitted, Reason, Refused, Rulebook, admit
from .unknown_fields import UnknownFields


class Capture:
    """The judgement and the counters of one host, over all collector processes that it starts."""

    def __init__(self, rules: Rulebook, unknown_fields: UnknownFields) -> None:
        self.rules = rules
        self.unknown_fields = unknown_fields
        self.refusals: dict[str, int] = {}

    def judge(self, facts: Facts, now_ms: int, *, paused: bool = False, running: bool = True) -> Admitted | None:
        """What of an observation may be stored; None when nothing may, which has been counted.

        `paused`: the person wants a pause, though the collector may not know yet. `running`: the collector is at work under our policy.
        """
        if paused or not running:
            self.refuse("capture-paused" if paused else "collector-not-running")
            return None
        verdict = admit(facts, self.rules, now_ms)
        if isinstance(verdict, Refused):
            self.refuse(verdict.reason)
            return None
        return verdict

    def refuse(self, reason: Reason, times: int = 1) -> None:
        """Count what was not stored."""
        if times:
            self.refusals[reason] = self.refusals.get(reason, 0) + times

    def health(
        self, capture: CaptureWord, reason: str | None, trusted: bool | None, hello: Hello | None, sweep_failed_at_ms: int | None
    ) -> Health:
        """The health report. A capture that runs and lets no application in says so, since its record stays empty."""
        if reason is None and capture == "running" and not self.rules.policy.allows_an_app:
            reason = "no-apps-allowed"
        return Health(
            capture=capture,
            reason=reason,
            collector=None if hello is None else CollectorIdentity(version=hello.collector_version, arch=hello.arch),
            accessibility_trusted=trusted,
            companion=None,
            refusals=RefusalCounts(total=sum(self.refusals.values()), by_reason=dict(self.refusals)),
            unknown_fields=self.unknown_fields.report(),
            maintenance=Maintenance(retention="ok" if sweep_failed_at_ms is None else "failed", last_failure_at_ms=sweep_failed_at_ms),
        )
