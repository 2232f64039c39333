"""The display keeper against programs that do not behave, and against a display that ends at any moment."""

from __future__ import annotations

import contextlib
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import xcffib
import xcffib.xproto as x

from keeper_kit import FULL, KeeperProcess, ids, keeping
from stopwatch_kit import Stopwatch
from triptych.adapters.display import PrivateDisplay
from triptych.engine.child import triptych_command
from x11_kit import Client, eventually

pytestmark = pytest.mark.display

MANAGER = x.EventMask.SubstructureRedirect | x.EventMask.SubstructureNotify


@pytest.fixture
def keeper(bare_display: PrivateDisplay) -> Iterator[KeeperProcess]:
    with keeping(bare_display) as running:
        yield running


@pytest.fixture
def client(bare_display: PrivateDisplay) -> Iterator[Client]:
    with Client(bare_display) as connected:
        yield connected


@contextmanager
def storm(display: PrivateDisplay, blow: Callable[[Client], None]) -> Iterator[None]:
    """Another program that does `blow` over and over."""
    over = threading.Event()

    def run() -> None:
        with Client(display) as client, contextlib.suppress(xcffib.ConnectionException):
            while not over.is_set():
                blow(client)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def menus(client: Client) -> None:
    """A hundred menus flash up."""
    opened = [client.window(200, 200, override_redirect=True) for _ in range(100)]
    for window in opened:
        client.core.MapWindow(window)
    for window in opened:
        client.core.DestroyWindow(window)
    client.sync()


def doomed(client: Client) -> None:
    """Fifty windows that vanish while they are being looked at."""
    for _ in range(50):
        window = client.window(300, 300, name="doomed")
        client.core.MapWindow(window)
        client.core.ConfigureWindow(window, x.ConfigWindow.Width, [400])
        client.core.DestroyWindow(window)
    client.sync()


def retitled(client: Client) -> None:
    """A window whose title changes all the time."""
    window = client.window(300, 300)
    client.map(window)
    for number in range(200):
        client.core.ChangeProperty(x.PropMode.Replace, window, x.Atom.WM_NAME, x.Atom.STRING, 8, 3, b"%03d" % number)
    client.destroy(window)


@pytest.mark.parametrize("blow", [menus, doomed, retitled])
def test_in_a_storm_windows_are_managed_reported_and_the_end_is_noticed(
    bare_display: PrivateDisplay, keeper: KeeperProcess, client: Client, blow: Callable[[Client], None]
) -> None:
    with storm(bare_display, blow):
        content = client.window(600, 400, name="content")
        client.map(content)
        eventually(lambda: client.geometry(content) == FULL, "it fills the screen")
        seen = keeper.report(lambda windows: content in ids(windows))
        assert next(window for window in seen if window["id"] == content)["title"] == "content"
        before = len(keeper.lines)
        began = Stopwatch(keeper.process.pid, bare_display.pid)
        while len(keeper.lines) < before + 3:
            assert keeper.read(60), "reports go on"
        assert began.seconds() < 3, "none is later than 300 ms after a change"
        keeper.process.send_signal(signal.SIGTERM)
        assert keeper.exit_code() == 0


def test_in_a_storm_a_closed_output_is_noticed_at_once(bare_display: PrivateDisplay, keeper: KeeperProcess) -> None:
    with storm(bare_display, menus):
        assert keeper.read(60)
        assert keeper.process.stdout is not None
        keeper.process.stdout.close()
        assert keeper.process.wait(60) == 0


def test_after_a_storm_everything_is_as_it_was(bare_display: PrivateDisplay, keeper: KeeperProcess, client: Client) -> None:
    content, small = client.window(600, 400), client.window(50, 50)
    client.map(content)
    client.map(small)
    with storm(bare_display, doomed), storm(bare_display, menus):
        time.sleep(1)
    keeper.report(lambda windows: ids(windows) == [content, small])
    eventually(lambda: client.focus() == content, "the content has the focus")
    assert client.numbers(client.root, "_NET_CLIENT_LIST") == (content, small)
    assert (client.geometry(content), client.geometry(small)[0]) == (FULL, -30000)


