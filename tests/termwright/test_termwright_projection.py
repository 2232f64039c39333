"""Python objects handed in: whatever they are, their own code never runs, and what comes out is nobody else's and cannot change."""

from __future__ import annotations

import collections
import dataclasses
import enum
import math
import types
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.vocabulary import PROTOCOL_VIOLATION_CODE
from triptych.machines.termwright.accesskit import to_accesskit
from triptych.machines.termwright.logs import validate_log_record
from triptych.machines.termwright.messages import parse_adapter_message, parse_driver_message
from triptych.machines.termwright.probe import validate_annotations, validate_probe_frame
from triptych.machines.termwright.projection import RESERVED_KEYS, project, project_dto
from triptych.machines.termwright.semantic_state import SemanticState
from triptych.machines.termwright.validate import validate_snapshot

ran: list[str] = []


def _runs(name: str) -> Callable[..., Any]:
    def method(*arguments: object, **named: object) -> Any:
        ran.append(name)
        raise AssertionError(f"{name} was run")

    return method


TRAPS = {
    name: _runs(name)
    for name in (
        *("__getitem__", "__iter__", "__len__", "__contains__", "__bool__", "__eq__", "__repr__", "__str__", "__format__", "__float__"),
        *("__int__", "__index__", "__getattribute__", "__reduce__", "__reduce_ex__", "__dir__", "keys", "items", "values", "get", "append"),
    )
}


