"""The one module that touches the private parts of aioice and aiortc: ICE agents, DTLS and SCTP, as the peer connection needs them.

Both libraries are pinned to a minor version, and everything private that is used here is looked up by name before the first use (`check`):
with another version the engine says so at its start, and does not fail in the middle of a session. Called by `path` (agents), `peer` (DTLS)
and `control_channel` (SCTP, which stands in `association`).

What differs from the libraries: an agent gathers from every STUN and TURN server, offers 127.0.0.1 when there is no other address and TCP
on demand, takes packets of authenticated addresses only, and never closes by itself; DTLS and SCTP outlive their agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, cast

from aioice import ice, stun, turn
from aioice.candidate import Candidate, candidate_foundation, candidate_priority
from aiortc.rtcdtlstransport import RTCCertificate, RTCDtlsFingerprint, RTCDtlsParameters, RTCDtlsTransport
from OpenSSL import SSL

from ....errors import Unavailable
from ....machines.desklink import candidates
from ...log import get_logger
from . import association
from .association import Guarded, Sctp, open_channel
from .framed import Address, FramedServer
from .servers import Server
from .udp_sender import UdpSender
from .versions import strange

__all__ = ["Agent", "Candidate", "Dtls", "Sctp", "certificate", "check", "host_addresses", "open_channel", "remote"]

log = get_logger()

PRIVATE: tuple[tuple[type, str], ...] = (
    *((ice.Connection, name) for name in ("_protocols", "_local_candidates", "_local_candidates_end", "_remote_candidates", "_nominated")),
    *((ice.Connection, name) for name in ("_check_list", "_check_list_done", "_closing", "_pair_remote_candidate", "sort_check_list")),
    *((ice.Connection, name) for name in ("check_incoming", "check_complete", "data_received", "query_consent", "build_request")),
    *((ice.StunProtocol, name) for name in ("datagram_received", "send_stun", "request", "close", "connection_lost", "receiver")),
    (turn.TurnTransport, "_TurnTransport__close_task"),
    *((RTCDtlsTransport, name) for name in ("_ssl", "_tx_srtp", "_set_role", "_recv_next", "_write_ssl", "_handle_rtcp_data")),
    *((RTCDtlsTransport, name) for name in ("_handle_rtp_data", "_register_data_receiver", "_unregister_data_receiver")),
    *association.PRIVATE,
)
"""Every private name that is used, with the class it belongs to."""

PRIVATE_FUNCTIONS = ("server_reflexive_candidate", "relayed_candidate", "get_host_addresses")

LOOPBACK = "127.0.0.1"
GATHER_SECONDS = 5.0
GIVE_UP_SECONDS = 0.5  # so long may a TURN server take to delete an allocation
CONSENT_SECONDS = 2.0  # a path in use is checked so often, and so often something is heard on it
UDP_FIRST_SECONDS = 0.3  # so long a check over TCP waits for one over UDP
NOMINATED_QUIET_SECONDS = 1.5  # another pair may take over from one that was silent so long
LEAST_REPEAT_SECONDS = 0.1
PACE_SECONDS = 0.05
MOST_PAIRS = 256
MOST_ROLE_CHANGES = 4
ROLE_CONFLICT = 487
STUN_HEADER_BYTES = 20
MOST_STUN_BYTES = 1500
"""A longer message is ignored: reading it may take very long, and a real one is sent in one packet."""

SOCKET_BYTES = 1 << 18


def check() -> None:
    """Whether the installed libraries are those that this module knows. Raises Unavailable, naming what is strange."""
    if (why := strange()) is not None:
        raise why
    missing = [f"{owner.__name__}.{name}" for owner, name in PRIVATE if not _has(owner, name)]
    missing += [f"aioice.ice.{name}" for name in PRIVATE_FUNCTIONS if not callable(getattr(ice, name, None))]
    if missing:
        raise Unavailable(f"aioice or aiortc has changed inside: {', '.join(missing)}", "install the pinned versions")


def _has(owner: type, name: str) -> bool:
    # What an instance gets in its constructor is named in the constructor's code.
    constructors = [vars(kind).get("__init__") for kind in owner.__mro__]
    return hasattr(owner, name) or any(name in made.__code__.co_names for made in constructors if isinstance(made, FunctionType))


# ICE


class Stun(ice.StunProtocol):
    """One local address of an agent: a UDP socket, or an allocation on a TURN server."""

    receiver: Agent

    direct: UdpSender | None = None
    """The way past the event loop, of a UDP socket."""

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        if self.direct is not None:
            self.direct.close()
        super().connection_lost(exc)

    def datagram_received(self, data: bytes | str, addr: tuple[Any, ...]) -> None:
        """Something came; STUN is for the agent, the rest for what lies above (RFC 7983)."""
        packet, address = cast(bytes, data), (addr[0], addr[1])
        if not packet:
            return
        if packet[0] >= 4:
            self.receiver.packet_received(packet, address)
            return
        if not self._concerns(packet):
            return
        try:
            super().datagram_received(packet, address)
        except Exception as error:  # what a hostile message does to the library's parser costs nobody anything
            log.debug("a STUN message was ignored", error=repr(error))

    def _concerns(self, packet: bytes) -> bool:
        """Whether to read it: strangers are told nothing, and their messages, which can be made to be long work, are not looked into."""
        if not STUN_HEADER_BYTES <= len(packet) <= MOST_STUN_BYTES:
            return False
        if packet[0] & 1:  # an answer, or an error
            return packet[8:STUN_HEADER_BYTES] in self.transactions
        return self.receiver.addressed in packet

    def send_stun(self, message: stun.Message, addr: Address) -> None:
        """Send a STUN message. Only an authenticated request is answered with a success."""
        if message.message_class is stun.Class.RESPONSE:
            self.receiver.authenticated(addr)
        self.send_now(bytes(message), addr)

    async def request(
        self, request: stun.Message, addr: Address, integrity_key: bytes | None = None, retransmissions: int | None = None
    ) -> tuple[stun.Message, Address]:
        """Send a request, and wait for its authenticated answer. A check is repeated until then: a path that comes back is seen at once."""
        repeating = asyncio.ensure_future(self._repeat(request, addr)) if integrity_key and retransmissions is None else None
        try:
            answer = await super().request(request, addr, integrity_key, retransmissions)
        except stun.TransactionFailed as failed:
            # The library tries again at once with the other role, as often as it is told to.
            if failed.response.error_code == ROLE_CONFLICT and not self.receiver.may_change_role():
                raise stun.TransactionTimeout from None
            raise
        finally:
            if repeating is not None:
                repeating.cancel()
        self.receiver.authenticated(addr)
        return answer

    async def _repeat(self, request: stun.Message, addr: Address) -> None:
        # The library waits twice as long after each try: after an outage of eight seconds, as long again.
        while True:
            await asyncio.sleep(self.receiver.repeat_seconds)
            self.send_stun(request, addr)

    def send_now(self, packet: bytes, addr: Address) -> None:
        """Send a packet, or lose it."""
        self.transport.sendto(packet, addr)

    def send_directly(self, packets: Sequence[bytes], addr: Address) -> int:
        """Send packets from any thread: so many of them are gone, and the others are to be sent on the event loop."""
        return self.direct.send(packets, addr) if self.direct is not None else 0

    def give_up(self) -> None:
        """Close without waiting for the TURN server any longer."""
        task = getattr(self.transport, "_TurnTransport__close_task", None)
        if task is not None:
            task.cancel()


class TcpPassive(Stun):
    """A passive TCP candidate on 127.0.0.1 (RFC 6544)."""

    def __init__(self, receiver: Agent) -> None:
        super().__init__(receiver)
        self._server = FramedServer(self.datagram_received)

    async def listen(self) -> None:
        """Wait for clients."""
        host, port = await self._server.listen()
        self.local_candidate = Candidate(
            foundation=candidate_foundation("host", "tcp", host),
            component=1,
            transport="tcp",
            priority=candidates.priority("host", "tcp"),
            host=host,
            port=port,
            type="host",
            tcptype="passive",
        )

    def send_now(self, packet: bytes, addr: Address) -> None:
        """Send a packet, or lose it."""
        self._server.send(packet, addr)

    async def send_data(self, data: bytes, addr: Address) -> None:
        """Send a packet."""
        self.send_now(data, addr)

    async def close(self) -> None:
        """Listen no more, and drop all clients."""
        self._server.close()


class Agent(ice.Connection):
    """The ICE agent of one generation: one set of credentials, candidates and checks. It is controlling, since the engine offers.

    `received` gets every packet that is no STUN and comes from an address that has proved to know the password. `heard` is called, and
    `heard_at` is the monotonic time, when anything comes on the nominated pair (before there is one, on any). What silence means is decided
    above: an agent never closes by itself.
    """

    def __init__(self, received: Callable[[bytes], None], heard: Callable[[Agent], None]) -> None:
        super().__init__(ice_controlling=True, local_username=secrets.token_hex(4), local_password=secrets.token_hex(16))
        self.heard_at = float("-inf")
        self._received = received
        self._heard = heard
        self._known: set[Address] = set()
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._role_changes = 0
        self.addressed = f"{self.local_username}:".encode()
        """What stands in every check of the client that is for this agent."""

    # Gathering

    async def gather_hosts(self, *, loopback_tcp: bool) -> list[Candidate]:
        """Open a socket on each address of this machine; on 127.0.0.1 when it has no other."""
        found = [candidate for address in host_addresses() if (candidate := await self._bind(address))]
        if not found and (candidate := await self._bind(LOOPBACK)):
            found.append(candidate)
        if loopback_tcp:
            passive = TcpPassive(self)
            await passive.listen()
            self._protocols.append(passive)
            found.append(passive.local_candidate)
        self._local_candidates += found
        self._local_candidates_end = True
        return found

    async def _bind(self, address: str) -> Candidate | None:
        try:
            _, protocol = await self._loop.create_datagram_endpoint(lambda: Stun(self), local_addr=(address, 0))
        except OSError as error:
            log.debug("no socket on an address of this machine", address=address, error=str(error))
            return None
        udp = protocol.transport.get_extra_info("socket")
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BYTES)
        protocol.direct = UdpSender(udp)
        host, port = protocol.transport.get_extra_info("sockname")[:2]
        protocol.local_candidate = Candidate(
            foundation=candidate_foundation("host", "udp", host),
            component=1,
            transport="udp",
            priority=candidate_priority(1, "host"),
            host=host,
            port=port,
            type="host",
        )
        self._protocols.append(protocol)
        return protocol.local_candidate

    async def gather_servers(self, servers: Iterable[Server], found: Callable[[Candidate], None]) -> None:
        """Ask every STUN and TURN server at once; `found` is told each candidate as it comes. One that does not answer is left out."""
        hosts = [protocol for protocol in self._protocols if protocol.local_candidate.transport == "udp"]
        asking: list[Awaitable[None]] = []
        for server in servers:
            if server.relays:
                asking.append(self._ask(server, self._allocate(server), found))
            else:
                asking += [self._ask(server, self._reflect(server, at), found) for at in hosts if ":" not in at.local_candidate.host]
        await asyncio.gather(*asking)

    async def _ask(self, server: Server, asking: Awaitable[Candidate], found: Callable[[Candidate], None]) -> None:
        try:
            async with asyncio.timeout(GATHER_SECONDS):
                candidate = await asking
        except (OSError, stun.TransactionError, TimeoutError) as error:
            log.info("an ICE server gave no candidate", server=server.url, reason=str(error) or type(error).__name__)
            return
        if self._closing or any(
            (c.host, c.port, c.type) == (candidate.host, candidate.port, candidate.type) for c in self._local_candidates
        ):
            return
        self._local_candidates.append(candidate)
        found(candidate)

    async def _reflect(self, server: Server, protocol: ice.StunProtocol) -> Candidate:
        candidate, _ = await ice.server_reflexive_candidate(protocol, (server.host, server.port))
        return candidate

    async def _allocate(self, server: Server) -> Candidate:
        candidate, protocol = await ice.relayed_candidate(
            component=1,
            hide_related_address=False,
            protocol_factory=lambda: Stun(self),
            turn_server=(server.host, server.port),
            turn_username=server.username,
            turn_password=server.credential,
            turn_ssl=server.tls,
            turn_transport=server.transport,
        )
        if self._closing:
            await _close_relays([cast(Stun, protocol)])
            raise ConnectionError("the agent was closed meanwhile")
        self._protocols.append(protocol)
        # The client's candidates that came before this one.
        for remote in self._remote_candidates:
            self._pair_remote_candidate(remote)
        self.sort_check_list()
        return candidate

    # Checking

    def check_incoming(self, message: stun.Message, addr: Address, protocol: ice.StunProtocol) -> None:
        """The client checks a pair: check it too, unless there is a better one.

        UDP goes before TCP when both work. What works is not left for what works as well; when it is silent, it is: so a path is found
        again after the client's address has changed.
        """
        if self._closing or len(self._check_list) >= MOST_PAIRS or "PRIORITY" not in message.attributes:
            return
        now = self._loop.time()
        if (nominated := self.nominated) is not None:
            if nominated.remote_addr != addr and now < self.heard_at + NOMINATED_QUIET_SECONDS:
                return
        elif isinstance(protocol, TcpPassive) and (wait := self._began + UDP_FIRST_SECONDS - now) > 0:
            self._loop.call_later(wait, self.check_incoming, message, addr, protocol)
            return
        super().check_incoming(message, addr, protocol)

    def may_change_role(self) -> bool:
        """The client says that both have the same role. One that is honest says so once."""
        self._role_changes += 1
        return self._role_changes <= MOST_ROLE_CHANGES

    async def connect(self) -> None:
        """Check pairs until one works. Raises ConnectionError when the agent is closed before."""
        self._began = self._loop.time()
        await super().connect()

    async def query_consent(self) -> None:
        """Check the pair in use, so that the client is heard when it has nothing to say; for ever, whatever comes back."""
        while True:
            await asyncio.sleep(CONSENT_SECONDS * (0.8 + 0.4 * random.random()))
            for pair in list(self._nominated.values()):
                request = self.build_request(pair, nominate=False)
                key = cast(str, self.remote_password).encode()
                with contextlib.suppress(stun.TransactionError):
                    await pair.protocol.request(request, pair.remote_addr, integrity_key=key, retransmissions=0)

    @property
    def repeat_seconds(self) -> float:
        """Between two sendings of one check; all checks together keep the pace of RFC 8445, 14.2."""
        return max(LEAST_REPEAT_SECONDS, PACE_SECONDS * len(self._check_list))

    @property
    def nominated(self) -> ice.CandidatePair | None:
        """The pair in use."""
        return self._nominated.get(1)

    # Packets

    def authenticated(self, address: Address) -> None:
        """Whoever sends from this address knows the password."""
        if len(self._known) < MOST_PAIRS:
            self._known.add(address)
        self._hear(address)

    def packet_received(self, packet: bytes, address: Address) -> None:
        """A packet that is no STUN came."""
        if address in self._known:
            self._hear(address)
            self._received(packet)

    def _hear(self, address: Address) -> None:
        pair = self._nominated.get(1)
        if pair is None or pair.remote_addr == address:
            self.heard_at = self._loop.time()
            self._heard(self)

    def data_received(self, data: bytes, component: int) -> None:
        """STUN that cannot be read: ignored."""

    def send_packet(self, packet: bytes) -> None:
        """Send a packet on the pair in use, if there is one."""
        pair = self._nominated.get(1)
        if pair is not None:
            cast(Stun, pair.protocol).send_now(packet, pair.remote_addr)

    def send_packets(self, packets: Sequence[bytes]) -> None:
        """Send packets on the pair in use, if there is one, from any thread: at once over UDP, and else on the event loop."""
        pair = self._nominated.get(1)
        if pair is not None and (gone := cast(Stun, pair.protocol).send_directly(packets, pair.remote_addr)) < len(packets):
            self._loop.call_soon_threadsafe(self._send_late, packets[gone:])

    def _send_late(self, packets: Sequence[bytes]) -> None:
        for packet in packets:
            self.send_packet(packet)

    async def close(self) -> None:
        """Close the sockets; a TURN server has half a second to hear of it."""
        relays = [cast(Stun, protocol) for protocol in self._protocols if protocol.local_candidate.type == "relay"]
        self._protocols[:] = [protocol for protocol in self._protocols if protocol not in relays]
        await super().close()
        await _close_relays(relays)


def host_addresses() -> list[str]:
    """The addresses of this machine; 127.0.0.1 when it has no other."""
    return list(ice.get_host_addresses(True, True)) or [LOOPBACK]


def remote(candidate: candidates.Candidate) -> Candidate:
    """A candidate of the client in the form that an agent takes."""
    return Candidate(
        foundation=candidate.foundation,
        component=candidate.component,
        transport=candidate.transport,
        priority=candidate.priority,
        host=candidate.host,
        port=candidate.port,
        type=candidate.type,
        tcptype=candidate.tcptype,
    )


async def _close_relays(relays: list[Stun]) -> None:
    if not relays:
        return
    closing = [asyncio.ensure_future(relay.close()) for relay in relays]
    _, late = await asyncio.wait(closing, timeout=GIVE_UP_SECONDS)
    if late:
        for relay in relays:
            relay.give_up()
        await asyncio.wait(late, timeout=GIVE_UP_SECONDS)


# DTLS and SRTP


class Dtls(RTCDtlsTransport):
    """DTLS over whatever agent is in use, and the SRTP keys that come of it. `rtcp` gets the client's decrypted RTCP."""

    def __init__(self, path: Any, certificate: RTCCertificate, rtcp: Callable[[bytes], None]) -> None:
        super().__init__(path, [certificate])
        self._send_packet: Callable[[bytes], None] = path.send
        self._send_packets: Callable[[Sequence[bytes]], None] = path.send_packets
        self._sealing = threading.Lock()
        self._rtcp = rtcp
        self._guard: Guarded | None = None

    async def begin(self, *, server: bool, algorithm: str, fingerprint: str) -> bool:
        """Shake hands with the client, whose certificate has this fingerprint; whether it worked."""
        self._set_role("server" if server else "client")
        await self.start(RTCDtlsParameters([RTCDtlsFingerprint(algorithm, fingerprint)]))
        return self.state == "connected"

    def send_media(self, packets: Sequence[bytes]) -> None:
        """Encrypt and send RTP packets, on any thread. A packet that cannot be encrypted raises pylibsrtp.Error."""
        with self._sealing:
            sealed = [self._tx_srtp.protect(packet) for packet in packets]
        self._send_packets(sealed)

    def send_rtcp(self, packet: bytes) -> None:
        """Encrypt and send an RTCP packet."""
        with self._sealing:
            sealed = self._tx_srtp.protect_rtcp(packet)
        self._send_packet(sealed)

    async def _write_ssl(self) -> None:
        # A flight of the handshake may be several datagrams.
        while self._ssl is not None:
            try:
                datagram = self._ssl.bio_read(1500)
            except SSL.Error:
                return
            if not datagram:
                return
            self._send_packet(datagram)

    async def _recv_next(self) -> None:
        try:
            await super()._recv_next()
        except ConnectionError:
            raise  # the client says goodbye
        except Exception as error:  # whoever can send a packet must not end the connection by it
            log.debug("a packet was ignored", error=repr(error))

    async def _handle_rtcp_data(self, data: bytes) -> None:
        self._rtcp(data)

    async def _handle_rtp_data(self, data: bytes, arrival_time_ms: int) -> None:
        """No media is received."""

    def _register_data_receiver(self, receiver: Any) -> None:
        self._guard = Guarded(receiver)
        super()._register_data_receiver(self._guard)

    def _unregister_data_receiver(self, receiver: Any) -> None:
        if self._guard is not None:
            super()._unregister_data_receiver(self._guard)


def certificate() -> tuple[RTCCertificate, str]:
    """A new self-signed certificate, and its SHA-256 fingerprint."""
    made = RTCCertificate.generateCertificate()
    return made, next(mark.value for mark in made.getFingerprints() if mark.algorithm == "sha-256")
