"""The termwright suite: which scenarios there are. The command calls `run_suite`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from .claims import CLAIMS
from .environment import DORMANT, LEAVING
from .findings import Check, Outcome, Report
from .fixture import Fixture
from .misbehaviour import MISBEHAVIOUR
from .ordinary import UNDISTURBED
from .running import Wish, run_checks
from .scenario import Scenario
from .stage import Lab

PROTOCOL = "termwright/3"
#: Scenarios that run at the same time: most of a scenario is waiting. One when they would share an events file.
WORKERS = 3

PLAN: tuple[Scenario, ...] = (UNDISTURBED, *MISBEHAVIOUR, DORMANT, LEAVING)
#: Every check by name; the claims are checked only with a fixture.
CHECKS: Mapping[str, Check] = {check.name: check for scenario in (*PLAN, *CLAIMS) for check in scenario.checks}


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
    return await run_checks(
        PROTOCOL,
        Lab(tuple(program), fixture or Fixture()),
        PLAN if fixture is None else (*PLAN, *CLAIMS),
        Wish(declared or {}, only, tell),
        alone=UNDISTURBED,
        workers=1 if fixture is not None and fixture.events is not None else WORKERS,
    )
