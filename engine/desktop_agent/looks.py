"""What an agent has been told of a display: the changes since its last look, what it may name, and waits; for the session.

A reference (`r1`, `w2`) means what the latest answer called so. A region that has changed since is refused as `stale-ref`, since what the
agent saw there may be gone; one that animates may be named all the same. A window is looked up again and found where it is now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ...errors import LocalProtocolError, Unavailable
from ...machines.desklink.changes import Changes, Region
from ...machines.desklink.geometry import Box, Size
from ...machines.desklink.windows import Window
from ..desktop import Session, Status

STALE, NOT_FOUND = "stale-ref", "not-found"
TITLE_SECONDS = 0.1
"""How often titles are asked for while one is waited for: a display without a window manager announces them to nobody."""


class Looks:
    """The looks at one session; `on_event` must get its events, from the open on."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._session: Session | None = None
        self._changes: Changes | None = None
        self._stirred = asyncio.Event()
        self._regions: dict[str, Region] = {}
        self._window_ids: dict[str, int] = {}
        self._told: dict[int, Window] = {}
        self.seen_seq = 0

    def on_event(self, message: dict[str, Any]) -> None:
        """Take one event of the session."""
        if message["event"] == "session.frame.changed" and self._changes is not None:
            self._changes.changed(tuple(tuple(box) for box in message["params"]["damage"]), self._clock())
        self._stirred.set()

    async def begin(self, session: Session) -> None:
        """What is there now is what the first look is compared with."""
        await session.wait_for_change(after_seq=0)
        self._session = session
        self._changes = Changes(Size(*session.size), self._clock())
        self.seen_seq = session.status.seq
        self._told = {window.id: window for window in await session.windows()}

    @property
    def session(self) -> Session:
        """The session that is looked at."""
        assert self._session is not None
        return self._session

    @property
    def changes(self) -> Changes:
        """Its changes."""
        assert self._changes is not None
        return self._changes

    def acted(self) -> None:
        """An input is being made: what changes now is its doing."""
        self.changes.acted(self._clock())

    # Looking

    def regions(self) -> list[dict[str, Any]]:
        """The regions that changed since the last look, which this is from now on; they are called r1, r2, … until others are."""
        self.seen_seq = self.session.status.seq
        found = self.changes.look(self._clock())
        if found:  # where nothing has changed, the names that were told are still good
            self._regions = {f"r{number}": region for number, region in enumerate(found, 1)}
        return self.latest() if found else []

    def latest(self) -> list[dict[str, Any]]:
        """The regions that the names r1, r2, … mean now."""
        return [{"ref": ref, "box": list(region.box), "animating": region.animating} for ref, region in self._regions.items()]

    async def diff(self) -> dict[str, Any]:
        """What changed since the last look: regions, and windows that came, went or are called otherwise now."""
        since, seq = self.seen_seq, self.session.status.seq
        regions = self.regions()
        still_ms = (await self.session.settle(still_ms=0)).still_ms
        before = self._told
        windows = await self.windows()
        now = self._told
        refs = {number: ref for ref, number in self._window_ids.items()}
        renamed = [window for window in windows if window["id"] in before and before[window["id"]].title != window["title"]]
        return {
            "seq": seq,
            "since": since,
            "still_ms": still_ms,
            "regions": regions,
            "windows": {
                "opened": [window for window in windows if window["id"] not in before],
                "closed": [{"id": number, "title": window.title} for number, window in before.items() if number not in now],
                "renamed": [{"ref": refs[one["id"]], "from": before[one["id"]].title, "to": one["title"]} for one in renamed],
                "active": next((window["ref"] for window in windows if window["active"]), None),
            },
        }

    async def windows(self) -> list[dict[str, Any]]:
        """The windows, top first; they are called w1, w2, … until the next list."""
        found = await self.session.windows()
        self._told = {window.id: window for window in found}
        self._window_ids = {f"w{number}": window.id for number, window in enumerate(found, 1)}
        return [
            {
                "ref": f"w{number}",
                "id": window.id,
                "title": window.title,
                "class": window.class_name,
                "pid": window.pid,
                "box": list(window.box),
                "active": window.active,
                "visible": window.visible,
            }
            for number, window in enumerate(found, 1)
        ]

    async def referred(self, reference: str) -> Box:
        """The box that `r1` or `w1` names now, cut to the frame. Raises LocalProtocolError: stale-ref, not-found."""
        if reference.startswith("w"):
            return self._cut(await self._window(reference), reference)
        if (region := self._regions.get(reference)) is None:
            raise LocalProtocolError(NOT_FOUND, f"the latest diff has no region {reference}")
        if not region.animating and self.changes.touched(region.box):
            raise LocalProtocolError(STALE, f"{reference} has changed since it was told")
        return region.box

    async def _window(self, reference: str) -> Box:
        if (number := self._window_ids.get(reference)) is None:
            raise LocalProtocolError(NOT_FOUND, f"the latest list has no window {reference}")
        window = next((window for window in await self.session.windows() if window.id == number), None)
        if window is None:
            raise LocalProtocolError(STALE, f"window {reference} is gone")
        if not window.visible:
            raise LocalProtocolError(STALE, f"window {reference} is minimised")
        return window.box

    def _cut(self, box: Box, reference: str) -> Box:
        x, y = max(0, box[0]), max(0, box[1])
        right, bottom = (min(end, side) for end, side in zip((box[0] + box[2], box[1] + box[3]), self.session.size, strict=True))
        if right <= x or bottom <= y:
            raise LocalProtocolError(NOT_FOUND, f"{reference} lies outside the frame")
        return x, y, right - x, bottom - y

    # Waiting

    async def changed(self, since: float, timeout_ms: int) -> bool:
        """Wait until something other than an animation changes after the time `since`; False when nothing does in time."""
        return await self._until(lambda: since if self.changes.news_at > since else None, timeout_ms)

    async def settled(self, since: float, still_ms: int, timeout_ms: int) -> bool:
        """Wait until nothing but an animation has changed for `still_ms`, counted from `since` at the earliest; False when not in time."""
        return await self._until(lambda: max(self.changes.news_at, since) + still_ms / 1000, timeout_ms)

    async def title(self, text: str, timeout_ms: int) -> dict[str, Any] | None:
        """Wait until a window's title contains `text`, in upper or lower case; that window, or None when none has it in time."""
        deadline = self._clock() + timeout_ms / 1000
        while True:
            for window in await self.windows():
                if text.casefold() in (window["title"] or "").casefold():
                    return window
            if (left := deadline - self._clock()) <= 0:
                return None
            await asyncio.sleep(min(TITLE_SECONDS, left))

    async def _until(self, met_at: Callable[[], float | None], timeout_ms: int) -> bool:
        """Wait until the time that `met_at` says, which changes may move; None means that only a change can bring it."""
        deadline = self._clock() + timeout_ms / 1000
        while True:
            self.require_picture()
            self._stirred.clear()
            at, now = met_at(), self._clock()
            if at is not None and at <= now:
                return True
            if now >= deadline:
                return False
            wake = deadline if at is None else min(at, deadline)
            try:
                async with asyncio.timeout(wake - now):
                    await self._stirred.wait()
            except TimeoutError:
                pass

    def require_picture(self) -> None:
        """Raise Unavailable when the display cannot be seen any more."""
        status: Status = self.session.status
        if status.capture != "running" or status.ended:
            raise Unavailable(status.reason or "the session has ended", "start the display again, then repeat the command")
