"""The X display as a source of the foreground and of idle time: one connection on a thread of its own, made anew when it is gone.

`linux_source` makes it where the session is one of X11, and `foreground` and `idle` offer it first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ...machines.collector.active_window import ActiveWindow
from .display_thread import DisplayThread
from .foreground_x11 import X11Foreground, X11Unavailable

T = TypeVar("T")


class X11Desktop:
    """The display that `env` names."""

    name = "X11 _NET_ACTIVE_WINDOW"

    def __init__(self, env: Mapping[str, str], changed: Callable[[], None]) -> None:
        self._env = env
        self._changed = changed
        self._display: DisplayThread | None = None

    async def reach(self) -> bool:
        """Connect where nothing is connected; whether the display can be asked."""
        if self._display is None or self._display.gone:
            self._display = DisplayThread(self._changed, self._env)
        return await self._display.ready()

    async def open(self) -> bool:
        """Whether a window manager says which window is active."""
        return await self.reach() and await self._ask(X11Foreground.names_active) is True

    async def active(self) -> ActiveWindow | None:
        """The window that the window manager calls active."""
        return await self._ask(X11Foreground.active)

    async def title(self, window: int) -> str | None:
        """What a window is called."""
        return await self._ask(lambda display: display.title(window))

    async def idle_seconds(self) -> float | None:
        """Seconds since the last input, by MIT-SCREEN-SAVER."""
        return await self._ask(X11Foreground.idle_seconds)

    async def close(self) -> None:
        """Leave the display."""
        if self._display is not None:
            await self._display.close()

    async def _ask(self, call: Callable[[X11Foreground], T]) -> T | None:
        if self._display is None:
            return None
        try:
            return await self._display.ask(call)
        except X11Unavailable:
            return None
