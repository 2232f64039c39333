"""What the display keeper does with each window, decided without an X server."""

from __future__ import annotations

import pytest

from triptych.machines.desklink.geometry import Size
from triptych.machines.desklink.kiosk import Dialogs, Kiosk, Place, Toplevel, place

SCREEN = Size(1280, 800)
FULL = (0, 0, 1280, 800)


@pytest.mark.parametrize(
    ("window", "dialogs", "expected"),
    [
        (Toplevel(1240, 700), "fill", Place("content", FULL)),
        (Toplevel(5000, 5000), "fill", Place("content", FULL)),
        (Toplevel(120, 120), "fill", Place("content", FULL)),
        (Toplevel(119, 500), "fill", Place("parked", (-30000, -30000, 119, 500))),
        (Toplevel(500, 119), "fill", Place("parked", (-30000, -30000, 500, 119))),
        (Toplevel(300, 160, transient=True), "fill", Place("content", FULL)),
        (Toplevel(100, 80, transient=True), "fill", Place("parked", (-30000, -30000, 100, 80))),
        (Toplevel(300, 160, transient=True), "natural", Place("dialog", (490, 320, 300, 160))),
        (Toplevel(300, 100, transient=True), "natural", Place("dialog", (490, 350, 300, 100))),
        (Toplevel(2000, 100, transient=True), "natural", Place("dialog", (0, 350, 1280, 100))),
        (Toplevel(300, 160), "natural", Place("content", FULL)),
        (Toplevel(100, 80), "natural", Place("parked", (-30000, -30000, 100, 80))),
        (Toplevel(100, 80, fullscreen=True), "fill", Place("content", FULL)),
        (Toplevel(300, 100, transient=True, fullscreen=True), "natural", Place("content", FULL)),
    ],
)
def test_place(window: Toplevel, dialogs: Dialogs, expected: Place) -> None:
    assert place(window, SCREEN, dialogs) == expected


def test_menus_and_invisible_windows_are_not_managed() -> None:
    assert Toplevel(500, 500).managed
    assert not Toplevel(500, 500, override_redirect=True).managed
    assert not Toplevel(500, 500, input_only=True).managed


def test_the_newest_window_with_content_has_the_focus() -> None:
    kiosk = Kiosk(SCREEN)
    assert kiosk.focus is None
    kiosk.track(1, Toplevel(500, 500))
    kiosk.track(2, Toplevel(500, 500))
    kiosk.track(3, Toplevel(10, 10))
    assert (kiosk.focus, kiosk.windows) == (2, (1, 2, 3))
    assert kiosk.forget(2)
    assert kiosk.focus == 1
    assert not kiosk.forget(2)
    assert kiosk.forget(1)
    assert kiosk.focus is None


def test_a_parked_window_that_grows_takes_the_focus_and_one_that_shrinks_loses_it() -> None:
    kiosk = Kiosk(SCREEN)
    kiosk.track(1, Toplevel(500, 500))
    kiosk.track(2, Toplevel(100, 80))
    assert kiosk.request(2, 0, 300) == Place("parked", (-30000, -30000, 100, 300))
    assert kiosk.request(2, 400, 0) == Place("content", FULL)
    assert kiosk.focus == 2
    assert kiosk.request(2, 100, 80) == Place("parked", (-30000, -30000, 100, 80))
    assert kiosk.focus == 1


def test_a_dialog_stays_centred_at_the_size_it_asks_for() -> None:
    kiosk = Kiosk(SCREEN, "natural")
    kiosk.track(1, Toplevel(500, 500))
    assert kiosk.track(2, Toplevel(300, 100, transient=True)).role == "dialog"
    assert kiosk.focus == 2
    assert kiosk.request(2, 400, 0) == Place("dialog", (440, 350, 400, 100))


def test_a_window_fills_the_screen_for_as_long_as_it_asks_to() -> None:
    kiosk = Kiosk(SCREEN, "natural")
    kiosk.track(1, Toplevel(500, 500))
    kiosk.track(2, Toplevel(50, 50))
    assert not kiosk.is_full(2)
    assert kiosk.fill(2, True) == Place("content", FULL)
    assert kiosk.is_full(2)
    assert kiosk.focus == 2
    assert kiosk.request(2, 300, 90) == Place("content", FULL)
    assert kiosk.fill(2, False) == Place("parked", (-30000, -30000, 300, 90))
    assert kiosk.focus == 1


def test_an_older_window_can_be_made_the_newest() -> None:
    kiosk = Kiosk(SCREEN)
    for window in (1, 2):
        kiosk.track(window, Toplevel(500, 500))
    kiosk.promote(1)
    assert (kiosk.focus, kiosk.windows) == (1, (2, 1))
    kiosk.track(2, Toplevel(600, 600))
    assert kiosk.focus == 1


def test_every_window_has_a_new_place_on_a_resized_screen() -> None:
    kiosk = Kiosk(SCREEN, "natural")
    kiosk.track(1, Toplevel(500, 500))
    kiosk.track(2, Toplevel(300, 100, transient=True))
    kiosk.track(3, Toplevel(10, 10))
    assert kiosk.resize(Size(640, 480)) == {
        1: Place("content", (0, 0, 640, 480)),
        2: Place("dialog", (170, 190, 300, 100)),
        3: Place("parked", (-30000, -30000, 10, 10)),
    }
