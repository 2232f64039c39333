"""The host with a collector that follows a script: what it believes, what it stops, what it starts again, and what it stores."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from activity_host_kit import EDITOR, HELLO, RUNNING, STARTED, Step, observation, run, until
from activity_kit import every_byte, scripted
from triptych.adapters.collector.host import CollectorHost
from triptych.adapters.collector.ownership import Ownership
from triptych.adapters.collector.piped_process import PipedProcess
from triptych.engine import activity, activity_sync
from triptych.engine.activity import Recording
from triptych.errors import LocalProtocolError, Unavailable, WaitTimeout


def test_an_observation_is_stored_under_the_policy_it_was_judged_by(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        seen = await recording.wait_for_observation()
        assert (seen.session, seen.seq, seen.pid, seen.bundle_id, seen.app_name) == ("script-1", 1, 7, EDITOR, "Code")
        assert (seen.title, seen.surface_kind, seen.adapter, seen.provider) == ("A page", "editor", "vscode", "at-spi")
        assert (seen.policy_revision, seen.expires_at_ms) == (2, seen.observed_at_ms + 86_400_000)
        assert recording.health.collector is not None and recording.health.collector.version == "9.9"

    run(tmp_path, [*STARTED, ("say", observation(1))], check)


def test_the_example_of_the_protocol_is_stored_and_its_workspace_is_nowhere(tmp_path: Path) -> None:
    example = {
        "v": 1,
        "type": "observation",
        "collectorSession": "script-1",
        "seq": 7,
        "observedAtMs": time.time_ns() // 1_000_000,
        "app": {"pid": 1, "bundleId": "com.microsoft.VSCode", "name": "Code"},
        "window": {"title": "provider.ts", "document": "file:///Users/you/src/provider.ts", "url": None},
        "element": {"role": "AXTextArea", "subrole": None, "identifier": None},
        "activity": {"idleSeconds": 0},
        "privacy": {"secure": False, "protected": False},
        "workspace": {"root": "/Users/you/Projects/demo"},
        "source": {"adapter": "vscode"},
    }

    async def check(recording: Recording) -> None:
        seen = await recording.wait_for_observation(title="provider.ts")
        assert seen.resource == ("file", "file:///Users/you/src/provider.ts", "provider.ts")
        assert (seen.role, seen.provider, seen.idle_seconds) == ("AXTextArea", "macos-ax", 0.0)
        assert recording.health.unknown_fields.total == 0

    run(tmp_path, [("say", {**HELLO, "platform": "darwin"}), *STARTED[1:], ("say", example)], check, allow=["com.microsoft.VSCode"])
    assert b"Projects/demo" not in every_byte(tmp_path / "history")
    assert b"/Users/you/src" in every_byte(tmp_path / "history")


def test_what_comes_before_the_acknowledgement_waits_for_it(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        assert (await recording.wait_for_observation()).title == "Early"

    run(tmp_path, [("say", HELLO), ("say", RUNNING), ("await", "configure"), ("say", observation(1, "Early")), ("ack",)], check)


def test_refusals_repeats_and_unknown_fields_are_counted_where_health_is_shown(tmp_path: Path) -> None:
    first = observation(1)
    lines = [
        first,
        first,
        observation(2, privacy={"secure": True, "protected": False, "reason": "secure-field"}),
        observation(3, privacy={"secure": False, "protected": True, "reason": "protected-app"}),
        observation(4, privacy={"secure": False, "protected": True, "reason": "protected-metadata"}),
        observation(5, app={"pid": 1, "bundleId": "org.example.Other.desktop"}),
        observation(6, app={"pid": 1, "bundleId": "org.gnome.Terminal.desktop"}),
        observation(7, **{"x-mood": "calm"}),
    ]

    async def check(recording: Recording) -> None:
        await recording.wait_for_observation(after_id=(await recording.wait_for_observation()).id)
        health = recording.health
        assert health.refusals.by_reason == {
            "duplicate": 1,
            "secure-field": 1,
            "protected-app": 1,
            "protected-metadata": 1,
            "not-an-adapter": 1,
            "policy": 1,
        }
        assert health.refusals.total == 6
        assert (health.unknown_fields.by_name, health.unknown_fields.policy) == ({"x-mood": 1}, "extension")

    run(tmp_path, [*STARTED, *(("say", line) for line in lines)], check)


def test_a_repeat_over_a_restart_of_the_collector_is_stored_once(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_refusal("duplicate")
        assert len(recording.observations()) == 1

    again = observation(1)
    run(tmp_path, [*STARTED, ("say", again), ("exit", 3)], check, [*STARTED, ("say", again)])


@pytest.mark.parametrize(
    ("bad", "line"),
    [
        ("not json", ("raw", "not json")),
        ("a line over the bound", ("raw", "x" * 65_537)),
        ("an unknown field", ("say", observation(1, mood="calm"))),
        ("another session", ("say", observation(1, collectorSession="script-2"))),
        ("a provider that does not fit", ("say", observation(1, source={"adapter": "vscode", "provider": "macos-ax"}))),
        ("a second hello", ("say", HELLO)),
        ("an acknowledgement that nobody asked for", ("ack",)),
    ],
)
def test_a_collector_that_breaks_the_protocol_is_stopped_for_good(tmp_path: Path, bad: str, line: Step) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("degraded", reason="protocol-error")
        assert [row.title for row in recording.observations()] == ["Before"], bad

    run(tmp_path, [*STARTED, ("say", observation(0, "Before")), line, ("say", observation(9, "After"))], check)
    assert (tmp_path / "runs").read_text() == "x"
    assert b"After" not in every_byte(tmp_path / "history")


def test_an_acknowledgement_of_another_revision_stops_it(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("degraded", reason="protocol-error")
        assert recording.observations() == []

    run(tmp_path, [*STARTED[:-1], ("say", observation(1)), ("ack", 1), ("say", observation(2))], check)


def test_a_fatal_shows_its_code_and_stops_it(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("degraded", reason="no-display")

    run(tmp_path, [*STARTED, ("say", {"v": 1, "type": "fatal", "code": "no-display", "message": "There is no display."})], check)


@pytest.mark.slow
def test_what_does_not_come_within_five_seconds_ends_the_capture_under_its_name(tmp_path: Path) -> None:
    async def ends(name: str, script: list[Step], reason: str) -> list[activity.StoredObservation]:
        folder = tmp_path / name
        folder.mkdir()
        async with activity.record(folder / "history", allow=[EDITOR], command=scripted(folder, script)) as recording:
            if name == "pause":
                await recording.wait_for_capture("running")
                with pytest.raises(Unavailable):
                    await recording.pause()
            await recording.wait_for_capture("degraded", reason=reason)
            return recording.observations()

    async def main() -> None:
        seen = ("say", observation(1))
        rows = await asyncio.gather(
            ends("silent", [], "hello-timeout"),
            ends("spoke", [("raw", "")], "collector-spoke-without-hello"),
            ends("configure", [*STARTED[:-1], seen], "configure-ack-timeout"),
            ends("pause", STARTED, "paused-ack-timeout"),
        )
        assert rows == [[], [], [], []]

    asyncio.run(main())
    assert b"A page" not in every_byte(tmp_path / "configure" / "history")


def test_a_crash_is_answered_with_a_restart_after_a_second(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        before_the_crash = time.monotonic()
        (tmp_path / "go").touch()
        await recording.wait_for_capture("degraded", reason="collector-exited")
        await recording.wait_for_observation(title="After the crash")
        assert time.monotonic() - before_the_crash > 1

    second = [
        ("say", {**HELLO, "collectorSession": "script-2"}),
        *STARTED[1:],
        ("say", observation(1, "After the crash", collectorSession="script-2")),
    ]
    run(tmp_path, [*STARTED, ("wait", str(tmp_path / "go")), ("exit", 3)], check, second)
    assert (tmp_path / "runs").read_text() == "xx"


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with activity.record(tmp_path / "history", command=[str(tmp_path / "nothing")]) as recording:
            await recording.wait_for_capture("degraded", reason="collector-spawn-failed")

    asyncio.run(main())


def test_pause_holds_from_the_moment_it_is_asked_for(tmp_path: Path) -> None:
    paused = {**RUNNING, "state": "paused"}
    late = [
        *STARTED,
        ("await", "pause"),
        ("say", observation(1, "Too late")),
        ("say", paused),
        ("await", "resume"),
        ("say", RUNNING),
        ("say", observation(2, "Again")),
    ]

    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        await recording.pause()
        assert recording.health.capture == "paused"
        assert recording.health.refusals.by_reason == {"capture-paused": 1}
        await recording.resume()
        assert (await recording.wait_for_observation()).title == "Again"

    run(tmp_path, late, check)


def test_a_command_that_cannot_be_written_is_named_and_stops_it(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_observation()
        with pytest.raises(Unavailable, match="collector is not writable"):
            await recording.pause()
        await recording.wait_for_capture("degraded", reason="pause-send-failed")
        await until(recording, lambda: recording.failed)

    run(tmp_path, [*STARTED, ("close", 0), ("say", observation(1)), ("wait", str(tmp_path / "never"))], check)


async def _its_input_is_closed(recording: Recording) -> None:
    """Wait until the host has noticed that nobody reads what it writes."""
    end = time.monotonic() + 10
    while (process := recording._host._process) is None or not process._stdin.is_closing():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def test_a_policy_that_the_first_command_cannot_tell_is_named_and_stops_it(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await _its_input_is_closed(recording)
        (tmp_path / "go").touch()
        await recording.wait_for_capture("degraded", reason="configure-send-failed")
        await until(recording, lambda: recording.failed)
        assert recording.observations() == []

    rest = [("say", RUNNING), ("say", observation(1)), ("wait", str(tmp_path / "never"))]
    run(tmp_path, [("close", 0), ("wait", str(tmp_path / "go")), ("say", HELLO), *rest], check)


def test_a_resume_that_cannot_be_told_is_named_and_stops_it(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        await recording.pause()
        await _its_input_is_closed(recording)
        with pytest.raises(Unavailable, match="collector is not writable"):
            await recording.resume()
        await recording.wait_for_capture("degraded", reason="resume-send-failed")
        await until(recording, lambda: recording.failed)

    paused = {**RUNNING, "state": "paused"}
    run(tmp_path, [*STARTED, ("await", "pause"), ("say", paused), ("close", 0), ("wait", str(tmp_path / "never"))], check)


def test_a_collector_that_cannot_be_ended_is_named_and_none_is_started_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that hangs in the kernel, where no signal reaches it; here the signals are held back."""
    monkeypatch.setattr("triptych.machines.collector.manager.GRACE", 0.2)
    signals: list[signal.Signals] = []
    send = PipedProcess.send_signal
    monkeypatch.setattr(PipedProcess, "send_signal", lambda process, number: signals.append(number))

    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("degraded", reason="collector-exit-unconfirmed")
        assert signals == [signal.SIGTERM, signal.SIGKILL]
        assert recording.failed
        with pytest.raises(LocalProtocolError) as refused:
            await recording.recover()
        assert refused.value.code == "collector-recover-refused"
        monkeypatch.undo()
        process = recording._host._process
        assert process is not None
        send(process, signal.SIGKILL)
        await until(recording, lambda: recording._host._process is None)
        await recording.recover()
        assert (await recording.wait_for_observation()).title == "Afterwards"

    hanging: list[Step] = [("say", HELLO), ("raw", "not json"), ("wait", str(tmp_path / "never"))]
    run(tmp_path, hanging, check, [*STARTED, ("say", observation(1, "Afterwards"))])


