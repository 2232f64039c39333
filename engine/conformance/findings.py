"""The words of a conformance report: checks, what was found, the whole report and its verdict. The suite fills it; report.py writes it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

Result = Literal["pass", "fail", "unproved", "skip", "declared"]


class Silent(Exception):
    """The program did not do what the rest of a scenario needs: its remaining checks have nothing to look at."""


@dataclass(frozen=True)
class Check:
    """One rule that is checked: a stable name, the clause it comes from, and what must hold in one sentence."""

    name: str
    clause: str
    rule: str


@dataclass(frozen=True)
class Finding:
    """What one check found. `detail` says what was seen, or why nothing could be."""

    result: Result
    detail: str = ""


def passed(detail: str = "") -> Finding:
    """The rule held."""
    return Finding("pass", detail)


def failed(detail: str) -> Finding:
    """The rule was broken."""
    return Finding("fail", detail)


def skipped(reason: str) -> Finding:
    """There was nothing to look at."""
    return Finding("skip", reason)


def unproved(detail: str) -> Finding:
    """A claim was made and nothing demonstrates it, which is a failure."""
    return Finding("unproved", detail)


def judged(faults: Sequence[str], detail: str = "") -> Finding:
    """Failed with the first faults, each told once, or passed."""
    faults = list(dict.fromkeys(faults))
    if not faults:
        return passed(detail)
    more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
    return failed("; ".join(faults[:3]) + more)


@dataclass(frozen=True)
class Outcome:
    """A check with what it found. `seconds` is how long its scenario took, told with the first of its checks and 0 with the others."""

    check: Check
    finding: Finding
    seconds: float


@dataclass(frozen=True)
class Report:
    """One conformance run. `history` is its `termwright/run` lifecycle: each state with the seconds since the start, the verdict last."""

    program: tuple[str, ...]
    adapter: str  #: name and version, "" when it never said hello
    announced: tuple[str, ...]  #: its capabilities
    outcomes: tuple[Outcome, ...]
    history: tuple[tuple[str, float], ...]
    started_ms: int  #: wall clock
    trouble: str = ""  #: why there is no verdict over checks, when there is none
    protocol: str = "termwright/3"

    @property
    def verdict(self) -> str:
        """The last state of the run."""
        return self.history[-1][0]

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.history[-1][1]

    @property
    def skips(self) -> frozenset[str]:
        """The names of the checks that were skipped."""
        return frozenset(outcome.check.name for outcome in self.outcomes if outcome.finding.result == "skip")

    def certifies(self, allowed: Collection[str]) -> bool:
        """Whether nothing failed and exactly the `allowed` checks were skipped."""
        return self.verdict in ("passed", "passed-with-skips", "skipped") and self.skips == frozenset(allowed)


def verdict_of(outcomes: Sequence[Outcome]) -> str:
    """The verdict over finished checks. A declared deviation is neither a failure nor a skip."""
    results = {outcome.finding.result for outcome in outcomes}
    if results & {"fail", "unproved"}:
        return "failed"
    if results == {"skip"}:
        return "skipped"
    return "passed-with-skips" if "skip" in results else "passed"
