"""Runs an event loop in a thread of its own: what the synchronous twins of the async APIs stand on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def loop_thread(name: str) -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """A loop in a thread called `name`, and a function that runs a coroutine there and waits for its result."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
        thread.start()

        def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
            future = asyncio.run_coroutine_threadsafe(coroutine, loop)
            try:
                return future.result()
            except BaseException:
                future.cancel()  # a Ctrl-C here leaves nothing waiting there
                raise

        try:
            yield run
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
