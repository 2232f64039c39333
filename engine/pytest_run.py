"""Follows a pytest session as one `termwright/run`, from `requested` to its verdict, with what was skipped or failed.

pytest_plugin.py registers it. The verdict is told in the terminal summary and in the report; pytest's exit code stays pytest's, but for the
skip policy, where one was given.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from ..machines.termwright.run import Run

#: The way of a run that nothing disturbs: state → the event that leads on.
WAY: Final = {"requested": "collect", "collecting": "schedule", "scheduled": "start"}


class SessionRun:
    """One session. It is followed from the moment when a report was asked for or a test uses a terminal; else it stays silent."""

    def __init__(self, report: Path | None, *, recording: bool, allowed_skips: Sequence[str] | None) -> None:
        self._report = report
        self._allowed = None if allowed_skips is None else {name for name in allowed_skips if name}
        self._asked = recording or report is not None or allowed_skips is not None
        self._run: Run | None = None
        self._states: list[dict[str, Any]] = []
        self._passed: set[str] = set()
        self._skipped: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        self._rerun: set[str] = set()
        self._uncollected: dict[str, str] = {}
        self._interrupted = self._broken = ""
        self._complaint = ""

    @property
    def verdict(self) -> str | None:
        """The verdict, once there is one."""
        return self._run.state if self._run is not None and self._run.is_over else None

    def pytest_collection(self) -> None:
        """Tests are looked for."""
        if self._asked:
            self._reach("collecting")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Something could not be collected."""
        if report.failed:
            self._uncollected[report.nodeid] = _reason(report)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """The tests are known."""
        if self._asked or any("terminal_app" in getattr(item, "fixturenames", ()) for item in session.items):
            self._reach("scheduled")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """The first test is about to start."""
        if self._run is not None and not self._uncollected:
            self._reach("running")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test is over. An expected failure is no skip, and a test that failed in its teardown has failed."""
        if str(report.outcome) == "rerun":  # as pytest-rerunfailures says
            self._rerun.add(report.nodeid)
        elif report.failed:
            self._failed.setdefault(report.nodeid, _reason(report))
        elif report.skipped and not hasattr(report, "wasxfail"):
            self._skipped[report.nodeid] = _reason(report)
        elif report.when == "call":
            self._passed.add(report.nodeid)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """A person, or a test, stopped the session."""
        self._interrupted = str(excinfo.value) or excinfo.typename

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """pytest itself, or a plugin, failed."""
        self._broken = str(excinfo.value) or excinfo.typename

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Come to the verdict, hold the skip policy, and write the report."""
        if self._run is None:
            return
        for event in self._ending():
            self._step(event)
        if self._allowed is not None and session.exitstatus == pytest.ExitCode.OK and (wrong := self._allowed ^ self._skipped.keys()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._complaint = f"skipped, or not, against the policy: {', '.join(sorted(wrong))}"
        if self._report is not None:
            told = json.dumps(self._told(int(session.exitstatus)), indent=2, ensure_ascii=False)
            try:
                self._report.write_text(told + "\n", encoding="utf-8")
            except OSError as cause:
                self._complaint = f"{self._report} cannot be written: {cause.strerror}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say the verdict, and what keeps it from being `passed`."""
        if self.verdict is None:
            return
        write = terminalreporter.write_line
        terminalreporter.write_sep("=", f"triptych run: {self.verdict}", green=self.verdict == "passed")
        for name, reason in self._skipped.items():
            write(f"skipped {name}: {reason}")
        if self._interrupted or self._broken:
            write(self._interrupted or self._broken)
        if self._complaint:
            write(f"triptych: {self._complaint}", red=True)

    def _ending(self) -> tuple[str, ...]:
        """The events from where the run is to its verdict."""
        assert self._run is not None
        if self._broken:
            return ("fail_infrastructure",)
        if self._uncollected:  # which pytest tells as an interrupt too
            return ("leave_incomplete",)
        if self._interrupted:
            return ("cancel", "confirm_cancel")
        if self._run.state == "collecting":
            return ("leave_incomplete",)
        if self._failed:
            return ("finalize", "fail")
        if not self._passed:
            # Nothing to run proves nothing; what was there and skipped is a verdict.
            return ("finalize", "skip" if self._skipped else "leave_incomplete")
        if self._rerun:
            return ("finalize", "find_flaky")
        return ("finalize", "pass_with_skips" if self._skipped else "pass_")

    def _reach(self, state: str) -> None:
        """Go on until the run is in that state or beyond it."""
        from ..machines.termwright.run import Run

        if self._run is None:
            self._run = Run()
            self._note()
        states = [*WAY, "running"]
        while self._run.state in WAY and states.index(self._run.state) < states.index(state):
            self._step(WAY[self._run.state])

    def _step(self, event: str) -> None:
        assert self._run is not None
        self._run.step(event, time.monotonic())
        self._note()

    def _note(self) -> None:
        assert self._run is not None
        self._states.append({"state": self._run.state, "at_ms": time.time_ns() // 1_000_000})

    def _told(self, exitstatus: int) -> dict[str, Any]:
        passed = [name for name in sorted(self._passed) if name not in self._failed and name not in self._skipped]
        told: dict[str, Any] = {"lifecycle": "termwright/run", "verdict": self.verdict, "states": self._states, "exit_status": exitstatus}
        told["passed"] = passed
        for key, named in (("skipped", self._skipped), ("failed", {**self._uncollected, **self._failed})):
            told[key] = [{"name": name, "reason": reason} for name, reason in named.items()]
        if self._interrupted or self._broken:
            told["reason"] = self._interrupted or self._broken
        return told


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped, or the line that says how it failed."""
    if isinstance(report.longrepr, tuple):  # path, line, "Skipped: why"
        return report.longrepr[2].removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr or "").strip().partition("\n")[0]
