"""Runs of the conformance suite on the programs in tests/programs, several at a time: nearly all of a run is waiting."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from triptych.engine.conformance.findings import Report
from triptych.engine.conformance.fixture import Fixture, read_fixture
from triptych.engine.conformance.suite import run_suite

PROGRAMS = Path(__file__).parent / "programs"
ADAPTER = (sys.executable, str(PROGRAMS / "broken_adapter.py"))
FORM = (sys.executable, str(PROGRAMS / "claims_form.py"))
PYPI_PROBE = (sys.executable, "-m", "termwright_probe", "--")
OUR_PROBE = (sys.executable, "-m", "triptych.adapters.termwright.textual_probe", "--")
AT_ONCE = 8


def fixture(name: str) -> Fixture:
    return read_fixture(PROGRAMS / f"{name}.fixture.json")


def results(report: Report) -> dict[str, str]:
    """Check → result."""
    return {outcome.check.name: outcome.finding.result for outcome in report.outcomes}


def details(report: Report) -> dict[str, str]:
    """Check → what was seen."""
    return {outcome.check.name: outcome.finding.detail for outcome in report.outcomes}


def run(
    program: Sequence[str], *, manifest: Fixture | None = None, declared: Mapping[str, str] | None = None, only: Collection[str] = ()
) -> Report:
    return asyncio.run(run_suite(program, fixture=manifest, declared=declared, only=only))


def run_many(runs: Mapping[tuple[str, ...], tuple[Sequence[str], Fixture | None, Collection[str]]]) -> dict[tuple[str, ...], Report]:
    """Each named run: program, manifest, checks."""

    async def all_of_them() -> dict[tuple[str, ...], Report]:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(program: Sequence[str], manifest: Fixture | None, only: Collection[str]) -> Report:
            async with room:
                return await run_suite(program, fixture=manifest, only=only)

        reports = await asyncio.gather(*(one(*given) for given in runs.values()))
        return dict(zip(runs, reports, strict=True))

    return asyncio.run(all_of_them())
