"""Runs of the collector suite on the collectors in tests/programs, several at a time: nearly all of a run is waiting."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from triptych.engine.conformance.collector_stage import Timing
from triptych.engine.conformance.collector_suite import run_collector_suite
from triptych.engine.conformance.findings import Report

PROGRAMS = Path(__file__).parent / "programs"
#: Heartbeats of a fraction of a second, and the patience that a machine needs which does much else.
QUICK = Timing(hello=6.0, ack=6.0, exit=5.0, tick=0.4, hook=5.0)
#: It beats more often than it is waited for: one beat that comes late hides no fault of a heartbeat.
COLLECTOR = (sys.executable, "-S", "-E", str(PROGRAMS / "broken_collector.py"), "--tick", str(QUICK.tick / 4))
AT_ONCE = 8


def faulty(fault: str, folder: Path) -> tuple[str, ...]:
    return (*COLLECTOR, "--fault", fault, "--runs", str(folder / f"{fault}.runs"))


def run_suite(
    program: Sequence[str], *, timing: Timing = QUICK, only: Collection[str] = (), declared: Mapping[str, str] | None = None
) -> Report:
    return asyncio.run(run_collector_suite(program, timing=timing, only=only, declared=declared))


def run_suites(programs: Mapping[str, Sequence[str]]) -> dict[str, Report]:
    """The whole suite on each named program."""

    async def all_of_them() -> dict[str, Report]:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(program: Sequence[str]) -> Report:
            async with room:
                return await run_collector_suite(program, timing=QUICK)

        reports = await asyncio.gather(*map(one, programs.values()))
        return dict(zip(programs, reports, strict=True))

    return asyncio.run(all_of_them())
