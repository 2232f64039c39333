"""Reads from an X server which window is active, and how long the person has been still; the collector's first source of the foreground.

It only listens: it takes no grab, changes no property and reads no key. Its file descriptor becomes readable when the active window may
have changed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import xcffib
import xcffib.screensaver
import xcffib.xproto

_CONNECT: Callable[..., Any] = xcffib.connect  # xcffib says it is typed, and its functions are not
_ANY = 0
_LONGS = 1024  # the most 32-bit units read of one property


@dataclass(frozen=True, slots=True)
class ActiveWindow:
    """The window in front. `names`: its application id, window class and instance, best first."""

    window: int
    pid: int | None
    names: tuple[str, ...]


class X11Unavailable(Exception):
    """There is no X server to ask, or it went away."""


class X11Foreground:
    """One connection of its own to the X server that `env` names. Every method may raise X11Unavailable."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        display = env.get("DISPLAY")
        if not display:
            raise X11Unavailable("DISPLAY is not set")
        try:
            self._connection: Any = _CONNECT(display=display)  # the cookie file is that of this process, XAUTHORITY
        except (xcffib.ConnectionException, OSError) as error:
            raise X11Unavailable(f"cannot open display {display}: {type(error).__name__}") from None
        self._root = self._connection.get_setup().roots[self._connection.pref_screen].root
        names = ("_NET_ACTIVE_WINDOW", "_NET_WM_PID", "_GTK_APPLICATION_ID", "WM_CLASS", "_NET_WM_NAME", "WM_NAME")
        cookies = [self._connection.core.InternAtom(False, len(name), name) for name in names]
        self._atoms = {name: cookie.reply().atom for name, cookie in zip(names, cookies, strict=True)}
        self._connection.core.ChangeWindowAttributes(self._root, xcffib.xproto.CW.EventMask, [xcffib.xproto.EventMask.PropertyChange])
        self._idle = self._screen_saver()
        self._connection.flush()

    def fileno(self) -> int:
        """Readable when `changed` should be called."""
        return int(self._connection.get_file_descriptor())

    def changed(self) -> bool:
        """Take in what the server sent, without waiting. Whether the active window may be another one now."""
        changed = False
        try:
            while (event := self._connection.poll_for_event()) is not None:
                changed = changed or getattr(event, "atom", None) == self._atoms["_NET_ACTIVE_WINDOW"]
        except xcffib.XcffibException as error:
            raise X11Unavailable(f"the display is gone: {type(error).__name__}") from None
        return changed

    def active(self) -> ActiveWindow | None:
        """The active window, or None when none is, or when it has just gone."""
        value = self._property(self._root, "_NET_ACTIVE_WINDOW")
        window = int.from_bytes(value[:4], sys.byteorder) if value and len(value) >= 4 else 0
        if not window:
            return None
        pid = self._property(window, "_NET_WM_PID")
        classes = self._property(window, "WM_CLASS")
        application = self._property(window, "_GTK_APPLICATION_ID")
        if pid is None and classes is None:
            return None
        instance, _, kind = (classes or b"").rstrip(b"\0").partition(b"\0")
        names = dict.fromkeys(part.decode("utf-8", "replace") for part in (application or b"", kind, instance) if part)
        return ActiveWindow(window, int.from_bytes(pid[:4], sys.byteorder) if pid and len(pid) >= 4 else None, tuple(names))

    def title(self, window: int) -> str | None:
        """What a window is called. To be asked only of a window that may be read."""
        text = self._property(window, "_NET_WM_NAME") or self._property(window, "WM_NAME")
        return text.decode("utf-8", "replace") if text else None

    def idle_seconds(self) -> float | None:
        """Seconds since the last input of the person; None when this server does not say."""
        if self._idle is None:
            return None
        try:
            return float(self._idle.QueryInfo(self._root).reply().ms_since_user_input) / 1000
        except (xcffib.ConnectionException, xcffib.Error):
            return None

    def close(self) -> None:
        """Let the connection go; a second call does nothing."""
        if self._connection is not None:
            self._connection.disconnect()
            self._connection = None

    def _property(self, window: int, name: str) -> bytes | None:
        try:
            reply = self._connection.core.GetProperty(False, window, self._atoms[name], _ANY, 0, _LONGS).reply()
        except xcffib.ConnectionException as error:
            raise X11Unavailable(f"the display is gone: {type(error).__name__}") from None
        except xcffib.Error:
            return None  # the window was destroyed meanwhile
        return reply.value.buf() if reply.format else None

    def _screen_saver(self) -> Any:
        name = "MIT-SCREEN-SAVER"
        present = self._connection.core.QueryExtension(len(name), name).reply().present
        return self._connection(xcffib.screensaver.key) if present else None
