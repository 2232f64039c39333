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
from typing import Literal, TypeVar

from ..adapters.collector.adapter_file import adapter_files, read_adapter_table, read_adapter_tables
from ..adapters.collector.host import CollectorHost
from ..adapters.collector.intake import CompanionIntake
from ..adapters.collector.ownership import Ownership
from ..adapters.collector.pairing import Pairings
from ..adapters.collector.store import Store
from ..adapters.collector.stored import (
    App,
    Counts,
    Deleted,
    Everything,
    Found,
    OneEpisode,
    Retention,
    Scope,
    StoredEpisode,
    StoredObservation,
    TimeRange,
)
from ..adapters.collector.write_queue import LAST, RETRY
from ..adapters.log import get_logger
from ..errors import Unavailable, WaitTimeout
from ..generated.collector.models import Health, UnknownFieldPolicy
from ..generated.collector.vocabulary import DEFAULT_LIVENESS_SECONDS, DEFAULT_UNKNOWN_FIELDS, SWEEP_INTERVAL_MS
from ..machines.collector.adapter_table import AdapterTable
from ..machines.collector.capture import Capture, Delivered
from ..machines.collector.consents import Consent, ConsentKind, ConsentMode, consent
from ..machines.collector.facts import Facts
from ..machines.collector.gates import HOUR_MS, Rulebook, checked_retention
from ..machines.collector.outgoing import check_fits
from ..machines.collector.policy import Policy, Rule, allow_app, checked_rules
from ..machines.collector.tracking import checked_liveness
from ..machines.collector.unknown_fields import UnknownFields
from .activity_history import delete, episodes, observations, policy, search
from .extras import need

__all__ = [
    "App",
    "Consent",
    "Counts",
    "Deleted",
    "Delivered",
    "Everything",
    "Facts",
    "Found",
    "Health",
    "OneEpisode",
    "Policy",
    "Recording",
    "Retention",
    "Rule",
    "Scope",
    "StoredEpisode",
    "StoredObservation",
    "TimeRange",
    "allow_app",
    "delete",
    "episodes",
    "observations",
    "policy",
    "read_adapter_table",
    "record",
    "search",
]

_log = get_logger()

TIMEOUT = 10.0
T = TypeVar("T")


def collect_command(
    *,
    adapter_table: Path | None = None,
    data_dir: Path | None = None,
    enable_accessibility: bool = False,
    liveness_seconds: float = DEFAULT_LIVENESS_SECONDS,
) -> list[str]:
    """The command line of our own collector: `triptych activity collect` under this Python.

    It reads the applications of `adapter_table` and, with `data_dir`, those that are kept there, as its host does.
    """
    command = [sys.executable, "-P", "-c", "from triptych.engine.cli import main; main()", "activity", "collect"]
    named = () if adapter_table is None else (adapter_table,)
    for file in named if data_dir is None else adapter_files(data_dir, adapter_table):
        command += ["--adapter-table", str(file.resolve())]
    if liveness_seconds:
        command += ["--liveness-seconds", str(liveness_seconds)]
    return [*command, "--enable-accessibility"] if enable_accessibility else command


