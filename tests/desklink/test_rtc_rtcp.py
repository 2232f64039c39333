"""RTCP: what receivers say is read, what does not add up is refused whole, and what we say another implementation reads."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtc_kit import block, congestion, fir, nack, nack_of, pli, receiver_report, remb, rtcp
from triptych.errors import RemoteProtocolError
from triptych.machines.desklink.rtcp import (
    Bye,
    FullIntra,
    Nack,
    PictureLoss,
    ReceiverReport,
    Remb,
    ReportBlock,
    SenderReport,
    bye,
    read,
    round_trip,
    sender_report,
)
from triptych.machines.desklink.transport_cc import MOST_STATUSES, Feedback, History

VECTORS = Path(__file__).parents[1] / "vectors" / "desklink"
SSRC = 0x11223344
SSRCS = st.integers(0, 2**32 - 1)


def only(data: bytes) -> Any:
    (item,) = read(data)
    return item


def refused(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError) as fault:
        read(data)
    assert (fault.value.code, fault.value.path) == ("transport", "rtcp")


def test_a_receiver_report_is_read() -> None:
    report = only(receiver_report(7, block(SSRC, fraction=64, lost=-3, highest=70000, jitter=90, last_sr=0x12345678, delay=65536)))
    assert report == ReceiverReport(7, (ReportBlock(SSRC, 0.25, -3, 70000, 90, 0x12345678, 1.0),))


def test_a_datagram_may_hold_several_packets_and_begin_with_any() -> None:
    compound = pli(SSRC) + receiver_report(7) + nack(SSRC, (10, 0)) + rtcp(204, 0, b"\0\0\0\7name") + fir(SSRC, 3) + remb(2_500_000, SSRC)
    assert read(compound) == (
        PictureLoss(SSRC),
        ReceiverReport(7, ()),
        Nack(SSRC, (10,)),
        FullIntra(((SSRC, 3),)),
        Remb(2500, (SSRC,)),
    )


def test_a_nack_names_each_packet_once_and_numbers_go_on_at_zero() -> None:
    assert only(nack(SSRC, (65534, 0b1000000000000111), (65535, 0))).sequences == (65534, 65535, 0, 1, 14)


@given(st.lists(st.integers(0, 65535), min_size=1, max_size=200, unique=True))
def test_a_nack_round_trips(sequences: list[int]) -> None:
    assert only(nack_of(SSRC, sequences)) == Nack(SSRC, tuple(sequences))


def test_a_nack_that_asks_for_everything_is_refused() -> None:
    refused(nack(SSRC, *((first, 0xFFFF) for first in range(0, 65536, 163)))[:2048])


def test_a_bye_and_a_senders_report_are_read() -> None:
    assert only(bye([1, 2])) == Bye((1, 2))
    report, *rest = read(sender_report(SSRC, wall_ms=0, timestamp=0, packets=0, octets=0, cname="x"))
    assert report == SenderReport(SSRC, ()) and rest == []


def test_packets_of_other_kinds_are_passed_over() -> None:
    assert read(rtcp(207, 0, b"\0\0\0\1") + rtcp(206, 2, bytes(12)) + rtcp(205, 3, bytes(12)) + rtcp(206, 15, bytes(16))) == ()


@given(st.lists(st.tuples(SSRCS, st.integers(0, 255), st.integers(-(2**23), 2**23 - 1), SSRCS, SSRCS, SSRCS, SSRCS), max_size=31), SSRCS)
def test_receiver_reports_round_trip(blocks: list[tuple[int, ...]], ssrc: int) -> None:
    names = ("fraction", "lost", "highest", "jitter", "last_sr", "delay")
    report = only(receiver_report(ssrc, *(block(first, **dict(zip(names, rest, strict=True))) for first, *rest in blocks)))
    assert report.ssrc == ssrc
    assert [
        (each.ssrc, each.fraction_lost * 256, each.lost, each.highest, each.jitter, each.last_sr, each.delay * 65536)
        for each in report.blocks
    ] == blocks


@given(SSRCS, st.integers(0, 2**42), SSRCS, SSRCS, SSRCS, st.text(max_size=50))
def test_another_implementation_reads_our_reports(ssrc: int, wall_ms: int, timestamp: int, packets: int, octets: int, cname: str) -> None:
    rtp = pytest.importorskip("aiortc.rtp")
    data = sender_report(ssrc, wall_ms=wall_ms, timestamp=timestamp, packets=packets, octets=octets, cname=cname)
    report, names = rtp.RtcpPacket.parse(data)
    assert (report.ssrc, report.sender_info.rtp_timestamp) == (ssrc, timestamp)
    assert (report.sender_info.packet_count, report.sender_info.octet_count) == (packets, octets)
    assert report.sender_info.ntp_timestamp >> 32 == (wall_ms // 1000 + 2208988800) % 2**32
    assert abs((report.sender_info.ntp_timestamp & 0xFFFFFFFF) / 2**32 - wall_ms % 1000 / 1000) < 1e-3
    assert names.chunks[0].ssrc == ssrc and dict(names.chunks[0].items) == {1: cname.encode()}
    (end,) = rtp.RtcpPacket.parse(bye([ssrc]))
    assert end.sources == [ssrc]


def test_we_read_what_another_implementation_writes() -> None:
    rtp = pytest.importorskip("aiortc.rtp")
    lost = rtp.RtcpRtpfbPacket(fmt=1, ssrc=7, media_ssrc=SSRC, lost=[5, 6, 30])
    picture = rtp.RtcpPsfbPacket(fmt=1, ssrc=7, media_ssrc=SSRC)
    estimate = rtp.RtcpPsfbPacket(fmt=15, ssrc=7, media_ssrc=0, fci=rtp.pack_remb_fci(4_000_000, [SSRC]))
    assert read(b"".join(map(bytes, (lost, picture, estimate)))) == (Nack(SSRC, (5, 6, 30)), PictureLoss(SSRC), Remb(4000, (SSRC,)))


def test_a_round_trip_is_measured_from_our_report_and_the_peers_delay() -> None:
    data = sender_report(SSRC, wall_ms=1_700_000_000_000, timestamp=0, packets=0, octets=0, cname="x")
    middle = struct.unpack_from("!Q", data, 8)[0] >> 16 & 0xFFFFFFFF
    (report,) = only(receiver_report(7, block(SSRC, last_sr=middle, delay=int(0.5 * 65536)))).blocks
    assert round_trip(report, 1_700_000_000_600) == pytest.approx(0.1, abs=1e-3)
    assert round_trip(report, 1_700_000_000_400) == 0.0  # a peer that says that it waited longer than it can have
    assert round_trip(report, 1_699_999_999_000) is None  # a clock that was set back
    (unheard,) = only(receiver_report(7, block(SSRC))).blocks
    assert round_trip(unheard, 1_700_000_000_600) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\xc9\0",
        b"\x80\xc9\0\1",  # ends within its body
        b"\x40\xc9\0\1\0\0\0\1",  # version 1
        pli(1) + b"\x80",
        pli(1)[:-4],
        receiver_report(7)[:1] + b"\xc9\0\0",  # a report of nobody
        rtcp(201, 2, bytes(28)),  # two blocks are said, one is there
        rtcp(200, 0, bytes(8)),
        rtcp(203, 3, bytes(8)),
        rtcp(205, 1, bytes(8)),  # a NACK of nothing
        rtcp(206, 1, bytes(4)),
        rtcp(206, 4, bytes(12)),
        remb(1000, 1, 2)[:-4].replace(b"\0\6", b"\0\5"),
        b"\xa0\xc9\0\1\0\0\0\0",  # padding of no bytes
        b"\xa0\xc9\0\1\0\0\0\x08",  # more padding than packet
        b"\xa0\xc9\0\2\0\0\0\1\0\0\0\4" + pli(1),  # padding before the last packet
        bytes(2049),
    ],
)
def test_what_does_not_add_up_is_refused_whole(data: bytes) -> None:
    refused(data)


# the congestion feedback


def test_what_a_browser_sends_is_read_with_its_padding() -> None:
    """Its padding is one to three bytes, which the RFC does not know."""
    for case in json.loads((VECTORS / "feedback.json").read_text())["feedback"]:
        feedback = only(bytes.fromhex(case["hex"]))
        assert (feedback.base, feedback.number, len(feedback.ticks)) == (case["base"], case["number"], case["count"])
        came = [ticks for ticks in feedback.ticks if ticks is not None]
        assert came == sorted(came) and len(came) == case["count"]


@st.composite
def feedbacks(draw: st.DrawFn) -> tuple[int, int, dict[int, int]]:
    """A base, a count, and when each of some packets came, in ticks, not always in order."""
    count = draw(st.integers(1, 300))
    times, now = {}, draw(st.integers(0, 255))
    for place in sorted(draw(st.sets(st.integers(0, count - 1)))):
        now += draw(st.integers(-2000, 32500) | st.integers(0, 255))
        times[place] = now
    return draw(st.integers(0, 65535)), count, times


@given(feedbacks(), st.integers(0, 2**24 - 1), st.integers(0, 255))
def test_feedback_reads_as_what_it_was_written_from(given_: tuple[int, int, dict[int, int]], reference: int, number: int) -> None:
    base, count, times = given_
    shifted = {place: ticks + reference * 256 for place, ticks in times.items()}
    data = congestion(SSRC, base, shifted, count, reference=reference, number=number)
    if len(data) > 2048:
        return refused(data)
    ticks = tuple(times.get(place) for place in range(count))
    assert only(data) == Feedback(SSRC, base, reference * 256, number, ticks)
    return None


def test_one_bit_statuses_are_read() -> None:
    body = struct.pack("!IIHH", 7, SSRC, 5, 3) + b"\0\0\1\0" + struct.pack("!H", 0x8000 | 0b10100000000000) + b"\x04\x34"
    assert only(rtcp(205, 15, body)).ticks == (4, None, 56)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        struct.pack("!HH", 0, 0) + b"\0\0\0\0",  # of no packet
        struct.pack("!HH", 0, 1) + b"\0\0\0\0",  # no status
        struct.pack("!HH", 0, 1) + b"\0\0\0\0" + b"\0\0\0\0",  # an empty run
        struct.pack("!HH", 0, 1) + b"\0\0\0\0" + b"\x60\1\0\0",  # a reserved status
        struct.pack("!HH", 0, 9) + b"\0\0\0\0" + b"\x20\x09\1\1",  # nine times are said, two are there
        struct.pack("!HH", 0, 65535) + b"\0\0\0\0" + b"\x1f\xff" * 8,  # too many
    ],
)
def test_feedback_that_does_not_add_up_is_refused(body: bytes) -> None:
    refused(rtcp(205, 15, struct.pack("!II", 7, SSRC) + body))


def test_the_longest_feedback_is_bounded() -> None:
    feedback = only(rtcp(205, 15, struct.pack("!IIHH", 7, SSRC, 0, MOST_STATUSES) + b"\0\0\0\0\x1f\xff\0\0"))
    assert len(feedback.ticks) == MOST_STATUSES


@given(
    st.binary(max_size=120)
    | st.binary(max_size=100).map(lambda rest: struct.pack("!BBH", 0x8F, 205, len(rest) // 4) + rest[: len(rest) & ~3])
)
def test_any_bytes_are_read_or_refused_and_the_history_stands_it(data: bytes) -> None:
    history = History()
    for number in range(40):
        history.sent(1000, number / 100)
    try:
        items = read(data)
    except RemoteProtocolError as fault:
        assert fault.code == "transport"
        return
    for item in items:
        if isinstance(item, Feedback):
            assert len(history.arrivals(item, 1.0)) <= 40
    assert 0 <= history.in_flight <= 40_000
