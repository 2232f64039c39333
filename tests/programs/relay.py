"""Carries IP packets between two TUN devices as a bad path does: it delays, jitters, drops, limits, queues and cuts.

    python relay.py FD FD

The descriptors are those of the devices; packets from the first go forth, those from the second come back. A line of JSON on stdin sets
members of `Way`, for both ways or, with "way": 0 or 1, for one. `{"report": true}` prints what passed since the last report as a line, and
`{"trace": [kbps, …]}` lets the first way carry the next of them each second. It ends when stdin does.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import os
import random
import select
import sys
import time
from dataclasses import dataclass, field
from typing import Any

LONGEST = 2048


@dataclass
class Way:
    """One direction."""

    kbps: float = 0.0  #: what it carries, 0 is no limit
    queue: float = 0.3  #: seconds that may wait; what comes then is dropped
    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0
    cut: bool = False
    free_at: float = 0.0
    last_at: float = 0.0
    waits: list[float] = field(default_factory=list)
    passed: int = 0
    bytes: int = 0
    lost: int = 0
    overflowed: int = 0

    def passes(self, size: int, now: float, chance: random.Random) -> float | None:
        """When a packet that enters now comes out; None if it does not."""
        begin = max(self.free_at, now)
        if self.cut or begin - now > self.queue:
            self.overflowed += 1
            return None
        if self.kbps:
            self.free_at = begin + size * 8 / 1000 / self.kbps
            begin = self.free_at
        self.waits.append(begin - now)
        self.passed += 1
        self.bytes += size
        if chance.random() < self.loss:
            self.lost += 1
            return None
        # Jitter delays; it does not let packets overtake.
        self.last_at = max(self.last_at, begin + self.delay + chance.uniform(0, self.jitter))
        return self.last_at

    def report(self) -> dict[str, Any]:
        """What passed since the last one."""
        waits = sorted(self.waits)
        made = {"passed": self.passed, "bytes": self.bytes, "lost": self.lost, "overflowed": self.overflowed}
        made |= {f"queue_p{share}": waits[min(len(waits) - 1, len(waits) * share // 100)] if waits else 0.0 for share in (50, 95, 99)}
        self.waits, self.passed, self.bytes, self.lost, self.overflowed = [], 0, 0, 0, 0
        return made


def before_others() -> None:
    """A packet that waits for this process would be one that waits in a queue: so it runs before all that the machine does besides."""
    with contextlib.suppress(OSError):  # it may not
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def main(forth: int, back: int) -> None:
    ways, chance = (Way(), Way()), random.Random(1)
    under_way: list[tuple[float, int, int, bytes]] = []
    trace: list[float] = []
    number, next_second, lines = 0, 0.0, b""
    poll = select.poll()
    for fd in (0, forth, back):
        poll.register(fd, select.POLLIN)
    while True:
        now = time.monotonic()
        if trace and now >= next_second:
            ways[0].kbps = trace.pop(0)
            next_second = max(next_second + 1, now)
        wait = 50.0 if not under_way else max(0.0, (under_way[0][0] - now) * 1000)
        ready = [fd for fd, _ in poll.poll(min(wait, 50.0))]
        now = time.monotonic()
        for fd, way, out in ((forth, ways[0], back), (back, ways[1], forth)):
            if fd in ready:
                packet = os.read(fd, LONGEST)
                if (at := way.passes(len(packet), now, chance)) is not None:
                    number += 1
                    heapq.heappush(under_way, (at, number, out, packet))
        while under_way and under_way[0][0] <= now:
            _, _, out, packet = heapq.heappop(under_way)
            try:
                os.write(out, packet)
            except OSError:  # the device is down
                ways[0].overflowed += 1
        if 0 in ready:
            if not (data := os.read(0, 65536)):
                return
            *whole, lines = (lines + data).split(b"\n")
            for line in whole:
                told = json.loads(line)
                if told.pop("report", False):
                    print(json.dumps([way.report() for way in ways]), flush=True)
                trace = told.pop("trace", trace)
                way = told.pop("way", None)
                for each in ways if way is None else (ways[way],):
                    for name, value in told.items():
                        setattr(each, name, value)


if __name__ == "__main__":
    before_others()
    main(int(sys.argv[1]), int(sys.argv[2]))
