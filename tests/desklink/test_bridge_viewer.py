"""The viewer in a real browser, with a real program on the desktop: seen, driven, taken over, cut off, ended, and back again."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridge_kit import bridged, reports, viewing
from gtk_kit import GtkForm
from triptych.adapters.desklink.host import Host
from triptych.adapters.desklink.webrtc.transport import WebRtc
from triptych.adapters.display import PrivateDisplay
from triptych.engine.child import triptych_command
from triptych.engine.desktop_bridge import Live, bridge
from triptych.machines.desklink.effects import Emit
from triptych.machines.desklink.requests import Request
from webrtc_kit import LIVE, Lab, drop, restore

pytestmark = LIVE

StartForm = Callable[..., GtkForm]


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
            # The keyboard is where it is of use, and Tab is the browser's.
            assert await viewer.seen("document.activeElement.id") == "again"
            await viewer.page.keyboard.press("Enter")
            await viewer.is_("live")
            assert await viewer.seen("document.activeElement.id") == "text"

    lab.run(work())


def test_a_bridge_that_is_killed_ended_and_started_again(lab: Lab, bare_display: PrivateDisplay) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = "the-same-for-both"

    async def start() -> asyncio.subprocess.Process:
        command = [*triptych_command("desktop", "bridge"), "--listen", str(port), "--token", token, "--display", bare_display.name]
        process = await asyncio.create_subprocess_exec(*command, env=bare_display.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        for name in (b"engine", b"bridge", b"token", b"open"):
            assert (await process.stdout.readline()).startswith(name)
        return process

    async def work() -> None:
        running = await start()
        try:
            async with viewing(lab, Live("127.0.0.1", port, token, "")) as viewer:
                running.kill()
                await viewer.until("document.getElementById('held-word').textContent === 'reconnecting: the bridge is not reached'")
                await running.wait()
                running = await start()
                await viewer.is_("live")
                running.terminate()
                await viewer.is_("ended: the bridge has ended")
                assert await running.wait() == 0
                # One with another token is not this page's: it says so and stops.
                async with bridge(bare_display.name, env=bare_display.env, port=port):
                    await viewer.page.click("#again")
                    await viewer.is_("ended: the bridge was started again, with another token. Open the address that it tells now")
                viewer.faults = [fault for fault in viewer.faults if "ERR_CONNECTION_REFUSED" not in fault and "404" not in fault]
        finally:
            if running.returncode is None:
                running.kill()
                await running.wait()

    lab.run(work())


def test_a_page_that_slept_wakes_up_live(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            # What a machine that was asleep sees: no timer has fired and nothing was heard for an hour.
            await viewer.seen("{ const now = performance.now.bind(performance); performance.now = () => now() + 3600000 }")
            said = await viewer.seen(
                "new Promise((then) => { session.signal = (method) => then(method); setTimeout(() => then('nothing'), 900) })"
            )
            assert said == "nothing", "the path is not given up before it could be heard"
            await viewer.is_("live")
            # With no bridge at that moment, a minute counts from then.
            await viewer.seen("session.lostAt = performance.now() - 50000")
            await viewer.seen("{ const now = performance.now.bind(performance); performance.now = () => now() + 3600000 }")
            await viewer.until("session.lookedAt > 7200000")
            assert await viewer.seen("session.word") != "ended"

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
