"""Pointer gestures in every mouse mode a program can choose, as the bytes that terminals send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from triptych.adapters.termwright.emulator import Emulator, open_emulator
from triptych.errors import LocalProtocolError
from triptych.machines.termwright import mouse


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    terminal = open_emulator(400, 50)
    yield terminal
    terminal.close()


MODES = {"x10": b"\x1b[?9h", "vt200": b"\x1b[?1000h", "drag": b"\x1b[?1002h", "any": b"\x1b[?1003h"}
ENCODINGS = {"default": b"", "utf8": b"\x1b[?1005h", "sgr": b"\x1b[?1006h", "urxvt": b"\x1b[?1015h", "sgr-pixels": b"\x1b[?1016h"}


def refused(emulator: Emulator, events: list[mouse.PointerEvent]) -> None:
    with pytest.raises(LocalProtocolError) as refusal:
        emulator.encode_pointer(events)
    assert (refusal.value.code, refusal.value.path) == ("not-actionable", "mouse-mode")


@pytest.mark.parametrize(
    ("tracking", "encoding", "sent"),
    [
        ("x10", "default", b"\x1b[M $#"),
        ("vt200", "default", b"\x1b[M $#\x1b[M#$#"),
        ("vt200", "utf8", b"\x1b[M $#\x1b[M#$#"),
        ("vt200", "urxvt", b"\x1b[32;4;3M\x1b[35;4;3M"),
        ("vt200", "sgr", b"\x1b[<0;4;3M\x1b[<0;4;3m"),
        ("drag", "sgr", b"\x1b[<0;4;3M\x1b[<0;4;3m"),
        ("any", "sgr", b"\x1b[<35;4;3M\x1b[<0;4;3M\x1b[<0;4;3m"),
        ("vt200", "sgr-pixels", b"\x1b[<0;28;40M\x1b[<0;28;40m"),
    ],
)
def test_a_click(tracking: str, encoding: str, sent: bytes, emulator: Emulator) -> None:
    emulator.feed(MODES[tracking] + ENCODINGS[encoding])
    assert (emulator.modes.mouse_tracking, emulator.modes.mouse_encoding) == (tracking, encoding)
    assert emulator.encode_pointer(mouse.click(3, 2)) == sent


def test_buttons_modifiers_and_double_clicks(emulator: Emulator) -> None:
    emulator.feed(b"\x1b[?1000h\x1b[?1006h")
    assert emulator.encode_pointer(mouse.click(0, 0, button="right")) == b"\x1b[<2;1;1M\x1b[<2;1;1m"
    assert emulator.encode_pointer(mouse.click(0, 0, button="middle", modifiers="ctrl+shift")) == b"\x1b[<21;1;1M\x1b[<21;1;1m"
    assert emulator.encode_pointer(mouse.click(0, 0, count=2)) == b"\x1b[<0;1;1M\x1b[<0;1;1m" * 2


def test_the_wheel(emulator: Emulator) -> None:
    emulator.feed(b"\x1b[?1000h\x1b[?1006h")
    assert emulator.encode_pointer(mouse.wheel(1, 1, 2)) == b"\x1b[<65;2;2M" * 2
    assert emulator.encode_pointer(mouse.wheel(1, 1, -1)) == b"\x1b[<64;2;2M"
    assert emulator.encode_pointer(mouse.wheel(1, 1, 0, 1)) == b"\x1b[<67;2;2M"
    assert emulator.encode_pointer(mouse.wheel(1, 1, 0, -1)) == b"\x1b[<66;2;2M"


def test_a_drag_visits_the_cells_between_where_motion_is_heard(emulator: Emulator) -> None:
    emulator.feed(b"\x1b[?1000h\x1b[?1006h")
    assert emulator.encode_pointer(mouse.drag((0, 0), (3, 1))) == b"\x1b[<0;1;1M\x1b[<0;4;2m"
    emulator.feed(b"\x1b[?1002h")
    assert emulator.encode_pointer(mouse.drag((0, 0), (3, 1))) == b"\x1b[<0;1;1M\x1b[<32;2;1M\x1b[<32;3;2M\x1b[<32;4;2M\x1b[<0;4;2m"


def test_what_the_program_does_not_hear_is_refused(emulator: Emulator) -> None:
    for events in (mouse.click(1, 1), mouse.wheel(1, 1, 1), mouse.hover(1, 1), mouse.drag((0, 0), (1, 1))):
        refused(emulator, events)
    emulator.feed(MODES["x10"])
    for events in (mouse.wheel(1, 1, 1), mouse.hover(1, 1), mouse.drag((0, 0), (1, 1))):
        refused(emulator, events)
    emulator.feed(MODES["drag"])
    refused(emulator, mouse.hover(1, 1))
    refused(emulator, mouse.wheel(1, 1, 0))


def test_a_column_that_the_encoding_cannot_say_is_refused(emulator: Emulator) -> None:
    emulator.feed(MODES["vt200"])
    assert emulator.encode_pointer(mouse.click(222, 0)).startswith(b"\x1b[M \xff!")
    refused(emulator, mouse.click(223, 0))
    emulator.feed(ENCODINGS["utf8"])
    assert emulator.encode_pointer(mouse.click(300, 0)).startswith("\x1b[M \u014d!".encode())
    emulator.feed(b"\x1b[?1005l" + ENCODINGS["sgr"])
    assert emulator.encode_pointer(mouse.click(399, 49)) == b"\x1b[<0;400;50M\x1b[<0;400;50m"


@pytest.mark.parametrize(
    ("how", "code"),
    [({"button": "fourth"}, "unknown-button"), ({"count": 0}, "out-of-range"), ({"modifiers": "hyper"}, "unknown-key")],
)
def test_what_is_no_click(how: dict[str, object], code: str) -> None:
    with pytest.raises(LocalProtocolError) as refusal:
        mouse.click(0, 0, **how)  # type: ignore[arg-type]  # the cases name what they pass
    assert refusal.value.code == code
