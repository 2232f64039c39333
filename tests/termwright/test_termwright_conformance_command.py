"""The run around the checks: exit codes, skip policy, declared deviations, reports, interruption, and claims that nothing demonstrates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner, Result

from conformance_kit import ADAPTER, PROGRAMS, details, fixture, results, run
from triptych.engine.conformance.fixture import Fixture, read_fixture
from triptych.engine.conformance_command import conformance_command
from triptych.errors import Unavailable

#: A quick check, one that is skipped without a fixture, and one that a fault breaks.
QUICK, SKIPPED, BROKEN = "ack-unknown-fields", "log-unbudgeted", "ack-in-pieces"


def command(*arguments: str, fault: str = "") -> Result:
    program = (*ADAPTER, "--fault", fault) if fault else ADAPTER
    return CliRunner().invoke(conformance_command, ["termwright", *arguments, "--", *program])


def only(*names: str) -> list[str]:
    return [word for name in names for word in ("--only", name)]


def test_a_passed_run_and_its_reports(tmp_path: Path) -> None:
    result = command(*only(QUICK), "--json", str(tmp_path / "r.json"), "--junit", str(tmp_path / "r.xml"))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split()[:2] == ["pass", QUICK]
    assert lines[-1].startswith("1 passed in ")
    assert lines[-1].endswith(": passed")
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["verdict"], report["certified"], report["protocol"]) == ("passed", True, "termwright/3")
    assert [step["state"] for step in report["run"]] == ["requested", "collecting", "scheduled", "running", "finalizing", "passed"]
    assert [step["at"] for step in report["run"]] == sorted(step["at"] for step in report["run"])
    (check,) = report["checks"]
    assert check["clause"] == "termwright/3, directional strictness"
    suite = ElementTree.parse(tmp_path / "r.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped"), suite.get("errors")) == ("1", "0", "0", "0")
    properties = {entry.get("name"): entry.get("value") for entry in suite.iter("property")}
    assert properties["verdict"] == "passed"
    case = suite.find("testcase")
    assert case is not None
    assert (case.get("name"), case.get("classname")) == (QUICK, check["clause"])


def test_skips_are_listed_and_allowed_by_name(tmp_path: Path) -> None:
    run_both = [*only(QUICK, SKIPPED), "--json", str(tmp_path / "r.json"), "--junit", str(tmp_path / "r.xml")]
    refused = command(*run_both)
    assert refused.exit_code == 1
    assert f"skipped without --allow-skip: {SKIPPED}" in refused.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["verdict"] == "passed-with-skips"
    assert report["skipped"] == [{"name": SKIPPED, "reason": "the fixture names no keys that log"}]
    skip = ElementTree.parse(tmp_path / "r.xml").find(".//skipped")
    assert skip is not None
    assert skip.get("message") == "the fixture names no keys that log"
    assert command(*run_both, "--allow-skip", SKIPPED).exit_code == 0
    assert command(*run_both, "--allow-skip", SKIPPED, "--allow-skip", QUICK).exit_code == 1


def test_nothing_but_skips_is_skipped() -> None:
    result = command(*only(SKIPPED))
    assert result.output.splitlines()[2].endswith(": skipped")
    assert result.exit_code == 1
    assert command(*only(SKIPPED), "--allow-skip", SKIPPED).exit_code == 0


def test_a_failure_fails_and_a_declared_one_does_not(tmp_path: Path) -> None:
    failed = command(*only(BROKEN), "--junit", str(tmp_path / "r.xml"), fault="no-reassembly")
    assert failed.exit_code == 1
    assert failed.output.startswith(f"FAIL      {BROKEN}")
    assert "[termwright/3, framing]" in failed.output.splitlines()[1]
    assert ElementTree.parse(tmp_path / "r.xml").find(".//failure[@type='fail']") is not None
    assert command(*only(BROKEN), "--allow-skip", BROKEN, fault="no-reassembly").exit_code == 1
    declaration = tmp_path / "declared.json"
    declaration.write_text(json.dumps({BROKEN: "it reads whole frames only"}))
    declared = command(*only(BROKEN), "--declare", str(declaration), fault="no-reassembly")
    assert declared.exit_code == 0, declared.output
    assert declared.output.split()[:3] == ["declared", BROKEN, "framing"]
    assert "it reads whole frames only (seen: " in declared.output
    assert command(*only(BROKEN), "--declare", str(declaration)).output.startswith("pass ")


@pytest.mark.parametrize("option", ["--allow-skip", "--only"])
def test_an_unknown_check_is_wrong_usage(option: str) -> None:
    result = command(option, "hello-sixth")
    assert result.exit_code == 2
    assert "there is no check 'hello-sixth'" in result.output


def test_wrong_usage(tmp_path: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(conformance_command, ["termwright"]).exit_code == 2
    assert runner.invoke(conformance_command, ["termwright", "--vectors", str(tmp_path), "--", "true"]).exit_code == 2
    (tmp_path / "d.json").write_text('["hello-first"]')
    assert command("--declare", str(tmp_path / "d.json")).exit_code == 2


def test_the_list_names_every_check_with_its_clause() -> None:
    result = CliRunner().invoke(conformance_command, ["termwright", "--list"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert len(lines) > 50
    assert all("[termwright/3, " in line for line in lines)


def test_a_program_that_cannot_be_started_is_an_infrastructure_failure() -> None:
    report = run(["/nowhere/at/all"], only={QUICK})
    assert report.verdict == "infrastructure-failed"
    assert "/nowhere/at/all" in report.trouble
    assert not report.certifies(())


def test_a_program_without_an_adapter_fails() -> None:
    report = run(["sh", "-c", "echo hello"], only={"hello-first", "one-socket"})
    assert results(report) == {"hello-first": "fail", "one-socket": "fail"}
    assert details(report)["hello-first"] == "nobody connected"
    assert report.verdict == "failed"


def test_an_interrupted_run_is_cancelled(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    script = "from triptych.engine.conformance_command import conformance_command as command; command()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "termwright", "--json", str(target), *only("ack-late", QUICK, "ack-slow"), "--", *ADAPTER],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        status = process.wait(timeout=20)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert first.startswith("pass ")
    assert status == 1
    assert rest.rstrip().endswith("cancelled")
    report = json.loads(target.read_text())
    assert [step["state"] for step in report["run"]][-3:] == ["cancelling", "finalizing", "cancelled"]
    assert report["certified"] is False
    assert len(report["checks"]) < 3


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"paint": {}}, "claim-visible-rect"),
        ({"focus": None}, "claim-focus"),
        ({"type": ()}, "claim-value"),
    ],
    ids=["no-colours", "no-keys", "no-typing"],
)
def test_a_claim_without_a_demonstration_is_unproved(change: dict[str, object], check: str) -> None:
    report = run(ADAPTER, manifest=msgspec.structs.replace(fixture("broken_adapter"), **change), only={check})
    assert results(report) == {check: "unproved"}
    assert report.verdict == "failed"


def test_a_program_that_reports_nothing_proves_nothing() -> None:
    silent = (sys.executable, "-c", f"import os, runpy, sys; os.environ.pop('TRIPTYCH_FIXTURE_EVENTS'); sys.argv = ['x']; "
              f"runpy.run_path({str(PROGRAMS / 'broken_adapter.py')!r}, run_name='__main__')")  # fmt: skip
    report = run(silent, manifest=fixture("broken_adapter"), only={"claim-focus", "claim-hit-grid"})
    assert results(report)["claim-focus"] == "unproved"
    assert results(report)["claim-hit-grid"] == "unproved"


def test_claims_without_a_fixture_are_not_planned() -> None:
    report = run(ADAPTER, only={"claim-text"})
    assert report.verdict == "infrastructure-failed"
    assert "claims need a fixture manifest" in report.trouble


def test_the_events_file_may_have_a_place_of_its_own(tmp_path: Path) -> None:
    manifest = json.loads((PROGRAMS / "broken_adapter.fixture.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps({**manifest, "events": "e.ndjson"}))
    given = read_fixture(tmp_path / "m.json")
    assert given.events == str(tmp_path / "e.ndjson")
    report = run(ADAPTER, manifest=given, only={"claim-focus"})
    assert results(report) == {"claim-focus": "pass"}
    assert '"event": "key"' in (tmp_path / "e.ndjson").read_text()


@pytest.mark.parametrize(
    "text", ['{"colour": 1}', "{", '{"stimulus": ["hyper+x"]}', '{"paint": {"a": ["red"]}}', '{"focus": {"keys": ["tab"]}}']
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(Unavailable):
        read_fixture(tmp_path / "m.json")


def test_the_defaults_need_no_manifest() -> None:
    assert Fixture().stimulus == ("tab",)
