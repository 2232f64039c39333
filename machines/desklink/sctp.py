"""Whether an SCTP packet of the client is what it says it is, and costs no more than a real one; asked before the association reads any.

The association takes the lengths in a packet at their word, counts through each gap that is acknowledged, and answers each heartbeat: so
what does not add up, or could cost long work for few bytes, is refused whole here (RFC 9260 §3, RFC 6525 §3.1).
"""

from __future__ import annotations

import struct
from typing import Final

from ...errors import RemoteProtocolError

LONGEST_READ: Final = 2048
"""No datagram of SCTP that comes in is longer, which bounds all that it can say."""
MOST_AHEAD: Final = 8192
"""So many pieces may be under way: of one further ahead nothing is kept, and an acknowledgement of one is none."""
MOST_CHUNKS: Final = 96  # a packet full of the shortest control messages has fewer
MOST_PARAMETERS: Final = 16
MOST_RESETS: Final = 2  # RFC 6525 §3.1: combinations of two at most

_HEADER: Final = 12
_DATA, _INIT, _INIT_ACK, _SACK, _SHUTDOWN = 0, 1, 2, 3, 7
_RECONFIG, _FORWARD = 130, 192
#: So many bytes at least are in a chunk, behind its header: data without data is none.
_LEAST: Final = {_DATA: 13, _INIT: 16, _INIT_ACK: 16, _SACK: 12, _SHUTDOWN: 4, _FORWARD: 4}
#: Of the chunks that hold parameters: where these begin.
_PARAMETERS: Final = {_INIT: 16, _INIT_ACK: 16, 4: 0, 5: 0, 6: 0, 9: 0, _RECONFIG: 0}


def check(packet: bytes) -> None:
    """Raises RemoteProtocolError (code `transport`) for a packet that the association must not see."""
    if not _HEADER + 4 <= len(packet) <= LONGEST_READ:
        raise _refused("is none, or too long")
    once: set[int] = set()
    count, at = 0, _HEADER
    while at <= len(packet) - 4:
        kind, _, length = struct.unpack_from("!BBH", packet, at)
        if length < 4 or at + length > len(packet):
            raise _refused("has a chunk that does not fit in it")
        if kind != _DATA and kind in once:
            raise _refused("says the same thing twice")
        once.add(kind)
        count += 1
        _check_chunk(kind, packet[at + 4 : at + length])
        at += length + -length % 4
    if count > MOST_CHUNKS or (_INIT in once and count > 1):
        raise _refused("has more chunks than it may")


def _check_chunk(kind: int, body: bytes) -> None:
    if len(body) < _LEAST.get(kind, 0):
        raise _refused("has a chunk that says less than it must")
    if kind == _SACK:
        _check_gaps(body)
    elif kind == _FORWARD and len(body) % 4:
        raise _refused("skips something that is not named")
    elif kind in _PARAMETERS:
        most = MOST_RESETS if kind == _RECONFIG else MOST_PARAMETERS
        _check_parameters(body, _PARAMETERS[kind], most)


def _check_gaps(body: bytes) -> None:
    gaps, duplicates = struct.unpack_from("!HH", body, 8)
    if len(body) != 12 + 4 * (gaps + duplicates):
        raise _refused("acknowledges more than it names")
    last = 0
    for first, end in struct.iter_unpack("!HH", body[12 : 12 + 4 * gaps]):
        if not last < first <= end <= MOST_AHEAD:
            raise _refused("acknowledges what cannot be under way")
        last = end


def _check_parameters(body: bytes, at: int, most: int) -> None:
    count = 0
    while at <= len(body) - 4:
        _, length = struct.unpack_from("!HH", body, at)
        count += 1
        # One that has no length would be read for ever.
        if length < 4 or at + length > len(body) or count > most:
            raise _refused("has a parameter that does not fit in it")
        at += length + -length % 4


def _refused(reason: str) -> RemoteProtocolError:
    return RemoteProtocolError("transport", f"the client's SCTP packet {reason}", "sctp")
