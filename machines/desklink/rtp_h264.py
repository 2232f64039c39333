"""Makes RTP packets of H.264 access units: RFC 6184, packetization mode 1. Called by the peer connection of an encoded source.

Pure: the random starts of RTP (SSRC, sequence number, timestamp) are given, and so is the time. An access unit becomes packets of one
timestamp, the marker on the last. SPS and PPS wait for the NAL unit that they are for, and travel before it in one packet (STAP-A); what is
larger than a packet is cut (FU-A). Delimiters and filler say nothing to a decoder and are left out (desklink v3, encoded sources).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from .h264 import DELIMITER, FILLER, PPS, SPS, kind, nals

PAYLOAD_TYPE = 102
CLOCK_RATE = 90_000
PAYLOAD_BYTES = 1188
"""The most that one packet carries: with its header it has 1200 bytes, which pass on every path."""

MOST_HELD = 32
"""So many parameter sets may wait for a picture: a stream has one of each kind, seldom more."""

STAP_A, FU_A = 24, 28
_VERSION = _MARKER = 0x80
_NOT_TYPE = 0xE0  # the forbidden bit and nal_ref_idc, in the first byte of a NAL unit
_FIRST, _LAST = 0x80, 0x40  # in the second byte of a fragment


class Packetizer:
    """The packets of one RTP stream: the next `sequence` number, the `timestamp` that is time zero, and the stream's `ssrc`."""

    def __init__(self, ssrc: int, sequence: int, timestamp: int) -> None:
        self.ssrc = ssrc
        self.sequence = sequence
        self._zero = timestamp
        self._last = -1
        self._held: list[bytes] = []

    def packets(self, unit: bytes, at: float) -> list[bytes]:
        """The packets of an access unit that came at the monotonic time `at` (seconds); none when nothing in it can be sent yet."""
        payloads = self.payloads(unit)
        if not payloads:
            return []
        # Two access units of one timestamp would be one picture to the receiver.
        self._last = max(self._last + 1, int(at * CLOCK_RATE))
        timestamp = (self._zero + self._last) & 0xFFFFFFFF
        made = []
        for number, payload in enumerate(payloads, 1):
            marker = _MARKER if number == len(payloads) else 0
            made.append(struct.pack("!BBHII", _VERSION, marker | PAYLOAD_TYPE, self.sequence, timestamp, self.ssrc) + payload)
            self.sequence = (self.sequence + 1) & 0xFFFF
        return made

    def payloads(self, unit: bytes) -> list[bytes]:
        """The payloads of an access unit. Parameter sets with nothing behind them are held for the next unit."""
        made: list[bytes] = []
        for nal in nals(unit):
            number = kind(nal)
            if number in (SPS, PPS):
                self._held = [*self._held[1 - MOST_HELD :], nal]
            elif 0 < number < STAP_A and number not in (DELIMITER, FILLER):  # the others are for packets, not for streams
                made += [*self._parameter_sets(), *fragments(nal)]
        return made

    def _parameter_sets(self) -> list[bytes]:
        # Sets that nothing followed may stand here again: a decoder needs each once, the newest.
        held = list(dict.fromkeys(self._held))
        self._held.clear()
        if len(held) > 1 and len(packet := together(held)) <= PAYLOAD_BYTES:
            return [packet]
        return [payload for nal in held for payload in fragments(nal)]


def together(group: Sequence[bytes]) -> bytes:
    """Several NAL units in one payload (STAP-A), each behind its length; as important as the most important of them."""
    first = max(nal[0] & _NOT_TYPE for nal in group) | STAP_A
    return bytes((first,)) + b"".join(len(nal).to_bytes(2, "big") + nal for nal in group)


def fragments(nal: bytes) -> list[bytes]:
    """One NAL unit as a payload of its own or, when it is too long for that, as fragments (FU-A)."""
    if len(nal) <= PAYLOAD_BYTES:
        return [nal]
    indicator, step = nal[0] & _NOT_TYPE | FU_A, PAYLOAD_BYTES - 2
    made = []
    for start in range(1, len(nal), step):
        place = (_FIRST if start == 1 else 0) | (_LAST if start + step >= len(nal) else 0)
        made.append(bytes((indicator, place | kind(nal))) + nal[start : start + step])
    return made
