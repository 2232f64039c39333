"""A path between two networks that is cut for eight seconds: how soon after its return a real browser shows a picture."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from h264_kit import recorded
from relay_kit import BadPath
from webrtc_kit import Client, client, feeding

pytestmark = pytest.mark.slow

FED: dict[str, Any] = {"source": {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}, "permissions": ["view", "control"]}
OUTAGE_SECONDS = 8
WATCH = """() => document.getElementById('v').requestVideoFrameCallback(
    () => { window.backAt = (performance.timeOrigin + performance.now()) / 1000; })"""


@pytest.fixture(scope="module")
def path() -> Iterator[BadPath]:
    """One pair of networks and browser for the module."""
    made = BadPath()
    yield made
    made.close()


@contextlib.asynccontextmanager
async def live(path: BadPath) -> AsyncIterator[Client]:
    """A session over a good path, fed by a consumer, once it is shown."""
    path.relay.set(kbps=0, queue=0.3, delay=0.010, jitter=0, loss=0, cut=False, trace=[])
    async with client(path) as made, feeding(made, recorded()):
        await made.open(**FED)
        await made.becomes("connected", 20)
        await made.sees("seen.frames > 5 && seen.messages.some(m => m.kind === 'hello')", 20)
        yield made


async def outage(path: BadPath, made: Client, *, restart: bool) -> float:
    """Cut the path; the seconds from its return to the first picture, by the clock of this machine at both ends."""
    path.relay.set(cut=True)
    began = time.monotonic()
    await made.becomes("disconnected", 10)
    shown = await made.seen("(window.backAt = null, seen.frames)")
    await made.page.evaluate("(seq) => say({kind: 'pointer', phase: 'move', x: 7, y: 7, seq})", int(began))
    if restart:
        await made.request("session.restart_ice")
    await asyncio.sleep(max(0, began + OUTAGE_SECONDS - time.monotonic()))
    assert await made.seen("seen.frames") == shown, "nothing came through"
    await made.page.evaluate(WATCH)
    back = time.time()
    path.relay.set(cut=False)
    await made.sees("window.backAt", 10)
    await made.becomes("connected", 10)
    await made.sees(f"seen.messages.some(m => m.kind === 'ack' && m.seq === {int(began)})", 10)
    returned: float = await made.seen("window.backAt")
    return returned - back


@pytest.mark.parametrize("restart", [False, True])
def test_after_eight_seconds_the_picture_is_back_within_half_a_second(path: BadPath, restart: bool) -> None:
    """Of two tries one must hold the bound: what else the machine does may spoil the other."""

    async def main() -> None:
        async with live(path) as made:
            waited = [await outage(path, made, restart=restart)]
            if waited[0] >= 0.5:
                waited.append(await outage(path, made, restart=restart))
            assert min(waited) < 0.5, waited
            # What was said into the silence arrived once, and the session is the same.
            told = [params["input"]["seq"] for params in made.said("session.input")]
            assert len(told) == len(set(told)) == len(waited)
            assert await made.seen("[seen.channels, seen.closed]") == [1, 0]

    path.run(main())
