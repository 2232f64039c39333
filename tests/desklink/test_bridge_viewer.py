"""The viewer in a real browser, with a real program on the desktop: seen, driven, taken over, cut off, ended; at a desk and on a phone."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge_kit import PHONE, bridged, viewing
from gtk_kit import GtkForm
from triptych.adapters.desklink.encoder import encoder_name
from triptych.adapters.desklink.host import Host
from triptych.adapters.desklink.webrtc.transport import WebRtc
from triptych.adapters.desklink.x11_clipboard import X11Clipboard
from triptych.adapters.display import PrivateDisplay
from triptych.machines.desklink.effects import Emit
from triptych.machines.desklink.requests import Request
from webrtc_kit import Lab, drop, restore
from x11_kit import Client as XClient

pytestmark = [
    pytest.mark.display,
    pytest.mark.slow,
    pytest.mark.skipif(encoder_name() is None, reason="no libvpx: apt install libvpx7"),
]

StartForm = Callable[..., GtkForm]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """One network and browser for the module."""
    made = Lab()
    yield made
    made.close()


async def reports(form: GtkForm, event: str, **fields: object) -> dict[str, Any]:
    """The form's report, waited for on a thread: the bridge runs on this loop."""
    return await asyncio.to_thread(form.wait_for, event, **fields)


def engines() -> list[int]:
    """The engines that this process has started."""
    found = []
    for pid in Path(f"/proc/{os.getpid()}/task").iterdir():
        for child in (pid / "children").read_text().split():
            if b"serve" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                found.append(int(child))
    return found


