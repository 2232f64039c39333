"""A frame of one byte that shows the last picture again: every decoder shows exactly that, and is in step with the encoder after it."""

from __future__ import annotations

import random
from typing import Any

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.adapters.desklink.encoder import Encoder
from triptych.machines.desklink.geometry import Size
from triptych.machines.desklink.vp9_frame import shown_again
from vp9_kit import desktop, noise, paint, picture

SIZE = Size(640, 400)


class Shown:
    """A decoder of FFmpeg: its own, or libvpx."""

    def __init__(self, name: str) -> None:
        self._context: Any = av.CodecContext.create(name, "r")
        self._context.thread_count = 1

    def take(self, frame: bytes) -> tuple[int, bytes]:
        """The width and all the bytes of the one picture."""
        (shown,) = self._context.decode(av.Packet(frame))
        return shown.width, shown.to_ndarray().tobytes()


@pytest.mark.parametrize("decoder", ["vp9", "libvpx-vp9"])
@pytest.mark.parametrize("threads", [1, 2])
def test_it_changes_nothing_whatever_comes_before_and_after(decoder: str, threads: int) -> None:
    chance = random.Random(threads)
    without, between = Shown(decoder), Shown(decoder)
    with Encoder(SIZE.width, SIZE.height, 2000, threads=threads) as encoder:
        assert encoder.again() is None
        for planes in (desktop(SIZE), noise(SIZE, 2)):
            for _ in range(60):
                box = (chance.randrange(600), chance.randrange(380), 30, 17)
                paint(planes, SIZE, box, chance.randrange(40, 200))
                what = chance.random()
                frame = encoder.encode(
                    picture(planes, SIZE, None if what > 0.9 else [box]), refine=what < 0.1, key=0.1 < what < 0.15, half=0.15 < what < 0.35
                )
                shown = without.take(frame.data)
                assert between.take(frame.data) == shown
                for _ in range(chance.choice((0, 0, 1, 3))):
                    again = encoder.again()
                    assert again is not None
                    assert (len(again.data), again.key, again.coded, again.rough) == (1, False, 0, frame.rough)
                    assert between.take(again.data) == shown


@pytest.mark.parametrize(
    ("frame", "again"),
    [
        (b"\x82\x49\x83", b"\x88"),  # a key frame: in every slot
        (b"\x86\x00\x40", b"\x88"),  # slot 0
        (b"\x86\x3f\x00", b"\x8a"),  # slots 2 to 7
        (b"\x86\xe0\x00", b"\x8f"),  # slot 7; the bits before are those of a reset
        (b"\x87\x10\x00", b"\x8c"),  # resilient: nothing is reset
        (b"\x86\xc0\x3f", None),  # in no slot
        (b"\x84\x3f\xc0", None),  # not shown
        (b"\x88", None),  # itself
        (b"\xa6\x3f\xc0", None),  # another profile
        (b"\x46\x3f\xc0", None),  # no VP9
        (b"\x86\x3f", None),
        (b"", None),
    ],
)
def test_the_slot_is_read_from_the_frame(frame: bytes, again: bytes | None) -> None:
    assert shown_again(frame) == again


@given(st.binary(max_size=6))
def test_any_bytes_are_a_frame_or_none(frame: bytes) -> None:
    again = shown_again(frame)
    assert again is None or (len(again) == 1 and 0x88 <= again[0] <= 0x8F)
