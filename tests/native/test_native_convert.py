"""Colour conversion and scaling in C, by libyuv and by our own, against the formulas of the protocol in numpy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from triptych.native.linux._x11 import ffi, lib

Box = tuple[int, int, int, int]
Pixels = NDArray[numpy.uint8]
SIZES = st.tuples(st.integers(1, 40), st.integers(1, 30))
EVEN_SIZES = st.tuples(st.integers(1, 20), st.integers(1, 15)).map(lambda size: (size[0] * 2, size[1] * 2))


def noise(width: int, height: int, seed: int = 1) -> Pixels:
    """Rows with some bytes of padding after them."""
    return numpy.random.default_rng(seed).integers(0, 256, (height, width + 3, 4), numpy.uint8)[:, :width]


def smallest_and_largest(width: int, height: int) -> Pixels:
    return numpy.random.default_rng(2).choice(numpy.array([0, 255], numpy.uint8), (height, width, 4))


def start(source: Pixels) -> Any:
    return ffi.cast("uint8_t *", source.ctypes.data)


def scaled(source: Pixels, surface: tuple[int, int], box: Box) -> Pixels:
    height, width, _ = source.shape
    out = numpy.full((box[3] * box[2] + 1, 4), 77, numpy.uint8)
    lib.tx_scale_bgrx(start(source), width, height, source.strides[0], *surface, ffi.new("tx_box *", box)[0], start(out))
    assert (out[-1] == 77).all()
    return out[:-1].reshape(box[3], box[2], 4)


def nearest(source: Pixels, surface: tuple[int, int]) -> Pixels:
    height, width, _ = source.shape
    if (width, height) == surface:
        return source
    sampled = source[numpy.arange(surface[1])[:, None] * height // surface[1], numpy.arange(surface[0]) * width // surface[0]].copy()
    sampled[..., 3] = 255
    return sampled


def converted(source: Pixels, surface: tuple[int, int], boxes: list[Box], *, exact: bool) -> Pixels:
    height, width, _ = source.shape
    planes = numpy.full(surface[0] * surface[1] * 3 // 2 + 1, 77, numpy.uint8)
    scratch = ffi.new("uint32_t[]", 4 * width + 2 * surface[0])
    for box in boxes:
        asked = ffi.new("tx_box *", box)[0]
        lib.tx_i420_from_bgrx(start(source), width, height, source.strides[0], start(planes), *surface, asked, scratch, exact)
    assert planes[-1] == 77
    return planes[:-1]


def averaged(source: Pixels, surface: tuple[int, int]) -> Pixels:
    height, width, _ = source.shape
    if (width, height) == surface:
        return source
    out = numpy.empty((surface[1], surface[0], 4), numpy.uint8)
    for y in range(surface[1]):
        for x in range(surface[0]):
            rows = slice(y * height // surface[1], -(-(y + 1) * height // surface[1]))
            columns = slice(x * width // surface[0], -(-(x + 1) * width // surface[0]))
            covered = source[rows, columns].reshape(-1, 4).astype(numpy.int64)
            out[y, x] = (covered.sum(0) + len(covered) // 2) // len(covered)
    return out


def i420(picture: Pixels) -> Pixels:
    blue, green, red = (picture[..., channel].astype(numpy.int32) for channel in range(3))
    y = ((66 * red + 129 * green + 25 * blue + 128) >> 8) + 16
    blue, green, red = ((c[::2, ::2] + c[::2, 1::2] + c[1::2, ::2] + c[1::2, 1::2] + 2) >> 2 for c in (blue, green, red))
    u = ((-38 * red - 74 * green + 112 * blue + 128) >> 8) + 128
    v = ((112 * red - 94 * green - 18 * blue + 128) >> 8) + 128
    return numpy.concatenate([plane.ravel() for plane in (y, u, v)]).astype(numpy.uint8)


def far_apart(one: Pixels, other: Pixels) -> int:
    return int(numpy.abs(one.astype(numpy.int32) - other).max())


def box_inside(data: st.DataObject, size: tuple[int, int]) -> Box:
    x, y = data.draw(st.integers(0, size[0] - 1)), data.draw(st.integers(0, size[1] - 1))
    return x, y, data.draw(st.integers(1, size[0] - x)), data.draw(st.integers(1, size[1] - y))


@given(SIZES, SIZES, st.data())
def test_a_scaled_box_is_nearest_samples(size: tuple[int, int], surface: tuple[int, int], data: st.DataObject) -> None:
    source = noise(*size)
    x, y, width, height = box = box_inside(data, surface)
    assert (scaled(source, surface, box) == nearest(source, surface)[y : y + height, x : x + width]).all()


@given(SIZES, st.data())
def test_a_box_of_the_sources_size_has_its_bytes_as_they_are(size: tuple[int, int], data: st.DataObject) -> None:
    source = noise(*size)
    x, y, width, height = box = box_inside(data, size)
    assert (scaled(source, size, box) == source[y : y + height, x : x + width]).all()


@pytest.mark.parametrize("exact", [True, False])
@given(SIZES, EVEN_SIZES)
def test_every_box_is_the_formula(exact: bool, size: tuple[int, int], surface: tuple[int, int]) -> None:
    source = noise(*size)
    found, wanted = converted(source, surface, [(0, 0, *surface)], exact=exact), i420(averaged(source, surface))
    # libyuv rounds the mean of four pixels twice, and on some processors weighs the colours with fewer bits.
    assert far_apart(found, wanted) <= (0 if exact or not lib.tx_has_libyuv() else 1)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("picture", [noise, smallest_and_largest])
@pytest.mark.parametrize("surface", [(1280, 720), (322, 242)])
def test_a_large_picture_is_the_formula(picture: Any, surface: tuple[int, int], exact: bool) -> None:
    source = picture(1280, 720)
    found, wanted = converted(source, surface, [(0, 0, *surface)], exact=exact), i420(averaged(source, surface))
    assert far_apart(found, wanted) <= (0 if exact or not lib.tx_has_libyuv() else 1)


@pytest.mark.parametrize("exact", [True, False])
@given(SIZES, EVEN_SIZES, st.data())
def test_boxes_that_cover_the_picture_make_the_whole(
    exact: bool, size: tuple[int, int], surface: tuple[int, int], data: st.DataObject
) -> None:
    source = noise(*size)
    x, y = data.draw(st.integers(1, surface[0] - 1)), data.draw(st.integers(1, surface[1] - 1))
    quarters = [(0, 0, x, y), (x, 0, surface[0] - x, y), (0, y, x, surface[1] - y), (x, y, surface[0] - x, surface[1] - y)]
    whole = converted(source, surface, [(0, 0, *surface)], exact=exact)
    assert (converted(source, surface, quarters, exact=exact) == whole).all()


@given(EVEN_SIZES, st.data())
def test_a_box_touches_nothing_beside_it(surface: tuple[int, int], data: st.DataObject) -> None:
    x, y, width, height = box = box_inside(data, surface)
    planes = converted(numpy.zeros((surface[1], surface[0], 4), numpy.uint8), surface, [box], exact=False)
    touched = planes[: surface[0] * surface[1]].reshape(surface[1], surface[0]) != 77
    grown = numpy.zeros_like(touched)
    grown[y // 2 * 2 : -(-(y + height) // 2) * 2, x // 2 * 2 : -(-(x + width) // 2) * 2] = True
    assert (touched == grown).all()


def test_the_mean_of_very_many_pixels() -> None:
    """Beyond 65,536 pixels the quick division would be wrong."""
    source = noise(700, 400)
    assert (converted(source, (2, 2), [(0, 0, 2, 2)], exact=True) == i420(averaged(source, (2, 2)))).all()
    white = numpy.full((600, 700, 4), 255, numpy.uint8)
    assert set(converted(white, (2, 2), [(0, 0, 2, 2)], exact=True)) == {235, 128}
