"""The driver's side of one terminal session, without IO: socket bytes, markers and the time go in; bytes, closings and facts come out.

adapters/termwright/driver.py carries the answers out, in order. Who may attach is the negotiation chart's decision; what a message may say
is decided by messages.py, validate.py and gates.py; what an observer may see by pairing.py. termwright/3, handshake and publication.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec import UNSET, convert

from ...errors import RemoteProtocolError
from ...generated.termwright.models import (
    AdapterError,
    AdapterMessage,
    FrameBegin,
    Hello,
    HelloAck,
    Limits,
    Log,
    LogBudget,
    MarkerSettings,
    Node,
    RevisionCommit,
    SemanticDelta,
    SemanticFull,
    Snapshot,
)
from ..lifecycle import Deadline, Effect
from .framing import FrameDecoder, encode_frame
from .gates import gate_fault, guarantee_fault, node_shortfall, tree_shortfall
from .limits import DEFAULT_LIMITS, grant
from .logs import BURST, RATE, LogChannel, Logged, LogNotice
from .marker import verify_marker
from .messages import read_adapter_message, wire_code
from .negotiation import WINDOW, CloseEndpoint, CloseSocket, Diagnostic, Negotiation, SendAck, SendError
from .pairing import Notice, Pair, Pairing
from .providers import compose
from .semantic_state import BaseMismatch, SemanticState, resync_request

Screen = TypeVar("Screen")

MAX_MESSAGE_UNITS = 1024
#: A code that not every published client knows: the peer is told the general one, the diagnostics keep the true one.
UNTOLD = {"capability-provider-violation": "malformed"}


#: Failures that are the adapter's fault.
BROKEN = ("protocol-violation", "adapter-guarantee-violation", "capability-provider-violation")


@dataclass(frozen=True, slots=True)
class Send:
    """Write these bytes to a socket."""

    socket: int
    data: bytes


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A tree that was accepted, and why some node of it may not be committed as it is."""

    snapshot: Snapshot
    shortfall: str | None


Output = Send | CloseSocket | CloseEndpoint | Diagnostic | Pair[Snapshot, Screen] | Logged


