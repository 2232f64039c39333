"""Frames of the semantic socket: a four-byte big-endian length, then that many bytes of UTF-8 JSON, in both directions.

`FrameDecoder` cuts chunks into bodies or values and is poisoned by the first violation; `encode_frame` makes one frame. Driver and adapter
sessions both use them. termwright/3, framing.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator

import msgspec
from msgspec import UNSET

from ...errors import LocalProtocolError, RemoteProtocolError
from ...generated.termwright.vocabulary import FRAME_HEADER_BYTES
from ..wire.text import TERMWRIGHT, TextFault, parse
from .marker import MAX_SAFE_INTEGER

HEADER_BYTES = FRAME_HEADER_BYTES

_declared = struct.Struct(">I").unpack
_LONG_INTEGER = re.compile(rb"[0-9]{16}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _check_ceiling(max_frame_bytes: int) -> None:
    if type(max_frame_bytes) is not int or not 0 < max_frame_bytes <= MAX_SAFE_INTEGER:
        raise LocalProtocolError("frame-malformed", "the frame ceiling must be a positive safe integer")


def decode_body(body: bytes) -> object:
    """The projected plain value of one frame body; raises `RemoteProtocolError` (`frame-encoding`, `frame-malformed`, `dto-*`)."""
    try:
        value = parse(body, TERMWRIGHT)
    except TextFault as fault:
        raise RemoteProtocolError(TERMWRIGHT.codes[fault.kind], fault.detail) from None
    return _rounded(value) if _LONG_INTEGER.search(body) else value


def _rounded(value: object) -> object:
    """The value with its integers as JavaScript reads them: beyond 2^53 only some of them exist."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return int(float(value)) if type(value) is int else value


class FrameDecoder:
    """Cuts a byte stream into frames, chunk by chunk. The first violation poisons it for good.

    Memory is bounded by the ceiling plus one chunk: a declared size is refused as soon as its four bytes are there.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        _check_ceiling(max_frame_bytes)
        self._ceiling = max_frame_bytes
        self._length = 0  # of the body that is awaited; 0 while a header is
        self._held = bytearray()
        self._failed = ""

    @property
    def buffered(self) -> int:
        """Bytes held back until the rest of their frame arrives; 0 once poisoned."""
        return len(self._held) + (HEADER_BYTES if self._length else 0)

    def push(self, chunk: bytes) -> list[object]:
        """The projected values of the frames that `chunk` completes, in order.

        Raises `RemoteProtocolError`; the values before the violation in the same chunk are lost with it.
        """
        values = []
        for body in self.bodies(chunk):
            try:
                values.append(decode_body(body))
            except RemoteProtocolError as fault:
                self.poison(fault.code)
                raise
        return values

    def bodies(self, chunk: bytes) -> Iterator[bytes]:
        """The bodies that `chunk` completes, as bytes, one by one: those before a violation are handed out before it is raised.

        The chunk counts as received once the iterator is exhausted or closed.
        """
        if self._failed:
            raise RemoteProtocolError("decoder-poisoned", f"an earlier violation ({self._failed}) ended this stream")
        held, length, ceiling = self._held, self._length, self._ceiling
        start, size = 0, len(chunk)
        try:
            while (end := start + (length or HEADER_BYTES) - len(held)) <= size:
                piece = chunk[start:end]
                start = end
                if held:
                    held += piece
                    piece = bytes(held)
                    held.clear()
                if length:
                    length = 0
                    yield piece
                    continue
                (length,) = _declared(piece)
                if not 0 < length <= ceiling:
                    raise self._violation(length)
        finally:
            if not self._failed:
                self._length = length
                if start < size:
                    held += memoryview(chunk)[start:]

    def poison(self, code: str) -> None:
        """Refuse every later chunk, since what a body said broke the stream's rules with `code`."""
        self._failed = code
        self._length = 0
        self._held.clear()

    def _violation(self, length: int) -> RemoteProtocolError:
        code = "frame-oversized" if length else "frame-malformed"
        self.poison(code)
        return RemoteProtocolError(code, f"a frame declares {length} bytes; 1 to {self._ceiling} are allowed")


def encode_body(message: object) -> bytes:
    """The compact JSON of a message struct or plain value, as JavaScript writes it.

    Raises `LocalProtocolError`: `dto-scalar` for what has no JSON form at all (UNSET, a function, a class), else `frame-malformed`.
    """
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        # An unpaired surrogate has no UTF-8 form: it alone is written as an escape.
        text = json.dumps(msgspec.to_builtins(message), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as cause:
        code = "dto-scalar" if message is UNSET or callable(message) else "frame-malformed"
        raise LocalProtocolError(code, f"the message is not serialisable: {cause}") from None


def encode_frame(message: object, max_frame_bytes: int) -> bytes:
    """One whole frame; raises `LocalProtocolError` as `encode_body` does, or `frame-oversized` when the body is over the ceiling."""
    _check_ceiling(max_frame_bytes)
    body = encode_body(message)
    if len(body) > max_frame_bytes:
        raise LocalProtocolError("frame-oversized", f"the body has {len(body)} bytes; the ceiling is {max_frame_bytes}")
    return len(body).to_bytes(HEADER_BYTES, "big") + body
