"""Reads what X properties hold: bytes, text in the encoding that their type says, numbers; the window manager and the collector use it.

Each function takes the reply of a GetProperty, or the X error that came in its place, which counts as no property.
"""

from __future__ import annotations

import codecs
import struct
from typing import Any

import xcffib

from .x11_text import decode_compound_text

BLANK = " \t\n\v\f\r\0"
"""What is trimmed from a text; some programs write the zero that ends a string of C too."""


def reply_or_error(cookie: Any) -> Any:
    """The reply of a request, or the X error that came instead. Raises xcffib.ConnectionException when the display is gone."""
    try:
        return cookie.reply()
    except xcffib.Error as error:
        return error


def property_bytes(reply: Any) -> bytes:
    """The raw value; empty when there is none."""
    return b"" if isinstance(reply, xcffib.Error) else bytes(reply.value.buf())


def property_text(reply: Any, utf8_string: int, compound_text: int = 0) -> str | None:
    """A trimmed text, None when blank. The arguments are the atoms of these names; of any other type it is Latin-1, which STRING is."""
    data, kind = property_bytes(reply), getattr(reply, "type", 0)
    if kind == utf8_string:
        # What was cut off because the whole is too long may have begun a character.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=not reply.bytes_after)
    elif kind and kind == compound_text:
        text = decode_compound_text(data)
    else:
        text = data.decode("latin-1")
    return text.strip(BLANK) or None


def property_numbers(reply: Any) -> tuple[int, ...]:
    """The 32-bit units; none of a property of another format."""
    data = property_bytes(reply) if getattr(reply, "format", 0) == 32 else b""
    return struct.unpack(f"={len(data) // 4}I", data)
