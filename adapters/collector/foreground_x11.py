"""Reads from an X server which window is active, and how long the person has been still; the collector's first source of the foreground.

It only listens: it takes no grab, changes no property and reads no key. Every call but `interrupt` waits for the server, and belongs on one
thread: `display_thread` owns it.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import xcffib
import xcffib.screensaver
import xcffib.xproto

from ..x11_properties import property_bytes, property_numbers, property_text, reply_or_error

_CONNECT: Callable[..., Any] = xcffib.connect  # xcffib says it is typed, and its functions are not
_ANY = 0
_LONGS = 1024  # the most 32-bit units read of one property
_ATOMS = ("UTF8_STRING", "_NET_ACTIVE_WINDOW", "_NET_WM_PID", "_GTK_APPLICATION_ID", "WM_CLASS", "_NET_WM_NAME", "WM_NAME")


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
        except (xcffib.XcffibException, OSError) as error:
            raise X11Unavailable(f"cannot open display {display}: {type(error).__name__}") from None
        self._descriptor = int(self._connection.get_file_descriptor())
        try:
            with _asking():
                self._prepare()
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """Readable when `changed` should be called, unless an answer was waited for meanwhile: that takes the events in as well."""
        return self._descriptor

    def changed(self) -> bool:
        """Take in what the server sent, without waiting. Whether the active window may be another one now."""
        changed = False
        with _asking():
            while (event := self._connection.poll_for_event()) is not None:
                changed = changed or getattr(event, "atom", None) == self._atoms["_NET_ACTIVE_WINDOW"]
        return changed

    def active(self) -> ActiveWindow | None:
        """The active window, or None when none is, or when it has just gone."""
        window = next(iter(property_numbers(self._property(self._root, "_NET_ACTIVE_WINDOW"))), 0)
        if not window:
            return None
        pid = next(iter(property_numbers(self._property(window, "_NET_WM_PID"))), None)
        classes = property_bytes(self._property(window, "WM_CLASS"))
        application = property_text(self._property(window, "_GTK_APPLICATION_ID"), self._atoms["UTF8_STRING"])
        if pid is None and not classes:
            return None
        instance, _, kind = classes.rstrip(b"\0").decode("latin-1").partition("\0")
        return ActiveWindow(window, pid, tuple(dict.fromkeys(name for name in (application, kind, instance) if name)))

    def title(self, window: int) -> str | None:
        """What a window is called. To be asked only of a window that may be read."""
        for name in ("_NET_WM_NAME", "WM_NAME"):
            if (text := property_text(self._property(window, name), self._atoms["UTF8_STRING"])) is not None:
                return text
        return None

    def idle_seconds(self) -> float | None:
        """Seconds since the last input of the person; None when this server does not say."""
        if self._idle is None:
            return None
        with _asking():
            reply = reply_or_error(self._idle.QueryInfo(self._root))
        return None if isinstance(reply, xcffib.Error) else float(reply.ms_since_user_input) / 1000

    def interrupt(self) -> None:
        """Break the connection, from any thread: the call that waits for the server, and every later one, raises X11Unavailable."""
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._descriptor)) as end:
            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let the connection go; a second call does nothing."""
        if self._connection is not None:
            self._connection.disconnect()
            self._connection = None

    def _prepare(self) -> None:
        self._root = self._connection.get_setup().roots[self._connection.pref_screen].root
        cookies = [self._connection.core.InternAtom(False, len(name), name) for name in _ATOMS]
        self._atoms = {name: cookie.reply().atom for name, cookie in zip(_ATOMS, cookies, strict=True)}
        self._connection.core.ChangeWindowAttributes(self._root, xcffib.xproto.CW.EventMask, [xcffib.xproto.EventMask.PropertyChange])
        self._idle = self._screen_saver()
        self._connection.flush()

    def _property(self, window: int, name: str) -> Any:
        """The reply, or the X error of a window that was destroyed meanwhile."""
        with _asking():
            return reply_or_error(self._connection.core.GetProperty(False, window, self._atoms[name], _ANY, 0, _LONGS))

    def _screen_saver(self) -> Any:
        name = "MIT-SCREEN-SAVER"
        present = self._connection.core.QueryExtension(len(name), name).reply().present
        return self._connection(xcffib.screensaver.key) if present else None


@contextlib.contextmanager
def _asking() -> Iterator[None]:
    """Whatever xcffib raises, a lost connection or an X error where none may come, is X11Unavailable."""
    try:
        yield
    except (xcffib.XcffibException, OSError) as error:
        raise X11Unavailable(f"the display is gone: {type(error).__name__}") from None
