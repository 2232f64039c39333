"""Reads and writes RTCP: reports, and the feedback of a receiver of pictures; called by the peer connection.

RFC 3550 §6 (SR, RR, SDES, BYE), RFC 4585 §6 (NACK, PLI), RFC 5104 §4.3.1 (FIR), the transport-wide congestion feedback, and REMB. A
datagram may begin with any packet, since reduced size (RFC 5506) is negotiated. One whose packets do not add up is refused whole
(RFC 3550 §A.2); packets of a kind that means nothing here are passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...errors import RemoteProtocolError
from .transport_cc import MOST_STATUSES, Feedback, read_feedback

LONGEST_READ: Final = 2048
"""No datagram of RTCP that comes in is longer, which bounds all that it can say."""
MOST_ASKED: Final = 1024
"""So many packets may one NACK ask for; a receiver remembers no more."""
MOST_TOLD: Final = MOST_STATUSES + MOST_ASKED
"""Of so many packets may one datagram tell or ask, whose few bytes could otherwise cost long work."""

_SR, _RR, _SDES, _BYE, _TRANSPORT, _PAYLOAD = 200, 201, 202, 203, 205, 206
_NACK, _CONGESTION = 1, 15
_PLI, _FIR, _APPLICATION = 1, 4, 15
_CNAME: Final = 1
_NTP_EPOCH: Final = 2_208_988_800  # seconds from 1900 to 1970


@dataclass(frozen=True, slots=True)
class ReportBlock:
    """What a receiver says of one of our streams since its last report."""

    ssrc: int
    fraction_lost: float  #: 0 to 1
    lost: int  #: packets in all, less duplicates: may be negative
    highest: int  #: the highest sequence number that came, with its cycles
    jitter: int  #: in units of the RTP clock
    last_sr: int  #: the middle of the NTP time of our last report; 0 when none came
    delay: float  #: seconds between that and this report


@dataclass(frozen=True, slots=True)
class SenderReport:
    """A report of a peer that sends too."""

    ssrc: int
    blocks: tuple[ReportBlock, ...]


@dataclass(frozen=True, slots=True)
class ReceiverReport:
    """A report of a peer."""

    ssrc: int
    blocks: tuple[ReportBlock, ...]


@dataclass(frozen=True, slots=True)
class Nack:
    """The packets of stream `ssrc` that did not come."""

    ssrc: int
    sequences: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PictureLoss:
    """The receiver cannot go on without a key frame of stream `ssrc`."""

    ssrc: int


@dataclass(frozen=True, slots=True)
class FullIntra:
    """The receiver demands a key frame of each stream. A number that it has used before is the same demand again."""

    requests: tuple[tuple[int, int], ...]  #: SSRC and number, 0 to 255


@dataclass(frozen=True, slots=True)
class Remb:
    """The receiver's own estimate of what the path carries."""

    kbps: int
    ssrcs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bye:
    """These streams of the peer end."""

    ssrcs: tuple[int, ...]


Item = SenderReport | ReceiverReport | Nack | PictureLoss | FullIntra | Feedback | Remb | Bye


def read(compound: bytes) -> tuple[Item, ...]:
    """What the RTCP packets of one datagram say, in order. Raises RemoteProtocolError (code `transport`), and then nothing was said."""
    if not 4 <= len(compound) <= LONGEST_READ:
        raise _refused("is no RTCP")
    items: list[Item] = []
    at = told = 0
    while at < len(compound):
        if at + 4 > len(compound) or compound[at] & 0xC0 != 0x80:
            raise _refused("has a packet of another version, or half a header")
        first, kind, words = struct.unpack_from("!BBH", compound, at)
        end = at + 4 + 4 * words
        if end > len(compound):
            raise _refused("ends within a packet")
        body = compound[at + 4 : end]
        if first & 0x20:  # padding, allowed in the last packet only
            # Whole words, says RFC 3550; browsers pad the congestion feedback by one to three bytes.
            if end != len(compound) or not body or not 0 < body[-1] <= len(body):
                raise _refused("has padding where there can be none")
            body = body[: -body[-1]]
        if (item := _read(kind, first & 0x1F, body)) is not None:
            told += len(item.ticks) if isinstance(item, Feedback) else len(item.sequences) if isinstance(item, Nack) else 1
            if told > MOST_TOLD:
                raise _refused("tells of too many packets")
            items.append(item)
        at = end
    return tuple(items)


