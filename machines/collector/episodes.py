"""Decides which observations make up one episode, a stretch of work that belongs together, and where it ends. The store feeds it.

Observations come ordered by (time, session, seq), boundaries after the observations of their own millisecond. What the builder remembers
is one active episode, and why the next one will start: from the first observation of an episode and its start reason everything after it
follows, which is what lets the store rebuild any part of the past alone.

An episode lasts from its first observation to its last: one that was seen once takes 0 ms. An observation of something without a resource
while the episode has a workspace or a resource is a detour: it joins no episode, and does not end this one either.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ...generated.collector.vocabulary import (
    EPISODE_DETOUR_GRACE_MS,
    EPISODE_IDLE_MS,
    EPISODE_QUIET_MS,
    EPISODE_URL_ATTACH_MS,
    STRONG_WORKSPACE_CONFIDENCE,
)
from .workspaces import Workspace

BoundaryReason = Literal[
    "first-observation",
    "workspace-switch",
    "app-switch",
    "idle",
    "sleep",
    "pause",
    "collector-restart",
    "timeout",
    "manual-rebuild",
]
MarkedReason = Literal["sleep", "pause", "idle"]
"""What ends an episode although no observation says so."""

ResourceKey: TypeAlias = tuple[str, str]
SurfaceKey: TypeAlias = tuple[str, str]

UNOWNED_CONFIDENCE = 0.4
_STRONG_SOURCES = frozenset(("dsh", "git", "companion"))
_STRONG_KINDS = frozenset(("file", "directory", "workspace"))
_IDLE_SECONDS = EPISODE_IDLE_MS / 1000


class Sample(msgspec.Struct, frozen=True, gc=False):
    """What of a stored observation matters here. `resource` is (kind, canonical URI). Times are milliseconds since 1970."""

    observed_at_ms: int
    session: str
    seq: int
    provider: str
    bundle_id: str
    surface_kind: str
    app_name: str | None = None
    title: str | None = None
    idle_seconds: float | None = None
    resource: ResourceKey | None = None
    label: str = ""
    workspace: Workspace | None = None


class Surface:
    """One kind of window of one application, within an episode. `title` and `app_name` are the latest that were told."""

    __slots__ = ("app_name", "bundle_id", "count", "first_seen_at_ms", "last_seen_at_ms", "surface_kind", "title")

    def __init__(self, key: SurfaceKey, at_ms: int, app_name: str | None, title: str | None) -> None:
        self.bundle_id, self.surface_kind = key
        self.app_name = app_name
        self.title = title
        self.first_seen_at_ms = self.last_seen_at_ms = at_ms
        self.count = 1


class SeenResource:
    """One file, folder or address, within an episode. `label` is the latest."""

    __slots__ = ("count", "first_seen_at_ms", "key", "label", "last_seen_at_ms")

    def __init__(self, key: ResourceKey, at_ms: int, label: str) -> None:
        self.key = key
        self.label = label
        self.first_seen_at_ms = self.last_seen_at_ms = at_ms
        self.count = 1


class Episode:
    """An episode as far as it goes. `workspace` is what the strong observations in it agree on, None for an unowned one.

    `surfaces` and `resources` are in the order in which they were first seen; `touched` holds those that changed since someone cleared it.
    """

    __slots__ = (
        "confidence",
        "detour_since_ms",
        "end_reason",
        "ended_at_ms",
        "id",
        "last_strong_at_ms",
        "last_strong_resource",
        "resources",
        "sessions",
        "start_reason",
        "started_at_ms",
        "surfaces",
        "touched",
        "workspace",
    )

    def __init__(self, identifier: str, start_reason: BoundaryReason, at_ms: int, workspace: Workspace | None) -> None:
        self.id = identifier
        self.start_reason = start_reason
        self.end_reason: BoundaryReason = "timeout"
        self.started_at_ms = self.ended_at_ms = at_ms
        self.workspace = workspace
        self.confidence = UNOWNED_CONFIDENCE if workspace is None else workspace.confidence
        self.last_strong_at_ms: int | None = None
        self.last_strong_resource: ResourceKey | None = None
        self.detour_since_ms: int | None = None
        self.sessions: dict[str, str] = {}
        self.surfaces: dict[SurfaceKey, Surface] = {}
        self.resources: dict[ResourceKey, SeenResource] = {}
        self.touched: dict[Surface | SeenResource, None] = {}

    @property
    def thread_key(self) -> str | None:
        """What ties it to other episodes of the same work, or None."""
        return thread_key(self.workspace)


class Builder:
    """Takes observations and boundaries in order. `active` is the episode that the last observation belongs to or passed by.

    Episodes that ended wait in `closed` until someone takes them out.
    """

    __slots__ = ("active", "closed", "start_reason")

    def __init__(self, start_reason: BoundaryReason = "first-observation", active: Episode | None = None) -> None:
        self.start_reason: BoundaryReason = start_reason
        self.active = active
        self.closed: list[Episode] = []

    def push(self, sample: Sample) -> bool:
        """Take the next observation. True: it joined `active`; False: it is a detour of `active`."""
        at_ms = sample.observed_at_ms
        active = self.active
        native = sample.provider != "companion"
        if active is not None:
            if native and active.sessions.get(sample.provider, sample.session) != sample.session:
                active = self._close("collector-restart")
            elif sample.idle_seconds is not None and sample.idle_seconds >= _IDLE_SECONDS:
                active = self._close("idle")
            elif at_ms - active.ended_at_ms >= EPISODE_QUIET_MS:
                active = self._close("timeout")
        workspace, resource = sample.workspace, sample.resource
        strong = (
            workspace is not None
            and resource is not None
            and workspace.source in _STRONG_SOURCES
            and workspace.confidence >= STRONG_WORKSPACE_CONFIDENCE
            and resource[0] in _STRONG_KINDS
        )
        joins = True
        if active is None:
            pass
        elif strong:
            if not _same(active.workspace, workspace):
                active = self._close("workspace-switch")
            elif active.detour_since_ms is not None and at_ms - (active.last_strong_at_ms or 0) > EPISODE_DETOUR_GRACE_MS:
                active = self._close("timeout")
        elif resource is None:
            if active.workspace is not None or active.resources:
                joins = False
            elif (sample.bundle_id, sample.surface_kind) not in active.surfaces:
                active = self._close("app-switch")
        elif resource[0] == "url":
            since = active.ended_at_ms if active.workspace is None else active.last_strong_at_ms
            if since is None or at_ms - since > EPISODE_URL_ATTACH_MS:
                active = self._close("workspace-switch")
        elif resource not in active.resources or not (active.workspace is None or _same(active.workspace, workspace)):
            active = self._close("workspace-switch")
        if active is None:
            identifier = f"episode:{sample.session}:{sample.seq}"
            active = self.active = Episode(identifier, self.start_reason, at_ms, workspace if strong else None)
        if native:
            active.sessions[sample.provider] = sample.session
        if joins:
            _join(active, sample, strong)
        elif active.detour_since_ms is None:
            active.detour_since_ms = at_ms
        return joins

    def boundary(self, reason: BoundaryReason) -> None:
        """Nothing before this moment belongs together with anything after it."""
        if self.active is not None:
            self._close(reason)
        self.start_reason = reason

    def adopt(self, episode: Episode) -> None:
        """Go on with an episode that was built before: it ends the active one for the reason that it started for itself."""
        if self.active is not None:
            self._close(episode.start_reason)
        self.active = episode

    def _close(self, reason: BoundaryReason) -> Episode | None:
        """End the active episode; gives the active one from now on, which is none."""
        assert self.active is not None
        self.active.end_reason = self.start_reason = reason
        self.closed.append(self.active)
        self.active = None
        return self.active


def thread_key(workspace: Workspace | None) -> str | None:
    """`workspace:<id>` for what was named by its owner, `git:<root>` for a work tree."""
    if workspace is None:
        return None
    return f"git:{workspace.root}" if workspace.source == "git" else f"workspace:{workspace.id}"


def _join(episode: Episode, sample: Sample, strong: bool) -> None:
    at_ms, key, resource = sample.observed_at_ms, (sample.bundle_id, sample.surface_kind), sample.resource
    episode.ended_at_ms = at_ms
    episode.detour_since_ms = None
    surface = episode.surfaces.get(key)
    if surface is None:
        surface = episode.surfaces[key] = Surface(key, at_ms, sample.app_name, sample.title)
    else:
        surface.last_seen_at_ms = at_ms
        surface.count += 1
        if sample.title is not None:
            surface.title = sample.title
        if sample.app_name is not None:
            surface.app_name = sample.app_name
    episode.touched[surface] = None
    if resource is not None:
        seen = episode.resources.get(resource)
        if seen is None:
            seen = episode.resources[resource] = SeenResource(resource, at_ms, sample.label)
        else:
            seen.last_seen_at_ms = at_ms
            seen.count += 1
            seen.label = sample.label
        episode.touched[seen] = None
    if strong:
        assert sample.workspace is not None
        episode.last_strong_at_ms = at_ms
        episode.last_strong_resource = resource
        episode.confidence = max(episode.confidence, sample.workspace.confidence)


def _same(one: Workspace | None, other: Workspace | None) -> bool:
    if one is None or other is None:
        return False
    return one.id == other.id if one.id and other.id else one.root == other.root
