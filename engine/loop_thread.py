"""Runs an event loop in a thread of its own: what the synchronous twins of the async APIs stand on."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, Any]], Any]


@contextmanager
def loop_thread(name: str) -> Iterator[Run]:
    """A loop in a thread called `name`, and a function that runs a coroutine there and waits for its result."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
        thread.start()

        def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
            if not thread.is_alive():
                coroutine.close()
                raise RuntimeError("the program has ended, and with it the loop of this object")
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
            try:
                return future.result()
            except BaseException:
                future.cancel()  # a Ctrl-C here leaves nothing waiting there
                raise

        def stop() -> None:
            if thread.is_alive():
                loop.call_soon_threadsafe(loop.stop)
                thread.join()

        with _at_exit_too(stop):
            yield run


@contextmanager
def entered(run: Run, opened: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """The value of an async context manager that is entered, and left, by `run`."""
    value: T = run(opened.__aenter__())
    with _at_exit_too(lambda: run(opened.__aexit__(None, None, None))):
        yield value


@contextmanager
def _at_exit_too(leave: Callable[[], object]) -> Iterator[None]:
    """Call `leave` once: at the end of the block or, where a program ends without leaving it, before the interpreter stops its threads."""
    left = False

    def once() -> None:
        nonlocal left
        if not left:
            left = True
            leave()

    atexit.register(once)
    try:
        yield
    finally:
        atexit.unregister(once)
        once()
