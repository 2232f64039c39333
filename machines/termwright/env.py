"""How a program finds its driver: the two variables, the protocol's name and version, and the rule that without both nothing happens.

Adapters call `endpoint` with their environment; a driver sets the variables for its child. termwright/3, environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...generated.termwright.vocabulary import ENDPOINT_VARIABLE, PROTOCOL_ID, PROTOCOL_VERSION, TOKEN_VARIABLE

__all__ = ["ENDPOINT_VARIABLE", "PROTOCOL_ID", "PROTOCOL_VERSION", "TOKEN_VARIABLE", "Endpoint", "endpoint"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the driver listens (the path of a unix socket, or the name of a Windows pipe), and the secret that the hello carries."""

    address: str
    token: str = field(repr=False)

    @property
    def is_pipe(self) -> bool:
        """Whether the address is a Windows named pipe."""
        return self.address.startswith(("\\\\.\\pipe\\", "\\\\?\\pipe\\"))


def endpoint(environ: Mapping[str, str]) -> Endpoint | None:
    """The driver that `environ` names, or None: then an adapter stays dormant, and opens, writes and prints nothing at all."""
    address, token = environ.get(ENDPOINT_VARIABLE), environ.get(TOKEN_VARIABLE)
    return Endpoint(address, token) if address and token else None
