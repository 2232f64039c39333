"""The steps by which the database came to its present shape. A step that was shipped is never edited: a new one follows it.

`database` takes them in order, each in one transaction, and keeps the checksum of each with it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. `rebuilds_tables`: foreign keys are off while it runs, and checked before it is committed."""

    version: int
    name: str
    statements: tuple[str, ...]
    rebuilds_tables: bool = False

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
    # Titles move to a table of their own, which is what a search looks through, and each observation says of which episode it is:
    # `episode_id` names the episode that it joined, or that it passed by as a detour. An episode begins with the observation that its
    # session and sequence number name, and is `complete` while all its observations are there.
    Migration(
        2,
        "episodes",
        (
            """CREATE TABLE titles (
                 id INTEGER PRIMARY KEY,
                 title TEXT NOT NULL UNIQUE,
                 folded TEXT NOT NULL,
                 last_seen_at_ms INTEGER NOT NULL)""",
            """INSERT INTO titles (title, folded, last_seen_at_ms)
                 SELECT window_title, casefold(window_title), max(observed_at_ms) FROM observations
                 WHERE window_title IS NOT NULL GROUP BY window_title""",
            "ALTER TABLE resources ADD COLUMN folded TEXT NOT NULL DEFAULT ''",
            "UPDATE resources SET folded = folded_place(canonical_uri, display_label)",
            """CREATE TABLE observations_2 (
                 id INTEGER PRIMARY KEY AUTOINCREMENT,
                 collector_session TEXT NOT NULL,
                 collector_seq INTEGER NOT NULL,
                 observed_at_ms INTEGER NOT NULL,
                 pid INTEGER NOT NULL,
                 bundle_id TEXT NOT NULL,
                 app_name TEXT,
                 surface_kind TEXT NOT NULL,
                 title_id INTEGER REFERENCES titles (id) ON DELETE SET NULL,
                 element_role TEXT,
                 element_subrole TEXT,
                 element_identifier TEXT,
                 resource_id INTEGER REFERENCES resources (id) ON DELETE SET NULL,
                 workspace_id TEXT,
                 workspace_root TEXT,
                 workspace_title TEXT,
                 workspace_source TEXT NOT NULL DEFAULT 'none'
                   CHECK (workspace_source IN ('dsh', 'git', 'filesystem', 'companion', 'none')),
                 workspace_confidence REAL NOT NULL DEFAULT 0 CHECK (workspace_confidence BETWEEN 0 AND 1),
                 idle_seconds REAL,
                 activity_event TEXT,
                 source_provider TEXT NOT NULL,
                 source_adapter TEXT NOT NULL,
                 policy_revision INTEGER NOT NULL,
                 expires_at_ms INTEGER NOT NULL,
                 episode_id TEXT,
                 detour INTEGER NOT NULL DEFAULT 0 CHECK (detour IN (0, 1)),
                 UNIQUE (collector_session, collector_seq))""",
            """INSERT INTO observations_2 (id, collector_session, collector_seq, observed_at_ms, pid, bundle_id, app_name, surface_kind,
                 title_id, element_role, element_subrole, element_identifier, resource_id, idle_seconds, source_provider, source_adapter,
                 policy_revision, expires_at_ms)
                 SELECT o.id, collector_session, collector_seq, observed_at_ms, pid, bundle_id, app_name, surface_kind,
                 t.id, element_role, element_subrole, element_identifier, resource_id, idle_seconds, source_provider, source_adapter,
                 policy_revision, expires_at_ms
                 FROM observations AS o LEFT JOIN titles AS t ON t.title = o.window_title ORDER BY o.id""",
            # An id that was given once is never given again, not even that of a deleted row.
            "DELETE FROM sqlite_sequence WHERE name = 'observations_2'",
            "INSERT INTO sqlite_sequence (name, seq) SELECT 'observations_2', seq FROM sqlite_sequence WHERE name = 'observations'",
            "DROP TABLE observations",
            "ALTER TABLE observations_2 RENAME TO observations",
            # Each index is written with each observation: there is none that only a deletion would use.
            "CREATE INDEX observations_by_time ON observations (observed_at_ms)",
            "CREATE INDEX observations_by_expiry ON observations (expires_at_ms)",
            "CREATE INDEX observations_by_resource ON observations (resource_id, observed_at_ms) WHERE resource_id IS NOT NULL",
            "CREATE INDEX observations_by_title ON observations (title_id, observed_at_ms) WHERE title_id IS NOT NULL",
            """CREATE TABLE episodes (
                 id TEXT PRIMARY KEY,
                 collector_session TEXT NOT NULL,
                 collector_seq INTEGER NOT NULL,
                 started_at_ms INTEGER NOT NULL,
                 ended_at_ms INTEGER NOT NULL CHECK (ended_at_ms >= started_at_ms),
                 start_reason TEXT NOT NULL,
                 end_reason TEXT NOT NULL,
                 primary_workspace_id TEXT,
                 primary_workspace_root TEXT,
                 primary_workspace_title TEXT,
                 primary_workspace_source TEXT,
                 primary_workspace_confidence REAL,
                 thread_key TEXT,
                 last_strong_at_ms INTEGER,
                 last_strong_resource_id INTEGER,
                 detour_since_ms INTEGER,
                 summary_kind TEXT NOT NULL DEFAULT 'deterministic' CHECK (summary_kind IN ('deterministic', 'local', 'remote')),
                 summary_text TEXT NOT NULL,
                 confidence REAL NOT NULL,
                 state TEXT NOT NULL DEFAULT 'closed' CHECK (state IN ('open', 'closed', 'invalidated')),
                 complete INTEGER NOT NULL DEFAULT 1 CHECK (complete IN (0, 1)),
                 created_at_ms INTEGER NOT NULL,
                 updated_at_ms INTEGER NOT NULL,
                 expires_at_ms INTEGER NOT NULL)""",
            "CREATE INDEX episodes_by_start ON episodes (started_at_ms)",
            """CREATE TABLE episode_surfaces (
                 episode_id TEXT NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
                 bundle_id TEXT NOT NULL,
                 surface_kind TEXT NOT NULL,
                 app_name TEXT,
                 title_id INTEGER REFERENCES titles (id) ON DELETE SET NULL,
                 first_seen_at_ms INTEGER NOT NULL,
                 last_seen_at_ms INTEGER NOT NULL,
                 observation_count INTEGER NOT NULL,
                 UNIQUE (episode_id, bundle_id, surface_kind))""",
            "CREATE INDEX episode_surfaces_by_title ON episode_surfaces (title_id)",
            """CREATE TABLE episode_resources (
                 episode_id TEXT NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
                 resource_id INTEGER NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
                 first_seen_at_ms INTEGER NOT NULL,
                 last_seen_at_ms INTEGER NOT NULL,
                 observation_count INTEGER NOT NULL,
                 UNIQUE (episode_id, resource_id))""",
            "CREATE INDEX episode_resources_by_resource ON episode_resources (resource_id)",
            """CREATE VIEW episode_observations (episode_id, observation_id) AS
                 SELECT episode_id, id FROM observations WHERE episode_id IS NOT NULL AND detour = 0""",
            """CREATE TABLE boundaries (
                 at_ms INTEGER NOT NULL,
                 reason TEXT NOT NULL CHECK (reason IN ('sleep', 'pause', 'idle')),
                 PRIMARY KEY (at_ms, reason)) WITHOUT ROWID""",
            """CREATE TABLE deletion_log (
                 id INTEGER PRIMARY KEY AUTOINCREMENT,
                 requested_at_ms INTEGER NOT NULL,
                 scope TEXT NOT NULL CHECK (scope IN ('time-range', 'episode', 'app', 'all')),
                 range_start_ms INTEGER,
                 range_end_ms INTEGER,
                 bundle_id TEXT,
                 observations_deleted INTEGER NOT NULL,
                 episodes_deleted INTEGER NOT NULL,
                 episodes_rebuilt INTEGER NOT NULL)""",
            """CREATE TABLE companion_pairing (
                 kind TEXT PRIMARY KEY CHECK (kind IN ('browser', 'editor')),
                 token_hash TEXT NOT NULL,
                 created_at_ms INTEGER NOT NULL)""",
            """CREATE TABLE retention_settings (
                 singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
                 observation_retention_hours INTEGER NOT NULL CHECK (observation_retention_hours BETWEEN 1 AND 720),
                 episode_retention_days INTEGER NOT NULL CHECK (episode_retention_days BETWEEN 1 AND 365),
                 updated_at_ms INTEGER NOT NULL)""",
        ),
        rebuilds_tables=True,
    ),
)
