"""Reads and writes ICE candidates, the lines of `session.candidate` and of an offer; called by the SDP core and the peer connection.

The grammar is that of RFC 8839 §5.1 and, for TCP, of RFC 6544 §4.5. What a peer names need not be an address: a browser hides its own
behind a multicast DNS name. Refusals have the code `transport` (desklink v3, session.candidate).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Literal, cast

from ...errors import RemoteProtocolError

Type = Literal["host", "srflx", "prflx", "relay"]
Protocol = Literal["udp", "tcp"]
TcpType = Literal["active", "passive", "so"]

MOST_CHARACTERS: Final = 1024
"""A longer line is refused unread: a name has at most 255 characters, and a browser's lines are shorter than 200."""

_PREFERENCE: Final[dict[Type, int]] = {"host": 126, "prflx": 110, "srflx": 100, "relay": 0}  # RFC 8445 §5.1.2.1
_TCP_DIRECTION: Final = 4  # RFC 6544 §4.2: a passive candidate of a host; active ones are never ours
_FORM: Final = re.compile(
    r"(?:a=)?candidate:(?P<foundation>[A-Za-z0-9+/]{1,32}) (?P<component>[0-9]{1,5}) (?P<transport>[A-Za-z]{3}) (?P<priority>[0-9]{1,10})"
    r" (?P<host>[!-~]{1,255}) (?P<port>[0-9]{1,5}) typ (?P<type>host|srflx|prflx|relay)(?P<rest>(?: [!-~]+ [!-~]+)*) *",
    re.ASCII,
)
_NAME: Final = re.compile(r"(?=.{1,255}$)(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One address at which a side of the connection may be reached."""

    foundation: str  #: equal for candidates that share type, base and server
    component: int  #: 1: RTP and RTCP share a port here
    transport: Protocol
    priority: int  #: 1 to 2³¹−1, the greater the better
    host: str  #: an IP address, or a name
    port: int
    type: Type
    related_host: str | None = None  #: the base of a reflexive or relayed candidate
    related_port: int | None = None
    tcptype: TcpType | None = None  #: of a TCP candidate
    ufrag: str | None = None  #: the ICE generation for which it was found

    @property
    def is_mdns(self) -> bool:
        """Its address is a multicast DNS name, to be resolved on the local network."""
        return self.host.lower().endswith(".local")

    @property
    def is_reachable(self) -> bool:
        """Checks can be sent to it: over UDP, to an address of one host or an mDNS name. Who calls us over TCP is met when it calls."""
        one_port = self.transport == "udp" and self.component == 1 and self.port > 0
        return one_port and (self.is_mdns or _is_unicast(self.host))

    def line(self) -> str:
        """The candidate as its line, without `a=`."""
        parts = [f"candidate:{self.foundation} {self.component} {self.transport} {self.priority} {self.host} {self.port} typ {self.type}"]
        if self.related_host is not None:
            parts.append(f"raddr {self.related_host} rport {self.related_port or 0}")
        if self.tcptype is not None:
            parts.append(f"tcptype {self.tcptype}")
        if self.ufrag is not None:
            parts.append(f"ufrag {self.ufrag}")
        return " ".join(parts)


def is_end(line: str) -> bool:
    """Whether the line says that no more candidates come; an empty one is how a browser says so."""
    return line.strip() in ("", "candidate:", "end-of-candidates", "a=end-of-candidates")


def read_candidate(line: str) -> Candidate:
    """The candidate of a line, with `a=` before it or without.

    Raises RemoteProtocolError (code `transport`). Extensions that mean nothing here are passed over.
    """
    if len(line) > MOST_CHARACTERS or (found := _FORM.fullmatch(line.rstrip("\r\n"))) is None:
        raise _refused("is not one line of an ICE candidate")
    transport, host, rest = found["transport"].lower(), found["host"], found["rest"].split()
    if transport not in ("udp", "tcp"):
        raise _refused("has a transport other than udp and tcp")
    component, priority_, port = int(found["component"]), int(found["priority"]), int(found["port"])
    if not (1 <= component <= 256 and 1 <= priority_ < 1 << 31 and port < 1 << 16):
        raise _refused("has a component, priority or port outside the range")
    extensions = dict(zip(rest[::2], rest[1::2], strict=True))
    tcptype, related, ufrag = extensions.get("tcptype"), extensions.get("raddr"), extensions.get("ufrag")
    if (tcptype is None) != (transport == "udp") or tcptype not in (None, "active", "passive", "so"):
        raise _refused("has a tcptype without TCP, or TCP without one")
    if not _is_host(host) or (related is not None and not _is_host(related)):
        raise _refused("names neither an address nor a host")
    if ufrag is not None and not re.fullmatch(r"[A-Za-z0-9+/]{4,256}", ufrag):
        raise _refused("has a malformed ufrag")
    number = extensions.get("rport", "")
    related_port = int(number) if re.fullmatch(r"[0-9]{1,5}", number, re.ASCII) else 0
    if related_port >= 1 << 16:
        raise _refused("has a related port outside the range")
    return Candidate(
        found["foundation"],
        component,
        cast(Protocol, transport),
        priority_,
        host,
        port,
        cast(Type, found["type"]),
        related,
        related_port if related is not None else None,
        cast("TcpType | None", tcptype),
        ufrag,
    )


def priority(type_: Type, transport: Protocol = "udp", local_preference: int = 65535, component: int = 1) -> int:
    """The priority of a local candidate (RFC 8445 §5.1.2). Over TCP it is below all of UDP of its type (RFC 6544 §4.2)."""
    preference = _PREFERENCE[type_]
    if transport == "tcp":
        preference = max(preference - 36, 0)
        local_preference = (_TCP_DIRECTION << 13) + (local_preference & 0x1FFF)
    return (preference << 24) + (local_preference << 8) + (256 - component)


def foundation(type_: Type, transport: Protocol, base_host: str, server: str = "") -> str:
    """The foundation of a local candidate: the same for equal arguments, another one otherwise, and no address can be read from it."""
    return hashlib.sha256("\0".join((type_, transport, base_host, server)).encode()).hexdigest()[:16]


def _is_address(host: str) -> bool:
    try:
        return "%" not in host and bool(ip_address(host))
    except ValueError:
        return False


def _is_unicast(host: str) -> bool:
    if not _is_address(host):
        return False
    address = ip_address(host)
    return not (address.is_multicast or address.is_unspecified or host == "255.255.255.255")


def _is_host(host: str) -> bool:
    return _is_address(host) or _NAME.fullmatch(host) is not None


def _refused(reason: str) -> RemoteProtocolError:
    return RemoteProtocolError("transport", f"the candidate {reason}", "candidate")
