"""The terminal API without `await`, for scripts and plain tests: the same names as `triptych.engine.terminal`, run on a loop in a thread.

with terminal_sync.launch(["bash"]) as app:
    app.type("echo hello\\n")
    app.wait_for_text("hello")
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from . import terminal
from .loop_thread import loop_thread
from .terminal import TIMEOUT, Logged, Noted, Screen, Snapshot, format_tree

__all__ = ["Terminal", "format_tree", "launch"]

T = TypeVar("T")


@contextmanager
def launch(
    program: Sequence[str],
    *,
    columns: int = 80,
    rows: int = 24,
    environment: Mapping[str, str] | None = None,
    inherit: bool = False,
    directory: str | None = None,
    ready_timeout: float = TIMEOUT,
    limits: Mapping[str, int] | None = None,
) -> Iterator[Terminal]:
    """As `terminal.launch`."""
    running = terminal.launch(
        program,
        columns=columns,
        rows=rows,
        environment=environment,
        inherit=inherit,
        directory=directory,
        ready_timeout=ready_timeout,
        limits=limits,
    )
    with loop_thread("triptych-terminal") as run:
        app = run(running.__aenter__())
        try:
            yield Terminal(app, run)
        finally:
            run(running.__aexit__(None, None, None))


class Terminal:
    """As `terminal.Terminal`; every method answers when the thing is done."""

    def __init__(self, app: terminal.Terminal, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._app = app
        self._run = run

    @property
    def tree(self) -> Snapshot | None:
        """As `terminal.Terminal.tree`."""
        return self._app.tree

    @property
    def revision(self) -> int:
        """As `terminal.Terminal.revision`."""
        return self._app.revision

    @property
    def screen(self) -> Screen:
        """As `terminal.Terminal.screen`."""

        async def look() -> Screen:
            return self._app.screen

        screen: Screen = self._run(look())
        return screen

    @property
    def revision_screen(self) -> Screen | None:
        """As `terminal.Terminal.revision_screen`."""
        return self._app.revision_screen

    @property
    def diagnostics(self) -> tuple[Noted, ...]:
        """As `terminal.Terminal.diagnostics`."""
        return self._app.diagnostics

    @property
    def logs(self) -> tuple[Logged, ...]:
        """As `terminal.Terminal.logs`."""
        return self._app.logs

    @property
    def pid(self) -> int:
        """As `terminal.Terminal.pid`."""
        return self._app.pid

    @property
    def exit_status(self) -> int | None:
        """As `terminal.Terminal.exit_status`."""
        return self._app.exit_status

    def press(self, *keys: str) -> None:
        """As `terminal.Terminal.press`."""
        self._run(self._app.press(*keys))

    def type(self, text: str) -> None:
        """As `terminal.Terminal.type`."""
        self._run(self._app.type(text))

    def resize(self, columns: int, rows: int) -> None:
        """As `terminal.Terminal.resize`."""
        self._run(self._app.resize(columns, rows))

    def signal(self, number: int) -> None:
        """As `terminal.Terminal.signal`."""
        self._run(self._app.signal(number))

    def wait_for_revision(self, revision: int = 1, *, after: int | None = None, timeout: float = TIMEOUT) -> Snapshot:
        """As `terminal.Terminal.wait_for_revision`."""
        tree: Snapshot = self._run(self._app.wait_for_revision(revision, after=after, timeout=timeout))
        return tree

    def wait_for_text(self, text: str, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Terminal.wait_for_text`."""
        self._run(self._app.wait_for_text(text, timeout=timeout))

    def wait_until(self, met: Callable[[], bool], *, what: str = "the condition", timeout: float = TIMEOUT) -> None:
        """As `terminal.Terminal.wait_until`; `met` is called in the loop's thread."""
        self._run(self._app.wait_until(met, what=what, timeout=timeout))

    def wait_quiet(self, quiet: float = 0.1, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Terminal.wait_quiet`."""
        self._run(self._app.wait_quiet(quiet, timeout=timeout))

    def exited(self, *, timeout: float | None = None) -> int:
        """As `terminal.Terminal.exited`."""
        status: int = self._run(self._app.exited(timeout=timeout))
        return status
