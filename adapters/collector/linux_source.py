"""What a Linux desktop says of the application in front: its compositor names the window, `.desktop` files the id, AT-SPI title and focus.

The collector process asks it. It reads a window only when asked to describe it, and says nothing of one that was no longer in front when
it had been read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Mapping

from ...generated.collector.models import Platform
from ...machines.collector.active_window import ActiveWindow
from ...machines.collector.focus import wants_display_title
from ...machines.collector.tracking import Application, Describe, Description
from .atspi import Accessibility
from .atspi_bus import AccessibilityBus, AccessibilityUnavailable
from .dbus import BusError
from .desktop_files import DesktopFiles
from .foreground import Foreground, foregrounds
from .idle import Idle
from .process_names import executable, sandboxed
from .sleep import SleepWatch
from .source import Availability
from .x11_desktop import X11Desktop

REACH_SECONDS = 0.9


class LinuxSource:
    """One session of one person: the `Source` of a Linux desktop. `env` says which; use `close` at the end."""

    platform: Platform = "linux"

    def __init__(
        self,
        changed: Callable[[], None],
        slept: Callable[[bool], None],
        env: Mapping[str, str] = os.environ,
        *,
        enable_accessibility: bool = False,
    ) -> None:
        self._changed = changed
        self._env = env
        self._enable = enable_accessibility
        self._files = DesktopFiles(env)
        self._accessibility = Accessibility(changed)
        self._x11 = X11Desktop(env, changed) if env.get("DISPLAY") and not env.get("WAYLAND_DISPLAY") else None
        self._foregrounds = foregrounds(env, changed, self._x11, self._accessibility)
        self._foreground: Foreground | None = None
        self._idle = Idle.of_session(env, self._x11)
        self._sleep = SleepWatch(env, slept)
        self._bus: AccessibilityBus | None = None
        self._losing: asyncio.Task[None] | None = None
        self.broken = False

    @property
    def notes(self) -> str:
        """Which sources are in use, and what nothing here can tell."""
        idle = self._idle.name or "none (nothing here tells how long the person has been still, so activity is left out)"
        sleep = self._sleep.name or "not announced (no logind; a suspend is noticed after it, by the clocks)"
        said = f"foreground: {self._foreground.name if self._foreground else 'none'}; idle: {idle}; sleep: {sleep}"
        return f"{said}; accessibility: turned on for every program of this session, as told" if self._enable else said

    async def availability(self) -> Availability:
        """Connect where nothing is connected, and check what is."""
        availability, _ = await asyncio.gather(self._reach_bus(), self._reach_the_rest())
        return availability

    async def attach(self) -> None:
        """Listen to the programs on the accessibility bus."""
        try:
            if self._bus is not None:
                await self._bus.subscribe()
        except BusError:
            self.broken = True

    def detach(self) -> None:
        """Listen to no program any more, and forget what had the focus."""
        if self._bus is not None:
            self._bus.unsubscribe()
        self._accessibility.forget()

    async def foreground(self) -> Application | None:
        """The application in front by its possible ids, or None when that is not known."""
        window = None if self._foreground is None else await self._foreground.active()
        return None if window is None or window.pid is None else self._application(window, window.pid)

    async def describe(self, asked: Describe) -> Description | None:
        """Read the focused window of the application in front; None when another window was in front afterwards."""
        application = asked.application
        found, idle = await asyncio.gather(self._accessibility.describe(application.pid, executable(application.pid)), self._idle.seconds())
        title = None
        if self._foreground is not None and wants_display_title(found.element, found.title, asked.adapter):
            title = await self._foreground.title(application.window)
        if await self.foreground() != application:
            return None
        return Description(found.element, found.app_name, found.title, title, role=found.role, idle_seconds=idle)

    async def close(self) -> None:
        """Leave the buses, the compositor and the display."""
        await self._drop_bus()
        await asyncio.gather(self._sleep.close(), self._idle.close(), *(source.close() for source in self._foregrounds))

    async def _reach_the_rest(self) -> None:
        """What is not reached in time is reached at a later heartbeat."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REACH_SECONDS):
                await asyncio.gather(self._choose_foreground(), self._sleep.open())
                await self._idle.choose()  # the display is open by then

    async def _choose_foreground(self) -> None:
        """The first source that can be asked now. The ones after it are let go."""
        for position, source in enumerate(self._foregrounds):
            if await source.open():
                if source is not self._foreground:
                    self._foreground = source
                    for other in self._foregrounds[position + 1 :]:
                        await other.close()
                return

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

    def _application(self, window: ActiveWindow, pid: int) -> Application:
        program, sandbox = executable(pid), sandboxed(pid)
        names = window.names if sandbox is None else (sandbox, *window.names)
        found = self._files.entry(names, program)
        if found is not None and found.is_browser:
            # No platform tells its private windows from others: it is recorded through its companion only, whatever a table says.
            return Application(pid, (), window.window)
        return Application(pid, tuple(name for name in (found and found.id, program) if name), window.window)
