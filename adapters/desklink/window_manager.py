"""Touches an X display as its window manager: claims the screen, puts windows where `machines.desklink.kiosk` wants them, tells of them.

Called by the display keeper only. A window may vanish between any two requests, so a request that fails for one window (BadWindow,
BadMatch) is no error here; the loss of the connection is `xcffib.ConnectionException`, from any method.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from typing import Any

import xcffib
import xcffib.xproto as x

from ...errors import Unavailable
from ...generated.desklink.models import KeeperReport, KeeperWindow
from ...machines.desklink.geometry import Box, Size
from ...machines.desklink.kiosk import Dialogs, Kiosk, Place, Toplevel
from ..x11_properties import property_bytes, property_numbers, property_text, reply_or_error
from .display_name import display_name, in_time

#: xcffib's functions and constructors carry no annotations; its event and error classes are used by name.
connect: Any = xcffib.connect
build: Any = x

ATOMS = (
    "UTF8_STRING",
    "WM_PROTOCOLS",
    "WM_STATE",
    "WM_TAKE_FOCUS",
    "_NET_ACTIVE_WINDOW",
    "_NET_CLIENT_LIST",
    "_NET_SUPPORTED",
    "_NET_SUPPORTING_WM_CHECK",
    "_NET_WM_NAME",
    "_NET_WM_PID",
)
#: What programs may rely on (EWMH); accessibility bridges announce an activated window only where a window manager sets these.
SUPPORTED = tuple(name for name in ATOMS if name.startswith("_NET_") and name != "_NET_SUPPORTED")
NORMAL_STATE, WITHDRAWN_STATE = 1, 0
PROPERTY_WORDS = 1024


def _connect(display: str) -> Any:
    try:
        with _own_words():
            return connect(display=display)
    except xcffib.ConnectionException as error:
        unparsable = "parsing" in str(error)
        reason = "the display name cannot be parsed" if unparsable else "no server answers there, or it refuses our authority"
        raise Unavailable(reason) from error


@contextlib.contextmanager
def _own_words() -> Iterator[None]:
    """Keep libxcb from writing what a server says of a refused connection to stderr: the error tells it."""
    try:
        stderr = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


class AnotherManager(Unavailable):
    """The display has a window manager already."""

    def __init__(self) -> None:
        super().__init__("another window manager", "end it, or choose another display")


class WindowManager:
    """The window manager of one display: connected and claimed by `__init__`, at work from `adopt()` to `close()`.

    Raises Unavailable with the reason when the display cannot be opened and AnotherManager when its windows are managed already.
    """

    def __init__(self, display: str, dialogs: Dialogs = "fill") -> None:
        self._connection: Any = in_time(lambda: _connect(display_name(display)), display)
        try:
            self._core: Any = self._connection.core
            screen = self._connection.get_setup().roots[self._connection.pref_screen]
            self._root = int(screen.root)
            self._kiosk = Kiosk(Size(screen.width_in_pixels, screen.height_in_pixels), dialogs)
            self._boxes: dict[int, Box] = {}
            self._focused: int | None = None
            self._claim()
            self._atoms = self._intern()
            self._check = self._announce()
        except BaseException:
            self._connection.disconnect()
            raise

    def adopt(self) -> None:
        """Take in the windows that were mapped before us, bottom first, and focus the newest with content."""
        for window in self._core.QueryTree(self._root).reply().children:
            try:
                toplevel, viewable = self._facts(self._ask(window))
            except xcffib.Error:
                continue
            if toplevel.managed and viewable:
                self._manage(window, toplevel)
        self._settle()
        self._connection.flush()

    def fileno(self) -> int:
        """The descriptor that becomes readable when `handle_events` has something to do."""
        return int(self._connection.get_file_descriptor())

    def handle_events(self) -> bool:
        """Do what the events that have arrived ask for. Whether any of them may have changed the report."""
        changed = False
        for event in self._events():
            try:
                changed |= self._handle(event)
            except xcffib.Error:
                changed = True  # the window of this event is gone, and a later event tells of it
        if changed:
            self._settle()
        self._connection.flush()
        return changed

    def report(self) -> KeeperReport:
        """Every visible managed top-level window, bottom of the stack first."""
        children = list(self._core.QueryTree(self._root).reply().children)
        asked = [(window, self._ask(window), self._ask_names(window)) for window in children]
        found: list[KeeperWindow] = []
        for window, facts, names in asked:
            try:
                toplevel, viewable = self._facts(facts)
                described = self._describe(window, toplevel, names)
            except xcffib.Error:
                continue
            if toplevel.managed and viewable:
                found.append(described)
        return KeeperReport(windows=tuple(found))

    def close(self) -> None:
        """Withdraw the hints and disconnect. Safe on a lost connection."""
        try:
            for name in ("_NET_SUPPORTING_WM_CHECK", "_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_SUPPORTED"):
                self._core.DeleteProperty(self._root, self._atoms[name])
            self._core.GetInputFocus().reply()
        except xcffib.ConnectionException:
            pass
        finally:
            self._connection.disconnect()

    # ---- starting ----

    def _claim(self) -> None:
        # The server lets one client at a time redirect the root window's substructure: that is what makes a window manager.
        mask = x.EventMask.SubstructureRedirect | x.EventMask.SubstructureNotify | x.EventMask.StructureNotify
        try:
            self._core.ChangeWindowAttributesChecked(self._root, x.CW.EventMask, [mask]).check()
        except x.AccessError as error:
            raise AnotherManager from error

    def _intern(self) -> dict[str, int]:
        asked = {name: self._core.InternAtom(False, len(name), name) for name in ATOMS}
        return {name: int(cookie.reply().atom) for name, cookie in asked.items()}

    def _announce(self) -> int:
        """The EWMH hints, on the root window and on a window of ours that proves a manager is alive; our window tells us the time, too."""
        check = int(self._connection.generate_id())
        self._core.CreateWindow(
            0, check, self._root, -1, -1, 1, 1, 0, x.WindowClass.InputOutput, 0,
            x.CW.OverrideRedirect | x.CW.EventMask, [1, x.EventMask.PropertyChange],
        )  # fmt: skip
        for window in (self._root, check):
            self._set(window, "_NET_SUPPORTING_WM_CHECK", x.Atom.WINDOW, check)
        name = b"triptych"
        self._core.ChangeProperty(x.PropMode.Replace, check, self._atoms["_NET_WM_NAME"], self._atoms["UTF8_STRING"], 8, len(name), name)
        self._set(check, "_NET_WM_PID", x.Atom.CARDINAL, os.getpid())
        self._set(self._root, "_NET_SUPPORTED", x.Atom.ATOM, *(self._atoms[name] for name in SUPPORTED))
        self._set(self._root, "_NET_CLIENT_LIST", x.Atom.WINDOW)
        self._set(self._root, "_NET_ACTIVE_WINDOW", x.Atom.WINDOW, 0)
        return check

    # ---- events ----

    def _events(self) -> Iterator[Any]:
        while True:
            try:
                event = self._connection.poll_for_event()
            except xcffib.Error:
                continue  # the late answer to a request about a window that is gone
            if event is None:
                return
            yield event

    def _handle(self, event: Any) -> bool:
        match event:
            case x.MapRequestEvent():
                toplevel, _ = self._facts(self._ask(event.window))
                if toplevel.managed:
                    self._manage(event.window, toplevel, stack=(x.StackMode.Above,))
                self._core.MapWindow(event.window)
            case x.MapNotifyEvent():
                if event.window not in self._boxes and not event.override_redirect:
                    toplevel, _ = self._facts(self._ask(event.window))
                    if toplevel.managed:
                        self._manage(event.window, toplevel)
            case x.ConfigureRequestEvent():
                self._answer(event)
            case x.UnmapNotifyEvent() | x.DestroyNotifyEvent():
                self._forget(event.window)
            case x.ReparentNotifyEvent():
                if event.parent != self._root:
                    self._forget(event.window)
            case x.ConfigureNotifyEvent():
                if event.window == self._root:
                    self._resize(Size(event.width, event.height))
            case x.PropertyNotifyEvent():
                if event.window == self._check:
                    self._offer_focus(event.time)
                    return False
                if event.atom == x.Atom.WM_TRANSIENT_FOR and event.window in self._boxes:
                    toplevel, _ = self._facts(self._ask(event.window))
                    self._put(event.window, self._kiosk.track(event.window, toplevel))
            case x.ClientMessageEvent():
                if event.type != self._atoms["_NET_ACTIVE_WINDOW"] or event.window not in self._boxes:
                    return False
                self._kiosk.promote(event.window)
                self._core.ConfigureWindow(event.window, x.ConfigWindow.StackMode, [x.StackMode.Above])
            case _:
                return False
        return True

    def _manage(self, window: int, toplevel: Toplevel, stack: tuple[int, ...] = ()) -> None:
        self._put(window, self._kiosk.track(window, toplevel), stack)
        self._set(window, "WM_STATE", self._atoms["WM_STATE"], NORMAL_STATE, 0)
        self._core.ChangeWindowAttributes(window, x.CW.EventMask, [x.EventMask.PropertyChange])

    def _put(self, window: int, place: Place, stack: tuple[int, ...] = ()) -> None:
        left, top, width, height = self._boxes[window] = place.box
        mask = x.ConfigWindow.X | x.ConfigWindow.Y | x.ConfigWindow.Width | x.ConfigWindow.Height | x.ConfigWindow.BorderWidth
        values = [left, top, width, height, 0, *stack]
        self._core.ConfigureWindow(window, mask | (x.ConfigWindow.StackMode if stack else 0), values)

    def _answer(self, event: Any) -> None:
        """A window asks for another place. Before it is mapped it may have it; afterwards its size only says what role it plays."""
        if event.window not in self._boxes:
            wanted = {
                x.ConfigWindow.X: event.x,
                x.ConfigWindow.Y: event.y,
                x.ConfigWindow.Width: event.width,
                x.ConfigWindow.Height: event.height,
                x.ConfigWindow.BorderWidth: event.border_width,
            }
            asked = {bit: value for bit, value in wanted.items() if event.value_mask & bit}
            self._core.ConfigureWindow(event.window, sum(asked), list(asked.values()))
            return
        width = event.width if event.value_mask & x.ConfigWindow.Width else 0
        height = event.height if event.value_mask & x.ConfigWindow.Height else 0
        before = self._boxes[event.window]
        self._put(event.window, self._kiosk.request(event.window, width, height))
        if self._boxes[event.window] == before:
            # ICCCM 4.1.5: who asks and gets nothing must be told so, or it waits for an answer.
            left, top, width, height = before
            told = build.ConfigureNotifyEvent.synthetic(event.window, event.window, 0, left, top, width, height, 0, 0)
            self._core.SendEvent(False, event.window, x.EventMask.StructureNotify, told.pack())

    def _forget(self, window: int) -> None:
        if self._kiosk.forget(window):
            del self._boxes[window]
            self._set(window, "WM_STATE", self._atoms["WM_STATE"], WITHDRAWN_STATE, 0)

    def _resize(self, screen: Size) -> None:
        if screen != self._kiosk.screen:
            for window, place in self._kiosk.resize(screen).items():
                self._put(window, place)

    # ---- focus ----

    def _settle(self) -> None:
        """Bring the client list and the focus in line with the windows."""
        self._set(self._root, "_NET_CLIENT_LIST", x.Atom.WINDOW, *self._kiosk.windows)
        window = self._kiosk.focus
        if window == self._focused:
            return
        self._focused = window
        self._set(self._root, "_NET_ACTIVE_WINDOW", x.Atom.WINDOW, window or 0)
        if window is None:
            self._core.SetInputFocus(x.InputFocus.PointerRoot, x.InputFocus.PointerRoot, x.Time.CurrentTime)
            return
        self._core.SetInputFocus(x.InputFocus.PointerRoot, window, x.Time.CurrentTime)
        # WM_TAKE_FOCUS must carry a real time (ICCCM 4.1.7). An empty change of our own property brings one, in its PropertyNotify.
        self._core.ChangeProperty(x.PropMode.Append, self._check, self._atoms["WM_STATE"], self._atoms["WM_STATE"], 32, 0, b"")

    def _offer_focus(self, time: int) -> None:
        if self._focused is None or self._atoms["WM_TAKE_FOCUS"] not in self._protocols(self._focused):
            return
        data = build.ClientMessageData.synthetic([self._atoms["WM_TAKE_FOCUS"], time, 0, 0, 0], "I" * 5)
        message = build.ClientMessageEvent.synthetic(32, self._focused, self._atoms["WM_PROTOCOLS"], data)
        self._core.SendEvent(False, self._focused, x.EventMask.NoEvent, message.pack())

    # ---- looking ----

    def _ask(self, window: int) -> tuple[Any, Any, Any]:
        """Ask for the facts of a window; the replies are awaited together in `_facts`."""
        transient = self._core.GetProperty(False, window, x.Atom.WM_TRANSIENT_FOR, x.Atom.WINDOW, 0, 1)
        return self._core.GetWindowAttributes(window), self._core.GetGeometry(window), transient

    def _facts(self, asked: tuple[Any, Any, Any]) -> tuple[Toplevel, bool]:
        # Every reply is taken before any error is raised: xcb would keep the untaken ones for ever.
        attributes, geometry, transient = [reply_or_error(cookie) for cookie in asked]
        for reply in (attributes, geometry, transient):
            if isinstance(reply, xcffib.Error):
                raise reply
        toplevel = Toplevel(
            geometry.width,
            geometry.height,
            transient=transient.value_len > 0,
            override_redirect=bool(attributes.override_redirect),
            input_only=attributes._class == x.WindowClass.InputOnly,
        )
        return toplevel, attributes.map_state == x.MapState.Viewable

    def _ask_names(self, window: int) -> tuple[Any, ...]:
        return tuple(self._property(window, name) for name in ("_NET_WM_NAME", "WM_NAME", "WM_CLASS", "_NET_WM_PID"))

    def _describe(self, window: int, toplevel: Toplevel, names: tuple[Any, ...]) -> KeeperWindow:
        title, old_title, kind, pid = [reply_or_error(cookie) for cookie in names]
        classes, utf8 = property_bytes(kind).split(b"\0"), self._atoms["UTF8_STRING"]
        return KeeperWindow(
            id=window,
            title=property_text(title, utf8) or property_text(old_title, utf8),
            class_=classes[1].decode("latin-1") or None if len(classes) > 1 else None,
            pid=next(iter(property_numbers(pid)), None),
            width=toplevel.width,
            height=toplevel.height,
        )

    def _protocols(self, window: int) -> tuple[int, ...]:
        return property_numbers(reply_or_error(self._property(window, "WM_PROTOCOLS")))

    def _property(self, window: int, name: str) -> Any:
        atom = self._atoms.get(name) or getattr(x.Atom, name)
        return self._core.GetProperty(False, window, atom, x.GetPropertyType.Any, 0, PROPERTY_WORDS)

    def _set(self, window: int, name: str, kind: int, *values: int) -> None:
        data = struct.pack(f"={len(values)}I", *values)
        self._core.ChangeProperty(x.PropMode.Replace, window, self._atoms[name], kind, 32, len(values), data)
