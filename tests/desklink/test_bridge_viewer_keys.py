"""What is typed into the viewer: keys of any layout, sticky keys, input methods, pastes; and that nothing stays down."""

from __future__ import annotations

from collections.abc import Callable

from bridge_kit import PHONE, Viewer, bridged, reports, viewing
from gtk_kit import GtkForm
from triptych.adapters.desklink.x11_clipboard import X11Clipboard
from triptych.adapters.display import PrivateDisplay
from webrtc_kit import LIVE, Lab, drop, restore, until
from x11_kit import Client as XClient

pytestmark = LIVE

StartForm = Callable[..., GtkForm]


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
            for tool in ("one", "keys"):
                await viewer.page.keyboard.press("Tab")
                assert await viewer.seen("document.activeElement.id") == tool
            # From there to the row of keys, and with Escape to the desktop again.
            await viewer.page.keyboard.press("Enter")
            await viewer.seen("document.getElementById('end').focus()")
            await viewer.page.keyboard.press("Tab")
            assert await viewer.seen("document.activeElement.textContent") == "abc"
            await viewer.page.keyboard.press("Escape")
            assert await viewer.seen("document.activeElement.id") == "text"
            await viewer.page.keyboard.type("b")
            await reports(form, "text", value="xab")

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


PRESS = """(events) => events.forEach(([type, key, code, more]) => document.getElementById('text').dispatchEvent(
  new KeyboardEvent(type, { key, code, bubbles: true, cancelable: true, ...more })))"""


def test_characters_of_other_layouts_than_the_desktops(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)
    third = {"ctrlKey": True, "altKey": True, "modifierAltGraph": True}

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            await viewer.click(*form.centre("Name"))
            # German, on Windows, where AltGr comes as Control and Alt; then two keys that overlap, with a Shift that goes in between.
            at_sign = [
                ("keydown", "Control", "ControlLeft", {"ctrlKey": True}),
                ("keydown", "AltGraph", "AltRight", third),
                ("keydown", "@", "KeyQ", third),
                ("keyup", "@", "KeyQ", third),
                ("keyup", "Control", "ControlLeft", {}),
                ("keyup", "AltGraph", "AltRight", {}),
            ]
            await viewer.page.evaluate(PRESS, at_sign)
            overlapping = [
                ("keydown", "z", "KeyY", {}),
                ("keydown", "/", "Digit7", {"shiftKey": True}),
                ("keyup", "z", "KeyY", {"shiftKey": True}),
                ("keyup", "7", "Digit7", {}),
            ]
            await viewer.page.evaluate(PRESS, overlapping)
            await reports(form, "text", value="@z/")
            # A dead key of a French keyboard, and what it makes; a US desktop has no ê, and nothing else is typed for it.
            await viewer.page.evaluate(
                PRESS, [("keydown", "Dead", "BracketLeft", {}), ("keydown", "ê", "KeyE", {}), ("keyup", "ê", "KeyE", {})]
            )
            assert "ê" in await viewer.until("document.getElementById('toasts').textContent")
            # Caps Lock is down on both sides, and is not taken twice.
            caps = [("keydown", "CapsLock", "CapsLock", {}), ("keyup", "CapsLock", "CapsLock", {})]
            letters = [("keydown", "A", "KeyA", {}), ("keyup", "A", "KeyA", {}), ("keydown", "b", "KeyB", {}), ("keyup", "b", "KeyB", {})]
            await viewer.page.evaluate(PRESS, caps + letters + caps)
            await reports(form, "text", value="@z/Ab")
            await nothing_is_down(bare_display)

    lab.run(work())


def test_what_is_typed_after_a_paste_does_not_overtake_it(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        options = {"permissions": ["clipboard-read", "clipboard-write"]}
        async with bridged(bare_display) as live, viewing(lab, live, **options) as viewer:
            await viewer.seen("navigator.clipboard.writeText('a line')")
            await viewer.seen(
                """{
                  window.said = [];
                  const say = session.say;
                  session.say = (message) => (said.push(message.name ?? message.character ?? message.kind), say.call(session, message));
                  session.clipboard = () => new Promise((give, refuse) => Object.assign(window, { give, refuse }));
                }; void 0"""
            )
            await viewer.page.keyboard.press("Control+v")
            await viewer.page.keyboard.press("Enter")
            assert await viewer.seen("said") == ["ControlLeft"], "the desktop's clipboard has it first"
            await viewer.seen("give()")
            assert await viewer.until("said.length === 6 && said") == ["ControlLeft", "v", "v", "ControlLeft", "Enter", "Enter"]
            # A paste that fails presses nothing, and what comes after it goes on.
            await viewer.seen("void (said = [])")
            await viewer.page.keyboard.press("Control+v")
            await viewer.page.keyboard.press("Enter")
            await viewer.seen("refuse(new Error('the clipboard is full'))")
            assert await viewer.until("said.length === 4 && said") == ["ControlLeft", "ControlLeft", "Enter", "Enter"]
            assert await viewer.until("document.getElementById('toasts').textContent") == "The clipboard is full."

    lab.run(work())


def test_any_text_is_pasted_and_too_much_of_it_is_told(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        options = {"permissions": ["clipboard-read", "clipboard-write"]}
        async with bridged(bare_display) as live, viewing(lab, live, **options) as viewer:
            await viewer.click(*form.centre("Name"))
            for text in ("party 🎉 family 👩‍👩‍👧", "שלום مرحبا", "Zwölf Boxkämpfer"):
                await viewer.page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
                await viewer.page.keyboard.press("Control+a")
                await viewer.page.keyboard.press("Control+v")
                await reports(form, "text", value=text)
            await viewer.seen("navigator.clipboard.writeText('x'.repeat(1 << 20))")
            await viewer.page.keyboard.press("Control+v")
            assert "256 KiB" in await viewer.until("document.getElementById('toasts').textContent")
            await viewer.page.keyboard.type("!")
            await reports(form, "text", value="Zwölf Boxkämpfer!")

    lab.run(work())


async def nothing_is_down(display: PrivateDisplay, nothing: bool = True) -> None:
    """Wait until no key and no button of the display is down, or until some is."""
    with XClient(display) as client:

        def down() -> bool:
            buttons = client.core.QueryPointer(client.root).reply().mask & 0x1F00
            return bool(buttons or any(client.core.QueryKeymap().reply().keys))

        await until(lambda: down() is not nothing)


def test_what_is_held_is_let_go_when_the_page_goes_or_the_path(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def hold(viewer: Viewer) -> None:
        await nothing_is_down(bare_display)
        await viewer.page.mouse.move(*await viewer.place(200, 200))
        await viewer.page.mouse.down()
        await viewer.page.keyboard.down("Control")
        await nothing_is_down(bare_display, nothing=False)

    async def work() -> None:
        async with bridged(bare_display) as live:
            async with viewing(lab, live) as viewer:
                await hold(viewer)
                await viewer.page.reload()
                await nothing_is_down(bare_display)
                await viewer.is_("live")
                # A short cut of the path: what is let go here meanwhile does not stay down there.
                await hold(viewer)
                await drop()
                try:
                    await viewer.until("document.body.dataset.state === 'reconnecting'", 4)
                    await viewer.page.keyboard.up("Control")
                    await viewer.page.mouse.up()
                finally:
                    await restore()
                await nothing_is_down(bare_display)
                await viewer.is_("live")
                await hold(viewer)
            await nothing_is_down(bare_display)

    lab.run(work())
