"""The names of keys, as callers write them: `tab`, `ctrl+c`, `shift+tab`, `x`. The emulator turns them into bytes."""

from __future__ import annotations

from ...errors import LocalProtocolError

MODIFIERS = {"shift": 1, "ctrl": 2, "alt": 4, "super": 8}

KEYS = {
    "tab": "TAB",
    "enter": "ENTER",
    "escape": "ESCAPE",
    "backspace": "BACKSPACE",
    "delete": "DELETE",
    "insert": "INSERT",
    "home": "HOME",
    "end": "END",
    "pageup": "PAGE_UP",
    "pagedown": "PAGE_DOWN",
    "up": "ARROW_UP",
    "down": "ARROW_DOWN",
    "left": "ARROW_LEFT",
    "right": "ARROW_RIGHT",
    "space": "SPACE",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}


def split_key(key: str) -> tuple[str, int]:
    """The base name and the modifier bits of a key such as `tab`, `ctrl+c`, `shift+tab`, `x` or `+`; raises `unknown-key`."""
    if not isinstance(key, str):
        raise LocalProtocolError("unknown-key", f"{key!r} is no key: a key is a text such as 'enter' or 'ctrl+c'")
    *held, name = ("+",) if key == "+" else [*key[:-2].split("+"), "+"] if key.endswith("++") else key.split("+")
    modifiers = 0
    for modifier in held:
        if modifier.lower() not in MODIFIERS:
            raise LocalProtocolError("unknown-key", f"{modifier!r} is no modifier; there are {', '.join(MODIFIERS)}", key)
        modifiers |= MODIFIERS[modifier.lower()]
    if len(name) != 1:
        name = name.lower()
        if name not in KEYS:
            raise LocalProtocolError("unknown-key", f"{name!r} is no key; a single character, or one of {', '.join(KEYS)}", key)
    return name, modifiers
