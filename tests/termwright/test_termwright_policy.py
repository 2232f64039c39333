"""What the terminal grants a program, and what it draws: graphemes, styles, modes, links, the clipboard, answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.adapters.termwright.emulator import PLAIN, Cell, Emulator, Policy, Style, open_emulator
from triptych.adapters.termwright.policy import QUESTIONS

FAMILY, HEART = "👩\u200d👩\u200d👧", "❤\ufe0f"


@contextmanager
def terminal(columns: int = 20, rows: int = 4, **how: object) -> Iterator[Emulator]:
    emulator = open_emulator(columns, rows, **how)  # type: ignore[arg-type]  # the tests name what they pass
    try:
        yield emulator
    finally:
        emulator.close()


def widths(emulator: Emulator) -> list[tuple[str, int]]:
    return [(cell.text, cell.width) for cell in emulator.cells()[0] if cell.text or cell.width == 0]


def test_clusters_join_only_in_mode_2027() -> None:
    with terminal() as emulator:
        emulator.feed(f"{FAMILY}{HEART}".encode())
        assert widths(emulator) == [("👩\u200d", 2), ("", 0), ("👩\u200d", 2), ("", 0), ("👧", 2), ("", 0), ("❤\ufe0f", 1)]
        assert emulator.modes.grapheme_clusters is False
        emulator.feed(f"\x1b[?2027h\r\x1b[2K{FAMILY}{HEART}".encode())
        assert widths(emulator) == [(FAMILY, 2), ("", 0), (HEART, 2), ("", 0)]
        emulator.feed(b"\x1bc")
        assert emulator.modes.grapheme_clusters is False


def test_the_option_starts_with_clusters_and_a_reset_keeps_them() -> None:
    with terminal(policy=Policy(grapheme_clusters=True)) as emulator:
        emulator.feed(FAMILY.encode())
        assert widths(emulator) == [(FAMILY, 2), ("", 0)]
        emulator.feed(b"\x1bc")
        assert emulator.modes.grapheme_clusters is True
        emulator.feed(f"\x1b[?2027l{HEART}".encode())
        assert widths(emulator) == [(HEART, 1)]


def test_a_copy_is_exact_whatever_mode_its_cells_were_drawn_in() -> None:
    with terminal() as emulator:
        emulator.feed(f"{FAMILY}\r\n\x1b[?2027h{FAMILY}|\x1b[?2027l".encode())
        screen = emulator.screen()
        emulator.feed(b"\x1bc")
        assert [cell.text for cell in screen.cells[0][:6:2]] == ["👩\u200d", "👩\u200d", "👧"]
        assert [cell.text for cell in screen.cells[1][:3]] == [FAMILY, "", "|"]


def test_a_wide_character_at_the_edge_wraps() -> None:
    with terminal(5, 2) as emulator:
        emulator.feed("abcd中".encode())
        assert emulator.screen().lines == ("abcd", "中")
        assert emulator.cells()[0][4] == Cell("", 1)
        assert emulator.text() == "abcd\n中"


def test_styles() -> None:
    with terminal() as emulator:
        emulator.feed(b"\x1b[1;3;4:3;58;2;1;2;3;38;5;196;48;2;10;20;30mA\x1b[0;2;5;7;8;9;53;21mB\x1b[0mC\x1b[44m\x1b[K")
        first, second, plain, erased = emulator.cells()[0][:4]
        assert first.style == Style(
            foreground=(255, 0, 0), background=(10, 20, 30), underline_color=(1, 2, 3), bold=True, italic=True, underline=3
        )
        assert second.style == Style(faint=True, blink=True, inverse=True, invisible=True, strikethrough=True, overline=True, underline=2)
        assert plain.style is PLAIN
        assert erased == Cell("", 1, Style(background=(129, 162, 190)))


def test_a_palette_that_the_program_changes() -> None:
    with terminal() as emulator:
        emulator.feed(b"\x1b]4;1;rgb:12/34/56\x07\x1b[31mx")
        assert emulator.cells()[0][0].style.foreground == (0x12, 0x34, 0x56)


def test_equal_styles_on_many_rows_are_each_their_own() -> None:
    with terminal(30, 60) as emulator:
        for row in range(60):
            emulator.feed(f"\x1b[{row + 1};1H".encode() + b"".join(b"\x1b[38;2;%d;%d;0mx" % (row, column) for column in range(30)))
        cells = emulator.cells()
        assert all(cells[row][column].style.foreground == (row, column, 0) for row in range(60) for column in range(30))


def test_modes_are_told() -> None:
    with terminal() as emulator:
        off = emulator.modes
        assert (off.mouse_tracking, off.mouse_encoding, off.alternate_screen, off.bracketed_paste) == ("none", "default", False, False)
        emulator.feed(b"\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?1h\x1b[?1002h\x1b[?1006h\x1b[?2026h")
        on = emulator.modes
        assert (on.mouse_tracking, on.mouse_encoding, on.alternate_screen, on.bracketed_paste) == ("drag", "sgr", True, True)
        assert (on.focus_reporting, on.application_cursor_keys, on.synchronized_output) == (True, True, True)


def test_a_synchronized_update_is_seen_as_it_stands() -> None:
    with terminal() as emulator:
        emulator.feed(b"old\x1b[?2026h\rnew")
        assert emulator.screen().text == "new"


def test_the_cursor_and_the_title() -> None:
    with terminal() as emulator:
        assert (emulator.screen().cursor_shape, emulator.screen().title) == ("block", "")
        for sequence, shape in ((b"\x1b[5 q", "bar"), (b"\x1b[4 q", "underline"), (b"\x1b[2 q", "block")):
            emulator.feed(sequence)
            assert emulator.screen().cursor_shape == shape
        emulator.feed("\x1b]2;Zażółć\x07".encode())
        assert emulator.screen().title == "Zażółć"


def test_hyperlinks() -> None:
    with terminal() as emulator:
        emulator.feed(b"\x1b]8;;https://example.org/a?b\x1b\\link\x1b]8;;\x1b\\ plain")
        assert emulator.text() == "link plain"
        assert emulator.link(0, 0) == emulator.link(3, 0) == "https://example.org/a?b"
        assert emulator.link(5, 0) is None


def test_pasting() -> None:
    with terminal() as emulator:
        assert emulator.encode_paste("one\ntwo\x1b[201~\x03\x9b\t") == b"one\rtwo [201~  \t"
        emulator.feed(b"\x1b[?2004h")
        assert emulator.encode_paste("one\ntwo\x1b[201~ż") == "\x1b[200~one\ntwo [201~ż\x1b[201~".encode()
        assert emulator.encode_paste("") == b""


@pytest.mark.parametrize("sequence", [b"\x1b]52;c;?\x07", b"\x1b]52;p;?\x1b\\", b"\x1b]52;;?\x07"])
def test_the_clipboard_is_never_read(sequence: bytes) -> None:
    replies: list[bytes] = []
    with terminal(on_reply=replies.append, policy=Policy(clipboard_bytes=100)) as emulator:
        emulator.feed(b"\x1b]52;c;c2VjcmV0\x07" + sequence)
        assert replies == []


def test_the_clipboard_is_written_only_as_far_as_the_policy_lets() -> None:
    for allowed, taken in ((0, []), (6, ["secret"]), (5, [])):
        written: list[str] = []
        with terminal(on_clipboard=written.append, policy=Policy(clipboard_bytes=allowed)) as emulator:
            emulator.feed(b"\x1b]52;c;c2VjcmV0\x07\x1b]52;c;!!!\x07")
            assert (written, emulator.text()) == (taken, "")


ASKED = {
    "attributes": (b"\x1b[c", b"\x1b[>c", b"\x1b[=c"),
    "status": (b"\x1b[5n", b"\x1b[6n"),
    "modes": (b"\x1b[?2026$p", b"\x1bP$qm\x1b\\"),
    "colors": (b"\x1b]10;?\x07", b"\x1b]11;?\x1b\\", b"\x1b]4;1;?\x07"),
    "size": (b"\x1b[14t", b"\x1b[16t", b"\x1b[18t"),
    "version": (b"\x1b[>q",),
    "keyboard": (b"\x1b[?u",),
    "capabilities": (b"\x1bP+q636f6c73\x1b\\",),
}


def test_every_question_is_known() -> None:
    assert set(ASKED) == QUESTIONS


@pytest.mark.parametrize("kind", sorted(ASKED))
def test_questions_are_answered_by_policy(kind: str) -> None:
    for policy, answered in ((Policy(), True), (Policy(answers=frozenset({kind})), True), (Policy(answers=QUESTIONS - {kind}), False)):
        for question in ASKED[kind]:
            replies: list[bytes] = []
            with terminal(on_reply=replies.append, policy=policy) as emulator:
                emulator.feed(question)
                assert bool(replies) is answered, (question, replies)


def test_a_silent_terminal_and_what_is_no_question() -> None:
    replies: list[bytes] = []
    with terminal(on_reply=replies.append, policy=Policy(answers=frozenset())) as emulator:
        for question in (sequence for group in ASKED.values() for sequence in group):
            emulator.feed(question)
    assert replies == []
    with pytest.raises(ValueError, match="horoscope"):
        Policy(answers=frozenset({"horoscope"}))


def test_the_title_is_not_reported_and_pictures_are_not_stored() -> None:
    replies: list[bytes] = []
    with terminal(on_reply=replies.append) as emulator:
        emulator.feed(b"\x1b]2;rm -rf\x07\x1b[21t\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b_Gi=1,a=t,t=f,f=100;L2V0Yy9wYXNzd2Q=\x1b\\")
        assert not any(b"rm" in reply or b"OK" in reply for reply in replies)


def test_the_size_that_is_told_is_the_present_one() -> None:
    replies: list[bytes] = []
    with terminal(on_reply=replies.append) as emulator:
        emulator.resize(30, 7)
        emulator.feed(b"\x1b[18t\x1b[14t")
        assert replies == [b"\x1b[8;7;30t", b"\x1b[4;112;240t"]


def test_a_flood_of_combining_marks_is_bounded() -> None:
    with terminal() as emulator:
        emulator.feed(("e" + "\u0301" * 100_000).encode() + b"\x1b[?2027h\r\n" + ("👩" + "\u200d👩" * 20_000).encode())
        assert all(len(cell.text) < 1000 for row in emulator.cells() for cell in row)
        assert len(emulator.text()) < 10_000


PIECES = st.sampled_from(
    ["a", "Z", " ", "中",
     "e\u0301", FAMILY, HEART, "\r\n", "\t", "\x08", "\x1b[2;3H", "\x1b[31m", "\x1b[0m", "\x1b[K", "\x1b[2J", "\x1b[?2027h",
     "\x1b[?2027l", "\x1b[?1049h", "\x1b[?1049l", "\x1b[2L", "\x1b[P", "\x1b[3@", "\x1b]8487;twm;1;x\x07", "\x1b[4;1H\n", "\x1b(0q\x1b(B"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60), st.integers(1, 9))
def test_a_copy_says_what_the_emulator_says_and_any_split_draws_the_same(pieces: list[str], size: int) -> None:
    stream = "".join(pieces).encode()
    with terminal(7, 4) as whole, terminal(7, 4) as split:
        whole.feed(stream)
        for start in range(0, len(stream), size):
            split.feed(stream[start : start + size])
        screen = whole.screen()
        assert screen.text == "\n".join(line.rstrip() for line in whole.text().split("\n"))
        assert screen.cells == split.cells()
        assert all(sum(cell.width for cell in row) == 7 for row in screen.cells)
