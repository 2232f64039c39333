"""How every lifecycle is stepped: an event and a time go in, effects come out, and nothing else happens. Adapters and cores call `step`.

A lifecycle is a python-statemachine chart (states and transitions, declared once, in one file) plus one frozen `Memory` value.

    event, now, data ──▶ legal here? ──▶ data as declared? ──▶ guards ──▶ planner ──▶ Plan(memory, effects)
                            │ no              │ no               │ none
                            ▼                 ▼                  ▼
                       IllegalEvent    LocalProtocolError   IllegalEvent        in every case: state and memory exactly as before

Rules that keep a chart readable, and that the tests hold:

* Guards and planners are functions of what they declare: `memory`, `now`, the transition's `target`, and the event's own data. They set
  no attribute.
* A transition has at most one planner. It returns a `Plan`; only when the transition has succeeded does the plan's memory replace the old.
* An event carries the same data in every state. What it carries is read off the annotations of its guards and planners, so there is no
  second list to keep: see `event_data`.
* `Deadline.name` is the event to step when the time comes. A part after a colon is for whom: `hello_overdue:3`.
* A chart is not for hot paths (a step costs 100 to 200 µs). They ask `state`, or the flat table that is generated from the chart.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from statemachine import State, StateMachine
from statemachine.exceptions import TransitionNotAllowed
from statemachine.transition_list import TransitionList

from ..errors import IllegalEvent, LocalProtocolError

M = TypeVar("M")

_GIVEN = frozenset({"self", "memory", "now", "target"})  # what a guard or planner may ask for beside the event's data


class Effect:
    """One thing that the adapter must now do. Subclasses are frozen dataclasses, named as orders, in the file of their chart."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Deadline(Effect):
    """Step the event `name` at the monotonic time `at` (seconds). It replaces an earlier deadline of that name; `at` None cancels it."""

    name: str
    at: float | None


@dataclass(frozen=True, slots=True)
class Plan(Generic[M]):
    """What a transition decided: the memory after it, and what the adapter must now do, in this order."""

    memory: M
    effects: tuple[Effect, ...] = ()


def plan(memory: M, *effects: Effect) -> Plan[M]:
    """The `Plan` with this memory and these effects."""
    return Plan(memory, effects)


def stay(*states: State, cond: str | list[str] | None = None, unless: str | None = None, on: str | None = None) -> TransitionList:
    """For the declaration of an event: each of these states stays as it is (with a planner, only the memory and the effects are new)."""
    return TransitionList(transition for state in states for transition in state.to(state, cond=cond, unless=unless, on=on))


@dataclass(frozen=True, slots=True)
class Row:
    """One transition as declared: in `state`, `event` leads to `target` when every guard holds; the first row that fits is taken."""

    state: str
    event: str
    guards: tuple[str, ...]
    target: str
    planner: str | None


@dataclass(frozen=True, slots=True)
class Datum:
    """One piece of data that an event carries: the type it must have, and whether it may be left out."""

    type: Any
    required: bool


class Lifecycle(StateMachine, Generic[M]):
    """Base of all charts. `step` is the only way to change one."""

    initial_memory: ClassVar[Any]
    refusals: ClassVar[Mapping[str, str]] = MappingProxyType({})  #: event → the protocol's stable code when it is illegal
    refusal: ClassVar[str] = "illegal-event"  #: the code for every other event

    memory: M

    def __init__(self, memory: M | None = None, *, start_value: str | None = None) -> None:
        super().__init__(start_value=start_value)
        self.memory = self.initial_memory if memory is None else memory

    @classmethod
    def restore(cls, state: str, memory: M | None = None) -> Self:
        """The lifecycle as it is in `state` with `memory` (default: the initial one), without having come there."""
        return cls(memory, start_value=state)

    @property
    def state(self) -> str:
        """The state it is in, in the protocol's own word where the protocol has one (`permission-required`, `passed-with-skips`)."""
        return str(self.current_state_value)

    @property
    def is_over(self) -> bool:
        """Whether it is in a final state, where every event is illegal."""
        return self.state in finals(type(self))

    def step(self, event: str, now: float, **data: Any) -> tuple[Effect, ...]:
        """Take `event` at monotonic time `now` (seconds) with its data. Returns the effects, to be carried out in order.

        Raises IllegalEvent (with the chart's stable code) when this state, or no guard, allows the event, and LocalProtocolError with
        code `event-data` when the data is not what the event carries. After either, nothing has changed.
        """
        chart = type(self)
        if (self.state, event) not in flat_table(chart):
            raise self._illegal(event)
        _check(chart, event, data)
        try:
            decided: Plan[M] | None = self.send(event, now=now, memory=self.memory, **data)
        except TransitionNotAllowed:
            raise self._illegal(event) from None
        if decided is None:
            return ()
        self.memory = decided.memory
        return decided.effects

    def _illegal(self, event: str) -> IllegalEvent:
        return IllegalEvent(type(self).__name__, self.state, event, self.refusals.get(event, self.refusal))


