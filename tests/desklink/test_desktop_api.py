"""The Python API on a real X display: what a program's user would see of it, and what stays pressed afterwards (nothing)."""

from __future__ import annotations

import asyncio
import io
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

from gtk_kit import GtkForm
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.engine import desktop, desktop_sync
from triptych.engine.child import triptych_command
from triptych.errors import LocalProtocolError, Unavailable, WaitTimeout
from x11_kit import Client, eventually

pytestmark = pytest.mark.display

CONTROL = ("view", "control")


@pytest.fixture
def kept_form(private_display: PrivateDisplay, gtk_program: Callable[..., GtkForm]) -> Iterator[GtkForm]:
    """A GTK form that fills a screen under our own keeper."""
    keeper = subprocess.Popen(
        triptych_command("desktop", "keep", "--display", private_display.name),
        env=private_display.env,
        stdout=subprocess.PIPE,
    )
    assert keeper.stdout is not None
    try:
        assert keeper.stdout.readline() == b'{"windows":[]}\n'
        form = gtk_program(private_display)
        form.wait_until(lambda form: form.layout["window"] == (0, 0, 1280, 800), "the form fills the screen")
        yield form
    finally:
        keeper.terminate()
        keeper.wait()
        keeper.stdout.close()


def test_a_click_and_a_typed_line_reach_a_gtk_program_and_show(private_display: PrivateDisplay, kept_form: GtkForm, tmp_path: Path) -> None:
    line = 'Plain {words}: #1 ~ "done"?'

    async def main() -> None:
        async with desktop.open(private_display.name, CONTROL) as session:
            before = await session.frame(still_ms=100)
            await session.click(*kept_form.centre("Name"))
            kept_form.wait_for("focus", name="Name")
            await session.type(line + "\n")
            kept_form.wait_for("activate", value=line)
            after = await session.frame(after_seq=before.seq, still_ms=100)
            assert after.seq > before.seq
            left, top, width, height = kept_form.layout["Name"]
            entry = (slice(top, top + height), slice(left, left + width))
            assert not numpy.array_equal(before.array[entry], after.array[entry])
            await session.click(*kept_form.centre("Save"))
            kept_form.wait_for("click", name="Save", count=1)
            saved = await session.save_png(tmp_path / "form.png")
            with Image.open(tmp_path / "form.png") as picture:
                assert picture.size == (1280, 800)
                assert numpy.array_equal(numpy.asarray(picture), saved.array[..., 2::-1])
            metrics = await session.metrics()
            assert (metrics["input_applied"], metrics["input_rejected"]) == (5, 0)

    asyncio.run(main())


def test_chords_edit_what_was_typed(private_display: PrivateDisplay, kept_form: GtkForm) -> None:
    with desktop_sync.open(private_display.name, CONTROL) as session:
        session.click(*kept_form.centre("Name"))
        session.type("first")
        kept_form.wait_for("text", value="first")
        session.press("Control+a", "Shift+x", "y", "+", "Shift+Home", "Enter")
        kept_form.wait_for("activate", value="Xy+")
        # A modifier that is held by name changes what chords mean, and is still held after them.
        session.hold("Shift")
        session.press("z", "Home")
        session.release("Shift")
        session.press("Backspace")
        kept_form.wait_for("text", value="")


def test_a_held_modifier_survives_text(private_display: PrivateDisplay, kept_form: GtkForm) -> None:
    with X11Input(private_display.name) as look, desktop_sync.open(private_display.name, CONTROL) as session:
        session.click(*kept_form.centre("Name"))
        session.hold("Shift")
        session.type("A!")
        kept_form.wait_for("text", value="A!")
        assert look.pressed() == {50}


