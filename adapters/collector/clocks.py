"""Reads the clocks of this machine for the host's watch over sleep and a wall clock that is set."""

from __future__ import annotations

import time

from ...machines.collector.clock import Reading

# Where there is no boot-time clock the monotonic one stands in for it, and a sleep is seen as a jump of the wall clock.
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", 1))


def read_clocks() -> Reading:
    """The three clocks now. They are read one after another, which is why a gap has a threshold."""
    return Reading(
        wall_ms=time.time_ns() // 1_000_000,
        boottime_ms=time.clock_gettime_ns(_BOOTTIME) // 1_000_000,
        monotonic_ms=time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000,
    )
