"""The one choke point: decides whether an observation may be stored. Nothing reaches storage except through `admit`.

The gates stand in the order that the protocol fixes, and the first that refuses names the reason. A verdict never carries a text of what it
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from ...errors import LocalProtocolError
from ...generated.collector.models import AdapterEntry
from ...generated.collector.vocabulary import DEFAULT_OBSERVATION_RETENTION_HOURS, MAX_FUTURE_MS, MAX_OBSERVATION_RETENTION_HOURS
from .adapter_table import BUILT_IN, AdapterTable
from .facts import Facts
from .policy import Policy, is_protected_app
from .protected_text import is_bare_file_name, is_protected_text, is_protected_title, is_secure_path
from .resources import Resource, UndecodableResource, derive

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


@dataclass(frozen=True, slots=True)
class Admitted:
    """May be stored, exactly as written here. `title` is None where the adapter suppresses titles."""

    facts: Facts
    adapter: AdapterEntry
    title: str | None
    resource: Resource | None
    policy_revision: int
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Must not be stored, and is counted under `reason`."""

    reason: Reason


def checked_retention(hours: int) -> int:
    """How long an observation is kept, in milliseconds. Raises LocalProtocolError (code `retention-hours`) unless it is 1 to 720 hours."""
    if type(hours) is not int or not 1 <= hours <= MAX_OBSERVATION_RETENTION_HOURS:
        raise LocalProtocolError(BAD_RETENTION, f"a whole number of hours from 1 to {MAX_OBSERVATION_RETENTION_HOURS}, not {hours!r}")
    return hours * HOUR_MS


def admit(facts: Facts, rules: Rulebook, now_ms: int, *, vouched_root: str | None = None) -> Admitted | Refused:
    """Judge one observation at wall-clock time `now_ms`. `vouched_root`: the workspace that a paired companion vouches for."""
    policy, companion = rules.policy, facts.provider == "companion"
    if facts.protected and facts.reason == "protected-app":
        return Refused("protected-app")
    if facts.protected and facts.reason == "protected-metadata":
        return Refused("protected-metadata")
    if facts.secure or facts.protected:
        return Refused("secure-field")
    if is_protected_app(facts.bundle_id):
        return Refused("protected-app")
    if _names_protected(facts, policy):
        return Refused("protected-metadata")
    adapter = rules.table.find(facts.bundle_id)
    if adapter is None:
        return Refused("not-an-adapter")
    try:
        resource = derive(facts.document, facts.url, adapter.document_resource_kind)
    except UndecodableResource:
        return Refused("bad-resource")
    if resource is None and facts.title is not None and is_bare_file_name(facts.title) and policy.has_resource_refusal:
        return Refused("unlocatable-name")
    if companion and vouched_root is not None and is_protected_text(vouched_root, policy.refuses_text):
        return Refused("protected-metadata")
    if resource is not None and resource.kind == "url" and not companion:
        return Refused("browser-unpaired")
    if resource is not None and resource.path is not None and is_secure_path(resource.path):
        return Refused("secure-path")
    if not policy.allows(facts.bundle_id, resource.texts if resource else (), ignore_case=facts.provider == "windows-uia"):
        return Refused("policy")
    if adapter.surface_kind == "browser" and not policy.consents("browser-origin", _origin(resource)):
        return Refused("policy")
    if adapter.surface_kind == "editor" and not policy.consents("editor-workspace", vouched_root if companion else None):
        return Refused("policy")
    if facts.observed_at_ms > now_ms + MAX_FUTURE_MS:
        return Refused("future-timestamp")
    expires_at_ms = facts.observed_at_ms + rules.retention_ms
    if expires_at_ms <= now_ms or expires_at_ms > MAX_SAFE_INTEGER:
        return Refused("expired")
    title = None if adapter.suppresses_window_title or adapter.surface_kind == "browser" else facts.title
    return Admitted(facts, adapter, title, resource, policy.revision, expires_at_ms)


_ORIGIN = re.compile(r"[a-z]+://[^/]+")


def _names_protected(facts: Facts, policy: Policy) -> bool:
    texts = (facts.document, facts.url, facts.identifier)
    return any(is_protected_text(text, policy.refuses_text) for text in texts if text is not None) or (
        facts.title is not None and is_protected_title(facts.title, policy.refuses_text)
    )


def _origin(resource: Resource | None) -> str | None:
    found = _ORIGIN.match(resource.uri) if resource is not None and resource.kind == "url" else None
    return f"{found[0]}/" if found else None
