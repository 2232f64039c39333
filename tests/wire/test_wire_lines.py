"""Lines cut from a byte stream under a bound: whole however the stream is cut, in step again after one that is too long."""

from __future__ import annotations

import random

import pytest

from triptych.generated.desklink.vocabulary import MAX_LINE_BYTES
from triptych.machines.wire.lines import LineSplitter, TooLong


def test_lines_come_out_whole_however_the_stream_is_cut() -> None:
    lines = [b"", b"a", b"{}" * 50, "ü😀".encode(), b"\r", b"x" * 1000]
    stream = b"".join(line + b"\n" for line in lines)
    chance = random.Random(5)
    for _ in range(50):
        splitter, seen, at = LineSplitter(2000), [], 0
        while at < len(stream):
            step = chance.choice((1, 2, 7, 400))
            seen += splitter.feed(stream[at : at + step])
            at += step
        assert seen == lines
        assert splitter.finish() == []


def test_last_line_needs_no_newline() -> None:
    splitter = LineSplitter(100)
    assert splitter.feed(b"one\ntwo") == [b"one"]
    assert splitter.finish() == [b"two"]
    assert splitter.finish() == []


@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_a_line_beyond_the_bound_is_told_once_and_the_next_line_is_in_step(chunk: int) -> None:
    stream = b"12345678\n" + b"123456789\n" + b"next\n" + b"y" * 50
    splitter, seen = LineSplitter(8), []
    for at in range(0, len(stream), chunk):
        seen += splitter.feed(stream[at : at + chunk])
    assert seen == [b"12345678", TooLong(8), b"next", TooLong(8)]
    assert splitter.finish() == []


def test_the_bound_holds_a_full_feed_line() -> None:
    # 8 MiB in base64 with its padding, and the envelope around it.
    line = b"x" * (8 * 1024 * 1024 * 4 // 3 + 4 + 200)
    assert len(line) < MAX_LINE_BYTES
    assert LineSplitter(MAX_LINE_BYTES).feed(line + b"\n") == [line]


def test_where_only_whole_lines_count_an_unfinished_one_at_the_end_is_none() -> None:
    splitter = LineSplitter(100, whole_only=True)
    assert splitter.feed(b"one\ntwo") == [b"one"]
    assert splitter.finish() == []
