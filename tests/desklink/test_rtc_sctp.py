"""What an SCTP packet must be before the association may read it."""

from __future__ import annotations

import struct

import pytest

from hostile_kit import chunk, data
from triptych.errors import RemoteProtocolError
from triptych.machines.desklink import sctp

HEAD = struct.pack("!HHLL", 5000, 5000, 7, 0)


def sack(*gaps: tuple[int, int], said: int | None = None) -> bytes:
    """An acknowledgement with these gaps."""
    body = struct.pack("!LLHH", 5, 1 << 20, len(gaps) if said is None else said, 0)
    return chunk(3, body + b"".join(struct.pack("!HH", *gap) for gap in gaps))


REAL = {
    "init": chunk(1, struct.pack("!LLHHL", 9, 1 << 20, 65535, 65535, 5) + b"\xc0\0\0\4\x80\x08\0\6\xc0\x82\0\0"),
    "data behind an acknowledgement": sack((2, 3), (5, 5)) + data(5, b"{}"),
    "many small messages": b"".join(data(5 + number, b"{}") for number in range(60)),
    "heartbeat": chunk(4, b"\0\1\0\x08abcd"),
    "abort": chunk(6),
    "reset": chunk(130, b"\0\x0d\0\x12" + struct.pack("!LLLH", 1, 2, 3, 4)),
    "skip": chunk(192, struct.pack("!LHH", 9, 1, 2)),
    "of a kind that is not known": chunk(77, b"abcde"),
}
HOSTILE = {
    "nothing": b"",
    "a parameter without a length": chunk(4, struct.pack("!HH", 1, 0) + bytes(8)),
    "a parameter without a length in an init": chunk(1, bytes(16) + bytes(4)),
    "a parameter longer than its chunk": chunk(9, struct.pack("!HH", 1, 60) + bytes(8)),
    "a chunk without a length": chunk(4, length=0),
    "a chunk longer than the packet": chunk(0, bytes(20), length=400),
    "gaps that are counted again and again": sack(*[(1, 65535)] * 280),
    "a gap over everything": sack((2, 65535)),
    "gaps that go back": sack((5, 6), (2, 3)),
    "more gaps than there are": sack((2, 3), said=60000),
    "two heartbeats": chunk(4) * 2,
    "data without data": data(5, b""),
    "three resets": chunk(130, b"\0\x0d\0\x10" * 3 + bytes(48)),
    "an init with more": chunk(1, bytes(16)) + data(5, b"{}"),
    "a skip to nowhere": chunk(192),
    "a farewell that says half of what it must": chunk(7, b"abc"),
}


@pytest.mark.parametrize("name", REAL)
def test_what_clients_send_passes(name: str) -> None:
    sctp.check(HEAD + REAL[name])


@pytest.mark.parametrize("name", HOSTILE)
def test_what_would_cost_much_is_refused(name: str) -> None:
    with pytest.raises(RemoteProtocolError) as refused:
        sctp.check(HEAD + HOSTILE[name])
    assert refused.value.code == "transport"


def test_a_packet_longer_than_any_is_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        sctp.check(HEAD + data(5, bytes(3000)))
