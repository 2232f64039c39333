"""The slot between a capture and an encoder: the newest picture, as I420, converted only where it changed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from triptych.adapters.desklink.newest import MOST_BOXES, NewestFrame, Picture
from triptych.adapters.desklink.source import X11Source
from triptych.adapters.desklink.x11_capture import Frame
from triptych.adapters.display import PrivateDisplay
from triptych.machines.desklink.geometry import Box, Size
from triptych.machines.desklink.input import ControlInput
from x11_kit import Client

SURFACE = Size(64, 32)
BLACK, WHITE = 16, 235  # luma


class Still:
    """A frame whose pixels the test paints."""

    def __init__(self, size: Size = SURFACE) -> None:
        self.pixels = bytearray(size.width * size.height * 4)
        self.frame = Frame(size.width, size.height, size.width * 4, memoryview(self.pixels))

    def paint(self, box: Box) -> Box:
        x, y, width, height = box
        for row in range(y, y + height):
            start = (row * self.frame.width + x) * 4
            self.pixels[start : start + width * 4] = b"\xff" * width * 4
        return box


def luma(picture: Picture | None, x: int, y: int) -> int:
    assert picture is not None
    return picture.planes[y * picture.size.width + x]


def test_nothing_is_there_until_something_is_put() -> None:
    slot = NewestFrame(SURFACE)
    assert slot.empty
    assert slot.take(0.01) is None
    slot.put(Still().frame, (), 3.0)
    picture = slot.take(0)
    assert picture is not None
    assert (picture.size, picture.damage, picture.at, len(picture.planes)) == (SURFACE, (SURFACE.box,), 3.0, 64 * 32 * 3 // 2)
    assert bytes(picture.planes) == bytes([BLACK]) * 2048 + bytes([128]) * 1024
    assert slot.take(0) is None
    assert not slot.empty


def test_only_what_is_told_is_converted_and_what_nobody_took_is_overtaken() -> None:
    slot, still = NewestFrame(SURFACE), Still()
    slot.put(still.frame, (), 1.0)
    slot.take(0)
    slot.put(still.frame, (still.paint((0, 0, 4, 4)),), 2.0)
    still.paint((20, 20, 4, 4))
    slot.put(still.frame, (still.paint((40, 10, 2, 2)),), 3.0)
    assert slot.superseded == 1
    picture = slot.take(0)
    assert picture is not None
    assert (picture.damage, picture.at) == (((0, 0, 4, 4), (40, 10, 2, 2)), 3.0)
    assert (luma(picture, 3, 3), luma(picture, 41, 11)) == (WHITE, WHITE)
    assert (luma(picture, 21, 21), luma(picture, 4, 4)) == (BLACK, BLACK)


def test_very_many_boxes_are_one() -> None:
    slot, still = NewestFrame(SURFACE), Still()
    slot.put(still.frame, (), 1.0)
    slot.take(0)
    slot.put(still.frame, tuple((x % 64, x // 64, 1, 1) for x in range(MOST_BOXES + 1)), 2.0)
    picture = slot.take(0)
    assert picture is not None
    assert picture.damage == (SURFACE.box,)


def test_a_frame_of_another_size_is_shown_whole_and_its_damage_where_it_shows() -> None:
    slot, large = NewestFrame(SURFACE), Still(Size(96, 96))
    slot.put(Still().frame, (), 1.0)
    slot.take(0)
    slot.put(large.frame, ((0, 0, 1, 1),), 2.0)
    picture = slot.take(0)
    assert picture is not None
    assert picture.damage == (SURFACE.box,)
    slot.put(large.frame, (large.paint((48, 48, 48, 48)),), 3.0)
    picture = slot.take(0)
    assert picture is not None
    assert picture.damage == ((32, 16, 32, 16),)
    assert (luma(picture, 31, 15), luma(picture, 32, 16), luma(picture, 63, 31)) == (BLACK, WHITE, WHITE)


def test_what_is_lost_is_never_taken_and_what_comes_after_is_whole() -> None:
    slot, still = NewestFrame(SURFACE), Still()
    slot.put(still.frame, (), 1.0)
    slot.drop()
    assert slot.empty
    assert slot.take(0) is None
    slot.put(still.frame, ((0, 0, 1, 1),), 2.0)
    picture = slot.take(0)
    assert picture is not None
    assert picture.damage == (SURFACE.box,)


def test_a_put_wakes_who_waits_and_pixels_that_change_are_not_converted() -> None:
    slot, still = NewestFrame(SURFACE), Still()
    taken: list[Picture | None] = []
    waiter = threading.Thread(target=lambda: taken.append(slot.take(10)))
    waiter.start()
    slot.put(still.frame, (), 1.0)
    waiter.join(60)
    assert luma(taken[0], 0, 0) == BLACK
    slot.put(still.frame, ((0, 0, 1, 1),), 2.0)
    with slot.drawing():
        waiter = threading.Thread(target=lambda: taken.append(slot.take(0.05)))
        waiter.start()
        waiter.join(60)
    assert taken[1] is None
    assert slot.take(0) is not None


class Told:
    """What a source says; nobody answers."""

    def __init__(self) -> None:
        self.lost = asyncio.Event()

    def captured(self, damage: tuple[Box, ...], source: Size, micros: int, at: float) -> None: ...

    def grab_failed(self) -> None: ...

    def capture_lost(self, reason: str) -> None:
        self.lost.set()


@pytest.mark.display
@pytest.mark.parametrize("surface", [Size(1280, 800), Size(640, 400)])
def test_a_source_fills_the_slot_with_the_present_picture_its_changes_and_nothing_stale(
    bare_display: PrivateDisplay, surface: Size
) -> None:
    async def main() -> None:
        told = Told()
        source = X11Source(bare_display.name, False, 60, told)
        try:
            size = await source.open()
            source.start(ControlInput(frozenset({"view"}), size, None))
            with Client(bare_display) as client:
                first = source.newest(surface)
                assert luma(await asyncio.to_thread(first.take, 5), 10, 10) == BLACK
                # The slot of a second encoder begins with what is there already.
                slot = source.newest(surface)
                assert luma(await asyncio.to_thread(slot.take, 5), 10, 10) == BLACK
                client.fill(0xFFFFFF, (0, 0, 64, 64))
                picture = await asyncio.to_thread(slot.take, 5)
                assert picture is not None
                scale = 1280 // surface.width
                assert picture.damage == ((0, 0, 64 // scale, 64 // scale),)
                assert luma(picture, 64 // scale - 1, 0) == WHITE
                assert luma(picture, 64 // scale, 0) == BLACK
                assert first.take(0) is None
                client.fill(0xFF0000, (0, 0, 64, 64))
            await asyncio.to_thread(bare_display.stop_server)
            await asyncio.wait_for(told.lost.wait(), 60)
            assert slot.take(0) is None
        finally:
            await source.close()

    asyncio.run(main())
