"""Strict JSON text: turns bytes into a plain value under one protocol's policy, or says which kind of text fault it is.

Every protocol core and the reader use it; Python's own `json.loads(bytes)` is never right, since it guesses encodings, takes NaN, and
recurses as deep as the text says. The nesting is measured before anything recurses, so no input can raise RecursionError.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

FaultKind = Literal["encoding", "syntax", "depth", "duplicate-key", "reserved-key", "surrogate", "number"]
FAULT_KINDS: Final[tuple[str, ...]] = get_args(FaultKind)


class TextFault(Exception):
    """The bytes are not one JSON text under the policy; `kind` is one of FAULT_KINDS. It never leaves machines/."""

    def __init__(self, kind: FaultKind, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: FaultKind = kind
        self.detail = detail


@dataclass(frozen=True)
class TextPolicy:
    """What one protocol takes for JSON text.

    `utf8`          strict refuses invalid UTF-8; replace reads U+FFFD in its place.
    `bom`           drop takes one leading byte order mark away; refuse says syntax.
    `depth`         how many arrays and objects may be open at once.
    `duplicates`    last: the last of two equal keys counts; refuse: duplicate-key.
    `surrogates`    keep leaves an unpaired \\u escape in the text (JavaScript); refuse says surrogate.
    `overflow`      refuse says number for one that no double holds; infinity reads it as JavaScript does.
    `int_tokens_only`  `1.0`, `1e0` and `-0` are no integers; they stay floats, and typed integer fields refuse them.
    `reserved_keys` keys that are refused at any depth.
    `codes`         the protocol's code for each fault kind; without one, the default code of the message's root.
    """

    utf8: Literal["strict", "replace"] = "strict"
    bom: Literal["refuse", "drop"] = "refuse"
    depth: int = 127
    duplicates: Literal["last", "refuse"] = "last"
    surrogates: Literal["keep", "refuse"] = "refuse"
    overflow: Literal["refuse", "infinity"] = "refuse"
    int_tokens_only: bool = False
    reserved_keys: frozenset[str] = frozenset()
    codes: Mapping[str, str] = field(default_factory=dict)


TERMWRIGHT: Final = TextPolicy(
    bom="drop",
    depth=65,  # the root object is at depth 0 and 64 is the deepest
    reserved_keys=frozenset(("__proto__", "constructor", "prototype")),
    codes={
        "encoding": "frame-encoding",
        "syntax": "frame-malformed",
        "depth": "dto-depth",
        "reserved-key": "dto-key",
        "surrogate": "dto-string",
        "number": "dto-scalar",
    },
)
"""termwright/3, framing and projection: JavaScript numbers, no reserved keys, nothing that is not Unicode text."""

COLLECTOR: Final = TextPolicy(utf8="replace", depth=512, surrogates="keep", overflow="infinity")
"""Collector to host, as JavaScript's JSON.parse reads it; the depth keeps unknown fields within what Python can hold."""

COLLECTOR_COMMAND: Final = TextPolicy(duplicates="refuse", int_tokens_only=True)
"""Host to collector: a duplicate key, a lone surrogate or 128 open containers make the whole line unintelligible."""

COMPANION: Final = TextPolicy(depth=512, surrogates="keep", overflow="infinity")
"""The companion intake: JavaScript's JSON.parse over an HTTP body that must be UTF-8."""

DESKLINK: Final = TextPolicy(int_tokens_only=True)
"""desklink requests and events on stdio: integers are integer tokens, at most 127 open containers."""

CONTROL: Final = TextPolicy(int_tokens_only=True)
"""The desklink control channel: the same rules as its requests."""


def parse(data: bytes, policy: TextPolicy) -> Any:
    """One JSON text as plain values. Raises TextFault, and nothing else, for whatever the bytes are."""
    text = decode(data, policy)
    skeleton = outside_strings(data)
    if _too_deep(skeleton, policy.depth):
        raise TextFault("depth", f"more than {policy.depth} arrays and objects are open at once")
    try:
        value = _decoder(skeleton, policy).decode(text)
        if _needs_projection(text, skeleton, policy):
            project(value, policy)
    except json.JSONDecodeError as error:
        raise TextFault("syntax", f"{error.msg} at character {error.pos}") from None
    except RecursionError:
        raise TextFault("depth", "the nesting does not fit the caller's remaining stack") from None
    return value


