"""What the bridge lets pass, as its core decides it: no socket, no engine, and time as an argument."""

from __future__ import annotations

import json
from typing import Any

import pytest

from triptych.machines.desklink.bridge import MOST_UNDER_WAY, TIMEOUT_SECONDS, Bridge, Effect, KillEngine, ToAll, ToEngine, ToSocket

SOURCE = {"kind": "x11", "display": ":99"}
A, B = 1, 2


@pytest.fixture
def bridge() -> Bridge:
    """A bridge with two sockets."""
    made = Bridge(dict(SOURCE))
    made.joined(A)
    made.joined(B)
    return made


def say(bridge: Bridge, message: Any, socket: int = A, now: float = 0.0) -> list[Effect]:
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return bridge.text(socket, text, now)


def asked(effects: list[Effect]) -> dict[str, Any]:
    (effect,) = effects
    assert isinstance(effect, ToEngine)
    message: dict[str, Any] = json.loads(effect.line)
    return message


def told(effects: list[Effect]) -> list[tuple[int, dict[str, Any]]]:
    return [(effect.socket, json.loads(effect.text)) for effect in effects if isinstance(effect, ToSocket)]


def engine(bridge: Bridge, message: dict[str, Any], now: float = 0.0) -> list[Effect]:
    return bridge.said(json.dumps(message).encode(), now)


def opened(bridge: Bridge, session: str = "s1", socket: int = A) -> None:
    request = asked(say(bridge, {"id": 1, "method": "session.open", "params": {"permissions": ["view"]}}, socket))
    engine(bridge, {"id": request["id"], "result": {"sessionId": session}})


def test_a_request_passes_and_its_answer_comes_back_under_its_own_id(bridge: Bridge) -> None:
    for id in (7, "seven", [7], {"n": 7}, 1.5, True):
        request = asked(say(bridge, {"id": id, "method": "session.metrics", "params": {"a": [1, None]}}))
        assert (request["method"], request["params"]) == ("session.metrics", {"a": [1, None]})
        assert told(engine(bridge, {"id": request["id"], "result": {"x": 1}})) == [(A, {"id": id, "result": {"x": 1}})]


def test_two_sockets_may_use_the_same_id(bridge: Bridge) -> None:
    first, second = (asked(say(bridge, {"id": 1, "method": "capabilities"}, socket)) for socket in (A, B))
    assert first["id"] != second["id"]
    assert told(engine(bridge, {"id": second["id"], "result": {}})) == [(B, {"id": 1, "result": {}})]
    assert told(engine(bridge, {"id": first["id"], "result": {}})) == [(A, {"id": 1, "result": {}})]


@pytest.mark.parametrize("id", [{}, {"id": None}])
def test_without_an_id_nothing_is_answered(bridge: Bridge, id: dict[str, None]) -> None:
    request = asked(say(bridge, {**id, "method": "session.metrics"}))
    assert engine(bridge, {"id": request["id"], "result": {}}) == []


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"1", b'"x"', b"null", b"\xff", b'{"a":1}{', b"[" * 100_000])
def test_what_is_no_object_is_malformed_and_has_no_id(bridge: Bridge, text: bytes) -> None:
    ((socket, message),) = told(say(bridge, text))
    assert (socket, message["error"]["code"], "id" in message) == (A, "malformed", False)
    assert asked(say(bridge, {"id": 1, "method": "hello"}))["method"] == "hello"


@pytest.mark.parametrize("message", [{}, {"id": 1}, {"id": 1, "method": 4}, {"id": 1, "method": None}, {"method": ["hello"]}])
def test_an_object_without_a_method_is_ignored(bridge: Bridge, message: dict[str, Any]) -> None:
    assert say(bridge, message) == []
    assert bridge.deadline() is None


@pytest.mark.parametrize("method", ["shutdown", "session.frame"])
def test_what_is_the_hosts_is_refused(bridge: Bridge, method: str) -> None:
    ((socket, message),) = told(say(bridge, {"id": 3, "method": method, "params": {}}))
    assert (socket, message["id"], message["error"]["code"]) == (A, 3, "operation")
    assert say(bridge, {"method": method}) == []


@pytest.mark.parametrize("source", [None, {"kind": "x11", "display": ":0"}, 4])
def test_a_socket_chooses_no_source(bridge: Bridge, source: Any) -> None:
    ((_, message),) = told(say(bridge, {"id": 1, "method": "session.open", "params": {"permissions": ["view"], "source": source}}))
    assert message["error"]["code"] == "source"


@pytest.mark.parametrize(
    "params", [{"params": {"permissions": ["view"], "restore_token": "t", "local_frames": True}}, {"params": None}, {}]
)
def test_an_open_gets_the_bridges_source_and_keeps_no_frames(bridge: Bridge, params: dict[str, Any]) -> None:
    sent = asked(say(bridge, {"id": 1, "method": "session.open", **params}))["params"]
    given = {"permissions": ["view"]} if params.get("params") else {}
    assert sent == {**given, "source": SOURCE, "local_frames": False}


