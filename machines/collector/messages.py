"""Reads what a collector says, and holds it to the rules of its session; the host feeds it every line.

Beyond the shape of a message: hello first and once; one session; a provider that fits the platform of the hello; a sequence that never goes
back. An exact repeat of one of the last 1,024 observations is dropped and counted, not refused. The first broken rule ends the session:
there is no skipping of a bad line, since a collector whose output cannot be read is one whose silence means nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, cast

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
from ...generated.collector.vocabulary import PROVIDER_OF_PLATFORM, REPEAT_WINDOW
from ..wire.read import Reader
from ..wire.text import COLLECTOR, FAULT_KINDS
from .facts import Facts
from .unknown_fields import UnknownFields

COLLECTOR_MESSAGES: Reader[CollectorMessage] = Reader(
    "collector", "CollectorMessage", replace(COLLECTOR, codes=dict.fromkeys(FAULT_KINDS, "invalid-json"))
)

_NO_WINDOW, _NO_ELEMENT, _NO_ACTIVITY = ObservedWindow(), ObservedElement(), ObservedActivity()
T = TypeVar("T")


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
            return message
        if self.hello is None:
            raise RemoteProtocolError("hello-required", f"a collector says hello first, not {type(message).__name__.lower()}")
        return self._observed(message, self.hello) if isinstance(message, Observation) else message

    def _observed(self, message: Observation, hello: Hello) -> Observed | Repeated:
        if message.collector_session != hello.collector_session:
            raise RemoteProtocolError("session-mismatch", "another session than the hello's", "collectorSession")
        facts = _facts(message)
        provider = cast(NativeProvider, PROVIDER_OF_PLATFORM[hello.platform])
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
    window, element = message.window or _NO_WINDOW, message.element or _NO_ELEMENT
    activity = message.activity or _NO_ACTIVITY
    return Facts(
        session=message.collector_session,
        seq=message.seq,
        observed_at_ms=message.observed_at_ms,
        pid=message.app.pid,
        bundle_id=message.app.bundle_id,
        app_name=_given(message.app.name),
        title=_given(window.title),
        document=_given(window.document),
        url=_given(window.url),
        role=_given(element.role),
        subrole=_given(element.subrole),
        identifier=_given(element.identifier),
        idle_seconds=_given(activity.idle_seconds),
        secure=message.privacy.secure,
        protected=message.privacy.protected,
        reason=_given(message.privacy.reason),
        adapter=message.source.adapter,
        provider=message.source.provider or None,
    )


def _given(value: T | UnsetType) -> T | None:
    """Absent is None, as null is."""
    return None if value is UNSET else value
