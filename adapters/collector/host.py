"""The host of a collector process: spawns it, reads its lines, carries out what the manager lifecycle says, and stores what was admitted.

The engine drives it. It decides nothing: the manager says what to do with the process, `HostSession` which lines count, `Capture` what may
be stored. Lines are read as they come; each chunk that was read becomes one transaction. The free text of a collector may be anything that
stands on a screen, so it is never logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ...errors import IllegalEvent, RemoteProtocolError, Unavailable
from ...generated.collector.models import CollectorState, Configured, Diagnostic, Fatal, Health, Hello
from ...generated.collector.vocabulary import DIAGNOSTIC_CODE, MAX_STDERR_BYTES
from ...machines.collector.capture import Capture
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
from ...machines.collector.gates import Admitted
from ...machines.collector.lines import CollectorLines
from ...machines.collector.manager import Manager
from ...machines.collector.messages import HostSession, Observed, Repeated
from ...machines.collector.outgoing import Sent, command
from ...machines.lifecycle import Deadline, Effect
from ..log import get_logger
from .ownership import Ownership
from .piped_process import PipedProcess
from .store import Store

_log = get_logger()


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
        self._splitter, self._readable = CollectorLines(), True
        self._heard_bytes = False
        self._batch: list[Admitted] = []
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tickets: dict[int, asyncio.Future[None]] = {}
        self._last_ticket = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None
        self._gone = asyncio.Event()
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
        await self._control("pause")

    async def resume(self) -> None:
        """Record again. Raises Unavailable when the collector did not confirm it."""
        await self._control("resume")

    async def policy_replaced(self) -> None:
        """Tell the collector the policy that `capture.rules` has now; returns when it is in force, or when there is no collector."""
        await self._control("apply-policy", revision=self._capture.rules.policy.revision)

    async def stop(self) -> None:
        """End the collector and wait until it is gone; a second call does nothing. Raises the first fault of the host itself."""
        if not self._manager.is_over:
            self._step("stop", reason="host-shutdown")
            if not self._manager.is_over:
                await self._gone.wait()
        for timer in self._timers.values():
            timer.cancel()
        if self._process is not None:
            await self._process.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # what they raised is in _failure
        self._ownership.release()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def health(self) -> Health:
        """Whether capture works, and if not, why."""
        return self._capture.health(self._manager.state, self._session.hello, self.sweep_failed_at_ms)

    # stepping the lifecycle

    def _step(self, event: str, **data: Any) -> None:
        now = asyncio.get_running_loop().time()
        for effect in self._manager.step(event, now, **data):
            self._carry_out(effect)
        self._on_change()

    def _step_if_legal(self, event: str, **data: Any) -> None:
        """For what the world says on its own account: it may come when it no longer matters."""
        with contextlib.suppress(IllegalEvent):
            self._step(event, **data)
        if self._manager.is_over:
            self._gone.set()

    async def _control(self, kind: Literal["apply-policy", "pause", "resume"], revision: int = 0) -> None:
        self._last_ticket += 1
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tickets[self._last_ticket] = answer
        self._step("control", kind=kind, ticket=self._last_ticket, revision=revision)
        await answer

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
                pass  # each chunk is stored before the next is read, and an exit is told after the last one
            case Deadline(name, at):
                self._set_timer(name, at)

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
        self._heard_bytes, self.stderr = False, b""
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
            try:
                for line in splitter.feed(chunk):
                    self._take(line)
            except RemoteProtocolError as error:
                broken = error
            self._store_batch()
        except Exception as error:  # a full disk, a locked database, or a fault of ours: the manager's rule is the same for all
            _log.error("cannot take in what the collector says", error=type(error).__name__)
            self._step_if_legal("handler_failed", detail=f"cannot take in what the collector says: {type(error).__name__}")
            return False
        if broken is not None:
            self._step_if_legal("protocol_broken", detail=broken.code)  # the sentence may quote what was said
        return broken is None

    def _take(self, line: bytes) -> None:
        match self._session.receive(line):
            case Observed(facts):
                self._judge(facts)
            case Repeated():
                self._capture.refuse("duplicate")
            case Hello():
                self._step_if_legal("hello_received", revision=self._capture.rules.policy.revision)
            case CollectorState() as said:
                self._step_if_legal("state_reported", report=said.state, trusted=said.accessibility_trusted, reason=said.reason or "")
            case Configured(revision=revision):
                self._step_if_legal("policy_acknowledged", revision=revision)
                for facts in self._capture.release():
                    self._judge(facts)
            case Fatal(code=code, message=message):
                self._step_if_legal("fatal_received", code=code, message=message)
            case Diagnostic(level=level, code=code):
                _log.info("collector diagnostic", level=level, code=code if code in DIAGNOSTIC_CODE else "another")

    def _judge(self, facts: Facts) -> None:
        """Pass an observation to the choke point."""
        admitted = self._taken(facts)
        if admitted is not None and admitted.resource is not None and admitted.resource.path is not None:
            real = os.path.realpath(admitted.resource.path)
            if real != admitted.resource.path:  # it may lead where the policy does not: judge the place itself
                admitted = self._taken(msgspec.structs.replace(facts, document=real))
        if admitted is not None:
            self._batch.append(admitted)

    def _taken(self, facts: Facts) -> Admitted | None:
        now_ms = time.time_ns() // 1_000_000
        return self._capture.take(facts, now_ms, state=self._manager.state, desired=self._manager.memory.controls.desired)

    def _store_batch(self) -> None:
        batch, self._batch = self._batch, []
        if batch:
            self._capture.refuse("duplicate", len(batch) - self._store.add(batch))
        self._on_change()

    def _write(self, named: Command | None, effect: Sent) -> None:
        rules = self._capture.rules
        line = msgspec.json.encode(command(effect, rules.policy.for_collector(rules.table))) + b"\n"
        if (self._process is None or not self._process.write(line)) and named is not None:
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
