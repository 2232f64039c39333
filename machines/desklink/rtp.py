"""Makes and reads RTP packets (RFC 3550 §5) with header extensions (RFC 8285); called by the peer connection for each packet.

A packet is made once, in a buffer of its own; its transport-wide number (the congestion feedback's) is written when it is sent, for the
numbers must follow the order of sending. Extensions are written only for what the peer's answer kept: a browser that declined one loses
the packets that carry it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ...errors import RemoteProtocolError

VERSION: Final = 0x80
MARKER: Final = 0x80
HEADER_BYTES: Final = 12
MOST_BYTES: Final = 1200
"""So long may a packet be: it passes on every path, even inside SRTP, TURN and IPv6."""
LONGEST_READ: Final = 2048
"""No datagram of RTP that comes in is longer."""

_PADDING, _EXTENSION = 0x20, 0x10
_ONE_BYTE, _TWO_BYTE = 0xBEDE, 0x1000
_IMMEDIATE: Final = bytes(3)  # the least and the greatest playout delay, 12 bits each: none
_HEADER: Final = struct.Struct("!BBHII")
_SHORT: Final = struct.Struct("!H")


@dataclass(frozen=True, slots=True)
class ExtensionIds:
    """The numbers under which the answer kept the header extensions; None for each that it did not keep."""

    mid: int | None = None
    transport_cc: int | None = None
    playout_delay: int | None = None


class Packet:
    """One packet to send. `data` is complete but for its transport-wide number."""

    __slots__ = ("_number_at", "data", "marker", "payload", "sequence", "ssrc", "timestamp")

    def __init__(self, data: bytearray, number_at: int, sequence: int, timestamp: int, ssrc: int, marker: bool, payload: bytes) -> None:
        self.data = data
        self._number_at = number_at
        self.sequence = sequence
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.marker = marker
        self.payload = payload

    def __len__(self) -> int:
        return len(self.data)

    def stamp(self, number: int) -> None:
        """Write the transport-wide number of 16 bits, just before sending; nothing when the answer did not keep that extension."""
        if self._number_at:
            _SHORT.pack_into(self.data, self._number_at, number)


class Stream:
    """Makes the packets of one SSRC. `sequence` is where its numbers begin; the starts of RTP are random, so the caller gives it."""

    def __init__(self, ssrc: int, payload_type: int, ids: ExtensionIds, *, sequence: int, mid: str = "0") -> None:
        self.ssrc = ssrc
        self.payload_type = payload_type
        self.sequence = sequence & 0xFFFF
        self.packets_made = self.octets_made = 0
        self._ids, self._mid = ids, mid.encode("ascii")
        self._names_section = True
        self._lay_out()

    def room(self, most: int = MOST_BYTES) -> int:
        """How many bytes of payload fit in a packet of `most` bytes."""
        return most - HEADER_BYTES - len(self._extensions)

    def heard(self) -> None:
        """The peer reports this SSRC: it knows to which media section it belongs, and need not be told any more."""
        if self._names_section:
            self._names_section = False
            self._lay_out()

    def packets(self, payloads: Sequence[bytes], timestamp: int) -> list[Packet]:
        """The packets of one picture: one timestamp, the marker on the last."""
        last = len(payloads) - 1
        return [self.packet(payload, timestamp, place == last) for place, payload in enumerate(payloads)]

    def packet(self, payload: bytes, timestamp: int, marker: bool) -> Packet:
        """The next packet."""
        sequence, timestamp = self.sequence, timestamp & 0xFFFFFFFF
        self.sequence = (sequence + 1) & 0xFFFF
        self.packets_made += 1
        self.octets_made += len(payload)
        kind = MARKER | self.payload_type if marker else self.payload_type
        data = bytearray(_HEADER.pack(self._first, kind, sequence, timestamp, self.ssrc))
        data += self._extensions
        data += payload
        return Packet(data, self._number_at, sequence, timestamp, self.ssrc, marker, payload)

    def padding(self, size: int, timestamp: int) -> Packet:
        """A packet of `size` bytes of padding (1 to 255) and nothing else: it only shows whether, and when, it came."""
        made = self.packet(bytes(size - 1) + bytes((size,)), timestamp, False)
        made.data[0] |= _PADDING
        self.octets_made -= size
        return made

    def _lay_out(self) -> None:
        ids = self._ids
        items = []
        if ids.transport_cc is not None:
            items.append((ids.transport_cc, bytes(2)))
        if ids.playout_delay is not None:
            items.append((ids.playout_delay, _IMMEDIATE))
        if ids.mid is not None and self._names_section:
            items.append((ids.mid, self._mid))
        self._extensions = extension_block(items)
        self._first = VERSION | _EXTENSION if items else VERSION
        # The transport-wide number is the first element, so its place is known: 4 bytes of block header, then the element's own.
        element = 1 if self._extensions[:2] == b"\xbe\xde" else 2
        self._number_at = HEADER_BYTES + 4 + element if ids.transport_cc is not None else 0


def extension_block(items: Iterable[tuple[int, bytes]]) -> bytes:
    """A header extension with these elements (number, value), padded to words: in the one-byte form if it can hold them, else two-byte.

    Empty without elements. ValueError for a number or a length that neither form can say.
    """
    elements = list(items)
    if not elements:
        return b""
    if all(1 <= number <= 14 and 1 <= len(value) <= 16 for number, value in elements):
        profile = _ONE_BYTE
        body = b"".join(bytes((number << 4 | len(value) - 1,)) + value for number, value in elements)
    else:
        profile = _TWO_BYTE
        body = b"".join(bytes((number, len(value))) + value for number, value in elements)
        if not all(1 <= number <= 255 for number, _ in elements):
            raise ValueError("the number of a header extension is 1 to 255")
    body += bytes(-len(body) % 4)
    return struct.pack("!HH", profile, len(body) // 4) + body


@dataclass(frozen=True, slots=True)
class Received:
    """A packet as it came in."""

    payload_type: int
    marker: bool
    sequence: int
    timestamp: int
    ssrc: int
    csrcs: tuple[int, ...]
    extensions: tuple[tuple[int, bytes], ...]  #: number and value, in order
    payload: bytes  #: without padding


def read(data: bytes) -> Received:
    """The parts of a packet. Raises RemoteProtocolError (code `transport`) when its parts do not add up."""
    if not HEADER_BYTES <= len(data) <= LONGEST_READ or data[0] & 0xC0 != VERSION:
        raise _refused("is no RTP packet")
    first, second, sequence, timestamp, ssrc = _HEADER.unpack_from(data)
    at = HEADER_BYTES + 4 * (first & 0x0F)
    csrcs = struct.unpack_from(f"!{first & 0x0F}I", data, HEADER_BYTES) if at <= len(data) else ()
    extensions: tuple[tuple[int, bytes], ...] = ()
    if first & _EXTENSION:
        if at + 4 > len(data):
            raise _refused("ends within its header")
        profile, words = struct.unpack_from("!HH", data, at)
        body = data[at + 4 : at + 4 + 4 * words]
        at += 4 + 4 * words
        if at <= len(data):
            extensions = _elements(profile, body)
    end = len(data) - data[-1] if first & _PADDING else len(data)
    if at > end or (first & _PADDING and end == len(data)):
        raise _refused("ends within its header or padding")
    return Received(second & 0x7F, bool(second & MARKER), sequence, timestamp, ssrc, csrcs, extensions, data[at:end])


def _elements(profile: int, body: bytes) -> tuple[tuple[int, bytes], ...]:
    """The elements of a header extension; none of one whose form is not known."""
    one_byte = profile == _ONE_BYTE
    if not one_byte and profile & 0xFFF0 != _TWO_BYTE:
        return ()
    found, at = [], 0
    while at < len(body):
        if body[at] == 0:  # padding
            at += 1
            continue
        if one_byte:
            number, length, start = body[at] >> 4, (body[at] & 0x0F) + 1, at + 1
            if number == 15:  # what follows is to be ignored (RFC 8285 §4.2)
                break
        else:
            number, length, start = body[at], body[at + 1] if at + 1 < len(body) else len(body), at + 2
        at = start + length
        if at > len(body):
            raise _refused("has a header extension that ends too late")
        if number:
            found.append((number, bytes(body[start:at])))
    return tuple(found)


def _refused(reason: str) -> RemoteProtocolError:
    return RemoteProtocolError("transport", f"what came {reason}", "rtp")
