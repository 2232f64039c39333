"""The collector process on Linux: carries out what its lifecycle says, and looks at the desktop when that may be other than it was.

`triptych activity collect` runs it. It speaks the collector protocol on standard input and output, and nothing else.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import signal
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from ... import __version__
from ...errors import Unavailable
from ...generated.collector.models import Arch, Capability, CollectorMessage
from ...generated.collector.vocabulary import TICK_MS
from ...machines.collector.adapter_table import BUILT_IN, AdapterTable
from ...machines.collector.collector import (
    ClearFingerprint,
    Collector,
    Detach,
    EmitConfigured,
    EmitDiagnostic,
    EmitHello,
    EmitState,
    Exit,
    Reconcile,
)
from ...machines.collector.commands import MAX_COMMAND_BYTES, Configure, Pause, Resume, Shutdown, parse_command
from ...machines.collector.outgoing import hello, message
from ...machines.collector.policy import CollectorPolicy
from ...machines.collector.tracking import Describe, Tracker
from ...machines.lifecycle import Effect
from ...machines.wire.lines import LineSplitter, TooLong
from ..stdio import LineReader, LineWriter
from .linux_source import LinuxSource

CAPABILITIES: tuple[Capability, ...] = ("app-focus", "window-metadata", "secure-field-detection")  # no resource-uri: AT-SPI names no file
DEBOUNCE_SECONDS = 0.02  # a program announces one change of focus two to four times
FLUSH_SECONDS = 1.0
CROWDED_BYTES = 1 << 20  # with more than this unread nothing new is looked at: the first look afterwards tells what is in front then
UNAVAILABLE = "at-spi-unavailable"

_ARCH: dict[str, Arch] = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64", "i386": "x86", "i686": "x86"}


def architecture(machine: str) -> Arch:
    """The protocol's word for a processor. Raises Unavailable for one that it has no word for."""
    try:
        return _ARCH[machine.lower()]
    except KeyError:
        raise Unavailable(f"the collector protocol has no word for the processor {machine}") from None


class CollectorProcess:
    """One run of the collector. `env`: where the desktop is found; `table`: the applications that are known."""

    def __init__(
        self,
        *,
        env: Mapping[str, str] = os.environ,
        table: AdapterTable = BUILT_IN,
        enable_accessibility: bool = False,
        liveness_seconds: float = 0.0,
    ) -> None:
        self._arch = architecture(platform.machine())
        self._env = env
        self._enable = enable_accessibility
        self._chart = Collector()
        self._tracker = Tracker(f"linux-{os.getpid()}-{secrets.token_hex(4)}", table=table, liveness_seconds=liveness_seconds)
        self._policy = CollectorPolicy()  # of the configure that is being taken
        self._sight = 0  # grows whenever what was being looked at no longer counts
        self._look = asyncio.Event()

    async def run(self) -> int:
        """Run until told to end; returns the exit status. What it raises is a crash."""
        loop = asyncio.get_running_loop()
        self._ending: asyncio.Future[int] = loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._step, "shutdown")
        self._source = LinuxSource(self._look.set, self._env, enable_accessibility=self._enable)
        try:
            found = await self._source.availability()
            if self._ending.done():
                return self._ending.result()
            self._writer = LineWriter(1, on_broken=self._input_ended)
            LineReader(0, LineSplitter(MAX_COMMAND_BYTES, whole_only=True), self._received, self._input_ended)
            self._step("start", trusted=found.trusted, reason=found.reason, warning=UNAVAILABLE)
            looking = asyncio.create_task(self._keep_looking())
            await asyncio.wait((looking, self._ending), return_when=asyncio.FIRST_COMPLETED)
            if looking.done():
                looking.result()
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await self._writer.close(FLUSH_SECONDS)
            return self._ending.result()
        finally:
            await self._source.close()

    async def _keep_looking(self) -> None:
        """Look again after every change, and on every heartbeat, which also asks whether windows can still be read."""
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
            if self._source.broken or loop.time() >= tick:
                tick = loop.time() + TICK_MS / 1000
                found = await self._source.availability()
                self._step("availability", trusted=found.trusted, reason=found.reason, warning=UNAVAILABLE)
            await self._observe()

    async def _observe(self) -> None:
        """One look at what is in front. It counts only if nothing was said meanwhile that makes it count no longer."""
        sight = self._sight
        if self._chart.state != "running" or self._writer.backlog > CROWDED_BYTES:
            return
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

    def _received(self, line: bytes | TooLong) -> None:
        match parse_command(line):
            case Configure(revision, policy):
                self._policy = policy
                self._step("configure", revision=revision, allows_any=bool(policy.allowed))
            case Pause():
                self._step("pause")
            case Resume():
                self._step("resume")
            case Shutdown():
                self._step("shutdown")

    def _input_ended(self) -> None:
        self._step("input_ended")

    def _step(self, event: str, **data: Any) -> None:
        if not self._chart.is_over:
            for effect in self._chart.step(event, asyncio.get_running_loop().time(), **data):
                self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case EmitHello():
                self._send(hello(self._tracker.session, __version__, self._source.platform, self._arch, CAPABILITIES))
            case EmitConfigured():
                self._tracker.configure(self._policy)
                self._sight += 1
                self._send(message(effect))
            case EmitState() | EmitDiagnostic():
                self._send(message(effect))
            case ClearFingerprint():
                self._tracker.forget()
            case Reconcile():
                self._sight += 1
                self._look.set()
            case Detach():
                self._sight += 1
            case Exit(code):
                self._ending.set_result(code)

    def _send(self, said: CollectorMessage) -> None:
        self._writer.write(msgspec.json.encode(said))


def _now() -> tuple[float, int]:
    """Monotonic seconds, and milliseconds of the wall clock."""
    return time.monotonic(), time.time_ns() // 1_000_000
