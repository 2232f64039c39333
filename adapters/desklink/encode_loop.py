"""Encodes the pictures of one captured session on a thread of its own, and hands the frames to the sender; begun by the peer connection.

It takes the newest picture out of the slot that the capture fills, when `encode_schedule` says that one is due and the path takes it. The
lock of the interpreter is free while libvpx works, and the frame is packetized, encrypted and sent on this thread.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ...errors import ProtocolError, Unavailable
from ...machines.desklink.counters import Sent
from ...machines.desklink.encode_schedule import Encode, EncodeSchedule, Pass, Wait
from ...machines.desklink.geometry import Size
from ..log import get_logger
from .encoder import CODEC, Encoder, encoder_name
from .newest import NewestFrame, Picture

log = get_logger()

LONGEST_WAIT = 10.0
"""Seconds of one sleep; what happens ends it."""

TAKE_SECONDS = 0.05
"""So long may the capture keep a picture for itself while it draws."""

LEAST_STEP = 0.001
"""Seconds between two frames' times."""


class Outlet(Protocol):
    """Where frames go; called on the encode thread."""

    @property
    def kbps(self) -> int:
        """The bit rate to keep now."""
        ...

    def may_send(self) -> bool:
        """Whether a frame may be sent now; not while nothing is connected."""
        ...

    def take_key(self) -> bool:
        """Whether the next frame must be a key frame. Asking takes the wish away; one that has to wait wakes the loop in its time."""
        ...

    def send_frame(self, payload: bytes, key: bool, captured_at: float) -> None:
        """Send a frame of a picture that was captured at that monotonic time, a millisecond or more after the one before."""
        ...


class Watcher(Protocol):
    """Who is told; on the event loop, but for `sent`."""

    def sent(self, sent: Sent) -> None:
        """On the encode thread: a frame was encoded and sent."""
        ...

    def superseded(self, count: int) -> None:
        """So many pictures were overtaken before they were encoded."""
        ...

    def refused(self, reason: str) -> None:
        """The encoder cannot go on: the session ends with the code `error`. Nothing comes after."""
        ...


class EncodeLoop:
    """The loop of one session. It begins at once; `surface` is the size of what the slot holds, `fps` the most frames in a second."""

    codec = CODEC

    def __init__(self, slot: NewestFrame, surface: Size, fps: int, outlet: Outlet, watcher: Watcher) -> None:
        self.encoder = encoder_name() or "none"
        """What encodes, for the metrics."""
        self._slot = slot
        self._surface = surface
        self._fps = fps
        self._outlet = outlet
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._last_at = 0.0
        self._superseded = slot.superseded
        self._thread = threading.Thread(target=self._run, name="desklink-encode", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look again now: a key frame is wanted, or the path takes frames. From any thread; never blocks."""
        self._woken.set()
        self._slot.wake()

    async def close(self) -> None:
        """End, and wait for the thread: for as long as one picture takes. Safe to call twice."""
        self._stopping.set()
        self._slot.wake()
        await asyncio.to_thread(self._thread.join)

    # On the encode thread

    def _run(self) -> None:
        try:
            with Encoder(self._surface.width, self._surface.height, self._outlet.kbps, fps=self._fps) as encoder:
                self._encode_until_stopped(encoder, EncodeSchedule(self._fps, self._surface.width, halves=encoder.halves))
        except ProtocolError as error:
            self._tell(self._watcher.refused, error.detail)
        except Unavailable as error:
            self._tell(self._watcher.refused, error.reason)
        except Exception as error:
            log.exception("the encode thread broke")
            self._tell(self._watcher.refused, f"the encoder broke: {error!r}")

    def _encode_until_stopped(self, encoder: Encoder, schedule: EncodeSchedule) -> None:
        picture: Picture | None = None
        while not self._stopping.is_set():
            if self._woken.is_set():
                self._woken.clear()
                schedule.woken()
            if self._outlet.take_key():
                schedule.want_key()
            if self._slot.waiting:
                schedule.changed()
            now = time.monotonic()
            step = schedule.next(now)
            if isinstance(step, Encode) and not self._outlet.may_send():
                step = schedule.held(now)
            if isinstance(step, Wait):
                self._slot.wait(min(step.until - now, LONGEST_WAIT))
                continue
            motion = step.why is Pass.MOTION
            taken = self._slot.take(TAKE_SECONDS) if motion and self._slot.waiting else None
            if taken is None and (picture is None or (motion and not step.key)):
                schedule.withdrawn(has_picture=picture is not None)
                continue
            picture = taken or picture
            assert picture is not None
            self._one(encoder, schedule, step, picture, now, moved=taken is not None)
            picture = replace(picture, damage=())

    def _one(self, encoder: Encoder, schedule: EncodeSchedule, step: Encode, picture: Picture, asked: float, *, moved: bool) -> None:
        """Encode a picture and send it. `asked`: when it was taken out of the slot; `moved`: it is another than the one before."""
        began, kbps = time.monotonic(), self._outlet.kbps
        frame = encoder.again() if step.why is Pass.KEEPALIVE else None
        frame = frame or encoder.encode(picture, key=step.key, refine=step.why is Pass.REFINE, most=step.most, half=step.half, kbps=kbps)
        encoded = time.monotonic()
        self._last_at = max(picture.at if moved else began, self._last_at + LEAST_STEP)
        self._outlet.send_frame(frame.data, frame.key, self._last_at)
        now = time.monotonic()
        newer = self._slot.waiting
        schedule.encoded(
            step,
            len(frame.data),
            began,
            encoded,
            kbps=kbps,
            newer_waits=newer,
            key=frame.key,
            quantizer=frame.quantizer,
            coded=frame.coded,
            rough=frame.rough,
        )
        sent = Sent(
            len(frame.data),
            key=frame.key,
            refined=step.why is Pass.REFINE,
            halved=step.half,
            motion=moved,
            encode_micros=_micros(encoded - began),
            queue_micros=_micros(began - picture.at) if moved else 0,
            send_micros=_micros(now - encoded),
            convert_micros=_micros(began - asked) if moved else 0,
        )
        self._watcher.sent(sent)
        if (count := self._slot.superseded - self._superseded) > 0:
            self._superseded += count
            self._tell(self._watcher.superseded, count)

    def _tell(self, call: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            self._stopping.set()  # the loop is closed: nobody is left to be told


def _micros(seconds: float) -> int:
    return max(0, int(seconds * 1e6))
