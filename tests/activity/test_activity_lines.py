"""The byte bounds of a line, in the three places where the protocol looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import RemoteProtocolError
from triptych.generated.collector.vocabulary import MAX_PROTOCOL_LINE_BYTES as MAX_LINE_BYTES
from triptych.machines.collector.lines import CollectorLines


def split(*chunks: bytes) -> list[bytes]:
    splitter = CollectorLines()
    return [line for chunk in chunks for line in splitter.feed(chunk)]


def test_splits_on_newline_and_takes_one_return_away() -> None:
    assert split(b'{"a":1}\n{"b":2}\r\n\n\r\n  \n\r\r\n') == [b'{"a":1}', b'{"b":2}', b"  ", b"\r"]


def test_a_line_cut_over_chunks_comes_out_once_and_whole() -> None:
    assert split(b'{"a', b'":1', b"}\r", b"\n{") == [b'{"a":1}']


def test_what_is_unfinished_at_the_end_is_no_line() -> None:
    assert split(b"{}\n{}") == [b"{}"]


def test_a_line_of_exactly_the_bound_passes_and_one_more_byte_does_not() -> None:
    assert split(b"x" * MAX_LINE_BYTES + b"\r\n") == [b"x" * MAX_LINE_BYTES]
    with pytest.raises(RemoteProtocolError) as caught:
        split(b"x" * (MAX_LINE_BYTES + 1) + b"\n")
    assert caught.value.code == "line-too-long"


def test_an_unfinished_line_over_the_bound_is_refused_before_its_newline() -> None:
    assert split(b"x" * MAX_LINE_BYTES) == []
    with pytest.raises(RemoteProtocolError) as caught:
        split(b"x" * MAX_LINE_BYTES, b"x")
    assert caught.value.code == "line-too-long"


def test_text_that_grows_over_the_bound_in_decoding_is_refused() -> None:
    assert split(b"x" * (MAX_LINE_BYTES - 3) + b"\xff\n") == [b"x" * (MAX_LINE_BYTES - 3) + "\ufffd".encode()]
    with pytest.raises(RemoteProtocolError) as caught:
        split(b"x" * (MAX_LINE_BYTES - 2) + b"\xff\n")
    assert caught.value.code == "line-too-long"


def test_complete_lines_come_out_before_the_rest_is_measured() -> None:
    seen = []
    with pytest.raises(RemoteProtocolError) as caught:
        for line in CollectorLines().feed(b"first\nsecond\n" + b"x" * (MAX_LINE_BYTES + 1)):
            seen.append(line)
    assert (seen, caught.value.code) == ([b"first", b"second"], "line-too-long")


@given(st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line)), st.integers(1, 7))
def test_how_a_stream_is_cut_changes_nothing(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    assert split(stream) == split(*(stream[at : at + size] for at in range(0, len(stream), size)))
