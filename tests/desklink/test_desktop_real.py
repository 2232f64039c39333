"""Real programs on a private display, seen and driven through the Python API: a terminal, a browser, two monitors; servers that fail."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import xcffib
import xcffib.randr
import xcffib.xproto as x

from desklink_kit import EngineProcess
from triptych.adapters.desklink.x11_capture import X11Capture
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.engine import desktop
from triptych.engine.child import triptych_command
from triptych.errors import Unavailable
from x11_kit import Client, eventually

pytestmark = pytest.mark.display

CONTROL = ("view", "control")
EVERY_KEY = "".join(chr(code) for code in range(32, 127))
CHROMIUM = [
    "chromium",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--password-store=basic",
    "--ozone-platform=x11",
]
MIRROR = """<!doctype html><meta charset="utf-8"><title>ready</title>
<textarea style="position: fixed; inset: 0; width: 100%; height: 100%" oninput="document.title = value"
onclick="if (document.hasFocus()) document.title = 'clicked'"></textarea>"""


@contextmanager
def running(command: list[str], display: PrivateDisplay, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program and all that it starts, in a process group that ends with the block."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed: apt install {command[0]}")
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env={**display.env, **more}, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def keeper(display: PrivateDisplay) -> Iterator[None]:
    """Our keeper: the newest window fills the screen and has the focus."""
    process = subprocess.Popen(triptych_command("desktop", "keep", "--display", display.name), env=display.env, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b'{"windows":[]}\n'
        yield
    finally:
        process.terminate()
        process.stdout.close()
        process.wait()


def titles(client: Client) -> list[str]:
    """The titles of the top-level windows that are shown."""
    name, kind = client.atom("_NET_WM_NAME"), client.atom("UTF8_STRING")
    found = []
    for window in client.stack():
        try:
            reply = client.core.GetProperty(False, window, name, kind, 0, 4096).reply()
        except xcffib.xproto.WindowError:
            continue  # closed meanwhile
        if reply.value_len:
            found.append(b"".join(reply.value).decode())
    return found


def test_what_is_typed_into_a_terminal_is_what_its_program_reads(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    typed = tmp_path / "typed"
    typed.touch()
    text = EVERY_KEY + "\n" + "The quick brown fox\tjumps.\n" * 20
    program = f"stty -icanon -echo; echo ready; exec cat > {typed}"

    async def main() -> None:
        async with desktop.open(bare_display.name, CONTROL) as session:
            empty = await session.frame(still_ms=50)
            with running(["xterm", "-geometry", "80x24+100+100", "-e", "sh", "-c", program], bare_display):
                # Without a window manager the keys go to the window under the pointer.
                await session.move(200, 200)
                shown = await session.frame(after_seq=empty.seq, still_ms=300, timeout_ms=20_000, since=empty.seq)
                assert (shown.array[150:400, 150:500] != empty.array[150:400, 150:500]).any()
                await session.type(text)
                await asyncio.to_thread(eventually, lambda: len(typed.read_text()) >= len(text), "all is typed")
                assert typed.read_text() == text

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 640])
def test_what_is_typed_into_a_browser_is_what_its_page_has(bare_display: PrivateDisplay, tmp_path: Path, width: int) -> None:
    page = tmp_path / "page.html"
    page.write_text(MIRROR)
    text = "Hello, page: " + EVERY_KEY.replace(" ", "")
    command = [*CHROMIUM, f"--user-data-dir={tmp_path / 'profile'}", f"--app={page.as_uri()}"]

    async def main() -> None:
        async with desktop.open(bare_display.name, CONTROL, max_width=width) as session:
            with keeper(bare_display), Client(bare_display) as client, running(command, bare_display, HOME=str(tmp_path)):
                await asyncio.to_thread(eventually, lambda: "ready" in titles(client), "the page is there", 60)
                across, down = session.size
                # Once its page answers a click, what is typed reaches it, too.
                while "clicked" not in titles(client):
                    await session.click(across // 2, down // 2)
                    await asyncio.sleep(0.1)
                still = await session.frame(still_ms=300, timeout_ms=60_000)
                await session.type(text)
                await asyncio.to_thread(eventually, lambda: text in titles(client), f"{text!r} in the title")
                changed = await session.frame(after_seq=still.seq, still_ms=100, timeout_ms=60_000)
                assert (changed.array[..., :3] != still.array[..., :3]).any()

    asyncio.run(main())


@pytest.mark.parametrize("scale", [1, 2])
def test_the_coordinates_of_two_monitors_are_hit(bare_display: PrivateDisplay, scale: int) -> None:
    if shutil.which("xrandr") is None:
        pytest.skip("xrandr is not installed: apt install x11-xserver-utils")
    for name, place, output in (("left", "640/200x800/200+0+0", "screen"), ("right", "640/200x800/200+640+0", "none")):
        subprocess.run(["xrandr", "--setmonitor", name, place, output], env=dict(bare_display.env), check=True, capture_output=True)

    async def main(client: Client) -> None:
        async with desktop.open(bare_display.name, CONTROL, max_width=1280 // scale) as session:
            for place, colour in (((100, 300), (0xFF, 0, 0)), ((640, 0), (0, 0xFF, 0)), ((1180, 700), (0, 0, 0xFF))):
                window = client.window(100, 100, override_redirect=True)
                values = [int.from_bytes(colour, "big"), x.EventMask.ButtonPress]
                client.core.ChangeWindowAttributes(window, x.CW.BackPixel | x.CW.EventMask, values)
                client.core.ConfigureWindow(window, x.ConfigWindow.X | x.ConfigWindow.Y, list(place))
                before = await session.frame()
                client.map(window)
                frame = await session.frame(after_seq=before.seq, since=before.seq)
                aim = (place[0] + 50) // scale, (place[1] + 50) // scale
                blue, green, red = frame.array[aim[1], aim[0], :3]
                assert (red, green, blue) == colour
                await session.click(*aim)
                pressed = await asyncio.to_thread(client.event, lambda event: isinstance(event, x.ButtonPressEvent))
                assert (pressed.event, pressed.root_x, pressed.root_y) == (window, place[0] + 50, place[1] + 50)
                assert (pressed.event_x, pressed.event_y) == (50, 50)

    with Client(bare_display) as client:
        monitors = client.connection(xcffib.randr.key).GetMonitors(client.root, True).reply().monitors
        assert sorted((monitor.x, monitor.y, monitor.width, monitor.height) for monitor in monitors) == [
            (0, 0, 640, 800),
            (640, 0, 640, 800),
        ]
        asyncio.run(main(client))


@pytest.mark.slow
def test_a_server_that_is_killed_in_the_middle_of_the_capture(bare_display: PrivateDisplay) -> None:
    path = Path(bare_display.runtime_dir) / "frame.raw"
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, "view", "control", max_fps=60)
        stop = threading.Event()

        def paint() -> None:
            with Client(bare_display) as client:
                colour = 0
                while not stop.is_set():
                    colour += 0x010307
                    try:
                        client.fill(colour & 0xFFFFFF, (0, 0, 1280, 800))
                    except xcffib.ConnectionException:
                        return

        painter = threading.Thread(target=paint)
        painter.start()
        try:
            engine.event("session.frame.changed", seq=20)
            waiting = [engine.send("session.frame", {"session_id": session, "still_ms": 60_000, "timeout_ms": 60_000}) for _ in range(3)]
            os.kill(bare_display.pid, signal.SIGKILL)
            assert bare_display.name in engine.event("session.capture.stopped")["reason"]
        finally:
            stop.set()
            painter.join(60)
        assert [engine.answer(request)["error"]["code"] for request in waiting] == ["stream-stopped"] * 3
        assert engine.code("session.frame", {"session_id": session, "path": str(path)}) == "stream-stopped"
        assert not path.exists()
        engine.event("session.state", seconds=15, capture="ended", transport="new")
        assert len(engine.events("session.capture.stopped")) == 1
        assert engine.ask("shutdown") == {}
        assert engine.exit_code() == 0


def test_a_display_of_another_depth_is_refused(bare_display: PrivateDisplay) -> None:
    bare_display.stop_server()
    screen = ["-screen", "0", "640x480x16", "-nolisten", "tcp", "-noreset", "-displayfd", "1"]
    command = ["Xvfb", bare_display.name, "-auth", bare_display.env["XAUTHORITY"], *screen]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        try:
            assert server.stdout.readline()
            with pytest.raises(Unavailable, match="not 24 bits deep"):
                X11Capture(bare_display.name)
            with EngineProcess(bare_display.env) as engine:
                engine.ask("hello", {"protocol": 3})
                source = {"kind": "x11", "display": bare_display.name}
                answer = engine.answer(engine.send("session.open", {"source": source, "permissions": list(CONTROL)}))
                assert answer["error"]["code"] == "source"
                assert "not 24 bits deep" in answer["error"]["message"]
            with X11Input(bare_display.name) as look:
                assert look.pressed() == frozenset()
        finally:
            server.terminate()