def _read(kind: int, count: int, body: bytes) -> Item | None:
    if kind == _SR:
        _need(body, 24 + 24 * count)
        return SenderReport(_u32(body, 0), _blocks(body, 24, count))
    if kind == _RR:
        _need(body, 4 + 24 * count)
        return ReceiverReport(_u32(body, 0), _blocks(body, 4, count))
    if kind == _BYE:
        _need(body, 4 * count)
        return Bye(struct.unpack_from(f"!{count}I", body))
    if kind == _TRANSPORT and count == _NACK:
        _need(body, 12)
        return Nack(_u32(body, 4), _asked(body[8:]))
    if kind == _TRANSPORT and count == _CONGESTION:
        _need(body, 8)
        return read_feedback(body[4:])
    if kind == _PAYLOAD and count == _PLI:
        _need(body, 8)
        return PictureLoss(_u32(body, 4))
    if kind == _PAYLOAD and count == _FIR:
        _need(body, 16)
        return FullIntra(tuple((_u32(body, at), body[at + 4]) for at in range(8, len(body) - 7, 8)))
    if kind == _PAYLOAD and count == _APPLICATION and body[8:12] == b"REMB":
        return _remb(body)
    return None


def _blocks(body: bytes, at: int, count: int) -> tuple[ReportBlock, ...]:
    return tuple(_block(body, start) for start in range(at, at + 24 * count, 24))


def _block(body: bytes, at: int) -> ReportBlock:
    ssrc, losses, highest, jitter, last_sr, delay = struct.unpack_from("!6I", body, at)
    lost = losses & 0xFFFFFF
    return ReportBlock(ssrc, (losses >> 24) / 256, lost - (lost >> 23 << 24), highest, jitter, last_sr, delay / 65536)


def _asked(pairs: bytes) -> tuple[int, ...]:
    """The sequence numbers of a NACK: each word is one, and a mask of the sixteen after it."""
    found: dict[int, None] = {}
    for first, mask in struct.iter_unpack("!HH", pairs[: len(pairs) & ~3]):
        for offset in (0, *(bit + 1 for bit in range(16) if mask >> bit & 1)):
            found[(first + offset) & 0xFFFF] = None
        if len(found) > MOST_ASKED:
            raise _refused("asks for more packets than a receiver remembers")
    return tuple(found)


def _remb(body: bytes) -> Remb:
    _need(body, 16)
    count, exponent, mantissa = body[12], body[13] >> 2, (body[13] & 3) << 16 | body[14] << 8 | body[15]
    _need(body, 16 + 4 * count)
    return Remb((mantissa << exponent) // 1000, struct.unpack_from(f"!{count}I", body, 16))


def sender_report(ssrc: int, *, wall_ms: int, timestamp: int, packets: int, octets: int, cname: str) -> bytes:
    """A report on our stream, and its name: SR and SDES. `timestamp` is the RTP time of the wall clock's `wall_ms` (since 1970)."""
    ntp = _ntp(wall_ms)
    report = struct.pack(
        "!BBHIQIII", 0x80, _SR, 6, ssrc, ntp, timestamp & 0xFFFFFFFF, packets & 0xFFFFFFFF, octets & 0xFFFFFFFF
    )  # fmt: skip
    return report + description(ssrc, cname)


def description(ssrc: int, cname: str) -> bytes:
    """The name of our stream: SDES with a CNAME of at most 255 bytes."""
    name = cname.encode("utf-8")
    chunk = struct.pack("!IBB", ssrc, _CNAME, len(name)) + name
    chunk += bytes(4 - len(chunk) % 4)  # at least one zero ends the list
    return struct.pack("!BBH", 0x81, _SDES, len(chunk) // 4) + chunk


def bye(ssrcs: Sequence[int]) -> bytes:
    """These streams of ours end (at most 31)."""
    return struct.pack(f"!BBH{len(ssrcs)}I", 0x80 | len(ssrcs), _BYE, len(ssrcs), *ssrcs)


def round_trip(block: ReportBlock, wall_ms: int) -> float | None:
    """Seconds from our report to the peer and back (RFC 3550 §6.4.1), from its block that came at `wall_ms`; None before our first."""
    if block.last_sr == 0:
        return None
    elapsed = ((_ntp(wall_ms) >> 16) - block.last_sr & 0xFFFFFFFF) / 65536
    # A clock that was set meanwhile, or a lie.
    return None if elapsed > 60 else max(elapsed - block.delay, 0.0)


def _ntp(wall_ms: int) -> int:
    seconds, part = divmod(wall_ms, 1000)
    return (seconds + _NTP_EPOCH & 0xFFFFFFFF) << 32 | (part << 32) // 1000


def _u32(body: bytes, at: int) -> int:
    return int.from_bytes(body[at : at + 4], "big")


def _need(body: bytes, length: int) -> None:
    if len(body) < length:
        raise _refused("has a packet that is too short for its kind")


def _refused(reason: str) -> RemoteProtocolError:
    return RemoteProtocolError("transport", f"the peer's report {reason}", "rtcp")
