"""Decides from the clocks whether the machine slept or its wall clock was set since the last look; the host asks before it stores anything.

Three clocks tell the two apart: the monotonic one stands still during a suspend, the boot-time one goes on, and only the wall clock can be
set. An episode never spans either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...generated.collector.vocabulary import CLOCK_JUMP_MS, SLEEP_GAP_MS


@dataclass(frozen=True, slots=True)
class Reading:
    """The three clocks at one moment, in whole milliseconds."""

    wall_ms: int
    boottime_ms: int
    monotonic_ms: int


@dataclass(frozen=True, slots=True)
class Gap:
    """The record has a hole here. `at_ms` is a wall-clock time between what came before and what comes after, `by_ms` its length."""

    kind: Literal["sleep", "clock-jump"]
    by_ms: int
    at_ms: int


class ClockWatch:
    """Remembers the last reading. A clock that is merely slewed or read a little late is no gap."""

    def __init__(self, first: Reading) -> None:
        self._last = first

    def look(self, now: Reading) -> Gap | None:
        """What has happened since the last look; a sleep counts before a jump of the clock that came with it."""
        last, self._last = self._last, now
        at_ms = min(last.wall_ms, now.wall_ms - 1)
        slept = (now.boottime_ms - now.monotonic_ms) - (last.boottime_ms - last.monotonic_ms)
        if slept > SLEEP_GAP_MS:
            return Gap("sleep", slept, at_ms)
        jumped = (now.wall_ms - now.boottime_ms) - (last.wall_ms - last.boottime_ms)
        return Gap("clock-jump", jumped, at_ms) if abs(jumped) > CLOCK_JUMP_MS else None
