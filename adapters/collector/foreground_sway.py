"""The foreground of sway, and of what else speaks the IPC protocol of i3 on a unix socket: GET_TREE, and SUBSCRIBE to window events.

`foreground` makes it. One connection carries answers, in the order of the questions, and events between them.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections import deque
from collections.abc import Callable

from ...machines.collector.active_window import ActiveWindow, sway_window
from .hang_up import hang_up

ASK_SECONDS = 0.5
MAX_ANSWER_BYTES = 1 << 24

_HEADER = struct.Struct("=6sII")
_MAGIC = b"i3-ipc"
_SUBSCRIBE, _GET_TREE = 2, 4
_EVENT = 1 << 31
_WINDOW, _WORKSPACE = _EVENT | 3, _EVENT | 0
#: A title that changes elsewhere is none of ours.
_ELSEWHERE = ("title", "mark", "urgent")


class SwayForeground:
    """One compositor, by the path of its socket."""

    name = "sway IPC"

    def __init__(self, path: str, changed: Callable[[], None]) -> None:
        self._path = path
        self._changed = changed
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._asked: deque[asyncio.Future[object]] = deque()

    async def open(self) -> bool:
        """Connect and subscribe, if that is not done."""
        if self._reading is not None and not self._reading.done():
            return True
        await self.close()
        try:
            async with asyncio.timeout(ASK_SECONDS):
                reader, self._writer = await asyncio.open_unix_connection(self._path)
                self._reading = asyncio.create_task(self._read(reader))
                answer = await self._ask(_SUBSCRIBE, b'["window","workspace"]')
        except (OSError, TimeoutError):
            answer = None
        if not isinstance(answer, dict) or answer.get("success") is not True:
            await self.close()
            return False
        return True

    async def active(self) -> ActiveWindow | None:
        """The focused view of the tree."""
        found = await self._focused()
        return found[0] if found else None

    async def title(self, window: int) -> str | None:
        """The name of the focused view, if it is that one."""
        found = await self._focused()
        return found[1] if found and found[0].window == window else None

    async def close(self) -> None:
        """Hang up."""
        reading, self._reading = self._reading, None
        writer, self._writer = self._writer, None
        await hang_up(reading, writer)

    async def _focused(self) -> tuple[ActiveWindow, str | None] | None:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return sway_window(await self._ask(_GET_TREE))
        except TimeoutError:
            await self.close()  # it hangs: an answer that comes later must not be taken for another's
            return None
        except OSError:
            return None

    async def _ask(self, kind: int, payload: bytes = b"") -> object:
        if self._writer is None or self._reading is None or self._reading.done():
            raise ConnectionError("sway hung up")
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        self._writer.write(_HEADER.pack(_MAGIC, len(payload), kind) + payload)
        return await answer

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                magic, length, kind = _HEADER.unpack(await reader.readexactly(_HEADER.size))
                if magic != _MAGIC or length > MAX_ANSWER_BYTES:
                    return
                value = json.loads(await reader.readexactly(length))
                if kind & _EVENT:
                    self._take(kind, value)
                elif self._asked and not (answer := self._asked.popleft()).done():
                    answer.set_result(value)
        except (OSError, EOFError, ValueError, RecursionError):
            return
        finally:
            while self._asked:
                if not (answer := self._asked.popleft()).done():
                    answer.set_exception(ConnectionError("sway hung up"))
            self._changed()

    def _take(self, kind: int, event: object) -> None:
        if kind not in (_WINDOW, _WORKSPACE) or not isinstance(event, dict):
            return
        window = event.get("container")
        focused = isinstance(window, dict) and window.get("focused") is True
        if focused or event.get("change") not in _ELSEWHERE:
            self._changed()
