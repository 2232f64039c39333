"""The collector suite: which scenarios there are. The command calls `run_collector_suite`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ...machines.collector.adapter_table import BUILT_IN, AdapterTable
from .collector_commands import COMMANDS, UNDISTURBED, Scenario
from .collector_fixtures import FIXTURES
from .collector_rules import RULES
from .collector_stage import Lab, Timing
from .findings import Check, Outcome, Report
from .running import Tell, Wish, run_checks

PROTOCOL = "collector v1"
#: Scenarios that run at the same time: most of a scenario is waiting.
WORKERS = 4

PLAN: tuple[Scenario, ...] = (UNDISTURBED, *COMMANDS, FIXTURES)
#: Every check by name.
CHECKS: Mapping[str, Check] = {check.name: check for scenario in PLAN for check in scenario.checks}


async def run_collector_suite(
    program: Sequence[str],
    *,
    timing: Timing | None = None,
    table: AdapterTable = BUILT_IN,
    env: Mapping[str, str] | None = None,
    declared: Mapping[str, str] | None = None,
    only: Collection[str] = (),
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> Report:
    """Run every check (or `only` these) on the collector that `program` starts; `tell` gets each outcome as it is known.

    `timing`: other times than the protocol's. `table`: the applications that are let in before a real desktop. `env`: the environment of
    the collector, None for that of this process. `declared` maps the names of checks to why this collector deviates there: such a check
    may fail. A cancellation of the calling task does not come out: it ends the run, whose verdict is then `cancelled`.
    """
    return await run_checks(
        PROTOCOL,
        Lab(tuple(program), timing or Timing(), table, env),
        PLAN,
        Wish(declared or {}, only, tell),
        alone=UNDISTURBED,
        workers=WORKERS,
        last={check.name for check, _ in RULES},
        concluded=_concluded,
    )


def _concluded(lab: Lab, tell: Tell) -> None:
    for check, judge in RULES:
        tell(check.name, judge(lab))