class DriverSession(Generic[Screen]):
    """One session from the spawn of its program to the end. Every method answers what the adapter must now do, in order.

    `now` is monotonic seconds; `now_ms` is the wall clock at the same moment, to which log times are anchored. `limits` may tighten or
    widen the defaults, up to the absolute ceilings; `LocalProtocolError` (`invalid-limits`) for what is no limit.
    """

    def __init__(self, token: str, session_id: str, limits: Mapping[str, int] | None = None, *, now: float, now_ms: int) -> None:
        self.session_id = session_id
        self.limits = grant(limits or {})
        self.tree: Snapshot | None = None  #: the last tree that was accepted, paired or not
        self.failure: Diagnostic | None = None  #: why no further revision can come, once that is so
        self.hello: Hello | None = None  #: what the attached adapter said of itself
        self._token = token
        self._started, self._started_ms = now, now_ms
        self._negotiation = Negotiation()
        self._deadlines: dict[str, float] = {}
        self._decoders: dict[int, FrameDecoder] = {}
        self._pairing: Pairing[_Accepted, Screen] | None = None
        self._state: SemanticState | None = None  # the tree with its indexes, once deltas come
        self._short: dict[str, str] = {}  # the nodes of the tree that may not be committed as they are
        self._logs: LogChannel | None = None

    @property
    def state(self) -> str:
        """The negotiation's state: `listening`, `hello`, `attached`, `refused`, `detached` or `closed`."""
        return self._negotiation.state

    @property
    def waiting(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The revisions of the trees, and of the markers, that wait for their other half."""
        return self._pairing.waiting() if self._pairing is not None else ((), ())

    @property
    def may_publish(self) -> bool:
        """Whether a further revision can come. After an adapter has gone, a tree that it sent before may still get its marker."""
        return self.failure is None or (self.failure.code == "adapter-disconnected" and any(self.waiting))

    @property
    def broken(self) -> bool:
        """Whether the session failed because the adapter broke the protocol, or its own word."""
        return self.failure is not None and self.failure.code in BROKEN

    def spawned(self, now: float, window: float = WINDOW) -> list[Output[Screen]]:
        """The program was started: it has `window` seconds to connect."""
        return self._step("spawned", now, window=window)

    def connected(self, socket: int, now: float) -> list[Output[Screen]]:
        """A socket was accepted; `socket` is a number of the caller's that it never uses again."""
        if self.state == "closed":
            return [CloseSocket(socket, 0.0)]
        self._decoders[socket] = FrameDecoder(self.limits["maxFrameBytes"])
        return self._step("connected", now, socket=socket)

    def disconnected(self, socket: int, now: float) -> list[Output[Screen]]:
        """A socket was closed by its peer, or broke."""
        return self._step("disconnected", now, socket=socket) if self._decoders.pop(socket, None) is not None else []

    def received(self, socket: int, data: bytes, now: float) -> list[Output[Screen]]:
        """Bytes came from a socket. After the closing of a socket was answered, what it still says is ignored."""
        answers: list[Output[Screen]] = []
        decoder = self._decoders.get(socket)
        if decoder is None:
            return answers
        try:
            for body in decoder.bodies(data):
                answers += self._message(socket, read_adapter_message(body, self.limits), len(body), now)
                if socket not in self._decoders:
                    break
        except RemoteProtocolError as fault:
            answers += self._step("violated", now, socket=socket, code=wire_code(fault.code), detail=_sentence(fault))
        return answers

    def marker(self, payload: str, screen: Callable[[], Screen], now: float) -> list[Output[Screen]]:
        """The terminal parsed a render marker; `screen` copies what it shows at this moment and is called only when the marker is true."""
        revision = verify_marker(payload, self._token, self.session_id)
        if revision is None or self._pairing is None:
            return [Diagnostic("marker-unverified", f"a marker that this session did not authenticate: {payload[:64]!r}")]
        return self._published(self._pairing.marker(revision, screen(), now), now)

    def output(self, now: float) -> None:
        """The terminal has parsed output of the program."""
        if self._pairing is not None:
            self._pairing.output(now)

    def deadline(self) -> float | None:
        """When `tick` is next due (monotonic seconds), or None."""
        times = [*self._deadlines.values()]
        times += [at for part in (self._pairing, self._logs) if part is not None and (at := part.deadline()) is not None]
        return min(times, default=None)

    def tick(self, now: float) -> list[Output[Screen]]:
        """Time has passed: what is due happens now."""
        answers: list[Output[Screen]] = []
        for name in [name for name, at in self._deadlines.items() if at <= now]:
            if self._deadlines.pop(name, None) is not None:
                event, _, socket = name.partition(":")
                answers += self._step(event, now, **({"socket": int(socket)} if socket else {}))
        if self._pairing is not None:
            answers += map(_told, self._pairing.overdue(now))
        if self._logs is not None:
            answers += map(_told, self._logs.overdue(now))
        return answers

    def close(self, now: float) -> list[Output[Screen]]:
        """End the session: every socket and the endpoint."""
        return self._step("close", now) if self.state != "closed" else []

    def _message(self, socket: int, message: AdapterMessage, size: int, now: float) -> list[Output[Screen]]:
        attached = socket == self._negotiation.memory.adapter
        if isinstance(message, Hello):
            return self._said_hello(socket, message, now)
        if isinstance(message, AdapterError):
            return self._step("adapter_failed", now, socket=socket, code=message.code, message=message.message)
        if not attached or self._pairing is None:
            raise RemoteProtocolError("malformed", "the first message must be hello")
        if isinstance(message, SemanticFull):
            return self._received_tree(message.snapshot, now)
        if isinstance(message, RevisionCommit):
            self._pairing.commit(message.revision, now)
            return []
        if isinstance(message, FrameBegin):
            if self.hello is None or self.hello.probe is UNSET or "frame-begin" not in self.hello.probe.capabilities:
                return [Diagnostic("adapter-capability", "frame-begin was not announced and is ignored")]
            self._pairing.frame_begin(message.revision)
            return []
        if isinstance(message, Log):
            if self._logs is None:
                raise RemoteProtocolError("malformed", "a log record without the capability logs")
            return [*map(_told, self._logs.accept(message.record, now))]
        return self._received_delta(socket, message, size, now)

    def _said_hello(self, socket: int, hello: Hello, now: float) -> list[Output[Screen]]:
        matches = hmac.compare_digest(hello.token.encode("utf-8", "surrogatepass"), self._token.encode())
        capabilities = tuple(dict.fromkeys(hello.capabilities))
        if matches and self.state == "hello":
            self.hello = hello
            self._pairing = Pairing(self.limits["maxQueuedFrames"], marked="render-revisions" in capabilities, now=now)
            if "logs" in capabilities:
                self._logs = LogChannel(now, self._started_ms + int((now - self._started) * 1000))
        return self._step("hello_received", now, socket=socket, token_matches=matches, capabilities=capabilities)

    def _received_tree(self, snapshot: Snapshot, now: float) -> list[Output[Screen]]:
        if snapshot.session_id != self.session_id:
            raise RemoteProtocolError("malformed", "the snapshot belongs to another session", "snapshot.sessionId")
        self._gate(snapshot, snapshot.nodes, "snapshot")
        self._state, self._short = None, {}
        return self._accepted(snapshot, snapshot.nodes, now)

    def _received_delta(self, socket: int, message: SemanticDelta, size: int, now: float) -> list[Output[Screen]]:
        """Apply a delta to the last accepted tree. Without its base, ask for a whole tree: the producer's next publication is then full."""
        if "incremental-tree" not in self._negotiation.memory.capabilities:
            raise RemoteProtocolError("malformed", "a semantic-delta without the capability incremental-tree")
        if self.tree is None:
            return [self._send(socket, resync_request(self.session_id, None))]
        if self._state is None:
            self._state = SemanticState.of(self.tree, self.limits)
        try:
            applied = self._state.apply(message.delta, size=size, limits=self.limits)
        except BaseMismatch:
            return [self._send(socket, resync_request(self.session_id, self.tree))]
        except RemoteProtocolError as fault:
            path = f"delta.{fault.path}" if fault.path else "delta"
            raise RemoteProtocolError("malformed", f"semantic delta {fault.code}: {fault.detail}", path) from None
        state = applied.state
        nodes = [node for name in applied.changed if (node := state.node(name)) is not None]
        self._gate(state.snapshot, nodes, "delta")
        self._state = state
        for name in applied.changed:
            self._short.pop(name, None)
        return self._accepted(state.snapshot, nodes, now)

    def _gate(self, snapshot: Snapshot, nodes: Sequence[Node], path: str) -> None:
        fault = gate_fault(snapshot, self._negotiation.memory.capabilities, nodes)
        if fault is not None:
            raise RemoteProtocolError("malformed", fault, path)

    def _accepted(self, snapshot: Snapshot, nodes: Iterable[Node], now: float) -> list[Output[Screen]]:
        """The tree is the base of what follows; `nodes` are those that its predecessor did not have as they are now."""
        assert self._pairing is not None
        self.tree = snapshot
        announced = self._negotiation.memory.capabilities
        self._short |= {node.id: short for node in nodes if (short := node_shortfall(node, announced)) is not None}
        accepted = _Accepted(snapshot, next(iter(self._short.values()), None))
        return self._published(self._pairing.tree(snapshot.revision, accepted, now), now)

    def _published(self, answers: Iterable[Pair[_Accepted, Screen] | Notice], now: float) -> list[Output[Screen]]:
        """What an observer may see of what the pairing let through: composed with its providers, and as settled as was guaranteed."""
        out: list[Output[Screen]] = []
        for answer in answers:
            if isinstance(answer, Notice):
                out.append(_told(answer))
                continue
            try:
                out.append(Pair(answer.revision, self._composed(answer.tree), answer.screen))
            except RemoteProtocolError as fault:
                out += self._broken(fault.code, f"revision {answer.revision}: {fault.detail}", now)
        return out

    def _composed(self, accepted: _Accepted) -> Snapshot:
        assert self.hello is not None
        composed, announced = compose(accepted.snapshot, self.hello.providers), self._negotiation.memory.capabilities
        if composed is accepted.snapshot:
            shortfall = accepted.shortfall or tree_shortfall(composed, announced)
        else:  # a provider may have settled what the framework left open
            shortfall = guarantee_fault(composed, announced)
        if shortfall is not None:
            raise RemoteProtocolError("adapter-guarantee-violation", shortfall)
        return composed

    def _broken(self, code: str, detail: str, now: float) -> list[Output[Screen]]:
        """A revision that may not be published ends the session under its own code."""
        told = Diagnostic(code, detail)
        adapter = self._negotiation.memory.adapter
        closing = [] if adapter is None else self._step("violated", now, socket=adapter, code=code, detail=detail)
        self.failure = told
        return [told, *closing]

    def _step(self, event: str, now: float, **data: object) -> list[Output[Screen]]:
        before = self.state
        answers = [answer for effect in self._negotiation.step(event, now, **data) for answer in self._carried(effect)]
        if self.state in ("detached", "refused") and self.state != before:
            told = (answer for answer in answers if isinstance(answer, Diagnostic) and answer.code != "adapter-refused")
            self.failure = next(told, None)  # a refused hello is one more reason for having nobody, and told there
        return answers

    def _carried(self, effect: Effect) -> list[Output[Screen]]:
        """What one effect of the chart means for the adapter; deadlines stay here."""
        match effect:
            case Deadline(name, at):
                if at is None:
                    self._deadlines.pop(name, None)
                else:
                    self._deadlines[name] = at
            case SendAck(socket, marker, logs):
                return [self._send(socket, self._ack(marker, logs))]
            case SendError(socket, code, message):
                told = {"type": "error", "code": UNTOLD.get(code, code), "message": _short(message)}
                return [self._send(socket, told)]
            case CloseSocket(socket):
                self._decoders.pop(socket, None)
                return [effect]
            case CloseEndpoint() | Diagnostic():
                return [effect]
        return []

    def _ack(self, marker: bool, logs: bool) -> HelloAck:
        return HelloAck(
            protocol="termwright/3",
            session_id=self.session_id,
            limits=convert(self.limits, Limits),
            subscribe="semantic",
            marker=MarkerSettings(enabled=marker),
            logs=LogBudget(enabled=True, max_records_per_second=RATE, burst=BURST) if logs else UNSET,
        )

    def _send(self, socket: int, message: object) -> Send:
        # What we grant bounds the adapter; its own decoder holds the default.
        return Send(socket, encode_frame(message, DEFAULT_LIMITS["maxFrameBytes"]))


def _told(notice: Notice | Logged | LogNotice) -> Diagnostic | Logged:
    if isinstance(notice, Logged):
        return notice
    detail = f"revision {notice.revision}: {notice.detail}" if isinstance(notice, Notice) else notice.detail
    return Diagnostic(notice.code, detail)


def _sentence(fault: RemoteProtocolError) -> str:
    return f"{fault.path}: {fault.detail}" if fault.path else fault.detail


def _short(message: str) -> str:
    """At most 1024 UTF-16 units, which half as many characters always fit."""
    return message if len(message) <= MAX_MESSAGE_UNITS // 2 else message[: MAX_MESSAGE_UNITS // 2 - 1] + "…"
