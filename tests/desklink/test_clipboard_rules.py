"""What of a clipboard's text goes over the wire, decided without an X server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import RemoteProtocolError
from triptych.generated.desklink.vocabulary import MAX_CLIPBOARD_BYTES
from triptych.machines.desklink import clipboard
from triptych.machines.desklink.clipboard import decoded, encoded


def test_the_limit_is_that_of_the_protocol() -> None:
    assert MAX_CLIPBOARD_BYTES == 262144
    assert clipboard.SECONDS == 3.0
    assert len(encoded("x" * MAX_CLIPBOARD_BYTES)) == MAX_CLIPBOARD_BYTES
    with pytest.raises(RemoteProtocolError, match="262145 bytes") as refusal:
        encoded("x" * (MAX_CLIPBOARD_BYTES + 1))
    assert refusal.value.code == "clipboard"
    with pytest.raises(RemoteProtocolError):
        encoded("é" * (MAX_CLIPBOARD_BYTES // 2 + 1))


def test_what_is_no_text_is_not_written() -> None:
    with pytest.raises(RemoteProtocolError, match="surrogate") as refusal:
        encoded("a\ud800")
    assert refusal.value.code == "clipboard"


@pytest.mark.parametrize(
    ("data", "limit", "expected"),
    [
        (b"", 4, ("", False)),
        (b"abcd", 4, ("abcd", False)),
        (b"abcde", 4, ("abcd", True)),
        ("ab😀".encode(), 6, ("ab😀", False)),
        ("ab😀".encode(), 5, ("ab", True)),
        ("ab😀".encode(), 3, ("ab", True)),
        ("ab😀".encode(), 2, ("ab", True)),
        ("日本".encode(), 4, ("日", True)),
        (b"ab\0\r\n", 5, ("ab\0\r\n", False)),
        ("\ufeffa".encode(), 9, ("\ufeffa", False)),
    ],
)
def test_a_long_text_is_cut_between_two_characters(data: bytes, limit: int, expected: tuple[str, bool]) -> None:
    assert decoded(data, limit) == expected


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        (b"\xff", 9),
        (b"ab\xc3", 9),  # it ends within a character, and nothing was cut
        (b"a\xc3b" + b"x" * 9, 4),
        ("\ud800".encode("utf-8", "surrogatepass"), 9),
        (b"\xc0\x80", 9),
        (b"\xf4\x90\x80\x80", 9),
    ],
)
def test_what_is_not_utf8_before_the_cut_is_refused(data: bytes, limit: int) -> None:
    with pytest.raises(RemoteProtocolError, match="not UTF-8") as refusal:
        decoded(data, limit)
    assert refusal.value.code == "clipboard"


def test_what_is_not_utf8_behind_the_cut_is_nobodys_business() -> None:
    assert decoded(b"abcd\xff\xff", 4) == ("abcd", True)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers(0, 40))
def test_any_text_comes_back_or_is_a_prefix_that_no_character_would_fit_behind(text: str, limit: int) -> None:
    seen, cut = decoded(text.encode(), limit)
    assert cut == (len(text.encode()) > limit)
    assert text.startswith(seen)
    assert not cut or len(text[: len(seen) + 1].encode()) > limit
    assert cut or seen == text
