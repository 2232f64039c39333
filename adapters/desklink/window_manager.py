"""Touches an X display as its window manager: claims the screen, puts windows where `machines.desklink.kiosk` wants them, tells of them.

Called by the display keeper only. A window may vanish between any two requests, so a request that fails for one window (BadWindow,
BadMatch) is no error here; the loss of the connection is `xcffib.ConnectionException`, from any method. What a client sends in the guise of
a notice of the server is passed over, since believing it would let any program hide another one's window from the report.
"""

from __future__ import annotations

import os
from typing import Any

import xcffib
import xcffib.xproto as x

from ...errors import Unavailable
from ...generated.desklink.models import KeeperReport, KeeperWindow
from ...machines.desklink.geometry import Box, Size
from ...machines.desklink.kiosk import Dialogs, Kiosk, Place
from . import window_facts
from .window_facts import Facts, WindowFacts
from .x11_client import MOST_EVENTS, change_numbers, change_property, connect, events, intern, was_sent

#: xcffib's constructors carry no annotations; its event and error classes are used by name.
build: Any = x

#: What programs may rely on (EWMH); accessibility bridges announce an activated window only where a window manager sets these.
SUPPORTED = (
    "_NET_ACTIVE_WINDOW",
    "_NET_CLIENT_LIST",
    "_NET_CLOSE_WINDOW",
    "_NET_FRAME_EXTENTS",
    "_NET_REQUEST_FRAME_EXTENTS",
    "_NET_SUPPORTING_WM_CHECK",
    "_NET_WM_NAME",
    "_NET_WM_PID",
    "_NET_WM_STATE",
    "_NET_WM_STATE_FULLSCREEN",
    "_NET_WM_STATE_MAXIMIZED_HORZ",
    "_NET_WM_STATE_MAXIMIZED_VERT",
)
ATOMS = (*SUPPORTED, *window_facts.ATOMS, "WM_DELETE_WINDOW", "WM_STATE", "WM_TAKE_FOCUS", "_NET_SUPPORTED")
HINTS = ("_NET_SUPPORTING_WM_CHECK", "_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST", "_NET_SUPPORTED")
NORMAL_STATE, WITHDRAWN_STATE = 1, 0
REMOVE, ADD, TOGGLE = 0, 1, 2
"""What a client message of _NET_WM_STATE asks for."""
NOWHERE = (x.NotifyDetail.PointerRoot, x.NotifyDetail._None)
"""The details of a notice that the focus is with no window; the root window gets it."""
ITSELF = (x.NotifyDetail.Ancestor, x.NotifyDetail.Virtual, x.NotifyDetail.Nonlinear, x.NotifyDetail.NonlinearVirtual)
"""The details of a notice that a window, or one inside it, got the focus from elsewhere."""
MOST_RESTORED = 20
"""So many times the focus is fetched back from one window for another; a program that fights for it must not keep us busy for ever."""


class AnotherManager(Unavailable):
    """The display has a window manager already."""

    def __init__(self) -> None:
        super().__init__("another window manager", "end it, or choose another display")


