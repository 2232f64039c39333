"""The episode builder, rule by rule, at each limit and one millisecond beside it; and what is said of an episode in words."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triptych.machines.collector.durations import duration_text, span_text
from triptych.machines.collector.episode_summary import cut, summary
from triptych.machines.collector.episodes import Builder, Episode, Sample
from triptych.machines.collector.workspaces import Workspace, git_workspace, vouched_workspace

QUIET = 480_000
GRACE = 90_000
A, B = git_workspace("/w/a"), git_workspace("/w/b")
X, Y = ("file", "file:///w/a/x.py"), ("file", "file:///w/a/y.py")
PAGE = ("url", "https://example.com/")


class Feed:
    """A builder and the time; each observation is so many milliseconds after the one before."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.now, self.seq = 1_791_000_000_000, 0

    def see(self, after_ms: int = 0, **values: Any) -> bool:
        self.now += after_ms
        self.seq += 1
        told = {"session": "s", "provider": "at-spi", "bundle_id": "app", "surface_kind": "editor", **values}
        return self.builder.push(Sample(observed_at_ms=self.now, seq=self.seq, **told))

    @property
    def active(self) -> Episode:
        assert self.builder.active is not None
        return self.builder.active

    @property
    def ends(self) -> list[str]:
        return [episode.end_reason for episode in self.builder.closed]


STRONG: dict[str, Any] = {"workspace": A, "resource": X}


def test_the_first_observation_starts_one() -> None:
    feed = Feed()
    assert feed.see()
    episode = feed.active
    assert (episode.id, episode.start_reason, episode.end_reason) == ("episode:s:1", "first-observation", "timeout")
    assert (episode.started_at_ms, episode.ended_at_ms) == (feed.now, feed.now), "what is seen once takes no time"
    assert (episode.workspace, episode.confidence, episode.thread_key) == (None, 0.4, None)


@pytest.mark.parametrize(("after", "ends"), [(QUIET - 1, []), (QUIET, ["timeout"])])
def test_a_quiet_period_ends_one(after: int, ends: list[str]) -> None:
    feed = Feed()
    feed.see()
    feed.see(after)
    assert feed.ends == ends
    assert feed.active.start_reason == (ends or ["first-observation"])[0]


@pytest.mark.parametrize(("idle", "ends"), [(None, []), (479.999, []), (480.0, ["idle"]), (10_000.0, ["idle"])])
def test_idleness_ends_one(idle: float | None, ends: list[str]) -> None:
    feed = Feed()
    feed.see()
    feed.see(1, idle_seconds=idle)
    assert feed.ends == ends


