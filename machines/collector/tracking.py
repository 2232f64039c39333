"""The core of a collector: which observation, if any, follows from what a platform sees. The collector process drives it.

Two steps, so that no window is read before it may be: `identified` looks at the application in front and says to emit nothing, to emit
its identity only, or to describe its window; `described` then turns the description into an observation. An observation that equals the
last one in everything but time is not made again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import overload

from msgspec import UNSET

from ...errors import LocalProtocolError
from ...generated.collector.models import (
    AdapterEntry,
    NativeProvider,
    Observation,
    ObservationSource,
    ObservedActivity,
    ObservedApp,
    ObservedElement,
    ObservedPrivacy,
    ObservedWindow,
)
from ...generated.collector.vocabulary import (
    DEFAULT_LIVENESS_SECONDS,
    FIRST_SEQ,
    IDLE_BOUNDARY_SECONDS,
    LIVENESS_FLOOR_MS,
    MAX_APP_BYTES,
    MAX_ROLE_BYTES,
    MAX_TEXT_BYTES,
    PROTECTED_ADAPTER,
)
from .adapter_table import BUILT_IN, AdapterTable
from .focus import ElementState, shows_window
from .policy import CollectorPolicy, is_protected_app
from .protected_text import glob_matches, percent_decode

BAD_LIVENESS = "liveness-seconds"


@dataclass(frozen=True, slots=True)
class Application:
    """The application in front. `candidates`: its possible ids, best first. `window`: the platform's number of the window, else 0."""

    pid: int
    candidates: tuple[str, ...]
    window: int = 0


@dataclass(frozen=True, slots=True)
class Description:
    """What the platform says of the focused window, read only after `identified` asked for it."""

    element: ElementState
    app_name: str | None = None
    title: str | None = None  #: as the program itself gives it
    display_title: str | None = None  #: as the window system gives it
    document: str | None = None
    role: str | None = None
    idle_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Describe:
    """The window may be read: the application is allowed, and reported as `bundle_id`."""

    application: Application
    bundle_id: str
    adapter: AdapterEntry


@dataclass(frozen=True, slots=True)
class _Sight:
    """Everything by which two observations are told apart: the fingerprint."""

    pid: int
    bundle_id: str
    adapter: str
    name: str | None = None
    title: str | None = None
    document: str | None = None
    role: str | None = None
    secure: bool = False
    protected: bool = False
    reason: str = ""
    long_idle: bool = False


