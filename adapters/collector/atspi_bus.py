"""One connection to the accessibility bus: how it is found, calls with a deadline, and the events that arrive; `atspi` builds on it.

It asks and listens. It changes nothing in the session unless it is told to enable accessibility, which sets `IsEnabled` of
`org.a11y.Status` for every program of the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.errors import AuthError, DBusError, InvalidAddressError

CONNECT_SECONDS = 0.9  # for everything from the session bus to the first subscription: silence is reported within a second
CALL_SECONDS = 0.5

_DAEMON = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
_LAUNCHER = ("org.a11y.Bus", "/org/a11y/bus")
_REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/registry")
_PROPERTIES = "org.freedesktop.DBus.Properties"
_EVENT = "org.a11y.atspi.Event."

_REGISTERED = ("window:activate", "window:deactivate", "object:state-changed:focused", "object:property-change:accessible-name")
_MATCHES = (
    f"type='signal',interface='{_EVENT}Window'",
    f"type='signal',interface='{_EVENT}Object',member='StateChanged',arg0='focused'",
    f"type='signal',interface='{_EVENT}Object',member='PropertyChange',arg0='accessible-name'",
    "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'",
)
_TURN_ON = "turn it on with: gsettings set org.gnome.desktop.interface toolkit-accessibility true"
_NOBODY = "org.freedesktop.DBus.Error.ServiceUnknown"
_NO_SESSION = "run it inside a desktop session, or under dbus-run-session"
_NO_SERVICE = "install at-spi2-core, and run it inside a desktop session"
_SILENT = "sign in anew, or restart at-spi-dbus-bus.service"


class BusError(Exception):
    """A call had no answer, or the wrong one. The message names the D-Bus error, never a text of a program.

    `unknown`: nobody has the name that was called, and nothing starts a program that would.
    """

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown


class AccessibilityUnavailable(Exception):
    """Windows cannot be read: why, and what mends it. `absent`: the session has no accessibility bus, and nothing will bring one."""

    def __init__(self, reason: str, remedy: str, *, absent: bool = False) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy
        self.absent = absent


@dataclass(frozen=True, slots=True)
class Event:
    """One signal of a program. `kind`: "activate", "deactivate", "focused", "accessible-name", or "gone" when it left the bus."""

    kind: str
    sender: str
    path: str = ""
    on: bool = False


class AccessibilityBus:
    """Made by `connect`. Programs are named by their unique bus name, accessibles by (bus name, path)."""

    def __init__(self, session: MessageBus, bus: MessageBus, on_event: Callable[[Event], None]) -> None:
        self._session = session
        self._bus = bus
        self._on_event = on_event
        # One task a connection, never cancelled: cancelling it would cancel dbus-fast's own future too.
        self._ends = [asyncio.ensure_future(_ended(connection)) for connection in (session, bus)]
        bus.add_message_handler(self._received)

    @classmethod
    async def connect(
        cls, on_event: Callable[[Event], None], env: Mapping[str, str] = os.environ, *, enable: bool = False
    ) -> AccessibilityBus:
        """Find the bus, check that accessibility is on (or turn it on), and subscribe. Raises AccessibilityUnavailable within a second."""
        opened: list[MessageBus] = []
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                session = await _open(opened, _session_address(env), "no session bus", _NO_SESSION)
                await _check_enabled(session, enable)
                found = env.get("AT_SPI_BUS_ADDRESS") or (await _call(session, *_LAUNCHER, "org.a11y.Bus", "GetAddress"))[0]
                bus = cls(session, await _open(opened, found, "no accessibility bus", _NO_SERVICE), on_event)
                await bus.subscribe()
                return bus
        except TimeoutError:
            unavailable = AccessibilityUnavailable("the accessibility bus does not answer", _SILENT)
        except BusError as error:
            unavailable = AccessibilityUnavailable(f"no accessibility bus: {error}", _NO_SERVICE, absent=error.unknown)
        except AccessibilityUnavailable as error:
            unavailable = error
        for connection in opened:
            await _close(connection)
        raise unavailable

    async def subscribe(self) -> None:
        """Ask the registry for the events of all programs, so that they send them, and the bus to pass them on."""
        await asyncio.gather(
            *(self.call(*_DAEMON, _DAEMON[0], "AddMatch", "s", [match]) for match in _MATCHES), *map(self._register, _REGISTERED)
        )

    async def check(self) -> None:
        """Whether everything still stands: accessibility on, registry alive and knowing us. A restarted registry is subscribed to again.

        Raises AccessibilityUnavailable.
        """
        try:
            await _check_enabled(self._session, enable=False)
            known = (await self.call(*_REGISTRY, "org.a11y.atspi.Registry", "GetRegisteredEvents"))[0]
            if not any(name == self._bus.unique_name for name, *_ in known):
                await asyncio.gather(*map(self._register, _REGISTERED))
        except (BusError, TimeoutError) as error:
            raise AccessibilityUnavailable(f"the accessibility bus does not answer: {error or 'timed out'}", _SILENT) from None

    async def call(self, name: str, path: str, interface: str, member: str, signature: str = "", body: Sequence[object] = ()) -> list[Any]:
        """Call a method of an accessible; the answer's values. Raises BusError, also after `CALL_SECONDS` without an answer."""
        return await _call(self._bus, name, path, interface, member, signature, body)

    async def get(self, name: str, path: str, interface: str, member: str) -> Any:
        """Read one property. Raises BusError."""
        return (await self.call(name, path, _PROPERTIES, "Get", "ss", [interface, member]))[0].value

    async def pid_of(self, name: str) -> int:
        """The process behind a bus name. Raises BusError."""
        return int((await self.call(*_DAEMON, _DAEMON[0], "GetConnectionUnixProcessID", "s", [name]))[0])

    async def close(self) -> None:
        """Leave both buses."""
        for connection in (self._bus, self._session):
            connection.disconnect()
        await asyncio.wait(self._ends, timeout=CALL_SECONDS)

    async def lost(self) -> None:
        """Return when either bus is gone."""
        await asyncio.wait(self._ends, return_when=asyncio.FIRST_COMPLETED)

    async def _register(self, event: str) -> None:
        try:
            await self.call(*_REGISTRY, "org.a11y.atspi.Registry", "RegisterEvent", "sass", [event, [], ""])
        except BusError:  # the signature before at-spi2-core 2.40
            await self.call(*_REGISTRY, "org.a11y.atspi.Registry", "RegisterEvent", "s", [event])

    def _received(self, message: Message) -> None:
        if message.message_type is not MessageType.SIGNAL or not message.interface or not message.body:
            return
        if message.member == "NameOwnerChanged":
            name, _, owner = message.body
            if not owner:
                self._on_event(Event("gone", name))
        elif message.interface == _EVENT + "Window" and message.sender:
            self._on_event(Event((message.member or "").casefold(), message.sender, message.path or ""))  # GTK 4 writes it in lower case
        elif message.interface == _EVENT + "Object" and message.sender and len(message.body) > 1:
            self._on_event(Event(str(message.body[0]), message.sender, message.path or "", message.body[1] == 1))


