"""The rate control between a real engine and a real browser, over a path of ours that is narrow, lossy, jittery, or cut for a time.

Times hold on a machine that does much else; test_rtc_rate.py holds the same control to closer ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from relay_kit import BadPath
from triptych.adapters.display import PrivateDisplay
from webrtc_kit import LIVE, Client, client
from x11_kit import Client as XClient

pytestmark = LIVE


@pytest.fixture(scope="module")
def path() -> Iterator[BadPath]:
    """One pair of networks and browser for the module; the path is good again for each test."""
    made = BadPath()
    yield made
    made.close()


@contextlib.asynccontextmanager
async def motion(display: PrivateDisplay) -> AsyncIterator[None]:
    """A picture of which much changes, thirty times a second, in a way that no encoder foresees."""

    async def move(program: XClient) -> None:
        chance = random.Random(1)
        while True:
            for _ in range(40):
                program.fill(chance.randrange(1 << 24), (chance.randrange(600), chance.randrange(360), 40, 40))
            program.sync()
            await asyncio.sleep(1 / 30)

    with XClient(display) as program:
        task = asyncio.get_running_loop().create_task(move(program))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def live(path: BadPath, display: PrivateDisplay, **way: Any) -> AsyncIterator[Client]:
    """A session of that display over such a path, with motion on it, once it is shown."""
    path.relay.set(kbps=0, queue=0.3, delay=0.010, jitter=0, loss=0, cut=False, trace=[])
    path.relay.set(way=0, **way)
    async with motion(display), client(path) as made:
        await made.open(source={"kind": "x11", "display": display.name}, permissions=["view"], max_width=640, max_height=400)
        await made.becomes("connected", 30)
        await made.sees("seen.frames > 5", 30)
        yield made


async def watch(path: BadPath, made: Client, seconds: float) -> dict[str, Any]:
    """What passes and is shown in so many seconds."""
    path.relay.report()
    before, begin = await made.seen("stats()"), time.monotonic()
    await made.seen("(seen.gap = 0)")
    await asyncio.sleep(seconds)
    after, passed = await made.seen("stats()"), path.relay.report()[0]
    took = time.monotonic() - begin
    video = {key: after["video"][key] - before["video"].get(key, 0) for key in ("framesDecoded", "pliCount", "nackCount", "freezeCount")}
    metrics = await made.request("session.metrics")
    return {
        **passed,
        **video,
        "kbps": passed["bytes"] * 8 / 1000 / took,
        "fps": video["framesDecoded"] / took,
        "gap": await made.seen("seen.gap"),
        "target": metrics["target_kbps"],
        "keys": metrics["key_frames"],
    }


CELLULAR = (2600, 3900, 1400, 900, 1700, 2900, 4400, 2300, 700, 1100, 2500, 3600, 2000, 1500)
"""What a moving phone gets, in kbps, a second each."""


@pytest.mark.parametrize(
    "way",
    [{"kbps": 1500}, {"kbps": 2500, "loss": 0.05}, {"kbps": 2500, "jitter": 0.05}],
    ids=lambda way: "-".join(f"{name}{value}" for name, value in way.items()),
)
def test_a_steady_bad_path_carries_a_picture_that_is_not_late(path: BadPath, bare_display: PrivateDisplay, way: dict[str, float]) -> None:
    async def main() -> None:
        async with live(path, bare_display, **way) as made:
            await watch(path, made, 3)
            first, second = [await watch(path, made, 4) for _ in range(2)]
            for seen in (first, second):
                assert seen["queue_p95"] < 0.200 and seen["overflowed"] == 0, seen
                assert 300 < seen["kbps"] < way["kbps"] and seen["fps"] > 8, seen
            assert second["queue_p50"] < first["queue_p50"] + 0.040, (first, second)  # no growing delay
            assert second["keys"] <= 8, second

    path.run(main())


def test_a_cellular_path(path: BadPath, bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with live(path, bare_display, trace=CELLULAR, queue=1.0) as made:
            seen = await watch(path, made, len(CELLULAR) - 2)
            assert seen["queue_p50"] < 0.100 and seen["queue_p95"] < 0.450, seen
            assert seen["kbps"] > 300 and seen["fps"] > 8, seen

    path.run(main())


def test_after_ten_seconds_without_a_path_the_picture_is_back_at_once(path: BadPath, bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with live(path, bare_display, kbps=2500) as made:
            await asyncio.sleep(2)
            path.relay.set(cut=True)
            await asyncio.sleep(1)
            path.relay.report()
            await asyncio.sleep(9)
            assert made.transports[-1] == "disconnected"
            assert path.relay.report()[0]["overflowed"] < 400  # probes and checks, no pictures
            before, began = await made.seen("seen.frames"), time.monotonic()
            path.relay.set(cut=False)
            await made.sees(f"seen.frames > {before}")
            assert time.monotonic() - began < 1
            await made.becomes("connected")
            seen = await watch(path, made, 4)
            assert seen["queue_p95"] < 0.200 and seen["fps"] > 8, seen

    path.run(main())
