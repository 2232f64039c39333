"""One host of a data directory captures: the lock, the probe at a start, the lease around a policy, and what another host may do."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activity_host_kit import EDITOR, STARTED, observation, until
from activity_kit import scripted
from triptych.adapters.collector import ownership
from triptych.adapters.collector.ownership import Ownership
from triptych.engine import activity
from triptych.errors import LocalProtocolError, Unavailable
from triptych.machines.collector.policy import allow_app


def test_the_lock_is_one_and_is_seen(tmp_path: Path) -> None:
    assert not Ownership.held(tmp_path)
    assert list(tmp_path.iterdir()) == [], "looking makes nothing"
    first = Ownership(tmp_path)
    assert first.owned and Ownership.held(tmp_path)
    with pytest.raises(Unavailable) as caught:
        Ownership(tmp_path)
    assert caught.value.reason.startswith("capture-owned-by-another-host")
    first.release()
    first.release()
    assert not first.owned and not Ownership.held(tmp_path)
    assert (tmp_path / "capture-owner").stat().st_mode & 0o777 == 0o600
    Ownership(tmp_path).release()


def test_a_start_waits_for_a_host_that_is_just_ending(tmp_path: Path) -> None:
    async def main() -> float:
        old, new = Ownership(tmp_path), Ownership(tmp_path, take=False)
        asyncio.get_running_loop().call_later(0.3, old.release)
        began = time.monotonic()
        await new.probe()
        new.release()
        return time.monotonic() - began

    assert 0.25 < asyncio.run(main()) < 4.5


def test_a_start_gives_up_when_the_other_host_stays(tmp_path: Path) -> None:
    async def main() -> None:
        old = Ownership(tmp_path)
        try:
            await Ownership(tmp_path, take=False).probe(0.2)
        finally:
            old.release()

    with pytest.raises(Unavailable):
        asyncio.run(main())
    assert ownership.PROBE == 4.5


def test_a_release_waits_for_the_last_lease(tmp_path: Path) -> None:
    held = Ownership(tmp_path)
    with held.lease():
        with held.lease():
            held.release()
            assert Ownership.held(tmp_path)
        assert Ownership.held(tmp_path)
    assert not Ownership.held(tmp_path)


def test_a_lease_without_the_lock_borrows_it_and_is_refused_where_another_host_has_it(tmp_path: Path) -> None:
    held = Ownership(tmp_path, take=False)
    with held.lease():
        assert Ownership.held(tmp_path)
    assert not Ownership.held(tmp_path)
    other = Ownership(tmp_path)
    with pytest.raises(Unavailable) as caught, held.lease():
        raise AssertionError("it must not be granted")
    assert caught.value.reason.startswith("the capture policy is owned by another host")
    other.release()


def test_the_lock_goes_with_the_process_that_held_it(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from triptych.adapters.collector.ownership import Ownership\n"
        "held = Ownership(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
            assert Ownership.held(tmp_path)
        finally:
            os.kill(holder.pid, signal.SIGKILL)
    Ownership(tmp_path).release()


def test_a_second_host_reads_the_history_and_may_not_change_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ownership.probe, "__defaults__", (0.1,))
    data = tmp_path / "history"

    async def main() -> None:
        command = scripted(tmp_path, [*STARTED, ("say", observation(1))])
        async with activity.record(data, allow=[EDITOR], command=command) as recording:
            seen = await recording.wait_for_observation()
            assert [row.id for row in activity.observations(data)] == [seen.id]
            assert activity.policy(data).rules == recording.policy.rules
            with pytest.raises(Unavailable) as caught:
                async with activity.record(data, allow=["org.gnome.gedit.desktop"]):
                    raise AssertionError("it must not start")
            assert caught.value.reason.startswith("capture-owned-by-another-host")
            assert activity.policy(data).revision == recording.policy.revision
            assert allow_app(EDITOR) in activity.policy(data).rules

    asyncio.run(main())


def test_a_host_whose_capture_was_given_up_may_not_change_the_policy_of_the_next_owner(tmp_path: Path) -> None:
    data = tmp_path / "history"

    async def main() -> None:
        async with activity.record(data, command=[str(tmp_path / "nothing")]) as recording:
            await recording.wait_for_capture("degraded", reason="collector-spawn-failed")
            await recording.allow([EDITOR])
            assert not Ownership.held(data)
            before = recording.policy
            other = Ownership(data)
            with pytest.raises(Unavailable) as caught:
                await recording.allow(["org.gnome.gedit.desktop"])
            assert caught.value.reason.startswith("the capture policy is owned by another host")
            assert recording.policy is before and activity.policy(data) == before
            with pytest.raises(Unavailable):
                await recording._host._ownership.probe(0.1)
            other.release()

    asyncio.run(main())


def test_a_recovery_is_refused_while_another_host_captures_and_health_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "history"
    monkeypatch.setattr(Ownership.probe, "__defaults__", (0.1,))

    async def main() -> None:
        async with activity.record(data, allow=[EDITOR], command=scripted(tmp_path, [("raw", "no")], [*STARTED])) as recording:
            await recording.wait_for_capture("degraded", reason="protocol-error")
            await until(recording, lambda: recording.failed)
            other = Ownership(data)
            with pytest.raises(Unavailable):
                await recording.recover()
            assert not recording._capture.owned
            other.release()
            await recording.recover()
            assert (recording.health.capture, recording._capture.owned) == ("running", True)
            assert Ownership.held(data)
            with pytest.raises(LocalProtocolError) as caught:
                await recording.recover()
            assert caught.value.code == "collector-recover-refused"
            assert Ownership.held(data) and recording.health.capture == "running"

    asyncio.run(main())