@asynccontextmanager
async def record(
    data_dir: Path,
    *,
    allow: Iterable[str | Rule] | None = None,
    adapter_table: Path | None = None,
    env: Mapping[str, str] | None = None,
    enable_accessibility: bool = False,
    unknown_fields: UnknownFieldPolicy = DEFAULT_UNKNOWN_FIELDS,
    retention_hours: int | None = None,
    liveness_seconds: float = DEFAULT_LIVENESS_SECONDS,
    command: Sequence[str] | None = None,
    companions: int | None = None,
) -> AsyncIterator[Recording]:
    """Record into `data_dir` until the block is left.

    `allow`: application ids (`.desktop` file names) or rules that replace the policy's own; None keeps the stored policy, and a new one
    allows nothing. `adapter_table`: a JSON file of more applications, given to both sides, beside `adapters.json` of the data directory.
    `env`: the whole environment of the collector, which says what desktop it looks at; None is that of this process.
    `enable_accessibility`: turn accessibility on for every program of that session. `unknown_fields`: what a field that nobody knows does.
    `retention_hours`: how long an observation is kept, 1 to 720; None is what the record says. `liveness_seconds`: let our collector tell
    again what has not changed for so long, 30 or more; 0 never does. `command`: another collector than ours, as an argument list.
    `companions`: the port on which paired browsers and editors report, 0 for any that is free; None listens for none. A port that cannot be
    had is told in health, and capture goes on without.

    Raises LocalProtocolError for a number out of its range (codes `retention-hours`, `liveness-seconds`), for a rule that cannot be one
    (`rule-text`, `rule-shape`, `rule-id`, `consent-entry`, `policy-too-large`) and for a file that is no adapter table (`adapter-table`),
    Unavailable when the directory cannot be used, another host records into it, or our collector lacks a package.
    """
    retention_ms = None if retention_hours is None else checked_retention(retention_hours)
    liveness_seconds = checked_liveness(liveness_seconds)
    rules = None if allow is None else checked_rules(allow)
    if command is None:
        need("activity", "dbus_fast", "xcffib")
    read_adapter_table(adapter_table)  # a file that was named must not name what is known already
    table = read_adapter_tables(adapter_files(data_dir, adapter_table))
    with Store(data_dir, _now_ms()) as store:
        ownership = Ownership(data_dir, take=False)
        await ownership.probe()
        try:
            policy = store.policy(_now_ms())
            if policy.mode != "include-only":
                policy = policy.included()
                store.replace_policy(policy, _now_ms())
            if rules is not None:
                policy = _replaced(store, policy, policy.replaced(rules), table)
            rulebook = Rulebook(policy, table, retention_ms or store.retention().observation_hours * HOUR_MS)
            capture = Capture(rulebook, UnknownFields(unknown_fields))

            def collector() -> Sequence[str]:
                return command or collect_command(
                    adapter_table=adapter_table,
                    data_dir=data_dir,
                    enable_accessibility=enable_accessibility,
                    liveness_seconds=liveness_seconds,
                )

            recording = Recording(store, capture, ownership, data_dir, collector, env, adapter_table)
        except BaseException:
            ownership.release()
            raise
        try:
            await recording._start(companions)
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
        collector: Callable[[], Sequence[str]],
        env: Mapping[str, str] | None,
        adapter_table: Path | None,
    ) -> None:
        self._data_dir = data_dir.absolute()
        self._collector = collector
        self._adapter_table = adapter_table
        self._store = store
        self._capture = capture
        self._ownership = ownership
        self._pairings = Pairings(store)
        self._intake: CompanionIntake | None = None
        self._host = CollectorHost(store, capture, ownership, self._data_dir, collector(), env, self._changed)
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

    async def recover(self) -> None:
        """Start a collector that was given up, and wait until it does what is desired.

        Raises LocalProtocolError (code `collector-recover-refused`) while there is a collector, and Unavailable when another host records
        by now or the collector fails again.
        """
        await self._host.recover()

    @property
    def policy(self) -> Policy:
        """The policy in force: its revision, and every rule of it."""
        return self._capture.rules.policy

    async def allow(self, applications: Iterable[str | Rule]) -> None:
        """Replace the rules of the policy that are not built in, and wait until the collector has the new one.

        The entries of a consent are such rules. Raises LocalProtocolError as `record`, and Unavailable when the record cannot be written,
        or is another host's by now; then the policy is what it was.
        """
        await self._change(self.policy.replaced(checked_rules(applications)))

    async def take_adapters(self) -> None:
        """Read the table of applications anew, and start the collector again with it; returns when it does what is desired.

        Raises LocalProtocolError (codes `adapter-table`, `policy-too-large`), and Unavailable when the new collector fails.
        """
        table = read_adapter_tables(adapter_files(self._data_dir, self._adapter_table))
        check_fits(self.policy, table)
        with self._ownership.lease():
            self._capture.rules = replace(self._capture.rules, table=table)
            await self._host.restart(self._collector())

    def consent(self, kind: ConsentKind) -> Consent:
        """Which web sites (`browser-origin`) or workspaces (`editor-workspace`) a companion may report."""
        return self.policy.consent(kind)

    async def set_consent(self, kind: ConsentKind, mode: ConsentMode, targets: Iterable[str] = ()) -> Consent:
        """Let companions report `all` sites or workspaces, the `selected` ones only, or `none`; returns them in their canonical form.

        Raises LocalProtocolError (code `consent-entry`) for a target that is none and for more than 64, otherwise as `allow`.
        """
        given = consent(kind, mode, targets)
        await self._change(self.policy.with_consent(given))
        return given

    async def deliver(self, facts: Facts, *, vouched_root: str | None = None) -> Delivered:
        """Take in what a paired companion says, as the companion intake does; returns when it is committed, or was not let in."""
        return await self._host.deliver(facts, vouched_root=vouched_root)

    def paired(self, kind: Literal["browser", "editor"]) -> bool:
        """Whether a companion of this kind has a token."""
        return getattr(self._pairings.current(), kind) is not None

    def pair(self, kind: Literal["browser", "editor"]) -> str:
        """A new token for the companion of this kind, to be shown once: only its digest is kept. The one before it ends."""
        return self._pairings.rotate(kind, _now_ms())

    def episodes(self, start_ms: int, end_ms: int, *, workspace: str | None = None) -> list[StoredEpisode]:
        """The episodes that touch the time from `start_ms` on and before `end_ms`, oldest first."""
        return self._store.episodes(start_ms, end_ms, workspace=workspace, now_ms=_now_ms())

    def episode(self, identifier: str) -> StoredEpisode | None:
        """One episode by its id; None when there is none."""
        return self._store.episode(identifier, now_ms=_now_ms())

    def search(self, text: str, *, since_ms: int | None = None, until_ms: int | None = None, limit: int = 50) -> list[Found]:
        """Where these words stand in titles and in names of files, folders and addresses, newest first."""
        return self._store.search(text, since_ms=since_ms, until_ms=until_ms, limit=limit)

    def counts(self) -> Counts:
        """How much is recorded."""
        return self._store.counts()

    def delete(self, scope: Scope) -> Deleted:
        """Delete what lies in this scope, and what was made from it; what is still on its way and lies in it is not stored either.

        Raises LocalProtocolError (codes `unknown-episode`, `time-range`).
        """
        deleted = self._store.delete(scope, _now_ms())
        self._changed()
        return deleted

    def retention(self) -> Retention:
        """How long what is recorded from now on is kept."""
        return self._store.retention()

    def set_retention(self, observation_hours: int, episode_days: int) -> Retention:
        """Keep what is recorded from now on for so long. Raises LocalProtocolError (codes `retention-hours`, `retention-days`)."""
        kept = self._store.set_retention(observation_hours, episode_days, _now_ms())
        self._capture.rules = replace(self._capture.rules, retention_ms=kept.observation_hours * HOUR_MS)
        return kept

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

    async def _start(self, companions: int | None) -> None:
        self._host.start()
        self._sweep()
        if companions is not None:
            self._intake = CompanionIntake(self._pairings, self._capture.unknown_fields, self._host.deliver)
            self._capture.companion = self._intake.health
            try:
                await self._intake.start(companions)
            except Unavailable as error:
                _log.warning("no companion can report", reason=error.reason)

    async def _stop(self) -> None:
        """Companions first, so that nothing comes in any more; then the collector and the lock; the caller closes the record last."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        try:
            if self._intake is not None:
                await self._intake.stop()
        finally:
            await self._host.stop()

    async def _change(self, policy: Policy) -> None:
        """Write another policy and bring it into force, under a lease of the ownership."""
        with self._ownership.lease():
            policy = await self._when_free(lambda: _replaced(self._store, self.policy, policy, self._capture.rules.table))
            self._capture.rules = replace(self._capture.rules, policy=policy)
            await self._host.policy_replaced()

    async def _when_free(self, write: Callable[[], T]) -> T:
        """Do what writes into the record; for 5 seconds it is tried again while another program keeps the record locked."""
        end = asyncio.get_running_loop().time() + LAST
        while True:
            try:
                with self._store.briefly():
                    return write()
            except Unavailable as error:
                if not error.reason.startswith("storage-locked") or asyncio.get_running_loop().time() > end:
                    raise
            await asyncio.sleep(RETRY)

    def _sweep(self) -> None:
        """Delete what has expired, now and every 15 minutes. A failure is shown in health, and tried again."""
        try:
            with self._store.briefly():
                self._store.sweep(_now_ms())
            self._host.sweep_failed_at_ms = None
        except (sqlite3.Error, Unavailable):
            self._host.sweep_failed_at_ms = _now_ms()
        self._sweeping = asyncio.get_running_loop().call_later(SWEEP_INTERVAL_MS / 1000, self._sweep)


def _replaced(store: Store, old: Policy, new: Policy, table: AdapterTable) -> Policy:
    """Put a new revision in the store, unless the rules are the same as before."""
    if set(new.rules) == set(old.rules):
        return old
    check_fits(new, table)
    store.replace_policy(new, _now_ms())
    return new


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
