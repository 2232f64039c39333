"""`today`, `episodes`, `search` and `delete`: what a person sees of a record, and what is gone when it was deleted."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activity_kit import every_byte
from activity_people_kit import EDITOR, FILES, MINUTE, TRIPTYCH, activity, environment, episode, morning, now_ms, recorded, seen
from triptych.engine.activity_cli import options as activity_options
from triptych.engine.activity_cli import timeline as activity_timeline
from triptych.engine.activity_cli.day import MAX_LANES, app_label, app_shown, arrange
from triptych.engine.activity_cli.timeline import ASCII, UNICODE, cells, day_lines, plain

DAY = 1_764_460_800_000  # 2025-11-30 00:00 UTC
HOUR = 60 * MINUTE


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def shown(*episodes: object, width: int = 80, **options: object) -> str:
    return plain(day_lines(arrange(episodes, DAY, DAY + 24 * HOUR), width, **options))  # type: ignore[arg-type]  # any episodes


def test_a_day_is_a_timeline_with_totals_and_a_line_for_each_episode() -> None:
    text = shown(
        episode(1, DAY + 9 * HOUR, DAY + 11 * HOUR, workspace="triptych", things=["a.py", "b.py"]),
        episode(2, DAY + 11 * HOUR, DAY + 11 * HOUR, apps=[(FILES, None)], title="Downloads"),
        episode(3, DAY + 12 * HOUR, DAY + 13 * HOUR, workspace="triptych", things=["a.py"]),
    )
    assert text.splitlines() == [
        "          09:00        10:00         11:00        12:00",
        "          ┬────────────┬─────────────┬────────────┬─────────────",
        "triptych  ███████████████████████████             ▐█████████████  3 hours",
        "Nautilus                             ▌                            under a minute",
        "",
        " 09:00–11:00   2 hours         triptych  Editor: a.py, b.py",
        " 11:00         under a minute  Nautilus  Downloads",
        " 12:00–13:00   1 hour          triptych  Editor: a.py",
    ]


def test_where_there_are_no_blocks_it_is_ascii() -> None:
    text = shown(episode(1, DAY + 9 * HOUR, DAY + 11 * HOUR, workspace="triptych"), glyphs=ASCII)
    assert text.isascii() and "####" in text
    assert activity_timeline.glyphs_for("latin-1") is ASCII and activity_timeline.glyphs_for("utf-8") is UNICODE
    assert activity_timeline.glyphs_for(None) is ASCII


def test_what_goes_over_midnight_is_cut_and_marked() -> None:
    text = shown(episode(1, DAY - HOUR, DAY + HOUR), episode(2, DAY + 23 * HOUR, DAY + 25 * HOUR))
    first, last = text.splitlines()[-2:]
    assert first.startswith("<00:00–01:00   1 hour") and last.startswith(" 23:00–00:00>  1 hour")
    day = arrange([episode(1, DAY - HOUR, DAY + HOUR), episode(2, DAY - 2 * HOUR, DAY)], DAY, DAY + 24 * HOUR)
    assert [entry.id for entry in day.entries] == ["episode:s:1"]
    assert day.total_ms == HOUR


def test_many_workspaces_are_some_and_the_others() -> None:
    episodes = [episode(n, DAY + n * HOUR, DAY + n * HOUR + (20 - n) * MINUTE, workspace=f"w{n}") for n in range(12)]
    day = arrange(episodes, DAY, DAY + 24 * HOUR)
    assert [lane.label for lane in day.lanes] == [*(f"w{n}" for n in range(MAX_LANES - 1)), "others"]
    assert sum(lane.total_ms for lane in day.lanes) == day.total_ms
    assert sum(lane.episodes for lane in day.lanes) == 12


def test_only_the_last_ones_are_listed_where_there_is_little_room() -> None:
    text = shown(*(episode(n, DAY + n * HOUR, DAY + n * HOUR) for n in range(9)), episodes=2)
    assert "7 earlier episodes" in text and text.count("under a minute") == 1 + 2


@given(
    st.lists(
        st.tuples(st.integers(0, 24 * 60), st.integers(0, 300), st.one_of(st.none(), st.text(min_size=1)), st.text()),
        min_size=1,
        max_size=12,
    ),
    st.integers(60, 200),
)
def test_whatever_is_recorded_no_line_is_too_long_and_none_holds_a_control_character(
    drawn: list[tuple[int, int, str | None, str]], width: int
) -> None:
    at, episodes = DAY, []
    for number, (gap, long, workspace, title) in enumerate(drawn):
        at += gap * 1000
        episodes.append(episode(number, at, at + long * 1000, workspace=workspace, title=title, apps=[("x.desktop", title or None)]))
        at += long * 1000
    day = arrange(episodes, DAY, DAY + 24 * HOUR)
    lines = day_lines(day, width)
    assert sum(lane.total_ms for lane in day.lanes) == day.total_ms == sum(entry.duration_ms for entry in day.entries)
    for line in plain(lines).splitlines():
        assert cells(line) <= width
        assert line.isprintable()
    for lane, line in zip(day.lanes, lines[2:], strict=False):
        assert set(line[2].text) & set("█▌▐"), f"{lane} is not seen"


@pytest.mark.parametrize(
    ("bundle_id", "label"),
    [
        ("org.gnome.TextEditor.desktop", "Text Editor"),
        ("code.desktop", "Code"),
        ("Notepad.exe", "Notepad"),
        ("libreoffice-writer.desktop", "Libreoffice writer"),
        ("companion.browser", "Browser"),
        (".desktop", ".desktop"),
    ],
)
def test_an_application_that_tells_no_name_gets_one(bundle_id: str, label: str) -> None:
    assert app_label(bundle_id) == app_shown(None, bundle_id) == app_shown(" ", bundle_id) == label
    assert app_shown("org.example.Thing", bundle_id) == label  # it calls itself by an id
    assert app_shown("Thing 2.0.1", bundle_id) == "Thing 2.0.1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30", datetime(2026, 11, 30)),
        ("2026-11-30T14:05", datetime(2026, 11, 30, 14, 5)),
        ("14:05", datetime(2026, 12, 1, 14, 5)),
        ("today", datetime(2026, 12, 1)),
        ("yesterday", datetime(2026, 11, 30)),
        ("90m", datetime(2026, 12, 1, 10, 30)),
        ("3h", datetime(2026, 12, 1, 9)),
        ("2d", datetime(2026, 11, 29, 12)),
    ],
)
def test_times_as_people_write_them(text: str, expected: datetime) -> None:
    assert activity_options._moment(text, datetime(2026, 12, 1, 12)) == expected


@pytest.mark.parametrize("arguments", [["--since", "soon"], ["--since", "25:00"], ["--since", "9999999999999999h"], ["--until", "-1"]])
def test_what_is_no_time_is_wrong_usage(tmp_path: Path, arguments: list[str]) -> None:
    ended = activity("episodes", "--data", str(tmp_path / "none"), *arguments)
    assert ended.returncode == 2 and "is no time" in ended.stderr


def test_a_day_with_a_change_of_the_clock_has_its_own_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    for day, hours in ((date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 6, 1), 24)):
        start, end = activity_options.day_span(day)
        assert end - start == hours * HOUR
        assert activity_timeline.clock(start) == activity_timeline.clock(end) == "00:00"


def at_noon() -> int:
    """A moment from which an hour of work lies today and in the past, or that of yesterday where today is too young."""
    start, _ = activity_options.day_span(datetime.now(UTC).date())
    return start + 5 * MINUTE if now_ms() - start > 2 * HOUR else start - 20 * HOUR


def test_today_of_a_real_record(tmp_path: Path) -> None:
    at = at_noon()
    data, env = morning(tmp_path / "history", at), environment(tmp_path)
    day = datetime.fromtimestamp(at / 1000, UTC).date()
    ended = activity("today", "--data", str(data), "--date", day.isoformat(), env={**env, "COLUMNS": "100"})
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert re.fullmatch(rf"{day:%A} {day.day} {day:%B %Y}  \d+ minutes in \d episodes", lines[0])
    assert any(line.startswith("Editor ") and "█" in line for line in lines)
    assert any("under a minute" in line and "Downloads" in line for line in lines)
    assert lines[-1].startswith("refused: not known, since no host runs")

    value = json.loads(activity("today", "--data", str(data), "--date", day.isoformat(), "--json", env=env).stdout)
    assert value["date"] == day.isoformat() and value["capture"] == "stopped" and value["refused"] is None
    assert {lane["label"] for lane in value["lanes"]} == {"Editor", "Files"}
    assert value["totalMs"] == sum(lane["totalMs"] for lane in value["lanes"])
    assert [surface["title"] for shown in value["episodes"] for surface in shown["applications"]]

    empty = activity("today", "--data", str(data), "--date", "2001-01-01", env=env).stdout.splitlines()
    assert empty[0] == "Monday 1 January 2001  nothing is recorded"


def test_a_person_at_a_terminal_sees_it_in_colour(tmp_path: Path) -> None:
    data, env = morning(tmp_path / "history", at_noon()), environment(tmp_path, TERM="xterm-256color", COLUMNS="100")
    day = datetime.fromtimestamp(at_noon() / 1000, UTC).date().isoformat()
    leader, follower = pty.openpty()
    with subprocess.Popen([*TRIPTYCH, "activity", "today", "--data", str(data), "--date", day], env=env, stdout=follower) as shown_to:
        os.close(follower)
        said = b""
        while select.select([leader], [], [], 20)[0]:
            try:
                said += os.read(leader, 65536)
            except OSError:
                break
        assert shown_to.wait(60) == 0
    os.close(leader)
    assert b"\x1b[" in said and "█".encode() in said
    bare = re.sub(r"\x1b\[[0-9;]*m", "", said.decode())
    assert "Editor" in bare and "Downloads" in bare


def test_nothing_recorded_names_the_next_command_and_makes_nothing(tmp_path: Path) -> None:
    data = tmp_path / "none"
    ended = activity("today", "--data", str(data), env=environment(tmp_path))
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[1] == "no application is allowed yet; see what is open: triptych activity policy allow"
    assert activity("episodes", "--data", str(data)).stderr == f"no episode is recorded in {data}\n"
    assert activity("search", "--data", str(data), "x").returncode == 1
    assert activity("delete", "--data", str(data), "--all", "--yes").stderr == f"nothing is recorded in {data}\n"
    assert not data.exists()


def test_episodes_are_listed_with_their_ids(tmp_path: Path) -> None:
    data, env = morning(tmp_path / "history"), environment(tmp_path)
    listed = activity("episodes", "--data", str(data), env=env).stdout
    values = [json.loads(line) for line in activity("episodes", "--data", str(data), "--json", env=env).stdout.splitlines()]
    assert len(values) >= 2
    for value in values:
        assert value["id"] in listed
    assert activity("episodes", "--data", str(data), "--until", "2001-01-01").stderr == "no episode in that time\n"


def test_search_finds_titles_in_any_case_and_says_when_there_is_nothing(tmp_path: Path) -> None:
    data, env = morning(tmp_path / "history"), environment(tmp_path)
    found = activity("search", "--data", str(data), "KINGFISHER", env=env)
    assert found.returncode == 0 and "Kingfisher notes  Editor  11 times" in found.stdout
    value = json.loads(activity("search", "--data", str(data), "kingfisher", "--json", env=env).stdout)
    assert (value["text"], value["bundleId"], value["count"]) == ("Kingfisher notes", EDITOR, 11)
    nothing = activity("search", "--data", str(data), "heron", env=env)
    assert (nothing.returncode, nothing.stdout) == (1, "") and "nothing about 'heron'" in nothing.stderr


def test_a_title_that_holds_a_terminal_command_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    data = recorded(tmp_path / "history", [seen(1, now_ms() - MINUTE, title="evil \x1b]52;c;aGk=\x07 title")])
    for command in (["show"], ["today"], ["episodes"], ["search", "evil"]):
        ended = activity(command[0], "--data", str(data), *command[1:], env=environment(tmp_path))
        assert "evil" in ended.stdout and "\x1b" not in ended.stdout and "\x07" not in ended.stdout, command


def test_what_is_deleted_is_gone_from_every_byte(tmp_path: Path) -> None:
    data, env = morning(tmp_path / "history"), environment(tmp_path)
    gone = activity("delete", "--data", str(data), "--app", FILES, "--yes", env=env)
    assert gone.returncode == 0 and gone.stdout.startswith("deleted 1 observation and 1 episode"), gone
    assert b"Downloads" not in every_byte(data) and b"Kingfisher" in every_byte(data)
    [last] = [json.loads(line) for line in activity("episodes", "--data", str(data), "--json", env=env).stdout.splitlines()][-1:]
    asked = json.loads(activity("delete", "--data", str(data), "--episode", last["id"], "--yes", "--json", env=env).stdout)
    assert asked["observations"] == 5 and asked["episodesDeleted"] == 1
    assert b"Invoice" not in every_byte(data)
    unknown = activity("delete", "--data", str(data), "--episode", last["id"], "--yes", env=env)
    assert unknown.returncode == 1 and unknown.stderr.startswith("triptych: [unknown-episode]")
    assert activity("delete", "--data", str(data), "--since", "2h", "--yes", env=env).stdout.startswith("deleted 11 observations")
    assert b"Kingfisher" not in every_byte(data)


def test_deleting_asks_first_and_needs_to_know_what(tmp_path: Path) -> None:
    data, env = morning(tmp_path / "history"), environment(tmp_path)
    for options in ([], ["--all", "--app", FILES], ["--all", "--since", "1h"]):
        assert activity("delete", "--data", str(data), *options, "--yes", env=env).returncode == 2
    unasked = activity("delete", "--data", str(data), "--all", env=env)
    assert unasked.returncode == 2 and "--yes" in unasked.stderr

    for answer, code in (b"n\n", 1), (b"y\n", 0):
        leader, follower = pty.openpty()
        command = [*TRIPTYCH, "activity", "delete", "--data", str(data), "--all"]
        with subprocess.Popen(command, env=env, stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asking:
            os.close(follower)
            os.write(leader, answer)
            _, said = asking.communicate(timeout=60)
        os.close(leader)
        assert asking.returncode == code
        assert b"Delete everything: 17 observations and " in said
        assert (b"Kingfisher" in every_byte(data)) == (code == 1)
