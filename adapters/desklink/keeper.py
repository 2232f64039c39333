"""Runs the display keeper: steps the `Keeper` lifecycle by the display, the output and the clock; called by `triptych desktop keep`.

One thread waits for everything at once: the X connection, the consumer's end of the output, the next deadline, and a signal to stop.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
import xcffib

from ...errors import Unavailable
from ...generated.desklink.models import KeeperRefusal
from ...machines.desklink.keeper import Adopt, Claim, Exit, Keeper, Report, ReportError
from ...machines.desklink.kiosk import Dialogs
from ...machines.lifecycle import Deadline, Effect
from .window_manager import AnotherManager, WindowManager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: What a pipe takes without blocking whenever it is writable at all (PIPE_BUF).
PIECE = 4096


def run_keeper(display: str | None, dialogs: Dialogs, out: BinaryIO) -> int:
    """Keep `display` (":170") and write one JSON line to `out` for each report, until one of the two is gone; the process's exit code.

    `out` needs a descriptor. 0: the display or the consumer went away, or a stop signal came; 1: refused, and `out` has the one line that
    says why. Signals are watched when this is called from the main thread.
    """
    with _Run(display, dialogs, out.fileno()) as run:
        return run.until_exit()


class _Run:
    def __init__(self, display: str | None, dialogs: Dialogs, output: int) -> None:
        self._display = display
        self._dialogs: Dialogs = dialogs
        self._output = output
        self._chart = Keeper()
        self._events: deque[tuple[str, dict[str, str]]] = deque()
        self._deadlines: dict[str, float] = {}
        self._manager: WindowManager | None = None
        self._unsent: deque[bytes] = deque()
        self._code: int | None = None

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        if self._manager is not None:
            self._manager.close()

    def until_exit(self) -> int:
        with _stop_signals() as stopped:
            self._events.append(("start" if self._display else "display_missing", {}))
            while self._code is None:
                if self._events:
                    event, data = self._events.popleft()
                    if not self._chart.is_over:
                        self._step(event, data)
                else:
                    self._wait(stopped)
        return self._code

    def _step(self, event: str, data: dict[str, str]) -> None:
        for effect in self._chart.step(event, time.monotonic(), **data):
            try:
                self._carry_out(effect)
            except xcffib.ConnectionException:
                self._events.appendleft(("display_gone", {}))
                return

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Claim():
                self._claim()
            case Adopt():
                self._kept.adopt()
            case Report():
                self._send(msgspec.json.encode(self._kept.report()))
            case ReportError(text):
                self._send_now(msgspec.json.encode(KeeperRefusal(error=text)))
            case Deadline(name, None):
                self._deadlines.pop(name, None)
            case Deadline(name, at) if at is not None:
                self._deadlines[name] = at
            case Exit(code):
                self._code = code

    def _claim(self) -> None:
        display = self._display or ""
        try:
            self._manager = WindowManager(display, self._dialogs)
        except AnotherManager:
            self._events.append(("occupied", {}))
        except Unavailable as error:
            shown = display.encode("utf-8", "backslashreplace").decode()
            self._events.append(("display_unopenable", {"display": shown, "detail": error.reason}))
        else:
            self._events.append(("claimed", {}))

    @property
    def _kept(self) -> WindowManager:
        assert self._manager is not None, "the chart orders work on the display only once it is claimed"
        return self._manager

    def _wait(self, stopped: int) -> None:
        """Sleep until something happens, and queue the events of what did."""
        try:
            # First, since the replies to our own requests may have brought events along, of which the descriptor says nothing.
            changed = self._kept.handle_events()
        except xcffib.ConnectionException:
            self._events.append(("display_gone", {}))
            return
        if changed:
            self._events.append(("changed", {}))
        watch = select.poll()
        watch.register(self._kept.fileno(), select.POLLIN)
        watch.register(stopped, select.POLLIN)
        # A reader that is gone shows as POLLERR or POLLHUP, asked for or not.
        watch.register(self._output, select.POLLOUT if self._unsent else 0)
        due = min(self._deadlines.items(), key=lambda item: item[1], default=None)
        # A busy screen must not keep us from the rest: after a change all else is looked at, without waiting for it.
        pause = 0.0 if changed else None if due is None else max(0.0, due[1] - time.monotonic())
        ready = dict(watch.poll(None if pause is None else pause * 1000))
        if stopped in ready:
            self._events.append(("stop", {}))
        elif ready.get(self._output, 0) & ~select.POLLOUT:
            self._events.append(("output_closed", {}))
        elif self._output in ready:
            self._send_piece()
        if due is not None and time.monotonic() >= due[1]:
            del self._deadlines[due[0]]
            self._events.append((due[0], {}))

    def _send(self, line: bytes) -> None:
        """Queue a line. A consumer that does not read must not stop the window manager: lines that nobody began to read give way."""
        while len(self._unsent) > 1:
            self._unsent.pop()
        self._unsent.append(line + b"\n")

    def _send_piece(self) -> None:
        line = self._unsent.popleft()
        try:
            sent = os.write(self._output, line[:PIECE])
        except OSError:
            self._events.append(("output_closed", {}))
            return
        if sent < len(line):
            self._unsent.appendleft(line[sent:])

    def _send_now(self, line: bytes) -> None:
        left = line + b"\n"
        with contextlib.suppress(OSError):  # nobody is there to read the refusal; the exit code says it too
            while left:
                left = left[os.write(self._output, left) :]


@contextlib.contextmanager
def _stop_signals() -> Iterator[int]:
    """A descriptor that becomes readable when the process is asked to stop."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if threading.current_thread() is not threading.main_thread():
            yield reader
            return
        before = {number: signal.signal(number, lambda *_: None) for number in STOP_SIGNALS}
        wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        try:
            yield reader
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
    finally:
        os.close(reader)
        os.close(writer)
