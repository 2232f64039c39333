"""Draws the characters that must meet at the edges of their cells: boxes, blocks, Braille dots, sextants. Only screen_picture.py uses it.

What a character looks like is read off its Unicode name (`BOX DRAWINGS DOWN HEAVY AND RIGHT LIGHT`), so there is no table to keep.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Final

from PIL import Image, ImageDraw

LINE: Final = 2  # pixels of a light line; a heavy one has twice as many
FINE: Final = 4  # curves and diagonals are drawn so many times larger, then reduced

DIRECTIONS: Final = {
    "LEFT": ("left",),
    "RIGHT": ("right",),
    "UP": ("up",),
    "DOWN": ("down",),
    "HORIZONTAL": ("left", "right"),
    "VERTICAL": ("up", "down"),
}
OPPOSITE: Final = {"left": "right", "right": "left", "up": "down", "down": "up"}
ACROSS: Final = {"left": ("up", "down"), "right": ("up", "down"), "up": ("left", "right"), "down": ("left", "right")}
DOUBLE: Final = 3
WEIGHTS: Final = {"LIGHT": 1, "SINGLE": 1, "HEAVY": 2, "DOUBLE": DOUBLE}
DASHES: Final = {"DOUBLE DASH": 2, "TRIPLE DASH": 3, "QUADRUPLE DASH": 4}
EIGHTHS: Final = ("ONE EIGHTH", "ONE QUARTER", "THREE EIGHTHS", "HALF", "FIVE EIGHTHS", "THREE QUARTERS", "SEVEN EIGHTHS")


def drawn_glyph(text: str, width: int, height: int) -> Image.Image | None:
    """The mask of one character in a cell of that many pixels; None for one that a font should draw."""
    if len(text) != 1:
        return None
    code = ord(text)
    if not (0x2500 <= code <= 0x259F or 0x2800 <= code <= 0x28FF or 0x1FB00 <= code <= 0x1FB3B):
        return None
    mask = Image.new("L", (width, height), 0)
    if code <= 0x257F:
        _box(mask, unicodedata.name(text).removeprefix("BOX DRAWINGS "))
    elif code <= 0x259F:
        _block(mask, unicodedata.name(text))
    elif code <= 0x28FF:
        _braille(mask, code - 0x2800)
    else:
        _sextant(mask, code - 0x1FB00)
    return mask


@cache
def arms(name: str) -> dict[str, int]:
    """Direction → weight (1 light, 2 heavy, 3 double) of a box drawing name such as `DOWN HEAVY AND RIGHT LIGHT`.

    A weight before its directions holds for what follows too (`LIGHT DOWN AND RIGHT`); one behind them only for them.
    """
    found: dict[str, int] = {}
    weight = 1
    for part in name.split(" AND "):
        words = part.split()
        if words[0] in WEIGHTS:
            weight = WEIGHTS[words[0]]
        here = WEIGHTS.get(words[-1], weight)
        for word in words:
            found |= dict.fromkeys(DIRECTIONS.get(word, ()), here)
    return found


def _box(mask: Image.Image, name: str) -> None:
    if "DIAGONAL" in name:
        _diagonals(mask, name)
        return
    for words, dashes in DASHES.items():
        if words in name:
            _dashed(mask, name, dashes)
            return
    if "ARC" in name:
        _arc(mask, name)
    else:
        _lines(mask, arms(name))


def _lines(mask: Image.Image, weights: dict[str, int]) -> None:
    """Double lines are broad ones with their middle taken out again, which makes corners and crossings come out right."""
    draw = ImageDraw.Draw(mask)
    doubles = [direction for direction, weight in weights.items() if weight == DOUBLE]
    for direction in doubles:
        _arm(draw, mask.size, direction, 3 * LINE, _beyond(weights, direction))
    for direction in doubles:
        across = [weights[other] for other in ACROSS[direction] if other in weights]
        through = DOUBLE in across or (len(across) == 1 and OPPOSITE[direction] in weights)
        _arm(draw, mask.size, direction, LINE, LINE // 2 if through else -LINE // 2 if across else 0, ink=0)
    for direction, weight in weights.items():
        if weight != DOUBLE:
            _arm(draw, mask.size, direction, LINE * weight, _beyond(weights, direction))


def _beyond(weights: dict[str, int], direction: str) -> int:
    """How many pixels before the middle an arm begins: it fills the corner with what goes across.

    One that meets two lines going past it ends at the nearer of them.
    """
    across = [weights.get(other, 0) for other in ACROSS[direction]]
    if across == [DOUBLE, DOUBLE] and weights[direction] != DOUBLE and OPPOSITE[direction] not in weights:
        return -LINE // 2
    return max(across) * LINE // 2


def _arm(draw: ImageDraw.ImageDraw, size: tuple[int, int], direction: str, thick: int, beyond: int, ink: int = 255) -> None:
    """A line of that thickness to one edge, from `beyond` pixels before the middle."""
    width, height = size
    x, y, half = width // 2, height // 2, thick // 2
    box = {
        "left": (0, y - half, x + beyond - 1, y + half - 1),
        "right": (x - beyond, y - half, width - 1, y + half - 1),
        "up": (x - half, 0, x + half - 1, y + beyond - 1),
        "down": (x - half, y - beyond, x + half - 1, height - 1),
    }[direction]
    draw.rectangle(box, fill=ink)


def _dashed(mask: Image.Image, name: str, dashes: int) -> None:
    width, height = mask.size
    thick = LINE * (2 if "HEAVY" in name else 1)
    draw = ImageDraw.Draw(mask)
    length = width if "HORIZONTAL" in name else height
    for dash in range(dashes):
        start, end = dash * length // dashes, (dash + 1) * length // dashes
        gap = max(1, (end - start) // 3)
        if "HORIZONTAL" in name:
            draw.rectangle((start, (height - thick) // 2, end - gap - 1, (height + thick) // 2 - 1), fill=255)
        else:
            draw.rectangle(((width - thick) // 2, start, (width + thick) // 2 - 1, end - gap - 1), fill=255)


def _arc(mask: Image.Image, name: str) -> None:
    """A quarter of a circle between two arms; what is left of the longer arm is straight."""
    width, height = mask.size
    large = Image.new("L", (width * FINE, height * FINE), 0)
    draw = ImageDraw.Draw(large)
    x, y, thick = width * FINE // 2, height * FINE // 2, LINE * FINE
    radius = min(x, y)
    down, right = "DOWN" in name, "RIGHT" in name
    centre_x, centre_y = (x + radius if right else x - radius), (y + radius if down else y - radius)
    outer = radius + thick // 2
    start = {(True, True): 180, (True, False): 270, (False, False): 0, (False, True): 90}[down, right]
    draw.arc((centre_x - outer, centre_y - outer, centre_x + outer - 1, centre_y + outer - 1), start, start + 90, fill=255, width=thick)
    top, bottom = (centre_y, height * FINE) if down else (0, centre_y)
    draw.rectangle((x - thick // 2, top, x + thick // 2 - 1, bottom), fill=255)
    mask.paste(large.resize(mask.size, Image.Resampling.BOX))


def _diagonals(mask: Image.Image, name: str) -> None:
    width, height = mask.size
    large = Image.new("L", (width * FINE, height * FINE), 0)
    draw = ImageDraw.Draw(large)
    right, bottom = width * FINE, height * FINE
    if "CROSS" in name or "UPPER RIGHT" in name:
        draw.line((right, 0, 0, bottom), fill=255, width=LINE * FINE)
    if "CROSS" in name or "UPPER LEFT" in name:
        draw.line((0, 0, right, bottom), fill=255, width=LINE * FINE)
    mask.paste(large.resize(mask.size, Image.Resampling.BOX))


def _block(mask: Image.Image, name: str) -> None:
    width, height = mask.size
    draw = ImageDraw.Draw(mask)
    shades = {"LIGHT SHADE": 64, "MEDIUM SHADE": 128, "DARK SHADE": 191, "FULL BLOCK": 255}
    if name in shades:
        draw.rectangle((0, 0, width - 1, height - 1), fill=shades[name])
    elif name.startswith("QUADRANT "):
        for corner in name.removeprefix("QUADRANT ").split(" AND "):
            left = 0 if corner.endswith("LEFT") else width // 2
            top = 0 if corner.startswith("UPPER") else height // 2
            draw.rectangle((left, top, left + width // 2 - 1, top + height // 2 - 1), fill=255)
    else:
        side, _, part = name.removesuffix(" BLOCK").partition(" ")
        eighths = EIGHTHS.index(part) + 1
        high, broad = max(1, round(height * eighths / 8)), max(1, round(width * eighths / 8))
        box = {
            "UPPER": (0, 0, width - 1, high - 1),
            "LOWER": (0, height - high, width - 1, height - 1),
            "LEFT": (0, 0, broad - 1, height - 1),
            "RIGHT": (width - broad, 0, width - 1, height - 1),
        }[side]
        draw.rectangle(box, fill=255)


def _braille(mask: Image.Image, dots: int) -> None:
    width, height = mask.size
    draw = ImageDraw.Draw(mask)
    size = max(2, width // 4)
    for bit, (column, row) in enumerate(((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))):
        if dots >> bit & 1:
            left = (2 * column + 1) * width // 4 - size // 2
            top = (2 * row + 1) * height // 8 - size // 2
            draw.rectangle((left, top, left + size - 1, top + size - 1), fill=255)


def _sextant(mask: Image.Image, index: int) -> None:
    """Six blocks, two a row; the three patterns that are other characters (nothing, a half, a half) are left out of the numbering."""
    pattern = index + 1
    pattern += pattern >= 0b010101
    pattern += pattern >= 0b101010
    width, height = mask.size
    draw = ImageDraw.Draw(mask)
    for bit in range(6):
        if pattern >> bit & 1:
            left, top = bit % 2 * width // 2, bit // 2 * height // 3
            draw.rectangle((left, top, left + width // 2 - 1, top + height // 3 - 1), fill=255)
