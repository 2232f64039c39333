"""Decides what a captured desktop encodes next, and when; called by the encode loop, which has the thread and the encoder.

There are three passes. MOTION: the picture has changed, or the client needs a key frame. REFINE: it has been still for a moment, and is
encoded once more in the quality of a still picture. KEEPALIVE: nothing was sent for long, so the same picture is shown again, which costs
next to nothing. What changes faster than the cadence is one picture (desklink v3, encode loop).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...generated.desklink.vocabulary import (
    HALF_MIN_WIDTH_PIXELS,
    KEEPALIVE_AFTER_MS,
    REFINE_AFTER_MS,
)
from .cadence import Cadence
from .frame_budget import COARSEST, Halving

REFINE_AFTER: Final = REFINE_AFTER_MS / 1000  # seconds of stillness
KEEPALIVE_AFTER: Final = KEEPALIVE_AFTER_MS / 1000  # seconds without a frame
LEAST_HALVED_WIDTH: Final = HALF_MIN_WIDTH_PIXELS  # pixels; a smaller picture is never halved
ASK_AGAIN: Final = (0.004, 0.050)  # seconds until a path that takes no frame is asked again: the first time, and at most
REFINE_SECONDS: Final = 0.300  # of the target: a refinement that would take longer to send is sent in parts, between which motion may go
MACROBLOCK_BYTES: Final = 20.0  # of a refined macroblock, until it is known
ENOUGH_MACROBLOCKS: Final = 64  # to know it by
FOREVER: Final = float("inf")


class Pass(enum.Enum):
    """Why a picture is encoded."""

    MOTION = "motion"
    REFINE = "refine"
    KEEPALIVE = "keepalive"


@dataclass(frozen=True)
class Encode:
    """Encode the newest picture now, if the path takes a frame: as a key frame, at half its size, refining `most` macroblocks (0: all)."""

    why: Pass
    key: bool = False
    half: bool = False
    most: int = 0


@dataclass(frozen=True)
class Wait:
    """Nothing is due before the monotonic time `until`, unless something happens."""

    until: float


Step: TypeAlias = Encode | Wait


class EncodeSchedule:
    """The schedule of one encoder; `fps` is the most frames in a second, `halves` whether the encoder can halve a picture."""

    def __init__(self, fps: int, width: int, *, halves: bool = True) -> None:
        self._cadence = Cadence(fps)
        self._halving = Halving(fps) if halves and width >= LEAST_HALVED_WIDTH else None
        self._seen = False  # a picture has come at all
        self._pending = False  # one that is not encoded yet
        self._key = True
        self._refined = False
        self._moved_at = 0.0
        self._sent_at = 0.0
        self._kbps = 0
        self._macroblock_bytes = MACROBLOCK_BYTES
        self._held_since: float | None = None
        self._ask_again = ASK_AGAIN[0]

    def changed(self) -> None:
        """There is a newer picture than the one encoded last."""
        self._seen = self._pending = True

    def withdrawn(self, has_picture: bool) -> None:
        """The newer picture is gone, or cannot be had now; `has_picture`: there is one that was encoded before."""
        self._seen, self._pending = has_picture, False

    def want_key(self) -> None:
        """The next frame must be a key frame."""
        self._key = True

    def next(self, now: float) -> Step:
        """What is to be done now. Asking changes nothing."""
        if not self._seen:
            return Wait(FOREVER)
        if self._pending or self._key:
            why, at = Pass.MOTION, 0.0
        elif not self._refined:
            why, at = Pass.REFINE, self._moved_at + REFINE_AFTER
        else:
            why, at = Pass.KEEPALIVE, self._sent_at + KEEPALIVE_AFTER
        at = max(at, self._cadence.at)
        if now < at:
            return Wait(at)
        half = why is Pass.MOTION and self._halving is not None and self._halving.half
        most = max(1, int(self._kbps * 125 * REFINE_SECONDS / self._macroblock_bytes)) if why is Pass.REFINE else 0
        return Encode(why, self._key, half, most)

    def held(self, now: float) -> Wait:
        """The path takes no frame now: when to ask it again."""
        if self._held_since is None:
            self._held_since = now
        pause, self._ask_again = self._ask_again, min(2 * self._ask_again, ASK_AGAIN[1])
        return Wait(now + pause)

    def woken(self) -> None:
        """The path may take a frame again: a refusal is asked again soon."""
        self._ask_again = ASK_AGAIN[0]

    def encoded(
        self,
        step: Encode,
        size: int,
        began: float,
        now: float,
        *,
        kbps: int,
        newer_waits: bool,
        key: bool = False,
        quantizer: int = COARSEST,
        coded: int = 0,
        rough: int = 0,
    ) -> None:
        """The frame of `step`, begun at `began`, is on its way: `size` bytes, towards a target of `kbps`.

        `newer_waits`: a newer picture came meanwhile; that it has `changed` is said again. `key`: it turned out a key frame; `quantizer`:
        how coarse it is, 0 to 63. `coded` macroblocks were looked at, `rough` are still to be refined.
        """
        # What a key frame waited for was no debt of frames before: a connection, or the end of an outage.
        held = 0.0 if self._held_since is None or step.key else began - self._held_since
        self._held_since = None
        self._ask_again = ASK_AGAIN[0]
        self._pending = False
        self._key = False
        self._kbps = kbps
        self._cadence.began(began)
        self._sent_at = now
        if step.why is Pass.MOTION:
            self._refined, self._moved_at = False, began
            if self._halving is not None:
                key = key or step.key
                self._halving.encoded(size, now - began, now, newer_waits=newer_waits, kbps=kbps, held=held, key=key, quantizer=quantizer)
        elif step.why is Pass.REFINE:
            self._refined = rough == 0
            if coded >= ENOUGH_MACROBLOCKS:
                self._macroblock_bytes = max(1.0, size / coded)
            if self._halving is not None:
                self._halving.reset()
