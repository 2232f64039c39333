"""An X display as the source of one session: a thread that captures its root window, and a thread that makes its input; owned by the host.

Two connections, so that no key waits behind a picture. The capture thread sleeps on its connection until something is drawn; it looks at
the picture in the session's cadence. A server that hangs keeps its thread, never the event loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ...errors import Unavailable
from ...machines.desklink.cadence import Cadence
from ...machines.desklink.geometry import Box, Size, region_inside
from ...machines.desklink.input import MOST_WAITING, Clipboard, ControlInput, Present, crowded
from ..log import get_logger
from ..worker import Worker
from .display_name import CONNECT_SECONDS, NoAnswer
from .inject import XLayout, carry_out, judge

if TYPE_CHECKING:
    from .newest import NewestFrame
    from .x11_capture import X11Capture
    from .x11_input import X11Input

log = get_logger()

Copied: TypeAlias = Callable[[memoryview], None]

STOP_SECONDS = 1.5
"""How long the end of a source may take; a display server that hangs is left behind after that. A consumer kills after three seconds."""

MOST_FAILED_GRABS = 10
"""So many refused pictures in a row are a lost capture."""


class Watcher(Protocol):
    """Who is told what the capture thread sees; on the event loop, but for `captured`."""

    def captured(self, damage: tuple[Box, ...], source: Size, micros: int, at: float) -> None:
        """On the capture thread: the picture changed in the boxes `damage`, at the monotonic time `at`; looking at it took `micros`."""
        ...

    def grab_failed(self) -> None:
        """One look at the picture failed."""
        ...

    def capture_lost(self, reason: str) -> None:
        """The capture thread has ended by itself."""
        ...


class X11Source:
    """The root window of `display` (None: $DISPLAY); with `control`, its pointer and keyboard too."""

    def __init__(self, display: str | None, control: bool, max_fps: int, watcher: Watcher) -> None:
        self._display = display
        self._controlled = control
        self._cadence = Cadence(max_fps)
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._worker = Worker("desklink-input")
        self._waiting = 0
        self._capture: X11Capture | None = None
        self._device: X11Input | None = None
        self._control: ControlInput | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._nudge = threading.Event()
        self._copies: SimpleQueue[tuple[Box, Size, Copied]] = SimpleQueue()
        self._newest: NewestFrame | None = None
        self._seen_at: float | None = None  # when the present frame was; the capture thread's own

    @property
    def display(self) -> str | None:
        """The display as it was asked for."""
        return self._display

    @property
    def layout(self) -> XLayout | None:
        """The live keyboard layout; None without control."""
        return XLayout(self._connected) if self._controlled else None

    async def open(self) -> Size:
        """Connect, or connect again. Raises Unavailable; then nothing is open."""
        return await self._connected_in_time()

    def start(self, control: ControlInput) -> None:
        """Begin to report changes, and to let `control` judge input."""
        self._control = control
        self._watch()

    def _watch(self) -> None:
        assert self._capture is not None
        self._copies = SimpleQueue()
        self._seen_at = None
        self._thread = threading.Thread(target=self._run, args=(self._capture,), name="desklink-capture", daemon=True)
        self._thread.start()

    async def reopen(self) -> None:
        """Connect again after the capture was lost. Raises Unavailable."""
        await self._connected_in_time()
        self._watch()

    async def _connected_in_time(self) -> Size:
        try:
            return await asyncio.wait_for(self._worker.submit(self._connect), CONNECT_SECONDS)
        except TimeoutError:
            raise NoAnswer(self._display) from None

    def judge(self, text: bytes, present: Present) -> asyncio.Future[dict[str, Any] | Clipboard]:
        """Let the rules judge one control message and carry it out, after all before it; the result is the answer for the client.

        A message for the clipboard is not carried out here: it is the result. One that would wait behind very many others is rejected.
        """
        if self._waiting >= MOST_WAITING:
            refused: asyncio.Future[dict[str, Any] | Clipboard] = self._loop.create_future()
            refused.set_result(crowded(text))
            return refused
        self._waiting += 1
        judging = self._worker.submit(self._judge, text, present)
        judging.add_done_callback(self._judged)
        return judging

    def _judged(self, _: object) -> None:
        self._waiting -= 1

    def lift(self) -> asyncio.Future[None]:
        """Lift what the session holds, after all input before."""
        return self._worker.submit(self._lift)

    def copy(self, region: Box, surface: Size, copied: Copied) -> None:
        """Copy a region of the newest picture, scaled to `surface`, as tight BGRX rows; `copied` gets it on the event loop.

        The capture thread copies, between two looks: so `copied` comes after the news of the frame that it has, and before that of the
        next. It never comes when the capture is lost, or the server hangs.
        """
        assert self._capture is not None
        self._copies.put((region, surface, copied))
        self._look_up()

    def newest(self, surface: Size) -> NewestFrame:
        """A slot that has every picture from now on, the present one first, as an encoder needs it; an earlier slot gets no more."""
        from .newest import NewestFrame

        self._newest = NewestFrame(surface)
        self._look_up()
        return self._newest

    def _look_up(self) -> None:
        """Let the capture thread see what it is asked for."""
        self._nudge.set()
        if self._capture is not None:
            self._capture.wake()

    async def close(self) -> bool:
        """Lift what is held, end the capture thread, close both connections; False when the display server did not let it in time."""
        self._stopping.set()
        self._nudge.set()
        if (device := self._device) is not None:
            device.interrupt()  # typing with borrowed keys may take many seconds
        lifted = self.lift()
        closed = self._worker.submit(self._disconnect)
        self._worker.close()
        done, _ = await asyncio.wait((lifted, closed), timeout=STOP_SECONDS)
        for future in done:
            future.exception()  # a server that is gone holds nothing down
        return closed in done

    # On the input thread

    def _connect(self) -> Size:
        from .x11_capture import X11Capture
        from .x11_input import X11Input

        self._disconnect()
        try:
            self._capture = X11Capture(self._display)
            self._device = X11Input(self._display) if self._controlled else None
        except BaseException:
            self._disconnect()
            raise
        return Size(*self._capture.size)

    def _disconnect(self) -> None:
        device, capture = self._device, self._capture
        if self._thread is not None and capture is not None:
            capture.wake()
            self._thread.join()
        self._thread = self._device = self._capture = None
        if device is not None:
            device.close()
        if capture is not None:
            capture.close()

    def _connected(self) -> X11Input:
        if self._device is None:
            raise Unavailable("the display is not connected")
        return self._device

    def _judge(self, text: bytes, present: Present) -> dict[str, Any] | Clipboard:
        assert self._control is not None
        if self._device is not None and self._device.lost:
            self._replace_device(self._device, self._control)
        return judge(self._control, self._device, text, present)

    def _replace_device(self, lost: X11Input, control: ControlInput) -> None:
        """Input has a connection of its own, which somebody may end alone (`xkill`); a display that is gone is the capture's to report."""
        from .x11_input import X11Input

        try:
            self._device = X11Input(self._display)
            lost.close()
            # The guard of the lost connection lifts what was held; where that was killed too, these edges do.
            carry_out(self._device, control.release_all())
        except (Unavailable, OSError) as error:
            log.info("the input could not be connected again", reason=str(error))

    def _lift(self) -> None:
        if self._control is not None and (edges := self._control.release_all()):
            carry_out(self._device, edges)

    # On the capture thread

    def _run(self, capture: X11Capture) -> None:
        try:
            self._look_until_stopped(capture)
        except Unavailable as error:
            self._lost(error.reason)
        except Exception as error:
            log.exception("the capture thread broke")
            self._lost(f"the capture broke: {error!r}")

    def _look_until_stopped(self, capture: X11Capture) -> None:
        from .x11_connection import DisplayLost

        unseen: tuple[Box, ...] = ()
        failed = 0
        while True:
            unseen += capture.wait_damage(self._cadence.interval if failed else None)
            self._serve(capture)
            while unseen and not self._stopping.is_set() and (pause := self._cadence.at - time.monotonic()) > 0:
                self._nudge.wait(pause)
                self._nudge.clear()
                self._serve(capture)
            if self._stopping.is_set():
                return
            if not unseen:
                continue
            began = time.monotonic()
            self._cadence.began(began)
            try:
                # Drawn while the interval passed: looked at now, it needs no frame of its own.
                unseen += capture.wait_damage(0)
                changed = self._refreshed(capture, unseen)
            except DisplayLost:
                raise
            except Unavailable:
                failed += 1
                self._tell(self._watcher.grab_failed)
                if failed == MOST_FAILED_GRABS:
                    raise
                continue
            unseen, failed = (), 0
            if changed and (now := self._seen_at) is not None:
                self._watcher.captured(changed, Size(*capture.size), int((now - began) * 1e6), now)

    def _refreshed(self, capture: X11Capture, drawn: tuple[Box, ...]) -> tuple[Box, ...]:
        """What really changed; the slot has it too."""
        # The root window may have had other sizes since: each change of it brought a box of all that there is now.
        drawn = tuple(box for box in drawn if region_inside(box, Size(*capture.size)))
        with nullcontext() if (slot := self._newest) is None else slot.drawing():
            if changed := capture.refresh(drawn):
                self._seen_at = time.monotonic()
                if slot is not None:
                    slot.put(capture.frame, changed, self._seen_at)
            return changed

    def _serve(self, capture: X11Capture) -> None:
        """Copy what is asked for, and give a new slot the present picture."""
        while not self._copies.empty():
            region, surface, copied = self._copies.get()
            self._tell(copied, capture.frame.copy(region, surface))
        if (slot := self._newest) is not None and slot.empty and self._seen_at is not None:
            slot.put(capture.frame, (capture.frame.size.box,), self._seen_at)

    def _lost(self, reason: str) -> None:
        if self._newest is not None:
            self._newest.drop()
        if not self._stopping.is_set():
            self._tell(self._watcher.capture_lost, reason)

    def _tell(self, call: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            # The loop is closed: the engine has left a thread behind that a display server kept.
            self._stopping.set()
