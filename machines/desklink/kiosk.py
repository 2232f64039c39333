"""Decides what the display keeper does with each window: leave it, fill the screen, centre a dialog, or park it; called by its adapter.

A screen that a remote person watches has no room for window management: the newest window that has content fills it and has the focus.
Small windows, which programs make for their own purposes, are parked far outside, so that they neither cover anything nor take the focus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ...generated.desklink.vocabulary import KEEPER_CONTENT_PIXELS, KEEPER_PARKED_POSITION
from .geometry import Box, Size

Dialogs: TypeAlias = Literal["fill", "natural"]
"""What WM_TRANSIENT_FOR windows do: fill the screen as all others, or keep their own size, centred."""
Role: TypeAlias = Literal["content", "dialog", "parked"]


@dataclass(frozen=True)
class Toplevel:
    """What a child of the root window says of itself; the size is what it has, or asks for."""

    width: int
    height: int
    transient: bool = False
    override_redirect: bool = False
    input_only: bool = False
    fullscreen: bool = False

    @property
    def managed(self) -> bool:
        """Whether it is the keeper's business: menus and tooltips (override-redirect) and invisible windows are not."""
        return not self.override_redirect and not self.input_only


@dataclass(frozen=True)
class Place:
    """Where a managed window belongs, and as what."""

    role: Role
    box: Box


def place(window: Toplevel, screen: Size, dialogs: Dialogs) -> Place:
    """The place of one managed window on `screen`. A dialog of its own size never exceeds the screen; who asks for all of it gets it."""
    if window.fullscreen:
        return Place("content", screen.box)
    if window.transient and dialogs == "natural":
        width, height = min(window.width, screen.width), min(window.height, screen.height)
        return Place("dialog", ((screen.width - width) // 2, (screen.height - height) // 2, width, height))
    if min(window.width, window.height) >= KEEPER_CONTENT_PIXELS:
        return Place("content", screen.box)
    return Place("parked", (KEEPER_PARKED_POSITION, KEEPER_PARKED_POSITION, window.width, window.height))


class Kiosk:
    """The managed windows that are mapped, oldest first, and the rule that the newest with content has the focus."""

    def __init__(self, screen: Size, dialogs: Dialogs = "fill") -> None:
        self.screen = screen
        self._dialogs = dialogs
        self._windows: dict[int, Toplevel] = {}

    @property
    def windows(self) -> tuple[int, ...]:
        """Ids of the windows, in the order in which they were mapped or raised."""
        return tuple(self._windows)

    @property
    def focus(self) -> int | None:
        """The window that shall have the focus; None when all are parked."""
        return next((window for window in reversed(self._windows) if self.place(window).role != "parked"), None)

    def place(self, window: int) -> Place:
        """Where a tracked window belongs."""
        return place(self._windows[window], self.screen, self._dialogs)

    def track(self, window: int, toplevel: Toplevel) -> Place:
        """Take in a window that is being mapped, as the newest, or what a known one now says of itself. `toplevel` must be managed."""
        self._windows[window] = toplevel
        return self.place(window)

    def request(self, window: int, width: int, height: int) -> Place:
        """A tracked window asks for another size (0: the one it has). Its place may be another one now, and the focus too."""
        known = self._windows[window]
        return self.track(window, replace(known, width=width or known.width, height=height or known.height))

    def fill(self, window: int, on: bool) -> Place:
        """A tracked window asks for the whole screen, or for that no longer."""
        return self.track(window, replace(self._windows[window], fullscreen=on))

    def is_full(self, window: int) -> bool:
        """Whether a tracked window has asked for the whole screen."""
        return self._windows[window].fullscreen

    def promote(self, window: int) -> None:
        """Make a tracked window the newest, since a person or program asked for it."""
        self._windows[window] = self._windows.pop(window)

    def forget(self, window: int) -> bool:
        """A window was unmapped or destroyed. Whether it was tracked."""
        return self._windows.pop(window, None) is not None

    def resize(self, screen: Size) -> Mapping[int, Place]:
        """The screen has another size. Every window's place on it."""
        self.screen = screen
        return {window: self.place(window) for window in self._windows}
