"""Desktop panel: how fast the pixels of an X display are in the program's hands, against `mss`; how soon the engine tells.

Every display is private. Where there is no peer, the bound that we set stands in its place, and reference figures beside.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import Benchmark, Sides, Skip
from triptych.adapters.display import PrivateDisplay
from triptych.engine import desktop
from triptych.errors import Unavailable

WIDTH, HEIGHT = 1920, 1080
BYTES = WIDTH * HEIGHT * 4
BOUND = "the bound that we set"
SERVE = "import sys; from triptych.engine.desklink_command import main; sys.exit(main(['serve']))"
IDLE_SECONDS = 4.0


@contextmanager
def display_1080p() -> Iterator[PrivateDisplay]:
    """A display that this process can open too."""
    try:
        display = PrivateDisplay(WIDTH, HEIGHT, dbus=False)
    except Unavailable as lacking:
        raise Skip(str(lacking)) from lacking
    with display:
        before = os.environ.get("XAUTHORITY")
        os.environ["XAUTHORITY"] = display.env["XAUTHORITY"]
        try:
            yield display
        finally:
            if before is None:
                del os.environ["XAUTHORITY"]
            else:
                os.environ["XAUTHORITY"] = before


class Painter:
    """Draws on the root window: 8x8 blocks of 256 colours, so that no part of a frame is plain; and a small box."""

    def __init__(self, display: str) -> None:
        import xcffib
        import xcffib.xproto as x

        self.connection = xcffib.connect(display=display)
        self.core = self.connection.core
        self.root = self.connection.get_setup().roots[0].root
        self.context = self.connection.generate_id()
        self.core.CreateGC(self.context, self.root, 0, [])
        self._foreground = x.GC.Foreground
        self._rectangle = x.RECTANGLE.synthetic
        self._pictures: list[int] = []
        self._turn = 0
        for picture in range(2):
            pixmap = self.connection.generate_id()
            self.core.CreatePixmap(24, pixmap, self.root, WIDTH, HEIGHT)
            self._pictures.append(pixmap)
            for shade in range(256):
                blocks = [
                    self._rectangle(column * 8, row * 8, 8, 8)
                    for row in range(HEIGHT // 8)
                    for column in range(WIDTH // 8)
                    if (row * 97 + column * 31) % 256 == shade
                ]
                self._fill(pixmap, shade * 0x010305 ^ (0x5A3C71, 0xA5C38E)[picture], blocks)

    def __enter__(self) -> Painter:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.disconnect()

    def everything(self) -> None:
        """Every pixel of the root window becomes another."""
        self._turn += 1
        self.core.CopyArea(self._pictures[self._turn % 2], self.root, self.context, 0, 0, 0, 0, WIDTH, HEIGHT)
        self._done()

    def box(self) -> None:
        """A box of 64x64 becomes another."""
        self._turn += 1
        self._fill(self.root, self._turn * 0x030507 & 0xFFFFFF, [self._rectangle(640, 320, 64, 64)])
        self._done()

    def _fill(self, drawable: int, colour: int, boxes: list[Any]) -> None:
        self.core.ChangeGC(self.context, self._foreground, [colour])
        self.core.PolyFillRectangle(drawable, self.context, len(boxes), boxes)

    def _done(self) -> None:
        self.core.GetInputFocus().reply()


class Engine:
    """`triptych desktop serve` with an open session of a display, on two pipes."""

    def __init__(self, display: PrivateDisplay, **params: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(display.env)
        )
        self.asked = 0
        self.ask("hello", protocol=3)
        source = {"kind": "x11", "display": display.name}
        self.session = self.ask("session.open", source=source, permissions=["view"], **params)["sessionId"]
        self.frame(after_seq=0)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request; events before it are dropped."""
        assert self.process.stdin is not None
        self.asked += 1
        self.process.stdin.write(json.dumps({"id": self.asked, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        while (said := self.next()).get("id") != self.asked:
            pass
        return said["result"]

    def frame(self, **params: Any) -> Any:
        """The result of a `session.frame`."""
        return self.ask("session.frame", session_id=self.session, **params)

    def next(self) -> dict[str, Any]:
        """The next line."""
        assert self.process.stdout is not None
        line: dict[str, Any] = json.loads(self.process.stdout.readline())
        return line

    def changed(self) -> None:
        """Wait for the news of a change."""
        while self.next().get("event") != "session.frame.changed":
            pass

    def cpu_seconds(self) -> float:
        """The processor time that the threads of the process have used, to the nanosecond."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def bound(figure: float) -> Callable[[], float]:
    """The side of a peer that is not there."""
    return lambda: figure


@contextmanager
def memory_copy() -> Iterator[Callable[[], None]]:
    """A plain copy of one frame in memory, through memory views: a slice of a bytearray would copy twice."""
    one, other = memoryview(bytearray(BYTES)), memoryview(bytearray(BYTES))

    def copy() -> None:
        one[:] = other

    yield copy


@contextmanager
def grab_1080p() -> Iterator[Sides]:
    """A whole 1920x1080 root window: our shared-memory grab, without and with a copy into memory of our own, and mss as it comes."""
    try:
        import mss
    except ImportError as missing:
        raise Skip("mss is not installed: pip install 'triptych[dev]'") from missing
    from triptych.adapters.desklink.x11_capture import X11Capture

    with display_1080p() as display, Painter(display.name) as painter, memory_copy() as copy:
        painter.everything()
        with X11Capture(display.name) as capture, mss.MSS(display=display.name) as peer:
            screen = peer.monitors[0]
            capture.refresh()
            kept = memoryview(bytearray(BYTES))
            if bytes(capture.grab().data) != bytes(peer.grab(screen).raw):
                raise Skip("the two do not see the same pixels")

            def ours() -> None:
                capture.grab()

            def theirs() -> None:
                peer.grab(screen)

            def ours_copied() -> None:
                kept[:] = capture.grab().data

            def ours_compared() -> None:
                capture.refresh()

            beside = {
                "ours, copied into memory of our own": ours_copied,
                "ours, compared by tiles with the kept frame": ours_compared,
                "a plain copy of one frame in memory": copy,
            }
            yield Sides(ours, theirs, beside)


@contextmanager
def full_change_1080p() -> Iterator[Sides]:
    """Every pixel of 1920x1080 has changed: grab, compare by tiles and keep, convert to I420."""
    from triptych.adapters.desklink.newest import NewestFrame
    from triptych.adapters.desklink.x11_capture import X11Capture
    from triptych.machines.desklink.geometry import Size

    size = Size(WIDTH, HEIGHT)
    with display_1080p() as display, Painter(display.name) as painter, memory_copy() as copy, X11Capture(display.name) as capture:
        capture.refresh()
        slot = NewestFrame(size)

        def timed(act: Callable[[], object]) -> float:
            painter.everything()
            started = time.perf_counter()
            act()
            return (time.perf_counter() - started) * 1000

        def convert() -> None:
            slot.put(capture.frame, (size.box,), 0.0)
            slot.take(0)

        def whole() -> None:
            if capture.refresh() != (size.box,):
                raise AssertionError("not everything has changed")
            convert()

        beside = {
            "grab, compare and keep": lambda: timed(capture.refresh),
            "convert to I420": convert,
            "a plain copy of one frame in memory": copy,
        }
        yield Sides(lambda: timed(whole), bound(4.5), beside)


@contextmanager
def change_to_event() -> Iterator[Sides]:
    """From a drawn box to the line `session.frame.changed` in the consumer's hands. The box is drawn in a pause longer than a frame."""
    with display_1080p() as display, Painter(display.name) as painter, Engine(display, max_fps=60) as engine:

        def ours() -> float:
            time.sleep(0.03)
            started = time.perf_counter()
            painter.box()
            engine.changed()
            return (time.perf_counter() - started) * 1000

        yield Sides(ours, bound(5.0))


@contextmanager
def frame_metadata() -> Iterator[Sides]:
    """`session.frame` without a path, from the request line to the answer's; beside, a request that looks at no frame."""
    with display_1080p() as display, Engine(display) as engine:

        def metadata() -> None:
            engine.frame()

        def metrics() -> None:
            engine.ask("session.metrics")

        yield Sides(metadata, bound(1.0), {"session.metrics": metrics})


@contextmanager
def frame_file_1080p() -> Iterator[Sides]:
    """`session.frame` of 1920x1080 to a private file in memory; beside, the same bytes written to a new file there and renamed."""
    if not os.access("/dev/shm", os.W_OK):
        raise Skip("there is no /dev/shm")
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as folder,
        display_1080p() as display,
        Painter(display.name) as painter,
        Engine(display) as engine,
    ):
        painter.everything()
        path, new, bare, pixels = f"{folder}/frame", Path(folder, "new"), Path(folder, "bare"), os.urandom(BYTES)

        def ours() -> None:
            engine.frame(path=path)

        def write() -> None:
            new.write_bytes(pixels)
            new.rename(bare)

        yield Sides(ours, bound(6.0), {"a plain write and rename": write})


@contextmanager
def key_to_pixels() -> Iterator[Sides]:
    """From a key message to the changed picture of an xterm, both through the engine."""

    async def press(session: desktop.Session) -> float:
        still = await session.frame(still_ms=60, region=(0, 0, 1, 1))
        started = time.perf_counter()
        await session.press("x")
        await session.frame(after_seq=still.seq, region=(0, 0, 1, 1))
        return (time.perf_counter() - started) * 1000

    with display_1080p() as display, asyncio.Runner() as runner:
        manager = desktop.open(display=display.name, permissions=("view", "control"), max_fps=60)
        session = runner.run(manager.__aenter__())
        try:
            empty = runner.run(session.frame())
            try:
                program = subprocess.Popen(["xterm", "-geometry", "100x30+0+0", "-e", "cat"], env=dict(display.env))
            except OSError as lacking:
                raise Skip(f"xterm: {lacking}") from lacking
            try:
                # Without a window manager the keys go to the window under the pointer.
                runner.run(session.move(50, 50))
                runner.run(session.frame(after_seq=empty.seq, still_ms=500, timeout_ms=20_000))
                yield Sides(lambda: runner.run(press(session)), bound(25.0))
            finally:
                program.terminate()
                program.wait()
        finally:
            runner.run(manager.__aexit__(None, None, None))


@contextmanager
def idle() -> Iterator[Sides]:
    """The processor time that the engine uses while nothing changes on the display, in per cent of a core."""
    with display_1080p() as display, Engine(display) as engine:

        def ours() -> float:
            before = engine.cpu_seconds()
            time.sleep(IDLE_SECONDS)
            # A share of nothing would have no ratio.
            return max(engine.cpu_seconds() - before, 1e-6) / IDLE_SECONDS * 100

        yield Sides(ours, bound(0.1))


BENCHMARKS = (
    Benchmark("desktop.grab_1080p", "mss", grab_1080p, rounds=60, calls=3),
    Benchmark("desktop.full_change_1080p", BOUND, full_change_1080p, rounds=60),
    Benchmark("desktop.change_to_event", BOUND, change_to_event, rounds=60),
    Benchmark("desktop.frame_metadata", BOUND, frame_metadata, rounds=100),
    Benchmark("desktop.frame_file_1080p", BOUND, frame_file_1080p, rounds=60),
    Benchmark("desktop.key_to_pixels", BOUND, key_to_pixels, rounds=40),
    Benchmark("desktop.idle", BOUND, idle, unit="% of a core", rounds=3),
)
