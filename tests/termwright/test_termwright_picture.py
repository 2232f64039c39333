"""Pictures of screens: a real emulator parses the text, and the tests look at the pixels."""

from __future__ import annotations

import io
import unicodedata

import pytest
from PIL import Image, ImageChops

from triptych.adapters.termwright.emulator import open_emulator
from triptych.adapters.termwright.screen import DEFAULT_BACKGROUND, DEFAULT_FOREGROUND, Screen
from triptych.engine import screen_ansi, screen_glyphs, screen_picture
from triptych.engine.screen_picture import CELL_HEIGHT, CELL_WIDTH, picture, png

HIDE = "\x1b[?25l"


def screen(text: str, columns: int = 12, rows: int = 2) -> Screen:
    emulator = open_emulator(columns, rows)
    emulator.feed(text.encode())
    shown = emulator.screen()
    _ = shown.cells
    emulator.close()
    return shown


def draw(text: str, columns: int = 12, rows: int = 2) -> Image.Image:
    return picture(screen(HIDE + text, columns, rows))


def cell(image: Image.Image, column: int, row: int = 0, width: int = 1) -> Image.Image:
    left, top = column * CELL_WIDTH, row * CELL_HEIGHT
    return image.crop((left, top, left + width * CELL_WIDTH, top + CELL_HEIGHT))


def colours(image: Image.Image) -> set[tuple[int, ...]]:
    found = image.getcolors(1 << 20)
    assert found is not None
    return {colour for _, colour in found if isinstance(colour, tuple)}


def ink(image: Image.Image) -> int:
    """How much is not background."""
    return sum(count * value for value, count in enumerate(image.convert("L").histogram()))


def inked_rows(image: Image.Image) -> list[int]:
    grey = image.convert("L")
    return [y for y in range(grey.height) if grey.crop((0, y, grey.width, y + 1)).getbbox()]


def test_a_png_of_the_right_size() -> None:
    shown = screen("hello")
    with Image.open(io.BytesIO(png(shown))) as image:
        assert (image.format, image.mode, image.size) == ("PNG", "RGB", (12 * CELL_WIDTH, 2 * CELL_HEIGHT))
        assert ImageChops.difference(image, picture(shown)).getbbox() is None


def test_colours_are_those_of_the_cells() -> None:
    image = draw("\x1b[48;2;10;20;30m \x1b[0m\x1b[38;2;200;100;50m\u2588\x1b[0m\x1b[7m \x1b[0m\x1b[8;41mX\x1b[0m \x1b[2m\u2588")
    assert colours(cell(image, 0)) == {(10, 20, 30)}
    assert colours(cell(image, 1)) == {(200, 100, 50)}
    assert colours(cell(image, 2)) == {DEFAULT_FOREGROUND}
    assert len(colours(cell(image, 3))) == 1
    assert colours(cell(image, 4)) == {DEFAULT_BACKGROUND}
    (faint,) = colours(cell(image, 5))
    assert DEFAULT_BACKGROUND < faint < DEFAULT_FOREGROUND


def test_weights_slants_and_letters_differ() -> None:
    image = draw("A\x1b[1mA\x1b[0m\x1b[3mA\x1b[0mB")
    regular, bold, italic, other = (cell(image, column) for column in range(4))
    assert ink(bold) > 1.15 * ink(regular)
    for different in (bold, italic, other):
        assert ImageChops.difference(regular, different).getbbox() is not None


def test_letters_stand_on_one_line_and_inside_their_row() -> None:
    image = draw("x\r\ngÅ|")
    assert inked_rows(cell(image, 0, 0))[-1] == 17  # the baseline
    for column in range(3):
        rows = inked_rows(cell(image, column, 1))
        assert 0 <= rows[0] < rows[-1] < CELL_HEIGHT


@pytest.mark.parametrize(
    ("code", "rows", "pixels"),
    [("4", [21, 22], 24), ("4:2", [20, 22], 24), ("4:3", [20, 21, 22, 23], 24), ("4:4", [21, 22], 12), ("4:5", [21, 22], 16)],
)
def test_underlines(code: str, rows: list[int], pixels: int) -> None:
    image = draw(f"\x1b[{code};58:2::255:0:0m  ")
    assert inked_rows(cell(image, 0)) == rows
    assert colours(cell(image, 0)) == {DEFAULT_BACKGROUND, (255, 0, 0)}
    assert dict((colour, count) for count, colour in cell(image, 0).getcolors() or ())[(255, 0, 0)] == pixels


