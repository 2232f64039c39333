"""The collector process on Linux: carries out what its lifecycle says, and looks at the desktop when that may be other than it was.

`triptych activity collect` runs it. It speaks the collector protocol on standard input and output, and nothing else.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from ...errors import TriptychError
from ...generated.collector.models import CollectorMessage, Diagnostic, NativeProvider, Platform
from ...generated.collector.vocabulary import PROVIDER_OF_PLATFORM, TICK_MS
from ...machines.collector.adapter_table import BUILT_IN, AdapterTable
from ...machines.collector.collector import (
    ClearFingerprint,
    Collector,
    Detach,
    EmitConfigured,
    EmitDiagnostic,
    EmitFatal,
    EmitHello,
    EmitState,
    Exit,
    Reconcile,
)
from ...machines.collector.commands import MAX_COMMAND_BYTES, Configure, Pause, Resume, Shutdown, parse_command
from ...machines.collector.outgoing import V, message
from ...machines.collector.policy import CollectorPolicy
from ...machines.collector.tracking import Describe, Tracker
from ...machines.lifecycle import Effect
from ...machines.wire.lines import LineSplitter, TooLong
from ..stdio import LineReader, LineWriter
from .fixture_source import FixtureSource, fixture_factory
from .introduction import fatal, introduction, new_session
from .linux_source import LinuxSource
from .sleep import SleepClock
from .source import Source

DEBOUNCE_SECONDS = 0.02  # a program announces one change of focus two to four times
FLUSH_SECONDS = 1.0
CROWDED_BYTES = 1 << 20  # with more than this unread nothing new is looked at: the first look afterwards tells what is in front then
UNAVAILABLE = "at-spi-unavailable"
SOURCES = "sources"

MakeSource: TypeAlias = Callable[[Callable[[], None], Callable[[bool], None]], Source]
"""Makes a source from `changed` and `slept`."""


class CollectorProcess:
    """One run of the collector. `env`: where the desktop, or a file of recorded facts, is found; `table`: the known applications.

    `source`: makes what is looked at in their place; `sleep_clock`: notices a sleep that nobody announced.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str] = os.environ,
        table: AdapterTable = BUILT_IN,
        enable_accessibility: bool = False,
        liveness_seconds: float = 0.0,
        source: MakeSource | None = None,
        sleep_clock: SleepClock | None = None,
    ) -> None:
        desktop: MakeSource = lambda changed, slept: LinuxSource(changed, slept, env, enable_accessibility=enable_accessibility)  # noqa: E731  one expression
        self._make = source or fixture_factory(env) or desktop
        self._platform: Platform = "linux"
        self._chart = Collector()
        self._tracker = Tracker(new_session(), table=table, liveness_seconds=liveness_seconds)
        self._policy = CollectorPolicy()  # of the configure that is being taken
        self._sight = 0  # grows whenever what was being looked at no longer counts
        self._waking = False
        self._noted = ""  # what was last said of the sources
        self._look = asyncio.Event()
        self._clock = sleep_clock or SleepClock()

    async def run(self) -> int:
        """Run until told to end; returns the exit status. What it raises is a crash; what a restart does not cure it says as `fatal`."""
        loop = asyncio.get_running_loop()
        self._ending: asyncio.Future[int] = loop.create_future()
        loop.set_exception_handler(self._failed)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._step, "shutdown")
        self._writer = LineWriter(1, on_broken=self._input_ended)
        try:
            self._source = self._make(self._look.set, self._slept)
            try:
                await self._run()
            finally:
                await self._source.close()
        except TriptychError as error:
            self._step("fail", **fatal(error))
        await self._writer.close(FLUSH_SECONDS)
        return self._ending.result()

    async def _run(self) -> None:
        """From the first look at what there is to the end."""
        if isinstance(self._source, FixtureSource):
            self._source.say = self._send
        self._platform = self._source.platform
        self._tracker.provider = cast(NativeProvider, PROVIDER_OF_PLATFORM[self._platform])
        found = await self._source.availability()
        if self._ending.done():
            return
        LineReader(0, LineSplitter(MAX_COMMAND_BYTES, whole_only=True), self._received, self._input_ended)
        self._step("start", trusted=found.trusted, reason=found.reason, warning=UNAVAILABLE)
        self._note_sources()
        looking = asyncio.create_task(self._keep_looking())
        try:
            await asyncio.wait((looking, self._ending), return_when=asyncio.FIRST_COMPLETED)
            if looking.done():
                looking.result()
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def _keep_looking(self) -> None:
        """Look again after every change, and on every heartbeat, which reconciles what no event told."""
        loop = asyncio.get_running_loop()
        tick = loop.time() + TICK_MS / 1000
        while True:
            try:
                async with asyncio.timeout_at(tick):
                    await self._look.wait()
                    await asyncio.sleep(DEBOUNCE_SECONDS)
            except TimeoutError:
                pass
            self._look.clear()
            if self._waking:
                await self._wake()
            elif self._source.broken or loop.time() >= tick:
                tick = loop.time() + TICK_MS / 1000
                await self._heartbeat()
            await self._observe()

    async def _heartbeat(self) -> None:
        """Reconcile what no event may have told. A machine that is about to sleep is left alone."""
        if self._chart.state == "asleep":
            return
        if self._clock.slept():
            self._step("sleep")
            self._waking = True
            await self._wake()
            return
        await self._check()
        self._note_sources()

    async def _check(self) -> None:
        found = await self._source.availability()
        self._step("availability", trusted=found.trusted, reason=found.reason, warning=UNAVAILABLE)

    async def _wake(self) -> None:
        """Reconcile first: availability, subscriptions and the foreground; only then say that it observes again."""
        await self._check()
        memory = self._chart.memory
        if self._chart.state == "asleep" and memory.trusted and memory.revision is not None:
            await self._source.attach()
            await self._source.foreground()
        if self._waking:  # it may have fallen asleep again meanwhile
            self._waking = False
            self._clock.slept()  # this one is told
            self._step("wake")
            self._note_sources()

    async def _observe(self) -> None:
        """One look at what is in front. It counts only if nothing was said meanwhile that makes it count no longer."""
        sight = self._sight
        if self._chart.state != "running" or self._writer.backlog > CROWDED_BYTES:
            return
        await self._source.attach()
        application = await self._source.foreground()
        if sight != self._sight:
            return
        found = self._tracker.identified(application, *_now())
        if isinstance(found, Describe):
            window = await self._source.describe(found)
            if sight != self._sight:
                return
            found = self._tracker.described(found, window, *_now())
        if found is not None:
            self._send(found)

    def _slept(self, going: bool) -> None:
        """Take in that the machine goes to sleep, or that it is awake."""
        self._waking = not going
        if going:
            self._step("sleep")
        else:
            self._look.set()

    def _received(self, line: bytes | TooLong) -> None:
        match parse_command(line):
            case Configure(revision, policy):
                self._policy = policy
                self._step("configure", revision=revision, allows_any=bool(policy.allowed))
            case Pause():
                self._step("pause")
            case Resume():
                self._step("resume")
                self._note_sources()
            case Shutdown():
                self._step("shutdown")

    def _input_ended(self) -> None:
        self._step("input_ended")

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End in a crash when a callback raised: half of a collector must not run on."""
        error = context.get("exception")
        if "handle" in context and isinstance(error, Exception) and not self._ending.done():
            self._ending.set_exception(error)
        else:
            loop.default_exception_handler(context)

    def _step(self, event: str, **data: Any) -> None:
        if not self._chart.is_over:
            for effect in self._chart.step(event, asyncio.get_running_loop().time(), **data):
                self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case EmitHello():
                self._send(introduction(self._tracker.session, self._platform))
            case EmitConfigured():
                self._tracker.configure(self._policy)
                self._sight += 1
                self._send(message(effect))
            case EmitState() | EmitDiagnostic() | EmitFatal():
                self._send(message(effect))
            case ClearFingerprint():
                self._tracker.forget()
            case Reconcile():
                self._sight += 1
                self._look.set()
            case Detach():
                self._sight += 1
                self._source.detach()
            case Exit(code):
                if not self._ending.done():
                    self._ending.set_result(code)

    def _note_sources(self) -> None:
        """Say where the facts come from, and what nothing here can tell, whenever that has changed; a paused collector says it later."""
        notes = self._source.notes
        if notes != self._noted and self._chart.state in ("unconfigured", "running", "unavailable"):
            self._noted = notes
            self._send(Diagnostic(v=V, level="info", code=SOURCES, message=notes))

    def _send(self, said: CollectorMessage) -> None:
        self._writer.write(msgspec.json.encode(said))


def _now() -> tuple[float, int]:
    """Monotonic seconds, and milliseconds of the wall clock."""
    return time.monotonic(), time.time_ns() // 1_000_000
