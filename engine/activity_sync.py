"""The activity API without `await`, for scripts and plain tests: the same names as `triptych.engine.activity`, run on a loop in a thread.

with activity_sync.record(Path("history"), allow=["org.gnome.TextEditor.desktop"]) as recording:
    print(recording.wait_for_observation().title)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..generated.collector.models import UnknownFieldPolicy
from ..generated.collector.vocabulary import DEFAULT_LIVENESS_SECONDS, DEFAULT_UNKNOWN_FIELDS
from ..machines.collector.consents import ConsentKind, ConsentMode
from . import activity
from .activity import (
    TIMEOUT,
    App,
    Consent,
    Counts,
    Deleted,
    Delivered,
    Everything,
    Facts,
    Found,
    Health,
    OneEpisode,
    Policy,
    Retention,
    Rule,
    Scope,
    StoredEpisode,
    StoredObservation,
    TimeRange,
    allow_app,
    delete,
    episodes,
    observations,
    policy,
    read_adapter_table,
    search,
)
from .loop_thread import entered, loop_thread

__all__ = [
    "App",
    "Consent",
    "Counts",
    "Deleted",
    "Delivered",
    "Everything",
    "Facts",
    "Found",
    "Health",
    "OneEpisode",
    "Policy",
    "Recording",
    "Retention",
    "Rule",
    "Scope",
    "StoredEpisode",
    "StoredObservation",
    "TimeRange",
    "allow_app",
    "delete",
    "episodes",
    "observations",
    "policy",
    "read_adapter_table",
    "record",
    "search",
]

T = TypeVar("T")


@contextmanager
def record(
    data_dir: Path,
    *,
    allow: Iterable[str | Rule] | None = None,
    adapter_table: Path | None = None,
    env: Mapping[str, str] | None = None,
    enable_accessibility: bool = False,
    unknown_fields: UnknownFieldPolicy = DEFAULT_UNKNOWN_FIELDS,
    retention_hours: int | None = None,
    liveness_seconds: float = DEFAULT_LIVENESS_SECONDS,
    command: Sequence[str] | None = None,
    companions: int | None = None,
) -> Iterator[Recording]:
    """As `activity.record`."""
    running = activity.record(
        data_dir,
        allow=allow,
        adapter_table=adapter_table,
        env=env,
        enable_accessibility=enable_accessibility,
        unknown_fields=unknown_fields,
        retention_hours=retention_hours,
        liveness_seconds=liveness_seconds,
        command=command,
        companions=companions,
    )
    with loop_thread("triptych-activity") as run, entered(run, running) as recording:
        yield Recording(recording, run)


class Recording:
    """As `activity.Recording`; every method answers when the thing is done."""

    def __init__(self, recording: activity.Recording, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._recording = recording
        self._run = run

    def _look(self, get: Callable[[], T]) -> T:
        """What `get` gives on the thread of the loop, where the recording lives."""

        async def look() -> T:
            return get()

        found: T = self._run(look())
        return found

    @property
    def health(self) -> Health:
        """As `activity.Recording.health`."""
        return self._look(lambda: self._recording.health)

    @property
    def last_id(self) -> int:
        """As `activity.Recording.last_id`."""
        return self._look(lambda: self._recording.last_id)

    @property
    def policy(self) -> Policy:
        """As `activity.Recording.policy`."""
        return self._look(lambda: self._recording.policy)

    @property
    def data_dir(self) -> Path:
        """As `activity.Recording.data_dir`."""
        return self._recording.data_dir

    @property
    def failed(self) -> bool:
        """Whether the collector has been given up."""
        return self._recording.failed

    @property
    def collector_stderr(self) -> bytes:
        """As `activity.Recording.collector_stderr`."""
        return self._look(lambda: self._recording.collector_stderr)

    @contextmanager
    def changes(self) -> Iterator[threading.Event]:
        """As `activity.Recording.changes`, with an event of threads."""
        changed = threading.Event()

        async def begin() -> None:
            self._recording._tell(changed)

        async def end() -> None:
            self._recording._tell_no_more(changed)

        self._run(begin())
        try:
            yield changed
        finally:
            self._run(end())

    def observations(self, *, after_id: int = 0, limit: int = 1000) -> list[StoredObservation]:
        """As `activity.Recording.observations`."""
        return self._look(lambda: self._recording.observations(after_id=after_id, limit=limit))

    def pause(self) -> None:
        """As `activity.Recording.pause`."""
        self._run(self._recording.pause())

    def resume(self) -> None:
        """As `activity.Recording.resume`."""
        self._run(self._recording.resume())

    def recover(self) -> None:
        """As `activity.Recording.recover`."""
        self._run(self._recording.recover())

    def allow(self, applications: Iterable[str | Rule]) -> None:
        """As `activity.Recording.allow`."""
        self._run(self._recording.allow(applications))

    def take_adapters(self) -> None:
        """As `activity.Recording.take_adapters`."""
        self._run(self._recording.take_adapters())

    def consent(self, kind: ConsentKind) -> Consent:
        """As `activity.Recording.consent`."""
        return self._look(lambda: self._recording.consent(kind))

    def set_consent(self, kind: ConsentKind, mode: ConsentMode, targets: Iterable[str] = ()) -> Consent:
        """As `activity.Recording.set_consent`."""
        given: Consent = self._run(self._recording.set_consent(kind, mode, targets))
        return given

    def deliver(self, facts: Facts, *, vouched_root: str | None = None) -> Delivered:
        """As `activity.Recording.deliver`."""
        delivered: Delivered = self._run(self._recording.deliver(facts, vouched_root=vouched_root))
        return delivered

    def paired(self, kind: Literal["browser", "editor"]) -> bool:
        """As `activity.Recording.paired`."""
        return self._look(lambda: self._recording.paired(kind))

    def pair(self, kind: Literal["browser", "editor"]) -> str:
        """As `activity.Recording.pair`."""
        return self._look(lambda: self._recording.pair(kind))

    def episodes(self, start_ms: int, end_ms: int, *, workspace: str | None = None) -> list[StoredEpisode]:
        """As `activity.Recording.episodes`."""
        return self._look(lambda: self._recording.episodes(start_ms, end_ms, workspace=workspace))

    def episode(self, identifier: str) -> StoredEpisode | None:
        """As `activity.Recording.episode`."""
        return self._look(lambda: self._recording.episode(identifier))

    def search(self, text: str, *, since_ms: int | None = None, until_ms: int | None = None, limit: int = 50) -> list[Found]:
        """As `activity.Recording.search`."""
        return self._look(lambda: self._recording.search(text, since_ms=since_ms, until_ms=until_ms, limit=limit))

    def counts(self) -> Counts:
        """As `activity.Recording.counts`."""
        return self._look(lambda: self._recording.counts())

    def delete(self, scope: Scope) -> Deleted:
        """As `activity.Recording.delete`."""
        return self._look(lambda: self._recording.delete(scope))

    def retention(self) -> Retention:
        """As `activity.Recording.retention`."""
        return self._look(lambda: self._recording.retention())

    def set_retention(self, observation_hours: int, episode_days: int) -> Retention:
        """As `activity.Recording.set_retention`."""
        return self._look(lambda: self._recording.set_retention(observation_hours, episode_days))

    def wait_for_observation(
        self,
        *,
        bundle_id: str | None = None,
        title: str | None = None,
        role: str | None = None,
        after_id: int = 0,
        timeout: float = TIMEOUT,
    ) -> StoredObservation:
        """As `activity.Recording.wait_for_observation`."""
        row: StoredObservation = self._run(
            self._recording.wait_for_observation(bundle_id=bundle_id, title=title, role=role, after_id=after_id, timeout=timeout)
        )
        return row

    def wait_for_refusal(self, reason: str, *, times: int = 1, timeout: float = TIMEOUT) -> None:
        """As `activity.Recording.wait_for_refusal`."""
        self._run(self._recording.wait_for_refusal(reason, times=times, timeout=timeout))

    def wait_for_capture(self, word: str, *, reason: str | None = None, timeout: float = TIMEOUT) -> Health:
        """As `activity.Recording.wait_for_capture`."""
        health: Health = self._run(self._recording.wait_for_capture(word, reason=reason, timeout=timeout))
        return health
