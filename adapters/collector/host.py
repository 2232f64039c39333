"""The host of a collector process: spawns it, reads its lines, carries out what the manager lifecycle says, and stores what was admitted.

The engine drives it. It decides nothing: the manager says what to do with the process, `HostSession` which lines count, `Capture` what may
be stored. Lines are read as they come; each chunk that was read becomes one transaction. A record that cannot be written for a while (a
full disk, a lock of another program) loses nothing of what was admitted: it waits, health names the reason, and nothing more is read when
too much waits. The free text of a collector may be anything that stands on a screen, so it is never logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import IllegalEvent, LocalProtocolError, RemoteProtocolError, Unavailable
from ...generated.collector.models import CollectorState, Configured, Diagnostic, Fatal, Health, Hello
from ...generated.collector.vocabulary import DIAGNOSTIC_CODE, MAX_STDERR_BYTES
from ...machines.collector.capture import Capture, Delivered
from ...machines.collector.clock import ClockWatch, Reading
from ...machines.collector.controls import Command, RejectAck, ResolveAck, SendConfigure, SendPause, SendResume
from ...machines.collector.effects import (
    CloseStdin,
    DrainMessages,
    ReleaseOwnership,
    ReportDegraded,
    ReportState,
    SendShutdown,
    Spawn,
    Terminate,
)
from ...machines.collector.facts import Facts
from ...machines.collector.gates import Admitted, Refused, admit
from ...machines.collector.lines import CollectorLines
from ...machines.collector.manager import ACK_TIMEOUT, HELLO_TIMEOUT, Asked, Manager
from ...machines.collector.messages import HostSession, Observed, Repeated
from ...machines.collector.outgoing import Sent, line
from ...machines.lifecycle import Deadline, Effect
from ..log import get_logger
from .clocks import read_clocks
from .judge import Judge
from .ownership import Ownership
from .piped_process import PipedProcess
from .store import Store
from .stored import Added
from .write_queue import LAST, WriteQueue

_log = get_logger()

LOGGED_DIAGNOSTICS = 100  #: the most diagnostics of one process that are logged; the rest is only read
RECOVERY = HELLO_TIMEOUT + 2 * ACK_TIMEOUT  #: seconds within which a collector that was started again is running, or is given up


class CollectorHost:
    """One capture, under an ownership that it releases at its end.

    `command_line` and `env` start the collector; `on_change` is called when health or the stored rows may have changed.
    """

    def __init__(
        self,
        store: Store,
        capture: Capture,
        ownership: Ownership,
        data_dir: Path,
        command_line: Sequence[str],
        env: Mapping[str, str] | None,
        on_change: Callable[[], None],
        clocks: Callable[[], Reading] | None = None,
    ) -> None:
        self._store = store
        self._capture = capture
        self._data_dir = data_dir
        self._command = tuple(command_line)
        self._env = env
        self._on_change = on_change
        self._manager = Manager()
        self._session = HostSession(capture.unknown_fields)
        self._ownership = ownership
        self._process: PipedProcess | None = None
        self._splitter, self._readable, self._heard_bytes = CollectorLines(), True, False
        self._judge = Judge(capture)
        self._clocks = clocks or read_clocks
        first = self._clocks()
        self._watch, self._now_ms = ClockWatch(first), first.wall_ms
        self._diagnostics = self._last_ticket = 0
        self._queue = WriteQueue(store, self._count, self._record_moved, self._record_failed)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tickets: dict[int, asyncio.Future[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None
        self._gone, self._stepped = asyncio.Event(), asyncio.Event()
        self._restarting, self._ending = asyncio.Lock(), False
        self.stderr = b""
        self.sweep_failed_at_ms: int | None = None

    @property
    def state(self) -> str:
        """The manager's state."""
        return self._manager.state

    def start(self) -> None:
        """Start the collector."""
        self._step("start")

    async def pause(self) -> None:
        """Stop recording, from this moment on. Raises Unavailable when the collector did not confirm it."""
        self._look_at_the_clocks()
        self._queue.mark("pause", self._now_ms)
        with contextlib.suppress(Unavailable):  # it waits, and the next reading tells
            self._flush()
        await self._control("pause")

    async def resume(self) -> None:
        """Record again. Raises Unavailable when the collector did not confirm it."""
        await self._control("resume")

    async def policy_replaced(self) -> None:
        """Tell the collector the policy that `capture.rules` has now; returns when it is in force, or when there is no collector.

        What still waits for the record, and the new policy does not let in, is not stored any more.
        """
        self._queue.screen(self._still_admitted)
        await self._control("apply-policy", revision=self._capture.rules.policy.revision)

    async def restart(self, command_line: Sequence[str]) -> None:
        """Put a collector that is started so in the place of the one there is, under a lease; returns when it does what is desired.

        Where none is there now, the next one is started so. Raises Unavailable when the old one does not end, or the new one fails.
        """
        self._command = tuple(command_line)
        self._queue.screen(self._still_admitted)
        async with self._restarting:
            if self._manager.state in ("idle", "backoff", "broken", "stopped"):
                return
            if self._tickets:  # what was asked of the old one, it still does
                await asyncio.wait(self._tickets.values(), timeout=ACK_TIMEOUT)
            desired = self._manager.memory.controls.desired
            self._step("stop", reason="host-shutdown")
            if not self._manager.is_over:
                await self._gone.wait()
            if self._process is not None:
                await self._process.close()
            if self._manager.memory.unconfirmed:
                raise Unavailable("the collector did not end", "end its process, then: triptych activity stop, triptych activity start")
            await self._ownership.probe()
            if self._ending:
                return
            self._manager, self._gone = Manager(), asyncio.Event()
            self._step("start")
            if desired == "paused":
                self._ask("pause").add_done_callback(asyncio.Future.exception)  # health tells
        await self._until_it_does_what_is_desired()

    async def recover(self) -> None:
        """Start a collector that was given up, as if it had never crashed; returns when it does what is desired.

        Raises LocalProtocolError (code `collector-recover-refused`) while there is a collector, and Unavailable when another host captures
        by now, or when the new collector does not do it.
        """
        borrowed = not self._ownership.owned
        try:
            await self._ownership.probe()
        except Unavailable:
            self._capture.owned = False
            self._on_change()
            raise
        try:
            self._step("recover")
        except IllegalEvent:
            if borrowed:
                self._ownership.release()
            raise
        self._capture.owned = True
        await self._until_it_does_what_is_desired()

    async def deliver(self, facts: Facts, *, vouched_root: str | None) -> Delivered:
        """Take in what a paired companion says; returns when it is committed, or with the reason why it is not.

        `vouched_root` is the workspace that the companion names. Raises LocalProtocolError (code `companion-provider`) for an observation
        of another provider, and Unavailable when the record cannot be written within 5 seconds: then it is not stored.
        """
        if facts.provider != "companion":
            raise LocalProtocolError("companion-provider", f"{facts.provider} does not come from a companion")
        self._look_at_the_clocks()
        self._judge.begin()
        taken = self._judge.companion(
            facts, self._now_ms, state=self._manager.state, desired=self._manager.memory.controls.desired, vouched_root=vouched_root
        )
        if not isinstance(taken, Admitted):
            self._on_change()
            return Delivered(False, taken)
        committed = asyncio.Event()
        batch = self._queue.put_alone(taken, committed.set)
        try:
            self._flush()
            async with asyncio.timeout(LAST):
                await committed.wait()
        except TimeoutError:
            raise Unavailable(f"{self._queue.waits}: the record cannot be written", "see the health of the capture") from None
        finally:
            self._queue.withdraw(batch)
        return Delivered(batch.added is not None and batch.added.stored == 1)

    async def stop(self) -> None:
        """End the collector and wait until it is gone; a second call does nothing. Raises the first fault of the host itself."""
        self._ending = True
        if not self._manager.is_over:
            self._step("stop", reason="host-shutdown")
            if not self._manager.is_over:
                await self._gone.wait()
        for timer in self._timers.values():
            timer.cancel()
        if self._process is not None:
            await self._process.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # what they raised is in _failure
        await self._queue.close()
        self._judge.close()
        self._ownership.release()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def health(self) -> Health:
        """Whether capture works, and if not, why."""
        return self._capture.health(
            self._manager.state, self._session.hello, self.sweep_failed_at_ms, desired=self._manager.memory.controls.desired
        )

    # stepping the lifecycle

    def _step(self, event: str, **data: Any) -> None:
        now = asyncio.get_running_loop().time()
        for effect in self._manager.step(event, now, **data):
            self._carry_out(effect)
        self._stepped.set()
        self._on_change()

    def _step_if_legal(self, event: str, **data: Any) -> None:
        """For what the world says on its own account: it may come when it no longer matters."""
        with contextlib.suppress(IllegalEvent):
            self._step(event, **data)
        if self._manager.is_over:
            self._gone.set()

    async def _control(self, kind: Asked, revision: int = 0) -> None:
        async with self._restarting:
            answer = self._ask(kind, revision)
        await answer

    def _ask(self, kind: Asked, revision: int = 0) -> asyncio.Future[None]:
        self._last_ticket += 1
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tickets[self._last_ticket] = answer
        self._step("control", kind=kind, ticket=self._last_ticket, revision=revision)
        return answer

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Spawn():
                self._task(self._spawn())
            case SendConfigure():
                self._write("configure", effect)
            case SendPause():
                self._write("pause", effect)
            case SendResume():
                self._write("resume", effect)
            case SendShutdown():
                self._write(None, effect)
            case CloseStdin():
                if self._process is not None:
                    self._process.close_stdin()
            case Terminate(force):
                if self._process is not None:
                    self._process.send_signal(signal.SIGKILL if force else signal.SIGTERM)
            case ReportState() | ReportDegraded():
                self._capture.report(effect)
                if isinstance(effect, ReportDegraded):
                    said = {"reason": "fatal"} if effect.quoted else {"reason": effect.reason, "detail": effect.detail}
                    _log.warning("capture degraded", **said)
            case ResolveAck(ticket):
                self._answer(ticket, None)
            case RejectAck(ticket, detail):
                self._answer(ticket, Unavailable(detail, "see the health of the capture"))
            case ReleaseOwnership():
                self._ownership.release()
            case DrainMessages():
                pass  # each chunk and each delivery is stored before the next, and an exit is told after the last chunk
            case Deadline(name, at):
                self._set_timer(name, at)

    async def _until_it_does_what_is_desired(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECOVERY):
                while not self._does_what_is_desired() and self._manager.state in _ON_THE_WAY:
                    self._stepped.clear()
                    await self._stepped.wait()
        if not self._does_what_is_desired():
            raise Unavailable(f"the collector did not recover: {self.health().reason or self.state}", "see the health of the capture")

    def _does_what_is_desired(self) -> bool:
        desired = self._manager.memory.controls.desired
        return self._manager.state == desired or (desired == "running" and self._manager.state == "permission-required")

    def _answer(self, ticket: int, error: Exception | None) -> None:
        answer = self._tickets.pop(ticket, None)
        if answer is not None and not answer.done():
            answer.set_result(None) if error is None else answer.set_exception(error)

    def _set_timer(self, name: str, at: float | None) -> None:
        if (old := self._timers.pop(name, None)) is not None:
            old.cancel()
        if at is not None:
            self._timers[name] = asyncio.get_running_loop().call_at(at, self._due, name)

    def _due(self, name: str) -> None:
        self._timers.pop(name, None)
        self._step_if_legal(name, **({"spoke": self._heard_bytes} if name == "hello_overdue" else {}))

    # the process

    async def _spawn(self) -> None:
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: PipedProcess(
                    self._guarded(self._began), self._guarded(self._heard), self._guarded(self._complained), self._guarded(self._ended)
                ),
                *self._command,
                cwd=self._data_dir,
                env=None if self._env is None else dict(self._env),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._step_if_legal("spawn_failed", detail=f"{self._command[0]}: {error}")

    def _began(self, process: PipedProcess) -> None:
        self._process = process
        self._session = HostSession(self._capture.unknown_fields)
        self._splitter, self._readable = CollectorLines(), True
        self._heard_bytes, self.stderr, self._diagnostics = False, b"", 0
        self._capture.begin()
        self._step("spawned", piped=True)

    def _heard(self, chunk: bytes) -> None:
        self._heard_bytes = True
        # Nothing after a broken rule counts; reading on lets the process end.
        self._readable = self._readable and self._read_lines(self._splitter, chunk)

    def _complained(self, chunk: bytes) -> None:
        self.stderr = (self.stderr + chunk)[:MAX_STDERR_BYTES]

    def _ended(self, status: int) -> None:
        self._process = None
        self._step_if_legal("exited", status=status)

    def _read_lines(self, splitter: CollectorLines, chunk: bytes) -> bool:
        """Take in what a chunk completes, and store it; False when nothing more of this process can be believed, or taken in."""
        broken: RemoteProtocolError | None = None
        try:
            self._look_at_the_clocks()
            self._judge.begin()
            try:
                for said in splitter.feed(chunk):
                    self._take(said)
            except RemoteProtocolError as error:
                broken = error
            self._flush()
        except Exception as error:  # a full disk, a locked database, or a fault of ours: the manager's rule is the same for all
            fault = _told(error)
            lost = {} if isinstance(error, Unavailable) else {"lost": self._queue.clear()}  # a fault of ours would only come again
            _log.error("cannot take in what the collector says", error=fault, **lost)
            self._step_if_legal("handler_failed", detail=f"cannot take in what the collector says: {fault}")
            return False
        if broken is not None:
            self._step_if_legal("protocol_broken", detail=broken.code)  # the sentence may quote what was said
        return broken is None

    def _take(self, read: bytes) -> None:
        match self._session.receive(read):
            case Observed(facts):
                self._judge_one(facts)
            case Repeated():
                self._capture.refuse("duplicate")
            case Hello():
                self._step_if_legal("hello_received", revision=self._capture.rules.policy.revision)
            case CollectorState() as said:
                if said.state == "paused" or (said.state, said.reason) == ("degraded", "sleep"):
                    self._queue.mark("pause" if said.state == "paused" else "sleep", self._now_ms)
                self._step_if_legal("state_reported", report=said.state, trusted=said.accessibility_trusted, reason=said.reason or "")
            case Configured(revision=revision):
                self._step_if_legal("policy_acknowledged", revision=revision)
                for facts in self._capture.release():
                    self._judge_one(facts)
            case Fatal(code=code, message=message):
                self._step_if_legal("fatal_received", code=code, message=message)
            case Diagnostic(level=level, code=code):
                self._diagnostics += 1
                if self._diagnostics <= LOGGED_DIAGNOSTICS:
                    _log.info("collector diagnostic", level=level, code=code if code in DIAGNOSTIC_CODE else "another")

    def _judge_one(self, facts: Facts) -> None:
        """Pass an observation to the choke point."""
        memory = self._manager.memory
        admitted = self._judge.judge(
            facts, self._now_ms, state=self._manager.state, desired=memory.controls.desired, acknowledged=memory.policy is not None
        )
        if admitted is not None:
            self._queue.put(admitted)

    # the record

    def _flush(self) -> None:
        """Commit what was admitted. Raises Unavailable for what a later try would not mend."""
        self._queue.flush()
        if self._process is not None and self._queue.waits is not None and self._queue.crowded:
            self._process.hold()
        self._on_change()

    def _record_moved(self) -> None:
        """Whether the record takes what it is given has changed."""
        self._capture.waits = self._queue.waits
        if self._process is not None and self._queue.waits is None:
            self._process.let_go()
        self._on_change()

    def _record_failed(self, error: Exception) -> None:
        self._step_if_legal("handler_failed", detail=f"cannot store what the collector said: {_told(error)}")
        if not isinstance(error, Unavailable):
            self._failure = self._failure or error

    def _count(self, added: Added) -> None:
        self._capture.refuse("duplicate", added.duplicates)
        self._capture.refuse("deleted-range", added.deleted_range)

    def _still_admitted(self, admitted: Admitted) -> bool:
        """Whether the policy of now lets in what an earlier one did; it is counted when not."""
        vouched = admitted.workspace.root if admitted.workspace is not None and admitted.workspace.source == "companion" else None
        verdict = admit(admitted.facts, self._capture.rules, self._now_ms, vouched_root=vouched)
        if isinstance(verdict, Refused):
            self._capture.refuse(verdict.reason)
        return not isinstance(verdict, Refused)

    # time

    def _look_at_the_clocks(self) -> None:
        """Set the time of what is taken in now, and end the episode where the machine slept, or its clock was set, since the last look."""
        reading = self._clocks()
        self._now_ms = reading.wall_ms
        gap = self._watch.look(reading)
        if gap is not None:
            _log.info("the clocks show a gap", kind=gap.kind, seconds=gap.by_ms // 1000)
            self._queue.mark("sleep", gap.at_ms)

    def _write(self, named: Command | None, effect: Sent) -> None:
        rules = self._capture.rules
        said = line(effect, rules.policy.for_collector(rules.table))
        if (self._process is None or not self._process.write(said)) and named is not None:
            self._soon("write_failed", command=named, detail="its standard input is closed")

    def _soon(self, event: str, **data: Any) -> None:
        """Step after the effects that are being carried out."""
        asyncio.get_running_loop().call_soon(lambda: self._step_if_legal(event, **data))

    def _task(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._host_failed(error)

    def _guarded(self, call: Callable[..., None]) -> Callable[..., None]:
        """The call, for asyncio to make: it would only log a fault of ours."""

        def guarded(*arguments: Any) -> None:
            try:
                call(*arguments)
            except Exception as error:
                self._host_failed(error)

        return guarded

    def _host_failed(self, error: BaseException) -> None:
        _log.error("the host failed", error=type(error).__name__)
        self._failure = self._failure or error
        event = "spawn_failed" if self._manager.state == "spawning" else "handler_failed"
        self._step_if_legal(event, detail=f"the host failed: {type(error).__name__}")


_ON_THE_WAY = ("spawning", "hello", "configuring", "running", "paused", "degraded")


def _told(error: Exception) -> str:
    """A sentence about a fault of the host: the store names what is wrong with the record, and nothing else can be quoted safely."""
    return error.reason if isinstance(error, Unavailable) else type(error).__name__
