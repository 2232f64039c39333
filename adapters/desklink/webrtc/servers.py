"""Reads the addresses of STUN and TURN servers (RFC 7064 and 7065), as a consumer gives them; called by the peer connection."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ....generated.desklink.models import IceServer
from ....machines.desklink.messages import given
from ...log import get_logger

log = get_logger()

_URL = re.compile(
    r"(?P<scheme>stun|turns?):(?P<host>\[[0-9a-fA-F.]*:[0-9a-fA-F:.]+\]|[^\s:/?@\[\]]+)(?::(?P<port>[0-9]{1,5}))?(?:\?transport=(?P<transport>udp|tcp))?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Server:
    """One server, at one address. `relays`: a TURN server, with its credentials, reached over `transport`, under TLS when `tls`."""

    url: str
    host: str
    port: int
    relays: bool = False
    transport: Literal["udp", "tcp"] = "udp"
    tls: bool = False
    username: str | None = None
    credential: str | None = None


def servers(given_servers: Iterable[IceServer]) -> list[Server]:
    """All servers that are named; each once. An address that cannot be used is left out, which the log says."""
    read: dict[str, Server] = {}
    for entry in given_servers:
        for url in entry.urls:
            if (server := _server(url, given(entry.username, None), given(entry.credential, None))) is None:
                log.warning("an ICE server is left out: its address cannot be used", url=url)
            else:
                read.setdefault(url, server)
    return list(read.values())


def _server(url: str, username: str | None, credential: str | None) -> Server | None:
    if (match := _URL.fullmatch(url.strip())) is None:
        return None
    scheme, host = match["scheme"].lower(), match["host"].strip("[]")
    relays, tls = scheme != "stun", scheme == "turns"
    port = int(match["port"] or (5349 if tls else 3478))
    transport: Literal["udp", "tcp"] = "tcp" if tls or (match["transport"] or "").lower() == "tcp" else "udp"
    if not 0 < port < 65536 or (tls and (match["transport"] or "").lower() == "udp"):
        return None
    return Server(url, host, port, relays, transport, tls, username, credential)
