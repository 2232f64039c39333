"""Opens the SQLite file of the history: for its owner alone, in the promised way of writing, brought up to the present schema.

Used by the store, whose statements all run inside `writing` or `reading`. What SQLite says is told as Unavailable, whose reason begins with
a stable word: `storage-full`, `storage-locked`, `storage-corrupt` or `storage-failed`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from ...errors import Unavailable
from .migrations import MIGRATIONS, Migration

FILE_NAME = "history.sqlite"
BESIDE = ("-wal", "-shm", "-journal")

_PRAGMAS = ("foreign_keys = ON", "secure_delete = ON", "synchronous = NORMAL", "temp_store = MEMORY")
_CACHED_STATEMENTS = 256


class Database:
    """One connection. Not for use from two threads."""

    def __init__(self, path: Path, mode: Literal["ro", "rw"]) -> None:
        self.path = path
        self.looks_only = mode == "ro"
        try:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, cached_statements=_CACHED_STATEMENTS
            )
        except sqlite3.Error as error:
            raise Unavailable(f"cannot open {path}: {error}", "check the data directory") from error
        self._connection.create_function("casefold", 1, _casefold, deterministic=True)
        self._connection.create_function("folded_place", 2, folded_place, deterministic=True)
        self.execute = self._connection.execute
        self.executemany = self._connection.executemany

    @classmethod
    def writing_to(cls, data_dir: Path, now_ms: int) -> tuple[Database, int]:
        """Open, or make, the file in `data_dir`; gives the version that it had, too. Raises Unavailable with the remedy."""
        private_folder(data_dir)
        path = data_dir / FILE_NAME
        _private_file(path)
        _refuse_shared_beside(path)
        database = cls(path, "rw")
        with database._opening():
            database.execute("PRAGMA busy_timeout = 5000").fetchall()
            database._log_ahead()
            for pragma in _PRAGMAS:
                database.execute(f"PRAGMA {pragma}").fetchall()
            return database, database._migrate(now_ms)

    def _log_ahead(self) -> None:
        """Write ahead to a log. SQLite never waits here for another who does the same at that moment, whatever the busy timeout."""
        until = time.monotonic() + 5
        while True:
            try:
                self.execute("PRAGMA journal_mode = WAL").fetchall()
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.005)

    @classmethod
    def reading_from(cls, data_dir: Path) -> Database | None:
        """Open the file in `data_dir` to look only; None where nothing has been recorded. Raises Unavailable.

        It makes no database and takes no lock that a recording host would wait for. Where no host records, SQLite may leave an empty `-wal`
        and `-shm` file, which the next one takes over.
        """
        path = data_dir / FILE_NAME
        try:
            _refuse_shared(data_dir, data_dir.stat(), "0700", "chmod 700")
            _refuse_unfit(path, path.lstat())
            _refuse_shared_beside(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"cannot open {path}: {error.strerror}", "check the data directory") from None
        database = cls(path, "ro")
        with database._opening():
            database.execute("PRAGMA busy_timeout = 5000").fetchall()
            version = database._version()
            if version == MIGRATIONS[-1].version:
                return database
            if version:
                raise Unavailable(f"{path} was written by an older version ({version})", "record into it once to bring it up to date")
        database.close()  # its host has just made the file
        return None

    def close(self) -> None:
        """Write everything back and let the file go."""
        self._connection.close()

    def data_version(self) -> int:
        """A number that changes when another connection has written; inside a transaction as of its beginning."""
        return int(self.execute("PRAGMA data_version").fetchone()[0])

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, alone: it is committed at the end, or nothing of it is there. Raises Unavailable for what SQLite refuses."""
        with self._told():
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """One look: every statement in it sees the same state, and no writer waits. Raises Unavailable for what SQLite refuses."""
        with self._told():
            self.execute("BEGIN")
            try:
                yield
            finally:
                if self._connection.in_transaction:
                    self.execute("ROLLBACK")

    def compact(self) -> None:
        """Give the pages of what was deleted back, and empty the write-ahead log, if nobody else is in the way."""
        for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            with contextlib.suppress(sqlite3.Error):
                self.execute(statement).fetchall()

    def empty_log(self) -> None:
        """Take what was deleted out of the write-ahead log, too, unless someone looks at it now: then the next one does."""
        with contextlib.suppress(sqlite3.Error):
            self.execute("PRAGMA busy_timeout = 0").fetchall()
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.execute("PRAGMA busy_timeout = 5000").fetchall()

    @contextlib.contextmanager
    def patience(self, milliseconds: int) -> Iterator[None]:
        """Meanwhile, wait no longer than this for what another connection holds; it is 5 seconds otherwise."""
        self.execute(f"PRAGMA busy_timeout = {milliseconds}").fetchall()
        try:
            yield
        finally:
            self.execute("PRAGMA busy_timeout = 5000").fetchall()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise
            raise refusal from error

    def _refusal(self, error: sqlite3.Error) -> Unavailable | None:
        """What the disk, or someone else, refuses; None for a fault of ours, such as a statement that is none."""
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_FULL:
                return Unavailable(f"storage-full: {self.path}: {error}", "make room on its disk")
            case sqlite3.SQLITE_IOERR if not _room(self.path):
                return Unavailable(f"storage-full: {self.path}: {error}", "make room on its disk")
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return Unavailable(f"storage-locked: {self.path}: {error}", "end what holds it")
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return Unavailable(f"storage-corrupt: {self.path}: {error}", "move it away to start a new history")
            case 0 | sqlite3.SQLITE_ERROR | sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_MISMATCH | sqlite3.SQLITE_MISUSE:
                return None
            case _:
                return Unavailable(f"storage-failed: {self.path}: {error}", "check its disk")

    @contextlib.contextmanager
    def _opening(self) -> Iterator[None]:
        """Whatever fails lets the file go."""
        try:
            with self._told():
                yield
        except BaseException:
            self.close()
            raise

    def _version(self) -> int:
        """The last migration that was taken. Raises Unavailable for one that nobody here knows."""
        version = int(self.execute("PRAGMA user_version").fetchone()[0])
        if version > MIGRATIONS[-1].version:
            raise Unavailable(f"{self.path} was written by a newer version ({version})", "update triptych, or use another data directory")
        return version

    def _migrate(self, now_ms: int) -> int:
        found = self._version()
        for migration in MIGRATIONS:
            if migration.version <= found:
                self._verify(migration)
                continue
            # What rebuilds a table may not look like a deletion of its rows to those that refer to them. No transaction can switch that.
            self.execute(f"PRAGMA foreign_keys = {'OFF' if migration.rebuilds_tables else 'ON'}")
            try:
                with self.writing():
                    if self._version() < migration.version:
                        self._take(migration, now_ms)
                    else:  # another process was faster
                        self._verify(migration)
            finally:
                self.execute("PRAGMA foreign_keys = ON")
        return found

    def _verify(self, migration: Migration) -> None:
        """Make sure that a step was taken as it stands here."""
        known = self.execute("SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'").fetchone() == (1,)
        taken = known and self.execute("SELECT checksum FROM schema_migrations WHERE version = ?", (migration.version,)).fetchone()
        if taken != (migration.checksum,):
            raise Unavailable(f"{self.path} was made by another migration {migration.version}", "move it away to start a new history")

    def _take(self, migration: Migration, now_ms: int) -> None:
        """Take one step. The lock is held: nobody else can be half-way."""
        self.execute(
            """CREATE TABLE IF NOT EXISTS schema_migrations (
                 version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL)"""
        )
        for statement in migration.statements:
            self.execute(statement)
        if migration.rebuilds_tables and (broken := self.execute("PRAGMA foreign_key_check").fetchone()):
            raise Unavailable(
                f"storage-corrupt: {self.path}: {broken[0]} refers to what is not there", "move it away to start a new history"
            )
        row: tuple[Any, ...] = (migration.version, migration.name, migration.checksum, now_ms)
        self.execute("INSERT INTO schema_migrations VALUES (?, ?, ?, ?)", row)
        self.execute(f"PRAGMA user_version = {migration.version}")


