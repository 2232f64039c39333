"""The seam to the peer connection of a session: what the engine asks of one, and the answer of a build that has none.

The host calls a `Transport`, for requests in the order in which they came; what happens there comes back through `Reports`. It says what
it sees on the path (there is one, it is lost, when something was last heard); what that means for the session, the engine core decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from ...errors import RemoteProtocolError
from ...machines.desklink.counters import Sent
from ...machines.desklink.effects import PeerPlan
from ...machines.desklink.geometry import Size
from ...machines.desklink.session import RevokeCode

if TYPE_CHECKING:
    from .newest import NewestFrame


class Reports(Protocol):
    """Who is told, on the event loop, what happens on the peer connection of a session."""

    def channel_opened(self, session_id: str) -> None:
        """The control channel is open; the engine's `hello` follows."""
        ...

    def channel_closed(self, session_id: str) -> None:
        """The control channel is gone, and with it whatever its client held down."""
        ...

    def control_received(self, session_id: str, text: bytes) -> None:
        """The client sent a control message."""
        ...

    def described(self, session_id: str, sdp: str) -> None:
        """There is an offer, the first or a new one."""
        ...

    def gathered(self, session_id: str, candidate: str, mid: str | None, index: int | None) -> None:
        """There is a candidate for the media section `mid`, number `index`."""
        ...

    def path_up(self, session_id: str) -> None:
        """A path works; or another one of a new ICE generation does."""
        ...

    def path_lost(self, session_id: str, event: Literal["transport_failed", "peer_closed"]) -> None:
        """No path can be had; or the client closed the connection. The session ends."""
        ...

    def keyframe_wanted(self, session_id: str) -> None:
        """The client reports a loss that it cannot repair (PLI or FIR)."""
        ...

    def newest(self, session_id: str, surface: Size) -> NewestFrame | None:
        """Asked, not told: the slot with the newest pictures of a captured session, for its encoder; None when it has ended."""
        ...

    def encodes(self, session_id: str, codec: str, encoder: str) -> None:
        """What the pictures of a captured desktop are encoded with, for the metrics."""
        ...

    def sent(self, session_id: str, sent: Sent, *, first: bool) -> None:
        """From any thread: a picture of a captured desktop was encoded and sent; the first one begins the stream."""
        ...

    def superseded(self, session_id: str) -> None:
        """A captured picture was replaced by a newer one before it was encoded."""
        ...

    def target_changed(self, session_id: str, kbps: int) -> None:
        """The encoder is told to keep this bit rate."""
        ...

    def revoke(self, session_id: str, code: RevokeCode, reason: str) -> None:
        """The session cannot go on: the encoder refused a picture (`error`), or the connection a packet (`transport`)."""
        ...


class Transport(Protocol):
    """The peer connections of an engine, by session id. A method raises RemoteProtocolError (code `transport`) when it cannot."""

    @property
    def encode_codecs(self) -> tuple[str, ...]:
        """The codecs in which a captured desktop can be sent, in the order of the offer."""
        ...

    @property
    def fed_codecs(self) -> tuple[str, ...]:
        """The codecs of encoded sources that can be sent."""
        ...

    async def start(self, session_id: str, plan: PeerPlan) -> None:
        """Build a peer connection and offer."""
        ...

    async def signal(self, session_id: str, kind: str, params: Any) -> None:
        """Take the client's answer (`description`) or candidate (`candidate`), or offer again with fresh ICE (`restart_ice`)."""
        ...

    def last_heard(self, session_id: str) -> float:
        """When anything came last on the path, in monotonic seconds."""
        ...

    def force_keyframe(self, session_id: str) -> None:
        """Encode the next picture of a captured desktop as a key frame."""
        ...

    def stop_encoding(self, session_id: str) -> None:
        """Send no picture any more: the session ends, and `close` follows."""
        ...

    async def send_unit(self, session_id: str, unit: bytes, at: float) -> int:
        """Packetize a fed access unit that came at the monotonic time `at`, and send it; the bytes of its packets' payloads."""
        ...

    def send(self, session_id: str, message: dict[str, Any]) -> None:
        """Queue a message on the control channel, if it is open."""
        ...

    async def close(self, session_id: str) -> None:
        """Send what is queued, and close the peer connection, if there is one."""
        ...


class NoTransport:
    """No peer connections: sessions are local, their frames read with `session.frame`."""

    def __init__(self, reports: Reports | None = None) -> None:
        """There is nothing to report."""

    @property
    def encode_codecs(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def fed_codecs(self) -> tuple[str, ...]:
        """None."""
        return ()

    async def start(self, session_id: str, plan: PeerPlan) -> None:
        """Nothing is offered."""

    async def signal(self, session_id: str, kind: str, params: Any) -> None:
        """Always refused."""
        raise RemoteProtocolError("transport", "this build carries no WebRTC transport and made no offer; read frames with session.frame")

    def last_heard(self, session_id: str) -> float:
        """Nothing, ever."""
        return float("-inf")

    def force_keyframe(self, session_id: str) -> None:
        """Nothing is encoded."""

    def stop_encoding(self, session_id: str) -> None:
        """Nothing is encoded."""

    async def send_unit(self, session_id: str, unit: bytes, at: float) -> int:
        """Nothing is sent."""
        return 0

    def send(self, session_id: str, message: dict[str, Any]) -> None:
        """No channel is ever open."""

    async def close(self, session_id: str) -> None:
        """Nothing is ever open."""
