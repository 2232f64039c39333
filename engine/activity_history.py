"""The record of a data directory as plain functions: read, searched, deleted from, and its policy, whether a host records or not.

The activity library offers them, in both of its forms. All but `delete` only read: nothing is made, and a host that records goes on.
"""

from __future__ import annotations

import time
from pathlib import Path

from ..adapters.collector.store import Store
from ..adapters.collector.stored import Deleted, Found, Scope, StoredEpisode, StoredObservation
from ..machines.collector.policy import Policy


def observations(data_dir: Path, *, limit: int = 1000) -> list[StoredObservation]:
    """The recorded observations of a data directory, oldest first; none of a directory where nothing was recorded.

    It only reads: nothing is made, and a host that records into the directory goes on. Raises Unavailable.
    """
    store = Store.reading(data_dir)
    if store is None:
        return []
    with store:
        return store.observations(limit=limit)


def episodes(data_dir: Path, start_ms: int, end_ms: int, *, workspace: str | None = None) -> list[StoredEpisode]:
    """The episodes that touch the time from `start_ms` on and before `end_ms`, oldest first. It only reads, as `observations` does."""
    store = Store.reading(data_dir)
    if store is None:
        return []
    with store:
        return store.episodes(start_ms, end_ms, workspace=workspace, now_ms=_now_ms())


def search(data_dir: Path, text: str, *, since_ms: int | None = None, until_ms: int | None = None, limit: int = 50) -> list[Found]:
    """Where these words stand in titles and in names of files, folders and addresses, newest first. It only reads."""
    store = Store.reading(data_dir)
    if store is None:
        return []
    with store:
        return store.search(text, since_ms=since_ms, until_ms=until_ms, limit=limit)


def delete(data_dir: Path, scope: Scope) -> Deleted:
    """Delete what lies in this scope, and what was made from it. A host that records into the directory goes on.

    Raises Unavailable, and LocalProtocolError (codes `unknown-episode`, `time-range`).
    """
    looked = Store.reading(data_dir)
    if looked is None:
        return Deleted(0, 0, 0)
    looked.close()
    with Store(data_dir, _now_ms()) as store:
        return store.delete(scope, _now_ms())


def policy(data_dir: Path) -> Policy:
    """The policy that is stored; one that allows nothing where nothing is. It only reads."""
    store = Store.reading(data_dir)
    if store is None:
        return Policy()
    with store:
        return store.policy(_now_ms())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
