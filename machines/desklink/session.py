"""One desktop session from `session.open` to its last event: who may watch, until when, and what ends it. The engine core steps it.

    opening ─▶ consented ─▶ streaming ─▶ ended
        └───────────┴──────────────────────▲

Rule 1. Consent is asked for once, in `opening`, and never again. Everything that can refuse does so there, before there is a peer.
Rule 2. `streaming` begins with the first encoded frame. Before it, a session is consented: the client may be connected and see nothing yet.
Rule 3. The lease is fixed at the open. Activity does not extend it.
Rule 4. There are two ways to end. What the engine ends (the lease, a lost transport, an encoder that refuses) is said as `session.revoked`
with its code. What the consumer ends (close, replace by another open, shutdown, end of input) is not; only the client is told, `closed`.
Rule 5. Every end does the same things in the same order, so that no key stays down and no picture leaves after it: control off, encoding
off, the fed video and the indicator dropped, held input released, the client told, the peer closed, capture stopped and joined, and then
`session.state` {ended, closed, false}, which is the last event of a session.
Rule 6. A capture that stops does not end the session. `session.state` says so, and says it again on every change of the transport.

The transport has its own lifecycle (`ice`), and so has the capture (`capture`). What they emit about themselves comes here as
`transport_changed` and `capture_changed`, because one event of the protocol tells of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from statemachine import State

from ...generated.desklink.vocabulary import DEFAULT_TTL_SECONDS
from ..lifecycle import Deadline, Effect, Lifecycle, Plan, plan, stay

Transport = Literal["new", "connecting", "connected", "disconnected", "failed", "closed"]
CaptureWord = Literal["consented", "streaming", "ended"]
RevokeCode = Literal["transport", "lease", "error"]

REASONS: dict[RevokeCode, str] = {
    "transport": "the connection to the phone was lost",
    "lease": "the session lease expired",
    "error": "the encoder rejected a frame",
}


@dataclass(frozen=True, slots=True)
class Memory:
    """What `session.state` tells, and whether the transport has been built."""

    capture: CaptureWord = "consented"
    transport: Transport = "new"
    first_frame: bool = False  #: a frame has been encoded (or, for fed video, sent)
    offered: bool = False  #: the transport has been built


@dataclass(frozen=True, slots=True)
class StartTransport(Effect):
    """Build the peer connection and let it offer: step `offer` of the ICE lifecycle."""


@dataclass(frozen=True, slots=True)
class EmitState(Effect):
    """Emit `session.state`."""

    capture: CaptureWord
    transport: Transport
    first_frame: bool


@dataclass(frozen=True, slots=True)
class EmitRevoked(Effect):
    """Emit `session.revoked`."""

    reason: str
    code: RevokeCode


@dataclass(frozen=True, slots=True)
class RefuseControl(Effect):
    """From now on every control message is refused with `session`."""


@dataclass(frozen=True, slots=True)
class StopEncoding(Effect):
    """End the encode loop; no packet is sent after this."""


@dataclass(frozen=True, slots=True)
class DropFeed(Effect):
    """Forget the fed video that was not sent, and remove the agent indicator."""


@dataclass(frozen=True, slots=True)
class ReleaseInput(Effect):
    """Release exactly what this session holds: buttons first, then keys. Doing it again releases nothing."""


@dataclass(frozen=True, slots=True)
class CloseControl(Effect):
    """Send `revoked` on the control channel, if it is open, and close it."""

    reason: str
    code: RevokeCode | Literal["closed"]


@dataclass(frozen=True, slots=True)
class ClosePeer(Effect):
    """Close the peer connection, if there is one: step `close` of the ICE lifecycle."""


@dataclass(frozen=True, slots=True)
class StopCapture(Effect):
    """Stop capture and wait for its thread: step `close` of the capture lifecycle."""


class Session(Lifecycle[Memory]):
    """One desktop session: consent, first frame, lease, and the one ordered end."""

    initial_memory = Memory()
    refusal = "session"

    opening = State(initial=True)
    consented = State()
    streaming = State()
    ended = State(final=True)

    opened = opening.to(consented, on="consent")
    described = stay(consented, unless="is_offered", on="offer_late")
    first_frame = consented.to(streaming, on="begin_stream")

    transport_changed = stay(consented, streaming, on="tell_transport")
    capture_changed = stay(consented, streaming, on="tell_capture")

    refuse = opening.to(ended, on="abandon")
    revoke = ended.from_(consented, streaming, on="end_revoked")
    lease_expired = ended.from_(consented, streaming, on="end_lease")
    replace = opening.to(ended, on="abandon") | ended.from_(consented, streaming, on="end_replaced")
    close = opening.to(ended, on="abandon") | ended.from_(consented, streaming, on="end_closed")

    # guards

    def is_offered(self, memory: Memory) -> bool:
        """The transport has been built."""
        return memory.offered

    # planners

    def consent(self, memory: Memory, now: float, captured: bool, lease: float = DEFAULT_TTL_SECONDS) -> Plan[Memory]:
        """Start the lease; offer at once, but for fed video, whose offer needs the stream's own parameters."""
        state = EmitState(memory.capture, memory.transport, memory.first_frame)
        started = (StartTransport(),) if captured else ()
        return plan(replace(memory, offered=captured), Deadline("lease_expired", now + lease), *started, state)

    def offer_late(self, memory: Memory) -> Plan[Memory]:
        """Offer: the first fed unit with its parameter sets has come."""
        return plan(replace(memory, offered=True), StartTransport())

    def begin_stream(self, memory: Memory) -> Plan[Memory]:
        """Say that there is a picture."""
        return _told(replace(memory, capture="streaming", first_frame=True))

    def tell_transport(self, memory: Memory, transport: Transport) -> Plan[Memory]:
        """Say how the transport is."""
        return _told(replace(memory, transport=transport))

    def tell_capture(self, memory: Memory, capture: Literal["streaming", "ended"]) -> Plan[Memory]:
        """Say that capture runs again, or that it is over; the session stays."""
        return _told(replace(memory, capture=capture))

    def abandon(self, memory: Memory) -> Plan[Memory]:
        """Undo an open that was not answered yet: nobody knows of the session, so nothing is said of it."""
        return plan(_over(memory), RefuseControl(), ReleaseInput(), StopCapture())

    def end_revoked(self, memory: Memory, code: RevokeCode, reason: str = "") -> Plan[Memory]:
        """End it and say why."""
        return _revoked(memory, reason or REASONS[code], code)

    def end_lease(self, memory: Memory) -> Plan[Memory]:
        """End it: its time is over."""
        return _revoked(memory, REASONS["lease"], "lease")

    def end_replaced(self, memory: Memory) -> Plan[Memory]:
        """End it in favour of another."""
        return _ended(memory, "another session was opened", "closed")

    def end_closed(self, memory: Memory) -> Plan[Memory]:
        """End it: the consumer asked for it, or has gone."""
        return _ended(memory, "the session was closed", "closed")


def _told(memory: Memory) -> Plan[Memory]:
    return plan(memory, EmitState(memory.capture, memory.transport, memory.first_frame))


def _over(memory: Memory) -> Memory:
    return replace(memory, capture="ended", transport="closed", first_frame=False)


def _revoked(memory: Memory, reason: str, code: RevokeCode) -> Plan[Memory]:
    return _ended(memory, reason, code, EmitRevoked(reason, code))


def _ended(memory: Memory, reason: str, code: RevokeCode | Literal["closed"], *before: Effect) -> Plan[Memory]:
    """The one ordered end of every session."""
    return plan(
        _over(memory),
        Deadline("lease_expired", None),
        *before,
        RefuseControl(),
        StopEncoding(),
        DropFeed(),
        ReleaseInput(),
        CloseControl(reason, code),
        ClosePeer(),
        StopCapture(),
        EmitState("ended", "closed", False),
    )
