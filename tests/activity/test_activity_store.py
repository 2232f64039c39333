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
from triptych.adapters.collector.ownership import Ownership
from triptych.adapters.collector.store import MIGRATIONS, Store
from triptych.engine import activity
from triptych.errors import Unavailable
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
        assert store.add([admitted(1), admitted(2), admitted(1, title="Another")]) == 2
        assert store.add([admitted(2), admitted(3)]) == 1
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
        assert store.add([admitted(1)]) == 1


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
        assert store.add([admitted(1, session="s\udc80")]) == 0


def test_what_has_expired_is_deleted_and_its_bytes_are_gone(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with Store(folder, NOW) as store:
        store.add(
            [admitted(1, NOW, title="A title to forget", document="/work/forgotten.py"), admitted(2, NOW + 10, title="A title to keep")]
        )
        assert store.sweep(NOW + DEFAULT_RETENTION_MS - 1) == 0
        assert store.sweep(NOW + DEFAULT_RETENTION_MS) == 1
        assert [row.title for row in store.observations()] == ["A title to keep"]
    everything = every_byte(folder)
    assert b"A title to keep" in everything
    assert b"A title to forget" not in everything and b"forgotten.py" not in everything


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

    @pytest.mark.parametrize(
        ("tampering", "told"),
        [("PRAGMA user_version = 99", "newer version"), ("UPDATE schema_migrations SET checksum = 'other'", "another migration")],
    )
    def test_a_database_of_another_make_is_refused(self, tmp_path: Path, tampering: str, told: str) -> None:
        Store(tmp_path / "history", NOW).close()
        database = sqlite3.connect(tmp_path / "history" / "history.sqlite", isolation_level=None)
        database.execute(tampering)
        database.close()
        with pytest.raises(Unavailable) as caught:
            Store(tmp_path / "history", NOW)
        assert told in caught.value.reason


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
        with pytest.raises(sqlite3.OperationalError):
            reader.add([admitted(2)])
    assert listing(folder)["history.sqlite"] == before


def test_a_look_neither_waits_for_a_writer_nor_holds_one_up(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with Store(folder, NOW) as store:
        store.add([admitted(1)])
        store._db.execute("PRAGMA busy_timeout = 0")
        with store._writing():
            assert [row.seq for row in activity.observations(folder)] == [1]
        reader = Store.reading(folder)
        assert reader is not None
        with reader:
            rows = reader._db.execute("SELECT seq FROM (SELECT collector_seq AS seq FROM observations)")
            assert next(rows) == (1,)  # in the middle of a read
            assert store.add([admitted(2)]) == 1
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
