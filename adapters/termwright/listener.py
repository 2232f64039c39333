"""The private unix socket that a program's adapter connects to: made before the program is spawned, gone with the session.

It numbers the sockets, hands their bytes to the driver, and closes as it is told. It decides nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Protocol

from ...errors import Unavailable

#: Bytes of ours that a peer may leave unread before its socket is destroyed: what we say is short, and a peer that never reads is broken.
MAX_UNREAD = 1 << 18
#: Bytes of the path of a unix socket.
MAX_PATH = 107


class Handler(Protocol):
    """Who is told about the sockets, by number."""

    def connected(self, socket: int) -> None:
        """A socket was accepted."""

    def received(self, socket: int, data: bytes) -> None:
        """Bytes came from a socket."""

    def disconnected(self, socket: int) -> None:
        """A socket is gone."""


class Listener:
    """One endpoint: `path` is a socket in a directory of mode 0700 that nobody else can enter."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._numbers = itertools.count(1)
        self._links: dict[int, _Link] = {}
        self._server: asyncio.Server | None = None
        self._directory = Path(tempfile.mkdtemp(prefix="termwright-"))
        self.path = str(self._directory / "semantic.sock")
        self.temporary = self._directory / "tmp"  #: a folder for the program, which goes with the endpoint

    async def open(self) -> None:
        """Start to listen; raises `Unavailable` when the folder for temporary files has too long a name for a socket."""
        if len(os.fsencode(self.path)) > MAX_PATH:
            raise Unavailable(
                f"sockets in {self._directory.parent} would have too long a path", "set TMPDIR to a shorter path, such as /tmp"
            )
        self.temporary.mkdir(mode=0o700)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(self._accept, path=self.path, start_serving=False)
        await self._server.start_serving()  # of its own: a cancellation here finds the server already in our hands

    def send(self, socket: int, data: bytes) -> bool:
        """Write to a socket; nothing when it is gone. One that leaves too much unread is destroyed, and the answer is then False."""
        link = self._links.get(socket)
        if link is None or link.transport.is_closing():
            return True
        link.transport.write(data)
        if link.transport.get_write_buffer_size() <= MAX_UNREAD:
            return True
        link.transport.abort()
        return False

    def end(self, socket: int, drain: float) -> None:
        """End a socket: FIN after what is written, destroyed after `drain` seconds; at once, and unsaid, for 0."""
        link = self._links.get(socket)
        if link is None:
            return
        if drain == 0 or link.transport.is_closing():
            link.transport.abort()
            return
        if link.destroy is None:
            link.transport.write_eof()
            link.destroy = asyncio.get_running_loop().call_later(drain, link.transport.abort)

    def stop(self) -> None:
        """Accept no more sockets."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def close(self) -> None:
        """Stop listening, destroy every socket, remove the endpoint and its directory."""
        self.stop()
        try:
            await asyncio.sleep(0)  # a socket that was accepted in this turn of the loop becomes a link in the next
            links = list(self._links.values())
            for link in links:
                link.transport.abort()
            await asyncio.gather(*(link.gone.wait() for link in links))
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _accept(self) -> _Link:
        return _Link(next(self._numbers), self._links, self._handler)


class _Link(asyncio.Protocol):
    """One accepted socket."""

    transport: asyncio.Transport

    def __init__(self, number: int, links: dict[int, _Link], handler: Handler) -> None:
        self._number, self._links, self._handler = number, links, handler
        self.destroy: asyncio.TimerHandle | None = None
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._links[self._number] = self
        self._handler.connected(self._number)

    def data_received(self, data: bytes) -> None:
        self._handler.received(self._number, data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.destroy is not None:
            self.destroy.cancel()
        self._links.pop(self._number, None)
        self.gone.set()
        self._handler.disconnected(self._number)
