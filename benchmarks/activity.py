"""Activity panel: how fast a host takes observations in, from bytes to committed rows with their episodes, and how fast a record is read.

Rates are in rows a second of one core: the processor time of this process counts, so that another program on the machine slows nothing.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import Benchmark, Sides
from triptych.adapters.collector.store import Store
from triptych.engine import activity
from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.gates import Admitted
from triptych.machines.collector.resources import Resource
from triptych.machines.collector.workspaces import git_workspace

NOW = time.time_ns() // 1_000_000
DAY_MS = 86_400_000
ROWS = 10_000
WANTED_ROWS = 20_000.0
WANTED_MS = 200.0
BATCH = 200
APPS = ("code.desktop", "org.gnome.Nautilus.desktop", "org.gnome.Terminal.desktop")

FLOOD = """
import json, sys
rows = int(sys.argv[1]); now = int(sys.argv[2]); apps = sys.argv[3].split(",")
say = sys.stdout.write
say(json.dumps({"v": 1, "type": "hello", "collectorSession": "flood", "collectorVersion": "1", "platform": "linux", "arch": "x64",
                "capabilities": ["app-focus", "window-metadata"]}) + "\\n"); sys.stdout.flush()
revision = json.loads(sys.stdin.readline())["revision"]
say(json.dumps({"v": 1, "type": "configured", "revision": revision}) + "\\n")
say(json.dumps({"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}) + "\\n"); sys.stdout.flush()
for i in range(rows):
    say(json.dumps({"v": 1, "type": "observation", "collectorSession": "flood", "seq": i + 1, "observedAtMs": now - rows + i,
        "app": {"pid": 7, "bundleId": apps[i // 50 % len(apps)], "name": "Program"},
        "window": {"title": "chapter %d of the book - Program" % (i % 97), "document": None, "url": None},
        "element": {"role": "text", "subrole": None, "identifier": None},
        "privacy": {"secure": False, "protected": False}, "source": {"adapter": "vscode", "provider": "at-spi"},
        "activity": {"idleSeconds": 0.5}}) + "\\n")
sys.stdout.flush()
sys.stdin.read()
"""
"""A collector that has everything to say at once. The lines are as long as real ones."""


def admitted(number: int, at_ms: int) -> Admitted:
    """Work in projects, with looks at other windows between."""
    app = APPS[0] if number % 60 < 40 else APPS[number // 7 % 3]
    adapter = BUILT_IN.find(app)
    assert adapter is not None
    work = number % 60 < 40
    root, name = f"/home/me/project-{number // 600 % 5}", f"chapter_{number % 37}.py"
    facts = Facts(
        session="linux-1-a",
        seq=number,
        observed_at_ms=at_ms,
        pid=7,
        bundle_id=app,
        app_name="Program",
        role="text",
        idle_seconds=0.5,
        adapter=adapter.id,
        provider="at-spi",
    )
    resource = Resource("file", f"file://{root}/{name}", name, f"{root}/{name}") if work else None
    title = None if adapter.suppresses_window_title else f"{name if work else number % 211} - project - Program"
    return Admitted(facts, adapter, title, resource, 1, at_ms + 720 * 3_600_000, git_workspace(root) if work else None)


def per_core_second(rows: int, since: float) -> float:
    """Rows a second of processor time since then."""
    return rows / (time.process_time() - since)


@contextmanager
def host_rows() -> Iterator[Sides]:
    """A real collector process writes as fast as it can; until the last row is committed, with its episodes."""

    async def record() -> float:
        with tempfile.TemporaryDirectory(prefix="triptych-bench-") as folder:
            command = [sys.executable, "-c", FLOOD, str(ROWS), str(NOW), ",".join(APPS)]
            async with activity.record(Path(folder) / "history", allow=APPS, command=command) as recording:
                with recording.changes() as changed:
                    await changed.wait()
                    since = time.process_time()
                    while recording.last_id < ROWS:
                        changed.clear()
                        await changed.wait()
                    return per_core_second(ROWS, since)

    yield Sides(lambda: asyncio.run(record()), lambda: WANTED_ROWS)


@contextmanager
def store_rows() -> Iterator[Sides]:
    """The store alone: rows with titles, files and workspaces, their episodes included, in batches, and one at a time."""
    rows = [admitted(number, NOW - DAY_MS // 2 + 400 * number) for number in range(1, ROWS + 1)]

    def add(size: int, count: int) -> float:
        with tempfile.TemporaryDirectory(prefix="triptych-bench-") as folder, Store(Path(folder) / "history", NOW) as store:
            since = time.process_time()
            for start in range(0, count, size):
                store.add(rows[start : start + size])
            return per_core_second(count, since)

    yield Sides(lambda: add(BATCH, ROWS), lambda: add(1, ROWS // 10))


MONTH = 50_000 * 20
NOTES = 50_000
_COPY = (
    """INSERT INTO observations SELECT NULL, collector_session || '-' || :day, collector_seq, observed_at_ms - :day * 86400000, pid,
         bundle_id, app_name, surface_kind, title_id, element_role, element_subrole, element_identifier, resource_id, workspace_id,
         workspace_root, workspace_title, workspace_source, workspace_confidence, idle_seconds, activity_event, source_provider,
         source_adapter, policy_revision, expires_at_ms, episode_id || '-' || :day, detour
       FROM observations WHERE collector_session = 'linux-1-a'""",
    """INSERT INTO episode_surfaces SELECT episode_id || '-' || :day, bundle_id, surface_kind, app_name, title_id,
         first_seen_at_ms - :day * 86400000, last_seen_at_ms - :day * 86400000, observation_count FROM episode_surfaces
       WHERE episode_id IN (SELECT id FROM episodes WHERE collector_session = 'linux-1-a')""",
    """INSERT INTO episode_resources SELECT episode_id || '-' || :day, resource_id, first_seen_at_ms - :day * 86400000,
         last_seen_at_ms - :day * 86400000, observation_count FROM episode_resources
       WHERE episode_id IN (SELECT id FROM episodes WHERE collector_session = 'linux-1-a')""",
)


@contextmanager
def million() -> Iterator[Store]:
    """A record of 1,000,000 observations: a busy day, twenty times over, with titles of its own for each hour."""
    day = 50_000
    with tempfile.TemporaryDirectory(prefix="triptych-bench-") as folder:
        start = NOW - NOW % DAY_MS - DAY_MS
        with Store(Path(folder) / "history", NOW) as store:
            rows = [admitted(number, start + number * (DAY_MS // day)) for number in range(day)]
            for first in range(0, day, 2000):
                store.add(rows[first : first + 2000])
            _multiply(store)
            yield store


def _multiply(store: Store) -> None:
    columns = [row[1] for row in store._db.execute("PRAGMA table_info(episodes)")]
    shifted = {"id": "id || '-' || :day", "collector_session": "collector_session || '-' || :day"}
    values = [
        shifted.get(name, f"{name} - :day * 86400000" if name in ("started_at_ms", "ended_at_ms", "last_strong_at_ms") else name)
        for name in columns
    ]
    episodes = f"INSERT INTO episodes SELECT {', '.join(values)} FROM episodes WHERE collector_session = 'linux-1-a'"
    for number in range(1, 20):
        with store._db.writing():
            for statement in (_COPY[0], episodes, *_COPY[1:]):
                store._db.execute(statement, {"day": number})
    with store._db.writing():
        store._db.executemany(
            "INSERT INTO titles (title, folded, last_seen_at_ms) VALUES (?, ?, ?)",
            [(f"note {number} of the month - Notes", f"note {number} of the month - notes", NOW) for number in range(NOTES)],
        )
        first = store._db.execute("SELECT min(id) FROM titles WHERE title LIKE 'note %'").fetchone()[0]
        store._db.execute("UPDATE observations SET title_id = ? + id / 20 WHERE id % 20 = 0 AND id / 20 < ?", (first, NOTES))


@contextmanager
def today() -> Iterator[Sides]:
    """All episodes of one day, with their windows and files."""
    with million() as store:
        start = NOW - NOW % DAY_MS - 3 * DAY_MS
        assert store.counts().observations == MONTH
        assert len(store.episodes(start, start + DAY_MS)) > 50

        def ours() -> None:
            store.episodes(start, start + DAY_MS)

        def grouped() -> None:
            store._db.execute(
                """SELECT workspace_root, bundle_id, title_id, min(observed_at_ms), max(observed_at_ms), count(*) FROM observations
                   WHERE observed_at_ms >= ? AND observed_at_ms < ? GROUP BY workspace_root, bundle_id, title_id, observed_at_ms / 60000""",
                (start, start + DAY_MS),
            ).fetchall()

        yield Sides(ours, lambda: WANTED_MS, {"grouping the day's observations by the minute": grouped})


@contextmanager
def search() -> Iterator[Sides]:
    """Words of one title, of 50,000 of them, of every file, and of one day only."""
    with million() as store:
        start = NOW - NOW % DAY_MS - 3 * DAY_MS
        assert len(store.search("chapter_17 program")) == 1
        assert len(store.search("notes month")) == len(store.search("notes month", since_ms=start, until_ms=start + DAY_MS)) == 50

        def ours() -> None:
            store.search("chapter_17 program")

        def common() -> None:
            store.search("notes month")

        def everywhere() -> None:
            store.search("project")

        def one_day() -> None:
            store.search("notes month", since_ms=start, until_ms=start + DAY_MS)

        def observations() -> None:
            store._db.execute(
                """SELECT title, max(observed_at_ms) FROM observations AS o JOIN titles AS t ON t.id = o.title_id
                   WHERE title LIKE '%chapter_17%' AND title LIKE '%program%' GROUP BY title"""
            ).fetchall()

        beside = {
            "a word in 50,000 titles": common,
            "a word in 50,000 titles, of one day": one_day,
            "a word in every file": everywhere,
            "LIKE over the observations": observations,
        }
        yield Sides(ours, lambda: WANTED_MS, beside)


BENCHMARKS = (
    Benchmark("activity.host_rows", "the bound that we set", host_rows, unit="rows/s", better="higher", rounds=5),
    Benchmark("activity.store_rows", "a transaction a row", store_rows, unit="rows/s", better="higher", rounds=5),
    Benchmark("activity.today", "the bound that we set", today, rounds=20),
    Benchmark("activity.search", "the bound that we set", search, rounds=10),
)
