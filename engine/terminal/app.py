"""A running program and its terminal, as its user drives it: `launch` and `Terminal`. The rest of this package serves a `Terminal`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from signal import valid_signals

from msgspec import UNSET

from ...adapters.termwright.diagnostics import Noted
from ...adapters.termwright.driver import Driver
from ...adapters.termwright.emulator import Modes, Policy, Screen
from ...adapters.termwright.observer import Observer
from ...errors import LocalProtocolError, RemoteProtocolError, Unavailable, WaitTimeout
from ...generated.termwright.models import Node, Snapshot
from ...generated.termwright.vocabulary import LOG_SEVERITY
from ...machines.termwright import mouse
from ...machines.termwright.logs import Logged
from ..extras import need
from . import query
from .aim import refuse
from .locator import TIMEOUT, Locator, on_screen
from .matching import Wanted, matches
from .refs import Refs
from .seen import describe


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
    policy: Policy | None = None,
    observers: Sequence[Observer] = (),
) -> AsyncIterator[Terminal]:
    """Run `program` on a new terminal of that size in cells, and end it, with its whole session, when the block ends.

    The child's environment is a short allow-list of ours (`inherit` passes all of it on) with `environment` over it. An adapter may connect
    within `ready_timeout` seconds. `limits` widen or tighten the protocol's default ceilings, up to the absolute ones. `policy` is what the
    terminal grants the program: answers to its questions, the clipboard, joined graphemes. `observers` are told everything, as it happens.
    Raises `Unavailable` when the program or the emulator cannot be started, `LocalProtocolError` for arguments that are none:
    `terminal-size`, `out-of-range`, `invalid-limits`, `invalid-program`, `invalid-environment`.
    """
    need("terminal", "pyghostty")
    driver = await Driver.start(
        program,
        columns=columns,
        rows=rows,
        environment=environment,
        inherit=inherit,
        directory=directory,
        window=ready_timeout,
        limits=limits,
        policy=policy,
        observers=observers,
    )
    try:
        yield Terminal(driver)
    finally:
        await driver.close()


class Terminal:
    """A running program and its terminal. Waits raise `WaitTimeout`, which says what was seen instead."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._refs = Refs()
        self._indexed: query.TreeIndex | None = None
        driver.on_published = self._published

    # what is there

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
    def modes(self) -> Modes:
        """What the program has switched on in its terminal: mouse tracking, bracketed paste, the alternate screen, …"""
        return self._driver.modes

    @property
    def clipboard(self) -> str | None:
        """What the program last put on the clipboard (OSC 52), where the policy lets it; None when nothing."""
        return self._driver.clipboard

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What the attached adapter announced; empty when none has attached."""
        hello = self._driver.session.hello
        return () if hello is None else tuple(hello.capabilities)

    @property
    def diagnostics(self) -> tuple[Noted, ...]:
        """What the session noted, oldest first: attachments, refusals, dropped revisions, protocol violations."""
        return tuple(self._driver.diagnostics)

    @property
    def logs(self) -> tuple[Logged, ...]:
        """The log records that the program's adapter sent, oldest first; `lost` of each counts those lost at the source before it."""
        return tuple(self._driver.logs)

    @property
    def lost_logs(self) -> int:
        """How many log records were lost at the source in all."""
        return self._driver.lost_logs

    @property
    def pid(self) -> int:
        """The process number of the program, which leads its own session and process group."""
        return self._driver.pid

    @property
    def exit_status(self) -> int | None:
        """The exit status of a program that is gone (minus the signal's number when one ended it), else None."""
        return self._driver.exit_status

    def link_at(self, column: int, row: int) -> str | None:
        """The address of the hyperlink (OSC 8) that the cell shows, or None."""
        self._check_cell(column, row)
        return self._driver.emulator.link(column, row)

    async def screenshot(self, path: str | Path | None = None) -> bytes:
        """The screen as a PNG picture, which is written to `path` too. Raises `Unavailable` without Pillow."""
        from ..screen_picture import png

        data = await asyncio.to_thread(png, self.screen)
        if path is not None:
            await asyncio.to_thread(Path(path).write_bytes, data)
        return data

    # what can be found

    def get_by_role(self, role: str, *, name: Wanted | None = None, exact: bool = False) -> Locator:
        """Nodes of a role, whose name holds `name` (in either case; `exact`: is it as written; or a pattern found in it)."""
        return Locator(self, [query.by_role(role, name, exact)])

    def get_by_test_id(self, test_id: str) -> Locator:
        """Nodes with this test id."""
        return Locator(self, [query.by_test_id(test_id)])

    def get_by_text(self, text: Wanted, *, exact: bool = False) -> Locator:
        """The innermost nodes whose name or public value says the text; without a semantic tree, the text on the screen."""
        return Locator(self, [query.by_text(text, exact)], on_screen(self, text, exact))

    def get_by_label(self, text: Wanted, *, exact: bool = False) -> Locator:
        """Nodes that a label of this text labels, and fields of this name."""
        return Locator(self, [query.by_label(text, exact)])

    def locator(self, ref: str) -> Locator:
        """The node that a reference such as `n8@42` means; using it raises `stale-ref` when that node is gone."""

        def pick(index: query.TreeIndex, scope: object) -> list[Node]:
            return [index.nodes[self._refs.check(ref)]]

        return Locator(self, [query.Step(f"locator({ref!r})", pick)])

    # what can be done

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other: `tab`, `enter`, `ctrl+c`, `shift+tab`, `f5`, `x`.

        Raises `LocalProtocolError` (`unknown-key`), and then presses none of them.
        """
        self._act({"type": "press", "keys": list(keys)}, self._driver.encode_keys(keys))

    async def type(self, text: str) -> None:
        """Type the text, key by key; a line feed is the Enter key."""
        self._act({"type": "type", "text": text}, self._driver.emulator.encode_text(text))

    async def paste(self, text: str) -> None:
        """Paste the text: in brackets where the program asked for bracketed paste, with control codes made blanks."""
        self._act({"type": "paste", "text": text}, self._driver.emulator.encode_paste(text))

    async def click_cell(self, column: int, row: int, *, button: str = "left", modifiers: str = "", count: int = 1) -> None:
        """Click on a cell, from 0, whoever owns it. Locators click on what the hit grid proves; this is for programs without one.

        Raises `not-actionable` with the reason `mouse-mode` when the program has not asked for the mouse.
        """
        self._check_cell(column, row)
        events = mouse.click(column, row, button=button, modifiers=modifiers, count=count)
        data = self._driver.emulator.encode_pointer(events)
        self._act({"type": "click_cell", "column": column, "row": row, "button": button}, data)

    async def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal, in cells."""
        self._driver.acting({"type": "resize", "columns": columns, "rows": rows})
        self._driver.resize(columns, rows)

    async def signal(self, number: int) -> None:
        """Send a signal to the program's process group, if it still runs; `LocalProtocolError` (`unknown-signal`) for what is none."""
        if number not in valid_signals():
            raise LocalProtocolError("unknown-signal", f"{number!r} is no number of a signal", str(number))
        self._driver.acting({"type": "signal", "number": int(number)})
        self._driver.signal(number)

    # what can be waited for

    async def wait_for_revision(self, revision: int = 1, *, after: int | None = None, timeout: float = TIMEOUT) -> Snapshot:
        """Wait until a revision of at least this number, or newer than `after`, is published, and return its tree.

        Raises `RemoteProtocolError` when the adapter broke the protocol, `Unavailable` when no tree can come any more (no adapter attached,
        it has gone, the program has exited).
        """
        wanted = revision if after is None else after + 1
        await self._wait(lambda: self.revision >= wanted or not self._may_publish(), f"revision {wanted}", timeout)
        if self.tree is not None and self.revision >= wanted:
            return self.tree
        raise self._no_tree(wanted)

    async def wait_for_text(self, text: Wanted, *, timeout: float = TIMEOUT) -> None:
        """Wait until the screen shows the text, as written and within one row; or the pattern is found in the rows."""

        def shows(shown: str) -> bool:
            return text in shown if isinstance(text, str) else text.search(shown) is not None

        await self._wait(lambda: shows(self._driver.text()) or self.exit_status is not None, f"the text {text!r}", timeout)
        shown = self._driver.text()
        if not shows(shown):
            raise Unavailable(f"the program exited with {self.exit_status} and its last screen does not show {text!r}:\n{shown}")

    async def wait_for_log(
        self, message: Wanted = "", *, level: str = "trace", logger: str | None = None, after: int = -1, timeout: float = TIMEOUT
    ) -> Logged:
        """Wait for a record whose message holds the text (or pattern), of at least this level, and return the oldest one.

        `logger` is the exact name of its logger; `after` leaves out the records up to that `seq`. Records that came before the call count.
        Raises `Unavailable` when the adapter sends no logs, or the program has exited without such a record.
        """
        if level not in LOG_SEVERITY:
            raise LocalProtocolError("unknown-level", f"{level!r} is no level; there are {', '.join(LOG_SEVERITY)}", level)

        def wanted(logged: Logged) -> bool:
            record = logged.record
            grave = LOG_SEVERITY[record.level] >= LOG_SEVERITY[level] and record.seq > after
            return grave and (logger is None or record.logger == logger) and matches(message, record.message)

        def found() -> Logged | None:
            return next((logged for logged in self._driver.logs if wanted(logged)), None)

        def silent() -> bool:
            return (
                self.exit_status is not None or self._driver.session.failure is not None or ("logs" not in (self.capabilities or ("logs",)))
            )

        await self._wait(lambda: found() is not None or silent(), f"a log record with {message!r}", timeout)
        record = found()
        if record is None:
            raise Unavailable(
                f"no log record with {message!r} can come; seen instead:\n{self._seen()}", "run it under a probe that announces logs"
            )
        return record

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

    # for the locators

    def _index(self) -> query.TreeIndex | None:
        """The newest published tree with its indexes."""
        tree = self.tree
        if tree is None:
            return None
        if self._indexed is None or self._indexed.tree is not tree:
            self._indexed = query.TreeIndex(tree)
        return self._indexed

    def _act(self, action: Mapping[str, object], data: bytes) -> None:
        """Tell the observers, then send; raises `not-actionable` (`exited`) when nobody reads it any more."""
        self._check_runs()
        self._driver.acting(action)
        self._driver.write(data)

    def _may_publish(self) -> bool:
        """Whether a further revision can come."""
        return self.exit_status is None and self._driver.session.may_publish

    def _may_get_tree(self) -> bool:
        """Whether a first tree may still come."""
        return self.tree is None and self._may_publish()

    def _seen(self) -> str:
        return describe(self._driver)

    async def _wait(self, met: Callable[[], bool], what: str, timeout: float) -> None:
        started = time.monotonic()
        if not await self._driver.wait_until(met, timeout):
            raise WaitTimeout(f"{what} ({time.monotonic() - started:.1f} s)", self._seen())

    def _published(self, tree: Snapshot) -> None:
        hello = self._driver.session.hello
        self._refs.stable = hello is None or hello.probe is UNSET or hello.probe.identity_kind == "stable"
        self._refs.published(tree)

    def _no_tree(self, wanted: int) -> RemoteProtocolError | Unavailable:
        failure = self._driver.session.failure
        if failure is not None and self._driver.session.broken:
            return RemoteProtocolError(failure.code, failure.detail)
        if self.exit_status is not None:
            return Unavailable(
                f"revision {wanted} cannot come: the program exited with {self.exit_status}; its last screen:\n{self._driver.text()}"
            )
        why = f"{failure.code}: {failure.detail}" if failure is not None else "the session is over"
        return Unavailable(f"revision {wanted} cannot come: {why}", "run the program under a Termwright probe, or use the screen")

    def _check_runs(self) -> None:
        self._driver.emulator  # noqa: B018 - raises after the block, and says why
        if self.exit_status is not None:
            refuse("exited", f"the program exited with {self.exit_status}, and nobody reads its terminal any more")

    def _check_cell(self, column: int, row: int) -> None:
        columns, rows = self._driver.emulator.size
        if not (0 <= column < columns and 0 <= row < rows):
            raise LocalProtocolError("out-of-range", f"cell {column},{row} is not on a terminal of {columns}x{rows}", "cell")
