"""`triptych activity doctor` finds each thing that keeps a record empty, names what mends it, and ends with 1 until it is done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from activity_kit import scripted
from activity_people_kit import EDITOR, TRIPTYCH, activity, environment, now_ms
from triptych.adapters.collector.store import Store
from triptych.engine.activity_cli import doctor as activity_doctor
from triptych.engine.activity_cli.reasons import CAPTURE, REFUSED, refused_line
from triptych.generated.collector import vocabulary
from triptych.machines.collector.policy import Policy, Rule, allow_app

NO_BUS = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}


def examined(data: Path, home: Path, code: int = 1, **env: str) -> dict[str, list[dict[str, Any]]]:
    ended = activity("doctor", "--data", str(data), "--json", env=environment(home, **NO_BUS, **env))
    assert (ended.returncode, ended.stderr) == (code, ""), ended
    value = json.loads(ended.stdout)
    assert value["healthy"] == (code == 0)
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in value["findings"]:
        found.setdefault(finding["what"], []).append(finding)
        if finding["status"] == "missing":
            assert finding["remedy"], finding
    return found


def kept(data: Path, *rules: Rule) -> Path:
    with Store(data, now_ms()) as store:
        store.replace_policy(Policy().replaced(rules), now_ms())
    return data


def test_every_word_has_its_explanation() -> None:
    words = {*vocabulary.DEGRADED_REASON, *vocabulary.HEALTH_REASON, *vocabulary.STATE_REASON}
    assert words == set(CAPTURE)
    assert set(vocabulary.REFUSAL_REASON) == set(REFUSED)
    assert refused_line({"policy": 7, "expired": 0, "secure-field": 12}) == "19 (12 secure-field, 7 policy)"
    assert refused_line({}) == "nothing"


def test_a_first_day(tmp_path: Path) -> None:
    found = examined(tmp_path / "none", tmp_path)
    assert found["database"][0]["status"] == "ok"
    assert found["accessibility"][0]["detail"].startswith("no session bus")
    assert found["host"][0]["remedy"] == "triptych activity start --detach"
    assert found["policy"][0]["detail"] == "no application is allowed"
    assert not (tmp_path / "none").exists()
    shown = activity("doctor", "--data", str(tmp_path / "none"), env=environment(tmp_path, **NO_BUS))
    assert shown.returncode == 1 and "      → triptych activity start --detach\n" in shown.stdout


@pytest.mark.parametrize(
    ("rules", "status", "words", "remedy"),
    [
        ([allow_app(EDITOR)], "ok", f"allowed: {EDITOR}", ""),
        ([allow_app("org.x.desktop")], "missing", "no adapter knows", "policy adapter add org.x.desktop --surface window"),
        ([allow_app(EDITOR), Rule("d", "app", "deny", "exact", EDITOR)], "missing", "is denied by another rule", "policy list"),
    ],
)
def test_the_policy(tmp_path: Path, rules: list[Rule], status: str, words: str, remedy: str) -> None:
    [found] = examined(kept(tmp_path / "history", *rules), tmp_path)["policy"]
    assert found["status"] == status and words in found["detail"] and remedy in found["remedy"]


def test_one_of_several_that_nobody_knows(tmp_path: Path) -> None:
    found = examined(kept(tmp_path / "history", allow_app(EDITOR), allow_app("org.x.desktop")), tmp_path)["policy"]
    assert [one["status"] for one in found] == ["ok", "limited"]


@pytest.mark.parametrize("content", [b"not a database", b"x" * 5000])
def test_a_database_that_cannot_be_used(tmp_path: Path, content: bytes) -> None:
    data = kept(tmp_path / "history")
    for path in data.iterdir():
        path.unlink()
    (data / "history.sqlite").write_bytes(content)
    (data / "history.sqlite").chmod(0o600)
    [found] = examined(data, tmp_path)["database"]
    assert found["status"] == "missing" and "history.sqlite" in found["detail"]


def test_a_directory_that_others_may_read(tmp_path: Path) -> None:
    data = kept(tmp_path / "history")
    data.chmod(0o755)
    [found] = examined(data, tmp_path)["database"]
    assert found["remedy"].startswith("chmod 700")


def test_a_table_of_applications_that_is_none(tmp_path: Path) -> None:
    data = kept(tmp_path / "history", allow_app(EDITOR))
    (data / "adapters.json").write_text("nonsense")
    [found] = examined(data, tmp_path)["adapters"]
    assert found["status"] == "missing" and "adapters.json" in found["remedy"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, status in ((1 << 20, "missing"), (50 << 20, "limited")):
        monkeypatch.setattr(activity_doctor.shutil, "disk_usage", lambda path, free=free: os.terminal_size((0, 0)) and Usage(free))
        [found] = [finding for finding in activity_doctor.examine(tmp_path / "none") if finding.what == "disk"]
        assert found.status == status


class Usage:
    def __init__(self, free: int) -> None:
        self.free = free


@pytest.mark.parametrize("module", ["dbus_fast", "xcffib"])
def test_a_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setattr(activity_doctor, "find_spec", lambda name: None if name == module else object())
    [found] = [finding for finding in activity_doctor.examine(tmp_path / "none") if finding.detail == f"{module} is not installed"]
    assert (found.status, found.remedy) == ("missing", "pip install 'triptych[activity]'")


HOST = """
import asyncio, json, sys
from pathlib import Path
from triptych.engine import activity
from triptych.engine.activity_cli import service as activity_service
async def main():
    ended = asyncio.Event()
    async with activity.record(Path(sys.argv[1]), command=json.loads(sys.argv[2])) as recording:
        async with activity_service.controlled(recording, ended):
            if sys.argv[3] == "collector-exited":  # the third crash, after which there are 5 seconds to look
                for _ in range(2):
                    await recording.wait_for_capture("degraded", reason="collector-exited")
                    await recording.wait_for_capture("degraded", reason="collector-starting")
            if sys.argv[3]:
                await recording.wait_for_capture("degraded", reason=sys.argv[3])
            else:
                await recording.wait_for_capture("running")
            print("up", flush=True)
            await ended.wait()
