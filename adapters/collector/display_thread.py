"""The X display of the collector, asked on a thread of its own: a server that hangs costs one deadline, and never the event loop.

The Linux source makes one for each connection, and another one when it is `gone`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..worker import Worker
from .foreground_x11 import X11Foreground, X11Unavailable

CONNECT_SECONDS = 0.9
ASK_SECONDS = 1.5
CLOSE_SECONDS = 0.5

T = TypeVar("T")


class DisplayThread:
    """One connection, from the attempt to its end. `changed` is called on the event loop when the active window may be another one."""

    def __init__(self, changed: Callable[[], None], env: Mapping[str, str]) -> None:
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._worker = Worker("x11-foreground")
        self._display: X11Foreground | None = None
        self._underway = 0
        self._closed: asyncio.Future[None] | None = None
        self.gone = False
        self._opening = self._worker.submit(X11Foreground, env)
        self._opening.add_done_callback(self._opened)

    async def ready(self) -> bool:
        """Whether it can be asked; waits for the server for at most `CONNECT_SECONDS`. One that hangs may be ready later."""
        await asyncio.wait((self._opening,), timeout=CONNECT_SECONDS)
        return self.is_open

    @property
    def is_open(self) -> bool:
        """Whether it can be asked now."""
        return self._display is not None and not self.gone

    async def ask(self, call: Callable[[X11Foreground], T]) -> T:
        """Run a call on the display. Raises X11Unavailable when it is gone, or does not answer within `ASK_SECONDS`; then it is gone."""
        if self._display is None or self.gone:
            raise X11Unavailable("there is no display")
        asked = self._submit(self._display, call)
        await asyncio.wait((asked,), timeout=ASK_SECONDS)
        if not asked.done():
            self._end()
            raise X11Unavailable("the display does not answer")
        return asked.result()[0]

    async def close(self) -> None:
        """Leave the display; a call that hangs on it is broken off."""
        self._end()
        if self._closed is not None:
            await asyncio.wait((self._closed,), timeout=CLOSE_SECONDS)

    def _opened(self, opening: asyncio.Future[X11Foreground]) -> None:
        failed = opening.exception()
        if failed is None and not self.gone:
            self._display = opening.result()
            self._listen()
            self._changed()
        elif failed is None:  # it came too late
            opening.result().close()
        else:
            self._end()

    def _submit(self, display: X11Foreground, call: Callable[[X11Foreground], T]) -> asyncio.Future[tuple[T, bool]]:
        self._loop.remove_reader(display.fileno())  # the thread reads now
        self._underway += 1
        asked = self._worker.submit(_asked, display, call)
        asked.add_done_callback(self._answered)
        return asked

    def _answered(self, asked: asyncio.Future[tuple[Any, bool]]) -> None:
        self._underway -= 1
        failed = asked.exception()
        if isinstance(failed, X11Unavailable):
            if not self.gone:
                self._end()
                self._changed()
        elif not self.gone:
            self._listen()
            if failed is None and asked.result()[1]:
                self._changed()

    def _listen(self) -> None:
        if self._display is not None and not self._underway:
            self._loop.add_reader(self._display.fileno(), self._readable)

    def _readable(self) -> None:
        assert self._display is not None
        self._submit(self._display, _nothing)

    def _end(self) -> None:
        if self.gone:
            return
        self.gone = True
        if self._display is not None:
            self._loop.remove_reader(self._display.fileno())
            self._display.interrupt()
            self._closed = self._worker.submit(self._display.close)
        self._worker.close()


def _asked(display: X11Foreground, call: Callable[[X11Foreground], T]) -> tuple[T, bool]:
    """The answer, and whether the active window may be another one since: waiting for an answer takes in the events that came before it,
    so that the descriptor does not become readable for them."""
    answer = call(display)
    return answer, display.changed()


def _nothing(display: X11Foreground) -> None:
    """Only take in what the server sent."""
