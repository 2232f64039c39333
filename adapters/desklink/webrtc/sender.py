"""Sends the pictures of one peer connection: packets, their pace, what is sent again, and what the client's reports mean for the bit rate.

Called by the peer connection on the event loop, and for pictures by the encode thread, so everything takes one lock. Packets are encrypted
and sent on the encode thread and on that of `paced_thread`, never on the loop. It decides nothing by itself: packets, pace, retransmission
and rate are the pure cores' (machines/desklink).
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import threading
import time
from collections.abc import Callable
from typing import Protocol

from ....errors import RemoteProtocolError
from ....machines.desklink import rtcp
from ....machines.desklink.pacer import BURST, LEAST_KBPS, Pacer
from ....machines.desklink.rate_control import RateController
from ....machines.desklink.retransmission import Kept, Store, rtx_payload
from ....machines.desklink.rtcp import ReportBlock
from ....machines.desklink.rtp import Packet, Stream
from ....machines.desklink.rtp_h264 import Packetizer
from ....machines.desklink.sdp import Video, VideoOffer
from ....machines.desklink.transport_cc import Feedback, History
from ....machines.desklink.vp9_payload import packetize
from ...log import get_logger
from . import library
from .paced_thread import PacedThread

log = get_logger()

CLOCK_RATE = 90_000
LEAST_STEP = CLOCK_RATE // 1000  # two pictures are at least a millisecond apart
REPORT_SECONDS = 1.0
LOOK_SECONDS = 0.020  # between two looks at whether the path is to be probed, at least
AROUND_BYTES = 38  # what encryption, UDP and IP add to a packet
LARGEST_PADDING = 255


class Watcher(Protocol):
    """Who is told, on the event loop, what the client's reports mean."""

    def keyframe_wanted(self) -> None:
        """The client lost what it cannot repair."""
        ...

    def target_changed(self, kbps: int) -> None:
        """The encoder is to keep this bit rate."""
        ...

    def room_changed(self) -> None:
        """There may be room for a picture where there was none, or a key frame is wanted."""
        ...

    def sending_failed(self, reason: str) -> None:
        """No packet can be sent any more."""
        ...


