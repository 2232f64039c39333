"""Pixels and damage of a real X server's root window."""

from __future__ import annotations

import contextlib
import resource
import threading
import time

import pytest

from stopwatch_kit import Stopwatch
from triptych.adapters.desklink import x11_capture
from triptych.adapters.desklink.x11_capture import X11Capture
from triptych.adapters.desklink.x11_connection import DisplayLost
from triptych.adapters.display import PrivateDisplay
from triptych.errors import LocalProtocolError, Unavailable
from triptych.generated.desklink.vocabulary import TILE_PIXELS
from triptych.machines.desklink.geometry import Size
from x11_kit import Client

pytestmark = pytest.mark.display

RED, GREEN, BLUE = b"\x00\x00\xff", b"\x00\xff\x00", b"\xff\x00\x00"
WHOLE = (0, 0, 1280, 800)


def pixel(capture: X11Capture, x: int, y: int) -> bytes:
    return bytes(capture.frame.copy((x, y, 1, 1))[:3])


@pytest.fixture(params=["shm", "get-image"])
def capture(request: pytest.FixtureRequest, bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> X11Capture:
    """Both ways that pixels come: the second as on a server that lets no memory file be attached."""
    opened = X11Capture(bare_display.name)
    if request.param == "get-image":
        from triptych.native.linux._x11 import lib

        assert lib.tx_capture_share(opened._handle, -1, opened._pixels, len(opened._memory)) == 0
    else:
        assert opened.path == "shm"
    request.addfinalizer(opened.close)
    return opened


def test_a_grab_is_the_whole_root_window_in_bgrx(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    with Client(bare_display) as client:
        client.fill(0xFF0000, (0, 0, 640, 800))
        client.fill(0x00FF00, (640, 0, 640, 800))
        client.fill(0x0000FF, (1279, 799, 1, 1))
        frame = capture.grab()
        assert (frame.width, frame.height, frame.stride, len(frame.data)) == (1280, 800, 5120, 1280 * 800 * 4)
        assert bytes(frame.data[:3]) == RED
        assert bytes(frame.data[640 * 4 : 640 * 4 + 3]) == GREEN
        assert bytes(frame.data[-4:-1]) == BLUE
        copied = frame.copy((639, 5, 2, 2))
        assert (copied.readonly, len(copied)) == (True, 2 * 2 * 4)
        assert bytes(copied[:3]) + bytes(copied[12:15]) == RED + GREEN


def test_damage_is_told_once_and_refreshes_only_what_changed(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    with Client(bare_display) as client:
        assert capture.wait_damage(5) == (WHOLE,)
        assert capture.refresh() == (WHOLE,)
        assert capture.wait_damage(0.05) == ()
        client.fill(0xFF0000, (100, 100, 20, 20))
        drawn = capture.wait_damage(5)
        assert drawn == ((100, 100, 20, 20),)
        assert capture.refresh(drawn) == ((96, 96, 32, 32),)
        assert pixel(capture, 100, 100) == pixel(capture, 119, 119) == RED
        assert pixel(capture, 99, 100) != RED
        client.fill(0xFF0000, (100, 100, 20, 20))
        assert capture.refresh(capture.wait_damage(5)) == ()


def test_the_kept_frame_equals_a_full_grab_after_many_small_drawings(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    with Client(bare_display) as client:
        capture.refresh()
        for step in range(40):
            for piece in range(8):
                client.fill(step * 40503 + piece * 7919 & 0xFFFFFF, (step * 31 % 1200, piece * 97, 17 + piece * 11, 13 + step))
            capture.refresh(capture.wait_damage(5))
        while drawn := capture.wait_damage(0):
            capture.refresh(drawn)
        kept = bytes(capture.frame.data)
        assert kept == bytes(capture.grab().data)


def test_more_boxes_than_one_wait_returns_come_as_the_box_around_them(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    with Client(bare_display) as client:
        capture.wait_damage(5)
        for spot in range(600):
            client.core.PolyFillRectangle(client.root, client._paint, 1, [_dot(spot)])
        client.sync()
        assert capture.wait_damage(5) == ((0, 0, 4 * 29 + 1, 4 * 19 + 1),)


def _dot(spot: int) -> object:
    import xcffib.xproto as x

    return x.RECTANGLE.synthetic(spot % 30 * 4, spot // 30 * 4, 1, 1)


def test_a_refresh_without_boxes_finds_every_change(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    with Client(bare_display) as client:
        capture.refresh()
        client.fill(0xFF0000, (0, 0, 1, 1))
        client.fill(0x00FF00, (1279, 799, 1, 1))
        assert capture.refresh() == ((0, 0, 32, 32), (1248, 768, 32, 32))
        assert capture.refresh() == ()


def test_wake_ends_a_wait_at_once_from_another_thread(capture: X11Capture) -> None:
    capture.wait_damage(5)
    threading.Timer(0.05, capture.wake).start()
    started = Stopwatch()
    assert capture.wait_damage(None) == ()
    assert started.seconds() < 2
    capture.wake()
    assert capture.wait_damage(None) == ()


def test_a_look_without_waiting_leaves_the_wake_for_the_next_wait(capture: X11Capture) -> None:
    assert capture.wait_damage(5) == (WHOLE,)
    capture.wake()
    assert capture.wait_damage(0) == ()
    began = time.monotonic()
    assert capture.wait_damage(60) == ()
    assert time.monotonic() - began < 30


def test_close_wakes_a_waiting_thread_and_is_final(capture: X11Capture) -> None:
    capture.wait_damage(5)
    answers: list[object] = []
    waiter = threading.Thread(target=lambda: answers.append(capture.wait_damage(None)))
    waiter.start()
    capture.close()
    waiter.join(60)
    assert answers in ([()], []) and not waiter.is_alive()
    capture.close()
    for call in (capture.grab, capture.refresh, lambda: capture.wait_damage(0)):
        with pytest.raises(Unavailable, match="closed"):
            call()


def test_a_frame_outlives_the_capture(bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client, X11Capture(bare_display.name) as capture:
        client.fill(0xFF0000, (0, 0, 10, 10))
        fresh = capture.grab()
        capture.refresh()
        kept = capture.frame
    assert bytes(fresh.data[:3]) == bytes(kept.data[:3]) == RED


def test_a_resize_of_the_root_window_gives_a_whole_new_frame(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    with Client(bare_display) as client:
        capture.wait_damage(5)
        capture.refresh()
        before = capture.frame
        client.resize_screen(800, 600)
        told = capture.wait_damage(5)
        assert told == ((0, 0, 800, 600),)
        assert capture.size == (800, 600)
        assert capture.refresh(told) == ((0, 0, 800, 600),)
        client.fill(0x00FF00, (790, 590, 10, 10))
        capture.refresh(capture.wait_damage(5))
        assert pixel(capture, 799, 599) == GREEN
        assert (before.width, len(before.data)) == (1280, 1280 * 800 * 4)
        client.resize_screen(1280, 800)
        assert capture.wait_damage(5) == (WHOLE,)
        assert capture.refresh() == (WHOLE,)


def test_a_shrunken_root_window_that_nobody_told_of_is_noticed_by_the_grab(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    with Client(bare_display) as client:
        capture.refresh()
        client.resize_screen(640, 480)
        frame = capture.grab()
        assert (frame.width, frame.height) == capture.size == (640, 480)
        assert capture.refresh() == ((0, 0, 640, 480),)
        client.resize_screen(320, 240)
        assert capture.refresh() == ((0, 0, 320, 240),)


@pytest.mark.parametrize("box", [(-1, 0, 5, 5), (0, 0, 0, 5), (1279, 0, 2, 1), (0, 799, 1, 2), (5000, 5000, 1, 1)])
def test_a_box_outside_is_refused_before_anything_is_read(capture: X11Capture, box: tuple[int, int, int, int]) -> None:
    capture.refresh()
    for call in (lambda: capture.refresh([box]), lambda: capture.frame.copy(box)):
        with pytest.raises(LocalProtocolError) as refusal:
            call()
        assert refusal.value.code == "coordinates"


def test_there_is_no_frame_before_the_first_refresh(capture: X11Capture) -> None:
    with pytest.raises(Unavailable, match="no frame"):
        _ = capture.frame


def test_the_loss_of_the_server_ends_a_wait_and_every_call(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    capture.wait_damage(5)
    capture.refresh()
    stopper = threading.Timer(0.05, bare_display.stop_server)
    stopper.start()
    with pytest.raises(DisplayLost, match=bare_display.name):
        capture.wait_damage(20)
    stopper.join()
    for call in (capture.grab, capture.refresh, lambda: capture.wait_damage(0)):
        with pytest.raises(DisplayLost):
            call()
    assert capture.frame.width == 1280


def test_without_a_display_to_open_it_says_so_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(Unavailable) as refusal:
        X11Capture()
    assert refusal.value.reason == "DISPLAY is not set"
    assert refusal.value.remedy


def test_without_memory_to_share_pictures_come_through_the_socket(bare_display: PrivateDisplay) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        capture = X11Capture(bare_display.name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with capture, Client(bare_display) as client:
        assert capture.path == "get-image"
        capture.wait_damage(5)
        assert capture.refresh() == (WHOLE,)
        client.fill(0xFF0000, (1270, 790, 10, 10))
        assert capture.refresh(capture.wait_damage(5)) == ((1248, 768, 32, 32),)
        assert pixel(capture, 1279, 799) == RED


def test_a_copy_is_shown_on_a_surface_of_another_size(bare_display: PrivateDisplay, capture: X11Capture) -> None:
    with Client(bare_display) as client:
        client.fill(0x00FF00, (640, 0, 640, 800))
        frame = capture.grab()
        half = Size(640, 400)
        assert bytes(frame.copy((319, 399, 2, 1), half)) == b"\0\0\0\xff" + GREEN + b"\xff"
        with pytest.raises(LocalProtocolError) as refusal:
            frame.copy((640, 0, 1, 1), half)
        assert refusal.value.code == "coordinates"
        with pytest.raises(TypeError):
            frame.copy((0, 0, 1, 1))[0] = 1


def test_only_one_of_many_that_close_at_once_closes(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every closer is stopped between the look and the deed, where the second would free what the first has freed."""
    capture = X11Capture(bare_display.name)
    freed: list[object] = []
    real, together = x11_capture.lib, threading.Barrier(3)

    class Counting:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def tx_capture_close(self, handle: object) -> None:
            freed.append(handle)
            if len(freed) == 1:
                real.tx_capture_close(handle)

    class Slow:
        """The state `closed`, as seen by a thread that the others overtake."""

        def __bool__(self) -> bool:
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(0.3)
            return False

    monkeypatch.setattr(x11_capture, "lib", Counting())
    capture._closing = Slow()  # type: ignore[assignment]  # stands in for False
    closers = [threading.Thread(target=capture.close) for _ in range(3)]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join(60)
    assert len(freed) == 1
    with pytest.raises(Unavailable, match="closed"):
        capture.grab()


def test_the_helper_has_the_tiles_of_the_protocol() -> None:
    assert x11_capture.lib.TX_TILE == TILE_PIXELS
