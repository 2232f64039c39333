"""The run around the collector suite: exit codes, skips, reports, what a collector without the fixture hook gets, and the fact streams."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from collector_kit import COLLECTOR, run_suite
from conformance_kit import details, results
from triptych.adapters.collector.fixture_source import FixtureSource, fixture_factory
from triptych.engine.activity import collect_command
from triptych.engine.conformance.collector_stories import BY_NAME, STORIES
from triptych.engine.conformance.collector_suite import CHECKS
from triptych.engine.conformance.report import as_json, as_junit, line
from triptych.engine.conformance_command import conformance_command
from triptych.errors import Unavailable
from triptych.generated.collector.vocabulary import FIXTURE_VARIABLE
from triptych.tools import gen_collector_vectors as vectors

ROOT = Path(__file__).parents[2]
#: A check that takes a moment, and one that the fault given with it breaks.
QUICK, BROKEN = "configured-twice", "same-revision-ignored"
HOOKED = {"fixture-hook", *BY_NAME, "withheld-nowhere"}


def command(*arguments: str, fault: str = "") -> Result:
    program = (*COLLECTOR, "--fault", fault) if fault else COLLECTOR
    return CliRunner().invoke(conformance_command, ["collector", *arguments, "--", *program])


def test_a_passed_run_and_its_reports(tmp_path: Path) -> None:
    result = command("--only", QUICK, "--json", str(tmp_path / "r.json"), "--junit", str(tmp_path / "r.xml"))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].split()[:3] == ["pass", QUICK, "configure"]
    assert lines[-1].startswith("1 passed in ")
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["protocol"], report["verdict"], report["certified"]) == ("collector v1", "passed", True)
    assert [step["state"] for step in report["run"]] == ["requested", "collecting", "scheduled", "running", "finalizing", "passed"]
    assert report["adapter"] == "collector 0.9 on linux x64"
    assert report["announced"] == ["app-focus", "window-metadata", "secure-field-detection"]
    assert report["checks"][0]["clause"] == "collector v1, configure"
    suite = ElementTree.parse(tmp_path / "r.xml").getroot()[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("collector v1 conformance", "1", "0")
    case = suite.find("testcase")
    assert case is not None
    assert (case.get("name"), case.get("classname")) == (QUICK, "collector v1, configure")


def test_a_failure_fails_and_a_declared_one_does_not(tmp_path: Path) -> None:
    failed = command("--only", QUICK, "--junit", str(tmp_path / "r.xml"), fault=BROKEN)
    assert failed.exit_code == 1
    assert failed.output.startswith(f"FAIL      {QUICK}")
    assert "[collector v1, configure]" in failed.output.splitlines()[1]
    assert ElementTree.parse(tmp_path / "r.xml").find(".//failure[@type='fail']") is not None
    (tmp_path / "d.json").write_text(json.dumps({QUICK: "it knows what it knows"}))
    declared = command("--only", QUICK, "--declare", str(tmp_path / "d.json"), fault=BROKEN)
    assert declared.exit_code == 0, declared.output
    assert declared.output.startswith("declared ")


def test_skips_are_listed_and_allowed_by_name(tmp_path: Path) -> None:
    """Without the hook, what needs made-up facts is skipped with the reason; nothing else is."""
    refused = command("--only", "fixture-hook", "--only", QUICK, "--json", str(tmp_path / "r.json"), fault="no-hook")
    assert refused.exit_code == 1
    assert "skipped without --allow-skip: fixture-hook" in refused.output
    (skip,) = json.loads((tmp_path / "r.json").read_text())["skipped"]
    assert skip["name"] == "fixture-hook"
    assert FIXTURE_VARIABLE in skip["reason"]
    allowed = ("--only", "fixture-hook", "--only", QUICK, "--allow-skip", "fixture-hook")
    assert command(*allowed, fault="no-hook").exit_code == 0
    assert command(*allowed).exit_code == 1  # it may be skipped, and is not


@pytest.mark.slow
def test_a_collector_without_the_hook_is_looked_at_before_its_desktop() -> None:
    report = run_suite((*COLLECTOR, "--fault", "no-hook"))
    assert {name for name, result in results(report).items() if result == "skip"} == HOOKED
    assert {name: detail for name, detail in details(report).items() if results(report)[name] == "fail"} == {}
    assert details(report)["paused-silent"] == "before the real desktop"
    assert report.certifies(HOOKED)


@pytest.mark.slow
def test_a_collector_may_take_the_facts_of_its_own_platform_alone() -> None:
    report = run_suite((*COLLECTOR, "--fault", "only-linux"))
    skipped = {name for name, result in results(report).items() if result == "skip"}
    assert skipped == {story.check.name for story in STORIES if "linux" not in story.platforms}
    assert details(report)["fixture-hook"] == "at-spi"
    assert report.certifies(skipped)


def test_wrong_usage(tmp_path: Path) -> None:
    assert CliRunner().invoke(conformance_command, ["collector"]).exit_code == 2
    for option in ("--only", "--allow-skip"):
        result = command(option, "hello-sixth")
        assert (result.exit_code, "there is no check 'hello-sixth'" in result.output) == (2, True)
    (tmp_path / "d.json").write_text('["hello-first"]')
    assert command("--declare", str(tmp_path / "d.json")).exit_code == 2


def test_the_list_names_every_check_with_its_clause() -> None:
    lines = CliRunner().invoke(conformance_command, ["collector", "--list"]).output.splitlines()
    assert [line.split()[0] for line in lines] == list(CHECKS)
    assert all("[collector v1, " in line for line in lines)
    assert {line.split()[0] for line in lines if "shared-parser contract" in line} == {"shared-ignored", "shared-understood"}


def test_a_program_that_cannot_be_started_is_an_infrastructure_failure() -> None:
    report = run_suite(["/nowhere/at/all"], only={QUICK})
    assert report.verdict == "infrastructure-failed"
    assert "/nowhere/at/all" in report.trouble


@pytest.mark.parametrize(("program", "seen"), [("exit 3", "it ended with status 3"), ("echo hello; cat", "no JSON object")])
def test_a_program_that_is_no_collector_fails_and_says_why(program: str, seen: str) -> None:
    report = run_suite(["sh", "-c", program], only={QUICK})
    assert (report.verdict, results(report)) == ("failed", {QUICK: "fail"})
    assert seen in details(report)[QUICK]


def test_what_a_collector_leaves_running_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = f"sleep 300 & echo $! > {pid}; exec {' '.join(COLLECTOR)}"
    assert run_suite(["sh", "-c", program], only={QUICK}).verdict == "passed"
    status = Path(f"/proc/{pid.read_text().strip()}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"


def test_no_text_of_a_real_window_is_in_a_report() -> None:
    """The collector pretends that a window "Untitled" is in front of it, and tells it too often."""
    report = run_suite((*COLLECTOR, "--fault", "heartbeat-repeats"), only={"repeats-apart"})
    assert results(report) == {"repeats-apart": "fail"}
    for text in (as_json(report, ()), as_junit(report), *map(line, report.outcomes)):
        assert "the same again after" in text
        assert "Untitled" not in text


class TestFactStreams:
    def test_the_files_are_current(self) -> None:
        assert vectors.main(["--check"]) == 0

    def test_a_wrong_expectation_is_not_written(self) -> None:
        for story in STORIES:
            made = json.loads(vectors.written(vectors.document(story)))
            for on in made["platforms"].values():
                on["lines"] = [line for line in on["lines"] if "fact" not in line]
            required = [seen for seen in story.seen if not seen.optional]
            assert bool(vectors.disagreements(story, made)) == bool(required), story.check.name

    def test_our_collector_process_makes_of_a_file_what_must_follow(self, tmp_path: Path) -> None:
        """The same through the whole process, with a plain file in place of a pipe."""
        made = json.loads((ROOT / "tests" / "vectors" / "collector" / "fact-secure-field.json").read_text("utf-8"))["platforms"]["win32"]
        facts = tmp_path / "facts.jsonl"
        lines = [made["start"], *(line["fact"] for line in made["lines"] if "fact" in line)]
        facts.write_text("".join(json.dumps(line) + "\n" for line in lines))
        process = subprocess.Popen(
            collect_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PATH": "/usr/bin", FIXTURE_VARIABLE: str(facts)}
        )
        said: list[dict[str, Any]] = []
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(made["lines"][0]["command"]).encode() + b"\n")
            process.stdin.flush()
            while not said or said[-1].get("code") != "fixture" or said[-1]["message"] != "3":
                said.append(json.loads(process.stdout.readline()))
            process.stdin.close()
        assert process.returncode == 0
        assert said[0]["platform"] == "win32"
        assert [one["privacy"].get("reason") for one in said if one["type"] == "observation"] == [None, "secure-field", None]

    def test_a_step_is_done_when_all_that_follows_from_it_was_said(self, tmp_path: Path) -> None:
        """The suite judges then. The first look after a wake says nothing."""
        made = json.loads((ROOT / "tests" / "vectors" / "collector" / "fact-sleep.json").read_text("utf-8"))["platforms"]["linux"]
        steps = [line["fact"] for line in made["lines"] if "fact" in line]
        facts = tmp_path / "facts.jsonl"
        facts.write_text("".join(json.dumps(line) + "\n" for line in (made["start"], *steps)))
        command = next(line["command"] for line in made["lines"] if "command" in line)
        env = {"PATH": "/usr/bin", FIXTURE_VARIABLE: str(facts)}
        said: list[dict[str, Any]] = []
        with subprocess.Popen(collect_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
            while not said or said[-1].get("code") != "fixture" or said[-1]["message"] != str(len(steps)):
                said.append(json.loads(process.stdout.readline()))
            process.stdin.close()
        assert len([one for one in said if one["type"] == "observation"]) == 2
        assert [one.get("reason") for one in said if one["type"] == "state"][-2:] == ["sleep", "wake"]


class TestFixtureSource:
    def test_without_the_variable_there_is_none(self) -> None:
        assert fixture_factory({}) is None
        assert fixture_factory({FIXTURE_VARIABLE: ""}) is None

    @pytest.mark.parametrize(
        "content",
        ["", "not json\n", '{"type":"uia"}\n', '{"type":"start","fixture":2,"platform":"linux","name":"x"}\n', '{"type":"start"}\n'],
    )
    def test_a_file_that_is_none_is_refused(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "facts").write_text(content)

        async def main() -> None:
            with pytest.raises(Unavailable, match="line 1"):
                FixtureSource(str(tmp_path / "facts"), lambda: None, lambda going: None)

        asyncio.run(main())

    def test_a_file_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        async def main() -> None:
            with pytest.raises(Unavailable, match="No such file"):
                FixtureSource(str(tmp_path / "facts"), lambda: None, lambda going: None)

        asyncio.run(main())

    @pytest.mark.parametrize("step", ['{"type":"ax"}', '{"type":"at-spi","colour":1}', "["])
    def test_a_step_that_is_none_ends_the_collector_and_is_named(self, tmp_path: Path, step: str) -> None:
        facts = tmp_path / "facts"
        facts.write_text('{"type":"start","fixture":1,"platform":"linux","name":"x"}\n{"type":"at-spi"}\n' + step + "\n")
        environment = {"PATH": "/usr/bin", FIXTURE_VARIABLE: str(facts)}
        with subprocess.Popen(collect_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            said = [json.loads(line) for line in process.stdout]  # until it ends
        assert process.returncode == 1
        assert said[-1]["type"] == "fatal"
        assert said[-1]["message"].startswith(f"line 3 of {facts} ")


def test_the_page_tells_of_every_check() -> None:
    """docs/conformance.md holds one row a check, in the words of the code."""
    page = (ROOT / "docs" / "conformance.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for check in CHECKS.values():
        assert f"| `{check.name}` | {check.clause.partition(', ')[2]} | {check.rule} |" in rows, f"docs/conformance.md lacks {check.name}"
    told = {line.split("`")[1] for line in rows}
    assert {name for name in told if name.startswith("fact-")} == set(BY_NAME)
