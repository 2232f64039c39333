"""Decides which physical edges a press or release makes, from what this session already holds; called by the input core.

Two owners may hold a modifier: the client, by name (once, however often it says so), and chords, each for the modifiers its key needed. The
modifier goes down for its first owner and up after its last. Buttons and keys that this session did not press are never released: they
belong to the person at the desk (desklink v3, "The engine holds its own pressed-key/button state").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Move:
    """The pointer goes to a source pixel."""

    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Button:
    """A pointer button, 1 left, 2 middle, 3 right, goes down or up."""

    number: int
    down: bool


@dataclass(frozen=True, slots=True)
class Wheel:
    """Whole wheel clicks: positive is right, and down."""

    right: int
    down: int


@dataclass(frozen=True, slots=True)
class Key:
    """A key, by evdev code, goes down or up."""

    code: int
    down: bool


@dataclass(frozen=True, slots=True)
class Type:
    """A text, as the display's own layout planned it; what is held is still held after it."""

    plan: object


Edge = Move | Button | Wheel | Key | Type


class Held:
    """The keys and buttons that one session has down. Every method returns the edges to make, in order."""

    def __init__(self) -> None:
        self._buttons: dict[int, None] = {}
        self._named: dict[int, None] = {}
        self._chords: dict[int, tuple[int, ...]] = {}
        self._keys: dict[int, None] = {}

    def any_down(self, codes: Iterable[int]) -> bool:
        """Whether one of these keys is down."""
        return any(code in self._keys for code in codes)

    def button(self, number: int, down: bool) -> list[Edge]:
        """Press or release a button; pressing what is pressed, or releasing what is not, makes no edge."""
        if (number in self._buttons) == down:
            return []
        if down:
            self._buttons[number] = None
        else:
            del self._buttons[number]
        return [Button(number, down)]

    def modifier(self, code: int, down: bool) -> list[Edge]:
        """Press or release a modifier by name; a second press and a lone release make no edge."""
        if (code in self._named) == down:
            return []
        if down:
            edges = self._press(code)
            self._named[code] = None
            return edges
        del self._named[code]
        return self._release_modifier(code)

    def chord_down(self, code: int, modifiers: Iterable[int]) -> list[Edge]:
        """Press a key with the modifiers it needs; a key whose chord is already down makes no edge."""
        if code in self._chords:
            return []
        needed = tuple(sorted(set(modifiers)))
        edges: list[Edge] = []
        for modifier in needed:
            edges += self._press(modifier)
        edges += self._press(code)
        self._chords[code] = needed
        return edges

    def chord_up(self, code: int) -> list[Edge]:
        """Release a key and the modifiers recorded at its press, in reverse; a key that is not down makes no edge."""
        if code not in self._chords:
            return []
        needed = self._chords.pop(code)
        edges = self._release(code)
        for modifier in reversed(needed):
            edges += self._release_modifier(modifier)
        return edges

    def release_all(self) -> list[Edge]:
        """Everything up: buttons first, then keys in the order of their press. A second call returns nothing."""
        edges: list[Edge] = [Button(number, False) for number in self._buttons]
        edges += [Key(code, False) for code in self._keys]
        for held in (self._buttons, self._named, self._chords, self._keys):
            held.clear()
        return edges

    def _press(self, code: int) -> list[Edge]:
        if code in self._keys:
            return []
        self._keys[code] = None
        return [Key(code, True)]

    def _release(self, code: int) -> list[Edge]:
        if self._keys.pop(code, 0) == 0:
            return []
        return [Key(code, False)]

    def _release_modifier(self, code: int) -> list[Edge]:
        if code in self._named or any(code in needed for needed in self._chords.values()):
            return []
        return self._release(code)
