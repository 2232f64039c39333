"""Recordings: what is written while a program runs, what survives a kill, and what is read and replayed from it."""

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
from hypothesis import given
from hypothesis import strategies as st

from triptych.adapters.termwright.recording import ACTIONS, CAST, META, TREES, Recorder, Recording
from triptych.adapters.termwright.screen import Screen
from triptych.engine import terminal
from triptych.engine.terminal_replay import play, screen_at, screen_of
from triptych.errors import Unavailable

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
FORM = (sys.executable, "-m", "termwright_probe", "--", sys.executable, str(PROGRAMS / "textual_form.py"))
PATIENCE = 60.0


def cast(folder: Path) -> tuple[dict[str, Any], list[list[Any]]]:
    """The cast file as any reader of asciicast v3 would take it."""
    header, *events = [json.loads(line) for line in (folder / CAST).read_text(encoding="utf-8").splitlines()]
    return header, events


def told(folder: Path, code: str) -> str:
    return "".join(data for _, kind, data in cast(folder)[1] if kind == code)


def test_a_shell_is_recorded_as_asciicast_with_its_actions(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    program = ["bash", "--norc", "--noprofile"]

    async def main() -> None:
        with Recorder(folder, program=program) as recorder:
            async with terminal.launch(program, columns=60, rows=10, environment={"PS1": "> "}, observers=[recorder]) as app:
                await app.type("echo größe\n")
                await app.wait_until(lambda: "größe" in app.screen.lines, timeout=PATIENCE)
                await app.resize(70, 12)
                await app.press("ctrl+d")
                assert await app.exited(timeout=PATIENCE) == 0

    asyncio.run(main())
    header, events = cast(folder)
    assert header["version"] == 3
    assert header["term"] == {"cols": 60, "rows": 10, "type": "xterm-256color"}
    assert abs(header["timestamp"] - time.time()) < 2 * PATIENCE
    assert header["command"] == "bash --norc --noprofile"
    assert all(len(event) == 3 and event[0] >= 0 and event[1] in "oirxm" for event in events)
    assert "größe" in told(folder, "o")
    assert told(folder, "i").startswith("echo größe\r")
    assert told(folder, "r") == "70x12"
    assert events[-1][1:] == ["x", "0"]

    actions = [json.loads(line) for line in (folder / ACTIONS).read_text().splitlines()]
    assert [action["type"] for action in actions if action["type"] in ("type", "resize", "press")] == ["type", "resize", "press"]
    assert [action["at"] for action in actions] == sorted(action["at"] for action in actions)
    assert (folder / TREES).read_bytes() == b""
    meta = json.loads((folder / META).read_text())
    assert (meta["program"], meta["columns"], meta["rows"], meta["exit_status"], meta["complete"]) == (program, 60, 10, 0, True)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == dict.fromkeys((CAST, TREES, ACTIONS, META), 0o600)

    recording = Recording.read(folder)
    assert (recording.columns, recording.rows, recording.command) == (60, 10, "bash --norc --noprofile")
    assert recording.duration == pytest.approx(sum(interval for interval, _, _ in events))
    last = screen_at(recording, recording.duration)
    assert (last.columns, last.rows) == (70, 12)
    assert "größe" in last.lines
    assert "größe" not in screen_at(recording, 0).text


def test_each_revision_of_a_recording_has_the_cells_that_it_had(tmp_path: Path) -> None:
    seen: dict[int, tuple[str, ...]] = {}

    async def main() -> None:
        with Recorder(tmp_path / "record", program=FORM) as recorder:
            (tmp_path / "tmp").mkdir()
            environment = {"TMPDIR": str(tmp_path / "tmp")}
            async with terminal.launch(FORM, environment=environment, ready_timeout=PATIENCE, observers=[recorder]) as app:

                def look() -> bool:
                    if app.revision_screen is not None:
                        seen[app.revision] = app.revision_screen.lines
                    return "Title!" in app.screen.text

                await app.wait_for_revision(timeout=PATIENCE)
                await app.type("Title!")
                await app.wait_until(look, timeout=PATIENCE)
                await app.wait_quiet(timeout=PATIENCE)
                look()
                trees[:] = [app.tree]

    trees: list[Any] = []
    asyncio.run(main())
    recording = Recording.read(tmp_path / "record")
    assert len(seen) >= 2
    assert len(set(seen.values())) >= 2
    for revision, lines in seen.items():
        assert screen_of(recording, revision).lines == lines, revision
    newest = recording.revision_at(recording.ended_at)
    assert newest is not None
    assert newest.tree == trees[0]
    assert newest.revision == max(seen)
    assert recording.revision_at(0) is None
    markers = [event.data for event in recording.events if event.code == "m"]
    assert markers == [f"revision {published.revision}" for published in recording.revisions]
    # What the program printed while it was being ended is in the recording, and after the end that matters.
    assert "Title!" in screen_at(recording, recording.ended_at).text
    with pytest.raises(Unavailable, match="no revision 999"):
        recording.revision(999)
    with pytest.raises(Unavailable, match="no revision 999"):
        screen_of(recording, 999)


@given(st.lists(st.binary(max_size=6), max_size=12))
def test_characters_that_chunks_cut_in_two_are_whole_again(tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("cut") / "record"
    with Recorder(folder) as recorder:
        recorder.resized(80, 24, 0.0)
        for index, chunk in enumerate(chunks):
            recorder.output(chunk, index / 7)
            recorder.input(chunk, index / 7)
    assert told(folder, "o") == told(folder, "i") == b"".join(chunks).decode("utf-8", "replace")


def test_a_letter_of_four_bytes_in_four_chunks_is_one_event(tmp_path: Path) -> None:
    with Recorder(tmp_path / "record") as recorder:
        recorder.resized(80, 24, 0.0)
        for index, byte in enumerate("a😀".encode()):
            recorder.output(bytes([byte]), float(index))
    assert cast(tmp_path / "record")[1] == [[0.0, "o", "a"], [4.0, "o", "😀"]]


def test_rounding_does_not_add_up(tmp_path: Path) -> None:
    with Recorder(tmp_path / "record") as recorder:
        recorder.resized(80, 24, 0.0)
        for index in range(3000):
            recorder.output(b"x", index / 3e5)
        recorder.exited(-9, 0.5)
    events = cast(tmp_path / "record")[1]
    assert sum(interval for interval, _, _ in events) == pytest.approx(0.5, abs=1e-6)
    assert events[-1][1:] == ["x", "137"]


def test_where_a_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("mine")
    with pytest.raises(Unavailable, match="not empty"):
        Recorder(tmp_path / "used")
    assert [path.name for path in (tmp_path / "used").iterdir()] == ["file"]
    with pytest.raises(Unavailable, match="cannot be written"):
        Recorder(tmp_path / "used" / "file" / "folder")
    (tmp_path / "empty").mkdir()
    with Recorder(tmp_path / "empty") as recorder:
        recorder.resized(80, 24, 0.0)
    assert Recording.read(tmp_path / "empty").events == ()


def test_a_program_that_cannot_be_started_leaves_no_recording(tmp_path: Path) -> None:
    async def main() -> None:
        with Recorder(tmp_path / "record") as recorder:
            async with terminal.launch(["no-such-program"], observers=[recorder]):
                pass

    with pytest.raises(Unavailable, match="no-such-program"):
        asyncio.run(main())
    assert list(tmp_path.iterdir()) == []


KILLED = """
import asyncio, sys
from triptych.adapters.termwright.recording import Recorder
from triptych.engine import terminal
async def main():
    program = ["sh", "-c", "echo ready; while read line; do echo got $line; done"]
    with Recorder(sys.argv[1], program=program) as recorder:
        async with terminal.launch(program, observers=[recorder]) as app:
            await app.wait_for_text("ready")
            await app.type("one\\n")
            await app.wait_for_text("got one")
            print("now", flush=True)
            await app.exited()
asyncio.run(main())
"""


def test_a_killed_recorder_leaves_whole_lines(tmp_path: Path) -> None:
    folder = tmp_path / "record"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdout is not None
    assert child.stdout.readline() == "now\n"
    child.send_signal(signal.SIGKILL)
    child.wait(timeout=PATIENCE)
    child.stdout.close()
    recording = Recording.read(folder)
    assert "got one" in screen_at(recording, recording.duration).text
    assert [action["type"] for action in recording.actions] == ["type"]
    assert "complete" not in recording.meta

    # And a line that the kill cut off is left out.
    with (folder / CAST).open("ab") as file:
        file.write(b'[0.5,"o","half of a')
    assert Recording.read(folder).events == recording.events


def test_a_full_disk_ends_the_recording_and_is_told(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "record")
    recorder.resized(80, 24, 0.0)
    recorder.output(b"before", 0.1)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, recorder._files[CAST])
    os.close(full)
    recorder.output(b"lost", 0.2)
    recorder.acted({"type": "press"}, 0.3)
    assert "No space left" in recorder.failure
    with pytest.raises(Unavailable, match=r"not complete.*No space left"), recorder:
        pass
    recorder.close()
    recording = Recording.read(tmp_path / "record")
    assert [event.data for event in recording.events] == ["before"]
    assert recording.actions == ()
    assert recording.meta["complete"] is False
    assert "No space left" in recording.meta["failure"]

    with pytest.raises(RuntimeError, match="mine"), Recorder(tmp_path / "second") as other:
        other.resized(80, 24, 0.0)
        other.failure = "a full disk"
        raise RuntimeError("mine")  # the caller's own error is not hidden by ours


def recorded(folder: Path) -> Path:
    with Recorder(folder) as recorder:
        recorder.resized(20, 4, 0.0)
        recorder.output(b"one", 1.0)
        recorder.acted({"type": "press", "keys": ["tab"]}, 1.5)
        recorder.output(b"\r\ntwo", 9.0)
    return folder


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        (CAST, "", "session.cast, line 1"),
        (CAST, '{"version":2,"term":{"cols":80,"rows":24}}\n', "version 2"),
        (CAST, '{"version":3,"term":{"cols":100000,"rows":24}}\n', "line 1"),
        (CAST, '{"version":3,"term":{"cols":80,"rows":24}}\n[1,"o"]\n[1,"o","x"]\n', "line 2"),
        (CAST, '{"version":3,"term":{"cols":80,"rows":24}}\n[-1,"o","x"]\n', "line 2"),
        (TREES, '{"at":1}\n', "trees.jsonl, line 1"),
        (ACTIONS, '{"type":"press"}\n', "actions.jsonl, line 1"),
        (META, "[]", "meta.json, line 1"),
    ],
)
def test_a_damaged_recording_is_refused_by_file_and_line(tmp_path: Path, name: str, content: str, fault: str) -> None:
    folder = recorded(tmp_path / "record")
    (folder / name).write_text(content)
    with pytest.raises(Unavailable, match=fault):
        Recording.read(folder)


