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

from ..generated.desklink.vocabulary import (
    DEFAULT_FRAME_TIMEOUT_MS,
    DEFAULT_MAX_FPS,
    DEFAULT_MAX_HEIGHT,
    DEFAULT_MAX_WIDTH,
    DEFAULT_STILL_MS,
    DEFAULT_TTL_SECONDS,
)
from . import desktop
from .desktop import Change, ClipboardText, Frame, Window
from .desktop_channel import Box, OnEvent, Status
from .loop_thread import entered, loop_thread

__all__ = ["Change", "ClipboardText", "Frame", "Session", "Status", "Window", "capabilities", "open"]


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
    agent_indicator: bool = False,
    on_event: OnEvent | None = None,
) -> Iterator[Session]:
    """As `desktop.open`; `on_event` is called on the thread of the session."""
    running = desktop.open(
        display,
        permissions,
        max_width=max_width,
        max_height=max_height,
        max_fps=max_fps,
        ttl_seconds=ttl_seconds,
        agent_indicator=agent_indicator,
        on_event=on_event,
    )
    with loop_thread("triptych-desktop") as run, entered(run, running) as session:
        yield Session(session, run)


class Session:
    """As `desktop.Session`; every method answers when the thing is done."""

    def __init__(self, session: desktop.Session, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self.id = session.id
        self.size = session.size
        self._session = session
        self._run = run

    @property
    def status(self) -> Status:
        """As `desktop.Session.status`."""
        return self._session.status

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

    def wait_for_change(self, *, after_seq: int | None = None, timeout_ms: int = DEFAULT_FRAME_TIMEOUT_MS) -> Change:
        """As `desktop.Session.wait_for_change`."""
        change: Change = self._run(self._session.wait_for_change(after_seq=after_seq, timeout_ms=timeout_ms))
        return change

    def settle(self, *, still_ms: int = DEFAULT_STILL_MS, timeout_ms: int = DEFAULT_FRAME_TIMEOUT_MS) -> Change:
        """As `desktop.Session.settle`."""
        change: Change = self._run(self._session.settle(still_ms=still_ms, timeout_ms=timeout_ms))
        return change

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

    def drag(self, start: tuple[int, int], end: tuple[int, int], *, button: int = 1, steps: int = 8) -> None:
        """As `desktop.Session.drag`."""
        self._run(self._session.drag(start, end, button=button, steps=steps))

    def wheel(self, dx: float = 0.0, dy: float = 0.0) -> None:
        """As `desktop.Session.wheel`."""
        self._run(self._session.wheel(dx, dy))

    def type(self, text: str, *, unicode: bool = False) -> None:
        """As `desktop.Session.type`."""
        self._run(self._session.type(text, unicode=unicode))

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

    def clipboard_read(self) -> ClipboardText:
        """As `desktop.Session.clipboard_read`."""
        found: ClipboardText = self._run(self._session.clipboard_read())
        return found

    def clipboard_write(self, text: str) -> None:
        """As `desktop.Session.clipboard_write`."""
        self._run(self._session.clipboard_write(text))

    def windows(self) -> tuple[Window, ...]:
        """As `desktop.Session.windows`."""
        found: tuple[Window, ...] = self._run(self._session.windows())
        return found

    def metrics(self) -> dict[str, Any]:
        """As `desktop.Session.metrics`."""
        counters: dict[str, Any] = self._run(self._session.metrics())
        return counters
