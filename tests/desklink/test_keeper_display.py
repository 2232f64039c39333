"""The display keeper as a process on a real X server, with plain X clients and a GTK program as its windows."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import xcffib.xproto as x

from gtk_kit import GtkForm
from keeper_kit import FULL, PROGRAM, KeeperProcess, ids
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from x11_kit import Client, eventually

pytestmark = pytest.mark.display


@pytest.fixture
def keep(bare_display: PrivateDisplay) -> Iterator[Callable[..., KeeperProcess]]:
    started: list[KeeperProcess] = []

    def start(*arguments: str) -> KeeperProcess:
        started.append(KeeperProcess(*(arguments or (bare_display.name,)), env=bare_display.env))
        return started[-1]

    yield start
    for keeper in started:
        keeper.close()


@pytest.fixture
def keeper(keep: Callable[..., KeeperProcess]) -> KeeperProcess:
    running = keep()
    running.report(lambda windows: windows == [])
    return running


@pytest.fixture
def client(bare_display: PrivateDisplay) -> Iterator[Client]:
    with Client(bare_display) as connected:
        yield connected


def test_the_first_report_of_an_empty_screen_is_empty(keeper: KeeperProcess) -> None:
    assert keeper.lines == [{"windows": []}]


def test_a_content_window_fills_the_screen_and_is_described(keeper: KeeperProcess, client: Client) -> None:
    window = client.window(1240, 700, name="  Größe  ")
    client.set_text(window, "WM_CLASS", "STRING", b"instance\0Class\0")
    client.set_numbers(window, "_NET_WM_PID", "CARDINAL", 4242)
    client.map(window)
    seen = keeper.report(lambda windows: ids(windows) == [window])
    assert seen == [{"id": window, "title": "Größe", "class": "Class", "pid": 4242, "width": 1280, "height": 800}]
    assert client.geometry(window) == FULL
    assert client.focus() == window


def test_what_a_window_does_not_say_is_null(keeper: KeeperProcess, client: Client) -> None:
    window = client.window(500, 500)
    client.map(window)
    seen = keeper.report(lambda windows: ids(windows) == [window])
    assert seen == [{"id": window, "title": None, "class": None, "pid": None, "width": 1280, "height": 800}]
    client.set_text(window, "_NET_WM_NAME", "UTF8_STRING", b"   ")
    client.set_text(window, "WM_NAME", "STRING", "naïve".encode("latin-1"))
    keeper.report(lambda windows: windows[0]["title"] == "naïve")


def test_a_small_window_is_parked_and_disturbs_nothing(keeper: KeeperProcess, client: Client) -> None:
    content, small = client.window(500, 500), client.window(100, 80)
    client.map(content)
    client.map(small)
    seen = keeper.report(lambda windows: ids(windows) == [content, small])
    assert (seen[1]["width"], seen[1]["height"]) == (100, 80)
    assert client.geometry(small) == (-30000, -30000, 100, 80)
    assert client.geometry(content) == FULL
    assert client.focus() == content


def test_the_newest_content_has_the_focus_and_the_report_goes_bottom_first(keeper: KeeperProcess, client: Client) -> None:
    first, second = client.window(500, 500), client.window(600, 400)
    client.map(first)
    client.map(second)
    keeper.report(lambda windows: ids(windows) == [first, second])
    assert client.focus() == second
    client.destroy(second)
    keeper.report(lambda windows: ids(windows) == [first])
    assert client.focus() == first
    client.unmap(first)
    keeper.report(lambda windows: windows == [])
    assert client.focus() == x.InputFocus.PointerRoot
    client.map(first)
    keeper.report(lambda windows: ids(windows) == [first])
    assert client.focus() == first


def test_a_resize_is_answered_with_the_whole_screen_and_a_notice(keeper: KeeperProcess, client: Client) -> None:
    window = client.window(500, 500)
    client.map(window)
    keeper.report(lambda windows: ids(windows) == [window])
    client.event(lambda event: isinstance(event, x.ConfigureNotifyEvent) and event.width == 1280)
    client.ask_size(window, 800, 600)
    told = client.event(lambda event: isinstance(event, x.ConfigureNotifyEvent))
    assert (told.x, told.y, told.width, told.height) == FULL
    assert told.response_type & 0x80, "nothing changed, so only the manager itself can have told"
    assert client.geometry(window) == FULL


def test_a_parked_window_that_grows_gets_the_screen_and_the_focus(keeper: KeeperProcess, client: Client) -> None:
    content, small = client.window(500, 500), client.window(100, 80)
    client.map(content)
    client.map(small)
    keeper.report(lambda windows: ids(windows) == [content, small])
    client.ask_size(small, 400, 300)
    eventually(lambda: client.geometry(small) == FULL and client.focus() == small, "the grown window has the screen and the focus")
    client.ask_size(small, 90, 90)
    eventually(lambda: client.geometry(small)[0] == -30000 and client.focus() == content, "the shrunken one is parked again")


def test_menus_are_left_alone_and_not_reported(keeper: KeeperProcess, client: Client) -> None:
    menu, content = client.window(300, 300, override_redirect=True), client.window(500, 500)
    client.map(menu)
    client.map(content)
    keeper.report(lambda windows: ids(windows) == [content])
    assert client.geometry(menu) == (10, 10, 300, 300)


def test_the_hints_that_programs_look_for(keeper: KeeperProcess, client: Client) -> None:
    (check,) = client.numbers(client.root, "_NET_SUPPORTING_WM_CHECK")
    assert client.numbers(check, "_NET_SUPPORTING_WM_CHECK") == (check,)
    assert client.atom("_NET_ACTIVE_WINDOW") in client.numbers(client.root, "_NET_SUPPORTED")
    first, second = client.window(500, 500), client.window(500, 500)
    client.map(first)
    client.map(second)
    keeper.report(lambda windows: ids(windows) == [first, second])
    assert client.numbers(client.root, "_NET_CLIENT_LIST") == (first, second)
    assert client.numbers(client.root, "_NET_ACTIVE_WINDOW") == (second,)
    assert client.numbers(first, "WM_STATE")[0] == 1
    data = x.ClientMessageData.synthetic([1, 0, 0, 0, 0], "I" * 5)
    message = x.ClientMessageEvent.synthetic(32, first, client.atom("_NET_ACTIVE_WINDOW"), data)
    client.core.SendEvent(False, client.root, x.EventMask.SubstructureRedirect | x.EventMask.SubstructureNotify, message.pack())
    eventually(lambda: client.focus() == first, "the window that asked is active")
    assert client.numbers(client.root, "_NET_ACTIVE_WINDOW") == (first,)
    assert client.stack()[-1] == first
    client.unmap(first)
    eventually(lambda: client.numbers(first, "WM_STATE")[0] == 0, "an unmapped window is withdrawn")
    keeper.process.terminate()
    assert keeper.exit_code() == 0
    assert client.numbers(client.root, "_NET_SUPPORTING_WM_CHECK") == ()


def test_a_window_that_takes_the_focus_itself_is_offered_it_with_a_real_time(keeper: KeeperProcess, client: Client) -> None:
    window = client.window(500, 500)
    client.set_numbers(window, "WM_PROTOCOLS", "ATOM", client.atom("WM_TAKE_FOCUS"))
    client.map(window)
    offered = client.event(lambda event: isinstance(event, x.ClientMessageEvent))
    assert offered.type == client.atom("WM_PROTOCOLS")
    assert offered.data.data32[0] == client.atom("WM_TAKE_FOCUS")
    assert offered.data.data32[1] > 0


def test_windows_that_were_there_before_are_adopted(keep: Callable[..., KeeperProcess], client: Client) -> None:
    first, small, hidden, second = client.window(500, 500), client.window(50, 50), client.window(700, 700), client.window(400, 300)
    for window in (first, small, second):
        client.map(window)
    keeper = keep()
    assert ids(keeper.report(lambda _: True)) == [first, small, second]
    assert (client.geometry(first), client.geometry(second)) == (FULL, FULL)
    assert client.focus() == second
    assert client.geometry(hidden) == (10, 10, 700, 700)


def test_dialogs_keep_their_own_size_when_they_may(
    bare_display: PrivateDisplay, keep: Callable[..., KeeperProcess], client: Client
) -> None:
    keeper = keep(bare_display.name, "natural")
    content, dialog = client.window(500, 500), client.window(300, 100)
    client.set_numbers(dialog, "WM_TRANSIENT_FOR", "WINDOW", content)
    client.map(content)
    client.map(dialog)
    keeper.report(lambda windows: ids(windows) == [content, dialog])
    assert client.geometry(content) == FULL
    assert client.geometry(dialog) == (490, 350, 300, 100)
    assert client.focus() == dialog
    client.ask_size(dialog, 400, 200)
    eventually(lambda: client.geometry(dialog) == (440, 300, 400, 200), "the dialog has the size it asked for, centred")


def test_dialogs_fill_the_screen_otherwise(keeper: KeeperProcess, client: Client) -> None:
    content, dialog = client.window(500, 500), client.window(300, 160)
    client.set_numbers(dialog, "WM_TRANSIENT_FOR", "WINDOW", content)
    client.map(content)
    client.map(dialog)
    keeper.report(lambda windows: ids(windows) == [content, dialog])
    assert client.geometry(dialog) == FULL


def test_a_resized_screen_is_filled_again(keeper: KeeperProcess, client: Client) -> None:
    window, small = client.window(500, 500), client.window(50, 50)
    client.map(window)
    client.map(small)
    keeper.report(lambda windows: ids(windows) == [window, small])
    client.resize_screen(800, 600)
    keeper.report(lambda windows: (windows[0]["width"], windows[0]["height"]) == (800, 600))
    assert client.geometry(window) == (0, 0, 800, 600)
    assert client.geometry(small) == (-30000, -30000, 50, 50)


def test_changes_are_reported_after_a_quiet_time_and_a_busy_screen_within_300_ms(keeper: KeeperProcess, client: Client) -> None:
    window = client.window(500, 500)
    client.map(window)
    keeper.report(lambda windows: ids(windows) == [window])
    before = len(keeper.lines)
    deadline = time.monotonic() + 20
    number = 0
    while len(keeper.lines) < before + 3:  # a screen that is never quiet is reported all the same
        assert time.monotonic() < deadline, keeper.lines
        client.set_text(window, "_NET_WM_NAME", "UTF8_STRING", f"title {(number := number + 1)}".encode())
        keeper.read(0.02)
    keeper.report(lambda windows: windows[0]["title"] == f"title {number}")
    assert len(keeper.lines) - before < number, "changes are told together"


def test_a_second_manager_is_refused_in_one_line(keeper: KeeperProcess, keep: Callable[..., KeeperProcess]) -> None:
    second = keep()
    assert second.exit_code() == 1
    assert second.lines == [{"error": "another window manager"}]
    assert keeper.process.poll() is None


@pytest.mark.parametrize("arguments", [(), ("",)])
def test_no_display_is_refused_in_one_line(arguments: tuple[str, ...]) -> None:
    keeper = KeeperProcess(*arguments)
    try:
        assert keeper.exit_code() == 1
        assert keeper.lines == [{"error": "no display given"}]
    finally:
        keeper.close()


@pytest.mark.parametrize(("name", "shown"), [(":9999", ":9999"), ("nonsense", "nonsense"), ("\udcff", "\\udcff")])
def test_a_display_that_cannot_be_opened_is_refused_in_one_line(keep: Callable[..., KeeperProcess], name: str, shown: str) -> None:
    keeper = keep(name)
    assert keeper.exit_code() == 1
    (line,) = keeper.lines
    assert line["error"].startswith(f"cannot open X display {shown}: ")


def test_a_server_that_refuses_our_cookie_is_told_in_one_line_and_nowhere_else(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    wrong = tmp_path / "cookie"
    wrong.write_bytes(Path(bare_display.env["XAUTHORITY"]).read_bytes()[:-16] + bytes(16))
    env = {**bare_display.env, "XAUTHORITY": str(wrong)}
    done = subprocess.run([sys.executable, "-c", PROGRAM, bare_display.name], env=env, capture_output=True, timeout=30)
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["error"].startswith(f"cannot open X display {bare_display.name}: ")


def test_a_closed_output_ends_it_at_once_without_an_error(keeper: KeeperProcess) -> None:
    assert keeper.process.stdout is not None
    keeper.process.stdout.close()
    assert keeper.process.wait(60) == 0


def test_a_consumer_that_does_not_read_does_not_stop_the_window_manager(keeper: KeeperProcess, client: Client) -> None:
    titled = []
    for _ in range(200):
        titled.append(client.window(500, 500, name="long " * 100))
        client.map(titled[-1])
    # A report has 110 kB, and a pipe takes 64: then the keeper cannot write for as long as we do not read.
    eventually(lambda: unread(keeper.out) >= 60_000, "the pipe is full")
    full = time.monotonic()
    while time.monotonic() < full + 0.5:  # more reports fall due
        client.set_text(titled[0], "_NET_WM_NAME", "UTF8_STRING", f"step {len(titled)}".encode())
        titled.append(client.window(300, 300))
        client.map(titled[-1])
        eventually(lambda: client.geometry(titled[-1]) == FULL, "windows are still managed")
    keeper.report(lambda windows: len(windows) == len(titled), 20)


def unread(descriptor: int) -> int:
    """The bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_signal_ends_it_with_0(keeper: KeeperProcess, number: signal.Signals) -> None:
    keeper.process.send_signal(number)
    assert keeper.exit_code() == 0
    assert keeper.lines == [{"windows": []}]


