"""Writes admitted observations, each once, with the episode that each belongs to; used by the store inside a transaction.

A batch is checked row by row and written by one statement. What the user deleted does not come back: a deletion leaves a tombstone, which
refuses what was observed before it within what it covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...generated.collector.vocabulary import MAX_FUTURE_MS
from ...machines.collector.episodes import Sample
from ...machines.collector.gates import Admitted
from .database import Database
from .store_episodes import EpisodeKeeper, Position
from .store_names import Names
from .stored import Added

_INSERT = """INSERT INTO observations (collector_session, collector_seq, observed_at_ms, pid, bundle_id, app_name, surface_kind, title_id,
  element_role, element_subrole, element_identifier, resource_id, workspace_id, workspace_root, workspace_title, workspace_source,
  workspace_confidence, idle_seconds, activity_event, source_provider, source_adapter, policy_revision, expires_at_ms, episode_id, detour)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

_NO_WORKSPACE = (None, None, None, "none", 0.0)
_MOST_SESSIONS = 1000


class Tombstones:
    """What was deleted, and may not come back."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._stones: list[tuple[int, str, int, int, str]] | None = None
        self.last_ms = -1
        """The time of the last deletion: what was observed later is no concern of any."""

    def forget(self) -> None:
        """Ask the database again."""
        self._stones = None

    def read(self, now_ms: int) -> None:
        """Know all of them. A deletion that lies in the future was asked for before the clock went back: it counts as asked for now."""
        if self._stones is None or self.last_ms > now_ms + MAX_FUTURE_MS:
            self._db.execute("UPDATE deletion_log SET requested_at_ms = ? WHERE requested_at_ms > ?", (now_ms, now_ms + MAX_FUTURE_MS))
            self._stones = self._db.execute(
                "SELECT requested_at_ms, scope, ifnull(range_start_ms, 0), ifnull(range_end_ms, 0), ifnull(bundle_id, '') FROM deletion_log"
            ).fetchall()
            self.last_ms = max((stone[0] for stone in self._stones), default=-1)

    def cover(self, at_ms: int, bundle_id: str) -> bool:
        """Whether the user has deleted what an observation of that time and application belongs to."""
        for requested_ms, scope, start_ms, end_ms, bundle in self._stones or ():
            if at_ms <= requested_ms and (scope == "all" or (bundle == bundle_id if scope == "app" else start_ms <= at_ms < end_ms)):
                return True
        return False


class ObservationWriter:
    """Adds batches. `forget` when someone else wrote, or a transaction came to nothing."""

    def __init__(self, database: Database, names: Names, episodes: EpisodeKeeper) -> None:
        self._db = database
        self._names = names
        self._episodes = episodes
        self._tombstones = Tombstones(database)
        self._highest: dict[str, int] = {}

    def forget(self) -> None:
        """Ask the database again."""
        self._highest.clear()
        self._tombstones.forget()

    def add(self, batch: Sequence[Admitted], now_ms: int, episode_days: int) -> Added:
        """Write what is new of a batch, and bring the episodes up to date."""
        tombstones = self._tombstones
        tombstones.read(now_ms)
        deleted_until_ms = tombstones.last_ms
        highest = self._highest
        if len(highest) > _MOST_SESSIONS:
            highest.clear()
        fresh: list[tuple[Position, Admitted]] = []
        duplicates = deleted = 0
        in_order, last = True, self._last_position()
        for admitted in batch:
            facts = admitted.facts
            session, seq = _text(facts.session) or "", facts.seq
            if seq > highest.get(session, -1) and (session in highest or seq > self._highest_stored(session)):
                highest[session] = seq
            elif self._is_known(session, seq, fresh):
                duplicates += 1
                continue
            at_ms = facts.observed_at_ms
            if at_ms <= deleted_until_ms and tombstones.cover(at_ms, facts.bundle_id):
                deleted += 1
                continue
            position = (at_ms, 0, session, seq)
            in_order = in_order and position > last
            last = position
            fresh.append((position, admitted))
        if fresh:
            self._write(fresh, in_order, now_ms, episode_days)
        return Added(len(fresh), duplicates, deleted)

    def _write(self, fresh: list[tuple[Position, Admitted]], in_order: bool, now_ms: int, episode_days: int) -> None:
        episodes, names = self._episodes, self._names
        late: list[tuple[int, int]] = []
        if not in_order:
            fresh.sort(key=_position)
            if fresh[0][0] < episodes.position:
                late = [(position[0], position[0]) for position, _ in fresh]
        builder = episodes.builder
        rows: list[tuple[Any, ...]] = []
        for position, admitted in fresh:
            facts, found, workspace = admitted.facts, admitted.resource, admitted.workspace
            at_ms, _, session, seq = position
            bundle_id, app_name, title, surface_kind = facts.bundle_id, facts.app_name, admitted.title, admitted.surface_kind
            if not bundle_id.isascii():
                bundle_id = _replaced(bundle_id)
            if app_name is not None and not app_name.isascii():
                app_name = _replaced(app_name)
            title_id = resource_id = resource = None
            if title is not None:
                title = _text(title)
                assert title is not None
                title_id = names.title(title, at_ms)
            label = ""
            if found is not None:
                uri, label = found.uri, found.label
                if not (uri.isascii() and label.isascii()):
                    uri, label = _replaced(uri), _replaced(label)
                resource = (found.kind, uri)
                resource_id = names.resource(resource, label, at_ms)
            if workspace is not None and not (workspace.id.isascii() and workspace.root.isascii() and workspace.title.isascii()):
                workspace = replace(workspace, id=_replaced(workspace.id), root=_replaced(workspace.root), title=_replaced(workspace.title))
            episode_id, detour = None, False
            if not late:
                detour = not builder.push(
                    Sample(
                        at_ms,
                        session,
                        seq,
                        facts.provider or "",
                        bundle_id,
                        surface_kind,
                        app_name,
                        title,
                        facts.idle_seconds,
                        resource,
                        label,
                        workspace,
                    )
                )
                assert builder.active is not None
                episode_id = builder.active.id
            rows.append(
                (
                    session,
                    seq,
                    at_ms,
                    facts.pid,
                    bundle_id,
                    app_name,
                    surface_kind,
                    title_id,
                    _text(facts.role),
                    _text(facts.subrole),
                    _text(facts.identifier),
                    resource_id,
                    *(
                        _NO_WORKSPACE
                        if workspace is None
                        else (workspace.id, workspace.root, workspace.title, workspace.source, workspace.confidence)
                    ),
                    facts.idle_seconds,
                    admitted.activity_event,
                    facts.provider,
                    admitted.adapter.id,
                    admitted.policy_revision,
                    admitted.expires_at_ms,
                    episode_id,
                    detour,
                )
            )
        self._db.executemany(_INSERT, rows)
        names.write_back()
        if late:
            episodes.rebuild(late, now_ms, episode_days)
        else:
            episodes.position = fresh[-1][0]
            episodes.write_back(now_ms, episode_days)

    def _last_position(self) -> Position:
        """That of the last observation or boundary; the builder knows it once it is there."""
        _ = self._episodes.builder
        return self._episodes.position

    def _highest_stored(self, session: str) -> int:
        row = self._db.execute("SELECT ifnull(max(collector_seq), -1) FROM observations WHERE collector_session = ?", (session,)).fetchone()
        found = self._highest[session] = int(row[0])
        return found

    def _is_known(self, session: str, seq: int, fresh: Sequence[tuple[Position, Admitted]]) -> bool:
        """Whether it is stored, or about to be."""
        stored = self._db.execute("SELECT 1 FROM observations WHERE collector_session = ? AND collector_seq = ?", (session, seq)).fetchone()
        return stored is not None or any(position[2:] == (session, seq) for position, _ in reversed(fresh))


def _position(item: tuple[Position, Admitted]) -> Position:
    return item[0]


def _text(text: str | None) -> str | None:
    """What SQLite can keep: a lone surrogate, which JSON allows and UTF-8 does not, is replaced."""
    return text if text is None or text.isascii() else _replaced(text)


def _replaced(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
