"""Drive a terminal program: `launch` it on a pty of its own, look at its semantic tree and screen, press keys, wait for what happens.

    async with terminal.launch(["python", "-m", "termwright_probe", "--", "python", "app.py"], columns=100, rows=30) as app:
        await app.wait_for_revision()
        await app.press("tab")
        print(terminal.format_tree(app.tree))

`triptych.engine.terminal_sync` has the same names without `await`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from ..adapters.termwright.driver import Driver, Noted
from ..adapters.termwright.emulator import Cell, Screen
from ..errors import RemoteProtocolError, Unavailable, WaitTimeout
from ..generated.termwright.models import Node, Snapshot
from ..machines.termwright.logs import Logged
from ..machines.termwright.outline import format_tree

__all__ = ["Cell", "Logged", "Node", "Noted", "Screen", "Snapshot", "Terminal", "format_tree", "launch"]

#: Seconds that a wait lasts unless told otherwise, and that a program has to connect its adapter.
TIMEOUT = 10.0


@asynccontextmanager
async def launch(
    program: Sequence[str],
    *,
    columns: int = 80,
    rows: int = 24,
    environment: Mapping[str, str] | None = None,
    inherit: bool = False,
    directory: str | None = None,
    ready_timeout: float = TIMEOUT,
    limits: Mapping[str, int] | None = None,
) -> AsyncIterator[Terminal]:
    """Run `program` on a new terminal of that size in cells, and end it, with its process group, when the block ends.

    The child's environment is a short allow-list of ours (`inherit` passes all of it on) with `environment` over it. An adapter may connect
    within `ready_timeout` seconds. `limits` widen or tighten the protocol's default ceilings, up to the absolute ones.
    Raises `Unavailable` when the program or the emulator cannot be started.
    """
    driver = await Driver.start(
        program,
        columns=columns,
        rows=rows,
        environment=environment,
        inherit=inherit,
        directory=directory,
        window=ready_timeout,
        limits=limits,
    )
    try:
        yield Terminal(driver)
    finally:
        await driver.close()


class Terminal:
    """A running program and its terminal. Waits raise `WaitTimeout`, which says what was seen instead."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    @property
    def tree(self) -> Snapshot | None:
        """The newest published semantic tree: accepted from the adapter, and marked in the terminal. None before the first."""
        return None if self._driver.pair is None else self._driver.pair.tree

    @property
    def revision(self) -> int:
        """The number of the newest published revision; 0 before the first."""
        return 0 if self._driver.pair is None else self._driver.pair.revision

    @property
    def screen(self) -> Screen:
        """What the terminal shows now; after the block, what it showed last."""
        return self._driver.screen

    @property
    def revision_screen(self) -> Screen | None:
        """What the terminal showed when the newest published revision was complete: the cells that `tree` describes."""
        return None if self._driver.pair is None else self._driver.pair.screen

    @property
    def diagnostics(self) -> tuple[Noted, ...]:
        """What the session noted, oldest first: attachments, refusals, dropped revisions, protocol violations."""
        return tuple(self._driver.diagnostics)

    @property
    def logs(self) -> tuple[Logged, ...]:
        """The log records that the program's adapter sent, oldest first."""
        return tuple(self._driver.logs)

    @property
    def pid(self) -> int:
        """The process number of the program, which leads its own session and process group."""
        return self._driver.pid

    @property
    def exit_status(self) -> int | None:
        """The exit status of a program that is gone (minus the signal's number when one ended it), else None."""
        return self._driver.exit_status

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other: `tab`, `enter`, `ctrl+c`, `shift+tab`, `f5`, `x`.

        Raises `LocalProtocolError` (`unknown-key`), and then presses none of them.
        """
        self._driver.write(b"".join([self._driver.emulator.encode_key(key) for key in keys]))

    async def type(self, text: str) -> None:
        """Type the text, key by key; a line feed is the Enter key."""
        self._driver.write(self._driver.emulator.encode_text(text))

    async def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal, in cells."""
        self._driver.resize(columns, rows)

    async def signal(self, number: int) -> None:
        """Send a signal to the program's process group."""
        self._driver.signal(number)

    async def wait_for_revision(self, revision: int = 1, *, after: int | None = None, timeout: float = TIMEOUT) -> Snapshot:
        """Wait until a revision of at least this number, or newer than `after`, is published, and return its tree.

        Raises `RemoteProtocolError` when the adapter broke the protocol, `Unavailable` when no tree can come any more (no adapter attached,
        it has gone, the program has exited).
        """
        wanted = revision if after is None else after + 1
        await self._wait(lambda: self.revision >= wanted or self._hopeless(), f"revision {wanted}", timeout)
        if self.tree is not None and self.revision >= wanted:
            return self.tree
        raise self._no_tree(wanted)

    async def wait_for_text(self, text: str, *, timeout: float = TIMEOUT) -> None:
        """Wait until the screen shows the text (within one row)."""
        await self._wait(lambda: text in self._driver.text() or self.exit_status is not None, f"the text {text!r}", timeout)
        shown = self._driver.text()
        if text not in shown:
            raise Unavailable(f"the program exited with {self.exit_status} and its last screen does not show {text!r}:\n{shown}")

    async def wait_until(self, met: Callable[[], bool], *, what: str = "the condition", timeout: float = TIMEOUT) -> None:
        """Wait until `met()` is true; it is asked again whenever something was parsed, published or noted."""
        await self._wait(met, what, timeout)

    async def wait_quiet(self, quiet: float = 0.1, *, timeout: float = TIMEOUT) -> None:
        """Wait until the program has printed and published nothing for `quiet` seconds."""
        if not await self._driver.wait_quiet(quiet, timeout):
            raise WaitTimeout(f"{quiet} s of silence", self._seen())

    async def exited(self, *, timeout: float | None = None) -> int:
        """Wait until the program is gone and all that it printed is on the screen; returns its exit status. No limit without `timeout`."""
        await self._wait(lambda: self.exit_status is not None, "the program's exit", float("inf") if timeout is None else timeout)
        assert self.exit_status is not None
        return self.exit_status

    async def _wait(self, met: Callable[[], bool], what: str, timeout: float) -> None:
        started = time.monotonic()
        if not await self._driver.wait_until(met, timeout):
            raise WaitTimeout(f"{what} ({time.monotonic() - started:.1f} s)", self._seen())

    def _hopeless(self) -> bool:
        """Whether no further revision can come. After an adapter has gone, a tree that it sent before may still get its marker."""
        failure = self._driver.session.failure
        if self.exit_status is not None:
            return True
        return failure is not None and not (failure.code == "adapter-disconnected" and any(self._driver.session.waiting))

    def _no_tree(self, wanted: int) -> RemoteProtocolError | Unavailable:
        failure = self._driver.session.failure
        if failure is not None and failure.code == "protocol-violation":
            return RemoteProtocolError(failure.code, failure.detail)
        why = f"{failure.code}: {failure.detail}" if failure is not None else f"the program exited with {self.exit_status}"
        return Unavailable(f"revision {wanted} cannot come: {why}", "run the program under a Termwright probe, or use the screen")

    def _seen(self) -> str:
        """The tree, the screen and the newest diagnostics, for a wait that failed."""
        tree = "no semantic tree" if self.tree is None else f"revision {self.revision}\n{format_tree(self.tree)}"
        notes = "\n".join(f"{note.at:.3f} {note.code}: {note.detail}" for note in list(self._driver.diagnostics)[-10:])
        return f"{tree}\n--- screen\n{self.screen.text}\n--- diagnostics\n{notes or 'none'}"
