"""Keeps each title and each resource once, with an id that observations and episodes refer to. Used by the store inside its transactions.

What is written often is remembered, so that a batch writes each of them once. `forget` after anything that may have taken them away.
"""

from __future__ import annotations

from ...machines.collector.episodes import ResourceKey
from .database import Database, folded_place

_MOST_REMEMBERED = 20_000

_TITLE = """INSERT INTO titles (title, folded, last_seen_at_ms) VALUES (?, ?, ?)
  ON CONFLICT (title) DO UPDATE SET last_seen_at_ms = max(last_seen_at_ms, excluded.last_seen_at_ms) RETURNING id"""

_RESOURCE = """INSERT INTO resources (kind, canonical_uri, display_label, folded, first_seen_at_ms, last_seen_at_ms)
  VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (kind, canonical_uri) DO UPDATE SET display_label = excluded.display_label, folded = excluded.folded,
    first_seen_at_ms = min(first_seen_at_ms, excluded.first_seen_at_ms), last_seen_at_ms = max(last_seen_at_ms, excluded.last_seen_at_ms)
  RETURNING id"""


class Names:
    """The ids of titles and resources."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._titles: dict[str, int] = {}
        self._resources: dict[ResourceKey, int] = {}
        self._titles_seen: dict[int, int] = {}
        self._resources_seen: dict[int, list[int]] = {}

    def title(self, title: str, at_ms: int) -> int:
        """The id of a title that was seen now; it is made where there is none."""
        found = self._titles.get(title)
        if found is None:
            found = int(self._db.execute(_TITLE, (title, title.casefold(), at_ms)).fetchone()[0])
            self._titles[title] = found
        elif at_ms > self._titles_seen.get(found, 0):
            self._titles_seen[found] = at_ms
        return found

    def resource(self, key: ResourceKey, label: str, at_ms: int) -> int:
        """The id of a resource that was seen now; it is made where there is none."""
        found = self._resources.get(key)
        if found is None:
            row = (*key, label, folded_place(key[1], label), at_ms, at_ms)
            found = int(self._db.execute(_RESOURCE, row).fetchone()[0])
            self._resources[key] = found
        elif (seen := self._resources_seen.get(found)) is None:
            self._resources_seen[found] = [at_ms, at_ms]
        elif at_ms > seen[1]:
            seen[1] = at_ms
        elif at_ms < seen[0]:
            seen[0] = at_ms
        return found

    def title_of(self, title: str) -> int | None:
        """The id of a title that is there."""
        found = self._titles.get(title)
        if found is None:
            row = self._db.execute("SELECT id FROM titles WHERE title = ?", (title,)).fetchone()
            if row is None:
                return None
            found = self._titles[title] = int(row[0])
        return found

    def resource_of(self, key: ResourceKey) -> int:
        """The id of a resource that is there."""
        found = self._resources.get(key)
        if found is None:
            row = self._db.execute("SELECT id FROM resources WHERE kind = ? AND canonical_uri = ?", key).fetchone()
            found = self._resources[key] = int(row[0])
        return found

    def write_back(self) -> None:
        """Write when those that were known already have been seen."""
        if self._titles_seen:
            self._db.executemany(
                "UPDATE titles SET last_seen_at_ms = max(last_seen_at_ms, ?) WHERE id = ?",
                [(at_ms, title) for title, at_ms in self._titles_seen.items()],
            )
            self._titles_seen.clear()
        if self._resources_seen:
            self._db.executemany(
                """UPDATE resources SET first_seen_at_ms = min(first_seen_at_ms, ?), last_seen_at_ms = max(last_seen_at_ms, ?)
                   WHERE id = ?""",
                [(first, last, resource) for resource, (first, last) in self._resources_seen.items()],
            )
            self._resources_seen.clear()
        if len(self._titles) > _MOST_REMEMBERED or len(self._resources) > _MOST_REMEMBERED:
            self.forget()

    def forget(self) -> None:
        """Ask the database again."""
        self._titles.clear()
        self._resources.clear()
        self._titles_seen.clear()
        self._resources_seen.clear()


def delete_orphans(database: Database) -> None:
    """Delete the titles and resources that neither an observation nor an episode names any more."""
    for table, column, elsewhere in (("titles", "title_id", "episode_surfaces"), ("resources", "resource_id", "episode_resources")):
        database.execute(
            f"""DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM observations WHERE {column} = {table}.id)
                AND NOT EXISTS (SELECT 1 FROM {elsewhere} WHERE {column} = {table}.id)"""
        )
