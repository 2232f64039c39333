"""RTP packets and VP9 payloads: written as the RFCs say, read by an implementation that is not ours, and read back by ours."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import RemoteProtocolError
from triptych.machines.desklink import rtp_h264
from triptych.machines.desklink.rtp import MOST_BYTES, ExtensionIds, Stream, extension_block, read
from triptych.machines.desklink.vp9_payload import packetize

ALL = ExtensionIds(mid=4, transport_cc=3, playout_delay=5)
IDS = st.builds(
    lambda numbers, kept: ExtensionIds(*(number if keep else None for number, keep in zip(numbers, kept, strict=True))),
    st.lists(st.integers(1, 255).filter(lambda number: number != 15), min_size=3, max_size=3, unique=True),
    st.lists(st.booleans(), min_size=3, max_size=3),
)


def stream(ids: ExtensionIds = ALL, **more: int) -> Stream:
    return Stream(0x11223344, 98, ids, sequence=more.get("sequence", 65534))


def test_a_packet_is_laid_out_as_the_rfcs_say() -> None:
    packet = stream().packet(b"payload", 0x01020304, True)
    packet.stamp(0xABCD)
    header = struct.pack("!BBHII", 0x90, 0x80 | 98, 65534, 0x01020304, 0x11223344)
    extension = bytes.fromhex("bede0003 31abcd 52000000 4030 000000".replace(" ", ""))
    assert bytes(packet.data) == header + extension + b"payload"


def test_playout_delay_zero_stands_on_every_packet_and_the_mid_until_the_peer_reports() -> None:
    made = stream()
    wide = made.room()
    before = [read(bytes(packet.data)) for packet in made.packets([b"a", b"b"], 1)]
    made.heard()
    after = [read(bytes(packet.data)) for packet in made.packets([b"c", b"d"], 2)]
    assert all(dict(packet.extensions)[5] == b"\0\0\0" for packet in before + after)
    assert all(dict(packet.extensions)[4] == b"0" for packet in before)
    assert all(4 not in dict(packet.extensions) for packet in after)
    assert made.room() > wide == MOST_BYTES - 28


def test_numbers_go_on_at_zero_and_the_marker_ends_the_picture() -> None:
    packets = stream().packets([b"1", b"2", b"3"], 2**32 + 5)
    assert [(packet.sequence, packet.timestamp, packet.marker) for packet in packets] == [
        (65534, 5, False),
        (65535, 5, False),
        (0, 5, True),
    ]


def test_the_transport_wide_number_is_written_when_it_is_sent() -> None:
    packet = stream().packet(b"x", 0, False)
    for number in (0, 7, 65535):
        packet.stamp(number)
        assert dict(read(bytes(packet.data)).extensions)[3] == struct.pack("!H", number)
    plain = stream(ExtensionIds(playout_delay=5)).packet(b"x", 0, False)
    before = bytes(plain.data)
    plain.stamp(0xFFFF)
    assert bytes(plain.data) == before


def test_nothing_is_added_that_the_answer_did_not_keep() -> None:
    packet = stream(ExtensionIds()).packet(b"x", 0, False)
    assert bytes(packet.data) == struct.pack("!BBHII", 0x80, 98, 65534, 0, 0x11223344) + b"x"


def test_a_packet_of_padding_has_no_payload() -> None:
    made = stream()
    for size in (1, 40, 255):
        packet = made.padding(size, 9)
        received = read(bytes(packet.data))
        assert received.payload == b"" and not received.marker
        assert len(packet) == MOST_BYTES - made.room() + size
    assert made.octets_made == 0 and made.packets_made == 3


@given(IDS, st.binary(min_size=1, max_size=1200), st.integers(0, 2**40), st.booleans(), st.integers(0, 65535))
def test_a_packet_reads_as_what_it_was_made_from(ids: ExtensionIds, payload: bytes, timestamp: int, marker: bool, number: int) -> None:
    packet = stream(ids).packet(payload, timestamp, marker)
    packet.stamp(number)
    received = read(bytes(packet.data))
    assert (received.payload, received.timestamp, received.marker) == (payload, timestamp % 2**32, marker)
    assert (received.payload_type, received.sequence, received.ssrc) == (98, 65534, 0x11223344)
    expected = {ids.transport_cc: struct.pack("!H", number), ids.playout_delay: bytes(3), ids.mid: b"0"}
    assert dict(received.extensions) == {key: value for key, value in expected.items() if key is not None}


@given(IDS, st.binary(min_size=1, max_size=100), st.integers(0, 65535))
def test_another_implementation_reads_the_same(ids: ExtensionIds, payload: bytes, number: int) -> None:
    rtp = pytest.importorskip("aiortc.rtp")
    packet = stream(ids).packet(payload, 77, True)
    packet.stamp(number)
    received = rtp.RtpPacket.parse(bytes(packet.data))
    assert (received.payload, received.marker, received.sequence_number, received.ssrc) == (payload, 1, 65534, 0x11223344)
    assert rtp.unpack_header_extensions(*extension_profile(bytes(packet.data))) == list(read(bytes(packet.data)).extensions)


def extension_profile(data: bytes) -> tuple[int, bytes]:
    if not data[0] & 0x10:
        return 0, b""
    profile, words = struct.unpack_from("!HH", data, 12)
    return profile, data[16 : 16 + 4 * words]


@given(st.lists(st.tuples(st.integers(1, 255), st.binary(max_size=20)), max_size=8))
def test_extensions_round_trip_in_the_form_that_holds_them(elements: list[tuple[int, bytes]]) -> None:
    block = extension_block(elements)
    short = all(number <= 14 and 1 <= len(value) <= 16 for number, value in elements)
    data = struct.pack("!BBHII", 0x90 if block else 0x80, 96, 0, 0, 0) + block
    assert not block or extension_profile(data)[0] == (0xBEDE if short else 0x1000)
    assert list(read(data).extensions) == elements


def test_an_extension_number_that_no_form_can_say_is_our_own_fault() -> None:
    for number in (0, 256):
        with pytest.raises(ValueError):
            extension_block([(number, b"x")])


def test_unknown_forms_and_the_stop_element_are_passed_over() -> None:
    def extensions(profile: int, body: str) -> tuple[tuple[int, bytes], ...]:
        data = bytes.fromhex(body)
        return read(struct.pack("!BBHIIHH", 0x90, 96, 0, 0, 0, profile, len(data) // 4) + data).extensions

    assert extensions(0xBEDE, "10aaf0001000bb00") == ((1, b"\xaa"),)
    assert extensions(0x1000, "0100 0201cc 000000".replace(" ", "")) == ((1, b""), (2, b"\xcc"))
    assert extensions(0x9999, "10aa0000") == ()


@pytest.mark.parametrize(
    "data",
    [
        "",
        "80" * 11,
        "4060" + "00" * 10,  # version 1
        "8f60" + "00" * 10,  # sources that are not there
        "9060" + "00" * 10,  # an extension that is not there
        "9060" + "00" * 10 + "bede0009" + "00" * 4,
        "9060" + "00" * 10 + "bede0001" + "1f000000",  # an element that ends too late
        "9060" + "00" * 10 + "10000001" + "00000001",
        "a060" + "00" * 10 + "00",  # padding of no bytes
        "a060" + "00" * 10 + "0002ff",
        "80" + "60" * 2048,
    ],
)
def test_what_does_not_add_up_is_refused(data: str) -> None:
    with pytest.raises(RemoteProtocolError) as refused:
        read(bytes.fromhex(data))
    assert refused.value.code == "transport"


@given(st.binary(max_size=80) | st.binary(max_size=60).map(lambda rest: b"\x90\x62" + rest))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        received = read(data)
    except RemoteProtocolError as refused:
        assert refused.code == "transport"
    else:
        assert len(received.payload) <= len(data) - 12


# VP9


def unpacked(payload: bytes, key: bool) -> tuple[int, int, bytes]:
    """The flags, the picture number and the frame's bytes of a payload."""
    number = struct.unpack_from("!H", payload, 1)[0]
    assert number & 0x8000
    if key:
        return payload[0], number & 0x7FFF, payload[3:]
    assert payload[3] == 0x02  # P_DIFF 1, and no other
    return payload[0], number & 0x7FFF, payload[4:]


