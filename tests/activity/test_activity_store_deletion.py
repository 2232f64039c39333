"""Deletion: what goes is gone with all that was derived from it, does not come back, and leaves what the rest would have made."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from activity_kit import every_byte
from activity_store_kit import (
    BROWSER,
    DAY_MS,
    EDITOR,
    FILES,
    MINUTE,
    NOW,
    admitted,
    brief,
    every_episode,
    git,
    opened,
    shape,
    streams,
    told_again,
)
from triptych.adapters.collector import store_deletion
from triptych.adapters.collector.store import Added, App, Deleted, Everything, OneEpisode, Scope, Store, TimeRange
from triptych.errors import LocalProtocolError, Unavailable
from triptych.machines.collector.gates import Admitted


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "history") as made:
        yield made


def day(store: Store) -> None:
    """Three episodes: work in one place with two programs, other windows, work in another place."""
    store.add(
        [
            admitted(number, NOW + number * MINUTE, file=f"/w/a/{number}.py", workspace=git("/w/a"), title=f"a{number}")
            for number in (1, 2, 3)
        ]
    )
    store.add([admitted(1, NOW + 3 * MINUTE + 1, app=BROWSER, url="example.com/a", provider="companion", session="b")])
    store.add([admitted(number, NOW + number * MINUTE, app=FILES, title=f"folder {number}") for number in (20, 21)])
    store.add(
        [
            admitted(number, NOW + number * MINUTE, file=f"/w/b/{number}.py", workspace=git("/w/b"), title=f"b{number}")
            for number in (31, 32)
        ]
    )


class TestScopes:
    def test_everything(self, store: Store) -> None:
        day(store)
        store.mark_boundary("sleep", NOW + 40 * MINUTE)
        assert store.delete(Everything(), NOW + DAY_MS) == Deleted(8, 3, 0)
        assert store.counts() == (type(store.counts()))(0, 0, None, None)
        for table in ("titles", "resources", "episode_surfaces", "episode_resources", "boundaries"):
            assert store._db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)

    def test_one_application(self, store: Store) -> None:
        day(store)
        assert store.delete(App(FILES), NOW + DAY_MS) == Deleted(2, 1, 0)
        assert [one.workspace for one in every_episode(store)] == [git("/w/a"), git("/w/b")]
        assert store.delete(App(BROWSER), NOW + DAY_MS) == Deleted(1, 0, 1)
        assert [len(one.resources) for one in every_episode(store)] == [3, 2]
        assert "example.com" not in every_episode(store)[0].summary

    def test_a_time(self, store: Store) -> None:
        day(store)
        assert store.delete(TimeRange(NOW + 2 * MINUTE, NOW + 21 * MINUTE), NOW + DAY_MS) == Deleted(4, 0, 2)
        assert [(one.started_at_ms - NOW, one.ended_at_ms - NOW) for one in every_episode(store)] == [
            (MINUTE, MINUTE),
            (21 * MINUTE, 21 * MINUTE),
            (31 * MINUTE, 32 * MINUTE),
        ]

    def test_one_episode_and_only_that(self, store: Store) -> None:
        day(store)
        before = every_episode(store)
        assert store.delete(OneEpisode(before[1].id), NOW + DAY_MS) == Deleted(2, 1, 0)
        assert [one.id for one in every_episode(store)] == [before[0].id, before[2].id]

    @pytest.mark.parametrize(
        ("scope", "code"),
        [(OneEpisode("episode:no:1"), "unknown-episode"), (TimeRange(5, 5), "time-range"), (TimeRange(6, 5), "time-range")],
    )
    def test_what_names_nothing_is_refused_and_changes_nothing(self, store: Store, scope: Scope, code: str) -> None:
        day(store)
        before = [shape(one) for one in every_episode(store)]
        with pytest.raises(LocalProtocolError) as caught:
            store.delete(scope, NOW + DAY_MS)
        assert caught.value.code == code
        assert [shape(one) for one in every_episode(store)] == before
        assert store._db.execute("SELECT count(*) FROM deletion_log").fetchone() == (0,)


@pytest.mark.parametrize(
    ("scope", "blocked"),
    [
        (Everything(), {1, 2, 3, 4}),
        (App(FILES), {3, 4}),
        (TimeRange(NOW, NOW + 1), {1, 3}),
        (OneEpisode("episode:s:100"), {2, 4}),
    ],
)
def test_what_was_deleted_does_not_come_back(store: Store, scope: Scope, blocked: set[int]) -> None:
    store.add([admitted(100, NOW + 1), admitted(101, NOW + 2)])
    store.delete(scope, NOW + MINUTE)
    late = [admitted(1, NOW), admitted(2, NOW + 1), admitted(3, NOW, app=FILES), admitted(4, NOW + 2, app=FILES)]
    assert store.add(late) == Added(4 - len(blocked), 0, len(blocked))
    assert {row.seq for row in store.observations()} - {100, 101} == {1, 2, 3, 4} - blocked
    assert store.add([admitted(5, NOW + MINUTE + 1), admitted(6, NOW + MINUTE + 2, app=FILES)]) == Added(2, 0, 0)


def test_another_process_deletes_while_one_records(tmp_path: Path) -> None:
    with opened(tmp_path / "history") as host, opened(tmp_path / "history") as other:
        day(host)
        assert other.delete(App(FILES), NOW + DAY_MS).observations == 2
        assert host.add([admitted(20, NOW + 20 * MINUTE, app=FILES)]) == Added(0, 0, 1)
        host.add([admitted(33, NOW + 33 * MINUTE, file="/w/b/33.py", workspace=git("/w/b"))])
        assert [(one.workspace, one.duration_ms) for one in every_episode(host)] == [
            (git("/w/a"), 2 * MINUTE + 1),
            (git("/w/b"), 2 * MINUTE),
        ]


@pytest.mark.parametrize("scope", [Everything(), App(FILES), TimeRange(NOW, NOW + 2), OneEpisode("episode:s:1")])
def test_its_bytes_are_gone_from_every_file_while_the_host_goes_on(tmp_path: Path, scope: Scope) -> None:
    folder = tmp_path / "history"
    with opened(folder) as host:
        host.add([admitted(1, NOW, app=FILES, title="a title to forget"), admitted(2, NOW + 1, app=FILES, title="another to forget")])
        host.add([admitted(3, NOW + 9 * MINUTE, title="a title to keep", file="/w/kept.py", workspace=git("/w"))])
        with opened(folder) as other:
            other.delete(scope, NOW + DAY_MS)
        everything = every_byte(folder)
        assert b"to forget" not in everything
        assert (b"a title to keep" in everything) is not isinstance(scope, Everything)


def test_when_a_resource_was_seen_is_part_of_what_is_deleted(store: Store) -> None:
    store.add([admitted(number, NOW + number * MINUTE, file="/w/x.py", title="x") for number in (1, 2, 3)])
    store.delete(TimeRange(NOW + 3 * MINUTE, NOW + 4 * MINUTE), NOW + DAY_MS)
    store.delete(TimeRange(NOW + MINUTE, NOW + 2 * MINUTE), NOW + DAY_MS)
    assert store._db.execute("SELECT first_seen_at_ms, last_seen_at_ms FROM resources").fetchall() == [(NOW + 2 * MINUTE,) * 2]
    assert store._db.execute("SELECT last_seen_at_ms FROM titles").fetchall() == [(NOW + 2 * MINUTE,)]


class TestIncompleteProvenance:
    @pytest.mark.parametrize("scope", [App(EDITOR), TimeRange(NOW, NOW + 10)])
    def test_an_episode_of_which_something_expired_goes_whole(self, tmp_path: Path, scope: Scope) -> None:
        """Its summary may tell of what is deleted, and nobody can build it again."""
        with opened(tmp_path / "history", NOW + 10) as store:
            store.add([admitted(1, NOW, hours=1, file="/w/a/secret-plan.py", workspace=git("/w/a"))])
            store.add([admitted(2, NOW + 7 * MINUTE, hours=48, file="/w/a/y.py", workspace=git("/w/a"))])
            store.sweep(NOW + 61 * MINUTE)
            [episode] = every_episode(store)
            assert "secret-plan" in episode.summary and not episode.complete
            assert store.delete(scope, NOW + DAY_MS).episodes_deleted == 1
            assert "secret-plan" not in "".join(one.summary for one in every_episode(store))
            assert store._db.execute("SELECT count(*) FROM resources WHERE folded LIKE '%secret%'").fetchone() == (0,)

    def test_what_is_left_of_it_makes_episodes_of_its_own(self, tmp_path: Path) -> None:
        with opened(tmp_path / "history", NOW + 10) as store:
            store.add([admitted(1, NOW, hours=1, title="x"), admitted(2, NOW + MINUTE, hours=48), admitted(3, NOW + 2 * MINUTE, hours=48)])
            store.sweep(NOW + 61 * MINUTE)
            assert store.delete(TimeRange(NOW, NOW + MINUTE), NOW + DAY_MS) == Deleted(0, 1, 0)
            assert [(one.id, one.complete) for one in every_episode(store)] == [("episode:s:2", True)]


def test_a_deletion_is_forgotten_when_nothing_older_can_come(store: Store) -> None:
    store.delete(App(FILES), NOW)
    store.sweep(NOW + 720 * 3_600_000 - 1)
    assert store._db.execute("SELECT count(*) FROM deletion_log").fetchone() == (1,)
    store.sweep(NOW + 720 * 3_600_000)
    assert store._db.execute("SELECT count(*) FROM deletion_log").fetchone() == (0,)


def test_a_store_that_only_looks_deletes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "history") as store:
        day(store)
    reader = Store.reading(tmp_path / "history")
    assert reader is not None
    with reader:
        with pytest.raises(Unavailable) as caught:
            reader.delete(Everything(), NOW)
        assert caught.value.reason.startswith("storage-failed")
        assert reader.counts().observations == 8


class Record(RuleBasedStateMachine):
    """Batches, boundaries and deletions by two processes in any order: the record is that of what was not deleted, told at once."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="triptych-record-")
        self.stores = [opened(Path(self.folder.name) / "history") for _ in range(2)]
        self.waiting: list[Admitted] = []
        self.kept: dict[tuple[str, int], Admitted] = {}
        self.boundaries: set[tuple[int, str]] = set()
        self.tombstones: list[tuple[int, Any]] = []
        self.clock = NOW

    @initialize(stream=streams(longest=40))
    def begins(self, stream: list[Admitted]) -> None:
        self.waiting = stream

    @property
    def store(self) -> Store:
        return self.stores[0]

    @rule()
    def another_turn(self) -> None:
        self.stores.reverse()

    @rule()
    def opened_again(self) -> None:
        self.stores[0].close()
        self.stores[0] = opened(Path(self.folder.name) / "history")

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def adds(self, data: st.DataObject) -> None:
        batch = data.draw(st.lists(st.sampled_from(self.waiting), min_size=1, max_size=8, unique_by=id))
        batch += data.draw(st.lists(st.sampled_from(list(self.kept.values())), max_size=2)) if self.kept else []
        stored = duplicates = deleted = 0
        for one in batch:
            key = (one.facts.session, one.facts.seq)
            if key in self.kept:
                duplicates += 1
            elif any(covers(one) for _, covers in self.tombstones):
                deleted += 1
            else:
                stored += 1
                self.kept[key] = one
        assert self.store.add(batch) == Added(stored, duplicates, deleted)
        self.waiting = [one for one in self.waiting if one not in batch]

    @precondition(lambda self: self.kept)
    @rule(data=st.data(), reason=st.sampled_from(("sleep", "pause", "idle")), beside=st.integers(-1, 1))
    def marks(self, data: st.DataObject, reason: Any, beside: int) -> None:
        at_ms = data.draw(st.sampled_from(sorted(one.facts.observed_at_ms for one in self.kept.values()))) + beside
        self.store.mark_boundary(reason, at_ms)
        self.boundaries.add((at_ms, reason))

    @precondition(lambda self: self.kept)
    @rule(data=st.data(), kind=st.sampled_from(("app", "range", "episode", "episode", "all")))
    def deletes(self, data: st.DataObject, kind: str) -> None:
        one = data.draw(st.sampled_from(list(self.kept.values())))
        now_ms = NOW + DAY_MS
        scope: Scope
        if kind == "app":
            scope, covers = App(one.facts.bundle_id), lambda other: other.facts.bundle_id == one.facts.bundle_id
        elif kind == "all":
            scope, covers = Everything(), lambda other: True
        else:
            start, end = one.facts.observed_at_ms, one.facts.observed_at_ms + data.draw(st.sampled_from((1, 1000, 100_000)))
            scope = TimeRange(start, end)
            if kind == "episode":
                chosen = data.draw(st.sampled_from(every_episode(self.store)))
                scope, start, end = OneEpisode(chosen.id), chosen.started_at_ms, chosen.ended_at_ms + 1
            covers = lambda other, start=start, end=end: start <= other.facts.observed_at_ms < end  # noqa: E731  # one of three shapes
        gone = [key for key, other in self.kept.items() if covers(other)]
        assert self.store.delete(scope, now_ms).observations == len(gone)
        for key in gone:
            del self.kept[key]
        if kind == "all":
            self.boundaries.clear()
        self.tombstones.append((now_ms, covers))

    @invariant()
    def the_record_is_that_of_what_is_left(self) -> None:
        told = [one.brief for one in told_again(self.kept.values(), self.boundaries)]
        for store in self.stores:
            episodes = every_episode(store)
            assert [brief(one) for one in episodes] == told
            assert all(one.complete for one in episodes)

    @invariant()
    def nothing_is_kept_that_nobody_names(self) -> None:
        database = self.store._db
        titles = {one.title for one in self.kept.values() if one.title}
        assert {row[0] for row in database.execute("SELECT title FROM titles")} == titles
        resources = {one.resource.uri for one in self.kept.values() if one.resource}
        assert {row[0] for row in database.execute("SELECT canonical_uri FROM resources")} == resources

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        reopened = sqlite3.connect(Path(self.folder.name) / "history" / "history.sqlite")
        assert reopened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert reopened.execute("PRAGMA foreign_key_check").fetchall() == []
        reopened.close()
        self.folder.cleanup()


