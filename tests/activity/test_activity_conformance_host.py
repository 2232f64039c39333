"""The host's half of the contract: a scripted collector for each row of the manager's table, and what a host makes of every fact stream."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from triptych.engine import activity
from triptych.engine.activity import Recording
from triptych.engine.activity_cli.replay import replay
from triptych.engine.conformance.collector_shapes import observation
from triptych.engine.conformance.collector_stories import CANARY, STORIES, Story
from triptych.errors import LocalProtocolError, RemoteProtocolError, Unavailable
from triptych.generated.collector.models import Platform
from triptych.machines.collector.companion_payload import read as read_payload
from triptych.machines.collector.messages import HostSession
from triptych.machines.collector.unknown_fields import UnknownFields
from triptych.tools.gen_collector_vectors import document, played, written

FAKE = (sys.executable, "-S", "-E", str(Path(__file__).parents[1] / "programs" / "fake_collector.py"))
EDITOR = "code.desktop"
Step = tuple[Any, ...]

HELLO = {
    "v": 1, "type": "hello", "collectorSession": "fake-1", "collectorVersion": "9.9", "platform": "linux", "arch": "x64",
    "capabilities": [],
}  # fmt: skip
RUNNING = {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}
WITHOUT = {"v": 1, "type": "state", "state": "permission-required", "accessibilityTrusted": False, "reason": "accessibility"}
PAUSED = {"v": 1, "type": "state", "state": "paused", "accessibilityTrusted": True}
STARTED: tuple[Step, ...] = (("say", HELLO), ("say", RUNNING), ("await", "configure"), ("ack",))


def seen(seq: int, title: str = "A page", **changes: Any) -> Step:
    return (
        "say",
        {
            "v": 1,
            "type": "observation",
            "collectorSession": "fake-1",
            "seq": seq,
            "observedAtMs": time.time_ns() // 1_000_000,
            "app": {"pid": 7, "bundleId": EDITOR, "name": "Code"},
            "window": {"title": title},
            "privacy": {"secure": False, "protected": False},
            "source": {"adapter": "vscode"},
            **changes,
        },
    )


Act = Callable[[Recording], Awaitable[None]]


async def _pauses(recording: Recording) -> None:
    await recording.wait_for_capture("running")
    await recording.pause()


async def _fails_to_pause(recording: Recording) -> None:
    await recording.wait_for_capture("running")
    with pytest.raises(Unavailable):
        await recording.pause()


async def _fails_to_resume(recording: Recording) -> None:
    await _pauses(recording)
    with pytest.raises(Unavailable):
        await recording.resume()


async def _allows_more(recording: Recording) -> None:
    await recording.wait_for_capture("running")
    await recording.allow([EDITOR, "org.gnome.Nautilus.desktop"])


async def _resumes(recording: Recording) -> None:
    await _pauses(recording)
    await recording.resume()


async def _starts_twice(recording: Recording) -> None:
    await recording.wait_for_capture("running")
    with pytest.raises(LocalProtocolError) as refused:
        recording._host.start()
    assert refused.value.code == "collector-start-refused"


async def _recovers_too_early(recording: Recording) -> None:
    await recording.wait_for_capture("running")
    with pytest.raises(LocalProtocolError) as refused:
        await recording.recover()
    assert refused.value.code == "collector-recover-refused"


@dataclass(frozen=True)
class Row:
    """One row: what the collector does in each run, what the host is asked, and how the capture must look then."""

    name: str
    scripts: tuple[tuple[Step, ...], ...]
    capture: str
    reason: str | None = None
    act: Act | None = None
    runs: int = 1
    titles: tuple[str, ...] = ()
    refused: dict[str, int] = field(default_factory=dict)
    slow: bool = False
    failed: bool = False


def row(name: str, capture: str, *script: Step, **more: Any) -> Row:
    return Row(name, (script,), capture, **more)


SAME = seen(1)
BROKEN: dict[str, Any] = {"reason": "protocol-error", "failed": True}
ROWS = (
    row("a second start is refused", "running", *STARTED, act=_starts_twice),
    row("a recovery while it runs is refused", "running", *STARTED, act=_recovers_too_early),
    row("silence", "degraded", ("await", "shutdown"), reason="hello-timeout", slow=True, failed=True),
    row("bytes without hello", "degraded", ("bytes", '{"v":1'), reason="collector-spoke-without-hello", slow=True, failed=True),
    row("a state before hello", "degraded", ("say", RUNNING), **BROKEN),
    row("an observation before hello", "degraded", seen(1), **BROKEN),
    row("a second hello", "degraded", *STARTED, ("say", HELLO), **BROKEN),
    row("hello and acknowledgement", "running", *STARTED),
    row("hello without the permission", "permission-required", ("say", HELLO), ("say", WITHOUT), *STARTED[2:], reason="accessibility"),
    row("an observation of another session", "degraded", *STARTED, seen(1, collectorSession="fake-2"), **BROKEN),
    row("a provider of another platform", "degraded", *STARTED, seen(1, source={"adapter": "vscode", "provider": "macos-ax"}), **BROKEN),
    row("a companion on the wire", "degraded", *STARTED, seen(1, source={"adapter": "vscode", "provider": "companion"}), **BROKEN),
    row("a sequence that goes back", "degraded", *STARTED, seen(5), seen(4, "B"), titles=("A page",), **BROKEN),
    row("the same sequence and content", "running", *STARTED, SAME, SAME, seen(2, "B"), titles=("A page", "B"),
        refused={"duplicate": 1}),
    row("the same sequence, other content", "degraded", *STARTED, seen(1), seen(1, "B"), titles=("A page",), **BROKEN),
    row("a gap in the sequence", "running", *STARTED, seen(1), seen(9, "B"), titles=("A page", "B")),
    row("an acknowledgement nobody waits for", "degraded", *STARTED, ("ack",), **BROKEN),
    row("an acknowledgement of another revision", "degraded", *STARTED[:-1], ("ack", 1), **BROKEN),
    row("no acknowledgement", "degraded", *STARTED[:-1], seen(1), reason="configure-ack-timeout", slow=True, failed=True),
    row("a late acknowledgement", "degraded", *STARTED[:-1], ("await", "shutdown"), ("ack",), slow=True, **BROKEN),
    row("a state that changes", "permission-required", *STARTED, ("say", WITHOUT), reason="accessibility"),
    row("last words", "degraded", *STARTED, ("say", {"v": 1, "type": "fatal", "code": "no-display", "message": "x"}),
        reason="no-display", failed=True),
    row("no answer to a pause", "degraded", *STARTED, act=_fails_to_pause, reason="paused-ack-timeout", slow=True, failed=True),
    row("no answer to a resume", "degraded", *STARTED, ("await", "pause"), ("say", PAUSED), act=_fails_to_resume,
        reason="running-ack-timeout", slow=True, failed=True),
    row("a pause", "paused", *STARTED, ("await", "pause"), ("say", PAUSED), act=_pauses),
    row("a resume without the permission", "permission-required", *STARTED, ("await", "pause"), ("say", PAUSED), ("await", "resume"),
        ("say", WITHOUT), act=_resumes, reason="accessibility"),
    row("a policy while running: pause, configure, resume", "running", *STARTED, ("await", "pause"), ("say", PAUSED),
        ("await", "configure"), ("ack",), ("await", "resume"), ("say", RUNNING), act=_allows_more),
    row("a pause that cannot be written", "degraded", *STARTED[:-1], ("close", 0), ("ack",), ("say", RUNNING), ("hold",),
        act=_fails_to_pause, reason="pause-send-failed", slow=True, failed=True),
    Row("an exit nobody asked for", ((*STARTED, ("exit", 3)), STARTED), "running", runs=2, slow=True),
    Row("an exit before hello", ((("exit", 3),), STARTED), "running", runs=2, slow=True),
)  # fmt: skip


async def _play(given: Row, folder: Path) -> None:
    command = [*FAKE, str(folder / "runs"), json.dumps(given.scripts)]
    async with activity.record(folder / "history", allow=[EDITOR], command=command) as recording:
        if given.act is not None:
            await given.act(recording)
        if given.runs > 1:
            await recording.wait_for_capture("degraded", reason="collector-exited")
        await recording.wait_for_capture(given.capture, reason=given.reason)
        for title in given.titles:
            await recording.wait_for_observation(title=title)
        assert tuple(one.title for one in recording.observations()) == given.titles, given.name
        assert recording.health.refusals.by_reason == given.refused, given.name
        if given.failed:
            await _given_up(recording)
        else:
            assert not recording.failed, given.name
    assert len((folder / "runs").read_text()) == given.runs, given.name


async def _given_up(recording: Recording) -> None:
    with recording.changes() as changed:
        async with asyncio.timeout(60):
            while not recording.failed:
                await changed.wait()
                changed.clear()


@pytest.mark.parametrize("given", [one for one in ROWS if not one.slow], ids=lambda one: one.name.replace(" ", "-"))
def test_the_host_keeps_its_row(tmp_path: Path, given: Row) -> None:
    asyncio.run(_play(given, tmp_path))


@pytest.mark.slow
def test_the_host_keeps_the_rows_that_take_time(tmp_path: Path) -> None:
    slow = [one for one in ROWS if one.slow]
    folders = [tmp_path / f"row-{number}" for number in range(len(slow))]
    for folder in folders:
        folder.mkdir()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for given, folder in zip(slow, folders, strict=True):
                group.create_task(_play(given, folder))

    asyncio.run(main())


def test_a_collector_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with activity.record(tmp_path / "history", command=[str(tmp_path / "nothing")]) as recording:
            await recording.wait_for_capture("degraded", reason="collector-spawn-failed")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("rule", "plain", "extension"),
    [("refuse", "degraded", "degraded"), ("extension", "degraded", "running"), ("count", "running", "running")],
)
@pytest.mark.parametrize("name", ["heartbeatSeconds", "x-heartbeat"])
def test_a_field_that_nobody_knows_on_the_wire(tmp_path: Path, rule: Any, plain: str, extension: str, name: str) -> None:
    """The pair of each setting, live: red ends the capture as a protocol error, green is stored without it and counted by its name."""
    capture = extension if name.startswith("x-") else plain

    async def main() -> None:
        command = [*FAKE, str(tmp_path / "runs"), json.dumps([[*STARTED, seen(1, **{name: 5})]])]
        async with activity.record(tmp_path / "history", allow=[EDITOR], command=command, unknown_fields=rule) as recording:
            if capture == "running":
                await recording.wait_for_observation()
                assert recording.health.capture == "running"
            else:
                await recording.wait_for_capture("degraded", reason="protocol-error")
                assert recording.observations() == []
            assert recording.health.unknown_fields.by_name == ({name: 1} if capture == "running" else {})

    asyncio.run(main())


#: How many observations of each story a host refuses, and why; all others it stores.
REFUSED: dict[str, dict[str, int]] = {
    "fact-protected-app": {"protected-app": 1},
    "fact-protected-by-policy": {"protected-app": 1},
    "fact-secure-field": {"secure-field": 1},
    "fact-unqueryable": {"secure-field": 1},
    "fact-unreadable": {"secure-field": 1},
    "fact-protected-title": {"protected-metadata": 4},
    "fact-protected-document": {"protected-metadata": 2},
    "fact-policy-kept": {"protected-metadata": 1},
    "fact-window-only": {"unlocatable-name": 1},
}
_STORIES = [(story, platform) for story in STORIES for platform in story.platforms]


@pytest.mark.parametrize(("story", "platform"), _STORIES, ids=[f"{story.check.name}-{platform}" for story, platform in _STORIES])
def test_a_host_stores_of_every_story_what_may_be_stored(tmp_path: Path, story: Story, platform: Platform) -> None:
    done = replay(_as_lines(story, platform, tmp_path), allow_listed=True)
    assert done.whole
    assert done.refused == REFUSED.get(story.check.name, {})
    assert len(done.stored) == len(story.seen) - sum(done.refused.values())
    assert CANARY not in str(done.stored)


def _as_lines(story: Story, platform: Platform, folder: Path) -> Path:
    """The observations that must follow, as a collector writes them."""
    lines: list[dict[str, Any]] = [{**HELLO, "platform": platform}, RUNNING, {"v": 1, "type": "configured", "revision": 1}]
    for seq, one in enumerate(story.seen, 1):
        message = {"v": 1, "type": "observation", "collectorSession": "fake-1", "seq": seq, "observedAtMs": 1_791_000_000_000 + seq}
        lines.append({**message, **observation(one, platform)})
    path = folder / "story.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_same_facts_give_the_same_observations_on_every_platform() -> None:
    """But for the words of each platform (ids, roles, provider), and for its pid, session and time, field by field."""
    for story in STORIES:
        made = json.loads(written(document(story)))["platforms"]
        told = {platform: [_without_words(said.value or {}) for said in played(on, platform)] for platform, on in made.items()}
        assert all(other == told[story.platforms[0]] for other in told.values()), story.check.name
        assert told[story.platforms[0]] or not story.seen


def _without_words(value: dict[str, Any]) -> dict[str, Any]:
    app, element, source = value["app"], value["element"], value["source"]
    return {
        **{name: value.get(name) for name in ("window", "privacy", "activity")},
        "app": {"named": app["name"] is not None},
        "element": {**element, "role": element["role"] is not None},
        "adapter": source["adapter"],
    }


@pytest.mark.parametrize("rule", ["refuse", "extension", "count"])
@pytest.mark.parametrize("name", ["heartbeatSeconds", "x-heartbeat"])
def test_wire_and_intake_land_on_the_same_rule(rule: Any, name: str) -> None:
    """The same field is refused by both, with its name, or dropped and counted under the same name by both."""
    wire, intake = UnknownFields(rule), UnknownFields(rule)
    session = HostSession(wire)
    session.receive(json.dumps(HELLO).encode())
    page = {"source": "browser", "origin": "https://example.org", "path": "/", "browserSession": "b", "seq": 1, "observedAtMs": 1}
    refused = []
    for read, message in (
        (session.receive, seen(1, **{name: "Salary.ods"})[1]),
        (lambda body: read_payload(body, intake), {**page, "incognito": False, name: "Salary.ods"}),
    ):
        try:
            read(json.dumps(message).encode())
        except RemoteProtocolError as error:
            assert (error.code, name in f"{error.path} {error.detail}", "Salary" in str(error)) == ("unknown-field", True, False)
            refused.append(True)
        else:
            refused.append(False)
    red = rule == "refuse" or (rule == "extension" and not name.startswith("x-"))
    assert refused == [red, red]
    assert wire.by_name == intake.by_name == ({} if red else {name: 1})