def _session_address(env: Mapping[str, str]) -> str:
    runtime = env.get("XDG_RUNTIME_DIR")
    address = env.get("DBUS_SESSION_BUS_ADDRESS") or (f"unix:path={runtime}/bus" if runtime else None)
    if address is None:
        raise AccessibilityUnavailable("no session bus: DBUS_SESSION_BUS_ADDRESS is not set", _NO_SESSION, absent=True)
    return address


async def _open(opened: list[MessageBus], address: str, what: str, remedy: str) -> MessageBus:
    try:
        bus = MessageBus(bus_address=address)
        await bus.connect()
    except (OSError, ValueError, LookupError, AuthError, InvalidAddressError, DBusError, EOFError) as error:
        raise AccessibilityUnavailable(f"{what}: {_in_words(error)}", remedy, absent=True) from None
    opened.append(bus)
    return bus


def _in_words(error: Exception) -> str:
    """Why there is no connection to a bus, for a person. dbus-fast reads an address with whatever `int` and `dict` raise."""
    match error:
        case OSError(strerror=str(words)):
            return words
        case AuthError() | DBusError():
            return "it does not let this user in"
        case EOFError():
            return "it hung up"
        case _:
            return "its address cannot be used"


async def _ended(connection: Any) -> None:  # dbus-fast leaves this one method untyped
    with contextlib.suppress(OSError, EOFError):  # how it ended does not matter
        await connection.wait_for_disconnect()


async def _close(connection: MessageBus) -> None:
    connection.disconnect()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CALL_SECONDS):
            await _ended(connection)


async def _check_enabled(session: MessageBus, enable: bool) -> None:
    """Read `org.a11y.Status`, an interface of the name `org.a11y.Bus`; turn accessibility on only when told to."""
    if enable:
        await _call(session, *_LAUNCHER, _PROPERTIES, "Set", "ssv", ["org.a11y.Status", "IsEnabled", Variant("b", True)])
        return
    for switch in ("IsEnabled", "ScreenReaderEnabled"):
        if (await _call(session, *_LAUNCHER, _PROPERTIES, "Get", "ss", ["org.a11y.Status", switch]))[0].value:
            return
    raise AccessibilityUnavailable("accessibility is off in this session", _TURN_ON)


async def _call(
    bus: MessageBus, name: str, path: str, interface: str, member: str, signature: str = "", body: Iterable[object] = ()
) -> list[Any]:
    message = Message(destination=name, path=path, interface=interface, member=member, signature=signature, body=list(body))
    try:
        async with asyncio.timeout(CALL_SECONDS):
            reply = await bus.call(message)
    except TimeoutError:
        raise BusError(f"{member} timed out") from None
    except (OSError, EOFError, DBusError) as error:
        raise BusError(f"{member}: {type(error).__name__}") from None
    if reply is None or reply.message_type is MessageType.ERROR:
        error_name = None if reply is None else reply.error_name
        raise BusError(f"{member}: {error_name or 'disconnected'}", unknown=error_name == _NOBODY)
    return list(reply.body)
