"""Draws a terminal screen as a picture, as a terminal would: colours, bold, italic, lines, wide cells, cursor. The engine's API uses it.

Cell (column, row) covers the pixels from (column * CELL_WIDTH, row * CELL_HEIGHT), with no margin: a place in the picture is a place on the
screen. Letters come from a font of the system; lines, blocks and dots are drawn here (screen_glyphs.py), so that they meet at the edges.
"""

from __future__ import annotations

import io
import shutil
import subprocess
from functools import cache, lru_cache
from typing import Final

from PIL import Image, ImageChops, ImageDraw, ImageFont

from ..adapters.termwright.screen import DEFAULT_BACKGROUND, DEFAULT_FOREGROUND, Cell, Colour, Screen, Style
from .screen_glyphs import drawn_glyph

CELL_WIDTH: Final = 12
CELL_HEIGHT: Final = 24
FONT_SIZE: Final = 20  # pixels; an advance of 0.6 fills the cell

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

#: File names of monospace families, best first: regular, bold, italic, bold italic. Pillow looks for them in the system's folders.
FAMILIES: Final = (
    ("DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSansMono-Oblique", "DejaVuSansMono-BoldOblique"),
    ("LiberationMono-Regular", "LiberationMono-Bold", "LiberationMono-Italic", "LiberationMono-BoldItalic"),
    ("NotoSansMono-Regular", "NotoSansMono-Bold", "NotoSansMono-Regular", "NotoSansMono-Bold"),
    ("Menlo", "Menlo", "Menlo", "Menlo"),
    ("consola", "consolab", "consolai", "consolaz"),
)


def png(screen: Screen) -> bytes:
    """The screen as a PNG file of (columns * 12) x (rows * 24) pixels."""
    file = io.BytesIO()
    picture(screen).save(file, "PNG", optimize=True)
    return file.getvalue()


def picture(screen: Screen) -> Image.Image:
    """The screen as an RGB picture of (columns * 12) x (rows * 24) pixels."""
    size = (screen.columns * CELL_WIDTH, screen.rows * CELL_HEIGHT)
    image = Image.new("RGB", size, DEFAULT_BACKGROUND)
    draw = ImageDraw.Draw(image)
    cursor = screen.cursor if screen.cursor_visible else None
    # All backgrounds first: an italic letter may lean over the edge of its cell.
    for row, cells in enumerate(screen.cells):
        for column, cell in enumerate(cells):
            background = _colours(cell.style, _under_block(screen, cursor, column, row))[1]
            if background != DEFAULT_BACKGROUND:
                left, top = column * CELL_WIDTH, row * CELL_HEIGHT
                draw.rectangle((left, top, left + max(cell.width, 1) * CELL_WIDTH - 1, top + CELL_HEIGHT - 1), fill=background)
    for row, cells in enumerate(screen.cells):
        for column, cell in enumerate(cells):
            if cell.width:
                _draw_cell(image, draw, column, row, cell, _under_block(screen, cursor, column, row))
    if cursor is not None and screen.cursor_shape != "block":
        left, top = cursor[0] * CELL_WIDTH, cursor[1] * CELL_HEIGHT
        right, low = left + CELL_WIDTH - 1, top + CELL_HEIGHT - 1
        box = (left, top, left + 1, low) if screen.cursor_shape == "bar" else (left, low - 2, right, low)
        draw.rectangle(box, fill=DEFAULT_FOREGROUND)
    return image


def _under_block(screen: Screen, cursor: tuple[int, int] | None, column: int, row: int) -> bool:
    return cursor == (column, row) and screen.cursor_shape == "block"


def _colours(style: Style, inverted: bool) -> tuple[Colour, Colour]:
    """(foreground, background); a block cursor swaps them, as inverse video does."""
    foreground = style.foreground or DEFAULT_FOREGROUND
    background = style.background or DEFAULT_BACKGROUND
    if style.inverse != inverted:
        foreground, background = background, foreground
    if style.invisible:
        foreground = background
    elif style.faint:
        foreground = _between(foreground, background)
    return foreground, background


