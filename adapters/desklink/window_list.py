"""Reads which windows an X display shows: title, class, process, place, and which is active; called by the Python API.

Where a window manager speaks EWMH, its list and its word on the active window are taken. Without one the tree is: the viewable children
of the root window, or the program's window inside such a child, and the window that has the focus.
"""

from __future__ import annotations

from typing import Any

import xcffib
import xcffib.xproto as x

from ...errors import Unavailable
from ...machines.desklink.geometry import Size
from ...machines.desklink.windows import Window, printable
from ..x11_properties import property_bytes, property_numbers, property_text, reply_or_error
from .x11_client import connect, intern

ATOMS = (
    *("UTF8_STRING", "WM_STATE", "_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_CLIENT_LIST_STACKING", "_NET_SUPPORTING_WM_CHECK"),
    *("_NET_WM_NAME", "_NET_WM_PID", "COMPOUND_TEXT"),
)
PROPERTY_WORDS = 1024
MOST_LEVELS = 4
"""How deep inside a window manager's frame a program's window is looked for."""


class WindowList:
    """A connection to `display` (None: $DISPLAY) that asks for its windows. Raises Unavailable when it cannot be opened.

    It is used from one thread. A display that has gone is Unavailable from `read`; `close` is safe then too.
    """

    def __init__(self, display: str | None) -> None:
        self._name = display
        self._connection: Any = connect(display)
        self._core: Any = self._connection.core
        try:
            self._root = int(self._connection.get_setup().roots[self._connection.pref_screen].root)
            self._atoms = intern(self._connection, ATOMS)
        except xcffib.ConnectionException:
            self.close()
            raise self._gone() from None

    def read(self) -> tuple[tuple[Window, ...], Size]:
        """The windows, top of the stack first, in pixels of the root window, and the size of that. Raises Unavailable."""
        try:
            root = self._core.GetGeometry(self._root).reply()
            size = Size(int(root.width), int(root.height))
            ids, active = self._managed() or self._unmanaged()
            asked = [(window, self._ask(window)) for window in ids]
            found = (self._described(window, cookies, active) for window, cookies in asked)
            return tuple(window for window in found if window is not None), size
        except xcffib.ConnectionException:
            raise self._gone() from None

    def close(self) -> None:
        """Disconnect."""
        self._connection.disconnect()

    def _gone(self) -> Unavailable:
        return Unavailable(f"the X display {self._name or 'of the environment'} went away", "start it again, then open a new session")

    def _managed(self) -> tuple[list[int], int] | None:
        """What a window manager says; None when there is none that can be believed."""
        check = self._numbers(self._root, "_NET_SUPPORTING_WM_CHECK")[:1]
        # The proof of a living manager is a window that names itself: the property alone may be left from a dead one.
        if not check or self._numbers(check[0], "_NET_SUPPORTING_WM_CHECK")[:1] != check:
            return None
        listed = self._numbers(self._root, "_NET_CLIENT_LIST_STACKING") or self._numbers(self._root, "_NET_CLIENT_LIST")
        active = self._numbers(self._root, "_NET_ACTIVE_WINDOW")[:1] or (0,)
        return list(dict.fromkeys(reversed(listed))), active[0]

    def _unmanaged(self) -> tuple[list[int], int]:
        children = list(reversed(self._core.QueryTree(self._root).reply().children))
        looks = [(child, self._core.GetWindowAttributes(child), self._core.GetGeometry(child)) for child in children]
        shown = []
        for child, attributes, geometry in looks:
            looked, placed = reply_or_error(attributes), reply_or_error(geometry)
            if isinstance(looked, xcffib.Error) or isinstance(placed, xcffib.Error):
                continue
            # Menus and tooltips are no windows of their own; 1x1 windows are a program's bookkeeping.
            ordinary = looked.map_state == x.MapState.Viewable and looked._class != x.WindowClass.InputOnly and not looked.override_redirect
            if ordinary and min(placed.width, placed.height) > 1:
                shown.append(self._programs(child))
        return shown, self._focused(shown)

    def _programs(self, window: int, levels: int = MOST_LEVELS) -> int:
        """The program's window inside a frame: the first with WM_STATE; without one, the window itself."""
        if self._has_state(window):
            return window
        level = [window]
        for _ in range(levels):
            level = [child for parent in level for child in self._children(parent)]
            for child in level:
                if self._has_state(child):
                    return child
        return window

    def _focused(self, windows: list[int]) -> int:
        """Which of the windows gets what is typed, itself or through a child; 0 when none does."""
        window = int(self._core.GetInputFocus().reply().focus)
        if window == x.InputFocus.PointerRoot:
            under = int(self._core.QueryPointer(self._root).reply().child)
            return self._programs(under) if under else 0
        for _ in range(16):
            if window in windows or window in (0, self._root):
                break
            tree = reply_or_error(self._core.QueryTree(window))
            window = 0 if isinstance(tree, xcffib.Error) else int(tree.parent)
        return window if window in windows else 0

    def _children(self, window: int) -> list[int]:
        tree = reply_or_error(self._core.QueryTree(window))
        return [] if isinstance(tree, xcffib.Error) else list(tree.children)

    def _has_state(self, window: int) -> bool:
        return bool(property_bytes(reply_or_error(self._get(window, self._atoms["WM_STATE"], 2))))

    def _ask(self, window: int) -> tuple[Any, ...]:
        return (
            self._core.GetGeometry(window),
            self._core.TranslateCoordinates(window, self._root, 0, 0),
            self._core.GetWindowAttributes(window),
            self._get(window, self._atoms["_NET_WM_NAME"]),
            self._get(window, x.Atom.WM_NAME),
            self._get(window, x.Atom.WM_CLASS),
            self._get(window, self._atoms["_NET_WM_PID"]),
        )

    def _described(self, window: int, cookies: tuple[Any, ...], active: int) -> Window | None:
        geometry, origin, attributes, name, old_name, classes, pid = map(reply_or_error, cookies)
        if any(isinstance(reply, xcffib.Error) for reply in (geometry, origin, attributes)):
            return None  # it has gone since it was listed
        utf8 = self._atoms["UTF8_STRING"]
        parts = [part for part in property_bytes(classes).split(b"\0") if part]
        title = property_text(name, utf8) or property_text(old_name, utf8, self._atoms["COMPOUND_TEXT"])
        return Window(
            id=window,
            title=printable(title),
            class_name=printable(parts[-1].decode("latin-1")) if parts else None,
            pid=next(iter(property_numbers(pid)), None),
            box=(int(origin.dst_x), int(origin.dst_y), int(geometry.width), int(geometry.height)),
            active=window == active,
            visible=attributes.map_state == x.MapState.Viewable,
        )

    def _numbers(self, window: int, name: str) -> tuple[int, ...]:
        return property_numbers(reply_or_error(self._get(window, self._atoms[name])))

    def _get(self, window: int, prop: int, words: int = PROPERTY_WORDS) -> Any:
        return self._core.GetProperty(False, window, prop, x.GetPropertyType.Any, 0, words)
