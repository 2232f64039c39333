"""Reads from an X server which window is active, and how long the person has been still; the collector's first source of the foreground.

It only listens: it takes no grab, changes no property and reads no key. Every call but `interrupt` waits for the server, and belongs on one
thread: `display_thread` owns it.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import xcffib
import xcffib.res
import xcffib.screensaver
import xcffib.xproto

from ...machines.collector.active_window import ActiveWindow
from ..x11_properties import property_bytes, property_numbers, property_text, reply_or_error

_CONNECT: Callable[..., Any] = xcffib.connect  # xcffib says it is typed, and its functions are not
_ID_SPEC: Callable[[int, int], Any] = xcffib.res.ClientIdSpec.synthetic
_ANY = 0
_LONGS = 1024  # the most 32-bit units read of one property
_ATOMS = (
    *("UTF8_STRING", "_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_WM_PID", "_GTK_APPLICATION_ID"),
    *("WM_CLASS", "WM_CLIENT_MACHINE", "_NET_WM_NAME", "WM_NAME"),
)
_PROCESS_OF_CLIENT = 2  # XResClientIdMask: the process at the other end of the connection


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
        self._followed = 0
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
        """Take in what the server sent, without waiting. Whether the active window, or its title, may be another one now."""
        changed = False
        with _asking():
            while (event := self._connection.poll_for_event()) is not None:
                changed = changed or getattr(event, "atom", None) in (self._atoms["_NET_ACTIVE_WINDOW"], self._atoms["_NET_WM_NAME"])
        return changed

    def names_active(self) -> bool:
        """Whether anybody here, a window manager, says which window is active, be it none."""
        return bool(property_numbers(self._property(self._root, "_NET_ACTIVE_WINDOW")))

    def active(self) -> ActiveWindow | None:
        """The active window, or None when none is, or when it has just gone."""
        window = next(iter(property_numbers(self._property(self._root, "_NET_ACTIVE_WINDOW"))), 0)
        self._follow(window)
        return self._window(window) if window else None

    def windows(self) -> list[ActiveWindow]:
        """Every window that the window manager manages, oldest first; none where there is no window manager."""
        found = (self._window(window) for window in property_numbers(self._property(self._root, "_NET_CLIENT_LIST")))
        return [window for window in found if window is not None]

    def _window(self, window: int) -> ActiveWindow | None:
        pid = self._process(window)
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

    def _follow(self, window: int) -> None:
        """Be told when this window gets another title, and no other one: not every toolkit announces it on the accessibility bus."""
        if window == self._followed:
            return
        masks = ((self._followed, xcffib.xproto.EventMask.NoEvent), (window, xcffib.xproto.EventMask.PropertyChange))
        self._followed = window
        for changed, mask in masks:
            if changed:
                with _asking(), contextlib.suppress(xcffib.Error):  # it was destroyed meanwhile
                    self._connection.core.ChangeWindowAttributesChecked(changed, xcffib.xproto.CW.EventMask, [mask]).check()

    def _process(self, window: int) -> int | None:
        """The process of a window: as the server knows it, else as the window says, if it says that it is of this machine.

        A window's own word may be a number of a sandbox, or of another machine.
        """
        if self._resources is not None:
            with _asking():
                reply = reply_or_error(self._resources.QueryClientIds(1, [_ID_SPEC(window, _PROCESS_OF_CLIENT)]))
            ids = [] if isinstance(reply, xcffib.Error) else reply.ids
            return next((int(found.value[0]) for found in ids if found.spec.mask & _PROCESS_OF_CLIENT and len(found.value)), None)
        machine = property_bytes(self._property(window, "WM_CLIENT_MACHINE")).rstrip(b"\0").decode("latin-1")
        said = next(iter(property_numbers(self._property(window, "_NET_WM_PID"))), None)
        return said if machine == socket.gethostname() else None

    def _prepare(self) -> None:
        self._root = self._connection.get_setup().roots[self._connection.pref_screen].root
        cookies = [self._connection.core.InternAtom(False, len(name), name) for name in _ATOMS]
        self._atoms = {name: cookie.reply().atom for name, cookie in zip(_ATOMS, cookies, strict=True)}
        self._connection.core.ChangeWindowAttributes(self._root, xcffib.xproto.CW.EventMask, [xcffib.xproto.EventMask.PropertyChange])
        self._idle = self._extension("MIT-SCREEN-SAVER", xcffib.screensaver.key)
        self._resources = self._extension("X-Resource", xcffib.res.key)
        if self._resources is not None:
            version = self._resources.QueryVersion(1, 2).reply()
            if (version.server_major, version.server_minor) < (1, 2):
                self._resources = None
        self._connection.flush()

    def _property(self, window: int, name: str) -> Any:
        """The reply, or the X error of a window that was destroyed meanwhile."""
        with _asking():
            return reply_or_error(self._connection.core.GetProperty(False, window, self._atoms[name], _ANY, 0, _LONGS))

    def _extension(self, name: str, key: Any) -> Any:
        present = self._connection.core.QueryExtension(len(name), name).reply().present
        return self._connection(key) if present else None


@contextlib.contextmanager
def _asking() -> Iterator[None]:
    """Whatever xcffib raises, a lost connection or an X error where none may come, is X11Unavailable."""
    try:
        yield
    except (xcffib.XcffibException, OSError) as error:
        raise X11Unavailable(f"the display is gone: {type(error).__name__}") from None
