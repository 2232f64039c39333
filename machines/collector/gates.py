"""The one choke point: decides whether an observation may be stored. Nothing reaches storage except through `admit`.

The gates stand in the order that the protocol fixes, and the first that refuses names the reason. A verdict never carries a text of what it
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, get_args

import msgspec

from ...errors import LocalProtocolError
from ...generated.collector.models import ActivityEvent, AdapterEntry
from ...generated.collector.vocabulary import DEFAULT_OBSERVATION_RETENTION_HOURS, MAX_FUTURE_MS, MAX_OBSERVATION_RETENTION_HOURS
from .adapter_table import BUILT_IN, AdapterTable
from .consents import canonical_workspace
from .facts import Facts
from .policy import Policy, is_protected_app
from .protected_text import is_bare_file_name, is_protected_text, is_protected_title, is_secure_path
from .resources import Resource, UndecodableResource, derive
from .workspaces import Workspace, vouched_workspace

SurfaceKind = Literal["editor", "diff", "terminal", "output", "browser", "document", "window"]
Reason = Literal[
    "protected-app",
    "secure-field",
    "protected-metadata",
    "not-an-adapter",
    "unlocatable-name",
    "browser-unpaired",
    "bad-resource",
    "secure-path",
    "policy",
    "future-timestamp",
    "expired",
    "duplicate",
    "deleted-range",
    "capture-disabled",
    "capture-not-owned",
    "capture-paused",
    "collector-not-running",
]

HOUR_MS = 3_600_000
DEFAULT_RETENTION_MS = DEFAULT_OBSERVATION_RETENTION_HOURS * HOUR_MS
BAD_RETENTION = "retention-hours"
MAX_SAFE_INTEGER = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Rulebook:
    """What observations are judged by: the live policy, the adapter table, and how long an observation is kept."""

    policy: Policy = field(default_factory=Policy)
    table: AdapterTable = BUILT_IN
    retention_ms: int = DEFAULT_RETENTION_MS


class Admitted(msgspec.Struct, frozen=True, gc=False):
    """May be stored, exactly as written here. `title` is None where the adapter suppresses titles."""

    facts: Facts
    adapter: AdapterEntry
    title: str | None
    resource: Resource | None
    policy_revision: int
    expires_at_ms: int
    workspace: Workspace | None = None
    activity_event: ActivityEvent | None = None

    @property
    def surface_kind(self) -> SurfaceKind:
        """The kind of surface, as an editor companion says or as the adapter stands for."""
        said = self.facts.surface_kind if self.facts.provider == "companion" else None
        return said or self.adapter.surface_kind


@dataclass(frozen=True, slots=True)
class Refused:
    """Must not be stored, and is counted under `reason`."""

    reason: Reason


_REFUSED: dict[Reason, Refused] = {reason: Refused(reason) for reason in get_args(Reason)}


def checked_retention(hours: int) -> int:
    """How long an observation is kept, in milliseconds. Raises LocalProtocolError (code `retention-hours`) unless it is 1 to 720 hours."""
    if type(hours) is not int or not 1 <= hours <= MAX_OBSERVATION_RETENTION_HOURS:
        raise LocalProtocolError(BAD_RETENTION, f"a whole number of hours from 1 to {MAX_OBSERVATION_RETENTION_HOURS}, not {hours!r}")
    return hours * HOUR_MS


def admit(facts: Facts, rules: Rulebook, now_ms: int, *, vouched_root: str | None = None) -> Admitted | Refused:
    """Judge one observation at wall-clock time `now_ms`. `vouched_root`: the workspace that a paired editor companion vouches for.

    Only a companion's root is looked at, whoever hands one over.
    """
    policy, companion = rules.policy, facts.provider == "companion"
    root = vouched_root if companion else None
    if facts.protected and facts.reason == "protected-app":
        return _REFUSED["protected-app"]
    if facts.protected and facts.reason == "protected-metadata":
        return _REFUSED["protected-metadata"]
    if facts.secure or facts.protected:
        return _REFUSED["secure-field"]
    if is_protected_app(facts.bundle_id):
        return _REFUSED["protected-app"]
    if _names_protected(facts, policy):
        return _REFUSED["protected-metadata"]
    adapter = rules.table.find(facts.bundle_id)
    if adapter is None:
        return _REFUSED["not-an-adapter"]
    try:
        resource = derive(facts.document, facts.url, adapter.document_resource_kind)
    except UndecodableResource:
        return _REFUSED["bad-resource"]
    if resource is None and facts.title is not None and policy.has_resource_refusal and is_bare_file_name(facts.title):
        return _REFUSED["unlocatable-name"]
    if root is not None and is_protected_text(root, policy.refuses_text):
        return _REFUSED["protected-metadata"]
    if resource is not None:
        if resource.kind == "url" and not companion:
            return _REFUSED["browser-unpaired"]
        # A path that came as it is has passed the same questions already, as the text of the document.
        if resource.path is not None and resource.path != facts.document and is_secure_path(resource.path):
            return _REFUSED["secure-path"]
        if any(text != facts.document and policy.refuses_text(text) for text in resource.texts):
            return _REFUSED["policy"]
    if not policy.allows_app(facts.bundle_id, ignore_case=facts.provider == "windows-uia"):
        return _REFUSED["policy"]
    if adapter.surface_kind == "browser" and not policy.consents("browser-origin", _origin(resource)):
        return _REFUSED["policy"]
    folder = None if root is None else canonical_workspace(root)
    # Whatever application an editor companion declares: where it vouches for a workspace, that workspace must have been agreed to.
    if (adapter.surface_kind == "editor" or root is not None) and not policy.consents("editor-workspace", folder):
        return _REFUSED["policy"]
    if facts.observed_at_ms > now_ms + MAX_FUTURE_MS:
        return _REFUSED["future-timestamp"]
    expires_at_ms = facts.observed_at_ms + rules.retention_ms
    if expires_at_ms <= now_ms or expires_at_ms > MAX_SAFE_INTEGER:
        return _REFUSED["expired"]
    return Admitted(
        facts,
        adapter,
        None if _hides_title(adapter, facts) else facts.title,
        resource,
        policy.revision,
        expires_at_ms,
        None if folder is None else vouched_workspace(folder),
        facts.activity_event if companion else None,
    )


def placed(admitted: Admitted, workspace: Workspace, policy: Policy) -> Admitted:
    """The same in the workspace that the host has found, unless a rule or its own name protects the folder: then in none."""
    if is_protected_text(workspace.root, policy.refuses_text):
        return admitted
    return msgspec.structs.replace(admitted, workspace=workspace)


_ORIGIN = re.compile(r"[a-z]+://[^/]+")


def _names_protected(facts: Facts, policy: Policy) -> bool:
    texts = (facts.document, facts.url, facts.identifier)
    return any(is_protected_text(text, policy.refuses_text) for text in texts if text is not None) or (
        facts.title is not None and is_protected_title(facts.title, policy.refuses_text)
    )


def _hides_title(adapter: AdapterEntry, facts: Facts) -> bool:
    return adapter.suppresses_window_title or adapter.surface_kind == "browser" or facts.surface_kind in ("terminal", "output")


def _origin(resource: Resource | None) -> str | None:
    found = _ORIGIN.match(resource.uri) if resource is not None and resource.kind == "url" else None
    return f"{found[0]}/" if found else None
