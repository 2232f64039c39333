"""One daemon thread that runs calls in order, so that a display server that hangs never blocks the event loop; its maker owns it.

A daemon, since a thread that waits for a dead server in C must not keep the process: the owner waits for it with a deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """Runs submitted calls one after another. Made on, and used from, the thread of a running event loop."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=_run, args=(self._calls,), name=name, daemon=True).start()
        # A loop that is ended before its owner could close: the thread goes with the last one who knows it.
        weakref.finalize(self, self._calls.put, None).atexit = False

    def submit(self, call: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Queue a call; the future has its result, or its exception."""
        future: asyncio.Future[T] = self._loop.create_future()

        def run() -> None:
            try:
                result = call(*arguments)
            except BaseException as error:
                self._post(_fail, future, error)
            else:
                self._post(_finish, future, result)

        self._calls.put(run)
        return future

    def close(self) -> None:
        """Let the queued calls run, then end. Does not wait: await the future of the last call for that."""
        self._calls.put(None)

    def _post(self, call: Callable[..., None], *arguments: Any) -> None:
        # A closed loop raises: nobody waits for the answer any more.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)


def _run(calls: SimpleQueue[Callable[[], None] | None]) -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # it knows its worker


def _finish(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
