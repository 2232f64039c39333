"""Holds the engine of one desktop session in this process: requests go in, answers come back, events are noted; for `engine/desktop.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..adapters.desklink.host import Host
from ..adapters.worker import Worker
from ..errors import LocalProtocolError, TriptychError, Unavailable, WaitTimeout
from ..machines.desklink.effects import Emit
from ..machines.desklink.geometry import Box, Size
from ..machines.desklink.requests import Request
from .extras import need

if TYPE_CHECKING:
    from ..adapters.desklink.window_list import WindowList
    from ..machines.desklink.windows import Window

__all__ = ["Box", "Channel", "OnEvent", "Status"]

OnEvent = Callable[[dict[str, Any]], None]

WINDOWS_SECONDS = 5.0
"""How long a display server may take to tell its windows."""


@dataclass(frozen=True)
class Status:
    """How a session is. `capture`: `stopped` while a lost display is tried again, `ended` when it was given up. `reason` says why not.

    `ended`: the session itself is over, by its lease or since its block was left. `seq` is the number of the newest frame, 0 before the
    first.
    """

    capture: Literal["running", "stopped", "ended"] = "running"
    ended: bool = False
    reason: str = ""
    seq: int = 0


class Channel:
    """Requests to an engine in this process, their answers, and what its events say of the session."""

    def __init__(self, display: str | None, on_event: OnEvent | None) -> None:
        self.status = Status()
        self._on_event = on_event
        self._windows = _Windows(display)
        self._host = Host(on_emit=self._take, on_pixels=self._keep, on_unavailable=self._cannot_open, on_failure=self._fail, greeted=True)
        self._unavailable: Unavailable | None = None
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pixels: dict[int, memoryview] = {}
        self._asked = 0

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request. Raises the refusal, or what broke the engine."""
        return await self._send(self._next(), method, params)

    async def ask_frame(self, params: dict[str, Any]) -> tuple[dict[str, Any], memoryview]:
        """The result of a `session.frame`, and the pixels."""
        request_id = self._next()
        try:
            result = await self._send(request_id, "session.frame", params, keep_pixels=True)
            return result, self._pixels[request_id]
        finally:
            self._pixels.pop(request_id, None)

    def control(self, session_id: str, text: bytes, unicode: bool) -> asyncio.Future[dict[str, Any]]:
        """Hand a control message over, now; the future has its answer."""
        return self._host.control(session_id, text, unicode=unicode)

    async def windows(self, surface: tuple[int, int]) -> tuple[Window, ...]:
        """The windows of the display, in pixels of a frame of this size."""
        return await self._windows.read(surface)

    def explained(self, code: str, message: str) -> str:
        """A refusal's sentence; one for the end of the session says why it has ended."""
        return f"the session has ended: {self.status.reason}" if code == "session" and self.status.reason else message

    async def close(self) -> None:
        """End the engine; everything is released and closed when this returns. Raises what broke it, if anything did."""
        self._windows.close()
        self._host.shutdown()
        await asyncio.shield(self._host.finished.wait())
        if self._host.failure is not None:
            raise self._host.failure

    def _next(self) -> int:
        self._asked += 1
        return self._asked

    async def _send(self, request_id: int, method: str, params: dict[str, Any], *, keep_pixels: bool = False) -> dict[str, Any]:
        if self._host.failure is not None:
            raise self._host.failure
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[request_id] = answer
        self._host.request(Request(request_id, method, params, keep_pixels))
        return await answer

    def _keep(self, request_id: int, pixels: memoryview) -> None:
        # Of a request that was cancelled meanwhile nobody would take them away.
        if (answer := self._answers.get(request_id)) is not None and not answer.done():
            self._pixels[request_id] = pixels

    def _cannot_open(self, error: Unavailable) -> None:
        self._unavailable = error

    def _fail(self, error: BaseException) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(error)
        self._answers.clear()

    def _take(self, said: Emit) -> None:
        message = said.message
        if "event" in message:
            self._note(message["event"], message["params"])
            if self._on_event is not None:
                self._on_event(message)
            return
        answer = self._answers.pop(message["id"], None) if "id" in message else None
        if answer is None or answer.done():
            return
        if "result" in message:
            answer.set_result(message["result"])
        else:
            answer.set_exception(self._error(**message["error"]))

    def _note(self, event: str, params: dict[str, Any]) -> None:
        match event:
            case "session.frame.changed":
                self.status = replace(self.status, capture="running", reason="", seq=params["seq"])
            case "session.capture.stopped":
                self.status = replace(self.status, capture="stopped", reason=params["reason"])
            case "session.revoked":
                self.status = replace(self.status, reason=params["reason"])
            case "session.state" if params["capture"] == "ended":
                self.status = replace(self.status, capture="ended", ended=params["transport"] == "closed")

    def _error(self, code: str, message: str) -> TriptychError:
        match code:
            case "frame-timeout":
                return WaitTimeout("a frame that meets the conditions", message)
            case "source":
                # The sentence of a refusal has the remedy in it already.
                return self._unavailable or Unavailable(message)
            case "stream-stopped":
                return Unavailable(message, "open a session on a display that runs")
            case _:
                return LocalProtocolError(code, self.explained(code, message))


class _Windows:
    """Asks a display for its windows on a connection and a thread of its own, which the first asking makes."""

    def __init__(self, display: str | None) -> None:
        self._display = display
        self._worker: Worker | None = None
        self._list: WindowList | None = None

    async def read(self, surface: tuple[int, int]) -> tuple[Window, ...]:
        need("desktop", "xcffib")
        if self._worker is None:
            self._worker = Worker("desktop-windows")
        try:
            found, root = await asyncio.wait_for(self._worker.submit(self._read), WINDOWS_SECONDS)
        except TimeoutError:
            raise Unavailable("the display server does not tell its windows", "start it again, then open a new session") from None
        across, down = surface[0] / root.width, surface[1] / root.height
        return tuple(replace(window, box=_scaled(window.box, across, down)) for window in found)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.submit(self._disconnect)
            self._worker.close()

    def _read(self) -> tuple[tuple[Window, ...], Size]:
        from ..adapters.desklink.window_list import WindowList

        if self._list is None:
            self._list = WindowList(self._display)
        try:
            return self._list.read()
        except Unavailable:
            self._disconnect()  # the next asking connects again
            raise

    def _disconnect(self) -> None:
        if self._list is not None:
            self._list.close()
            self._list = None


def _scaled(box: Box, across: float, down: float) -> Box:
    x, y, width, height = box
    left, top = round(x * across), round(y * down)
    return left, top, round((x + width) * across) - left, round((y + height) * down) - top
