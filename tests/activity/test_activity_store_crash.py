"""What the world does to the database: a kill at any moment, a full disk, a lock that stays, a file that rots."""

from __future__ import annotations

import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from activity_store_kit import admitted, brief, every_episode, opened, told_again
from programs.activity_store_writer import numbered
from triptych.adapters.collector.store import Added, Store
from triptych.errors import Unavailable
from triptych.generated.collector.vocabulary import STORAGE_REFUSAL

WRITER = Path(__file__).parents[1] / "programs" / "activity_store_writer.py"


@contextmanager
def writer(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-P", str(WRITER), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[bytes], timeout: float = 20.0) -> bytes:
    """What it has said by now, at least one line."""
    assert process.stdout is not None
    told, deadline = b"", time.monotonic() + timeout
    while not told.endswith(b"\n"):
        assert select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0], "the writer says nothing"
        told += os.read(process.stdout.fileno(), 65536)
    return told


def test_a_kill_at_any_moment_loses_nothing_that_was_committed_and_stores_nothing_twice(tmp_path: Path) -> None:
    folder, chance = tmp_path / "history", random.Random(4)
    committed, first = 0, 1
    for _ in range(6):
        with writer(folder, first, chance.choice((1, 7, 60))) as process:
            told = said(process)
            deadline = time.monotonic() + chance.uniform(0.0, 0.15)
            while time.monotonic() < deadline:
                if select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                    told += said(process)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdout is not None
            told += process.stdout.read()
            committed = int(told.rsplit(b"\n", 2)[-2])
        with opened(folder) as store:
            assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            rows = [row.seq for row in store.observations(limit=10**9)]
            assert rows == list(range(1, len(rows) + 1)), "each once, and none in between is missing"
            assert len(rows) >= committed, "what was said to be committed is there"
            assert [brief(one) for one in every_episode(store)] == [told.brief for told in told_again(map(numbered, rows))]
            again = [numbered(seq) for seq in rows[-100:]]
            assert store.add(again) == Added(0, len(again), 0)
            first = len(rows) + 1
    assert committed > 100


def test_a_full_disk_is_named_and_costs_only_what_did_not_fit(tmp_path: Path) -> None:
    with opened(tmp_path / "history") as store:
        store.add([numbered(number) for number in range(1, 200)])
        before = [brief(one) for one in every_episode(store)]
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(Unavailable) as caught:
            store.add([numbered(number) for number in range(200, 2000)])
        assert caught.value.reason.startswith("storage-full: ") and caught.value.remedy
        assert [brief(one) for one in every_episode(store)] == before
        assert store.counts().observations == 199
        store._db.execute("PRAGMA max_page_count = 1000000")
        assert store.add([numbered(number) for number in range(200, 2000)]) == Added(1800, 0, 0)
        assert [brief(one) for one in every_episode(store)] == [told.brief for told in told_again(map(numbered, range(1, 2000)))]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine mounts no tmpfs")
    try:
        with opened(disk / "history") as store:
            stored = 0
            with pytest.raises(Unavailable) as caught:
                for number in range(1, 20_000):
                    stored += store.add([numbered(number)]).stored
            assert caught.value.reason.startswith("storage-full: ")
            assert stored > 10
            assert [row.seq for row in store.observations(limit=10**9)] == list(range(1, stored + 1))
            with pytest.raises(Unavailable):
                store.add([numbered(stored + 1)])
            subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
            assert store.add([numbered(stored + 1)]).stored == 1, "room was made: it goes on"
            assert [row.seq for row in store.observations(limit=10**9)] == list(range(1, stored + 2))
            told = told_again(map(numbered, range(1, stored + 2)))
            assert [brief(one) for one in every_episode(store)] == [one.brief for one in told]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_lock_that_stays_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with opened(folder) as store, writer(folder, "lock") as process:
        assert said(process) == b"locked\n"
        store._db.execute("PRAGMA busy_timeout = 50")
        with pytest.raises(Unavailable) as caught:
            store.add([admitted(1)])
        assert caught.value.reason.startswith("storage-locked: ")
        assert store.counts().observations == 0, "looking does not wait"
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        assert store.add([admitted(1)]) == Added(1, 0, 0)


