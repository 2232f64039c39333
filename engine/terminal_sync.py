"""The terminal API without `await`, for scripts and plain tests: the same names as `triptych.engine.terminal`, run on a loop in a thread.

with terminal_sync.launch(["bash"]) as app:
    app.type("echo hello\\n")
    app.wait_for_text("hello")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from re import Pattern
from typing import TypeVar

from ..adapters.termwright.observer import Observer
from . import terminal
from .loop_thread import entered, loop_thread
from .terminal import (
    TIMEOUT,
    Cell,
    Logged,
    Modes,
    Node,
    Noted,
    Policy,
    Rect,
    Screen,
    ScreenText,
    Snapshot,
    Style,
    format_logs,
    format_tree,
)
from .terminal_sync_locator import Expectation, Locator, Run, expect

__all__ = [
    "TIMEOUT",
    "Cell",
    "Expectation",
    "Locator",
    "Logged",
    "Modes",
    "Node",
    "Noted",
    "Observer",
    "Policy",
    "Rect",
    "Screen",
    "ScreenText",
    "Snapshot",
    "Style",
    "Terminal",
    "expect",
    "format_logs",
    "format_tree",
    "launch",
]

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
    policy: Policy | None = None,
    observers: Sequence[Observer] = (),
) -> Iterator[Terminal]:
    """As `terminal.launch`; observers are called in the loop's thread."""
    running = terminal.launch(
        program,
        columns=columns,
        rows=rows,
        environment=environment,
        inherit=inherit,
        directory=directory,
        ready_timeout=ready_timeout,
        limits=limits,
        policy=policy,
        observers=observers,
    )
    with loop_thread("triptych-terminal") as run, entered(run, running) as driven:
        app = Terminal(driven, run)
        try:
            yield app
        finally:
            app._ended = True


class Terminal:
    """As `terminal.Terminal`; every method answers when the thing is done."""

    def __init__(self, app: terminal.Terminal, run: Run) -> None:
        self._app = app
        self._run = run
        self._ended = False  # nothing changes any more, and the loop is gone

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
        return self._look(lambda: self._app.screen)

    @property
    def revision_screen(self) -> Screen | None:
        """As `terminal.Terminal.revision_screen`."""
        return self._app.revision_screen

    @property
    def modes(self) -> Modes:
        """As `terminal.Terminal.modes`."""
        return self._look(lambda: self._app.modes)

    @property
    def clipboard(self) -> str | None:
        """As `terminal.Terminal.clipboard`."""
        return self._app.clipboard

    @property
    def capabilities(self) -> tuple[str, ...]:
        """As `terminal.Terminal.capabilities`."""
        return self._app.capabilities

    @property
    def diagnostics(self) -> tuple[Noted, ...]:
        """As `terminal.Terminal.diagnostics`."""
        return self._look(lambda: self._app.diagnostics)

    @property
    def logs(self) -> tuple[Logged, ...]:
        """As `terminal.Terminal.logs`."""
        return self._look(lambda: self._app.logs)

    @property
    def lost_logs(self) -> int:
        """As `terminal.Terminal.lost_logs`."""
        return self._app.lost_logs

    @property
    def pid(self) -> int:
        """As `terminal.Terminal.pid`."""
        return self._app.pid

    @property
    def exit_status(self) -> int | None:
        """As `terminal.Terminal.exit_status`."""
        return self._app.exit_status

    def link_at(self, column: int, row: int) -> str | None:
        """As `terminal.Terminal.link_at`."""
        return self._look(lambda: self._app.link_at(column, row))

    def screenshot(self, path: str | Path | None = None) -> bytes:
        """As `terminal.Terminal.screenshot`."""
        picture: bytes = self._run(self._app.screenshot(path))
        return picture

    def get_by_role(self, role: str, *, name: str | Pattern[str] | None = None, exact: bool = False) -> Locator:
        """As `terminal.Terminal.get_by_role`."""
        return Locator(self._app.get_by_role(role, name=name, exact=exact), self._run)

    def get_by_test_id(self, test_id: str) -> Locator:
        """As `terminal.Terminal.get_by_test_id`."""
        return Locator(self._app.get_by_test_id(test_id), self._run)

    def get_by_text(self, text: str | Pattern[str], *, exact: bool = False) -> Locator:
        """As `terminal.Terminal.get_by_text`."""
        return Locator(self._app.get_by_text(text, exact=exact), self._run)

    def get_by_label(self, text: str | Pattern[str], *, exact: bool = False) -> Locator:
        """As `terminal.Terminal.get_by_label`."""
        return Locator(self._app.get_by_label(text, exact=exact), self._run)

    def locator(self, ref: str) -> Locator:
        """As `terminal.Terminal.locator`."""
        return Locator(self._app.locator(ref), self._run)

    def press(self, *keys: str) -> None:
        """As `terminal.Terminal.press`."""
        self._run(self._app.press(*keys))

    def type(self, text: str) -> None:
        """As `terminal.Terminal.type`."""
        self._run(self._app.type(text))

    def paste(self, text: str) -> None:
        """As `terminal.Terminal.paste`."""
        self._run(self._app.paste(text))

    def click_cell(self, column: int, row: int, *, button: str = "left", modifiers: str = "", count: int = 1) -> None:
        """As `terminal.Terminal.click_cell`."""
        self._run(self._app.click_cell(column, row, button=button, modifiers=modifiers, count=count))

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

    def wait_for_text(self, text: str | Pattern[str], *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Terminal.wait_for_text`."""
        self._run(self._app.wait_for_text(text, timeout=timeout))

    def wait_for_log(
        self,
        message: str | Pattern[str] = "",
        *,
        level: str = "trace",
        logger: str | None = None,
        after: int = -1,
        timeout: float = TIMEOUT,
    ) -> Logged:
        """As `terminal.Terminal.wait_for_log`."""
        logged: Logged = self._run(self._app.wait_for_log(message, level=level, logger=logger, after=after, timeout=timeout))
        return logged

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

    def _look(self, at: Callable[[], T]) -> T:
        """Look in the loop's thread, where nothing changes meanwhile."""
        if self._ended:
            return at()

        async def look() -> T:
            return at()

        seen: T = self._run(look())
        return seen
