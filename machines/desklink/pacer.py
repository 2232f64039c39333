"""Spreads packets over time, so that a large picture does not burst; called by the peer connection.

A bucket of tokens fills at the pace and holds one burst (desklink v3, rate: at least 20 Mbit/s or three times the target, 256,000 bits).
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

from ...generated.desklink.vocabulary import (
    PACER_BITRATE_FACTOR,
    PACER_BURST_BITS,
    PACER_MIN_BITS_PER_SECOND,
)

T = TypeVar("T")

BURST: Final = PACER_BURST_BITS
LEAST_KBPS: Final = PACER_MIN_BITS_PER_SECOND // 1000
TIMES_TARGET: Final = PACER_BITRATE_FACTOR
MOST_QUEUED: Final = 16 << 20
"""Bytes that may wait: the largest access unit that can be fed, twice."""


class Pacer(Generic[T]):
    """The packets that wait to be sent, in order; those that are sent again go first."""

    def __init__(self, kbps: int, now: float) -> None:
        self._first: deque[tuple[T, int]] = deque()
        self._rest: deque[tuple[T, int]] = deque()
        self._tokens = float(BURST)
        self._at = now
        self._pace = 0.0
        self.queued = 0
        """Bytes that wait."""
        self.set_kbps(kbps, now)

    def set_kbps(self, kbps: int, now: float) -> None:
        """The target bit rate is this from now on."""
        if self._pace:
            self._fill(now)
        self._pace = max(LEAST_KBPS, TIMES_TARGET * kbps) * 1000.0

    def push(self, item: T, size: int) -> bool:
        """Queue a packet of `size` bytes behind all others; False, and nothing is queued, when too much waits already."""
        return self._push(self._rest, item, size)

    def push_first(self, item: T, size: int) -> bool:
        """Queue a packet before those that were never sent, behind those that go first too."""
        return self._push(self._first, item, size)

    def due(self, now: float) -> list[T]:
        """The packets to send now."""
        self._fill(now)
        sent = []
        while self._tokens > 0 and (queue := self._first or self._rest):
            item, size = queue.popleft()
            self._tokens -= 8 * size
            self.queued -= size
            sent.append(item)
        return sent

    @property
    def next_at(self) -> float | None:
        """When the next packet is due, in seconds of the clock that gave `now`; None when none waits."""
        if not self.queued:
            return None
        # A bit more than the debt, so that a caller that comes exactly then finds a token.
        return self._at if self._tokens > 0 else self._at + (1 - self._tokens) / self._pace

    def clear(self) -> None:
        """Nothing waits any more: a new path begins, or a key frame makes what waits useless."""
        self._first.clear()
        self._rest.clear()
        self.queued = 0

    def _push(self, queue: deque[tuple[T, int]], item: T, size: int) -> bool:
        if self.queued + size > MOST_QUEUED:
            return False
        queue.append((item, size))
        self.queued += size
        return True

    def _fill(self, now: float) -> None:
        if now > self._at:
            self._tokens = min(BURST, self._tokens + (now - self._at) * self._pace)
            self._at = now
