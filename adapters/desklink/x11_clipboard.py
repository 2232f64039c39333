"""The clipboard of an X display for one session: a thread with a connection of its own, which also answers the programs that paste.

Only the CLIPBOARD selection, and only when it is asked: it is never polled. The thread begins with the first call. A display that went away
is connected again by the next one. What was written is given up with `close`, since a session's clipboard ends with the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

import xcffib
import xcffib.xproto as x

from ...errors import ProtocolError, RemoteProtocolError, Unavailable
from ...generated.desklink.vocabulary import MAX_CLIPBOARD_BYTES
from ...machines.desklink.clipboard import ENDED, NO_ANSWER, SECONDS, TAKEN, decoded, encoded, refused
from ..log import get_logger
from . import selection_owner, selection_reader
from .selection_owner import SelectionOwner
from .selection_reader import Outcome, SelectionReader
from .x11_client import Watched, connect, events, intern, was_sent

log = get_logger()

STOP_SECONDS = 1.5
"""How long the end may take; a display server that hangs is left behind after that."""


class Selection:
    """The CLIPBOARD selection by one connection: its owner when we have it, its reader when others have. Used from one thread.

    Raises Unavailable when the display cannot be opened. Any method may raise xcffib.ConnectionException; `close` does not.
    """

    def __init__(self, display: str | None) -> None:
        self._connection = connect(display)
        try:
            atoms = intern(self._connection, {*selection_owner.ATOMS, *selection_reader.ATOMS})
            self._core = self._connection.core
            self._clock = int(self._connection.generate_id())
            root = self._connection.get_setup().roots[0].root
            told = [x.EventMask.PropertyChange]
            self._core.CreateWindow(0, self._clock, root, 0, 0, 1, 1, 0, x.WindowClass.InputOnly, 0, x.CW.EventMask, told)
            self._watched = Watched(self._connection)
            self._owner = SelectionOwner(self._connection, atoms, self._watched)
            self._reader = SelectionReader(self._connection, atoms, self._owner, self._watched)
            self._early: list[Any] = []
        except BaseException:
            self._connection.disconnect()
            raise

    def fileno(self) -> int:
        """The descriptor that becomes readable when `work` has something to do."""
        return int(self._connection.get_file_descriptor())

    def write(self, text: bytes) -> None:
        """Put UTF-8 on the clipboard. Raises RemoteProtocolError (clipboard) when another program took it at that moment."""
        if not self._owner.own(text, self._server_time()):
            raise refused(TAKEN)

    def read(self, limit: int, deadline: float, done: Callable[[Outcome], None]) -> None:
        """Read at least `limit` + 1 bytes of what is there; `done` is called once, by `work` or before this returns."""
        self._reader.start(self._server_time(), limit, deadline, done)

    def work(self) -> float | None:
        """Do what the events that have arrived, and the time, ask for; when it is due again, in monotonic seconds."""
        arrived = [*self._early, *events(self._connection)]
        self._early.clear()
        for event in arrived:
            if was_sent(event) and not isinstance(event, x.SelectionNotifyEvent):
                continue  # only an owner's answer comes from a program; the rest is the server's, or forged
            if isinstance(event, x.DestroyNotifyEvent):
                self._watched.gone(event.window)
            self._owner.handle(event)
            self._reader.handle(event)
        now = time.monotonic()
        self._owner.expire(now)
        self._reader.expire(now)
        self._connection.flush()
        if arrived or self._early:  # there may be more: the replies to our own requests bring events along
            return now
        return min((at for at in (self._owner.deadline(), self._reader.deadline()) if at is not None), default=None)

    def close(self, error: ProtocolError) -> None:
        """Disconnect, which gives the selection up; readings under way are answered with `error`."""
        self._reader.fail(error)
        self._connection.disconnect()

    def _server_time(self) -> int:
        """The server's time: the notice of an empty change of our own property has it (ICCCM 2.1)."""
        self._core.ChangeProperty(x.PropMode.Append, self._clock, x.Atom.WM_NAME, x.Atom.STRING, 8, 0, b"")
        self._core.GetInputFocus().reply()
        while True:
            for event in events(self._connection):
                if isinstance(event, x.PropertyNotifyEvent) and event.window == self._clock:
                    return int(event.time)
                self._early.append(event)


Answer: TypeAlias = Callable[[object], None]
"""Takes the outcome of a call: a value, or the ProtocolError."""
Call: TypeAlias = Callable[[Selection, float, Answer], None]
"""What the thread does with the selection before a deadline."""