def test_five_hundred_windows(keeper: KeeperProcess, client: Client) -> None:
    windows = [client.window(300 + number, 300, name=f"window {number}") for number in range(500)]
    for window in windows:
        client.core.MapWindow(window)
    client.sync()
    seen = keeper.report(lambda reported: len(reported) == 500)
    assert ids(seen) == windows
    assert {(window["width"], window["height"]) for window in seen} == {FULL[2:]}
    began = Stopwatch(keeper.process.pid)
    client.set_text(windows[0], "_NET_WM_NAME", "UTF8_STRING", b"another")
    keeper.report(lambda reported: reported[0]["title"] == "another")
    assert began.seconds() < 1
    for window in reversed(windows):
        client.core.DestroyWindow(window)
    client.sync()
    keeper.report(lambda reported: reported == [], 10)


def test_windows_there_before_are_adopted_fast(bare_display: PrivateDisplay, client: Client) -> None:
    windows = [client.window(300, 300) for _ in range(500)]
    for window in windows:
        client.core.MapWindow(window)
    client.sync()
    keeper = KeeperProcess(bare_display.name, env=bare_display.env)
    try:
        assert ids(keeper.report(lambda _: True, 10)) == windows
        assert len(keeper.lines) == 1
    finally:
        keeper.close()


def test_forged_notices_change_nothing(keeper: KeeperProcess, client: Client) -> None:
    content = client.window(600, 400, name="content")
    client.map(content)
    keeper.report(lambda windows: ids(windows) == [content])

    def send(event: bytes, mask: int = MANAGER) -> None:
        client.core.SendEvent(False, client.root, mask, event)

    send(x.DestroyNotifyEvent.synthetic(client.root, content).pack())
    send(x.ReparentNotifyEvent.synthetic(client.root, content, content, 0, 0, False).pack())
    send(x.ConfigureNotifyEvent.synthetic(client.root, client.root, 0, 0, 0, 1, 1, 0, 0).pack(), x.EventMask.StructureNotify)
    send(x.MapNotifyEvent.synthetic(client.root, 0xDEAD, False).pack())
    send(x.MapRequestEvent.synthetic(client.root, client.root).pack())
    send(x.ConfigureRequestEvent.synthetic(0, client.root, content, 0, 0, 0, 5, 5, 0, 0xFFFF).pack())
    for form in (8, 16):
        data = x.ClientMessageData.synthetic([1] * 20 if form == 8 else [1] * 10, "B" * 20 if form == 8 else "H" * 10)
        for name in ("_NET_ACTIVE_WINDOW", "_NET_WM_STATE", "_NET_CLOSE_WINDOW"):
            send(x.ClientMessageEvent.synthetic(form, content, client.atom(name), data).pack())
    for number in range(36, 128):
        with contextlib.suppress(xcffib.Error):  # the server has no event of that number
            client.core.SendEventChecked(False, client.root, MANAGER, struct.pack("=B31x", number)).check()
    client.set_text(content, "_NET_WM_NAME", "UTF8_STRING", b"still here")
    (seen,) = keeper.report(lambda windows: bool(windows) and windows[0]["title"] == "still here")
    assert (seen["width"], seen["height"]) == FULL[2:]
    assert client.geometry(content) == FULL
    assert client.numbers(client.root, "_NET_CLIENT_LIST") == (content,)
    client.ask_size(content, 800, 600)
    client.map(newer := client.window(300, 300))
    keeper.report(lambda windows: ids(windows) == [content, newer])
    assert client.geometry(newer) == FULL


@pytest.mark.parametrize("size", [(1, 1), (32767, 32767), (32767, 1), (119, 32767), (65535, 65535)])
def test_windows_of_every_size(keeper: KeeperProcess, client: Client, size: tuple[int, int]) -> None:
    window = client.window(*size)
    client.map(window)
    (seen,) = keeper.report(lambda windows: ids(windows) == [window])
    content = min(size) >= 120
    assert client.geometry(window) == (FULL if content else (-30000, -30000, *size))
    assert (seen["width"], seen["height"]) == (FULL[2:] if content else size)


