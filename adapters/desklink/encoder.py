"""Encodes pictures of a desktop as VP9, by libvpx; called by the encode loop on its thread, by benchmarks and by tests.

The compiled helper does it where there is one; elsewhere the library that the system or a Python package brings is called directly
(`vp9_library`), and then pictures are never halved.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from ...errors import LocalProtocolError, Unavailable
from ...machines.desklink.geometry import Box, Size
from ...machines.desklink.vp9_frame import shown_again

if TYPE_CHECKING:
    from .newest import Picture

CODEC = "vp9"
KEY, REFINE, HALF = 1, 2, 4
MOST_THREADS = 8
PIXELS_OF_A_THREAD = 1280 * 720  # all of them in motion take one thread ten milliseconds
REMEDY = "install libvpx (Debian: libvpx7), or pip install 'triptych[desktop]', whose packages bring one"


class EncoderRefused(LocalProtocolError):
    """The encoder rejected a frame (code `error`). It is of no use any more: close it."""

    def __init__(self, why: str) -> None:
        super().__init__("error", f"the encoder rejected a frame: {why}")


class Vp9(Protocol):
    """libvpx with its settings, whoever calls it. `name` is the library and its version; `halves`: it can halve a picture."""

    name: str
    halves: bool

    def encode(self, planes: memoryview, damage: Sequence[Box], flags: int, most: int, kbps: int) -> Encoded:
        """One frame. Raises EncoderRefused."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...


@dataclass(frozen=True)
class Encoded:
    """One frame: its bytes, whether it is a key frame, and how coarse it is, `quantizer` (0 to 63). `coded` macroblocks were looked at;
    `rough` are still to be refined.
    """

    data: bytes
    key: bool
    coded: int
    rough: int
    quantizer: int


class Encoder:
    """An encoder of pictures of `width` x `height` (even), at most `fps` a second, towards `kbps`; one thread uses it at a time.

    Raises Unavailable when this machine has no libvpx that is known, or no memory for such pictures.
    """

    def __init__(self, width: int, height: int, kbps: int, *, fps: int = 30, threads: int | None = None) -> None:
        self._size = Size(width, height)
        self._kbps = kbps
        if width < 2 or height < 2 or width % 2 or height % 2:
            raise Unavailable(f"no encoder for pictures of {width}x{height}", "sides must be even, and at least 2")
        self._vp9: Vp9 | None = _open(self._size, fps, kbps, threads)
        self._last: Encoded | None = None
        self.name = self._vp9.name
        """The library and its version, such as "libvpx v1.12.0"."""
        self.halves = self._vp9.halves and min(width, height) >= 4
        """Whether `half` is heard."""

    def encode(
        self, picture: Picture, *, key: bool = False, refine: bool = False, most: int = 0, half: bool = False, kbps: int | None = None
    ) -> Encoded:
        """Encode a picture, which differs from the one before in its damage only.

        `refine` is for a picture that has been still: full size, in the best quality, and only what is not in it yet; `most`: at most so
        many 16x16 macroblocks of it, if that is above 0. `half`: half the width and height. A change of size makes a key frame. A new
        `kbps` holds from now on. Raises EncoderRefused.
        """
        if self._vp9 is None:
            raise EncoderRefused("it is closed")
        if picture.size != self._size:
            there, here = picture.size, self._size
            raise EncoderRefused(f"it is {there.width}x{there.height}, and the encoder's are {here.width}x{here.height}")
        if kbps is not None:
            self._kbps = kbps
        flags = key * KEY | refine * REFINE | (half and not refine and self.halves) * HALF
        self._last = self._vp9.encode(picture.planes, picture.damage, flags, most, self._kbps)
        return self._last

    def again(self) -> Encoded | None:
        """A frame of one byte that shows the last one again, of which nothing is looked at; None when there is no such frame."""
        last = self._last
        if last is None or (data := shown_again(last.data)) is None:
            return None
        return Encoded(data, False, 0, last.rough, last.quantizer)

    def close(self) -> None:
        """Free everything; safe to call twice."""
        vp9, self._vp9 = self._vp9, None
        if vp9 is not None:
            vp9.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def threads_for(size: Size, cores: int) -> int:
    """How many threads encode pictures of that size: no more than it takes, since two of them work a quarter longer than one alone."""
    return min(cores, MOST_THREADS, 1 + size.width * size.height // (PIXELS_OF_A_THREAD + 1))


def encoder_name() -> str | None:
    """The encoder that this machine has, such as "libvpx v1.12.0"; None when it has none."""
    try:
        return _library()
    except Unavailable:
        return None


def _library() -> str:
    try:
        from .vp9_helper import NAME
    except ImportError:
        from .vp9_library import library_name

        return library_name()
    return NAME


def _open(size: Size, fps: int, kbps: int, threads: int | None) -> Vp9:
    cores = len(os.sched_getaffinity(0))
    wanted = threads or threads_for(size, cores)
    try:
        from .vp9_helper import HelperVp9
    except ImportError:
        from .vp9_library import LibraryVp9

        return LibraryVp9(size, fps, kbps, wanted)
    return HelperVp9(size, fps, kbps, wanted, threads or threads_for(Size(size.width // 2, size.height // 2), cores))