@cache
def rows(chart: type[Lifecycle[Any]]) -> tuple[Row, ...]:
    """Every transition of `chart` in declared order: what the flat table, the diagrams and the tables in the docs are made from."""
    return tuple(
        Row(
            state=str(state.value),
            event=str(event.id),
            guards=tuple(str(guard) for guard in transition.cond),
            target=str(transition.target.value),
            planner=next((str(spec) for spec in transition.on if not spec.is_convention), None),
        )
        for state in chart.states
        for transition in state.transitions
        for event in transition.events
    )


@cache
def flat_table(chart: type[Lifecycle[Any]]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """(state, event) → the states it may lead to, in declared order. A pair that is missing is illegal."""
    table: dict[tuple[str, str], tuple[str, ...]] = {}
    for row in rows(chart):
        targets = table.get((row.state, row.event), ())
        table[row.state, row.event] = targets if row.target in targets else (*targets, row.target)
    return MappingProxyType(table)


@cache
def states(chart: type[Lifecycle[Any]]) -> tuple[str, ...]:
    """The states of `chart` in declared order; the first is the initial one."""
    return tuple(str(state.value) for state in chart.states)


@cache
def finals(chart: type[Lifecycle[Any]]) -> frozenset[str]:
    """The final states of `chart`."""
    return frozenset(str(state.value) for state in chart.states if state.final)


@cache
def event_data(chart: type[Lifecycle[Any]]) -> Mapping[str, Mapping[str, Datum]]:
    """Event → name → what it carries, read off the guards and planners of all its transitions.

    Raises TypeError when two of them disagree about a type: then the event would not mean the same in every state.
    """
    carried: dict[str, dict[str, Datum]] = {}
    for row in rows(chart):
        data = carried.setdefault(row.event, {})
        for function in _functions(chart, row):
            for name, datum in _declared(function):
                known = data.setdefault(name, datum)
                if known.type != datum.type:
                    raise TypeError(f"{chart.__name__}.{row.event} declares {name!r} as {known.type} and as {datum.type}")
                data[name] = Datum(datum.type, known.required or datum.required)
    return MappingProxyType(carried)


def _functions(chart: type[Lifecycle[Any]], row: Row) -> Iterator[Callable[..., Any]]:
    for name in (*row.guards, row.planner):
        if name is not None:
            yield getattr(chart, name.removeprefix("!"))


def _declared(function: Callable[..., Any]) -> Iterator[tuple[str, Datum]]:
    hints = get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in _GIVEN:
            yield name, Datum(hints[name], parameter.default is parameter.empty)


def _check(chart: type[Lifecycle[Any]], event: str, data: Mapping[str, object]) -> None:
    carried = event_data(chart)[event]
    for name in data.keys() - carried.keys():
        raise _bad_data(chart, event, name, "the event carries no such data")
    for name, datum in carried.items():
        if name not in data:
            if datum.required:
                raise _bad_data(chart, event, name, "missing")
        elif not _fits(data[name], datum.type):
            raise _bad_data(chart, event, name, f"{data[name]!r} is not {datum.type}")


def _bad_data(chart: type[Lifecycle[Any]], event: str, name: str, detail: str) -> LocalProtocolError:
    return LocalProtocolError("event-data", detail, f"{chart.__name__}.{event}.{name}")


def _fits(value: object, declared: Any) -> bool:
    """Whether `value` is of the `declared` type; a bool is no number, and an int is a float."""
    origin, args = get_origin(declared), get_args(declared)
    if origin in (Union, UnionType):
        return any(_fits(value, arg) for arg in args)
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is tuple:  # tuple[X, ...] is the only kind that charts use
        return isinstance(value, tuple) and all(_fits(member, args[0]) for member in value)
    if isinstance(value, bool):
        return bool(declared is bool)
    return isinstance(value, int | float if declared is float else declared)