def decode(data: bytes, policy: TextPolicy) -> str:
    """The bytes as text: UTF-8 and the byte order mark under the policy, nothing else."""
    try:
        text = data.decode("utf-8", policy.utf8)
    except UnicodeDecodeError as error:
        raise TextFault("encoding", f"invalid UTF-8 at byte {error.start}") from None
    if text.startswith("\ufeff"):
        if policy.bom == "refuse":
            raise TextFault("syntax", "a byte order mark at the start")
        text = text[1:]
    return text


def outside_strings(data: bytes) -> bytes:
    """The text without its strings: brackets, commas, numbers and words. Only quotes and backslashes matter, in any ASCII superset.

    Of text that is no JSON it answers what stands before the first mistake, which is as far as a parser comes.
    """
    return b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])


def nesting_exceeds(data: bytes, depth: int) -> bool:
    """Whether more than `depth` arrays and objects are open at once. Linear, without recursion; text of few brackets costs two counts."""
    return data.count(b"[") + data.count(b"{") > depth and _too_deep(outside_strings(data), depth)


AS_SQUARE: Final = bytes.maketrans(b"{}", b"[]")
NO_BRACKET: Final = bytes(set(range(256)) - set(b"[]{}"))
PEELED: Final = 16


def _too_deep(skeleton: bytes, depth: int) -> bool:
    brackets = left = skeleton.translate(AS_SQUARE, NO_BRACKET)
    for _ in range(min(depth, PEELED)):
        if not left:
            return False
        left = left.replace(b"[]", b"")  # takes the innermost level of every branch away
    opened = 0
    for bracket in brackets if left else b"":  # deep, or not balanced
        opened += 1 if bracket == 0x5B else -1
        if opened > depth:
            return True
        if opened < 0:
            return False  # no JSON: the parser says so
    return False


def _constant(word: str) -> Any:
    raise TextFault("syntax", f"{word} is no JSON")


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise TextFault("duplicate-key", "a key stands twice in one object")
    return value


def _integer_token(token: str) -> int | float:
    return -0.0 if token == "-0" else _big_integer(token)


def _big_integer(token: str) -> int | float:
    """An integer that no double holds is infinite, as in JavaScript; Python would refuse beyond 4300 digits with a ValueError."""
    if len(token) > 310:
        return -math.inf if token.startswith("-") else math.inf
    number = int(token)
    try:
        float(number)
    except OverflowError:
        return -math.inf if number < 0 else math.inf
    return number


LONG_NUMBER: Final = re.compile(rb"[0-9]{300}")
HUGE_NUMBER: Final = re.compile(rb"[0-9]{300}|[0-9][eE]")
SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def _decoder(skeleton: bytes, policy: TextPolicy) -> json.JSONDecoder:
    """A decoder with only the hooks that this text needs, since each hook costs a Python call a value."""
    parse_int: Callable[[str], Any] | None = None
    if LONG_NUMBER.search(skeleton):
        parse_int = _big_integer
    if policy.int_tokens_only and b"-0" in skeleton:
        parse_int = _integer_token
    pairs = _unrepeated if policy.duplicates == "refuse" else None
    return json.JSONDecoder(parse_constant=_constant, parse_int=parse_int, object_pairs_hook=pairs)


def _needs_projection(text: str, skeleton: bytes, policy: TextPolicy) -> bool:
    """Whether the text can hold what `project` refuses; cheap, and wrong only on the careful side."""
    return (
        (policy.overflow == "refuse" and HUGE_NUMBER.search(skeleton) is not None)
        or (policy.surrogates == "refuse" and SURROGATE_ESCAPE.search(text) is not None)
        or (bool(policy.reserved_keys) and ("\\u" in text or any(key in text for key in policy.reserved_keys)))
    )


def project(value: Any, policy: TextPolicy) -> None:
    """Refuse what a value of plain JSON types may not hold under the policy: reserved keys, lone surrogates, numbers beyond a double.

    Depth first, a key before its value. The nesting has been bounded before, so the recursion is too. Raises TextFault.
    """
    kind = type(value)
    if kind is dict:
        for key, inner in value.items():
            if key in policy.reserved_keys:
                raise TextFault("reserved-key", f"the key {key!r} is reserved")
            project(key, policy)
            project(inner, policy)
    elif kind is list:
        for inner in value:
            project(inner, policy)
    elif kind is str:
        if policy.surrogates == "refuse" and not value.isascii() and not is_unicode(value):
            raise TextFault("surrogate", "an unpaired surrogate")
    elif (kind is float or kind is int) and policy.overflow == "refuse" and not _fits_double(value):
        raise TextFault("number", "a number that no double holds")


def is_unicode(text: str) -> bool:
    """Whether the text has no unpaired surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fits_double(number: int | float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
