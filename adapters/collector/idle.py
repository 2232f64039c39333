"""The sources of idle time, and the order in which they are tried: the first that gives a time is asked until the next heartbeat.

1. X11: MIT-SCREEN-SAVER.
2. GNOME: `org.gnome.Mutter.IdleMonitor`.
3. KDE and others: `org.freedesktop.ScreenSaver`.
4. Wayland compositors: ext-idle-notify-v1, or the older idle protocol of KDE that wlroots had before it.
5. logind's `IdleHint`, which many desktops never set.

Where none gives a time, observations carry no `activity`: a time that is not known is never told as 0.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from .dbus import BusError, session_address, system_address
from .idle_wayland import WaylandIdle
from .session_bus import KeptConnection
from .x11_desktop import X11Desktop


class IdleSource(Protocol):
    """One source."""

    @property
    def name(self) -> str:
        """What it is, for a person."""
        ...

    async def idle_seconds(self) -> float | None:
        """Seconds since the last input of the person; None when it cannot tell. Answers within a second, never raises."""
        ...

    async def close(self) -> None:
        """Let it go; it may be asked again."""
        ...


class X11Idle:
    """The display's own clock. The display itself belongs to whoever made it."""

    name = "MIT-SCREEN-SAVER"

    def __init__(self, desktop: X11Desktop) -> None:
        self._desktop = desktop

    async def idle_seconds(self) -> float | None:
        """Asks the display."""
        return await self._desktop.idle_seconds()

    async def close(self) -> None:
        """The display is closed elsewhere."""


class BusIdle:
    """A service of the session bus that answers with milliseconds.

    The draft of `org.freedesktop.ScreenSaver` says seconds; KDE, which offers it, answers milliseconds. So read, no time is too long.
    """

    def __init__(self, name: str, service: tuple[str, str, str, str], bus: KeptConnection) -> None:
        self.name = name
        self._service = service
        self._bus = bus

    async def idle_seconds(self) -> float | None:
        """Asks the service, and starts none."""
        bus = await self._bus.get()
        try:
            return None if bus is None else float((await bus.call(*self._service))[0]) / 1000
        except (BusError, LookupError, TypeError, ValueError):
            return None

    async def close(self) -> None:
        """Leave the bus."""
        await self._bus.close()


class LogindIdle:
    """The hint of the session that this process belongs to. A hint that is not set says nothing, since most desktops never set it."""

    name = "logind IdleHint"
    _SESSION = ("org.freedesktop.login1", "/org/freedesktop/login1/session/auto", "org.freedesktop.login1.Session")

    def __init__(self, bus: KeptConnection, clock: Callable[[], float] = time.monotonic) -> None:
        self._bus = bus
        self._clock = clock

    async def idle_seconds(self) -> float | None:
        """Seconds since the session was marked idle."""
        bus = await self._bus.get()
        try:
            if bus is None or await bus.get(*self._SESSION, "IdleHint") is not True:
                return None
            since = await bus.get(*self._SESSION, "IdleSinceHintMonotonic")
            return max(0.0, self._clock() - int(since) / 1_000_000)
        except (BusError, TypeError, ValueError):
            return None

    async def close(self) -> None:
        """Leave the bus."""
        await self._bus.close()


class Idle:
    """All sources of a session, in the order of this module's text. `name` is that of the one in use, None when none gives a time."""

    def __init__(self, sources: tuple[IdleSource, ...]) -> None:
        self._sources = sources
        self._used: IdleSource | None = None

    @classmethod
    def of_session(cls, env: Mapping[str, str], x11: X11Desktop | None) -> Idle:
        """What the session that `env` names may have."""
        session = KeptConnection(session_address(env))
        sources: list[IdleSource] = [] if x11 is None else [X11Idle(x11)]
        mutter = ("org.gnome.Mutter.IdleMonitor", "/org/gnome/Mutter/IdleMonitor/Core", "org.gnome.Mutter.IdleMonitor", "GetIdletime")
        sources.append(BusIdle("Mutter IdleMonitor", mutter, session))
        saver = ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver", "org.freedesktop.ScreenSaver", "GetSessionIdleTime")
        sources.append(BusIdle("org.freedesktop.ScreenSaver", saver, session))
        if env.get("WAYLAND_DISPLAY"):
            sources.append(WaylandIdle(env))
        sources.append(LogindIdle(KeptConnection(system_address(env))))
        return cls(tuple(sources))

    @property
    def name(self) -> str | None:
        """The source in use."""
        return None if self._used is None else self._used.name

    async def choose(self) -> None:
        """Find the first source that gives a time now. All are asked at once, so that one that is silent costs no other's time."""
        times = await asyncio.gather(*(source.idle_seconds() for source in self._sources))
        self._used = next((source for source, seconds in zip(self._sources, times, strict=True) if seconds is not None), None)

    async def seconds(self) -> float | None:
        """Seconds since the last input of the person, None when nothing here tells."""
        return None if self._used is None else await self._used.idle_seconds()

    async def close(self) -> None:
        """Let all of them go."""
        for source in self._sources:
            await source.close()
