"""The tile comparison and the grouping, in C, against a slow and plain version of both."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triptych.native.linux._x11 import ffi, lib

TILE, PIXEL = 32, 4
Box = tuple[int, int, int, int]


def tiles(size: int) -> int:
    return -(-size // TILE)


def merge(kept: bytearray, patch: bytes, width: int, box: Box, marks: bytearray) -> None:
    lib.tx_tiles_merge(
        ffi.from_buffer("uint8_t[]", kept),
        width,
        width * PIXEL,
        ffi.from_buffer("uint8_t[]", patch),
        box[2] * PIXEL,
        ffi.new("tx_box *", box)[0],
        ffi.from_buffer("uint8_t[]", marks),
    )


def group(marks: bytearray, width: int, height: int) -> list[Box]:
    count = tiles(width) * tiles(height)
    scratch, boxes = ffi.new("uint32_t[]", count), ffi.new("tx_box[]", count)
    found = lib.tx_tiles_group(ffi.from_buffer("uint8_t[]", marks), width, height, scratch, boxes)
    return [(box.x, box.y, box.width, box.height) for box in boxes[0:found]]


def slow_groups(marks: bytes, width: int, height: int) -> list[Box]:
    columns = tiles(width)
    left = {tile for tile, mark in enumerate(marks) if mark}
    found = []
    for first in range(len(marks)):
        if first not in left:
            continue
        component, waiting = set(), [first]
        while waiting:
            tile = waiting.pop()
            if tile not in left:
                continue
            left.remove(tile)
            row, column = divmod(tile, columns)
            component.add((row, column))
            waiting += [tile - columns, tile + columns]
            waiting += [tile - 1] if column else []
            waiting += [tile + 1] if column + 1 < columns else []
        rows, cols = [row for row, _ in component], [column for _, column in component]
        x, y = min(cols) * TILE, min(rows) * TILE
        found.append((x, y, min((max(cols) + 1) * TILE, width) - x, min((max(rows) + 1) * TILE, height) - y))
    return found


@given(st.integers(1, 200), st.integers(1, 140), st.data())
def test_grouping_equals_the_plain_flood_and_clears_the_marks(width: int, height: int, data: st.DataObject) -> None:
    count = tiles(width) * tiles(height)
    marks = bytearray(data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)))
    expected = slow_groups(bytes(marks), width, height)
    assert group(marks, width, height) == expected
    assert not any(marks)


@given(st.integers(1, 100), st.integers(1, 80), st.data())
def test_merging_copies_the_box_and_marks_just_the_tiles_that_differ(width: int, height: int, data: st.DataObject) -> None:
    x, y = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    box = (x, y, data.draw(st.integers(1, width - x)), data.draw(st.integers(1, height - y)))
    kept = bytearray(width * height * PIXEL)
    patch = bytearray(box[2] * box[3] * PIXEL)
    for spot in data.draw(st.lists(st.integers(0, len(patch) - 1), max_size=5)):
        patch[spot] = 7
    expected, expected_marks = bytearray(kept), bytearray(tiles(width) * tiles(height))
    for row in range(box[3]):
        start = ((y + row) * width + x) * PIXEL
        fresh = patch[row * box[2] * PIXEL : (row + 1) * box[2] * PIXEL]
        expected[start : start + len(fresh)] = fresh
        for spot, value in enumerate(fresh):
            if value:
                expected_marks[(y + row) // TILE * tiles(width) + (x + spot // PIXEL) // TILE] = 1
    marks = bytearray(len(expected_marks))
    merge(kept, bytes(patch), width, box, marks)
    assert kept == expected
    assert marks == expected_marks


def test_two_diagonal_tiles_stay_two_boxes() -> None:
    assert group(bytearray([1, 0, 0, 1]), 64, 64) == [(0, 0, 32, 32), (32, 32, 32, 32)]


def test_a_mark_set_before_is_kept_when_the_tile_is_equal() -> None:
    marks = bytearray([1, 0])
    merge(bytearray(64 * PIXEL), bytes(64 * PIXEL), 64, (0, 0, 64, 1), marks)
    assert marks == bytearray([1, 0])
