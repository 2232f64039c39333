"""Keeps admitted observations and the policy in SQLite, `history.sqlite` in the data directory; the host is its only writer.

`Store(…)` opens it to write, `Store.reading` only to look, which changes nothing and holds nobody up.

It stores what `gates.admit` admitted and nothing else: `add` takes no other type. The folder is 0700 and every file in it 0600; a folder or
file that others may read is refused. Deleted rows are overwritten (`secure_delete`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...errors import Unavailable
from ...generated.collector.models import RuleAction, RuleDimension, RuleMatcher
from ...machines.collector.gates import Admitted
from ...machines.collector.policy import BUILT_IN_RULES, Policy, Rule
from ...machines.collector.resources import Resource

FILE_NAME = "history.sqlite"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. Its checksum is kept with it: a step that has been taken is never edited."""

    version: int
    name: str
    statements: tuple[str, ...]

    @property
    def checksum(self) -> str:
        """SHA-256 over the statements."""
        return hashlib.sha256("\n;\n".join(self.statements).encode()).hexdigest()


MIGRATIONS = (
    Migration(
        1,
        "initial",
        (
            """CREATE TABLE resources (
                 id INTEGER PRIMARY KEY AUTOINCREMENT,
                 kind TEXT NOT NULL CHECK (kind IN ('file', 'directory', 'url', 'document', 'workspace')),
                 canonical_uri TEXT NOT NULL,
                 display_label TEXT NOT NULL,
                 first_seen_at_ms INTEGER NOT NULL,
                 last_seen_at_ms INTEGER NOT NULL,
                 UNIQUE (kind, canonical_uri))""",
            """CREATE TABLE observations (
                 id INTEGER PRIMARY KEY AUTOINCREMENT,
                 collector_session TEXT NOT NULL,
                 collector_seq INTEGER NOT NULL,
                 observed_at_ms INTEGER NOT NULL,
                 pid INTEGER NOT NULL,
                 bundle_id TEXT NOT NULL,
                 app_name TEXT,
                 surface_kind TEXT NOT NULL,
                 window_title TEXT,
                 element_role TEXT,
                 element_subrole TEXT,
                 element_identifier TEXT,
                 resource_id INTEGER REFERENCES resources (id) ON DELETE SET NULL,
                 idle_seconds REAL,
                 source_provider TEXT NOT NULL,
                 source_adapter TEXT NOT NULL,
                 policy_revision INTEGER NOT NULL,
                 expires_at_ms INTEGER NOT NULL,
                 UNIQUE (collector_session, collector_seq))""",
            "CREATE INDEX observations_by_time ON observations (observed_at_ms DESC)",
            "CREATE INDEX observations_by_expiry ON observations (expires_at_ms)",
            "CREATE INDEX observations_by_app ON observations (bundle_id, observed_at_ms)",
            "CREATE INDEX observations_by_resource ON observations (resource_id, observed_at_ms)",
            """CREATE TABLE policy_state (
                 singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
                 revision INTEGER NOT NULL,
                 mode TEXT NOT NULL CHECK (mode IN ('include-only', 'exclude')),
                 updated_at_ms INTEGER NOT NULL)""",
            """CREATE TABLE policy_rules (
                 id TEXT PRIMARY KEY,
                 dimension TEXT NOT NULL CHECK (dimension IN ('app', 'resource')),
                 action TEXT NOT NULL CHECK (action IN ('allow', 'deny', 'protect')),
                 matcher TEXT NOT NULL CHECK (matcher IN ('exact', 'prefix', 'glob')),
                 pattern TEXT NOT NULL,
                 built_in INTEGER NOT NULL CHECK (built_in IN (0, 1)),
                 created_at_ms INTEGER NOT NULL,
                 updated_at_ms INTEGER NOT NULL)""",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class StoredObservation:
    """One row as it is shown. `resource` is (kind, canonical URI, label), or None."""

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


_SHOWN = """SELECT o.id, collector_session, collector_seq, observed_at_ms, pid, bundle_id, app_name, surface_kind, window_title,
  element_role, element_subrole, element_identifier, idle_seconds, source_provider, source_adapter, policy_revision, expires_at_ms,
  kind, canonical_uri, display_label
  FROM observations AS o LEFT JOIN resources AS r ON r.id = o.resource_id"""

_INSERT = """INSERT INTO observations (collector_session, collector_seq, observed_at_ms, pid, bundle_id, app_name, surface_kind,
  window_title, element_role, element_subrole, element_identifier, resource_id, idle_seconds, source_provider, source_adapter,
  policy_revision, expires_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (collector_session, collector_seq) DO NOTHING"""

_UPSERT_RESOURCE = """INSERT INTO resources (kind, canonical_uri, display_label, first_seen_at_ms, last_seen_at_ms) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (kind, canonical_uri) DO UPDATE SET display_label = excluded.display_label,
    first_seen_at_ms = min(first_seen_at_ms, excluded.first_seen_at_ms), last_seen_at_ms = max(last_seen_at_ms, excluded.last_seen_at_ms)
  RETURNING id"""


class Store:
    """The open database. Use as a context manager, or `close` it. Not for use from two threads."""

    def __init__(self, data_dir: Path, now_ms: int) -> None:
        """Open, or make, the database of `data_dir`. Raises Unavailable with the remedy."""
        private_folder(data_dir)
        self.path = data_dir / FILE_NAME
        _private_file(self.path)
        self._connect("rw")
        with self._usable():
            for pragma in (
                "busy_timeout = 5000",
                "journal_mode = WAL",
                "foreign_keys = ON",
                "secure_delete = ON",
                "synchronous = NORMAL",
            ):
                self._db.execute(f"PRAGMA {pragma}").fetchall()
            self._migrate(now_ms)

    @classmethod
    def reading(cls, data_dir: Path) -> Store | None:
        """Open the database of `data_dir` to look only; None where nothing has been recorded. Raises Unavailable.

        It makes no database and takes no lock that a recording host would wait for. Where no host records, SQLite may leave an empty `-wal`
        and `-shm` file, which the next one takes over.
        """
        path = data_dir / FILE_NAME
        try:
            _refuse_shared(data_dir, data_dir.stat(), "0700", "chmod 700")
            _refuse_unfit(path, path.lstat())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"cannot open {path}: {error.strerror}", "check the data directory") from None
        store = cls.__new__(cls)
        store.path = path
        store._connect("ro")
        with store._usable():
            store._db.execute("PRAGMA busy_timeout = 5000").fetchall()
            version = store._version()
            if version == MIGRATIONS[-1].version:
                return store
            if version:
                raise Unavailable(f"{path} was written by an older version ({version})", "record into it once to bring it up to date")
        store.close()  # its host has just made the file
        return None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write everything back and let the file go."""
        self._db.close()

    def add(self, batch: Iterable[Admitted]) -> int:
        """Store admitted observations in one transaction, and return how many are new: a (session, seq) that is known is left as it is."""
        with self._writing():
            return sum(self._add(admitted) for admitted in batch)

    def observations(self, *, after_id: int = 0, limit: int = 1000) -> list[StoredObservation]:
        """The rows after `after_id`, in the order in which they were stored."""
        rows = self._db.execute(f"{_SHOWN} WHERE o.id > ? ORDER BY o.id LIMIT ?", (after_id, limit))
        return [_shown(row) for row in rows]

    def last_id(self) -> int:
        """The id of the last observation; 0 without any."""
        return int(self._db.execute("SELECT ifnull(max(id), 0) FROM observations").fetchone()[0])

    def sweep(self, now_ms: int) -> int:
        """Delete what has expired and the resources that nothing names any more; returns how many observations went."""
        with self._writing():
            gone = self._db.execute("DELETE FROM observations WHERE expires_at_ms <= ?", (now_ms,)).rowcount
            self._db.execute("DELETE FROM resources WHERE id NOT IN (SELECT resource_id FROM observations WHERE resource_id IS NOT NULL)")
        return gone

    def policy(self, now_ms: int) -> Policy:
        """The policy in force. A first use makes revision 1, with the built-in rules, which lets nothing in."""
        found = self._db.execute("SELECT revision, mode FROM policy_state").fetchone()
        if found is None:
            self.replace_policy(Policy(1, BUILT_IN_RULES), now_ms)
            return self.policy(now_ms)
        rules = self._db.execute("SELECT id, dimension, action, matcher, pattern, built_in FROM policy_rules ORDER BY built_in DESC, id")
        return Policy(found[0], tuple(_rule(*row) for row in rules), found[1])

    def replace_policy(self, policy: Policy, now_ms: int) -> None:
        """Put `policy` in the place of the one in force."""
        with self._writing():
            self._db.execute(
                "INSERT OR REPLACE INTO policy_state (singleton, revision, mode, updated_at_ms) VALUES (1, ?, ?, ?)",
                (policy.revision, policy.mode, now_ms),
            )
            created = dict(self._db.execute("SELECT id, created_at_ms FROM policy_rules"))
            self._db.execute("DELETE FROM policy_rules")
            self._db.executemany(
                "INSERT INTO policy_rules VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (rule.id, rule.dimension, rule.action, rule.matcher, rule.pattern, rule.built_in, created.get(rule.id, now_ms), now_ms)
                    for rule in policy.rules
                ),
            )

    def _add(self, admitted: Admitted) -> int:
        facts = admitted.facts
        known = self._db.execute(
            "SELECT 1 FROM observations WHERE collector_session = ? AND collector_seq = ?", (_text(facts.session), facts.seq)
        ).fetchone()
        if known:
            return 0
        resource = None if admitted.resource is None else self._resource(admitted.resource, facts.observed_at_ms)
        row: tuple[Any, ...] = (
            _text(facts.session),
            facts.seq,
            facts.observed_at_ms,
            facts.pid,
            _text(facts.bundle_id),
            _text(facts.app_name),
            admitted.adapter.surface_kind,
            _text(admitted.title),
            _text(facts.role),
            _text(facts.subrole),
            _text(facts.identifier),
            resource,
            facts.idle_seconds,
            facts.provider,
            admitted.adapter.id,
            admitted.policy_revision,
            admitted.expires_at_ms,
        )
        return self._db.execute(_INSERT, row).rowcount

    def _resource(self, resource: Resource, seen_at_ms: int) -> int:
        row = (resource.kind, resource.uri, _text(resource.label), seen_at_ms, seen_at_ms)
        return int(self._db.execute(_UPSERT_RESOURCE, row).fetchone()[0])

    def _connect(self, mode: Literal["ro", "rw"]) -> None:
        try:
            self._db = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise Unavailable(f"cannot open {self.path}: {error}", "check the data directory") from error

    @contextlib.contextmanager
    def _usable(self) -> Iterator[None]:
        """While it is being opened: whatever fails lets the file go, and what SQLite says is Unavailable."""
        try:
            yield
        except sqlite3.Error as error:
            self._db.close()
            raise Unavailable(f"{self.path} is no usable database: {error}", "move it away to start a new history") from error
        except Unavailable:
            self._db.close()
            raise

    def _version(self) -> int:
        """The last migration that was taken. Raises Unavailable for one that nobody here knows."""
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > MIGRATIONS[-1].version:
            raise Unavailable(f"{self.path} was written by a newer version ({version})", "update triptych, or use another data directory")
        return version

    def _migrate(self, now_ms: int) -> None:
        with self._writing():
            version = self._version()
            self._db.execute(
                """CREATE TABLE IF NOT EXISTS schema_migrations (
                     version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at_ms INTEGER NOT NULL)"""
            )
            taken = dict(self._db.execute("SELECT version, checksum FROM schema_migrations"))
            for migration in MIGRATIONS:
                if migration.version > version:
                    for statement in migration.statements:
                        self._db.execute(statement)
                    self._db.execute(
                        "INSERT INTO schema_migrations VALUES (?, ?, ?, ?)", (migration.version, migration.name, migration.checksum, now_ms)
                    )
                elif taken.get(migration.version) != migration.checksum:
                    raise Unavailable(
                        f"{self.path} was made by another migration {migration.version}", "move it away to start a new history"
                    )
            self._db.execute(f"PRAGMA user_version = {MIGRATIONS[-1].version}")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def private_folder(folder: Path) -> None:
    """Make sure that `folder` is there and only its owner's (0700). Raises Unavailable."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise Unavailable(f"cannot make the data directory {folder}: {error.strerror}", "choose another with --data") from error
    _refuse_shared(folder, found, "0700", "chmod 700")


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


def _refuse_unfit(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Unavailable(f"{path} is no file", "move it away to start a new history")
    _refuse_shared(path, found, "0600", "chmod 600")


def _refuse_shared(path: Path, found: os.stat_result, wanted: str, command: str) -> None:
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise Unavailable(f"{path} is open to others; it must be {wanted} and yours", f"{command} {path}")


def _shown(row: Sequence[Any]) -> StoredObservation:
    columns = (*row[:17], None if row[17] is None else tuple(row[17:]))
    return StoredObservation(*columns)


def _rule(identifier: str, dimension: RuleDimension, action: RuleAction, matcher: RuleMatcher, pattern: str, built_in: int) -> Rule:
    return Rule(identifier, dimension, action, matcher, pattern, bool(built_in))


def _text(text: str | None) -> str | None:
    """What SQLite can keep: a lone surrogate, which JSON allows and UTF-8 does not, is replaced."""
    return text if text is None or text.isascii() else text.encode("utf-8", "replace").decode()
