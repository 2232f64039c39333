"""Decides when a `session.frame` request is answered, and with what; called by the live session (desklink v3, "Latest frame").

A request waits until its conditions hold, then its pixels are read and, when it names a path, written. The numbers of the answer are those
of the frame whose pixels were read, so they describe exactly what is in the file. Requests wait side by side; none holds up another, and
none waits for ever: a display server that hangs in the middle of a picture costs a request its time, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import ProtocolError, RemoteProtocolError
from ...generated.desklink import models
from ...generated.desklink.vocabulary import DEFAULT_FRAME_TIMEOUT_MS
from .effects import DropFrame, Effect, ReadFrame, WriteFrame
from .frames import Frames, FrameWait
from .geometry import Box, region_inside
from .messages import given
from .requests import Request, say


@dataclass
class _Asked:
    request: Request
    since: int | None
    path: str
    region: Box | None
    wait: FrameWait | None
    answer: dict[str, Any] | None = None
    reads: int | None = None
    read_by: float = 0.0


class FrameRequests:
    """The frame requests of one session that are not answered yet. `stopped` is why there is no picture; None while there is one."""

    def __init__(self, session_id: str, frames: Frames, tokens: Iterator[int]) -> None:
        self.frames = frames
        self.stopped: str | None = None
        self._session_id = session_id
        self._tokens = tokens
        self._asked: dict[int, _Asked] = {}

    def ask(self, request: Request, params: models.FrameParams, now: float) -> list[Effect]:
        """Take a request; it is answered at once when it waits for nothing."""
        wait = FrameWait.of(given(params.after_seq, None), given(params.still_ms, None), given(params.timeout_ms, None), now)
        region = given(params.region, None)
        asked = _Asked(request, given(params.since, None), given(params.path, ""), _box(region), wait)
        token = next(self._tokens)
        self._asked[token] = asked
        return self._look_at(token, asked, now)

    def look(self, now: float) -> list[Effect]:
        """Something changed, or time passed: answer what can be answered."""
        late = {token for token, asked in self._asked.items() if asked.read_by and now >= asked.read_by}
        refused = self._refuse(RemoteProtocolError("frame-timeout", "the display server does not let its picture be read"), late)
        waiting = [(token, asked) for token, asked in self._asked.items() if asked.reads is None]
        return refused + [effect for token, asked in waiting for effect in self._look_at(token, asked, now)]

    def deadline(self) -> float | None:
        """When to look again, should nothing change."""
        reads = [asked.read_by for asked in self._asked.values() if asked.read_by]
        waits = [asked.wait.next_look(self.frames) for asked in self._asked.values() if asked.wait and asked.reads is None]
        return min(reads + waits, default=None)

    def read(self, token: int, now: float) -> list[Effect]:
        """The pixels for `token` are copied; they are those of the newest frame."""
        if (asked := self._asked.get(token)) is None:
            return [DropFrame(token)]
        if asked.reads != self.frames.seq:
            # A newer frame came before they were copied, which may not meet the conditions yet, or not in time.
            asked.reads, asked.read_by = None, 0.0
            effects = self._look_at(token, asked, now)
            if asked.reads is None:
                return [DropFrame(token), *effects]
        asked.answer, asked.read_by = self._answer(asked, now, written=bool(asked.path)), 0.0
        return [WriteFrame(self._session_id, token, asked.path, asked.request.id)]

    def written(self, token: int, failure: ProtocolError | None) -> list[Effect]:
        """The pixels for `token` are where they were asked to be, or could not be put there."""
        asked = self._asked.pop(token, None)
        if asked is None or asked.answer is None:
            return []
        return say(asked.request, asked.answer if failure is None else failure)

    def resume(self) -> None:
        """The capture runs again; its first frame is still to come."""
        self.stopped = None

    def stop(self, reason: str) -> list[Effect]:
        """There is no live picture any more: whoever waits is told so, and so is whoever asks from now on."""
        self.stopped = reason
        # What is already read is the picture of a time when there was one: it is answered.
        waiting = {token for token, asked in self._asked.items() if not asked.answer}
        return self._refuse(RemoteProtocolError("stream-stopped", reason), waiting)

    def end(self) -> list[Effect]:
        """The session is over."""
        return self._refuse(RemoteProtocolError("session", "the session has ended"), set(self._asked))

    def _look_at(self, token: int, asked: _Asked, now: float) -> list[Effect]:
        try:
            ready = self._ready(asked, now)
        except RemoteProtocolError as error:
            del self._asked[token]
            return say(asked.request, error)
        if not ready:
            return []
        if not asked.path and not asked.request.keep_pixels:
            del self._asked[token]
            return say(asked.request, self._answer(asked, now, written=False))
        asked.reads, asked.read_by = self.frames.seq, now + DEFAULT_FRAME_TIMEOUT_MS / 1000
        return [ReadFrame(self._session_id, token, asked.region or self.frames.surface.box, self.frames.surface)]

    def _ready(self, asked: _Asked, now: float) -> bool:
        if self.stopped is not None:
            raise RemoteProtocolError("stream-stopped", self.stopped)
        if asked.wait is not None:
            met_at = asked.wait.met_at(self.frames)
            if met_at is None or now < met_at:
                if now >= asked.wait.deadline:
                    raise RemoteProtocolError("frame-timeout", f"frame {self.frames.seq} did not meet the conditions in time")
                return False
        if not self.frames.kept:
            raise RemoteProtocolError("frame", "no frame has been captured yet")
        if asked.region is not None and not region_inside(asked.region, self.frames.surface):
            size = self.frames.surface
            detail = f"{list(asked.region)} is empty or not inside the {size.width}x{size.height} surface"
            raise RemoteProtocolError("coordinates", detail, "region")
        return True

    def _answer(self, asked: _Asked, now: float, *, written: bool) -> dict[str, Any]:
        _, _, width, height = asked.region or self.frames.surface.box
        return {
            "seq": self.frames.seq,
            "still_ms": self.frames.still_ms(now),
            "width": width,
            "height": height,
            "format": "bgrx",
            "damage": [list(box) for box in self.frames.damage_since(asked.since)],
            "written": written,
        }

    def _refuse(self, error: RemoteProtocolError, tokens: set[int]) -> list[Effect]:
        effects: list[Effect] = []
        for token in sorted(tokens):
            asked = self._asked.pop(token)
            effects += [*([DropFrame(token)] if asked.reads is not None else []), *say(asked.request, error)]
        return effects


def _box(region: tuple[int, ...] | None) -> Box | None:
    if region is None:
        return None
    x, y, width, height = region
    return x, y, width, height
