"""What goes wrong around a host: a collector that lies, floods, stalls or crashes, and a record that cannot be written.

Each ends in a named state and a clear line, and nothing that was stored is lost.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from activity_host_kit import EDITOR, HELLO, RUNNING, STARTED, observation, run, until
from activity_kit import every_byte, scripted
from triptych.adapters.collector.clocks import read_clocks
from triptych.engine import activity
from triptych.engine.activity import Recording
from triptych.errors import Unavailable
from triptych.machines.collector.clock import Reading


async def given_up(recording: Recording) -> None:
    """Wait until the collector has been given up."""
    await until(recording, lambda: recording.failed)


def later(seconds: float) -> dict[str, Any]:
    return {"observedAtMs": time.time_ns() // 1_000_000 + int(seconds * 1000)}


def test_a_collector_that_lies_about_time_is_counted_and_goes_on(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_observation(title="Now")
        assert recording.health.refusals.by_reason == {"future-timestamp": 1, "expired": 2}

    lies = [observation(1, "Ahead", **later(60)), observation(2, "Old", **later(-100_000)), observation(3, "Zero", observedAtMs=0)]
    run(tmp_path, [*STARTED, *(("say", lie) for lie in lies), ("say", observation(4, "Now"))], check)
    for word in (b"Ahead", b"Old", b"Zero"):
        assert word not in every_byte(tmp_path / "history")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("another content under a number", observation(0, "Another")),
        ("a number that goes back", observation(2, "Back")),
        ("another session", observation(9, "Session", collectorSession="script-9")),
        ("a companion's word", observation(9, "Companion", source={"adapter": "vscode", "provider": "companion"})),
        ("an event of an editor", observation(9, "Event", activity={"event": "save"})),
        ("an acknowledgement of another policy", {"v": 1, "type": "configured", "revision": 99}),
    ],
)
def test_a_lie_about_itself_ends_it_and_what_came_before_stays(tmp_path: Path, name: str, line: dict[str, Any]) -> None:
    async def check(recording: Recording) -> None:
        await given_up(recording)
        assert (recording.health.capture, recording.health.reason) == ("degraded", "protocol-error")
        assert [row.title for row in recording.observations()] == ["Kept", "Kept too"], name

    kept = [("say", observation(0, "Kept")), ("say", observation(5, "Kept too"))]
    run(tmp_path, [*STARTED, *kept, ("say", line), ("say", observation(10, "After"))], check)
    assert len(activity.observations(tmp_path / "history")) == 2


FLOOD = (
    "import json, sys; told = json.loads(sys.argv[1]); out = sys.stdout.buffer\n"
    "out.write(told['opening'].encode()); out.flush()\n"
    "revision = json.loads(sys.stdin.readline())['revision']\n"
    "out.write(json.dumps({'v': 1, 'type': 'configured', 'revision': revision}).encode() + b'\\n')\n"
    "for number in range(told['count']): out.write(told['line'].replace('\"seq\": 0', f'\"seq\": {number}').encode())\n"
    "out.flush(); sys.stdin.read()\n"
)


def flooding(line: str, count: int) -> list[str]:
    opening = "".join(json.dumps(message) + "\n" for message in (HELLO, RUNNING))
    return [sys.executable, "-c", FLOOD, json.dumps({"opening": opening, "line": line, "count": count})]


def test_a_flood_of_observations_is_taken_in_whole_and_the_host_answers_meanwhile(tmp_path: Path) -> None:
    async def main() -> int:
        line = json.dumps(observation(0, "Many")) + "\n"
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=flooding(line, 20_000)) as recording:
            longest, last = 0.0, time.monotonic()
            async with asyncio.timeout(60):
                while recording.last_id < 20_000:
                    await asyncio.sleep(0)
                    longest, last = max(longest, time.monotonic() - last), time.monotonic()
            assert longest < 2, "no reading holds the loop for long"
            assert recording.health.capture == "running"
            return recording.last_id

    assert asyncio.run(main()) == 20_000


def test_a_flood_without_a_newline_is_stopped_at_the_bound(tmp_path: Path) -> None:
    async def main() -> None:
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=flooding("x", 10_000_000)) as recording:
            await recording.wait_for_capture("degraded", reason="protocol-error")
            assert recording.health.detail == "line-too-long"
            assert len(recording._host._splitter._rest) < 1_000_000

    asyncio.run(main())


def test_a_flood_of_diagnostics_does_not_fill_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    note = {"v": 1, "type": "diagnostic", "level": "warn", "code": "at-spi-unavailable", "message": "x"}

    async def check(recording: Recording) -> None:
        await recording.wait_for_observation(title="After")

    run(tmp_path, [*STARTED, *[("say", note)] * 500, ("say", observation(1, "After"))], check)
    logged = capsys.readouterr()
    assert (logged.err + logged.out).count("collector diagnostic") == 100


def test_half_a_line_at_the_end_is_no_line(tmp_path: Path) -> None:
    half = json.dumps(observation(2, "Half"))
    program = (
        "import json, sys; told = json.loads(sys.argv[1]); out = sys.stdout\n"
        "out.write(told[0]); out.flush(); revision = json.loads(sys.stdin.readline())['revision']\n"
        "out.write(json.dumps({'v': 1, 'type': 'configured', 'revision': revision}) + '\\n' + told[1]); out.flush(); sys.exit(3)\n"
    )
    opening = "".join(json.dumps(message) + "\n" for message in (HELLO, RUNNING))
    command = [sys.executable, "-c", program, json.dumps([opening, json.dumps(observation(1, "Whole")) + "\n" + half])]

    async def main() -> None:
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=command) as recording:
            await recording.wait_for_capture("degraded", reason="collector-exited")
            assert [row.title for row in recording.observations()] == ["Whole"]

    asyncio.run(main())
    assert b"Half" not in every_byte(tmp_path / "history")


def test_a_collector_that_reads_no_commands_is_ended_and_nothing_waits_for_it(tmp_path: Path) -> None:
    """Its pipe is full: the policy that is to be told does not fit, and the host must not hang on it."""
    program = f"import time; print({json.dumps(json.dumps(HELLO))}, flush=True); time.sleep(60)"
    many = [activity.Rule(f"r{number}", "resource", "deny", "exact", f"/{number}/" + "x" * 900) for number in range(68)]

    async def main() -> float:
        async with activity.record(tmp_path / "history", allow=many, command=[sys.executable, "-c", program]) as recording:
            await until(recording, lambda: recording._host.state == "configuring")
            stopping = time.monotonic()
        return time.monotonic() - stopping

    assert asyncio.run(main()) < 4.5


@pytest.mark.slow
def test_a_crash_loop_opens_the_breaker_and_a_recovery_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triptych.machines.collector.manager.RESTART_DELAYS", (0.02,) * 5)

    async def main() -> None:
        crashing = [*STARTED, ("exit", 3)]
        command = scripted(tmp_path, *[crashing] * 5, [*STARTED, ("say", observation(1))])
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=command) as recording:
            await given_up(recording)
            assert (recording.health.capture, recording.health.reason) == ("degraded", "collector-exited")
            assert recording.health.detail == "the collector exited with status 3"
            assert (tmp_path / "runs").read_text() == "x" * 5
            await recording.recover()
            assert (await recording.wait_for_observation()).title == "A page"

    asyncio.run(main())


@pytest.mark.slow
def test_an_answer_that_comes_late_is_told_as_the_protocol_error_that_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triptych.machines.collector.manager.ACK_TIMEOUT", 0.3)
    monkeypatch.setattr("triptych.machines.collector.manager.GRACE", 5.0)
    program = (
        "import json, sys, time; told = json.loads(sys.argv[1]); sys.stdout.write(told); sys.stdout.flush()\n"
        "revision = json.loads(sys.stdin.readline())['revision']; time.sleep(1)\n"
        "print(json.dumps({'v': 1, 'type': 'configured', 'revision': revision}), flush=True); time.sleep(0.5)\n"
    )
    opening = "".join(json.dumps(message) + "\n" for message in (HELLO, RUNNING))

    async def main() -> None:
        command = [sys.executable, "-c", program, json.dumps(opening)]
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=command) as recording:
            await recording.wait_for_capture("degraded", reason="configure-ack-timeout")
            await recording.wait_for_capture("degraded", reason="protocol-error")
            await given_up(recording)

    asyncio.run(main())


def test_a_record_that_is_damaged_is_refused_with_its_remedy_and_left_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "history"

    async def check(recording: Recording) -> None:
        await recording.wait_for_observation()

    run(tmp_path, [*STARTED, ("say", observation(1))], check)
    file = data / "history.sqlite"
    damaged = b"not a database" + file.read_bytes()[14:]
    file.write_bytes(damaged)

    async def main() -> None:
        async with activity.record(data, allow=[EDITOR], command=[sys.executable, "-c", ""]):
            raise AssertionError("it must not start")

    with pytest.raises(Unavailable) as caught:
        asyncio.run(main())
    assert "storage-corrupt" in caught.value.reason or "no usable database" in caught.value.reason
    assert caught.value.remedy.startswith("move it away")
    assert file.read_bytes() == damaged
    with pytest.raises(Unavailable):
        activity.observations(data)


def test_a_sleep_and_a_clock_that_jumps_end_the_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = jumped = 0

    def clocks() -> Reading:
        now = read_clocks()
        return Reading(now.wall_ms + jumped, now.boottime_ms + slept, now.monotonic_ms)

    monkeypatch.setattr("triptych.adapters.collector.host.read_clocks", clocks)
    steps: list[tuple[object, ...]] = []
    for number in range(1, 5):
        steps += [("wait", str(tmp_path / f"go{number}")), ("now", observation(number, f"Page {number}"))]

    async def check(recording: Recording) -> None:
        nonlocal slept, jumped
        for number in range(1, 5):
            (tmp_path / f"go{number}").touch()
            await recording.wait_for_observation(title=f"Page {number}")
            if number == 2:
                slept += 10_000
            if number == 3:
                jumped += 20_000
        rows = recording.observations()
        found = [row.episode_id for row in rows]
        assert found[0] == found[1] and len({found[1], found[2], found[3]}) == 3
        ends = [episode.end_reason for episode in recording.episodes(0, 2**53)]
        assert ends[:2] == ["sleep", "sleep"]

    run(tmp_path, [*STARTED, *steps], check)


def test_a_pause_and_a_collector_that_goes_to_sleep_end_the_episode(tmp_path: Path) -> None:
    paused = {**RUNNING, "state": "paused"}
    script = [
        *STARTED,
        ("now", observation(1, "Before the pause")),
        ("await", "pause"),
        ("say", paused),
        ("await", "resume"),
        ("say", RUNNING),
        ("now", observation(2, "Before the sleep")),
        ("say", {**RUNNING, "state": "degraded", "reason": "sleep"}),
        ("say", {**RUNNING, "reason": "wake"}),
        ("wait", str(tmp_path / "woken")),
        ("now", observation(3, "After the sleep")),
    ]

    async def check(recording: Recording) -> None:
        await recording.wait_for_observation(title="Before the pause")
        await recording.pause()
        await recording.resume()
        await recording.wait_for_observation(title="Before the sleep")
        (tmp_path / "woken").touch()
        await recording.wait_for_observation(title="After the sleep")
        assert recording.health.reason == "wake"
        assert len({row.episode_id for row in recording.observations()}) == 3
        assert [episode.end_reason for episode in recording.episodes(0, 2**53)][:2] == ["pause", "sleep"]

    run(tmp_path, script, check)


def test_a_data_directory_that_goes_away_is_named(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("degraded", reason="collector-exited")
        (tmp_path / "history").rename(tmp_path / "elsewhere")
        health = await recording.wait_for_capture("degraded", reason="collector-spawn-failed")
        assert health.detail is not None and "No such file" in health.detail

    run(tmp_path, [*STARTED, ("exit", 3)], check)
