"""The agent indicator of a session on an X display: starts its process, tells it what the agent does, lets it go; owned by the host.

It is best effort from end to end: what fails here is logged and costs the session nothing (desklink v3, `agent_indicator`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Literal

from ...errors import Unavailable
from ..log import get_logger
from .display_name import display_name

log = get_logger()

READY_SECONDS = 5.0
READY = b"READY\n"


class Overlay:
    """The indicator on `display` (None: $DISPLAY)."""

    def __init__(self, display: str | None) -> None:
        self._display = display
        self._process: subprocess.Popen[bytes] | None = None
        self._stands = False

    async def start(self) -> bool:
        """Show the halo. False when it cannot be shown within five seconds."""
        try:
            self._display = display_name(self._display)
            self._process = await asyncio.to_thread(_started, self._display)
            await asyncio.wait_for(_ready(self._process), READY_SECONDS)
            self._stands = True
        except (Unavailable, OSError, EOFError, TimeoutError, ValueError) as error:
            log.warning("no agent indicator", reason=str(error) or type(error).__name__)
            await self.close()
            return False
        return True

    def told(self, kind: Literal["M", "C", "T"], x: int, y: int) -> None:
        """The agent moved the pointer (M), pressed a button (C) or typed (T; -1, -1). Never waits: a slow indicator misses it."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                os.write(self._process.stdin.fileno(), f"{kind} {x} {y}\n".encode())

    async def close(self) -> None:
        """Let the halo fade, which takes half a second after this has returned."""
        process, self._process = self._process, None
        if process is None:
            return
        _let_go(process)
        if self._stands and process.returncode is not None and self._display is not None:
            # It was killed, and its sprite is still there: another one takes it away.
            with contextlib.suppress(OSError):
                _let_go(await asyncio.to_thread(_started, self._display))


def _let_go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    if process.poll() is None:
        threading.Thread(target=process.wait, name="desklink-overlay", daemon=True).start()


def _started(display: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        # -P: the folder of the script is no place to import from.
        [sys.executable, "-P", str(Path(__file__).with_name("overlay_process.py")), display],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    return process


async def _ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    descriptor = process.stdout.fileno()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
        if os.read(descriptor, len(READY)) != READY:
            raise EOFError("its process ended")
    finally:
        loop.remove_reader(descriptor)
