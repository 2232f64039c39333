"""Cuts a byte stream into lines under one bound, for every protocol whose border is the newline; called by the stdio adapter.

There is no length prefix: a newline is the only border, so one endless line could eat all memory. A line beyond the bound is told once as
too long and forgotten up to its newline, after which the channel is in step again. Whether that is a refusal is for the protocol to say.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TooLong:
    """A line that passed the bound; its bytes are gone. `limit` is the bound in bytes, newline not counted."""

    limit: int


class LineSplitter:
    """Bytes in, whole lines out, without their newline. Memory held: at most `limit` bytes and one chunk.

    `whole_only`: what stands unfinished when the stream ends is no line; otherwise it is one.
    """

    def __init__(self, limit: int, *, whole_only: bool = False) -> None:
        self._limit = limit
        self._whole_only = whole_only
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
        """The stream has ended; returns the last line where an unfinished one counts."""
        lines: list[bytes | TooLong] = [b"".join(self._parts)] if self._parts and not self._whole_only else []
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
