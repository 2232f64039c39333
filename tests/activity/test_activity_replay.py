"""Recorded collector lines through the host's parser, gates and storage: what is stored, what is refused, and where reading ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from activity_kit import every_byte
from shared_data import data
from triptych.adapters.collector.ownership import Ownership
from triptych.adapters.collector.store import Store
from triptych.engine import activity
from triptych.engine.activity_cli.replay import Broken, replay, replay_command
from triptych.errors import Unavailable

EDITOR = "code.desktop"
AT_MS = 1_791_000_000_000
HELLO = {
    "v": 1,
    "type": "hello",
    "collectorSession": "recorded-1",
    "collectorVersion": "9.9",
    "platform": "linux",
    "arch": "x64",
    "capabilities": [],
}
RUNNING = {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}
PAUSED = {**RUNNING, "state": "paused"}
CONFIGURED = {"v": 1, "type": "configured", "revision": 7}
STARTED = (HELLO, RUNNING, CONFIGURED)


def observation(seq: int, title: str = "A page", at_ms: int = AT_MS, **changes: Any) -> dict[str, Any]:
    return {
        "v": 1,
        "type": "observation",
        "collectorSession": "recorded-1",
        "seq": seq,
        "observedAtMs": at_ms,
        "app": {"pid": 7, "bundleId": EDITOR, "name": "Code"},
        "window": {"title": title},
        "privacy": {"secure": False, "protected": False},
        "source": {"adapter": "vscode"},
        **changes,
    }


def recorded(folder: Path, *lines: object) -> Path:
    """A recording; what is no text is a message."""
    path = folder / "recording.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return path


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(replay_command, [str(argument) for argument in arguments])


class TestRealRecordings:
    def test_windows(self) -> None:
        done = replay(data("collector", "live-windows-2026-10-04.jsonl"), allow_listed=True)
        assert (done.lines, done.processes, done.observations, done.whole) == (14, 3, 5, True)
        assert [row.surface_kind for row in done.stored] == ["window", "window", "window", "terminal"]
        assert [row.title for row in done.stored] == [*["47209 - 文件资源管理器"] * 3, None]
        assert {row.provider for row in done.stored} == {"windows-uia"}
        assert [row.idle_seconds for row in done.stored] == [5549, 5603, 5849, 5859]
        assert done.refused == {"protected-app": 1}

    def test_linux(self) -> None:
        done = replay(data("collector", "live-linux-2026-10-05.jsonl"), allow_listed=True)
        (row,) = done.stored
        assert (row.bundle_id, row.surface_kind, row.title, row.role) == ("org.gnome.Terminal.desktop", "terminal", None, "terminal")
        assert (row.provider, row.adapter, row.observed_at_ms) == ("at-spi", "terminal", 1791140773498)
        assert (done.processes, done.refused) == (1, {})

    def test_the_wire_baseline(self) -> None:
        """A bare file name is refused wherever a rule about resources holds, and the built-in ones always do."""
        done = replay(data("collector", "wire-baseline.jsonl"), allow_listed=True)
        assert (done.lines, done.observations) == (8, 3)
        assert done.refused == {"protected-app": 1, "unlocatable-name": 1}
        assert [(row.app_name, row.title) for row in done.stored] == [("Visual Studio Code", "a\u0007b")]

    def test_without_a_policy_nothing_is_stored(self) -> None:
        done = replay(data("collector", "live-windows-2026-10-04.jsonl"))
        assert (done.stored, done.refused) == ((), {"policy": 4, "protected-app": 1})


def test_an_observation_before_the_acknowledgement_waits_for_it(tmp_path: Path) -> None:
    done = replay(recorded(tmp_path, HELLO, RUNNING, observation(1, "Early"), CONFIGURED), allow=[EDITOR])
    assert [row.title for row in done.stored] == ["Early"]
    never = replay(recorded(tmp_path, HELLO, RUNNING, observation(1, "Early")), allow=[EDITOR])
    assert (never.observations, never.stored, never.refused) == (1, (), {})


def test_repeats_pauses_and_refusals_are_counted_by_reason(tmp_path: Path) -> None:
    lines = [
        *STARTED,
        observation(1),
        observation(1),
        observation(2, "Letter to Jane", privacy={"secure": True, "protected": False, "reason": "secure-field"}),
        observation(3, app={"pid": 1, "bundleId": "org.example.Other.desktop"}),
        PAUSED,
        observation(4),
        RUNNING,
        observation(5, "Again"),
    ]
    done = replay(recorded(tmp_path, *lines), allow=[EDITOR])
    assert [row.title for row in done.stored] == ["A page", "Again"]
    assert done.refused == {"capture-paused": 1, "duplicate": 1, "not-an-adapter": 1, "secure-field": 1}
    assert done.observations == 6


def test_a_second_hello_is_another_process(tmp_path: Path) -> None:
    again = {**HELLO, "collectorSession": "recorded-2"}
    lines = [*STARTED, observation(1), again, RUNNING, CONFIGURED, observation(1, "After", collectorSession="recorded-2")]
    done = replay(recorded(tmp_path, *lines), allow=[EDITOR])
    assert (done.processes, [row.title for row in done.stored], done.whole) == (2, ["A page", "After"], True)


@pytest.mark.parametrize(
    ("line", "code", "path"),
    [
        ("not json", "invalid-json", ""),
        ("x" * 65_537, "line-too-long", ""),
        (observation(2, mood="calm"), "unknown-field", "mood"),
        (observation(2, collectorSession="another"), "session-mismatch", "collectorSession"),
        (observation(0), "sequence-regression", "seq"),
        (observation(1, "Other"), "sequence-conflict", "seq"),
        (observation(2, source={"adapter": "vscode", "provider": "macos-ax"}), "provider-mismatch", "source.provider"),
        ({"v": 1, "type": "screenshot"}, "unknown-type", "type"),
    ],
)
def test_reading_ends_where_the_protocol_is_broken_and_begins_again_with_a_hello(
    tmp_path: Path, line: object, code: str, path: str
) -> None:
    again = {**HELLO, "collectorSession": "recorded-2"}
    after = [observation(8, "Unread"), again, RUNNING, CONFIGURED, observation(1, "After", collectorSession="recorded-2")]
    done = replay(recorded(tmp_path, *STARTED, observation(1), line, *after), allow=[EDITOR])
    assert done.broken == [Broken(5, code, path)]
    assert [row.title for row in done.stored] == ["A page", "After"]
    assert (done.unread, done.processes, done.whole) == (1, 2, False)


def test_what_stands_before_the_first_hello_breaks_the_protocol(tmp_path: Path) -> None:
    done = replay(recorded(tmp_path, RUNNING, *STARTED, observation(1)), allow=[EDITOR])
    assert done.broken == [Broken(1, "hello-required", "")]
    assert len(done.stored) == 1


def test_a_fatal_ends_its_process(tmp_path: Path) -> None:
    fatal = {"v": 1, "type": "fatal", "code": "no-display", "message": "x"}
    done = replay(recorded(tmp_path, *STARTED, fatal, observation(1)), allow=[EDITOR])
    assert (done.stored, done.unread) == ((), 1)


def test_a_last_line_without_a_newline_is_none(tmp_path: Path) -> None:
    path = recorded(tmp_path, *STARTED)
    path.write_text(path.read_text() + json.dumps(observation(1)))
    assert replay(path, allow=[EDITOR]).observations == 0


@pytest.mark.parametrize(
    ("rule", "plain", "extension"),
    [("refuse", "unknown-field", "unknown-field"), ("extension", "unknown-field", None), ("count", None, None)],
)
def test_a_plain_and_a_marked_unknown_field_under_each_rule(tmp_path: Path, rule: Any, plain: str | None, extension: str | None) -> None:
    """The pair for each of the three settings: red is a broken protocol, green is stored, dropped and counted by its name."""
    for name, code in (("heartbeatSeconds", plain), ("x-heartbeat", extension)):
        done = replay(recorded(tmp_path, *STARTED, observation(1, **{name: "Salary.ods"})), allow=[EDITOR], unknown_fields=rule)
        assert [fault.code for fault in done.broken] == ([code] if code else []), name
        assert done.unknown_fields is not None
        assert dict(done.unknown_fields.by_name) == ({} if code else {name: 1})
        assert len(done.stored) == (0 if code else 1)


class TestTime:
    def test_the_recording_has_its_own(self, tmp_path: Path) -> None:
        year = 365 * 86_400_000
        lines = [*STARTED, observation(1, at_ms=AT_MS - year), observation(2, "Later", AT_MS), observation(3, "Back", AT_MS - year)]
        done = replay(recorded(tmp_path, *lines), allow=[EDITOR])
        assert [row.title for row in done.stored] == ["A page", "Later"]
        assert done.refused == {"expired": 1}

    def test_the_machine_s_refuses_what_is_past_keeping(self, tmp_path: Path) -> None:
        path = recorded(tmp_path, *STARTED, observation(1, at_ms=1_500_000_000_000))
        assert replay(path, allow=[EDITOR], now="clock").refused == {"expired": 1}

    def test_a_given_moment_may_be_before_the_observation(self, tmp_path: Path) -> None:
        path = recorded(tmp_path, *STARTED, observation(1), observation(2, "Ahead", AT_MS + 5_001))
        done = replay(path, allow=[EDITOR], now=AT_MS)
        assert (len(done.stored), done.refused) == (1, {"future-timestamp": 1})

    def test_as_an_option(self, tmp_path: Path) -> None:
        path = recorded(tmp_path, *STARTED, observation(1))
        assert "1 expired" in command(path, "--allow", EDITOR, "--now", "2027-01-01T00:00").output
        assert "1 future-timestamp" in command(path, "--allow", EDITOR, "--now", "1500000000000").output
        assert command(path, "--now", "soon").exit_code == 2


class TestDataDirectory:
    def test_what_was_stored_stays_and_is_stored_once(self, tmp_path: Path) -> None:
        path, db = recorded(tmp_path, *STARTED, observation(1)), tmp_path / "history"
        assert len(replay(path, db=db, allow=[EDITOR]).stored) == 1
        again = replay(path, db=db, allow=[EDITOR])
        assert (again.stored, again.refused) == ((), {"duplicate": 1})
        assert [row.title for row in activity.observations(db)] == ["A page"]

    def test_its_policy_holds_and_is_not_changed(self, tmp_path: Path) -> None:
        path, db = recorded(tmp_path, *STARTED, observation(1)), tmp_path / "history"
        replay(path, db=db, allow=[EDITOR])
        assert replay(recorded(tmp_path, *STARTED, observation(2)), db=db).refused == {"policy": 1}
        with Store(db, AT_MS) as store:
            assert not store.policy(AT_MS).allows_an_app

    def test_nobody_else_may_record_into_it(self, tmp_path: Path) -> None:
        path, db = recorded(tmp_path, *STARTED, observation(1)), tmp_path / "history"
        with Store(db, AT_MS):
            owner = Ownership(db)
            try:
                with pytest.raises(Unavailable, match="capture-owned-by-another-host"):
                    replay(path, db=db, allow=[EDITOR])
            finally:
                owner.release()
        assert len(replay(path, db=db, allow=[EDITOR]).stored) == 1


class TestCommand:
    def test_it_tells_what_became_of_the_lines(self, tmp_path: Path) -> None:
        result = command(recorded(tmp_path, *STARTED, observation(1), observation(2, **{"x-mood": 1})), "--allow", EDITOR)
        assert result.exit_code == 0, result.output
        assert "5 lines of 1 process: 2 observations, 2 stored in 1 episode, 0 refused" in result.output
        assert "dropped: field 'x-mood', 1 time" in result.output

    def test_it_says_that_nothing_is_allowed(self, tmp_path: Path) -> None:
        result = command(recorded(tmp_path, *STARTED, observation(1)))
        assert result.exit_code == 0
        assert "no application is allowed" in result.output

    def test_a_broken_protocol_is_told_by_line_and_fails(self, tmp_path: Path) -> None:
        result = command(recorded(tmp_path, *STARTED, observation(1, mood="calm"), observation(2)), "--allow", EDITOR)
        assert result.exit_code == 1
        assert "line 4 broke the protocol: unknown-field at 'mood'" in result.output
        assert "1 line not read after that" in result.output

    def test_as_json(self, tmp_path: Path) -> None:
        lines = [*STARTED, observation(1), observation(2, mood="calm")]
        result = command(recorded(tmp_path, *lines), "--allow", EDITOR, "--json")
        document = json.loads(result.output)
        assert result.exit_code == 1
        assert [row["title"] for row in document["stored"]] == ["A page"]
        assert document["broken"] == [{"line": 5, "code": "unknown-field", "path": "mood"}]
        assert document["refused"] == {"total": 0, "byReason": {}}
        assert document["unknownFields"]["policy"] == "extension"

    def test_no_text_of_what_was_refused_is_told_or_kept(self, tmp_path: Path) -> None:
        secret = "Kanarienvogel"
        lines = [
            *STARTED,
            observation(1, f"Letter to {secret}", privacy={"secure": True, "protected": False, "reason": secret}),
            observation(2, secret, app={"pid": 1, "bundleId": f"{secret}.desktop"}),
            {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True, "reason": secret},
            {"v": 1, "type": "diagnostic", "level": "info", "code": secret, "message": secret},
            observation(3, f"/home/{secret}/.env"),
            observation(4, f"Letter to {secret}", source={"adapter": "vscode", "provider": secret}),
        ]
        for more in ((), ("--json",)):
            result = command(recorded(tmp_path, *lines), "--allow", EDITOR, "--db", tmp_path / "history", *more)
            assert secret not in result.output, result.output
        assert secret.encode() not in every_byte(tmp_path / "history")

    def test_a_title_cannot_write_to_the_terminal(self, tmp_path: Path) -> None:
        result = command(recorded(tmp_path, *STARTED, observation(1, "a\u001b[2Jb")), "--allow", EDITOR)
        assert "\u001b" not in result.output
