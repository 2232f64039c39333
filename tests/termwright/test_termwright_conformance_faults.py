"""Every check of the suite is shown able to fail, by an adapter that breaks just its rule, and to pass on the same adapter unbroken."""

from __future__ import annotations

import runpy

import pytest

from conformance_kit import ADAPTER, PROGRAMS, details, fixture, results, run, run_many
from triptych.engine.conformance.findings import Report
from triptych.engine.conformance.suite import CHECKS

FAULTS: dict[str, tuple[str, ...]] = runpy.run_path(str(PROGRAMS / "broken_adapter.py"))["FAULTS"]
CASES = [(check, fault) for check, faults in FAULTS.items() for fault in faults]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broken() -> dict[tuple[str, ...], Report]:
    manifest = fixture("broken_adapter")
    return run_many({case: ((*ADAPTER, "--fault", case[1]), manifest, {case[0]}) for case in CASES})


def test_every_check_has_a_fault() -> None:
    assert set(FAULTS) == set(CHECKS)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_the_fault_is_found(broken: dict[tuple[str, ...], Report], case: tuple[str, str]) -> None:
    report = broken[case]
    assert report.trouble == ""
    assert results(report)[case[0]] in ("fail", "unproved"), details(report)
    assert report.verdict == "failed"
    assert not report.certifies(())


def test_the_whole_adapter_passes() -> None:
    report = run(ADAPTER, manifest=fixture("broken_adapter"))
    assert {name: detail for name, detail in details(report).items() if results(report)[name] != "pass"} == {}
    assert set(results(report)) == set(CHECKS)
    assert report.certifies(())
    assert [state for state, _ in report.history] == ["requested", "collecting", "scheduled", "running", "finalizing", "passed"]