class WindowManager:
    """The window manager of one display: connected and claimed by `__init__`, at work from `adopt()` to `close()`.

    Raises Unavailable with the reason when the display cannot be opened and AnotherManager when its windows are managed already.
    """

    def __init__(self, display: str, dialogs: Dialogs = "fill") -> None:
        self._connection: Any = connect(display, quiet=True)
        try:
            self._core: Any = self._connection.core
            screen = self._connection.get_setup().roots[self._connection.pref_screen]
            self._root = int(screen.root)
            self._kiosk = Kiosk(Size(screen.width_in_pixels, screen.height_in_pixels), dialogs)
            self._boxes: dict[int, Box] = {}
            self._states: dict[int, tuple[int, ...]] = {}
            self._listed: tuple[int, ...] = ()
            self._focused: int | None = None
            self._restored = 0
            self._claim()
            self._atoms = intern(self._connection, ATOMS)
            self._facts = WindowFacts(self._core, self._atoms)
            self._check = self._announce()
        except BaseException:
            self._connection.disconnect()
            raise

    def adopt(self) -> None:
        """Take in the windows that were mapped before us, bottom first, and focus the newest with content."""
        children = self._core.QueryTree(self._root).reply().children
        asked = [(window, self._facts.ask(window)) for window in children]
        for window, cookies in asked:
            try:
                facts = self._facts.take(cookies)
            except xcffib.Error:
                continue
            if facts.toplevel.managed and facts.viewable:
                self._manage(window, facts)
        self._settle()
        self._connection.flush()

    def fileno(self) -> int:
        """The descriptor that becomes readable when `handle_events` has something to do."""
        return int(self._connection.get_file_descriptor())

    def handle_events(self) -> bool:
        """Do what the events that have arrived ask for. Whether any of them may have changed the report, or more may be waiting."""
        changed, seen = False, 0
        for event in events(self._connection):
            seen += 1
            try:
                changed |= self._handle(event)
            except xcffib.Error:
                changed = True  # the window of this event is gone, and a later event tells of it
        self._settle()
        self._connection.flush()
        return changed or seen == MOST_EVENTS

    def report(self) -> KeeperReport:
        """Every visible managed top-level window, bottom of the stack first."""
        children = list(self._core.QueryTree(self._root).reply().children)
        asked = [(window, self._facts.ask(window), self._facts.ask_names(window)) for window in children]
        found: list[KeeperWindow] = []
        for window, cookies, names in asked:
            said = self._facts.take_names(names)
            try:
                facts = self._facts.take(cookies)
            except xcffib.Error:
                continue
            if facts.toplevel.managed and facts.viewable:
                found.append(self._facts.describe(window, facts.toplevel, said))
        return KeeperReport(windows=tuple(found))

    def close(self) -> None:
        """Withdraw the hints and disconnect. Safe on a lost connection."""
        try:
            for name in HINTS:
                self._core.DeleteProperty(self._root, self._atoms[name])
            self._core.GetInputFocus().reply()
        except xcffib.ConnectionException:
            pass
        finally:
            self._connection.disconnect()

    # ---- starting ----

    def _claim(self) -> None:
        # The server lets one client at a time redirect the root window's substructure: that is what makes a window manager.
        mask = x.EventMask.SubstructureRedirect | x.EventMask.SubstructureNotify | x.EventMask.StructureNotify | x.EventMask.FocusChange
        try:
            self._core.ChangeWindowAttributesChecked(self._root, x.CW.EventMask, [mask]).check()
        except x.AccessError as error:
            raise AnotherManager from error

    def _announce(self) -> int:
        """The EWMH hints, on the root window and on a window of ours that proves a manager is alive; our window tells us the time, too."""
        check = int(self._connection.generate_id())
        self._core.CreateWindow(
            0, check, self._root, -1, -1, 1, 1, 0, x.WindowClass.InputOutput, 0,
            x.CW.OverrideRedirect | x.CW.EventMask, [1, x.EventMask.PropertyChange],
        )  # fmt: skip
        for window in (self._root, check):
            self._set(window, "_NET_SUPPORTING_WM_CHECK", x.Atom.WINDOW, check)
        change_property(self._connection, check, self._atoms["_NET_WM_NAME"], self._atoms["UTF8_STRING"], b"triptych")
        self._set(check, "_NET_WM_PID", x.Atom.CARDINAL, os.getpid())
        self._set(self._root, "_NET_SUPPORTED", x.Atom.ATOM, *(self._atoms[name] for name in SUPPORTED))
        self._set(self._root, "_NET_CLIENT_LIST", x.Atom.WINDOW)
        self._set(self._root, "_NET_ACTIVE_WINDOW", x.Atom.WINDOW, 0)
        return check

    # ---- events ----

    def _handle(self, event: Any) -> bool:
        match event:
            case x.ClientMessageEvent():
                return self._asked(event)
            case x.UnmapNotifyEvent() if was_sent(event):
                # ICCCM 4.1.4: this is how a program withdraws a window. The true notice follows, if it was still mapped.
                if event.window in self._boxes:
                    self._core.UnmapWindow(event.window)
                return False
            case _ if was_sent(event):
                return False
            case x.MapRequestEvent():
                facts = self._facts.take(self._facts.ask(event.window))
                if facts.toplevel.managed:
                    self._manage(event.window, facts, stack=(x.StackMode.Above,))
                self._core.MapWindow(event.window)
            case x.MapNotifyEvent():
                if event.window not in self._boxes and not event.override_redirect:
                    facts = self._facts.take(self._facts.ask(event.window))
                    if facts.toplevel.managed:
                        self._manage(event.window, facts)
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
                    facts = self._facts.take(self._facts.ask(event.window))
                    self._put(event.window, self._kiosk.track(event.window, facts.toplevel))
            case x.FocusInEvent():
                self._watch_focus(event)
                return False
            case _:
                return False
        return True

    def _asked(self, event: Any) -> bool:
        """A program asks something of the window manager (EWMH)."""
        name = next((name for name in SUPPORTED if self._atoms[name] == event.type), "")
        if name == "_NET_REQUEST_FRAME_EXTENTS":  # asked before the window is mapped
            self._set(event.window, "_NET_FRAME_EXTENTS", x.Atom.CARDINAL, 0, 0, 0, 0)
        if event.window not in self._boxes or event.format != 32:
            return False
        window, data = event.window, tuple(event.data.data32)
        match name:
            case "_NET_ACTIVE_WINDOW":
                self._kiosk.promote(window)
                self._core.ConfigureWindow(window, x.ConfigWindow.StackMode, [x.StackMode.Above])
            case "_NET_WM_STATE" if self._atoms["_NET_WM_STATE_FULLSCREEN"] in data[1:3] and data[0] in (REMOVE, ADD, TOGGLE):
                on = not self._kiosk.is_full(window) if data[0] == TOGGLE else data[0] == ADD
                self._put(window, self._kiosk.fill(window, on))
            case "_NET_CLOSE_WINDOW":
                if self._atoms["WM_DELETE_WINDOW"] in self._facts.protocols(window):
                    self._tell(window, "WM_DELETE_WINDOW", data[0])
                else:
                    self._core.KillClient(window)
                return False
            case _:
                return False
        return True

    def _manage(self, window: int, facts: Facts, stack: tuple[int, ...] = ()) -> None:
        self._states[window] = facts.states
        self._put(window, self._kiosk.track(window, facts.toplevel), stack)
        self._set(window, "WM_STATE", self._atoms["WM_STATE"], NORMAL_STATE, 0)
        self._set(window, "_NET_FRAME_EXTENTS", x.Atom.CARDINAL, 0, 0, 0, 0)
        self._core.ChangeWindowAttributes(window, x.CW.EventMask, [x.EventMask.PropertyChange | x.EventMask.FocusChange])

    def _put(self, window: int, place: Place, stack: tuple[int, ...] = ()) -> None:
        left, top, width, height = self._boxes[window] = place.box
        mask = x.ConfigWindow.X | x.ConfigWindow.Y | x.ConfigWindow.Width | x.ConfigWindow.Height | x.ConfigWindow.BorderWidth
        values = [left, top, width, height, 0, *stack]
        self._core.ConfigureWindow(window, mask | (x.ConfigWindow.StackMode if stack else 0), values)
        self._say_state(window, place)

    def _say_state(self, window: int, place: Place) -> None:
        """Tell the window that it fills the screen: a program that thinks so draws neither shadows nor handles around itself."""
        maximized = ("_NET_WM_STATE_MAXIMIZED_HORZ", "_NET_WM_STATE_MAXIMIZED_VERT") if place.role == "content" else ()
        names = (*maximized, *(("_NET_WM_STATE_FULLSCREEN",) if self._kiosk.is_full(window) else ()))
        ours = {self._atoms[name] for name in SUPPORTED if name.startswith("_NET_WM_STATE_")}
        states = (*(state for state in self._states[window] if state not in ours), *(self._atoms[name] for name in names))
        if states != self._states[window]:
            self._states[window] = states
            self._set(window, "_NET_WM_STATE", x.Atom.ATOM, *states)

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
            del self._boxes[window], self._states[window]
            self._set(window, "WM_STATE", self._atoms["WM_STATE"], WITHDRAWN_STATE, 0)
            self._core.DeleteProperty(window, self._atoms["_NET_WM_STATE"])

    def _resize(self, screen: Size) -> None:
        if screen != self._kiosk.screen:
            for window, place in self._kiosk.resize(screen).items():
                self._put(window, place)

    # ---- focus ----

    def _settle(self) -> None:
        """Bring the client list and the focus in line with the windows."""
        if self._listed != self._kiosk.windows:
            self._listed = self._kiosk.windows
            self._set(self._root, "_NET_CLIENT_LIST", x.Atom.WINDOW, *self._listed)
        if self._kiosk.focus != self._focused:
            self._restored = 0
            self._focus(self._kiosk.focus)

    def _focus(self, window: int | None) -> None:
        self._focused = window
        self._set(self._root, "_NET_ACTIVE_WINDOW", x.Atom.WINDOW, window or 0)
        if window is None:
            self._core.SetInputFocus(x.InputFocus.PointerRoot, x.InputFocus.PointerRoot, x.Time.CurrentTime)
            return
        self._core.SetInputFocus(x.InputFocus.PointerRoot, window, x.Time.CurrentTime)
        # WM_TAKE_FOCUS must carry a real time (ICCCM 4.1.7). An empty change of our own property brings one, in its PropertyNotify.
        self._core.ChangeProperty(x.PropMode.Append, self._check, self._atoms["WM_STATE"], self._atoms["WM_STATE"], 32, 0, b"")

    def _watch_focus(self, event: Any) -> None:
        """The focus went elsewhere: to a parked window, to one that is covered, or nowhere. It belongs where a person looks."""
        lost = event.detail in NOWHERE if event.event == self._root else event.detail in ITSELF and event.event != self._focused
        grabbed = event.mode in (x.NotifyMode.Grab, x.NotifyMode.Ungrab)
        if lost and not grabbed and self._focused is not None and self._restored < MOST_RESTORED:
            self._restored += 1
            self._focus(self._focused)

    def _offer_focus(self, time: int) -> None:
        if self._focused is not None and self._atoms["WM_TAKE_FOCUS"] in self._facts.protocols(self._focused):
            self._tell(self._focused, "WM_TAKE_FOCUS", time)

    def _tell(self, window: int, protocol: str, time: int) -> None:
        """Send a window a message of a protocol that it takes part in."""
        data = build.ClientMessageData.synthetic([self._atoms[protocol], time, 0, 0, 0], "I" * 5)
        message = build.ClientMessageEvent.synthetic(32, window, self._atoms["WM_PROTOCOLS"], data)
        self._core.SendEvent(False, window, x.EventMask.NoEvent, message.pack())

    def _set(self, window: int, name: str, kind: int, *values: int) -> None:
        change_numbers(self._connection, window, self._atoms[name], kind, values)
