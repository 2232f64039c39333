"""Keeps admitted observations, their episodes and the policy in SQLite, `history.sqlite` in the data directory.

`Store(…)` opens it to write, `Store.reading` only to look, which changes nothing and holds nobody up. The host adds; whoever the user asks
to delete does so, and the host goes on from what is left.

It stores what `gates.admit` admitted and nothing else: `add` takes no other type. Whatever SQLite refuses is Unavailable, with a reason
that begins with `storage-full`, `storage-locked`, `storage-corrupt` or `storage-failed`; nothing of that transaction is there then, and
everything of the earlier ones is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ...generated.collector.models import RuleAction, RuleDimension, RuleMatcher
from ...machines.collector.episodes import MarkedReason
from ...machines.collector.gates import Admitted
from ...machines.collector.policy import BUILT_IN_RULES, Policy, Rule
from . import store_deletion, store_reading, store_retention, store_search
from .database import FILE_NAME, Database, private_folder
from .migrations import MIGRATIONS
from .store_episodes import EpisodeKeeper
from .store_names import Names
from .store_observations import ObservationWriter
from .stored import (
    Added,
    App,
    Counts,
    Deleted,
    Everything,
    Found,
    OneEpisode,
    PairingKind,
    Retention,
    Scope,
    StoredEpisode,
    StoredObservation,
    StoredResource,
    StoredSurface,
    Swept,
    TimeRange,
)

__all__ = [
    "FILE_NAME",
    "MIGRATIONS",
    "Added",
    "App",
    "Counts",
    "Deleted",
    "Everything",
    "Found",
    "OneEpisode",
    "Retention",
    "Scope",
    "Store",
    "StoredEpisode",
    "StoredObservation",
    "StoredResource",
    "StoredSurface",
    "Swept",
    "TimeRange",
    "private_folder",
]


BRIEF_MS = 50


def wall_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Store:
    """The open database. Use as a context manager, or `close` it. Not for use from two threads."""

    def __init__(self, data_dir: Path, now_ms: int, *, clock: Callable[[], int] = wall_ms) -> None:
        """Open, or make, the database of `data_dir`. `clock` gives milliseconds since 1970. Raises Unavailable with the remedy."""
        database, before = Database.writing_to(data_dir, now_ms)
        self._begin(database, clock)
        if before == 1:  # its observations were stored before there were episodes
            with self._changing():
                self._episodes.rebuild([(0, now_ms)], now_ms, store_retention.retention(database).episode_days)

    @classmethod
    def reading(cls, data_dir: Path, *, clock: Callable[[], int] = wall_ms) -> Store | None:
        """Open the database of `data_dir` to look only; None where nothing has been recorded. Raises Unavailable.

        It makes no database and takes no lock that a recording host would wait for.
        """
        database = Database.reading_from(data_dir)
        if database is None:
            return None
        store = cls.__new__(cls)
        store._begin(database, clock)
        return store

    def _begin(self, database: Database, clock: Callable[[], int]) -> None:
        self.path = database.path
        self._db = database
        self._clock = clock
        self._names = Names(database)
        self._episodes = EpisodeKeeper(database, self._names)
        self._observations = ObservationWriter(database, self._names, self._episodes)
        self._version_seen = -1
        self._episode_days: int | None = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write everything back and let the file go."""
        self._db.close()

    def data_version(self) -> int:
        """A number that changes when another process, or another store of this one, has written."""
        with self._db.reading():
            return self._db.data_version()

    # recording

    def add(self, batch: Iterable[Admitted]) -> Added:
        """Store admitted observations and bring the episodes up to date, in one transaction; returns after the commit.

        A (session, seq) that is stored already is left as it is, and what the user deleted does not come back.
        """
        admitted = batch if isinstance(batch, Sequence) else list(batch)
        with self._changing():
            return self._observations.add(admitted, self._clock(), self._days())

    def mark_boundary(self, reason: MarkedReason, at_ms: int) -> None:
        """No episode reaches over this moment. What was observed in this very millisecond lies before it."""
        with self._changing():
            self._episodes.mark(reason, at_ms, self._clock(), self._days())

    def briefly(self) -> contextlib.AbstractContextManager[None]:
        """Meanwhile, what another program keeps locked is refused after a moment (`storage-locked`), so that nobody is held up."""
        return self._db.patience(BRIEF_MS)

    # looking

    def observations(self, *, after_id: int = 0, limit: int = 1000) -> list[StoredObservation]:
        """The rows after `after_id`, in the order in which they were stored."""
        with self._db.reading():
            return store_reading.observations(self._db, after_id, limit)

    def observations_of(self, episode_id: str, *, limit: int = 1000) -> list[StoredObservation]:
        """The observations that an episode is made of, as far as they have not expired, in the order of time."""
        with self._db.reading():
            return store_reading.observations_of(self._db, episode_id, limit)

    def last_id(self) -> int:
        """The id of the last observation; 0 without any."""
        with self._db.reading():
            return int(self._db.execute("SELECT ifnull(max(id), 0) FROM observations").fetchone()[0])

    def counts(self) -> Counts:
        """How much is stored."""
        with self._db.reading():
            return store_reading.counts(self._db)

    def episodes(self, start_ms: int, end_ms: int, *, workspace: str | None = None, now_ms: int | None = None) -> list[StoredEpisode]:
        """The episodes that touch the time from `start_ms` on and before `end_ms`, oldest first; they never overlap.

        `workspace`: only those of the workspace with this id, root or title. None lies later than `now_ms` (by default the present), which
        cuts what a clock that has gone back left in the future.
        """
        with self._db.reading():
            return store_reading.episodes(self._db, start_ms, end_ms, workspace, self._clock() if now_ms is None else now_ms)

    def episode(self, identifier: str, *, now_ms: int | None = None) -> StoredEpisode | None:
        """One episode, or None."""
        with self._db.reading():
            return store_reading.episode(self._db, identifier, self._clock() if now_ms is None else now_ms)

    def search(self, text: str, *, since_ms: int | None = None, until_ms: int | None = None, limit: int = 50) -> list[Found]:
        """The titles and resources that hold every word of `text`, in any case, newest first.

        Only what was seen at `since_ms` or later and before `until_ms`. Raises LocalProtocolError (code `search-text`) without any word.
        """
        with self._db.reading():
            return store_search.search(self._db, text, since_ms, until_ms, limit)

    # deleting

    def delete(self, scope: Scope, now_ms: int) -> Deleted:
        """Delete what `scope` covers, and all that was derived from it; what was observed up to now does not come back later.

        Its bytes are overwritten, and the file shrinks if nobody else is in the way. What is large goes in pieces, between which others may
        write; one that is interrupted has to be asked for again. Raises LocalProtocolError (codes `unknown-episode`,
        `time-range`).
        """
        with self._db.reading():
            pieces = store_deletion.pieces(self._db, scope)
        if pieces:
            deleted = self._delete_in_pieces(scope, now_ms, pieces)
        else:
            with self._changing(anew=True):
                deleted = store_deletion.delete(self._db, self._episodes, scope, now_ms, self._days())
        self._db.compact()
        return deleted

    def _delete_in_pieces(self, scope: Scope, now_ms: int, pieces: Sequence[tuple[int, int]]) -> Deleted:
        with self._changing(anew=True):
            tombstone = store_deletion.begin(self._db, scope, now_ms)
        observations = deleted = rebuilt = 0
        for piece in pieces:
            began = time.monotonic()
            with self._changing(anew=True):
                done = store_deletion.delete(self._db, self._episodes, scope, now_ms, self._days(), piece, tombstone)
            observations, deleted, rebuilt = (
                observations + done.observations,
                deleted + done.episodes_deleted,
                rebuilt + done.episodes_rebuilt,
            )
            if time.monotonic() - began > store_deletion.NOTICED:
                time.sleep(store_deletion.PAUSE)
        return Deleted(observations, deleted, rebuilt)

    def sweep(self, now_ms: int) -> Swept:
        """Delete what has expired. An episode outlives its observations."""
        with self._changing(anew=True):
            swept = store_retention.sweep(self._db, now_ms)
        if swept.observations or swept.episodes:
            self._db.empty_log()
        return swept

    # settings

    def retention(self) -> Retention:
        """How long what is recorded is kept."""
        with self._db.reading():
            return store_retention.retention(self._db)

    def set_retention(self, hours: int, days: int, now_ms: int) -> Retention:
        """Keep observations for so many hours and episodes for so many days, from what is recorded next on.

        Raises LocalProtocolError (codes `retention-hours`, `retention-days`) unless they are 1 to 720 and 1 to 365.
        """
        wanted = store_retention.checked(hours, days)
        with self._changing():
            store_retention.set_retention(self._db, wanted, now_ms)
            self._episode_days = None
        return wanted

    def pairing(self, kind: PairingKind) -> str | None:
        """The digest of the companion's token, in hex; None while none is paired."""
        with self._db.reading():
            row = self._db.execute("SELECT token_hash FROM companion_pairing WHERE kind = ?", (kind,)).fetchone()
        return None if row is None else str(row[0])

    def set_pairing(self, kind: PairingKind, digest: str | None, now_ms: int) -> None:
        """Put this digest in the place of the old one; None pairs nobody."""
        with self._changing():
            self._db.execute("DELETE FROM companion_pairing WHERE kind = ?", (kind,))
            if digest is not None:
                self._db.execute("INSERT INTO companion_pairing VALUES (?, ?, ?)", (kind, digest, now_ms))

    def policy(self, now_ms: int) -> Policy:
        """The policy in force. A first use makes revision 1, with the built-in rules, which lets nothing in."""
        with self._db.reading():
            found = self._db.execute("SELECT revision, mode FROM policy_state").fetchone()
            rules = self._db.execute(
                "SELECT id, dimension, action, matcher, pattern, built_in FROM policy_rules ORDER BY built_in DESC, id"
            ).fetchall()
        if found is None and self._db.looks_only:
            return Policy()
        if found is None:
            self.replace_policy(Policy(1, BUILT_IN_RULES), now_ms)
            return self.policy(now_ms)
        return Policy(found[0], tuple(_rule(*row) for row in rules), found[1])

    def replace_policy(self, policy: Policy, now_ms: int) -> None:
        """Put `policy` in the place of the one in force."""
        with self._changing():
            self._db.execute(
                "INSERT OR REPLACE INTO policy_state (singleton, revision, mode, updated_at_ms) VALUES (1, ?, ?, ?)",
                (policy.revision, policy.mode, now_ms),
            )
            created = dict(self._db.execute("SELECT id, created_at_ms FROM policy_rules"))
            self._db.execute("DELETE FROM policy_rules")
            self._db.executemany(
                "INSERT INTO policy_rules VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (rule.id, rule.dimension, rule.action, rule.matcher, rule.pattern, rule.built_in, created.get(rule.id, now_ms), now_ms)
                    for rule in policy.rules
                ),
            )

    @contextlib.contextmanager
    def _changing(self, *, anew: bool = False) -> Iterator[None]:
        """One transaction. What is remembered is forgotten when someone else wrote, when it fails, and `anew`: it takes things away."""
        try:
            with self._db.writing():
                version = self._db.data_version()
                if anew or version != self._version_seen:
                    self._forget()
                    self._version_seen = version
                yield
        except BaseException:
            self._forget()
            raise
        if anew:
            self._forget()

    def _forget(self) -> None:
        self._names.forget()
        self._episodes.forget()
        self._observations.forget()
        self._episode_days = None

    def _days(self) -> int:
        if self._episode_days is None:
            self._episode_days = store_retention.retention(self._db).episode_days
        return self._episode_days


def _rule(identifier: str, dimension: RuleDimension, action: RuleAction, matcher: RuleMatcher, pattern: str, built_in: int) -> Rule:
    return Rule(identifier, dimension, action, matcher, pattern, bool(built_in))
