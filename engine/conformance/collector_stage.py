"""One collector on the suite's stage: start it, be its host as a scenario wants, wait for what it must say.

The scenarios of the collector suite use it. All waiting is here and has a deadline.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ...adapters.collector.bench import CollectorBench
from ...generated.collector.models import Platform
from ...generated.collector.vocabulary import ACK_TIMEOUT_MS, FIXTURE_VARIABLE, HELLO_TIMEOUT_MS, SHUTDOWN_GRACE_MS, TICK_MS
from ...machines.collector.adapter_table import BUILT_IN, AdapterTable
from .collector_session import Sent, Session
from .collector_shapes import Look, step
from .collector_stories import PATTERNS
from .findings import Silent

#: The policy that lets nothing in.
NOTHING: Mapping[str, object] = {
    "mode": "include-only",
    "allowedBundleIds": [],
    "blockedBundleIds": [],
    "protectedBundleIds": [],
    "protectedPathPatterns": list(PATTERNS),
}


@dataclass(frozen=True)
class Timing:
    """How long a collector has, in seconds; these are the protocol's. `start` is what a slow start may need before it is given up."""

    hello: float = HELLO_TIMEOUT_MS / 1000
    ack: float = ACK_TIMEOUT_MS / 1000
    exit: float = SHUTDOWN_GRACE_MS / 1000
    tick: float = TICK_MS / 1000
    hook: float = 2.0  #: from its first state until it says that it has taken the fixture
    start: float = 20.0


