"""Admitted observations by the shortest way, what a store holds in a comparable form, and the episode rules told a second time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from triptych.adapters.collector.store import Store, StoredEpisode
from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.gates import Admitted
from triptych.machines.collector.resources import Resource
from triptych.machines.collector.workspaces import Workspace

NOW = 1_791_000_000_000
DAY_MS = 86_400_000
MINUTE = 60_000

EDITOR = "code.desktop"
TERMINAL = "org.gnome.Terminal.desktop"
FILES = "org.gnome.Nautilus.desktop"
BROWSER = "companion.browser"


def git(root: str, confidence: float = 0.9) -> Workspace:
    return Workspace("git", root, root, root.rpartition("/")[2], confidence)


def admitted(
    seq: int,
    at_ms: int = NOW,
    *,
    session: str = "s",
    app: str = EDITOR,
    name: str | None = None,
    title: str | None = None,
    file: str | None = None,
    url: str | None = None,
    workspace: Workspace | None = None,
    idle: float | None = None,
    provider: Any = "at-spi",
    hours: int = 24,
    surface: Any = None,
) -> Admitted:
    """One that passed the gates; a `file` is an absolute path, `url` a host and path."""
    adapter = BUILT_IN.find(app)
    assert adapter is not None
    facts = Facts(
        session=session,
        seq=seq,
        observed_at_ms=at_ms,
        pid=7,
        bundle_id=app,
        app_name=name,
        title=title,
        idle_seconds=idle,
        adapter=adapter.id,
        provider=provider,
        surface_kind=surface,
    )
    resource = None
    if file is not None:
        resource = Resource("file", f"file://{file}", file.rpartition("/")[2], file)
    elif url is not None:
        resource = Resource("url", f"https://{url}", url)
    return Admitted(facts, adapter, title, resource, 1, at_ms + hours * 3_600_000, workspace)


def opened(folder: Path, now_ms: int = NOW + 2 * DAY_MS) -> Store:
    """A store whose present is `now_ms`: all that a test stores lies in the past."""
    return Store(folder, now_ms, clock=lambda: now_ms)


def shape(episode: StoredEpisode) -> tuple[Any, ...]:
    """All of an episode but whether its observations are all there."""
    return tuple(getattr(episode, name) for name in StoredEpisode.__slots__ if name != "complete")


def every_episode(store: Store, now_ms: int = NOW + 2 * DAY_MS) -> list[StoredEpisode]:
    return store.episodes(0, 2**53, now_ms=now_ms)


def links(store: Store) -> dict[tuple[str, int], tuple[str | None, int]]:
    """Which observation belongs to which episode, or passed it by."""
    rows = store._db.execute("SELECT collector_session, collector_seq, episode_id, detour FROM observations")
    return {(session, seq): (episode, detour) for session, seq, episode, detour in rows}


# The rules of the protocol, in its own words and order, with nothing but lists.


@dataclass
class Told:
    """An episode of the second telling."""

    start_reason: str
    members: list[Admitted] = field(default_factory=list)
    end_reason: str = "timeout"
    workspace: Workspace | None = None
    last_strong_ms: int | None = None
    detour_ms: int | None = None
    sessions: dict[str, str] = field(default_factory=dict)

    @property
    def last_ms(self) -> int:
        return self.members[-1].facts.observed_at_ms

    @property
    def brief(self) -> tuple[Any, ...]:
        first = self.members[0].facts
        return (
            f"episode:{first.session}:{first.seq}",
            first.observed_at_ms,
            self.last_ms,
            self.start_reason,
            self.end_reason,
            self.workspace,
        )


def brief(episode: StoredEpisode) -> tuple[Any, ...]:
    return (episode.id, episode.started_at_ms, episode.ended_at_ms, episode.start_reason, episode.end_reason, episode.workspace)


def is_strong(one: Admitted) -> bool:
    return (
        one.workspace is not None
        and one.workspace.source in ("dsh", "git", "companion")
        and one.workspace.confidence >= 0.8
        and one.resource is not None
        and one.resource.kind in ("file", "directory", "workspace")
    )


def told_again(observations: Iterable[Admitted], boundaries: Iterable[tuple[int, str]] = ()) -> list[Told]:
    """The episodes of these observations and boundaries."""
    events: list[tuple[Any, Any]] = [((one.facts.observed_at_ms, 0, one.facts.session, one.facts.seq), one) for one in observations]
    events += [((at_ms, 1, reason, 0), reason) for at_ms, reason in boundaries]
    told: list[Told] = []
    active: Told | None = None
    start_reason = "first-observation"

    def close(reason: str) -> None:
        nonlocal active, start_reason
        if active is not None:
            active.end_reason = reason
        active, start_reason = None, reason

    def start(one: Admitted, workspace: Workspace | None) -> None:
        nonlocal active
        active = Told(start_reason, workspace=workspace)
        told.append(active)
        add(one)

    def add(one: Admitted) -> None:
        assert active is not None
        active.members.append(one)
        active.detour_ms = None
        if is_strong(one):
            active.last_strong_ms = one.facts.observed_at_ms

    for _, one in sorted(events, key=lambda event: event[0]):
        if isinstance(one, str):
            close(one)
            continue
        facts, resource, t = one.facts, one.resource, one.facts.observed_at_ms
        native = facts.provider != "companion"
        if active and native and active.sessions.get(facts.provider, facts.session) != facts.session:
            close("collector-restart")
        if active and facts.idle_seconds is not None and facts.idle_seconds * 1000 >= 480_000:
            close("idle")
        if active and t - active.last_ms >= 480_000:
            close("timeout")
        if is_strong(one):
            if active and (active.workspace is None or active.workspace.id != one.workspace.id):  # type: ignore[union-attr]  # strong has one
                close("workspace-switch")
            if active and active.detour_ms is not None and active.last_strong_ms is not None and t - active.last_strong_ms > 90_000:
                close("timeout")
            add(one) if active else start(one, one.workspace)
        elif resource is not None and resource.kind == "url":
            near = active and t - ((active.last_strong_ms or 0) if active.workspace else active.last_ms) <= 90_000
            if near:
                add(one)
            else:
                if active:
                    close("workspace-switch")
                start(one, None)
        elif resource is not None:
            known = active and resource.uri in {member.resource.uri for member in active.members if member.resource}
            if active and known and (active.workspace is None or (one.workspace and one.workspace.id == active.workspace.id)):
                add(one)
            else:
                if active:
                    close("workspace-switch")
                start(one, None)
        elif active is None:
            start(one, None)
        elif active.workspace is None and not any(member.resource for member in active.members):
            if (facts.bundle_id, one.surface_kind) in {(member.facts.bundle_id, member.surface_kind) for member in active.members}:
                add(one)
            else:
                close("app-switch")
                start(one, None)
        elif active.detour_ms is None:
            active.detour_ms = t
        if active and native and facts.provider is not None:
            active.sessions[facts.provider] = facts.session
    return told


# Streams of work for hypothesis: close to the limits of the rules, times that repeat, sessions side by side.

_STEPS = st.sampled_from((0, 0, 1, 1000, 30_000, 89_999, 90_000, 90_001, 200_000, 479_999, 480_000, 600_000))
_WORK = st.sampled_from(
    (
        *({"app": EDITOR, "file": f"/w/{root}/{name}.py", "workspace": git(f"/w/{root}")} for root in "ab" for name in "xy"),
        {"app": EDITOR, "file": "/w/a/x.py"},
        {"app": EDITOR, "file": "/w/a/x.py", "workspace": git("/w/a", 0.5)},
        {"app": EDITOR, "file": "/loose.txt"},
        {"app": EDITOR, "title": "Untitled"},
        {"app": EDITOR, "title": "Untitled", "surface": "diff"},
        {"app": TERMINAL},
        {"app": FILES, "title": "Home", "name": "Files"},
        {"app": FILES, "title": "Übungen"},
        {"app": BROWSER, "url": "example.com/", "provider": "companion", "session": "browser-1"},
        {"app": BROWSER, "url": "example.com/docs", "provider": "companion", "session": "browser-2"},
        {
            "app": EDITOR,
            "file": "/w/a/x.py",
            "workspace": replace(git("/w/a", 1.0), source="companion"),
            "provider": "companion",
            "session": "ed",
        },
    )
)
_IDLE = st.sampled_from((None, None, None, 0.0, 479.9, 480.0))
_SESSION = st.sampled_from(("s", "s", "s", "s", "t"))


@st.composite
def streams(draw: st.DrawFn, longest: int = 25) -> list[Admitted]:
    """Observations in the order of their time."""
    at_ms, numbers, made = NOW, dict[str, int](), []
    for step, work, idle, session in draw(st.lists(st.tuples(_STEPS, _WORK, _IDLE, _SESSION), min_size=1, max_size=longest)):
        at_ms += step
        values: dict[str, Any] = {"session": session, **work}
        numbers[values["session"]] = seq = numbers.get(values["session"], 0) + 1
        made.append(admitted(seq, at_ms, idle=idle, **values))
    return made


@st.composite
def marks(draw: st.DrawFn, stream: Sequence[Admitted]) -> list[tuple[int, str]]:
    """Boundaries at or beside the times of a stream."""
    times = st.sampled_from([one.facts.observed_at_ms for one in stream])
    reasons = st.sampled_from(("sleep", "pause", "idle"))
    drawn = draw(st.lists(st.tuples(times, st.sampled_from((-1, 0, 1)), reasons), max_size=3))
    return sorted({(at_ms + beside, reason) for at_ms, beside, reason in drawn})


@st.composite
def cut_up(draw: st.DrawFn, events: Sequence[Any]) -> list[list[Any]]:
    """The events in any order, in batches."""
    shuffled = draw(st.permutations(events))
    batches: list[list[Any]] = [[]]
    for event in shuffled:
        if batches[-1] and draw(st.booleans()):
            batches.append([])
        batches[-1].append(event)
    return batches
