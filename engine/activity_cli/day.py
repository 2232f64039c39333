"""Arranges episodes for a reader: lanes by workspace with their totals, and the entries of each, cut to a span of time.

The timelines in the terminal and on the exported page, and the exports, are made from it. An episode without a workspace counts for the
application that it was mostly about. All of it is pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...adapters.collector.stored import StoredEpisode

MAX_LANES = 8  #: lanes with a name of their own; the rest is one lane
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Entry:
    """One episode within the span. Times are milliseconds since 1970; `before` and `after` say that it goes beyond the span.

    `apps` are without the application that is its lane already.
    """

    id: str
    start_ms: int
    end_ms: int
    before: bool
    after: bool
    lane: int
    apps: tuple[str, ...]
    things: tuple[str, ...]

    @property
    def about(self) -> tuple[tuple[str, ...], ...]:
        """The applications and the things, without the part that is empty."""
        return tuple(part for part in (self.apps, self.things) if part)

    @property
    def duration_ms(self) -> int:
        """How long it is within the span."""
        return self.end_ms - self.start_ms


@dataclass(frozen=True, slots=True)
class Lane:
    """One workspace, or one application without any."""

    label: str
    is_workspace: bool
    total_ms: int
    episodes: int


@dataclass(frozen=True, slots=True)
class Arranged:
    """What a span of time holds: lanes, most time first, and entries, oldest first."""

    start_ms: int
    end_ms: int
    lanes: tuple[Lane, ...]
    entries: tuple[Entry, ...]

    @property
    def total_ms(self) -> int:
        """The time of all entries together; they never overlap."""
        return sum(entry.duration_ms for entry in self.entries)


def arrange(episodes: Sequence[StoredEpisode], start_ms: int, end_ms: int) -> Arranged:
    """Arrange the episodes that touch the span from `start_ms` up to `end_ms`, each cut to it."""
    inside = sorted((episode for episode in episodes if _touches(episode, start_ms, end_ms)), key=lambda episode: episode.started_at_ms)
    totals: dict[tuple[bool, str, str], list[int]] = {}
    for episode in inside:
        found = totals.setdefault(_lane_of(episode), [0, 0])
        found[0] += min(episode.ended_at_ms, end_ms) - max(episode.started_at_ms, start_ms)
        found[1] += 1
    ordered = sorted(totals, key=lambda key: -totals[key][0])
    named = ordered if len(ordered) <= MAX_LANES else ordered[: MAX_LANES - 1]
    lanes = [Lane(key[2], key[0], *totals[key]) for key in named]
    if rest := ordered[len(named) :]:
        lanes.append(Lane(OTHERS, False, sum(totals[key][0] for key in rest), sum(totals[key][1] for key in rest)))
    number = {key: min(position, len(lanes) - 1) for position, key in enumerate(ordered)}
    entries = tuple(
        Entry(
            episode.id,
            max(episode.started_at_ms, start_ms),
            min(episode.ended_at_ms, end_ms),
            episode.started_at_ms < start_ms,
            episode.ended_at_ms > end_ms,
            number[_lane_of(episode)],
            _apps_beside(episode),
            things_of(episode),
        )
        for episode in inside
    )
    return Arranged(start_ms, end_ms, tuple(lanes), entries)


def apps_of(episode: StoredEpisode) -> tuple[str, ...]:
    """The names of the applications of an episode, each once, most seen first."""
    surfaces = sorted(episode.surfaces, key=lambda surface: -surface.count)
    return tuple(dict.fromkeys(app_shown(surface.app_name, surface.bundle_id) for surface in surfaces))


def things_of(episode: StoredEpisode) -> tuple[str, ...]:
    """What an episode was about: the labels of its files and pages, else the titles of its windows; each once, most seen first."""
    found = [(resource.count, resource.label) for resource in episode.resources] or [
        (surface.count, surface.title) for surface in episode.surfaces if surface.title
    ]
    return tuple(dict.fromkeys(label for _, label in sorted(found, key=lambda item: -item[0])))


def workspace_label(episode: StoredEpisode) -> str:
    """The title of an episode's workspace; empty without one."""
    workspace = episode.workspace
    return "" if workspace is None else workspace.title or workspace.root.rstrip("/").rpartition("/")[2] or workspace.root


def app_shown(app_name: str | None, bundle_id: str) -> str:
    """The name of an application for people: its own, unless that is a program's name or an id (`gedit`, `org.gnome.gedit`)."""
    name = (app_name or "").strip()
    is_id = re.fullmatch(r"[\w-]+(?:\.[\w-]+){2,}", name) is not None
    return app_label(bundle_id) if is_id or not any(map(_is_for_people, name)) else name


def _is_for_people(letter: str) -> bool:
    return letter.isupper() or letter.isspace() or not letter.isascii()


def app_label(bundle_id: str) -> str:
    """A name for people, of an application that told none: `org.gnome.TextEditor.desktop` is Text Editor."""
    name = re.sub(r"\.(?:desktop|exe)\Z", "", bundle_id, flags=re.IGNORECASE).rpartition(".")[2] or bundle_id
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", name).strip() or name
    return spaced[0].upper() + spaced[1:]


def _apps_beside(episode: StoredEpisode) -> tuple[str, ...]:
    apps = apps_of(episode)
    return apps if episode.workspace is not None else apps[1:]


def _lane_of(episode: StoredEpisode) -> tuple[bool, str, str]:
    if (workspace := episode.workspace) is not None:
        return True, workspace.id or workspace.root, workspace_label(episode)
    main = apps_of(episode)[:1] or ("unknown",)
    return False, main[0], main[0]


def _touches(episode: StoredEpisode, start_ms: int, end_ms: int) -> bool:
    return episode.started_at_ms < end_ms and (episode.ended_at_ms > start_ms or episode.started_at_ms >= start_ms)
