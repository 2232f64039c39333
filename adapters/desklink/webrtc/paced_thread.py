"""Lets packets go in their order, away from the event loop; called by the sender of pictures.

What is due goes on the thread that asks (the encode thread, with the picture it has just made), and the rest on a thread of its own when
its time comes. The event loop only says that there is something.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

PACE_SECONDS = 0.002
"""Packets are let go in groups of so long."""

LONGEST_WAIT = 3600.0
END_SECONDS = 1.0


class PacedThread:
    """One sender's thread; it begins at once.

    `due` takes the packets to send now, `next_at` is the monotonic time of the next look (infinite: when it is woken), and `send` sends;
    `broke` is told, on this thread or another, of what `send` cannot go on after.
    """

    def __init__(
        self,
        due: Callable[[], Sequence[bytes]],
        next_at: Callable[[], float],
        send: Callable[[Sequence[bytes]], None],
        broke: Callable[[Exception], None],
    ) -> None:
        self._due = due
        self._next_at = next_at
        self._send = send
        self._broke = broke
        self._sending = threading.Lock()  # whoever has it sends what is due: so packets never overtake each other
        self._woken = threading.Event()
        self._stopping = False
        self._sleeps_until = 0.0
        self._thread = threading.Thread(target=self._run, name="desklink-send", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Send what is due, on this thread; the rest goes in its time."""
        self._send_due()
        self.plan()

    def plan(self) -> None:
        """Something has changed: look when that is due, if it is sooner than what was planned."""
        if self._next_at() < self._sleeps_until:
            self._woken.set()

    def close(self) -> None:
        """Send no more, and wait for the batch that is on its way."""
        with self._sending:
            self._stopping = True
        self._woken.set()
        self._thread.join(END_SECONDS)

    def _send_due(self) -> None:
        with self._sending:
            try:
                if not self._stopping and (packets := self._due()):
                    self._send(packets)
            except Exception as error:
                self._stopping = True
                self._broke(error)

    def _run(self) -> None:
        least = 0.0
        while not self._stopping:
            self._woken.clear()
            self._sleeps_until = float("inf")  # what comes before the time is known wakes it
            self._sleeps_until = at = max(self._next_at(), least)
            if (wait := at - time.monotonic()) > 0 and self._woken.wait(min(wait, LONGEST_WAIT)):
                continue
            self._send_due()
            least = time.monotonic() + PACE_SECONDS
