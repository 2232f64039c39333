"""Projection of hostile data: what a plain JSON value may be, for values that our own callers or a JSON text bring in.

The codes are the protocol's `dto-*` words. For each container the order is depth, alias, exotic type, then key by key: reserved name,
surrogate, value. No code of the value's own type is ever run. termwright/3, framing and hostile-data projection.
"""

from __future__ import annotations

import re
from math import isfinite
from types import MappingProxyType
from typing import NoReturn

from ...errors import RemoteProtocolError

#: The framing layer's fixed nesting bound: a container at depth 65 is refused, the root being at 0.
FRAME_DEPTH = 64
RESERVED_KEYS = frozenset(("__proto__", "constructor", "prototype"))

_SURROGATE = re.compile("[\ud800-\udfff]")


def _refuse(code: str, detail: str, path: tuple[str | int, ...]) -> NoReturn:
    raise RemoteProtocolError(code, detail, ".".join(map(str, path)))


def _fits_double(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def project(value: object, max_depth: int = FRAME_DEPTH) -> object:
    """A fresh plain copy of `value` (dict, list, str, int, float, bool, None) that shares no container with it.

    Raises `RemoteProtocolError` with a `dto-*` code; nesting beyond `max_depth` (scalars never count) is `dto-depth`.
    """
    if type(max_depth) is not int or max_depth < 0:
        _refuse("dto-depth", "the depth bound must be a non-negative integer", ())
    seen: set[int] = set()

    def copy(value: object, depth: int, path: tuple[str | int, ...]) -> object:
        if type(value) is str:
            if _SURROGATE.search(value):
                _refuse("dto-string", "unpaired surrogate in a string", path)
            return value
        if value is None or type(value) is bool:
            return value
        if type(value) is int:
            if value.bit_length() > 1023 and not _fits_double(value):
                _refuse("dto-scalar", "a number must be finite as a double", path)
            return value
        if type(value) is float:
            if not isfinite(value):
                _refuse("dto-scalar", "a number must be finite", path)
            return value
        if not issubclass(type(value), (dict, list, tuple, set, frozenset)):
            _refuse("dto-scalar", f"{type(value).__name__} is not a JSON type", path)
        if depth > max_depth:
            _refuse("dto-depth", f"nesting exceeds {max_depth}", path)
        if id(value) in seen:
            _refuse("dto-alias", "the same container is reachable twice", path)
        seen.add(id(value))
        if type(value) is list:
            return [copy(item, depth + 1, (*path, index)) for index, item in enumerate(value)]
        if type(value) is not dict:
            _refuse("dto-prototype", f"{type(value).__name__} is not a plain container", path)
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
    """The same plain value as a read-only view: arrays become tuples, objects read-only mappings."""
    if isinstance(value, list):
        return tuple(freeze(item) for item in value)
    if isinstance(value, dict):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    return value


def project_dto(value: object, max_depth: int = FRAME_DEPTH) -> object:
    """`project`, deep-frozen: the protocol's public form of a decoded value."""
    return freeze(project(value, max_depth))
