"""Reads one request line, and makes the answers; called by the engine core (desklink v3, "Requests and responses").

A line that is no request is answered without an id. A request without an id is carried out and not answered. Unknown params are ignored;
a method that needs params refuses null as `malformed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import ProtocolError
from .effects import Effect, Emit
from .messages import ENVELOPE, given

MESSAGE_CHARACTERS = 1000
"""The most that the message of a refusal has."""


@dataclass(frozen=True)
class Request:
    """One request. `id` None means that nothing is answered; `params` is a plain JSON value, not yet checked.

    `keep_pixels` is set by a host in this process only: a frame's pixels are then handed over in memory instead of through a file.
    """

    id: int | None
    method: str
    params: Any
    keep_pixels: bool = False


def read_request(line: bytes) -> Request | None:
    """The request on a line; None for a blank line. Raises RemoteProtocolError (code `malformed`)."""
    line = line.strip()
    if not line:
        return None
    envelope = ENVELOPE.read(line)
    return Request(given(envelope.id, None), envelope.method, given(envelope.params, None))


def say(request: Request, outcome: dict[str, Any] | ProtocolError) -> list[Effect]:
    """The answer to a request: its result, or its refusal; nothing when it came without an id."""
    if request.id is None:
        return []
    if isinstance(outcome, ProtocolError):
        return [Emit({"id": request.id, **refusal(outcome)})]
    return [Emit({"id": request.id, "result": outcome})]


def refusal(error: ProtocolError) -> dict[str, Any]:
    """A refusal without an id, as a line that is no request gets it."""
    message = f"{error.path}: {error.detail}" if error.path else error.detail
    # It may quote what was asked, which may be a whole line of 16 MiB.
    return {"error": {"code": error.code, "message": message if len(message) <= MESSAGE_CHARACTERS else message[:MESSAGE_CHARACTERS] + "…"}}