class Meta(type):
    """Even the name of a class may be computed."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]  # on purpose
        ran.append("__name__")
        return "computed"

    def __instancecheck__(cls, instance: object) -> bool:
        ran.append("__instancecheck__")
        return True

    def __subclasscheck__(cls, subclass: type) -> bool:
        ran.append("__subclasscheck__")
        return True


class Properties(metaclass=Meta):
    """An object that looks like a record."""

    @property
    def name(self) -> str:
        ran.append("name")
        return "x"

    @property
    def __class__(self) -> Any:
        ran.append("__class__")
        return dict

    @__class__.setter
    def __class__(self, value: object) -> None:
        ran.append("__class__")

    def __getattr__(self, name: str) -> Any:
        ran.append(name)
        return {}

    def __hash__(self) -> int:
        ran.append("__hash__")
        return 0


class Computed(Mapping[str, Any]):
    """A mapping whose items are computed."""

    def __getitem__(self, key: str) -> Any:
        ran.append("__getitem__")
        return key

    def __iter__(self) -> Iterator[str]:
        ran.append("__iter__")
        return iter("ab")

    def __len__(self) -> int:
        ran.append("__len__")
        return 2


@dataclasses.dataclass
class Record:
    """An ordinary object."""

    v: int = 3


class Colour(enum.StrEnum):
    """A string, and more."""

    RED = "red"


def _subclass(base: type, *arguments: Any) -> Any:
    return Meta(f"Sly{base.__name__}", (base,), dict(TRAPS))(*arguments)


def _with_key(key: object) -> dict[Any, Any]:
    return {key: 1}


class Key(str):
    """A key that says it is equal to everything."""

    __slots__ = ()

    def __hash__(self) -> int:
        ran.append("__hash__")
        return 1

    def __eq__(self, other: object) -> bool:
        ran.append("__eq__")
        return True


EXOTIC: dict[str, tuple[Callable[[], object], str]] = {
    "an object with properties": (Properties, "dto-prototype"),
    "a mapping with computed items": (Computed, "dto-prototype"),
    "a dict subclass": (lambda: _subclass(dict), "dto-prototype"),
    "a list subclass": (lambda: _subclass(list), "dto-prototype"),
    "a tuple subclass": (lambda: _subclass(tuple), "dto-prototype"),
    "a default dict": (lambda: collections.defaultdict(list, a=1), "dto-prototype"),
    "an ordered dict": (lambda: collections.OrderedDict(a=1), "dto-prototype"),
    "a chain map": (lambda: collections.ChainMap({"a": 1}), "dto-prototype"),
    "a mapping proxy": (lambda: types.MappingProxyType({"a": 1}), "dto-prototype"),
    "a proxy of a computed mapping": (lambda: types.MappingProxyType(Computed()), "dto-prototype"),
    "a namespace": (lambda: types.SimpleNamespace(a=1), "dto-prototype"),
    "a dataclass": (Record, "dto-prototype"),
    "a tuple": (lambda: (1, 2), "dto-prototype"),
    "a set": (lambda: {1}, "dto-prototype"),
    "a frozen set": (frozenset, "dto-prototype"),
    "a generator": (lambda: (n for n in range(2)), "dto-prototype"),
    "a range": (lambda: range(2), "dto-prototype"),
    "a decimal": (lambda: Decimal(1), "dto-prototype"),
    "a string subclass": (lambda: _subclass(str, "x"), "dto-scalar"),
    "an enumerated string": (lambda: Colour.RED, "dto-scalar"),
    "an int subclass": (lambda: _subclass(int, 1), "dto-scalar"),
    "an enumerated int": (lambda: enum.IntEnum("One", "one")["one"], "dto-scalar"),
    "a float subclass": (lambda: _subclass(float, 1.0), "dto-scalar"),
    "bytes": (lambda: b"x", "dto-scalar"),
    "a byte array": (lambda: bytearray(b"x"), "dto-scalar"),
    "a complex number": (lambda: 1j, "dto-scalar"),
    "a function": (lambda: lambda: 1, "dto-scalar"),
    "a built-in function": (lambda: len, "dto-scalar"),
    "a bound method": (lambda: Record().__init__, "dto-scalar"),
    "a class": (lambda: Properties, "dto-scalar"),
    "not a number": (lambda: math.nan, "dto-scalar"),
    "infinity": (lambda: -math.inf, "dto-scalar"),
    "an integer beyond a double": (lambda: 10**309, "dto-scalar"),
    "an unpaired surrogate": (lambda: "a\udfff", "dto-string"),
    "an unpaired surrogate in a key": (lambda: _with_key("\ud800"), "dto-string"),
    "an int as a key": (lambda: _with_key(1), "dto-key"),
    "None as a key": (lambda: _with_key(None), "dto-key"),
    "a tuple as a key": (lambda: _with_key((1,)), "dto-key"),
    "an object as a key": (lambda: _with_key(Properties()), "dto-key"),
    "a string subclass as a key": (lambda: _with_key(Key("a")), "dto-key"),
    **{f"the key {key}": (lambda key=key: _with_key(key), "dto-key") for key in sorted(RESERVED_KEYS)},  # type: ignore[misc]  # mypy and default arguments
}
PLACES: dict[str, Callable[[object], object]] = {
    "alone": lambda value: value,
    "in a list": lambda value: [1, value],
    "in a dict": lambda value: {"a": {"b": value}},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", EXOTIC)
def test_what_is_not_plain_is_refused_without_running_its_code(name: str, place: str) -> None:
    make, code = EXOTIC[name]
    value = PLACES[place](make())
    ran.clear()
    for projection in (project, project_dto):
        with pytest.raises(RemoteProtocolError) as caught:
            projection(value)
        assert caught.value.code == code
    assert ran == []


@pytest.mark.parametrize("name", ["an object with properties", "a mapping with computed items", "a dict subclass", "an object as a key"])
def test_every_door_for_python_objects_projects_first(name: str) -> None:
    """A plain message with one hostile value deep inside is refused by every function that takes Python objects."""
    make, _ = EXOTIC[name]
    snapshot = {"v": 3, "sessionId": "s", "revision": 1, "columns": 9, "rows": 9, "rootIds": [], "nodes": []}
    absent = {"status": "unknown", "reason": "provider-refresh"}
    state = SemanticState.of(validate_snapshot({**snapshot, "coordinateSpace": absent, "hitGrid": dict(absent)}))
    doors: tuple[Callable[[object], object], ...] = (
        validate_snapshot,
        validate_log_record,
        validate_probe_frame,
        validate_annotations,
        parse_adapter_message,
        parse_driver_message,
        state.apply,
    )
    for door in doors:
        for value in (make(), {**snapshot, "nodes": [make()]}):
            ran.clear()
            with pytest.raises(RemoteProtocolError) as caught:
                door(value)
            assert caught.value.code in ("schema", "malformed")
            assert ran == []
    assert to_accesskit(state.snapshot)["update"]["focus"] == 0


def _shared() -> object:
    inner = {"a": 1}
    return {"x": inner, "y": [inner]}


def _cycle() -> object:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


def test_aliases_and_cycles() -> None:
    for value in (_shared(), _cycle()):
        with pytest.raises(RemoteProtocolError) as caught:
            project_dto(value)
        assert caught.value.code == "dto-alias"
    equal = [{"a": 1}, {"a": 1}, "same", "same"]
    assert project_dto(equal) == ({"a": 1}, {"a": 1}, "same", "same")


def test_the_order_of_the_checks_of_a_container() -> None:
    shared: list[object] = []
    assert _code([[shared]], 1) == "dto-depth"
    assert _code([shared, [shared]], 1) == "dto-depth"
    assert _code([Record()], 0) == "dto-depth"
    sly = Record()
    assert _code([[sly], sly]) == "dto-prototype"
    assert _code({"__proto__": math.nan}) == "dto-key"
    assert _code({"a": math.nan, "__proto__": 1}) == "dto-scalar"


def _code(value: object, depth: int = 64) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        project(value, depth)
    return caught.value.code


@pytest.mark.parametrize("depth", [64, 100_000])
def test_any_nesting_is_refused_and_never_crashes(depth: int) -> None:
    value: list[Any] = []
    for _ in range(200_000):
        value = [value]
    with pytest.raises(RemoteProtocolError) as caught:
        project_dto(value, depth)
    assert caught.value.code == "dto-depth"
    while value:  # taken apart by hand: dropping it whole would nest as deep
        value = value.pop()


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
PLAIN = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=12)


def containers(value: object) -> Iterator[object]:
    """Every container of a value, itself included."""
    if isinstance(value, (dict, types.MappingProxyType)):
        yield value
        for item in value.values():
            yield from containers(item)
    elif isinstance(value, (list, tuple)):
        yield value
        for item in value:
            yield from containers(item)


@given(PLAIN)
def test_a_plain_value_is_copied_deep_and_frozen_or_refused_by_code(value: object) -> None:
    try:
        frozen = project_dto(value)
    except RemoteProtocolError as fault:
        assert fault.code in PROTOCOL_VIOLATION_CODE
        return
    given_ones = {id(container) for container in containers(value)}
    for container in containers(frozen):
        assert id(container) not in given_ones or container == ()  # there is only one empty tuple
        assert type(container) in (tuple, types.MappingProxyType)
    copied = project(value)
    assert copied == value
    assert not given_ones & {id(container) for container in containers(copied)}


# Names stand for the hostile values until the test begins, since hypothesis itself looks at what it draws.
NAMED = st.recursive(st.sampled_from(sorted(EXOTIC)), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=6)


def _filled(named: Any) -> Any:
    return [_filled(item) for item in named] if type(named) is list else EXOTIC[named][0]()


@given(NAMED)
def test_hostile_values_at_any_place_never_run(named: Any) -> None:
    value = _filled(named)
    ran.clear()
    with pytest.raises(RemoteProtocolError) as caught:
        project_dto(value)
    assert caught.value.code in PROTOCOL_VIOLATION_CODE
    assert ran == []


def test_a_later_change_of_the_input_is_not_seen() -> None:
    given_value = {"a": [{"b": 1}]}
    frozen: Any = project_dto(given_value)
    given_value["a"][0]["b"] = 2
    given_value["a"].append({"c": 3})
    assert frozen == {"a": ({"b": 1},)}
    for change in (lambda: frozen.update(a=1), lambda: frozen["a"].append(1), lambda: frozen["a"][0].clear()):
        with pytest.raises(AttributeError):
            change()
