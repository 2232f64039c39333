"""Desktop panel, encoder: what one picture costs, in time and work, against FFmpeg's libvpx-vp9 with its realtime screen settings.

Both get the same I420 pictures at the same bit rate, in turns, and must show them equally well. Ours is told where a picture differs, as
the capture knows it; the peer has no way to hear it. The pictures are made before anything is timed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import Benchmark, Sides, Skip
from triptych.adapters.desklink.encoder import Encoder, encoder_name
from triptych.machines.desklink.geometry import Size

if TYPE_CHECKING:
    from triptych.adapters.desklink.newest import Picture

FPS = 30
PICTURES = 24
TILE = 32
MOST_WORSE = 3.0
"""Decibels that ours may lie below the peer."""
PERFECT = 45.0
"""Decibels above which nobody sees a difference."""


def typing(size: Size) -> Iterator[np.ndarray]:
    """A page of text on which a character appears in every picture."""
    chance = np.random.default_rng(1)
    luma = page(size, chance)
    for turn in range(PICTURES):
        x, y = 40 + turn * 9, 60
        luma[y : y + 14, x : x + 8] = np.where(chance.random((14, 8)) < 0.35, 30, 230)
        yield luma.copy()


def window(size: Size) -> Iterator[np.ndarray]:
    """A window of text, a third of the screen wide and high, that is dragged over a page of text."""
    chance = np.random.default_rng(2)
    behind, moving = page(size, chance), page(Size(size.width // 3, size.height // 3), chance)
    moving[:24] = 90
    for turn in range(PICTURES):
        luma = behind.copy()
        x, y = 100 + turn * 11, 80 + turn * 5
        luma[y : y + moving.shape[0], x : x + moving.shape[1]] = moving
        yield luma


def motion(size: Size) -> Iterator[np.ndarray]:
    """A soft texture that moves over the whole screen."""
    chance = np.random.default_rng(3)
    rows, columns = size.height + 8 * PICTURES, size.width + 13 * PICTURES
    coarse = chance.integers(20, 230, (rows // 16 + 2, columns // 16 + 2)).astype(np.float32)
    down, across = np.arange(rows) / 16, np.arange(columns) / 16
    top, left = down.astype(int), across.astype(int)
    v, h = (down - top)[:, None], (across - left)[None, :]
    upper = coarse[top][:, left] * (1 - h) + coarse[top][:, left + 1] * h
    lower = coarse[top + 1][:, left] * (1 - h) + coarse[top + 1][:, left + 1] * h
    texture = (upper * (1 - v) + lower * v).astype(np.uint8)
    for turn in range(PICTURES):
        yield texture[turn * 8 : turn * 8 + size.height, turn * 13 : turn * 13 + size.width].copy()


def page(size: Size, chance: np.random.Generator) -> np.ndarray:
    """Lines of 8x14 characters from an alphabet of 64."""
    alphabet = np.where(chance.random((64, 14, 8)) < 0.35, 30, 230).astype(np.uint8)
    luma = np.full((size.height, size.width), 230, np.uint8)
    for y in range(2, size.height - 16, 18):
        for x in range(4, int(chance.integers(size.width // 3, size.width)) - 9, 9):
            if chance.random() < 0.85:
                luma[y : y + 14, x : x + 8] = alphabet[chance.integers(64)]
    return luma


def pictures(size: Size, content: Callable[[Size], Iterator[np.ndarray]]) -> list[Picture]:
    """There and back again: each with the tiles that differ from the one before, in a round."""
    from triptych.adapters.desklink.newest import Picture

    there = list(content(size))
    rounds = there + there[-2:0:-1]
    made = []
    for turn, luma in enumerate(rounds):
        differs = luma != rounds[turn - 1]
        rows, columns = -(-size.height // TILE), -(-size.width // TILE)
        tiles = np.zeros((rows * TILE, columns * TILE), bool)
        tiles[: size.height, : size.width] = differs
        marked = tiles.reshape(rows, TILE, columns, TILE).any((1, 3))
        boxes = [
            (x * TILE, y * TILE, min(TILE, size.width - x * TILE), min(TILE, size.height - y * TILE))
            for y, x in np.argwhere(marked).tolist()
        ]
        planes = np.concatenate([luma.reshape(-1), np.full(size.width * size.height // 2, 128, np.uint8)])
        made.append(Picture(memoryview(planes), size, tuple(boxes), 0.0))
    return made


class Peer:
    """libvpx-vp9 of FFmpeg, as its documentation sets it for a live screen. Its fastest speed is 8."""

    def __init__(self, size: Size, kbps: int) -> None:
        import av

        self._av = av
        context: Any = av.CodecContext.create("libvpx-vp9", "w")
        context.width, context.height, context.pix_fmt = size.width, size.height, "yuv420p"
        context.time_base, context.framerate, context.bit_rate = Fraction(1, FPS), Fraction(FPS, 1), kbps * 1000
        context.thread_count = 2
        rate = str(kbps * 1000)
        context.options = {
            "deadline": "realtime",
            "cpu-used": "8",
            "lag-in-frames": "0",
            "row-mt": "1",
            "tile-columns": "3",
            "aq-mode": "3",
            "tune-content": "screen",
            "minrate": rate,
            "maxrate": rate,
            "bufsize": rate,
            "qmin": "2",
            "qmax": "52",
            "g": "100000",
        }
        self._context, self._turn = context, 0

    def frame(self, picture: Picture) -> Any:
        """The picture in the peer's own form."""
        size = picture.size
        return self._av.VideoFrame.from_ndarray(np.asarray(picture.planes).reshape(size.height * 3 // 2, size.width), format="yuv420p")

    def encode(self, frame: Any) -> bytes:
        """One frame."""
        frame.pts, frame.time_base = self._turn, Fraction(1, FPS)
        self._turn += 1
        return b"".join(bytes(packet) for packet in self._context.encode(frame))


class Shown:
    """What a receiver shows of a stream, and how near to the pictures it is."""

    def __init__(self) -> None:
        import av

        self._av = av
        self._context: Any = av.CodecContext.create("vp9", "r")
        self._errors: list[float] = []

    def take(self, data: bytes, picture: Picture) -> None:
        """Decode a frame, and compare."""
        (frame,) = self._context.decode(self._av.Packet(data))
        area = picture.size.width * picture.size.height
        difference = frame.to_ndarray().reshape(-1)[:area].astype(np.int16) - np.asarray(picture.planes)[:area]
        self._errors.append(float((difference.astype(np.int32) ** 2).mean()))

    @property
    def decibels(self) -> float:
        """Peak signal to noise of all but the first second."""
        return 10 * math.log10(255 * 255 / max(sum(self._errors[FPS:]) / len(self._errors[FPS:]), 1e-3))


def encoding(size: Size, kbps: int, content: Callable[[Size], Iterator[np.ndarray]]) -> Callable[[], AbstractContextManager[Sides]]:
    @contextmanager
    def prepare() -> Iterator[Sides]:
        try:
            import av

            av.CodecContext.create("libvpx-vp9", "w")
        except (ImportError, ValueError) as missing:
            raise Skip(f"PyAV with libvpx-vp9 is not here: {missing}") from missing
        if encoder_name() is None:
            raise Skip("there is no libvpx")
        made = pictures(size, content)
        peer = Peer(size, kbps)
        frames = [peer.frame(picture) for picture in made]
        with Encoder(size.width, size.height, kbps, fps=FPS) as encoder, Encoder(size.width, size.height, kbps, fps=FPS) as deaf:
            ours_shown, theirs_shown = Shown(), Shown()
            for _ in range(2):
                for picture, frame in zip(made, frames, strict=True):
                    ours_shown.take(encoder.encode(picture).data, picture)
                    theirs_shown.take(peer.encode(frame), picture)
                    deaf.encode(replace(picture, damage=(size.box,)))
            if ours_shown.decibels < min(theirs_shown.decibels, PERFECT) - MOST_WORSE:
                raise AssertionError(f"ours shows {ours_shown.decibels:.1f} dB, the peer {theirs_shown.decibels:.1f} dB")
            mine, yours, third = cycle(made), cycle(frames), cycle(replace(picture, damage=(size.box,)) for picture in made)

            def ours() -> None:
                encoder.encode(next(mine))

            def theirs() -> None:
                peer.encode(next(yours))

            def whole() -> None:
                deaf.encode(next(third))

            yield Sides(ours, theirs, {"ours, not told where it differs": whole})

    return prepare


HD, FULL_HD = Size(1280, 720), Size(1920, 1080)
CASES = [
    (f"{what.__name__}_{size.height}p", size, kbps, what)
    for size, kbps in ((HD, 3158), (FULL_HD, 5232))
    for what in (typing, window, motion)
]
PEER = "PyAV libvpx-vp9"
BENCHMARKS = (
    *(Benchmark(f"desktop_encoder.{name}", PEER, encoding(size, kbps, what), rounds=40) for name, size, kbps, what in CASES),
    *(
        Benchmark(f"desktop_encoder.{name}_work", PEER, encoding(size, kbps, what), rounds=40, clock="process")
        for name, size, kbps, what in CASES
    ),
)
