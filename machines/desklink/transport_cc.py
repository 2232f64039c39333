"""Remembers when each packet was sent, and reads from the peer's feedback when it came; called by the peer connection.

The feedback is that of draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1. The peer's clock is not ours: only differences of its
times mean anything.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from ...errors import RemoteProtocolError

TICK: Final = 0.00025  # seconds: times of arrival are told in steps of 250 µs
_TICKS_A_REFERENCE: Final = 256  # the reference time counts in 64 ms
_REFERENCES: Final = 1 << 24  # and goes on at 0 after this many
CAPACITY: Final = 16384
"""So many packets are remembered, a quarter of their numbers: at 25 Mbit/s those of more than six seconds."""
MOST_STATUSES: Final = 4096
"""Of so many packets may one feedback tell, whose few bytes could otherwise cost long work; a browser tells ten times a second."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """One feedback packet. `ticks[i]` is when number `base + i` came, in ticks of the peer's clock; None when it had not."""

    ssrc: int
    base: int
    reference: int  #: ticks, wraps with the reference time
    number: int  #: of the feedback packet itself, 0 to 255
    ticks: tuple[int | None, ...]  #: relative to `reference`


@dataclass(frozen=True, slots=True)
class Arrival:
    """What became of one packet. A packet told lost may be told received later, when it was only late."""

    number: int  #: of sending, never goes back to 0
    sent_at: float  #: seconds of our clock
    received_at: float | None  #: seconds of the peer's clock; None when it is missing
    size: int


def read_feedback(body: bytes) -> Feedback:
    """A feedback packet behind the RTCP header and the sender's SSRC, from the media's SSRC on.

    Raises RemoteProtocolError (code `transport`). More than `MOST_STATUSES` are refused unread.
    """
    if len(body) < 12:
        raise _refused("is too short")
    ssrc, base, count = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:6], "big"), int.from_bytes(body[6:8], "big")
    reference, number = int.from_bytes(body[8:11], "big"), body[11]
    if not 0 < count <= MOST_STATUSES:
        raise _refused("tells of no packet, or of too many")
    sizes, at = _statuses(body, count)
    ticks: list[int | None] = []
    now = 0
    for size in sizes:
        if size == 0:
            ticks.append(None)
            continue
        if at + size > len(body):
            raise _refused("ends within its times")
        now += body[at] if size == 1 else int.from_bytes(body[at : at + 2], "big", signed=True)
        at += size
        ticks.append(now)
    return Feedback(ssrc, base, reference * _TICKS_A_REFERENCE, number, tuple(ticks))


def _statuses(body: bytes, count: int) -> tuple[list[int], int]:
    """For each packet the length of its time of arrival, 0 when it did not come; and where the times begin."""
    sizes: list[int] = []
    at = 12
    while len(sizes) < count:
        if at + 2 > len(body):
            raise _refused("ends within its statuses")
        chunk = int.from_bytes(body[at : at + 2], "big")
        at += 2
        if not chunk & 0x8000:
            run = min(chunk & 0x1FFF, count - len(sizes))
            if run == 0:
                raise _refused("has an empty run of statuses")
            sizes += [chunk >> 13 & 3] * run
        elif chunk & 0x4000:
            sizes += [chunk >> shift & 3 for shift in range(12, -2, -2)]
        else:
            sizes += [chunk >> shift & 1 for shift in range(13, -1, -1)]
    if 3 in sizes[:count]:
        raise _refused("has a reserved status")
    return sizes[:count], at


class _Sent:
    __slots__ = ("at", "received", "size")

    def __init__(self, at: float, size: int) -> None:
        self.at = at
        self.size = size
        self.received = False


class History:
    """The packets sent on one path, and how many of their bytes are under way."""

    def __init__(self) -> None:
        self._sent: OrderedDict[int, _Sent] = OrderedDict()
        self._next = 0
        self._told = -1  # the highest number of which the peer told
        self._ticks: int | None = None  # the reference time of the newest feedback, unwrapped
        self.in_flight = 0
        """Bytes that were sent after all of which the peer has told."""

    def sent(self, size: int, now: float) -> int:
        """Remember a packet of `size` bytes that is sent now; its transport-wide number, 0 to 65535."""
        number = self._next
        self._next += 1
        self._sent[number] = _Sent(now, size)
        self.in_flight += size
        if len(self._sent) > CAPACITY:
            oldest, gone = self._sent.popitem(last=False)
            if oldest > self._told:
                self.in_flight -= gone.size
        return number & 0xFFFF

    def arrivals(self, feedback: Feedback, now: float) -> tuple[Arrival, ...]:
        """What the feedback tells anew of packets that are remembered, in the order of sending."""
        base = self._unwrapped(feedback.base)
        reference = self._reference(feedback.reference)
        told = []
        for number in range(max(base, self._next - CAPACITY, 0), min(base + len(feedback.ticks), self._next)):
            sent = self._sent.get(number)
            ticks = feedback.ticks[number - base]
            if sent is None or sent.received or (ticks is None and number <= self._told):
                continue
            sent.received = ticks is not None
            told.append(Arrival(number, sent.at, None if ticks is None else (reference + ticks) * TICK, sent.size))
        last = min(base + len(feedback.ticks), self._next) - 1
        for number in range(max(self._told + 1, self._next - CAPACITY), last + 1):
            if passed := self._sent.get(number):
                self.in_flight -= passed.size
        self._told = max(self._told, last)
        return tuple(told)

    def forget(self) -> None:
        """A new path: what is under way on the old one is not told of any more."""
        self._told = self._next - 1
        self._sent.clear()
        self.in_flight = 0

    def _unwrapped(self, number: int) -> int:
        """The number of sending that is nearest to the newest one, and was sent at all."""
        newest = self._next - 1
        return newest - ((newest - number) & 0xFFFF)

    def _reference(self, ticks: int) -> int:
        """The peer's clock as a number that does not go back to 0 every twelve days."""
        span = _REFERENCES * _TICKS_A_REFERENCE
        before = self._ticks if self._ticks is not None else ticks
        ahead = (ticks - before) % span
        now = before + (ahead if ahead < span // 2 else ahead - span)
        self._ticks = now
        return now


def _refused(reason: str) -> RemoteProtocolError:
    return RemoteProtocolError("transport", f"the congestion feedback {reason}", "rtcp")
