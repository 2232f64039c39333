"""The activity panel as a library: record which application, window and element a person works in, and read the record back.

    async with activity.record(Path("history"), allow=["org.gnome.TextEditor.desktop"]) as recording:
        seen = await recording.wait_for_observation(bundle_id="org.gnome.TextEditor.desktop")
        print(seen.title, recording.health.capture)

Nothing is recorded of an application that no rule allows, and never what a window contains. `activity_sync` is the same without `await`.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ..adapters.collector.adapter_file import read_adapter_table
from ..adapters.collector.host import CollectorHost
from ..adapters.collector.ownership import Ownership
from ..adapters.collector.store import Store, StoredObservation
from ..errors import WaitTimeout
from ..generated.collector.models import Health, UnknownFieldPolicy
from ..generated.collector.vocabulary import DEFAULT_LIVENESS_SECONDS, DEFAULT_OBSERVATION_RETENTION_HOURS, SWEEP_INTERVAL_MS
from ..machines.collector.capture import Capture
from ..machines.collector.gates import Rulebook, checked_retention
from ..machines.collector.policy import Policy, Rule, allow_app, checked_rules
from ..machines.collector.tracking import checked_liveness
from ..machines.collector.unknown_fields import UnknownFields
from .extras import need

__all__ = ["Health", "Recording", "Rule", "StoredObservation", "allow_app", "observations", "read_adapter_table", "record"]

TIMEOUT = 10.0
T = TypeVar("T")


def collect_command(
    *, adapter_table: Path | None = None, enable_accessibility: bool = False, liveness_seconds: float = DEFAULT_LIVENESS_SECONDS
) -> list[str]:
    """The command line of our own collector: `triptych activity collect` under this Python."""
    command = [sys.executable, "-P", "-c", "from triptych.engine.cli import main; main()", "activity", "collect"]
    if adapter_table is not None:
        command += ["--adapter-table", str(adapter_table.resolve())]
    if liveness_seconds:
        command += ["--liveness-seconds", str(liveness_seconds)]
    return [*command, "--enable-accessibility"] if enable_accessibility else command


def observations(data_dir: Path, *, limit: int = 1000) -> list[StoredObservation]:
    """The recorded observations of a data directory, oldest first; none of a directory where nothing was recorded.

    It only reads: nothing is made, and a host that records into the directory goes on. Raises Unavailable.
    """
    store = Store.reading(data_dir)
    if store is None:
        return []
    with store:
        return store.observations(limit=limit)


@asynccontextmanager
async def record(
    data_dir: Path,
    *,
    allow: Iterable[str | Rule] | None = None,
    adapter_table: Path | None = None,
    env: Mapping[str, str] | None = None,
    enable_accessibility: bool = False,
    unknown_fields: UnknownFieldPolicy = "extension",
    retention_hours: int = DEFAULT_OBSERVATION_RETENTION_HOURS,
    liveness_seconds: float = DEFAULT_LIVENESS_SECONDS,
    command: Sequence[str] | None = None,
) -> AsyncIterator[Recording]:
    """Record into `data_dir` until the block is left.

    `allow`: application ids (`.desktop` file names) or rules that replace the policy's own; None keeps the stored policy, and a new one
    allows nothing. `adapter_table`: a JSON file of more applications, given to both sides. `env`: the whole environment of the collector,
    which says what desktop it looks at; None is that of this process. `enable_accessibility`: turn accessibility on for every program of
    that session. `unknown_fields`: what a field that nobody knows does. `retention_hours`: how long an observation is kept, 1 to 720.
    `liveness_seconds`: let our collector tell again what has not changed for so long, 30 or more; 0 never does. `command`: another
    collector than ours, as an argument list.

    Raises LocalProtocolError for a number out of its range (codes `retention-hours`, `liveness-seconds`) and for a rule that is no text
    (`rule-text`), Unavailable when the directory cannot be used, another host records into it, or our collector lacks a package.
    """
    retention_ms, liveness_seconds = checked_retention(retention_hours), checked_liveness(liveness_seconds)
    rules = None if allow is None else checked_rules(allow)
    if command is None:
        need("activity", "dbus_fast", "xcffib")
    table = read_adapter_table(adapter_table)
    with Store(data_dir, _now_ms()) as store:
        ownership = Ownership(data_dir)
        try:
            policy = store.policy(_now_ms())
            if rules is not None:
                policy = _replaced(store, policy, rules)
            capture = Capture(Rulebook(policy, table, retention_ms), UnknownFields(unknown_fields))
            command = command or collect_command(
                adapter_table=adapter_table, enable_accessibility=enable_accessibility, liveness_seconds=liveness_seconds
            )
            recording = Recording(store, capture, ownership, data_dir, command, env)
        except BaseException:
            ownership.release()
            raise
        try:
            recording._start()
            yield recording
        finally:
            await recording._stop()


class Recording:
    """A capture that runs. Made by `record`."""

    def __init__(
        self,
        store: Store,
        capture: Capture,
        ownership: Ownership,
        data_dir: Path,
        command: Sequence[str],
        env: Mapping[str, str] | None,
    ) -> None:
        self._data_dir = data_dir.absolute()
        self._store = store
        self._capture = capture
        self._host = CollectorHost(store, capture, ownership, self._data_dir, command, env, self._changed)
        self._waiting: set[asyncio.Event | threading.Event] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    @property
    def data_dir(self) -> Path:
        """Where it records, as an absolute path."""
        return self._data_dir

    @property
    def health(self) -> Health:
        """Whether capture works, and if not, why; what was refused by reason, and which unknown fields were dropped."""
        return self._host.health()

    @property
    def failed(self) -> bool:
        """Whether the collector has been given up, after a fault of its own or too many crashes: nothing more is recorded."""
        return self._host.state == "broken"

    @property
    def collector_stderr(self) -> bytes:
        """The first 32 KiB of what the last collector process wrote to its standard error: why it ended, when health cannot say."""
        return self._host.stderr

    @property
    def last_id(self) -> int:
        """The id of the observation that was stored last, 0 when there is none: to wait for one after it."""
        return self._store.last_id()

    def observations(self, *, after_id: int = 0, limit: int = 1000) -> list[StoredObservation]:
        """The stored observations after that id, oldest first."""
        return self._store.observations(after_id=after_id, limit=limit)

    @contextmanager
    def changes(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever health or the record may have changed; the caller clears it."""
        changed = asyncio.Event()
        self._tell(changed)
        try:
            yield changed
        finally:
            self._tell_no_more(changed)

    async def pause(self) -> None:
        """Record nothing from this moment on. Raises Unavailable when the collector did not confirm it."""
        await self._host.pause()

    async def resume(self) -> None:
        """Record again."""
        await self._host.resume()

    async def allow(self, applications: Iterable[str | Rule]) -> None:
        """Replace the rules of the policy that are not built in, and wait until the collector has the new one."""
        policy = _replaced(self._store, self._capture.rules.policy, checked_rules(applications))
        self._capture.rules = replace(self._capture.rules, policy=policy)
        await self._host.policy_replaced()

    async def wait_for_observation(
        self,
        *,
        bundle_id: str | None = None,
        title: str | None = None,
        role: str | None = None,
        after_id: int = 0,
        timeout: float = TIMEOUT,
    ) -> StoredObservation:
        """The first stored observation after `after_id` that has all that is given; waits for it at most `timeout` seconds.

        Raises WaitTimeout, which says what was seen instead.
        """
        wanted = {name: value for name, value in (("bundle_id", bundle_id), ("title", title), ("role", role)) if value is not None}
        seen: list[StoredObservation] = []

        def found() -> StoredObservation | None:
            rows = self.observations(after_id=seen[-1].id if seen else after_id)
            seen.extend(rows)
            return next((row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())), None)

        described = ", ".join(f"{name} {value!r}" for name, value in wanted.items()) or "any"
        return await self._wait(found, f"an observation ({described})", timeout, lambda: _told(seen))

    async def wait_for_refusal(self, reason: str, *, times: int = 1, timeout: float = TIMEOUT) -> None:
        """Wait until so many observations were refused for `reason`. Raises WaitTimeout."""
        await self._wait(
            lambda: self._capture.refusals.get(reason, 0) >= times or None, f"{times} refusals for {reason}", timeout, _nothing
        )

    async def wait_for_capture(self, word: str, *, reason: str | None = None, timeout: float = TIMEOUT) -> Health:
        """Wait until health says `word` (running, paused, permission-required, degraded, stopped), with that reason where one is given.

        Raises WaitTimeout.
        """

        def said() -> Health | None:
            health = self.health
            return health if health.capture == word and reason in (None, health.reason) else None

        return await self._wait(said, f"capture {word}" + (f" ({reason})" if reason else ""), timeout, _nothing)

    async def _wait(self, met: Callable[[], T | None], what: str, timeout: float, seen: Callable[[], str]) -> T:
        """Ask `met` now and after every change, until it gives something."""
        with self.changes() as changed:
            try:
                async with asyncio.timeout(timeout):
                    while (found := met()) is None:
                        await changed.wait()
                        changed.clear()
                    return found
            except TimeoutError:
                raise WaitTimeout(what, "; ".join(part for part in (*_health_told(self.health), seen()) if part)) from None

    def _tell(self, changed: asyncio.Event | threading.Event) -> None:
        """Set this event, too, whenever something may have changed. On the thread of the loop, like all of this class."""
        self._waiting.add(changed)

    def _tell_no_more(self, changed: asyncio.Event | threading.Event) -> None:
        self._waiting.discard(changed)

    def _changed(self) -> None:
        for waiting in self._waiting:
            waiting.set()

    def _start(self) -> None:
        self._host.start()
        self._sweep()

    async def _stop(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        await self._host.stop()

    def _sweep(self) -> None:
        """Delete what has expired, now and every 15 minutes. A failure is shown in health, and tried again."""
        try:
            self._store.sweep(_now_ms())
            self._host.sweep_failed_at_ms = None
        except sqlite3.Error:
            self._host.sweep_failed_at_ms = _now_ms()
        self._sweeping = asyncio.get_running_loop().call_later(SWEEP_INTERVAL_MS / 1000, self._sweep)


def _replaced(store: Store, policy: Policy, rules: tuple[Rule, ...]) -> Policy:
    """Put a new revision in the store, unless the rules are the same as before."""
    replaced = policy.replaced(rules)
    if set(replaced.rules) == set(policy.rules):
        return policy
    store.replace_policy(replaced, _now_ms())
    return replaced


def _health_told(health: Health) -> tuple[str, str]:
    refused = ", ".join(f"{reason} {count}" for reason, count in sorted(health.refusals.by_reason.items()))
    return f"capture {health.capture}" + (f" ({health.reason})" if health.reason else ""), f"refused: {refused}" if refused else ""


def _told(rows: Sequence[StoredObservation]) -> str:
    if not rows:
        return "nothing was stored"
    return "stored: " + ", ".join(f"{row.bundle_id} {row.title!r} ({row.role})" for row in rows[-5:])


def _nothing() -> str:
    return ""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
