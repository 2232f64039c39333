"""A root window that is resized again and again: every frame that is asked for is a frame, and the last one shows the screen as it is."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from desklink_kit import EngineProcess
from triptych.adapters.display import PrivateDisplay
from x11_kit import Client

pytestmark = pytest.mark.display

SIZES = ((1280, 800), (640, 480), (1024, 768), (801, 601), (320, 200))
HERTZ = 20


@pytest.mark.slow
def test_thirty_seconds_of_resizing_give_no_frame_that_is_an_error(bare_display: PrivateDisplay) -> None:
    path = Path(bare_display.runtime_dir) / "frame.raw"
    resized = 0
    over = threading.Event()

    def resize() -> None:
        nonlocal resized
        with Client(bare_display) as client:
            due = time.monotonic()
            while not over.is_set():
                width, height = SIZES[resized % len(SIZES)]
                client.resize_screen(width, height)
                client.fill(resized * 0x050301 & 0xFFFFFF, (0, 0, width, height))
                resized += 1
                due += 1 / HERTZ
                time.sleep(max(0.0, due - time.monotonic()))

    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, max_fps=60)
        resizer = threading.Thread(target=resize)
        resizer.start()
        asked, seq = 0, 0
        try:
            until = time.monotonic() + 30
            while time.monotonic() < until:
                # Refused would be an error answer, which `ask` does not take.
                frame = engine.ask("session.frame", {"session_id": session, "after_seq": seq, "path": str(path)})
                assert (frame["width"], frame["height"], path.stat().st_size) == (1280, 800, 1280 * 800 * 4)
                assert frame["seq"] > seq
                seq = frame["seq"]
                asked += 1
        finally:
            over.set()
            resizer.join()
        with Client(bare_display) as client:
            client.resize_screen(1024, 768)
            client.fill(0x204060, (0, 0, 1024, 768))
        engine.ask("session.frame", {"session_id": session, "still_ms": 200, "timeout_ms": 10_000, "path": str(path)})
        assert path.read_bytes() == b"\x60\x40\x20\xff" * (1280 * 800)
        assert engine.events("session.capture.stopped") == []
        # A machine that has no time for twenty a second has still resized often, and looked at it as often.
        assert resized > 100 and asked > 100, (resized, asked)
