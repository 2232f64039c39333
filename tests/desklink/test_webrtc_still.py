"""A still desktop in a real browser: it is shown again once a second by frames of one byte, and what comes after is right."""

from __future__ import annotations

import pytest

from triptych.adapters.desklink.encoder import encoder_name
from triptych.adapters.display import PrivateDisplay
from webrtc_kit import Client, Lab, client, until
from x11_kit import Client as XClient

pytestmark = [
    pytest.mark.display,
    pytest.mark.skipif(encoder_name() is None, reason="no libvpx: apt install libvpx7"),
]

COLOURS = {0xC02020: (192, 32, 32), 0x2020C0: (32, 32, 192)}


async def shows(made: Client, wanted: tuple[int, int, int]) -> None:
    """Wait until the middle of the picture has that colour."""
    await made.sees(f"(colour(640, 400) || [999]).every((v, n) => Math.abs(v - {list(wanted)}[n]) < 24)")


async def three_frames(made: Client) -> tuple[int, int]:
    """Wait until the browser has shown three more; how many were sent meanwhile, and their bytes."""
    before, shown = await made.request("session.metrics"), await made.seen("seen.frames")
    await made.sees(f"seen.frames >= {shown + 3}")
    after = await made.request("session.metrics")
    frames, octets = (after[name] - before[name] for name in ("encoded_frames", "encoded_bytes"))
    return frames, octets


def test_frames_of_one_byte_are_pictures_to_the_browser_and_those_after_them_too(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        with XClient(bare_display) as program:
            async with client(lab) as made:
                await made.open(source={"kind": "x11", "display": bare_display.name}, permissions=["view"])
                await made.becomes("connected")
                for colour, shown in COLOURS.items():
                    program.fill(colour, (0, 0, 1280, 800))
                    program.sync()
                    await shows(made, shown)
                    while (sent := await three_frames(made))[0] != sent[1]:  # some were still of the refinement
                        continue
                    assert 2 <= sent[0] <= 5  # a byte each
                    await shows(made, shown)
                video = (await made.seen("stats()"))["video"]
                assert video["framesDecoded"] >= 6
                assert (video["pliCount"], video["framesDropped"], video["keyFramesDecoded"], video["packetsLost"]) == (0, 0, 1, 0)
                await until(lambda: made.transports == ["new", "connecting", "connected"])
                assert await made.seen("seen.errors") == []

    lab.run(main())
