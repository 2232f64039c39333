"""A recording with a collector that follows a script: the lines that scripts are made of, and the run of one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from activity_kit import scripted
from triptych.engine import activity
from triptych.engine.activity import Recording

EDITOR = "code.desktop"
HELLO = {
    "v": 1,
    "type": "hello",
    "collectorSession": "script-1",
    "collectorVersion": "9.9",
    "platform": "linux",
    "arch": "x64",
    "capabilities": [],
}
RUNNING = {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}
STARTED = [("say", HELLO), ("say", RUNNING), ("await", "configure"), ("ack",)]
Step = tuple[object, ...]


def observation(seq: int, title: str | None = "A page", **changes: Any) -> dict[str, Any]:
    return {
        "v": 1,
        "type": "observation",
        "collectorSession": "script-1",
        "seq": seq,
        "observedAtMs": time.time_ns() // 1_000_000,
        "app": {"pid": 7, "bundleId": EDITOR, "name": "Code"},
        "window": {"title": title},
        "privacy": {"secure": False, "protected": False},
        "source": {"adapter": "vscode"},
        **changes,
    }


def run(folder: Path, script: list[Step], check: Callable[[Recording], Awaitable[None]], *more: list[Step], **options: Any) -> None:
    """Record with the scripted collector and let `check` look at it."""

    async def main() -> None:
        options.setdefault("allow", [EDITOR])
        async with activity.record(folder / "history", command=scripted(folder, script, *more), **options) as recording:
            await check(recording)

    asyncio.run(main())


async def until(recording: Recording, met: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until `met` holds, asking after every change."""
    with recording.changes() as changed:
        async with asyncio.timeout(seconds):
            while not met():
                await changed.wait()
                changed.clear()
