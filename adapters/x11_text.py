"""Decodes compound text, in which X programs of before Unicode write titles and selections; called where an X property is read.

It is ISO 2022: ASCII on the left and Latin-1 on the right to begin with, other sets by escape sequence, and UTF-8 by `ESC % G`. What no
sequence here explains is decoded as U+FFFD, so this never fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

#: The right half: sets of 96 characters, by the final byte of `ESC -`.
_PARTS = {"A": 1, "B": 2, "C": 3, "D": 4, "F": 7, "G": 6, "H": 8, "L": 5, "M": 9, "V": 10, "Y": 13, "_": 14, "b": 15, "f": 16}
#: Sets of 94 x 94 characters, by the final byte of `ESC $ (` and `ESC $ )`: the encoding that has their bytes with the high bit set.
_WIDE = {"A": "gb2312", "B": "euc_jp", "C": "euc_kr"}

_ESCAPE = re.compile(
    rb"\x1b(?:%G(?P<utf8>.*?)(?:\x1b%@|\Z)"  # a stretch of UTF-8
    rb"|%/[0-4](?P<extended>..)"  # one of a named encoding, with its length
    rb"|(?P<set>\$?[()-])(?P<final>[0-~])"
    rb"|[ -/]*[0-~]?)"  # one that is unknown says nothing
    rb"|\x9b[ -?]*[@-~]",  # the direction of writing
    re.DOTALL,
)
#: The encodings that Xlib and programs name; a name that is none of these must not reach Python's search for codecs.
_NAMED = re.compile(rb"(big5(?:hkscs)?|gbk|gb18030|koi8-[ru]|iso8859-\d{1,2}|cp125\d)(?:-0)?", re.IGNORECASE)

_Decode = Callable[[bytes], str]


def decode_compound_text(data: bytes) -> str:
    """The text of a COMPOUND_TEXT property, or of the first part of one."""
    return "".join(_pieces(data))


def _pieces(data: bytes) -> Iterator[str]:
    left, right = _by("ascii"), _by("latin-1")
    at = 0
    while escape := _ESCAPE.search(data, at):
        yield from _halves(data[at : escape.start()], left, right)
        at = escape.end()
        if (utf8 := escape["utf8"]) is not None:
            yield utf8.decode("utf-8", "replace")
        elif (length := escape["extended"]) is not None:
            segment = data[at : at + (length[0] & 127) * 128 + (length[1] & 127)]
            at += len(segment)
            yield _named(segment)
        elif escape["set"] is not None:
            half, wide, final = escape["set"][-1:], escape["set"][:1] == b"$", escape["final"].decode()
            decode = _wide(final) if wide else _by(f"iso8859-{_PARTS.get(final, 0)}") if half == b"-" else _narrow(final)
            if half == b"(":
                left = decode
            else:
                right = decode
    yield from _halves(data[at:], left, right)


def _halves(data: bytes, left: _Decode, right: _Decode) -> Iterator[str]:
    for run in re.finditer(rb"[\x00-\x7f]+|[\x80-\xff]+", data):
        yield (left if run[0][0] < 0x80 else right)(run[0])


def _by(encoding: str) -> _Decode:
    def decode(data: bytes) -> str:
        try:
            return data.decode(encoding, "replace")
        except LookupError:
            return "\N{REPLACEMENT CHARACTER}" * len(data)

    return decode


def _narrow(final: str) -> _Decode:
    if final == "I":  # half-width katakana
        return lambda data: bytes(byte | 0x80 for byte in data).decode("shift_jis", "replace")
    # ASCII, or what differs from it in two signs of money and one line.
    return lambda data: bytes(byte & 0x7F for byte in data).decode("ascii")


def _wide(final: str) -> _Decode:
    if final not in _WIDE:
        return lambda data: "\N{REPLACEMENT CHARACTER}" * (len(data) // 2)
    # Control characters, such as a newline, keep their meaning among the characters of two bytes.
    return lambda data: "".join(
        run[0].decode("latin-1") if run[0][0] & 0x7F <= 0x20 else bytes(byte | 0x80 for byte in run[0]).decode(_WIDE[final], "replace")
        for run in re.finditer(rb"[\x00-\x20\x80-\xa0]+|[\x21-\x7f\xa1-\xff]+", data)
    )


def _named(segment: bytes) -> str:
    name, _, text = segment.partition(b"\x02")
    known = _NAMED.fullmatch(name)
    return _by(known[1].decode().lower() if known else "")(text)