@given(st.binary(max_size=9000), st.booleans(), st.integers(0, 0x7FFF), st.integers(50, 1200))
def test_a_frame_is_cut_and_said_what_it_is(frame: bytes, key: bool, picture_id: int, most: int) -> None:
    payloads = packetize(frame, key=key, picture_id=picture_id, max_payload=most)
    parts = [unpacked(payload, key) for payload in payloads]
    assert b"".join(part for _, _, part in parts) == frame
    assert all(len(payload) <= most for payload in payloads)
    assert {number for _, number, _ in parts} == {picture_id}
    assert max(map(len, payloads)) - min(map(len, payloads)) <= 1
    for place, (flags, _, _) in enumerate(parts):
        assert flags & 0x80 and flags & 0x10  # a picture number, flexible mode
        assert bool(flags & 0x40) is not key
        assert bool(flags & 0x08) is (place == 0) and bool(flags & 0x04) is (place == len(parts) - 1)
        assert not flags & 0x23


@given(st.binary(min_size=1, max_size=5000), st.integers(0, 0x7FFF))
def test_another_implementation_puts_a_frame_together(frame: bytes, picture_id: int) -> None:
    rtp = pytest.importorskip("aiortc.rtp")
    made = stream()
    packets = made.packets(packetize(frame, key=False, picture_id=picture_id, max_payload=made.room()), 3000)
    received = [rtp.RtpPacket.parse(bytes(packet.data)) for packet in packets]
    assert b"".join(packet.payload[4:] for packet in received) == frame
    assert [packet.marker for packet in received] == [0] * (len(received) - 1) + [1]
    assert all(len(packet.data) <= MOST_BYTES for packet in packets)


def test_an_empty_room_is_our_own_fault() -> None:
    with pytest.raises(ValueError):
        packetize(b"x", key=False, picture_id=0, max_payload=4)


def test_the_payloads_of_h264_fit_with_every_extension() -> None:
    """They are cut without knowing the extensions: with those, SRTP, UDP and IPv6 a packet still passes where 1300 bytes do."""
    packet = stream().packet(bytes(rtp_h264.PAYLOAD_BYTES), 0, True)
    assert len(packet) + 16 + 8 + 40 <= 1300
