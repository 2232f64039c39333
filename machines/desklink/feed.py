"""Decides what becomes of the video that a consumer feeds: sent, or dropped; and when to ask it for a key frame. Called by a live session.

A live picture is worth more than a backlog of stale ones, so a unit that cannot be sent soon is dropped, the newest first. What follows a
dropped unit could not be decoded: everything up to the next IDR is dropped too, and that IDR is asked for. A consumer is asked at most once
in half a second, but always when the transport connects, since nothing sent before has arrived (desklink v3, encoded sources).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...generated.desklink.vocabulary import FEED_QUEUE_UNITS, KEYFRAME_REQUEST_INTERVAL_MS
from .h264 import IDR, SPS, kinds, parameter_sets, profile_level_id

INTERVAL = KEYFRAME_REQUEST_INTERVAL_MS / 1000


@dataclass(frozen=True)
class Offer:
    """The stream told its profile: offer it to the client."""

    profile: str


@dataclass(frozen=True)
class Send:
    """Send this access unit after those before it, and then call `sent`. `keyframe` is the consumer's word."""

    unit: bytes
    keyframe: bool


@dataclass(frozen=True)
class AskForKeyframe:
    """Ask the consumer for an access unit with an IDR."""


Order = Offer | Send | AskForKeyframe


class Feed:
    """The fed video of one session. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.fed = self.dropped = 0
        self._profile: str | None = None
        self._connected = False
        self._queued = 0
        self._broken = True  # the client cannot decode anything but an IDR now
        self._sets = b""  # parameter sets of dropped units: the next IDR may need them
        self._asked_at = float("-inf")
        self._due = False  # a key frame is to be asked for when the interval is over

    def take(self, unit: bytes, keyframe: bool, now: float) -> list[Order]:
        """The consumer feeds a unit."""
        self.fed += 1
        orders: list[Order] = []
        if self._profile is None and (profile := profile_level_id(unit)):
            self._profile = profile
            orders.append(Offer(profile))
        if not self._connected:
            self._drop(unit)  # nothing sent now would arrive
        elif self._queued >= FEED_QUEUE_UNITS:
            self._drop(unit)
            orders += self._ask(now)
        elif not self._broken:
            orders.append(self._send(unit, keyframe))
        elif IDR in (present := kinds(unit)):
            self._broken = self._due = False
            orders.append(self._send(unit if SPS in present else self._sets + unit, keyframe))
        else:
            self._drop(unit)
            orders += self._ask(now)
        return orders

    def sent(self) -> None:
        """A unit left the queue."""
        self._queued -= 1

    def connect(self, now: float) -> list[Order]:
        """The transport is connected, for the first time or again."""
        self._connected = self._broken = True
        self._asked_at, self._due = now, False
        return [AskForKeyframe()]

    def disconnect(self) -> None:
        """The transport is not connected any more."""
        self._connected = False
        self._due = False

    def lose(self, now: float) -> list[Order]:
        """The client reports a loss that it cannot repair (PLI or FIR)."""
        return self._ask(now) if self._connected else []

    def deadline(self) -> float | None:
        """When `tick` is due."""
        return self._asked_at + INTERVAL if self._due else None

    def tick(self, now: float) -> list[Order]:
        """Time has passed."""
        return self._ask(now) if self._due else []

    def _send(self, unit: bytes, keyframe: bool) -> Send:
        self._queued += 1
        self._sets = b""
        return Send(unit, keyframe)

    def _drop(self, unit: bytes) -> None:
        self.dropped += 1
        self._broken = True
        self._sets = parameter_sets(unit) or self._sets

    def _ask(self, now: float) -> list[Order]:
        self._due = now < self._asked_at + INTERVAL
        if self._due:
            return []
        self._asked_at = now
        return [AskForKeyframe()]
