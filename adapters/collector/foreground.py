"""The sources of the foreground, and the order in which they are tried: the first that can be asked is the one that is asked.

1. On X11 (`DISPLAY` without `WAYLAND_DISPLAY`): the window manager's `_NET_ACTIVE_WINDOW`. i3 is asked this way too.
2. sway and what speaks its protocol (`SWAYSOCK`, `I3SOCK`): their IPC socket.
3. Hyprland (`HYPRLAND_INSTANCE_SIGNATURE`): its two sockets.
4. GNOME: the Shell extensions "Focused Window D-Bus" and "Window Calls Extended", where a person has installed one. The Shell itself
   tells no program.
5. KDE Plasma: a script of a few lines that KWin runs for us and forgets at the end.
6. Anywhere: AT-SPI window events. Of a program without AT-SPI they say only that nobody is in front any more.

Under Wayland the X server knows only the programs that still speak X: it would name the wrong window, so it is not asked there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ...machines.collector.active_window import ActiveWindow
from .atspi import Accessibility
from .foreground_gnome import GnomeForeground
from .foreground_hyprland import HyprlandForeground
from .foreground_kde import KdeForeground
from .foreground_sway import SwayForeground
from .x11_desktop import X11Desktop


class Foreground(Protocol):
    """One source. Its `changed` is called when another window may be in front."""

    @property
    def name(self) -> str:
        """What it is, for a person."""
        ...

    async def open(self) -> bool:
        """Whether it can be asked: connects where nothing is connected, checks what is. Answers within a second, never raises."""
        ...

    async def active(self) -> ActiveWindow | None:
        """The window in front, or None when none is, or when that is not known. Never raises."""
        ...

    async def title(self, window: int) -> str | None:
        """What that window is called, None when it is not in front or has no title here. To be asked only of a window that may be read."""
        ...

    async def close(self) -> None:
        """Let it go; `open` may be called again."""
        ...


class AccessibilityForeground:
    """The window that says of itself that it is active."""

    name = "AT-SPI window events (a program without AT-SPI is not seen)"

    def __init__(self, accessibility: Accessibility) -> None:
        self._accessibility = accessibility

    async def open(self) -> bool:
        """It can always be asked; every program is asked anew, once, if no event named a window."""
        self._accessibility.reconcile()
        return True

    async def active(self) -> ActiveWindow | None:
        """The active window of all programs on the accessibility bus."""
        return await self._accessibility.active_window()

    async def title(self, window: int) -> str | None:
        """None: the program itself was asked already."""
        return None

    async def close(self) -> None:
        """It holds nothing."""


def foregrounds(
    env: Mapping[str, str], changed: Callable[[], None], x11: X11Desktop | None, accessibility: Accessibility
) -> tuple[Foreground, ...]:
    """Every source that this session may have, in the order of this module's text."""
    desktop = env.get("XDG_CURRENT_DESKTOP", "").casefold().split(":")
    found: list[Foreground] = []
    if x11 is not None:
        found.append(x11)
    elif env.get("WAYLAND_DISPLAY"):
        if socket := env.get("SWAYSOCK") or env.get("I3SOCK"):
            found.append(SwayForeground(socket, changed))
        if env.get("HYPRLAND_INSTANCE_SIGNATURE"):
            found.append(HyprlandForeground(env, changed))
        if "gnome" in desktop:
            found.append(GnomeForeground(env))
        if "kde" in desktop:
            found.append(KdeForeground(env, changed))
    return (*found, AccessibilityForeground(accessibility))
