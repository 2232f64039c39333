"""Looks at an X display for a few seconds and counts what it sees: what `triptych-desklink capture-probe` prints."""

from __future__ import annotations

import time
import zlib
from typing import Any

from ...errors import Unavailable
from .display_name import display_name
from .x11_capture import X11Capture

INTERVAL_SECONDS = 0.033


def capture_probe(seconds: float, display: str | None) -> dict[str, Any]:
    """Grab the root window of `display` (None: $DISPLAY) at its own size, every 33 ms. Raises Unavailable when that gives no picture.

    The answer has `source` {kind, display, width, height}, `frames`, `encoded` {width, height}: the size of a picture, and
    `distinct_frames`: how many different pictures were among them.
    """
    name = display_name(display)
    frames, seen = 0, set[int]()
    with X11Capture(name) as capture:
        width, height = capture.size
        end = time.monotonic() + seconds
        due = time.monotonic()
        while (now := time.monotonic()) < end:
            picture = capture.grab()
            frames += 1
            seen.add(zlib.crc32(picture.data))
            due = max(due + INTERVAL_SECONDS, now)
            time.sleep(max(0.0, min(due, end) - time.monotonic()))
    if not frames:
        raise Unavailable("no time was given for a single picture", "name a number of seconds, such as 3")
    return {
        "source": {"kind": "x11-root", "display": name, "width": width, "height": height},
        "frames": frames,
        "encoded": {"width": width, "height": height},
        "distinct_frames": len(seen),
    }