def test_what_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"no recording: session\.cast"):
        Recording.read(tmp_path)
    folder = recorded(tmp_path / "record")
    (folder / TREES).write_text('{"at":1.0,"revision":1,"tree":{"v":3}}\n')
    (revision,) = Recording.read(folder).revisions
    with pytest.raises(Unavailable, match="tree of revision 1 is damaged"):
        _ = revision.tree


class Clock:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.time = 100.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def wait(self, seconds: float) -> None:
        self.waits.append(round(seconds, 6))
        self.time += seconds


def replay(folder: Path, **options: Any) -> tuple[Screen, str, list[float]]:
    clock, drawn = Clock(), []
    last = play(Recording.read(folder), drawn.append, wait=clock.wait, now=clock.now, **options)
    return last, "".join(drawn), clock.waits


def test_a_replay_keeps_time(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "record")
    last, drawn, waits = replay(folder)
    assert waits == [1.0, 8.0]
    assert last.lines[:2] == ("one", "two")
    assert drawn.index("one") < drawn.index("two")
    assert drawn.count("one") == 1  # a row that stays is not drawn again
    assert replay(folder, speed=2)[2] == [0.5, 4.0]
    assert replay(folder, idle_limit=1.5)[2] == [1.0, 1.5]


def test_a_replay_lets_nothing_through_that_a_terminal_would_obey(tmp_path: Path) -> None:
    hostile = (
        b"\x1b]52;c;aGVsbG8=\x07\x1b[c\x1b[6n\x1b]0;title\x07\x1bP$qm\x1b\\\x1b]8;;http://x/\x07link\x1b]8;;\x07 \x1b[31mred \xc2\x9b6n"
    )
    with Recorder(tmp_path / "record") as recorder:
        recorder.resized(40, 4, 0.0)
        recorder.output(hostile, 0.1)
    _, drawn, _ = replay(tmp_path / "record")
    assert "link" in drawn
    assert "red" in drawn
    for forbidden in ("\x1b]", "\x1bP", "\x1b[c", "[6n", "\x9b", "title", "aGVsbG8="):
        assert forbidden not in drawn, forbidden


@pytest.mark.parametrize("joined", [False, True])
def test_a_replay_joins_graphemes_as_the_terminal_did(tmp_path: Path, joined: bool) -> None:
    family = "👩\u200d👩\u200d👧"
    policy = terminal.Policy(grapheme_clusters=joined)
    seen: list[Screen] = []

    async def main() -> None:
        program = ["printf", f"{family}x"]
        with Recorder(tmp_path / "record", program=program, policy=policy) as recorder:
            async with terminal.launch(program, columns=20, rows=2, policy=policy, observers=[recorder]) as app:
                await app.exited(timeout=PATIENCE)
                seen.append(app.screen)

    asyncio.run(main())
    recording = Recording.read(tmp_path / "record")
    replayed = screen_at(recording, recording.duration)
    assert replayed.cells == seen[0].cells
    assert replayed.cursor == seen[0].cursor == ((3, 0) if joined else (7, 0))
