"""The activity API without `await`, for scripts and plain tests: the same names as `triptych.engine.activity`, run on a loop in a thread.

with activity_sync.record(Path("history"), allow=["org.gnome.TextEditor.desktop"]) as recording:
    print(recording.wait_for_observation().title)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..generated.collector.models import UnknownFieldPolicy
from ..generated.collector.vocabulary import DEFAULT_LIVENESS_SECONDS, DEFAULT_OBSERVATION_RETENTION_HOURS
from . import activity
from .activity import TIMEOUT, Health, Rule, StoredObservation, allow_app, observations, read_adapter_table
from .loop_thread import entered, loop_thread

__all__ = ["Health", "Recording", "Rule", "StoredObservation", "allow_app", "observations", "read_adapter_table", "record"]


@contextmanager
def record(
    data_dir: Path,
    *,
    allow: Iterable[str | Rule] | None = None,
    adapter_table: Path | None = None,
    env: Mapping[str, str] | None = None,
    enable_accessibility: bool = False,
    unknown_fields: UnknownFieldPolicy = "extension",
    retention_hours: int = DEFAULT_OBSERVATION_RETENTION_HOURS,
    liveness_seconds: float = DEFAULT_LIVENESS_SECONDS,
    command: Sequence[str] | None = None,
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
    )
    with loop_thread("triptych-activity") as run, entered(run, running) as recording:
        yield Recording(recording, run)


class Recording:
    """As `activity.Recording`; every method answers when the thing is done."""

    def __init__(self, recording: activity.Recording, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._recording = recording
        self._run = run

    @property
    def health(self) -> Health:
        """As `activity.Recording.health`."""

        async def look() -> Health:
            return self._recording.health

        health: Health = self._run(look())
        return health

    @property
    def last_id(self) -> int:
        """As `activity.Recording.last_id`."""

        async def look() -> int:
            return self._recording.last_id

        last: int = self._run(look())
        return last

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

        async def look() -> bytes:
            return self._recording.collector_stderr

        said: bytes = self._run(look())
        return said

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

        async def look() -> list[StoredObservation]:
            return self._recording.observations(after_id=after_id, limit=limit)

        rows: list[StoredObservation] = self._run(look())
        return rows

    def pause(self) -> None:
        """As `activity.Recording.pause`."""
        self._run(self._recording.pause())

    def resume(self) -> None:
        """As `activity.Recording.resume`."""
        self._run(self._recording.resume())

    def allow(self, applications: Iterable[str | Rule]) -> None:
        """As `activity.Recording.allow`."""
        self._run(self._recording.allow(applications))

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
