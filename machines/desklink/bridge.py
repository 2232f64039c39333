"""Decides what passes between browsers on sockets and the one engine behind the bridge; driven by the bridge adapter.

A socket is a remote controller: it chooses no source, reads no frame, ends no engine, and never sees a restore token or a damage event.
What it may ask goes to the engine under a number of the bridge's own and comes back under what the socket called it (desklink v3,
"WebSocket bridge"). Sockets are named by numbers of the adapter; `now` is monotonic seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from ...errors import RemoteProtocolError
from ...generated.desklink import models
from ...generated.desklink.vocabulary import BRIDGE_REFUSED_METHOD, BRIDGE_REQUEST_TIMEOUT_MS, HOST_LOCAL_EVENT, PROTOCOL_VERSION
from ..wire.read import Reader
from ..wire.text import DESKLINK

ENVELOPE: Reader[models.BridgeEnvelope] = Reader("desklink", "BridgeEnvelope", DESKLINK)
TIMEOUT_SECONDS = BRIDGE_REQUEST_TIMEOUT_MS / 1000
MOST_UNDER_WAY = 256
"""Requests of one socket that may wait for the engine at once."""

HOST_LOCAL_PARAMS = ("restore_token", "local_frames")
"""What a controller cannot choose: the token is the host's own, and frames are not kept for somebody who may not read them."""


@dataclass(frozen=True)
class ToEngine:
    """Write this line to the engine."""

    line: bytes


@dataclass(frozen=True)
class ToSocket:
    """Send this text to one socket."""

    socket: int
    text: bytes


@dataclass(frozen=True)
class ToAll:
    """Send this text to every socket."""

    text: bytes


@dataclass(frozen=True)
class KillEngine:
    """The engine hangs: end it at once, by SIGKILL. What it held down, its guard lifts."""

    reason: str


Effect = ToEngine | ToSocket | ToAll | KillEngine


@dataclass(frozen=True)
class _Asked:
    """A request under way. `socket` None: the bridge's own. `id` is what the socket called it; UNSET or None wants no answer."""

    socket: int | None
    id: Any
    method: str
    deadline: float


