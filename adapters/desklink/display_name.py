"""Says which X display is meant, and how long it may take to answer; called by whatever connects to one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from ...errors import Unavailable

T = TypeVar("T")

CONNECT_SECONDS = 3.0
"""How long a display server may take to answer a new connection."""


class NoAnswer(Unavailable):
    """Something listens where the display should be, and says nothing."""

    def __init__(self, display: str | None) -> None:
        super().__init__(f"the X display {display or os.environ.get('DISPLAY')} does not answer", "start it again, or name another display")


def display_name(display: str | None) -> str:
    """The display itself, or the environment's. Raises Unavailable when there is none, or no display can be called so."""
    name = display or os.environ.get("DISPLAY")
    if not name:
        raise Unavailable("DISPLAY is not set", "set it to a running X server, or name a display, such as :0")
    if "\0" in name or not name.isprintable():
        raise Unavailable(f"{name!a} is no X display name", "name one such as :0")
    return name


def in_time(connect: Callable[[], T], display: str | None) -> T:
    """What `connect` returns or raises; Unavailable when the server keeps it waiting, with the thread that waits left behind."""
    result: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            result.append(connect())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="x11-connect", daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    if raised:
        raise raised[0]
    if not result:
        raise NoAnswer(display)
    return result[0]
