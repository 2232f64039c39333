"""What holds for every chart: the exhaustive walk, the flat tables, no trap, no dead row, and that nothing changes but through a plan."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import itertools
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from triptych.engine.machines_command import CHARTS, load
from triptych.errors import IllegalEvent, LocalProtocolError
from triptych.machines.collector import manager
from triptych.machines.lifecycle import Deadline, Effect, Lifecycle, Plan, event_data, finals, flat_table, rows, states
from triptych.tools import gen_transitions

Chart = type[Lifecycle[Any]]
Node = tuple[str, Any]

EACH = pytest.mark.parametrize("name", list(CHARTS))
SAMPLES: dict[Any, list[object]] = {int: [1, 2], str: ["", "word"], bool: [False, True], float: [0.0, 3.0, 40.0, 5000.0]}
WRONG: dict[Any, list[object]] = {int: ["1", 1.0, True, None], str: [1, None, b"x"], bool: [0, "true", None], float: ["1", True, None]}
BEGINNINGS = {"manager": [manager.Memory(restart=False), manager.Memory()]}
# what the library itself gives to callbacks, or takes for itself: data of that name would never arrive
TAKEN = {
    "self",
    "event",
    "source",
    "state",
    "model",
    "machine",
    "transition",
    "event_data",
    "delay",
    "send_id",
    "internal",
    "now",
    "memory",
}


def samples(declared: Any) -> list[object]:
    """Values of this type; for a closed vocabulary all of it."""
    if get_origin(declared) is Literal:
        return list(get_args(declared))
    if get_origin(declared) is tuple:
        return [(), tuple(samples(get_args(declared)[0]))]
    return SAMPLES[declared]


def all_data(chart: Chart, event: str) -> Iterator[dict[str, object]]:
    """The event's data in every combination of samples."""
    fields = event_data(chart)[event]
    choices = [samples(datum.type) for datum in fields.values()]
    return (dict(zip(fields, values, strict=True)) for values in itertools.product(*choices))


def some_data(chart: Chart, event: str, chance: random.Random) -> dict[str, object]:
    return {
        name: chance.choice([1, 2, 3, 4, 5] if name == "socket" else samples(datum.type))
        for name, datum in event_data(chart)[event].items()
        if datum.required or chance.random() < 0.5
    }


class Rewound:
    """One chart put into any state without the cost of making it anew (about a hundred times that of a step)."""

    def __init__(self, chart: Chart) -> None:
        self.life = chart()

    def to(self, state: str, memory: object) -> Lifecycle[Any]:
        self.life._engine.running = True  # the library stops it in a final state
        self.life.current_state_value = state
        self.life.memory = memory
        return self.life


@cache
def explored(name: str) -> tuple[frozenset[tuple[str, str, str]], dict[str, list[Any]]]:
    """What random steps came across: (state, event, target), and for each state some memories that it really has.

    Each step starts with a time and a memory that an earlier step left in its state; half of them go for what has not been taken yet.
    """
    chart, chance, rewound = load(name), random.Random(20), Rewound(load(name))
    table = flat_table(chart)
    untaken = {(state, event, target) for (state, event), targets in table.items() for target in targets}
    taken: set[tuple[str, str, str]] = set()
    found: dict[str, list[Any]] = {state: [] for state in states(chart)}
    for beginning in BEGINNINGS.get(name, [chart.initial_memory]):
        pool: dict[str, list[tuple[float, Any]]] = {state: [] for state in states(chart)}
        pool[states(chart)[0]] = [(0.0, beginning)]
        for count in range(5000):
            if count > 500 and not untaken:
                break
            wanted = sorted({(state, event) for state, event, _ in untaken if pool[state]}) if chance.random() < 0.5 else []
            before, event = chance.choice(wanted or [pair for pair in table if pool[pair[0]]])
            now, memory = chance.choice(pool[before])
            now += chance.choice([0.01, 0.5, 6.0, 31.0])
            life = rewound.to(before, memory)
            try:
                life.step(event, now, **some_data(chart, event, chance))
            except IllegalEvent:
                continue
            taken.add((before, event, life.state))
            untaken.discard((before, event, life.state))
            there = pool[life.state]
            if all(life.memory != known for _, known in there):
                if len(there) < 40:
                    there.append((now, life.memory))
                else:  # the first half stays: young lives; the second half grows old
                    there[chance.randrange(20, 40)] = (now, life.memory)
        for state, there in pool.items():
            found[state] += [memory for _, memory in there]
    return frozenset(taken), found