def test_a_click_and_a_typed_line_arrive(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            await viewer.click(*form.centre("Name"))
            await viewer.page.keyboard.type("Grüße, World!")
            await viewer.page.keyboard.press("Enter")
            # A US keyboard has no ü and no ß: the page says so, and what it has arrives.
            await reports(form, "activate", value="Gre, World!")
            assert "ß" in await viewer.until("document.getElementById('toasts').textContent")
            await viewer.page.keyboard.press("End")
            await viewer.page.keyboard.press("Shift+Home")
            await viewer.page.keyboard.press("Delete")
            await reports(form, "text", value="")
            await viewer.click(*form.centre("Save"))
            await reports(form, "click", count=1)
            await viewer.until("/ ms · .* · \\d+ fps · 1280×800/.test(document.getElementById('readout').textContent)")

    lab.run(work())


def test_keys_about_clicks_and_keys_that_stay_down(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            await viewer.click(*form.centre("Name"))
            await viewer.page.keyboard.type("x")
            await reports(form, "text", value="x")
            # A window that loses the focus lets everything go, so the desktop's own Control is not left down.
            await viewer.page.keyboard.down("Control")
            await viewer.seen("document.getElementById('fit').focus()")
            await viewer.page.keyboard.up("Control")
            await viewer.seen("document.getElementById('text').focus()")
            await viewer.page.keyboard.type("a")
            await reports(form, "text", value="xa")
            # Control, Alt and Shift give the keyboard back to the tools, and Tab walks through them.
            for name in ("Control", "Alt", "Shift"):
                await viewer.page.keyboard.down(name)
            assert await viewer.seen("document.activeElement.id") == "fit"
            for name in ("Shift", "Alt", "Control"):
                await viewer.page.keyboard.up(name)
            await viewer.page.keyboard.press("Tab")
            assert await viewer.seen("document.activeElement.id") == "keys"

    lab.run(work())


def test_the_keyboard_on_the_screen_and_its_sticky_keys(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            page = viewer.page
            await viewer.click(*form.centre("Name"))
            await page.click("#keys")
            for key in ("h", "i"):
                await page.click(f"#board >> text='{key}'")
            await page.click("#board .sticky[data-sticky=Shift]")
            assert await page.get_attribute("#board .sticky[data-sticky=Shift]", "aria-pressed") == "mixed"
            await page.click("#board >> text='A'")
            await page.click("#board >> text='a'")
            await reports(form, "text", value="hiAa")
            # Locked, Shift stays for all that follows.
            for _ in range(2):
                await page.click("#row .sticky[data-sticky=Shift]")
            await page.click("#board >> text='B'")
            await page.click("#board >> text='C'")
            await page.click("#row .sticky[data-sticky=Shift]")
            await reports(form, "text", value="hiAaBC")
            await page.click("#row .sticky[data-sticky=Control]")
            await page.click("#board >> text='a'")
            await page.click("#board [aria-label=Backspace]")
            await reports(form, "text", value="")
            # Another layout, whose keys are characters for the desktop's layout to find.
            await page.select_option("#row select", "de")
            await page.click("#board >> text='z'")
            await page.click("#board >> text='AltGr'")
            await page.click("#board >> text='@'")
            await reports(form, "text", value="z@")

    lab.run(work())


def test_an_input_method_composes(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            await viewer.click(*form.centre("Name"))
            typist = await viewer.page.context.new_cdp_session(viewer.page)
            for text in ("c", "ca", "caf"):
                await typist.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
            await typist.send("Input.insertText", {"text": "cafe"})
            await reports(form, "text", value="cafe")
            await typist.send("Input.insertText", {"text": " au lait"})
            await reports(form, "text", value="cafe au lait")

    lab.run(work())


def test_a_touch_keyboard_composes_each_word(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)
    agent = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live, **PHONE, user_agent=agent) as viewer:
            await viewer.page.touchscreen.tap(*await viewer.place(*form.centre("Name")))
            await viewer.page.click("#keys")
            typist = await viewer.page.context.new_cdp_session(viewer.page)
            for text in ("t", "te", "teh", "the"):
                await typist.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
            # Each letter as it comes, and the word that the keyboard put right.
            await reports(form, "text", value="teh")
            await reports(form, "text", value="the")
            await typist.send("Input.insertText", {"text": "the"})
            await viewer.page.keyboard.type("y")
            await reports(form, "text", value="they")
            texts = [event["value"] for event in form.events if event["event"] == "text"]
            assert texts == ["t", "te", "teh", "te", "t", "th", "the", "they"], "and nothing twice"

    lab.run(work())


def test_text_between_the_two_clipboards(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        options = {"permissions": ["clipboard-read", "clipboard-write"]}
        async with bridged(bare_display) as live, viewing(lab, live, **options) as viewer:
            clipboard = X11Clipboard(bare_display.name)
            try:
                await clipboard.write("copied on the desktop")
                await viewer.page.click("#copy")
                await viewer.until("document.getElementById('toasts').textContent.includes('Copied 21 characters')")
                assert await viewer.seen("navigator.clipboard.readText()") == "copied on the desktop"

                # Control+V on the desktop takes the local clipboard along.
                await viewer.seen("navigator.clipboard.writeText('from here')")
                await viewer.click(*form.centre("Name"))
                await viewer.page.keyboard.press("Control+v")
                await reports(form, "text", value="from here")

                await viewer.seen("navigator.clipboard.writeText('by the button')")
                await viewer.page.click("#paste")
                await viewer.until("document.getElementById('toasts').textContent.includes('13 characters')")
                assert await clipboard.read() == ("by the button", False)
            finally:
                await clipboard.close()

    lab.run(work())


def test_a_second_viewer_takes_over_and_the_first_can_take_it_back(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as first:
            async with viewing(lab, live) as second:
                await first.is_("ended: it was opened somewhere else")
                assert await first.seen("!document.getElementById('still').hidden"), "the last picture is held"
                await first.page.click("#again")
                await first.is_("live")
                await second.is_("ended: it was opened somewhere else")
            assert await first.told() == "live"

    lab.run(work())


def test_one_who_ends_it_and_one_whose_engine_dies(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            session = await viewer.seen("session.id")
            (engine,) = engines()
            os.kill(engine, signal.SIGKILL)
            await viewer.until("document.body.dataset.state === 'reconnecting'")
            # By itself, without a reload: another engine, another session.
            await viewer.is_("live")
            assert await viewer.seen("session.id") != session
            await viewer.page.click("#end")
            await viewer.is_("ended: you ended it")
            await viewer.page.click("#again")
            await viewer.is_("live")

    lab.run(work())


def test_a_cut_path_is_told_and_comes_back_without_a_restart(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            session = await viewer.seen("session.id")
            await viewer.seen("window.said = []; session.signal = (method) => (said.push(method), Promise.resolve())")
            await drop()
            try:
                await viewer.until("document.body.dataset.state === 'reconnecting'", 4)
                assert await viewer.seen("getComputedStyle(document.getElementById('picture')).opacity") == "1"
                assert await viewer.seen("document.getElementById('card').offsetParent") is None, "the picture is not covered"
            finally:
                await restore()
            await viewer.is_("live", 5)
            assert await viewer.seen("session.id") == session

    lab.run(work())


def test_a_lasting_stall_asks_for_another_path(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            session = await viewer.seen("session.id")
            await viewer.seen(
                "offers = 0; { const take = session.peer.offer; session.peer.offer = (it) => (offers++, take.call(session.peer, it)) }"
            )
            await drop()
            try:
                await viewer.until("session.mends > 0", 6)
            finally:
                await restore()
            await viewer.is_("live", 20)
            await viewer.until("offers > 0")
            assert await viewer.seen("session.id") == session
            await viewer.click(*form.centre("Save"))
            await reports(form, "click", count=1)

    lab.run(work())


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
            await viewer.page.click("#fit")
            assert await viewer.seen("view.scale * devicePixelRatio") == 1
            await viewer.page.mouse.move(790, 490)
            await viewer.until("view.at(790, 490).x > 1180 && view.at(790, 490).y > 700")
            await viewer.page.mouse.move(5, 60)
            await viewer.until("view.at(5, 60).x < 20 && view.at(5, 60).y < 30")

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


def test_a_screen_that_goes_away_is_told(lab: Lab) -> None:
    async def work(display: PrivateDisplay) -> None:
        async with bridged(display) as live, viewing(lab, live) as viewer:
            display.close()
            await viewer.is_("ended: the desktop's screen has gone", 30)

    with PrivateDisplay(dbus=False) as display, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XAUTHORITY", display.env["XAUTHORITY"])
        lab.run(work(display))


GLUE = """
window.heard = (message) => heardKinds.push(message.kind); window.heardKinds = [];
window.send = (method, params) => toHost(method, params);
"""


def test_an_embedder_carries_offer_and_answer_as_the_docs_say(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)
    page_text = (Path(__file__).parents[2] / "docs" / "live-desktop.md").read_text()
    (snippet,) = re.findall(r"^```js\n(.*?)^```", page_text, re.S | re.M)

    async def work() -> None:
        events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def said(effect: Emit) -> None:
            if "event" in effect.message:
                events.put_nowait(effect.message)
            elif effect.message.get("id") == 1:
                opened.set_result(effect.message["result"]["sessionId"])

        host = Host(said, transport=WebRtc, greeted=True)
        page = await lab.browser.new_page()
        await page.set_content(f"<video autoplay muted></video><script>{GLUE}</script>")

        async def to_host(method: str, params: dict[str, Any]) -> None:
            host.request(Request(2, method, {"session_id": await opened, **params}))

        async def carry() -> None:
            while True:
                await page.evaluate("(message) => fromEngine(message)", await events.get())

        await page.expose_function("toHost", to_host)
        await page.add_script_tag(content=snippet)
        carrying = asyncio.get_running_loop().create_task(carry())
        try:
            source = {"kind": "x11", "display": bare_display.name}
            host.request(Request(1, "session.open", {"source": source, "permissions": ["view", "control"]}))
            await page.wait_for_function("() => heardKinds.includes('ping') && video.videoWidth === 1280")
            await page.evaluate("([x, y]) => click(x, y)", list(form.centre("Save")))
            await reports(form, "click", count=1)
        finally:
            carrying.cancel()
            await asyncio.gather(carrying, return_exceptions=True)
            host.shutdown()
            await asyncio.wait_for(host.finished.wait(), 10)
            await page.close()

    lab.run(work())
