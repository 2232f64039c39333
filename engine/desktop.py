"""See and drive an X display: `open` it, look at its frames as arrays, click, type, wait for what changes.

    async with desktop.open(display=":170", permissions=("view", "control")) as session:
        before = await session.frame()
        await session.click(640, 360)
        await session.wait_for_change(after_seq=before.seq)
        after = await session.frame(still_ms=100)
        after.save_png("after.png")

The engine runs inside this process, by the same rules as the one that `triptych desktop serve` speaks for. Coordinates are pixels of the
encoded surface, `session.size`. `triptych.engine.desktop_sync` has the same names without `await`.

What a session holds down is released when its block is left, however that happens; of a process that is killed, a guard releases it.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..adapters.desklink.private_file import write_owned
from ..adapters.desklink.probe import look_at_machine
from ..errors import LocalProtocolError
from ..generated.desklink.vocabulary import (
    DEFAULT_FRAME_TIMEOUT_MS,
    DEFAULT_MAX_FPS,
    DEFAULT_MAX_HEIGHT,
    DEFAULT_MAX_WIDTH,
    DEFAULT_STILL_MS,
    DEFAULT_TTL_SECONDS,
)
from ..machines.desklink import capabilities as described
from ..machines.desklink.geometry import Size, contains
from ..machines.desklink.windows import Window
from .desktop_channel import Box, Channel, OnEvent, Status
from .extras import need

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["Change", "ClipboardText", "Frame", "Session", "Status", "Window", "capabilities", "open"]


async def capabilities() -> dict[str, Any]:
    """What this machine can do: the Capabilities object of desklink v3. Prompts nobody."""
    from ..adapters.desklink.webrtc.transport import carried

    return described.capabilities(await look_at_machine(*carried()))


@asynccontextmanager
async def open(
    display: str | None = None,
    permissions: Iterable[str] = ("view",),
    *,
    max_width: int = DEFAULT_MAX_WIDTH,
    max_height: int = DEFAULT_MAX_HEIGHT,
    max_fps: int = DEFAULT_MAX_FPS,
    ttl_seconds: int = DEFAULT_TTL_SECONDS,
    agent_indicator: bool = False,
    on_event: OnEvent | None = None,
) -> AsyncIterator[Session]:
    """Open the root window of `display` (":170"; None: $DISPLAY), and close it, with nothing left pressed, when the block ends.

    `permissions` are `view`, which is needed, `control`, without which input is refused, and `clipboard`. Frames are scaled into
    `max_width` x `max_height` pixels, never up (0: never scaled). The session ends by itself after `ttl_seconds`. With `agent_indicator` a
    halo shows people at the display what the session does; it is in no frame. `on_event` gets every event of the session, as desklink v3
    has it (`{"event": "session.frame.changed", "params": {…}}`); it is called on the event loop and must not block.

    Raises Unavailable when the display cannot be opened, and LocalProtocolError (codes `permission`, `malformed`) for parameters that are
    refused.
    """
    need("desktop", "numpy")
    channel = Channel(display, on_event)
    params = {
        "source": {"kind": "x11", "display": display},
        "permissions": list(permissions),
        "max_width": max_width,
        "max_height": max_height,
        "max_fps": max_fps,
        "ttl_seconds": ttl_seconds,
        "agent_indicator": agent_indicator,
    }
    try:
        yield Session(channel, await channel.ask("session.open", params))
    finally:
        await channel.close()


@dataclass(frozen=True)
class Frame:
    """One picture. `array`: uint8 (height, width, 4), the bytes B, G, R, X, read-only. `seq` counts the changes since the open.

    `damage` are the boxes (x, y, width, height) that changed since the frame asked about, `still_ms` how long nothing has changed.
    """

    array: NDArray[numpy.uint8]
    seq: int
    damage: tuple[Box, ...]
    still_ms: int

    @property
    def width(self) -> int:
        """Pixels across."""
        return int(self.array.shape[1])

    @property
    def height(self) -> int:
        """Pixels down."""
        return int(self.array.shape[0])

    def png(self) -> bytes:
        """The picture as the bytes of a PNG file."""
        need("desktop", "PIL")
        from PIL import Image

        picture = io.BytesIO()
        Image.frombytes("RGB", (self.width, self.height), self.array.tobytes(), "raw", "BGRX").save(picture, "PNG")
        return picture.getvalue()

    def save_png(self, path: str | Path) -> None:
        """Write the picture as a PNG file that only its owner may read. An earlier file is replaced at once, or not at all."""
        write_owned(path, self.png())


@dataclass(frozen=True)
class Change:
    """What a frame changed: as `Frame`, without the picture."""

    seq: int
    damage: tuple[Box, ...]
    still_ms: int


@dataclass(frozen=True)
class ClipboardText:
    """The text of a clipboard. `truncated`: it is longer, and this is its beginning."""

    text: str
    truncated: bool


class Session:
    """An open desktop session. Input methods raise LocalProtocolError with the code of the refusal; nothing was pressed then."""

    def __init__(self, channel: Channel, opened: dict[str, Any]) -> None:
        self._channel = channel
        self.id: str = opened["sessionId"]
        encoded = opened["geometry"]["encoded"]
        self.size: tuple[int, int] = (encoded["width"], encoded["height"])

    @property
    def status(self) -> Status:
        """Whether the session still sees, and the newest frame's number; kept current by the events of the engine."""
        return self._channel.status

    async def frame(
        self,
        *,
        after_seq: int = 0,
        still_ms: int | None = None,
        timeout_ms: int | None = None,
        since: int | None = None,
        region: Box | None = None,
    ) -> Frame:
        """The newest frame with a sequence number above `after_seq`, once nothing has changed for `still_ms`.

        Waits up to `timeout_ms` milliseconds (default 5000, at most 120000). `since`: tell the damage since that frame; otherwise all of
        it. `region`: only that box. Raises WaitTimeout, LocalProtocolError (codes `coordinates`, `session`) and Unavailable when the
        display is gone.
        """
        asked = {"after_seq": after_seq, "still_ms": still_ms, "timeout_ms": timeout_ms, "since": since, "region": region and list(region)}
        result, pixels = await self._channel.ask_frame({"session_id": self.id, **asked})
        import numpy

        return Frame(
            array=numpy.frombuffer(pixels, numpy.uint8).reshape(result["height"], result["width"], 4),
            seq=result["seq"],
            damage=_boxes(result["damage"]),
            still_ms=result["still_ms"],
        )

    async def wait_for_change(self, *, after_seq: int | None = None, timeout_ms: int = DEFAULT_FRAME_TIMEOUT_MS) -> Change:
        """Wait until something has changed since frame `after_seq` (None: the newest one), and tell what; no picture is copied.

        Raises as `frame` does.
        """
        since = self.status.seq if after_seq is None else after_seq
        return await self._change(after_seq=since, since=since, timeout_ms=timeout_ms)

    async def settle(self, *, still_ms: int = DEFAULT_STILL_MS, timeout_ms: int = DEFAULT_FRAME_TIMEOUT_MS) -> Change:
        """Wait until nothing has changed for `still_ms`; at once when that is so already. Raises as `frame` does."""
        return await self._change(still_ms=still_ms, since=self.status.seq, timeout_ms=timeout_ms)

    async def save_png(self, path: str | Path) -> Frame:
        """Write the newest frame as a PNG file, and return it."""
        frame = await self.frame()
        await asyncio.to_thread(frame.save_png, path)
        return frame

    async def move(self, x: int, y: int) -> None:
        """Put the pointer there."""
        await self._pointer("move", x, y, 1)

    async def click(self, x: int, y: int, *, button: int = 1, count: int = 1) -> None:
        """Press and release a button (1 left, 2 middle, 3 right) there, `count` times."""
        there = {"kind": "pointer", "x": x, "y": y, "button": button}
        for _ in range(count):
            await self._control_all({**there, "phase": "down"}, {**there, "phase": "up"})

    async def drag(self, start: tuple[int, int], end: tuple[int, int], *, button: int = 1, steps: int = 8) -> None:
        """Press a button at `start`, move to `end` in so many `steps`, as programs expect of a hand, and release it there."""
        for x, y in (start, end):
            if not contains(Size(*self.size), x, y):
                raise LocalProtocolError("coordinates", f"({x},{y}) is outside the {self.size[0]}x{self.size[1]} surface", "pointer")
        places = [
            tuple(begin + (until - begin) * step // steps for begin, until in zip(start, end, strict=True)) for step in range(1, steps + 1)
        ]
        path = [("down", start), *(("move", place) for place in places), ("up", end)]
        await self._control_all(*({"kind": "pointer", "phase": phase, "x": x, "y": y, "button": button} for phase, (x, y) in path))

    async def wheel(self, dx: float = 0.0, dy: float = 0.0) -> None:
        """Turn the wheel by clicks: positive is right, and down. Fractions add up."""
        await self._control(kind="wheel", dx=dx, dy=dy)

    async def type(self, text: str, *, unicode: bool = False) -> None:
        """Type the text, all of it or, when the keyboard layout lacks a character, none: then LocalProtocolError (text-unsupported).

        With `unicode` such characters are typed too, through keys that the layout leaves free and gets back afterwards. At most 4096 bytes
        of UTF-8 go at once (text-too-large).
        """
        await self._control(unicode, kind="text", text=text)

    async def press(self, *keys: str) -> None:
        """Press and release keys one after another: a name ("Enter", "F5"), a character ("a"), or a chord of them ("Control+Shift+t")."""
        for key in keys:
            *modifiers, last = ["+"] if key == "+" else key.removesuffix("++").split("+") + (["+"] if key.endswith("++") else [])
            what = {"character": last} if len(last) == 1 else {"name": last}
            await self._control_all({"kind": "key", "down": True, "modifiers": modifiers, **what}, {"kind": "key", "down": False, **what})

    async def hold(self, key: str) -> None:
        """Press a named key or modifier and keep it down, until `release`, `release_all` or the end of the session."""
        await self._control(kind="key", name=key, down=True)

    async def release(self, key: str) -> None:
        """Release a key that `hold` pressed."""
        await self._control(kind="key", name=key, down=False)

    async def release_all(self) -> None:
        """Release everything that this session holds."""
        await self._control(kind="release_all")

    async def clipboard_read(self) -> ClipboardText:
        """The text on the display's clipboard. Raises LocalProtocolError (clipboard): no permission, no text, or no answer."""
        result = await self._channel.ask("session.clipboard.read", {"session_id": self.id})
        return ClipboardText(result["text"], result["truncated"])

    async def clipboard_write(self, text: str) -> None:
        """Put a text on the display's clipboard, at most 262,144 bytes of UTF-8; it stays there while the session lasts.

        Raises LocalProtocolError (clipboard).
        """
        await self._channel.ask("session.clipboard.write", {"session_id": self.id, "text": text})

    async def windows(self) -> tuple[Window, ...]:
        """The windows of the display, top of the stack first: title, class, process id, place, whether active. Raises Unavailable.

        A window manager that speaks EWMH is asked; without one the tree of windows is read. Titles are safe to print.
        """
        return await self._channel.windows(self.size)

    async def metrics(self) -> dict[str, Any]:
        """The counters of the session: the result of `session.metrics`."""
        return await self._channel.ask("session.metrics", {})

    async def _change(self, **asked: int) -> Change:
        result = await self._channel.ask("session.frame", {"session_id": self.id, **asked})
        return Change(result["seq"], _boxes(result["damage"]), result["still_ms"])

    async def _pointer(self, phase: str, x: int, y: int, button: int) -> None:
        await self._control(kind="pointer", phase=phase, x=x, y=y, button=button)

    async def _control(self, unicode: bool = False, /, **message: Any) -> None:
        await self._control_all(message, unicode=unicode)

    async def _control_all(self, *messages: dict[str, Any], unicode: bool = False) -> None:
        """Hand all of them over before any answer is waited for: whoever gives up waiting for a click has not left the button down, and two
        tasks that click do not get between each other's edges.
        """
        kind = messages[0]["kind"]
        try:
            texts = [msgspec.json.encode(message) for message in messages]
        except (TypeError, ValueError, OverflowError) as error:
            raise LocalProtocolError("operation", str(error), kind) from None
        for answer in await asyncio.gather(*(self._channel.control(self.id, text, unicode) for text in texts)):
            if answer["kind"] == "rejected":
                raise LocalProtocolError(answer["code"], self._channel.explained(answer["code"], answer["message"]), kind)


def _boxes(damage: Iterable[list[int]]) -> tuple[Box, ...]:
    return tuple((x, y, width, height) for x, y, width, height in damage)
