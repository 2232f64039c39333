"""Packets over TCP on 127.0.0.1, each behind its length (RFC 4571): what a passive ICE candidate listens with; called by `library`."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import cast

Address = tuple[str, int]

MOST_CLIENTS = 16
BACKLOG_BYTES = 1 << 20
"""A client that leaves more unread loses packets, as over UDP."""


class Framing:
    """Takes a stream apart, in whatever pieces it comes. No more than one packet, of 64 KiB at most, waits for its end."""

    def __init__(self) -> None:
        self._held = bytearray()

    def packets(self, data: bytes) -> list[bytes]:
        """The packets that `data` completes."""
        self._held += data
        found = []
        while len(self._held) >= 2 and len(self._held) >= (end := 2 + int.from_bytes(self._held[:2], "big")):
            found.append(bytes(self._held[2:end]))
            del self._held[:end]
        return found


class FramedServer:
    """Connections of clients, known by their address. `received` gets each packet with the address it came from."""

    def __init__(self, received: Callable[[bytes, Address], None]) -> None:
        self.received = received
        self.clients: dict[Address, asyncio.WriteTransport] = {}
        self._server: asyncio.Server | None = None

    async def listen(self) -> Address:
        """Wait for connections on a free port of 127.0.0.1; the address."""
        self._server = await asyncio.get_running_loop().create_server(lambda: _Client(self), "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        return host, port

    def send(self, packet: bytes, address: Address) -> None:
        """Send a packet to a client, or lose it."""
        client = self.clients.get(address)
        if client is not None and client.get_write_buffer_size() < BACKLOG_BYTES:
            client.write(struct.pack("!H", len(packet)) + packet)

    def close(self) -> None:
        """Listen no more, and drop all connections."""
        if self._server is not None:
            self._server.close()
        for client in list(self.clients.values()):
            client.abort()


class _Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, owner: FramedServer) -> None:
        self._owner = owner
        self._address: Address = ("", 0)
        self._framing = Framing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        client = cast(asyncio.Transport, transport)
        self._address = client.get_extra_info("peername")[:2]
        if len(self._owner.clients) >= MOST_CLIENTS:
            client.abort()
            return
        client.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._owner.clients[self._address] = client

    def data_received(self, data: bytes) -> None:
        for packet in self._framing.packets(data):
            self._owner.received(packet, self._address)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.clients.pop(self._address, None)
