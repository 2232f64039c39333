"""What the companion intake answers to a request: every check in the protocol's order, without a socket. The HTTP adapter asks it.

    head   1 place   2 host, origin   3 token   4 declared size
    body   4 size   5, 6 payload   7 kind of token   8 rate   9 private tab   10 stopping
    then   11 the delivery, which is the host's

The first check that fails is the answer; a request is asked for its body only when its head has passed. The order matters: who has no token
learns nothing about payloads, and an oversized body is refused before it is read.

An `Origin` is what a browser says about who asks. Web pages are refused, with or without a token; extensions are not, nor is `null`, by
which Firefox hides the id of an extension. No answer carries a CORS header, so a page can neither read one nor send a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import RemoteProtocolError
from ...generated.collector.models import BrowserPayload
from ...generated.collector.vocabulary import (
    COMPANION_REFUSAL,
    INTAKE_SENTENCES,
    INTAKE_STATUS,
    MAX_INTAKE_BODY_BYTES,
)
from .browser_payload import browser_facts
from .companion_payload import read
from .editor_payload import editor_facts
from .facts import Facts
from .pairing import CompanionKind, Pairing, digest
from .rate_limit import RateLimit
from .unknown_fields import UnknownFields

OBSERVATION = ("POST", "/companion/observation")
HEALTH = ("GET", "/companion/health")
EXTENSION_ORIGINS = ("chrome-extension://", "moz-extension://")


@dataclass(frozen=True, slots=True)
class Head:
    """A request before its body: the target as it stands on the request line, and every value of the headers that count.

    `length` is the declared size of the body in bytes, None when it is sent in chunks.
    """

    method: str
    target: str
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    tokens: tuple[str, ...]
    length: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and JSON body. `drop`: the connection ends after it, since what is left of the request is not wanted."""

    status: int
    body: Mapping[str, object]
    drop: bool = False


@dataclass(frozen=True, slots=True)
class Sender:
    """Whose token the head carried: the body may come."""

    kind: CompanionKind
    token_digest: str


@dataclass(frozen=True, slots=True)
class Report:
    """An observation to deliver. `vouched_root` is the workspace that an editor vouches for, as it wrote it."""

    facts: Facts
    vouched_root: str | None


class Intake:
    """The checks and what they remember: the rate of each token and when each kind of companion was last heard.

    `last_seen_ms`: wall clock, of requests that passed the rate. `stopping`: nothing more is delivered.
    """

    def __init__(self, unknown_fields: UnknownFields) -> None:
        self.last_seen_ms: dict[CompanionKind, int] = {}
        self.stopping = False
        self._unknown_fields = unknown_fields
        self._rate = RateLimit()

    def head(self, head: Head, port: int, pairing: Pairing) -> Answer | Sender:
        """The answer to a request whose head says enough, or whose body is to be read. `port` is the one that is listened on."""
        place = (head.method, head.target)
        if place not in (OBSERVATION, HEALTH):
            return refusal("not-found")
        if head.hosts not in ((f"127.0.0.1:{port}",), (f"localhost:{port}",)):
            return refusal("unexpected-host")
        if not all(origin == "null" or origin.startswith(EXTENSION_ORIGINS) for origin in head.origins):
            return refusal("unexpected-origin")
        # One that is given twice is nobody's. The comparison is made in any case, so that its time tells nothing.
        token_digest = digest(head.tokens[0] if len(head.tokens) == 1 else "")
        kind = pairing.kind_of(token_digest)
        if place == HEALTH:
            return Answer(200, {"ok": True, "port": port}) if kind == "browser" else refusal("browser-pairing-required")
        if kind is None:
            return refusal("pairing-required")
        if head.length is not None and head.length > MAX_INTAKE_BODY_BYTES:
            return refusal("body-too-large", drop=True)
        return Sender(kind, token_digest)

    def body(self, sender: Sender, body: bytes, now: float, now_ms: int) -> Answer | Report:
        """The answer to a body that is refused, or the observation in it. `now` is monotonic seconds, `now_ms` the wall clock."""
        if len(body) > MAX_INTAKE_BODY_BYTES:
            return refusal("body-too-large", drop=True)
        try:
            payload = read(body, self._unknown_fields)
        except RemoteProtocolError as error:
            return Answer(INTAKE_STATUS[error.code], {"error": error.detail})
        source: CompanionKind = "browser" if isinstance(payload, BrowserPayload) else "editor"
        if sender.kind != source:
            return refusal(f"{source}-pairing-required")
        if not self._rate.accept(sender.token_digest, now):
            return refusal("rate-limit")
        self.last_seen_ms[source] = now_ms
        if isinstance(payload, BrowserPayload) and payload.incognito:
            return refusal("incognito-refused")
        if self.stopping:
            return refusal("stopping")
        if isinstance(payload, BrowserPayload):
            return Report(browser_facts(payload), None)
        return Report(editor_facts(payload), payload.workspace_root)


def refusal(code: str, *, drop: bool = False) -> Answer:
    """The answer of the protocol for one of its codes."""
    return Answer(INTAKE_STATUS[code], {"error": INTAKE_SENTENCES[code]}, drop)


def delivered(stored: bool, reason: str | None) -> Answer:
    """The answer to an observation that the host has taken. Only a state of the capture is told, never what the policy says."""
    if stored:
        return Answer(201, {"stored": True})
    return Answer(202, {"stored": False, "reason": reason} if reason in COMPANION_REFUSAL else {"stored": False})
