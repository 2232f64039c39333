"""The database: who may read it, what it keeps, how it is migrated, and that what was deleted is gone."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from activity_kit import every_byte
from stopwatch_kit import Stopwatch
from triptych.adapters.collector.migrations import Migration
from triptych.adapters.collector.ownership import Ownership
from triptych.adapters.collector.store import MIGRATIONS, Added, Retention, Store, Swept
from triptych.engine import activity
from triptych.errors import LocalProtocolError, Unavailable
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.gates import DEFAULT_RETENTION_MS, Admitted, Rulebook, admit
from triptych.machines.collector.policy import BUILT_IN_RULES, Policy, Rule, allow_app

NOW = 1_791_000_000_000
RULES = Rulebook(Policy().replaced((allow_app("code.desktop"),)))


def admitted(seq: int, now_ms: int = NOW, **changes: Any) -> Admitted:
    values: dict[str, Any] = {
        "session": "s",
        "seq": seq,
        "observed_at_ms": now_ms,
        "pid": 7,
        "bundle_id": "code.desktop",
        "adapter": "vscode",
        "provider": "at-spi",
    }
    verdict = admit(Facts(**{**values, **changes}), RULES, now_ms)
    assert isinstance(verdict, Admitted)
    return verdict


def test_everything_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "history"
    with Store(folder, NOW) as store:
        store.add([admitted(1)])
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"history.sqlite": 0o600, "history.sqlite-wal": 0o600, "history.sqlite-shm": 0o600}


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_others_may_read_is_refused(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "history"
    Store(folder, NOW).close()
    (folder if what == "folder" else folder / "history.sqlite").chmod(0o755)
    with pytest.raises(Unavailable) as caught:
        Store(folder, NOW)
    assert "open to others" in caught.value.reason and caught.value.remedy.startswith("chmod")


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir(mode=0o700)
    (tmp_path / "elsewhere").touch()
    (folder / "history.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable):
        Store(folder, NOW)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir(mode=0o700)
    path = folder / "history.sqlite"
    path.write_bytes(b"not a database, and longer than the header of one, which has a hundred bytes " * 20)
    path.chmod(0o600)
    before = path.read_bytes()
    with pytest.raises(Unavailable):
        Store(folder, NOW)
    assert path.read_bytes() == before


def test_the_way_of_writing_is_the_promised_one(tmp_path: Path) -> None:
    with Store(tmp_path / "history", NOW) as store:
        pragmas = {name: store._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "secure_delete", "synchronous")}
        assert pragmas == {"journal_mode": "wal", "secure_delete": 1, "synchronous": 1}
        assert store._db.execute("PRAGMA foreign_keys").fetchone() == (1,)
        assert store._db.execute("PRAGMA busy_timeout").fetchone() == (5000,)


def test_a_session_and_sequence_number_is_stored_once(tmp_path: Path) -> None:
    with Store(tmp_path / "history", NOW) as store:
        assert store.add([admitted(1), admitted(2), admitted(1, title="Another")]) == Added(2, 1, 0)
        assert store.add([admitted(2), admitted(3)]) == Added(1, 1, 0)
        assert [(row.seq, row.title) for row in store.observations()] == [(1, None), (2, None), (3, None)]
        assert [row.seq for row in store.observations(after_id=store.observations()[0].id, limit=1)] == [2]


def test_a_batch_is_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    def breaks_off() -> Any:
        yield admitted(1)
        raise RuntimeError("in the middle")

    with Store(tmp_path / "history", NOW) as store:
        with pytest.raises(RuntimeError):
            store.add(breaks_off())
        assert store.observations() == []
        assert store.add([admitted(1)]).stored == 1


def test_a_resource_is_kept_once_with_the_times_it_was_seen(tmp_path: Path) -> None:
    with Store(tmp_path / "history", NOW) as store:
        store.add([admitted(number, NOW + number, document="/work/a.py") for number in (2, 1, 3)])
        assert {row.resource for row in store.observations()} == {("file", "file:///work/a.py", "a.py")}
        rows = store._db.execute("SELECT canonical_uri, first_seen_at_ms, last_seen_at_ms FROM resources").fetchall()
        assert rows == [("file:///work/a.py", NOW + 1, NOW + 3)]


def test_a_lone_surrogate_is_stored_as_a_replacement(tmp_path: Path) -> None:
    with Store(tmp_path / "history", NOW) as store:
        store.add([admitted(1, title="a \ud800 b", role="\udfff", session="s\udc80")])
        [row] = store.observations()
        assert (row.title, row.role, row.session) == ("a ? b", "?", "s?")
        assert store.add([admitted(1, session="s\udc80")]) == Added(0, 1, 0)


def test_what_has_expired_is_deleted_and_its_bytes_are_gone(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with Store(folder, NOW) as store:
        store.add([admitted(1, NOW, title="A title to forget"), admitted(2, NOW + 10, title="A title to keep")])
        assert store.sweep(NOW + DEFAULT_RETENTION_MS - 1) == Swept(0, 0)
        assert store.sweep(NOW + DEFAULT_RETENTION_MS) == Swept(1, 0)
        assert [row.title for row in store.observations()] == ["A title to keep"]
        everything = every_byte(folder)  # while it is open: the write-ahead log is emptied, too
        assert b"A title to keep" in everything
        assert b"A title to forget" not in everything


def test_a_sweep_neither_waits_for_a_look_nor_keeps_it_from_its_rows(tmp_path: Path) -> None:
    with Store(tmp_path / "history", NOW) as store:
        store.add([admitted(number, NOW + number) for number in range(1, 50)])
        reader = Store.reading(tmp_path / "history")
        assert reader is not None
        with reader:
            rows = reader._db.execute("SELECT collector_seq FROM observations ORDER BY id")
            assert next(rows) == (1,)
            swept = Stopwatch()
            assert store.sweep(NOW + 2 * DEFAULT_RETENTION_MS).observations == 49
            assert swept.seconds() < 2
            assert [row[0] for row in rows] == list(range(2, 50))


class TestRetention:
    def test_it_has_defaults_and_is_kept(self, tmp_path: Path) -> None:
        with Store(tmp_path / "history", NOW) as store:
            assert store.retention() == Retention(24, 30)
            assert store.set_retention(1, 365, NOW) == Retention(1, 365)
        with Store(tmp_path / "history", NOW) as store:
            assert store.retention() == Retention(1, 365)

    @pytest.mark.parametrize(
        ("hours", "days", "code"),
        [
            *((hours, 1, "retention-hours") for hours in (0, 721, True, 1.0)),
            *((1, days, "retention-days") for days in (0, 366, True, 1.0)),
        ],
    )
    def test_what_is_out_of_range_is_refused(self, tmp_path: Path, hours: Any, days: Any, code: str) -> None:
        with Store(tmp_path / "history", NOW) as store:
            with pytest.raises(LocalProtocolError) as caught:
                store.set_retention(hours, days, NOW)
            assert caught.value.code == code
            assert store.retention() == Retention(24, 30)

    def test_it_counts_for_what_is_recorded_later(self, tmp_path: Path) -> None:
        with Store(tmp_path / "history", NOW) as store, Store(tmp_path / "history", NOW) as other:
            store.add([admitted(1, NOW)])
            other.set_retention(24, 1, NOW)
            store.add([admitted(2, NOW + 600_000)])
            rows = store._db.execute("SELECT expires_at_ms - ended_at_ms FROM episodes ORDER BY started_at_ms").fetchall()
            assert rows == [(30 * 86_400_000,), (86_400_000,)]


def test_each_companion_has_its_own_pairing(tmp_path: Path) -> None:
    with Store(tmp_path / "history", NOW) as store, Store(tmp_path / "history", NOW) as other:
        assert store.pairing("browser") is None
        before = store.data_version()
        other.set_pairing("browser", "aa", NOW)
        other.set_pairing("editor", "bb", NOW)
        assert store.data_version() != before
        other.set_pairing("browser", "cc", NOW)
        assert (store.pairing("browser"), store.pairing("editor")) == ("cc", "bb")
        other.set_pairing("editor", None, NOW)
        assert store.pairing("editor") is None


class TestPolicy:
    def test_a_first_use_lets_nothing_in(self, tmp_path: Path) -> None:
        with Store(tmp_path / "history", NOW) as store:
            policy = store.policy(NOW)
        assert (policy.revision, policy.mode, policy.allows_an_app) == (1, "include-only", False)
        assert set(policy.rules) == set(BUILT_IN_RULES)

    def test_it_comes_back_as_it_was_put(self, tmp_path: Path) -> None:
        rules = (Rule("b", "resource", "deny", "prefix", "/x/"), allow_app("code.desktop"))
        with Store(tmp_path / "history", NOW) as store:
            store.replace_policy(store.policy(NOW).replaced(rules), NOW + 5)
        with Store(tmp_path / "history", NOW) as store:
            policy = store.policy(NOW + 9)
            created = dict(store._db.execute("SELECT id, created_at_ms FROM policy_rules"))
        assert policy.revision == 2
        assert set(policy.rules) == {*BUILT_IN_RULES, *rules}
        assert [rule.built_in for rule in policy.rules] == [True] * 12 + [False] * 2
        assert (created["builtin:env"], created["b"]) == (NOW, NOW + 5)


class TestMigrations:
    def test_each_is_taken_once_and_remembered_by_its_checksum(self, tmp_path: Path) -> None:
        for _ in range(2):
            with Store(tmp_path / "history", NOW) as store:
                rows = store._db.execute("SELECT version, name, checksum, applied_at_ms FROM schema_migrations").fetchall()
                assert rows == [(step.version, step.name, step.checksum, NOW) for step in MIGRATIONS]
                assert store._db.execute("PRAGMA user_version").fetchone() == (MIGRATIONS[-1].version,)

    def test_a_record_of_the_first_version_is_brought_up_to_date(self, tmp_path: Path) -> None:
        folder = tmp_path / "history"
        folder.mkdir(mode=0o700)
        old = sqlite3.connect(folder / "history.sqlite", isolation_level=None)
        (folder / "history.sqlite").chmod(0o600)
        old.execute(
            """CREATE TABLE schema_migrations (
                 version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL)"""
        )
        for statement in MIGRATIONS[0].statements:
            old.execute(statement)
        old.execute("INSERT INTO schema_migrations VALUES (1, 'initial', ?, 5)", (MIGRATIONS[0].checksum,))
        old.execute("INSERT INTO resources VALUES (3, 'file', 'file:///w/%C3%9C.py', 'Ü.py', 1, 2)")
        for seq in (1, 2, 3, 4):
            old.execute(
                """INSERT INTO observations VALUES (?, 's', ?, ?, 7, 'code.desktop', 'Code', 'editor', ?, 'text', NULL, NULL, ?, 0.5,
                     'at-spi', 'vscode', 2, ?)""",
                (seq + 10, seq, NOW + seq, "Ü.py - Code" if seq < 3 else None, 3 if seq < 4 else None, NOW + 90_000_000),
            )
        old.execute("DELETE FROM observations WHERE id = 14")
        old.execute("PRAGMA user_version = 1")
        old.close()
        assert MIGRATIONS[0].checksum == "2c071444d67ff12624e168f27ba3fb1c7cf58ea3ae4e228a61fec2452dfc0e0e"
        with pytest.raises(Unavailable) as caught:
            Store.reading(folder)
        assert "older version" in caught.value.reason
        with Store(folder, NOW + 10, clock=lambda: NOW + 10) as store:
            rows = store.observations()
            assert [(row.id, row.seq, row.title, row.resource) for row in rows] == [
                (11, 1, "Ü.py - Code", ("file", "file:///w/%C3%9C.py", "Ü.py")),
                (12, 2, "Ü.py - Code", ("file", "file:///w/%C3%9C.py", "Ü.py")),
                (13, 3, None, ("file", "file:///w/%C3%9C.py", "Ü.py")),
            ]
            [episode] = store.episodes(0, 2**53)
            assert (episode.id, episode.duration_ms, episode.complete) == ("episode:s:1", 2, True)
            assert {row.episode_id for row in rows} == {"episode:s:1"}
            assert {one.kind for one in store.search("ü.PY")} == {"file", "title"}
            store.add([admitted(9, NOW + 10)])
            assert store.last_id() == 15, "an id is given once, even if its row is gone"
            assert store._db.execute("PRAGMA foreign_key_check").fetchall() == []

    def test_a_step_that_fails_leaves_the_record_as_it_was(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "history"
        with Store(folder, NOW) as store:
            store.add([admitted(1)])
            before = list(store._db._connection.iterdump())
        broken = Migration(3, "broken", ("CREATE TABLE more (id)", "DROP TABLE observations", "INSERT INTO nowhere VALUES (1)"), True)
        monkeypatch.setattr("triptych.adapters.collector.database.MIGRATIONS", (*MIGRATIONS, broken))
        with pytest.raises(sqlite3.OperationalError):
            Store(folder, NOW)
        dangling = Migration(3, "dangling", ("INSERT INTO episode_resources VALUES ('none', 99, 0, 0, 1)",), True)
        monkeypatch.setattr("triptych.adapters.collector.database.MIGRATIONS", (*MIGRATIONS, dangling))
        with pytest.raises(Unavailable) as caught:
            Store(folder, NOW)
        assert caught.value.reason.startswith("storage-corrupt")
        monkeypatch.undo()
        with Store(folder, NOW) as store:
            assert list(store._db._connection.iterdump()) == before
            assert store._db.execute("PRAGMA foreign_keys").fetchone() == (1,)

    @pytest.mark.parametrize(
        ("tampering", "told"),
        [
            ("PRAGMA user_version = 99", "newer version"),
            ("UPDATE schema_migrations SET checksum = 'other'", "another migration 1"),
            ("UPDATE schema_migrations SET checksum = 'other' WHERE version = 2", "another migration 2"),
            ("DROP TABLE schema_migrations", "another migration 1"),
        ],
    )
    def test_a_database_of_another_make_is_refused(self, tmp_path: Path, tampering: str, told: str) -> None:
        Store(tmp_path / "history", NOW).close()
        database = sqlite3.connect(tmp_path / "history" / "history.sqlite", isolation_level=None)
        database.execute(tampering)
        database.close()
        with pytest.raises(Unavailable) as caught:
            Store(tmp_path / "history", NOW)
        assert told in caught.value.reason

    def test_one_that_is_up_to_date_is_opened_without_a_lock(self, tmp_path: Path) -> None:
        with Store(tmp_path / "history", NOW) as store, store._db.writing(), Store(tmp_path / "history", NOW) as other:
            assert other.counts().observations == 0


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("there", [False, True])
def test_a_look_where_nothing_was_recorded_makes_nothing(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "history"
    if there:
        folder.mkdir(mode=0o700)
    assert Store.reading(folder) is None
    assert activity.observations(folder) == []
    assert folder.exists() is there
    assert not there or listing(folder) == {}


def test_a_look_changes_nothing_and_cannot(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with Store(folder, NOW) as store:
        store.add([admitted(1)])
    before = listing(folder)["history.sqlite"]
    reader = Store.reading(folder)
    assert reader is not None
    with reader:
        assert [row.seq for row in reader.observations()] == [1]
        with pytest.raises(Unavailable) as caught:
            reader.add([admitted(2)])
        assert caught.value.reason.startswith("storage-failed")
    assert listing(folder)["history.sqlite"] == before


def test_a_look_neither_waits_for_a_writer_nor_holds_one_up(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with Store(folder, NOW) as store:
        store.add([admitted(1)])
        store._db.execute("PRAGMA busy_timeout = 0")
        with store._db.writing():
            assert [row.seq for row in activity.observations(folder)] == [1]
        reader = Store.reading(folder)
        assert reader is not None
        with reader:
            rows = reader._db.execute("SELECT seq FROM (SELECT collector_seq AS seq FROM observations)")
            assert next(rows) == (1,)  # in the middle of a read
            assert store.add([admitted(2)]).stored == 1
        assert [row.seq for row in activity.observations(folder)] == [1, 2]


def test_a_look_leaves_the_locks_of_a_recording_in_the_same_process(tmp_path: Path) -> None:
    def locks() -> list[str]:
        inode = f":{(tmp_path / 'history' / 'history.sqlite').stat().st_ino} "
        return [line.split(":", 1)[1] for line in Path("/proc/locks").read_text().splitlines() if inode in line]

    with Store(tmp_path / "history", NOW) as store:
        store.add([admitted(1)])
        held = locks()
        assert held
        assert len(activity.observations(tmp_path / "history")) == 1
        assert locks() == held
        Store(tmp_path / "history", NOW).close()
        assert locks() == held


def test_a_look_at_another_version_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with Store(folder, NOW) as store:
        store._db.execute("PRAGMA user_version = 99")
    with pytest.raises(Unavailable) as caught:
        Store.reading(folder)
    assert "newer version" in caught.value.reason


def test_a_look_at_what_others_may_read_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    Store(folder, NOW).close()
    (folder / "history.sqlite").chmod(0o644)
    with pytest.raises(Unavailable) as caught:
        activity.observations(folder)
    assert "open to others" in caught.value.reason


def test_one_host_at_a_time_owns_a_directory(tmp_path: Path) -> None:
    first = Ownership(tmp_path)
    with pytest.raises(Unavailable) as caught:
        Ownership(tmp_path)
    assert caught.value.reason.startswith("capture-owned-by-another-host")
    first.release()
    Ownership(tmp_path).release()


def test_a_lock_that_cannot_be_taken_is_not_called_owned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(Unavailable) as caught:
        Ownership(tmp_path)
    assert "cannot lock" in caught.value.reason and os.strerror(errno.ENOLCK) in caught.value.reason
    (tmp_path / "capture-owner").unlink()
    (tmp_path / "capture-owner").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable) as caught:
        Ownership(tmp_path)
    assert os.strerror(errno.ELOOP) in caught.value.reason
