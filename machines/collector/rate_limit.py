"""Decides whether a companion may report once more: 120 accepted requests in any 60 seconds, each token counted apart. The intake asks."""

from __future__ import annotations

from collections import deque

from ...generated.collector.vocabulary import INTAKE_RATE, INTAKE_RATE_WINDOW_MS

_WINDOW = INTAKE_RATE_WINDOW_MS / 1000


class RateLimit:
    """The times of the accepted requests, by token digest. `now` is in monotonic seconds and never goes back."""

    def __init__(self) -> None:
        self._accepted: dict[str, deque[float]] = {}

    def accept(self, token_digest: str, now: float) -> bool:
        """Count one request, or refuse it; a refused one is not counted. At most 120 times a token are kept, none of an idle one."""
        for other, times in list(self._accepted.items()):
            while times and times[0] <= now - _WINDOW:
                times.popleft()
            if not times:
                del self._accepted[other]
        times = self._accepted.setdefault(token_digest, deque())
        if len(times) >= INTAKE_RATE:
            return False
        times.append(now)
        return True

    def __len__(self) -> int:
        """How many tokens are remembered."""
        return len(self._accepted)