def test_params_that_are_no_object_reach_the_engine_as_they_are(bridge: Bridge) -> None:
    assert asked(say(bridge, {"id": 1, "method": "session.open", "params": [1]}))["params"] == [1]


def test_an_error_keeps_its_code_and_has_one(bridge: Bridge) -> None:
    for error, code in (({"code": "permission", "message": "m"}, "permission"), ({"message": "m"}, "engine")):
        request = asked(say(bridge, {"id": 1, "method": "session.open"}))
        ((_, message),) = told(engine(bridge, {"id": request["id"], "error": error}))
        assert message == {"id": 1, "error": {"code": code, "message": "m"}}


def test_events_go_to_all_but_those_that_are_the_hosts(bridge: Bridge) -> None:
    event = {"event": "session.description", "params": {"sessionId": "s1"}}
    (effect,) = engine(bridge, event)
    assert isinstance(effect, ToAll)
    assert json.loads(effect.text) == event
    for name in ("session.restoreToken", "session.frame.changed"):
        assert engine(bridge, {"event": name, "params": {"sessionId": "s1", "token": "secret"}}) == []


def test_the_session_is_closed_with_the_last_socket_only(bridge: Bridge) -> None:
    opened(bridge)
    assert bridge.left(A, 1.0) == []
    closing = asked(bridge.left(B, 2.0))
    assert (closing["method"], closing["params"]) == ("session.close", {"session_id": "s1"})
    assert engine(bridge, {"id": closing["id"], "result": {"closed": True}}) == []


def test_a_session_that_has_ended_is_not_closed_again(bridge: Bridge) -> None:
    opened(bridge)
    state = {"sessionId": "s1", "capture": "ended", "transport": "connected"}
    engine(bridge, {"event": "session.state", "params": state})
    assert bridge.session_id == "s1", "the capture alone has ended"
    engine(bridge, {"event": "session.state", "params": {**state, "transport": "closed"}})
    assert bridge.session_id is None
    bridge.left(A, 1.0)
    assert bridge.left(B, 1.0) == []


def test_a_session_that_nobody_waits_for_is_closed_at_once(bridge: Bridge) -> None:
    request = asked(say(bridge, {"id": 1, "method": "session.open"}))
    bridge.left(A, 1.0)
    closing = asked(engine(bridge, {"id": request["id"], "result": {"sessionId": "s9"}}))
    assert (closing["method"], closing["params"]) == ("session.close", {"session_id": "s9"})
    assert bridge.session_id is None


def test_an_engine_that_does_not_answer_is_killed_and_everybody_is_told(bridge: Bridge) -> None:
    opened(bridge)
    say(bridge, {"id": 1, "method": "session.metrics"}, A, 10.0)
    say(bridge, {"id": 2, "method": "session.metrics"}, B, 12.0)
    assert bridge.deadline() == 10.0 + TIMEOUT_SECONDS
    assert bridge.tick(10.0 + TIMEOUT_SECONDS - 0.01) == []
    effects = bridge.tick(10.0 + TIMEOUT_SECONDS)
    assert [(socket, message["id"], message["error"]["code"]) for socket, message in told(effects)] == [(A, 1, "engine"), (B, 2, "engine")]
    assert isinstance(effects[-1], KillEngine)
    assert (bridge.deadline(), bridge.session_id) == (None, None)


def test_a_consent_that_nobody_gives_has_a_code_of_its_own() -> None:
    bridge = Bridge({"kind": "portal"})
    bridge.joined(A)
    say(bridge, {"id": 1, "method": "session.open"})
    ((_, message),) = told(bridge.tick(TIMEOUT_SECONDS))
    assert message["error"]["code"] == "consent-timeout"


def test_an_answer_that_nobody_asked_for_is_nobodys(bridge: Bridge) -> None:
    for line in (b'{"id":99,"result":{}}', b'{"error":{"code":"malformed","message":""}}', b"noise", b"[1]"):
        assert bridge.said(line, 0.0) == []


def test_one_socket_cannot_pile_up_requests(bridge: Bridge) -> None:
    for _ in range(MOST_UNDER_WAY):
        asked(say(bridge, {"id": 1, "method": "session.metrics"}))
    ((_, message),) = told(say(bridge, {"id": 2, "method": "session.metrics"}))
    assert message["error"]["code"] == "operation"
    assert asked(say(bridge, {"id": 1, "method": "session.metrics"}, B))


def test_the_greeting_is_the_bridges_own(bridge: Bridge) -> None:
    request = asked(bridge.greet(0.0))
    assert (request["method"], request["params"]) == ("hello", {"protocol": 3})
    assert engine(bridge, {"id": request["id"], "result": {"engine": "e"}}) == []
    assert bridge.capabilities == {"engine": "e"}