def test_lines_through_and_over() -> None:
    image = draw("\x1b[9m \x1b[0m\x1b[53m ")
    assert inked_rows(cell(image, 0)) == [12, 13]
    assert inked_rows(cell(image, 1)) == [0, 1]


def test_the_cursor() -> None:
    block = picture(screen("ab\x1b[1G"))
    assert DEFAULT_FOREGROUND in colours(cell(block, 0))
    assert ink(cell(block, 0)) > ink(cell(block, 1))
    bar = picture(screen("\x1b[6 q "))
    assert cell(bar, 1).convert("L").getbbox() == (0, 0, 2, CELL_HEIGHT)
    underline = picture(screen("\x1b[4 q "))
    assert inked_rows(cell(underline, 1)) == [21, 22, 23]
    assert cell(draw("  "), 2).getbbox() is None


def test_a_wide_cell_takes_two() -> None:
    image = draw("\x1b[44m日\x1b[0mx")
    assert DEFAULT_BACKGROUND not in colours(cell(image, 0, width=2))
    assert ink(cell(image, 2)) > 0
    assert screen("日x").cells[0][0].width == 2


def test_a_character_of_no_font_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_picture, "_fallbacks", lambda character: ())
    screen_picture._glyph.cache_clear()
    one, other = draw("\U000f1234"), draw("\U000f5678")
    assert ink(one) > 0
    assert ImageChops.difference(one, other).getbbox() is not None
    screen_picture._glyph.cache_clear()


def test_without_any_font_of_the_system_there_is_a_picture_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_picture, "FAMILIES", (("no-such-font",) * 4,))
    for cached in (screen_picture._family, screen_picture._glyph):
        cached.cache_clear()
    image = draw("A\x1b[1mA")
    assert ink(cell(image, 0)) > 0
    assert ink(cell(image, 1)) > ink(cell(image, 0))
    for cached in (screen_picture._family, screen_picture._glyph):
        cached.cache_clear()


@pytest.mark.parametrize(
    ("character", "arms"),
    [
        ("─", {"left": 1, "right": 1}),
        ("┌", {"right": 1, "down": 1}),
        ("┓", {"left": 2, "down": 2}),
        ("┍", {"right": 2, "down": 1}),
        ("┡", {"up": 2, "right": 2, "down": 1}),
        ("┲", {"left": 1, "right": 2, "down": 2}),
        ("╋", {"left": 2, "right": 2, "up": 2, "down": 2}),
        ("╒", {"right": 3, "down": 1}),
        ("╫", {"left": 1, "right": 1, "up": 3, "down": 3}),
        ("╼", {"left": 1, "right": 2}),
        ("╴", {"left": 1}),
    ],
)
def test_what_a_box_drawing_name_says(character: str, arms: dict[str, int]) -> None:
    assert screen_glyphs.arms(unicodedata.name(character).removeprefix("BOX DRAWINGS ")) == arms
    mask = screen_glyphs.drawn_glyph(character, CELL_WIDTH, CELL_HEIGHT)
    assert mask is not None
    edges = {
        "left": mask.crop((0, 0, 1, CELL_HEIGHT)),
        "right": mask.crop((CELL_WIDTH - 1, 0, CELL_WIDTH, CELL_HEIGHT)),
        "up": mask.crop((0, 0, CELL_WIDTH, 1)),
        "down": mask.crop((0, CELL_HEIGHT - 1, CELL_WIDTH, CELL_HEIGHT)),
    }
    # What touches an edge: 2 pixels of a light line, 4 of a heavy one, twice 2 of a double one.
    assert {side: sum(edge.histogram()[255:]) for side, edge in edges.items()} == {
        side: {0: 0, 1: 2, 2: 4, 3: 4}[arms.get(side, 0)] for side in edges
    }


