"""Reads what a fed H.264 access unit is made of: its NAL units, its profile, whether a decoder can begin with it. Called by the feed.

The form is Annex B: NAL units behind start codes, exactly as an encoder emits them. Nothing is decoded, and no NAL unit is changed.
"""

from __future__ import annotations

from collections.abc import Iterator

SLICE, IDR, SPS, PPS, DELIMITER, FILLER = 1, 5, 7, 8, 9, 12
"""The `nal_unit_type`s that matter here: slices are 1 to 5."""

START = b"\0\0\1"
LONG_START = b"\0\0\0\1"


def kind(nal: bytes) -> int:
    """The `nal_unit_type` of a NAL unit, which is not empty."""
    return nal[0] & 0x1F


def nals(unit: bytes) -> Iterator[bytes]:
    """The NAL units of an access unit, in order. What stands before the first start code is none, and neither is nothing."""
    at = unit.find(START)
    while at >= 0:
        begin = at + len(START)
        at = unit.find(START, begin)
        # A NAL unit never ends in a zero byte: such bytes belong to the start code after it, or fill up the stream.
        if nal := unit[begin : at if at >= 0 else len(unit)].rstrip(b"\0"):
            yield nal


def profile_level_id(unit: bytes) -> str | None:
    """The `profile-level-id` of the first SPS (profile, constraints and level as six hexadecimal digits); None without one."""
    for nal in nals(unit):
        if kind(nal) == SPS and len(nal) >= 4:
            return nal[1:4].hex()
    return None


def parameter_sets(unit: bytes) -> bytes:
    """The SPS and PPS of an access unit, in Annex B form; empty when there is no SPS among them."""
    sets = [nal for nal in nals(unit) if kind(nal) in (SPS, PPS)]
    return b"".join(LONG_START + nal for nal in sets) if any(kind(nal) == SPS for nal in sets) else b""


def kinds(unit: bytes) -> frozenset[int]:
    """The types of all its NAL units."""
    return frozenset(map(kind, nals(unit)))
