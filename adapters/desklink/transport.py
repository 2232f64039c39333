"""The seam to the peer connection of a session: what the engine asks of one, and the answer of a build that has none.

The host calls a `Transport`, for requests in the order in which they came; what happens there comes back through `Reports`.
"""

from __future__ import annotations

from typing import Any, Protocol

from ...errors import RemoteProtocolError
from ...machines.desklink.session import RevokeCode
from ...machines.desklink.session import Transport as Word


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

    def transport_changed(self, session_id: str, transport: Word) -> None:
        """The peer connection has another state."""
        ...

    def revoke(self, session_id: str, code: RevokeCode, reason: str) -> None:
        """The peer connection, or the encoder, is lost for good."""
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

    async def start(self, session_id: str) -> None:
        """Build a peer connection and offer."""
        ...

    async def signal(self, session_id: str, kind: str, params: Any) -> None:
        """Take the client's answer (`description`) or candidate (`candidate`), or offer again with fresh ICE (`restart_ice`)."""
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

    async def start(self, session_id: str) -> None:
        """Nothing is offered."""

    async def signal(self, session_id: str, kind: str, params: Any) -> None:
        """Always refused."""
        raise RemoteProtocolError("transport", "this build carries no WebRTC transport and made no offer; read frames with session.frame")

    def send(self, session_id: str, message: dict[str, Any]) -> None:
        """No channel is ever open."""

    async def close(self, session_id: str) -> None:
        """Nothing is ever open."""
