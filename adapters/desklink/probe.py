"""Looks at the machine for `hello` and `capabilities`: reads the environment and connects to its X display, and prompts nobody.

Called by the host, the Python API and `triptych doctor`.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from ... import __version__
from ...errors import Unavailable
from ...machines.desklink.capabilities import Facts
from ..worker import Worker
from .display_name import CONNECT_SECONDS, display_name, in_time
from .transport import Transport


@dataclass(frozen=True)
class _Display:
    size: tuple[int, int] | None = None
    reason: str = ""
    xtest: bool = False


async def look_at_machine(transport: Transport) -> Facts:
    """The facts of this machine now. What lacks is a fact too, so it never raises Unavailable."""
    # On a daemon thread: a display server that hangs may keep it.
    worker = Worker("desklink-probe")
    looking = worker.submit(_look_at_display)
    worker.close()
    try:
        seen = await asyncio.wait_for(looking, CONNECT_SECONDS)
    except TimeoutError:
        seen = _Display(reason="the X display does not answer")
    return Facts(
        engine=f"triptych/{__version__}",
        session_kind="wayland" if os.environ.get("WAYLAND_DISPLAY") else "x11" if os.environ.get("DISPLAY") else "none",
        x11_size=seen.size,
        x11_reason=seen.reason,
        xtest=seen.xtest,
        layout=None,
        encode_codecs=transport.encode_codecs,
        fed_codecs=transport.fed_codecs,
    )


def _look_at_display() -> _Display:
    if not os.environ.get("DISPLAY"):
        return _Display(reason="DISPLAY is not set")
    try:
        from .x11_capture import X11Capture
        from .x11_input import X11Input

        with X11Capture() as capture:
            size = capture.size
    except Unavailable as error:
        return _Display(reason=error.reason)
    try:
        with X11Input():
            return _Display(size, xtest=True)
    except Unavailable as error:
        return _Display(size, reason=error.reason)


def display() -> str:
    """What the X display of the environment offers, as a sentence for `doctor`. Raises Unavailable when a session could not use it."""
    name = display_name(None)
    return in_time(_describe_display, name)


def _describe_display() -> str:
    from .x11_capture import X11Capture
    from .x11_input import X11Input

    with X11Capture() as capture, X11Input():
        width, height = capture.size
        return f"{os.environ['DISPLAY']} is {width}x{height}, with pixels by {capture.path} and input by XTEST"