class Bridge:
    """The traffic of one engine. `source` is what every `session.open` gets; `capabilities` is the engine's answer to the bridge's `hello`.

    `session_id` is the session that some socket opened, while it stands.
    """

    def __init__(self, source: dict[str, Any]) -> None:
        self.capabilities: dict[str, Any] | None = None
        self.session_id: str | None = None
        self._source = source
        self._sockets: set[int] = set()
        self._asked: dict[int, _Asked] = {}
        self._last = 0

    def greet(self, now: float) -> list[Effect]:
        """The engine has just started: open its gate; `capabilities` is set by its answer."""
        self.capabilities = None
        return [self._ask(None, None, "hello", {"protocol": PROTOCOL_VERSION}, now)]

    def joined(self, socket: int) -> None:
        """A socket has connected."""
        self._sockets.add(socket)

    def left(self, socket: int, now: float) -> list[Effect]:
        """A socket has gone. With the last one, the session is closed."""
        self._sockets.discard(socket)
        return [] if self._sockets else self._close(self.session_id, now)

    def text(self, socket: int, text: bytes, now: float) -> list[Effect]:
        """A socket said something. Anything that is no object is refused as `malformed`; an object without a method is ignored."""
        try:
            envelope = ENVELOPE.read(text)
        except RemoteProtocolError as error:
            return [ToSocket(socket, _json({"error": {"code": "malformed", "message": error.detail}}))]
        if not isinstance(method := envelope.method, str):
            return []
        params = None if envelope.params is msgspec.UNSET else envelope.params
        if (refusal := self._refusal(socket, method, params)) is not None:
            return self._reply(socket, envelope.id, {"error": {"code": refusal[0], "message": refusal[1]}})
        if method == "session.open" and (params is None or isinstance(params, dict)):
            chosen = {name: value for name, value in (params or {}).items() if name not in HOST_LOCAL_PARAMS}
            params = {**chosen, "source": self._source, "local_frames": False}
        return [self._ask(socket, envelope.id, method, params, now)]

    def said(self, line: bytes, now: float) -> list[Effect]:
        """The engine said something: an answer goes to the socket that asked, an event to all."""
        try:
            message: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            return []
        if "event" in message:
            return self._event(message, line)
        asked = self._asked.pop(message.get("id", 0), None)
        if asked is None:
            return []
        effects: list[Effect] = []
        result, error = message.get("result"), message.get("error")
        if asked.method == "session.open" and result is not None:
            if asked.socket in self._sockets:
                self.session_id = result["sessionId"]
            else:
                effects += self._close(result["sessionId"], now)  # whoever wanted it has gone, and nobody else asked for it
        if asked.socket is None:
            if asked.method == "hello":
                self.capabilities = result
            return effects
        if error is not None:
            return [*effects, *self._reply(asked.socket, asked.id, {"error": {"code": "engine", **error}})]
        return [*effects, *self._reply(asked.socket, asked.id, {"result": result})]

    def deadline(self) -> float | None:
        """When `tick` is due: the engine has then not answered for too long."""
        return min((asked.deadline for asked in self._asked.values()), default=None)

    def tick(self, now: float) -> list[Effect]:
        """Time has passed: an engine that leaves a request unanswered is ended."""
        late = [asked for asked in self._asked.values() if asked.deadline <= now]
        if not late:
            return []
        reason = f"the engine did not answer {late[0].method} within {TIMEOUT_SECONDS:.0f} s"
        return [*self.engine_ended(reason), KillEngine(reason)]

    def engine_ended(self, reason: str) -> list[Effect]:
        """The engine has gone, or is about to: nothing that was asked will be answered by it, and its session is over."""
        effects: list[Effect] = []
        for asked in self._asked.values():
            consent = asked.method == "session.open" and self._source["kind"] == "portal"
            error = {"code": "consent-timeout" if consent else "engine", "message": reason}
            effects += self._reply(asked.socket, asked.id, {"error": error})
        self._asked.clear()
        self.session_id = None
        self.capabilities = None
        return effects

    def _refusal(self, socket: int, method: str, params: Any) -> tuple[str, str] | None:
        if method in BRIDGE_REFUSED_METHOD:
            return "operation", f"{method} is for the host of the engine, not for a socket of the bridge"
        if method == "session.open" and isinstance(params, dict) and "source" in params:
            return "source", "the bridge chooses the source; leave it out"
        if sum(asked.socket == socket for asked in self._asked.values()) >= MOST_UNDER_WAY:
            return "operation", f"{MOST_UNDER_WAY} requests are under way already; wait for their answers"
        return None

    def _event(self, message: dict[str, Any], line: bytes) -> list[Effect]:
        name, params = message["event"], message["params"]
        ended = name == "session.state" and (params["capture"], params["transport"]) == ("ended", "closed")
        if ended and params["sessionId"] == self.session_id:
            self.session_id = None
        return [] if name in HOST_LOCAL_EVENT else [ToAll(line)]

    def _close(self, session_id: str | None, now: float) -> list[Effect]:
        return [] if session_id is None else [self._ask(None, None, "session.close", {"session_id": session_id}, now)]

    def _ask(self, socket: int | None, id: Any, method: str, params: Any, now: float) -> ToEngine:
        self._last += 1
        self._asked[self._last] = _Asked(socket, id, method, now + TIMEOUT_SECONDS)
        return ToEngine(_json({"id": self._last, "method": method, "params": params}))

    def _reply(self, socket: int | None, id: Any, outcome: dict[str, Any]) -> list[Effect]:
        if socket not in self._sockets or id is msgspec.UNSET or id is None:
            return []
        return [ToSocket(socket, _json({"id": id, **outcome}))]


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)
