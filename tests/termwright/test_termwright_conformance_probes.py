"""The two Textual probes under the whole suite, their claims included: the published one with its declared deviations, ours with none."""

from __future__ import annotations

import asyncio
import json

import pytest

from conformance_kit import FORM, OUR_PROBE, PROGRAMS, PYPI_PROBE, details, fixture, results
from triptych.engine.conformance.findings import Report
from triptych.engine.conformance.suite import run_suite

pytestmark = pytest.mark.slow

#: What the published probe does not announce.
NOT_ANNOUNCED = {"delta-applies", "delta-chain", "log-order", "log-budget", "log-unbudgeted"}


@pytest.fixture(scope="module")
def reports() -> tuple[Report, Report]:
    declared = json.loads((PROGRAMS / "pypi_probe.deviations.json").read_text())
    manifest = fixture("claims_form")

    async def both() -> tuple[Report, Report]:
        return await asyncio.gather(
            run_suite((*PYPI_PROBE, *FORM), fixture=manifest, declared=declared),
            run_suite((*OUR_PROBE, *FORM, "--forward-logs"), fixture=manifest),
        )

    return asyncio.run(both())


def test_the_published_probe_passes_with_its_declared_deviations(reports: tuple[Report, Report]) -> None:
    report = reports[0]
    told = results(report)
    assert {name for name, result in told.items() if result in ("fail", "unproved")} == set(), details(report)
    assert {name for name, result in told.items() if result == "declared"} == {"resync-foreign"}
    assert report.skips == NOT_ANNOUNCED
    assert report.verdict == "passed-with-skips"
    assert report.certifies(NOT_ANNOUNCED)
    assert report.adapter.startswith("textual-probe ")


def test_our_probe_passes_every_check(reports: tuple[Report, Report]) -> None:
    report = reports[1]
    assert {name: details(report)[name] for name, result in results(report).items() if result != "pass"} == {}
    assert report.verdict == "passed"
    assert report.certifies(())
