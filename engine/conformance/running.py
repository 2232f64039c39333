"""One conformance run, whatever the protocol: its plan, its `termwright/run` lifecycle up to the verdict, and the report.

suite.py and collector_suite.py call `run_checks` with their checks.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from ...errors import Unavailable
from ...machines.termwright.run import EVENT_TO, Run
from .findings import Check, Finding, Outcome, Report, Silent, failed, verdict_of

#: How a scenario tells what one of its checks found.
Tell: TypeAlias = Callable[[str, Finding], None]


class Subject(Protocol):
    """What the scenarios of one run share. `adapter` and `announced` are known once it has said hello."""

    program: tuple[str, ...]
    adapter: str
    announced: tuple[str, ...]


L = TypeVar("L", bound=Subject)


@dataclass(frozen=True)
class ScenarioOf(Generic[L]):
    """Some checks, and one run of the program (or several) that answers them.

    `run` tells one finding for each of `checks`; what it leaves out when the program fell silent has failed for that reason.
    """

    checks: tuple[Check, ...]
    run: Callable[[L, Tell], Awaitable[None]]


@dataclass(frozen=True)
class Wish:
    """What the caller of a run asks for.

    `declared`: the names of checks to why this program deviates there; such a check may fail. `only`: the names of the checks to run,
    none for all. `tell` gets each outcome as it is known.
    """

    declared: Mapping[str, str]
    only: Collection[str] = ()
    tell: Callable[[Outcome], None] = lambda outcome: None


async def run_checks(
    protocol: str,
    lab: L,
    plan: Sequence[ScenarioOf[L]],
    wish: Wish,
    *,
    alone: ScenarioOf[L],
    workers: int,
    last: Collection[str] = (),
    concluded: Callable[[L, Tell], None] = lambda lab, tell: None,
) -> Report:
    """Run the scenarios of `plan` and return the report: `alone` first and by itself, the others a few at a time.

    The checks named in `last` belong to `alone` but are told at the end, by `concluded`: they look at all that was seen, so that every
    scenario runs when one of them is wanted. A cancellation of the calling task does not come out: it ends the run, whose verdict is then
    `cancelled`.
    """
    return await _Running(protocol, lab, tuple(plan), wish, alone, workers, frozenset(last), concluded).report()


class _Running(Generic[L]):
    def __init__(
        self,
        protocol: str,
        lab: L,
        plan: tuple[ScenarioOf[L], ...],
        wish: Wish,
        alone: ScenarioOf[L],
        workers: int,
        last: frozenset[str],
        concluded: Callable[[L, Tell], None],
    ) -> None:
        self._protocol, self._lab, self._everything, self._wish = protocol, lab, plan, wish
        self._alone, self._workers, self._last, self._concluded = alone, workers, last, concluded
        self._order = {check.name: place for place, check in enumerate(check for scenario in plan for check in scenario.checks)}
        self._run = Run()
        self._started = time.monotonic()
        self._started_ms = time.time_ns() // 1_000_000
        self._history = [(self._run.state, 0.0)]
        self._outcomes: list[Outcome] = []
        self._trouble = ""

    async def report(self) -> Report:
        try:
            self._step("collecting")
            plan = self._plan()
            self._step("scheduled")
            self._step("running")
            await self._play(plan)
            self._step("finalizing")
            self._step(verdict_of(self._outcomes))
        except* asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            self._step("cancelling")
            self._step("finalizing")
            self._step("cancelled")
        except* Unavailable as missing:
            self._trouble = "; ".join(map(str, missing.exceptions))
            self._step("infrastructure-failed")
        except* Exception as crash:  # a fault of the suite itself: the report must say so instead of a verdict over checks
            self._trouble = "".join(traceback.format_exception(crash))
            self._step("crashed")
        return Report(
            self._lab.program,
            self._lab.adapter,
            self._lab.announced,
            tuple(sorted(self._outcomes, key=lambda outcome: self._order[outcome.check.name])),
            tuple(self._history),
            self._started_ms,
            self._trouble,
            self._protocol,
        )

    def _plan(self) -> list[ScenarioOf[L]]:
        if any(self._wants(check) for check in self._alone.checks if check.name in self._last):
            return list(self._everything)
        wanted = [scenario for scenario in self._everything if any(self._wants(check) for check in scenario.checks)]
        if not wanted:
            raise Unavailable("no check is left to run", "claims need a fixture manifest")
        return wanted

    def _wants(self, check: Check) -> bool:
        return not self._wish.only or check.name in self._wish.only

    async def _play(self, plan: list[ScenarioOf[L]]) -> None:
        """`alone` alone, since nothing else should make it slow; the others a few at a time."""
        room = asyncio.Semaphore(self._workers)

        async def played(scenario: ScenarioOf[L]) -> None:
            async with room:
                await self._scenario(scenario)

        if self._alone in plan:
            await self._scenario(self._alone)
        async with asyncio.TaskGroup() as group:
            for scenario in plan:
                if scenario is not self._alone:
                    group.create_task(played(scenario))
        found: dict[str, Finding] = {}
        self._concluded(self._lab, found.__setitem__)
        for scenario in plan:
            for check in scenario.checks:
                if check.name in self._last and self._wants(check):
                    self._found(check, found[check.name], 0.0)

    async def _scenario(self, scenario: ScenarioOf[L]) -> None:
        found: dict[str, Finding] = {}
        started = self._now()
        try:
            await scenario.run(self._lab, found.__setitem__)
            missing = "the scenario told nothing"
        except Silent as silent:
            missing = str(silent)
        seconds = self._now() - started
        for check in scenario.checks:
            if self._wants(check) and check.name not in self._last:
                self._found(check, found.get(check.name) or failed(missing), seconds)
                seconds = 0.0

    def _found(self, check: Check, finding: Finding, seconds: float) -> None:
        reason = self._wish.declared.get(check.name)
        if reason is not None and finding.result in ("fail", "unproved"):
            finding = Finding("declared", f"{reason} (seen: {finding.detail})")
        outcome = Outcome(check, finding, seconds)
        self._outcomes.append(outcome)
        self._wish.tell(outcome)

    def _now(self) -> float:
        return time.monotonic() - self._started

    def _step(self, state: str) -> None:
        self._run.step(EVENT_TO[state], self._now())
        self._history.append((self._run.state, self._now()))
