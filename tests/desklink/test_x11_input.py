"""Physical input through XTEST, as a real GTK program receives it."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import xcffib.xproto as x

from gtk_kit import GtkForm
from stopwatch_kit import Stopwatch
from triptych.adapters.desklink import program_rest
from triptych.adapters.desklink.inject import XLayout, judge
from triptych.adapters.desklink.x11_connection import DisplayLost
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.desklink.x11_keymap import Batch, Stroke, TextPlan
from triptych.adapters.display import PrivateDisplay
from triptych.errors import LocalProtocolError, Unavailable
from triptych.machines.desklink.geometry import Size
from triptych.machines.desklink.input import ControlInput, Present
from triptych.machines.desklink.keys import MODIFIERS, NAMED_KEYS
from x11_kit import Client, eventually
from xterm_kit import Xterm

pytestmark = pytest.mark.display

SHIFT, CAPS_LOCK, NUM_LOCK, A = 50, 66, 77, 38


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


def keymap(display: PrivateDisplay) -> bytes:
    """The server's whole keymap, as text."""
    return subprocess.run(["xkbcomp", display.name, "-"], env=display.env, check=True, capture_output=True).stdout


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


LAYOUTS = pytest.mark.parametrize(
    ("layout", "text"),
    [
        (("-layout", "us"), "`az<>\\\"' | ~@#[]{}"),
        (("-layout", "de"), "zy ÄÖÜß @€ {[]}\\ ~ µ²"),
        (("-layout", "fr"), "aqéèçà 1234 &#{"),
        (("-layout", "ru"), "Привет, мир! Ёж №5"),
        (("-layout", "de", "-variant", "neo"), "azß £ 6 {}"),
        (("-layout", "us,ru"), "mixed Привет text, Ё!"),
        (("-layout", "ru,us"), "mixed Привет text, Ё!"),
    ],
    ids=lambda value: "-".join(value[1::2]) if isinstance(value, tuple) else "",
)

#: Latin, Greek, Cyrillic, Arabic, CJK, emoji beyond the first plane, and a sequence joined without width.
ANYTHING = "Hi ä λ Ж ﷽ “q” — 日本語 한국어 😀 👩\u200d💻"


@LAYOUTS
def test_every_layout_types_exactly_what_was_asked_into_gtk(
    private_display: PrivateDisplay, gtk_window: GtkForm, hand: X11Input, layout: tuple[str, ...], text: str
) -> None:
    use_layout(private_display, *layout)
    click(hand, gtk_window, "Name")
    gtk_window.wait_for("focus", name="Name")
    hand.type_text(text + "\n")
    gtk_window.wait_for("activate", value=text)
    assert hand.pressed() == frozenset()


@LAYOUTS
def test_every_layout_types_exactly_what_was_asked_into_xterm(
    bare_display: PrivateDisplay, tmp_path: Path, layout: tuple[str, ...], text: str
) -> None:
    use_layout(bare_display, *layout)
    with X11Input(bare_display.name) as hand, Xterm(bare_display, hand, tmp_path) as xterm:
        hand.type_text(text + "\n")
        assert xterm.read() == text + "\n"