def folded_place(uri: str, label: str) -> str:
    """What a resource is searched in: its label and its decoded URI, in no particular case."""
    return f"{label}\n{unquote(uri)}".casefold()


def private_folder(folder: Path) -> None:
    """Make sure that `folder` is there and only its owner's (0700). Raises Unavailable."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise Unavailable(f"cannot make the data directory {folder}: {error.strerror}", "choose another with --data") from error
    _refuse_shared(folder, found, "0700", "chmod 700")


def _casefold(text: str | None) -> str | None:
    return None if text is None else text.casefold()


def _room(path: Path) -> bool:
    """Whether its disk has any left; when nobody can say, it has."""
    try:
        return os.statvfs(path.parent).f_bavail > 0
    except OSError:
        return True


def _private_file(path: Path) -> None:
    """Make the file with 0600 before SQLite opens it; SQLite then gives its -wal and -shm files the same mode.

    A file that is there already is looked at without opening it: closing any descriptor of it would drop the locks that another
    connection of this process holds.
    """
    try:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            found = path.lstat()
        else:
            found = os.fstat(descriptor)
            os.close(descriptor)
    except OSError as error:
        raise Unavailable(f"cannot open {path}: {error.strerror}", "check the data directory") from error
    _refuse_unfit(path, found)


def _refuse_shared_beside(path: Path) -> None:
    """The write-ahead log holds what the file will hold: nobody else may read it either."""
    for suffix in BESIDE:
        beside = path.with_name(path.name + suffix)
        with contextlib.suppress(FileNotFoundError):
            _refuse_unfit(beside, beside.lstat())


def _refuse_unfit(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Unavailable(f"{path} is no file", "move it away to start a new history")
    _refuse_shared(path, found, "0600", "chmod 600")


def _refuse_shared(path: Path, found: os.stat_result, wanted: str, command: str) -> None:
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise Unavailable(f"{path} is open to others; it must be {wanted} and yours", f"{command} {path}")
