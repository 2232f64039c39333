"""Reads what top-level windows say of themselves, many at once and while any of them may vanish; the window manager calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import xcffib
import xcffib.xproto as x

from ...generated.desklink.models import KeeperWindow
from ...machines.desklink.kiosk import Toplevel
from ..x11_properties import property_bytes, property_numbers, property_text, reply_or_error

ATOMS = ("COMPOUND_TEXT", "UTF8_STRING", "WM_PROTOCOLS", "_NET_WM_NAME", "_NET_WM_PID", "_NET_WM_STATE", "_NET_WM_STATE_FULLSCREEN")
PROPERTY_WORDS = 1024
"""So much of a property is read: a title of 4,096 bytes says what there is to say."""


@dataclass(frozen=True)
class Facts:
    """A window as the keeper sees it, whether it is on the screen, and its _NET_WM_STATE."""

    toplevel: Toplevel
    viewable: bool
    states: tuple[int, ...]


class WindowFacts:
    """Asks on one connection. `ask` and `ask_names` only send; ask for many windows, then take the answers."""

    def __init__(self, core: Any, atoms: Mapping[str, int]) -> None:
        self._core = core
        self._atoms = atoms

    def ask(self, window: int) -> tuple[Any, ...]:
        """Ask for the facts of a window."""
        return (
            self._core.GetWindowAttributes(window),
            self._core.GetGeometry(window),
            self._property(window, x.Atom.WM_TRANSIENT_FOR),
            self._property(window, self._atoms["_NET_WM_STATE"]),
        )

    def ask_names(self, window: int) -> tuple[Any, ...]:
        """Ask for what a report says of a window."""
        names = (self._atoms["_NET_WM_NAME"], x.Atom.WM_NAME, x.Atom.WM_CLASS, self._atoms["_NET_WM_PID"])
        return tuple(self._property(window, name) for name in names)

    def take(self, asked: tuple[Any, ...]) -> Facts:
        """The facts that were asked for. Raises xcffib.Error when the window is gone."""
        # Every reply is taken before any error is raised: xcb would keep the untaken ones for ever.
        replies = [reply_or_error(cookie) for cookie in asked]
        for reply in replies:
            if isinstance(reply, xcffib.Error):
                raise reply
        attributes, geometry, transient, state = replies
        states = property_numbers(state)
        toplevel = Toplevel(
            geometry.width,
            geometry.height,
            transient=bool(property_numbers(transient)),
            override_redirect=bool(attributes.override_redirect),
            input_only=attributes._class == x.WindowClass.InputOnly,
            fullscreen=self._atoms["_NET_WM_STATE_FULLSCREEN"] in states,
        )
        return Facts(toplevel, attributes.map_state == x.MapState.Viewable, states)

    def take_names(self, asked: tuple[Any, ...]) -> tuple[Any, ...]:
        """The names that were asked for; of a window that is gone there are none."""
        return tuple(reply_or_error(cookie) for cookie in asked)

    def describe(self, window: int, toplevel: Toplevel, names: tuple[Any, ...]) -> KeeperWindow:
        """A window as the report has it."""
        title, old_title, kind, pid = names
        utf8, compound = self._atoms["UTF8_STRING"], self._atoms["COMPOUND_TEXT"]
        classes = property_bytes(kind).split(b"\0")
        return KeeperWindow(
            id=window,
            title=property_text(title, utf8) or property_text(old_title, utf8, compound),
            class_=classes[1].decode("latin-1") or None if len(classes) > 1 else None,
            pid=next(iter(property_numbers(pid)), None),
            width=toplevel.width,
            height=toplevel.height,
        )

    def protocols(self, window: int) -> tuple[int, ...]:
        """The window's WM_PROTOCOLS; none when it is gone."""
        return property_numbers(reply_or_error(self._property(window, self._atoms["WM_PROTOCOLS"])))

    def _property(self, window: int, name: int) -> Any:
        return self._core.GetProperty(False, window, name, x.GetPropertyType.Any, 0, PROPERTY_WORDS)
