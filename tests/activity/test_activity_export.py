"""Exports are what their formats promise, whatever other programs wrote into a title, and only their owner can read them."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import json
import os
import re
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from activity_people_kit import activity, episode, morning
from triptych.engine.activity_cli import export as activity_export
from triptych.engine.activity_cli.export_page import as_html
from triptych.errors import Unavailable

DAY = int(datetime(2026, 11, 30, 9, 0, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
NASTY = [
    '=HYPERLINK("http://evil.example")',
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    " =1",
    "＝1",
    "a\r\nEND:VEVENT\r\nX:1",
    "<script>x</script>",
    '"; x',
    "\x07",
]


def test_json_holds_every_episode_with_its_times() -> None:
    value = json.loads(activity_export.as_json([episode(1, DAY, DAY + HOUR, workspace="triptych", things=["a.py"])], DAY))
    assert (value["format"], value["version"]) == ("triptych-activity", 1)
    [shown] = value["episodes"]
    assert (shown["id"], shown["startedAtMs"], shown["durationMs"]) == ("episode:s:1", DAY, HOUR)
    assert shown["workspace"]["title"] == "triptych"
    assert [resource["label"] for resource in shown["resources"]] == ["a.py"]
    assert datetime.fromisoformat(shown["startedAt"]).timestamp() * 1000 == DAY


@pytest.mark.parametrize("text", NASTY)
def test_no_cell_is_a_formula(text: str) -> None:
    rows = list(
        csv.reader(io.StringIO(activity_export.as_csv([episode(1, DAY, DAY, workspace=text, things=[text], summary=text)]), newline=""))
    )
    assert len(rows) == 2 and len(rows[0]) == len(rows[1])
    for cell in rows[1]:
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝")), cell
    shown = dict(zip(*rows, strict=True))
    assert shown["resources"].removeprefix("'") == text  # nothing else is changed


@given(st.text())
def test_any_text_comes_back_from_the_csv(text: str) -> None:
    made = activity_export.as_csv([episode(1, DAY, DAY, summary=text)])
    rows = list(csv.reader(io.StringIO(made, newline="")))
    assert rows[1][rows[0].index("summary")].removeprefix("'") == text.removeprefix("'")


def calendar(text: str) -> list[tuple[str, str]]:
    """The properties of a calendar, read as RFC 5545 says."""
    assert text.endswith("\r\n")
    for line in text.removesuffix("\r\n").split("\r\n"):
        assert len(line.encode()) <= 75
        assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f]", line), line
    unfolded = text.replace("\r\n ", "").removesuffix("\r\n").split("\r\n")
    return [(name, value) for name, _, value in (line.partition(":") for line in unfolded)]


def unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), value)


def test_the_calendar_has_an_event_for_each_episode_in_utc() -> None:
    made = activity_export.as_ics([episode(1, DAY, DAY + HOUR, workspace="triptych"), episode(2, DAY + HOUR, DAY + HOUR)], DAY + 2 * HOUR)
    properties = calendar(made)
    assert properties[:2] == [("BEGIN", "VCALENDAR"), ("VERSION", "2.0")] and properties[-1] == ("END", "VCALENDAR")
    assert [value for name, value in properties if name == "DTSTART"] == ["20261130T090000Z", "20261130T100000Z"]
    assert [value for name, value in properties if name == "DTEND"] == ["20261130T100000Z"]  # an end is after its start, or not there
    assert len({value for name, value in properties if name == "UID"}) == 2
    assert {value for name, value in properties if name == "DTSTAMP"} == {"20261130T110000Z"}
    assert [value for name, value in properties if name == "SUMMARY"] == ["triptych · Editor", "Editor"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_leaves_its_property(text: str) -> None:
    properties = calendar(activity_export.as_ics([episode(1, DAY, DAY + HOUR, workspace=text or "x", summary=text)], DAY))
    assert [name for name, _ in properties] == [
        *("BEGIN", "VERSION", "PRODID", "CALSCALE", "METHOD"),
        *("BEGIN", "UID", "DTSTAMP", "DTSTART", "DTEND", "SUMMARY", "DESCRIPTION", "CLASS", "TRANSP", "END"),
        "END",
    ]
    kept = "".join(letter for letter in text.replace("\r\n", "\n").replace("\r", "\n") if letter.isprintable() or letter in "\n\t")
    assert unescaped(dict(properties)["DESCRIPTION"]) == kept


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data


def test_the_page_asks_for_nothing_and_allows_nothing_but_its_own_style() -> None:
    text = as_html([episode(1, DAY, DAY + HOUR, workspace="triptych", things=["a.py"])], DAY + HOUR)
    page = Page(text)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "link", "iframe", "object", "base", "form", "a"})
    for tag, attributes in page.tags:
        assert not {"src", "href", "style"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes), tag
    policy = next(attributes["content"] for tag, attributes in page.tags if attributes.get("http-equiv") == "Content-Security-Policy")
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style and "@import" not in style


def test_the_page_says_in_words_what_its_picture_shows() -> None:
    page = Page(
        as_html([episode(1, DAY, DAY + HOUR, workspace="triptych", things=["a.py"]), episode(2, DAY + HOUR, DAY + HOUR)], DAY + HOUR)
    )
    assert ("html", {"lang": "en"}) in page.tags
    [picture] = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert picture["role"] == "img" and "triptych: 1 hour" in (picture["aria-label"] or "")
    assert [attributes["scope"] for tag, attributes in page.tags if tag == "th"] == ["col"] * 4
    for part in ("Monday 30 November 2026", "1 hour in 2 episodes", "under a minute", "a.py", "Episodes of Monday"):
        assert part in page.said


@given(st.text())
def test_no_text_becomes_markup(text: str) -> None:
    plain = Page(as_html([episode(1, DAY, DAY + HOUR, workspace="w", things=["t"], apps=[("a", "n")])], DAY))
    made = Page(as_html([episode(1, DAY, DAY + HOUR, workspace=text or "w", things=[text or "t"], apps=[("a", text or "n")])], DAY))
    assert [tag for tag, _ in made.tags] == [tag for tag, _ in plain.tags]
    assert "\u202e" not in made.said


def test_an_episode_over_midnight_is_on_both_days_and_counts_once() -> None:
    midnight = int(datetime(2026, 11, 30).astimezone().timestamp() * 1000)
    page = Page(as_html([episode(1, midnight - HOUR, midnight + HOUR)], midnight + HOUR))
    for part in ("2 hours in 1 episode", "Sunday 29 November 2026", "Monday 30 November 2026", "…00:00–01:00", "23:00–00:00…"):
        assert part in page.said
    assert page.said.count("1 hour in 1 episode") == 2


def test_an_empty_page_says_so() -> None:
    assert "Nothing is recorded in this time." in Page(as_html([], DAY)).said


@pytest.mark.parametrize("kind", ["json", "csv", "ics", "html"])
def test_a_file_is_for_its_owner_alone(tmp_path: Path, kind: str) -> None:
    data, file = morning(tmp_path / "history"), tmp_path / f"export.{kind}"
    file.write_text("old")
    file.chmod(0o644)
    ended = activity("export", "--data", str(data), "--format", kind, "-o", str(file))
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Kingfisher notes" in file.read_text() and "old" not in file.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"export.{kind}", "history"]
    assert activity("export", "--data", str(data), "--format", kind).stdout.splitlines()[:1] == file.read_text().splitlines()[:1]


def test_a_span_of_time_is_exported(tmp_path: Path) -> None:
    data = morning(tmp_path / "history")
    everything = json.loads(activity("export", "--data", str(data), "--format", "json").stdout)["episodes"]
    assert len(everything) > 1
    late = json.loads(activity("export", "--data", str(data), "--format", "json", "--since", "15m").stdout)["episodes"]
    assert late == everything[-1:]


def test_what_cannot_be_written_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unavailable):
        activity_export.write_private(tmp_path / "folder", "x")
    with pytest.raises(Unavailable):
        activity_export.write_private(tmp_path / "none" / "file", "x")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]
    ended = activity("export", "--data", str(tmp_path / "none"), "--format", "csv", "-o", str(tmp_path / "none" / "f.csv"))
    assert ended.returncode == 1 and ended.stderr.count("\n") == 1


@pytest.fixture
def browser_page(tmp_path: Path) -> Iterator[tuple[object, list[str], list[str]]]:
    """A page in the real Chromium, with the addresses that it asked for and what it complained about."""
    playwright = pytest.importorskip("playwright.sync_api")
    executable = next((path for path in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if Path(path).exists()), None)
    if executable is None:
        pytest.skip("chromium is not installed: apt install chromium")
    with playwright.sync_playwright() as playing:
        browser = playing.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page, asked, complaints = browser.new_page(), [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        yield page, asked, complaints
        browser.close()


@pytest.mark.slow
def test_a_real_browser_shows_it_without_a_request_or_a_complaint(
    tmp_path: Path, browser_page: tuple[object, list[str], list[str]]
) -> None:
    page, asked, complaints = browser_page
    file = tmp_path / "page.html"
    things = ["<img src=http://evil.example/x onerror=alert(1)>", "a.py"]
    file.write_text(
        as_html([episode(1, DAY, DAY + HOUR, workspace="triptych", things=things), episode(2, DAY + 2 * HOUR, DAY + 2 * HOUR)], DAY)
    )
    page.goto(file.as_uri())  # type: ignore[attr-defined]  # playwright is an optional import
    look = page.evaluate  # type: ignore[attr-defined]  # likewise
    assert asked == [file.as_uri()] and complaints == []
    assert look("document.querySelectorAll('svg rect[class^=f]').length") == 2
    assert look("getComputedStyle(document.querySelector('svg rect.f0')).fill") == "rgb(37, 99, 201)"  # the style is in force
    assert look("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(color_scheme="dark")  # type: ignore[attr-defined]  # likewise
    assert look("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
    assert "<img src=http://evil.example/x" in page.inner_text("body")  # type: ignore[attr-defined]  # likewise


COMMANDS = "\x1b[2J \x9b31m \u202egpj.exe \x07"


def test_no_json_holds_what_a_terminal_takes_for_a_command() -> None:
    made = activity_export.as_json([episode(1, DAY, DAY, things=[COMMANDS], summary=COMMANDS)], DAY)
    assert all(letter.isprintable() or letter == "\n" for letter in made)
    assert json.loads(made)["episodes"][0]["summary"] == COMMANDS


@pytest.mark.parametrize("kind", ["json", "csv", "ics", "html"])
def test_an_export_to_a_terminal_commands_nothing_and_one_to_a_pipe_is_whole(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from triptych.adapters.collector.store import Store
    from triptych.engine.activity_cli.export_command import export_command

    shown = [episode(1, DAY, DAY, things=[COMMANDS], summary=COMMANDS)]
    Store(tmp_path / "history", DAY).close()
    monkeypatch.setattr(Store, "episodes", lambda *_: shown)
    command = ["--data", str(tmp_path / "history"), "--format", kind]
    piped = CliRunner().invoke(export_command, command, catch_exceptions=False).output
    assert (COMMANDS in piped) == (kind == "csv")
    ours, theirs = os.openpty()
    read = bytearray()

    def listen() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while chunk := os.read(ours, 65536):
                read.extend(chunk)

    reader = threading.Thread(target=listen)
    reader.start()
    with os.fdopen(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", terminal)
        export_command.main(command, standalone_mode=False)
    reader.join(60)
    os.close(ours)
    assert read and all(letter.isprintable() or letter in "\r\n" for letter in read.decode())
