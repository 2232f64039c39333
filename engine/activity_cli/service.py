"""What `triptych activity start` runs: a recording that other commands can talk to, until it is told to end.

`Control` answers the commands of the control socket (`status`, `pause`, `resume`, `policy`, `retention`, `adapters`, `stop`); `controlled`
serves them for any recording. In the background nothing that was observed is written anywhere but into the database: the log has words of
ours only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from ...adapters.collector.control_socket import served
from ...errors import LocalProtocolError, Unavailable
from ...generated.collector.models import Health
from .. import activity
from .policy import changed_rules, requested_change
from .reasons import CAPTURE, capture_reason

LOG_NAME = "host.log"  # of a host in the background, in its data directory
UNKNOWN_COMMAND = "unknown-command"  # refusal code


class Control:
    """Carries out what comes over the control socket. `ended` is set when somebody asked the host to stop."""

    def __init__(self, recording: activity.Recording, ended: asyncio.Event) -> None:
        self._recording = recording
        self._ended = ended
        self._since_ms = time.time_ns() // 1_000_000

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one command. Raises LocalProtocolError (code `unknown-command`) and what the recording raises."""
        match request["command"]:
            case "status":
                return self._status()
            case "pause":
                await self._recording.pause()
                return self._status()
            case "resume":
                if self._recording.failed:
                    await self._recording.recover()
                await self._recording.resume()
                return self._status()
            case "policy":
                put, remove = requested_change(request)
                policy = self._recording.policy
                if set(rules := changed_rules(policy, put, remove)) != set(policy.own_rules):
                    await self._recording.allow(rules)
                return {"policy": asdict(self._recording.policy)}
            case "retention":
                kept, hours, days = self._recording.retention(), request.get("hours"), request.get("days")
                if hours is not None or days is not None:
                    kept = self._recording.set_retention(
                        kept.observation_hours if hours is None else hours, kept.episode_days if days is None else days
                    )
                return {"retention": asdict(kept)}
            case "adapters":
                await self._recording.take_adapters()
                return self._status()
            case "stop":
                self._ended.set()
                return {"pid": os.getpid()}
            case other:
                raise LocalProtocolError(UNKNOWN_COMMAND, f"the host knows no command {other!r}")

    def _status(self) -> dict[str, Any]:
        health = msgspec.to_builtins(self._recording.health, str_keys=True)
        said = last_line(self._recording.collector_stderr) if health["capture"] == "degraded" else ""
        return {"pid": os.getpid(), "sinceMs": self._since_ms, "health": health, "failed": self._recording.failed, "collectorSaid": said}


@asynccontextmanager
async def controlled(recording: activity.Recording, ended: asyncio.Event) -> AsyncIterator[None]:
    """Let other commands of this person control the recording while the block runs. Raises Unavailable."""
    async with served(recording.data_dir, Control(recording, ended).handle):
        yield


@contextmanager
def ended_by_signals(ended: asyncio.Event) -> Iterator[None]:
    """Set the event at Ctrl-C, SIGTERM and SIGHUP (not under nohup) while the block runs."""
    loop = asyncio.get_running_loop()
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    for number in numbers:
        loop.add_signal_handler(number, ended.set)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def watch(recording: activity.Recording, ended: asyncio.Event, changed: Callable[[], None]) -> None:
    """Call `changed` now and whenever health or the record may have changed, until `ended` is set."""
    with recording.changes() as moved:
        ending = asyncio.create_task(ended.wait())
        ending.add_done_callback(lambda _: moved.set())
        try:
            while not ended.is_set():
                moved.clear()
                changed()
                await moved.wait()
        finally:
            ending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ending


def state_line(health: Health, said: str = "") -> str:
    """The capture line of a health report for a person: `capture paused`, or with why and what mends it."""
    if health.reason is None:
        return f"capture {health.capture}"
    meaning, remedy = capture_reason(health.reason)
    said = said or health.detail or ""
    word = f" [{health.reason}]" if health.reason in CAPTURE else ""
    told = f": {said}" if said else ""
    return f"capture {health.capture}: {meaning}{word}{told}" + (f" ({remedy})" if remedy else "")


def quiet_state_line(health: Health) -> str:
    """The same for a log: nothing in it is another program's word."""
    known = health.reason is None or health.reason in CAPTURE
    return state_line(health) if known else f"capture {health.capture}: the collector says why (triptych activity status)"


def last_line(stderr: bytes) -> str:
    """The last line that a collector wrote to its standard error, which says why it ended; printable."""
    lines = stderr.decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return "".join(character if character.isprintable() else "?" for character in last)


def private_log(path: Path) -> int:
    """Open the log of a host in the background, to append (0600); one that has grown beyond 1 MiB is begun anew. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    os.fchmod(descriptor, 0o600)
    if os.fstat(descriptor).st_size > 1_048_576:
        os.ftruncate(descriptor, 0)
    return descriptor


async def require_bus() -> None:
    """Raise Unavailable in a session without an accessibility bus: nothing would ever be recorded. One that is off can be turned on."""
    from ...adapters.collector.atspi_bus import AccessibilityBus, AccessibilityUnavailable

    try:
        await (await AccessibilityBus.connect(lambda event: None)).close()
    except AccessibilityUnavailable as error:
        if error.absent:
            raise Unavailable(error.reason, error.remedy) from None
