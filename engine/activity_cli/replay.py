"""`triptych activity replay`: recorded collector lines through the host's parser, gates and storage, and what became of each.

Everything that judges and stores is the host's own (`CollectorLines`, `HostSession`, `Capture`, `Judge`, `Store`); only the process and
its commands are not there. A recording may hold several processes, one after the other: each hello begins another one. What was refused is
counted by reason, and no text of it is kept or printed.

A recording is mostly older than observations are kept. So time is the recording's own unless the caller says otherwise: each observation
is judged at the latest moment that the recording has come to.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ...generated.collector.vocabulary import DEFAULT_UNKNOWN_FIELDS
from .options import table_option, unknown_fields_option

if TYPE_CHECKING:
    from ...adapters.collector.judge import Judge
    from ...adapters.collector.store import Store, StoredObservation
    from ...generated.collector.models import CollectorState, UnknownFieldCounts, UnknownFieldPolicy
    from ...machines.collector.adapter_table import AdapterTable
    from ...machines.collector.capture import Capture
    from ...machines.collector.facts import Facts
    from ...machines.collector.gates import Admitted
    from ...machines.collector.messages import Heard, HostSession
    from ...machines.collector.policy import Policy

BATCH = 1000  # observations of one transaction
Clock = int | Literal["recorded", "clock"]


@dataclass(frozen=True)
class Broken:
    """Where a process broke the protocol: the line, counted from 1, the code, and the place in the message. The host stops it there."""

    line: int
    code: str
    path: str


@dataclass
class Replay:
    """What became of a recording. `unread` are the lines that a host would not have looked at, after a process broke the protocol."""

    lines: int = 0
    unread: int = 0
    processes: int = 0
    observations: int = 0
    stored: tuple[StoredObservation, ...] = ()
    episodes: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)
    unknown_fields: UnknownFieldCounts | None = None

    @property
    def whole(self) -> bool:
        """Whether every line was read."""
        return not self.broken


def replay(
    recording: Path,
    *,
    db: Path | None = None,
    allow: Iterable[str] = (),
    allow_listed: bool = False,
    now: Clock = "recorded",
    unknown_fields: UnknownFieldPolicy = DEFAULT_UNKNOWN_FIELDS,
    adapter_table: Path | None = None,
) -> Replay:
    """Feed the lines of `recording` through a host without a process.

    `db`: the data directory to store into, else one that is removed at the end. `allow`: application ids; `allow_listed`: all that the
    adapter table knows; without either, the policy of `db`, and a new one allows nothing. No policy is changed. `now`: milliseconds since
    1970, "clock" for this machine's, "recorded" for the recording's own. Raises Unavailable, LocalProtocolError (code `rule-text`, …).
    """
    from ...adapters.collector.adapter_file import read_adapter_table
    from ...adapters.collector.judge import Judge
    from ...adapters.collector.store import wall_ms
    from ...errors import Unavailable
    from ...machines.collector.capture import Capture
    from ...machines.collector.gates import HOUR_MS, Rulebook
    from ...machines.collector.unknown_fields import UnknownFields

    try:
        content = recording.read_bytes()
    except OSError as error:
        raise Unavailable(f"cannot read {recording}: {error.strerror}", "name a file of recorded collector lines") from None
    table = read_adapter_table(adapter_table)
    time = _Time(now)
    with _store(db, time) as store:
        policy = _policy(store, table, allow, allow_listed, wall_ms())
        capture = Capture(Rulebook(policy, table, store.retention().observation_hours * HOUR_MS), UnknownFields(unknown_fields))
        before = store.last_id()
        judge = Judge(capture)
        try:
            done = _Replaying(store, capture, judge, time).run(content)
        finally:
            judge.close()
        done.stored = tuple(_rows(store, before))
        done.episodes = len(store.episodes(0, time() + 1, now_ms=time()))
        done.refused = dict(sorted(capture.refusals.items()))
        done.unknown_fields = capture.unknown_fields.report()
        return done


class _Time:
    """The wall clock of the replay."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._latest = 0

    def reached(self, observed_at_ms: int) -> None:
        self._latest = max(self._latest, observed_at_ms)

    def __call__(self) -> int:
        from ...adapters.collector.store import wall_ms

        if self._now == "recorded":
            return self._latest
        return wall_ms() if self._now == "clock" else int(self._now)


