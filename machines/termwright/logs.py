"""The log channel of one session: order, gaps, the budget on arrival, and times moved onto the session's own clock.

The driver session makes one when the adapter announced `logs`, and feeds it every record whose shape is accepted. A record that is refused
never closes the channel. termwright/3, structured logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.json import encode

from ...errors import RemoteProtocolError
from ...generated.termwright.models import LogRecord
from ...generated.termwright.vocabulary import LOG_BURST, LOG_RECORDS_PER_SECOND, LOG_WINDOW_MS
from ..wire.read import Reader
from ..wire.text import TERMWRIGHT
from .limits import DEFAULT_LIMITS
from .projection import project

RECORDS: Final[Reader[LogRecord]] = Reader("termwright", "LogRecord", TERMWRIGHT)

#: What a session grants in its hello-ack: records a second, and how many more at once.
RATE, BURST = LOG_RECORDS_PER_SECOND, LOG_BURST
#: Seconds over which dropped records are counted before they are reported.
WINDOW = LOG_WINDOW_MS / 1000


def validate_log_record(value: object, limits: Mapping[str, int] = DEFAULT_LIMITS) -> LogRecord:
    """The record in a plain value: projection, size, then shape. Raises `RemoteProtocolError` with a validation code."""
    try:
        plain = project(value, limits["maxDepth"])
    except RemoteProtocolError as fault:
        raise RemoteProtocolError("depth" if fault.code == "dto-depth" else "schema", fault.detail, fault.path) from None
    size = len(encode(plain))
    if size > limits["maxLogRecordBytes"]:
        raise RemoteProtocolError("bytes", f"{size} bytes; the ceiling is {limits['maxLogRecordBytes']}")
    return RECORDS.read_value(plain, limits)


@dataclass(frozen=True)
class Logged:
    """A record that was taken. `at_ms` is milliseconds since the handshake, `lost` how many records the source dropped just before."""

    record: LogRecord
    at_ms: int
    lost: int


@dataclass(frozen=True)
class LogNotice:
    """A record that was not taken: `code` is `protocol-violation` (its seq does not increase) or `log-dropped` (over budget)."""

    code: str
    detail: str


class LogChannel:
    """Checks records in the order of arrival. `now` is monotonic seconds; `anchor_ms` is the wall clock at the handshake.

    What the session granted is what it takes: RATE a second (50 in a window of 250 ms) and the burst on top, as a source that keeps its
    budget counts them. What is beyond that is counted, and reported once a window.
    """

    def __init__(self, now: float, anchor_ms: int) -> None:
        self._started = self._refilled = now
        self._anchor_ms = anchor_ms
        self._tokens = float(RATE + BURST)
        self._seq: int | None = None
        self._dropped = 0
        self._window_ends: float | None = None

    def accept(self, record: LogRecord, now: float) -> list[Logged | LogNotice]:
        """Take or refuse one record; overdue reports come first."""
        answers: list[Logged | LogNotice] = [*self.overdue(now)]
        last = self._seq
        if last is not None and record.seq <= last:
            return [*answers, LogNotice("protocol-violation", f"malformed: log seq {record.seq} after {last}")]
        self._seq = record.seq
        self._tokens = min(float(RATE + BURST), self._tokens + (now - self._refilled) * RATE)
        self._refilled = now
        if self._tokens < 1:
            self._dropped += 1
            self._window_ends = self._window_ends or now + WINDOW
            return answers
        self._tokens -= 1
        elapsed = int((now - self._started) * 1000)
        lost = 0 if last is None else record.seq - last - 1
        return [*answers, Logged(record, min(max(record.ts - self._anchor_ms, 0), elapsed), lost)]

    def deadline(self) -> float | None:
        """When dropped records are to be reported, or None."""
        return self._window_ends

    def overdue(self, now: float) -> list[LogNotice]:
        """One report for all records dropped in a window that has ended."""
        if self._window_ends is None or now < self._window_ends:
            return []
        count, self._dropped, self._window_ends = self._dropped, 0, None
        return [LogNotice("log-dropped", f"{count} log records over the budget of {RATE} a second")]
