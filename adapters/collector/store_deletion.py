"""Deletes what the user asks for: the observations, what was derived from them, and the way back in for both; the store calls it.

What is large goes in pieces, each a transaction of its own, so that a host which records gets its turn between: the tombstone first, so
that nothing comes back meanwhile, then one stretch of time after the other. The borders lie where an episode begins.

An episode of which something goes is built again from what is left, if all that it is made of was still there; otherwise it goes whole, as
its summary could tell what was deleted.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ...errors import LocalProtocolError
from .database import Database
from .store_episodes import EpisodeKeeper, Interval
from .store_names import delete_orphans
from .stored import App, Deleted, Everything, OneEpisode, Scope, TimeRange

UNKNOWN_EPISODE = "unknown-episode"
BAD_RANGE = "time-range"

_LOG = """INSERT INTO deletion_log (requested_at_ms, scope, range_start_ms, range_end_ms, bundle_id, observations_deleted, episodes_deleted,
  episodes_rebuilt) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""

_ADD_TO_LOG = """UPDATE deletion_log SET observations_deleted = observations_deleted + ?, episodes_deleted = episodes_deleted + ?,
  episodes_rebuilt = episodes_rebuilt + ? WHERE id = ?"""

PIECE = 50_000
"""Observations that are looked at in one piece: it takes less than a second."""

PAUSE = 0.3
"""Seconds after a piece that held others up: longer than a host that records waits between two tries."""

NOTICED = 0.1
"""Seconds of a piece that others do notice."""

EARLIEST, LATEST = -1, 2**53

# What an episode is made of: those observations that joined it and are left, and how many there were.
_PROVENANCE = """SELECT e.id, e.started_at_ms, e.ended_at_ms, complete,
    (SELECT count(*) FROM observations AS o WHERE o.observed_at_ms BETWEEN e.started_at_ms AND e.ended_at_ms
       AND o.episode_id = e.id AND detour = 0),
    (SELECT count(*) FROM observations AS o WHERE o.observed_at_ms BETWEEN e.started_at_ms AND e.ended_at_ms
       AND o.episode_id = e.id AND detour = 0 AND {rows}),
    (SELECT ifnull(sum(observation_count), 0) FROM episode_surfaces WHERE episode_id = e.id)
  FROM episodes AS e WHERE {episodes}"""


def pieces(database: Database, scope: Scope) -> list[Interval]:
    """The stretches of time, oldest first, in which to delete what is large; empty for what goes at once."""
    match scope:
        case App():
            start_ms, end_ms = EARLIEST, LATEST  # what is left of every episode between is built again, and that is what takes the time
        case TimeRange(start_ms, end_ms):
            pass
        case _:
            return []
    every = """SELECT observed_at_ms AS at, row_number() OVER (ORDER BY observed_at_ms) AS number FROM observations
               WHERE observed_at_ms >= ? AND observed_at_ms < ?"""
    borders = [EARLIEST]
    for (at_ms,) in database.execute(f"SELECT at FROM ({every}) WHERE number % ? = 0", (start_ms, end_ms, PIECE)).fetchall():
        begins = database.execute("SELECT min(started_at_ms) FROM episodes WHERE started_at_ms > ?", (at_ms,)).fetchone()[0]
        if begins is not None and begins > borders[-1]:
            borders.append(begins)
    return list(pairwise([*borders, LATEST])) if len(borders) > 1 else []


def begin(database: Database, scope: Scope, now_ms: int) -> int:
    """Leave the tombstone of a deletion whose pieces follow, and return its id."""
    match scope:
        case App(bundle_id):
            log: tuple[Any, ...] = ("app", None, None, bundle_id)
        case TimeRange(start_ms, end_ms):
            log = ("time-range", start_ms, end_ms, None)
        case _:
            raise AssertionError(f"{scope} goes at once")
    return int(database.execute(_LOG, (now_ms, *log, 0, 0, 0)).lastrowid or 0)