def test_boxes_have_no_holes() -> None:
    image = draw("┌─┬┐\r\n├─┼┤\r\n└─┴┘", 6, 3).convert("L")
    for row in range(3):
        line = image.crop((CELL_WIDTH // 2, row * CELL_HEIGHT + 12, 3 * CELL_WIDTH + 6, row * CELL_HEIGHT + 13))
        assert line.getcolors() == [(3 * CELL_WIDTH, DEFAULT_FOREGROUND[0])]
    for column in (0, 2, 3):
        line = image.crop((column * CELL_WIDTH + 6, 12, column * CELL_WIDTH + 7, 2 * CELL_HEIGHT + 12))
        assert line.getcolors() == [(2 * CELL_HEIGHT, DEFAULT_FOREGROUND[0])]


def test_double_lines_have_two_lines_and_corners_are_open() -> None:
    mask = screen_glyphs.drawn_glyph("╬", CELL_WIDTH, CELL_HEIGHT)
    assert mask is not None
    assert mask.crop((5, 0, 7, CELL_HEIGHT)).getbbox() is None  # nothing stands in the gap
    corner = screen_glyphs.drawn_glyph("╔", CELL_WIDTH, CELL_HEIGHT)
    assert corner is not None
    assert corner.getbbox() == (3, 9, CELL_WIDTH, CELL_HEIGHT)
    assert corner.getpixel((6, 12)) == 0


def test_every_drawn_character_draws_something_of_its_own() -> None:
    codes = [*range(0x2500, 0x25A0), *range(0x2801, 0x2900), *range(0x1FB00, 0x1FB3C)]
    masks = {}
    for code in codes:
        mask = screen_glyphs.drawn_glyph(chr(code), CELL_WIDTH, CELL_HEIGHT)
        assert mask is not None
        assert mask.size == (CELL_WIDTH, CELL_HEIGHT)
        assert mask.getbbox() is not None, chr(code)
        masks.setdefault(mask.tobytes(), []).append(chr(code))
    assert [same for same in masks.values() if len(same) > 1] == []
    assert screen_glyphs.drawn_glyph("x", CELL_WIDTH, CELL_HEIGHT) is None
    assert screen_glyphs.drawn_glyph("──", CELL_WIDTH, CELL_HEIGHT) is None


@pytest.mark.parametrize(
    ("character", "box"),
    [
        ("█", (0, 0, 12, 24)),
        ("▀", (0, 0, 12, 12)),
        ("▄", (0, 12, 12, 24)),
        ("▁", (0, 21, 12, 24)),
        ("▌", (0, 0, 6, 24)),
        ("▐", (6, 0, 12, 24)),
        ("▔", (0, 0, 12, 3)),
        ("▘", (0, 0, 6, 12)),
        ("▗", (6, 12, 12, 24)),
        ("🬀", (0, 0, 6, 8)),
        ("🬞", (6, 16, 12, 24)),
    ],
)
def test_blocks_fill_their_part(character: str, box: tuple[int, int, int, int]) -> None:
    mask = screen_glyphs.drawn_glyph(character, CELL_WIDTH, CELL_HEIGHT)
    assert mask is not None
    assert mask.getbbox() == box
    assert mask.crop(box).getextrema() == (255, 255)


def test_a_screen_as_text_with_colours_comes_out_the_same() -> None:
    text = "\x1b[1;3;4:3;58:2::9:8:7;38;2;1;2;3;48;2;4;5;6mstyled\x1b[0m plain \x1b[2;5;7;8;9;53m日本\x1b[0m\r\n\x1b[31mx\x1b[0m   \r\n\r\n"
    shown = screen(text, 24, 4)
    written = screen_ansi.ansi_screen(shown)
    again = screen(written.replace("\n", "\r\n"), 24, 4)
    assert again.lines == shown.lines
    for row, other in zip(shown.cells, again.cells, strict=True):
        assert [(cell.style, cell.width) for cell in row if cell.text.strip()] == [
            (cell.style, cell.width) for cell in other if cell.text.strip()
        ]
    assert written.count("\n") == 1
    assert screen_ansi.printable("a\x1b[31m\nb\x9bc\x7f") == "a\ufffd[31m\nb\ufffdc\ufffd"
