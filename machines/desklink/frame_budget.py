"""Decides when a moving picture is sent at half its size; called by the encode loop after each encoded frame.

A picture that moves as a whole can take longer to encode than it is shown, and more bits than the path carries. Half the size takes a
quarter of both, and a moving eye does not see the difference (desklink v3, encode loop).
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


class Halving:
    """Whether frames are halved; `fps` is the most frames in a second."""

    def __init__(self, fps: int) -> None:
        self.half = False
        self._fps = fps
        self._heavy = self._debts = self._calm = 0

    def encoded(self, size: int, seconds: float, *, newer_waits: bool, kbps: int, drain: float = 0.0) -> bool:
        """Take a frame of `size` bytes that took `seconds` to encode; whether the next is to be halved.

        `newer_waits`: a newer picture had come meanwhile. `kbps` is the target; `drain`: seconds until the send budget lets the next go.
        """
        interval = 1 / self._fps
        slow = seconds > interval and newer_waits
        large = size * LARGE > kbps * 125 / self._fps
        if self.half:
            self._calm = 0 if slow or large else self._calm + 1
            if self._calm >= CALM:
                self.reset()
        else:
            self._heavy = self._heavy + 1 if slow and large else 0
            self._debts = self._debts + 1 if drain > interval else 0
            if self._heavy >= SLOW_AND_LARGE or self._debts >= IN_DEBT:
                self.half = True
                self._heavy = self._debts = self._calm = 0
        return self.half

    def reset(self) -> None:
        """The picture is still: it is shown at full size."""
        self.half = False
        self._heavy = self._debts = self._calm = 0
