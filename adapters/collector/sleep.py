"""When the machine goes to sleep and wakes: logind's `PrepareForSleep` on the system bus, and the clocks where nobody announced it.

The Linux source makes both. They listen, and take no inhibitor: they never delay a suspend.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from dbus_fast import Message, MessageType

from .dbus import BusError, Connection, system_address
from .session_bus import KeptConnection

_LOGIND = "org.freedesktop.login1"
_MANAGER = "org.freedesktop.login1.Manager"
_RULE = f"type='signal',sender='{_LOGIND}',interface='{_MANAGER}',member='PrepareForSleep'"
SLEPT_SECONDS = 2.0


class SleepWatch:
    """Calls `slept(True)` and `slept(False)`. `name` says how it knows, None while nothing announces a sleep."""

    def __init__(self, env: Mapping[str, str], slept: Callable[[bool], None]) -> None:
        self._slept = slept
        self._bus = KeptConnection(system_address(env), self._prepare)
        self._watched: Connection | None = None
        self.name: str | None = None

    async def open(self) -> None:
        """Listen, if that is not done; answers within a second, never raises."""
        bus = await self._bus.get()
        try:
            if bus is not None and bus is not self._watched:
                await bus.watch(_RULE)
                self._watched = bus
            self.name = None if bus is None else "logind"
        except BusError:
            self.name = None

    async def close(self) -> None:
        """Leave the bus."""
        await self._bus.close()

    def _prepare(self, bus: Connection) -> None:
        bus.listen(self._received)

    def _received(self, message: Message) -> None:
        # The rule names the sender: the daemon lets no one else's signal of that name through.
        announced = message.message_type is MessageType.SIGNAL and (message.interface, message.member) == (_MANAGER, "PrepareForSleep")
        if announced and message.signature == "b":
            self._slept(bool(message.body[0]))


class SleepClock:
    """Whether the machine slept since it was asked last: then the clock that counts sleep ran ahead of the one that does not."""

    def __init__(self, ahead: Callable[[], float] | None = None) -> None:
        self._ahead = ahead or _ahead
        self._last = self._ahead()

    def slept(self) -> bool:
        """True once after each sleep of `SLEPT_SECONDS` or more."""
        last, self._last = self._last, self._ahead()
        return self._last - last >= SLEPT_SECONDS


def _ahead() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