@dataclass
class Lab:
    """What every scenario of one run shares."""

    program: tuple[str, ...]
    timing: Timing = field(default_factory=Timing)
    table: AdapterTable = BUILT_IN  #: the applications that are let in before a real desktop
    env: Mapping[str, str] | None = None  #: in which it is started; None for that of this process
    adapter: str = ""  #: version, platform and processor, once it has said hello
    announced: tuple[str, ...] = ()  #: its capabilities
    sessions: list[Session] = field(default_factory=list)
    stderr: list[bytes] = field(default_factory=list)
    unfinished: list[bytes] = field(default_factory=list)
    platform: Platform | None = None  #: of its first hello

    @asynccontextmanager
    async def stage(self, fixture: Platform | None = None) -> AsyncIterator[Stage]:
        """Start it, before its real desktop or with made-up facts of a platform, and end it."""
        session = Session(time.monotonic(), time.time_ns() // 1_000_000, fixture is not None)
        self.sessions.append(session)
        bench = await CollectorBench.start(self.program, session.hear, env=self.env, fixture_variable=FIXTURE_VARIABLE if fixture else "")
        try:
            stage = Stage(self, bench, session, fixture)
            if fixture:
                bench.feed(json.dumps({"type": "start", "fixture": 1, "platform": fixture, "name": f"conformance {fixture}"}).encode())
            yield stage
        finally:
            await bench.close()
            self.stderr.append(bench.stderr)
            if not bench.overflown:
                self.unfinished.append(bench.unfinished)


class Stage:
    """The running collector, its session so far, and what the scenario does to both."""

    def __init__(self, lab: Lab, bench: CollectorBench, session: Session, fixture: Platform | None) -> None:
        self.lab, self.bench, self.session, self.fixture = lab, bench, session, fixture
        self._revision = 0
        self._steps = 0
        self.last = Look()
        self.policed = False  #: a policy was sent

    async def until(self, met: Callable[[], bool], timeout: float) -> bool:
        """Wait until `met()`, an exit included; False when neither came in time or the process is gone without it."""
        await self.bench.wait_until(lambda: met() or self.bench.status is not None, timeout)
        return met()

    async def require(self, met: Callable[[], bool], timeout: float, what: str) -> None:
        """The same; raises `Silent` when it did not come."""
        if not await self.until(met, timeout):
            raise Silent(f"no {what} within {timeout:g} s{self._seen()}")

    async def hello(self) -> None:
        """Wait for a line, and for the hello that it has to be; raises `Silent` without one."""
        session = self.session
        await self.until(lambda: bool(session.said), self.lab.timing.start)
        await self.require(lambda: session.hello is not None, self.lab.timing.hello, "hello")
        said = session.hello
        if said is not None and not self.lab.adapter:
            self.lab.adapter = f"collector {said.collector_version} on {said.platform} {said.arch}"
            self.lab.announced, self.lab.platform = tuple(said.capabilities), said.platform

    async def introduced(self) -> None:
        """Wait for hello and the first state; raises `Silent`."""
        await self.hello()
        await self.require(lambda: bool(self.session.states()), self.lab.timing.hello, "state after hello")

    async def started(self, policy: Mapping[str, object] | None = None) -> None:
        """Hello, state, and a first policy that is acknowledged."""
        await self.introduced()
        await self.configure(policy)

    def everything(self) -> dict[str, object]:
        """The policy that lets in every application that the adapter table knows on this platform."""
        platform = self.lab.platform or "linux"
        ids = [bundle_id for adapter in self.lab.table.adapters for bundle_id in getattr(adapter.ids, platform)]
        return {**NOTHING, "allowedBundleIds": ids}

    def next_revision(self) -> int:
        """A revision that was not sent yet."""
        self._revision += 1
        return self._revision

    def configure_line(self, revision: int, policy: Mapping[str, object] | None = None) -> bytes:
        """The whole command, as a host writes it."""
        command = {"v": 1, "type": "configure", "revision": revision, "policy": dict(NOTHING if policy is None else policy)}
        return json.dumps(command, ensure_ascii=False, separators=(",", ":")).encode()

    def send_configure(self, policy: Mapping[str, object] | None = None, revision: int | None = None) -> tuple[int, int]:
        """Send it without waiting; its place and revision."""
        revision = self.next_revision() if revision is None else revision
        place = self.note("configure", revision)
        self.write(self.configure_line(revision, policy) + b"\n")
        return place, revision

    async def configure(self, policy: Mapping[str, object] | None = None, revision: int | None = None) -> None:
        """Send a policy and wait for its acknowledgement; raises `Silent`."""
        place, revision = self.send_configure(policy, revision)
        await self.acknowledged(place, revision)

    async def acknowledged(self, place: int, revision: int) -> None:
        """Wait for the acknowledgement of a revision that was sent at that place; raises `Silent`."""
        await self.require(
            lambda: revision in self.session.acknowledged(place), self.lab.timing.ack, f"configured with revision {revision}"
        )

    async def pause(self) -> int:
        """Pause and wait for it; returns the place of the command. Raises `Silent`."""
        place = self.command("pause")
        await self.stated(place, "paused")
        return place

    async def resume(self) -> int:
        """Resume and wait for it; returns the place of the command. Raises `Silent`."""
        place = self.command("resume")
        await self.stated(place, "running", "permission-required")
        return place

    async def stated(self, place: int, *words: str) -> None:
        """Wait for one of these states after that place; raises `Silent`."""
        await self.require(
            lambda: any(said.state in words for said in self.session.states(place)), self.lab.timing.ack, f"state {' or '.join(words)}"
        )

    def command(self, kind: str) -> int:
        """Send one of the simple commands; returns its place."""
        place = self.note(kind)
        more = ',"reason":"host-shutdown"' if kind == "shutdown" else ""
        self.write(f'{{"v":1,"type":"{kind}"{more}}}\n'.encode())
        return place

    def note(self, kind: str, revision: int = -1) -> int:
        """Take down that something is sent now; returns its place."""
        return self.session.send(time.monotonic(), kind, revision)

    def write(self, data: bytes) -> bool:
        """Write bytes to its standard input as they are."""
        return self.bench.write(data)

    async def look(self, look: Look) -> None:
        """Write one step of the fixture and wait until it is done with; raises `Silent`."""
        number = self.show(look)
        await self.require(
            lambda: number in self.session.steps(), 2 * self.lab.timing.tick + self.lab.timing.ack, f"sign that step {number} was looked at"
        )

    async def look_again(self) -> None:
        """Show the same once more, and wait: what a configure or a resume brought about has been said by then."""
        await self.look(self.last)

    def show(self, look: Look) -> str:
        """Write one step of the fixture; returns its number."""
        assert self.fixture is not None
        self._steps += 1
        self.last = look
        self.note("step")
        self.bench.feed(json.dumps(step(look, self.fixture), ensure_ascii=False).encode())
        return str(self._steps)

    async def takes_fixture(self) -> bool:
        """Whether it says that it has taken the fixture, and is of the fixture's platform."""
        await self.introduced()
        said = self.session.hello
        taken = await self.until(lambda: "0" in self.session.steps(), self.lab.timing.hook)
        return taken and said is not None and said.platform == self.fixture

    async def leave(self, *, by: str) -> float | None:
        """Tell it to end by "shutdown" or by the end of its input; the seconds that it took, None when it did not within the grace."""
        self.session.ended = True
        at = time.monotonic()
        if by == "shutdown":
            self.command("shutdown")
        else:
            self.note("eof")
            self.bench.close_stdin()
        # Twice the grace, so that one that is merely slow is told from one that does not hear.
        if not await self.bench.wait_until(lambda: self.bench.status is not None, 2 * self.lab.timing.exit):
            return None
        return self.bench.ended_at - at

    def last_sent(self) -> Sent | None:
        """The last command."""
        return self.session.sent[-1] if self.session.sent else None

    def _seen(self) -> str:
        if self.bench.status is not None:
            return f"; it ended with status {self.bench.status}"
        fault = next((line.fault for line in self.session.said if line.fault), "")
        return f"; seen: {len(self.session.said)} lines" + (f", {fault}" if fault else "")
