"""A captured desktop in a real browser: encoded, shown, driven, restarted, left; and how little a still one costs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from triptych.adapters.desklink.encoder import encoder_name
from triptych.adapters.display import PrivateDisplay
from webrtc_kit import Client, Lab, client, until
from x11_kit import Client as XClient

pytestmark = [
    pytest.mark.display,
    pytest.mark.skipif(encoder_name() is None, reason="no libvpx: apt install libvpx7"),
]

RED, BLUE, GREEN = 0xFF0000, 0x0000FF, 0x00FF00


def desktop(display: PrivateDisplay, **more: Any) -> dict[str, Any]:
    """What opens it."""
    return {"source": {"kind": "x11", "display": display.name}, "permissions": ["view", "control"], **more}


def near(colour: list[int] | None, wanted: int) -> bool:
    """Whether a pixel has that colour, as far as the encoder keeps it."""
    parts = [wanted >> 16 & 255, wanted >> 8 & 255, wanted & 255]
    return colour is not None and all(abs(a - b) < 48 for a, b in zip(colour, parts, strict=True))


async def shows(made: Client, wanted: int, seconds: float = 10) -> None:
    """Wait until the middle of the picture has that colour."""
    deadline = time.monotonic() + seconds
    while not near(seen := await made.seen("colour(640, 400)"), wanted):
        assert time.monotonic() < deadline, f"{seen} instead of {wanted:06x}; {made.transports}"
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def moving(program: XClient) -> AsyncIterator[None]:
    """Something small that moves, thirty times a second."""

    async def move() -> None:
        place = 0
        while True:
            place = (place + 16) % 1200
            program.fill(0x202020 + 8 * place, (place, 20, 64, 64))
            program.sync()
            await asyncio.sleep(1 / 30)

    task = asyncio.get_running_loop().create_task(move())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_desktop_live(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        with XClient(bare_display) as program:
            program.fill(RED, (0, 0, 1280, 800))
            program.sync()
            async with client(lab) as made:
                await made.open(**desktop(bare_display))
                await made.becomes("connected")
                await shows(made, RED)
                assert await made.seen("[seen.width, seen.height]") == [1280, 800]
                assert (await made.seen("stats()"))["codec"]["mimeType"] == "video/VP9"
                await until(lambda: made.said("session.state")[-1]["firstFrame"])
                program.fill(BLUE, (0, 0, 1280, 800))
                program.sync()
                await shows(made, BLUE)

                await made.page.evaluate("say({kind: 'pointer', phase: 'move', x: 200, y: 300, seq: 1})")
                await made.sees("seen.messages.some(m => m.kind === 'ack' && m.seq === 1)")

                async with moving(program):
                    before = await made.seen("seen.frames")
                    await made.sees(f"seen.frames > {before} + 30")
                    before = await made.seen("seen.frames")
                    await made.request("session.restart_ice")
                    await made.sees(f"seen.frames > {before} + 45")
                assert made.transports == ["new", "connecting", "connected"]
                metrics = await made.request("session.metrics")
                assert metrics["codec"] == "vp9" and metrics["encoder"] == encoder_name()
                assert metrics["encoded_frames"] > 60 and metrics["key_frames"] >= 1 and metrics["input_applied"] == 1
                assert (await made.seen("stats()"))["video"]["keyFramesDecoded"] <= 3

    lab.run(main())


def test_a_late_joiner_on_a_still_screen_sees_it_soon(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        with XClient(bare_display) as program:
            program.fill(GREEN, (0, 0, 1280, 800))
            program.sync()
            for _ in range(2):  # the second session replaces the first, whose picture has long been still
                async with client(lab) as made:
                    await made.open(**desktop(bare_display))
                    await made.becomes("connected")
                    began = time.monotonic()
                    await shows(made, GREEN)
                    assert time.monotonic() - began < 2

    lab.run(main())


def test_a_key_frame_is_made_when_the_browser_asks(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        with XClient(bare_display) as program:
            async with client(lab) as made, moving(program):
                await made.open(**desktop(bare_display))
                await made.becomes("connected")
                await made.sees("seen.frames > 10")
                await asyncio.sleep(0)
                keys = (await made.seen("stats()"))["video"]["keyFramesDecoded"]
                await made.page.evaluate("""() => { const r = pc.getReceivers()[0];
                    const w = new Worker(URL.createObjectURL(new Blob([`onrtctransform = e => { const t = e.transformer;
                        t.readable.pipeTo(t.writable); t.sendKeyFrameRequest(); }`], {type: 'text/javascript'})));
                    r.transform = new RTCRtpScriptTransform(w, {}); }""")
                deadline = time.monotonic() + 8
                while (await made.seen("stats()"))["video"]["keyFramesDecoded"] <= keys:
                    assert time.monotonic() < deadline
                    await asyncio.sleep(0.05)

    lab.run(main())
