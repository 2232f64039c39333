"""Which adapter a terminal session gets: the rules of the handshake, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.errors import IllegalEvent
from triptych.machines.lifecycle import Deadline, Effect
from triptych.machines.termwright.negotiation import (
    CloseEndpoint,
    CloseSocket,
    Diagnostic,
    Memory,
    Negotiation,
    SendAck,
    SendError,
)

GOOD = {"token_matches": True, "capabilities": ("tree", "render-revisions")}
ATTACHED = Memory(adapter=1, capabilities=("tree",), window_open=False)
TOO_LATE = "the session no longer takes adapters"


def told(effects: tuple[Effect, ...]) -> list[tuple[int, str]]:
    """Who was sent an error frame, and its code."""
    return [(effect.socket, effect.code) for effect in effects if isinstance(effect, SendError)]


def lived(*steps: tuple[str, dict[str, Any]]) -> Negotiation:
    life = Negotiation()
    for event, data in steps:
        life.step(event, 1.0, **data)
    return life


def test_the_straight_way() -> None:
    life = Negotiation()
    assert life.step("spawned", 10.0) == (Deadline("window_expired", 12.0),)
    assert life.step("connected", 10.4, socket=1) == (Deadline("hello_overdue:1", 20.4),)
    assert life.state == "hello"
    assert life.step("hello_received", 10.5, socket=1, **GOOD) == (
        Deadline("hello_overdue:1", None),
        Deadline("window_expired", None),
        SendAck(1, marker=True, logs=False),
        Diagnostic("adapter-attached", "tree render-revisions"),
    )
    assert life.state == "attached"
    assert life.memory.capabilities == ("tree", "render-revisions")
    assert life.step("disconnected", 60.0, socket=1) == (Diagnostic("adapter-disconnected", "the adapter closed its socket"),)
    assert life.state == "detached"
    assert life.memory.capabilities == ("tree", "render-revisions")
    assert life.step("close", 61.0) == (Deadline("window_expired", None), CloseEndpoint())
    assert life.state == "closed"


@pytest.mark.parametrize(
    ("capabilities", "marker", "logs"),
    [((), False, False), (("logs",), False, True), (("render-revisions", "logs"), True, True)],
)
def test_the_acknowledgement_grants_only_what_was_announced(capabilities: tuple[str, ...], marker: bool, logs: bool) -> None:
    life = lived(("connected", {"socket": 4}))
    effects = life.step("hello_received", 2.0, socket=4, token_matches=True, capabilities=capabilities)
    assert SendAck(4, marker, logs) in effects


def test_required_capabilities_widen_the_window() -> None:
    assert Negotiation().step("spawned", 1.0, window=10.0) == (Deadline("window_expired", 11.0),)


def test_nobody_comes() -> None:
    life = lived(("spawned", {}))
    assert life.step("window_expired", 3.0) == (Diagnostic("negotiation-timeout", "no adapter connected"),)
    assert life.state == "refused"
    effects = life.step("connected", 4.0, socket=1)
    assert effects == (SendError(1, "internal", TOO_LATE), CloseSocket(1, 1.0))
    assert life.state == "refused"
    with pytest.raises(IllegalEvent):
        life.step("hello_received", 4.1, socket=1, **GOOD)


def test_who_waits_when_the_window_ends_may_still_say_hello() -> None:
    life = lived(("spawned", {}), ("connected", {"socket": 1}))
    assert life.step("window_expired", 3.0) == ()
    assert told(life.step("connected", 3.1, socket=2)) == [(2, "internal")]
    life.step("hello_received", 9.0, socket=1, **GOOD)
    assert life.state == "attached"


@pytest.mark.parametrize(
    ("event", "data", "code"),
    [
        ("hello_received", {"token_matches": False, "capabilities": ("tree",)}, "bad-token"),
        ("violated", {"code": "bad-version", "detail": "termwright/2"}, "bad-version"),
        ("violated", {"code": "malformed", "detail": "no hello"}, "malformed"),
        ("violated", {"code": "limit-exceeded", "detail": "frame-oversized"}, "limit-exceeded"),
        ("hello_overdue", {}, "internal"),
        ("adapter_failed", {"code": "internal", "message": "inline mode"}, "malformed"),
    ],
)
def test_a_refused_hello_settles_nothing(event: str, data: dict[str, Any], code: str) -> None:
    life = lived(("connected", {"socket": 1}))
    effects = life.step(event, 2.0, socket=1, **data)
    assert [type(effect) for effect in effects] == [Deadline, SendError, CloseSocket, Diagnostic]
    assert effects[0] == Deadline("hello_overdue:1", None)
    assert isinstance(effects[3], Diagnostic)
    assert effects[3].code == "adapter-refused"
    assert effects[3].detail.startswith(f"{code}: ")
    assert told(effects) == [(1, code)]
    assert effects[2] == CloseSocket(1, 1.0)
    assert (life.state, life.memory.waiting) == ("listening", ())
    life.step("connected", 2.1, socket=2)
    life.step("hello_received", 2.2, socket=2, **GOOD)
    assert life.state == "attached"

    late = lived(("connected", {"socket": 1}), ("window_expired", {}))
    effects = late.step(event, 2.0, socket=1, **data)
    assert late.state == "refused"
    assert isinstance(effects[-1], Diagnostic)
    assert effects[-1].code == "negotiation-timeout"
    assert code in effects[-1].detail

    crowded = lived(("connected", {"socket": 1}), ("connected", {"socket": 2}), ("window_expired", {}))
    crowded.step(event, 2.0, socket=1, **data)
    assert (crowded.state, crowded.memory.waiting) == ("hello", (2,))


def test_a_socket_that_leaves_before_its_hello_is_forgotten() -> None:
    life = lived(("connected", {"socket": 1}))
    assert life.step("disconnected", 2.0, socket=1) == (Deadline("hello_overdue:1", None),)
    assert life.state == "listening"


def test_each_socket_has_its_own_deadline_and_a_fifth_is_dropped_without_a_word() -> None:
    life = Negotiation()
    for socket in (1, 2, 3, 4):
        assert life.step("connected", float(socket), socket=socket) == (Deadline(f"hello_overdue:{socket}", socket + 10.0),)
    assert life.step("connected", 5.0, socket=5) == (CloseSocket(5, 0.0),)
    assert life.memory.waiting == (1, 2, 3, 4)
    assert told(life.step("hello_overdue", 13.0, socket=3)) == [(3, "internal")]
    assert life.memory.waiting == (1, 2, 4)
    assert life.step("connected", 14.0, socket=6) == (Deadline("hello_overdue:6", 24.0),)


def test_one_adapter_everybody_else_is_turned_away() -> None:
    life = lived(("connected", {"socket": 1}), ("connected", {"socket": 2}), ("connected", {"socket": 3}))
    effects = life.step("hello_received", 2.0, socket=2, **GOOD)
    assert told(effects) == [(1, "internal"), (3, "internal")]
    assert [effect for effect in effects if isinstance(effect, CloseSocket)] == [CloseSocket(1, 1.0), CloseSocket(3, 1.0)]
    assert {effect.name for effect in effects if isinstance(effect, Deadline) and effect.at is None} == {
        "hello_overdue:1",
        "hello_overdue:2",
        "hello_overdue:3",
        "window_expired",
    }
    assert life.memory.waiting == ()
    assert told(life.step("connected", 3.0, socket=4)) == [(4, "internal")]
    assert (life.state, life.memory.adapter) == ("attached", 2)


@pytest.mark.parametrize(
    ("event", "data", "effects"),
    [
        (
            "violated",
            {"code": "malformed", "detail": "state needs states"},
            (
                Diagnostic("protocol-violation", "malformed: state needs states"),
                SendError(1, "malformed", "state needs states"),
                CloseSocket(1, 1.0),
            ),
        ),
        (
            "hello_received",
            GOOD,
            (
                Diagnostic("protocol-violation", "malformed: a second hello"),
                SendError(1, "malformed", "a second hello"),
                CloseSocket(1, 1.0),
            ),
        ),
        (
            "adapter_failed",
            {"code": "adapter-guarantee-violation", "message": "lost"},
            (
                Diagnostic("adapter-guarantee-violation", "lost"),
                Diagnostic("adapter-disconnected", "after its error adapter-guarantee-violation"),
                CloseSocket(1, 0.0),
            ),
        ),
    ],
)
def test_how_an_attached_adapter_ends(event: str, data: dict[str, Any], effects: tuple[Effect, ...]) -> None:
    life = Negotiation.restore("attached", ATTACHED)
    assert life.step(event, 5.0, socket=1, **data) == effects
    assert (life.state, life.memory.adapter, life.memory.capabilities) == ("detached", None, ("tree",))
    assert told(life.step("connected", 6.0, socket=2)) == [(2, "internal")]
    assert life.state == "detached"


@pytest.mark.parametrize("event", ["violated", "disconnected", "adapter_failed", "hello_received", "hello_overdue"])
def test_a_socket_that_is_not_known_is_illegal(event: str) -> None:
    data: dict[str, Any] = {
        "violated": {"code": "malformed", "detail": ""},
        "adapter_failed": {"code": "internal", "message": ""},
        "hello_received": GOOD,
    }.get(event, {})
    for life in (Negotiation.restore("attached", ATTACHED), lived(("connected", {"socket": 1}))):
        before = (life.state, life.memory)
        with pytest.raises(IllegalEvent):
            life.step(event, 5.0, socket=9, **data)
        assert (life.state, life.memory) == before


def test_closing_ends_every_socket_and_the_endpoint() -> None:
    life = lived(("spawned", {}), ("connected", {"socket": 1}), ("connected", {"socket": 2}))
    assert life.step("close", 2.0) == (
        Deadline("window_expired", None),
        Deadline("hello_overdue:1", None),
        Deadline("hello_overdue:2", None),
        CloseSocket(1, 1.0),
        CloseSocket(2, 1.0),
        CloseEndpoint(),
    )
    attached = Negotiation.restore("attached", ATTACHED)
    assert attached.step("close", 2.0) == (Deadline("window_expired", None), CloseSocket(1, 1.0), CloseEndpoint())