def nodes(name: str) -> Iterator[Node]:
    """Every state, with the initial memory and with memories that it really has."""
    chart = load(name)
    for state in states(chart):
        found = explored(name)[1][state]
        for memory in (chart.initial_memory, *found[:: max(1, len(found) // 4)][:4]):
            yield state, memory


@EACH
def test_every_event_in_every_state_is_declared_or_illegal(name: str) -> None:
    chart = load(name)
    rewound = Rewound(chart)
    effects_seen: set[type[Effect]] = set()
    for state, memory in nodes(name):
        untouched = copy.deepcopy(memory)
        for event, data in ((each, data) for each in event_data(chart) for data in all_data(chart, each)):
            life = rewound.to(state, memory)
            attributes = set(vars(life))
            try:
                effects = life.step(event, 100.0, **data)
            except IllegalEvent as refused:
                assert life.state == state
                assert life.memory is memory
                assert (refused.lifecycle, refused.state, refused.event) == (chart.__name__, state, event)
                assert refused.code == chart.refusals.get(event, chart.refusal)
            else:
                assert life.state in flat_table(chart)[state, event]
                assert type(life.memory) is type(memory)
                effects_seen |= {type(effect) for effect in effects}
                for deadline in (effect for effect in effects if isinstance(effect, Deadline)):
                    assert deadline.name.partition(":")[0] in event_data(chart), f"{deadline.name} is no event"
            assert memory == untouched
            assert set(vars(life)) == attributes
    declared = {
        member
        for member in vars(sys.modules[chart.__module__]).values()
        if inspect.isclass(member) and issubclass(member, Effect) and member.__module__ == chart.__module__
    }
    assert declared <= effects_seen, f"never planned: {declared - effects_seen}"
    assert all(effect.__dataclass_params__.frozen for effect in effects_seen)  # type: ignore[attr-defined]  typeshed does not know it


@EACH
def test_every_declared_transition_happens(name: str) -> None:
    declared = {(state, event, target) for (state, event), targets in flat_table(load(name)).items() for target in targets}
    assert explored(name)[0] == declared


@EACH
def test_every_final_is_reachable_and_nothing_is_a_trap(name: str) -> None:
    chart = load(name)
    table = flat_table(chart)

    def reach(state: str) -> set[str]:
        found, todo = {state}, [state]
        while todo:
            here = todo.pop()
            for (source, _), targets in table.items():
                if source == here:
                    todo += [target for target in targets if target not in found]
                    found |= set(targets)
        return found

    assert reach(states(chart)[0]) == set(states(chart))
    for state in states(chart):
        assert reach(state) & finals(chart), f"{state} leads to no end"
    assert not [state for state, _ in table if state in finals(chart)]


@EACH
def test_the_chart_is_its_generated_table(name: str) -> None:
    protocol, _ = CHARTS[name]
    tables = importlib.import_module(f"triptych.generated.{protocol}.transitions").TABLES
    assert tables[name] == dict(flat_table(load(name)))
    assert set(tables) == {other for other, (owner, _) in CHARTS.items() if owner == protocol}


def test_everything_generated_is_current() -> None:
    for path, text in gen_transitions.texts().items():
        assert (gen_transitions.REPOSITORY / path).read_text(encoding="utf-8") == text, f"{path} is stale: make gen"


def test_generating_gives_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    written = []
    for seed in ("1", "2"):
        root = tmp_path / seed
        code = f"import pathlib; from triptych.tools import gen_transitions; gen_transitions.main(pathlib.Path({str(root)!r}))"
        subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONHASHSEED": seed}, stdout=subprocess.DEVNULL)
        written.append({path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()})
    assert written[0] == written[1]
    assert set(map(str, written[0])) == set(gen_transitions.texts())


@EACH
def test_planners_plan_and_guards_decide(name: str) -> None:
    chart = load(name)
    memory = type(chart.initial_memory)
    assert dataclasses.is_dataclass(memory)
    assert memory.__dataclass_params__.frozen  # type: ignore[attr-defined]  typeshed does not know it
    for state in chart.states:
        for transition in state.transitions:
            planners = [spec for spec in transition.on if not spec.is_convention]
            assert len(planners) <= 1
            assert not [spec for spec in (*transition.before, *transition.after, *transition.validators) if not spec.is_convention]
    for row in rows(chart):
        if row.planner:
            assert get_type_hints(getattr(chart, row.planner))["return"] == Plan[memory]  # type: ignore[valid-type]  a class at run time
        for guard in row.guards:
            assert get_type_hints(getattr(chart, guard.removeprefix("!")))["return"] is bool
        for function in (*(guard.removeprefix("!") for guard in row.guards), *filter(None, [row.planner])):
            assert inspect.getdoc(getattr(chart, function)), f"{function} is not explained"
    for event, data in event_data(chart).items():
        assert not data.keys() & TAKEN, f"{event} carries a name that the library takes for itself"


@EACH
def test_wrong_data_is_refused_and_changes_nothing(name: str) -> None:
    chart, memory = load(name), load(name).initial_memory
    rewound = Rewound(chart)
    for state, event in flat_table(chart):
        fields = event_data(chart)[event]
        good = next(all_data(chart, event))
        bad = [({**good, "nothing_of_the_kind": 1}, "nothing_of_the_kind")]
        for field, datum in fields.items():
            if datum.required:
                bad.append(({key: value for key, value in good.items() if key != field}, field))
            wrong = WRONG.get(datum.type, ["no such word", 1, None, (1,)])
            bad += [({**good, field: value}, field) for value in wrong]
        for data, field in bad:
            life = rewound.to(state, memory)
            with pytest.raises(LocalProtocolError) as refused:
                life.step(event, 1.0, **data)
            assert (refused.value.code, refused.value.path) == ("event-data", f"{chart.__name__}.{event}.{field}")
            assert life.state == state
            assert life.memory is memory


@EACH
def test_an_unknown_event_is_illegal(name: str) -> None:
    chart = load(name)
    life = chart()
    with pytest.raises(IllegalEvent) as refused:
        life.step("no_such_event", 1.0)
    assert refused.value.code == chart.refusal
    assert (life.state, life.memory) == (states(chart)[0], chart.initial_memory)


@EACH
def test_after_the_end_nothing_is_legal(name: str) -> None:
    chart = load(name)
    for state in finals(chart):
        life = chart.restore(state)
        assert life.is_over
        for event in event_data(chart):
            with pytest.raises(IllegalEvent):
                life.step(event, 1.0, **next(all_data(chart, event)))
