"""What is pointed at in the viewer: mouse, wheel, touchpad, fingers; how the picture stands in the window; whether all is legible."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from bridge_kit import PHONE, Viewer, bridged, reports, viewing
from gtk_kit import GtkForm
from triptych.adapters.display import PrivateDisplay
from webrtc_kit import LIVE, Lab, drop, restore
from x11_kit import Client as XClient

pytestmark = LIVE

StartForm = Callable[..., GtkForm]


def test_a_phone(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live, **PHONE) as viewer:
            page = viewer.page
            assert await viewer.seen("document.documentElement.scrollWidth <= innerWidth")
            boxes = "[...document.querySelectorAll('.tools button')].map(b => b.getBoundingClientRect())"
            small = await viewer.seen(f"{boxes}.filter(box => box.width < 44 || box.height < 44).length")
            assert small == 0, "fingers need room"
            await page.touchscreen.tap(*await viewer.place(*form.centre("Save")))
            await reports(form, "click", count=1)
            await page.touchscreen.tap(*await viewer.place(*form.centre("Name")))
            assert await viewer.seen("document.activeElement.id") != "text", "no keyboard comes up that nobody asked for"
            await page.click("#keys")
            assert await viewer.seen("[document.activeElement.id, document.getElementById('text').inputMode]") == ["text", "text"]
            await page.keyboard.insert_text("by hand")
            await reports(form, "text", value="by hand")

            # Two fingers apart: the picture grows about them; the tap after it lands on the same widget.
            finger = await page.context.new_cdp_session(page)
            x, y = await viewer.place(*form.centre("Save"))

            async def touch(kind: str, *points: tuple[float, float]) -> None:
                told = [{"x": left, "y": top, "id": number} for number, (left, top) in enumerate(points)]
                await finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": told})

            await touch("touchStart", (x, y))
            await touch("touchStart", (x, y), (x + 40, y))
            for step in range(1, 12):
                await touch("touchMove", (x - 4 * step, y), (x + 40 + 4 * step, y))
            await touch("touchEnd")
            assert await viewer.seen("view.zoom") > 1.5
            await page.touchscreen.tap(*await viewer.place(*form.centre("Save")))
            await reports(form, "click", count=2)

    lab.run(work())


def test_a_turned_wheel_and_a_drag_arrive(lab: Lab, bare_display: PrivateDisplay) -> None:
    import xcffib.xproto as x

    async def work() -> None:
        with XClient(bare_display) as client:
            window = client.window(600, 400)
            mask = x.EventMask.ButtonPress | x.EventMask.ButtonRelease | x.EventMask.Button1Motion
            client.core.ChangeWindowAttributes(window, x.CW.EventMask, [mask])
            client.map(window)
            async with bridged(bare_display) as live, viewing(lab, live) as viewer:
                await viewer.page.mouse.move(*await viewer.place(200, 200))
                await viewer.page.mouse.wheel(0, 100)
                turned = await asyncio.to_thread(client.event, lambda event: isinstance(event, x.ButtonPressEvent))
                assert (turned.detail, turned.state, turned.root_x, turned.root_y) == (5, 0, 200, 200)
                await viewer.page.keyboard.down("Shift")
                await viewer.page.mouse.wheel(0, -100)
                turned = await asyncio.to_thread(client.event, lambda event: isinstance(event, x.ButtonPressEvent))
                assert (turned.detail, turned.state) == (4, x.KeyButMask.Shift)
                await viewer.page.keyboard.up("Shift")
                await viewer.page.mouse.down()
                await viewer.page.mouse.move(*await viewer.place(300, 250), steps=4)
                await viewer.page.mouse.up()
                released = await asyncio.to_thread(
                    client.event, lambda event: isinstance(event, x.ButtonReleaseEvent) and event.detail == 1
                )
                assert (released.root_x, released.root_y, released.state) == (300, 250, x.KeyButMask.Button1)

                # A drag that leaves the window ends at its edge, wherever the button is let go.
                await viewer.page.mouse.down()
                await viewer.page.mouse.move(-50, -50, steps=4)
                await viewer.page.mouse.up()
                released = await asyncio.to_thread(
                    client.event, lambda event: isinstance(event, x.ButtonReleaseEvent) and event.detail == 1
                )
                assert (released.root_x, released.root_y) == (0, 0)

                # A pinch of a touchpad zooms the picture. With a Control key that is down the wheel is the desktop's.
                pad = await viewer.page.context.new_cdp_session(viewer.page)
                left, top = await viewer.place(200, 200)
                turn = {"type": "mouseWheel", "x": left, "y": top, "deltaX": 0, "modifiers": 2}
                await pad.send("Input.dispatchMouseEvent", {**turn, "deltaY": -50})
                await viewer.until("view.zoom > 1.5")
                await pad.send("Input.dispatchMouseEvent", {**turn, "deltaY": 100})
                await viewer.until("view.zoom === 1")
                await viewer.page.keyboard.down("Control")
                await pad.send("Input.dispatchMouseEvent", {**turn, "deltaY": 100})
                turned = await asyncio.to_thread(client.event, lambda event: isinstance(event, x.ButtonPressEvent) and event.detail > 3)
                assert (turned.detail, turned.state, turned.root_x, turned.root_y) == (5, x.KeyButMask.Control, 200, 200)
                assert await viewer.seen("view.zoom") == 1
                await viewer.page.keyboard.up("Control")

                # The desktop becomes smaller: its picture keeps its size, and each place in it leads where it shows.
                # A move that comes before the capture has seen the new size is led by the old one.
                client.resize_screen(1024, 600)
                for nudge in itertools.cycle((1, 0)):
                    await viewer.page.mouse.move(*await viewer.place(640 + nudge, 400))
                    if _pointer(client) == (512, 300):
                        break

    lab.run(work())


def test_a_held_finger_and_two_that_move(lab: Lab, bare_display: PrivateDisplay) -> None:
    import xcffib.xproto as x

    async def work() -> None:
        with XClient(bare_display) as client:
            window = client.window(600, 400)
            client.core.ChangeWindowAttributes(window, x.CW.EventMask, [x.EventMask.ButtonPress | x.EventMask.ButtonRelease])
            client.map(window)
            async with bridged(bare_display) as live, viewing(lab, live, **PHONE) as viewer:
                finger = await viewer.page.context.new_cdp_session(viewer.page)

                async def touch(kind: str, *points: tuple[float, float]) -> None:
                    told = [{"x": left, "y": top, "id": number} for number, (left, top) in enumerate(points)]
                    await finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": told})

                async def pressed(button: int) -> Any:
                    return await asyncio.to_thread(
                        client.event, lambda event: isinstance(event, x.ButtonPressEvent) and event.detail == button
                    )

                left, top = await viewer.place(200, 200)
                await touch("touchStart", (left, top))
                held = await pressed(3)
                await touch("touchEnd")
                assert (held.root_x, held.root_y) == (200, 200)

                # The picture fits, so two fingers that go up together turn the wheel down, where the first tap set the pointer.
                await touch("touchStart", (left, top))
                await touch("touchStart", (left, top), (left + 30, top))
                for step in range(1, 16):
                    await touch("touchMove", (left, top - 10 * step), (left + 30, top - 10 * step))
                await pressed(5)
                await touch("touchEnd")
                assert await viewer.seen("view.zoom") == 1

                # A second finger ends a drag without a click: everything is let go.
                await touch("touchStart", (left, top))
                await touch("touchMove", (left + 20, top))
                await pressed(1)
                await touch("touchStart", (left + 20, top), (left + 60, top))
                await asyncio.to_thread(client.event, lambda event: isinstance(event, x.ButtonReleaseEvent) and event.detail == 1)
                await touch("touchEnd")

    lab.run(work())


def test_one_to_one_shows_each_pixel_and_follows_the_pointer(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live, viewport={"width": 800, "height": 500}) as viewer:
            assert await viewer.seen("view.scale") < 1
            await viewer.page.click("#one")
            assert await viewer.seen("view.scale * devicePixelRatio") == 1
            await viewer.page.mouse.move(790, 490)
            await viewer.until("view.at(790, 490).x > 1180 && view.at(790, 490).y > 700")
            await viewer.page.mouse.move(5, 60)
            await viewer.until("view.at(5, 60).x < 20 && view.at(5, 60).y < 30")
            await viewer.page.click("#fit")
            assert await viewer.seen("view.scale") < 1

    lab.run(work())


def test_full_screen_is_all_picture(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            await viewer.page.click("#full")
            await viewer.page.mouse.move(600, 500)
            await viewer.until("view.stage.clientHeight === innerHeight")
            await viewer.until("document.getElementById('bar').getBoundingClientRect().bottom <= 0")
            await viewer.page.click("#handle")
            await viewer.until("document.getElementById('bar').getBoundingClientRect().top === 0")
            await viewer.page.click("#full")
            await viewer.until("!document.fullscreenElement")

    lab.run(work())


def _pointer(client: XClient) -> tuple[int, int]:
    seen = client.core.QueryPointer(client.root).reply()
    return seen.root_x, seen.root_y


CONTRASTS = """() => {
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const under = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if ((colour[3] ?? 1) > 0.9) return colour;
    }
    return [0, 0, 0];
  };
  return [...document.querySelectorAll('body *')]
    .filter((element) => element.checkVisibility() && !element.closest(':disabled, option')
      && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((element) => {
      const [one, two] = [channels(getComputedStyle(element).color), under(element)].map(light).sort();
      return [(Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05), element.textContent];
    });
}"""

OUTSIDE = """() => [...document.querySelectorAll('#bar *, #held, #card, #toasts p, dialog[open]')]
  .filter((element) => element.checkVisibility()).map((element) => [element.getBoundingClientRect(), element.outerHTML])
  .filter(([box]) => box.width && (box.left < 0 || box.right > innerWidth + 0.5))"""


@pytest.mark.parametrize("size", [(1440, 900), (844, 390), (390, 844), (320, 640)])
def test_every_word_is_legible_and_in_the_window(lab: Lab, bare_display: PrivateDisplay, size: tuple[int, int]) -> None:
    async def looked_at(viewer: Viewer) -> None:
        poor = [found for found in await viewer.page.evaluate(CONTRASTS) if found[0] < 4.5]
        assert poor == [], "WCAG AA"
        assert await viewer.page.evaluate(OUTSIDE) == []
        assert await viewer.seen("document.documentElement.scrollWidth <= innerWidth")

    async def work() -> None:
        options = PHONE if size[0] < 1000 else {}
        async with (
            bridged(bare_display) as live,
            viewing(lab, live, **{**options, "viewport": dict(zip(("width", "height"), size, strict=True))}) as viewer,
        ):
            await viewer.until("document.getElementById('readout').textContent")
            await viewer.page.click("#keys")
            await viewer.page.click("#row .sticky[data-sticky=Control]")
            await viewer.page.click("#row .sticky[data-sticky=Alt]", click_count=2)
            await looked_at(viewer)
            await viewer.page.click("#keys")
            await viewer.page.click("#help")
            await looked_at(viewer)
            assert await viewer.seen("document.getElementById('guide').scrollTop") == 0, "it begins with its title"
            await viewer.page.keyboard.press("Escape")
            await drop()
            try:
                await viewer.until("document.body.dataset.state === 'reconnecting'", 4)
                await looked_at(viewer)
            finally:
                await restore()
            await viewer.is_("live")
            await viewer.seen("session.finish('the lease that was given to this session, for as long as it takes, has run out')")
            await looked_at(viewer)

    lab.run(work())
