from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from triptych.adapters.termwright.emulator import Cell, Emulator, Style, open_emulator
from triptych.errors import LocalProtocolError


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    terminal = open_emulator(20, 4)
    yield terminal
    terminal.close()
    terminal.close()


def test_the_marker_is_swallowed_and_seen_between_the_cells_before_and_after_it() -> None:
    seen = []
    terminal = open_emulator(20, 4, on_marker=lambda payload: seen.append((payload, terminal.text(), terminal.screen().text)))
    try:
        for chunk in (b"before\x1b]84", b"87;twm;1;abc\x07after", b"\x1b]8487;twm;2;\x1b\\", b"\x1b]8488;twm;3;x\x07"):
            terminal.feed(chunk)
        assert seen == [("twm;1;abc", "before", "before"), ("twm;2;", "beforeafter", "beforeafter")]
        assert terminal.text() == "beforeafter"
    finally:
        terminal.close()


def test_a_marker_is_swallowed_without_a_listener(emulator: Emulator) -> None:
    emulator.feed(b"a\x1b]8487;twm;1;abc\x07b")
    assert emulator.text() == "ab"


def test_a_screen_is_a_copy(emulator: Emulator) -> None:
    for line in range(30):
        emulator.feed(f"line {line}\r\n".encode())
    emulator.feed("\x1b[31m中e\u0301\x1b[0m\x1b[?25l".encode())
    screen = emulator.screen()
    emulator.feed(b"\x1b[2J\x1b[Hgone")
    assert screen.lines == ("line 27", "line 28", "line 29", "中e\u0301")
    assert screen.text == "line 27\nline 28\nline 29\n中e\u0301"
    assert (screen.columns, screen.rows, screen.cursor, screen.cursor_visible) == (20, 4, (3, 3), False)
    red = Style(foreground=(204, 102, 102))
    assert screen.cells[3][:4] == (Cell("中", 2, red), Cell("", 0, red), Cell("e\u0301", 1, red), Cell("", 1))
    assert [len(row) for row in screen.cells] == [20] * 4
    assert emulator.screen().lines[0] == "gone"


def test_the_alternate_screen_and_resizing(emulator: Emulator) -> None:
    emulator.feed(b"shell\x1b[?1049h\x1b[Hfull screen")
    assert emulator.screen().lines[0] == "full screen"
    emulator.resize(30, 5)
    assert emulator.size == (30, 5)
    assert len(emulator.screen().lines) == 5
    emulator.feed(b"\x1b[?1049l")
    assert emulator.text() == "shell"


def test_device_queries_are_answered_and_the_clipboard_is_not() -> None:
    replies: list[bytes] = []
    terminal = open_emulator(20, 4, on_reply=replies.append)
    try:
        terminal.feed(b"ab\x1b[6n")
        assert replies == [b"\x1b[1;3R"]
        terminal.feed(b"\x1b]52;c;?\x07")
        assert len(replies) == 1
    finally:
        terminal.close()


@pytest.mark.parametrize(
    ("key", "normal", "application", "kitty"),
    [
        ("tab", b"\t", b"\t", b"\t"),
        ("shift+tab", b"\x1b[Z", b"\x1b[Z", b"\x1b[9;2u"),
        ("enter", b"\r", b"\r", b"\r"),
        ("escape", b"\x1b", b"\x1b", b"\x1b[27u"),
        ("up", b"\x1b[A", b"\x1bOA", b"\x1b[A"),
        ("ctrl+up", b"\x1b[1;5A", b"\x1b[1;5A", b"\x1b[1;5A"),
        ("ctrl+c", b"\x03", b"\x03", b"\x1b[99;5u"),
        ("alt+x", b"\x1bx", b"\x1bx", b"\x1b[120;3u"),
        ("f5", b"\x1b[15~", b"\x1b[15~", b"\x1b[15~"),
        ("backspace", b"\x7f", b"\x7f", b"\x7f"),
        ("space", b" ", b" ", b" "),
        ("ctrl+space", b"\x00", b"\x00", b"\x1b[32;5u"),
        ("a", b"a", b"a", b"a"),
        ("A", b"A", b"A", b"A"),
        ("7", b"7", b"7", b"7"),
        ("+", b"+", b"+", b"+"),
        ("ż", "ż".encode(), "ż".encode(), "ż".encode()),
    ],
)
def test_keys_follow_the_terminal_s_modes(key: str, normal: bytes, application: bytes, kitty: bytes, emulator: Emulator) -> None:
    assert emulator.encode_key(key) == normal
    emulator.feed(b"\x1b[?1h")
    assert emulator.encode_key(key) == application
    emulator.feed(b"\x1b[?1l\x1b[>1u")
    assert emulator.encode_key(key) == kitty


@pytest.mark.parametrize("key", ["", "return", "hyper+a", "ctrl+", "tab+a"])
def test_what_is_no_key(key: str, emulator: Emulator) -> None:
    with pytest.raises(LocalProtocolError) as refused:
        emulator.encode_key(key)
    assert refused.value.code == "unknown-key"


def test_typing(emulator: Emulator) -> None:
    assert emulator.encode_text("Ab 1!\n\tż😀") == "Ab 1!\r\tż😀".encode()


def test_the_emulator_is_loaded_only_when_one_is_opened_and_its_absence_is_said() -> None:
    code = (
        "import sys; sys.modules['pyghostty.core'] = None\n"
        "from triptych.adapters.termwright import driver, emulator\n"
        "from triptych.errors import Unavailable\n"
        "try: emulator.open_emulator(80, 24)\n"
        "except Unavailable as gone: print(gone.remedy)\n"
    )
    answer = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (answer.stdout.strip(), answer.stderr) == ("pip install 'triptych[terminal]'", "")
