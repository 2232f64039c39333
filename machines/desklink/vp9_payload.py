"""Cuts VP9 frames into RTP payloads: RFC 9628, flexible mode, one layer. Called by the peer connection for each encoded frame.

Each payload begins with a descriptor: a picture number of 15 bits, whether the picture depends on the one before it, and whether the
payload is its first or last. A receiver believes what it says of dependence: a delta frame that is not marked as one is never shown.
"""

from __future__ import annotations

from typing import Final

PAYLOAD_TYPE: Final = 98
PICTURE_IDS: Final = 1 << 15
"""Picture numbers are below this, and go on at 0."""

_HAS_ID, _DEPENDS, _FLEXIBLE, _FIRST, _LAST = 0x80, 0x40, 0x10, 0x08, 0x04
_WIDE_ID: Final = 0x8000  # the number has 15 bits
_ONE_BEFORE: Final = b"\x02"  # depends on the picture 1 before this one, and on no other
KEY_DESCRIPTOR_BYTES, DELTA_DESCRIPTOR_BYTES = 3, 4


def packetize(frame: bytes, *, key: bool, picture_id: int, max_payload: int) -> list[bytes]:
    """The payloads of one encoded frame, each of at most `max_payload` bytes with its descriptor; the marker belongs on the last.

    The parts are of nearly equal size: a short last packet would cost as much as a full one. ValueError when `max_payload` leaves no room.
    """
    step = max_payload - (KEY_DESCRIPTOR_BYTES if key else DELTA_DESCRIPTOR_BYTES)
    if step < 1:
        raise ValueError(f"no room for a payload of {max_payload} bytes")
    parts = max(1, -(-len(frame) // step))
    flags = _HAS_ID | _FLEXIBLE | (0 if key else _DEPENDS)
    tail = (_WIDE_ID | picture_id & PICTURE_IDS - 1).to_bytes(2, "big") + (b"" if key else _ONE_BEFORE)
    size, longer = divmod(len(frame), parts)
    payloads, at = [], 0
    for part in range(parts):
        end = at + size + (part < longer)
        place = (_FIRST if part == 0 else 0) | (_LAST if part == parts - 1 else 0)
        payloads.append(bytes((flags | place,)) + tail + frame[at:end])
        at = end
    return payloads