class _Replaying:
    """One pass over a recording. `_session` is None after a process broke the protocol, until the next hello."""

    def __init__(self, store: Store, capture: Capture, judge: Judge, time: _Time) -> None:
        self._store, self._capture, self._judge, self._time = store, capture, judge, time
        self._session: HostSession | None = None
        self._state = "hello"
        self._acknowledged = False
        self._batch: list[Admitted] = []
        self._done = Replay()

    def run(self, content: bytes) -> Replay:
        from ...errors import RemoteProtocolError

        self._begin()
        *whole, _ = content.split(b"\n")  # what has no newline is no line
        for number, raw in enumerate(whole, 1):
            for line in self._lines(number, raw):
                self._done.lines += 1
                try:
                    self._line(line)
                except RemoteProtocolError as error:
                    self._broke(number, error.code, error.path)
        self._store_batch()
        return self._done

    def _lines(self, number: int, raw: bytes) -> Iterator[bytes]:
        from ...errors import RemoteProtocolError
        from ...machines.collector.lines import CollectorLines

        try:
            yield from CollectorLines().feed(raw + b"\n")
        except RemoteProtocolError as error:
            self._done.lines += 1
            if self._session is None:
                self._done.unread += 1
            else:
                self._broke(number, error.code, error.path)

    def _line(self, line: bytes) -> None:
        from ...errors import RemoteProtocolError

        if self._session is None:
            self._after_a_break(line)
            return
        try:
            heard = self._session.receive(line)
        except RemoteProtocolError as error:
            if error.code != "duplicate-hello":
                raise
            self._begin()  # another process, as after a restart
            heard = self._session.receive(line)
        self._take(heard)

    def _after_a_break(self, line: bytes) -> None:
        """Nothing counts until another process says hello."""
        from ...errors import RemoteProtocolError

        self._begin()
        session = self._session
        try:
            heard = None if session is None else session.receive(line)
        except RemoteProtocolError:
            heard = None
        if heard is None:
            self._done.unread += 1
            self._session = None
        else:
            self._take(heard)

    def _begin(self) -> None:
        from ...machines.collector.messages import HostSession

        self._store_batch()
        self._session = HostSession(self._capture.unknown_fields)
        self._capture.begin()
        self._state, self._acknowledged = "configuring", False

    def _broke(self, number: int, code: str, path: str) -> None:
        self._done.broken.append(Broken(number, code, path))
        self._session = None

    def _take(self, heard: Heard) -> None:
        from ...generated.collector.models import CollectorState, Configured, Fatal, Hello
        from ...machines.collector.messages import Observed, Repeated

        match heard:
            case Hello():
                self._done.processes += 1
            case Observed(facts):
                self._done.observations += 1
                self._time.reached(facts.observed_at_ms)
                self._admit(facts)
            case Repeated():
                self._done.observations += 1
                self._capture.refuse("duplicate")
            case CollectorState():
                self._stated(heard)
            case Configured():
                self._acknowledged = True
                for facts in self._capture.release():
                    self._admit(facts)
            case Fatal():
                self._session = None  # its code may be any text

    def _stated(self, said: CollectorState) -> None:
        self._state = said.state
        boundary: Literal["pause", "sleep"] | None = None
        if said.state == "paused":
            boundary = "pause"
        elif said.state == "degraded" and said.reason == "sleep":
            boundary = "sleep"
        if boundary is not None and self._time():
            self._store_batch()
            self._store.mark_boundary(boundary, self._time())

    def _admit(self, facts: Facts) -> None:
        """Under the state that was recorded; before the first acknowledgement an observation waits, whatever the state."""
        state = self._state if self._acknowledged else "configuring"
        desired: Literal["paused", "running"] = "paused" if state == "paused" else "running"
        admitted = self._judge.judge(facts, self._time(), state=state, desired=desired, acknowledged=self._acknowledged)
        if admitted is not None:
            self._batch.append(admitted)
            if len(self._batch) >= BATCH:
                self._store_batch()

    def _store_batch(self) -> None:
        batch, self._batch = self._batch, []
        self._judge.begin()
        if batch:
            added = self._store.add(batch)
            self._capture.refuse("duplicate", added.duplicates)
            self._capture.refuse("deleted-range", added.deleted_range)


@contextmanager
def _store(db: Path | None, time: _Time) -> Iterator[Store]:
    from ...adapters.collector.ownership import Ownership
    from ...adapters.collector.store import Store, wall_ms

    with ExitStack() as stack:
        folder = db if db is not None else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triptych-replay-")))
        store = stack.enter_context(Store(folder, wall_ms(), clock=time))
        stack.callback(Ownership(folder).release)  # nobody else records into it meanwhile
        yield store


