"""Strict JSON text beyond the suite: nesting, numbers, surrogates, reserved and repeated keys, and what each policy makes of them."""

from __future__ import annotations

import inspect
import math
import sys

import pytest

from triptych.machines.wire import text
from triptych.machines.wire.text import TextFault, TextPolicy, nesting_exceeds, parse, project

ALL = [text.TERMWRIGHT, text.COLLECTOR, text.COLLECTOR_COMMAND, text.COMPANION, text.DESKLINK, text.CONTROL]


def kind(body: bytes, policy: TextPolicy) -> str:
    with pytest.raises(TextFault) as fault:
        parse(body, policy)
    return fault.value.kind


def nested(depth: int, opening: str = "[", closing: str = "]") -> bytes:
    return (opening * depth + "0" * (opening != "[") + closing * depth).encode()


@pytest.mark.parametrize("policy", ALL)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"[":', "}]")])
def test_depth_is_exact(policy: TextPolicy, opening: str, closing: str) -> None:
    step = opening.replace('"["', "").count("[") + opening.count("{")
    fits = policy.depth // step
    parse(nested(fits, opening, closing), policy)
    assert kind(nested(fits + 1, opening, closing), policy) == "depth"


@pytest.mark.parametrize("policy", ALL)
@pytest.mark.parametrize("body", [nested(200_000), b"[" * 200_000, b'{"a":' * 200_000, b"[{" * 100_000])
def test_very_deep_text_is_a_fault_and_no_recursion(policy: TextPolicy, body: bytes) -> None:
    assert kind(body, policy) == "depth"


def test_depth_is_a_fault_even_where_the_stack_is_nearly_used_up() -> None:
    """The caller may itself be deep: what still recurses is then refused like too deep a text.

    The surrogate pair makes the projection look at the value: it recurses in Python, whatever budget the parser in C has of its own.
    """
    body = b"[" * 60 + b'"\\ud83d\\ude00"' + b"]" * 60

    def descend(left: int) -> str:
        return kind(body, text.TERMWRIGHT) if left == 0 else descend(left - 1)

    assert descend(sys.getrecursionlimit() - len(inspect.stack(0)) - 40) == "depth"


@pytest.mark.parametrize(
    ("source", "exceeds"),
    [
        ('"' + "[" * 100 + '"', False),
        ('"\\"' + "[" * 100 + '"', False),
        ('["' + "[" * 100, False),  # an unfinished string
        ("[" * 3 + "]" * 3, False),
        ("[" * 4 + "]" * 4, True),
        ("[[[]],[[]],[[[]]]]", True),
        ("[],[],[],[],[]", False),
        ("]]]][[[[", False),  # no JSON: the parser says so
    ],
)
def test_nesting_exceeds_three(source: str, exceeds: bool) -> None:
    assert nesting_exceeds(source.encode(), 3) is exceeds


def test_numbers_of_a_javascript_protocol() -> None:
    assert parse(b"[1.0, 1e0, -0, 9007199254740993]", text.COLLECTOR) == [1.0, 1.0, 0, 9007199254740993]
    assert parse(b"1e999", text.COLLECTOR) == math.inf
    assert parse(b"-" + b"1" * 5000, text.COMPANION) == -math.inf
    assert parse(b"1" * 309, text.COMPANION) == int("1" * 309)
    assert parse(b"9" * 309, text.COMPANION) == math.inf


@pytest.mark.parametrize("policy", [text.TERMWRIGHT, text.COLLECTOR_COMMAND, text.DESKLINK])
@pytest.mark.parametrize("body", [b"1e999", b"-1e999", b"[1E+400]", b'{"a":' + b"9" * 309 + b"}", b"1" * 5000, b"-" + b"1" * 5000])
def test_a_number_that_no_double_holds_is_refused(policy: TextPolicy, body: bytes) -> None:
    assert kind(body, policy) == "number"


def test_integer_tokens_stay_apart_where_only_they_count() -> None:
    values = parse(b"[0, -0, 1.0, 1e0, 7, -0.5]", text.COLLECTOR_COMMAND)
    assert [type(value) for value in values] == [int, float, float, float, int, float]
    assert math.copysign(1, values[1]) == -1


@pytest.mark.parametrize("word", [b"NaN", b"Infinity", b"-Infinity", b'{"a":NaN}'])
@pytest.mark.parametrize("policy", ALL)
def test_words_that_are_no_numbers(policy: TextPolicy, word: bytes) -> None:
    assert kind(word, policy) == "syntax"


def test_repeated_keys() -> None:
    body = b'{"a":1,"b":{"c":1,"c":2},"a":3}'
    assert parse(body, text.COLLECTOR) == {"a": 3, "b": {"c": 2}}
    assert kind(body, text.COLLECTOR_COMMAND) == "duplicate-key"
    assert kind(b'{"k":{"c":1,"\\u0063":2}}', text.COLLECTOR_COMMAND) == "duplicate-key"


@pytest.mark.parametrize("key", ["__proto__", "constructor", "prototype", "\\u005f_proto__"])
def test_reserved_keys_at_any_depth(key: str) -> None:
    body = f'{{"a":[{{"{key}":1}}]}}'.encode()
    assert kind(body, text.TERMWRIGHT) == "reserved-key"
    parse(body, text.COLLECTOR)
    parse(b'{"a":"__proto__"}', text.TERMWRIGHT)  # as a value it is only a word


def test_lone_surrogates() -> None:
    for body in (b'"\\ud800"', b'{"\\udc00":1}', b'"\\ud800x\\udc00"'):
        assert kind(body, text.TERMWRIGHT) == kind(body, text.DESKLINK) == "surrogate"
        parse(body, text.COLLECTOR)
    assert parse(b'"\\ud83d\\ude00"', text.TERMWRIGHT) == "\U0001f600"


def test_byte_order_mark() -> None:
    assert parse(b"\xef\xbb\xbf{}", text.TERMWRIGHT) == {}
    assert kind(b"\xef\xbb\xbf\xef\xbb\xbf{}", text.TERMWRIGHT) == "syntax"
    for policy in (text.COLLECTOR, text.COLLECTOR_COMMAND, text.COMPANION, text.DESKLINK):
        assert kind(b"\xef\xbb\xbf{}", policy) == "syntax"


def test_invalid_utf8_is_replaced_on_the_collector_wire_only() -> None:
    assert parse(b'"\xff"', text.COLLECTOR) == "\ufffd"
    for policy in (text.TERMWRIGHT, text.COLLECTOR_COMMAND, text.COMPANION, text.DESKLINK):
        assert kind(b'"\xff"', policy) == "encoding"


def test_projection_of_values_that_never_were_text() -> None:
    for value, wanted in ((math.inf, "number"), ({"a": math.nan}, "number"), (["\ud800"], "surrogate"), ({"prototype": 1}, "reserved-key")):
        with pytest.raises(TextFault) as fault:
            project(value, text.TERMWRIGHT)
        assert fault.value.kind == wanted
