"""A sender made of the cores, a link that queues, drops, delays and cuts, and a receiver as a browser has it; all in simulated time.

Deterministic: one seed, one run. The link is served in steps of a millisecond, and all feedback travels as real RTCP bytes.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rtc_kit import congestion, nack_of, pli
from triptych.machines.desklink import rtcp, vp9_payload
from triptych.machines.desklink.pacer import Pacer
from triptych.machines.desklink.rate_control import RateController
from triptych.machines.desklink.retransmission import Store, rtx_payload
from triptych.machines.desklink.rtp import ExtensionIds, Packet, Stream
from triptych.machines.desklink.transport_cc import Feedback, History

IDS = ExtensionIds(mid=4, transport_cc=3, playout_delay=5)
OVERHEAD = 10 + 8 + 20  # SRTP, UDP, IP
STEP = 0.001


@dataclass
class Link:
    """One way: `kbps(t)` is what it carries then, 0 is a cut wire unless it `holds` what waits; `queue_seconds` of that may wait."""

    kbps: Callable[[float], float]
    loss: float = 0.0
    jitter: float = 0.0
    delay: float = 0.020
    queue_seconds: float = 0.300
    holds: bool = False
    nominal: float = 4000.0


@dataclass
class Frame:
    captured: float
    size: int
    key: bool
    first: int
    last: int
    shown: float | None = None


@dataclass
class Figures:
    """What a run came to. Times are in seconds of the run."""

    frames: list[Frame] = field(default_factory=list)
    queues: list[tuple[float, float]] = field(default_factory=list)  #: when a packet left the link's queue, how long it had stood there
    targets: list[tuple[float, int]] = field(default_factory=list)
    carried: int = 0  #: bytes that left the link's queue
    room: float = 0.0  #: bytes that could have
    dropped: int = 0
    resent: int = 0
    probes: int = 0
    keys: int = 0
    skipped: int = 0
    asked_keys: int = 0

    def queue(self, share: float, begin: float = 0.0, end: float = math.inf) -> float:
        """The delay in queues that `share` of the packets stay below."""
        return percentile([stood for at, stood in self.queues if begin <= at < end], share)

    def latency(self, share: float, begin: float = 0.0, end: float = math.inf) -> float:
        """From capture to being shown."""
        return percentile([f.shown - f.captured for f in self.frames if f.shown is not None and begin <= f.captured < end], share)

    def freeze(self, begin: float, end: float) -> float:
        """The longest time between two frames being shown."""
        times = [begin, *sorted(f.shown for f in self.frames if f.shown is not None and begin <= f.shown < end), end]
        return max(later - earlier for earlier, later in itertools.pairwise(times))

    def utilisation(self) -> float:
        return self.carried / self.room

    def fps(self, begin: float, end: float) -> float:
        return sum(1 for f in self.frames if f.shown is not None and begin <= f.shown < end) / (end - begin)


def percentile(values: list[float], share: float) -> float:
    assert values
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


class Run:
    """`seconds` of a picture over a link. `motion(t)`: whether all of the picture moves then; else a little does, twice a second."""

    def __init__(
        self,
        link: Link,
        seconds: float,
        *,
        ceiling: int = 5232,
        fps: int = 30,
        seed: int = 1,
        motion: Callable[[float], bool] | None = None,
    ) -> None:
        self.link, self.seconds, self.fps = link, seconds, fps
        self.moves = motion or (lambda _: True)
        self.chance = random.Random(seed)
        self.controller = RateController(ceiling, 0.0)
        self.history, self.store = History(), Store()
        self.pacer: Pacer[Packet] = Pacer(self.controller.target_kbps(0.0), 0.0)
        self.stream = Stream(1, 98, IDS, sequence=65000)
        self.rtx = Stream(2, 99, IDS, sequence=10)
        self.figures = Figures()
        self.waiting: deque[tuple[float, int, Packet, int]] = deque()  # in the link's queue: since when, bytes, packet, number
        self.waiting_bytes = 0
        self.credit = 0.0
        self.events: list[tuple[float, int, str, object]] = []
        self.ties = 0
        self.last_arrival = 0.0
        self.controller.key_wanted(0.0)
        # the receiver
        self.unwrapped: dict[int, int] = {}
        self.came: dict[int, float] = {}  # transport-wide number, unwrapped: when
        self.told = 0
        self.have: set[int] = set()
        self.highest = -1
        self.lost: dict[int, tuple[float, int]] = {}
        self.first_sequence = self.stream.sequence
        self.next_frame = 0
        self.broken = False
        self.pli_at = -1.0
        self.numbers = 0

    def run(self) -> Figures:
        steps = int(self.seconds / STEP)
        next_frame, next_second = 0.0, 0.0
        for step in range(steps):
            now = step * STEP
            while self.events and self.events[0][0] <= now:
                _, _, kind, what = heapq.heappop(self.events)
                getattr(self, kind)(now, what)
            if now >= next_frame:
                next_frame += 1 / self.fps
                self.capture(now)
            if step % 100 == 99:
                self.give_feedback(now)
            if step % 20 == 19:
                self.ask(now)
            self.pump(now)
            self.serve(now)
            if now >= next_second:
                next_second += 0.5
                self.figures.targets.append((now, self.controller.target_kbps(now)))
        return self.figures

    def at(self, when: float, kind: str, what: object) -> None:
        self.ties += 1
        heapq.heappush(self.events, (when, self.ties, kind, what))

    # the sender

    def capture(self, now: float) -> None:
        moving = self.moves(now)
        if not moving and int(now * self.fps) % (self.fps // 2):
            return
        if not self.controller.may_send_frame(now, self.history.in_flight + self.pacer.queued):
            self.figures.skipped += 1
            return
        key = self.controller.take_key(now)
        share = self.controller.target_kbps(now) * 125 / self.fps
        size = int(share * self.chance.lognormvariate(-0.03, 0.25)) if moving else 2500
        if key:
            self.figures.keys += 1
            size = int(min(9 * share, 150_000))
            self.store.forget()
        payloads = vp9_payload.packetize(bytes(size), key=key, picture_id=len(self.figures.frames), max_payload=self.stream.room())
        packets = self.stream.packets(payloads, int(now * 90000))
        first = self.numbers
        self.numbers += len(packets)
        self.figures.frames.append(Frame(now, size, key, first, self.numbers - 1))
        self.controller.frame_sent(sum(map(len, packets)), now)
        self.pacer.set_kbps(self.controller.target_kbps(now), now)
        for packet in packets:
            self.store.keep(packet, now)
            assert self.pacer.push(packet, len(packet))

    def again(self, packets: list[Packet]) -> None:
        for packet in packets:
            self.pacer.push_first(packet, len(packet))

    def pump(self, now: float) -> None:
        if size := self.controller.probe(now, self.history.in_flight):
            self.figures.probes += 1
            kept = self.store.recent(size)
            self.again(
                [self.rtx.packet(rtx_payload(each), each.timestamp, each.marker) for each in kept]
                if size > 255
                else [self.rtx.padding(size, 0)]
            )
        for packet in self.pacer.due(now):
            number = self.history.sent(len(packet) + OVERHEAD, now)
            packet.stamp(number)
            self.enter(now, packet, number)

    def hear(self, now: float, data: object) -> None:
        assert isinstance(data, bytes)
        for item in rtcp.read(data):
            if isinstance(item, Feedback):
                if self.controller.feedback(self.history.arrivals(item, now), now):
                    self.pacer.clear()
                    self.controller.key_wanted(now)
            elif isinstance(item, rtcp.Nack):
                rtt = self.controller.report_of_path.turn or None
                kept = self.store.wanted(item.sequences, now, rtt)
                self.figures.resent += len(kept)
                self.again([self.rtx.packet(rtx_payload(each), each.timestamp, each.marker) for each in kept])
            elif isinstance(item, rtcp.PictureLoss):
                self.figures.asked_keys += 1
                self.controller.key_wanted(now)

    # the link

    def enter(self, now: float, packet: Packet, number: int) -> None:
        size = len(packet) + OVERHEAD
        rate = self.link.kbps(now)
        if rate == 0 and not self.link.holds:
            return
        if self.waiting_bytes + size > max(self.link.queue_seconds * max(rate, self.link.nominal / 4) * 125, 3000):
            self.figures.dropped += 1
            return
        self.waiting.append((now, size, packet, number))
        self.waiting_bytes += size

    def serve(self, now: float) -> None:
        rate = self.link.kbps(now) * 125 * STEP
        self.figures.room += rate
        self.credit = min(self.credit + rate, rate if not self.waiting else math.inf)
        while self.waiting and self.credit >= self.waiting[0][1]:
            since, size, packet, number = self.waiting.popleft()
            self.waiting_bytes -= size
            self.credit -= size
            self.figures.carried += size
            self.figures.queues.append((now, now - since))
            if self.chance.random() < self.link.loss:
                continue
            # Jitter delays; it does not let packets overtake.
            self.last_arrival = max(self.last_arrival, now + self.link.delay + self.chance.uniform(0, self.link.jitter))
            self.at(self.last_arrival, "arrive", (packet, number))

    # the receiver

    def arrive(self, now: float, what: object) -> None:
        packet, number = what
        full = number + max(0, round((max(self.came, default=0) - number) / 65536)) * 65536
        self.came[full] = now
        if packet.ssrc == 2:
            if len(packet.payload) < 3:
                return
            sequence = int.from_bytes(packet.payload[:2], "big")
        else:
            sequence = packet.sequence
        place = self.place(sequence)
        self.have.add(place)
        self.lost.pop(place, None)
        for missing in range(self.highest + 1, place):
            self.lost[missing] = (now, 0)
        self.highest = max(self.highest, place)
        self.show(now)

    def place(self, sequence: int) -> int:
        """The packet's place in the stream: its sequence number, from 0 on and without going back."""
        near = (sequence - self.first_sequence) & 0xFFFF
        return near + round((max(self.highest, 0) - near) / 65536) * 65536

    def show(self, now: float) -> None:
        """A frame is shown when it is whole and the one before was shown, or it is a key frame; what stands before a shown one is gone."""
        frames = self.figures.frames
        start = self.next_frame
        for index in range(start, len(frames)):
            frame = frames[index]
            if frame.first > self.highest:
                break
            whole = all(place in self.have for place in range(frame.first, frame.last + 1))
            if whole and (frame.key or index == self.next_frame):
                frame.shown = now
                self.next_frame = index + 1
                for place in [place for place in self.lost if place <= frame.last]:
                    del self.lost[place]
                self.have = {place for place in self.have if place > frame.last}

    def ask(self, now: float) -> None:
        """NACKs for what is missing, again after each 100 ms; a PLI when that was in vain, or the picture has stood for long."""
        again = [place for place, (since, times) in self.lost.items() if now >= since + 0.1 * times and times < 10]
        for place in again:
            since, times = self.lost[place]
            self.lost[place] = (since, times + 1)
        if again:
            self.back(now, nack_of(1, [(place + self.first_sequence) & 0xFFFF for place in again[:300]]))
        vain = any(times >= 10 for _, times in self.lost.values()) or len(self.lost) > 1000
        if vain and now - self.pli_at > 0.3:
            self.pli_at = now
            self.back(now, pli(1))

    def give_feedback(self, now: float) -> None:
        if not self.came:
            return
        base, last = min(min(self.came), self.told or min(self.came)), max(self.came)
        ticks = {number - base: int(when / 0.00025) + 5_000_000 for number, when in self.came.items()}
        self.told = last + 1
        self.came.clear()
        self.back(now, congestion(1, base, ticks, last - base + 1))

    def back(self, now: float, data: bytes) -> None:
        """The way back is wide, and cut when the other is."""
        if self.link.kbps(now) or self.link.holds:
            self.at(now + self.link.delay, "hear", data)