class TestSessions:
    def test_a_collector_that_starts_anew_ends_one(self) -> None:
        feed = Feed()
        feed.see()
        feed.see(1, session="t")
        assert feed.ends == ["collector-restart"]
        assert (feed.active.id, feed.active.start_reason) == ("episode:t:2", "collector-restart")

    def test_it_is_named_before_idleness_and_quiet(self) -> None:
        feed = Feed()
        feed.see()
        feed.see(QUIET, session="t", idle_seconds=1000.0)
        assert feed.ends == ["collector-restart"]

    def test_sessions_side_by_side_end_none(self) -> None:
        feed = Feed()
        for number in range(9):
            told = ({}, {"provider": "companion", "session": "browser-1"}, {"provider": "companion", "session": "editor-7"})[number % 3]
            assert feed.see(1000, **STRONG, **told)
        assert feed.ends == []

    def test_a_session_is_compared_even_after_a_companion_was_seen(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(1, provider="companion", session="browser-1", resource=PAGE)
        feed.see(1, session="t", **STRONG)
        assert feed.ends == ["collector-restart"]

    def test_two_native_providers_are_not_compared(self) -> None:
        feed = Feed()
        feed.see()
        feed.see(1, provider="windows-uia", session="t")
        assert feed.ends == []

    def test_a_detour_counts_as_seen(self) -> None:
        feed = Feed()
        feed.see(provider="companion", session="editor-1", **STRONG)
        assert not feed.see(1)
        feed.see(1, session="t")
        assert feed.ends == ["collector-restart"]


class TestWorkspaces:
    def test_work_in_one_goes_on(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(1, workspace=A, resource=Y)
        assert feed.ends == [] and feed.active.workspace == A
        assert (feed.active.confidence, feed.active.thread_key) == (0.9, "git:/w/a")
        assert feed.active.last_strong_resource == Y

    @pytest.mark.parametrize("first", [{"workspace": B, "resource": X}, {}, {"resource": X}, {"resource": PAGE}])
    def test_another_one_or_the_first_one_starts_anew(self, first: dict[str, Any]) -> None:
        feed = Feed()
        feed.see(**first)
        feed.see(1, **STRONG)
        assert feed.ends == ["workspace-switch"]
        assert (feed.active.workspace, feed.active.start_reason) == (A, "workspace-switch")

    def test_whoever_names_it_it_is_the_same(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(1, workspace=vouched_workspace("/w/a"), resource=X, provider="companion", session="e")
        assert feed.ends == [] and feed.active.confidence == 1.0

    def test_roots_are_compared_when_one_has_no_id(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(1, workspace=replace(A, id=""), resource=X)
        assert feed.ends == []
        feed.see(1, workspace=replace(B, id=""), resource=X)
        assert feed.ends == ["workspace-switch"]

    @pytest.mark.parametrize(
        ("workspace", "resource", "strong"),
        [
            (A, X, True),
            (replace(A, confidence=0.8), X, True),
            (replace(A, confidence=0.79), X, False),
            (replace(A, source="filesystem"), X, False),
            (replace(A, source="dsh"), ("workspace", "file:///w/a"), True),
            (A, ("directory", "file:///w/a"), True),
            (A, ("document", "doc:1"), False),
            (A, PAGE, False),
            (A, None, False),
        ],
    )
    def test_only_strong_evidence_owns_an_episode(self, workspace: Workspace, resource: Any, strong: bool) -> None:
        feed = Feed()
        feed.see(workspace=workspace, resource=resource)
        assert (feed.active.workspace is not None) is strong
        assert feed.active.confidence == (workspace.confidence if strong else 0.4)

    @pytest.mark.parametrize(("source", "key"), [("dsh", "workspace:/w/a"), ("companion", "workspace:/w/a"), ("git", "git:/w/a")])
    def test_what_ties_episodes_together(self, source: Any, key: str) -> None:
        feed = Feed()
        feed.see(workspace=replace(A, source=source), resource=X)
        assert feed.active.thread_key == key


class TestDetours:
    def test_it_joins_nothing_and_ends_nothing(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        started = feed.now
        assert not feed.see(1000, bundle_id="chat")
        assert not feed.see(1000, bundle_id="mail")
        assert feed.active.ended_at_ms == started and feed.active.detour_since_ms == started + 1000
        assert len(feed.active.surfaces) == 1
        assert feed.see(1000, **STRONG)
        assert feed.active.detour_since_ms is None and feed.ends == []

    @pytest.mark.parametrize(("back", "ends"), [(GRACE, []), (GRACE + 1, ["timeout"])])
    def test_one_that_took_too_long_ends_it(self, back: int, ends: list[str]) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(1000)
        feed.see(back - 1000, **STRONG)
        assert feed.ends == ends

    def test_without_one_only_the_quiet_period_counts(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(QUIET - 1, **STRONG)
        assert feed.ends == []

    def test_what_joins_meanwhile_ends_it(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(1000)
        feed.see(1000, resource=PAGE)
        feed.see(GRACE + 1000, **STRONG)
        assert feed.ends == []

    def test_it_lasts_no_longer_than_the_quiet_period(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        assert not feed.see(QUIET - 1)
        assert feed.see(1)
        assert feed.ends == ["timeout"]

    def test_a_resource_alone_anchors_an_episode(self) -> None:
        feed = Feed()
        feed.see(resource=X)
        assert not feed.see(1, bundle_id="chat")


class TestAddresses:
    @pytest.mark.parametrize(("after", "ends"), [(GRACE, []), (GRACE + 1, ["workspace-switch"])])
    def test_one_belongs_to_the_work_of_a_moment_ago(self, after: int, ends: list[str]) -> None:
        feed = Feed()
        feed.see(**STRONG)
        assert feed.see(after, resource=PAGE)
        assert feed.ends == ends
        assert feed.active.workspace == (None if ends else A)

    def test_it_does_not_prolong_that_work_for_another(self) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(GRACE, resource=PAGE)
        feed.see(1, resource=PAGE)
        assert feed.ends == ["workspace-switch"]

    @pytest.mark.parametrize(("after", "ends"), [(GRACE, []), (GRACE + 1, ["workspace-switch"])])
    def test_unowned_they_follow_each_other(self, after: int, ends: list[str]) -> None:
        feed = Feed()
        feed.see(resource=PAGE)
        feed.see(GRACE, resource=PAGE)
        feed.see(after, resource=("url", "https://example.com/next"))
        assert feed.ends == ends


class TestOtherResources:
    def test_the_same_goes_on_and_another_starts_anew(self) -> None:
        feed = Feed()
        feed.see(resource=X)
        feed.see(1, resource=X)
        assert feed.ends == []
        feed.see(1, resource=Y)
        assert feed.ends == ["workspace-switch"] and feed.active.workspace is None

    @pytest.mark.parametrize(
        ("workspace", "ends"),
        [(replace(A, confidence=0.5), []), (replace(B, confidence=0.5), ["workspace-switch"]), (None, ["workspace-switch"])],
    )
    def test_within_a_workspace_it_must_be_of_that_workspace(self, workspace: Workspace | None, ends: list[str]) -> None:
        feed = Feed()
        feed.see(**STRONG)
        feed.see(1, workspace=workspace, resource=X)
        assert feed.ends == ends


class TestPrograms:
    def test_without_any_resource_each_is_its_own_episode(self) -> None:
        feed = Feed()
        feed.see()
        feed.see(1)
        assert feed.ends == []
        feed.see(1, surface_kind="window")
        feed.see(1, bundle_id="other", surface_kind="window")
        assert feed.ends == ["app-switch", "app-switch"]

    def test_latest_words_count(self) -> None:
        feed = Feed()
        feed.see(title="one", app_name="App")
        feed.see(1, title="two")
        feed.see(1)
        [surface] = feed.active.surfaces.values()
        assert (surface.title, surface.app_name, surface.count) == ("two", "App", 3)


@pytest.mark.parametrize("reason", ["sleep", "pause", "idle"])
def test_a_boundary_ends_one_and_names_the_next(reason: Any) -> None:
    feed = Feed()
    feed.builder.boundary(reason)
    feed.see(**STRONG)
    assert feed.active.start_reason == reason
    feed.builder.boundary("sleep")
    feed.builder.boundary(reason)
    feed.see(1, **STRONG)
    assert feed.ends == ["sleep"] and feed.active.start_reason == reason


@given(
    st.lists(
        st.tuples(
            st.integers(0, 600_000),
            st.sampled_from((None, X, Y, PAGE, ("document", "d"))),
            st.sampled_from((None, A, B, replace(A, confidence=0.5), replace(B, source="filesystem"))),
            st.sampled_from("stu"),
            st.sampled_from(("at-spi", "companion", "windows-uia")),
            st.sampled_from((None, 0.0, 480.0)),
        ),
        max_size=60,
    )
)
@settings(max_examples=200, deadline=None)
def test_episodes_are_sorted_and_disjoint_and_hold_everything_but_detours(steps: list[Any]) -> None:
    feed = Feed()
    joined = 0
    for after, resource, workspace, session, provider, idle in steps:
        joined += feed.see(after, resource=resource, workspace=workspace, session=session, provider=provider, idle_seconds=idle)
    episodes = feed.builder.closed + ([feed.active] if feed.builder.active else [])
    times = [time for episode in episodes for time in (episode.started_at_ms, episode.ended_at_ms)]
    assert times == sorted(times)
    assert all(time <= feed.now for time in times)
    assert sum(surface.count for episode in episodes for surface in episode.surfaces.values()) == joined
    assert len({episode.id for episode in episodes}) == len(episodes)
    for episode, following in pairwise(episodes):
        assert episode.end_reason == following.start_reason


class TestWords:
    @pytest.mark.parametrize(
        ("milliseconds", "text"),
        [
            (0, "under a minute"),
            (59_999, "under a minute"),
            (60_000, "1 minute"),
            (89_999, "1 minute"),
            (90_000, "2 minutes"),
            (42 * 60_000, "42 minutes"),
            (59 * 60_000 + 29_999, "59 minutes"),
            (59 * 60_000 + 30_000, "1 hour"),
            (65 * 60_000, "1 hour 5 minutes"),
            (2 * 3_600_000 + 60_000, "2 hours 1 minute"),
            (25 * 3_600_000, "25 hours"),
        ],
    )
    def test_how_long(self, milliseconds: int, text: str) -> None:
        assert duration_text(milliseconds) == text
        assert span_text(milliseconds) == (text if milliseconds < 60_000 else f"approximately {text}")

    def test_a_summary(self) -> None:
        assert summary("demo", ["a.py", "b.py"], ["code", "term", "code"]) == (
            "Worked in demo.\n\nObserved resources:\n- a.py\n- b.py\n\nApplications: code, term"
        )
        assert summary(None, [], ["code"]) == "Recent computer activity.\n\nApplications: code"

    def test_only_the_first_eight_count(self) -> None:
        text = summary(None, [f"label {number}" for number in range(20)], [f"app{number}" for number in range(20)])
        assert text.count("\n- ") == 8 and "label 7" in text and "label 8" not in text
        assert text.endswith("app6, app7")

    def test_no_label_passes_for_a_line(self) -> None:
        assert "\nApplications: fake" not in summary("a\nb", ["x\nApplications: fake"], ["real\n\nApplications: fake"])

    @given(st.text(), st.lists(st.text(max_size=300), max_size=12), st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=12))
    def test_it_is_short_valid_and_always_the_same(self, title: str, labels: list[str], apps: list[str]) -> None:
        text = summary(title, labels, apps)
        assert len(text.encode()) <= 1024
        assert text == summary(title, iter(labels), iter(apps))
        assert len(text.encode()) > 1018 or not text.endswith("…") or "…" in title + "".join(labels + apps)

    @pytest.mark.parametrize("filler", ["a", "é", "語", "🙂"])
    def test_it_is_cut_between_characters(self, filler: str) -> None:
        assert cut(filler * (1024 // len(filler.encode())), 1024) == filler * (1024 // len(filler.encode()))
        text = cut(filler * 2000, 1024)
        assert text.endswith("…") and set(text[:-1]) == {filler}
        assert 1024 - len(filler.encode()) < len(text.encode()) <= 1024
