"""The way to the client: the ICE agents of one peer connection, one a generation, swapped under DTLS; called by the peer connection.

An agent is offered, then answered and checking, then in use. A restart makes a new one beside that in use, which goes on working until the
new one has a path; so the picture has no gap when both paths live, and DTLS and SCTP never notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ....errors import RemoteProtocolError
from ....machines.desklink.candidates import Candidate, is_end, read_candidate
from ....machines.desklink.ice import LOST, SILENT
from ....machines.desklink.sdp import IceCredentials
from ...log import get_logger
from . import library
from .names import Names
from .servers import Server

log = get_logger()

MOST_WAITING = 2048
"""So many packets may wait for DTLS; more are lost, as they might be on the way."""

MOST_CANDIDATES = 128
"""So many of the client's candidates are taken a generation."""

GRACE_SECONDS = 1.0
"""So long an agent that was replaced still hears what was on its way."""


class Watcher(Protocol):
    """Who is told what happens on the path."""

    def gathered(self, candidate: str) -> None:
        """There is a candidate for the newest offer."""
        ...

    def path_found(self) -> None:
        """An agent has a path: the first, or that of a new generation."""
        ...

    def path_back(self) -> None:
        """After a silence, the path in use is heard again."""
        ...


class Path:
    """The path of one peer connection; in the shape that DTLS expects of its transport (`role`, `_send`, `_recv`)."""

    role = "controlling"

    def __init__(self, servers: list[Server], loopback_tcp: bool, watcher: Watcher) -> None:
        self._servers = servers
        self._loopback_tcp = loopback_tcp
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._received: asyncio.Queue[bytes] = asyncio.Queue(MOST_WAITING)
        self._offered: library.Agent | None = None
        self._checking: library.Agent | None = None
        self._used: library.Agent | None = None
        self._buffered: list[Candidate] = []
        self._taken = 0
        self._names: Names | None = None
        self._remote: IceCredentials | None = None
        self._heard_at = float("-inf")
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def heard_at(self) -> float:
        """When anything came last on the path in use; monotonic seconds, minus infinity before there is one."""
        return self._heard_at

    @property
    def is_answer_due(self) -> bool:
        """Whether an offer waits for its answer."""
        return self._offered is not None

    # Offers and answers

    async def gather(self) -> tuple[IceCredentials, list[str]]:
        """Make the agent of a new generation: its credentials, and its candidates on this machine. Those of servers come later."""
        agent = library.Agent(self._receive, self._hear)
        try:
            hosts = await agent.gather_hosts(loopback_tcp=self._loopback_tcp)
        except BaseException:
            await agent.close()
            raise
        if self._closed:
            await agent.close()
            raise RemoteProtocolError("transport", "the peer connection is closed")
        superseded, self._offered = self._offered, agent
        self._retire(superseded, 0)
        return IceCredentials(agent.local_username, agent.local_password), [_line(agent, host) for host in hosts]

    def gather_more(self) -> None:
        """Ask the servers for candidates of the newest offer, now that it is out."""
        agent = self._offered
        if agent is not None and self._servers:
            self._spawn(agent.gather_servers(self._servers, lambda found: self._found(agent, found)))

    def _found(self, agent: library.Agent, candidate: library.Candidate) -> None:
        if agent in (self._offered, self._checking, self._used):
            self._watcher.gathered(_line(agent, candidate))

    def answer(self, remote: IceCredentials, candidates: tuple[Candidate, ...], *, lite: bool = False) -> None:
        """The client answered the newest offer: check pairs with its candidates, those that came before the answer too.

        `lite`: it checks nothing by itself (RFC 8445, 2.5).
        """
        agent, self._offered = self._offered, None
        if agent is None:
            raise RemoteProtocolError("transport", "no offer waits for an answer")
        self._retire(self._checking, 0)
        self._checking, self._remote = agent, remote
        agent.remote_username, agent.remote_password, agent.remote_is_lite = remote.ufrag, remote.pwd, lite
        buffered, self._buffered, self._taken = self._buffered, [], 0
        for candidate in (*candidates, *buffered):
            if candidate.ufrag in (None, remote.ufrag):
                self._take(agent, candidate)
        self._spawn(self._connect(agent))

    def candidate(self, text: str) -> None:
        """The client has a candidate. Raises RemoteProtocolError (`transport`) when it cannot be read, and no answer is waited for."""
        if is_end(text):
            return  # the end of candidates changes nothing: the checks go on for as long as the path may be had
        try:
            candidate = read_candidate(text)
        except RemoteProtocolError as error:
            if not self.is_answer_due:
                raise
            log.debug("a candidate before the answer is left out", reason=error.detail)
            return
        agent = self._checking or self._used
        of_present = self._remote is not None and candidate.ufrag == self._remote.ufrag
        if self.is_answer_due and not of_present:
            if len(self._buffered) < MOST_CANDIDATES:
                self._buffered.append(candidate)
        elif agent is not None and (of_present or candidate.ufrag is None):
            self._take(agent, candidate)

    def _take(self, agent: library.Agent, candidate: Candidate) -> None:
        # Nothing can be sent to a client's active TCP candidate: it connects by itself.
        if candidate.is_reachable and candidate.transport == "udp" and self._taken < MOST_CANDIDATES:
            self._taken += 1
            self._spawn(self._add(agent, candidate))

    async def _add(self, agent: library.Agent, candidate: Candidate) -> None:
        if candidate.is_mdns:
            if self._names is None:
                self._names = Names(library.host_addresses())
            if (address := await self._names.address(candidate.host)) is None:
                log.debug("a candidate is left out: nobody on the network has its name", name=candidate.host)
                return
            candidate = replace(candidate, host=address)
        try:
            await agent.add_remote_candidate(library.remote(candidate))
        except (OSError, ValueError) as error:
            log.debug("a candidate is left out", reason=str(error))

    async def _connect(self, agent: library.Agent) -> None:
        try:
            async with asyncio.timeout(LOST):
                await agent.connect()
        except ConnectionError:
            return  # closed meanwhile
        except TimeoutError:
            # There may be one in use that still works; a restart makes another.
            if agent is self._checking:
                self._checking = None
                self._retire(agent, 0)
            return
        if agent is not self._checking:
            return
        replaced, self._used, self._checking = self._used, agent, None
        self._heard_at = agent.heard_at
        self._retire(replaced, GRACE_SECONDS)
        self._watcher.path_found()

    # Packets

    def _receive(self, packet: bytes) -> None:
        if not self._received.full():
            self._received.put_nowait(packet)

    def _hear(self, agent: library.Agent) -> None:
        if agent is self._used:
            silence, self._heard_at = agent.heard_at - self._heard_at, agent.heard_at
            if silence >= SILENT:
                self._watcher.path_back()

    def send(self, packet: bytes) -> None:
        """Send a packet on the path in use; it is lost when there is none."""
        if self._used is not None:
            self._used.send_packet(packet)

    def send_packets(self, packets: Sequence[bytes]) -> None:
        """Send packets, as `send` does; from any thread."""
        if (used := self._used) is not None:
            used.send_packets(packets)

    async def _send(self, data: bytes) -> None:
        self.send(data)

    async def _recv(self) -> bytes:
        return await self._received.get()

    # The end

    def _retire(self, agent: library.Agent | None, grace: float) -> None:
        if agent is not None:
            self._spawn(_close_later(agent, grace))

    async def close(self) -> None:
        """Close all agents."""
        self._closed = True
        agents = [agent for agent in (self._offered, self._checking, self._used) if agent]
        self._offered = self._checking = self._used = None
        if self._names is not None:
            self._names.close()
        for task in self._tasks:
            task.cancel()
        # A task that was closing an agent closes it at once when it is cancelled.
        await asyncio.gather(*self._tasks, *(agent.close() for agent in agents), return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("the path failed at something", error=repr(error), exc_info=error)


def _line(agent: library.Agent, candidate: library.Candidate) -> str:
    return f"candidate:{candidate.to_sdp()} generation 0 ufrag {agent.local_username}"


async def _close_later(agent: library.Agent, grace: float) -> None:
    try:
        await asyncio.sleep(grace)
    finally:
        await agent.close()
