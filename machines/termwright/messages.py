"""The messages of both directions: bytes or plain values in, typed messages out, or the first fault under the protocol's result code.

The driver session reads adapters with `read_adapter_message`; an adapter reads its driver with `read_driver_message`. The `parse_` twins
take values that are already plain. Result codes: `bad-version`, `malformed`, `limit-exceeded`, `capability-provider-violation`; a body
that is no JSON text keeps its `frame-*` or `dto-*` code, which `wire_code` translates. termwright/3, messages and error codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from ...errors import RemoteProtocolError
from ...generated.termwright.models import AdapterMessage, DriverMessage, HelloAck, Limits, Log, SemanticFull
from ...generated.termwright.validators import adapter_message_decoder
from ..wire.read import Reader
from ..wire.text import TERMWRIGHT, TextFault, parse
from .fast import accepts
from .limits import DEFAULT_LIMITS, clamp
from .projection import project
from .validate import check_snapshot

ADAPTER_MESSAGES: Final[Reader[AdapterMessage]] = Reader("termwright", "AdapterMessage", TERMWRIGHT, fast_gate=accepts)
DRIVER_MESSAGES: Final[Reader[DriverMessage]] = Reader("termwright", "DriverMessage", TERMWRIGHT)

#: Embedded validation codes that have a result code of their own; every other one is `malformed`.
_EMBEDDED: Final = {
    **dict.fromkeys(("bytes", "count", "depth", "string-bytes"), "limit-exceeded"),
    "provider": "capability-provider-violation",
}


def read_adapter_message(body: bytes, limits: Mapping[str, int] = DEFAULT_LIMITS) -> AdapterMessage:
    """One message from an adapter: strict, and a snapshot in it is wholly validated. Raises `RemoteProtocolError`."""
    try:
        message = adapter_message_decoder().decode(body)
        if accepts(body, message, limits):
            _check_size(message, limits, len(body))
            return message
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # the walker finds out what is wrong
    try:
        message = ADAPTER_MESSAGES.read(body, limits)
    except RemoteProtocolError:
        # Size comes before shape, and is asked only when the shape failed: who is neither too long nor well formed is malformed.
        if len(body) > min(limits["maxSnapshotBytes"], limits["maxLogRecordBytes"]):
            _check_plain_size(_plain(body), limits, len(body))
        raise
    _check_size(message, limits, len(body))
    return _checked(message, limits)


def parse_adapter_message(value: object, limits: Mapping[str, int] = DEFAULT_LIMITS) -> AdapterMessage:
    """The same for a plain value that did not come out of a frame: it is projected first, and its JSON is bounded by `maxDepth` too."""
    plain = _projected(value, limits)
    _check_plain_size(plain, limits, None)
    return _checked(ADAPTER_MESSAGES.read_value(plain, limits), limits)


def read_driver_message(body: bytes, limits: Mapping[str, int] = DEFAULT_LIMITS) -> DriverMessage:
    """One message from the driver: unknown fields are ignored, and granted limits come back clamped to the absolute ones."""
    return _clamped(DRIVER_MESSAGES.read(body, limits))


def parse_driver_message(value: object, limits: Mapping[str, int] = DEFAULT_LIMITS) -> DriverMessage:
    """The same for a plain value."""
    return _clamped(DRIVER_MESSAGES.read_value(_projected(value, limits), limits))


def wire_code(code: str) -> str:
    """The code to put into an `error` message for a fault that the decoder or the parser found."""
    if code in ("frame-oversized", "dto-depth"):
        return "limit-exceeded"
    return "malformed" if code.startswith(("frame-", "dto-", "decoder-")) else code


def _checked(message: AdapterMessage, limits: Mapping[str, int]) -> AdapterMessage:
    if type(message) is SemanticFull:
        try:
            check_snapshot(message.snapshot, limits)
        except RemoteProtocolError as fault:
            path = f"snapshot.{fault.path}" if fault.path else "snapshot"
            raise _embedded("snapshot", fault.code, fault.detail, path) from None
    return message


def _check_size(message: AdapterMessage, limits: Mapping[str, int], size: int) -> None:
    if type(message) is SemanticFull and size > limits["maxSnapshotBytes"]:
        raise _too_long("snapshot", size, limits["maxSnapshotBytes"])
    if type(message) is Log and size > (most := limits["maxLogRecordBytes"]) and (size := len(msgspec.json.encode(message.record))) > most:
        raise _too_long("log record", size, most)


def _check_plain_size(plain: object, limits: Mapping[str, int], framed: int | None) -> None:
    """Refuse an embedded document that is too long: a snapshot by its whole frame where there is one, a log record by its own JSON."""
    if not isinstance(plain, dict):
        return
    if plain.get("type") == "semantic-full" and "snapshot" in plain:
        size, most = framed or len(msgspec.json.encode(plain["snapshot"])), limits["maxSnapshotBytes"]
        if size > most:
            raise _too_long("snapshot", size, most)
    elif plain.get("type") == "log" and "record" in plain:
        size, most = len(msgspec.json.encode(plain["record"])), limits["maxLogRecordBytes"]
        if size > most:
            raise _too_long("log record", size, most)


def _embedded(label: str, code: str, detail: str, path: str) -> RemoteProtocolError:
    return RemoteProtocolError(_EMBEDDED.get(code, "malformed"), f"{label} {code}: {detail}", path)


def _too_long(label: str, size: int, most: int) -> RemoteProtocolError:
    return _embedded(label, "bytes", f"{size} bytes; the ceiling is {most}", "record" if label == "log record" else "snapshot")


def _plain(body: bytes) -> object:
    try:
        return parse(body, TERMWRIGHT)
    except TextFault:
        return None


def _projected(value: object, limits: Mapping[str, int]) -> object:
    try:
        return project(value, limits["maxDepth"])
    except RemoteProtocolError as fault:
        raise RemoteProtocolError(wire_code(fault.code), fault.detail, fault.path) from None


def _clamped(message: DriverMessage) -> DriverMessage:
    if type(message) is HelloAck:
        limits = clamp(msgspec.to_builtins(message.limits))
        return msgspec.structs.replace(message, limits=msgspec.convert(limits, Limits))
    return message
