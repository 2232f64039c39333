"""The twins without `await` offer what the asynchronous modules offer: the same names, called with the same arguments."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from triptych.engine import activity, activity_sync, desktop, desktop_sync

TWINS = [(activity, activity_sync, "Recording"), (desktop, desktop_sync, "Session")]


def public(thing: object) -> dict[str, object]:
    return {name: value for name, value in vars(thing).items() if not name.startswith("_")}


def called_with(function: object) -> list[tuple[str, object, object]]:
    assert callable(function)
    return [(parameter.name, parameter.kind, parameter.default) for parameter in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("module", "twin", "name"), TWINS)
def test_the_modules_export_the_same_names_for_the_same_arguments(module: ModuleType, twin: ModuleType, name: str) -> None:
    assert sorted(twin.__all__) == sorted(module.__all__)
    for exported in module.__all__:
        one, other = getattr(module, exported), getattr(twin, exported)
        if one is not other and not inspect.isclass(one):
            assert called_with(other) == called_with(one), exported


@pytest.mark.parametrize(("module", "twin", "name"), TWINS)
def test_the_objects_have_the_same_members_for_the_same_arguments(module: ModuleType, twin: ModuleType, name: str) -> None:
    members, others = public(getattr(module, name)), public(getattr(twin, name))
    assert sorted(others) == sorted(members)
    for member, value in members.items():
        assert isinstance(others[member], property) == isinstance(value, property), member
        if not isinstance(value, property):
            assert called_with(others[member]) == called_with(value), member