@pytest.mark.parametrize(
    ("name", "kind", "numbers"),
    [
        ("_NET_WM_PID", "CARDINAL", [1] * 100_000),
        ("WM_CLASS", "CARDINAL", [0] * 100_000),
        ("WM_PROTOCOLS", "ATOM", [1] * 100_000),
        ("_NET_WM_STATE", "ATOM", [1] * 100_000),
        ("WM_TRANSIENT_FOR", "WINDOW", [0xFFFFFFFF]),
        ("WM_HINTS", "WM_HINTS", [0xFFFFFFFF] * 9),
        ("WM_NORMAL_HINTS", "WM_SIZE_HINTS", [0xFFFFFFFF] * 18),
    ],
)
def test_properties_that_are_nonsense(keeper: KeeperProcess, client: Client, name: str, kind: str, numbers: list[int]) -> None:
    window = client.window(500, 500, name="title")
    client.set_numbers(window, name, kind, *numbers)
    client.map(window)
    (seen,) = keeper.report(lambda windows: ids(windows) == [window])
    assert seen["title"] == "title"
    assert client.geometry(window) == FULL


def test_windows_that_come_and_go_between_programs(keeper: KeeperProcess, client: Client, bare_display: PrivateDisplay) -> None:
    """A program takes a shown window into one of its own, and gives it back."""
    guest, host = client.window(500, 500), client.window(600, 600)
    client.map(guest)
    keeper.report(lambda windows: ids(windows) == [guest])
    with Client(bare_display) as other:
        other.core.ReparentWindow(guest, host, 0, 0)
        other.sync()
        keeper.report(lambda windows: windows == [])
        other.core.ReparentWindow(guest, other.root, 0, 0)
        other.core.MapWindow(guest)
        other.sync()
    keeper.report(lambda windows: ids(windows) == [guest])
    assert client.geometry(guest) == FULL


@pytest.mark.slow
def test_a_display_that_ends_at_any_moment_gives_silence_or_one_refusal() -> None:
    """Eight times at a random moment of the start, and three times after the first report."""
    chosen = random.Random(5)
    for delay in [chosen.uniform(0.0, 0.4) for _ in range(8)] + [None] * 3:
        with PrivateDisplay(dbus=False) as display:
            keeper = KeeperProcess(display.name, env=display.env)
            try:
                if delay is None:
                    keeper.report(lambda windows: windows == [], 20)
                else:
                    time.sleep(delay)
                display.stop_server()
                code = keeper.exit_code()
                refused = [line for line in keeper.lines if "error" in line]
                assert (code, len(refused)) in ([(0, 0), (1, 1)] if delay is not None else [(0, 0)]), (delay, code, keeper.lines)
                assert not keeper.rest, "each line is whole"
            finally:
                keeper.close()


def _command(*words: str) -> list[str]:
    return triptych_command("desktop", *words)


def _script(*words: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from triptych.engine.desklink_command import main; sys.exit(main())", *words]


@pytest.mark.slow
@pytest.mark.parametrize("program", [_command, _script])
def test_the_command_keeps_refuses_a_second_one_and_ends(program: Callable[..., list[str]], bare_display: PrivateDisplay) -> None:
    words = program("keep", "--display", bare_display.name)
    with subprocess.Popen(words, env=bare_display.env, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b'{"windows":[]}\n'
        second = subprocess.run(words, env=bare_display.env, capture_output=True, timeout=30)
        assert (second.returncode, second.stdout) == (1, b'{"error":"another window manager"}\n')
        first.terminate()
        assert (first.stdout.read(), first.wait(60)) == (b"", 0)


@pytest.mark.slow
@pytest.mark.parametrize("program", [_command, _script])
def test_the_command_refuses_in_one_line_and_explains_itself(program: Callable[..., list[str]], bare_display: PrivateDisplay) -> None:
    def run(*words: str) -> tuple[int, bytes]:
        done = subprocess.run(program("keep", *words), env=bare_display.env, capture_output=True, timeout=30)
        return done.returncode, done.stdout

    assert run() == (1, b'{"error":"no display given"}\n')
    assert run("--display", "") == (1, b'{"error":"no display given"}\n')
    code, said = run("--display", ":9999")
    assert (code, said.count(b"\n")) == (1, 1)
    assert said.startswith(b'{"error":"cannot open X display :9999: ')
    for option in ("--help", "-h"):
        code, said = run(option)
        assert (code, b"--display" in said) == (0, True)
