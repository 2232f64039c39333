"""Keeps the packets that were sent and says which of them to send again; called by the peer connection for each packet and each NACK.

They go out on a stream of their own (RFC 4588). A peer that asks again and again gets each packet once per window, and only while the
window of its first sending is open to it: a narrow path would otherwise drown in what it has lost.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .rtp import Packet

WINDOW: Final = 0.150  # seconds: once in this time, unless a round trip is known to be shorter
SHORTEST_WINDOW: Final = 0.020
LONGEST_KEPT: Final = 2.0  # seconds: after this the peer has given up on the picture; a still one is told of once a second
MOST_PACKETS: Final = 8192
MOST_BYTES: Final = 16 << 20
"""So much is kept: the largest access unit that can be fed, twice. What is older goes."""
OSN_BYTES: Final = 2


@dataclass(slots=True)
class Kept:
    """One packet that was sent: what is needed to send it again."""

    sequence: int
    timestamp: int
    marker: bool
    payload: bytes
    sent_at: float
    again_at: float | None = None  #: when it was sent again last


class Store:
    """The packets of one stream that may be asked for."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Kept] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """The payload bytes that are kept."""
        return self._bytes

    def keep(self, packet: Packet, now: float) -> None:
        """Remember a packet that is sent now for the first time."""
        self._drop(packet.sequence)
        self._kept[packet.sequence] = Kept(packet.sequence, packet.timestamp, packet.marker, packet.payload, now)
        self._bytes += len(packet.payload)
        while self._is_too_much(oldest := next(iter(self._kept.values())), now):
            self._drop(oldest.sequence)

    def _is_too_much(self, oldest: Kept, now: float) -> bool:
        return now - oldest.sent_at > LONGEST_KEPT or len(self._kept) > MOST_PACKETS or self._bytes > MOST_BYTES

    def wanted(self, sequences: Iterable[int], now: float, rtt: float | None = None) -> list[Kept]:
        """Those of the asked packets that are to be sent again now, each once, in the order in which they were asked for."""
        window = WINDOW if rtt is None else min(max(SHORTEST_WINDOW, 1.25 * rtt), WINDOW)
        found = []
        for sequence in sequences:
            kept = self._kept.get(sequence)
            if kept is None or now - kept.sent_at > LONGEST_KEPT or (kept.again_at is not None and now - kept.again_at < window):
                continue
            kept.again_at = now
            found.append(kept)
        return found

    def forget(self) -> None:
        """A key frame follows: nobody needs what came before it."""
        self._kept.clear()
        self._bytes = 0

    def recent(self, size: int) -> list[Kept]:
        """The newest packets, of at least `size` payload bytes together when so much is kept; what a probe repeats."""
        found: list[Kept] = []
        total = 0
        for kept in reversed(self._kept.values()):
            if total >= size:
                break
            found.append(kept)
            total += len(kept.payload)
        return found

    def _drop(self, sequence: int) -> None:
        if gone := self._kept.pop(sequence, None):
            self._bytes -= len(gone.payload)


def rtx_payload(kept: Kept) -> bytes:
    """The payload of a retransmission: the original sequence number, then the original payload (RFC 4588 §4)."""
    return kept.sequence.to_bytes(OSN_BYTES, "big") + kept.payload
