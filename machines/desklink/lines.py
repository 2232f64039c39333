"""Cuts the consumer's byte stream into request lines, with one bound; called by the stdio adapter (desklink v3, "Starting the engine").

There is no length prefix: a newline is the only border, so one endless line could eat all memory. A line beyond the bound is answered once
as too long and forgotten up to its newline, after which the channel is in step again.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...generated.desklink.vocabulary import MAX_LINE_BYTES


@dataclass(frozen=True)
class TooLong:
    """A line that passed the bound; its bytes are gone. `limit` is the bound in bytes, newline not counted."""

    limit: int


class LineSplitter:
    """Bytes in, whole lines out, without their newline. Memory held: at most `limit` bytes and one chunk."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Take a chunk; return the lines that it completed, a `TooLong` at the place where a line passed the bound."""
        lines: list[bytes | TooLong] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._hold(data[start:end], lines)
            if not self._skipping:
                lines.append(b"".join(self._parts))
            self._forget()
            self._skipping = False
            start = end + 1
        self._hold(data[start:], lines)
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """The stream has ended: a last line without a newline is a line too."""
        lines: list[bytes | TooLong] = [b"".join(self._parts)] if self._parts else []
        self._forget()
        self._skipping = False
        return lines

    def _hold(self, piece: bytes, lines: list[bytes | TooLong]) -> None:
        if self._skipping or not piece:
            return
        if self._held + len(piece) > self._limit:
            self._forget()
            self._skipping = True
            lines.append(TooLong(self._limit))
            return
        self._parts.append(piece)
        self._held += len(piece)

    def _forget(self) -> None:
        self._parts.clear()
        self._held = 0