def _between(one: Colour, other: Colour) -> Colour:
    return ((one[0] + other[0]) // 2, (one[1] + other[1]) // 2, (one[2] + other[2]) // 2)


def _draw_cell(image: Image.Image, draw: ImageDraw.ImageDraw, column: int, row: int, cell: Cell, inverted: bool) -> None:
    left, top, style = column * CELL_WIDTH, row * CELL_HEIGHT, cell.style
    foreground, _ = _colours(style, inverted)
    if cell.text.strip():
        image.paste(foreground, (left - CELL_WIDTH, top), _glyph(cell.text, cell.width, style.bold, style.italic))
    line = style.underline_color if style.underline_color is not None and not style.invisible else foreground
    right, width = left + cell.width * CELL_WIDTH - 1, cell.width * CELL_WIDTH
    low = top + CELL_HEIGHT - 3
    match style.underline:
        case 1:
            draw.rectangle((left, low, right, low + 1), fill=line)
        case 2:
            draw.line((left, low - 1, right, low - 1), fill=line)
            draw.line((left, low + 1, right, low + 1), fill=line)
        case 3:
            for x in range(width):  # one wave a cell
                rise = (0, 1, 2, 2, 1, 0)[x // 2 % 6]
                draw.rectangle((left + x, low + 1 - rise, left + x, low + 2 - rise), fill=line)
        case 4:
            for x in range(0, width, 4):
                draw.rectangle((left + x, low, left + x + 1, low + 1), fill=line)
        case 5:
            for x in range(0, width, 6):
                draw.rectangle((left + x, low, left + x + 3, low + 1), fill=line)
    if style.strikethrough:
        draw.rectangle((left, top + CELL_HEIGHT // 2, right, top + CELL_HEIGHT // 2 + 1), fill=foreground)
    if style.overline:
        draw.rectangle((left, top, right, top + 1), fill=foreground)


@lru_cache(maxsize=4096)
def _glyph(text: str, width: int, bold: bool, italic: bool) -> Image.Image:
    """How much of each pixel the glyph covers: a mask with one cell of room on either side, for what leans over the edge."""
    mask = Image.new("L", ((width + 2) * CELL_WIDTH, CELL_HEIGHT), 0)
    own = drawn_glyph(text, CELL_WIDTH * width, CELL_HEIGHT)
    if own is not None:
        mask.paste(own, (CELL_WIDTH, 0))
        return mask
    draw = ImageDraw.Draw(mask)
    font, fits = _font_for(text, bold, italic)
    if not fits:
        _draw_code_points(draw, text, width)
        return mask
    room = width * CELL_WIDTH
    extent = draw.textlength(text, font=font)
    if extent > room + 1 and isinstance(font, ImageFont.FreeTypeFont):  # a fallback whose letters are wider than our cells
        font = font.font_variant(size=max(8, int(font.size * room / extent)))
        extent = draw.textlength(text, font=font)
    baseline = CELL_HEIGHT - 6
    if isinstance(font, ImageFont.FreeTypeFont):
        draw.text((CELL_WIDTH + round((room - extent) / 2), baseline), text, fill=255, font=font, anchor="ls")
    else:
        draw.text((CELL_WIDTH + round((room - extent) / 2), 6), text, fill=255, font=font)
    if bold and not _has_bold():
        mask = ImageChops.lighter(mask, ImageChops.offset(mask, 1, 0))
    return mask


def _draw_code_points(draw: ImageDraw.ImageDraw, text: str, width: int) -> None:
    """A box with the number in it, for a character that no font here has: it can still be told from others."""
    left, right = CELL_WIDTH, CELL_WIDTH * (width + 1) - 1
    draw.rectangle((left, 3, right - 1, CELL_HEIGHT - 4), outline=150)
    digits = f"{ord(text[0]):04X}"
    half = (len(digits) + 1) // 2
    font = ImageFont.load_default(8 if width > 1 else 6)
    for line, part in enumerate((digits[:half], digits[half:])):
        extent = draw.textlength(part, font=font)
        draw.text((left + (right - left - extent) / 2, 4 + line * 8), part, fill=255, font=font)


@cache
def _family() -> tuple[Font, Font, Font, Font]:
    """Regular, bold, italic, bold italic: of the first family whose regular font is installed, else Pillow's own font four times."""
    for names in FAMILIES:
        fonts: list[Font] = []
        for name in names:
            try:
                fonts.append(ImageFont.truetype(name, FONT_SIZE))
            except OSError:
                if not fonts:
                    break
                fonts.append(fonts[0])
        if fonts:
            regular, bold, italic, both = fonts
            return regular, bold, italic, both
    own = ImageFont.load_default(FONT_SIZE)
    return own, own, own, own


def _has_bold() -> bool:
    regular, bold, _, _ = _family()
    return regular is not bold


def _font_for(text: str, bold: bool, italic: bool) -> tuple[Font, bool]:
    """A font that has the text's first character, and whether there is one."""
    font = _family()[bold + 2 * italic]
    if _has(font, text[0]):
        return font, True
    for fallback in _fallbacks(text[0]):
        return fallback, True
    return font, False


@lru_cache(maxsize=1024)
def _fallbacks(character: str) -> tuple[Font, ...]:
    """The first other font of the system that has the character, as fontconfig tells; none where there is no fontconfig."""
    program = shutil.which("fc-list")
    if program is None:
        return ()
    query = [program, f":charset={ord(character):x}:scalable=true", "--format", "%{file}\n"]
    found = subprocess.run(query, capture_output=True, text=True, timeout=10, check=False).stdout
    for path in sorted(set(found.splitlines())):
        try:
            font = ImageFont.truetype(path, FONT_SIZE)
        except OSError:
            continue
        if _has(font, character):
            return (font,)
    return ()


def _has(font: Font, character: str) -> bool:
    """Whether the font draws it otherwise than what no font has."""
    if not isinstance(font, ImageFont.FreeTypeFont):
        return character.isascii()
    return _drawn(font, character) != _drawn(font, "\U0010ffff")


@lru_cache(maxsize=4096)
def _drawn(font: ImageFont.FreeTypeFont, character: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(character)
    return mask.size, bytes(mask)
