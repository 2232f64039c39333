"""One connection to the session bus, or the system bus, kept while it lasts: for the sources that ask a desktop service now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .dbus import Connection, NoBus


class KeptConnection:
    """The bus at an address, None for none. `prepare` is called with each new connection before anything is asked."""

    def __init__(self, address: str | None, prepare: Callable[[Connection], None] | None = None) -> None:
        self._address = address
        self._prepare = prepare
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()

    async def get(self) -> Connection | None:
        """The connection, made anew if it was lost; None when there is no bus, or one that is silent."""
        async with self._opening:
            if self._connection is not None and self._connection.is_lost:
                await self.close()
            if self._connection is None and self._address is not None:
                try:
                    self._connection = await Connection.connect(self._address)
                except (NoBus, TimeoutError):
                    return None
                if self._prepare is not None:
                    self._prepare(self._connection)
            return self._connection

    async def close(self) -> None:
        """Leave the bus."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
