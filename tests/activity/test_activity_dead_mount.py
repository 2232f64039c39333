"""A mount whose server is gone: what lies there is refused, and nothing waits for it. It is real: a FUSE server that never answers."""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from activity_host_kit import STARTED, observation, run
from stopwatch_kit import Stopwatch
from triptych.adapters.collector.disk import Disk, NoAnswer
from triptych.engine.activity import Recording


class DeadMount:
    """`answer` ends the server: whoever hangs there is told that it is gone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._server = os.open("/dev/fuse", os.O_RDWR)
        except OSError:
            pytest.skip("this user may not serve a filesystem")
        options = f"fd={self._server},rootmode=40000,user_id=0,group_id=0".encode()
        if self._libc.mount(b"dead", os.fsencode(folder), b"fuse", 0, options):
            os.close(self._server)
            pytest.skip("this user may not mount")

    def answer(self) -> None:
        if self._server >= 0:
            os.close(self._server)
            self._server = -1

    def close(self) -> None:
        self.answer()
        self._libc.umount2(os.fsencode(self.folder), 2)  # MNT_DETACH


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[DeadMount]:
    mount = DeadMount(tmp_path / "far away")
    try:
        yield mount
    finally:
        mount.close()


def test_it_is_asked_once_until_it_answers(dead: DeadMount) -> None:
    disk = Disk()
    began, held = time.monotonic(), Stopwatch()
    with pytest.raises(NoAnswer):
        disk.ask(os.path.realpath, f"{dead.folder}/a/b")
    assert time.monotonic() - began > 0.2 and held.seconds() < 1
    held = Stopwatch()
    for name in ("a/b", "c", "d/e/f"):
        with pytest.raises(NoAnswer):
            disk.ask(os.path.realpath, f"{dead.folder}/{name}")
    assert held.seconds() < 0.1, "no second wait for the same place"
    assert disk.ask(os.path.realpath, "/usr/../etc") == "/etc", "all the others answer"
    dead.answer()
    deadline = time.monotonic() + 5
    while True:
        try:
            assert disk.ask(os.path.realpath, f"{dead.folder}/c") == f"{dead.folder}/c"
            break
        except NoAnswer:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    disk.close()


def test_a_link_to_it_does_not_make_the_rest_of_the_disk_unknown(dead: DeadMount, tmp_path: Path) -> None:
    disk = Disk()
    (tmp_path / "link").symlink_to(dead.folder)
    for _ in range(2):
        with pytest.raises(NoAnswer):
            disk.ask(os.path.realpath, f"{tmp_path}/link/file")
    assert disk.ask(os.path.realpath, str(tmp_path)) == str(tmp_path)
    dead.answer()
    disk.close()


def test_what_a_question_raises_is_raised() -> None:
    disk = Disk()
    with pytest.raises(FileNotFoundError):
        disk.ask(os.stat, "/no/such/place")
    assert disk.ask(os.path.basename, "/a/b") == "b"
    disk.close()
    disk.close()


def test_a_device_of_this_machine_is_local_and_another_is_not(dead: DeadMount, tmp_path: Path) -> None:
    disk = Disk()
    device = next(
        line.split()[2]
        for line in Path("/proc/self/mountinfo").read_text().splitlines()
        if line.endswith("dead rw") or " - fuse dead" in line
    )
    major, minor = map(int, device.split(":"))
    assert not disk.is_local(os.makedev(major, minor))
    assert disk.is_local(tmp_path.stat().st_dev)


def test_a_document_there_is_refused_and_capture_goes_on(dead: DeadMount, tmp_path: Path) -> None:
    there = {"window": {"title": "There", "document": f"{dead.folder}/report.txt"}}
    here = {"window": {"title": "Here", "document": f"{tmp_path}/report.txt"}}
    steps = [("say", observation(1, **there)), ("say", observation(2, **there)), ("say", observation(3, **here))]

    async def check(recording: Recording) -> None:
        longest, last = 0.0, time.monotonic()
        async with asyncio.timeout(60):
            while recording.last_id == 0:
                await asyncio.sleep(0.005)
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
        assert longest < 0.6
        assert [row.title for row in recording.observations()] == ["Here"]
        assert recording.health.refusals.by_reason == {"bad-resource": 2}
        assert recording.health.capture == "running"

    run(tmp_path, [*STARTED, *steps], check)
