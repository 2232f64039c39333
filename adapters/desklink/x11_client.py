"""Connects to an X display through xcffib and reads its events so that no other client can break the reader; the keeper and the clipboard.

Any client may send any event to a window, of an extension too that is not known here, and may destroy a window between two requests about
it. Neither is an error of ours. The loss of the connection is: `xcffib.ConnectionException`, from whatever touches it.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import xcffib
import xcffib.xproto as x

from ...errors import Unavailable
from .display_name import display_name, in_time

#: xcffib's functions and constructors carry no annotations; its event and error classes are used by name.
_connect: Any = xcffib.connect
_memory: Any = xcffib.ffi.buffer  # type: ignore[attr-defined]  # it is there, and not named in __all__
CHANGE_PROPERTY = 18
MOST_EVENTS = 512
"""So many events are handed over before the reader may look at the clock again: a storm must not keep it."""


def connect(display: str | None, *, quiet: bool = False) -> Any:
    """A connection to `display` (None: $DISPLAY). Raises Unavailable with the reason; a server has three seconds to answer.

    `quiet` keeps libxcb from writing to stderr what a server says of a refused connection, since the error tells it. It moves descriptor 2
    of the whole process aside for that time, so only a process that does nothing else may ask for it.
    """
    name = display_name(display)

    def attempt() -> Any:
        with _own_words() if quiet else contextlib.nullcontext():
            return _connect(display=name)

    try:
        return in_time(attempt, display)
    except xcffib.ConnectionException as error:
        unparsable = "parsing" in str(error)
        reason = "the display name cannot be parsed" if unparsable else "no server answers there, or it refuses our authority"
        raise Unavailable(reason) from error


def intern(connection: Any, names: Iterable[str]) -> dict[str, int]:
    """The atoms of these names, asked for all at once."""
    asked = {name: connection.core.InternAtom(False, len(name), name) for name in names}
    return {name: int(cookie.reply().atom) for name, cookie in asked.items()}


def events(connection: Any) -> Iterator[Any]:
    """The events that have arrived, at most `MOST_EVENTS` of them. Late errors of requests that nobody checks are passed over."""
    for _ in range(MOST_EVENTS):
        try:
            event = connection.poll_for_event()
        except (xcffib.Error, LookupError):
            continue  # a window was gone, or the event is of an extension that is not known here
        if event is None:
            return
        yield event


class Watched:
    """The windows of other programs whose events are asked for, with how many reasons each has: a connection has one mask for a window."""

    def __init__(self, connection: Any) -> None:
        self._core = connection.core
        self._reasons: dict[int, Counter[int]] = {}

    def add(self, window: int, events: int) -> None:
        """Ask for these events of a window."""
        self._reasons.setdefault(window, Counter())[events] += 1
        self._select(window)

    def remove(self, window: int, events: int) -> None:
        """Take one such request back."""
        if (reasons := self._reasons.get(window)) is not None:
            reasons[events] -= 1
            self._select(window)
            if not any(reasons.values()):
                del self._reasons[window]

    def gone(self, window: int) -> None:
        """The window was destroyed; its number may come back for another."""
        self._reasons.pop(window, None)

    def _select(self, window: int) -> None:
        mask = 0
        for events, times in self._reasons[window].items():
            mask |= events if times > 0 else 0
        self._core.ChangeWindowAttributes(window, x.CW.EventMask, [mask])


def was_sent(event: Any) -> bool:
    """Whether a client sent this event, rather than the server itself."""
    return bool(event.response_type & 0x80)


@dataclass(frozen=True)
class Property:
    """What a property holds, as far as it was asked for; `kind` 0 when there is none. `left`: the bytes after `data`."""

    kind: int
    format: int
    data: bytes
    left: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """The 32-bit units; none of a property of another format."""
        return struct.unpack(f"={len(self.data) // 4}I", self.data) if self.format == 32 else ()


def read_property(connection: Any, window: int, name: int, most: int) -> Property:
    """The first `most` bytes of a property, and up to three more. Raises xcffib.Error when the window is gone.

    Read from the reply itself: xcffib makes an object of every byte.
    """
    asked = connection.core.GetProperty(False, window, name, x.GetPropertyType.Any, 0, (most + 3) // 4)
    reply = connection.wait_for_reply(asked.sequence)
    form, kind, left, units = struct.unpack("=xB2x4xIII", _memory(reply.cdata, 20))
    return Property(kind, form, bytes(_memory(reply.cdata, 32 + units * form // 8)[32:]), left)


def change_property(connection: Any, window: int, name: int, kind: int, data: bytes) -> None:
    """Replace a property by bytes; written as a request itself for the same reason."""
    head = struct.pack("=xB2xIIIB3xI", x.PropMode.Replace, window, name, kind, 8, len(data))
    connection.core.send_request(CHANGE_PROPERTY, io.BytesIO(head + data))


def change_numbers(connection: Any, window: int, name: int, kind: int, numbers: Sequence[int]) -> None:
    """Replace a property by 32-bit numbers."""
    packed = struct.pack(f"={len(numbers)}I", *numbers)
    connection.core.ChangeProperty(x.PropMode.Replace, window, name, kind, 32, len(numbers), packed)


@contextlib.contextmanager
def _own_words() -> Iterator[None]:
    try:
        stderr = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
