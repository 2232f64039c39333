"""The capture lock: one host at a time records into a data directory. Taken by the host before it starts a collector."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ...errors import Unavailable

FILE_NAME = "capture-owner"


class Ownership:
    """Holds the lock from construction until `release`; the system lets it go when the process dies."""

    def __init__(self, data_dir: Path) -> None:
        """Take the lock. Raises Unavailable when another host has it, and when this system cannot lock there."""
        path = data_dir / FILE_NAME
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise Unavailable(f"cannot open {path}: {error.strerror}", "check the data directory") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Unavailable(f"capture-owned-by-another-host: {data_dir}", "stop the other recording, or use another directory") from None
        except OSError as error:
            os.close(descriptor)
            raise Unavailable(f"cannot lock {path}: {error.strerror}", "use a data directory on a local disk") from None
        self._descriptor = descriptor

    def release(self) -> None:
        """Let another host record; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
