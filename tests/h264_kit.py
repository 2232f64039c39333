"""H.264 for the tests: a depacketizer of RFC 6184 that is nobody's code but its own, access units, and a real stream from ffmpeg."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import pytest

START = b"\0\0\0\1"


class Packet(NamedTuple):
    marker: bool
    sequence: int
    timestamp: int
    ssrc: int
    payload: bytes


def parsed(packet: bytes) -> Packet:
    first, second, sequence, timestamp, ssrc = struct.unpack_from("!BBHII", packet)
    assert first == 0x80  # version 2, no padding, no extension, no contributing source
    assert second & 0x7F == 102
    return Packet(bool(second & 0x80), sequence, timestamp, ssrc, packet[12:])


def depacketized(packets: Iterable[bytes]) -> list[list[bytes]]:
    """The NAL units of each access unit, by the rules of RFC 6184 for a receiver; it is strict about what a sender must not do."""
    units: list[list[bytes]] = [[]]
    whole: bytearray | None = None
    before: Packet | None = None
    for packet in map(parsed, packets):
        assert len(packet.payload) <= 1188
        if before is not None:
            assert packet.sequence == (before.sequence + 1) % 65536
            assert packet.ssrc == before.ssrc
            # The marker ends an access unit, and only that: with it the timestamp changes.
            assert (packet.timestamp != before.timestamp) == before.marker
        before = packet
        header, kind = packet.payload[0], packet.payload[0] & 0x1F
        if kind == 28:
            place, start, end = packet.payload[1], packet.payload[1] & 0x80, packet.payload[1] & 0x40
            assert not (start and end) and not place & 0x20
            assert bool(start) == (whole is None)
            whole = bytearray([header & 0xE0 | place & 0x1F]) if whole is None else whole
            assert len(packet.payload) > 2
            whole += packet.payload[2:]
            if end:
                units[-1].append(bytes(whole))
                whole = None
        elif kind == 24:
            assert whole is None
            rest, count, importance = packet.payload[1:], 0, 0
            while rest:
                length = int.from_bytes(rest[:2], "big")
                nal, rest = rest[2 : 2 + length], rest[2 + length :]
                assert len(nal) == length > 0
                importance = max(importance, nal[0] & 0x60)
                units[-1].append(nal)
                count += 1
            assert count > 1
            assert header & 0x60 == importance
        else:
            assert whole is None and 1 <= kind <= 23
            units[-1].append(packet.payload)
        if packet.marker:
            assert whole is None
            units.append([])
    assert units.pop() == []
    return units


def annex_b(nals: Sequence[bytes], start: bytes = START) -> bytes:
    return b"".join(start + nal for nal in nals)


@cache
def recorded() -> tuple[bytes, ...]:
    """Two seconds of a test picture, 486x1080 at 30 pictures a second, baseline 4.1, a key frame a second, as access units."""
    if shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg is not installed: apt install ffmpeg")
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=486x1080:rate=30:duration=2", "-c:v", "libx264", "-threads", "1"]
    command += ["-profile:v", "baseline", "-level", "4.1", "-pix_fmt", "yuv420p"]
    command += ["-g", "30", "-tune", "zerolatency", "-preset", "ultrafast"]
    stream = subprocess.run([*command, "-x264-params", "aud=1", "-f", "h264", "-"], capture_output=True, check=True, timeout=120).stdout
    units: list[list[bytes]] = []
    fresh = True
    for nal in [piece.rstrip(b"\0") for piece in stream.split(b"\0\0\1") if piece.strip(b"\0")]:
        slice_of_picture = nal[0] & 0x1F in (1, 5)
        first_slice = slice_of_picture and nal[1] & 0x80  # first_mb_in_slice is 0, which is the single bit 1
        if not units or (fresh and not slice_of_picture) or (first_slice and fresh):
            units.append([])
            fresh = False
        units[-1].append(nal)
        fresh = fresh or slice_of_picture
    return tuple(annex_b(unit) for unit in units)


def decoded(stream: bytes) -> list[str]:
    """One hash a picture, of what a decoder makes of the stream; it must not complain."""
    command = ["ffmpeg", "-v", "error", "-xerror", "-f", "h264", "-i", "-", "-f", "framehash", "-hash", "md5", "-"]
    done = subprocess.run(command, input=stream, capture_output=True, check=True, timeout=120)
    assert done.stderr == b""
    return [line.split(",")[-1].strip() for line in done.stdout.decode().splitlines() if not line.startswith("#")]
