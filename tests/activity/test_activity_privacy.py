"""The promises of docs/privacy.md: that each names code and tests that exist, and the ones about what reaches nothing at all."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import triptych
from activity_host_kit import EDITOR, RUNNING, STARTED, Step, observation, run, until
from activity_kit import every_byte
from triptych.engine import activity
from triptych.engine.activity import Recording
from triptych.errors import WaitTimeout
from triptych.generated.collector.vocabulary import REFUSAL_REASON

ROOT = Path(triptych.__file__).parent
PAGE = ROOT / "docs" / "privacy.md"
SECRET = "Quokka-Tapir-7731"
OTHER = "org.gnome.gedit.desktop"


def seen(seq: int, bundle_id: str = EDITOR, **changes: Any) -> dict[str, Any]:
    """An observation with the secret in every text that it has room for."""
    return observation(
        seq,
        app={"pid": 7, "bundleId": bundle_id, "name": f"App {SECRET}"},
        window={"title": f"Plans of {SECRET}", "document": f"/home/me/{SECRET}/plan.md", "url": f"https://example.org/{SECRET}"},
        element={"role": f"text {SECRET}", "subrole": SECRET, "identifier": SECRET},
        **changes,
    )


def private(secure: bool, protected: bool, reason: str) -> dict[str, Any]:
    return {"privacy": {"secure": secure, "protected": protected, "reason": reason}}


REFUSED = [
    ("not-an-adapter", seen(1, f"org.{SECRET}.desktop")),
    ("policy", seen(1, OTHER)),
    ("protected-app", seen(1, "org.keepassxc.KeePassXC.desktop")),
    ("protected-app", seen(1, **private(False, True, "protected-app"))),
    ("protected-metadata", seen(1, **private(False, True, "protected-metadata"))),
    ("secure-field", seen(1, **private(True, False, "secure-field"))),
    ("secure-field", seen(1, **private(True, False, SECRET))),
    ("protected-metadata", {**seen(1), "window": {"title": f"My secrets {SECRET}"}}),
    ("protected-metadata", {**seen(1), "window": {"title": SECRET, "document": f"/home/{SECRET}/.ssh/config"}}),
    ("unlocatable-name", {**seen(1), "window": {"title": f"{SECRET}.md"}, "element": None}),
    ("browser-unpaired", {**seen(1), "window": {"title": f"A {SECRET}", "url": f"https://{SECRET}.example.org/"}}),
    ("bad-resource", {**seen(1), "window": {"title": f"A {SECRET}", "document": f"file://{SECRET}/a"}}),
    ("future-timestamp", {**seen(1), "observedAtMs": 2**52}),
    ("expired", {**seen(1), "observedAtMs": 1}),
]


async def everything_shown(recording: Recording) -> str:
    """What a recording tells about itself in any way."""
    told = [msgspec.json.encode(recording.health).decode(), repr(recording.observations()), repr(recording.episodes(0, 2**53))]
    with pytest.raises(WaitTimeout) as caught:
        await recording.wait_for_observation(title="never", timeout=0.01)
    return "\n".join((*told, str(caught.value), repr(recording.search(SECRET)), repr(recording.policy)))


@pytest.mark.parametrize(("reason", "line"), REFUSED)
def test_no_byte_of_what_is_refused_reaches_the_record_a_log_or_any_output(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], reason: str, line: dict[str, Any]
) -> None:
    shown: list[str] = []
    disk: list[bytes] = []

    async def check(recording: Recording) -> None:
        await recording.wait_for_refusal(reason)
        await recording.wait_for_observation(title="The next one")
        shown.append(await everything_shown(recording))
        disk.append(every_byte(tmp_path / "history"))  # with the write-ahead log as it is now

    run(tmp_path, [*STARTED, ("say", line), ("say", observation(2, "The next one"))], check)
    printed = capfd.readouterr()
    assert SECRET not in shown[0] and "The next one" in shown[0]
    assert SECRET not in printed.out + printed.err
    assert SECRET.encode() not in disk[0] and b"The next one" in disk[0]
    assert SECRET.encode() not in every_byte(tmp_path / "history")


def test_the_same_window_reaches_the_record_once_it_is_included(tmp_path: Path) -> None:
    """So that the test above can fail."""

    async def check(recording: Recording) -> None:
        assert (await recording.wait_for_observation()).title == f"Plans of {SECRET}"

    run(tmp_path, [*STARTED, ("say", {**seen(1, OTHER), "window": {"title": f"Plans of {SECRET}"}})], check, allow=[OTHER])
    assert SECRET.encode() in every_byte(tmp_path / "history")


PAUSED = {**RUNNING, "state": "paused"}


@pytest.mark.parametrize(
    ("when", "script"),
    [
        ("before its hello", [("say", seen(1))]),
        ("before any policy is acknowledged", [*STARTED[:-1], ("say", seen(1)), ("ack", 1)]),
        ("after a broken rule", [*STARTED, ("raw", "no"), ("say", seen(1))]),
        ("in the line that breaks it", [*STARTED, ("say", seen(1, mood=SECRET))]),
        ("in a line that is cut off", [*STARTED, ("raw", '{"v": 1, "' + SECRET)]),
        ("as the reason of its end", [*STARTED, ("say", {"v": 1, "type": "fatal", "code": SECRET, "message": SECRET})]),
    ],
)
def test_what_a_collector_says_outside_of_its_session_reaches_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], when: str, script: list[Step]
) -> None:
    async def check(recording: Recording) -> None:
        await until(recording, lambda: recording.failed)
        assert recording.observations() == [], when

    run(tmp_path, script, check)
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err
    assert SECRET.encode() not in every_byte(tmp_path / "history")


def test_nothing_is_recorded_while_it_is_paused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_capture("running")
        await recording.pause()
        await recording.wait_for_refusal("capture-paused", times=2)
        assert SECRET not in await everything_shown(recording)

    line = {**seen(1), "window": {"title": SECRET}}
    run(tmp_path, [*STARTED, ("await", "pause"), ("say", line), ("say", PAUSED), ("say", {**line, "seq": 2})], check)
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err
    assert SECRET.encode() not in every_byte(tmp_path / "history")


def test_of_an_unknown_field_only_the_name_is_kept_and_only_in_memory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_observation()
        assert recording.health.unknown_fields.by_name == {"x-mood": 1}
        assert SECRET not in await everything_shown(recording)

    run(tmp_path, [*STARTED, ("say", observation(1, **{"x-mood": {"deep": [SECRET]}, "workspace": {"root": f"/home/{SECRET}"}}))], check)
    assert SECRET.encode() not in every_byte(tmp_path / "history")
    assert b"x-mood" not in every_byte(tmp_path / "history")
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err


def test_a_first_run_lets_nothing_in_and_says_so(tmp_path: Path) -> None:
    async def check(recording: Recording) -> None:
        await recording.wait_for_refusal("policy", times=2)
        health = recording.health
        assert (health.capture, health.reason) == ("running", "no-apps-allowed")
        assert all(rule.built_in for rule in recording.policy.rules) and not recording.policy.allows_an_app

    lines = [("say", observation(1)), ("say", observation(2, app={"pid": 1, "bundleId": OTHER}))]
    run(tmp_path, [*STARTED, *lines], check, allow=None)
    assert activity.observations(tmp_path / "history") == []


CLIENTS = {"urllib.request", "http.client", "ftplib", "smtplib", "requests", "httpx", "socket", "ssl"}  # modules
CALLS = {"open_connection", "create_connection", "ClientSession", "urlopen", "sendto"}  # attributes
LOCAL = {  # what uses sockets, and what it talks to
    "adapters/collector/control_socket.py",  # a unix socket of the data directory
    "adapters/collector/foreground_x11.py",  # the X display: ends its own connection, and asks for this machine.s name
    "adapters/collector/intake.py",  # listens on loopback
    "engine/activity_cli/doctor.py",  # asks whether a port of loopback is free
    "engine/activity_cli/pair_command.py",  # asks the intake on loopback
}


def uses_sockets(file: Path) -> bool:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names) if any(alias.name in CLIENTS for alias in names):
                return True
            case ast.ImportFrom(module=module) if module in CLIENTS:
                return True
            case ast.Attribute(attr=attribute) if attribute in CALLS:
                return True
    return False


def test_nothing_leaves_the_machine() -> None:
    """No module of the activity panel opens a connection to anywhere else: those that use sockets at all stand in a closed list."""
    files = [
        *(ROOT / "machines" / "collector").rglob("*.py"),
        *(ROOT / "adapters" / "collector").rglob("*.py"),
        *ROOT.glob("engine/activity*.py"),
    ]
    found = {str(file.relative_to(ROOT)) for file in files if uses_sockets(file)}
    assert len(files) > 50
    assert "adapters/collector/control_socket.py" in found
    assert found <= LOCAL, "a new user of sockets: say in docs/privacy.md what it talks to, and list it here"


# the page


def promises() -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").partition("## The promises\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def test_every_promise_names_where_it_is_enforced_and_what_proves_it() -> None:
    assert len(promises()) >= 15
    for promise, enforced, proved in promises():
        modules, tests = re.findall(r"`([^`]+)`", enforced), re.findall(r"`([^`]+)`", proved)
        assert promise and modules and tests, promise
        for module in modules:
            path, _, name = module.partition(":")
            assert (ROOT / path).is_file(), f"{promise}: {path} is not there"
            assert not name or re.search(rf"\b{re.escape(name)}\b", (ROOT / path).read_text(encoding="utf-8")), f"{path} has no {name}"
        for test in tests:
            path, _, name = test.partition("::")
            code = (ROOT / "tests" / path).read_text(encoding="utf-8")
            assert re.search(rf"def {re.escape(name)}\(", code), f"{promise}: {path} has no {name}"


def test_every_reason_of_a_refusal_stands_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [reason for reason in REFUSAL_REASON if f"`{reason}`" not in text] == []
