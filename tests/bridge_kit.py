"""A person at the viewer: a page of a real browser on the bridge's own address, driven by real mouse, key and touch events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gtk_kit import GtkForm
from triptych.adapters.display import PrivateDisplay
from triptych.engine.desktop_bridge import Live, bridge
from webrtc_kit import Lab

PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


PLACE = """([x, y]) => {
  const box = view.stage.getBoundingClientRect();
  return [box.left + view.left + (x + .5) * view.scale, box.top + view.top + (y + .5) * view.scale];
}"""


class Viewer:
    """One page. `faults` is what the browser complained of."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.faults.append(message.text))

    async def seen(self, expression: str) -> Any:
        return await self.page.evaluate(expression)

    async def until(self, condition: str, seconds: float = 15) -> Any:
        """Wait until an expression is true in the page. The page's policy forbids `eval`, and so playwright's own waiting."""
        deadline = time.monotonic() + seconds
        while not (value := await self.seen(condition)):
            assert time.monotonic() < deadline, f"{condition}: not so; {await self.told()}; {self.faults}"
            await asyncio.sleep(0.02)
        return value

    async def told(self) -> str:
        """What the page says of its state."""
        return str(await self.seen("document.getElementById('word').textContent"))

    async def is_(self, word: str, seconds: float = 15) -> None:
        await self.until(f"document.getElementById('word').textContent === {word!r}", seconds)

    async def place(self, x: int, y: int) -> tuple[float, float]:
        """Where a pixel of the desktop is in the window."""
        left, top = await self.page.evaluate(PLACE, [x, y])
        return left, top

    async def click(self, x: int, y: int, **options: Any) -> None:
        await self.page.mouse.click(*await self.place(x, y), **options)


async def reports(form: GtkForm, event: str, **fields: object) -> dict[str, Any]:
    """The form's report, waited for on a thread: the bridge runs on this loop."""
    return await asyncio.to_thread(form.wait_for, event, **fields)


@asynccontextmanager
async def bridged(display: PrivateDisplay) -> AsyncIterator[Live]:
    """A bridge to that display."""
    async with bridge(display.name, env=display.env, port=0) as live:
        yield live


@asynccontextmanager
async def viewing(lab: Lab, live: Live, *, word: str = "live", **options: Any) -> AsyncIterator[Viewer]:
    """A viewer that is live. A fault of the page fails the test."""
    context = await lab.browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    try:
        viewer = Viewer(await context.new_page())
        await viewer.page.goto(live.url)
        await viewer.is_(word)
        yield viewer
        assert [fault for fault in viewer.faults if "ERR_CONNECTION_REFUSED" not in fault and "WebSocket" not in fault] == []
    finally:
        await context.close()
