"""Reads the beginning of a VP9 frame, and makes the frame that shows it once more; called by the encoder adapter.

A decoder keeps pictures in eight slots. A frame of one byte tells it to show the picture of a slot again, as `show_existing_frame` of the
VP9 bitstream, 7.2, says: nothing is decoded, and neither the decoder's state nor the encoder's changes.
"""

from __future__ import annotations

_MARKER_AND_PROFILE, _NEITHER = 0b1111_0000, 0b1000_0000  # 2 bits that are always so, and 2 of profile 0
_EXISTING, _DELTA, _SHOWN, _RESILIENT = 0b1000, 0b0100, 0b0010, 0b0001


def shown_again(frame: bytes) -> bytes | None:
    """The frame that shows the picture of `frame` again, when it comes next; None if no slot keeps it, or it is not of profile 0."""
    if len(frame) < 3 or frame[0] & _MARKER_AND_PROFILE != _NEITHER or frame[0] & _EXISTING or not frame[0] & _SHOWN:
        return None
    slots = 0xFF  # a key frame is kept in all of them
    if frame[0] & _DELTA:
        # What a shown frame resets stands before the slots, in 2 bits, unless it is resilient.
        bits = int.from_bytes(frame[1:3], "big")
        slots = bits >> 8 if frame[0] & _RESILIENT else bits >> 6 & 0xFF
    if not slots:
        return None
    lowest = (slots & -slots).bit_length() - 1
    return bytes((_NEITHER | _EXISTING | lowest,))