def corrupted(path: Path, pages: range) -> None:
    content = bytearray(path.read_bytes())
    for page in pages:
        if (page + 1) * 4096 <= len(content):
            content[page * 4096 : (page + 1) * 4096] = bytes(random.Random(page).randbytes(4096))
    path.write_bytes(content)


def test_a_file_that_rots_is_named_when_it_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with opened(folder) as store:
        store.add([numbered(number) for number in range(1, 500)])
    corrupted(folder / "history.sqlite", range(2, 200))
    before = (folder / "history.sqlite").read_bytes()
    with pytest.raises(Unavailable) as caught, opened(folder) as store:
        store.add([numbered(number) for number in range(500, 600)])
    assert caught.value.reason.startswith("storage-corrupt: ") and "move it away" in caught.value.remedy
    assert (folder / "history.sqlite").read_bytes() == before, "what may be saved of it is left alone"
    reader = Store.reading(folder)
    assert reader is not None
    with reader, pytest.raises(Unavailable) as caught:
        reader.observations()
        reader.episodes(0, 2**53)
    assert caught.value.reason.startswith("storage-corrupt: ")


def test_a_header_that_rots_is_named_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with opened(folder) as store:
        store.add([numbered(1)])
    corrupted(folder / "history.sqlite", range(1))
    for opening in (lambda: opened(folder), lambda: Store.reading(folder)):
        with pytest.raises(Unavailable) as caught:
            opening()
        assert caught.value.reason.startswith("storage-corrupt: ")


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (sqlite3.SQLITE_FULL, "storage-full"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "storage-locked"),
        (sqlite3.SQLITE_CORRUPT_INDEX, "storage-corrupt"),
        (sqlite3.SQLITE_IOERR_WRITE, "storage-failed"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "storage-failed"),
    ],
)
def test_each_refusal_of_sqlite_has_its_word(tmp_path: Path, code: int, word: str) -> None:
    assert word in STORAGE_REFUSAL
    error = sqlite3.OperationalError("said")
    error.sqlite_errorcode = code
    with opened(tmp_path / "history") as store, pytest.raises(Unavailable) as caught, store._db.writing():
        raise error
    assert caught.value.reason.startswith(f"{word}: ") and caught.value.remedy


def test_a_fault_of_ours_is_not_called_one_of_the_disk(tmp_path: Path) -> None:
    with opened(tmp_path / "history") as store, pytest.raises(sqlite3.OperationalError), store._db.reading():
        store._db.execute("SELECT nothing FROM nowhere")


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_log_that_others_may_read_is_refused(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "history"
    with opened(folder) as store:
        store.add([admitted(1)])
        beside = folder / f"history.sqlite{suffix}"
        beside.chmod(0o644)
        for opening in (lambda: opened(folder), lambda: Store.reading(folder)):
            with pytest.raises(Unavailable) as caught:
                opening()
            assert "open to others" in caught.value.reason and caught.value.remedy == f"chmod 600 {beside}"
        beside.chmod(0o600)


def test_two_that_make_the_record_at_the_same_moment_make_one(tmp_path: Path) -> None:
    for attempt in range(8):
        folder = tmp_path / f"history-{attempt}"
        gate = threading.Barrier(3)

        def begin(number: int, folder: Path = folder, gate: threading.Barrier = gate) -> Added:
            gate.wait()
            with opened(folder) as store:
                return store.add([admitted(1, session=f"s{number}")])

        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(begin, range(3))) == [Added(1, 0, 0)] * 3
        with opened(folder) as store:
            assert store.counts().observations == 3
