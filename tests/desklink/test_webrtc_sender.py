"""What the sender makes of the client's reports and of the pictures it gets: packets, key frames, retransmissions, silence."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from rtc_kit import congestion
from triptych.adapters.desklink.webrtc.sender import Sender
from triptych.machines.desklink import rtp, transport_cc
from triptych.machines.desklink.rtp import ExtensionIds
from triptych.machines.desklink.sdp import Video, VideoOffer
from webrtc_kit import until

SSRC, RTX, THEIRS = 0x11223345, 0x11223344, 1
OFFER = VideoOffer("vp9", None, SSRC, RTX, "name")
VIDEO = Video(98, 99, nack=True, pli=True, fir=True, transport_cc=True, extensions=ExtensionIds(4, 3, 5))
PLAIN = replace(VIDEO, rtx_payload_type=None, transport_cc=False, extensions=ExtensionIds())


class Wire:
    """In place of DTLS: what would have been encrypted and sent."""

    def __init__(self) -> None:
        self.media: list[bytes] = []
        self.control: list[bytes] = []

    def send_media(self, packets: Iterable[bytes]) -> None:
        self.media += packets

    def send_rtcp(self, packet: bytes) -> None:
        self.control.append(packet)

    def packets(self, ssrc: int = SSRC) -> list[rtp.Received]:
        """What was sent on a stream."""
        return [packet for packet in map(rtp.read, self.media) if packet.ssrc == ssrc]


class Heard:
    """Who is told."""

    def __init__(self) -> None:
        self.keys = self.rooms = 0
        self.targets: list[int] = []
        self.failures: list[str] = []

    def keyframe_wanted(self) -> None:
        self.keys += 1

    def target_changed(self, kbps: int) -> None:
        self.targets.append(kbps)

    def room_changed(self) -> None:
        self.rooms += 1

    def sending_failed(self, reason: str) -> None:
        self.failures.append(reason)


def sending(act: Callable[[Sender, Wire, Heard], Awaitable[None]], video: Video = VIDEO, ceiling: int = 4000) -> None:
    """Do it with a sender that is connected."""

    async def main() -> None:
        wire, heard = Wire(), Heard()
        sender = Sender(OFFER, ceiling, heard)
        sender.negotiated(video)
        connected: Any = wire
        sender.start(connected)
        try:
            await act(sender, wire, heard)
        finally:
            sender.stop()

    asyncio.run(main())


def fir(number: int, ssrc: int = SSRC) -> bytes:
    """A full intra request (RFC 5104)."""
    return struct.pack("!BBHIIIBxxx", 0x84, 206, 4, THEIRS, 0, ssrc, number)


def pli() -> bytes:
    """A picture loss indication (RFC 4585)."""
    return struct.pack("!BBHII", 0x81, 206, 2, THEIRS, SSRC)


def told_all(count: int) -> bytes:
    """All of the first packets have come, a millisecond after each other."""
    return congestion(SSRC, 0, {place: 4 * place for place in range(count)}, count)


def nack(first: int, more: int = 0) -> bytes:
    """A generic NACK (RFC 4585)."""
    return struct.pack("!BBHIIHH", 0x81, 205, 3, THEIRS, SSRC, first, more)


def test_a_full_intra_request_counts_once_under_its_number() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        for number, keys in ((7, 1), (7, 1), (8, 2), (8, 2), (7, 3)):
            sender.rtcp(fir(number))
            assert heard.keys == keys
        sender.rtcp(fir(9, ssrc=SSRC + 2))
        assert heard.keys == 3
        sender.rtcp(pli() + pli())
        assert heard.keys == 5

    sending(act)


@pytest.mark.parametrize("junk", [b"", b"\x80", b"\x81\xce\x00\xff", b"\0" * 40, bytes(range(256)), b"\x8f\xcd\0\4" + b"\xff" * 16])
def test_what_is_no_report_is_ignored(junk: bytes) -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        sender.rtcp(junk)
        assert heard.keys == 0

    sending(act)


def test_a_frame_is_sent_from_another_thread_with_its_extensions() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        await asyncio.get_running_loop().run_in_executor(None, sender.send_frame, bytes(5000), True, 10.0)
        await until(lambda: len(wire.packets()) == 5)
        packets = wire.packets()
        assert len({packet.timestamp for packet in packets}) == 1
        assert [packet.marker for packet in packets] == [False] * 4 + [True]
        assert [dict(packet.extensions)[5] for packet in packets] == [bytes(3)] * 5  # playout delay: none
        assert [int.from_bytes(dict(packet.extensions)[3]) for packet in packets] == list(range(5))
        assert [dict(packet.extensions)[4] for packet in packets] == [b"0"] * 5
        assert all(len(packet) <= 1200 for packet in wire.media)

    sending(act)


def test_without_extensions_none_are_sent_and_nothing_is_waited_for() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        for number in range(20):
            sender.send_frame(bytes(4000), False, float(number))
        await until(lambda: len(wire.packets()) == 80)
        assert not any(packet.extensions for packet in wire.packets())
        await until(sender.may_send)  # nobody tells what came, and the encoder's debt is soon paid

    sending(act, PLAIN)


def test_with_feedback_what_is_under_way_is_bounded() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        assert sender.may_send()
        sender.send_frame(bytes(120_000), True, 1.0)
        await until(lambda: len(wire.packets()) >= 100)
        assert not sender.may_send()
        packets = len(wire.packets())
        body = struct.pack("!IHHBBBB", SSRC, 0, packets, 0, 0, 1, 0) + struct.pack("!H", 0x2000 | packets) + b"\4" * packets
        body += bytes(-len(body) % 4)
        assert transport_cc.read_feedback(body).base == 0
        rooms = heard.rooms
        sender.rtcp(struct.pack("!BBHI", 0x8F, 205, 1 + len(body) // 4, THEIRS) + body)
        assert heard.rooms > rooms
        await until(sender.may_send)

    sending(act, ceiling=25_000)


def test_a_lost_packet_is_sent_again_once_on_its_own_stream() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        sender.send_frame(bytes(3000), True, 1.0)
        await until(lambda: len(wire.packets()) == 3)
        lost = wire.packets()[1]
        for _ in range(3):
            sender.rtcp(nack(lost.sequence))
        sender.rtcp(nack((lost.sequence + 500) & 0xFFFF))
        await until(lambda: wire.packets(RTX))
        [again] = wire.packets(RTX)
        assert again.payload == lost.sequence.to_bytes(2) + lost.payload
        assert (again.payload_type, again.timestamp, again.marker) == (99, lost.timestamp, lost.marker)

    sending(act)


def test_pictures_are_a_millisecond_apart_whatever_their_times() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        for at in (5.0, 5.0, 4.0, 5.01):
            sender.send_frame(b"frame", False, at)
        await until(lambda: len(wire.packets()) == 4)
        first, *others = [packet.timestamp for packet in wire.packets()]
        assert [(stamp - first) & 0xFFFFFFFF for stamp in others] == [90, 180, 900]

    sending(act)


def test_a_muted_sender_sends_no_picture_and_a_stopped_one_says_goodbye() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        sender.mute()
        assert not sender.may_send()
        sender.send_frame(bytes(100), True, 1.0)
        assert await sender.send_unit(b"\0\0\0\1\x65abc", 1.0) == 0
        await asyncio.sleep(0)
        assert wire.media == []
        sender.stop()
        assert wire.control[-1][1] == 203 and struct.unpack("!II", wire.control[-1][4:12]) == (SSRC, RTX)

    sending(act)


def test_a_wish_for_a_key_frame_is_taken_once() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        sender.want_key()
        assert heard.rooms
        assert sender.take_key()
        assert not sender.take_key()
        sender.want_key()
        assert not sender.take_key()  # one a second at most

    sending(act)


def test_a_wish_that_has_to_wait_wakes_the_encoder_when_it_may_be_taken() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        sender.want_key()
        assert sender.take_key()
        sender.want_key()
        rooms, began = heard.rooms, asyncio.get_running_loop().time()
        await until(lambda: heard.rooms > rooms)
        assert asyncio.get_running_loop().time() - began > 0.9
        assert sender.take_key()

    sending(act)


def test_while_nothing_is_sent_only_the_report_of_each_second_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[str] = []
    plan, due = Sender._come_at, Sender._due

    def watched(sender: Sender, at: float, call: Callable[[], None]) -> None:
        planned.append(call.__name__)
        plan(sender, at, call)

    def woken(sender: Sender) -> list[bytes]:
        planned.append("_due")
        return due(sender)

    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        sender.send_frame(b"\x88", False, 1.0)
        await until(lambda: len(wire.packets()) == 1)
        sender.rtcp(told_all(1))
        looks = wire.control[:]
        await until(lambda: len(wire.control) > len(looks))  # what was planned when the picture went is over
        monkeypatch.setattr(Sender, "_come_at", watched)
        monkeypatch.setattr(sender._paced, "_due", lambda: woken(sender))
        await until(lambda: len(wire.control) > len(looks) + 2)
        assert planned == ["_report"] * 2

    sending(act, ceiling=1000)


def test_the_target_is_told_as_soon_as_the_feedback_raises_it() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        assert heard.targets == [1000]
        sender.send_frame(bytes(20_000), True, 1.0)
        await until(lambda: len(wire.packets()) >= 17)
        await asyncio.sleep(0.25)  # the first leap is not before 200 ms
        sender.rtcp(told_all(len(wire.packets())))
        assert heard.targets == [1000, 3000]

    sending(act)


def test_a_fed_unit_is_packetized_and_paced() -> None:
    async def act(sender: Sender, wire: Wire, heard: Heard) -> None:
        began = asyncio.get_running_loop().time()
        assert await sender.send_unit(b"\0\0\0\1\x65" + bytes(range(1, 256)) * 1000, 1.0) > 255_000
        assert asyncio.get_running_loop().time() - began > 0.05  # two megabits, at twenty in a second
        await until(lambda: wire.packets()[-1].marker)
        assert heard.targets == []

    sending(act, replace(VIDEO, payload_type=102, rtx_payload_type=103), 0)
