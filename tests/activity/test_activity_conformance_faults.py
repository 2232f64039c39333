"""Every check of the collector suite is shown able to fail, by a collector that breaks just its rule; nothing else goes red then."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from collector_kit import COLLECTOR, PROGRAMS, faulty, run_suite, run_suites
from conformance_kit import details, results
from triptych.engine.conformance.collector_suite import CHECKS
from triptych.engine.conformance.findings import Report

FAULTS: dict[str, tuple[str, ...]] = runpy.run_path(str(PROGRAMS / "broken_collector.py"))["FAULTS"]
CASES = [(check, fault) for check, faults in FAULTS.items() for fault in faults]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    folder: Path = tmp_path_factory.mktemp("runs")
    return run_suites({fault: faulty(fault, folder) for _, fault in CASES})


def test_every_check_has_a_fault() -> None:
    assert set(FAULTS) == set(CHECKS) - {"fixture-hook"}, "a collector without the hook is skipped there, which the next file shows"


@pytest.mark.parametrize(("check", "fault"), CASES, ids=[fault for _, fault in CASES])
def test_the_fault_is_found_and_nothing_else_is(broken: dict[str, Report], check: str, fault: str) -> None:
    report = broken[fault]
    assert report.trouble == ""
    red = {name: detail for name, detail in details(report).items() if results(report)[name] != "pass"}
    assert set(red) == {check}, red
    assert results(report)[check] == "fail"
    assert report.verdict == "failed"
    assert not report.certifies(())


def test_the_unbroken_collector_passes_whole() -> None:
    report = run_suite(COLLECTOR)
    assert {name: detail for name, detail in details(report).items() if results(report)[name] != "pass"} == {}
    assert set(results(report)) == set(CHECKS)
    assert report.certifies(())
    assert [state for state, _ in report.history] == ["requested", "collecting", "scheduled", "running", "finalizing", "passed"]
