"""The data channel `control` of one peer connection: ordered, reliable, text, with a heartbeat; called by the peer connection.

What is sent while the path is dead waits in SCTP and arrives once, when a path is back. Heartbeats do not pile up meanwhile: one that
would wait behind others says nothing new.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from ....generated.desklink.vocabulary import PING_INTERVAL_MS
from ...log import get_logger
from . import library

log = get_logger()

PING = json.dumps({"kind": "ping"}, separators=(",", ":"))
MOST_PENDING_PINGS = 3
MOST_BUFFERED_BYTES = 4 << 20
"""A client that does not read so much has no use for the session."""


class ControlChannel:
    """The channel, announced to the client as soon as SCTP stands. `stuck` is called once when the client reads nothing any more."""

    def __init__(
        self,
        sctp: library.Sctp,
        *,
        opened: Callable[[], None],
        closed: Callable[[], None],
        received: Callable[[bytes], None],
        stuck: Callable[[], None],
    ) -> None:
        self._sctp = sctp
        self._opened, self._closed, self._received, self._stuck = opened, closed, received, stuck
        self._heartbeat: asyncio.TimerHandle | None = None
        self._channel = library.open_channel(sctp, "control")
        self._channel.on("open", self._open)
        self._channel.on("close", self._close)
        self._channel.on("message", self._message)

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent now."""
        return self._channel.readyState == "open"

    def send(self, message: dict[str, Any]) -> None:
        """Queue a message, if the channel is open."""
        self._send(json.dumps(message, ensure_ascii=False, separators=(",", ":")))

    async def flush(self, seconds: float) -> None:
        """Wait until the client has acknowledged everything, at most so long."""
        if not self.is_open:
            return
        self._sctp.drained.clear()
        await asyncio.sleep(0)  # what was queued just now is handed on by a task
        if self._sctp.unacknowledged:
            try:
                await asyncio.wait_for(self._sctp.drained.wait(), seconds)
            except TimeoutError:
                log.debug("the client did not acknowledge everything")

    def stop(self) -> None:
        """Tell nobody anything any more."""
        self._channel.remove_all_listeners()
        self._stop_heartbeat()

    def _open(self) -> None:
        self._opened()
        self._beat()

    def _beat(self) -> None:
        if self._sctp.unacknowledged < MOST_PENDING_PINGS:
            self._send(PING)
        self._heartbeat = asyncio.get_running_loop().call_later(PING_INTERVAL_MS / 1000, self._beat)

    def _close(self) -> None:
        self._stop_heartbeat()
        self._closed()

    def _stop_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            self._heartbeat = None

    def _message(self, message: str | bytes) -> None:
        self._received(message.encode() if isinstance(message, str) else message)

    def _send(self, text: str) -> None:
        if not self.is_open:
            return
        if self._channel.bufferedAmount > MOST_BUFFERED_BYTES:
            self._stop_heartbeat()
            self._stuck()
            return
        try:
            self._channel.send(text)
        except ValueError as error:  # larger than the client takes
            log.warning("a control message could not be sent", reason=str(error))
