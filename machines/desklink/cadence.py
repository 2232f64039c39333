"""Keeps pictures to at most so many in a second without making them late; the capture thread and the encode schedule have one each.

A picture may begin one interval before its turn. Without that credit, pictures that come in the same rhythm would for ever be as late as
the latest of them ever was: each would wait until a whole interval after the one before.
"""

from __future__ import annotations


class Cadence:
    """At most `fps` pictures in a second on the long run; two may be close together when the one before was late."""

    def __init__(self, fps: int) -> None:
        self.interval = 1 / fps
        """Seconds from one picture's turn to the next."""
        self.at = 0.0
        """The earliest monotonic time at which the next picture may begin; in the past when it may begin now."""

    def began(self, now: float) -> None:
        """A picture began at this monotonic time."""
        self.at = max(self.at + self.interval, now)
