"""Cuts what a collector says into lines, and refuses an overlong one; called by the host with each chunk.

A line ends at 0x0A, and one 0x0D before it belongs to the ending. A line of no bytes is skipped. What stands unfinished when the stream
ends is never a line.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import RemoteProtocolError
from ...generated.collector.vocabulary import MAX_PROTOCOL_LINE_BYTES

TOO_LONG = "line-too-long"


class CollectorLines:
    """The bound is looked at in three places:

    1. on each complete line,
    2. on what has arrived of an unfinished line, so that a flood without a newline is caught, and
    3. on the text after decoding, since each invalid byte becomes U+FFFD and grows from one byte to three.

    Every complete line of a chunk is given out before the rest of the chunk is measured.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Give out each line that `chunk` completes, as valid UTF-8 without its ending.

        Raises RemoteProtocolError (code `line-too-long`) on coming to the offending line; after that the stream is not to be read on.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            text = _without_return(line)
            if text:
                yield _bounded(text if text.isascii() else _bounded(text).decode("utf-8", "replace").encode())
        if len(self._rest) > MAX_PROTOCOL_LINE_BYTES:
            raise RemoteProtocolError(TOO_LONG, f"more than {MAX_PROTOCOL_LINE_BYTES} bytes arrived without a newline")


def _without_return(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\r") else line


def _bounded(line: bytes) -> bytes:
    if len(line) > MAX_PROTOCOL_LINE_BYTES:
        raise RemoteProtocolError(TOO_LONG, f"a line of {len(line)} bytes is longer than {MAX_PROTOCOL_LINE_BYTES}")
    return line
