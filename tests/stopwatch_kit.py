"""Time without that in which the machine lets somebody wait for a processor: for bounds that say who was held up, beside any load."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path


class Stopwatch:
    """Seconds since its start, less those in which a thread of this process or of `pids` was ready to run and had to wait."""

    def __init__(self, *pids: int) -> None:
        self._pids = (os.getpid(), *pids)
        self._before = self._starved()
        self._began = time.monotonic()

    def seconds(self) -> float:
        """What has passed by now. A process that has been reaped counts no more."""
        passed, now = time.monotonic() - self._began, self._starved()
        return passed - sum(waited - self._before.get(thread, 0.0) for thread, waited in now.items())

    def _starved(self) -> dict[str, float]:
        found = {}
        for folder in (task for pid in self._pids for task in Path(f"/proc/{pid}/task").glob("*")):
            with contextlib.suppress(OSError):  # a thread that has ended
                found[folder.name] = int((folder / "schedstat").read_text().split()[1]) / 1e9
        return found
