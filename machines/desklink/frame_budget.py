"""Decides when a moving picture is sent at half its size, and when at its full size again; called by the encode schedule for each frame.

A picture that moves as a whole can take longer to encode than it is shown, and more bits than the path carries. Half the size takes a
quarter of both, and a moving eye does not see the difference (desklink v3, encode loop). The encoder fills its bit rate at half size too,
so there the size of a frame tells little: how coarse it is tells whether the full picture would fit. A return that does not last makes
the next one wait longer, so that the size of the picture never flaps.
"""

from __future__ import annotations

from typing import Final

from ...generated.desklink.vocabulary import (
    FULL_AFTER_FRAMES,
    HALF_AFTER_DEBT_FRAMES,
    HALF_AFTER_FRAMES,
    LARGE_FRAME_FACTOR,
)

SLOW_AND_LARGE: Final = HALF_AFTER_FRAMES  # frames in a row: halve
IN_DEBT: Final = HALF_AFTER_DEBT_FRAMES  # frames in a row: halve
CALM: Final = FULL_AFTER_FRAMES  # frames in a row: back to full size
LARGE: Final = LARGE_FRAME_FACTOR  # a frame of a quarter of its share of the target is not small
FINE: Final = 44  # of 63; where half a picture is coded no coarser, the full one fits the target at the coarsest (of desktops in motion)
TIMES_LONGER: Final = 4  # the full picture takes, at most
SMOOTHING: Final = 0.1  # of the time that half a picture takes
TRIAL: Final = 10.0  # seconds: a return that lasted shorter has failed
LONGEST_CALM: Final = 20.0  # seconds of calm that are asked for after returns that failed
CLIMBED: Final = 1.2  # a target that rose by more
SETTLED: Final = 1.0  # seconds after which a target that rose counts as the path's
SOON: Final = 8  # frames in a row: after so many, what the path does not take is not soon paid
COARSEST: Final = 63


class Halving:
    """Whether frames are halved; `fps` is the most frames in a second."""

    def __init__(self, fps: int) -> None:
        self.half = False
        self._fps = fps
        self._heavy = self._debts = self._owing = self._calm = 0
        self._calm_needed = CALM
        self._returned_at = float("-inf")
        self._seconds = 0.0  # that half a picture takes
        self._kbps = 0
        self._climbed_at = float("-inf")
        self._owes_once = False  # the frame before was a key frame, a refinement, or one that can be coarser

    def encoded(
        self,
        size: int,
        seconds: float,
        now: float,
        *,
        newer_waits: bool,
        kbps: int,
        held: float = 0.0,
        key: bool = False,
        quantizer: int = COARSEST,
    ) -> bool:
        """Take a frame of `size` bytes that took `seconds` to encode, until `now`; whether the next is to be halved.

        `newer_waits`: a newer picture had come meanwhile. `kbps` is the target; `held`: seconds for which the path did not take this
        frame, for the bits of those before; `quantizer`: how coarse it is, 0 to 63.
        """
        interval = 1 / self._fps
        slow = seconds > interval and newer_waits
        large = size * LARGE > kbps * 125 / self._fps
        indebted, climbs = held > interval, self._climbs(kbps, now)
        if self.half:
            self._seconds += SMOOTHING * (seconds - self._seconds)
            fits = quantizer <= FINE and not indebted and TIMES_LONGER * self._seconds < interval
            self._calm = self._calm + 1 if not slow and (fits or not large) else 0
            if self._calm >= self._calm_needed:
                self._restore(now)
        else:
            self._heavy = self._heavy + 1 if slow and large else 0
            # What such a frame owes is soon paid, and a target that is climbing says nothing yet of what the path carries.
            self._owing = self._owing + 1 if indebted and not climbs else 0
            self._debts = self._debts + 1 if self._owing and not self._owes_once else 0
            if self._heavy >= SLOW_AND_LARGE or self._debts >= IN_DEBT or self._owing >= SOON:
                self._halve(now, seconds)
        self._owes_once = key or quantizer <= FINE
        return self.half

    def reset(self) -> None:
        """The picture is still, and was refined: it is shown at full size."""
        self._restore(float("-inf"))
        self._owes_once = True

    def _restore(self, now: float) -> None:
        self.half = False
        self._returned_at = now
        self._heavy = self._debts = self._owing = self._calm = 0

    def _halve(self, now: float, seconds: float) -> None:
        self.half = True
        self._heavy = self._debts = self._owing = self._calm = 0
        self._seconds = seconds / TIMES_LONGER
        lasted = now - self._returned_at
        if lasted < TRIAL:
            self._calm_needed = min(2 * self._calm_needed, max(CALM, int(LONGEST_CALM * self._fps)))
        elif lasted > LONGEST_CALM:
            self._calm_needed = CALM

    def _climbs(self, kbps: int, now: float) -> bool:
        """Whether the target has risen much in the last second; at the beginning too, when nothing is known of the path."""
        if kbps > CLIMBED * self._kbps:
            self._climbed_at = now
            self._kbps = kbps
        self._kbps = min(self._kbps, kbps)
        return now - self._climbed_at < SETTLED
