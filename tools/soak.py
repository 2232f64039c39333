"""Does an engine that works for long stay as small as it was? Views a desktop in a browser for minutes, then opens and closes sessions.

    python -m triptych.tools.soak [--minutes 20] [--cycles 10000] [--viewed-every 20]

One engine for all of it. First a viewer in headless Chromium looks at a moving desktop; the path is made anew every minute, and the screen
gets another size every two. Then sessions are opened and closed, some of them with a viewer that has seen a picture. Meanwhile the engine's
memory, descriptors, threads, segments of shared memory, and what it holds in the X server are counted. It prints a table, and the exit
status is 1 when something grew: memory, when the median of the last fifth lies more than 5 % and 8 MB above that of the second fifth;
anything else, when it does by more than 2.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import xcffib
import xcffib.randr
import xcffib.res
import xcffib.xproto as x

from ..adapters.display import PrivateDisplay
from .bundle import REPOSITORY
from .live_viewer import ALONE, CHROMIUM, ENGINE, FLAGS, Sender, Viewer

RECEIVER: Final = (REPOSITORY / "benchmarks" / "lab" / "receiver.html").read_text()
SIZES: Final = ((1280, 800), (1024, 768), (1280, 720))
RESTART_SECONDS, RESIZE_SECONDS = 60.0, 120.0
SAMPLES: Final = 200
"""So many samples, or one a second, whatever is fewer, are taken in each part."""
GROWTH, GROWTH_KIB, GROWTH_COUNT = 0.05, 8 * 1024, 2
RECTANGLE: Final[Any] = x.RECTANGLE
MODE: Final[Any] = xcffib.randr.ModeInfo
PICTURE_SECONDS: Final = 30.0
REPORT_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Sample:
    """What the engine holds at one moment."""

    rss_kib: int
    fds: int
    threads: int
    shm_segments: int
    x_clients: int
    x_resources: int


class Screen:
    """A private display: paints on it, gives it another size, and counts what clients hold in its server."""

    def __init__(self, display: PrivateDisplay) -> None:
        connect: Any = xcffib.connect
        self.connection: Any = connect(display=display.name)
        self.core: Any = self.connection.core
        self.root = self.connection.get_setup().roots[0].root
        self.context = self.connection.generate_id()
        self.core.CreateGC(self.context, self.root, 0, [])
        self.turn = 0

    def paint(self) -> None:
        """Move a box on, and change a strip of the picture."""
        self.turn += 1
        for colour, box in (
            (self.turn * 0x010203 & 0xFFFFFF, (self.turn * 16 % 960, 100, 64, 64)),
            (self.turn * 7 & 0xFF, (0, 0, 960, 24)),
        ):
            self.core.ChangeGC(self.context, x.GC.Foreground, [colour])
            self.core.PolyFillRectangle(self.root, self.context, 1, [RECTANGLE.synthetic(*box)])
        self.connection.flush()

    def resize(self, width: int, height: int) -> None:
        """Change the mode, as `xrandr` does; no larger than the size that the server started with."""
        randr = self.connection(xcffib.randr.key)
        held = randr.GetScreenResources(self.root).reply()
        crtc, output = held.crtcs[0], held.outputs[0]
        mode = {(known.width, known.height): known.id for known in held.modes}.get((width, height))
        if mode is None:
            name = f"{width}x{height}"
            about = MODE.synthetic(0, width, height, width * height * 60, 0, 0, width, 0, 0, 0, height, len(name), 0)
            mode = randr.CreateMode(self.root, about, len(name), name).reply().mode
            randr.AddOutputMode(output, mode)
        turned = xcffib.randr.Rotation.Rotate_0
        randr.SetCrtcConfig(crtc, 0, 0, 0, 0, 0, turned, 0, []).reply()
        randr.SetScreenSize(self.root, width, height, width // 4, height // 4)
        randr.SetCrtcConfig(crtc, 0, 0, 0, 0, mode, turned, 1, [output]).reply()

    def held_by_others(self) -> tuple[int, int]:
        """How many clients there are beside this one and the server itself, and how many resources they hold."""
        resources = self.connection(xcffib.res.key)
        mine = self.connection.get_setup().resource_id_base
        others = [client.resource_base for client in resources.QueryClients().reply().clients if client.resource_base not in (0, mine)]
        total = 0
        for base in others:
            # One that has gone meanwhile holds nothing.
            with contextlib.suppress(xcffib.ProtocolException):
                total += sum(kind.count for kind in resources.QueryClientResources(base).reply().types)
        return len(others), total


def sample(pid: int, screen: Screen) -> Sample:
    """Look at the engine."""
    status = Path(f"/proc/{pid}/status").read_text()
    made = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    segments = sum(1 for line in made if str(pid) in line.split()[4:6])
    clients, resources = screen.held_by_others()
    return Sample(
        _number(status, "VmRSS"), len(list(Path(f"/proc/{pid}/fd").iterdir())), _number(status, "Threads"), segments, clients, resources
    )


def _number(status: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
    assert found is not None
    return int(found[1])


def fifths(samples: Sequence[Sample], name: str) -> list[float]:
    """The median of each fifth."""
    values = [float(getattr(each, name)) for each in samples]
    return [statistics.median(values[len(values) * part // 5 : len(values) * (part + 1) // 5]) for part in range(5)]


def grew(samples: Sequence[Sample]) -> list[str]:
    """What is not flat."""
    found = []
    for field in fields(Sample):
        parts = fifths(samples, field.name)
        most = parts[1] * (1 + GROWTH) + GROWTH_KIB if field.name == "rss_kib" else parts[1] + GROWTH_COUNT
        if parts[4] > most:
            found.append(f"{field.name} grew from {parts[1]:g} to {parts[4]:g}")
    return found


def table(title: str, samples: Sequence[Sample]) -> str:
    """The medians of the fifths."""
    rows = [[f"{title} ({len(samples)} samples)", "first", "second", "third", "fourth", "last", "most"]]
    for field in fields(Sample):
        most = max(getattr(each, field.name) for each in samples)
        rows.append([field.name, *(f"{value:g}" for value in fifths(samples, field.name)), f"{most:g}"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    )


class Soak:
    """The engine, its display and the browser, and what is counted."""

    def __init__(self, sender: Sender, display: PrivateDisplay, browser: Any) -> None:
        self.sender, self.display, self.browser = sender, display, browser
        self.screen = Screen(display)
        self.longest_gap = 0.0
        self.pictures = 0
        self.reported = time.monotonic()

    @contextlib.asynccontextmanager
    async def moving(self) -> AsyncIterator[None]:
        """The picture changes, fifteen times a second."""

        async def move() -> None:
            while True:
                self.screen.paint()
                await asyncio.sleep(1 / 15)

        task = asyncio.get_running_loop().create_task(move())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def open(self) -> None:
        """Open a session on the display."""
        source = {"kind": "x11", "display": self.display.name}
        await self.sender.open(source=source, permissions=["view", "control"], max_width=960, max_height=600)

    @contextlib.asynccontextmanager
    async def viewed(self) -> AsyncIterator[Viewer]:
        """A session with a viewer that has seen a picture; closed at the end."""
        viewer = await Viewer.open(self.browser, RECEIVER, self.sender, stamps=False)
        try:
            await self.open()
            await viewer.sees("seen.frames > 1", PICTURE_SECONDS)
            yield viewer
            await self.sender.request("session.close")
        finally:
            await viewer.close()

    async def view(self, minutes: float) -> list[Sample]:
        """Look at the desktop for that long."""
        samples: list[Sample] = []
        began = time.monotonic()
        restart_at, resize_at, turn = RESTART_SECONDS, RESIZE_SECONDS, 0
        async with self.moving(), self.viewed() as viewer:
            while (passed := time.monotonic() - began) < 60 * minutes:
                if passed >= restart_at:
                    restart_at += RESTART_SECONDS
                    await self.sender.request("session.restart_ice")
                    await self._goes_on(viewer)
                if passed >= resize_at:
                    resize_at += RESIZE_SECONDS
                    turn += 1
                    self.screen.resize(*SIZES[turn % len(SIZES)])
                    await self._goes_on(viewer)
                samples.append(sample(self.sender.pid, self.screen))
                self._report(f"viewed for {passed:.0f} s", samples[-1])
                await asyncio.sleep(max(1.0, 60 * minutes / SAMPLES))
            await self._goes_on(viewer)
            self.pictures, self.longest_gap = await viewer.page.evaluate("() => [seen.frames, seen.gap]")
        return samples

    async def _goes_on(self, viewer: Viewer) -> None:
        before = await viewer.page.evaluate("() => seen.frames")
        await viewer.sees(f"seen.frames > {before} + 15", PICTURE_SECONDS)

    async def offered(self) -> None:
        """Open a session, and wait for its offer."""
        there = asyncio.Event()

        def heard(name: str, params: Mapping[str, Any]) -> None:
            if name == "session.description":
                there.set()

        self.sender.on_event = heard
        await self.open()
        await asyncio.wait_for(there.wait(), PICTURE_SECONDS)

    async def cycle(self, cycles: int, viewed_every: int) -> list[Sample]:
        """Open and close so many sessions, each `viewed_every`-th with a viewer."""
        samples: list[Sample] = []
        every = max(1, cycles // SAMPLES)
        for number in range(1, cycles + 1):
            if number % viewed_every == 0:
                async with self.moving(), self.viewed():
                    pass
            else:
                await self.offered()
                await self.sender.request("session.close")
            if number % every == 0:
                samples.append(sample(self.sender.pid, self.screen))
                self._report(f"{number} cycles", samples[-1])
        return samples

    def _report(self, what: str, latest: Sample) -> None:
        if time.monotonic() - self.reported > REPORT_SECONDS:
            self.reported = time.monotonic()
            print(f"{what}: {latest}", file=sys.stderr, flush=True)


async def soak(minutes: float, cycles: int, viewed_every: int) -> bool:
    """Run both parts; whether all stayed flat."""
    from playwright.async_api import async_playwright

    flat = True
    with PrivateDisplay(*SIZES[0], dbus=False) as display:
        os.environ["XAUTHORITY"] = display.env["XAUTHORITY"]
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *ALONE])
            sender = await Sender.start(ENGINE, display.env)
            made = Soak(sender, display, browser)
            try:
                parts: tuple[tuple[str, Callable[[], Awaitable[list[Sample]]]], ...] = (
                    (f"{minutes:g} minutes viewed", lambda: made.view(minutes)),
                    (f"{cycles} open/close cycles", lambda: made.cycle(cycles, viewed_every)),
                )
                for title, part in parts:
                    began = time.monotonic()
                    samples = await part()
                    print(table(title, samples), flush=True)
                    for fault in (faults := grew(samples)):
                        print(f"NOT FLAT: {fault}")
                    flat = flat and not faults
                    print(f"took {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}\n", flush=True)
                print(f"pictures seen: {made.pictures}, longest gap: {made.longest_gap:.0f} ms")
            finally:
                status = await sender.close()
                await browser.close()
            if status != 0:
                print(f"the engine ended with {status}")
                flat = False
    print("flat" if flat else "NOT FLAT")
    return flat


def main() -> None:
    """Read the options, soak, and say how it went."""
    parser = argparse.ArgumentParser(prog="python -m triptych.tools.soak", description="Does an engine that works for long stay small?")
    parser.add_argument("--minutes", type=float, default=20, help="how long a viewer looks (20)")
    parser.add_argument("--cycles", type=int, default=10_000, help="sessions that are opened and closed (10000)")
    parser.add_argument("--viewed-every", type=int, default=20, help="each so-many-th of them is seen by a viewer (20)")
    options = parser.parse_args()
    if options.cycles < 10 or options.minutes < 0.2:
        parser.error("medians of fifths need at least 10 cycles and 0.2 minutes")
    sys.exit(0 if asyncio.run(soak(options.minutes, options.cycles, options.viewed_every)) else 1)


if __name__ == "__main__":
    main()
