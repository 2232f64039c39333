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

from ...machines.collector.tracking import Application, Description, ElementState
from .atspi import Accessibility
from .atspi_bus import AccessibilityBus, AccessibilityUnavailable
from .desktop_files import DesktopFiles
from .foreground_x11 import ActiveWindow, X11Foreground, X11Unavailable


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether windows can be read: `trusted`, else the `reason` for a person."""

    trusted: bool
    reason: str = ""


class LinuxSource:
    """One session of one person. `changed` is called when another look is worth while. Use `close` at the end.

    `broken` says that the bus was lost, so that `availability` has to be asked before the next look.
    """

    platform = "linux"
    provider = "at-spi"

    def __init__(self, changed: Callable[[], None], env: Mapping[str, str] = os.environ, *, enable_accessibility: bool = False) -> None:
        self._changed = changed
        self._env = env
        self._enable = enable_accessibility
        self._files = DesktopFiles(env)
        self._accessibility = Accessibility(changed)
        self.broken = False
        self._bus: AccessibilityBus | None = None
        self._losing: asyncio.Task[None] | None = None
        self._display: X11Foreground | None = None

    async def availability(self) -> Availability:
        """Connect where nothing is connected, check what is; answers within about a second and never raises for what is missing."""
        self._open_display()
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

    async def foreground(self) -> Application | None:
        """The application in front by its possible ids, or None when that is not known."""
        if self._display is not None:
            window = self._active_window()
            return None if window is None or window.pid is None else self._application(window.pid, window.names, window.window)
        pid = await self._accessibility.active_pid()
        return None if pid is None else self._application(pid, (), 0)

    async def describe(self, application: Application, *, window_only: bool) -> Description | None:
        """Read the focused window of the application in front; None when another window was in front afterwards.

        `window_only`: the title may be told even of a program that cannot be asked for its focus; then the X server is asked for it.
        """
        found = await self._accessibility.describe(application.pid, _program(application.pid))
        title, idle = found.title, None
        if self._display is not None:
            with contextlib.suppress(X11Unavailable):
                idle = self._display.idle_seconds()
                if not title and (found.element is ElementState.NOT_SECURE or (found.element is ElementState.UNQUERYABLE and window_only)):
                    title = self._display.title(application.window)
        if await self.foreground() != application:
            return None
        return Description(found.element, app_name=found.app_name, title=title, role=found.role, idle_seconds=idle)

    async def close(self) -> None:
        """Leave the buses and the display."""
        await self._drop_bus()
        self._drop_display()

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

    def _open_display(self) -> None:
        # Under Wayland the X server knows only the programs that still speak X: it would name the wrong window.
        if self._display is None and not self._env.get("WAYLAND_DISPLAY"):
            with contextlib.suppress(X11Unavailable):
                self._display = X11Foreground(self._env)
                asyncio.get_running_loop().add_reader(self._display.fileno(), self._display_readable)

    def _drop_display(self) -> None:
        if self._display is not None:
            asyncio.get_running_loop().remove_reader(self._display.fileno())
            self._display.close()
            self._display = None

    def _display_readable(self) -> None:
        assert self._display is not None
        try:
            changed = self._display.changed()
        except X11Unavailable:
            self._drop_display()
            changed = True
        if changed:
            self._changed()

    def _active_window(self) -> ActiveWindow | None:
        assert self._display is not None
        try:
            return self._display.active()
        except X11Unavailable:
            self._drop_display()
            return None

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
