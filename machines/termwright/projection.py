"""Projection of hostile data: what a plain JSON value may be, for values that our own callers or a JSON text bring in.

`project` copies into fresh dicts and lists, for code that reads on; `project_dto` into what nobody can change: tuples for arrays, and
read-only mappings over dicts that nothing else holds. Neither shares a container with its input.

A value is looked at by its exact type alone, so no code of its own ever runs: no property, no `__getitem__` or `__iter__` of a mapping or
a subclass, no `__eq__` or `__hash__` of a key, not even the name of a class through its metaclass. The codes are the protocol's own:

    dto-scalar     a number that no double holds, or a scalar that JSON does not know (bytes, complex, an enum's str, a function, a class)
    dto-prototype  anything else that is no plain dict or list: objects, mappings, tuples, sets, subclasses
    dto-key        a key that is no plain str, or a reserved name
    dto-string     an unpaired surrogate in a string or key
    dto-alias      a container that is reachable twice, cycles included
    dto-depth      a container deeper than allowed

For each container the order is depth, alias, exotic type, then key by key: plainness, reserved name, surrogate, value.
termwright/3, framing and hostile-data projection.
"""

from __future__ import annotations

import re
from math import isfinite
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType
from typing import NoReturn

from ...errors import RemoteProtocolError
from ..wire.faults import dotted, shortened

__all__ = ["FRAME_DEPTH", "RESERVED_KEYS", "freeze", "project", "project_dto"]

#: The framing layer's fixed nesting bound: a container at depth 65 is refused, the root being at 0.
FRAME_DEPTH = 64
RESERVED_KEYS = frozenset(("__proto__", "constructor", "prototype"))

_SURROGATE = re.compile("[\ud800-\udfff]")
# Bases of what is one value rather than a holder of values.
_SCALARS = (str, int, float, complex, bytes, bytearray, memoryview, type, FunctionType, BuiltinFunctionType, MethodType)
_class_name = type.__dict__["__name__"].__get__  # past whatever a metaclass says

Path = tuple[str | int, ...]


def project(value: object, max_depth: int = FRAME_DEPTH) -> object:
    """A fresh plain copy of `value` (dict, list, str, int, float, bool, None) that shares no container with it.

    Raises `RemoteProtocolError` with a `dto-*` code; nesting beyond `max_depth` (scalars never count) is `dto-depth`.
    """
    if type(max_depth) is not int or max_depth < 0:
        _refuse("dto-depth", "the depth bound must be a non-negative integer", ())
    seen: set[int] = set()

    def copy(value: object, depth: int, path: Path) -> object:
        kind = type(value)
        if kind is str or value is None or kind is bool or kind is int or kind is float:
            return _scalar(value, path)
        if issubclass(kind, _SCALARS):
            _refuse("dto-scalar", f"{_class_name(kind)} is not a JSON type", path)
        if depth > max_depth:
            _refuse("dto-depth", f"nesting exceeds {max_depth}", path)
        if id(value) in seen:
            _refuse("dto-alias", "the same container is reachable twice", path)
        seen.add(id(value))
        if type(value) is list:
            return [copy(item, depth + 1, (*path, index)) for index, item in enumerate(value)]
        if type(value) is not dict:
            _refuse("dto-prototype", f"{_class_name(kind)} is not a plain container", path)
        plain: dict[str, object] = {}
        for key, item in value.items():
            if type(key) is not str:
                _refuse("dto-key", "a key must be a plain string", path)
            if key in RESERVED_KEYS:
                _refuse("dto-key", f"reserved property name {key!r}", path)
            if _SURROGATE.search(key):
                _refuse("dto-string", "unpaired surrogate in a key", path)
            plain[key] = copy(item, depth + 1, (*path, key))
        return plain

    try:
        return copy(value, 0, ())
    except RecursionError:
        _refuse("dto-depth", f"nesting exceeds {max_depth}", ())


def freeze(value: object) -> object:
    """The same plain value, which nobody else may hold, so that it cannot change: arrays as tuples, objects as read-only mappings."""
    if isinstance(value, list):
        return tuple([freeze(item) for item in value])
    if isinstance(value, dict):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    return value


def project_dto(value: object, max_depth: int = FRAME_DEPTH) -> object:
    """`project`, deep-frozen: the protocol's public form of a decoded value. What it answers is no input of its own (`dto-prototype`)."""
    plain = project(value, max_depth)
    try:
        return freeze(plain)
    except RecursionError:
        _refuse("dto-depth", f"nesting exceeds {max_depth}", ())


def _scalar(value: object, path: Path) -> object:
    if type(value) is str:
        if not value.isascii() and _SURROGATE.search(value):
            _refuse("dto-string", "unpaired surrogate in a string", path)
    elif type(value) is float:
        if not isfinite(value):
            _refuse("dto-scalar", "a number must be finite", path)
    elif type(value) is int and value.bit_length() > 1023 and not _fits_double(value):
        _refuse("dto-scalar", "a number must be finite as a double", path)
    return value


def _fits_double(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _refuse(code: str, detail: str, path: Path) -> NoReturn:
    raise RemoteProtocolError(code, detail, shortened(dotted(path)))