def delete(
    database: Database,
    episodes: EpisodeKeeper,
    scope: Scope,
    now_ms: int,
    episode_days: int,
    within: Interval | None = None,
    tombstone: int | None = None,
) -> Deleted:
    """Delete within the transaction that is open; only what lies `within` a piece, whose `tombstone` is there already.

    Raises LocalProtocolError (codes `unknown-episode`, `time-range`).
    """
    match scope:
        case Everything():
            return _everything(database, now_ms)
        case App(bundle_id):
            rows = "bundle_id = ?"
            values: tuple[Any, ...] = (bundle_id,)
            touched, of = "e.id IN (SELECT episode_id FROM episode_surfaces WHERE bundle_id = ?)", values
            log: tuple[Any, ...] = ("app", None, None, bundle_id)
        case TimeRange(start_ms, end_ms):
            if end_ms <= start_ms:
                raise LocalProtocolError(BAD_RANGE, "the end of a time range comes after its start")
            rows, values = "observed_at_ms >= ? AND observed_at_ms < ?", (start_ms, end_ms)
            touched, of = "e.ended_at_ms >= ? AND e.started_at_ms < ?", values
            log = ("time-range", start_ms, end_ms, None)
        case OneEpisode(identifier):
            found = database.execute("SELECT started_at_ms, ended_at_ms + 1 FROM episodes WHERE id = ?", (identifier,)).fetchone()
            if found is None:
                raise LocalProtocolError(UNKNOWN_EPISODE, f"there is no episode {identifier}")
            rows, values = "observed_at_ms >= ? AND observed_at_ms < ?", found
            touched, of = "e.ended_at_ms >= ? AND e.started_at_ms < ?", values
            log = ("episode", *found, None)
    if within is not None:
        rows, values = f"{rows} AND observed_at_ms >= ? AND observed_at_ms < ?", (*values, *within)
        touched, of = f"{touched} AND e.ended_at_ms >= ? AND e.started_at_ms < ?", (*of, *within)
    affected = database.execute(_PROVENANCE.format(rows=rows, episodes=touched), (*values, *of)).fetchall()
    gone: list[tuple[str]] = []
    changes: list[Interval] = []
    rebuilt = 0
    for episode_id, started, ended, complete, linked, going, total in affected:
        if not (complete and linked and linked == total):
            gone.append((episode_id,))
            changes.append((started, ended))
        elif going < linked:
            rebuilt += 1
    stretches = (
        f"SELECT min(observed_at_ms), max(observed_at_ms) FROM observations WHERE {rows} AND episode_id IS NOT NULL GROUP BY episode_id"
    )
    changes += database.execute(stretches, values).fetchall()
    seen = {column: [row[0] for row in database.execute(_SEEN[column].format(rows=rows), values)] for column in _SEEN}
    for column, table in (("title_id", "episode_surfaces"), ("resource_id", "episode_resources")):
        for episode in gone:
            seen[column] += [row[0] for row in database.execute(f"SELECT {column} FROM {table} WHERE episode_id = ?", episode)]
    observations = database.execute(f"DELETE FROM observations WHERE {rows}", values).rowcount
    database.executemany("DELETE FROM episodes WHERE id = ?", gone)
    episodes.rebuild(changes, now_ms, episode_days)
    delete_orphans(database)
    _correct_times(database, seen)
    deleted = Deleted(observations, len(affected) - rebuilt, rebuilt)
    counts = (deleted.observations, deleted.episodes_deleted, deleted.episodes_rebuilt)
    if tombstone is None:
        database.execute(_LOG, (now_ms, *log, *counts))
    else:
        database.execute(_ADD_TO_LOG, (*counts, tombstone))
    return deleted


_SEEN = {
    "title_id": "SELECT DISTINCT title_id FROM observations WHERE {rows} AND title_id IS NOT NULL",
    "resource_id": "SELECT DISTINCT resource_id FROM observations WHERE {rows} AND resource_id IS NOT NULL",
}


def _everything(database: Database, now_ms: int) -> Deleted:
    observations = database.execute("DELETE FROM observations").rowcount
    episodes = database.execute("DELETE FROM episodes").rowcount
    for table in ("titles", "resources", "boundaries", "deletion_log"):
        database.execute(f"DELETE FROM {table}")
    database.execute(_LOG, (now_ms, "all", None, None, None, observations, episodes, 0))
    return Deleted(observations, episodes, 0)


def _correct_times(database: Database, seen: dict[str, list[int]]) -> None:
    """When a title or a resource was seen is part of what was deleted: say it as those know it who still name it."""
    for identifier in set(seen["title_id"]):
        database.execute(
            """UPDATE titles SET last_seen_at_ms = max(
                 ifnull((SELECT max(observed_at_ms) FROM observations WHERE title_id = :id), 0),
                 ifnull((SELECT max(last_seen_at_ms) FROM episode_surfaces WHERE title_id = :id), 0)) WHERE id = :id""",
            {"id": identifier},
        )
    for identifier in set(seen["resource_id"]):
        database.execute(
            """UPDATE resources SET
                 first_seen_at_ms = min(
                   ifnull((SELECT min(observed_at_ms) FROM observations WHERE resource_id = :id), 9007199254740991),
                   ifnull((SELECT min(first_seen_at_ms) FROM episode_resources WHERE resource_id = :id), 9007199254740991)),
                 last_seen_at_ms = max(
                   ifnull((SELECT max(observed_at_ms) FROM observations WHERE resource_id = :id), 0),
                   ifnull((SELECT max(last_seen_at_ms) FROM episode_resources WHERE resource_id = :id), 0)) WHERE id = :id""",
            {"id": identifier},
        )
