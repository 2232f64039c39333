"""Reads observations and episodes as they are shown; used by the store, each within one look."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from .database import Database
from .store_episodes import workspace_of
from .stored import Counts, StoredEpisode, StoredObservation, StoredResource, StoredSurface

_OBSERVATION = """SELECT o.id, o.collector_session, o.collector_seq, observed_at_ms, pid, bundle_id, app_name, surface_kind, title,
  element_role, element_subrole, element_identifier, idle_seconds, source_provider, source_adapter, policy_revision, o.expires_at_ms,
  kind, canonical_uri, display_label, nullif(workspace_source, 'none'), workspace_id, workspace_root, workspace_title,
  workspace_confidence, activity_event, CASE detour WHEN 0 THEN episode_id END
  FROM observations AS o LEFT JOIN titles AS t ON t.id = o.title_id LEFT JOIN resources AS r ON r.id = o.resource_id"""

_EPISODE = """SELECT id, started_at_ms, ended_at_ms, start_reason, end_reason, primary_workspace_source, primary_workspace_id,
  primary_workspace_root, primary_workspace_title, primary_workspace_confidence, thread_key, confidence, summary_text, complete
  FROM episodes AS e"""

_SURFACES = """SELECT episode_id, bundle_id, surface_kind, app_name, title, s.first_seen_at_ms, s.last_seen_at_ms, observation_count
  FROM episodes AS e JOIN episode_surfaces AS s ON s.episode_id = e.id LEFT JOIN titles AS t ON t.id = s.title_id"""

_RESOURCES = """SELECT episode_id, kind, canonical_uri, display_label, s.first_seen_at_ms, s.last_seen_at_ms, observation_count
  FROM episodes AS e JOIN episode_resources AS s ON s.episode_id = e.id JOIN resources AS r ON r.id = s.resource_id"""


T = TypeVar("T", StoredSurface, StoredResource)


def observations(database: Database, after_id: int, limit: int) -> list[StoredObservation]:
    """In the order in which they were stored."""
    return [_observation(row) for row in database.execute(f"{_OBSERVATION} WHERE o.id > ? ORDER BY o.id LIMIT ?", (after_id, limit))]


def observations_of(database: Database, episode_id: str, limit: int) -> list[StoredObservation]:
    """Those of an episode, in the order of time."""
    rows = database.execute(
        f"""{_OBSERVATION} JOIN episodes AS e ON o.episode_id = e.id AND observed_at_ms BETWEEN started_at_ms AND ended_at_ms
            WHERE e.id = ? AND detour = 0 ORDER BY observed_at_ms, o.collector_session, o.collector_seq LIMIT ?""",
        (episode_id, limit),
    )
    return [_observation(row) for row in rows]


def counts(database: Database) -> Counts:
    """How much there is."""
    return Counts(
        *database.execute(
            """SELECT (SELECT count(*) FROM observations), (SELECT count(*) FROM episodes),
                 (SELECT min(observed_at_ms) FROM observations), (SELECT max(observed_at_ms) FROM observations)"""
        ).fetchone()
    )


def episodes(database: Database, start_ms: int, end_ms: int, workspace: str | None, now_ms: int) -> list[StoredEpisode]:
    """Those that touch a time, of one workspace or of all."""
    # They never overlap: of those that begin before the time, only the last can reach into it.
    where = """started_at_ms >= ifnull((SELECT max(started_at_ms) FROM episodes WHERE started_at_ms < ?), ?)
      AND started_at_ms < ? AND ended_at_ms >= ? AND started_at_ms <= ? AND expires_at_ms > ?"""
    values: tuple[Any, ...] = (start_ms, start_ms, end_ms, start_ms, now_ms, now_ms)
    if workspace is not None:
        where += " AND ? IN (primary_workspace_id, primary_workspace_root, primary_workspace_title)"
        values += (workspace,)
    return _episodes(database, where, values, now_ms)


def episode(database: Database, identifier: str, now_ms: int) -> StoredEpisode | None:
    """One of them."""
    found = _episodes(database, "e.id = ? AND started_at_ms <= ? AND expires_at_ms > ?", (identifier, now_ms, now_ms), now_ms)
    return found[0] if found else None


def _episodes(database: Database, where: str, values: Sequence[Any], now_ms: int) -> list[StoredEpisode]:
    surfaces: dict[str, list[StoredSurface]] = defaultdict(list)
    for identifier, *row in database.execute(f"{_SURFACES} WHERE {where} ORDER BY s.first_seen_at_ms, s.rowid", values):
        surfaces[identifier].append(StoredSurface(*row))
    resources: dict[str, list[StoredResource]] = defaultdict(list)
    for identifier, *row in database.execute(f"{_RESOURCES} WHERE {where} ORDER BY s.first_seen_at_ms, s.rowid", values):
        resources[identifier].append(StoredResource(*row))
    rows = database.execute(f"{_EPISODE} WHERE {where} ORDER BY started_at_ms, collector_session, collector_seq", values)
    found = [_episode(row, surfaces[row[0]], resources[row[0]]) for row in rows]
    return [one if one.ended_at_ms <= now_ms else _cut(one, now_ms) for one in found]


def _episode(row: Sequence[Any], surfaces: Sequence[StoredSurface], resources: Sequence[StoredResource]) -> StoredEpisode:
    return StoredEpisode(
        *(row[0], row[1], row[2], row[3], row[4], workspace_of(*row[5:10]), row[10], row[11], row[12], bool(row[13])),
        surfaces=tuple(surfaces),
        resources=tuple(resources),
    )


def _cut(episode: StoredEpisode, now_ms: int) -> StoredEpisode:
    """What of it does not lie in the future."""
    return replace(
        episode,
        ended_at_ms=now_ms,
        surfaces=tuple(_seen_by(one, now_ms) for one in episode.surfaces if one.first_seen_at_ms <= now_ms),
        resources=tuple(_seen_by(one, now_ms) for one in episode.resources if one.first_seen_at_ms <= now_ms),
    )


def _seen_by(one: T, now_ms: int) -> T:
    return replace(one, last_seen_at_ms=min(one.last_seen_at_ms, now_ms))


def _observation(row: Sequence[Any]) -> StoredObservation:
    resource = None if row[17] is None else (row[17], row[18], row[19])
    columns = (*row[:17], resource, workspace_of(*row[20:25]), row[25], row[26])
    return StoredObservation(*columns)
