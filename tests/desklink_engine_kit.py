"""Drives the engine core without a host: a consumer that keeps what it says, and answers for the world. Every line it says is checked."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from triptych.generated.desklink.vocabulary import ERROR_CODE
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.capabilities import Facts
from triptych.machines.desklink.engine import Engine
from triptych.machines.desklink.geometry import Size
from triptych.machines.wire.read import Reader
from triptych.machines.wire.text import DESKLINK

EVENTS: Reader[Any] = Reader("desklink", "Event", DESKLINK)
SCREEN = Size(1280, 720)
FACTS = Facts("triptych/9", "none", None, "DISPLAY is not set", False, None, (), ())
X11 = {"source": {"kind": "x11", "display": ":170"}, "permissions": ["view", "control"]}
COPYING = {**X11, "permissions": ["view", "control", "clipboard"]}
FED = {"source": {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}, "permissions": ["view", "control"]}


class Consumer:
    """Drives an engine without a host: sends lines, keeps what the engine says and asks for, and answers for the world."""

    def __init__(self, greet: bool = True) -> None:
        self.ids = iter(f"{number:032x}" for number in range(1, 100))
        self.engine = Engine(lambda: next(self.ids))
        self.now = 1000.0
        self.said: list[dict[str, Any]] = []
        self.effects: list[do.Effect] = []
        self.asked = 0
        if greet:
            self.send("hello", {"protocol": 3})
            self.take(self.engine.probed(self.the(do.Probe).token, FACTS))
            self.effects.clear()
            self.said.clear()

    def take(self, effects: list[do.Effect]) -> list[do.Effect]:
        for effect in effects:
            if isinstance(effect, do.Emit):
                message = json.loads(msgspec.json.encode(effect.message))
                if "event" in message:
                    EVENTS.read(json.dumps(message).encode())
                elif "error" in message:
                    assert message["error"]["code"] in ERROR_CODE
                self.said.append(message)
            else:
                self.effects.append(effect)
        return effects

    def line(self, line: bytes) -> None:
        self.take(self.engine.line(line, self.now))

    def send(self, method: str, params: Any = None) -> int:
        self.asked += 1
        self.line(json.dumps({"id": self.asked, "method": method, "params": params}).encode())
        return self.asked

    def answer(self, request: int) -> dict[str, Any]:
        [found] = [message for message in self.said if message.get("id") == request]
        return found

    def result(self, request: int) -> Any:
        return self.answer(request)["result"]

    def code(self, request: int) -> str:
        return str(self.answer(request)["error"]["code"])

    def answered(self, request: int) -> bool:
        return any(message.get("id") == request for message in self.said)

    def events(self, name: str) -> list[dict[str, Any]]:
        return [message["params"] for message in self.said if message.get("event") == name]

    def the(self, kind: type) -> Any:
        [found] = [effect for effect in self.effects if isinstance(effect, kind)]
        return found

    def count(self, kind: type) -> int:
        return sum(isinstance(effect, kind) for effect in self.effects)

    def open(self, params: dict[str, Any] | None = None, size: Size = SCREEN) -> str:
        params = params or X11
        request = self.send("session.open", params)
        if params["source"]["kind"] == "x11":
            opening = [effect for effect in self.effects if isinstance(effect, do.OpenSource)][-1]
            self.take(self.engine.opened(opening.session_id, size, None, self.now))
        return str(self.result(request)["sessionId"])

    def connect(self, session: str) -> str:
        """Let the peer connection of a session take an answer and find a path."""
        answer = {"session_id": session, "description": {"type": "answer", "sdp": "v=0"}}
        request = self.send("session.description", answer)
        self.take(self.engine.signalled([effect for effect in self.effects if isinstance(effect, do.Signal)][-1].token, None, self.now))
        assert self.result(request) == {"accepted": True}
        self.take(self.engine.path_up(session, self.now))
        return session

    def capture(self, session: str, *damage: tuple[int, int, int, int], size: Size = SCREEN) -> None:
        self.take(self.engine.captured(session, damage or (size.box,), size, 100, self.now))

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.take(self.engine.tick(self.now))

    def states(self) -> list[tuple[str, str, bool]]:
        return [(state["capture"], state["transport"], state["firstFrame"]) for state in self.events("session.state")]
