"""What changed since the last look, what animates by itself, and what other programs' titles are made into."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from triptych.machines.desklink.changes import Changes, Region
from triptych.machines.desklink.geometry import Box, Size
from triptych.machines.desklink.windows import MOST_CHARACTERS, printable

SURFACE = Size(200, 100)  # 7 x 4 tiles; the last column and row are cut


def test_regions_are_boxes_around_tiles_that_touch_and_are_told_once() -> None:
    changes = Changes(SURFACE, 0.0)
    changes.changed(((0, 0, 32, 32),), 1.0)
    changes.changed(((32, 0, 32, 64), (192, 96, 8, 4)), 2.0)
    assert changes.look(9.0) == (Region((0, 0, 64, 64)), Region((192, 96, 8, 4)))
    assert changes.look(9.0) == ()


def test_two_diagonal_tiles_stay_two_regions_and_rows_do_not_wrap() -> None:
    changes = Changes(SURFACE, 0.0)
    changes.changed(((0, 0, 32, 32), (32, 32, 32, 32)), 1.0)
    assert [region.box for region in changes.look(9.0)] == [(0, 0, 32, 32), (32, 32, 32, 32)]
    changes.changed(((192, 0, 8, 32), (0, 32, 32, 32)), 10.0)
    assert [region.box for region in changes.look(19.0)] == [(192, 0, 8, 32), (0, 32, 32, 32)]


def test_three_changes_in_600_ms_are_an_animation_and_two_are_not() -> None:
    changes = Changes(SURFACE, 0.0)
    spinner, text = (64, 32, 32, 32), (0, 0, 64, 32)
    changes.changed((text,), 5.0)
    for now in (5.1, 5.3, 5.5):
        changes.changed((spinner,), now)
    assert changes.look(5.6) == (Region(text), Region(spinner, animating=True))
    for now in (7.0, 7.2):
        changes.changed((spinner,), now)
    assert changes.look(7.3) == (Region(spinner),)
    for now in (8.0, 8.5, 9.0):
        changes.changed((spinner,), now)
    assert changes.look(9.0) == (Region(spinner),)


def test_an_animation_is_no_news_once_it_is_known_as_one() -> None:
    changes = Changes(SURFACE, 0.0)
    box = (64, 32, 32, 32)
    for tick in range(10):
        changes.changed((box,), 1.0 + tick * 0.1)
    assert changes.news_at == 1.1
    changes.changed((box, (0, 0, 32, 32)), 2.05)
    assert changes.news_at == 2.05


def test_what_answers_an_input_is_no_animation() -> None:
    changes = Changes(SURFACE, 0.0)
    box = (0, 0, 64, 32)
    for tick in range(8):
        now = 1.0 + tick * 0.05
        changes.acted(now)
        changes.changed((box,), now + 0.01)
    assert changes.news_at > 1.34
    assert changes.look(1.5) == (Region(box),)


def test_touched_says_whether_a_place_has_changed_since_the_look() -> None:
    changes = Changes(SURFACE, 0.0)
    changes.changed(((0, 0, 32, 32),), 1.0)
    assert changes.touched((31, 31, 5, 5))
    assert not changes.touched((32, 32, 5, 5))
    changes.look(1.0)
    assert not changes.touched((0, 0, 200, 100))


boxes = st.tuples(st.integers(0, 199), st.integers(0, 99), st.integers(1, 200), st.integers(1, 100)).map(
    lambda box: (box[0], box[1], min(box[2], 200 - box[0]), min(box[3], 100 - box[1]))
)


def inside(x: int, y: int, box: Box) -> bool:
    return box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3]


@given(st.lists(st.lists(boxes, min_size=1, max_size=3), max_size=8))
def test_every_changed_pixel_is_told_and_nothing_outside_the_frame(frames: list[list[Box]]) -> None:
    changes = Changes(SURFACE, 0.0)
    for number, damage in enumerate(frames):
        changes.changed(tuple(damage), number * 0.1)
    told = [region.box for region in changes.look(len(frames) * 0.1)]
    for x, y, width, height in told:
        assert 0 <= x < x + width <= 200
        assert 0 <= y < y + height <= 100
    for box in (box for damage in frames for box in damage):
        for corner in ((box[0], box[1]), (box[0] + box[2] - 1, box[1] + box[3] - 1)):
            assert any(inside(*corner, region) for region in told)


def test_titles_are_one_printable_line() -> None:
    assert printable("plain – ünïcode 日本") == "plain – ünïcode 日本"
    assert printable("a\x1b[31mred\x07\nnew\tline") == "a\ufffd[31mred\ufffd new line"
    assert printable("abc\u202etxt.exe\u200b\ud800\ue000") == "abc\ufffdtxt.exe\ufffd\ufffd\ufffd"
    assert printable(None) is None
    assert printable(" \n ") is None
    assert len(printable("x" * 10_000) or "") == MOST_CHARACTERS
