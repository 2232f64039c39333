"""What a Linux desktop says of the application in front: X names the window, `.desktop` files its id, AT-SPI its title and focus.

The collector process asks it. It reads a window only when asked to describe it, and says nothing of one that was no longer in front when
it had been read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...generated.collector.models import Platform
from ...machines.collector.focus import wants_display_title
from ...machines.collector.tracking import Application, Describe, Description
from .atspi import Accessibility
from .atspi_bus import AccessibilityBus, AccessibilityUnavailable
from .desktop_files import DesktopFiles
from .display_thread import DisplayThread
from .foreground_x11 import X11Foreground, X11Unavailable


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether windows can be read: `trusted`, else the `reason` for a person."""

    trusted: bool
    reason: str = ""


class LinuxSource:
    """One session of one person. `changed` is called when another look is worth while. Use `close` at the end.

    `broken` says that the bus was lost, so that `availability` has to be asked before the next look.
    """

    platform: Platform = "linux"

    def __init__(self, changed: Callable[[], None], env: Mapping[str, str] = os.environ, *, enable_accessibility: bool = False) -> None:
        self._changed = changed
        self._env = env
        self._enable = enable_accessibility
        self._files = DesktopFiles(env)
        self._accessibility = Accessibility(changed)
        self.broken = False
        self._bus: AccessibilityBus | None = None
        self._losing: asyncio.Task[None] | None = None
        self._display: DisplayThread | None = None

    async def availability(self) -> Availability:
        """Connect where nothing is connected, check what is; answers within about a second and never raises for what is missing."""
        _, availability = await asyncio.gather(self._open_display(), self._reach_bus())
        return availability

    async def foreground(self) -> Application | None:
        """The application in front by its possible ids, or None when that is not known."""
        if self._display is not None and self._display.is_open:
            try:
                window = await self._display.ask(X11Foreground.active)
            except X11Unavailable:
                return None
            return None if window is None or window.pid is None else self._application(window.pid, window.names, window.window)
        pid = await self._accessibility.active_pid()
        return None if pid is None else self._application(pid, (), 0)

    async def describe(self, asked: Describe) -> Description | None:
        """Read the focused window of the application in front; None when another window was in front afterwards."""
        application = asked.application
        found = await self._accessibility.describe(application.pid, _program(application.pid))
        title, idle = None, None
        if self._display is not None:
            with contextlib.suppress(X11Unavailable):
                idle = await self._display.ask(X11Foreground.idle_seconds)
                if wants_display_title(found.element, found.title, asked.adapter):
                    title = await self._display.ask(lambda display: display.title(application.window))
        if await self.foreground() != application:
            return None
        return Description(found.element, found.app_name, found.title, title, role=found.role, idle_seconds=idle)

    async def close(self) -> None:
        """Leave the buses and the display."""
        await self._drop_bus()
        if self._display is not None:
            await self._display.close()

    async def _reach_bus(self) -> Availability:
        try:
            if self._bus is not None and not self.broken:
                await self._bus.check()
            else:
                await self._drop_bus()
                await self._connect()
        except AccessibilityUnavailable as error:
            await self._drop_bus()
            return Availability(False, str(error))
        return Availability(True)

    async def _connect(self) -> None:
        self._bus = await AccessibilityBus.connect(self._accessibility.on_event, self._env, enable=self._enable)
        self._accessibility.attach(self._bus)
        self._losing = asyncio.create_task(self._watch(self._bus))

    async def _watch(self, bus: AccessibilityBus) -> None:
        await bus.lost()
        self.broken = True
        self._changed()

    async def _drop_bus(self) -> None:
        if self._losing is not None:
            self._losing.cancel()
            await asyncio.gather(self._losing, return_exceptions=True)
            self._losing = None
        if self._bus is not None:
            await self._bus.close()
            self._bus = None
        self._accessibility.attach(None)
        self.broken = False

    async def _open_display(self) -> None:
        # Under Wayland the X server knows only the programs that still speak X: it would name the wrong window.
        if self._env.get("WAYLAND_DISPLAY"):
            return
        if self._display is None or self._display.gone:
            self._display = DisplayThread(self._changed, self._env)
        await self._display.ready()

    def _application(self, pid: int, names: tuple[str, ...], window: int) -> Application:
        program = _program(pid)
        found = self._files.find(names, program)
        return Application(pid, tuple(name for name in (found, program) if name), window)


def _program(pid: int) -> str | None:
    """The base name of the executable of a process; None when it is gone or not ours to ask."""
    try:
        path = str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return None
    return path.removesuffix(" (deleted)").rpartition("/")[2].encode("utf-8", "replace").decode() or None
