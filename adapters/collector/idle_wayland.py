"""How long a person has been still, from a Wayland compositor: a client of a few messages that asks to be told of the first idle second.

`idle` makes it. It speaks the wire format itself: 32-bit words in the machine's byte order, first the object, then size and opcode. It
binds a seat and an idle notifier, and takes part in nothing else: no window, no keyboard, no pointer.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from .hang_up import hang_up

CONNECT_SECONDS = 0.5
STILL_MS = 1000  # shorter pauses count as none

_WORDS = struct.Struct("=II")
_DISPLAY, _REGISTRY, _SYNC, _SEAT, _NOTIFIER, _NOTIFICATION = range(1, 7)  # our object ids
_ERROR_EVENT = 0
_IDLED = 0  # the only other event of a notification says that the person is back

#: The notifiers we can speak with, best first. Both give a notification by their request 0 or 1, with the arguments in another order.
_NOTIFIERS = ("ext_idle_notifier_v1", "org_kde_kwin_idle")


class WaylandIdle:
    """The compositor that `env` names. A pause of the person is known to a second."""

    name = "Wayland idle notification"

    def __init__(self, env: Mapping[str, str]) -> None:
        self._path = Path(env.get("XDG_RUNTIME_DIR", "/")) / env.get("WAYLAND_DISPLAY", "")  # an absolute name stands for itself
        self._reading: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._still_since: float | None = None

    async def idle_seconds(self) -> float | None:
        """Seconds since the last input, 0 for less than one; None when the compositor offers no idle notification, or is not there."""
        if not await self._open():
            return None
        return 0.0 if self._still_since is None else time.monotonic() - self._still_since

    async def close(self) -> None:
        """Leave the compositor."""
        reading, self._reading = self._reading, None
        writer, self._writer = self._writer, None
        await hang_up(reading, writer)
        self._still_since = None

    async def _open(self) -> bool:
        if self._reading is not None and not self._reading.done():
            return True
        await self.close()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, self._writer = await asyncio.open_unix_connection(self._path)
                found = await self._globals(reader)
        except (OSError, EOFError, TimeoutError, struct.error, UnicodeDecodeError):
            found = {}
        notifier = next((interface for interface in _NOTIFIERS if interface in found), None)
        if notifier is None or "wl_seat" not in found:
            await self.close()
            return False
        self._bind("wl_seat", found["wl_seat"], _SEAT)
        self._bind(notifier, found[notifier], _NOTIFIER)
        if notifier == _NOTIFIERS[0]:
            self._send(_NOTIFIER, 1, struct.pack("=III", _NOTIFICATION, STILL_MS, _SEAT))
        else:
            self._send(_NOTIFIER, 0, struct.pack("=III", _NOTIFICATION, _SEAT, STILL_MS))
        self._reading = asyncio.create_task(self._read(reader))
        return True

    async def _globals(self, reader: asyncio.StreamReader) -> dict[str, int]:
        """The number of each interface that the compositor offers; of several seats the first."""
        self._send(_DISPLAY, 1, struct.pack("=I", _REGISTRY))
        self._send(_DISPLAY, 0, struct.pack("=I", _SYNC))
        found: dict[str, int] = {}
        while True:
            sender, _, body = await _message(reader)
            if sender == _SYNC:
                return found
            if sender == _REGISTRY:
                number, length = _WORDS.unpack_from(body)
                found.setdefault(body[8 : 8 + length - 1].decode(), number)
            elif sender == _DISPLAY:
                raise ConnectionError("the compositor refused")

    def _bind(self, interface: str, number: int, our_id: int) -> None:
        name = interface.encode() + b"\0"
        padded = name + b"\0" * (-len(name) % 4)
        self._send(_REGISTRY, 0, struct.pack("=II", number, len(name)) + padded + struct.pack("=II", 1, our_id))

    def _send(self, target: int, opcode: int, body: bytes) -> None:
        assert self._writer is not None
        self._writer.write(_WORDS.pack(target, (_WORDS.size + len(body)) << 16 | opcode) + body)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, EOFError, struct.error):
            while True:
                sender, opcode, _ = await _message(reader)
                if sender == _DISPLAY and opcode == _ERROR_EVENT:
                    return
                if sender == _NOTIFICATION:
                    self._still_since = time.monotonic() - STILL_MS / 1000 if opcode == _IDLED else None


async def _message(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    sender, size_and_opcode = _WORDS.unpack(await reader.readexactly(_WORDS.size))
    size = size_and_opcode >> 16
    if size < _WORDS.size:
        raise ConnectionError("not a Wayland message")
    return sender, size_and_opcode & 0xFFFF, await reader.readexactly(size - _WORDS.size)
