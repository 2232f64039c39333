"""Builds what a receiver of pictures sends: RTCP packets byte for byte, written apart from the code that reads them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence


def rtcp(kind: int, count: int, body: bytes) -> bytes:
    """One RTCP packet of a whole number of words."""
    assert len(body) % 4 == 0
    return struct.pack("!BBH", 0x80 | count, kind, len(body) // 4) + body


def block(ssrc: int, *, fraction: int = 0, lost: int = 0, highest: int = 0, jitter: int = 0, last_sr: int = 0, delay: int = 0) -> bytes:
    """One report block."""
    return struct.pack("!IIIIII", ssrc, fraction << 24 | lost & 0xFFFFFF, highest, jitter, last_sr, delay)


def receiver_report(ssrc: int, *blocks: bytes) -> bytes:
    return rtcp(201, len(blocks), struct.pack("!I", ssrc) + b"".join(blocks))


def nack(ssrc: int, *pairs: tuple[int, int]) -> bytes:
    return rtcp(205, 1, struct.pack("!II", 7, ssrc) + b"".join(struct.pack("!HH", first, mask) for first, mask in pairs))


def nack_of(ssrc: int, sequences: Sequence[int]) -> bytes:
    """A NACK for these sequence numbers, a word for each."""
    return nack(ssrc, *((sequence, 0) for sequence in sequences))


def pli(ssrc: int) -> bytes:
    return rtcp(206, 1, struct.pack("!II", 7, ssrc))


def fir(ssrc: int, number: int) -> bytes:
    return rtcp(206, 4, struct.pack("!IIIB3x", 7, 0, ssrc, number))


def remb(bits: int, *ssrcs: int) -> bytes:
    exponent = max(0, bits.bit_length() - 18)
    packed = len(ssrcs) << 24 | exponent << 18 | bits >> exponent
    return rtcp(206, 15, struct.pack("!II4sI", 7, 0, b"REMB", packed) + b"".join(struct.pack("!I", ssrc) for ssrc in ssrcs))


def congestion(ssrc: int, base: int, ticks: Mapping[int, int], count: int, *, reference: int | None = None, number: int = 0) -> bytes:
    """A congestion feedback of `count` packets from `base` on: `ticks[i]` is when packet base+i came, in steps of 250 µs.

    Statuses are written as vectors of seven two-bit symbols, and as runs where eight or more are equal.
    """
    first = min(ticks.values(), default=0)
    reference = first // 256 if reference is None else reference
    before = reference * 256
    symbols, deltas = [], b""
    for place in range(count):
        if place not in ticks:
            symbols.append(0)
            continue
        delta = ticks[place] - before
        before = ticks[place]
        symbols.append(1 if 0 <= delta < 256 else 2)
        deltas += bytes((delta,)) if 0 <= delta < 256 else struct.pack("!h", delta)
    chunks, at = b"", 0
    while at < count:
        run = 1
        while at + run < count and symbols[at + run] == symbols[at] and run < 8191:
            run += 1
        if run >= 8:
            chunks += struct.pack("!H", symbols[at] << 13 | run)
            at += run
            continue
        vector = symbols[at : at + 7] + [0] * (7 - len(symbols[at : at + 7]))
        chunks += struct.pack("!H", 0xC000 | sum(symbol << 12 - 2 * place for place, symbol in enumerate(vector)))
        at += 7
    body = struct.pack("!IIHH", 7, ssrc, base & 0xFFFF, count) + (reference & 0xFFFFFF).to_bytes(3, "big") + bytes((number & 0xFF,))
    body += chunks + deltas
    padding = -len(body) % 4
    if not padding:
        return rtcp(205, 15, body)
    packet = bytearray(rtcp(205, 15, body + bytes(padding - 1) + bytes((padding,))))
    packet[0] |= 0x20
    return bytes(packet)