def test_the_end_of_the_display_is_a_normal_end(keeper: KeeperProcess, client: Client, bare_display: PrivateDisplay) -> None:
    window = client.window(500, 500)
    client.map(window)
    keeper.report(lambda windows: ids(windows) == [window])
    before = len(keeper.lines)
    bare_display.stop_server()
    assert keeper.exit_code() == 0
    assert len(keeper.lines) == before


@pytest.mark.parametrize("seen", ["nothing", "the claim", "the report"])
def test_a_display_that_ends_during_the_start_gives_silence_or_one_refusal(bare_display: PrivateDisplay, seen: str) -> None:
    with Client(bare_display) as client:
        keeper = KeeperProcess(bare_display.name, env=bare_display.env)
        try:
            if seen == "the claim":
                eventually(lambda: bool(client.root_events() & x.EventMask.SubstructureRedirect), "the screen is claimed")
            elif seen == "the report":
                keeper.report(lambda windows: windows == [], 20)
            bare_display.stop_server()
            code = keeper.exit_code()
            refusals = [line for line in keeper.lines if "error" in line]
            assert (code, len(refusals)) in ([(0, 0), (1, 1)] if seen == "nothing" else [(0, 0)]), keeper.lines
        finally:
            keeper.close()


def test_a_gtk_program_gets_the_screen_the_focus_and_its_keys(private_display: PrivateDisplay, gtk_program: Callable[..., GtkForm]) -> None:
    keeper = KeeperProcess(private_display.name, "natural", env=private_display.env)
    try:
        form = gtk_program(private_display, title="A real form")
        seen = keeper.report(lambda windows: [window["title"] for window in windows] == ["A real form"])
        assert (seen[0]["class"], seen[0]["pid"]) == ("GtkForm", form.pid)
        form.wait_until(lambda form: form.layout["window"] == FULL, "the form fills the screen")
        form.wait_for("focus", name="Name")
        with X11Input(private_display.name) as hand:
            hand.type_text("no click was needed\n")
            form.wait_for("activate", value="no click was needed")
        form.command("dialog")
        both = keeper.report(lambda windows: [window["title"] for window in windows] == ["A real form", "Sure?"])
        assert both[1]["width"] < 640
        form.command("close-dialog")
        keeper.report(lambda windows: [window["title"] for window in windows] == ["A real form"])
    finally:
        keeper.close()