def test_a_layout_that_changes_meanwhile_is_followed(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    with X11Input(bare_display.name) as hand, Xterm(bare_display, hand, tmp_path) as xterm:
        for number, (layout, text) in enumerate((("us", "zy;"), ("de", "zyö"), ("fr", "zyé"), ("us,ru", "zyж"), ("us", "zy;")), 1):
            use_layout(bare_display, "-layout", layout)
            hand.type_text(text + "\n")
            assert xterm.read(number).splitlines()[-1] == text


def test_a_thousand_characters_arrive_exactly(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    line = 'The quick brown Fox jumps over the lazy Dog; 0123456789 (times) <two>, {three} & `four`! ~ "five"\n'
    text = (line * 11)[:999] + "\n"
    with X11Input(bare_display.name) as hand, Xterm(bare_display, hand, tmp_path) as xterm:
        hand.type_text(text)
        assert xterm.read(text.count("\n")) == text


@pytest.mark.parametrize("layout", ["us", "de", "us,ru"])
def test_unicode_is_exact_in_xterm_and_the_keymap_is_as_before(bare_display: PrivateDisplay, tmp_path: Path, layout: str) -> None:
    use_layout(bare_display, "-layout", layout)
    before = keymap(bare_display)
    with X11Input(bare_display.name) as hand, Xterm(bare_display, hand, tmp_path) as xterm:
        hand.type_text(ANYTHING + "\n", unicode=True)
        assert xterm.read() == ANYTHING + "\n"
        assert keymap(bare_display) == before
        hand.type_text("plain\n", unicode=True)
        assert xterm.read(2).splitlines()[-1] == "plain"


@pytest.mark.parametrize("layout", ["us", "de", "ru"])
def test_unicode_is_exact_in_gtk(private_display: PrivateDisplay, gtk_window: GtkForm, hand: X11Input, layout: str) -> None:
    use_layout(private_display, "-layout", layout)
    click(hand, gtk_window, "Name")
    gtk_window.wait_for("focus", name="Name")
    hand.type_text(ANYTHING + "\n", unicode=True)
    gtk_window.wait_for("activate", value=ANYTHING)


@pytest.mark.slow
def test_text_is_exact_in_chromium(private_display: PrivateDisplay, hand: X11Input) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed: apt install chromium")
    options = ["--no-sandbox", "--window-position=0,0", "--window-size=1000,700"]
    with playwright.sync_playwright() as playing:
        browser = playing.chromium.launch(executable_path=chromium, headless=False, env=private_display.env, args=options)
        page = browser.new_page(no_viewport=True)
        page.set_content("<textarea onclick='this.clicked = true' style='width: 900px; height: 500px'></textarea>")
        hand.move(400, 400)

        def clicked() -> bool:
            for down in (True, False):
                hand.button(1, down)
            return bool(page.evaluate("document.querySelector('textarea').clicked && document.hasFocus()"))

        eventually(clicked, "the page is on the screen and has the keyboard")
        wanted = ""
        for layout, text, unicode in (("us", "Hello; {zy} ~@#", False), ("de", "zy ÄÖÜß @€", False), ("us,ru", ANYTHING, True)):
            use_layout(private_display, "-layout", layout)
            hand.type_text(text, unicode=unicode)
            wanted += text
            page.wait_for_function("wanted => document.querySelector('textarea').value == wanted", arg=wanted)
        browser.close()


def test_more_characters_than_there_are_empty_keycodes_go_in_batches(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    text = "".join(map(chr, range(0x4E00, 0x4E40))) + "一丁 plain 😀\n"
    before = keymap(bare_display)
    with X11Input(bare_display.name) as hand, Xterm(bare_display, hand, tmp_path) as xterm:
        plan = hand.plan_text(text, unicode=True)
        assert len(plan.batches) > 2
        assert max(len(batch.borrowed) for batch in plan.batches) < 64
        hand.play(plan)
        assert xterm.read() == text
    assert keymap(bare_display) == before


def test_unicode_is_exact_in_a_program_that_looks_its_keys_up_late(
    bare_display: PrivateDisplay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keymap(bare_display)
    with X11Input(bare_display.name) as hand, Xterm(bare_display, hand, tmp_path) as xterm:
        struck = threading.Event()

        def sync() -> None:
            X11Input.sync(hand)
            monkeypatch.setattr(program_rest, "LONGEST_SECONDS", 60)
            struck.set()

        monkeypatch.setattr(hand, "sync", sync)
        monkeypatch.setattr(program_rest, "LONGEST_SECONDS", 0)
        xterm.stop()
        typing = threading.Thread(target=hand.type_text, args=(ANYTHING + "\n",), kwargs={"unicode": True})
        typing.start()
        try:
            assert struck.wait(60)
            typing.join(0.5)
            assert typing.is_alive(), "the keys are kept for a program that has not looked yet"
        finally:
            xterm.go_on()
            typing.join()
        assert xterm.read() == ANYTHING + "\n"
    assert keymap(bare_display) == before


def test_unicode_leaves_held_modifiers_down_and_is_not_changed_by_shift(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    with X11Input(bare_display.name) as hand, Xterm(bare_display, hand, tmp_path) as xterm:
        hand.key(SHIFT, True)
        hand.type_text("äλ😀", unicode=True)
        assert hand.pressed() == {SHIFT}
        hand.release_all()
        hand.type_text("\n")
        assert xterm.read() == "äλ😀\n"


def test_long_typing_can_be_cut_off_from_another_thread(bare_display: PrivateDisplay) -> None:
    before = keymap(bare_display)
    with X11Input(bare_display.name) as hand:
        plan = hand.plan_text("".join(map(chr, range(0x4E00, 0x4E00 + 1000))), unicode=True)
        raised: list[Exception] = []

        def type_it() -> None:
            try:
                hand.play(plan)
            except Unavailable as error:
                raised.append(error)

        thread = threading.Thread(target=type_it)
        thread.start()
        eventually(lambda: keymap(bare_display) != before, "keys are borrowed")
        began = Stopwatch()
        hand.interrupt()
        thread.join()
        assert began.seconds() < 1
        assert [str(error) for error in raised] == ["the typing was cut off (open a new session)"]
        with pytest.raises(Unavailable, match="cut off"):
            hand.type_text("a")
        assert hand.pressed() == frozenset()
    assert keymap(bare_display) == before


def test_a_symbol_that_somebody_gives_a_borrowed_key_meanwhile_stays(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand, Client(bare_display) as client:
        plan = hand.plan_text("日本", unicode=True)
        (first, _), (second, _) = plan.batches[0].borrowed
        hand._borrow(plan.batches[0].borrowed)
        client.core.ChangeKeyboardMapping(1, first, 1, [0xFFD0])
        client.sync()
        hand.play(TextPlan((Batch(((second, "本"),), ()),)))
        symbols = [client.core.GetKeyboardMapping(keycode, 1).reply().keysyms[0] for keycode in (first, second)]
        assert symbols == [0xFFD0, 0]


def test_a_shortcut_uses_its_key_in_another_layout_group(bare_display: PrivateDisplay) -> None:
    use_layout(bare_display, "-layout", "ru,us")
    with X11Input(bare_display.name) as hand:
        assert hand.lookup("c") is None
        stroke = hand.lookup("c", any_group=True)
        assert stroke is not None and stroke.keycode == 46 + 8
        assert XLayout(lambda: hand).stroke("c", any_group=True) == (46, ())


def test_what_no_key_can_be_borrowed_for_is_named(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand:
        with pytest.raises(LocalProtocolError) as refusal:
            hand.type_text("日\r\x00ok\x1b", unicode=True)
        assert refusal.value.code == "text-unsupported"
        assert refusal.value.detail.endswith("'\\r' '\\x00' '\\x1b'")
        # A server without an empty keycode.
        with Client(bare_display) as client:
            least, most = client.connection.get_setup().min_keycode, client.connection.get_setup().max_keycode
            reply = client.core.GetKeyboardMapping(least, most - least + 1).reply()
            width, symbols = reply.keysyms_per_keycode, list(reply.keysyms)
            for at in range(0, len(symbols), width):
                if not any(symbols[at : at + width]):
                    client.core.ChangeKeyboardMapping(1, least + at // width, 1, [0xFFD0])
            client.sync()
        with pytest.raises(LocalProtocolError, match="'日'"):
            hand.type_text("a日", unicode=True)


def test_caps_lock_neither_spoils_the_text_nor_is_lost(gtk_window: GtkForm, hand: X11Input) -> None:
    click(hand, gtk_window, "Name")
    gtk_window.wait_for("focus", name="Name")
    for down in (True, False):
        hand.key(CAPS_LOCK, down)
    hand.type_text("aBc\n")
    gtk_window.wait_for("activate", value="aBc")
    # A key is struck with CapsLock as it is, and makes the character that was asked for all the same.
    for character in "aB1!":
        stroke = hand.lookup(character)
        assert stroke is not None
        for keycode in (*stroke.modifiers, stroke.keycode):
            hand.key(keycode, True)
        hand.release_all()
    gtk_window.wait_for("text", value="aBcaB1!")
    for down in (True, False):
        hand.key(A, down)
    gtk_window.wait_for("text", value="aBcaB1!A")


@pytest.mark.parametrize(("lock", "bit"), [(CAPS_LOCK, 0x02), (NUM_LOCK, 0x10)])
@pytest.mark.parametrize("unicode", [False, True])
def test_a_lock_is_put_back_after_typing(bare_display: PrivateDisplay, tmp_path: Path, lock: int, bit: int, unicode: bool) -> None:
    with X11Input(bare_display.name) as hand, Xterm(bare_display, hand, tmp_path) as xterm, Client(bare_display) as client:
        for down in (True, False):
            hand.key(lock, down)
        hand.sync()
        assert client.core.QueryPointer(client.root).reply().mask == bit
        text = "aB1ä\n" if unicode else "aB1\n"
        hand.type_text(text, unicode=unicode)
        assert xterm.read() == text
        assert client.core.QueryPointer(client.root).reply().mask == bit


def test_every_named_key_and_modifier_reaches_a_program_as_its_own_key(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand, Client(bare_display) as client:
        window = client.window(200, 200, override_redirect=True)
        client.core.ChangeWindowAttributes(window, x.CW.EventMask, [x.EventMask.KeyPress | x.EventMask.KeyRelease])
        client.map(window)
        hand.move(50, 50)
        control = ControlInput({"view", "control"}, Size(1280, 800), XLayout(lambda: hand))
        for name, code in {**NAMED_KEYS, **MODIFIERS}.items():
            for down in (True, False):
                message = json.dumps({"kind": "key", "name": name, "down": down}).encode()
                assert judge(control, hand, message, Present(Size(1280, 800))) == {"kind": "ack", "seq": 0}
                wanted = x.KeyPressEvent if down else x.KeyReleaseEvent
                assert client.event(lambda event, wanted=wanted: type(event) is wanted).detail == code + 8, name
        assert hand.pressed() == frozenset()


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        *(("Enter", "Return"), ("Tab", "Tab"), ("Escape", "Escape"), ("Backspace", "BackSpace"), ("DeleteForward", "Delete")),
        *(("ArrowUp", "Up"), ("ArrowDown", "Down"), ("ArrowLeft", "Left"), ("ArrowRight", "Right"), ("Home", "Home"), ("End", "End")),
        *(("PageUp", "Prior"), ("PageDown", "Next"), ("F1", "F1"), ("F10", "F10"), ("F11", "F11"), ("F12", "F12"), ("F13", "XF86Tools")),
        *(("Space", "space"), ("Insert", "Insert"), ("CapsLock", "Caps_Lock"), ("NumLock", "Num_Lock"), ("ScrollLock", "Scroll_Lock")),
        *(("Pause", "Pause"), ("PrintScreen", "Print"), ("ContextMenu", "Menu"), ("Numpad0", "KP_Insert"), ("Numpad5", "KP_Begin")),
        *(("Numpad9", "KP_Prior"), ("NumpadAdd", "KP_Add"), ("NumpadDivide", "KP_Divide"), ("NumpadEnter", "KP_Enter")),
        *(("NumpadDecimal", "KP_Delete"), ("NumpadEqual", "KP_Equal"), ("IntlBackslash", "less"), ("Lang1", "Hangul")),
        *(("AudioVolumeMute", "XF86AudioMute"), ("AudioVolumeUp", "XF86AudioRaiseVolume"), ("MediaPlayPause", "XF86AudioPlay")),
        *(("MediaStop", "XF86AudioStop"), ("MediaTrackNext", "XF86AudioNext"), ("MediaRewind", "XF86AudioRewind"), ("Undo", "Undo")),
        *(("Copy", "XF86Copy"), ("Paste", "XF86Paste"), ("BrowserBack", "XF86Back"), ("BrowserRefresh", "XF86Reload")),
        *(("BrightnessUp", "XF86MonBrightnessUp"), ("LaunchMail", "XF86Mail"), ("Eject", "XF86Eject")),
        *(("Control", "Control_L"), ("ControlRight", "Control_R"), ("ShiftRight", "Shift_R"), ("Alt", "Alt_L"), ("AltGraph", "Alt_R")),
        *(("Meta", "Super_L"), ("Command", "Super_L"), ("MetaRight", "Super_R")),
    ],
)
def test_a_name_is_the_key_that_has_the_symbol(us_symbols: dict[int, str], name: str, symbol: str) -> None:
    assert us_symbols[{**NAMED_KEYS, **MODIFIERS}[name] + 8] == symbol


@pytest.fixture(scope="module")
def us_symbols() -> dict[int, str]:
    """The first symbol of each keycode on a server's own us keymap."""
    with PrivateDisplay(dbus=False) as display:
        printed = subprocess.run(["xmodmap", "-pke"], env=display.env, check=True, capture_output=True, text=True).stdout
    halves = (line.split("=") for line in printed.splitlines())
    return {int(left.split()[1]): right.split()[0] for left, right in halves if right.split()}


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


def test_a_single_key_that_somebody_redefines_is_followed(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand, Client(bare_display) as client:
        before = hand.lookup("b")
        assert before is not None and before.keycode == 56
        client.core.ChangeKeyboardMapping(2, A, 2, [ord("b"), ord("B"), ord("q"), ord("Q")])
        client.sync()
        after = hand.lookup("b"), hand.lookup("s")
        assert after[0] is not None and after == (Stroke(A, (), 0), None)


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
