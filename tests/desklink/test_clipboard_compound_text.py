"""Compound text, decoded: what Xlib makes of real texts, what its rules allow beyond that, and bytes that mean nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.adapters.x11_text import decode_compound_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        # As Xutf8TextListToTextProperty writes them.
        (b"plain", "plain"),
        (b"na\xefve Gr\xf6\xdfe", "naïve Größe"),
        (b"\x1b-L\xb6 \xbf\xe0\xd8\xd2\xd5\xe2", "Ж Привет"),
        (b"\x1b-F\xc5\xeb\xeb\xe7\xed\xe9\xea\xdc", "Ελληνικά"),
        (b"\x1b$(BF|K\\8l\x1b(B \x1b$(B%F%9%H", "日本語 テスト"),
        (b"\x1b$(BCfJ8\x1b$(A<r\x1b$(BBN", "中文简体"),
        (b"\x1b$(BHKqsCfJ8", "繁體中文"),
        (b"\x1b$(CGQ19>n", "한국어"),
        (b"\x1b)I\xb1\xb2\xb3", "ｱｲｳ"),
        (b"\x1b-B\xa3\x1b-A\xf3d\x1b-B\xbc \x1b-b\xa4 \x1b-Y\xb4q\xa1", "Łódź € “q”"),
        (b"\x1b-C\xa9stanbul \xbb", "İstanbul ğ"),
        (b"\x1b-D\xe0 \xf3 \xf1", "ā ķ ņ"),
        (b"\x1b%G\xe0\xb9\x84\xe0\xb8\x97\xe0\xb8\xa2\x1b%@", "ไทย"),
        (b"a\x1b%G\xf0\x9f\x98\x80\x1b%@z", "a😀z"),
        # Also allowed.
        (b"two\nlines\tand a tab", "two\nlines\tand a tab"),
        (b"\x1b$(BF|\nK\\", "日\n本"),
        (b"\x1b$)BF\x1b(B", "F"),
        (b"\x1b$)B\xc6\xfc a", "日 a"),
        (b"\x9b2]\x1b-H\xf9\xec\x9b]", "של"),
        (b"x\x1b%/2\x80\x8bbig5-0\x02\xa4\xa4\xa4\xe5y", "x中文y"),
        (b"\x1b%/1\x80\x8ciso8859-15\x02\xa4z", "€z"),
        # Cut off, or unknown.
        (b"\x1b%G\xe0\xb9\x84\xe0\xb8", "ไ\N{REPLACEMENT CHARACTER}"),
        (b"\x1b$(BF|K", "日\N{REPLACEMENT CHARACTER}"),
        (b"end \x1b", "end "),
        (b"end \x1b$(", "end "),
        (b"\x1b-zab\xe4", "ab\N{REPLACEMENT CHARACTER}"),
        (b"\x1b$(zabcd\x1b(Be", "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}e"),
        (b"\x1b%/2\x80\x85zip\x02a", "\N{REPLACEMENT CHARACTER}"),
        (b"", ""),
    ],
)
def test_compound_text(data: bytes, text: str) -> None:
    assert decode_compound_text(data) == text


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b"\x1b", b"%", b"/2", b"$", b"(", b")", b"-", b"B", b"G", b"\x80\x84", b"a", b"\xff"])).map(b"".join)
)
def test_no_bytes_break_it(data: bytes) -> None:
    decode_compound_text(data).encode()
