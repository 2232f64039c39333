"""Sends datagrams from any thread on a socket that the event loop reads; called by the agents, one for each UDP address.

The loop's transport may be used on the loop only. This has a descriptor of its own for the same socket.
"""

from __future__ import annotations

import socket
import threading
from asyncio.trsock import TransportSocket
from collections.abc import Sequence

from ...log import get_logger

log = get_logger()


class UdpSender:
    """Sends on the socket of a datagram transport."""

    def __init__(self, of: TransportSocket) -> None:
        self._socket: socket.socket | None = of.dup()
        self._lock = threading.Lock()

    def send(self, packets: Sequence[bytes], address: tuple[str, int]) -> int:
        """Send packets without waiting: so many of them are gone, and the socket is full for the rest. What an error costs is gone too."""
        with self._lock:
            for count, packet in enumerate(packets):
                if self._socket is None:
                    break
                try:
                    self._socket.sendto(packet, address)
                except BlockingIOError:
                    return count
                except OSError as error:  # as if it were lost on its way
                    log.debug("a packet was not sent", reason=str(error))
        return len(packets)

    def close(self) -> None:
        """Send no more; waits for who is sending."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None
