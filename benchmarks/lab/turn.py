"""One turn of the lab: one sender, one page, so many seconds; what was seen, and what it cost. Called by run.py, in the lab's network."""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.adapters.display import PrivateDisplay
from triptych.tools.live_viewer import ENGINE, Sender, Viewer, family, spent

HERE = Path(__file__).parent
RECEIVER = (HERE / "receiver.html").read_text()
COMMANDS: Mapping[str, Sequence[str]] = {"ours": ENGINE, "peer": (sys.executable, str(HERE / "wrtc_sender.py"))}
WARM_SECONDS = 4.0
"""Until rates have settled, and a screen that freezes is still."""
LONGEST_DELAY = 5000.0
"""Milliseconds; a stamp that says more was not read well."""
RECEIVED = ("framesDecoded", "framesDropped", "keyFramesDecoded", "freezeCount", "nackCount", "pliCount", "packetsLost", "bytesReceived")


@dataclass(frozen=True)
class Scenario:
    """What is on the screen, and how it is sent. `work_hertz`: how often the picture below the stamp changes; 0 is with each stamp.

    `paint`: the receiver shows the picture; else it only decodes it. `link_kbps`: the path carries no more; 0 is no limit.
    """

    name: str
    width: int
    height: int
    mode: str
    fps: int
    work_hertz: int = 30
    paint: bool = True
    link_kbps: int = 0
    has_peer: bool = True
    hertz: int = 120

    @property
    def kbps(self) -> int:
        """The most bit rate of either side: what the engine chooses by itself for a picture of that size."""
        return min(25_000, 1500 + self.width * self.height * 18 // 10_000)


@asynccontextmanager
async def painting(display: PrivateDisplay, scenario: Scenario) -> AsyncIterator[None]:
    """The stamp window is on the display."""
    what = (scenario.width, scenario.height, scenario.mode, scenario.hertz, scenario.work_hertz or scenario.hertz)
    command = [sys.executable, str(HERE / "stamp_window.py"), *map(str, what)]
    painter = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, env=display.env)
    try:
        yield
        if painter.returncode is not None:
            raise RuntimeError("the stamp window ended by itself")
    finally:
        assert painter.stdin is not None
        painter.stdin.close()
        await painter.wait()


async def turn(browser: Any, display: PrivateDisplay, scenario: Scenario, side: str, seconds: float) -> dict[str, Any]:
    """Let one side send for so many seconds."""
    async with painting(display, scenario):
        sender = await Sender.start(COMMANDS[side], display.env)
        try:
            viewer = await Viewer.open(browser, RECEIVER, sender, source=scenario.width, paint=scenario.paint)
            try:
                source = {"kind": "x11", "display": display.name}
                await sender.open(source=source, permissions=["view"], max_fps=scenario.fps, bitrate_kbps=scenario.kbps, local_frames=False)
                await viewer.sees("seen.frames > 3")
                await asyncio.sleep(WARM_SECONDS)
                return await _measured(viewer, sender, seconds)
            finally:
                await viewer.close()
        finally:
            await sender.close()


async def _measured(viewer: Viewer, sender: Sender, seconds: float) -> dict[str, Any]:
    chromium = family(os.getpid(), "chromium")
    stats, metrics = await viewer.page.evaluate("async () => { reset(); return await stats(); }"), await sender.request("session.metrics")
    began, engine, browser = time.monotonic(), spent([sender.pid]), spent(chromium)
    await asyncio.sleep(seconds)
    took = time.monotonic() - began
    cpu = {"engine": 100 * (spent([sender.pid]) - engine) / took, "browser": 100 * (spent(chromium) - browser) / took}
    seen = await viewer.page.evaluate("async () => ({...seen, ...await stats()})")
    after = await sender.request("session.metrics")
    return {
        "seconds": round(took, 2),
        "shown": delays(seen["shown"]),
        "called": delays(seen["called"]),
        "decoded": delays(seen["decoded"]),
        "longest_gap_ms": round(seen["gap"], 1),
        "cpu_percent": {name: round(value, 1) for name, value in cpu.items()},
        "receiver": received(stats["video"], seen["video"]),
        "engine": engine_metrics(metrics, after),
        "errors": seen["errors"],
    }


def delays(samples: Sequence[Sequence[float]]) -> dict[str, Any] | None:
    """Of pictures with when they were seen and how old they were, in ms: rate, intervals and glass to glass. None of fewer than two."""
    if len(samples) < 2:
        return None
    times = [at for at, _ in samples]
    intervals = sorted(later - earlier for earlier, later in itertools.pairwise(times))
    kept = sorted(delay for _, delay in samples if -50 < delay < LONGEST_DELAY)
    return {
        "fps": round(1000 * (len(times) - 1) / (times[-1] - times[0]), 1),
        "frame_interval_ms": {"p95": share(intervals, 0.95), "max": share(intervals, 1)},
        "g2g_ms": {
            "p50": share(kept, 0.5),
            "p95": share(kept, 0.95),
            "max": share(kept, 1),
            "n": len(kept),
            "discarded": len(samples) - len(kept),
        },
    }


def share(values: Sequence[float], part: float) -> float | None:
    """The value that `part` of the sorted values stay at or below."""
    return round(values[min(len(values) - 1, int(part * len(values)))], 1) if values else None


def received(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What the browser says of the stream, in that time; times are means in ms."""
    grown = {name: after.get(name, 0) - before.get(name, 0) for name in RECEIVED}

    def mean(total: str, count: str) -> float | None:
        number = after.get(count, 0) - before.get(count, 0)
        return round(1000 * (after.get(total, 0) - before.get(total, 0)) / number, 2) if number else None

    return {
        **grown,
        "decode_ms": mean("totalDecodeTime", "framesDecoded"),
        "jitter_buffer_ms": mean("jitterBufferDelay", "jitterBufferEmittedCount"),
        "processing_ms": mean("totalProcessingDelay", "framesDecoded"),
        "width": after.get("frameWidth"),
    }


def engine_metrics(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What the sender counted in that time, and the mean of each of its stages in ms."""
    words = {name: value for name, value in after.items() if isinstance(value, str)}
    grown = {name: value - before.get(name, 0) for name, value in after.items() if isinstance(value, int) and name != "target_kbps"}
    counts = {name: value for name, value in grown.items() if not name.endswith("_micros")}
    per = {
        "capture": "captured_frames",
        "convert": "motion_frames",
        "queue": "motion_frames",
        "encode": "encoded_frames",
        "send": "encoded_frames",
    }
    stages = {
        f"{stage}_ms": round(grown[f"{stage}_micros"] / grown[count] / 1000, 2)
        for stage, count in per.items()
        if grown.get(count) and f"{stage}_micros" in grown
    }
    return {**words, **counts, **stages, **({"target_kbps": after["target_kbps"]} if "target_kbps" in after else {})}


def median(values: Sequence[float | None]) -> float | None:
    """The median of those that there are."""
    known = [value for value in values if value is not None]
    return round(statistics.median(known), 2) if known else None
