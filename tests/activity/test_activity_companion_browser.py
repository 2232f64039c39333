"""The browser companion in a real Chromium, loaded unpacked, against a real host: what of a page arrives, and what never does."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from activity_kit import every_byte, scripted
from triptych.adapters.collector.bootstrap import BROWSER
from triptych.engine import activity
from triptych.machines.wire.faults import Fault
from triptych.machines.wire.rules import rule

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", f"--load-extension={BROWSER}", f"--disable-extensions-except={BROWSER}"),
)
HELLO = {"v": 1, "type": "hello", "collectorSession": "s", "collectorVersion": "1", "platform": "linux", "arch": "x64", "capabilities": []}
RUNNING = {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}
PAUSED = {**RUNNING, "state": "paused"}


class Site:
    """A web site on loopback that notes which paths were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.origin = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:  # a connection that the browser opened for later
            return writer.close()
        self.asked.append(head.split(" ")[1])
        page = b"<title>SECRET title</title><p>SECRET text</p>"
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(page), page))
        await writer.drain()
        return writer.close()


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    made = Site()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield made


@asynccontextmanager
async def chromium(profile: Path) -> AsyncIterator[tuple[Any, Any]]:
    """A browser with a fresh profile, and the worker of our extension in it."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, headless=False, args=list(FLAGS), env={"HOME": str(profile), "PATH": "/usr/bin:/bin"}
        )
        try:
            workers = context.service_workers
            yield context, workers[0] if workers else await context.wait_for_event("serviceworker", timeout=20_000)
        finally:
            await context.close()


@pytest.fixture(autouse=True)
def needs_chromium() -> None:
    if not Path(CHROMIUM).exists() and shutil.which("chromium") is None:
        pytest.skip("chromium is not installed: apt install chromium")
    pytest.importorskip("playwright.async_api", reason="pip install playwright")


@pytest.mark.slow
def test_a_page_is_recorded_by_origin_and_path_only(tmp_path: Path) -> None:
    begins: list[tuple[object, ...]] = [("say", HELLO), ("await", "configure"), ("ack",), ("say", RUNNING)]
    collector = scripted(tmp_path, [*begins, ("await", "pause"), ("say", PAUSED), ("await", "resume"), ("say", RUNNING)])

    async def main() -> None:
        async with (
            site() as web,
            activity.record(tmp_path / "history", allow=["companion.browser"], command=collector, companions=0) as recording,
            chromium(tmp_path / "profile") as (context, worker),
        ):

            def paths() -> list[str]:
                return [row.resource[1].removeprefix(web.origin) for row in recording.observations() if row.resource]

            async def recorded(*wanted: str) -> None:
                """Wait until these and no other paths have been recorded, in this order, since the beginning."""
                with recording.changes() as changed:
                    async with asyncio.timeout(60):
                        while len(paths()) < len(wanted):
                            await changed.wait()
                            changed.clear()
                assert paths() == list(wanted)

            await recording.wait_for_capture("running")
            assert recording.health.companion is not None
            home = worker.url.rpartition("/")[0]
            page = context.pages[0]

            # not paired: nothing is sent
            await page.goto(web.origin + "/before?SECRET=1")
            await answered(worker, "unpaired")
            await page.goto(home + "/popup.html")
            await says(page, "Not paired")

            # paired by a person, in the settings
            await page.goto(home + "/options.html")
            await page.fill("#token", recording.pair("browser"))
            await page.fill("#port", str(recording.health.companion.port))
            await page.click("button[type=submit]")
            await says(page, "Connected")

            await page.goto(web.origin + "/a/b%20c/é?token=SECRET#SECRET")
            seen = ["/a/b%20c/%C3%A9"]
            await recorded(*seen)
            [first] = recording.observations()
            assert (first.bundle_id, first.app_name, first.surface_kind, first.title) == (
                "companion.browser",
                "Browser companion",
                "browser",
                None,
            )
            assert (first.provider, first.seq, first.pid, first.session[:8]) == ("companion", 1, 0, "browser-")

            # a page that changes its own address, another tab, and back again
            await page.evaluate("history.pushState({}, '', '/pushed?SECRET=2')")
            seen.append("/pushed")
            await recorded(*seen)
            other = await context.new_page()
            await other.goto(web.origin + "/other")
            seen.append("/other")
            await recorded(*seen)
            await page.bring_to_front()
            seen.append("/pushed")
            await recorded(*seen)

            # what is no web page, and a private window
            await other.bring_to_front()
            for url in ("data:text/html,SECRET", f"file://{BROWSER}/popup.html"):
                await other.goto(url)
                await settled(worker)
            await worker.evaluate("(url) => chrome.windows.create({ url, incognito: true })", web.origin + "/private?SECRET=3")
            await settled(worker)
            await other.bring_to_front()

            # paused by a person, in the popup
            await other.goto(home + "/popup.html")
            await says(other, "Connected")
            await other.check("#paused")
            await says(other, "Paused")
            await other.goto(web.origin + "/while-paused")
            await settled(worker)
            await answered(worker, "paused")
            await other.goto(home + "/popup.html")
            await other.uncheck("#paused")
            await other.goto(web.origin + "/after")
            seen.append("/after")
            await recorded(*seen)

            # while the capture is paused
            await recording.pause()
            await other.goto(web.origin + "/in-a-pause")
            await recording.wait_for_refusal("capture-paused")
            await answered(worker, "withheld")
            await other.goto(home + "/popup.html")
            await says(other, "Not recording")
            assert re.match(r"At \d\d:\d\d.*: the recording was paused", await other.inner_text("#detail"))
            await recording.resume()
            await other.goto(web.origin + "/last")
            seen.append("/last")
            await recorded(*seen)

            # another pairing ends this one
            recording.pair("browser")
            await other.goto(web.origin + "/unpaired")
            await answered(worker, "unpaired")
            await recorded(*seen)

            assert {"/before?SECRET=1", "/a/b%20c/%C3%A9?token=SECRET", "/private?SECRET=3", "/while-paused"} <= set(web.asked)
            assert b"SECRET" not in every_byte(tmp_path / "history")
            health = recording.health.companion
            assert health is not None and health.paired and health.browser_last_seen_at_ms and not health.editor_last_seen_at_ms

            # the rule on paths takes whatever this browser writes; one older than the standard's latest change leaves ^ as it is
            written = await page.evaluate(
                "[...Array(95).keys()].map((n) => new URL('http://a/' + String.fromCharCode(32 + n) + 'x').pathname)"
            )
            assert [path for path in written if refuses(path)] in ([], ["/^x"])

    asyncio.run(main())


ANSWERED = """(wanted) => new Promise((done) => {
  const look = async () => ((await chrome.storage.session.get("last")).last?.outcome === wanted) && done();
  chrome.storage.session.onChanged.addListener(look);
  look();
})"""


async def says(page: Any, state: str) -> None:
    """Wait until a page of the extension says this state."""
    await page.locator("#state", has_text=re.compile(f"^{state}$")).wait_for(timeout=15_000)


async def answered(worker: Any, outcome: str) -> None:
    """Wait until the last that the worker knows is this outcome."""
    async with asyncio.timeout(60):
        await worker.evaluate(ANSWERED, outcome)


async def settled(worker: Any) -> None:
    """Longer than the worker waits before it reports: what it was going to say, it has begun to say."""
    await worker.evaluate("new Promise((done) => setTimeout(done, 600))")


def refuses(path: str) -> bool:
    try:
        rule("canonical-path")(path, ())
    except Fault:
        return True
    return False


@pytest.mark.slow
def test_which_tabs_may_be_reported(tmp_path: Path) -> None:
    """The one function that looks at a URL, in the browser itself."""
    tabs = {
        "https://example.org/a?b=SECRET#SECRET": {"origin": "https://example.org", "path": "/a"},
        "https://example.org:443": {"origin": "https://example.org", "path": "/"},
        "http://BÜCHER.example/ü": {"origin": "http://xn--bcher-kva.example", "path": "/%C3%BC"},
        "http://me:SECRET@example.org/": None,
        "http://me@example.org/": None,
        "about:blank": None,
        "chrome://version/": None,
        "chrome-extension://abc/x.html": None,
        "file:///home/me/SECRET.html": None,
        "data:text/html,SECRET": None,
        "blob:https://example.org/1": None,
        "javascript:1": None,
        "no url": None,
        "": None,
    }

    async def main() -> None:
        async with chromium(tmp_path / "profile") as (context, worker):
            page = context.pages[0]
            await page.goto(worker.url.rpartition("/")[0] + "/options.html")
            ask = "async ([tab]) => (await import('./page.js')).pageOf(tab)"
            for url, expected in tabs.items():
                assert await page.evaluate(ask, [{"url": url, "incognito": False}]) == expected, url
                assert await page.evaluate(ask, [{"url": url, "incognito": True}]) is None
                assert await page.evaluate(ask, [{"url": url}]) is None
            assert await page.evaluate(ask, [None]) is None

    asyncio.run(main())


def test_its_manifest_holds_for_chromium_and_firefox() -> None:
    manifest = json.loads((BROWSER / "manifest.json").read_text())
    assert manifest["manifest_version"] == 3
    assert sorted(manifest["permissions"]) == ["storage", "tabs"]
    assert manifest["host_permissions"] == ["http://127.0.0.1/*"]
    assert manifest["incognito"] == "not_allowed"
    assert manifest["background"] == {"service_worker": "background.js", "scripts": ["background.js"], "type": "module"}
    assert manifest["browser_specific_settings"]["gecko"]["id"]
    named = [*manifest["icons"].values(), *manifest["action"]["default_icon"].values(), manifest["action"]["default_popup"]]
    assert all((BROWSER / name).is_file() for name in (*named, manifest["options_ui"]["page"], "background.js"))
    text = "\n".join(path.read_text() for path in BROWSER.glob("*.js"))
    assert not any(word in text for word in ("executeScript", "content_scripts", "innerHTML", "eval(", ".title", "clipboard"))
