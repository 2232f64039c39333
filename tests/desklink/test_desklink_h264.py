"""H.264 of encoded sources: what a unit is made of, and RTP packets from which a receiver gets the very same NAL units."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from h264_kit import annex_b, decoded, depacketized, parsed, recorded
from triptych.machines.desklink.h264 import kinds, nals, parameter_sets, profile_level_id
from triptych.machines.desklink.rtp_h264 import MOST_HELD, Packetizer

SPS, PPS = b"\x67\x42\xc0\x29sps", b"\x68pps"


def nal_units(most: int = 4000, types: tuple[int, ...] = (1, 2, 5, 6, 7, 8, 9, 10, 12, 14, 19, 23)) -> st.SearchStrategy[bytes]:
    """NAL units as an encoder makes them: no start code inside, no zero byte at the end."""

    def real(parts: tuple[int, int, bytes, int]) -> bytes:
        kind, importance, body, repeat = parts
        return bytes([importance << 5 | kind]) + (body * repeat)[:most].replace(b"\0\0", b"\0\3") + b"\x80"

    return st.tuples(st.sampled_from(types), st.integers(0, 3), st.binary(max_size=40), st.integers(0, 200)).map(real)


@given(st.lists(nal_units(), max_size=6), st.lists(st.sampled_from([b"\0\0\1", b"\0\0\0\1", b"\0\0\0\0\0\1"]), min_size=6, max_size=6))
def test_a_unit_is_cut_at_its_start_codes_however_long_they_are(units: list[bytes], starts: list[bytes]) -> None:
    stream = b"".join(start + nal for start, nal in zip(starts, units, strict=False))
    assert list(nals(stream)) == units
    assert list(nals(stream + b"\0\0\0")) == units
    assert kinds(stream) == {nal[0] & 31 for nal in units}


@given(st.binary(max_size=200))
def test_any_bytes_have_some_nal_units_and_none_is_empty(data: bytes) -> None:
    for nal in nals(data):
        assert nal
        assert b"\0\0\1" not in nal


def test_the_profile_is_that_of_the_first_sps_that_is_long_enough() -> None:
    assert profile_level_id(annex_b([b"\x09\xf0", SPS, PPS])) == "42c029"
    assert profile_level_id(annex_b([b"\x67\x42\xc0", b"\x27\x64\x00\x1f\xac", SPS])) == "64001f"
    for none in (b"", SPS, annex_b([PPS]), annex_b([b"\x67\x42\xc0"]), b"\0\0\1", annex_b([b"\x65abc"])):
        assert profile_level_id(none) is None
    assert list(nals(parameter_sets(annex_b([b"\x09\xf0", SPS, PPS, b"\x65idr"])))) == [SPS, PPS]
    assert parameter_sets(annex_b([PPS, b"\x65idr"])) == b""


def test_parameter_sets_travel_in_one_packet_before_what_they_are_for() -> None:
    packetizer = Packetizer(ssrc=0xDEADBEEF, sequence=65535, timestamp=0xFFFFFFFF)
    assert packetizer.packets(annex_b([b"\x09\xf0", SPS, PPS]), 1.0) == []
    packets = packetizer.packets(annex_b([b"\x09\xf0", b"\x65idr", b"\x0c\xff\xff", b"\x65more"]), 2.0)
    assert [packet.payload for packet in map(parsed, packets)] == [b"\x78\0\x07" + SPS + b"\0\x04" + PPS, b"\x65idr", b"\x65more"]
    assert [packet.marker for packet in map(parsed, packets)] == [False, False, True]
    assert [packet.sequence for packet in map(parsed, packets)] == [65535, 0, 1]
    assert {(packet.timestamp, packet.ssrc) for packet in map(parsed, packets)} == {(2 * 90_000 - 1, 0xDEADBEEF)}
    # Sets that came twice before a picture are sent once; one alone needs no aggregate.
    packetizer.packets(annex_b([SPS, PPS]), 3.0)
    again = packetizer.packets(annex_b([SPS, PPS, b"\x41x"]), 3.1)
    assert len(again) == 2
    assert [parsed(packet).payload for packet in packetizer.packets(annex_b([PPS, b"\x41x"]), 3.2)] == [PPS, b"\x41x"]


def test_what_is_too_long_for_one_packet() -> None:
    packetizer = Packetizer(1, 2, 3)
    for length, pieces in ((1188, 1), (1189, 2), (1 + 2 * 1186, 2), (2 + 2 * 1186, 3)):
        nal = b"\x65" + b"\xaa" * (length - 1)
        packets = packetizer.packets(annex_b([nal]), float(length))
        assert len(packets) == pieces
        assert depacketized(packets) == [[nal]]
    large = [b"\x67\x42\xc0\x29" + b"\xaa" * 1000, b"\x68" + b"\xbb" * 1000, b"\x65idr"]
    assert depacketized(packetizer.packets(annex_b(large), 9999.0)) == [large]


def test_two_units_never_share_a_timestamp() -> None:
    packetizer = Packetizer(1, 2, 3)
    stamps = [parsed(packetizer.packets(annex_b([b"\x41x"]), at)[0]).timestamp for at in (1.0, 1.0, 0.5, 2.0)]
    assert stamps == [90_003, 90_004, 90_005, 180_003]


def test_parameter_sets_that_nothing_follows_do_not_pile_up() -> None:
    packetizer = Packetizer(1, 2, 3)
    for number in range(500):
        assert packetizer.packets(annex_b([b"\x67" + number.to_bytes(2, "big") + b"\x01"]), float(number)) == []
    [unit] = depacketized(packetizer.packets(annex_b([b"\x65x"]), 1e6))
    assert len(unit) == MOST_HELD + 1


@given(st.lists(st.lists(nal_units(), min_size=1, max_size=5), min_size=1, max_size=5), st.integers(0, 65535), st.integers(0, 2**32 - 1))
def test_a_receiver_gets_every_nal_unit_that_says_something(units: list[list[bytes]], sequence: int, timestamp: int) -> None:
    packetizer = Packetizer(5, sequence, timestamp)
    made = [packet for number, unit in enumerate(units) for packet in packetizer.packets(annex_b(unit), number * 0.033)]
    received = depacketized(made)
    assert all(received)
    flat = [nal for unit in received for nal in unit]
    wanted = [nal for unit in units for nal in unit if nal[0] & 31 not in (9, 12)]
    # Parameter sets that the stream ends with are still held, and of equal ones in a row one is enough.
    while wanted and wanted[-1][0] & 31 in (7, 8):
        wanted.pop()
    assert without_repeated_sets(flat) == without_repeated_sets(wanted)


def without_repeated_sets(units: list[bytes]) -> list[bytes]:
    kept: list[bytes] = []
    sets: list[bytes] = []
    for nal in units:
        if nal[0] & 31 in (7, 8):
            if nal in sets:
                continue
            sets.append(nal)
        else:
            sets.clear()
        kept.append(nal)
    return kept


@given(st.binary(max_size=3000))
def test_any_bytes_become_packets_that_a_receiver_understands(data: bytes) -> None:
    depacketized(Packetizer(1, 2, 3).packets(b"\0\0\1" + data, 1.0))


def test_a_real_stream_comes_out_as_it_went_in_and_decodes_to_the_same_pictures() -> None:
    units = recorded()
    assert len(units) == 60
    assert profile_level_id(units[0]) == "42c029"
    assert [number for number, unit in enumerate(units) if 5 in kinds(unit)] == [0, 30]
    packetizer = Packetizer(77, 65500, 2**32 - 50_000)
    packets = [packetizer.packets(unit, 100 + number / 30) for number, unit in enumerate(units)]
    received = depacketized(packet for group in packets for packet in group)
    assert received == [[nal for nal in nals(unit) if nal[0] & 31 not in (9, 12)] for unit in units]
    first, second = parsed(packets[0][0]), parsed(packets[1][0])
    assert first.payload[0] == 0x78
    assert (second.timestamp - first.timestamp) % 2**32 == 3000
    assert max(len(packet) for group in packets for packet in group) <= 1200
    pictures = decoded(b"".join(annex_b(unit) for unit in received))
    assert len(pictures) == 60
    assert pictures == decoded(b"".join(units))
