"""Our Linux collector passes its whole conformance suite: before a real GTK program on a private display and bus, and without a desktop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from activity_kit import desk
from collector_kit import run_suite
from conformance_kit import details, results
from gtk_kit import GtkForm
from triptych.adapters.collector.adapter_file import read_adapter_table
from triptych.adapters.display import PrivateDisplay
from triptych.engine.activity import collect_command
from triptych.engine.conformance.collector_stage import Timing
from triptych.engine.conformance.collector_stories import STORIES
from triptych.engine.conformance.collector_suite import CHECKS, run_collector_suite
from triptych.engine.conformance.findings import Report

pytestmark = pytest.mark.slow


def assert_passed(report: Report) -> None:
    assert report.trouble == ""
    assert {name: detail for name, detail in details(report).items() if results(report)[name] != "pass"} == {}
    assert set(results(report)) == set(CHECKS)
    assert report.certifies(())


@pytest.mark.display
def test_before_a_real_program(tmp_path: Path, private_display: PrivateDisplay, gtk_program: Callable[..., GtkForm]) -> None:
    with desk(private_display, tmp_path, gtk_program) as here:
        here.form("Conformance")
        report = asyncio.run(
            run_collector_suite(
                collect_command(adapter_table=here.table, enable_accessibility=True), table=read_adapter_table(here.table), env=here.env
            )
        )
    assert_passed(report)
    assert details(report)["state-first"] == "running"
    told = sum(len(story.seen) * len(story.platforms) for story in STORIES) + 2  # two more before and in the pause that must be silent
    assert int(details(report)["sequence-grows"].split()[0]) > told, "the real program was observed too"


def test_without_any_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be observed then, and everything that it says of itself still holds."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    report = run_suite(collect_command(), timing=Timing())
    assert_passed(report)
    assert details(report)["state-first"] == "permission-required"
