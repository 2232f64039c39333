"""One connection to a D-Bus daemon: calls with a deadline, signals, and why there is none, in words; the Linux sources build on it.

It starts no service that does not run, unless a call says so, and owns no name.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dbus_fast import Message, MessageFlag, MessageType
from dbus_fast.aio import MessageBus
from dbus_fast.errors import AuthError, DBusError, InvalidAddressError

CALL_SECONDS = 0.5
SYSTEM_BUS = "unix:path=/run/dbus/system_bus_socket"
DAEMON = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
PROPERTIES = "org.freedesktop.DBus.Properties"

#: What a name, object or method that is not there answers.
_UNKNOWN = tuple(f"org.freedesktop.DBus.Error.{kind}" for kind in ("ServiceUnknown", "NameHasNoOwner", "UnknownObject", "UnknownMethod"))


class BusError(Exception):
    """A call had no answer, or the wrong one. The message names the D-Bus error, never a text of a program.

    `unknown`: what was called is not there, and nothing starts a program that would be. `error_name`: the D-Bus error, "" without one.
    """

    def __init__(self, message: str, *, error_name: str = "") -> None:
        super().__init__(message)
        self.error_name = error_name
        self.unknown = error_name.startswith(_UNKNOWN)


class NoBus(Exception):
    """There is no bus at an address; the message says why, for a person."""


class Connection:
    """Made by `connect`. After `disconnect` every call raises BusError."""

    def __init__(self, bus: MessageBus) -> None:
        self._bus = bus
        # Never cancelled: cancelling it would cancel dbus-fast's own future too.
        self._end = asyncio.ensure_future(_ended(bus))

    @classmethod
    async def connect(cls, address: str) -> Connection:
        """Connect within `CALL_SECONDS`. Raises NoBus; TimeoutError when something listens and stays silent."""
        try:
            bus = MessageBus(bus_address=address)
        except (ValueError, LookupError, OSError, InvalidAddressError) as error:
            raise NoBus(_in_words(error)) from None
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await bus.connect()
        except (OSError, ValueError, LookupError, AuthError, DBusError, EOFError) as error:
            bus.disconnect()
            if isinstance(error, TimeoutError):
                raise
            raise NoBus(_in_words(error)) from None
        except asyncio.CancelledError:
            bus.disconnect()
            raise
        return cls(bus)

    @property
    def name(self) -> str:
        """Our unique name on the bus."""
        return self._bus.unique_name or ""

    @property
    def is_lost(self) -> bool:
        """Whether the connection has ended."""
        return self._end.done()

    def listen(self, handler: Callable[[Message], Any]) -> None:
        """Hand every message that is no reply to `handler`; what it returns answers a method call."""
        self._bus.add_message_handler(handler)

    async def call(
        self, name: str, path: str, interface: str, member: str, signature: str = "", body: Iterable[object] = (), *, start: bool = False
    ) -> list[Any]:
        """Call a method; the answer's values. `start`: let the bus start who owns the name. Raises BusError, also after `CALL_SECONDS`."""
        flags = MessageFlag.NONE if start else MessageFlag.NO_AUTOSTART
        message = Message(name, path, interface, member, signature=signature, body=list(body), flags=flags)
        try:
            async with asyncio.timeout(CALL_SECONDS):
                reply = await self._bus.call(message)
        except TimeoutError:
            raise BusError(f"{member} timed out") from None
        except (OSError, EOFError, DBusError) as error:
            raise BusError(f"{member}: {type(error).__name__}") from None
        if reply is None or reply.message_type is MessageType.ERROR:
            error_name = "" if reply is None else reply.error_name or ""
            raise BusError(f"{member}: {error_name or 'disconnected'}", error_name=error_name)
        return list(reply.body)

    async def get(self, name: str, path: str, interface: str, member: str, *, start: bool = False) -> Any:
        """Read one property. Raises BusError."""
        return (await self.call(name, path, PROPERTIES, "Get", "ss", [interface, member], start=start))[0].value

    async def watch(self, *rules: str) -> None:
        """Ask the daemon to pass the signals of these match rules on. Raises BusError."""
        await asyncio.gather(*(self.call(*DAEMON, "AddMatch", "s", [rule]) for rule in rules))

    def tell(self, name: str, path: str, interface: str, member: str, signature: str, body: Iterable[object]) -> None:
        """Call a method and wait for nothing: the message is on its way before this returns, in order with all others."""
        flags = MessageFlag.NO_REPLY_EXPECTED | MessageFlag.NO_AUTOSTART
        sent = self._bus.send(Message(name, path, interface, member, signature=signature, body=list(body), flags=flags))
        sent.add_done_callback(lambda done: done.cancelled() or done.exception())  # a connection that is lost is noticed elsewhere

    def disconnect(self) -> None:
        """Leave the bus at once; what was subscribed to is gone with it."""
        self._bus.disconnect()

    async def close(self) -> None:
        """Leave the bus, and wait until the connection is let go."""
        self._bus.disconnect()
        await asyncio.wait((self._end,), timeout=CALL_SECONDS)

    async def lost(self) -> None:
        """Return when the bus is gone."""
        await asyncio.wait((self._end,))


def session_address(env: Mapping[str, str]) -> str | None:
    """Where the session bus is; None when nothing says so."""
    runtime = env.get("XDG_RUNTIME_DIR")
    return env.get("DBUS_SESSION_BUS_ADDRESS") or (f"unix:path={runtime}/bus" if runtime else None)


def system_address(env: Mapping[str, str]) -> str:
    """Where the system bus is."""
    return env.get("DBUS_SYSTEM_BUS_ADDRESS") or SYSTEM_BUS


def _in_words(error: Exception) -> str:
    """Why there is no connection to a bus. dbus-fast reads an address with whatever `int` and `dict` raise."""
    match error:
        case OSError(strerror=str(words)):
            return words
        case AuthError() | DBusError():
            return "it does not let this user in"
        case EOFError():
            return "it hung up"
        case _:
            return "its address cannot be used"


async def _ended(bus: Any) -> None:  # dbus-fast leaves this one method untyped
    with contextlib.suppress(OSError, EOFError):  # how it ended does not matter
        await bus.wait_for_disconnect()
