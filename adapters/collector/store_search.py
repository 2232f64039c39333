"""Finds words in the titles and resources that are kept: each is there once, so a search never looks through the observations.

Used by the store, within one look.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...errors import LocalProtocolError
from ...machines.collector.gates import MAX_SAFE_INTEGER
from .database import Database
from .stored import COUNTED, Found

BAD_SEARCH = "search-text"


class Place(NamedTuple):
    """A table that is searched, and where it says when one of its rows was seen."""

    candidates: str
    column: str
    episodes: str
    shown: str


_PLACES = (
    Place(
        "SELECT id, folded, last_seen_at_ms, 'title' AS kind, title AS text, NULL AS uri FROM titles",
        "title_id",
        "episode_surfaces",
        "bundle_id, app_name",
    ),
    Place(
        "SELECT id, folded, last_seen_at_ms, kind, display_label AS text, canonical_uri AS uri FROM resources",
        "resource_id",
        "episode_resources",
        "NULL, NULL",
    ),
)

# When a candidate was seen last within a time, -1 if it was not. Of an episode that reaches over the end of it, the end counts.
_LAST_WITHIN = """max(
  ifnull((SELECT max(observed_at_ms) FROM observations WHERE {column} = c.id AND observed_at_ms >= :since AND observed_at_ms < :until), -1),
  ifnull((SELECT max(min(last_seen_at_ms, :until - 1)) FROM {episodes}
          WHERE {column} = c.id AND last_seen_at_ms >= :since AND first_seen_at_ms < :until), -1))"""


def search(database: Database, text: str, since_ms: int | None, until_ms: int | None, limit: int) -> list[Found]:
    """What holds every word of `text`, in any case, and was seen at `since_ms` or later and before `until_ms`; the newest first.

    Raises LocalProtocolError (code `search-text`) without any word.
    """
    words = text.casefold().split()
    if not words:
        raise LocalProtocolError(BAD_SEARCH, "say at least one word to search for")
    values: dict[str, Any] = {"since": since_ms or 0, "until": MAX_SAFE_INTEGER if until_ms is None else until_ms, "limit": max(0, limit)}
    values |= {f"word{number}": word for number, word in enumerate(words)}
    holds = " AND ".join(f"instr(c.folded, :word{number})" for number in range(len(words)))
    found: list[tuple[int, Place, tuple[Any, ...]]] = []
    for place in _PLACES:
        last = "c.last_seen_at_ms" if until_ms is None else _LAST_WITHIN.format(column=place.column, episodes=place.episodes)
        rows = database.execute(
            f"""WITH seen AS MATERIALIZED (SELECT {last} AS last, id, kind, text, uri FROM ({place.candidates}) AS c WHERE {holds})
                SELECT last, id, kind, text, uri FROM seen WHERE last >= :since ORDER BY last DESC, id DESC LIMIT :limit""",
            values,
        )
        found += [(row[0], place, row[1:]) for row in rows]
    found.sort(key=lambda one: one[0], reverse=True)
    return [_found(database, place, row, values) for _, place, row in found[: values["limit"]]]


def _found(database: Database, place: Place, row: tuple[Any, ...], values: dict[str, Any]) -> Found:
    """When and where it was seen in that time, by the observations that are left and by the episodes."""
    identifier, kind, text, uri = row
    asked = {"id": identifier, "since": values["since"], "until": values["until"], "most": COUNTED}
    within = f"FROM observations WHERE {place.column} = :id AND observed_at_ms >= :since AND observed_at_ms < :until"
    first, last, count = database.execute(
        f"""SELECT (SELECT min(observed_at_ms) {within}), (SELECT max(observed_at_ms) {within}),
              (SELECT count(*) FROM (SELECT 1 {within} LIMIT :most))""",
        asked,
    ).fetchone()
    bundle_id = app_name = episode_id = None
    if count:
        bundle_id, app_name, episode_id = database.execute(
            f"""SELECT bundle_id, app_name, CASE detour WHEN 0 THEN episode_id END {within} AND observed_at_ms = :last
                ORDER BY id DESC LIMIT 1""",
            {**asked, "last": last},
        ).fetchone()
    told = f"FROM {place.episodes} WHERE {place.column} = :id AND last_seen_at_ms >= :since AND first_seen_at_ms < :until"
    began = database.execute(f"SELECT min(max(first_seen_at_ms, :since)) {told}", asked).fetchone()[0]
    newest = database.execute(
        f"SELECT min(last_seen_at_ms, :until - 1), {place.shown}, episode_id {told} ORDER BY last_seen_at_ms DESC LIMIT 1", asked
    ).fetchone()
    if newest is not None:
        first = began if first is None else min(first, began)
        if last is None or newest[0] > last:
            last, bundle_id, app_name, episode_id = newest
        episode_id = episode_id or newest[3]
    return Found(kind, text, uri, bundle_id, app_name, first, last, count, episode_id)
