"""The foreground of KDE Plasma: KWin runs a script of ours that calls back when another window becomes active, and forgets it at the end.

`foreground` makes it. The script tells the process, the class and the number of a window, and never its title: what goes over the
session bus can be read by others there.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

from dbus_fast import Message, MessageType

from ...machines.collector.active_window import ActiveWindow
from .dbus import DAEMON, BusError, Connection, session_address
from .session_bus import KeptConnection

_SCRIPTING = ("org.kde.KWin", "/Scripting", "org.kde.kwin.Scripting")
_SCRIPT = "org.kde.kwin.Script"
_PATH, _INTERFACE, _MEMBER = "/org/triptych/Foreground", "org.triptych.Foreground", "Active"

#: Plasma 6 says "window" where Plasma 5 says "client". Numbers go as text: KWin would pass them as doubles.
_SOURCE = """
function tell(window) {
    var text = function (part) { return String(part === undefined || part === null ? "" : part); };
    var found = window || {};
    callDBus(%s, %s, %s, %s, text(found.pid), text(found.internalId),
        text(found.desktopFileName), text(found.resourceClass), text(found.resourceName));
}
(workspace.windowActivated || workspace.clientActivated).connect(tell);
tell(workspace.activeWindow || workspace.activeClient);
"""


class KdeForeground:
    """The KWin of the session that `env` names."""

    name = "KWin script"

    def __init__(self, env: Mapping[str, str], changed: Callable[[], None]) -> None:
        self._bus = KeptConnection(session_address(env), self._prepare)
        self._changed = changed
        self._runtime = env.get("XDG_RUNTIME_DIR")
        self._plugin = f"triptych-{os.getpid()}"
        self._loaded: Connection | None = None
        self._compositor = ""
        self._active: ActiveWindow | None = None

    async def open(self) -> bool:
        """Have KWin run the script, if it does not."""
        bus = await self._bus.get()
        if bus is None:
            return False
        try:
            if self._loaded is bus and (await bus.call(*_SCRIPTING, "isScriptLoaded", "s", [self._plugin]))[0]:
                return True
            await self._load(bus)
        except (BusError, OSError):
            self._loaded = self._active = None
            return False
        self._loaded = bus
        return True

    async def active(self) -> ActiveWindow | None:
        """The window that KWin named last."""
        return None if self._loaded is None or self._loaded.is_lost else self._active

    async def title(self, window: int) -> str | None:
        """None: the script does not tell titles."""
        return None

    async def close(self) -> None:
        """Take the script away, and leave the bus."""
        if self._loaded is not None:
            with contextlib.suppress(BusError):
                await self._loaded.call(*_SCRIPTING, "unloadScript", "s", [self._plugin])
        self._loaded = self._active = None
        await self._bus.close()

    def _prepare(self, bus: Connection) -> None:
        bus.listen(self._received)

    async def _load(self, bus: Connection) -> None:
        arguments = tuple(json.dumps(part) for part in (bus.name, _PATH, _INTERFACE, _MEMBER))
        with tempfile.NamedTemporaryFile("w", dir=self._runtime, suffix=".js", prefix="triptych-") as file:
            file.write(_SOURCE % arguments)
            file.flush()
            self._compositor = str((await bus.call(*DAEMON, "GetNameOwner", "s", [_SCRIPTING[0]]))[0])
            await bus.call(*_SCRIPTING, "unloadScript", "s", [self._plugin])
            number = (await bus.call(*_SCRIPTING, "loadScript", "ss", [str(Path(file.name)), self._plugin]))[0]
            try:
                await bus.call(_SCRIPTING[0], f"/Scripting/Script{number}", _SCRIPT, "run")
            except BusError:  # Plasma 5
                await bus.call(_SCRIPTING[0], f"/{number}", _SCRIPT, "run")

    def _received(self, message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL or (message.interface, message.member) != (_INTERFACE, _MEMBER):
            return None
        if message.sender != self._compositor:  # anyone on the bus may call: only KWin is believed
            return Message.new_error(message, "org.freedesktop.DBus.Error.AccessDenied", "only KWin may tell")
        self._active = _window(*map(str, message.body)) if len(message.body) == 5 else None
        self._changed()
        return Message.new_method_return(message)


def _window(pid: str, number: str, *names: str) -> ActiveWindow | None:
    try:
        identity = UUID(number).int
    except ValueError:
        return None
    return ActiveWindow(identity, int(pid), tuple(dict.fromkeys(filter(None, names)))) if pid.isdecimal() and int(pid) else None
