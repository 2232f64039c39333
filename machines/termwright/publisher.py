"""The producer's side of one session, without IO: the driver's bytes and the program's trees go in; frames, markers and facts come out.

adapters/termwright/client.py carries the answers out; probes and hand-written adapters sit behind it. It decides the handshake, whole tree
or delta, revision numbers, and which log records are sent. A refused tree changes nothing. termwright/3, handshake and publication.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

import msgspec
from msgspec import UNSET, UnsetType

from ...errors import LocalProtocolError, RemoteProtocolError
from ...generated.termwright.models import (
    AdapterCapability,
    AdapterError,
    AdapterInfo,
    CoordinateSpaceObservation,
    Cursor,
    Delta,
    DriverError,
    DriverMessage,
    Hello,
    HelloAck,
    HitGridObservation,
    Log,
    LogAttribute,
    LogBudget,
    LogLevel,
    Node,
    ProbeInfo,
    ProviderEvidence,
    ProviderInfo,
    RevisionCommit,
    SemanticDelta,
    SemanticFull,
    SemanticResyncRequest,
    Snapshot,
    WireErrorCode,
)
from .framing import FrameDecoder, decode_body, encode_body, encode_frame
from .gates import gate_fault, guarantee_fault
from .limits import DEFAULT_LIMITS
from .logs import validate_log_record
from .marker import encode_marker
from .messages import read_adapter_message, read_driver_message, wire_code
from .semantic_state import diff
from .validate import check_snapshot, validate_snapshot

#: What a message to the driver may hold at most, in UTF-16 units; half as many characters always fit.
MAX_ERROR_CHARACTERS: Final = 512


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """What a program shows in one frame: a snapshot without the session and the revision, which the publisher gives it."""

    columns: int
    rows: int
    root_ids: tuple[str, ...]
    nodes: tuple[Node, ...]
    coordinate_space: CoordinateSpaceObservation
    hit_grid: HitGridObservation
    cursor: Cursor | UnsetType = UNSET
    provider_evidence: tuple[ProviderEvidence, ...] | UnsetType = UNSET


@dataclass(frozen=True)
class Publication:
    """One revision, ready to go out: `frames` to the socket, then `marker` to the terminal after the last byte of the frame it stands for.

    `marker` is empty when the driver wants none. `full` says whether the frames hold the whole tree.
    """

    revision: int
    full: bool
    frames: bytes
    marker: bytes


@dataclass(frozen=True)
class Attached:
    """The driver accepted the hello. `limits` are its ceilings, clamped to the absolute ones; `logs` is the budget, if there is one."""

    session_id: str
    limits: Mapping[str, int]
    marked: bool
    logs: LogBudget | None


@dataclass(frozen=True)
class Resync:
    """The driver asks for a whole tree: the next publication is one."""

    reason: str


@dataclass(frozen=True)
class Closed:
    """The session is over: send `data`, which may be empty, and close the socket."""

    code: str
    detail: str
    data: bytes = b""


Event = Attached | Resync | Closed


class LogBucket:
    """The budget at the source: `burst` records at once, and `rate` more a second. `now` is monotonic seconds.

    The driver counts again on arrival, where records come closer together than they left; the burst alone as capacity leaves it room.
    """

    def __init__(self, rate: int, burst: int, now: float) -> None:
        self._rate = rate
        self._capacity = self._tokens = float(max(burst, 1))
        self._refilled = now

    def take(self, now: float) -> bool:
        """Whether one more record may go."""
        self._tokens = min(self._capacity, self._tokens + max(now - self._refilled, 0.0) * self._rate)
        self._refilled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Publisher:
    """One adapter's end of the semantic socket. Not thread-safe: its caller holds one lock around it and around the writing of its frames.

    `state` is `idle`, `hello` (the acknowledgement is awaited), `attached` or `closed`.
    """

    def __init__(
        self,
        token: str,
        adapter: AdapterInfo,
        capabilities: Sequence[AdapterCapability],
        probe: ProbeInfo | None = None,
        providers: Sequence[ProviderInfo] | None = None,
    ) -> None:
        self.state: Literal["idle", "hello", "attached", "closed"] = "idle"
        self.session: Attached | None = None
        self.revision = 0  #: of the newest publication; 0 before the first
        self.logs_dropped = 0  #: records that were not sent, for whatever reason
        self._token = token
        self._capabilities = frozenset(capabilities)
        self._hello = Hello(
            protocol="termwright/3",
            token=token,
            adapter=adapter,
            capabilities=tuple(dict.fromkeys(capabilities)),
            probe=UNSET if probe is None else probe,
            providers=UNSET if providers is None else tuple(providers),
        )
        self._decoder = FrameDecoder(DEFAULT_LIMITS["maxFrameBytes"])
        self._held: Snapshot | None = None  # what the driver holds; None when the next publication is a full tree
        self._bucket: LogBucket | None = None
        self._seq = 0

    def hello(self) -> bytes:
        """The first bytes of a new socket. Raises `LocalProtocolError` when what we say of ourselves breaks the protocol."""
        if self.state != "idle":
            raise LocalProtocolError("malformed", f"a hello is said once, before anything else; this session is {self.state}")
        body = encode_body(self._hello)
        try:
            read_adapter_message(body)
        except RemoteProtocolError as fault:
            raise LocalProtocolError(fault.code, fault.detail, fault.path) from None
        self._decoder = FrameDecoder(DEFAULT_LIMITS["maxFrameBytes"])
        self.state = "hello"
        return encode_frame(self._hello, DEFAULT_LIMITS["maxFrameBytes"])

    def received(self, data: bytes, now: float) -> list[Event]:
        """Bytes came from the driver. After `Closed`, what it still says is ignored."""
        events: list[Event] = []
        try:
            for body in self._decoder.bodies(data) if self.state in ("hello", "attached") else ():
                events.append(self._message(read_driver_message(body), now))
                if self.state == "closed":
                    break
        except RemoteProtocolError as fault:
            detail = f"{fault.path}: {fault.detail}" if fault.path else fault.detail
            events.append(self.fail(wire_code(fault.code), detail))
        return events

    def disconnected(self) -> None:
        """The socket is gone. `hello` may be said on a new one; revisions go on counting, and the first publication is a full tree."""
        self.state = "idle"
        self.session = self._held = self._bucket = None

    def fail(self, code: str, detail: str) -> Closed:
        """Give up the session with a wire error code, for a reason of our own."""
        message = detail if len(detail) <= MAX_ERROR_CHARACTERS else detail[: MAX_ERROR_CHARACTERS - 1] + "…"
        error = AdapterError(code=cast(WireErrorCode, code), message=message)
        self.state = "closed"
        return Closed(code, detail, encode_frame(error, DEFAULT_LIMITS["maxFrameBytes"]))

    def publish(self, tree: Tree | Mapping[str, object]) -> Publication:
        """The frames and the marker of the next revision: a delta where one can say it, else the whole tree.

        A mapping is the same tree as plain JSON (`columns`, `rows`, `rootIds`, `nodes`, …). Raises `LocalProtocolError`, and then the
        revision number is free again: a validation code, `frame-oversized`, `adapter-guarantee-violation`, or `capability` for a field
        that was not announced.
        """
        if self.session is None or self.state != "attached":
            raise LocalProtocolError("not-attached", "no driver has accepted this adapter")
        limits = self.session.limits
        snapshot = self._snapshot(tree, self.session)
        for fault, code in (
            (gate_fault(snapshot, self._capabilities), "capability"),
            (guarantee_fault(snapshot, self._capabilities), "adapter-guarantee-violation"),
        ):
            if fault is not None:
                raise LocalProtocolError(code, fault)
        delta = self._delta(snapshot, limits)
        message = SemanticFull(snapshot=snapshot) if delta is None else SemanticDelta(delta=msgspec.Raw(encode_body(delta)))
        frames = encode_frame(message, min(limits["maxFrameBytes"], limits["maxSnapshotBytes"]))
        frames += encode_frame(RevisionCommit(revision=snapshot.revision), limits["maxFrameBytes"])
        marker = b""
        if self.session.marked and "render-revisions" in self._capabilities:
            marker = encode_marker(self._token, self.session.session_id, snapshot.revision)
        self.revision = snapshot.revision
        self._held = snapshot
        return Publication(snapshot.revision, delta is None, frames, marker)

    def log(
        self,
        level: LogLevel,
        message: str,
        now: float,
        now_ms: int,
        *,
        logger: str | None = None,
        attributes: Mapping[str, LogAttribute] | None = None,
    ) -> bytes:
        """The frame of one log record, or nothing when the driver granted no budget or it is used up.

        A record that is not sent is counted, and takes its number with it, so that the gap tells the driver. `now_ms` is the wall clock.
        Raises `LocalProtocolError` (a validation code) for a record that the protocol does not allow.
        """
        record: dict[str, object] = {"ts": now_ms, "level": level, "message": message, "seq": self._seq + 1}
        if logger is not None:
            record["logger"] = logger
        if self.revision:
            record["revision"] = self.revision
        if attributes:
            record["attrs"] = dict(attributes)
        frame = b""
        try:
            if self.session is not None and self._bucket is not None and self._bucket.take(now):
                checked = validate_log_record(record, self.session.limits)
                frame = encode_frame(Log(record=checked), self.session.limits["maxFrameBytes"])
        except RemoteProtocolError as fault:
            raise LocalProtocolError(fault.code, fault.detail, fault.path) from None
        finally:
            self._seq += 1
            self.logs_dropped += not frame
        return frame

    def _message(self, message: DriverMessage, now: float) -> Event:
        if isinstance(message, DriverError):
            self.state = "closed"
            return Closed(message.code, message.message)
        if isinstance(message, HelloAck):
            return self._accepted(message, now)
        if self.session is None:
            raise RemoteProtocolError("malformed", "the first message must be hello-ack")
        return self._asked_for_all(message, self.session)

    def _accepted(self, ack: HelloAck, now: float) -> Attached:
        if self.session is not None:
            raise RemoteProtocolError("malformed", "a second hello-ack")
        logs = ack.logs if ack.logs is not UNSET and ack.logs.enabled and "logs" in self._capabilities else None
        self._bucket = None if logs is None else LogBucket(logs.max_records_per_second, logs.burst, now)
        limits: dict[str, int] = msgspec.to_builtins(ack.limits)
        self.session = Attached(ack.session_id, limits, ack.marker.enabled, logs)
        self.state = "attached"
        return self.session

    def _asked_for_all(self, request: SemanticResyncRequest, session: Attached) -> Resync:
        if request.session_id != session.session_id:
            raise RemoteProtocolError("malformed", "the request belongs to another session", "sessionId")
        self._held = None
        return Resync(request.reason)

    def _snapshot(self, tree: Tree | Mapping[str, object], session: Attached) -> Snapshot:
        revision = self.revision + 1
        try:
            if not isinstance(tree, Tree):
                # Through its JSON, since a program may well use one object in several places of a tree.
                plain = decode_body(encode_body({**tree, "v": 3, "sessionId": session.session_id, "revision": revision}))
                return validate_snapshot(plain, session.limits)
            evidence = tree.provider_evidence
            if evidence is not UNSET:
                evidence = tuple(msgspec.structs.replace(entry, session_id=session.session_id, revision=revision) for entry in evidence)
            snapshot = Snapshot(
                v=3,
                session_id=session.session_id,
                revision=revision,
                columns=tree.columns,
                rows=tree.rows,
                cursor=tree.cursor,
                root_ids=tree.root_ids,
                nodes=tree.nodes,
                coordinate_space=tree.coordinate_space,
                hit_grid=tree.hit_grid,
                provider_evidence=evidence,
            )
            check_snapshot(snapshot, session.limits)
        except RemoteProtocolError as fault:
            raise LocalProtocolError(fault.code, fault.detail, fault.path) from None
        return snapshot

    def _delta(self, snapshot: Snapshot, limits: Mapping[str, int]) -> Delta | None:
        """What to say instead of the whole tree, or None when only the whole tree will do."""
        if self._held is None or "incremental-tree" not in self._capabilities:
            return None
        delta = diff(self._held, snapshot)
        if delta is None:
            return None
        operations = sum(len(group) for group in (delta.add_nodes, delta.update_nodes, delta.remove_node_ids) if group)
        return delta if operations <= limits["maxNodes"] else None
