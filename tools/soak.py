"""Does an engine that works for long stay as small as it was? Views a desktop in a browser for minutes, then opens and closes sessions.

    python -m triptych.tools.soak [--minutes 20] [--cycles 10000] [--viewed-every 20] [--control-every 4]

One engine for all of it. First a viewer in headless Chromium looks at a moving desktop; the path is made anew every minute, and the screen
gets another size every two. Then sessions are opened and closed: some are connected to a viewer that has seen a picture, the others have
made their offer; some have input too, and with it the process that guards it. Meanwhile the engine's memory, descriptors, sockets, threads,
processes and segments of shared memory are counted, and what it holds in the X server.

It prints a table: the median of each fifth of the samples, the most, and the trend of the second half, to which a single step or peak adds
nothing. The exit status is 1 when something grew: memory, when the last fifth lies more than 8 MB above the second, or the trend is above
4 MB; anything else, when the last fifth lies more than 2 above the second.
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
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import xcffib
import xcffib.randr
import xcffib.res
import xcffib.xproto as x

from ..adapters.display import PrivateDisplay
from .bundle import REPOSITORY
from .live_viewer import ALONE, CHROMIUM, ENGINE, FLAGS, Sender, Viewer, family

RECEIVER: Final = (REPOSITORY / "benchmarks" / "lab" / "receiver.html").read_text()
SIZES: Final = ((1280, 800), (1024, 768), (1280, 720))
RESTART_SECONDS, RESIZE_SECONDS = 60.0, 120.0
SAMPLES: Final = 200
"""So many samples, or one a second, whatever is fewer, are taken in each part."""
GROWTH_MB, TREND_MB, GROWTH_COUNT = 8, 4, 2
RECTANGLE: Final[Any] = x.RECTANGLE
MODE: Final[Any] = xcffib.randr.ModeInfo
PICTURE_SECONDS: Final = 30.0
REPORT_SECONDS: Final = 30.0
FEWEST: Final = 10
SHARED: Final = ("/memfd:", "/SYSV", "/dev/shm/")
"""How segments of shared memory are called among the mappings of a process."""


@dataclass(frozen=True)
class Sample:
    """What the engine holds at one moment. `anonymous_mb` is the memory that no file stands behind; `shm_segments` are what it maps."""

    rss_mb: float
    anonymous_mb: float
    fds: int
    sockets: int
    threads: int
    processes: int
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
    process = Path(f"/proc/{pid}")
    memory = (process / "smaps_rollup").read_text()
    opened = _opened(process / "fd")
    clients, resources = screen.held_by_others()
    return Sample(
        rss_mb=_megabytes(memory, "Rss"),
        anonymous_mb=_megabytes(memory, "Anonymous"),
        fds=len(opened),
        sockets=sum(what.startswith("socket:") for what in opened),
        threads=len(list((process / "task").iterdir())),
        processes=len(family(pid, "")),
        shm_segments=sum(any(kind in line for kind in SHARED) for line in (process / "maps").read_text().splitlines()),
        x_clients=clients,
        x_resources=resources,
    )


def _opened(folder: Path) -> list[str]:
    """What each descriptor is."""
    found = []
    for entry in folder.iterdir():
        # One that was closed meanwhile is none.
        with contextlib.suppress(FileNotFoundError):
            found.append(str(entry.readlink()))
    return found


def _megabytes(memory: str, name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", memory, re.MULTILINE)
    assert found is not None
    return round(int(found[1]) / 1024, 1)


def fifths(samples: Sequence[Sample], name: str) -> list[float]:
    """The median of each fifth."""
    values = [float(getattr(each, name)) for each in samples]
    return [statistics.median(values[len(values) * part // 5 : len(values) * (part + 1) // 5]) for part in range(5)]


def trend(samples: Sequence[Sample], name: str) -> float:
    """What the second half grew by, if its two quarters grew alike: twice the growth of the one that grew less."""
    values = [float(getattr(each, name)) for each in samples]
    half, quarter = len(values) // 2, len(values) * 3 // 4
    return 2 * min(_growth(values[half:quarter]), _growth(values[quarter:]), key=abs)


def _growth(values: Sequence[float]) -> float:
    """Along the line whose slope is the median of those between any two values (Theil and Sen)."""
    slopes = [(late - early) / (at_late - at_early) for (at_early, early), (at_late, late) in combinations(enumerate(values), 2)]
    return statistics.median(slopes) * len(values) if slopes else 0.0


def grew(samples: Sequence[Sample]) -> list[str]:
    """What is not flat."""
    found = []
    for field in fields(Sample):
        is_memory = field.name.endswith("_mb")
        parts, slope = fifths(samples, field.name), trend(samples, field.name)
        if parts[4] - parts[1] > (GROWTH_MB if is_memory else GROWTH_COUNT) or (is_memory and slope > TREND_MB):
            found.append(f"{field.name} grew from {parts[1]:g} to {parts[4]:g}, with a trend of {slope:+.1f}")
    return found


def table(title: str, samples: Sequence[Sample]) -> str:
    """The medians of the fifths, the most, and the trend."""
    rows = [[f"{title} ({len(samples)} samples)", "first", "second", "third", "fourth", "last", "most", "trend"]]
    for field in fields(Sample):
        most = max(getattr(each, field.name) for each in samples)
        parts = fifths(samples, field.name)
        rows.append([field.name.replace("_", " ").replace(" mb", ", MB"), *(f"{value:g}" for value in (*parts, most))])
        rows[-1].append(f"{trend(samples, field.name):+.1f}")
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
        self.samples: list[Sample] = []
        """Those of the present part."""
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

    async def open(self, permissions: Sequence[str]) -> None:
        """Open a session on the display."""
        source = {"kind": "x11", "display": self.display.name}
        await self.sender.open(source=source, permissions=permissions, max_width=960, max_height=600)

    @contextlib.asynccontextmanager
    async def viewed(self) -> AsyncIterator[Viewer]:
        """A session with a viewer that has seen a picture; closed at the end."""
        viewer = await Viewer.open(self.browser, RECEIVER, self.sender, stamps=False)
        try:
            await self.open(["view", "control"])
            await viewer.sees("seen.frames > 1", PICTURE_SECONDS)
            yield viewer
            await self.sender.request("session.close")
        finally:
            await viewer.close()

    async def view(self, minutes: float) -> None:
        """Look at the desktop for that long."""
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
                self._sample(f"viewed for {passed:.0f} s")
                await asyncio.sleep(max(1.0, 60 * minutes / SAMPLES))
            await self._goes_on(viewer)
            self.pictures, self.longest_gap = await viewer.page.evaluate("() => [seen.frames, seen.gap]")

    async def _goes_on(self, viewer: Viewer) -> None:
        before = await viewer.page.evaluate("() => seen.frames")
        await viewer.sees(f"seen.frames > {before} + 15", PICTURE_SECONDS)

    async def offered(self, permissions: Sequence[str]) -> None:
        """Open a session, wait for its offer, and close it."""
        there = asyncio.Event()

        def heard(name: str, params: Mapping[str, Any]) -> None:
            if name == "session.description":
                there.set()

        self.sender.on_event = heard
        await self.open(permissions)
        await asyncio.wait_for(there.wait(), PICTURE_SECONDS)
        await self.sender.request("session.close")

    async def cycle(self, cycles: int, viewed_every: int, control_every: int) -> None:
        """Open and close so many sessions, each `viewed_every`-th with a viewer, each `control_every`-th of the others with input."""
        every = max(1, cycles // SAMPLES)
        for number in range(1, cycles + 1):
            # The one after each round number, where no sample is taken: what it needed is given back a moment after it was closed.
            if number % viewed_every == 1 % viewed_every:
                async with self.moving(), self.viewed():
                    pass
            else:
                await self.offered(["view", "control"] if number % control_every == 0 else ["view"])
            if number % every == 0:
                self._sample(f"{number} cycles")

    def _sample(self, what: str) -> None:
        self.samples.append(sample(self.sender.pid, self.screen))
        if time.monotonic() - self.reported > REPORT_SECONDS:
            self.reported = time.monotonic()
            print(f"{what}: {self.samples[-1]}", file=sys.stderr, flush=True)

    async def part(self, title: str, work: Awaitable[None]) -> bool:
        """Do a part and print its table, even when it breaks in the middle; whether it stayed flat."""
        self.samples = []
        began = time.monotonic()
        try:
            await work
        finally:
            if len(self.samples) >= FEWEST:
                print(table(title, self.samples), flush=True)
        for fault in (faults := grew(self.samples)):
            print(f"NOT FLAT: {fault}")
        print(f"took {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f}\n", flush=True)
        return not faults


async def soak(minutes: float, cycles: int, viewed_every: int, control_every: int) -> bool:
    """Run both parts; whether all stayed flat."""
    from playwright.async_api import async_playwright

    with PrivateDisplay(*SIZES[0], dbus=False) as display:
        os.environ["XAUTHORITY"] = display.env["XAUTHORITY"]
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *ALONE])
            sender = await Sender.start(ENGINE, display.env)
            made = Soak(sender, display, browser)
            try:
                flat = await made.part(f"{minutes:g} minutes viewed", made.view(minutes))
                print(f"pictures seen: {made.pictures}, longest gap: {made.longest_gap:.0f} ms\n", flush=True)
                flat &= await made.part(f"{cycles} open/close cycles", made.cycle(cycles, viewed_every, control_every))
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
    parser.add_argument("--control-every", type=int, default=4, help="each so-many-th of the others has input (4)")
    options = parser.parse_args()
    if options.cycles < FEWEST or options.minutes < 0.25 or options.viewed_every < 1 or options.control_every < 1:
        parser.error(f"medians of fifths need at least {FEWEST} cycles and 0.25 minutes, and every is 1 at least")
    sys.exit(0 if asyncio.run(soak(options.minutes, options.cycles, options.viewed_every, options.control_every)) else 1)


if __name__ == "__main__":
    main()
