"""Starts the small process that lifts what a session holds when this process, or its connection to the display, ends; used by X11Input.

The guard is in a session of its own, so that a signal to the process group of this one does not reach it; it ignores what asks it to end,
and ends by itself. Should it be killed all the same, another takes its place at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from ..log import get_logger
from .x11_connection import HELPER, lib

log = get_logger()

END_SECONDS = 0.5
"""How long the end of a guard is waited for: it has nothing to do, unless the server hangs."""
SHORT_SECONDS = 1.0
MOST_SHORT_LIVES = 3
"""A guard that ended within a second, so many times in a row, is not started again."""


class Guard:
    """Guards one connection to `display`. `memory` is the descriptor of the notes that both processes map.

    Needs pidfds (Linux 5.3) and an interpreter that can be started; without them the session goes on unguarded, after one warning.
    """

    def __init__(self, display: str) -> None:
        self.memory = os.memfd_create("triptych-held")
        os.ftruncate(self.memory, lib.tx_held_bytes())
        self._display = display
        self._closing = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._watch: threading.Thread | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the guard that runs now."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the guard of a connection that has noted its window. Does not wait for it: the notes are there whenever it comes."""
        self._process = self._started()
        if self._process is not None:
            self._watch = threading.Thread(target=self._keep, name="desklink-guard", daemon=True)
            self._watch.start()

    def close(self) -> None:
        """Let the guard go. The connection is closed by now, so it ends by itself; one that a hanging server keeps is left to its watch."""
        self._closing.set()
        if self._watch is not None:
            self._watch.join(END_SECONDS)
            self._watch = None
        if self.memory >= 0:
            os.close(self.memory)
            self.memory = -1

    def _keep(self) -> None:
        short_lives = 0
        while self._process is not None:
            began = time.monotonic()
            if self._process.wait() == 0 or self._closing.is_set():
                return
            short_lives = short_lives + 1 if time.monotonic() - began < SHORT_SECONDS else 0
            if short_lives == MOST_SHORT_LIVES:
                log.warning("the input guard does not stay: what is held now stays down if this process is killed")
                return
            self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes] | None:
        import _cffi_backend

        process = -1
        try:
            process = os.pidfd_open(os.getpid())
            program = [sys.executable, "-I", "-S", str(Path(__file__).with_name("guard_process.py"))]
            told = [str(Path(_cffi_backend.__file__).parent), HELPER, self._display, str(self.memory), str(process)]
            return subprocess.Popen(
                program + told,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(self.memory, process),
                start_new_session=True,
            )
        except OSError as error:
            log.warning("no input guard: what is held now stays down if this process is killed", reason=str(error))
            return None
        finally:
            if process >= 0:
                os.close(process)