asyncio.run(main())
"""
HELLO = {
    "v": 1,
    "type": "hello",
    "collectorSession": "s",
    "collectorVersion": "1",
    "platform": "linux",
    "arch": "x64",
    "capabilities": ["app-focus"],
}
RUNNING = {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}


@contextmanager
def host(data: Path, *script: tuple[object, ...], until: str = "") -> Iterator[None]:
    """A host with a collector that does what its script says, once its capture is degraded for that reason, or runs."""
    command = [TRIPTYCH[0], "-c", HOST, str(data), json.dumps(scripted(data.parent, list(script))), until]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        try:
            assert running.stdout is not None and running.stdout.readline() == b"up\n"
            yield
            assert activity("stop", "--data", str(data)).stdout == "stopped\n"
        finally:
            running.kill()


def test_a_record_that_works(tmp_path: Path) -> None:
    data = kept(tmp_path / "history", allow_app(EDITOR))
    observation = {
        "v": 1,
        "type": "observation",
        "collectorSession": "s",
        "seq": 1,
        "observedAtMs": now_ms(),
        "app": {"pid": 1, "bundleId": "unknown.desktop"},
        "privacy": {"secure": False, "protected": False},
        "source": {"adapter": "x"},
    }
    script = [("say", HELLO), ("await", "configure"), ("ack",), ("say", RUNNING), ("say", observation)]
    with host(data, *script):
        found = examined(data, tmp_path)
        assert found["capture"][0]["detail"] == "running" and found["host"][0]["status"] == "ok"
        assert found["refused"][0]["detail"].startswith("1 × not-an-adapter")
        assert "policy adapter add" in found["refused"][0]["remedy"]
        assert {one["what"] for ones in found.values() for one in ones if one["status"] == "missing"} == {"accessibility"}
        assert activity("pause", "--data", str(data)).returncode in (0, 1)


def test_capture_that_is_paused(tmp_path: Path) -> None:
    data = kept(tmp_path / "history", allow_app(EDITOR))
    paused = {**RUNNING, "state": "paused"}
    with host(data, ("say", HELLO), ("await", "configure"), ("ack",), ("say", RUNNING), ("await", "pause"), ("say", paused)):
        assert activity("pause", "--data", str(data)).stdout == "capture paused\n"
        [found] = examined(data, tmp_path)["capture"]
        assert (found["detail"], found["remedy"]) == ("paused", "triptych activity resume")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "reason", "words"),
    [
        ([], "hello-timeout", "the collector is silent"),
        ([("stderr", "no luck\n"), ("exit", 3)], "collector-exited", "the collector crashed"),
        ([("raw", "nonsense")], "protocol-error", "broke its protocol"),
        ([("say", HELLO), ("await", "configure")], "configure-ack-timeout", "did not take the policy"),
    ],
)
def test_a_collector_that_is_silent_crashes_or_lies(tmp_path: Path, script: list[tuple[object, ...]], reason: str, words: str) -> None:
    data = kept(tmp_path / "history", allow_app(EDITOR))
    with host(data, *script, until=reason):
        [found] = examined(data, tmp_path)["capture"]
        assert found["status"] == "missing" and words in found["detail"]
        if reason == "collector-exited":
            assert "no luck" in found["detail"]
        shown = activity("status", "--data", str(data)).stdout
        assert shown.startswith("capture degraded: ") and f"[{reason}]" in shown


def test_why_the_last_host_in_the_background_ended(tmp_path: Path) -> None:
    data = kept(tmp_path / "history", allow_app(EDITOR))
    (data / "host.log").write_text("2026-11-30 12:00:00  capture running\ntriptych: no session bus: gone\n")
    [found] = examined(data, tmp_path)["host"]
    assert found["detail"] == "no host runs; the last one ended with: no session bus: gone"


def test_the_doctor_of_everything_has_the_record_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "triptych.engine", "doctor", "--json"]
    ended = subprocess.run(command, env=environment(tmp_path, **NO_BUS), capture_output=True, text=True, check=False, timeout=60)
    [found] = [finding for finding in json.loads(ended.stdout)["findings"] if finding["what"] == "record"]
    assert (found["panel"], found["status"], found["remedy"]) == ("activity", "limited", "triptych activity start --detach")
    assert ended.returncode == 0
