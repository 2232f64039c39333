"""The foreground of Hyprland: `activewindow` on its request socket, and the events of its second socket.

`foreground` makes it. Each question is a connection of its own, as that compositor wants it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from ...machines.collector.active_window import ActiveWindow, hyprland_window
from .hang_up import hang_up

ASK_SECONDS = 0.5
MAX_ANSWER_BYTES = 1 << 20

_EVENTS = (b"activewindowv2>>", b"closewindow>>", b"windowtitle>>", b"workspace>>", b"focusedmon>>")


class HyprlandForeground:
    """The compositor whose instance `env` names."""

    name = "Hyprland sockets"

    def __init__(self, env: Mapping[str, str], changed: Callable[[], None]) -> None:
        instance = env.get("HYPRLAND_INSTANCE_SIGNATURE", "")
        # Below the runtime directory since 0.40, below /tmp before.
        self._folders = [Path(base) / "hypr" / instance for base in (env.get("XDG_RUNTIME_DIR"), "/tmp") if base]
        self._changed = changed
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._folder = self._folders[-1]

    async def open(self) -> bool:
        """Listen to its events, if that is not done."""
        if self._reading is not None and not self._reading.done():
            return True
        await self.close()
        for folder in self._folders:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    reader, self._writer = await asyncio.open_unix_connection(folder / ".socket2.sock")
                self._folder = folder
                self._reading = asyncio.create_task(self._read(reader))
                return True
        return False

    async def active(self) -> ActiveWindow | None:
        """Its active window."""
        found = await self._ask()
        return found[0] if found else None

    async def title(self, window: int) -> str | None:
        """The title of its active window, if it is that one."""
        found = await self._ask()
        return found[1] if found and found[0].window == window else None

    async def close(self) -> None:
        """Hang up."""
        reading, self._reading = self._reading, None
        writer, self._writer = self._writer, None
        await hang_up(reading, writer)

    async def _ask(self) -> tuple[ActiveWindow, str | None] | None:
        writer = None
        try:
            async with asyncio.timeout(ASK_SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._folder / ".socket.sock")
                writer.write(b"j/activewindow")
                answer = b""
                while chunk := await reader.read(MAX_ANSWER_BYTES - len(answer)):
                    answer += chunk
            return hyprland_window(json.loads(answer))
        except (OSError, TimeoutError, ValueError, RecursionError):
            return None
        finally:
            await hang_up(None, writer)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                if line.startswith(_EVENTS):
                    self._changed()
        except (OSError, ValueError):
            return
        finally:
            self._changed()