def test_frames_are_views_with_their_damage(bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client, desktop_sync.open(bare_display.name) as session:
        first = session.frame()
        assert (first.array.shape, first.array.dtype, session.size) == ((800, 1280, 4), numpy.uint8, (1280, 800))
        assert (first.width, first.height, first.damage) == (1280, 800, ((0, 0, 1280, 800),))
        assert not first.array.flags.writeable
        client.fill(0x102030, (100, 100, 8, 8))
        second = session.frame(after_seq=first.seq, since=first.seq)
        assert second.damage == ((96, 96, 32, 32),)
        assert second.array[100, 100].tolist()[:3] == [0x30, 0x20, 0x10]
        assert not first.array[100, 100, :3].any()
        part = session.frame(region=(100, 96, 4, 6))
        assert part.array.shape == (6, 4, 4)
        assert numpy.array_equal(part.array, second.array[96:102, 100:104])
        with pytest.raises(WaitTimeout):
            session.frame(after_seq=second.seq, timeout_ms=30)
        with pytest.raises(LocalProtocolError) as outside:
            session.frame(region=(1279, 0, 2, 1))
        assert outside.value.code == "coordinates"


def test_a_waiting_frame_does_not_hold_input_up(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        with Client(bare_display) as client, X11Input(bare_display.name) as look:
            async with desktop.open(bare_display.name, CONTROL) as session:
                first = await session.frame()
                waiting = asyncio.create_task(session.frame(after_seq=first.seq))
                await session.move(40, 50)
                assert look.pointer()[:2] == (40, 50)
                assert not waiting.done()
                client.fill(0xFF0000, (0, 0, 10, 10))
                assert (await waiting).seq == first.seq + 1

    asyncio.run(main())


def test_what_changed_is_told_without_a_picture(bare_display: PrivateDisplay) -> None:
    events: list[dict[str, Any]] = []
    with Client(bare_display) as client, desktop_sync.open(bare_display.name, on_event=events.append) as session:
        session.frame()
        before = session.status.seq
        client.fill(0x336699, (64, 64, 32, 32))
        change = session.wait_for_change(after_seq=before)
        assert (change.seq, change.damage) == (before + 1, ((64, 64, 32, 32),))
        assert session.settle(still_ms=60).still_ms >= 60
        assert session.status == desktop.Status(seq=change.seq)
        with pytest.raises(WaitTimeout):
            session.wait_for_change(timeout_ms=30)
    names = [event["event"] for event in events]
    assert names.count("session.frame.changed") == change.seq
    assert names[-1] == "session.state"
    assert session.status.ended


def test_the_clipboard_needs_its_permission_and_then_works(bare_display: PrivateDisplay) -> None:
    with desktop_sync.open(bare_display.name, ("view", "clipboard")) as session:
        with pytest.raises(LocalProtocolError) as empty:
            session.clipboard_read()
        assert empty.value.code == "clipboard"
        session.clipboard_write("Grüße, 日本 😀")
        assert session.clipboard_read() == desktop.ClipboardText("Grüße, 日本 😀", truncated=False)
        with pytest.raises(LocalProtocolError) as refused:
            session.clipboard_write("x" * 262_145)
        assert refused.value.code == "clipboard"
        with desktop_sync.open(bare_display.name) as other:
            for act in (other.clipboard_read, lambda: other.clipboard_write("x")):
                with pytest.raises(LocalProtocolError) as refused:
                    act()
                assert refused.value.code == "clipboard"


def test_unicode_is_typed_only_when_asked(private_display: PrivateDisplay, kept_form: GtkForm) -> None:
    with desktop_sync.open(private_display.name, CONTROL) as session:
        session.click(*kept_form.centre("Name"))
        kept_form.wait_for("focus", name="Name")
        with pytest.raises(LocalProtocolError) as refused:
            session.type("日本 ok")
        assert refused.value.code == "text-unsupported"
        assert "日" in refused.value.detail
        session.type("日本 ok", unicode=True)
        session.press("Enter")
        kept_form.wait_for("activate", value="日本 ok")


def test_windows_as_the_tree_has_them_in_pixels_of_the_frame(bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client:
        low, high = client.window(200, 100, name="low"), client.window(300, 150, name="high")
        for window in (low, high):
            client.map(window)
        client.set_numbers(high, "_NET_WM_PID", "CARDINAL", 4711)
        client.map(client.window(50, 50, name="menu", override_redirect=True))
        with desktop_sync.open(bare_display.name, CONTROL, max_width=640, max_height=400) as session:
            session.move(600, 300)
            first, second = session.windows()
            assert (first.id, first.title, first.pid, first.box) == (high, "high", 4711, (5, 5, 150, 75))
            assert (second.id, second.title, second.pid, second.box) == (low, "low", None, (5, 5, 100, 50))
            assert not first.active and not second.active
            # Without a window manager the keyboard goes to what is under the pointer, until a program takes the focus.
            session.move(100, 60)
            assert [window.active for window in session.windows()] == [True, False]
            client.core.SetInputFocus(0, low, 0)
            client.sync()
            assert [window.active for window in session.windows()] == [False, True]
            client.unmap(low)
            client.destroy(high)
            assert session.windows() == ()


def test_windows_as_a_window_manager_has_them(private_display: PrivateDisplay, kept_form: GtkForm) -> None:
    with desktop_sync.open(private_display.name) as session:
        [window] = session.windows()
        assert (window.id, window.title, window.class_name) == (kept_form.window_id, "Triptych form", "GtkForm")
        assert (window.pid, window.box, window.active, window.visible) == (kept_form.pid, (0, 0, 1280, 800), True, True)


def test_the_hint_of_a_window_manager_that_died_is_not_believed(bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client:
        window = client.window(200, 100, name="here")
        client.map(window)
        client.set_numbers(client.root, "_NET_SUPPORTING_WM_CHECK", "WINDOW", 0x123456)
        client.set_numbers(client.root, "_NET_CLIENT_LIST", "WINDOW")
        with desktop_sync.open(bare_display.name) as session:
            assert [found.title for found in session.windows()] == ["here"]


def test_an_indicator_is_in_no_frame(bare_display: PrivateDisplay) -> None:
    with desktop_sync.open(bare_display.name, CONTROL) as plain:
        plain.move(400, 300)
        without = plain.frame(still_ms=100)
    with desktop_sync.open(bare_display.name, CONTROL, agent_indicator=True) as session:
        first = session.frame(still_ms=100)
        for x in range(300, 500, 20):
            session.move(x, 300)
        last = session.frame(still_ms=100)
        assert (last.seq, last.damage) == (first.seq, ((0, 0, 1280, 800),))
        assert numpy.array_equal(last.array[..., :3], without.array[..., :3])


def test_a_lease_that_ends_says_so(bare_display: PrivateDisplay) -> None:
    with desktop_sync.open(bare_display.name, CONTROL, ttl_seconds=1) as session:
        session.frame()
        eventually(lambda: session.status.ended, "the lease has ended")
        for act in (lambda: session.frame(), lambda: session.click(1, 1), lambda: session.settle()):
            with pytest.raises(LocalProtocolError) as refused:
                act()
            assert (refused.value.code, refused.value.detail) == ("session", "the session has ended: the session lease expired")


def test_refusals_press_nothing(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as look, desktop_sync.open(bare_display.name, CONTROL) as session:
        acts: dict[str, Callable[[], object]] = {
            "coordinates": lambda: session.click(1280, 0),
            "text-unsupported": lambda: session.type("plain, then 日"),
            "text-too-large": lambda: session.type("a" * 4097),
            "operation": lambda: session.type("\ud800"),
        }
        for code, act in acts.items():
            with pytest.raises(LocalProtocolError) as refused:
                act()
            assert refused.value.code == code
        with pytest.raises(LocalProtocolError) as refused:
            session.press("Shift+Nope")
        assert refused.value.code == "text-unsupported"
        assert look.pressed() == frozenset()
    with desktop_sync.open(bare_display.name) as session, pytest.raises(LocalProtocolError) as refused:
        session.click(1, 1)
    assert refused.value.code == "permission"
    for permissions, code in ((("control",), "permission"), (("view", "fly"), "malformed")):
        with pytest.raises(LocalProtocolError) as refused, desktop_sync.open(bare_display.name, permissions):
            raise AssertionError("it must not open")
        assert refused.value.code == code


def test_a_display_that_is_not_there() -> None:
    with pytest.raises(Unavailable) as missing, desktop_sync.open(":998"):
        raise AssertionError("it must not open")
    assert missing.value.reason == "cannot open X display :998: no server answers there, or it refuses our authority"
    assert str(missing.value).count(missing.value.remedy) == 1
    assert str(missing.value) == f"{missing.value.reason} ({missing.value.remedy})"


@pytest.mark.parametrize("display", [":1\0x", "\udcff", "\0"])
def test_what_is_no_display_name(display: str) -> None:
    with pytest.raises((Unavailable, LocalProtocolError)), desktop_sync.open(display):
        raise AssertionError("it must not open")


SILENT = 953
"""A display where something listens and never answers."""


@pytest.fixture
def silent_display() -> Iterator[str]:
    Path("/tmp/.X11-unix").mkdir(mode=0o1777, exist_ok=True)
    path = Path(f"/tmp/.X11-unix/X{SILENT}")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        try:
            yield f":{SILENT}"
        finally:
            path.unlink()


def test_a_server_that_never_answers_is_given_up(silent_display: str, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="does not answer"), desktop_sync.open(silent_display):
        raise AssertionError("it must not open")
    for arguments in (["screenshot", "--display", silent_display, str(tmp_path / "s.png")], ["keep", "--display", silent_display]):
        done = subprocess.run(triptych_command("desktop", *arguments), capture_output=True, text=True, timeout=30)
        assert done.returncode == 1
        assert "does not answer" in done.stdout + done.stderr


NEVER_LEFT = """
import sys
from triptych.engine import desktop_sync
opened = desktop_sync.open(sys.argv[1], ("view", "control"))
session = opened.__enter__()
session.hold("Shift")
"""


def test_a_block_that_is_never_left_is_left_at_exit(bare_display: PrivateDisplay) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NEVER_LEFT, bare_display.name], env=bare_display.env, capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")
    with X11Input(bare_display.name) as look:
        assert look.pressed() == frozenset()


def test_a_saved_picture_is_private_and_whole(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "picture.png", tmp_path / "elsewhere"
    elsewhere.write_text("old")
    path.symlink_to(elsewhere)
    old = os.umask(0)
    try:
        with desktop_sync.open(bare_display.name) as session:
            session.save_png(path)
            with pytest.raises(FileNotFoundError):
                session.save_png(tmp_path / "none" / "picture.png")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert not path.is_symlink()
    assert elsewhere.read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["elsewhere", "picture.png"]


def test_nothing_stays_down_after_the_block_however_it_ends(bare_display: PrivateDisplay) -> None:
    class Trouble(Exception):
        pass

    async def hold(trouble: bool) -> None:
        async with desktop.open(bare_display.name, CONTROL) as session:
            for key in ("Shift", "Control", "F9", "AltGraph"):
                await session.hold(key)
            assert len(look.pressed()) == 4
            if trouble:
                raise Trouble
            held.set()
            await asyncio.Event().wait()

    async def cancelled() -> None:
        task = asyncio.create_task(hold(trouble=False))
        await held.wait()
        task.cancel()
        await asyncio.wait([task])

    held = asyncio.Event()
    with X11Input(bare_display.name) as look:
        with pytest.raises(Trouble):
            asyncio.run(hold(trouble=True))
        assert look.pressed() == frozenset()
        asyncio.run(cancelled())
        assert look.pressed() == frozenset()


def test_a_display_that_goes_away(bare_display: PrivateDisplay) -> None:
    with desktop_sync.open(bare_display.name, CONTROL) as session:
        first = session.frame()
        bare_display.stop_server()
        with pytest.raises(Unavailable):
            session.frame(after_seq=first.seq)
        assert session.status.capture in ("stopped", "ended")
        assert "went away" in session.status.reason
        for look in (session.windows, session.settle, session.wait_for_change):
            with pytest.raises(Unavailable):
                look()
        with pytest.raises(LocalProtocolError) as refused:
            session.click(1, 1)
        assert refused.value.code == "input"
        for act in (lambda: session.type("a"), lambda: session.press("a"), lambda: session.hold("Shift"), session.release_all):
            with pytest.raises(LocalProtocolError) as refused:
                act()
            assert refused.value.code == "input"


def test_no_thread_and_no_descriptor_is_left(bare_display: PrivateDisplay) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir())) + len(list(Path("/proc/self/task").iterdir()))

    with desktop_sync.open(bare_display.name, CONTROL) as session:
        session.frame()
    before = count()
    for _ in range(5):
        with desktop_sync.open(bare_display.name, CONTROL) as session:
            session.frame()
        with pytest.raises(Unavailable), desktop_sync.open(":998", CONTROL):
            raise AssertionError("it must not open")
    eventually(lambda: count() <= before, f"no more than {before} threads and descriptors")


def test_the_command_line(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            triptych_command("desktop", *arguments), capture_output=True, text=True, env={**os.environ, **env}, timeout=30
        )

    shot = run("screenshot", "--display", bare_display.name, "--json", str(tmp_path / "s.png"))
    assert shot.returncode == 0, shot.stderr
    assert '"width": 1280' in shot.stdout
    with Image.open(tmp_path / "s.png") as picture:
        assert picture.size == (1280, 800)
    piped = subprocess.run(triptych_command("desktop", "screenshot", "--display", bare_display.name, "-"), capture_output=True, timeout=30)
    assert piped.returncode == 0, piped.stderr
    with Image.open(io.BytesIO(piped.stdout)) as picture:
        assert (picture.format, picture.size) == ("PNG", (1280, 800))
    missing = run("screenshot", str(tmp_path / "none.png"))
    assert missing.returncode == 1
    assert missing.stderr == "triptych: DISPLAY is not set (set it to a running X server, or name a display, such as :0)\n"
    assert not (tmp_path / "none.png").exists()
    assert '"available": true' in run("capabilities", DISPLAY=bare_display.name).stdout
    served = subprocess.run(triptych_command("desktop", "serve"), input=b'{"id":1,"method":"shutdown"}\n', capture_output=True, timeout=30)
    assert (served.returncode, served.stdout) == (0, b'{"id":1,"result":{}}\n')
    assert served.stderr.count(b"\n") == served.stderr.count(b"running as root") == (os.geteuid() == 0)
