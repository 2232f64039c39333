"""Decides what a frame request is told: sequence number, stillness, damage, and when a wait is over; called by the engine core.

Pixels never come here. A capture says "this changed, at this time"; the numbers follow (desklink v3, `session.frame`). Times are monotonic
seconds, durations on the wire milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...generated.desklink.vocabulary import DEFAULT_FRAME_TIMEOUT_MS, DEFAULT_STILL_MS, MAX_FRAME_TIMEOUT_MS
from .geometry import Box, Size


class Frames:
    """The numbers of the newest frame of one session. `seq` is 0 until the first frame, and advances only when the picture changes.

    `kept` says whether that frame is still there: not before the first one, nor from the loss of the capture until it sees again.
    """

    def __init__(self, surface: Size) -> None:
        self.surface = surface
        self.seq = 0
        self.kept = False
        self._changed_at = 0.0
        self._damage: tuple[Box, ...] = ()

    def captured(self, damage: tuple[Box, ...], now: float) -> None:
        """A changed frame is there; `damage` is against the frame before it. Without a kept one it is wholly new, whatever is said."""
        self.seq += 1
        self._changed_at = now
        self._damage = damage if self.kept else (self.surface.box,)
        self.kept = True

    def drop(self) -> None:
        """The newest frame is not true any more."""
        self.kept = False

    @property
    def damage(self) -> tuple[Box, ...]:
        """What the newest frame changed."""
        return self._damage

    def still_ms(self, now: float) -> int:
        """Milliseconds since the newest change."""
        # The millionth keeps a wait that is just fulfilled from reporting one millisecond less than it asked for.
        return max(0, int((now - self._changed_at) * 1000 + 1e-6))

    def damage_since(self, since: int | None) -> tuple[Box, ...]:
        """The changed boxes since frame `since`: none for the newest, its own for the one before, else everything."""
        if since == self.seq:
            return ()
        if since is not None and since == self.seq - 1:
            return self._damage
        return (self.surface.box,)

    def still_at(self, still_ms: int) -> float:
        """The time at which the picture will have been still for `still_ms`, if nothing changes any more."""
        return self._changed_at + still_ms / 1000


@dataclass(frozen=True)
class FrameWait:
    """What a frame request waits for. `still_ms` None means that any frame will do; `deadline` is a monotonic time."""

    after_seq: int | None
    still_ms: int | None
    deadline: float

    @classmethod
    def of(cls, after_seq: int | None, still_ms: int | None, timeout_ms: int | None, now: float) -> FrameWait | None:
        """The wait that the three members ask for; None when all are absent, which means at once."""
        if after_seq is None and still_ms is None and timeout_ms is None:
            return None
        if still_ms is None and after_seq is None:
            still_ms = DEFAULT_STILL_MS
        patience = min(DEFAULT_FRAME_TIMEOUT_MS if timeout_ms is None else timeout_ms, MAX_FRAME_TIMEOUT_MS)
        return cls(after_seq, still_ms, now + patience / 1000)

    def met_at(self, frames: Frames) -> float | None:
        """The time at which the wait is over if nothing changes any more; None when only a new frame can end it."""
        if not frames.kept or (self.after_seq is not None and frames.seq <= self.after_seq):
            return None
        return frames.still_at(self.still_ms) if self.still_ms is not None else 0.0

    def next_look(self, frames: Frames) -> float:
        """When to look again without a new frame: at fulfilment or at the deadline, whichever is first."""
        met_at = self.met_at(frames)
        return self.deadline if met_at is None else min(met_at, self.deadline)