@dataclass
class Tracker:
    """One collector session. `sequence` is the number of the last observation made; the first is FIRST_SEQ.

    `liveness_seconds`: make an unchanged observation again once it is this old; 0 never does; see `checked_liveness`.
    """

    session: str
    provider: NativeProvider = "at-spi"
    table: AdapterTable = BUILT_IN
    liveness_seconds: float = DEFAULT_LIVENESS_SECONDS
    policy: CollectorPolicy = field(default_factory=CollectorPolicy)
    sequence: int = FIRST_SEQ - 1
    _last: _Sight | None = field(default=None, repr=False)
    _made_at: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        self.liveness_seconds = checked_liveness(self.liveness_seconds)

    def configure(self, policy: CollectorPolicy) -> None:
        """Put another policy in force, whole; what is in front will be looked at afresh."""
        self.policy = policy
        self.forget()

    def forget(self) -> None:
        """Make the next observation new even if nothing has changed: after pause, resume, or not knowing what was in front."""
        self._last = None

    def identified(self, application: Application | None, now: float, now_ms: int) -> Observation | Describe | None:
        """Judge the application in front before anything of its window is read. `now`: monotonic seconds; `now_ms`: wall clock."""
        if application is None or any(_listed(candidate, self.policy.blocked) for candidate in application.candidates):
            self.forget()
            return None
        for candidate in application.candidates:
            if is_protected_app(candidate) or _listed(candidate, self.policy.protected):
                bundle_id, adapter_id = self._known_as(candidate)
                return self._made(_Sight(application.pid, bundle_id, adapter_id, protected=True, reason="protected-app"), None, now, now_ms)
        for candidate in application.candidates:
            known = self.table.spelled(candidate)
            # No platform tells private windows from others: a browser is recorded through its companion only, whatever a table says.
            if known is not None and known[1].surface_kind != "browser" and _listed(candidate, self.policy.allowed):
                return Describe(application, *known)
        self.forget()
        return None

    def described(self, asked: Describe, window: Description | None, now: float, now_ms: int) -> Observation | None:
        """Make the observation of a described window; None when it equals the last one, or when the window was no longer in front."""
        if window is None:
            self.forget()
            return None
        pid, adapter = asked.application.pid, asked.adapter
        name = _cut(window.app_name, MAX_APP_BYTES)
        if not shows_window(window.element, adapter):
            return self._made(_Sight(pid, asked.bundle_id, adapter.id, name, secure=True, reason=window.element.value), None, now, now_ms)
        title = None if adapter.suppresses_window_title else window.title or window.display_title
        if self._protects(title, window.document):
            return self._made(_Sight(pid, asked.bundle_id, adapter.id, protected=True, reason="protected-metadata"), None, now, now_ms)
        sight = _Sight(
            pid,
            asked.bundle_id,
            adapter.id,
            name,
            title=_cut(title, MAX_TEXT_BYTES),
            document=_cut(window.document, MAX_TEXT_BYTES),
            role=_cut(window.role, MAX_ROLE_BYTES) if window.element is ElementState.NOT_SECURE else None,
            long_idle=(window.idle_seconds or 0.0) >= IDLE_BOUNDARY_SECONDS,
        )
        return self._made(sight, window.idle_seconds, now, now_ms)

    def _made(self, sight: _Sight, idle_seconds: float | None, now: float, now_ms: int) -> Observation | None:
        if sight == self._last and not 0 < self.liveness_seconds <= now - self._made_at:
            return None
        self._last, self._made_at = sight, now
        self.sequence += 1
        return Observation(
            v=1,
            collector_session=self.session,
            seq=self.sequence,
            observed_at_ms=now_ms,
            app=ObservedApp(pid=sight.pid, bundle_id=_cut(sight.bundle_id, MAX_APP_BYTES), name=sight.name),
            window=ObservedWindow(title=sight.title, document=sight.document, url=None),
            element=ObservedElement(role=sight.role, subrole=None, identifier=None),
            privacy=ObservedPrivacy(secure=sight.secure, protected=sight.protected, reason=sight.reason or UNSET),
            source=ObservationSource(adapter=sight.adapter, provider=self.provider),
            activity=UNSET if idle_seconds is None else ObservedActivity(idle_seconds=idle_seconds),
        )

    def _known_as(self, candidate: str) -> tuple[str, str]:
        known = self.table.spelled(candidate)
        return (known[0], known[1].id) if known else (candidate, PROTECTED_ADAPTER)

    def _protects(self, title: str | None, document: str | None) -> bool:
        return any(
            text is not None and (_refused(text, self.policy.path_patterns) or (is_document and _names_secret(text)))
            for text, is_document in ((title, False), (document, True))
        )


def checked_liveness(seconds: float) -> float:
    """The same number: 0, or at least the protocol's floor of 30 s. Raises LocalProtocolError (code `liveness-seconds`)."""
    floor = LIVENESS_FLOOR_MS / 1000
    if seconds != 0 and not floor <= seconds < inf:
        raise LocalProtocolError(BAD_LIVENESS, f"0, or {floor:g} seconds and more, not {seconds}")
    return seconds


def _listed(bundle_id: str, listed: tuple[str, ...]) -> bool:
    folded = bundle_id.casefold()
    return any(folded == other.casefold() for other in listed)


def _refused(text: str, patterns: tuple[str, ...]) -> bool:
    decoded = percent_decode(text)
    return any(glob_matches(pattern, text) or (decoded is not None and glob_matches(pattern, decoded)) for pattern in patterns)


def _names_secret(document: str) -> bool:
    """The little that a collector knows by itself of paths to secrets, whatever the policy says."""
    path = percent_decode(document) or document
    segments = path.split("/")
    return (
        path.endswith((".pem", ".key"))
        or any(word in path for word in ("credentials", "secrets"))
        or any(segment in (".ssh", ".env") or segment.startswith(".env.") for segment in segments)
    )


@overload
def _cut(text: str, limit: int) -> str: ...
@overload
def _cut(text: None, limit: int) -> None: ...
@overload
def _cut(text: str | None, limit: int) -> str | None: ...
def _cut(text: str | None, limit: int) -> str | None:
    """At most `limit` UTF-8 bytes, cut on a character boundary: one oversized field would end the capture."""
    if text is None:
        return None
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
