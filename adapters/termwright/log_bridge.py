"""Carries a program's own log to its driver: a `logging` handler and a structlog processor. Both send only what the driver's budget allows.

Public as `triptych.engine.probe.LogHandler` and `structlog_processor`. They use the client that they are given, else the one of this
process that a driver has accepted. Without one, or without a budget, they count what passes and send nothing. termwright/3, logs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, MutableMapping
from itertools import islice
from typing import Any, Final

from ...generated.termwright.models import LogAttribute, LogLevel
from ...generated.termwright.vocabulary import MAX_LOG_ATTRIBUTES
from .client import Client, current

#: Characters of a message, and of an attribute: a record of ordinary text then fits the default maxStringBytes and maxLogRecordBytes.
MAX_MESSAGE: Final = 4000
MAX_ATTRIBUTE: Final = 256
_BARE: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_STRUCTLOG: Final[Mapping[str, LogLevel]] = {
    "notset": "trace",
    "trace": "trace",
    "debug": "debug",
    "info": "info",
    "msg": "info",
    "warn": "warn",
    "warning": "warn",
    "err": "error",
    "error": "error",
    "exception": "error",
    "critical": "fatal",
    "fatal": "fatal",
}
#: The protocol's levels as numbers of `logging`, whose warning is 30 where the protocol's severity is 40.
_LOGGING: Final[tuple[tuple[int, LogLevel], ...]] = ((50, "fatal"), (40, "error"), (30, "warn"), (20, "info"), (10, "debug"))


class _Bridge:
    """Counts what a handler sends and drops."""

    def __init__(self, client: Client | None = None) -> None:
        self.sent = 0  #: records handed to the driver
        self.dropped = 0  #: records that were not: no driver, no budget, or the budget used up
        self._client = client

    def send(self, level: LogLevel, message: str, logger: str | None, attributes: Iterable[tuple[str, object]], at_ms: int | None) -> None:
        client = self._client or current()
        sent = False
        if client is not None:
            flat = {_text(str(key), MAX_ATTRIBUTE): _flat(value) for key, value in islice(attributes, MAX_LOG_ATTRIBUTES)}
            name = _text(logger, MAX_ATTRIBUTE) if logger else None
            sent = client.log(level, _text(message, MAX_MESSAGE), logger=name, attributes=flat, at_ms=at_ms)
        self.sent += sent
        self.dropped += not sent


class LogHandler(logging.Handler):
    """A handler for `logging`: `logging.getLogger().addHandler(LogHandler())`. What a caller passes as `extra` becomes attributes."""

    def __init__(self, client: Client | None = None, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._bridge = _Bridge(client)

    @property
    def sent(self) -> int:
        """Records handed to the driver."""
        return self._bridge.sent

    @property
    def dropped(self) -> int:
        """Records that were not: no driver, no budget, or the budget used up."""
        return self._bridge.dropped

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record, or count it."""
        try:
            level: LogLevel = next((word for number, word in _LOGGING if record.levelno >= number), "trace")
            attributes = [(key, value) for key, value in vars(record).items() if key not in _BARE]
            if record.exc_info and record.exc_info[1] is not None:
                attributes.append(("exception", repr(record.exc_info[1])))
            self._bridge.send(level, record.getMessage(), record.name, attributes, int(record.created * 1000))
        except Exception:
            self.handleError(record)


class StructlogProcessor:
    """A processor for structlog, which passes the event on unchanged: put it before the renderer."""

    def __init__(self, client: Client | None = None) -> None:
        self._bridge = _Bridge(client)

    @property
    def sent(self) -> int:
        """Records handed to the driver."""
        return self._bridge.sent

    @property
    def dropped(self) -> int:
        """Records that were not: no driver, no budget, or the budget used up."""
        return self._bridge.dropped

    def __call__(self, logger: Any, method_name: str, event_dict: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Send the event, or count it."""
        level = _STRUCTLOG.get(str(event_dict.get("level", method_name)).lower(), "info")
        name = event_dict.get("logger", getattr(logger, "name", None))
        attributes = [(key, value) for key, value in event_dict.items() if key not in ("event", "level", "logger", "timestamp")]
        self._bridge.send(level, str(event_dict.get("event", "")), name if isinstance(name, str) else None, attributes, None)
        return event_dict


def _text(text: str, most: int) -> str:
    """As much of it as fits, without unpaired surrogates."""
    if len(text) > most:
        text = text[: most - 1] + "…"
    return text.encode("utf-8", "replace").decode()


def _flat(value: object) -> LogAttribute:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value if abs(value) < 2**53 else _text(repr(value), MAX_ATTRIBUTE)
    return _text(value if isinstance(value, str) else repr(value), MAX_ATTRIBUTE)