def _policy(store: Store, table: AdapterTable, allow: Iterable[str], allow_listed: bool, now_ms: int) -> Policy:
    from ...machines.collector.policy import Policy, checked_rules

    wanted = dict.fromkeys((*allow, *(table if allow_listed else ())))
    return Policy().replaced(checked_rules(wanted)) if wanted else store.policy(now_ms)


def _rows(store: Store, after: int) -> Iterator[StoredObservation]:
    while rows := store.observations(after_id=after):
        yield from rows
        after = rows[-1].id


def _to_clock(context: click.Context, parameter: click.Parameter, text: str) -> Clock:
    from datetime import datetime

    if text in ("recorded", "clock"):
        return "recorded" if text == "recorded" else "clock"
    try:
        return int(text) if text.isascii() and text.isdigit() else round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(f"{text!r} is no time; write recorded, clock, 2026-11-30T14:05, or milliseconds since 1970") from None


@click.command("replay")
@click.argument("recording", metavar="FILE.jsonl", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--db", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Store into this data directory, and keep it.")
@click.option("--allow", multiple=True, metavar="ID", help="An application to let in; repeatable.")
@click.option("--allow-listed", is_flag=True, help="Let in every application that the adapter table knows.")
@click.option(
    "--now",
    default="recorded",
    show_default=True,
    metavar="TIME",
    callback=_to_clock,
    help="When it is: 'recorded' follows the recording, 'clock' is now, or a time; what is older than observations are kept is refused.",
)
@unknown_fields_option
@table_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def replay_command(
    context: click.Context,
    recording: Path,
    db: Path | None,
    allow: tuple[str, ...],
    allow_listed: bool,
    now: Clock,
    unknown_fields: UnknownFieldPolicy,
    adapter_table: Path | None,
    as_json: bool,
) -> None:
    """Feed recorded collector lines through the host's parser, gates and storage, and tell what was stored, what was refused and why.

    Without --db nothing is kept. No policy is changed: --allow and --allow-listed hold for this replay. Exit code 1 when a line broke the
    protocol.

    \b
    triptych activity replay session.jsonl --allow-listed
    """
    done = replay(
        recording,
        db=db,
        allow=allow,
        allow_listed=allow_listed,
        now=now,
        unknown_fields=unknown_fields,
        adapter_table=adapter_table,
    )
    if as_json:
        import json

        click.echo(json.dumps(_document(done), ensure_ascii=False))
    else:
        for text in _told(done, asked=bool(allow or allow_listed or db)):
            click.echo(text)
    context.exit(0 if done.whole else 1)


def _document(done: Replay) -> dict[str, Any]:
    unknown = done.unknown_fields
    return {
        "lines": done.lines,
        "unread": done.unread,
        "processes": done.processes,
        "observations": done.observations,
        "stored": [asdict(row) for row in done.stored],
        "episodes": done.episodes,
        "refused": {"total": sum(done.refused.values()), "byReason": done.refused},
        "unknownFields": None if unknown is None else {"policy": unknown.policy, "total": unknown.total, "byName": dict(unknown.by_name)},
        "broken": [asdict(fault) for fault in done.broken],
    }


def _told(done: Replay, *, asked: bool) -> Sequence[str]:
    lines = [_row(row) for row in done.stored]
    lines.append(
        f"{done.lines} lines of {_many(done.processes, 'process', 'processes')}: {_many(done.observations, 'observation')},"
        f" {len(done.stored)} stored in {_many(done.episodes, 'episode')}, {sum(done.refused.values())} refused"
    )
    lines += [f"  refused: {count} {reason}" for reason, count in done.refused.items()]
    if done.unknown_fields is not None:
        lines += [f"  dropped: field {name!a}, {_many(count, 'time')}" for name, count in done.unknown_fields.by_name.items()]
    for fault in done.broken:
        lines.append(f"  line {fault.line} broke the protocol: {fault.code}" + (f" at {fault.path!a}" if fault.path else ""))
    if done.unread:
        lines.append(f"  {_many(done.unread, 'line')} not read after that: a host ends such a collector")
    if not asked and done.refused.get("policy"):
        lines.append("  no application is allowed; let some in with --allow ID or --allow-listed")
    return lines


def _row(row: StoredObservation) -> str:
    from datetime import datetime

    at = datetime.fromtimestamp(row.observed_at_ms / 1000).strftime("%Y-%m-%d %H:%M:%S")
    what = row.resource[2] if row.resource else row.title
    parts = (at, row.surface_kind.ljust(8), row.app_name or row.bundle_id, what, row.role and f"({row.role})")
    return "  ".join("".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in part) for part in parts if part)


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"
