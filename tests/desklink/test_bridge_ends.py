"""How a session ends in the viewer, what a second viewer gets, what is held meanwhile, and who is kept out, all in a real browser."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp import web

from bridge_kit import Viewer, bridged, reports, viewing
from gtk_kit import GtkForm
from triptych.adapters.desklink.bridge import BridgeServer
from triptych.adapters.display import PrivateDisplay
from triptych.engine.desktop_bridge import Live
from triptych.engine.web import page as viewer_page
from webrtc_kit import LIVE, Lab, drop, restore, until
from x11_kit import Client as XClient

pytestmark = LIVE

StartForm = Callable[..., GtkForm]

GREEN = 0x00FF00
WITH = """(more) => {
  const request = session.link.request;
  session.link.request = (method, params) => request.call(session.link, method, method === 'session.open' ? {...params, ...more} : params);
}"""
"""What the viewer asks for when it opens a session."""
SHOWN = """(async () => {
  const from = document.getElementById('still').hidden ? video : document.getElementById('still');
  const canvas = new OffscreenCanvas(from.videoWidth || from.width, from.videoHeight || from.height);
  const context = canvas.getContext('2d');
  context.drawImage(from, 0, 0);
  return [...context.getImageData(640, 400, 1, 1).data].slice(0, 3);
})()"""


async def shows_green(viewer: Viewer) -> bool:
    red, green, blue = await viewer.seen(SHOWN)
    return bool(green > 200 and red < 60 and blue < 60)


async def press_in_vain(viewer: Viewer, form: GtkForm) -> None:
    """Everything a person might still try; none of it may arrive."""
    await viewer.click(*form.centre("Save"))
    await viewer.seen("document.getElementById('text').focus()")
    await viewer.page.keyboard.type("x")
    assert await viewer.seen("session.say({kind: 'text', text: 'x'})") == 0
    assert await viewer.seen("session.peer") is None, "there is no connection either"


def test_a_lease_that_ends_is_said_and_nothing_can_be_driven_any_more(
    lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm
) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            await viewer.page.click("#end")
            await viewer.page.evaluate(WITH, {"ttl_seconds": 5})
            await viewer.page.click("#again")
            await viewer.is_("live")
            await viewer.click(*form.centre("Name"))
            await viewer.is_("ended: the session lease expired", 10)
            assert await viewer.seen("!document.getElementById('still').hidden"), "the last picture is held"
            assert "lease expired" in await viewer.seen("document.getElementById('card-text').textContent")
            await press_in_vain(viewer, form)
            # It is not opened anew by itself: whoever gave it for so long must be asked.
            await viewer.page.evaluate(WITH, {"ttl_seconds": 3600})
            await viewer.page.click("#again")
            await viewer.is_("live")
            await viewer.click(*form.centre("Save"))
            await reports(form, "click", count=1)
            assert not [event for event in form.events if event["event"] == "text" and event["value"]]

    lab.run(work())


def test_a_session_that_its_host_takes_back_is_said(lab: Lab, bare_display: PrivateDisplay, gtk_program: StartForm) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with contextlib.AsyncExitStack() as stack:
            live = await stack.enter_async_context(bridged(bare_display))
            viewer = await stack.enter_async_context(viewing(lab, live))
            session = await stack.enter_async_context(aiohttp.ClientSession())
            operator = await stack.enter_async_context(session.ws_connect(f"{live.address}/desktop?token={live.token}"))
            close = {"id": 1, "method": "session.close", "params": {"session_id": await viewer.seen("session.id")}}
            await operator.send_str(json.dumps(close))
            await viewer.is_("ended: it was closed")
            await press_in_vain(viewer, form)
            await viewer.page.click("#again")
            await viewer.is_("live")
            await viewer.click(*form.centre("Save"))
            await reports(form, "click", count=1)

    lab.run(work())


def test_a_bridge_that_ends_says_so_before_it_goes(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with contextlib.AsyncExitStack() as stack:
            async with bridged(bare_display) as live:
                viewer = await stack.enter_async_context(viewing(lab, live))
            await viewer.until("document.body.dataset.state === 'ended'")
            assert await viewer.seen("!document.getElementById('still').hidden"), "the last picture is held"

    lab.run(work())


def test_a_second_viewer_of_a_still_screen_sees_it_within_a_second(lab: Lab, bare_display: PrivateDisplay) -> None:
    """Counted in the page, from the path to the picture; a busy machine may spoil a try."""
    opened = """() => {
        const made = RTCPeerConnection;
        window.RTCPeerConnection = class extends made {
            constructor(...all) {
                super(...all);
                const up = () => this.connectionState === 'connected' && (window.up ??= performance.now());
                this.addEventListener('connectionstatechange', up);
            }
        };
    }"""

    async def work() -> None:
        waited = []
        with XClient(bare_display) as program:
            program.fill(GREEN, (0, 0, 1280, 800))
        async with bridged(bare_display) as live, viewing(lab, live) as first:
            for _ in range(3):
                async with contextlib.AsyncExitStack() as stack:
                    context = await lab.browser.new_context(viewport={"width": 1280, "height": 800})
                    stack.push_async_callback(context.close)
                    second = Viewer(await context.new_page())
                    await second.page.add_init_script(f"({opened})()")
                    await second.page.goto(live.url)
                    await second.until("document.body.dataset.state === 'live' && (window.shownAt ??= performance.now())")
                    waited.append(await second.seen("shownAt - up"))
                    assert await shows_green(second)
                    await first.is_("ended: it was opened somewhere else")
                    assert await shows_green(first), "the last picture is held"
            await first.page.click("#again")
            await first.is_("live")
        assert min(waited) < 1000, waited

    lab.run(work())


def test_without_a_ping_the_last_picture_is_held_and_a_ping_makes_it_live(lab: Lab, bare_display: PrivateDisplay) -> None:
    watch = """() => {
        window.said = []; window.words = [];
        session.signal = (method) => (said.push(method), Promise.resolve());
        const state = session.on.state;
        session.on.state = (word, why) => { words.push([word, performance.now() - session.pingAt]); state(word, why); };
    }"""

    async def work() -> None:
        with XClient(bare_display) as program:
            program.fill(GREEN, (0, 0, 1280, 800))
        async with bridged(bare_display) as live, viewing(lab, live) as viewer:
            session, peer = await viewer.seen("session.id"), "session.peer === window.peerBefore"
            await viewer.seen("window.peerBefore = session.peer, 0")
            await viewer.page.evaluate(watch)
            await drop()
            try:
                await viewer.until("document.body.dataset.state === 'reconnecting'", 6)
                [[word, silent]] = await viewer.seen("words")
                assert word == "reconnecting" and silent > 1500, "a late ping alone is no stall"
                assert await viewer.seen("!document.getElementById('held').hidden"), "and it says that it is held"
                assert await shows_green(viewer)
                await viewer.until("said.includes('session.restart_ice')", 8)  # a lasting stall asks for another path; here in vain
            finally:
                await restore()
            await viewer.is_("live", 8)
            assert await viewer.seen(f"[session.id, {peer}]") == [session, True]
            assert await shows_green(viewer)

    lab.run(work())


SOCKET = """(url) => new Promise((told) => {
  const socket = new WebSocket(url);
  socket.onopen = () => told('open');
  socket.onerror = () => told('refused');
})"""


@contextlib.asynccontextmanager
async def elsewhere(live: Live) -> Any:
    """Another server of this machine, whose page wants the desktop and has the token; its address."""
    page = f"<!doctype html><title>elsewhere</title><iframe src='{live.url}'></iframe>"

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=page, content_type="text/html")

    application = web.Application()
    application.router.add_get("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def test_another_page_of_the_browser_gets_neither_socket_nor_frame(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with bridged(bare_display) as live, elsewhere(live) as other, viewing(lab, live) as viewer:
            context = await lab.browser.new_context()
            try:
                page = await context.new_page()
                await page.goto(other)
                url = f"ws://127.0.0.1:{live.port}/desktop?token={live.token}"
                assert await page.evaluate(SOCKET, url) == "refused"
                framed = page.frames[1]
                assert framed.url.startswith("chrome-error:"), "it is in no frame of theirs"
                assert await page.evaluate(f"fetch('{live.url}').then(() => 'read', () => 'refused')") == "refused"
            finally:
                await context.close()
            assert await viewer.told() == "live"

    lab.run(work())


def test_nothing_but_its_own_script_runs_in_the_page_and_it_tells_nobody_where_it_is(lab: Lab, bare_display: PrivateDisplay) -> None:
    async def work() -> None:
        async with bridged(bare_display) as live, elsewhere(live) as other, viewing(lab, live) as viewer:
            await viewer.seen("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.struck = 1\">')")
            await viewer.seen("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.struck = 2'}))")
            assert await viewer.page.evaluate(f"fetch('{other}', {{mode: 'no-cors'}}).then(() => 'sent', () => 'refused')") == "refused"
            assert await viewer.seen("typeof window.struck") == "undefined"
            assert len([fault for fault in viewer.faults if "Content Security Policy" in fault]) >= 3
            heard: list[str | None] = []
            await viewer.page.route(f"{other}/**", lambda route: (heard.append(route.request.headers.get("referer")), route.continue_())[1])
            await viewer.page.goto(other)
            assert heard == [None], "the token stands in the address"
            await until(lambda: viewer.page.url.startswith(other))
            viewer.faults.clear()

    lab.run(work())


BARE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "shutdown":
        break
    told = {"engine": "bare/1", "encode": {"codecs": []}, "input": {"pointer": True, "layout": "us"}}
    told["clipboard"] = {"read": False, "write": False}
    print(json.dumps({"id": asked["id"], "result": told}), flush=True)
"""
"""An engine on a machine that has neither WebRTC nor an encoder, as `capabilities` says it."""


def test_an_engine_that_sends_no_picture_is_said_to_and_no_session_is_opened(lab: Lab) -> None:
    async def work() -> None:
        server = BridgeServer([sys.executable, "-c", BARE], {"kind": "x11", "display": ":9"}, viewer_page())
        host, port = await server.start("127.0.0.1", 0)
        try:
            page = await lab.browser.new_page()
            viewer = Viewer(page)
            await page.goto(Live(host, port, server.token, server.engine_name).url)
            await viewer.is_("ended: this engine sends no picture: its WebRTC or its encoder is not installed")
            assert await viewer.seen("session.id") is None
            await page.close()
        finally:
            await server.close()

    lab.run(work())
