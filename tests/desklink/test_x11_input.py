"""Physical input through XTEST, as a real GTK program receives it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from gtk_kit import GtkForm
from triptych.adapters.desklink.x11_connection import DisplayLost
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.errors import LocalProtocolError, Unavailable

pytestmark = pytest.mark.display

SHIFT, RETURN, CAPS_LOCK = 50, 36, 66


@pytest.fixture
def hand(private_display: PrivateDisplay) -> Iterator[X11Input]:
    with X11Input(private_display.name) as opened:
        yield opened


def click(hand: X11Input, form: GtkForm, widget: str) -> None:
    hand.move(*form.centre(widget))
    hand.button(1, True)
    hand.button(1, False)


def use_layout(display: PrivateDisplay, *arguments: str) -> None:
    subprocess.run(["setxkbmap", *arguments], env=display.env, check=True)


def test_a_click_and_a_typed_line_reach_the_program(gtk_window: GtkForm, hand: X11Input) -> None:
    click(hand, gtk_window, "Name")
    gtk_window.wait_for("focus", name="Name")
    hand.type_text("Hello, {World}! ~@#\n")
    gtk_window.wait_for("activate", value="Hello, {World}! ~@#")
    click(hand, gtk_window, "Save")
    gtk_window.wait_for("click", name="Save", count=1)


def test_a_tab_moves_on_and_the_password_is_received_whole(gtk_window: GtkForm, hand: X11Input) -> None:
    click(hand, gtk_window, "Name")
    hand.type_text("user\tS3cret!")
    gtk_window.wait_for("text", value="user")
    gtk_window.wait_for("password", length=7)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (("-layout", "us"), "`az<>\\\"' |"),
        (("-layout", "de"), "zy ÄÖÜß @€ {[]}\\ ~ µ²"),
        (("-layout", "fr"), "aqéèçà 1234 &#{"),
        (("-layout", "de", "-variant", "neo"), "azß £ 6 {}"),
        (("-layout", "us,ru"), "mixed Привет text, Ё!"),
    ],
    ids=lambda value: "-".join(value[1::2]) if isinstance(value, tuple) else "",
)
def test_every_layout_types_exactly_what_was_asked(
    private_display: PrivateDisplay, gtk_window: GtkForm, hand: X11Input, layout: tuple[str, ...], text: str
) -> None:
    use_layout(private_display, *layout)
    click(hand, gtk_window, "Name")
    gtk_window.wait_for("focus", name="Name")
    hand.type_text(text + "\n")
    gtk_window.wait_for("activate", value=text)
    assert hand.pressed() == frozenset()


def test_caps_lock_neither_spoils_the_text_nor_is_lost(gtk_window: GtkForm, hand: X11Input) -> None:
    click(hand, gtk_window, "Name")
    gtk_window.wait_for("focus", name="Name")
    for down in (True, False):
        hand.key(CAPS_LOCK, down)
    hand.type_text("aBc\n")
    gtk_window.wait_for("activate", value="aBc")
    a = hand.lookup("a")
    assert a is not None
    for down in (True, False):
        hand.key(a.keycode, down)
    gtk_window.wait_for("text", value="aBcA")


def test_an_unreachable_character_is_named_and_nothing_is_typed(gtk_window: GtkForm, hand: X11Input) -> None:
    click(hand, gtk_window, "Name")
    gtk_window.wait_for("focus", name="Name")
    with pytest.raises(LocalProtocolError) as refusal:
        hand.type_text("abc é 😀 é\r")
    assert refusal.value.code == "text-unsupported"
    assert "'é' '😀' '\\r'" in refusal.value.detail
    assert refusal.value.detail.count("é") == 1
    hand.type_text("next\n")
    gtk_window.wait_for("activate", value="next")
    assert "abc" not in str(gtk_window.events)


def test_lookup_follows_the_live_layout(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand:
        us = hand.lookup("z")
        use_layout(bare_display, "-layout", "de")
        de = hand.lookup("z")
        assert us is not None and de is not None
        assert (us.keycode, de.keycode) == (44 + 8, 21 + 8)
        assert hand.lookup("Z") is not None
        assert hand.lookup("λ") is None


def test_a_layout_group_is_put_back_after_typing(private_display: PrivateDisplay, gtk_window: GtkForm, hand: X11Input) -> None:
    use_layout(private_display, "-layout", "ru,us")
    click(hand, gtk_window, "Name")
    gtk_window.wait_for("focus", name="Name")
    hand.type_text("abc\n")
    gtk_window.wait_for("activate", value="abc")
    first = hand.lookup("ф")
    assert first is not None and first.group == 0
    for down in (True, False):
        hand.key(first.keycode, down)
    gtk_window.wait_for("text", value="abcф")


def test_text_does_not_lift_what_is_held(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand:
        a = hand.lookup("a")
        assert a is not None
        hand.key(SHIFT, True)
        hand.key(a.keycode, True)
        hand.type_text("AbaB")
        assert hand.pressed() == {SHIFT, a.keycode}
        hand.release_all()
        assert hand.pressed() == frozenset()


def test_release_all_releases_what_was_pressed_once(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand:
        hand.move(30, 40)
        hand.key(SHIFT, True)
        hand.button(3, True)
        assert hand.pressed() == {SHIFT}
        assert hand.pointer() == (30, 40, {3})
        hand.release_all()
        assert hand.pressed() == frozenset()
        assert hand.pointer() == (30, 40, frozenset())
        hand.release_all()


def test_closing_releases_what_is_held(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as watcher:
        hand = X11Input(bare_display.name)
        hand.key(SHIFT, True)
        hand.sync()
        assert watcher.pressed() == {SHIFT}
        hand.close()
        hand.close()
        assert watcher.pressed() == frozenset()
        with pytest.raises(Unavailable, match="closed"):
            hand.move(0, 0)


@pytest.mark.parametrize("code", [0, -1, 256])
def test_a_code_outside_the_protocol_is_refused(bare_display: PrivateDisplay, code: int) -> None:
    with X11Input(bare_display.name) as hand:
        for press in (hand.key, hand.button):
            with pytest.raises(LocalProtocolError) as refusal:
                press(code, True)
            assert refusal.value.code == "operation"
        assert hand.pressed() == frozenset()


def test_the_loss_of_the_server_is_told_by_every_call(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand:
        hand.key(SHIFT, True)
        bare_display.stop_server()
        for call in (hand.sync, hand.pressed, hand.pointer, lambda: hand.move(1, 1), lambda: hand.lookup("a"), lambda: hand.type_text("a")):
            with pytest.raises(DisplayLost, match=bare_display.name):
                call()


def test_a_display_that_is_not_there_is_unavailable_with_a_remedy(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="cannot open X display :9999") as refusal:
        X11Input(":9999")
    assert "DISPLAY" in refusal.value.remedy
    monkeypatch.setenv("XAUTHORITY", "/dev/null")
    with pytest.raises(Unavailable, match="refuses our authority"):
        X11Input(bare_display.name)
    with pytest.raises(Unavailable, match="cannot be parsed"):
        X11Input("nonsense")
