"""What the store gives out and takes in, as plain values: rows as they are shown, counts, and the scopes of a deletion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...machines.collector.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class StoredObservation:
    """One row as it is shown. `resource` is (kind, canonical URI, label), or None. `episode_id`: the episode that it joined."""

    id: int
    session: str
    seq: int
    observed_at_ms: int
    pid: int
    bundle_id: str
    app_name: str | None
    surface_kind: str
    title: str | None
    role: str | None
    subrole: str | None
    identifier: str | None
    idle_seconds: float | None
    provider: str
    adapter: str
    policy_revision: int
    expires_at_ms: int
    resource: tuple[str, str, str] | None
    workspace: Workspace | None
    activity_event: str | None
    episode_id: str | None


@dataclass(frozen=True, slots=True)
class StoredSurface:
    """One kind of window of one application in an episode. `title` and `app_name` are the latest; `count` is in observations."""

    bundle_id: str
    surface_kind: str
    app_name: str | None
    title: str | None
    first_seen_at_ms: int
    last_seen_at_ms: int
    count: int


@dataclass(frozen=True, slots=True)
class StoredResource:
    """One file, folder or address in an episode. `count` is in observations."""

    kind: str
    uri: str
    label: str
    first_seen_at_ms: int
    last_seen_at_ms: int
    count: int


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """One episode. Surfaces and resources are in the order in which they were first seen.

    `thread_key` ties it to other episodes of the same work. `complete`: all observations that it is made of are still there.
    """

    id: str
    started_at_ms: int
    ended_at_ms: int
    start_reason: str
    end_reason: str
    workspace: Workspace | None
    thread_key: str | None
    confidence: float
    summary: str
    complete: bool
    surfaces: tuple[StoredSurface, ...]
    resources: tuple[StoredResource, ...]

    @property
    def duration_ms(self) -> int:
        """From the first observation to the last: 0 for what was seen once."""
        return self.ended_at_ms - self.started_at_ms


COUNTED = 1000
"""As far as a search counts."""


@dataclass(frozen=True, slots=True)
class Found:
    """A title, or a resource, in which the words were found, with where it was seen last.

    `kind` is `title` or the kind of the resource; `text` is the title or the label. `count`: how many stored observations in the time that
    was asked for have it, 1,000 for so many or more; 0 when they have expired, and only an episode still tells of it.
    """

    kind: str
    text: str
    uri: str | None
    bundle_id: str | None
    app_name: str | None
    first_seen_at_ms: int
    last_seen_at_ms: int
    count: int
    episode_id: str | None


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a batch: `duplicates` were stored before, `deleted_range` lie in what the user had deleted."""

    stored: int
    duplicates: int
    deleted_range: int


@dataclass(frozen=True, slots=True)
class Everything:
    """All that was recorded up to now."""


@dataclass(frozen=True, slots=True)
class App:
    """All of one application."""

    bundle_id: str


@dataclass(frozen=True, slots=True)
class TimeRange:
    """All from `start_ms` on and before `end_ms`."""

    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class OneEpisode:
    """All from the first to the last moment of one episode."""

    id: str


Scope: TypeAlias = Everything | App | TimeRange | OneEpisode


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion did. An episode is built again from what is left of it, or deleted with its last or any missing observation."""

    observations: int
    episodes_deleted: int
    episodes_rebuilt: int


@dataclass(frozen=True, slots=True)
class Swept:
    """How much had expired."""

    observations: int
    episodes: int


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is recorded from now on is kept."""

    observation_hours: int
    episode_days: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How much is stored, and the times of the first and the last observation, None without any."""

    observations: int
    episodes: int
    first_at_ms: int | None
    last_at_ms: int | None


PairingKind: TypeAlias = Literal["browser", "editor"]
