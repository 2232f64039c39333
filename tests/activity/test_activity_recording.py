"""The recording as a library: the policy and its consents, what companions deliver, recovery, and the record as it is read back."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from activity_host_kit import EDITOR, HELLO, RUNNING, STARTED, Step, observation, run, until
from activity_kit import adapter_entry, every_byte, scripted
from triptych.adapters.collector.control_socket import ask
from triptych.adapters.collector.ownership import Ownership
from triptych.adapters.collector.store import Store
from triptych.engine import activity, activity_sync
from triptych.engine.activity import App, Everything, Facts, OneEpisode, Recording, Rule, TimeRange
from triptych.engine.activity_cli.adapters import add_adapter
from triptych.engine.activity_cli.policy_command import policy_command
from triptych.engine.activity_cli.service import controlled
from triptych.errors import LocalProtocolError
from triptych.machines.collector.policy import Policy, allow_app

RECONFIGURED: list[Step] = [
    ("await", "pause"),
    ("say", {**RUNNING, "state": "paused"}),
    ("await", "configure"),
    ("ack",),
    ("await", "resume"),
    ("say", RUNNING),
]


def companion(seq: int, **changes: Any) -> Facts:
    plain = Facts(
        session="editor-1",
        seq=seq,
        observed_at_ms=time.time_ns() // 1_000_000,
        pid=0,
        bundle_id="com.microsoft.VSCode",
        title="main.py",
        document="/work/app/main.py",
        adapter="vscode",
        provider="companion",
    )
    return msgspec.structs.replace(plain, **changes)


def test_what_a_companion_delivers_is_committed_when_it_is_answered(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        assert await recording.deliver(companion(1), vouched_root="/work/app") == activity.Delivered(False, "collector-not-running")
        (tmp_path / "go").touch()
        await recording.wait_for_capture("running")
        assert (await recording.deliver(companion(2, activity_event="save"), vouched_root="/work/app")).stored
        [row] = activity.observations(tmp_path / "history")
        assert (row.provider, row.activity_event, row.bundle_id) == ("companion", "save", "com.microsoft.VSCode")
        assert row.workspace is not None and (row.workspace.source, row.workspace.root) == ("companion", "/work/app")
        assert await recording.deliver(companion(2), vouched_root="/work/app") == activity.Delivered(False, None)
        assert await recording.deliver(companion(3, document="/work/app/.env")) == activity.Delivered(False, None)
        assert recording.health.refusals.by_reason == {"collector-not-running": 1, "duplicate": 1, "protected-metadata": 1}
        await recording.set_consent("editor-workspace", "selected", ["/work/other"])
        assert not (await recording.deliver(companion(4), vouched_root="/work/app")).stored
        assert (await recording.deliver(companion(5), vouched_root="/work/other/")).stored
        with pytest.raises(LocalProtocolError) as caught:
            await recording.deliver(companion(6, provider="at-spi"))
        assert caught.value.code == "companion-provider"

    script = [("say", HELLO), ("wait", str(tmp_path / "go")), *STARTED[1:], *RECONFIGURED]
    run(tmp_path, script, check, allow=["com.microsoft.VSCode"])


def test_a_companion_is_told_of_a_pause_and_of_the_end(tmp_path: Path) -> None:
    recordings: list[Recording] = []

    async def check(recording: Recording) -> None:
        recordings.append(recording)
        await recording.wait_for_capture("running")
        await recording.pause()
        assert (await recording.deliver(companion(1))).reason == "capture-paused"
        await recording._stop()
        assert (await recording.deliver(companion(1))).reason == "capture-disabled"

    run(tmp_path, [*STARTED, ("await", "pause"), ("say", {**RUNNING, "state": "paused"})], check, allow=["com.microsoft.VSCode"])


def test_the_consents_of_a_person_survive_a_restart_and_a_change_of_other_rules(tmp_path: Path) -> None:
    async def first(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        given = await recording.set_consent("browser-origin", "selected", ["https://Example.org"])
        assert given.targets == {"https://example.org/"} and recording.consent("browser-origin") == given
        with pytest.raises(LocalProtocolError) as caught:
            await recording.set_consent("browser-origin", "selected", ["https://example.org/page"])
        assert caught.value.code == "consent-entry" and recording.consent("browser-origin") == given

    async def second(recording: Recording) -> None:
        assert recording.consent("browser-origin").targets == {"https://example.org/"}
        assert recording.consent("editor-workspace").mode == "all"
        assert allow_app(EDITOR) in recording.policy.rules

    run(tmp_path, [*STARTED, *RECONFIGURED], first)
    run(tmp_path, STARTED, second, allow=None)


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([Rule("r", "app", "allow", "regex", "a")], "rule-shape"),  # type: ignore[arg-type]  # what a caller may get wrong
        ([Rule("builtin:x", "app", "allow", "exact", "a")], "rule-id"),
        ([Rule("@dch-consent/v1/x", "resource", "allow", "exact", "@dch-consent/v1/x")], "consent-entry"),
        ([Rule(f"r{number}", "resource", "deny", "exact", f"/{number}/" + "x" * 1000) for number in range(70)], "policy-too-large"),
    ],
)
def test_a_policy_that_cannot_be_one_is_refused_and_changes_nothing(tmp_path: Path, rules: list[str | Rule], code: str) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        before = recording.policy
        with pytest.raises(LocalProtocolError) as caught:
            await recording.allow(rules)
        assert caught.value.code == code
        assert recording.policy is before and activity.policy(tmp_path / "history") == before
        assert recording.health.capture == "running"

    run(tmp_path, STARTED, check)


def test_a_stored_policy_in_exclude_mode_is_rewritten_at_the_start(tmp_path: Path) -> None:
    with Store(tmp_path / "history", 1) as store:
        store.replace_policy(Policy(7, Policy().rules, "exclude"), 1)

    async def check(recording: Recording) -> None:
        assert (recording.policy.mode, recording.policy.revision) == ("include-only", 8)
        assert activity.policy(tmp_path / "history") == recording.policy
        assert recording.health.reason == "no-apps-allowed"

    run(tmp_path, STARTED, check, allow=None)


def test_the_applications_of_the_data_directory_are_known_to_the_host_and_told_to_the_collector(tmp_path: Path) -> None:
    data = tmp_path / "history"
    data.mkdir(mode=0o700)
    (data / "adapters.json").write_text(json.dumps({"adapters": [adapter_entry("mine", "org.example.Mine.desktop")]}))
    named = tmp_path / "named.json"
    named.write_text(json.dumps({"adapters": [adapter_entry("other", "org.example.Other.desktop")]}))

    async def check(recording: Recording) -> None:
        await until(recording, lambda: recording.last_id >= 2)
        assert [row.adapter for row in recording.observations()] == ["mine", "other"]

    lines = [
        ("say", observation(number, app={"pid": 1, "bundleId": f"org.example.{name}.desktop"}))
        for number, name in enumerate(("Mine", "Other"), 1)
    ]
    allowed = ["org.example.Mine.desktop", "org.example.Other.desktop"]
    run(tmp_path, [*STARTED, *lines], check, allow=allowed, adapter_table=named)
    command = activity.collect_command(data_dir=data, adapter_table=named)
    assert command[-4:] == ["--adapter-table", str((data / "adapters.json").resolve()), "--adapter-table", str(named.resolve())]
    assert "--adapter-table" not in activity.collect_command(data_dir=tmp_path)


def test_companions_have_a_port_and_health_tells_of_it(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        assert not recording.paired("browser")
        token = recording.pair("browser")
        health = recording.health.companion
        assert health is not None and health.listening and health.port and health.paired and not health.editor_paired
        assert recording.paired("browser") and token.encode() not in every_byte(tmp_path / "history")

    run(tmp_path, STARTED, check, companions=0)


def test_a_port_that_is_taken_is_told_and_capture_goes_on(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:

        async def check(recording: Recording) -> None:
            assert (await recording.wait_for_observation()).title == "A page"
            health = recording.health.companion
            assert health is not None and not health.listening and health.reason == "port-in-use"

        run(tmp_path, [*STARTED, ("say", observation(1))], check, companions=taken.getsockname()[1])


def test_a_collector_that_was_given_up_is_started_again_and_paused_if_it_was(tmp_path: Path) -> None:
    paused: list[Step] = [("await", "pause"), ("say", {**RUNNING, "state": "paused"}), ("await", "configure"), ("ack",)]

    async def check(recording: Recording) -> None:
        await until(recording, lambda: recording.failed)
        await recording.pause()
        await recording.recover()
        assert recording.health.capture == "paused"

    run(tmp_path, [*STARTED, ("raw", "no")], check, [("say", HELLO), *paused])
    assert (tmp_path / "runs").read_text() == "xx"


def test_a_recovery_that_fails_says_why(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await until(recording, lambda: recording.failed)
        with pytest.raises(activity.Unavailable, match="protocol-error"):
            await recording.recover()

    run(tmp_path, [*STARTED, ("raw", "no")], check, [("raw", "no")])


def test_observations_of_a_collector_that_never_says_its_state_are_stored_under_its_policy(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        assert (await recording.wait_for_observation(title="After")).title == "After"
        assert [row.title for row in recording.observations()] == ["Before", "After"]
        assert recording.health.reason == "collector-starting"

    script = [("say", HELLO), ("await", "configure"), ("say", observation(1, "Before")), ("ack",), ("say", observation(2, "After"))]
    run(tmp_path, script, check)


def test_the_record_is_read_back_deleted_and_kept_as_long_as_is_asked(tmp_path: Path) -> None:
    data = tmp_path / "history"
    lines = [("say", observation(number, f"Garden {number}")) for number in range(1, 4)]
    with activity_sync.record(data, allow=[EDITOR], command=scripted(tmp_path, [*STARTED, *lines])) as recording:
        recording.wait_for_observation(title="Garden 3")
        [episode] = recording.episodes(0, 2**53)
        assert recording.episode(episode.id) == episode and recording.episode("episode:none:1") is None
        assert recording.counts().observations == 3
        assert {found.text for found in recording.search("garden")} == {"Garden 1", "Garden 2", "Garden 3"}
        assert activity.episodes(data, 0, 2**53) == [episode]
        assert [found.text for found in activity.search(data, "garden 2")] == ["Garden 2"]
        assert (recording.retention().observation_hours, recording.retention().episode_days) == (24, 30)
        assert recording.set_retention(48, 60) == recording.retention()
        with pytest.raises(LocalProtocolError) as caught:
            recording.set_retention(0, 60)
        assert caught.value.code == "retention-hours"
        assert recording.delete(App("org.gnome.gedit.desktop")).observations == 0
        assert recording.delete(OneEpisode(episode.id)).observations == 3
        assert recording.episodes(0, 2**53) == [] and recording.observations() == []
    assert b"Garden" not in every_byte(data)


def test_a_retention_that_is_set_counts_for_what_is_recorded_next(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        first = await recording.wait_for_observation()
        recording.set_retention(48, 60)
        (tmp_path / "go").touch()
        second = await recording.wait_for_observation(after_id=first.id)
        hours = [(row.expires_at_ms - row.observed_at_ms) // 3_600_000 for row in (first, second)]
        assert hours == [24, 48]

    async def again(recording: Recording) -> None:
        assert recording._capture.rules.retention_ms == 48 * 3_600_000

    run(tmp_path, [*STARTED, ("say", observation(1)), ("wait", str(tmp_path / "go")), ("say", observation(2))], check)
    run(tmp_path, STARTED, again)


def test_what_was_deleted_does_not_come_back_while_it_is_recorded(tmp_path: Path) -> None:
    late = observation(2, "Late")

    async def check(recording: Recording) -> None:
        await recording.wait_for_observation()
        activity.delete(tmp_path / "history", TimeRange(0, time.time_ns() // 1_000_000 + 1))
        (tmp_path / "go").touch()
        await recording.wait_for_refusal("deleted-range")
        assert recording.observations() == []
        assert recording.delete(Everything()).observations == 0

    run(tmp_path, [*STARTED, ("say", observation(1)), ("wait", str(tmp_path / "go")), ("say", late)], check)
    assert b"Late" not in every_byte(tmp_path / "history")


def test_a_directory_where_nothing_was_recorded_is_left_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "nothing"
    assert activity.observations(data) == activity.episodes(data, 0, 1) == activity.search(data, "word") == []
    assert activity.policy(data) == Policy()
    assert activity.delete(data, Everything()) == activity.Deleted(0, 0, 0)
    assert not data.exists()


def test_a_file_belongs_to_the_git_work_tree_that_it_lies_in(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "app"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    async def check(recording: Recording) -> None:
        seen = await recording.wait_for_observation()
        assert seen.workspace is not None
        assert (seen.workspace.source, seen.workspace.root, seen.workspace.confidence) == ("git", str(root), 0.9)
        [episode] = recording.episodes(0, 2**53)
        assert episode.workspace is not None and episode.workspace.title == "app"

    run(tmp_path, [*STARTED, ("say", observation(1, window={"title": "a b", "document": str(root / "src" / "a.py")}))], check)


def test_the_twin_changes_the_policy_and_delivers(tmp_path: Path) -> None:
    command = scripted(tmp_path, [*STARTED, *RECONFIGURED])
    with activity_sync.record(tmp_path / "history", allow=["com.microsoft.VSCode"], command=command, companions=0) as recording:
        recording.wait_for_capture("running")
        assert recording.deliver(companion(1), vouched_root="/work/app").stored
        assert not recording.paired("editor") and len(recording.pair("editor")) == 43 and recording.paired("editor")
        assert recording.set_consent("editor-workspace", "none").mode == "none"
        assert recording.consent("editor-workspace").mode == "none" and recording.policy.revision == 3
        assert not recording.deliver(companion(2), vouched_root="/work/app").stored
        with pytest.raises(LocalProtocolError) as caught:
            recording.recover()
        assert caught.value.code == "collector-recover-refused"


def test_a_stop_does_not_wait_for_what_never_comes(tmp_path: Path) -> None:
    async def main() -> float:
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=scripted(tmp_path, STARTED), companions=0) as recording:
            await recording.wait_for_capture("running")
            began = time.monotonic()
        return time.monotonic() - began

    assert asyncio.run(main()) < 2


def _entry(folder: Path, bundle_id: str) -> None:
    add_adapter(folder / "history", bundle_id, "window")


def test_an_application_that_is_made_known_meanwhile_is_recorded_from_then_on(tmp_path: Path) -> None:
    """The collector is started again, with the new table in its command line, and what was desired of the old one holds for it."""
    form = {"app": {"pid": 7, "bundleId": "org.example.Form.desktop", "name": "Form"}}
    first = [*STARTED, ("say", observation(1, "Unknown", **form)), ("say", observation(2, "Before"))]
    second = [*STARTED, ("say", observation(3, "Known", **form))]
    paused = [("say", HELLO), ("await", "pause"), ("say", {**RUNNING, "state": "paused"}), ("await", "configure"), ("ack",)]

    async def check(recording: Recording) -> None:
        await recording.wait_for_observation(title="Before")
        await recording.take_adapters()
        assert recording.health.capture == "running"
        _entry(tmp_path, "org.example.Form.desktop")
        await recording.take_adapters()
        await recording.wait_for_observation(title="Known")
        assert recording.health.refusals.by_reason["not-an-adapter"] == 1
        assert Ownership.held(tmp_path / "history"), "nobody else could come between"
        pausing = asyncio.create_task(recording.pause())
        taking = asyncio.create_task(recording.take_adapters())
        await asyncio.gather(pausing, taking)
        assert recording.health.capture == "paused"
        assert not recording.failed

    allowed = [EDITOR, "org.example.Form.desktop"]
    same = [*STARTED, ("await", "shutdown")]
    pausable = [*second, ("await", "pause"), ("say", {**RUNNING, "state": "paused"})]
    run(tmp_path, first, check, same, pausable, paused, allow=allowed)
    assert (tmp_path / "runs").read_text() == "xxxx"


def test_a_recording_that_is_left_while_its_collector_is_started_again_leaves_nothing(tmp_path: Path) -> None:
    async def main() -> int:
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=scripted(tmp_path, STARTED)) as recording:
            await recording.wait_for_capture("running")
            taking = asyncio.create_task(recording.take_adapters())
            await asyncio.sleep(0)
        await taking
        assert recording._host._process is None
        return len((tmp_path / "runs").read_text())

    assert asyncio.run(main()) == 1
    Ownership(tmp_path / "history").release()


def test_a_retention_that_a_command_sets_counts_at_once_in_the_host_that_runs(tmp_path: Path) -> None:
    steps = [("now", observation(1)), ("wait", str(tmp_path / "go")), ("now", observation(2, "Later"))]

    async def check(recording: Recording) -> None:
        await recording.wait_for_observation()
        async with controlled(recording, asyncio.Event()):
            command = ["retention", "--hours", "48", "--data", str(tmp_path / "history"), "--json"]
            told = await asyncio.to_thread(CliRunner().invoke, policy_command, command, catch_exceptions=False)
            assert json.loads(told.output) == {"observationHours": 48, "episodeDays": 30}
            with pytest.raises(LocalProtocolError) as refused:
                await asyncio.to_thread(ask, tmp_path / "history", "retention", hours="2", days=None)
            assert refused.value.code == "retention-hours"
        (tmp_path / "go").touch()
        later = await recording.wait_for_observation(title="Later")
        assert later.expires_at_ms == later.observed_at_ms + 48 * 3_600_000

    run(tmp_path, [*STARTED, *steps], check)
