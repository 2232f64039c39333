"""`session.frame` and its event, through the serve process: numbers, waits, files that are written and those that are refused."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from desklink_kit import SERVE, EngineProcess
from stopwatch_kit import Stopwatch
from triptych.adapters.display import PrivateDisplay
from x11_kit import Client, eventually

pytestmark = pytest.mark.display


class Frames:
    """An engine with a session; `ask` and `code` send `session.frame`."""

    def __init__(self, engine: EngineProcess, display: PrivateDisplay, **params: Any) -> None:
        self.engine = engine
        self.session = engine.open(display.name, **params)
        self.ask(after_seq=0)

    def send(self, **params: Any) -> int:
        return self.engine.send("session.frame", {"session_id": self.session, **params})

    def ask(self, **params: Any) -> Any:
        return self.engine.ask("session.frame", {"session_id": self.session, **params})

    def code(self, **params: Any) -> str:
        return self.engine.code("session.frame", {"session_id": self.session, **params})


def test_numbers_damage_and_stillness(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        frames = Frames(engine, bare_display)
        first = frames.ask()
        assert first == {**first, "seq": 1, "width": 1280, "height": 800, "format": "bgrx", "damage": [[0, 0, 1280, 800]], "written": False}
        before = time.monotonic_ns() // 1000
        client.fill(0x112233, (0, 0, 1, 1))
        client.fill(0x112233, (1279, 799, 1, 1))
        assert frames.ask(after_seq=1)["seq"] >= 2
        still = frames.ask(still_ms=80)
        assert still["still_ms"] >= 80
        # Painted again as it is: no change, no number, no event.
        client.fill(0x112233, (0, 0, 1, 1))
        assert frames.code(after_seq=still["seq"], timeout_ms=200) == "frame-timeout"
        assert frames.ask(since=still["seq"])["damage"] == []
        assert frames.ask(since=still["seq"] - 1)["damage"] == engine.event("session.frame.changed", seq=still["seq"])["damage"]
        for old in (still["seq"] + 7, 0):
            assert frames.ask(since=old)["damage"] == [[0, 0, 1280, 800]]
        told = engine.events("session.frame.changed")
        assert [event["seq"] for event in told] == list(range(1, still["seq"] + 1))
        changed = [box for event in told[1:] for box in event["damage"]]
        assert changed == [[0, 0, 32, 32], [1248, 768, 32, 32]]
        assert all(before <= event["timestamp_us"] <= time.monotonic_ns() // 1000 for event in told[1:])


def test_waits_end_by_the_change_by_stillness_or_by_time(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        frames = Frames(engine, bare_display)
        waiting = [frames.send(after_seq=1, timeout_ms=20_000), frames.send(after_seq=1, still_ms=100, timeout_ms=20_000)]
        assert frames.ask(timeout_ms=2000)["still_ms"] >= 150
        client.fill(0x112233, (0, 0, 50, 50))
        assert engine.answer(waiting[0])["result"]["seq"] == 2
        assert engine.answer(waiting[1])["result"]["still_ms"] >= 100
        started = time.monotonic()
        assert frames.code(still_ms=60_000, timeout_ms=100) == "frame-timeout"
        assert frames.code(after_seq=2**63, timeout_ms=0) == "frame-timeout"
        assert 0.1 <= time.monotonic() - started < 30
        for region in ([0, 0, 0, 1], [1280, 0, 1, 1], [2**32 - 1, 0, 1, 1], [1, 1, 1280, 799]):
            assert frames.code(region=region) == "coordinates"


def test_a_region_is_the_part_of_the_surface_that_it_names(bare_display: PrivateDisplay) -> None:
    path = Path(bare_display.runtime_dir) / "frame.raw"
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        frames = Frames(engine, bare_display, max_width=640)
        client.fill(0x112233, (600, 300, 40, 20))
        frames.ask(after_seq=1)
        whole = frames.ask(path=str(path))
        pixels = path.read_bytes()
        assert (whole["width"], whole["height"], len(pixels)) == (640, 400, 640 * 400 * 4)
        part = frames.ask(path=str(path), region=[299, 149, 22, 12])
        assert (part["width"], part["height"]) == (22, 12)
        rows = [pixels[((149 + row) * 640 + 299) * 4 :][: 22 * 4] for row in range(12)]
        assert path.read_bytes() == b"".join(rows)
        assert rows[1] == b"\0\0\0\xff" + b"\x33\x22\x11\xff" * 20 + b"\0\0\0\xff"


def test_a_session_without_local_frames(bare_display: PrivateDisplay) -> None:
    path = Path(bare_display.runtime_dir) / "frame.raw"
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        session = engine.open(bare_display.name, local_frames=False)
        client.fill(0x112233, (0, 0, 50, 50))
        eventually(lambda: engine.ask("session.metrics")["captured_frames"] > 0, "a captured frame")
        for params in ({}, {"path": str(path)}, {"after_seq": 0}):
            assert engine.code("session.frame", {"session_id": session, **params}) == "operation"
        assert engine.events("session.frame.changed") == []
        assert not path.exists()


def test_a_path_that_anybody_could_redirect_is_refused_and_nothing_is_written(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(0o700)
    kept = private / "kept"
    kept.write_bytes(b"keep")
    (private / "link").symlink_to(kept)
    (private / "dangling").symlink_to(private / "made")
    (tmp_path / "alias").symlink_to(private)
    (tmp_path / "open").mkdir(0o755)
    with EngineProcess(bare_display.env) as engine:
        frames = Frames(engine, bare_display)
        paths = [private / "link", private / "dangling", tmp_path / "alias" / "f", tmp_path / "open" / "f", private / "none" / "f", private]
        for path in paths:
            assert frames.code(path=str(path)) == "frame"
        assert sorted(path.name for path in private.iterdir()) == ["dangling", "kept", "link"]
        assert list((tmp_path / "open").iterdir()) == []
        assert kept.read_bytes() == b"keep"
        assert frames.ask(path=str(kept))["written"]
        assert (stat.S_IMODE(kept.stat().st_mode), kept.stat().st_size) == (0o600, 1280 * 800 * 4)


def test_a_full_disk_leaves_the_old_file_and_the_engine_answering(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o size=3M,mode=700 none {tmp_path}"
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False).returncode
    ):
        pytest.skip("no file system can be mounted here, which takes a user namespace")
    # The engine alone sees the small disk; its file is read through the process.
    then = f'{mount} && exec "$0" -c "$1"'
    program = f"import os; os.execvp('unshare', ['unshare', '-rm', 'sh', '-c', {then!r}, {sys.executable!r}, {SERVE!r}])"
    with EngineProcess(bare_display.env, program) as engine:
        frames = Frames(engine, bare_display)
        seen = Path(f"/proc/{engine.process.pid}/root/{tmp_path}")
        path = str(tmp_path / "frame.raw")
        assert frames.ask(path=path, region=[0, 0, 100, 100])["written"]
        assert frames.code(path=path) == "frame"
        assert [file.name for file in seen.iterdir()] == ["frame.raw"]
        assert (seen / "frame.raw").stat().st_size == 100 * 100 * 4
        assert frames.ask(path=path, region=[0, 0, 10, 10])["written"]
        assert (seen / "frame.raw").stat().st_size == 10 * 10 * 4


def hang_in_the_middle_of_a_look(server: int, frames: Frames, client: Client) -> None:
    """Draw, and stop the server before the engine has looked at it, which it does once a second and may do at once after a pause."""
    for colour in range(0x112233, 0x112243):
        before = frames.ask()["seq"]
        client.fill(colour, (0, 0, 50, 50))
        os.kill(server, signal.SIGSTOP)
        time.sleep(1.1)  # it is in the middle of a look by now, if it has not looked before
        if frames.ask()["seq"] == before:
            return
        os.kill(server, signal.SIGCONT)
    raise AssertionError("the engine looked at everything at once")


@pytest.mark.slow
def test_a_server_that_hangs_in_the_middle_of_a_picture_costs_a_request_its_time(bare_display: PrivateDisplay) -> None:
    path = Path(bare_display.runtime_dir) / "frame.raw"
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        frames = Frames(engine, bare_display, max_fps=1)
        hang_in_the_middle_of_a_look(bare_display.pid, frames, client)
        try:
            seq = frames.ask()["seq"]
            started, watch = time.monotonic(), Stopwatch(engine.process.pid)
            assert frames.code(path=str(path)) == "frame-timeout"
            assert time.monotonic() - started > 4.5 and watch.seconds() < 10
            assert frames.ask()["seq"] == seq
        finally:
            os.kill(bare_display.pid, signal.SIGCONT)
        assert frames.ask(after_seq=seq, path=str(path))["seq"] == seq + 1
        assert path.stat().st_size == 1280 * 800 * 4


@pytest.mark.slow
def test_a_display_on_which_nothing_happens_wakes_nobody(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        Frames(engine, bare_display)
        tasks = Path(f"/proc/{engine.process.pid}/task")

        def used() -> dict[str, tuple[str, ...]]:
            """Of each thread: whether it sleeps, or runs or waits for a processor; its time on one; how often it went to sleep."""
            wanted = ("State", "voluntary_ctxt_switches")
            found = {}
            for thread in tasks.iterdir():
                with contextlib.suppress(OSError):  # it has ended
                    status = (thread / "status").read_text().splitlines()
                    time_on_one = (thread / "schedstat").read_text().split()[0]
                    found[thread.name] = (time_on_one, *(line for line in status if line.startswith(wanted)))
            return found

        def at_rest(seconds: float) -> bool:
            """Whether all slept, and nobody was woken in so many seconds."""
            before = used()
            time.sleep(seconds)
            return used() == before and all("S (sleeping)" in state for _, state, _ in before.values())

        # What the engine loads in advance it loads a second after its start.
        eventually(lambda: at_rest(1.5), "the engine is at rest", 60)
        assert at_rest(2)