class X11Clipboard:
    """Text on the clipboard of `display` (None: $DISPLAY). Make it, and use it, on a running event loop; calls may be under way together.

    Every refusal is RemoteProtocolError with code `clipboard` and a sentence for the consumer. `limit`: bytes of UTF-8, above which reading
    cuts and writing refuses. `seconds`: how long one call may take.
    """

    def __init__(self, display: str | None, *, limit: int = MAX_CLIPBOARD_BYTES, seconds: float = SECONDS) -> None:
        self._limit = limit
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._thread = _Thread(display)
        self._asked: set[asyncio.Future[Any]] = set()
        self._closed = False

    async def open(self) -> None:
        """Connect now, to know early that it works."""
        await self._ask(lambda selection, deadline, answer: answer(None))

    async def read(self) -> tuple[str, bool]:
        """The text on the clipboard, and whether it was cut at the limit."""
        limit = self._limit

        def read(selection: Selection, deadline: float, answer: Answer) -> None:
            selection.read(limit, deadline, answer)

        data: bytes = await self._ask(read)
        return decoded(data, limit)

    async def write(self, text: str) -> None:
        """Put a text on the clipboard; it is there, and this session has it, when this returns."""
        data = encoded(text, self._limit)

        def write(selection: Selection, deadline: float, answer: Answer) -> None:
            selection.write(data)
            answer(None)

        await self._ask(write)

    async def close(self) -> None:
        """Give up what was written, refuse what is under way, end the thread. A server that hangs is waited for 1.5 seconds. Safe twice."""
        self._closed = True
        for future in self._asked:
            if not future.done():
                future.set_exception(refused(ENDED))
        stopped = self._loop.create_future()
        self._thread.stop(lambda: self._post(stopped, None))
        await asyncio.wait((stopped,), timeout=STOP_SECONDS)

    async def _ask(self, call: Call) -> Any:
        """Let the thread make a call, whose answer is a value or a refusal."""
        if self._closed:
            raise refused(ENDED)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._asked.add(future)
        self._thread.call(call, time.monotonic() + self._seconds, lambda outcome: self._post(future, outcome))
        try:
            return await asyncio.wait_for(future, self._seconds)
        except TimeoutError:  # the display server hangs, and the thread in it
            raise refused(NO_ANSWER) from None
        finally:
            self._asked.discard(future)

    def _post(self, future: asyncio.Future[Any], outcome: object) -> None:
        # A closed loop raises: nobody waits for the answer any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_settle, future, outcome)


def _settle(future: asyncio.Future[Any], outcome: object) -> None:
    if future.done():
        return
    if isinstance(outcome, ProtocolError):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


class _Thread:
    """Serves the selection and carries out calls; it begins with the first call, and connects for one."""

    def __init__(self, display: str | None) -> None:
        self._display = display
        self._calls: SimpleQueue[tuple[Call, float, Answer] | Callable[[], None]] = SimpleQueue()
        self._wake = -1
        self._waking = threading.Lock()  # the thread that was told to stop closes what wakes it, not before it was woken
        self._selection: Selection | None = None

    def call(self, call: Call, deadline: float, answer: Answer) -> None:
        self._calls.put((call, deadline, answer))
        if self._wake < 0:
            self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            # A daemon, since a thread that waits for a dead server in C must not keep the process.
            threading.Thread(target=self._run, args=(self._wake,), name="desklink-clipboard", daemon=True).start()
        else:
            os.eventfd_write(self._wake, 1)

    def stop(self, stopped: Callable[[], None]) -> None:
        if self._wake < 0:
            stopped()
            return
        with self._waking:
            self._calls.put(stopped)
            os.eventfd_write(self._wake, 1)
        self._wake = -1

    def _run(self, wake: int) -> None:
        stopped: Callable[[], None] | None = None
        while stopped is None:
            try:
                if (stopped := self._take_calls()) is None:
                    self._serve(wake)
            except xcffib.ConnectionException:
                self._lose(self._gone())
            except Exception as error:
                log.exception("the clipboard thread broke")
                self._lose(refused(f"the clipboard broke: {error!r}"))
        self._lose(refused(ENDED))
        with self._waking:
            os.close(wake)
        stopped()

    def _serve(self, wake: int) -> None:
        """Let the selection work, then sleep until there is a call, an event or a deadline."""
        due = self._selection.work() if self._selection else None
        ready = select.poll()
        ready.register(wake, select.POLLIN)
        if self._selection:
            ready.register(self._selection.fileno(), select.POLLIN)
        ready.poll(None if due is None else max(0.0, due - time.monotonic()) * 1000)
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(wake)

    def _take_calls(self) -> Callable[[], None] | None:
        """Make the calls that wait; what to call at the end, if it has come to that."""
        with contextlib.suppress(Empty):
            while isinstance(waiting := self._calls.get_nowait(), tuple):
                call, deadline, answer = waiting
                if time.monotonic() >= deadline:
                    answer(refused(NO_ANSWER))  # its caller has gone: it must not happen any more
                    continue
                try:
                    self._selection = self._selection or Selection(self._display)
                    call(self._selection, deadline, answer)
                except ProtocolError as error:
                    answer(error)
                except Unavailable as error:
                    answer(refused(error.reason))
                except xcffib.ConnectionException:
                    answer(self._gone())
                    raise
            return waiting
        return None

    def _gone(self) -> RemoteProtocolError:
        return refused(f"the X display {self._display or os.environ.get('DISPLAY')} went away")

    def _lose(self, error: ProtocolError) -> None:
        selection, self._selection = self._selection, None
        if selection is not None:
            selection.close(error)
