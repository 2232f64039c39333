"""The SCTP association of the data channels: the part of aiortc's insides that `library` leaves to it, and what a client cannot do to it.

The library's association trusts its peer: it keeps each piece that is sent out of turn, opens each channel that is announced, and looks
through all it keeps for each piece that comes. Here the one channel that the engine announced is served, within bounds; of all others the
pieces are acknowledged and forgotten. Nothing that fails in here, now or when a timer comes, breaks more than the association.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any, cast

from aiortc.rtcdatachannel import RTCDataChannel, RTCDataChannelParameters
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcsctptransport import RTCSctpCapabilities, RTCSctpTransport
from OpenSSL import SSL

from ....errors import RemoteProtocolError
from ....machines.desklink import sctp
from ...log import get_logger

log = get_logger()

PRIVATE: tuple[tuple[type, str], ...] = (
    *((RTCSctpTransport, name) for name in ("_sent_queue", "_outbound_queue", "_data_channel_queue", "_advertised_rwnd")),
    *((RTCSctpTransport, name) for name in ("_rto", "_srtt", "_rttvar", "_update_rto", "_receive_sack_chunk", "_send_chunk")),
    *((RTCSctpTransport, name) for name in ("_receive_data_chunk", "_receive_forward_tsn_chunk", "_mark_received", "_handle_data")),
    *((RTCSctpTransport, name) for name in ("_last_received_tsn", "_sack_misordered", "_sack_needed", "_inbound_streams")),
    (RTCSctpTransport, "_data_channels"),
)
"""Every private name that is used here, with the class it belongs to."""

RTO_MIN_SECONDS = 0.25  # a lost input message is sent again after a round trip, not after a second
MOST_UNREAD_BYTES = 1 << 20
MOST_PIECES = 1024
"""So many pieces of messages may wait for what is missing between them; the largest message has a quarter."""
TSN_MASK = 0xFFFFFFFF


class Sctp(RTCSctpTransport):
    """The association of the data channels. `drained` is set while the client has acknowledged everything."""

    def __init__(self, dtls: RTCDtlsTransport) -> None:
        super().__init__(dtls)
        self.drained = asyncio.Event()

    @property
    def unacknowledged(self) -> int:
        """So many pieces of messages are queued, or sent and not acknowledged."""
        return len(self._sent_queue) + len(self._outbound_queue) + len(self._data_channel_queue)

    async def begin(self, port: int, max_message_size: int) -> None:
        """Associate with the client's `port`."""
        await self.start(RTCSctpCapabilities(maxMessageSize=max_message_size), port)

    async def _receive_sack_chunk(self, chunk: Any) -> None:
        await super()._receive_sack_chunk(chunk)
        if not self.unacknowledged:
            self.drained.set()

    def _update_rto(self, R: float) -> None:
        super()._update_rto(R)
        # With a full second at least, one lost packet would hold up all input for that long.
        smooth, variance = cast(float, self._srtt), cast(float, self._rttvar)
        self._rto = max(RTO_MIN_SECONDS, min(smooth + 4 * variance, self._rto))

    async def _send_chunk(self, chunk: Any) -> None:
        # Also called by tasks of the library that nobody waits for, when the client has closed DTLS already.
        try:
            await super()._send_chunk(chunk)
        except (ConnectionError, SSL.Error, struct.error) as error:
            log.debug("an SCTP packet was not sent", reason=repr(error))

    async def _receive_data_chunk(self, chunk: Any) -> None:
        if chunk.stream_id not in self._data_channels:
            self._sack_needed = True
            self._mark_received(chunk.tsn)
            return
        waiting = len(stream.reassembly) if (stream := self._inbound_streams.get(chunk.stream_id)) else 0
        # What is missing between those that wait is still taken; not more of a message that never ends.
        is_next = chunk.tsn == (cast(int, self._last_received_tsn) + 1) & TSN_MASK
        if waiting >= (2 * MOST_PIECES if is_next else MOST_PIECES):
            return
        await super()._receive_data_chunk(chunk)

    async def _receive_forward_tsn_chunk(self, chunk: Any) -> None:
        chunk.streams = [skipped for skipped in chunk.streams if skipped[0] in self._inbound_streams]
        await super()._receive_forward_tsn_chunk(chunk)

    def _mark_received(self, tsn: int) -> bool:
        """Whether a piece is to be left: it came before, or is too far ahead. The library would look through all of them each time."""
        last = cast(int, self._last_received_tsn)
        if tsn in self._sack_misordered or not 0 < (tsn - last) & TSN_MASK <= sctp.MOST_AHEAD:
            return True
        self._sack_misordered.add(tsn)
        while (following := (last + 1) & TSN_MASK) in self._sack_misordered:
            self._sack_misordered.remove(following)
            last = self._last_received_tsn = following
        return False


class Guarded:
    """Hands data on to the association; what it cannot stand costs a packet and no more."""

    def __init__(self, association: RTCSctpTransport) -> None:
        self._association = association

    async def _handle_data(self, data: bytes) -> None:
        if self._association._advertised_rwnd < -MOST_UNREAD_BYTES:
            return  # it was told to stop, and goes on
        try:
            sctp.check(data)
            await self._association._handle_data(data)
        except RemoteProtocolError as refused:
            log.debug("an SCTP packet was ignored", reason=refused.detail)
        except Exception as error:
            log.debug("an SCTP packet was ignored", error=repr(error))


def open_channel(association: Sctp, label: str) -> RTCDataChannel:
    """An ordered and reliable data channel, announced as soon as the association stands."""
    return RTCDataChannel(association, RTCDataChannelParameters(label=label))
