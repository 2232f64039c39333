"""Names the keys and modifiers that a client may ask for, and what the input core asks of a keyboard layout; used by the input core.

The names are those of the UI Events `key` and `code` values that clients send (desklink v3, `key`). Codes are evdev's; an X keycode is
8 more.
"""

from __future__ import annotations

from typing import Protocol

from ...generated.desklink.vocabulary import EXTRA_KEY_CODES, MODIFIER_CODES, NAMED_KEY_CODES

MODIFIERS: dict[str, int] = MODIFIER_CODES
NAMED_KEYS: dict[str, int] = NAMED_KEY_CODES | EXTRA_KEY_CODES
COMMANDING = frozenset(MODIFIERS[name] for name in ("Control", "ControlRight", "Alt", "Meta", "MetaRight"))
"""The modifiers that make a shortcut of a character, not another character."""


class Layout(Protocol):
    """The live keyboard layout of the display that input goes to."""

    def stroke(self, character: str, *, any_group: bool = False) -> tuple[int, tuple[int, ...]] | None:
        """The key that makes `character` (one code point) now, and the modifiers it needs, as evdev codes; None when no key does.

        With `any_group`, a key that would make it in another layout group will do.
        """
        ...

    def plan(self, text: str, *, unicode: bool = False) -> object:
        """How to type the whole text, with `unicode` by keys borrowed for what the layout lacks; what is held stays held.

        Raises LocalProtocolError (text-unsupported) that names every character it cannot type.
        """
        ...
