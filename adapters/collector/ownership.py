"""The capture lock: one host at a time records into a data directory. Taken by the host before it starts a collector.

The lock is the kernel's, on a file of the directory, so it goes with the process that holds it, however that ends. Around each change of
the policy the owner takes a lease, which keeps the lock until the change is written and the collector has been told.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ...errors import Unavailable
from ...generated.collector.vocabulary import OWNER_PROBE_MS

FILE_NAME = "capture-owner"
PROBE = OWNER_PROBE_MS / 1000  #: seconds that a host which is just ending is waited for
_PAUSE = 0.1  # seconds between two tries: the kernel tells nobody that a lock is free


class Ownership:
    """Holds the lock from construction until `release`; with `take` False from the first `take` or `probe` on."""

    def __init__(self, data_dir: Path, *, take: bool = True) -> None:
        """Raises Unavailable when another host has the lock, and when this system cannot lock there."""
        self._data_dir = data_dir
        self._descriptor = -1
        self._leases = 0
        self._leaving = False
        if take:
            self.take()

    @staticmethod
    def held(data_dir: Path) -> bool:
        """Whether some host has the lock of this directory now. It makes nothing, and keeps nothing."""
        try:
            descriptor = os.open(data_dir / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    @property
    def owned(self) -> bool:
        """Whether the lock is held."""
        return self._descriptor >= 0

    def take(self) -> None:
        """Take the lock if it is free; nothing happens when it is held already. Raises Unavailable."""
        if not self._try():
            raise Unavailable(f"capture-owned-by-another-host: {self._data_dir}", "stop the other recording, or use another directory")

    async def probe(self, seconds: float = PROBE) -> None:
        """Take the lock as soon as it is free. Raises Unavailable when another host keeps it for so long."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while not self._try():
            if clock() >= until:
                self.take()
                return
            await asyncio.sleep(_PAUSE)

    @contextlib.contextmanager
    def lease(self) -> Iterator[None]:
        """Keep the lock while the policy is changed; a `release` meanwhile waits for the end of it.

        Where it has been released it is taken for that time. Raises Unavailable when another host has it: the policy is that host's.
        """
        borrowed = not self.owned
        if not self._try():
            raise Unavailable(f"the capture policy is owned by another host: {self._data_dir}", "ask that host, or stop it")
        self._leases += 1
        try:
            yield
        finally:
            self._leases -= 1
            if not self._leases and (borrowed or self._leaving):
                self.release()

    def release(self) -> None:
        """Let another host record, at once or at the end of the last lease; a second call does nothing."""
        if self._leases:
            self._leaving = True
        elif self.owned:
            os.close(self._descriptor)
            self._descriptor, self._leaving = -1, False

    def _try(self) -> bool:
        """Take the lock; False when another host has it."""
        self._leaving = False
        if self.owned:
            return True
        path = self._data_dir / FILE_NAME
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise Unavailable(f"cannot open {path}: {error.strerror}", "check the data directory") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:
            os.close(descriptor)
            raise Unavailable(f"cannot lock {path}: {error.strerror}", "use a data directory on a local disk") from None
        self._descriptor = descriptor
        return True
