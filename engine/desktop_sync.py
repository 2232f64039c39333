"""The desktop API without `await`, for scripts and plain tests: the same names as `triptych.engine.desktop`, run on a loop in a thread.

with desktop_sync.open(display=":170", permissions=("view", "control")) as session:
    session.click(640, 360)
    session.save_png("now.png")
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..generated.desklink.vocabulary import DEFAULT_MAX_FPS, DEFAULT_MAX_HEIGHT, DEFAULT_MAX_WIDTH, DEFAULT_TTL_SECONDS
from . import desktop
from .desktop import Box, Frame
from .loop_thread import entered, loop_thread

__all__ = ["Frame", "Session", "capabilities", "open"]


def capabilities() -> dict[str, Any]:
    """As `desktop.capabilities`."""
    return asyncio.run(desktop.capabilities())


@contextmanager
def open(
    display: str | None = None,
    permissions: Iterable[str] = ("view",),
    *,
    max_width: int = DEFAULT_MAX_WIDTH,
    max_height: int = DEFAULT_MAX_HEIGHT,
    max_fps: int = DEFAULT_MAX_FPS,
    ttl_seconds: int = DEFAULT_TTL_SECONDS,
) -> Iterator[Session]:
    """As `desktop.open`."""
    running = desktop.open(display, permissions, max_width=max_width, max_height=max_height, max_fps=max_fps, ttl_seconds=ttl_seconds)
    with loop_thread("triptych-desktop") as run, entered(run, running) as session:
        yield Session(session, run)


class Session:
    """As `desktop.Session`; every method answers when the thing is done."""

    def __init__(self, session: desktop.Session, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self.id = session.id
        self.size = session.size
        self._session = session
        self._run = run

    def frame(
        self,
        *,
        after_seq: int = 0,
        still_ms: int | None = None,
        timeout_ms: int | None = None,
        since: int | None = None,
        region: Box | None = None,
    ) -> Frame:
        """As `desktop.Session.frame`."""
        frame: Frame = self._run(
            self._session.frame(after_seq=after_seq, still_ms=still_ms, timeout_ms=timeout_ms, since=since, region=region)
        )
        return frame

    def save_png(self, path: str | Path) -> Frame:
        """As `desktop.Session.save_png`."""
        frame: Frame = self._run(self._session.save_png(path))
        return frame

    def move(self, x: int, y: int) -> None:
        """As `desktop.Session.move`."""
        self._run(self._session.move(x, y))

    def click(self, x: int, y: int, *, button: int = 1, count: int = 1) -> None:
        """As `desktop.Session.click`."""
        self._run(self._session.click(x, y, button=button, count=count))

    def drag(self, start: tuple[int, int], end: tuple[int, int], *, button: int = 1) -> None:
        """As `desktop.Session.drag`."""
        self._run(self._session.drag(start, end, button=button))

    def wheel(self, dx: float = 0.0, dy: float = 0.0) -> None:
        """As `desktop.Session.wheel`."""
        self._run(self._session.wheel(dx, dy))

    def type(self, text: str) -> None:
        """As `desktop.Session.type`."""
        self._run(self._session.type(text))

    def press(self, *keys: str) -> None:
        """As `desktop.Session.press`."""
        self._run(self._session.press(*keys))

    def hold(self, key: str) -> None:
        """As `desktop.Session.hold`."""
        self._run(self._session.hold(key))

    def release(self, key: str) -> None:
        """As `desktop.Session.release`."""
        self._run(self._session.release(key))

    def release_all(self) -> None:
        """As `desktop.Session.release_all`."""
        self._run(self._session.release_all())

    def metrics(self) -> dict[str, Any]:
        """As `desktop.Session.metrics`."""
        counters: dict[str, Any] = self._run(self._session.metrics())
        return counters