class Sender:
    """The one video stream, and that of its retransmissions. `ceiling_kbps` 0: the consumer encodes, and keeps its own bit rate."""

    def __init__(self, offered: VideoOffer, ceiling_kbps: int, watcher: Watcher) -> None:
        self._offered = offered
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._lock = threading.RLock()
        now = self._loop.time()
        self._fed = ceiling_kbps == 0
        self._rate = RateController(ceiling_kbps or LEAST_KBPS, now)
        self._pacer: Pacer[Packet] = Pacer(ceiling_kbps, now)
        self._history = History()
        self._store = Store()
        self._is_told = False
        self._dtls: library.Dtls | None = None
        self._paced: PacedThread | None = None
        self._stream: Stream | None = None
        self._again: Stream | None = None
        self._packetizer = Packetizer(offered.ssrc, 0, 0)
        self._picture_id = secrets.randbits(15)
        self._zero = secrets.randbits(32)
        self._last = -LEAST_STEP
        self._last_at = 0.0
        self._full_intra: int | None = None
        self._kbps = 0
        self._looked_at = now
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._emptied = asyncio.Event()
        self.muted = False
        """Whether no picture is sent any more."""

    # The connection's life

    def negotiated(self, video: Video) -> None:
        """The client's answer: the form of the packets."""
        with self._lock:
            if self._stream is None:
                offered = self._offered
                sequence = secrets.randbits(15)  # small enough to wrap late: the first packets may be lost
                self._stream = Stream(offered.ssrc, video.payload_type, video.extensions, sequence=sequence, mid=offered.mid)
                if video.rtx_payload_type is not None:
                    number = secrets.randbits(15)
                    self._again = Stream(offered.rtx_ssrc, video.rtx_payload_type, video.extensions, sequence=number, mid=offered.mid)
            # Without congestion feedback nobody tells what came, and nothing counts as under way.
            self._is_told = video.transport_cc and video.extensions.transport_cc is not None

    def start(self, dtls: library.Dtls) -> None:
        """The path is there, and its keys: send."""
        with self._lock:
            self._dtls = dtls
            self._rate.path_changed(self._loop.time())
        self._paced = PacedThread(self._due, self._next_at, dtls.send_media, self._broke)
        self._report()
        self._look_at_target()

    def path_changed(self) -> None:
        """There is another path: what is under way on the old one is not told of any more."""
        with self._lock:
            self._history.forget()
            self._rate.path_changed(self._loop.time())
        self._look_at_target()
        self._watcher.room_changed()

    def stop(self) -> None:
        """Say goodbye, and send no more."""
        with self._lock:
            dtls, self._dtls = self._dtls, None
            self._pacer.clear()
        if self._paced is not None:
            self._paced.close()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._emptied.set()
        if dtls is not None:
            dtls.send_rtcp(rtcp.bye([self._offered.ssrc, self._offered.rtx_ssrc]))

    def mute(self) -> None:
        """Send no picture any more; what waits is forgotten."""
        with self._lock:
            self.muted = True
            self._pacer.clear()
        self._emptied.set()

    def want_key(self) -> None:
        """The next captured picture must be a key frame."""
        with self._lock:
            now = self._loop.time()
            self._rate.key_wanted(now)
            at = self._rate.key_at
        self._watcher.room_changed()
        if at is not None and at > now:
            self._come_at(at, self._watcher.room_changed)

    # Pictures: any thread

    @property
    def kbps(self) -> int:
        """The bit rate to keep now."""
        with self._lock:
            return self._rate.target_kbps(time.monotonic())

    def may_send(self) -> bool:
        """Whether a picture may be sent now; if not, skip it: a queue would make all later ones late."""
        with self._lock:
            if self._dtls is None or self.muted:
                return False
            return self._rate.may_send_frame(time.monotonic(), self._history.in_flight + self._pacer.queued)

    def take_key(self) -> bool:
        """Whether the next picture must be a key frame, once a second at most. Asking takes the wish away."""
        with self._lock:
            return self._rate.take_key(time.monotonic())

    def send_frame(self, payload: bytes, key: bool, captured_at: float) -> None:
        """Send a VP9 frame of a picture that was captured at that monotonic time."""
        with self._lock:
            if self._stream is None or self._dtls is None or self.muted:
                return
            if key:
                self._store.forget()
            self._picture_id = (self._picture_id + 1) & 0x7FFF
            pieces = packetize(payload, key=key, picture_id=self._picture_id, max_payload=self._stream.room())
            self._queue(pieces, captured_at)
            paced = self._paced
        if paced is not None:
            paced.flush()

    async def send_unit(self, unit: bytes, at: float) -> int:
        """Send a fed access unit; the bytes of its payloads.

        It returns when most of the unit is on its way, so that those behind it wait where they can be dropped.
        """
        with self._lock:
            if self._stream is None or self._dtls is None or self.muted:
                return 0
            pieces = self._packetizer.payloads(unit)
            size = self._queue(pieces, at)
        self._plan()
        while self._pacer.queued > BURST // 8:
            self._emptied.clear()
            await self._emptied.wait()
        return size

    def _queue(self, pieces: list[bytes], at: float) -> int:
        assert self._stream is not None
        if not pieces:
            return 0
        now = time.monotonic()
        self._last = max(self._last + LEAST_STEP, int(at * CLOCK_RATE))
        self._last_at = now
        whole = 0
        for packet in self._stream.packets(pieces, self._zero + self._last):
            whole += len(packet)
            self._pacer.push(packet, len(packet) + AROUND_BYTES)
        self._rate.frame_sent(whole, now)
        return sum(map(len, pieces))

    # Packets: the threads that send

    def _due(self) -> list[bytes]:
        """Take the packets that are due, and what probes the path when that is."""
        with self._lock:
            now = time.monotonic()
            if self._dtls is None:
                return []
            if not self._fed and now >= self._looked_at + LOOK_SECONDS:
                self._looked_at = now
                self._probe(self._rate.probe(now, self._history.in_flight))
            packets = self._pacer.due(now)
            for packet in packets:
                if self._is_told:
                    packet.stamp(self._history.sent(len(packet) + AROUND_BYTES, now))
                if packet.ssrc == self._offered.ssrc:
                    self._store.keep(packet, now)
            if self._fed and self._pacer.queued <= BURST // 8:
                self._loop.call_soon_threadsafe(self._emptied.set)
            return [bytes(packet.data) for packet in packets]

    def _next_at(self) -> float:
        """When to look whether something is due, as things are now."""
        with self._lock:
            if self._dtls is None:
                return math.inf
            at = self._pacer.next_at
            at = math.inf if at is None else at
            if self._fed:
                return at
            return min(at, max(self._rate.probe_at(time.monotonic(), self._history.in_flight), self._looked_at + LOOK_SECONDS))

    def _plan(self) -> None:
        if self._paced is not None:
            self._paced.plan()

    def _broke(self, error: Exception) -> None:
        log.error("no packet can be sent any more", error=repr(error), exc_info=error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(self._watcher.sending_failed, str(error) or repr(error))

    def _probe(self, size: int) -> None:
        if self._again is None or not size:
            return
        self._send_again(self._store.recent(size) if size > LARGEST_PADDING else [])
        # A picture that was always small has left too little to say again.
        while (rest := size - self._pacer.queued) > 0:
            padding = self._again.padding(min(rest, LARGEST_PADDING), 0)
            self._pacer.push_first(padding, len(padding) + AROUND_BYTES)

    def _come_at(self, at: float, call: Callable[[], None]) -> None:
        """Call that then on the event loop, or when it was planned before if that is sooner; never when all has ended."""
        planned = self._timers.get(call)
        if self._dtls is None or (planned is not None and planned.when() <= at):
            return
        if planned is not None:
            planned.cancel()
        self._timers[call] = self._loop.call_at(at, self._come, call)

    def _come(self, call: Callable[[], None]) -> None:
        del self._timers[call]
        call()

    def _send_again(self, kept: list[Kept]) -> None:
        if self._again is None or not kept:
            return
        for one in kept:
            packet = self._again.packet(rtx_payload(one), one.timestamp, one.marker)
            self._pacer.push_first(packet, len(packet) + AROUND_BYTES)

    # Reports

    def rtcp(self, data: bytes) -> None:
        """The client reports."""
        try:
            items = rtcp.read(data)
        except RemoteProtocolError as error:
            log.debug("an RTCP packet was ignored", reason=error.detail)
            return
        now = self._loop.time()
        for item in items:
            match item:
                case rtcp.PictureLoss():
                    self._watcher.keyframe_wanted()
                case rtcp.FullIntra(requests):
                    self._full_intra_wanted(requests)
                case rtcp.Nack(ssrc, sequences) if ssrc == self._offered.ssrc:
                    with self._lock:
                        self._send_again(self._store.wanted(sequences, now, self._rate.report_of_path.turn or None))
                case Feedback():
                    self._fed_back(item, now)
                case rtcp.ReceiverReport(_, blocks) | rtcp.SenderReport(_, blocks):
                    self._reported(blocks, now)
                case rtcp.Remb(kbps, _):
                    with self._lock:
                        self._rate.remb(kbps)
        self._look_at_target()

    def _full_intra_wanted(self, requests: tuple[tuple[int, int], ...]) -> None:
        # A request is repeated under its number until the picture comes (RFC 5104, 4.3.1.1).
        for ssrc, number in requests:
            if ssrc == self._offered.ssrc and number != self._full_intra:
                self._full_intra = number
                self._watcher.keyframe_wanted()

    def _fed_back(self, feedback: Feedback, now: float) -> None:
        with self._lock:
            came_back = self._rate.feedback(self._history.arrivals(feedback, now), now)
            if came_back:
                self._pacer.clear()
        if came_back:
            self._watcher.keyframe_wanted()
        self._watcher.room_changed()

    def _reported(self, blocks: tuple[ReportBlock, ...], now: float) -> None:
        for block in blocks:
            if block.ssrc == self._offered.ssrc:
                with self._lock:
                    if self._stream is not None:
                        self._stream.heard()
                    self._rate.report(block.fraction_lost, rtcp.round_trip(block, int(time.time() * 1000)), now)

    def _report(self) -> None:
        self._come_at(self._loop.time() + REPORT_SECONDS, self._report)
        with self._lock:
            if self._dtls is None or self._stream is None:
                return
            # The RTP time of now, on the line through the newest picture.
            timestamp = self._zero + self._last + int((self._loop.time() - self._last_at) * CLOCK_RATE)
            report = rtcp.sender_report(
                self._stream.ssrc,
                wall_ms=int(time.time() * 1000),
                timestamp=timestamp & 0xFFFFFFFF,
                packets=self._stream.packets_made & 0xFFFFFFFF,
                octets=self._stream.octets_made & 0xFFFFFFFF,
                cname=self._offered.cname,
            )
            self._dtls.send_rtcp(report)

    # The rate

    def _look_at_target(self) -> None:
        """Tell of a bit rate that has changed."""
        with self._lock:
            now = self._loop.time()
            kbps = self._rate.target_kbps(now)
            changed = not self._fed and kbps != self._kbps
            if changed:
                self._kbps = kbps
                self._pacer.set_kbps(kbps, now)
        self._plan()
        if changed:
            self._watcher.target_changed(kbps)
