"""See and drive an X display: `open` it, look at its frames as arrays, click, type, wait for what changes.

    async with desktop.open(display=":170", permissions=("view", "control")) as session:
        before = await session.frame()
        await session.click(640, 360)
        after = await session.frame(after_seq=before.seq, still_ms=100)
        await session.save_png("after.png")

The engine runs inside this process, by the same rules as the one that `triptych desktop serve` speaks for. Coordinates are pixels of the
encoded surface, `session.size`. `triptych.engine.desktop_sync` has the same names without `await`.

What a session holds down is released when its block is left, however that happens. A process that is killed leaves no block: what it held
stays down on the display. `triptych desktop serve` releases it on SIGTERM, SIGINT and SIGHUP; a program of your own must leave its blocks.
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

from ..adapters.desklink.host import Host
from ..adapters.desklink.private_file import write_owned
from ..adapters.desklink.probe import look_at_machine
from ..adapters.desklink.transport import NoTransport
from ..errors import LocalProtocolError, TriptychError, Unavailable, WaitTimeout
from ..generated.desklink.vocabulary import DEFAULT_MAX_FPS, DEFAULT_MAX_HEIGHT, DEFAULT_MAX_WIDTH, DEFAULT_TTL_SECONDS
from ..machines.desklink import capabilities as described
from ..machines.desklink.effects import Emit
from ..machines.desklink.requests import Request
from .extras import need

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

__all__ = ["Frame", "Session", "capabilities", "open"]

Box = tuple[int, int, int, int]


async def capabilities() -> dict[str, Any]:
    """What this machine can do: the Capabilities object of desklink v3. Prompts nobody."""
    return described.capabilities(await look_at_machine(NoTransport()))


@asynccontextmanager
async def open(
    display: str | None = None,
    permissions: Iterable[str] = ("view",),
    *,
    max_width: int = DEFAULT_MAX_WIDTH,
    max_height: int = DEFAULT_MAX_HEIGHT,
    max_fps: int = DEFAULT_MAX_FPS,
    ttl_seconds: int = DEFAULT_TTL_SECONDS,
) -> AsyncIterator[Session]:
    """Open the root window of `display` (":170"; None: $DISPLAY), and close it, with nothing left pressed, when the block ends.

    `permissions` are `view`, which is needed, and `control`, without which input is refused. Frames are scaled into `max_width` x
    `max_height` pixels, never up. The session ends by itself after `ttl_seconds`. Raises Unavailable when the display cannot be opened, and
    LocalProtocolError (codes `permission`, `malformed`) for parameters that are refused.
    """
    need("desktop", "numpy")
    channel = _Channel()
    params = {
        "source": {"kind": "x11", "display": display},
        "permissions": list(permissions),
        "max_width": max_width,
        "max_height": max_height,
        "max_fps": max_fps,
        "ttl_seconds": ttl_seconds,
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

    def save_png(self, path: str | Path) -> None:
        """Write the picture as a PNG file that only its owner may read. An earlier file is replaced at once, or not at all."""
        need("desktop", "PIL")
        from PIL import Image

        picture = io.BytesIO()
        Image.frombytes("RGB", (self.width, self.height), self.array.tobytes(), "raw", "BGRX").save(picture, "PNG")
        write_owned(path, picture.getbuffer())


class Session:
    """An open desktop session. Input methods raise LocalProtocolError with the code of the refusal; nothing was pressed then."""

    def __init__(self, channel: _Channel, opened: dict[str, Any]) -> None:
        self._channel = channel
        self.id: str = opened["sessionId"]
        encoded = opened["geometry"]["encoded"]
        self.size: tuple[int, int] = (encoded["width"], encoded["height"])

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
            damage=tuple((x, y, width, height) for x, y, width, height in result["damage"]),
            still_ms=result["still_ms"],
        )

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
        for _ in range(count):
            await self._pointer("down", x, y, button)
            await self._pointer("up", x, y, button)

    async def drag(self, start: tuple[int, int], end: tuple[int, int], *, button: int = 1) -> None:
        """Press a button at `start`, move, and release it at `end`."""
        await self._pointer("down", *start, button)
        await self._pointer("move", *end, button)
        await self._pointer("up", *end, button)

    async def wheel(self, dx: float = 0.0, dy: float = 0.0) -> None:
        """Turn the wheel by clicks: positive is right, and down. Fractions add up."""
        await self._control(kind="wheel", dx=dx, dy=dy)

    async def type(self, text: str) -> None:
        """Type the text, all of it or, when the keyboard layout lacks a character, none: then LocalProtocolError (text-unsupported)."""
        await self._control(kind="text", text=text)

    async def press(self, *keys: str) -> None:
        """Press and release keys one after another: a name ("Enter", "F5"), a character ("a"), or a chord of them ("Control+Shift+t")."""
        for key in keys:
            *modifiers, last = ["+"] if key == "+" else key.removesuffix("++").split("+") + (["+"] if key.endswith("++") else [])
            what = {"character": last} if len(last) == 1 else {"name": last}
            await self._control(kind="key", down=True, modifiers=modifiers, **what)
            await self._control(kind="key", down=False, **what)

    async def hold(self, key: str) -> None:
        """Press a named key or modifier and keep it down, until `release`, `release_all` or the end of the session."""
        await self._control(kind="key", name=key, down=True)

    async def release(self, key: str) -> None:
        """Release a key that `hold` pressed."""
        await self._control(kind="key", name=key, down=False)

    async def release_all(self) -> None:
        """Release everything that this session holds."""
        await self._control(kind="release_all")

    async def metrics(self) -> dict[str, Any]:
        """The counters of the session: the result of `session.metrics`."""
        return await self._channel.ask("session.metrics", {})

    async def _pointer(self, phase: str, x: int, y: int, button: int) -> None:
        await self._control(kind="pointer", phase=phase, x=x, y=y, button=button)

    async def _control(self, **message: Any) -> None:
        try:
            text = msgspec.json.encode(message)
        except (TypeError, ValueError, OverflowError) as error:
            raise LocalProtocolError("operation", str(error), message["kind"]) from None
        answer = await self._channel.control(self.id, text)
        if answer["kind"] == "rejected":
            raise LocalProtocolError(answer["code"], answer["message"], message["kind"])


class _Channel:
    """Requests to an engine in this process, and their answers."""

    def __init__(self) -> None:
        self._host = Host(on_emit=self._take, on_pixels=self._keep, on_unavailable=self._cannot_open, on_failure=self._fail, greeted=True)
        self._unavailable: Unavailable | None = None
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pixels: dict[int, bytes] = {}
        self._asked = 0

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request. Raises the refusal, or what broke the engine."""
        return await self._send(self._next(), method, params)

    async def ask_frame(self, params: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """The result of a `session.frame`, and the pixels."""
        request_id = self._next()
        try:
            result = await self._send(request_id, "session.frame", params, keep_pixels=True)
            return result, self._pixels[request_id]
        finally:
            self._pixels.pop(request_id, None)

    async def control(self, session_id: str, text: bytes) -> dict[str, Any]:
        """The answer to a control message."""
        answer: dict[str, Any] = await self._host.control(session_id, text)
        return answer

    async def close(self) -> None:
        """End the engine; everything is released and closed when this returns. Raises what broke it, if anything did."""
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

    def _keep(self, request_id: int, pixels: bytes) -> None:
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
        answer = self._answers.pop(message["id"], None) if "id" in message else None
        if answer is None or answer.done():
            return
        if "result" in message:
            answer.set_result(message["result"])
        else:
            answer.set_exception(self._error(**message["error"]))

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
                return LocalProtocolError(code, message)
