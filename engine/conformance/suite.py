"""One conformance run: its plan, its `termwright/run` lifecycle up to the verdict, and the report. The command calls `run_suite`."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence

from ...errors import Unavailable
from ...machines.termwright.run import EVENT_TO, Run
from .claims import CLAIMS
from .environment import DORMANT, LEAVING
from .findings import Check, Finding, Outcome, Report, failed, verdict_of
from .fixture import Fixture
from .misbehaviour import MISBEHAVIOUR
from .ordinary import UNDISTURBED
from .scenario import Scenario
from .stage import Lab, Silent

#: Scenarios that run at the same time: most of a scenario is waiting. One when they would share an events file.
WORKERS = 3

PLAN: tuple[Scenario, ...] = (UNDISTURBED, *MISBEHAVIOUR, DORMANT, LEAVING)
#: Every check by name; the claims are checked only with a fixture.
CHECKS: Mapping[str, Check] = {check.name: check for scenario in (*PLAN, *CLAIMS) for check in scenario.checks}

_ORDER = {name: place for place, name in enumerate(CHECKS)}


async def run_suite(
    program: Sequence[str],
    *,
    fixture: Fixture | None = None,
    declared: Mapping[str, str] | None = None,
    only: Collection[str] = (),
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> Report:
    """Run every check (or `only` these) on `program` and return the report; `tell` gets each outcome as it is known.

    `declared` maps the names of checks to why this adapter deviates there: such a check may fail. A cancellation of the calling task
    does not come out: it ends the run, whose verdict is then `cancelled`.
    """
    return await _Running(tuple(program), fixture, declared or {}, frozenset(only), tell).report()


class _Running:
    def __init__(
        self,
        program: tuple[str, ...],
        fixture: Fixture | None,
        declared: Mapping[str, str],
        only: frozenset[str],
        tell: Callable[[Outcome], None],
    ) -> None:
        self._lab = Lab(program, fixture or Fixture())
        self._proves = fixture is not None
        self._declared, self._only, self._tell = declared, only, tell
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
            tuple(sorted(self._outcomes, key=lambda outcome: _ORDER[outcome.check.name])),
            tuple(self._history),
            self._started_ms,
            self._trouble,
        )

    def _plan(self) -> list[Scenario]:
        scenarios = (*PLAN, *CLAIMS) if self._proves else PLAN
        wanted = [scenario for scenario in scenarios if not self._only or any(check.name in self._only for check in scenario.checks)]
        if not wanted:
            raise Unavailable("no check is left to run", "claims need a fixture manifest")
        return wanted

    async def _play(self, plan: list[Scenario]) -> None:
        """The undisturbed session alone, since nothing else should make it slow; the others a few at a time."""
        room = asyncio.Semaphore(1 if self._lab.fixture.events is not None else WORKERS)

        async def played(scenario: Scenario) -> None:
            async with room:
                await self._scenario(scenario)

        if UNDISTURBED in plan:
            await self._scenario(UNDISTURBED)
        async with asyncio.TaskGroup() as group:
            for scenario in plan:
                if scenario is not UNDISTURBED:
                    group.create_task(played(scenario))

    async def _scenario(self, scenario: Scenario) -> None:
        found: dict[str, Finding] = {}
        started = self._now()
        try:
            await scenario.run(self._lab, found.__setitem__)
            missing = "the scenario told nothing"
        except Silent as silent:
            missing = str(silent)
        seconds = self._now() - started
        for check in scenario.checks:
            if not self._only or check.name in self._only:
                self._found(check, found.get(check.name) or failed(missing), seconds)
                seconds = 0.0

    def _found(self, check: Check, finding: Finding, seconds: float) -> None:
        reason = self._declared.get(check.name)
        if reason is not None and finding.result in ("fail", "unproved"):
            finding = Finding("declared", f"{reason} (seen: {finding.detail})")
        outcome = Outcome(check, finding, seconds)
        self._outcomes.append(outcome)
        self._tell(outcome)

    def _now(self) -> float:
        return time.monotonic() - self._started

    def _step(self, state: str) -> None:
        self._run.step(EVENT_TO[state], self._now())
        self._history.append((self._run.state, self._now()))
