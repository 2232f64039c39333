"""What the manager lifecycle asks its host to do with the process, the health that is shown and the ownership; `controls` has the rest."""

from __future__ import annotations

from dataclasses import dataclass

from ...generated.collector.models import CollectorStateName, ShutdownReason
from ..lifecycle import Effect


@dataclass(frozen=True, slots=True)
class Spawn(Effect):
    """Start the collector process; step `spawned` or `spawn_failed`, and later `exited`."""


@dataclass(frozen=True, slots=True)
class SendShutdown(Effect):
    """Write `shutdown`; that it cannot be written does not matter."""

    reason: ShutdownReason


@dataclass(frozen=True, slots=True)
class CloseStdin(Effect):
    """Close the collector's standard input, after what is written."""


@dataclass(frozen=True, slots=True)
class Terminate(Effect):
    """Ask the process, and all it started, to end; with `force` end it."""

    force: bool = False


@dataclass(frozen=True, slots=True)
class ReportState(Effect):
    """Show the collector's own word about itself."""

    state: CollectorStateName
    trusted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ReportDegraded(Effect):
    """Show `degraded` with this reason; `detail` is a sentence for people.

    `quoted`: both are the collector's own words, which may hold anything and belong in no log.
    """

    reason: str
    detail: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseOwnership(Effect):
    """Let another host of this data directory capture."""


@dataclass(frozen=True, slots=True)
class DrainMessages(Effect):
    """Give what is still being handled up to `within` seconds to be stored."""

    within: float
