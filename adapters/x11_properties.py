"""Reads what X properties hold: bytes, text in the encoding that their type says, numbers; the window manager and the collector use it.

Each function takes the reply of a GetProperty, or the X error that came in its place, which counts as no property.
"""

from __future__ import annotations

import struct
from typing import Any

import xcffib


def reply_or_error(cookie: Any) -> Any:
    """The reply of a request, or the X error that came instead. Raises xcffib.ConnectionException when the display is gone."""
    try:
        return cookie.reply()
    except xcffib.Error as error:
        return error


def property_bytes(reply: Any) -> bytes:
    """The raw value; empty when there is none."""
    return b"" if isinstance(reply, xcffib.Error) else bytes(reply.value.buf())


def property_text(reply: Any, utf8_string: int) -> str | None:
    """A trimmed text, None when blank. `utf8_string`: the atom of that name; of any other type it is Latin-1, which is what STRING is."""
    encoding = "utf-8" if getattr(reply, "type", 0) == utf8_string else "latin-1"
    return property_bytes(reply).decode(encoding, errors="replace").strip() or None


def property_numbers(reply: Any) -> tuple[int, ...]:
    """The 32-bit units; none of a property of another format."""
    data = property_bytes(reply) if getattr(reply, "format", 0) == 32 else b""
    return struct.unpack(f"={len(data) // 4}I", data)
