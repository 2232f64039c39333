"""Finds the addresses of browsers that hide them, by multicast DNS on every network of this machine; called by the ICE path.

One socket a path, opened with the first name that is asked for: few clients need it, and on a machine without multicast there is none.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import Any, cast

from ....machines.desklink import mdns
from ...log import get_logger

log = get_logger()

PAUSES_SECONDS = (0.3, 0.7, 1.0, 2.0)
"""So long an answer is waited for, each time the question is asked."""

MOST_NAMES = 256
"""So many names has one client, of all its networks and restarts."""


class Names(asyncio.DatagramProtocol):
    """The names of one path's client. `addresses` are those of this machine, each of which is on a network that is asked."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses = [address for address in addresses if ":" not in address]
        self._opening = asyncio.Lock()
        self._transport: asyncio.DatagramTransport | None = None
        self._asked: dict[str, asyncio.Future[str]] = {}
        self._closed = False

    async def address(self, name: str) -> str | None:
        """The address of a name; None when nobody tells it in time. A browser has another name for another address, so it is asked once."""
        name = name.lower().rstrip(".")
        if len(self._asked) >= MOST_NAMES and name not in self._asked:
            return None
        told = self._asked.setdefault(name, asyncio.get_running_loop().create_future())
        try:
            question = mdns.question(name)
            await self._open()
            for pause in PAUSES_SECONDS:
                if not told.done():
                    self._ask(question)
                    await asyncio.wait([told], timeout=pause)
        except (OSError, ValueError) as error:
            log.debug("a name could not be asked for", name=name, reason=str(error))
        return told.result() if told.done() and not told.cancelled() else None

    async def _open(self) -> None:
        async with self._opening:
            if self._is_closed():
                raise OSError("the path is closed")
            if self._transport is not None:
                return
            asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                # The browser has the port too, and perhaps a responder of this machine.
                for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
                    asking.setsockopt(socket.SOL_SOCKET, option, 1)
                asking.setblocking(False)
                asking.bind(("", mdns.PORT))
                self._addresses = [address for address in self._addresses if _joined(asking, address)]
                if not self._addresses:
                    raise OSError("no network of this machine carries multicast")
                self._transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=asking)
            except BaseException:
                asking.close()
                raise
            if self._is_closed():  # meanwhile
                self._transport.close()

    def _ask(self, question: bytes) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            return
        asking = cast(socket.socket, self._transport.get_extra_info("socket"))
        for address in self._addresses:
            asking.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
            self._transport.sendto(question, (mdns.GROUP, mdns.PORT))

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Somebody on the network says something."""
        for name, address in mdns.answers(data):
            if (told := self._asked.get(name)) is not None and not told.done():
                told.set_result(address)

    def error_received(self, exc: Exception) -> None:
        """A network that is gone is asked in vain."""

    def _is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Ask nobody any more."""
        self._closed = True
        for told in self._asked.values():
            told.cancel()
        if self._transport is not None:
            self._transport.close()


def _joined(asking: socket.socket, address: str) -> bool:
    try:
        asking.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(mdns.GROUP) + socket.inet_aton(address))
    except OSError:
        return False
    return True
