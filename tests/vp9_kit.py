"""Pictures for the encoder tests: made, decoded again by FFmpeg's own VP9 decoder, and compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import av
import numpy as np
import numpy.typing as npt

from triptych.adapters.desklink.newest import Picture
from triptych.machines.desklink.geometry import Box, Size

Planes = npt.NDArray[np.uint8]


def desktop(size: Size, seed: int = 1) -> Planes:
    """A flat page with text-like specks in its left half, as I420."""
    chance = np.random.default_rng(seed)
    luma = np.full((size.height, size.width), 230, np.uint8)
    text = chance.random((size.height, size.width // 2)) < 0.15
    text[(np.arange(size.height) % 18) > 12] = False
    luma[:, : size.width // 2][text] = 40
    chroma = np.full(size.width * size.height // 4, 120, np.uint8)
    return np.concatenate([luma.reshape(-1), chroma, chroma + 20])


def noise(size: Size, seed: int) -> Planes:
    """Soft noise all over: hard to encode."""
    chance = np.random.default_rng(seed)
    small = chance.integers(20, 230, (size.height // 4 + 1, size.width // 4 + 1), dtype=np.uint8)
    luma = small.repeat(4, 0).repeat(4, 1)[: size.height, : size.width]
    return np.concatenate([luma.reshape(-1), np.full(size.width * size.height // 2, 128, np.uint8)])


def paint(planes: Planes, size: Size, box: Box, luma: int) -> None:
    """Fill a box of the luma plane."""
    x, y, width, height = box
    planes[: size.width * size.height].reshape(size.height, size.width)[y : y + height, x : x + width] = luma


def picture(planes: Planes, size: Size, damage: Sequence[Box] | None = None) -> Picture:
    """A picture; None: all of it differs."""
    return Picture(memoryview(planes), size, (size.box,) if damage is None else tuple(damage), 0.0)


class Decoder:
    """The receiver: each frame must decode to exactly one picture."""

    def __init__(self) -> None:
        self._context = av.CodecContext.create("vp9", "r")
        self._context.thread_count = 1
        self.size = Size(0, 0)

    def decode(self, frame: bytes) -> Planes:
        """The picture as I420, at the size that `size` says."""
        decoded = self._context.decode(av.Packet(frame))
        assert len(decoded) == 1
        shown = decoded[0]
        assert isinstance(shown, av.VideoFrame)
        assert shown.format.name == "yuv420p"
        self.size = Size(shown.width, shown.height)
        planes: Planes = shown.to_ndarray().reshape(-1)
        return planes


def psnr(one: Planes | memoryview, other: Planes | memoryview) -> float:
    """Peak signal to noise in decibels, over all planes; 99 when equal."""
    difference = np.asarray(one, np.int32) - np.asarray(other, np.int32)
    error = float((difference * difference).mean())
    return 99.0 if error == 0 else 10 * math.log10(255 * 255 / error)


def inside(planes: Planes | memoryview, size: Size, box: Box) -> Planes:
    """The luma of a box."""
    x, y, width, height = box
    luma: Planes = np.asarray(planes, np.uint8)[: size.width * size.height].reshape(size.height, size.width)
    return luma[y : y + height, x : x + width]
