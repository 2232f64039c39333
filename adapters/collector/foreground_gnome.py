"""The foreground of GNOME Shell, by an extension that a person has installed: the Shell itself tells no program which window is in front.

`foreground` makes it. Neither extension announces a change: AT-SPI events and the heartbeat say when to ask.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...machines.collector.active_window import ActiveWindow, gnome_window
from .dbus import BusError, session_address
from .session_bus import KeptConnection

_SHELL = "org.gnome.Shell"
_FOCUSED_WINDOW = (_SHELL, "/org/gnome/shell/extensions/FocusedWindow", "org.gnome.shell.extensions.FocusedWindow")
_WINDOW_CALLS = (_SHELL, "/org/gnome/Shell/Extensions/WindowsExt", "org.gnome.Shell.Extensions.WindowsExt")


class GnomeForeground:
    """The Shell of the session that `env` names."""

    name = "GNOME Shell extension"

    def __init__(self, env: Mapping[str, str]) -> None:
        self._bus = KeptConnection(session_address(env))
        self._extension: tuple[str, str, str] | None = None

    async def open(self) -> bool:
        """Whether one of the two extensions answers."""
        for self._extension in (_FOCUSED_WINDOW, _WINDOW_CALLS):
            try:
                await self._ask()
            except BusError as error:
                if error.unknown or not error.error_name:
                    continue  # it is not there, or silent; any other error says that no window has the focus
            return True
        self._extension = None
        return False

    async def active(self) -> ActiveWindow | None:
        """The focused window of the Shell."""
        try:
            found = await self._ask()
        except BusError:
            return None
        return found[0] if found else None

    async def title(self, window: int) -> str | None:
        """The title of the focused window, if it is that one."""
        try:
            found = await self._ask()
            if found and found[0].window == window and self._extension == _WINDOW_CALLS:
                return await self._text("FocusTitle")
        except BusError:
            return None
        return found[1] if found and found[0].window == window else None

    async def close(self) -> None:
        """Leave the bus."""
        await self._bus.close()

    async def _ask(self) -> tuple[ActiveWindow, str | None] | None:
        if self._extension == _FOCUSED_WINDOW:
            try:
                return gnome_window(json.loads(await self._text("Get")))
            except (ValueError, RecursionError):
                return None
        pid, kind = await self._text("FocusPID"), await self._text("FocusClass")
        return gnome_window({"pid": int(pid) if pid.isdecimal() else None, "wm_class": kind})

    async def _text(self, member: str) -> str:
        bus = await self._bus.get()
        if bus is None or self._extension is None:
            raise BusError("no session bus")
        return str((await bus.call(*self._extension, member))[0])