class RecordInPieces(Record):
    """The same where every deletion of more than two observations goes in pieces."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(store_deletion, "PIECE", 2)
        self.patch.setattr(store_deletion, "PAUSE", 0.0)

    def teardown(self) -> None:
        self.patch.undo()
        super().teardown()


TestRecord = Record.TestCase
TestRecordInPieces = RecordInPieces.TestCase
TestRecord.settings = TestRecordInPieces.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def test_a_large_deletion_lets_others_write_and_nothing_comes_back_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_deletion, "PIECE", 500)
    monkeypatch.setattr(store_deletion, "NOTICED", 0.0)
    with opened(tmp_path / "history") as store, opened(tmp_path / "history") as other:
        store.add([admitted(number, NOW + number * 1000, app=(EDITOR, FILES)[number // 10 % 2]) for number in range(4000)])
        wrote: list[Added] = []

        def meanwhile(_: float) -> None:
            number = len(wrote)
            again = admitted(9000 + number, NOW, app=EDITOR)
            wrote.append(other.add([again, admitted(5000 + number, NOW + DAY_MS + 1 + number, app=EDITOR)]))

        monkeypatch.setattr("triptych.adapters.collector.store.time.sleep", meanwhile)
        deleted = store.delete(App(EDITOR), NOW + DAY_MS)
        assert len(wrote) >= 4 and set(wrote) == {Added(1, 0, 1)}
        assert deleted.observations == 2000 + len(wrote) - 1, "what came before the last piece goes with it"
        kept = store.observations(limit=10_000)
        late = admitted(5000 + len(wrote) - 1, NOW + DAY_MS + len(wrote), app=EDITOR)
        assert [row.seq for row in kept if row.bundle_id == EDITOR] == [late.facts.seq] and len(kept) == 2001
        rest = [admitted(number, NOW + number * 1000, app=FILES) for number in range(4000) if number // 10 % 2]
        told = told_again([*rest, late])
        assert [brief(one) for one in every_episode(store)] == [one.brief for one in told]
        log = store._db.execute("SELECT scope, bundle_id, observations_deleted, episodes_deleted, episodes_rebuilt FROM deletion_log")
        assert log.fetchall() == [("app", EDITOR, deleted.observations, deleted.episodes_deleted, deleted.episodes_rebuilt)]
