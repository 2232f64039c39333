"""Plans how the live keymap of an X server types a text, and which keys must be borrowed for what no key gives; used by X11Input.

A keycode that has no symbol can be given one, and programs are told so. They look the symbol up when they get to the key, though, not when
it was struck: so a borrowed key keeps its symbol until they had time for that, and all characters that are lacking share one change
of the keymap, as far as there are empty keycodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import LocalProtocolError
from .x11_connection import ffi, lib

if TYPE_CHECKING:
    from ...native.linux._x11 import CData

REAL_MODIFIERS = 8
RETURN = 0x0D


@dataclass(frozen=True)
class Stroke:
    """One character: while `group` is locked hold the keys `modifiers`, press and release `keycode`. All are X keycodes."""

    keycode: int
    modifiers: tuple[int, ...]
    group: int


@dataclass(frozen=True)
class Batch:
    """Strokes to make in a row, once each keycode of `borrowed` has the symbol of the character beside it."""

    borrowed: tuple[tuple[int, str], ...]
    strokes: tuple[Stroke, ...]


@dataclass(frozen=True)
class TextPlan:
    """A whole text, by the keymap that was live when it was planned."""

    batches: tuple[Batch, ...]


@dataclass
class _Unfinished:
    borrowed: dict[str, int] = field(default_factory=dict)
    strokes: list[Stroke] = field(default_factory=list)

    def done(self) -> Batch:
        return Batch(tuple((keycode, character) for character, keycode in self.borrowed.items()), tuple(self.strokes))


class Keymap:
    """What a keymap types. `reaches` are `tx_reach` structures, `holders` the keycode that holds each real modifier, or 0."""

    def __init__(self, reaches: Iterable[Any], holders: Sequence[int]) -> None:
        self._by_group: dict[tuple[int, str], Stroke] = {}
        self._by_character: dict[str, Stroke] = {}
        for reach in reaches:
            modifiers = tuple(holders[bit] for bit in range(REAL_MODIFIERS) if reach.modifiers & 1 << bit)
            character = "\n" if reach.codepoint == RETURN else chr(reach.codepoint)
            stroke = Stroke(reach.keycode, modifiers, reach.group)
            # The lowest group, keycode and level win.
            self._by_group.setdefault((reach.group, character), stroke)
            self._by_character.setdefault(character, stroke)

    def find(self, character: str, group: int, any_group: bool) -> Stroke | None:
        """How one character is typed in a layout group, or else in any; None when it cannot be."""
        return self._by_group.get((group, character)) or (self._by_character.get(character) if any_group else None)

    def plan(self, text: str, group: int, spares: Sequence[int]) -> TextPlan:
        """How to type `text`, beginning in `group` and switching groups only where it must; `spares` are the keycodes that may be borrowed.

        Raises LocalProtocolError (text-unsupported) that names every character which cannot be typed.
        """
        if lacking := self._lacking(text, spares):
            raise LocalProtocolError("text-unsupported", f"the keyboard layout has no key for {' '.join(map(repr, lacking))}", "text")
        batches: list[Batch] = []
        now = _Unfinished()
        for character in text:
            stroke = self.find(character, group, any_group=True)
            if stroke is None:
                if character not in now.borrowed:
                    if len(now.borrowed) == len(spares):
                        batches.append(now.done())
                        now = _Unfinished()
                    now.borrowed[character] = spares[len(now.borrowed)]
                stroke = Stroke(now.borrowed[character], (), group)
            group = stroke.group
            now.strokes.append(stroke)
        return TextPlan((*batches, now.done()))

    def _lacking(self, text: str, spares: Sequence[int]) -> list[str]:
        unreachable = dict.fromkeys(character for character in text if character not in self._by_character)
        return [character for character in unreachable if not spares or not lib.tx_input_has_symbol(ord(character))]


def read_keymap(handle: CData, locked: int) -> Keymap | int:
    """The keymap of the server now, for while exactly the modifiers `locked` are locked; a negative status when it cannot be read."""
    holders = ffi.new("int32_t[]", REAL_MODIFIERS)
    room = 1024
    while True:
        reaches = ffi.new("tx_reach[]", room)
        count = lib.tx_input_keymap(handle, locked, reaches, room, holders)
        if count < 0:
            return count
        if count <= room:
            return Keymap(reaches[0:count], [int(holders[bit]) for bit in range(REAL_MODIFIERS)])
        room = count
