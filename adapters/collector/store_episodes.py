"""Keeps the episodes in step with the observations, inside the store's transactions.

What comes in order goes through one builder, and only what it touched is written, once a batch. What comes late, or is deleted, changes
the past: the part that it can change is built again, from the episode before it up to the first one that begins as it did before.

An episode of which an observation has expired cannot be built again. It stands as it is, and what comes late into its time joins none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

from ...generated.collector.vocabulary import NATIVE_PROVIDER
from ...machines.collector.episode_summary import summary
from ...machines.collector.episodes import BoundaryReason, Builder, Episode, MarkedReason, Sample, SeenResource, Surface
from ...machines.collector.gates import MAX_SAFE_INTEGER
from ...machines.collector.workspaces import Source, Workspace
from .database import Database
from .store_names import Names

DAY_MS = 86_400_000

Position = tuple[int, int, str, int]
"""Where something stands in the order: (time, 0, session, seq), and (time, 1, "", 0) for a boundary, which ends its millisecond."""

START: Position = (-1, 0, "", -1)
END: Position = (MAX_SAFE_INTEGER + 1, 0, "", 0)

Interval = tuple[int, int]
"""From when to when, both included, observations or boundaries came or went."""


class EpisodeRow(NamedTuple):
    """How an episode begins, and how far it goes."""

    id: str
    session: str
    seq: int
    started_at_ms: int
    ended_at_ms: int
    start_reason: BoundaryReason
    complete: int

    @property
    def position(self) -> Position:
        """That of its first observation."""
        return self.started_at_ms, 0, self.session, self.seq


class Before(NamedTuple):
    """What of an episode stays when it is made again."""

    created_at_ms: int
    ended_at_ms: int
    expires_at_ms: int


_ROW = "SELECT id, collector_session, collector_seq, started_at_ms, ended_at_ms, start_reason, complete FROM episodes"
_NEWEST_FIRST = "ORDER BY started_at_ms DESC, collector_session DESC, collector_seq DESC"

_UPSERT = """INSERT INTO episodes (id, collector_session, collector_seq, started_at_ms, ended_at_ms, start_reason, end_reason,
  primary_workspace_id, primary_workspace_root, primary_workspace_title, primary_workspace_source, primary_workspace_confidence,
  thread_key, last_strong_at_ms, last_strong_resource_id, detour_since_ms, summary_text, confidence, created_at_ms, updated_at_ms,
  expires_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, end_reason = excluded.end_reason,
    last_strong_at_ms = excluded.last_strong_at_ms, last_strong_resource_id = excluded.last_strong_resource_id,
    detour_since_ms = excluded.detour_since_ms, summary_text = excluded.summary_text, confidence = excluded.confidence,
    updated_at_ms = excluded.updated_at_ms,
    expires_at_ms = CASE ended_at_ms WHEN excluded.ended_at_ms THEN expires_at_ms ELSE excluded.expires_at_ms END"""

_UPSERT_SURFACE = """INSERT INTO episode_surfaces (episode_id, bundle_id, surface_kind, app_name, title_id, first_seen_at_ms,
  last_seen_at_ms, observation_count) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (episode_id, bundle_id, surface_kind) DO UPDATE SET app_name = excluded.app_name, title_id = excluded.title_id,
    last_seen_at_ms = excluded.last_seen_at_ms, observation_count = excluded.observation_count"""

_UPSERT_RESOURCE = """INSERT INTO episode_resources (episode_id, resource_id, first_seen_at_ms, last_seen_at_ms, observation_count)
  VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (episode_id, resource_id) DO UPDATE SET last_seen_at_ms = excluded.last_seen_at_ms,
    observation_count = excluded.observation_count"""

_SAMPLES = """SELECT o.id, episode_id, detour, observed_at_ms, collector_session, collector_seq, source_provider, bundle_id, surface_kind,
  app_name, title, idle_seconds, kind, canonical_uri, display_label, workspace_source, workspace_id, workspace_root, workspace_title,
  workspace_confidence
  FROM observations AS o LEFT JOIN titles AS t ON t.id = o.title_id LEFT JOIN resources AS r ON r.id = o.resource_id
  WHERE observed_at_ms >= ? AND (observed_at_ms, collector_session, collector_seq) >= (?, ?, ?)
  ORDER BY observed_at_ms, collector_session, collector_seq"""

_MARK = "INSERT OR IGNORE INTO boundaries (at_ms, reason) VALUES (?, ?)"


class EpisodeKeeper:
    """The builder of the present, and how the past is built again. `position` is that of the last observation or boundary taken."""

    def __init__(self, database: Database, names: Names) -> None:
        self._db = database
        self._names = names
        self._builder: Builder | None = None
        self.position = START

    def forget(self) -> None:
        """Go on from what the database holds: someone else wrote, or a transaction of ours came to nothing."""
        self._builder = None

    @property
    def builder(self) -> Builder:
        """The builder as of `position`."""
        if self._builder is None:
            self._builder = self._seeded()
        return self._builder

    def mark(self, reason: MarkedReason, at_ms: int, now_ms: int, episode_days: int) -> None:
        """Keep a boundary, and end what it ends."""
        builder = self.builder
        if not self._db.execute(_MARK, (at_ms, reason)).rowcount:
            return
        if (at_ms, 1, "", 0) <= self.position:
            self.rebuild([(at_ms, at_ms)], now_ms, episode_days)
            return
        builder.boundary(reason)
        self.position = (at_ms, 1, "", 0)
        self.write_back(now_ms, episode_days)

    def write_back(self, now_ms: int, episode_days: int) -> None:
        """Write what the builder has touched since the last time."""
        builder = self.builder
        touched, builder.closed = builder.closed, []
        self._write(touched if builder.active is None else [*touched, builder.active], {}, now_ms, episode_days)

    # the past

    def rebuild(self, changes: Iterable[Interval], now_ms: int, episode_days: int) -> None:
        """Build again whatever can have changed because observations or boundaries came or went in these intervals."""
        waiting: Sequence[Interval] = _merged(changes)
        while waiting:
            waiting = self._rebuild(waiting, now_ms, episode_days)

    def _rebuild(self, changes: Sequence[Interval], now_ms: int, episode_days: int) -> Sequence[Interval]:
        """Build one stretch again, and return the changes that lie beyond it."""
        low, high = changes[0]
        base = self._base(low)
        builder, since = Builder(), START
        if base is not None and base.complete:
            builder, since = Builder(base.start_reason), base.position
        elif base is not None:
            if high < base.ended_at_ms:
                return changes[1:]
            active = self._restored(base.id)
            active.detour_since_ms = None
            builder, since = Builder(active=active), _after(self._end(base))
        rows = self._db.execute(_SAMPLES, (since[0], since[0], *since[2:]))
        landmarks = _Landmarks(self._db, since, self._restored, self._end)
        links: list[tuple[str, int, int]] = []
        absorbed = 1
        until: Position | None = None
        for row in rows:
            position: Position = (row[3], 0, row[4], row[5])
            while absorbed < len(changes) and changes[absorbed][0] <= position[0]:
                high = max(high, changes[absorbed][1])
                absorbed += 1
            wall = landmarks.pass_by(position, builder)
            if wall is not None and wall.started_at_ms > high:
                until = wall.position
                break
            if landmarks.within_wall(position):
                continue
            before = builder.active
            detour = 0 if builder.push(_sample(row)) else 1
            active_now = builder.active
            assert active_now is not None
            if active_now is not before and position[0] > high and self._unchanged(active_now):
                until = position
                break
            if row[1] != active_now.id or row[2] != detour:
                links.append((active_now.id, detour, row[0]))
        rows.close()
        if until is None:
            landmarks.pass_by(END, builder)
            absorbed = len(changes)
        built = builder.closed if builder.active is None or until is not None else [*builder.closed, builder.active]
        self._write(built, self._clear(since, until), now_ms, episode_days)
        self._db.executemany("UPDATE observations SET episode_id = ?, detour = ? WHERE id = ?", links)
        if until is None:
            builder.closed.clear()
            self._builder, self.position = builder, self._last_position()
        return changes[absorbed:]

    def _base(self, low: int) -> EpisodeRow | None:
        """The last episode that begins before this time."""
        return self._one(f"{_ROW} WHERE started_at_ms < ? {_NEWEST_FIRST} LIMIT 1", (low,))

    def _unchanged(self, episode: Episode) -> bool:
        """Whether an episode that begins exactly as this one does is stored: then everything from there on is as it was."""
        found = self._one(f"{_ROW} WHERE id = ?", (episode.id,))
        return found is not None and bool(found.complete) and found.start_reason == episode.start_reason

    def _end(self, episode: EpisodeRow) -> Position:
        """Where the last observation of an episode stands; when that has expired, the last place before anything else can stand."""
        row = self._db.execute(
            """SELECT observed_at_ms, 0, collector_session, collector_seq FROM observations
               WHERE observed_at_ms = ? AND episode_id = ? AND detour = 0 ORDER BY collector_session DESC, collector_seq DESC LIMIT 1""",
            (episode.ended_at_ms, episode.id),
        ).fetchone()
        if row is not None:
            return cast("Position", row)
        following = self._one(
            f"""{_ROW} WHERE started_at_ms = ? AND (started_at_ms, collector_session, collector_seq) > (?, ?, ?)
                ORDER BY collector_session, collector_seq LIMIT 1""",
            (episode.ended_at_ms, episode.started_at_ms, episode.session, episode.seq),
        )
        if following is None:
            return episode.ended_at_ms, 1, "", 0
        return max(episode.position, (following.started_at_ms, 0, following.session, following.seq - 1))

    def _clear(self, since: Position, until: Position | None) -> dict[str, Before]:
        """Take the episodes away that stood where it was built again."""
        where = "started_at_ms >= ? AND complete = 1 AND (started_at_ms, collector_session, collector_seq) >= (?, ?, ?)"
        values: tuple[Any, ...] = (since[0], since[0], *since[2:])
        if until is not None:
            where += " AND (started_at_ms, collector_session, collector_seq) < (?, ?, ?)"
            values += (until[0], *until[2:])
        rows = self._db.execute(f"SELECT id, created_at_ms, ended_at_ms, expires_at_ms FROM episodes WHERE {where}", values)
        stood = {row[0]: Before(*row[1:]) for row in rows}
        self._db.execute(f"DELETE FROM episodes WHERE {where}", values)
        return stood

    # the present

    def _seeded(self) -> Builder:
        self.position = self._last_position()
        newest = self._newest()
        ended = -1 if newest is None else newest.ended_at_ms
        mark = self._db.execute(
            "SELECT reason FROM boundaries WHERE at_ms >= ? ORDER BY at_ms DESC, reason DESC LIMIT 1", (ended,)
        ).fetchone()
        if mark is not None:
            return Builder(mark[0])
        return Builder() if newest is None else Builder(active=self._restored(newest.id))

    def _last_position(self) -> Position:
        row = self._db.execute(
            """SELECT observed_at_ms, 0, collector_session, collector_seq FROM observations
               ORDER BY observed_at_ms DESC, collector_session DESC, collector_seq DESC LIMIT 1"""
        ).fetchone()
        mark = self._db.execute("SELECT max(at_ms) FROM boundaries").fetchone()[0]
        newest = self._newest()
        return max(
            START if row is None else cast("Position", row),
            START if mark is None else (mark, 1, "", 0),
            START if newest is None else self._end(newest),  # its observations may all have expired
        )

    def _newest(self) -> EpisodeRow | None:
        return self._one(f"{_ROW} {_NEWEST_FIRST} LIMIT 1", ())

    def _restored(self, identifier: str) -> Episode:
        """An episode as the builder left it."""
        row = self._db.execute(
            """SELECT start_reason, started_at_ms, ended_at_ms, end_reason, confidence, last_strong_at_ms, detour_since_ms,
                 kind, canonical_uri, primary_workspace_source, primary_workspace_id, primary_workspace_root, primary_workspace_title,
                 primary_workspace_confidence
               FROM episodes AS e LEFT JOIN resources AS r ON r.id = e.last_strong_resource_id WHERE e.id = ?""",
            (identifier,),
        ).fetchone()
        episode = Episode(identifier, row[0], row[1], workspace_of(*row[9:14]))
        episode.ended_at_ms, episode.end_reason, episode.confidence, episode.last_strong_at_ms, episode.detour_since_ms = row[2:7]
        episode.last_strong_resource = None if row[7] is None else (row[7], row[8])
        surfaces = self._db.execute(
            """SELECT bundle_id, surface_kind, first_seen_at_ms, app_name, title, s.last_seen_at_ms, observation_count
               FROM episode_surfaces AS s LEFT JOIN titles AS t ON t.id = s.title_id WHERE episode_id = ?
               ORDER BY first_seen_at_ms, s.rowid""",
            (identifier,),
        )
        for bundle_id, kind, first, app_name, title, last, count in surfaces:
            surface = episode.surfaces[bundle_id, kind] = Surface((bundle_id, kind), first, app_name, title)
            surface.last_seen_at_ms, surface.count = last, count
        resources = self._db.execute(
            """SELECT kind, canonical_uri, e.first_seen_at_ms, display_label, e.last_seen_at_ms, observation_count
               FROM episode_resources AS e JOIN resources AS r ON r.id = e.resource_id WHERE episode_id = ?
               ORDER BY e.first_seen_at_ms, e.rowid""",
            (identifier,),
        )
        for kind, uri, first, label, last, count in resources:
            seen = episode.resources[kind, uri] = SeenResource((kind, uri), first, label)
            seen.last_seen_at_ms, seen.count = last, count
        for provider in NATIVE_PROVIDER:
            session = self._db.execute(
                """SELECT collector_session FROM observations WHERE observed_at_ms >= ? AND episode_id = ? AND source_provider = ?
                   ORDER BY observed_at_ms DESC, collector_session DESC, collector_seq DESC LIMIT 1""",
                (episode.started_at_ms, identifier, provider),
            ).fetchone()
            if session is not None:
                episode.sessions[provider] = session[0]
        return episode

    def _one(self, statement: str, values: tuple[Any, ...]) -> EpisodeRow | None:
        row = self._db.execute(statement, values).fetchone()
        return None if row is None else EpisodeRow(*row)

    def _write(self, episodes: Sequence[Episode], stood: dict[str, Before], now_ms: int, episode_days: int) -> None:
        """Write these episodes, and what of them was touched. `stood`: those among them that are made again."""
        rows: list[tuple[Any, ...]] = []
        surfaces: list[tuple[Any, ...]] = []
        resources: list[tuple[Any, ...]] = []
        names = self._names
        for episode in episodes:
            identifier, workspace = episode.id, episode.workspace
            session, _, seq = identifier.removeprefix("episode:").rpartition(":")
            strong = episode.last_strong_resource
            before = stood.get(identifier)
            if before is None or before.ended_at_ms != episode.ended_at_ms:
                expires_at_ms = min(episode.ended_at_ms + episode_days * DAY_MS, MAX_SAFE_INTEGER)
            else:
                expires_at_ms = before.expires_at_ms
            rows.append(
                (
                    identifier,
                    session,
                    int(seq),
                    episode.started_at_ms,
                    episode.ended_at_ms,
                    episode.start_reason,
                    episode.end_reason,
                    *((None,) * 5 if workspace is None else _columns(workspace)),
                    episode.thread_key,
                    episode.last_strong_at_ms,
                    None if strong is None else names.resource_of(strong),
                    episode.detour_since_ms,
                    summary(
                        None if workspace is None else workspace.title,
                        (seen.label for seen in episode.resources.values()),
                        (surface.bundle_id for surface in episode.surfaces.values()),
                    ),
                    episode.confidence,
                    now_ms if before is None else before.created_at_ms,
                    now_ms,
                    expires_at_ms,
                )
            )
            for item in episode.touched:
                if isinstance(item, Surface):
                    title = None if item.title is None else names.title_of(item.title)
                    times = (item.first_seen_at_ms, item.last_seen_at_ms, item.count)
                    surfaces.append((identifier, item.bundle_id, item.surface_kind, item.app_name, title, *times))
                else:
                    times = (item.first_seen_at_ms, item.last_seen_at_ms, item.count)
                    resources.append((identifier, names.resource_of(item.key), *times))
            episode.touched.clear()
        self._db.executemany(_UPSERT, rows)
        self._db.executemany(_UPSERT_SURFACE, surfaces)
        self._db.executemany(_UPSERT_RESOURCE, resources)


class _Landmarks:
    """What lies on the way of a rebuild: boundaries, and walls, which are episodes that cannot be built again."""

    def __init__(
        self, database: Database, since: Position, restored: Callable[[str], Episode], end: Callable[[EpisodeRow], Position]
    ) -> None:
        marks = database.execute("SELECT at_ms, reason FROM boundaries WHERE at_ms >= ? ORDER BY at_ms, reason", (since[0],))
        walls = database.execute(
            f"""{_ROW} WHERE complete = 0 AND (started_at_ms, collector_session, collector_seq) >= (?, ?, ?)
                ORDER BY started_at_ms, collector_session, collector_seq""",
            (since[0], *since[2:]),
        )
        on_the_way: list[tuple[Position, BoundaryReason | EpisodeRow]] = [((at_ms, 1, "", 0), reason) for at_ms, reason in marks]
        on_the_way += [(wall.position, wall) for wall in (EpisodeRow(*row) for row in walls)]
        on_the_way.sort(key=lambda landmark: landmark[0])
        self._ahead = on_the_way[::-1]
        self._restored, self._end = restored, end
        self._wall_end = START

    def pass_by(self, position: Position, builder: Builder) -> EpisodeRow | None:
        """Take what lies before this position; gives the last wall among it."""
        passed = None
        while self._ahead and self._ahead[-1][0] <= position:
            at, landmark = self._ahead.pop()
            if isinstance(landmark, EpisodeRow):
                builder.adopt(self._restored(landmark.id))
                self._wall_end = self._end(landmark)
                passed = landmark
            elif at > self._wall_end:
                builder.boundary(landmark)
        return passed

    def within_wall(self, position: Position) -> bool:
        """Whether this position lies within an episode that cannot be built again."""
        return position <= self._wall_end


def workspace_of(source: Source | None, identifier: str, root: str, title: str, confidence: float) -> Workspace | None:
    """The workspace in these columns."""
    return None if source is None else Workspace(source, identifier, root, title, confidence)


def _after(position: Position) -> Position:
    """The least position that comes after this one."""
    at_ms, ends, session, seq = position
    return (at_ms + 1, 0, "", -1) if ends else (at_ms, 0, session, seq + 1)


def _columns(workspace: Workspace) -> tuple[str, str, str, str, float]:
    return workspace.id, workspace.root, workspace.title, workspace.source, workspace.confidence


def _merged(changes: Iterable[Interval]) -> list[Interval]:
    """In order, and without those that lie within another."""
    merged: list[Interval] = []
    for low, high in sorted(changes):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _sample(row: Sequence[Any]) -> Sample:
    resource = None if row[12] is None else (row[12], row[13])
    workspace = None if row[15] == "none" else Workspace(row[15], *row[16:20])
    return Sample(row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11], resource, row[14] or "", workspace)


__all__ = ["EpisodeKeeper", "Interval", "Position", "workspace_of"]
