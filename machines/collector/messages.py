"""Reads what a collector says, and holds it to the rules of its session; the host feeds it every line.

Beyond the shape of a message: hello first and once; one session; a provider that fits the platform of the hello; a sequence that never goes
back. An exact repeat of one of the last 1,024 observations is dropped and counted, not refused. The first broken rule ends the session:
there is no skipping of a bad line, since a collector whose output cannot be read is one whose silence means nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from ...errors import RemoteProtocolError
from ...generated.collector.models import (
    CollectorMessage,
    CollectorState,
    Configured,
    Diagnostic,
    Fatal,
    Hello,
    NativeProvider,
    Observation,
    ObservedActivity,
    ObservedElement,
    ObservedWindow,
)
from ...generated.collector.vocabulary import (
    MAX_ADAPTER_BYTES,
    MAX_APP_BYTES,
    MAX_ROLE_BYTES,
    MAX_TEXT_BYTES,
    PROVIDER_OF_PLATFORM,
    REPEAT_WINDOW,
)
from ..wire.read import Reader
from ..wire.text import COLLECTOR, FAULT_KINDS
from .facts import Facts
from .unknown_fields import UnknownFields

WIDEST = 4  # bytes of one character in UTF-8


def sizes_hold(body: bytes, message: CollectorMessage, _: Mapping[str, int]) -> bool:
    """Whether a decoded message surely keeps its bounds in bytes: msgspec has counted characters. The walker judges what this is unsure of.

    An escape in the body is never shorter than what it stands for, so no text is longer than the line.
    """
    if not isinstance(message, Observation):
        return len(body) <= MAX_TEXT_BYTES
    if message.workspace is not UNSET:
        return False
    if body.isascii() and b"\\u" not in body:
        return True
    app, window, element = message.app, message.window or _NO_WINDOW, message.element or _NO_ELEMENT
    return (
        _short(MAX_APP_BYTES, app.bundle_id, app.name)
        and _short(MAX_TEXT_BYTES, message.collector_session, window.title, window.document, window.url, message.privacy.reason)
        and _short(MAX_ROLE_BYTES, element.role, element.subrole, element.identifier)
        and _short(MAX_ADAPTER_BYTES, message.source.adapter)
    )


def _short(bound: int, *texts: str | UnsetType | None) -> bool:
    for text in texts:  # noqa: SIM110 - a generator costs twice as much, and this is asked of every line
        if text and len(text) * WIDEST > bound:
            return False
    return True


COLLECTOR_MESSAGES: Reader[CollectorMessage] = Reader(
    "collector", "CollectorMessage", replace(COLLECTOR, codes=dict.fromkeys(FAULT_KINDS, "invalid-json")), fast_gate=sizes_hold
)

_NO_WINDOW, _NO_ELEMENT, _NO_ACTIVITY = ObservedWindow(), ObservedElement(), ObservedActivity()


@dataclass(frozen=True, slots=True)
class Observed:
    """An observation that kept every rule, its provider filled in from the hello."""

    facts: Facts


@dataclass(frozen=True, slots=True)
class Repeated:
    """An observation that had arrived before, to be counted and dropped."""


Heard: TypeAlias = Hello | Observed | Repeated | CollectorState | Configured | Diagnostic | Fatal


class HostSession:
    """One collector process as its host hears it. `unknown_fields` is shared by all sessions of a host."""

    def __init__(self, unknown_fields: UnknownFields) -> None:
        self.hello: Hello | None = None
        self._unknown_fields = unknown_fields
        self._provider: NativeProvider | None = None
        self._last = -1
        # Sequence number to hash of the facts: enough to tell a repeat from a conflict without keeping what was seen.
        self._recent: OrderedDict[int, int] = OrderedDict()

    def receive(self, line: bytes) -> Heard:
        """Read one line. Raises RemoteProtocolError with the protocol's code; nothing of the line has been applied then."""
        message, unknown = COLLECTOR_MESSAGES.read_reporting(line)
        if unknown:
            self._unknown_fields.take(unknown)
        if isinstance(message, Hello):
            if self.hello is not None:
                raise RemoteProtocolError("duplicate-hello", "a collector says hello once")
            self.hello = message
            self._provider = cast(NativeProvider, PROVIDER_OF_PLATFORM[message.platform])
            return message
        if self.hello is None:
            raise RemoteProtocolError("hello-required", f"a collector says hello first, not {type(message).__name__.lower()}")
        return self._observed(message, self.hello) if isinstance(message, Observation) else message

    def _observed(self, message: Observation, hello: Hello) -> Observed | Repeated:
        if message.collector_session != hello.collector_session:
            raise RemoteProtocolError("session-mismatch", "another session than the hello's", "collectorSession")
        facts = _facts(message)
        provider = self._provider
        if facts.provider not in (None, provider):
            raise RemoteProtocolError(
                "provider-mismatch", f"{facts.provider} cannot come from a collector on {hello.platform}", "source.provider"
            )
        digest = hash(facts)
        known = self._recent.get(facts.seq)
        if known == digest:
            return Repeated()
        if known is not None:
            raise RemoteProtocolError("sequence-conflict", f"sequence number {facts.seq} came with another content before", "seq")
        if facts.seq < self._last:
            raise RemoteProtocolError("sequence-regression", f"sequence number {facts.seq} after {self._last}", "seq")
        self._last = facts.seq
        self._recent[facts.seq] = digest
        if len(self._recent) > REPEAT_WINDOW:
            self._recent.popitem(last=False)
        return Observed(facts if facts.provider else msgspec.structs.replace(facts, provider=provider))


def _facts(message: Observation) -> Facts:
    """Absent is None, as null is. Written out, since this is done for every observation."""
    window, element = message.window or _NO_WINDOW, message.element or _NO_ELEMENT
    activity = message.activity or _NO_ACTIVITY
    return Facts(
        session=message.collector_session,
        seq=message.seq,
        observed_at_ms=message.observed_at_ms,
        pid=message.app.pid,
        bundle_id=message.app.bundle_id,
        app_name=message.app.name if message.app.name is not UNSET else None,
        title=window.title if window.title is not UNSET else None,
        document=window.document if window.document is not UNSET else None,
        url=window.url if window.url is not UNSET else None,
        role=element.role if element.role is not UNSET else None,
        subrole=element.subrole if element.subrole is not UNSET else None,
        identifier=element.identifier if element.identifier is not UNSET else None,
        idle_seconds=activity.idle_seconds if activity.idle_seconds is not UNSET else None,
        secure=message.privacy.secure,
        protected=message.privacy.protected,
        reason=message.privacy.reason if message.privacy.reason is not UNSET else None,
        adapter=message.source.adapter,
        provider=message.source.provider or None,
    )
