"""A record that cannot be written for a while: what was admitted waits, health names the reason, and nothing is lost or held up."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from activity_host_kit import EDITOR, HELLO, RUNNING, STARTED, observation, run, until
from stopwatch_kit import Stopwatch
from triptych.adapters.collector.write_queue import MOST_WAITING
from triptych.engine import activity
from triptych.engine.activity import Facts, Recording
from triptych.errors import Unavailable

FLOOD = (
    "import json, sys; told = json.loads(sys.argv[1]); out = sys.stdout.buffer\n"
    "out.write(told['opening'].encode()); out.flush()\n"
    "revision = json.loads(sys.stdin.readline())['revision']\n"
    "out.write(json.dumps({'v': 1, 'type': 'configured', 'revision': revision}).encode() + b'\\n')\n"
    "for number in range(told['count']): out.write(told['line'].replace('\"seq\": 0', f'\"seq\": {number}').encode())\n"
    "out.flush(); open(told['done'], 'w').close(); sys.stdin.read()\n"
)


def flooding(folder: Path, title: str, count: int) -> list[str]:
    opening = "".join(json.dumps(message) + "\n" for message in (HELLO, RUNNING))
    line = json.dumps(observation(0, title)) + "\n"
    told = {"opening": opening, "line": line, "count": count, "done": str(folder / "done")}
    return [sys.executable, "-c", FLOOD, json.dumps(told)]


@contextlib.contextmanager
def locked(data: Path) -> Iterator[None]:
    """Another connection is in the middle of a write."""
    other = sqlite3.connect(data / "history.sqlite", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
    finally:
        other.close()


async def longest_wait(seconds: float) -> float:
    """How long the loop was held up at once, at most, in so many seconds; a processor that others have holds nobody up."""
    longest, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        turn = Stopwatch()
        await asyncio.sleep(0.005)
        longest = max(longest, turn.seconds())
    return longest


@pytest.mark.slow
def test_a_lock_of_another_program_loses_nothing_and_holds_nobody_up(tmp_path: Path) -> None:
    data = tmp_path / "history"
    steps = [("wait", str(tmp_path / "go")), ("say", observation(1, "First")), ("say", observation(2, "Second"))]

    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        with locked(data):
            (tmp_path / "go").touch()
            health = await recording.wait_for_capture("degraded", reason="storage-locked")
            assert health.detail is None and not recording.failed
            assert await longest_wait(6) < 0.5, "longer than any deadline of the collector"
            assert recording.observations() == []
        await recording.wait_for_observation(title="Second")
        await recording.wait_for_capture("running")
        assert [row.title for row in recording.observations()] == ["First", "Second"]
        assert recording.health.refusals.total == 0

    run(tmp_path, [*STARTED, *steps], check)
    assert (tmp_path / "runs").read_text() == "x", "the collector was never ended"


def test_a_flood_into_a_locked_record_waits_in_the_pipe(tmp_path: Path) -> None:
    data, count = tmp_path / "history", 20_000

    async def main() -> None:
        async with activity.record(data, allow=[EDITOR], command=flooding(tmp_path, "Many", 0)) as recording:
            await recording.wait_for_capture("running")
        async with activity.record(data, command=flooding(tmp_path, "Many", count)) as recording:
            with locked(data):
                await recording.wait_for_capture("degraded", reason="storage-locked")
                await until(recording, lambda: recording._host._queue.crowded)
                assert await longest_wait(1) < 0.5
                assert recording._host._queue.observations < MOST_WAITING + 2000
            await until(recording, lambda: recording.last_id == count, 60)
            assert recording.health.capture == "running"
            assert recording.health.refusals.total == 0

    asyncio.run(main())
    assert [row.seq for row in activity.observations(data, limit=count + 1)] == list(range(count))


def test_a_collector_that_ends_while_the_record_is_locked_loses_nothing_of_what_it_said(tmp_path: Path) -> None:
    data = tmp_path / "history"
    said = [("wait", str(tmp_path / "go")), *(("say", observation(number, "x" * 100)) for number in range(200)), ("exit", 3)]

    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        with locked(data):
            (tmp_path / "go").touch()
            await recording.wait_for_capture("degraded", reason="collector-exited")
        await until(recording, lambda: recording.last_id == 200)

    run(tmp_path, [*STARTED, *said], check)


def test_what_waits_at_the_end_is_stored_when_the_lock_goes_and_told_when_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def main(data: Path, held: float | None) -> None:
        holding = contextlib.ExitStack()
        async with activity.record(data, allow=[EDITOR], command=flooding(tmp_path, "Last", 3)) as recording:
            await until(recording, lambda: recording.last_id == 3)
        async with activity.record(data, command=flooding(tmp_path, "Last", 5)) as recording:
            holding.enter_context(locked(data))
            await recording.wait_for_capture("degraded", reason="storage-locked")
            await until(recording, lambda: recording._host._queue.observations == 5)
            if held is not None:
                asyncio.get_running_loop().call_later(held, holding.close)
        holding.close()

    monkeypatch.setattr("triptych.adapters.collector.write_queue.LAST", 60.0)
    asyncio.run(main(tmp_path / "kept", 0.6))
    assert [row.seq for row in activity.observations(tmp_path / "kept")] == [0, 1, 2, 3, 4]
    monkeypatch.setattr("triptych.adapters.collector.write_queue.LAST", 0.4)
    asyncio.run(main(tmp_path / "lost", None))
    assert [row.seq for row in activity.observations(tmp_path / "lost")] == [0, 1, 2]
    assert "what was seen last cannot be stored" in capsys.readouterr().err


def test_a_policy_that_is_changed_meanwhile_takes_what_waits_out(tmp_path: Path) -> None:
    data = tmp_path / "history"
    paused = {**RUNNING, "state": "paused"}
    steps = [
        ("wait", str(tmp_path / "go")),
        ("say", observation(1, "No longer wanted")),
        ("await", "pause"),
        ("say", paused),
        ("await", "configure"),
        ("ack",),
        ("await", "resume"),
        ("say", RUNNING),
    ]

    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        holding = contextlib.ExitStack()
        holding.enter_context(locked(data))
        (tmp_path / "go").touch()
        await recording.wait_for_capture("degraded", reason="storage-locked")
        changing = asyncio.create_task(recording.allow(["org.gnome.gedit.desktop"]))
        assert await longest_wait(0.5) < 0.3
        retry = recording._host._queue._retry
        assert retry is not None and not changing.done()
        retry.cancel()  # so that the policy is written first
        holding.close()
        await changing
        recording._host._queue._try_again()
        assert recording.health.refusals.by_reason == {"policy": 1}
        assert recording.observations() == []

    run(tmp_path, [*STARTED, *steps], check)
    assert b"No longer wanted" not in (data / "history.sqlite").read_bytes()


def companion(seq: int) -> Facts:
    return Facts(
        session="browser-1",
        seq=seq,
        observed_at_ms=time.time_ns() // 1_000_000,
        pid=0,
        bundle_id="companion.browser",
        url="https://example.org/page",
        adapter="browser",
        provider="companion",
    )


def test_a_companion_waits_for_the_commit_and_is_told_when_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "history"

    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        with locked(data):
            first = asyncio.create_task(recording.deliver(companion(1)))
            assert await longest_wait(0.6) < 0.3
            assert not first.done()
        assert (await first).stored
        monkeypatch.setattr("triptych.adapters.collector.host.LAST", 0.3)
        with locked(data), pytest.raises(Unavailable, match="storage-locked"):
            await recording.deliver(companion(2))
        monkeypatch.setattr("triptych.adapters.collector.host.LAST", 5.0)
        assert (await recording.deliver(companion(3))).stored
        assert not (await recording.deliver(companion(3))).stored
        assert [row.seq for row in recording.observations()] == [1, 3], "what was refused is not stored later"

    run(tmp_path, [*STARTED], check, allow=[EDITOR, "companion.browser"])


def test_a_boundary_waits_in_its_place(tmp_path: Path) -> None:
    data = tmp_path / "history"
    steps = [
        ("now", observation(1, "Before")),
        ("wait", str(tmp_path / "go")),
        ("say", {**RUNNING, "state": "degraded", "reason": "sleep"}),
        ("say", {**RUNNING, "reason": "wake"}),
        ("wait", str(tmp_path / "woken")),
        ("now", observation(2, "After")),
    ]

    async def check(recording: Recording) -> None:
        await recording.wait_for_observation(title="Before")
        with locked(data):
            (tmp_path / "go").touch()
            await recording.wait_for_capture("degraded", reason="storage-locked")
            (tmp_path / "woken").touch()
        await recording.wait_for_observation(title="After")
        assert next(episode.end_reason for episode in recording.episodes(0, 2**53)) == "sleep"
        assert len(recording.episodes(0, 2**53)) == 2

    run(tmp_path, [*STARTED, *steps], check)


@contextlib.contextmanager
def tiny_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)], capture_output=True, check=False
    ).returncode:
        pytest.skip("this user may not mount a tiny disk; the limit on file sizes is tested all the same")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_is_named_and_what_waits_is_stored_when_there_is_room(tmp_path: Path) -> None:
    count = 600

    async def main(disk: Path) -> None:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(14 << 20))
        async with activity.record(disk / "history", allow=[EDITOR], command=flooding(tmp_path, "x" * 3000, count)) as recording:
            health = await recording.wait_for_capture("degraded", reason="storage-full")
            assert health.collector is not None and not recording.failed
            before = recording.last_id
            assert before < count
            ballast.unlink()
            await until(recording, lambda: recording.last_id == count, 30)
            await recording.wait_for_capture("running")

    with tiny_disk(tmp_path / "disk", "16m") as disk:
        asyncio.run(main(disk))
        assert [row.seq for row in activity.observations(disk / "history", limit=count + 1)] == list(range(count))


def test_a_limit_on_the_size_of_files_is_named_too(tmp_path: Path) -> None:
    program = (
        "import asyncio, json, resource, signal, sys; from pathlib import Path; from triptych.engine import activity\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))\n"
        "async def main():\n"
        "    async with activity.record(Path(sys.argv[1]), allow=['code.desktop'], command=json.loads(sys.argv[2])) as recording:\n"
        "        health = await recording.wait_for_capture('degraded', timeout=20)\n"
        "        while health.reason in (None, 'collector-starting'):\n"
        "            await asyncio.sleep(0.01); health = await recording.wait_for_capture('degraded', timeout=20)\n"
        "        print(health.reason, health.detail, len(recording.observations(limit=9999)), flush=True)\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "history"), json.dumps(flooding(tmp_path, "x" * 3000, 3000))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ},
    )
    assert ended.returncode == 0, ended.stderr
    assert "storage-" in ended.stdout
    stored = int(ended.stdout.split()[-1])
    assert len(activity.observations(tmp_path / "history", limit=9999)) >= stored > 0
