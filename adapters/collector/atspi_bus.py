"""The accessibility bus: how it is found, calls to the programs on it, and which events are subscribed to; `atspi` builds on it.

It asks and listens. It changes nothing in the session unless it is told to enable accessibility, which sets `IsEnabled` of
`org.a11y.Status` for every program of the session.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbus_fast import Message, MessageType, Variant

from ...machines.collector.focus_events import EVENT_INTERFACE, Event, read_event
from .dbus import DAEMON, PROPERTIES, BusError, Connection, NoBus, session_address

CONNECT_SECONDS = 0.9  # for everything from the session bus to the first answer of the registry: silence is reported within a second

_LAUNCHER = ("org.a11y.Bus", "/org/a11y/bus")
_STATUS = "org.a11y.Status"
_REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/registry", "org.a11y.atspi.Registry")

_REGISTERED = ("window:activate", "window:deactivate", "object:state-changed:focused", "object:property-change:accessible-name")
_MATCHES = (
    f"type='signal',interface='{EVENT_INTERFACE}Window'",
    f"type='signal',interface='{EVENT_INTERFACE}Object',member='StateChanged',arg0='focused'",
    f"type='signal',interface='{EVENT_INTERFACE}Object',member='PropertyChange',arg0='accessible-name'",
    "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'",
)
_TURN_ON = "turn it on with: gsettings set org.gnome.desktop.interface toolkit-accessibility true"
_NO_SESSION = "run it inside a desktop session, or under dbus-run-session"
_NO_SERVICE = "install at-spi2-core, and run it inside a desktop session"
_SILENT = "sign in anew, or restart at-spi-dbus-bus.service"


class AccessibilityUnavailable(Exception):
    """Windows cannot be read: why, and what mends it. `absent`: the session has no accessibility bus, and nothing will bring one."""

    def __init__(self, reason: str, remedy: str, *, absent: bool = False) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy
        self.absent = absent


class AccessibilityBus:
    """Made by `connect`. Programs are named by their unique bus name, accessibles by (bus name, path).

    It listens between `subscribe` and `unsubscribe`, and not before.
    """

    def __init__(self, session: Connection, bus: Connection, on_event: Callable[[Event], None]) -> None:
        self._session = session
        self._bus = bus
        self._on_event = on_event
        self._listens = False
        bus.listen(self._received)

    @classmethod
    async def connect(
        cls, on_event: Callable[[Event], None], env: Mapping[str, str] = os.environ, *, enable: bool = False
    ) -> AccessibilityBus:
        """Find the bus, check that accessibility is on (or turn it on), and that its registry answers.

        Raises AccessibilityUnavailable within a second.
        """
        opened: list[Connection] = []
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                address = session_address(env)
                if address is None:
                    raise AccessibilityUnavailable("no session bus: DBUS_SESSION_BUS_ADDRESS is not set", _NO_SESSION, absent=True)
                session = await _open(opened, address, "no session bus", _NO_SESSION)
                await _check_enabled(session, enable)
                found = env.get("AT_SPI_BUS_ADDRESS") or (await session.call(*_LAUNCHER, "org.a11y.Bus", "GetAddress", start=True))[0]
                bus = cls(session, await _open(opened, found, "no accessibility bus", _NO_SERVICE), on_event)
                await bus._registered()
                return bus
        except TimeoutError:
            unavailable = AccessibilityUnavailable("the accessibility bus does not answer", _SILENT)
        except BusError as error:
            if error.unknown or error.error_name:
                unavailable = AccessibilityUnavailable(f"no accessibility bus: {error}", _NO_SERVICE, absent=error.unknown)
            else:
                unavailable = AccessibilityUnavailable(f"the accessibility bus does not answer: {error}", _SILENT)
        except AccessibilityUnavailable as error:
            unavailable = error
        for connection in opened:
            await connection.close()
        raise unavailable

    async def subscribe(self) -> None:
        """Ask the registry for the events of all programs, so that they send them, and the bus to pass them on. Raises BusError."""
        if not self._listens:
            self._listens = True
            await asyncio.gather(self._bus.watch(*_MATCHES), *map(self._register, _REGISTERED))

    def unsubscribe(self) -> None:
        """Take all that back at once, without waiting; no event is handed over any more."""
        if self._listens:
            self._listens = False
            for match in _MATCHES:
                self._bus.tell(*DAEMON, "RemoveMatch", "s", [match])
            for event in _REGISTERED:
                self._bus.tell(*_REGISTRY, "DeregisterEvent", "s", [event])

    async def check(self) -> None:
        """Whether everything still stands: accessibility on, registry alive and, while it listens, knowing us.

        A registry that was restarted is subscribed to again. Raises AccessibilityUnavailable.
        """
        try:
            await _check_enabled(self._session, enable=False)
            known = await self._registered()
            if self._listens and not set(_REGISTERED) <= known:
                await asyncio.gather(*map(self._register, _REGISTERED))
        except BusError as error:
            raise AccessibilityUnavailable(f"the accessibility bus does not answer: {error}", _SILENT) from None

    async def call(self, name: str, path: str, interface: str, member: str, signature: str = "", body: Sequence[object] = ()) -> list[Any]:
        """Call a method of an accessible; the answer's values. Raises BusError, also when the answer does not come in time."""
        return await self._bus.call(name, path, interface, member, signature, body)

    async def get(self, name: str, path: str, interface: str, member: str) -> Any:
        """Read one property. Raises BusError."""
        return await self._bus.get(name, path, interface, member)

    async def pid_of(self, name: str) -> int:
        """The process behind a bus name. Raises BusError."""
        return int((await self._bus.call(*DAEMON, "GetConnectionUnixProcessID", "s", [name]))[0])

    async def close(self) -> None:
        """Leave both buses."""
        for connection in (self._bus, self._session):
            await connection.close()

    async def lost(self) -> None:
        """Return when either bus is gone."""
        ends = [asyncio.ensure_future(connection.lost()) for connection in (self._session, self._bus)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    async def _registered(self) -> set[str]:
        """What the registry has noted for us, in its own spelling: `object:state-changed:focused`. It starts one where none runs."""
        noted = (await self._bus.call(*_REGISTRY, "GetRegisteredEvents", start=True))[0]
        return {_spelled(str(event)) for name, event, *_ in noted if name == self._bus.name}

    async def _register(self, event: str) -> None:
        try:
            await self._bus.call(*_REGISTRY, "RegisterEvent", "sass", [event, [], ""], start=True)
        except BusError as error:
            if not error.error_name:  # no answer
                raise
            await self._bus.call(*_REGISTRY, "RegisterEvent", "s", [event])  # the signature before at-spi2-core 2.40

    def _received(self, message: Message) -> None:
        if self._listens and message.message_type is MessageType.SIGNAL and message.sender:
            event = read_event(message.interface or "", message.member or "", message.sender, message.path or "", message.body)
            if event is not None:
                self._on_event(event)


def _spelled(event: str) -> str:
    """An event name as `_REGISTERED` writes it; the registry answers `Object:StateChanged:focused` and the like."""
    kind, _, rest = event.partition(":")
    member, _, detail = rest.partition(":")
    dashed = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in member).strip("-")
    return ":".join(part for part in (kind.lower(), dashed, detail.strip(":")) if part)


async def _open(opened: list[Connection], address: str, what: str, remedy: str) -> Connection:
    try:
        connection = await Connection.connect(address)
    except NoBus as error:
        raise AccessibilityUnavailable(f"{what}: {error}", remedy, absent=True) from None
    opened.append(connection)
    return connection


async def _check_enabled(session: Connection, enable: bool) -> None:
    """Read `org.a11y.Status`, an interface of the name `org.a11y.Bus`; turn accessibility on only when told to."""
    if enable:
        await session.call(*_LAUNCHER, PROPERTIES, "Set", "ssv", [_STATUS, "IsEnabled", Variant("b", True)], start=True)
        return
    for switch in ("IsEnabled", "ScreenReaderEnabled"):
        if await session.get(*_LAUNCHER, _STATUS, switch, start=True):
            return
    raise AccessibilityUnavailable("accessibility is off in this session", _TURN_ON)
