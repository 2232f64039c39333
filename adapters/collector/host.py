"""The host of a collector process: spawns it, reads its lines, carries out what the manager lifecycle says, and stores what was admitted.

The engine drives it. It decides nothing: the manager says what to do with the process, `HostSession` which lines count, `Capture` what may
be stored. Lines are read as they come; each chunk that was read becomes one transaction.
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
from ...generated.collector.models import CaptureWord, CollectorState, Configured, Diagnostic, Fatal, Health, Hello
from ...generated.collector.vocabulary import MAX_STDERR_BYTES
from ...machines.collector.capture import Capture
from ...machines.collector.controls import Command, RejectAck, ResolveAck, SendConfigure, SendPause, SendResume
from ...machines.collector.facts import Facts
from ...machines.collector.gates import Admitted
from ...machines.collector.lines import LineSplitter
from ...machines.collector.manager import (
    CloseStdin,
    DrainMessages,
    Manager,
    ReleaseOwnership,
    ReportDegraded,
    ReportState,
    SendShutdown,
    Spawn,
    Terminate,
)
from ...machines.collector.messages import HostSession, Observed, Repeated
from ...machines.lifecycle import Deadline, Effect
from ..log import get_logger
from .ownership import Ownership
from .store import Store

CHUNK = 65_536
HELD = 1024  # observations kept back until the policy is acknowledged
EOF_SECONDS = 1.0  # what the output of a collector that has ended may still take to end

_log = get_logger()


class CollectorHost:
    """One capture, under an ownership that it releases at its end.

    `command` and `env` start the collector; `on_change` is called when health or the stored rows may have changed.
    """

    def __init__(
        self,
        store: Store,
        capture: Capture,
        ownership: Ownership,
        data_dir: Path,
        command: Sequence[str],
        env: Mapping[str, str] | None,
        on_change: Callable[[], None],
    ) -> None:
        self._store = store
        self._capture = capture
        self._data_dir = data_dir
        self._command = tuple(command)
        self._env = env
        self._on_change = on_change
        self._manager = Manager()
        self._session = HostSession(capture.unknown_fields)
        self._shown: tuple[Literal["running", "paused", "permission-required", "degraded"], str] | None = None
        self._trusted: bool | None = None
        self._ownership = ownership
        self._process: asyncio.subprocess.Process | None = None
        self._heard_bytes = False
        self._held: list[Facts] = []
        self._batch: list[Admitted] = []
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tickets: dict[int, asyncio.Future[None]] = {}
        self._last_ticket = 0
        self._tasks: set[asyncio.Task[None]] = set()
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
        """End the collector and wait until it is gone; a second call does nothing."""
        if not self._manager.is_over:
            self._step("stop", reason="host-shutdown")
            if not self._manager.is_over:
                await self._gone.wait()
        for timer in self._timers.values():
            timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._ownership.release()

    def health(self) -> Health:
        """Whether capture works, and if not, why."""
        word, reason = self._word()
        return self._capture.health(word, reason, self._trusted, self._session.hello, self.sweep_failed_at_ms)

    def _word(self) -> tuple[CaptureWord, str | None]:
        if self._manager.state in ("idle", "stopped"):
            return "stopped", None
        if self._manager.state in ("spawning", "hello", "configuring") or self._shown is None:
            return "degraded", self._shown[1] if self._shown is not None and self._shown[0] == "degraded" else "collector-starting"
        return self._shown[0], self._shown[1] or None

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
            case SendConfigure(revision):
                self._write("configure", {"v": 1, "type": "configure", "revision": revision, "policy": self._wire_policy()})
            case SendPause():
                self._write("pause", {"v": 1, "type": "pause"})
            case SendResume():
                self._write("resume", {"v": 1, "type": "resume"})
            case SendShutdown(reason):
                self._write(None, {"v": 1, "type": "shutdown", "reason": reason})
            case CloseStdin():
                if self._process is not None and self._process.stdin is not None:
                    self._process.stdin.close()
            case Terminate(force):
                self._kill(signal.SIGKILL if force else signal.SIGTERM)
            case ReportState(state, trusted, reason):
                self._shown, self._trusted = (state, reason), trusted
            case ReportDegraded(reason, detail):
                self._shown = ("degraded", reason)
                _log.warning("capture degraded", reason=reason, detail=detail)
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
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._data_dir,
                env=None if self._env is None else dict(self._env),
                start_new_session=True,  # a group of its own: all that it starts can be ended with it
            )
        except (OSError, ValueError) as error:
            self._step_if_legal("spawn_failed", detail=f"{self._command[0]}: {error}")
            return
        self._process = process
        self._session = HostSession(self._capture.unknown_fields)
        self._shown, self._trusted, self._heard_bytes = None, None, False
        self._held.clear()
        self._task(self._attend(process))
        self._step("spawned", piped=process.stdin is not None and process.stdout is not None)

    async def _attend(self, process: asyncio.subprocess.Process) -> None:
        """From the first byte that it writes to its end."""
        reading = [asyncio.create_task(self._read(process)), asyncio.create_task(self._drain(process))]
        status = await process.wait()
        _, late = await asyncio.wait(reading, timeout=EOF_SECONDS)  # a child that it left behind may hold its output open
        for task in late:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        if process.stdin is not None:
            process.stdin.close()
        self._process = None
        self._step_if_legal("exited", status=status)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        splitter, readable = LineSplitter(), True
        while chunk := await process.stdout.read(CHUNK):
            self._heard_bytes = True
            # Nothing after a broken rule counts; reading on lets the process end.
            readable = readable and self._read_lines(splitter, chunk)

    def _read_lines(self, splitter: LineSplitter, chunk: bytes) -> bool:
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
            self._step_if_legal("protocol_broken", detail=str(broken))
        return broken is None

    async def _drain(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(CHUNK):
            self.stderr = (self.stderr + chunk)[:MAX_STDERR_BYTES]

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
                held, self._held = self._held, []
                for facts in held:
                    self._judge(facts)
            case Fatal(code=code, message=message):
                self._step_if_legal("fatal_received", code=code, message=message)
            case Diagnostic(level=level, code=code):
                _log.info("collector diagnostic", level=level, code=code)

    def _judge(self, facts: Facts) -> None:
        """Pass an observation to the choke point. One that comes before its policy is acknowledged waits for that."""
        if self._manager.state == "configuring":
            if len(self._held) < HELD:
                self._held.append(facts)
            else:
                self._capture.refuse("collector-not-running")
            return
        state = {
            "paused": self._manager.memory.controls.desired == "paused",
            "running": self._manager.state in ("running", "paused", "permission-required", "degraded"),
        }
        now_ms = time.time_ns() // 1_000_000
        admitted = self._capture.judge(facts, now_ms, **state)
        if admitted is not None and admitted.resource is not None and admitted.resource.path is not None:
            real = os.path.realpath(admitted.resource.path)
            if real != admitted.resource.path:  # it may lead where the policy does not: judge the place itself
                admitted = self._capture.judge(msgspec.structs.replace(facts, document=real), now_ms, **state)
        if admitted is not None:
            self._batch.append(admitted)

    def _store_batch(self) -> None:
        batch, self._batch = self._batch, []
        if batch:
            self._capture.refuse("duplicate", len(batch) - self._store.add(batch))
        self._on_change()

    def _wire_policy(self) -> dict[str, object]:
        policy = self._capture.rules.policy.for_collector(self._capture.rules.table)
        return {
            "mode": "include-only",
            "allowedBundleIds": policy.allowed,
            "blockedBundleIds": policy.blocked,
            "protectedBundleIds": policy.protected,
            "protectedPathPatterns": policy.path_patterns,
        }

    def _write(self, command: Command | None, message: dict[str, object]) -> None:
        stdin = None if self._process is None else self._process.stdin
        if stdin is None or stdin.is_closing():
            if command is not None:
                self._soon("write_failed", command=command, detail="its standard input is closed")
            return
        stdin.write(msgspec.json.encode(message) + b"\n")

    def _soon(self, event: str, **data: Any) -> None:
        """Step after the effects that are being carried out."""
        asyncio.get_running_loop().call_soon(lambda: self._step_if_legal(event, **data))

    def _kill(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _task(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
