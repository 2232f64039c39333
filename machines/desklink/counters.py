"""Counts what a session captured, encoded and sent, for `session.metrics`; the live session owns one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sent:
    """One picture that the peer connection sent: its encoded size in bytes, what it was, and how long each step took in microseconds.

    `motion`: it was coded because the picture had changed, after waiting `queue_micros`. `convert_micros` is the time to make the planes
    that the encoder takes, `encode_micros` the time in the encoder; of a fed unit, the time to make and send its packets.
    """

    size: int
    key: bool = False
    refined: bool = False
    halved: bool = False
    motion: bool = False
    encode_micros: int = 0
    convert_micros: int = 0
    queue_micros: int = 0
    send_micros: int = 0


class Counters:
    """The counters of one session. `dropped` are pictures that were superseded before they were coded, and grabs that failed."""

    def __init__(self) -> None:
        self.captured = self.dropped = self.capture_micros = 0
        self.codec: str | None = None
        self.encoder: str | None = None
        self._frames = self._bytes = self._keys = self._refined = self._halved = self._motion = 0
        self._encode_micros = self._convert_micros = self._queue_micros = self._send_micros = 0

    def sent(self, sent: Sent) -> bool:
        """Count a picture; True when it is the first."""
        self._frames += 1
        self._bytes += sent.size
        self._keys += sent.key
        self._refined += sent.refined
        self._halved += sent.halved
        self._motion += sent.motion
        self._encode_micros += sent.encode_micros
        self._convert_micros += sent.convert_micros
        self._queue_micros += sent.queue_micros
        self._send_micros += sent.send_micros
        return self._frames == 1

    def metrics(self) -> dict[str, Any]:
        """The members of `session.metrics` that are counted here."""
        return {
            "captured_frames": self.captured,
            "dropped_frames": self.dropped,
            "encoded_frames": self._frames,
            "encoded_bytes": self._bytes,
            "key_frames": self._keys,
            "refined_frames": self._refined,
            "encode_micros": self._encode_micros,
            "halved_frames": self._halved,
            "motion_frames": self._motion,
            "capture_micros": self.capture_micros,
            "convert_micros": self._convert_micros,
            "queue_micros": self._queue_micros,
            "send_micros": self._send_micros,
            "codec": self.codec,
            "encoder": self.encoder,
        }
