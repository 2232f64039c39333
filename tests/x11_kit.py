"""A plain X client for tests: paints on the root window, makes windows, reads what a window manager did, and resizes the screen."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import xcffib
import xcffib.randr
import xcffib.xproto as x

from triptych.adapters.display import PrivateDisplay

Box = tuple[int, int, int, int]


class Client:
    """One connection; every call is carried out by the server before it returns."""

    def __init__(self, display: PrivateDisplay) -> None:
        self.connection = xcffib.connect(display=display.name)
        self.core = self.connection.core
        self.root = self.connection.get_setup().roots[0].root
        self._paint = self.connection.generate_id()
        self.core.CreateGC(self._paint, self.root, 0, [])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.connection.has_error():
            self.connection.disconnect()

    def sync(self) -> None:
        self.core.GetInputFocus().reply()

    def fill(self, colour: int, box: Box) -> None:
        """Paint one box of the root window in 0xRRGGBB."""
        self.core.ChangeGC(self._paint, x.GC.Foreground, [colour])
        self.core.PolyFillRectangle(self.root, self._paint, 1, [x.RECTANGLE.synthetic(*box)])
        self.sync()

    def window(self, width: int, height: int, *, name: str | None = None, override_redirect: bool = False) -> int:
        """An unmapped InputOutput window at 10,10."""
        window = self.connection.generate_id()
        events = x.EventMask.StructureNotify | x.EventMask.PropertyChange | x.EventMask.FocusChange
        mask, values = x.CW.BackPixel | x.CW.OverrideRedirect | x.CW.EventMask, [0x336699, override_redirect, events]
        self.core.CreateWindow(0, window, self.root, 10, 10, width, height, 0, x.WindowClass.InputOutput, 0, mask, values)
        if name is not None:
            self.set_text(window, "_NET_WM_NAME", "UTF8_STRING", name.encode())
        return window

    def map(self, window: int) -> None:
        self.core.MapWindow(window)
        self.sync()

    def unmap(self, window: int) -> None:
        self.core.UnmapWindow(window)
        self.sync()

    def destroy(self, window: int) -> None:
        self.core.DestroyWindow(window)
        self.sync()

    def ask_size(self, window: int, width: int, height: int) -> None:
        self.core.ConfigureWindow(window, x.ConfigWindow.Width | x.ConfigWindow.Height, [width, height])
        self.sync()

    def atom(self, name: str) -> int:
        return int(self.core.InternAtom(False, len(name), name).reply().atom)

    def set_text(self, window: int, name: str, kind: str, value: bytes) -> None:
        self.core.ChangeProperty(x.PropMode.Replace, window, self.atom(name), self.atom(kind), 8, len(value), value)
        self.sync()

    def set_numbers(self, window: int, name: str, kind: str, *values: int) -> None:
        packed = struct.pack(f"={len(values)}I", *values)
        self.core.ChangeProperty(x.PropMode.Replace, window, self.atom(name), self.atom(kind), 32, len(values), packed)
        self.sync()

    def numbers(self, window: int, name: str) -> tuple[int, ...]:
        """A property of 32-bit items; empty when it is not set."""
        reply = self.core.GetProperty(False, window, self.atom(name), x.GetPropertyType.Any, 0, 1024).reply()
        data = b"".join(reply.value) if reply.format == 32 and reply.value_len else b""
        return struct.unpack(f"={len(data) // 4}I", data)

    def geometry(self, window: int) -> Box:
        reply = self.core.GetGeometry(window).reply()
        return reply.x, reply.y, reply.width, reply.height

    def root_events(self) -> int:
        """The events of the root window that somebody asked for."""
        return int(self.core.GetWindowAttributes(self.root).reply().all_event_masks)

    def focus(self) -> int:
        return int(self.core.GetInputFocus().reply().focus)

    def stack(self) -> list[int]:
        """The root window's children, bottom first."""
        return list(self.core.QueryTree(self.root).reply().children)

    def event(self, wanted: Callable[[Any], bool], seconds: float = 60.0) -> Any:
        """The next event of this connection that is wanted; earlier ones are dropped."""
        found: list[Any] = []

        def look() -> bool:
            while (event := self.connection.poll_for_event()) is not None:
                if wanted(event):
                    found.append(event)
                    return True
            return False

        eventually(look, "an X event", seconds)
        return found[0]

    def resize_screen(self, width: int, height: int) -> None:
        """A RandR mode change, as `xrandr` makes it; no larger than the size that the server started with."""
        randr = self.connection(xcffib.randr.key)
        resources = randr.GetScreenResources(self.root).reply()
        crtc, output = resources.crtcs[0], resources.outputs[0]
        name = f"{width}x{height}"
        known = {(mode.width, mode.height): mode.id for mode in resources.modes}
        mode = known.get((width, height))
        if mode is None:
            info = xcffib.randr.ModeInfo.synthetic(0, width, height, width * height * 60, 0, 0, width, 0, 0, 0, height, len(name), 0)
            mode = randr.CreateMode(self.root, info, len(name), name).reply().mode
            randr.AddOutputMode(output, mode)
        turn = xcffib.randr.Rotation.Rotate_0
        randr.SetCrtcConfig(crtc, 0, 0, 0, 0, 0, turn, 0, []).reply()
        randr.SetScreenSize(self.root, width, height, width // 4, height // 4)
        randr.SetCrtcConfig(crtc, 0, 0, 0, 0, mode, turn, 1, [output]).reply()
        self.sync()


def eventually(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Ask again every few milliseconds until it holds: for state that another process sets and nobody announces to us."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not so in {seconds} s")
        time.sleep(0.005)
