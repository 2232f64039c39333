"""What one adapter said in one session, as the suite understood it: every message in order, the trees that follow from them, the markers.

The scenarios feed it with what the bench hears; the checks look at it. It judges nothing but what belongs to reading: whether a message is
valid, whether a delta applies, whether a marker is authentic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import Raw
from msgspec.json import decode

from ...adapters.termwright.bench import BadFrame, Body, Connected, Ended, Heard, Marker
from ...errors import RemoteProtocolError
from ...generated.termwright.models import (
    AdapterError,
    AdapterMessage,
    FrameBegin,
    Hello,
    Log,
    LogRecord,
    RevisionCommit,
    SemanticDelta,
    SemanticFull,
    Snapshot,
)
from ...machines.termwright.limits import DEFAULT_LIMITS
from ...machines.termwright.marker import verify_marker
from ...machines.termwright.messages import read_adapter_message
from ...machines.termwright.semantic_state import SemanticState


@dataclass
class Publication:
    """One tree that was sent. `place` is its index in the order of everything heard; `state` is None when it could not be applied."""

    revision: int
    full: bool
    place: int
    at: float
    state: SemanticState | None
    fault: str = ""

    @property
    def tree(self) -> Snapshot | None:
        """The whole tree of this revision."""
        return None if self.state is None else self.state.snapshot


@dataclass(frozen=True)
class Mark:
    """One OSC 8487 of the terminal; `revision` is None when this session did not authenticate it."""

    revision: int | None
    payload: str
    place: int
    at: float


@dataclass(frozen=True)
class Commit:
    """One revision-commit."""

    revision: int
    place: int


@dataclass
class Session:
    """One session of the subject. `granted` are the ceilings that its hello-ack gave; before it, the defaults."""

    token: str
    session_id: str
    granted: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_LIMITS))
    links: list[int] = field(default_factory=list)
    ended: dict[int, float] = field(default_factory=dict)
    messages: list[tuple[int, int, AdapterMessage]] = field(default_factory=list)  #: place, link, message
    faults: list[tuple[int, int, str]] = field(default_factory=list)  #: place, link, what was wrong with a message or frame
    sizes: list[int] = field(default_factory=list)  #: bytes of each frame body
    hello: Hello | None = None
    publications: list[Publication] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    logs: list[tuple[float, LogRecord]] = field(default_factory=list)
    errors: list[AdapterError] = field(default_factory=list)
    place: int = 0

    @property
    def link(self) -> int:
        """The socket of the adapter: the one that said hello, else the first; 0 when nobody connected."""
        said = next((link for _, link, message in self.messages if isinstance(message, Hello)), 0)
        return said or (self.links[0] if self.links else 0)

    @property
    def announced(self) -> frozenset[str]:
        """The adapter capabilities of its hello."""
        return frozenset(self.hello.capabilities) if self.hello is not None else frozenset()

    @property
    def marked(self) -> bool:
        """Whether the adapter marks its revisions."""
        return "render-revisions" in self.announced

    @property
    def state(self) -> SemanticState | None:
        """The newest tree that could be applied."""
        return next((publication.state for publication in reversed(self.publications) if publication.state is not None), None)

    @property
    def tree(self) -> Snapshot | None:
        """The newest tree, as a snapshot."""
        return None if self.state is None else self.state.snapshot

    @property
    def revision(self) -> int:
        """The newest revision that is complete: its tree came, and, of an adapter that marks, its marker."""
        marked = {mark.revision for mark in self.marks}
        complete = (published.revision for published in self.publications if not self.marked or published.revision in marked)
        return max(complete, default=0)

    @property
    def gone(self) -> bool:
        """Whether the adapter had a socket, and every one that it opened is closed."""
        return bool(self.links) and all(link in self.ended for link in self.links)

    def frame_begins(self) -> Iterator[int]:
        """The revisions of the frame-begin messages."""
        return (message.revision for _, _, message in self.messages if isinstance(message, FrameBegin))

    def take(self, heard: Heard) -> None:
        """One thing that the bench heard."""
        self.place += 1
        match heard:
            case Connected(_, link):
                self.links.append(link)
            case Ended(at, link):
                self.ended[link] = at
            case BadFrame(at, link, code, detail):
                self.ended[link] = at
                self.faults.append((self.place, link, f"{code}: {detail}"))
            case Marker(at, payload):
                self.marks.append(Mark(verify_marker(payload, self.token, self.session_id), payload, self.place, at))
            case Body(at, link, data):
                self.sizes.append(len(data))
                try:
                    message = read_adapter_message(data, self.granted)
                except RemoteProtocolError as fault:
                    self.faults.append((self.place, link, str(fault)))
                else:
                    self._message(message, link, at, len(data))

    def _message(self, message: AdapterMessage, link: int, at: float, size: int) -> None:
        self.messages.append((self.place, link, message))
        match message:
            case Hello():
                self.hello = self.hello or message
            case SemanticFull(snapshot=snapshot):
                state = SemanticState.of(snapshot, self.granted)
                self.publications.append(Publication(snapshot.revision, True, self.place, at, state))
            case SemanticDelta(delta=delta):
                self.publications.append(self._applied(delta, at, size))
            case RevisionCommit(revision=revision):
                self.commits.append(Commit(revision, self.place))
            case Log(record=record):
                self.logs.append((at, record))
            case AdapterError():
                self.errors.append(message)

    def _applied(self, delta: Raw, at: float, size: int) -> Publication:
        base, named = self.state, _revision(delta)
        if base is None:
            return Publication(named, False, self.place, at, None, "a delta without a tree before it")
        try:
            state = base.apply(delta, size=size, limits=self.granted).state
        except RemoteProtocolError as fault:
            return Publication(named, False, self.place, at, None, str(fault))
        return Publication(state.snapshot.revision, False, self.place, at, state)


def _revision(delta: Raw) -> int:
    """The revision that a delta gives itself, 0 for none: for the record of one that cannot be applied."""
    value = decode(delta)
    revision = value.get("revision") if isinstance(value, dict) else None
    return revision if type(revision) is int else 0
