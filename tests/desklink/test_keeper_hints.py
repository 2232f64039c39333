"""What programs may ask of the display keeper as a window manager (ICCCM, EWMH), what it tells them, and whose the focus is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import xcffib.xproto as x

from keeper_kit import FULL, KeeperProcess, ids, keeping
from triptych.adapters.display import PrivateDisplay
from x11_kit import Client, eventually

pytestmark = pytest.mark.display

REMOVE, ADD, TOGGLE = 0, 1, 2


@pytest.fixture
def keeper(bare_display: PrivateDisplay) -> Iterator[KeeperProcess]:
    with keeping(bare_display, "natural") as running:
        yield running


@pytest.fixture
def client(bare_display: PrivateDisplay) -> Iterator[Client]:
    with Client(bare_display) as connected:
        yield connected


def ask(client: Client, window: int, name: str, *data: int) -> None:
    """Send the window manager a message about a window."""
    numbers = x.ClientMessageData.synthetic([*data, 0, 0, 0, 0, 0][:5], "I" * 5)
    message = x.ClientMessageEvent.synthetic(32, window, client.atom(name), numbers)
    client.core.SendEvent(False, client.root, x.EventMask.SubstructureRedirect | x.EventMask.SubstructureNotify, message.pack())
    client.sync()


def states(client: Client, window: int) -> set[int]:
    return set(client.numbers(window, "_NET_WM_STATE"))


def shown(keeper: KeeperProcess, client: Client, *windows: int) -> None:
    for window in windows:
        client.map(window)
    keeper.report(lambda reported: ids(reported) == list(windows))


def test_what_is_supported_is_said(keeper: KeeperProcess, client: Client) -> None:
    supported = client.numbers(client.root, "_NET_SUPPORTED")
    for name in ("_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_SUPPORTING_WM_CHECK", "_NET_WM_STATE", "_NET_WM_STATE_FULLSCREEN"):
        assert client.atom(name) in supported
    assert client.atom("_NET_SUPPORTED") not in supported


def test_a_dialog_may_fill_the_screen_and_leave_it_again(keeper: KeeperProcess, client: Client) -> None:
    content, dialog = client.window(500, 500), client.window(300, 100)
    client.set_numbers(dialog, "WM_TRANSIENT_FOR", "WINDOW", content)
    shown(keeper, client, content, dialog)
    natural, full = (490, 350, 300, 100), client.atom("_NET_WM_STATE_FULLSCREEN")
    assert client.geometry(dialog) == natural
    for action, box in ((ADD, FULL), (ADD, FULL), (REMOVE, natural), (TOGGLE, FULL), (TOGGLE, natural)):
        ask(client, dialog, "_NET_WM_STATE", action, 0, full)
        eventually(lambda box=box: client.geometry(dialog) == box, f"after {action} it is at {box}")  # type: ignore[misc]  # a default binds the loop's value
        eventually(lambda box=box: (full in states(client, dialog)) == (box == FULL), "and says so")  # type: ignore[misc]  # likewise
    ask(client, dialog, "_NET_WM_STATE", 7, full)
    ask(client, dialog, "_NET_WM_STATE", ADD, client.atom("_NET_WM_STATE_BELOW"))
    ask(client, client.root, "_NET_WM_STATE", ADD, full)
    ask(client, dialog, "_NET_WM_STATE", ADD, full)
    eventually(lambda: client.geometry(dialog) == FULL, "what is not known changes nothing, and what is known still works")


def test_a_window_may_ask_for_the_whole_screen_before_it_is_shown(keeper: KeeperProcess, client: Client) -> None:
    small = client.window(50, 50)
    client.set_numbers(small, "_NET_WM_STATE", "ATOM", client.atom("_NET_WM_STATE_ABOVE"), client.atom("_NET_WM_STATE_FULLSCREEN"))
    shown(keeper, client, small)
    assert client.geometry(small) == FULL
    assert client.focus() == small
    assert client.atom("_NET_WM_STATE_ABOVE") in states(client, small), "what is not ours stays"
    ask(client, small, "_NET_WM_STATE", REMOVE, client.atom("_NET_WM_STATE_FULLSCREEN"))
    eventually(lambda: client.geometry(small)[0] == -30000, "it is what its size makes of it")
    assert states(client, small) == {client.atom("_NET_WM_STATE_ABOVE")}


def test_a_window_that_fills_the_screen_is_told_so(keeper: KeeperProcess, client: Client) -> None:
    content, small = client.window(500, 500), client.window(50, 50)
    shown(keeper, client, content, small)
    maximized = {client.atom("_NET_WM_STATE_MAXIMIZED_HORZ"), client.atom("_NET_WM_STATE_MAXIMIZED_VERT")}
    assert states(client, content) == maximized
    assert states(client, small) == set()
    assert client.numbers(content, "_NET_FRAME_EXTENTS") == (0, 0, 0, 0)
    client.unmap(content)
    eventually(lambda: states(client, content) == set(), "a withdrawn window has no state")


def test_the_width_of_frames_is_told_before_a_window_is_shown(keeper: KeeperProcess, client: Client) -> None:
    window = client.window(500, 500)
    ask(client, window, "_NET_REQUEST_FRAME_EXTENTS")
    eventually(lambda: client.numbers(window, "_NET_FRAME_EXTENTS") == (0, 0, 0, 0), "it is told")


def test_a_window_is_closed_by_its_program_or_with_it(keeper: KeeperProcess, client: Client, bare_display: PrivateDisplay) -> None:
    polite = client.window(500, 500)
    client.set_numbers(polite, "WM_PROTOCOLS", "ATOM", client.atom("WM_DELETE_WINDOW"))
    with Client(bare_display) as other:
        rude = other.window(500, 500)
        shown(keeper, client, polite)
        other.map(rude)
        keeper.report(lambda windows: ids(windows) == [polite, rude])
        ask(client, polite, "_NET_CLOSE_WINDOW", 42)
        asked = client.event(lambda event: isinstance(event, x.ClientMessageEvent))
        assert tuple(asked.data.data32)[:2] == (client.atom("WM_DELETE_WINDOW"), 42)
        ask(client, rude, "_NET_CLOSE_WINDOW")
        keeper.report(lambda windows: ids(windows) == [polite])


def test_a_window_is_withdrawn_as_the_rules_say(keeper: KeeperProcess, client: Client) -> None:
    first, second = client.window(500, 500), client.window(500, 500)
    shown(keeper, client, first, second)

    def told_withdrawn(window: int) -> None:
        notice = x.UnmapNotifyEvent.synthetic(client.root, window, False).pack()
        client.core.SendEvent(False, client.root, x.EventMask.SubstructureRedirect | x.EventMask.SubstructureNotify, notice)
        client.sync()

    client.unmap(second)
    told_withdrawn(second)
    keeper.report(lambda windows: ids(windows) == [first])
    # Told only, and not done: then the keeper does it.
    told_withdrawn(first)
    keeper.report(lambda windows: windows == [])
    assert client.core.GetWindowAttributes(first).reply().map_state == x.MapState.Unmapped
    client.map(second)
    keeper.report(lambda windows: ids(windows) == [second])


@pytest.mark.parametrize("thief", ["parked", "covered", "nobody", "the pointer"])
def test_the_focus_comes_back_to_what_a_person_sees(keeper: KeeperProcess, client: Client, thief: str) -> None:
    covered, small, content = client.window(500, 500), client.window(50, 50), client.window(600, 400)
    shown(keeper, client, covered, small, content)
    eventually(lambda: client.focus() == content, "the newest content has the focus")
    stolen = {"parked": small, "covered": covered, "nobody": 0, "the pointer": 1}[thief]
    client.core.SetInputFocus(x.InputFocus.PointerRoot, stolen, 0)
    eventually(lambda: client.focus() == content, "the focus came back")
    assert client.numbers(client.root, "_NET_ACTIVE_WINDOW") == (content,)


def test_a_window_inside_the_newest_may_have_the_focus(keeper: KeeperProcess, client: Client) -> None:
    content = client.window(600, 400)
    shown(keeper, client, content)
    inner = client.connection.generate_id()
    client.core.CreateWindow(0, inner, content, 0, 0, 10, 10, 0, x.WindowClass.InputOutput, 0, 0, [])
    client.map(inner)
    client.core.SetInputFocus(x.InputFocus.PointerRoot, inner, 0)
    client.set_text(content, "_NET_WM_NAME", "UTF8_STRING", b"handled")  # the report comes after all that was before
    keeper.report(lambda windows: windows[0]["title"] == "handled")
    assert client.focus() == inner
    client.destroy(inner)  # and with it the focus
    eventually(lambda: client.focus() == content, "the window around it has it again")


def test_two_programs_that_fight_for_the_focus_do_not_keep_the_keeper_busy(keeper: KeeperProcess, client: Client) -> None:
    covered, content = client.window(500, 500), client.window(600, 400)
    shown(keeper, client, covered, content)
    eventually(lambda: client.focus() == content, "the newest content has the focus")
    stolen = 0
    while stolen < 100 and client.focus() != covered:
        client.core.SetInputFocus(x.InputFocus.PointerRoot, covered, 0)
        client.sync()
        stolen += 1
        try:
            eventually(lambda: client.focus() == content, "", 5)
        except AssertionError:
            break
    assert 10 <= stolen < 100, "in the end it is left to who wants it more"
    third = client.window(400, 400)
    shown_now = [covered, content, third]
    client.map(third)
    keeper.report(lambda windows: ids(windows) == shown_now)
    eventually(lambda: client.focus() == third, "a new window has it all the same")


@pytest.mark.parametrize(
    ("name", "kind", "value", "title"),
    [
        ("WM_NAME", "STRING", "naïve".encode("latin-1"), "naïve"),
        ("WM_NAME", "COMPOUND_TEXT", b"\x1b$(BF|K\\8l\x1b(B \x1b-L\xb6", "日本語 Ж"),
        ("WM_NAME", "UTF8_STRING", "grün".encode(), "grün"),
        ("WM_NAME", "STRING", b"  with a zero \0", "with a zero"),
        ("_NET_WM_NAME", "UTF8_STRING", b"broken \xff\xfe", "broken \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"),
        ("_NET_WM_NAME", "UTF8_STRING", b"zero\0", "zero"),
        ("_NET_WM_NAME", "UTF8_STRING", "é".encode() * 500_000, "é" * 2048),
        ("_NET_WM_NAME", "UTF8_STRING", b"x" + "é".encode() * 500_000, "x" + "é" * 2047),
        ("_NET_WM_NAME", "UTF8_STRING", b"line\nand \x07 bell", "line\nand \x07 bell"),
        ("_NET_WM_NAME", "UTF8_STRING", b"\0 \t\n", None),
        ("WM_NAME", "CARDINAL", b"1234", "1234"),
    ],
)
def test_titles_of_every_encoding(keeper: KeeperProcess, client: Client, name: str, kind: str, value: bytes, title: str | None) -> None:
    window = client.window(500, 500)
    client.set_text(window, name, kind, value)
    client.map(window)
    (seen,) = keeper.report(lambda windows: ids(windows) == [window])
    assert seen["title"] == title
