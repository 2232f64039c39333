"""Measures a path from what became of each packet: queueing delay, what was delivered, loss, capacity; called by the rate control.

The clocks of the two sides are not in step, so a delay means nothing by itself, but what it is above the least of the last half minute
is time spent in queues. Packets that were sent in one burst come in at the rate of the narrowest link: each large picture measures that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ...generated.desklink.vocabulary import (
    BASE_DELAY_WINDOW_MS,
    DELIVERED_WINDOW_MS,
    STANDING_DELAY_WINDOW_MS,
)
from .transport_cc import Arrival

BASE_WINDOW: Final = BASE_DELAY_WINDOW_MS / 1000  # seconds; the least delay is that of this window and the one before
STANDING: Final = STANDING_DELAY_WINDOW_MS / 1000  # seconds: a queue that was empty once in this time does not stand
LONG_STANDING: Final = 0.500  # seconds: nor does a short one, which on a path that jitters may be none, in this time
SHORT_QUEUE: Final = 0.035  # seconds
STANDING_PACKETS: Final = 6  # fewer say little about a path that jitters; then those of up to a second are looked at
STANDING_LONGEST: Final = 1.0
DELIVERED: Final = DELIVERED_WINDOW_MS / 1000  # seconds
LOSS_WINDOW: Final = 1.0  # seconds, longer while it has few packets
LOSS_PACKETS: Final = 30
LOSS_WINDOWS: Final = 10  # so many tell what the path loses whatever is sent
TRAIN_GAP: Final = 0.006  # seconds: packets sent closer than this belong to one burst
TRAIN_PACKETS: Final = 4
TRAIN_BYTES: Final = 3000
TRAINS: Final = 6  # the slowest of so many counts
MOST_CAPACITY: Final = 50_000  # kbps; what is above is not told apart
RECENT: Final = 4096
"""So many packets are looked at, at most."""


@dataclass(frozen=True, slots=True)
class PathReport:
    """What is known of a path; None for what is not."""

    queue: float | None  #: seconds that packets stand in queues
    delivered_kbps: float  #: in the last half second
    loss: float | None = None  #: 0 to 1, when a window of the loss has just ended
    usual_loss: float = 0.0  #: the least loss of the last windows: what is lost whatever is sent
    capacity_kbps: float | None = None  #: as the newest bursts came in
    turn: float = 0.0  #: seconds from sending to the feedback that tells of it, at best


class _Least:
    """The least value of the present window and the one before."""

    def __init__(self, window: float) -> None:
        self._window = window
        self._since = float("-inf")
        self._now = self._before = float("inf")

    def add(self, value: float, now: float) -> None:
        if now - self._since >= self._window:
            self._before = self._now if now - self._since < 2 * self._window else float("inf")
            self._now, self._since = float("inf"), now
        self._now = min(self._now, value)

    @property
    def value(self) -> float:
        return min(self._now, self._before)


class PathEstimator:
    """What the feedback of one path adds up to."""

    def __init__(self) -> None:
        self._base = _Least(BASE_WINDOW)
        self._turn = _Least(BASE_WINDOW)
        self._recent: deque[tuple[float, float, int]] = deque(maxlen=RECENT)  # received at, delay, size
        self._first = 0.0
        self._losses: deque[float] = deque(maxlen=LOSS_WINDOWS)
        self._sent = self._lost = 0
        self._loss_since: float | None = None
        self._train = _Train()
        self._capacities: deque[float] = deque(maxlen=TRAINS)  # kbps, of the bursts that ended last
        self.capacity_at: float | None = None
        """When a burst measured the path last."""

    def feedback(self, arrivals: Iterable[Arrival], now: float) -> PathReport:
        """The report after what the peer told of these packets, which is at the time `now`."""
        newest_sent = None
        for arrival in arrivals:
            self._sent += 1
            if arrival.received_at is None:
                self._lost += 1
                continue
            newest_sent = arrival.sent_at
            if not self._recent:
                self._first = arrival.received_at
            delay = arrival.received_at - arrival.sent_at
            self._base.add(delay, now)
            self._recent.append((arrival.received_at, delay, arrival.size))
            if not self._train.goes_on(arrival, arrival.received_at):
                if (ended := self._train.kbps) is not None:
                    self._capacities.append(ended)
                self._train.begin(arrival, arrival.received_at)
        if newest_sent is not None:
            self._turn.add(now - newest_sent, now)
        if (going_on := self._train.kbps) is not None:
            self.capacity_at = now
        if not self._recent:
            return PathReport(None, 0.0)
        newest = max(came for came, _, _ in self._recent)
        while self._recent[0][0] < newest - STANDING_LONGEST:
            self._recent.popleft()
        loss = self._loss(now)
        return PathReport(
            self._queue(newest),
            self._delivered(newest),
            loss,
            min(self._losses, default=0.0),
            min((*self._capacities, going_on or MOST_CAPACITY), default=None) if self._capacities or going_on else None,
            self._turn.value,
        )

    def doubt_capacity(self) -> None:
        """The path was found to carry less than the bursts said."""
        self._capacities.clear()
        self._train = _Train()

    def _queue(self, newest: float) -> float:
        queue = self._least(newest - STANDING) - self._base.value
        return queue if queue > SHORT_QUEUE else self._least(newest - LONG_STANDING) - self._base.value

    def _least(self, since: float) -> float:
        """The least delay of the packets that came since then, or of the newest few."""
        least = float("inf")
        for number, (came, delay, _) in enumerate(reversed(self._recent)):
            if came < since and number >= STANDING_PACKETS:
                break
            least = min(least, delay)
        return least

    def _delivered(self, newest: float) -> float:
        total = sum(size for came, _, size in self._recent if came >= newest - DELIVERED)
        return total * 8 / 1000 / min(DELIVERED, max(newest - self._first, 0.1))

    def _loss(self, now: float) -> float | None:
        if self._loss_since is None:
            self._loss_since = now
        if now - self._loss_since < LOSS_WINDOW or self._sent < LOSS_PACKETS:
            return None
        loss = self._lost / self._sent
        self._sent = self._lost = 0
        self._loss_since = now
        self._losses.append(loss)
        return loss


class _Train:
    """Packets that were sent in one burst."""

    def __init__(self) -> None:
        self._last_sent = float("-inf")
        self._from = self._to = 0.0
        self._packets = self._bytes = 0

    def goes_on(self, arrival: Arrival, came: float) -> bool:
        """Whether this packet was sent in the same burst; then it is taken."""
        if arrival.sent_at - self._last_sent > TRAIN_GAP:
            return False
        self._last_sent = arrival.sent_at
        self._to = max(self._to, came)
        self._packets += 1
        self._bytes += arrival.size
        return True

    def begin(self, arrival: Arrival, came: float) -> None:
        """A burst begins with this packet, whose size does not count: it came before time was taken."""
        self._last_sent, self._from, self._to = arrival.sent_at, came, came
        self._packets, self._bytes = 1, 0

    @property
    def kbps(self) -> float | None:
        """How fast the burst came in; None of a short one."""
        if self._packets < TRAIN_PACKETS or self._bytes < TRAIN_BYTES:
            return None
        return min(MOST_CAPACITY, self._bytes * 8 / 1000 / max(self._to - self._from, 0.001))
