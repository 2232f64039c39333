"""Episodes in the database: the same as the rules say, whatever the order of arrival, and however often the store is opened again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activity_store_kit import (
    BROWSER,
    DAY_MS,
    EDITOR,
    FILES,
    MINUTE,
    NOW,
    admitted,
    brief,
    cut_up,
    every_episode,
    git,
    links,
    marks,
    opened,
    shape,
    streams,
    told_again,
)
from triptych.adapters.collector.store import Added, Everything, OneEpisode, Store
from triptych.machines.collector.gates import Admitted

DEEP = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@contextmanager
def fresh() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="triptych-store-") as folder:
        yield Path(folder) / "history"


def check_sound(store: Store, now_ms: int = NOW + 2 * DAY_MS) -> None:
    """What holds for every record: sorted, disjoint, within now, and each made of what it says."""
    episodes = every_episode(store, now_ms)
    assert [one.started_at_ms for one in episodes] == sorted(one.started_at_ms for one in episodes)
    for one, following in pairwise(episodes):
        assert one.ended_at_ms <= following.started_at_ms
    for one in episodes:
        assert one.started_at_ms <= one.ended_at_ms <= now_ms
        assert sum(surface.count for surface in one.surfaces) > 0
        assert len(one.summary.encode()) <= 1024
        if one.complete:
            members = store.observations_of(one.id)
            assert len(members) == sum(surface.count for surface in one.surfaces)
            assert (members[0].observed_at_ms, members[-1].observed_at_ms) == (one.started_at_ms, one.ended_at_ms)
    known = {row[0] for row in store._db.execute("SELECT id FROM episodes")}
    assert {episode for episode, _ in links(store).values() if episode} <= known


@given(st.data())
@DEEP
def test_they_are_what_the_rules_say(data: st.DataObject) -> None:
    stream = data.draw(streams())
    boundaries = data.draw(marks(stream))
    events: list[Any] = sorted(
        [*stream, *boundaries],
        key=lambda event: (
            (event.facts.observed_at_ms, 0, event.facts.session, event.facts.seq)
            if isinstance(event, Admitted)
            else (event[0], 1, event[1], 0)
        ),
    )
    with fresh() as folder, opened(folder) as store:
        for event in events:
            store.add([event]) if isinstance(event, Admitted) else store.mark_boundary(event[1], event[0])
        told = told_again(stream, boundaries)
        assert [brief(one) for one in every_episode(store)] == [one.brief for one in told]
        for one in told:
            members = [(row.session, row.seq) for row in store.observations_of(one.brief[0])]
            assert members == [(member.facts.session, member.facts.seq) for member in one.members]
        check_sound(store)


@given(st.data())
@DEEP
def test_any_order_of_arrival_gives_the_same(data: st.DataObject) -> None:
    stream = data.draw(streams())
    boundaries = data.draw(marks(stream))
    batches = data.draw(cut_up([*stream, *boundaries]))
    again = data.draw(st.lists(st.integers(0, len(batches)), max_size=3))
    with fresh() as first, fresh() as second:
        with opened(first) as store:
            store.add(stream)
            for at_ms, reason in boundaries:
                store.mark_boundary(reason, at_ms)  # type: ignore[arg-type]  # drawn from the words
            expected, joined = [shape(one) for one in every_episode(store)], links(store)
            check_sound(store)
        assert [one[0] for one in expected] == [one.brief[0] for one in told_again(stream, boundaries)]
        store = opened(second)
        try:
            for number, batch in enumerate(batches):
                if number in again:
                    store.close()
                    store = opened(second)
                for at_ms, reason in [event for event in batch if not isinstance(event, Admitted)]:
                    store.mark_boundary(reason, at_ms)
                new = [event for event in batch if isinstance(event, Admitted)]
                assert store.add(new) == Added(len(new), 0, 0)
                check_sound(store)
            assert [shape(one) for one in every_episode(store)] == expected
            assert links(store) == joined
            assert store.add(stream) == Added(0, len(stream), 0)
            assert [shape(one) for one in every_episode(store)] == expected
        finally:
            store.close()


@given(st.data())
@DEEP
def test_two_that_write_in_turn_see_each_other(data: st.DataObject) -> None:
    stream = data.draw(streams())
    batches = data.draw(cut_up(stream))
    with fresh() as folder, opened(folder) as one, opened(folder) as other:
        for number, batch in enumerate(batches):
            (one, other)[number % 2].add(batch)
        assert [brief(episode) for episode in every_episode(one)] == [told.brief for told in told_again(stream)]
        assert one.add(stream) == other.add(stream) == Added(0, len(stream), 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "history") as made:
        yield made


def test_all_that_an_episode_tells(store: Store) -> None:
    work = {"app": EDITOR, "workspace": git("/w/demo")}
    store.add(
        [
            admitted(1, NOW, file="/w/demo/a.py", title="a.py - Code", name="Code", **work),
            admitted(2, NOW + MINUTE, file="/w/demo/b.py", title="b.py - Code", **work),
            admitted(1, NOW + 2 * MINUTE, app=BROWSER, url="docs.python.org/3/", provider="companion", session="b"),
            admitted(3, NOW + 3 * MINUTE, file="/w/demo/a.py", **work),
        ]
    )
    [episode] = every_episode(store)
    assert (episode.id, episode.duration_ms, episode.confidence, episode.thread_key) == ("episode:s:1", 3 * MINUTE, 0.9, "git:/w/demo")
    assert (episode.start_reason, episode.end_reason, episode.complete) == ("first-observation", "timeout", True)
    assert episode.workspace == git("/w/demo")
    assert [(one.bundle_id, one.surface_kind, one.app_name, one.title, one.count) for one in episode.surfaces] == [
        (EDITOR, "editor", "Code", "b.py - Code", 3),
        (BROWSER, "browser", None, None, 1),
    ]
    assert [(one.label, one.first_seen_at_ms - NOW, one.last_seen_at_ms - NOW, one.count) for one in episode.resources] == [
        ("a.py", 0, 3 * MINUTE, 2),
        ("b.py", MINUTE, MINUTE, 1),
        ("docs.python.org/3/", 2 * MINUTE, 2 * MINUTE, 1),
    ]
    assert episode.summary == (
        "Worked in demo.\n\nObserved resources:\n- a.py\n- b.py\n- docs.python.org/3/\n\nApplications: code.desktop, companion.browser"
    )
    assert store.episode("episode:s:1") == episode
    assert store.episode("episode:s:2") is None


def test_those_of_a_time_and_of_a_workspace(store: Store) -> None:
    hours = [NOW + hour * 60 * MINUTE for hour in range(4)]
    for number, at_ms in enumerate(hours):
        root = "/w/a" if number % 2 else "/w/b"
        store.add([admitted(10 * number + more, at_ms + more * MINUTE, file=f"{root}/x.py", workspace=git(root)) for more in range(3)])

    def started(start: int, end: int, **more: Any) -> list[int]:
        return [one.started_at_ms for one in store.episodes(start, end, **more)]

    assert started(NOW, hours[3] + 1) == hours
    assert started(hours[1] + MINUTE, hours[2]) == [hours[1]], "an episode that reaches into the time belongs to it"
    assert started(hours[1] + 2 * MINUTE, hours[2] + 1) == [hours[1], hours[2]]
    assert started(hours[1] + 2 * MINUTE + 1, hours[2]) == []
    assert started(NOW, hours[3] + 1, workspace="/w/a") == [hours[1], hours[3]]
    assert started(NOW, hours[3] + 1, workspace="b") == [hours[0], hours[2]]


class TestAClockThatJumps:
    def test_nothing_is_shown_of_the_future(self, tmp_path: Path) -> None:
        with opened(tmp_path / "history", NOW) as store:
            store.add([admitted(1, NOW - MINUTE), admitted(2, NOW + 4000)])
            [episode] = store.episodes(0, 2**53)
            assert (episode.started_at_ms, episode.ended_at_ms) == (NOW - MINUTE, NOW)
            assert [surface.last_seen_at_ms for surface in episode.surfaces] == [NOW]
            [later] = store.episodes(0, 2**53, now_ms=NOW + 4000)
            assert later.ended_at_ms == NOW + 4000

    def test_a_clock_that_went_back_costs_nothing_and_shows_nothing_early(self, tmp_path: Path) -> None:
        present = [NOW + 60 * MINUTE]
        with Store(tmp_path / "history", NOW, clock=lambda: present[0]) as store:
            ahead = [admitted(number, NOW + 60 * MINUTE + number, title="ahead") for number in range(1, 4)]
            store.add(ahead)
            present[0] = NOW
            behind = [admitted(number, NOW - 10 + number, app=FILES, title="behind") for number in range(4, 9)]
            for one in behind:
                store.add([one])
            [shown] = store.episodes(0, 2**53)
            assert [surface.title for surface in shown.surfaces] == ["behind"]
            check_sound(store, NOW)
            present[0] = NOW + 120 * MINUTE
            assert [brief(one) for one in store.episodes(0, 2**53)] == [told.brief for told in told_again([*ahead, *behind])]
            assert len(store.observations()) == 8, "nothing is lost"

    def test_what_it_left_in_the_future_is_kept_no_longer_than_the_rest(self, tmp_path: Path) -> None:
        with opened(tmp_path / "history", NOW) as store:
            store.add([admitted(1, NOW + 300 * DAY_MS, title="from a wrong year")])
            for hours in (0, 12, 23):
                assert store.sweep(NOW + hours * 3_600_000).observations == 0
            assert store.sweep(NOW + DAY_MS).observations == 1
            assert store.sweep(NOW + 30 * DAY_MS).episodes == 1

    def test_a_deletion_that_was_asked_for_in_the_future_does_not_silence_the_present(self, tmp_path: Path) -> None:
        present = [NOW + 300 * DAY_MS]
        with Store(tmp_path / "history", NOW, clock=lambda: present[0]) as store:
            store.add([admitted(1, present[0])])
            [episode] = store.episodes(0, 2**53)
            store.delete(OneEpisode(episode.id), present[0])
            store.delete(Everything(), present[0])
            assert store.add([admitted(2, present[0] - 1)]).deleted_range == 1
            present[0] = NOW
            assert store.add([admitted(3, NOW - 1)]).deleted_range == 1, "observed before the deletion, as far as anyone can tell"
            present[0] = NOW + 2000
            assert store.add([admitted(4, NOW + 1000)]) == Added(1, 0, 0)


class TestBoundaries:
    @pytest.mark.parametrize("reason", ["sleep", "pause", "idle"])
    def test_no_episode_reaches_over_one(self, store: Store, reason: Any) -> None:
        store.add([admitted(1, NOW), admitted(2, NOW + 1000)])
        store.mark_boundary(reason, NOW + 1000)
        store.add([admitted(3, NOW + 1001), admitted(4, NOW + 2000)])
        assert [(one.started_at_ms - NOW, one.ended_at_ms - NOW, one.start_reason, one.end_reason) for one in every_episode(store)] == [
            (0, 1000, "first-observation", reason),
            (1001, 2000, reason, "timeout"),
        ]

    def test_it_outlives_a_rebuild_and_another_process(self, tmp_path: Path) -> None:
        with opened(tmp_path / "history") as store:
            store.add([admitted(1, NOW)])
            store.mark_boundary("sleep", NOW + 500)
        with opened(tmp_path / "history") as store:
            store.add([admitted(2, NOW + 1000)])
            store.add([admitted(3, NOW - 1000)])
            assert [one.start_reason for one in every_episode(store)] == ["first-observation", "sleep"]

    def test_one_that_comes_late_still_cuts(self, store: Store) -> None:
        store.add([admitted(number, NOW + number * 1000) for number in range(1, 6)])
        store.mark_boundary("pause", NOW + 3000)
        assert [(one.start_reason, one.duration_ms) for one in every_episode(store)] == [("first-observation", 2000), ("pause", 1000)]
        store.mark_boundary("pause", NOW + 3000)
        assert len(every_episode(store)) == 2


class TestExpiry:
    def test_an_episode_outlives_its_observations(self, tmp_path: Path) -> None:
        with opened(tmp_path / "history", NOW) as store:
            store.add([admitted(number, NOW - MINUTE + number, title="work", file="/w/a/x.py", workspace=git("/w/a")) for number in (1, 2)])
            before = every_episode(store, NOW)
            assert store.sweep(NOW + DAY_MS).observations == 2
            after = every_episode(store, NOW)
            assert [shape(one) for one in after] == [shape(one) for one in before]
            assert [one.complete for one in before + after] == [True, False]
            assert store.sweep(NOW + 31 * DAY_MS).episodes == 1
            assert store.counts().episodes == 0
            assert store._db.execute("SELECT count(*) FROM titles").fetchone() == (0,)
            assert store._db.execute("SELECT count(*) FROM resources").fetchone() == (0,)

    def test_one_of_which_a_part_has_expired_goes_on(self, tmp_path: Path) -> None:
        present = [NOW]
        for again in (False, True):
            folder = tmp_path / f"history-{again}"
            store = Store(folder, NOW, clock=lambda: present[0])
            present[0] = NOW
            store.add([admitted(1, NOW, hours=1), admitted(2, NOW + 7 * MINUTE, hours=48)])
            present[0] = NOW + 61 * MINUTE
            assert store.sweep(present[0]).observations == 1
            if again:
                store.close()
                store = Store(folder, NOW, clock=lambda: present[0])
            store.add([admitted(3, NOW + 14 * MINUTE)])
            [episode] = every_episode(store)
            assert (episode.id, episode.duration_ms, episode.complete) == ("episode:s:1", 14 * MINUTE, False)
            assert [surface.count for surface in episode.surfaces] == [3]
            store.close()

    @given(st.data())
    @DEEP
    def test_what_comes_late_into_what_cannot_be_built_again_overlaps_nothing(self, data: st.DataObject) -> None:
        """Some observations expire, and the rest of the stream arrives after them, in any order."""
        stream = data.draw(streams())
        early = data.draw(st.lists(st.sampled_from(stream), min_size=1, unique_by=lambda one: (one.facts.session, one.facts.seq)))
        short = data.draw(st.integers(1, len(early)))
        late = [one for one in stream if one not in early]
        with fresh() as folder:
            with opened(folder, NOW) as store:
                store.add([admitted_for(one, 1 if number < short else 700) for number, one in enumerate(early)])
                standing = {one.id: one for one in every_episode(store)}
                store.sweep(NOW + 6 * 3_600_000)
                check_sound(store)
                for batch in data.draw(cut_up([admitted_for(one, 700) for one in late])):
                    store.add(batch)
                    check_sound(store)
            with opened(folder, NOW) as store:
                check_sound(store)
                for one in every_episode(store):
                    if not one.complete:
                        assert one.started_at_ms == standing[one.id].started_at_ms


def admitted_for(one: Admitted, hours: int) -> Admitted:
    return msgspec.structs.replace(one, expires_at_ms=one.facts.observed_at_ms + hours * 3_600_000)
