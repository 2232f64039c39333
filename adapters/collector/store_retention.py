"""Says how long things are kept, and deletes what has expired; used by the store inside its transactions.

The expiry of an observation is a compaction: the episode that it belongs to stays, with its summary, and is not built again from then on.
"""

from __future__ import annotations

from ...errors import LocalProtocolError
from ...generated.collector.vocabulary import (
    DEFAULT_EPISODE_RETENTION_DAYS,
    DEFAULT_OBSERVATION_RETENTION_HOURS,
    MAX_EPISODE_RETENTION_DAYS,
    MAX_FUTURE_MS,
    MAX_OBSERVATION_RETENTION_HOURS,
)
from ...machines.collector.gates import HOUR_MS, checked_retention
from .database import Database
from .store_episodes import DAY_MS
from .store_names import delete_orphans
from .stored import Retention, Swept

BAD_DAYS = "retention-days"
LONGEST_MS = MAX_OBSERVATION_RETENTION_HOURS * HOUR_MS
"""As long as an observation may live, a deletion must be remembered, and a boundary may be needed."""


def retention(database: Database) -> Retention:
    """What is set, or the defaults: 24 hours, 30 days."""
    row = database.execute("SELECT observation_retention_hours, episode_retention_days FROM retention_settings").fetchone()
    return Retention(*(row or (DEFAULT_OBSERVATION_RETENTION_HOURS, DEFAULT_EPISODE_RETENTION_DAYS)))


def checked(hours: int, days: int) -> Retention:
    """Raises LocalProtocolError (codes `retention-hours`, `retention-days`) unless they are 1 to 720 hours and 1 to 365 days."""
    checked_retention(hours)
    if type(days) is not int or not 1 <= days <= MAX_EPISODE_RETENTION_DAYS:
        raise LocalProtocolError(BAD_DAYS, f"a whole number of days from 1 to {MAX_EPISODE_RETENTION_DAYS}, not {days!r}")
    return Retention(hours, days)


def set_retention(database: Database, wanted: Retention, now_ms: int) -> None:
    """Keep so long what is recorded from now on."""
    row = (1, wanted.observation_hours, wanted.episode_days, now_ms)
    database.execute("INSERT OR REPLACE INTO retention_settings VALUES (?, ?, ?, ?)", row)


def sweep(database: Database, now_ms: int) -> Swept:
    """Delete what has expired, and what nothing names any more."""
    _bound_the_future(database, now_ms)
    database.execute(
        """UPDATE episodes SET complete = 0 WHERE complete = 1 AND id IN
             (SELECT DISTINCT episode_id FROM observations WHERE expires_at_ms <= ?)""",
        (now_ms,),
    )
    observations = database.execute("DELETE FROM observations WHERE expires_at_ms <= ?", (now_ms,)).rowcount
    going = database.execute("SELECT started_at_ms, ended_at_ms, id FROM episodes WHERE expires_at_ms <= ?", (now_ms,)).fetchall()
    database.executemany(
        "UPDATE observations SET episode_id = NULL WHERE observed_at_ms BETWEEN ? AND ? AND episode_id = ? AND detour = 0", going
    )
    database.executemany("DELETE FROM episodes WHERE id = ?", [(row[2],) for row in going])
    database.execute("DELETE FROM deletion_log WHERE requested_at_ms <= ?", (now_ms - LONGEST_MS,))
    database.execute("DELETE FROM boundaries WHERE at_ms <= ?", (now_ms - LONGEST_MS,))
    if observations or going:
        delete_orphans(database)
    return Swept(observations, len(going))


def _bound_the_future(database: Database, now_ms: int) -> None:
    """What a clock that has gone back since left in the future is kept as long as what is recorded now, and no longer."""
    kept = retention(database)
    # The plus keeps the index of expiries out of it: far less lies in the future than has not expired.
    for table, time, kept_ms in (
        ("observations", "observed_at_ms", kept.observation_hours * HOUR_MS),
        ("episodes", "started_at_ms", kept.episode_days * DAY_MS),
    ):
        database.execute(
            f"UPDATE {table} SET expires_at_ms = :latest WHERE {time} > :future AND +expires_at_ms > :latest",
            {"latest": now_ms + kept_ms, "future": now_ms + MAX_FUTURE_MS},
        )
