"""The clipboard of a real X display against real programs: xclip, a GTK entry, xterm and Chromium."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import xcffib

from clipboard_kit import Requestor, copied, pasted, sample
from gtk_kit import GtkForm
from stopwatch_kit import Stopwatch
from triptych.adapters.desklink.x11_client import read_property
from triptych.adapters.desklink.x11_clipboard import X11Clipboard
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.errors import RemoteProtocolError
from x11_kit import Client

pytestmark = pytest.mark.display

CONTROL, SHIFT, A, C, V = 37, 50, 38, 54, 55
LIMIT = 262_144
MEBIBYTES_20 = 20 << 20


@asynccontextmanager
async def clipboard(display: PrivateDisplay, limit: int = LIMIT, seconds: float = 3.0) -> AsyncIterator[X11Clipboard]:
    opened = X11Clipboard(display.name, limit=limit, seconds=seconds)
    try:
        yield opened
    finally:
        await opened.close()


async def reason(call: Coroutine[object, object, object]) -> str:
    """The sentence with which a call is refused."""
    with pytest.raises(RemoteProtocolError) as refusal:
        await call
    assert refusal.value.code == "clipboard"
    return refusal.value.detail


def chord(hand: X11Input, *keys: int) -> None:
    for key in keys:
        hand.key(key, True)
    for key in reversed(keys):
        hand.key(key, False)
    hand.sync()


async def until(condition: Callable[[], bool], what: str, seconds: float = 10.0) -> None:
    """Wait, with the event loop running, for what another process does."""
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < deadline, f"{what}: not so in {seconds} s"


@pytest.mark.parametrize("size", [0, 1, 65_535, 131_072, 131_073, LIMIT])
def test_what_is_written_is_what_xclip_reads(bare_display: PrivateDisplay, size: int) -> None:
    async def main() -> None:
        async with clipboard(bare_display) as ours:
            await ours.write(sample(size))
            assert await asyncio.to_thread(pasted, bare_display) == sample(size).encode()
            assert await ours.read() == (sample(size), False)

    asyncio.run(main())


@pytest.mark.parametrize("size", [1, 65_535, LIMIT - 1, LIMIT])
def test_what_xclip_holds_is_what_is_read(bare_display: PrivateDisplay, size: int) -> None:
    async def main() -> None:
        with copied(bare_display, sample(size).encode()):
            async with clipboard(bare_display) as ours:
                assert await ours.read() == (sample(size), False)

    asyncio.run(main())


@pytest.mark.parametrize("size", [LIMIT + 1, 1_048_576, MEBIBYTES_20])
def test_a_long_text_is_cut_on_reading_and_its_owner_lives_on(bare_display: PrivateDisplay, size: int) -> None:
    text = "日" * (size // 3 + 1)

    async def main() -> None:
        with copied(bare_display, text.encode()) as xclip:
            async with clipboard(bare_display) as ours:
                for _ in range(2):
                    # 262,144 is no multiple of 3: the cut lies within a character.
                    assert await ours.read() == ("日" * (LIMIT // 3), True)
                assert await asyncio.to_thread(pasted, bare_display) == text.encode()
            assert xclip.poll() is None

    asyncio.run(main())


def test_a_long_text_is_refused_on_writing_and_nothing_changes(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with clipboard(bare_display) as ours:
            await ours.write("before")
            assert "at most 262144" in await reason(ours.write(sample(LIMIT + 1)))
            assert await asyncio.to_thread(pasted, bare_display) == b"before"

    asyncio.run(main())


@pytest.mark.parametrize("size", [1_048_576, MEBIBYTES_20])
def test_beyond_the_limit_of_the_protocol_both_ways_are_exact(bare_display: PrivateDisplay, size: int) -> None:
    async def main() -> None:
        async with clipboard(bare_display, limit=64 << 20, seconds=20) as ours:
            await ours.write(sample(size))
            assert await asyncio.to_thread(pasted, bare_display) == sample(size).encode()
            async with clipboard(bare_display, limit=64 << 20, seconds=20) as another:
                assert await another.read() == (sample(size), False)
            with copied(bare_display, sample(size).encode()):
                assert await ours.read() == (sample(size), False)

    asyncio.run(main())


def test_several_programs_paste_at_once(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with clipboard(bare_display, limit=64 << 20, seconds=20) as ours:
            text = sample(3 << 20)
            await ours.write(text)
            async with asyncio.TaskGroup() as group:
                reading = [group.create_task(asyncio.to_thread(pasted, bare_display)) for _ in range(6)]
                # While they paste, another text is written: who has begun gets the old one, whole.
                await ours.write("new")
            assert {task.result() for task in reading} <= {text.encode(), b"new"}
            assert await asyncio.to_thread(pasted, bare_display) == b"new"

    asyncio.run(main())


def test_many_reads_and_writes_are_under_way_together(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with clipboard(bare_display) as ours, clipboard(bare_display) as theirs:
            await theirs.write(sample(LIMIT))
            assert set(await asyncio.gather(*(ours.read() for _ in range(20)))) == {(sample(LIMIT), False)}
            await asyncio.gather(*(ours.write(f"text {number}") for number in range(20)))
            assert await theirs.read() == ("text 19", False)

    asyncio.run(main())


def test_an_empty_clipboard_and_a_picture_have_no_text(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with clipboard(bare_display) as ours:
            assert await reason(ours.read()) == "the desktop clipboard is empty"
            with copied(bare_display, b"\x89PNG" * 200_000, "-t", "image/png"):
                assert await reason(ours.read()) == "the desktop clipboard holds no text"
                assert len(await asyncio.to_thread(pasted, bare_display, "image/png")) == 800_000

    asyncio.run(main())


def test_another_programs_copy_takes_the_clipboard_and_nothing_is_kept(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with clipboard(bare_display) as ours:
            await ours.write("ours")
            with copied(bare_display, b"theirs"):
                assert await ours.read() == ("theirs", False)
            # xclip has ended, and with it its text: ours does not come back.
            with Requestor(bare_display) as requestor:
                await until(lambda: requestor.owner() == 0, "nobody owns the clipboard")
            assert await reason(ours.read()) == "the desktop clipboard is empty"
            await ours.write("again")
            assert await asyncio.to_thread(pasted, bare_display) == b"again"

    asyncio.run(main())


def test_the_end_of_a_session_gives_up_its_text_and_no_other(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        with Requestor(bare_display) as requestor:
            async with clipboard(bare_display) as ours:
                await ours.write("ours")
                assert requestor.owner() != 0
                threads = {thread.name for thread in threading.enumerate()}
                assert "desklink-clipboard" in threads
            await until(lambda: requestor.owner() == 0, "nobody owns the clipboard")
            assert "desklink-clipboard" not in {thread.name for thread in threading.enumerate()}
            async with clipboard(bare_display) as ours:
                await ours.write("ours")
                with copied(bare_display, b"theirs"):
                    await ours.close()
                    await ours.close()
                    assert await asyncio.to_thread(pasted, bare_display) == b"theirs"
                    assert await reason(ours.read()) == "the session has ended"
                    assert await reason(ours.write("late")) == "the session has ended"

    asyncio.run(main())


def test_the_primary_selection_is_not_touched(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with clipboard(bare_display) as ours:
            await ours.write("ours")
            with Client(bare_display) as client:
                assert client.core.GetSelectionOwner(client.atom("PRIMARY")).reply().owner == 0
                assert client.core.GetSelectionOwner(client.atom("SECONDARY")).reply().owner == 0

    asyncio.run(main())


def test_nothing_is_started_before_the_first_call(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        before = set(threading.enumerate())
        async with clipboard(bare_display):
            assert set(threading.enumerate()) == before

    asyncio.run(main())


def test_a_display_that_cannot_be_opened_or_goes_away_is_a_refusal(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        nowhere = X11Clipboard(":9999")
        assert "no server answers there" in await reason(nowhere.open())
        await nowhere.close()
        async with clipboard(bare_display) as ours:
            await ours.open()
            await ours.write("text")
            bare_display.stop_server()
            assert "went away" in (said := await reason(ours.read())) or "no server answers" in said
            assert "no server answers" in await reason(ours.read())

    asyncio.run(main())


def test_a_display_server_that_hangs_costs_three_seconds_and_blocks_nothing(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with clipboard(bare_display, seconds=0.5) as ours:
            await ours.write("text")
            os.kill(bare_display.pid, signal.SIGSTOP)
            try:
                began, watch = time.monotonic(), Stopwatch()
                answers = await asyncio.gather(reason(ours.read()), reason(ours.write("late")), reason(ours.read()))
                assert set(answers) == {"the desktop clipboard did not answer"}
                assert time.monotonic() - began > 0.4 and watch.seconds() < 2
                ended = asyncio.create_task(ours.close())
                await asyncio.wait((ended,), timeout=60)
                assert ended.done()
            finally:
                os.kill(bare_display.pid, signal.SIGCONT)
            # The thread that was left behind ends by itself, and its late write never happens.
            await until(lambda: "desklink-clipboard" not in {thread.name for thread in threading.enumerate()}, "the thread has ended")
            with Requestor(bare_display) as requestor:
                await until(lambda: requestor.owner() == 0, "nobody owns the clipboard")

    asyncio.run(main())


def test_a_gtk_entry_copies_and_pastes(private_display: PrivateDisplay, gtk_window: GtkForm) -> None:
    async def main() -> None:
        with X11Input(private_display.name) as hand:
            async with clipboard(private_display) as ours:
                hand.move(*gtk_window.centre("Name"))
                hand.button(1, True)
                hand.button(1, False)
                gtk_window.wait_for("focus", name="Name")
                await ours.write("Straße 日本 😀")
                with Requestor(private_display) as requestor:
                    our_window = requestor.owner()
                chord(hand, CONTROL, V)
                await asyncio.to_thread(gtk_window.wait_for, "text", value="Straße 日本 😀")
                hand.type_text(" more")
                gtk_window.wait_for("text", value="Straße 日本 😀 more")
                chord(hand, CONTROL, A)
                chord(hand, CONTROL, C)
                with Requestor(private_display) as requestor:
                    await until(lambda: requestor.owner() not in (0, our_window), "GTK has the clipboard")
                assert await ours.read() == ("Straße 日本 😀 more", False)

    asyncio.run(main())


def test_xterm_pastes_and_copies(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    typed, ready = tmp_path / "typed", tmp_path / "ready"
    osc52 = base64.b64encode("from xterm ä日".encode()).decode()
    script = f"stty -echo; touch {ready}; IFS= read -r line; printf %s \"$line\" > {typed}; printf '\\033]52;c;{osc52}\\a'; read -r rest"
    resources = ["xterm*VT100.translations: #override Ctrl Shift <Key>V: insert-selection(CLIPBOARD)", "xterm*allowWindowOps: true"]
    options = [part for resource in resources for part in ("-xrm", resource)]

    async def main() -> None:
        async with clipboard(bare_display) as ours:
            await ours.write("grüße an 日本\n")
            with X11Input(bare_display.name) as hand, Requestor(bare_display) as requestor:
                our_window = requestor.owner()
                hand.move(100, 100)
                await until(ready.exists, "the shell in xterm waits")
                chord(hand, CONTROL, SHIFT, V)
                await until(lambda: typed.exists() and bool(typed.read_text()), "the shell has the line")
                assert typed.read_text() == "grüße an 日本"
                await until(lambda: requestor.owner() not in (0, our_window), "xterm has the clipboard")
                assert await ours.read() == ("from xterm ä日", False)

    env = {**bare_display.env, "LC_ALL": "C.UTF-8"}
    with subprocess.Popen(["xterm", "-u8", *options, "-geometry", "80x24+0+0", "-e", "sh", "-c", script], env=env) as xterm:
        try:
            asyncio.run(main())
        finally:
            xterm.kill()


PAGE = """data:text/html;charset=utf-8,<title>empty</title><textarea autofocus style="position:fixed;inset:0;width:100%;height:100%"
oninput="document.title='='+this.value"></textarea>"""


@pytest.mark.slow
def test_chromium_copies_and_pastes(private_display: PrivateDisplay, tmp_path: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed: apt install chromium")
    command = ["chromium", "--no-sandbox", "--no-first-run", "--disable-gpu", "--kiosk", f"--user-data-dir={tmp_path}/profile", PAGE]

    async def main() -> None:
        async with clipboard(private_display) as ours:
            with X11Input(private_display.name) as hand, Requestor(private_display) as client:
                await until(lambda: "empty" in titles(client), "the page is shown")
                await ours.write("aus Köln: 日本 😀")
                our_window = client.owner()
                hand.move(600, 400)
                hand.button(1, True)
                hand.button(1, False)
                chord(hand, CONTROL, V)
                await until(lambda: "=aus Köln: 日本 😀" in titles(client), "the page has the text")
                hand.type_text(" ok")
                await until(lambda: "=aus Köln: 日本 😀 ok" in titles(client), "the page has what is typed")
                chord(hand, CONTROL, A)
                chord(hand, CONTROL, C)
                await until(lambda: client.owner() not in (0, our_window), "Chromium has the clipboard")
                assert await ours.read() == ("aus Köln: 日本 😀 ok", False)

    log = (tmp_path / "log").open("wb")
    with log, subprocess.Popen(command, env=private_display.env, stdout=log, stderr=log, start_new_session=True) as chromium:
        try:
            asyncio.run(main())
        finally:
            os.killpg(chromium.pid, signal.SIGKILL)


def titles(client: Client) -> str:
    """The titles of all top-level windows."""
    found = []
    for window in client.stack():
        with contextlib.suppress(xcffib.Error):  # it has just gone
            found.append(read_property(client.connection, window, client.atom("_NET_WM_NAME"), 1024).data.decode())
    return "\n".join(found)