def test_a_respawn_that_fails_counts_as_another_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triptych.machines.collector.manager.RESTART_DELAYS", (0.05,) * 5)
    program = tmp_path / "collector"
    program.write_text(f"#!{sys.executable}\nimport os; os.unlink(__file__); os._exit(3)\n")
    program.chmod(0o700)

    async def main() -> None:
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=[str(program)]) as recording:
            await until(recording, lambda: recording.failed)
            assert recording.health.reason == "collector-spawn-failed"
            assert len(recording._host._manager.memory.crashes) == 5

    asyncio.run(main())


def test_a_policy_that_cannot_be_written_is_stored_all_the_same(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_observation()
        await recording.allow([EDITOR, "org.gnome.gedit.desktop"])
        await recording.wait_for_capture("degraded", reason="apply-policy-send-failed")
        assert len(activity.policy(tmp_path / "history").own_rules) == 2

    run(tmp_path, [*STARTED, ("close", 0), ("say", observation(1)), ("wait", str(tmp_path / "never"))], check)


def test_nothing_is_left_running_and_what_it_wrote_to_stderr_is_kept_within_bounds(tmp_path: Path) -> None:
    program = (
        "import os, subprocess, sys, time; child = subprocess.Popen(['sleep', '60'])\n"
        "sys.stderr.write(f'{os.getpid()} {child.pid} ' + 'x' * 50000); sys.stderr.flush(); print('ready', flush=True); time.sleep(60)\n"
    )

    async def main() -> bytes:
        async with activity.record(tmp_path / "history", command=[sys.executable, "-c", program]) as recording:
            await recording.wait_for_capture("degraded", reason="protocol-error")
        return recording.collector_stderr

    said = asyncio.run(main())
    assert len(said) == 32_768
    for pid in map(int, said.split()[:2]):
        assert not Path(f"/proc/{pid}").exists() or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


def test_the_end_of_a_collector_counts_though_what_it_left_behind_holds_its_pipes(tmp_path: Path) -> None:
    program = (
        "import json, subprocess, sys; left = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"print({json.dumps(json.dumps(HELLO))}, flush=True); sys.stderr.write(str(left.pid))\n"
    )
    pids: list[int] = []

    async def main() -> float:
        async with activity.record(tmp_path / "history", command=[sys.executable, "-c", program]) as recording:
            await recording.wait_for_capture("degraded", reason="collector-exited")
            pids.append(int(recording.collector_stderr))
            stopping = time.monotonic()
        return time.monotonic() - stopping

    try:
        assert asyncio.run(main()) < 1
        assert Path(f"/proc/{pids[0]}").exists()
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


def test_a_collector_that_has_closed_its_output_is_ended_and_started_again(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        await recording.wait_for_capture("degraded", reason="collector-exited")
        assert (await recording.wait_for_observation()).title == "A page"

    deaf = [*STARTED, ("close", 1), ("ignore", signal.SIGTERM)]  # it does not hear that it is to end
    run(tmp_path, deaf, check, [*STARTED, ("say", observation(1))])


def test_a_text_that_could_be_no_path_is_refused_and_capture_goes_on(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        assert (await recording.wait_for_observation()).title == "After"
        assert (recording.health.capture, recording.health.refusals.by_reason) == ("running", {"bad-resource": 1})

    bad = observation(1, window={"title": "x", "document": "file:///home/%00"})
    run(tmp_path, [*STARTED, ("say", bad), ("say", observation(2, "After"))], check)


@pytest.mark.parametrize(
    "line",
    [
        {"v": 1, "type": "fatal", "code": "Salary.ods", "message": "Salary.ods"},
        {"v": 1, "type": "diagnostic", "level": "warn", "code": "Salary.ods", "message": "Salary.ods"},
        {"v": 1, "type": "state", "state": "Salary.ods", "accessibilityTrusted": True},
        {"v": 1, "type": "state", "state": "degraded", "reason": "Salary.ods", "accessibilityTrusted": True},
        {"v": 1, "type": "Salary.ods"},
        observation(1, **{"Salary.ods": 1}),
        observation(1, **{"x-Salary.ods": 1}),
        observation(1, collectorSession="Salary.ods"),
        observation(1, source={"adapter": "vscode", "provider": "Salary.ods"}),
    ],
)
def test_no_word_of_a_collector_is_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: dict[str, Any]) -> None:
    async def check(recording: Recording) -> None:
        with recording.changes() as changed:
            while recording._host.state not in ("backoff", "broken"):
                await asyncio.wait_for(changed.wait(), 60)
                changed.clear()

    run(tmp_path, [*STARTED, ("say", line), ("exit", 3)], check, [])
    logged = capsys.readouterr()
    assert "capture degraded" in logged.err + logged.out
    assert "Salary" not in logged.err + logged.out


def test_what_was_committed_survives_a_kill_and_is_not_stored_twice(tmp_path: Path) -> None:
    lines = [observation(number, f"Page {number}") for number in range(1, 51)]
    command = scripted(tmp_path, [*STARTED, *(("say", line) for line in lines)])
    program = (
        "import asyncio, json, sys; from pathlib import Path; from triptych.engine import activity\n"
        "async def main():\n"
        "    async with activity.record(Path(sys.argv[1]), allow=['code.desktop'], command=json.loads(sys.argv[2])) as recording:\n"
        "        await recording.wait_for_observation(title='Page 50'); print('stored', flush=True); await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path / "history"), json.dumps(command)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, start_new_session=True) as host:
        try:
            assert host.stdout is not None and host.stdout.readline() == b"stored\n"
        finally:
            os.kill(host.pid, signal.SIGKILL)
    assert [row.title for row in activity.observations(tmp_path / "history")] == [f"Page {number}" for number in range(1, 51)]

    async def check(recording: Recording) -> None:
        await recording.wait_for_refusal("duplicate", times=50)
        assert len(recording.observations()) == 50

    run(tmp_path, [*STARTED, *(("say", line) for line in lines)], check)


def test_a_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    hidden = tmp_path / ".ssh"
    hidden.mkdir()
    (hidden / "config").write_text("")
    plain = tmp_path / "plain.txt"
    plain.symlink_to(hidden / "config")

    async def check(recording: Recording) -> None:
        await recording.wait_for_refusal("protected-metadata")
        assert recording.observations() == []

    run(tmp_path, [*STARTED, ("say", observation(1, window={"title": "x", "document": str(plain)}))], check)


def test_a_timeout_says_what_was_seen(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_refusal("not-an-adapter")
        with pytest.raises(WaitTimeout) as caught:
            await recording.wait_for_observation(title="Wanted", timeout=0.05)
        assert caught.value.waited_for == "an observation (title 'Wanted')"
        assert caught.value.seen == "capture running; refused: not-an-adapter 1; nothing was stored"

    run(tmp_path, [*STARTED, ("say", observation(1, app={"pid": 1, "bundleId": "org.example.Other.desktop"}))], check)


@pytest.mark.parametrize("hours", [0, -1, 721, 1.5, True])
def test_a_retention_outside_its_bounds_is_refused_and_nothing_is_made(tmp_path: Path, hours: Any) -> None:
    async def main() -> None:
        async with activity.record(tmp_path / "history", retention_hours=hours):
            raise AssertionError("it must not start")

    with pytest.raises(LocalProtocolError) as caught:
        asyncio.run(main())
    assert caught.value.code == "retention-hours"
    assert not (tmp_path / "history").exists()


def test_a_liveness_under_its_floor_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(LocalProtocolError) as caught, activity_sync.record(tmp_path / "history", liveness_seconds=1):
        pass
    assert caught.value.code == "liveness-seconds"
    assert not (tmp_path / "history").exists()


def test_an_observation_is_kept_for_as_long_as_it_was_asked_for(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        seen = await recording.wait_for_observation()
        assert seen.expires_at_ms == seen.observed_at_ms + 720 * 3_600_000

    run(tmp_path, [*STARTED, ("say", observation(1))], check, retention_hours=720)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("_spawn", "collector-spawn-failed"),
        ("_began", "collector-spawn-failed"),
        ("_heard", "host-message-handler-error"),
        ("_complained", "host-message-handler-error"),
    ],
)
def test_a_fault_of_the_host_is_shown_and_raised_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str, reason: str
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("ours")

    async def fail_later(*_: object) -> None:
        fail()

    monkeypatch.setattr(CollectorHost, broken, fail_later if broken == "_spawn" else fail)

    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("degraded", reason=reason)

    with pytest.raises(ZeroDivisionError):
        run(tmp_path, [("stderr", "x"), *STARTED, ("exit", 0)], check)
    Ownership(tmp_path / "history").release()


def test_a_recording_says_when_its_collector_has_been_given_up(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        assert not recording.failed
        await recording.wait_for_capture("degraded", reason="collector-spawn-failed")
        assert recording.failed

    async def main() -> None:
        async with activity.record(tmp_path / "history", command=[str(tmp_path / "nothing")]) as recording:
            await check(recording)

    asyncio.run(main())
    with activity_sync.record(tmp_path / "history", command=[str(tmp_path / "nothing")]) as recording:
        with pytest.raises(WaitTimeout):
            recording.wait_for_observation(timeout=0.2)
        assert recording.failed


def test_an_application_id_that_is_no_text_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(LocalProtocolError) as caught, activity_sync.record(tmp_path / "history", allow=["\udcff.desktop"]):
        pass
    assert caught.value.code == "rule-text"
    assert not (tmp_path / "history").exists()


def test_the_twin_without_await_tells_of_changes_and_of_the_collector(tmp_path: Path) -> None:
    command = scripted(
        tmp_path, [("stderr", "hello from the script"), *STARTED, ("await", "pause"), ("say", {**RUNNING, "state": "paused"})]
    )
    with activity_sync.record(tmp_path / "history", allow=[EDITOR], command=command) as recording:
        assert recording.data_dir == tmp_path / "history"
        recording.wait_for_capture("running")
        with recording.changes() as changed:
            recording.pause()
            assert changed.wait(60)
        assert recording.health.capture == "paused"
        assert recording.collector_stderr == b"hello from the script"
