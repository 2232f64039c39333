"""Hands calls from other threads to the event loop, in order; those that can wait do not wake it. Called by the host.

To wake a loop costs more than most of what it is woken for. What only counts (a picture was captured, or sent) is handed over with the next
call that cannot wait, or when somebody looks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

MOST_WAITING = 64
"""Calls; with so many of them the loop is woken."""


class Mailbox:
    """The calls for the event loop on which it is made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()

    def put(self, call: Callable[..., None], *arguments: Any, can_wait: bool) -> None:
        """Have a call made on the loop after all before it, soon, or some time if it can wait; lost with a closed loop. From any thread."""
        self._calls.append((call, arguments))
        if not can_wait or len(self._calls) >= MOST_WAITING:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.empty)

    def empty(self) -> None:
        """Make the calls that wait; on the loop."""
        while self._calls:
            call, arguments = self._calls.popleft()
            call(*arguments)
