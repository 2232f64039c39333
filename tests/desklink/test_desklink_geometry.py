from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.machines.desklink.geometry import Size, contains, damage_to_encoded, fit, region_inside, to_source

sides = st.integers(2, 7680)
sizes = st.builds(Size, sides, sides)


@pytest.mark.parametrize(
    ("source", "box", "expected"),
    [
        ((2560, 1440), (1280, 800), (1280, 720)),
        ((2560, 1440), (1200, 600), (1066, 600)),
        ((1280, 720), (3840, 2160), (1280, 720)),
        ((1281, 721), (3840, 2160), (1280, 720)),
        ((2560, 1440), (0, 600), (2560, 1440)),
        ((2560, 1440), (600, 0), (2560, 1440)),
        ((4000, 10), (100, 100), (100, 2)),
    ],
)
def test_fit(source: tuple[int, int], box: tuple[int, int], expected: tuple[int, int]) -> None:
    assert fit(Size(*source), *box) == Size(*expected)


@given(sizes, st.integers(2, 8000), st.integers(2, 8000))
def test_fit_is_even_inside_the_box_and_never_larger(source: Size, width: int, height: int) -> None:
    encoded = fit(source, width, height)
    assert encoded.width % 2 == encoded.height % 2 == 0
    assert 2 <= encoded.width <= max(2, min(width, source.width))
    assert 2 <= encoded.height <= max(2, min(height, source.height))


@pytest.mark.parametrize(("at", "expected"), [((640, 360), (1280, 720)), ((1279, 719), (2558, 1438)), ((0, 0), (0, 0))])
def test_pointer_map(at: tuple[int, int], expected: tuple[int, int]) -> None:
    assert to_source(Size(1280, 720), Size(2560, 1440), *at) == expected


@given(sizes, sizes, st.data())
def test_pointer_stays_on_the_source(encoded: Size, source: Size, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, encoded.width - 1))
    y = data.draw(st.integers(0, encoded.height - 1))
    assert contains(encoded, x, y)
    assert contains(source, *to_source(encoded, source, x, y))


@given(sizes, sizes, st.data())
def test_damage_covers_every_pixel_that_shows_the_changed_ones(source: Size, encoded: Size, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, source.width - 1))
    y = data.draw(st.integers(0, source.height - 1))
    box = (x, y, data.draw(st.integers(1, source.width - x)), data.draw(st.integers(1, source.height - y)))
    mapped = damage_to_encoded(box, source, encoded)
    assert region_inside(mapped, encoded)
    # Nearest sampling: encoded column c shows source column c*sw//ew.
    shown = [c for c in range(encoded.width) if box[0] <= c * source.width // encoded.width < box[0] + box[2]]
    assert not shown or (mapped[0] <= shown[0] and shown[-1] < mapped[0] + mapped[2])


@pytest.mark.parametrize(
    ("region", "inside"),
    [
        ((0, 0, 100, 50), True),
        ((99, 49, 1, 1), True),
        ((0, 0, 101, 50), False),
        ((100, 0, 1, 1), False),
        ((0, 0, 0, 5), False),
        ((-1, 0, 5, 5), False),
        ((2**62, 0, 2**62, 1), False),
    ],
)
def test_region(region: tuple[int, int, int, int], inside: bool) -> None:
    assert region_inside(region, Size(100, 50)) is inside
