"""The base of all charts, on a chart made to go wrong."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Literal

import pytest
from statemachine import State

from triptych.errors import IllegalEvent, LocalProtocolError
from triptych.machines.lifecycle import Deadline, Lifecycle, Plan, Row, event_data, finals, flat_table, plan, rows, states, stay


@dataclass(frozen=True)
class Memory:
    pushes: int = 0


class Door(Lifecycle[Memory]):
    """A door that counts."""

    initial_memory = Memory()
    refusal = "door-says-no"
    refusals = {"lock": "door-is-open"}  # noqa: RUF012  a ClassVar of the base

    open_ = State(value="wide-open", initial=True)
    shut = State()
    locked = State(final=True)

    push = open_.to(shut, on="swing") | stay(shut, cond="is_light", on="swing")
    lock = shut.to(locked, on="turn")
    knock = stay(open_, shut)

    def is_light(self, memory: Memory, force: float) -> bool:
        return force < 10

    def swing(self, memory: Memory, now: float, force: float, side: Literal["left", "right"] = "left") -> Plan[Memory]:
        return plan(replace(memory, pushes=memory.pushes + 1), Deadline("knock", now + force))

    def turn(self, memory: Memory, keys: tuple[int, ...], owner: str | None = None) -> Plan[Memory]:
        if not keys:
            raise RuntimeError("a planner of ours is wrong")
        return plan(memory)


def test_a_step_moves_remembers_and_answers_the_effects_in_order() -> None:
    door = Door()
    assert (door.state, door.memory, door.is_over) == ("wide-open", Memory(), False)
    assert door.step("push", 1.0, force=2) == (Deadline("knock", 3.0),)
    assert (door.state, door.memory) == ("shut", Memory(1))
    assert door.step("push", 2.0, force=2.5, side="right") == (Deadline("knock", 4.5),)
    assert door.step("knock", 3.0) == ()
    assert door.step("lock", 4.0, keys=(1, 2)) == ()
    assert (door.state, door.memory, door.is_over) == ("locked", Memory(2), True)


def test_illegal_by_state_by_guard_and_by_the_end() -> None:
    door = Door()
    with pytest.raises(IllegalEvent) as refused:
        door.step("lock", 1.0, keys=(1,))
    assert refused.value.code == "door-is-open"
    assert (refused.value.lifecycle, refused.value.state, refused.value.event) == ("Door", "wide-open", "lock")
    door = Door.restore("shut", Memory(4))
    with pytest.raises(IllegalEvent) as refused:
        door.step("push", 1.0, force=11.0)
    assert refused.value.code == "door-says-no"
    assert (door.state, door.memory) == ("shut", Memory(4))
    door.step("lock", 2.0, keys=(1,))
    with pytest.raises(IllegalEvent):
        door.step("knock", 3.0)


def test_an_illegal_event_is_illegal_whatever_it_carries() -> None:
    with pytest.raises(IllegalEvent):
        Door().step("lock", 1.0, nonsense=1)


def test_a_planner_that_raises_leaves_everything_and_the_chart_usable() -> None:
    door = Door.restore("shut", Memory(4))
    with pytest.raises(RuntimeError, match="a planner of ours is wrong"):
        door.step("lock", 1.0, keys=())
    assert (door.state, door.memory, door.is_over) == ("shut", Memory(4), False)
    assert door.step("push", 1.0, force=1.0) == (Deadline("knock", 2.0),)
    door.step("lock", 1.0, keys=(1,), owner="me")
    assert door.state == "locked"


@pytest.mark.parametrize(
    ("event", "data", "field"),
    [
        ("push", {}, "force"),
        ("push", {"force": "hard"}, "force"),
        ("push", {"force": True}, "force"),
        ("push", {"force": 1.0, "side": "up"}, "side"),
        ("push", {"force": 1.0, "side": None}, "side"),
        ("push", {"force": 1.0, "colour": 1}, "colour"),
        ("lock", {"keys": [1]}, "keys"),
        ("lock", {"keys": (1, "2")}, "keys"),
        ("lock", {"keys": (True,)}, "keys"),
        ("lock", {"keys": (1,), "owner": 7}, "owner"),
    ],
)
def test_data_is_held_to_its_declaration(event: str, data: dict[str, object], field: str) -> None:
    door = Door.restore("shut", Memory(4))
    with pytest.raises(LocalProtocolError) as refused:
        door.step(event, 1.0, **data)
    assert (refused.value.code, refused.value.path) == ("event-data", f"Door.{event}.{field}")
    assert not isinstance(refused.value, IllegalEvent)
    assert (door.state, door.memory) == ("shut", Memory(4))


def test_the_chart_can_be_read() -> None:
    assert rows(Door) == (
        Row("wide-open", "push", (), "shut", "swing"),
        Row("wide-open", "knock", (), "wide-open", None),
        Row("shut", "push", ("is_light",), "shut", "swing"),
        Row("shut", "lock", (), "locked", "turn"),
        Row("shut", "knock", (), "shut", None),
    )
    assert flat_table(Door)["wide-open", "push"] == ("shut",)
    assert states(Door) == ("wide-open", "shut", "locked")
    assert finals(Door) == {"locked"}
    assert {name: datum.required for name, datum in event_data(Door)["push"].items()} == {"force": True, "side": False}
    with pytest.raises(TypeError):
        flat_table(Door)["shut", "knock"] = ()  # type: ignore[index]  the point of the test


def test_two_functions_may_not_disagree_about_an_event() -> None:
    class Torn(Lifecycle[Memory]):
        initial_memory = Memory()
        here = State(initial=True)
        there = State(final=True)
        go = here.to(there, cond="may", on="leave")

        def may(self, distance: int) -> bool:
            return distance > 0

        def leave(self, memory: Memory, distance: float) -> Plan[Memory]:
            return plan(memory)

    with pytest.raises(TypeError, match="distance"):
        event_data(Torn)


def test_effects_and_plans_are_frozen() -> None:
    deadline = Deadline("x", 1.0)
    with pytest.raises(FrozenInstanceError):
        deadline.at = 2.0  # type: ignore[misc]  the point of the test
    planned = plan(Memory(), deadline)
    with pytest.raises(FrozenInstanceError):
        planned.memory = Memory(1)  # type: ignore[misc]  the point of the test
