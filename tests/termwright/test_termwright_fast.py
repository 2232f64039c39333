"""The fast gate may only say yes where the explaining walker would too, and with an equal message."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import data
from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.models import AdapterMessage, SemanticDelta, SemanticFull
from triptych.machines.termwright.fast import strings_fit
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.messages import ADAPTER_MESSAGES
from triptych.machines.termwright.validate import check_snapshot
from triptych.machines.wire.text import TERMWRIGHT, TextFault, parse

REJECTED = {case["name"]: case["snapshot"] for case in json.loads(data("termwright", "snapshots.json").read_text())["reject"]}
ACCEPTED = [case["snapshot"] for case in json.loads(data("termwright", "snapshots.json").read_text())["accept"]] + [
    case["snapshot"] for case in json.loads(data("termwright", "snapshots-extra.json").read_text())["cases"] if case["ok"]
]
EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "p"}
APPLICATION = {**EVIDENCE, "source": "application"}
LONG_NAME = {"status": "absent", "reason": "detached", "evidence": {**EVIDENCE, "providerId": "🎉" * 200}}
RECT = {"row": 0, "column": 0, "width": 9, "height": 9}
PRESS, INSERT = {"kind": "press", "key": "x"}, {"kind": "insert-action-value"}


def body_of(snapshot: object) -> bytes:
    return json.dumps({"type": "semantic-full", "snapshot": snapshot}, ensure_ascii=False, separators=(",", ":")).encode()


def slow(body: bytes, limits: dict[str, int]) -> AdapterMessage | None:
    """What the explaining walker and the ordered rules accept."""
    try:
        message = ADAPTER_MESSAGES.read_value(parse(body, TERMWRIGHT), limits)
        if isinstance(message, SemanticFull):
            check_snapshot(message.snapshot, limits)
        return message
    except (RemoteProtocolError, TextFault):
        return None


def base(**node: Any) -> dict[str, Any]:
    absent = {"status": "absent", "reason": "detached", "evidence": EVIDENCE}
    geometry = {"displayed": absent, "intendedRect": absent, "visibleRect": absent}
    return {
        "v": 3, "sessionId": "s", "revision": 1, "columns": 80, "rows": 24, "rootIds": ["a"],
        "nodes": [{"id": "a", "role": "button", "name": "A", "actions": ["focus", "activate", "setValue"], "geometry": geometry, **node}],
        "coordinateSpace": absent, "hitGrid": absent,
    }  # fmt: skip


def tree(*nodes: tuple[str, str | None], **more: Any) -> dict[str, Any]:
    """Nodes by (id, parent), in this order; those without a parent are the roots."""
    plain = base()["nodes"][0]
    linked = [{**plain, "id": name, **({} if parent is None else {"parentId": parent})} for name, parent in nodes]
    return {**base(), "nodes": linked, "rootIds": [name for name, parent in nodes if parent is None], **more}


def without_actions(snapshot: dict[str, Any]) -> dict[str, Any]:
    del snapshot["nodes"][0]["actions"]
    return snapshot


def nested(depth: int, inner: object = 1) -> object:
    return inner if depth == 0 else {"a": nested(depth - 1, inner)}


def recipe(action: str = "activate", *steps: object, focus: bool = False) -> dict[str, Any]:
    return {"action": action, "requiresFocus": focus, "steps": list(steps) or [PRESS]}


def painted(*spans: tuple[int, int, int]) -> dict[str, Any]:
    value = {"regionBounds": RECT, "spans": [{"row": row, "from": start, "to": end} for row, start, end in spans]}
    return {"paintedRegion": {"status": "known", "value": value, "evidence": EVIDENCE}}


def grid(*runs: tuple[int, int, int]) -> dict[str, Any]:
    regions = [{"rect": {"row": row, "column": column, "width": width, "height": 1}, "recipientId": "a"} for row, column, width in runs]
    return {**base(), "hitGrid": {"status": "known", "value": {"regions": regions}, "evidence": EVIDENCE}}


def provider(**entry: Any) -> dict[str, Any]:
    known = {"status": "available", "providerId": "p", "sessionId": "s", "revision": 1, "evidence": APPLICATION, "pointerRegions": []}
    return {**base(), "providerEvidence": [{**known, **entry}]}


def scroll(offset: int, viewport: int, extent: int) -> dict[str, Any]:
    return {"recipientId": "a", "axis": "vertical", "offset": offset, "viewport": viewport, "extent": extent}


def region(*spans: tuple[int, int, int]) -> dict[str, Any]:
    return {"recipientId": "a", **painted(*spans)["paintedRegion"]["value"]}


YES = {
    "plain": base(),
    "extended": base(extended={"list": [1, 2.5, None, True, "x"] * 12, "deepest": nested(59)}),
    "recipes": base(inputRecipes=[recipe("focus"), recipe("activate", PRESS, PRESS, focus=True), recipe("setValue", PRESS, INSERT)]),
    "spans": base(**painted((0, 0, 3), (0, 3, 5), (1, 0, 1))),
    "runs": grid((0, 0, 3), (0, 3, 5), (1, 0, 1)),
    "provider": provider(
        pointerRegions=[region((0, 0, 3))],
        paintedRegions=[region((0, 0, 3))],
        hitGrid={"regions": [{"rect": {"row": 0, "column": 0, "width": 1, "height": 1}, "recipientId": "a"}]},
        actionRecipes=[{"recipientId": "a", "recipes": [recipe()]}],
        scrollStates=[scroll(1, 2, 3)],
    ),
    "lost provider": {
        **base(),
        "providerEvidence": [{"status": "lost", "providerId": "p", "sessionId": "s", "revision": 1, "reason": "x"}],
    },
    "children first": tree(("c", "b"), ("b", "a"), ("a", None), ("d", "a")),
    "roots": tree(("a", None), ("b", "a"), ("c", None)),
    "emoji": base(name="🎉" * 4000),
    "escapes": base(name='\\"\n' * 2000),
}
NO = {
    "string bytes": base(name="ż" * 8193),
    "string bytes with escaped quotes": base(name='"' * 16385),
    "extended string bytes": base(extended={"a": "x" * 16385}),
    "extended key bytes": base(extended={"x" * 16385: 1}),
    "extended items": base(extended={"a": [0] * 65}),
    "extended properties": base(extended={str(n): n for n in range(65)}),
    "extended number": base(extended={"a": 2**53}),
    "extended float": base(extended={"a": -1e300}),
    "extended depth": base(extended=nested(61, {})),
    "extended reserved key": base(extended={"a": [{"__proto__": 1}]}),
    "px reserved key": base(px={"constructor": "framework"}),
    "px key bytes": base(px={"x" * 16385: "framework"}),
    "recipe twice": base(inputRecipes=[recipe(), recipe()]),
    "recipe without intent": base(inputRecipes=[recipe("toggle")]),
    "recipe without any action": without_actions(base(inputRecipes=[recipe()])),
    "focus requires focus": base(inputRecipes=[recipe("focus", focus=True)]),
    "insert elsewhere": base(inputRecipes=[recipe("activate", INSERT)]),
    "setValue without insert": base(inputRecipes=[recipe("setValue", PRESS)]),
    "two inserts": base(inputRecipes=[recipe("setValue", INSERT, INSERT)]),
    "65 steps": base(inputRecipes=[recipe("activate", *[PRESS] * 65)]),
    "labelledBy 65": base(labelledBy=["a"] * 65),
    "describedBy 65": base(describedBy=["a"] * 65),
    "textRanges 65": base(textRanges=[{"startOffset": 0, "endOffset": 0, "rect": RECT}] * 65),
    "empty span": base(**painted((0, 3, 3))),
    "overlapping spans": base(**painted((0, 0, 3), (0, 2, 5))),
    "spans out of order": base(**painted((1, 0, 3), (0, 0, 3))),
    "overlapping runs": grid((0, 0, 3), (0, 2, 5)),
    "runs out of order": grid((1, 0, 3), (0, 0, 3)),
    "provider spans": provider(pointerRegions=[region((0, 3, 2))]),
    "provider painted": provider(paintedRegions=[region((0, 0, 3), (0, 0, 3))]),
    "provider grid": provider(hitGrid={"regions": grid((1, 0, 3), (0, 0, 3))["hitGrid"]["value"]["regions"]}),
    "provider recipes twice": provider(actionRecipes=[{"recipientId": "a", "recipes": [recipe()]}] * 2),
    "provider recipe": provider(actionRecipes=[{"recipientId": "a", "recipes": [recipe("focus", focus=True)]}]),
    "provider scroll twice": provider(scrollStates=[scroll(0, 0, 0)] * 2),
    "provider scroll": provider(scrollStates=[scroll(2, 2, 3)]),
    "id twice": tree(("a", None), ("b", "a"), ("b", "a")),
    "unknown parent": tree(("a", None), ("b", "x")),
    "own parent": tree(("a", None), ("b", "b")),
    "cycle": tree(("a", None), ("b", "c"), ("c", "b")),
    "root twice": tree(("a", None), rootIds=["a", "a"]),
    "root with a parent": tree(("a", None), ("b", "a"), rootIds=["a", "b"]),
    "no root": tree(("a", None), ("b", None), rootIds=["a"]),
    "unknown recipient": {**grid((0, 0, 1)), "nodes": tree(("b", None))["nodes"], "rootIds": ["b"]},
    "run outside the viewport": grid((0, 80, 1)),
    "run below the viewport": grid((24, 0, 1)),
    "cursor": {**base(), "cursor": {"row": 24, "column": 0, "visible": True}},
    "provider name in UTF-16": {**base(), "coordinateSpace": LONG_NAME},
    "node provider name in UTF-16": base(scroll=LONG_NAME),
    "provider id in UTF-16": provider(providerId="🎉" * 600),
}  # fmt: skip


@pytest.mark.parametrize("name", YES)
def test_what_it_accepts_the_walker_accepts_equally(name: str) -> None:
    body = body_of(YES[name])
    accepted = ADAPTER_MESSAGES.accept(body)
    assert accepted is not None
    assert accepted == slow(body, dict(DEFAULT_LIMITS))


@pytest.mark.parametrize("name", NO)
def test_what_msgspec_cannot_see(name: str) -> None:
    body = body_of(NO[name])
    assert slow(body, dict(DEFAULT_LIMITS)) is None
    assert ADAPTER_MESSAGES.accept(body) is None


@pytest.mark.parametrize("name", REJECTED)
def test_no_refused_tree_is_accepted(name: str) -> None:
    assert ADAPTER_MESSAGES.accept(body_of(REJECTED[name])) is None


def known(value: object) -> dict[str, Any]:
    return {"status": "known", "value": value, "evidence": EVIDENCE}


UNKNOWN = {"status": "unknown", "reason": "stale-revision"}
SIDES = [*itertools.product([-1, 0, 1, 2, 3, 2**53 - 2], [0, 1, 2, 2**53 - 1])]  # (start, length) along one axis


@pytest.mark.parametrize("space", ["viewport-cells", "framework-local-cells"])
@pytest.mark.parametrize("across", [False, True])
def test_rules_of_rectangles(space: str, across: bool) -> None:
    """Along each axis, every pair of rectangles around the borders: the short check and the ordered rules agree, both ways."""

    def rect(side: tuple[int, int] | None) -> dict[str, Any]:
        if side is None:
            return UNKNOWN
        start, length = side
        along = {"column": start, "width": length} if across else {"row": start, "height": length}
        return known({"row": 1, "height": 1, "column": 1, "width": 1} | along)

    snapshot = {**base(), "columns": 3, "rows": 3, "coordinateSpace": known(space)}
    accepted = 0
    for intended, visible in itertools.product([None, *SIDES], repeat=2):
        snapshot["nodes"][0]["geometry"] |= {"intendedRect": rect(intended), "visibleRect": rect(visible)}
        body = body_of(snapshot)
        answer = ADAPTER_MESSAGES.accept(body)
        assert answer == slow(body, dict(DEFAULT_LIMITS)), (intended, visible)
        accepted += answer is not None
    assert 0 < accepted < len(SIDES) ** 2


@pytest.mark.parametrize(
    ("fields", "holds"),
    [
        ({"role": "generic"}, False),
        ({"role": "generic", "frameworkType": "X"}, True),
        ({"state": {"offscreen": True}}, False),
        ({"state": {"hidden": True, "offscreen": True}}, True),
        ({"labelledBy": ["a"]}, True),
        ({"labelledBy": ["x"]}, False),
        ({"describedBy": ["x"]}, False),
        ({"textRanges": [{"startOffset": 2, "endOffset": 1, "rect": RECT}]}, False),
        (painted((0, 0, 10)), False),
        ({"px": {"constructor": "framework"}}, False),
        ({"extended": {"constructor": 1}}, False),
        ({"inputRecipes": [recipe("toggle")]}, False),
    ],
)
def test_rules_of_a_visible_node(fields: dict[str, Any], holds: bool) -> None:
    snapshot = base(**fields)
    snapshot["nodes"][0]["geometry"] |= {"intendedRect": known(RECT), "visibleRect": known(RECT)}
    body = body_of(snapshot)
    assert (ADAPTER_MESSAGES.accept(body) is not None) is (slow(body, dict(DEFAULT_LIMITS)) is not None) is holds


@given(
    st.permutations("abcd"), st.lists(st.sampled_from("abcde"), min_size=4, max_size=4), st.sets(st.sampled_from("abcd")), st.integers(1, 4)
)
def test_rules_of_a_tree(order: list[str], parents: list[str], roots: set[str], deepest: int) -> None:
    snapshot = tree(*((name, None if name in roots else parent) for name, parent in zip(order, parents, strict=True)))
    body, limits = body_of(snapshot), {**DEFAULT_LIMITS, "maxDepth": deepest}
    assert ADAPTER_MESSAGES.accept(body, limits) == slow(body, limits)


@pytest.mark.parametrize(
    ("limit", "snapshot"),
    [
        ("maxNodes", tree(("a", None), ("b", "a"))),
        ("maxNodes", tree(("a", None), ("b", None))),
        ("maxDepth", tree(("a", None), ("b", "a"))),
        ("maxNodes", grid((0, 0, 1), (0, 1, 1))),
        ("maxNodes", base(**painted((0, 0, 1), (0, 1, 2)))),
        ("maxRelationTargets", base(labelledBy=["a", "a"])),
        ("maxRelationTargets", base(extended={"a": 1, "b": 2})),
        ("maxStringBytes", base(name="ab")),
    ],
)
def test_negotiated_limits(limit: str, snapshot: object) -> None:
    body = body_of(snapshot)
    assert ADAPTER_MESSAGES.accept(body) is not None
    assert ADAPTER_MESSAGES.accept(body, {**DEFAULT_LIMITS, limit: 1}) is None


def delta_body(delta: bytes) -> bytes:
    return b'{"type":"semantic-delta","delta":' + delta + b"}"


DEEP = [b'[[{"a":' * depth + b"1" + b"}]]" * depth for depth in (21, 22)]  # with the message around it 64 and 67 containers are open


@pytest.mark.parametrize("delta", [b'{"v":3, "x":[1,-2.5,true,null,"e9"]}', '"zażółć \U0001f389"'.encode(), b"1", DEEP[0]])
def test_any_json_of_a_delta(delta: bytes) -> None:
    accepted = ADAPTER_MESSAGES.accept(delta_body(delta))
    assert isinstance(accepted, SemanticDelta)
    assert bytes(accepted.delta) == delta
    assert slow(delta_body(delta), dict(DEFAULT_LIMITS)) is not None


@pytest.mark.parametrize(
    "delta",
    [
        b'{"__proto__":1}',
        b'{"\\u005f_proto__":1}',
        b'"\\ud800"',
        b'"\xed\xa0\x80"',
        b'"\xff"',
        b"1e999",
        b"[-1E999]",
        b"9" * 400,
        DEEP[1],
        b"[1,]",
        b"01",
        b"NaN",
        b'"\x01"',
    ],
)
def test_text_that_no_delta_may_hold(delta: bytes) -> None:
    assert slow(delta_body(delta), dict(DEFAULT_LIMITS)) is None
    assert ADAPTER_MESSAGES.accept(delta_body(delta)) is None


@pytest.mark.parametrize("attrs", [{"__proto__": 1}, {"a": "x" * 16385}, {"x" * 16385: 1}])
def test_log_attributes(attrs: object) -> None:
    record = {"ts": 1, "level": "info", "message": "m", "seq": 0}
    assert ADAPTER_MESSAGES.accept(json.dumps({"type": "log", "record": {**record, "attrs": {"a": 1}}}).encode()) is not None
    assert ADAPTER_MESSAGES.accept(json.dumps({"type": "log", "record": {**record, "attrs": attrs}}).encode()) is None


def places(value: object) -> list[tuple[Any, Any]]:
    """Every (container, key) of a value."""
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found.append((value, key))
        found += places(inner)
    return found


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 90)
    | st.sampled_from([2**53 - 1, 2**53, 1.0, 0.5, "", "root", "x" * 17000, "🎉" * 300, "known", "absent"])
)
names = st.sampled_from(["a", "row", "__proto__"])
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner))


@given(st.binary(max_size=12), values, st.booleans(), st.integers(0, 40))
def test_the_text_of_a_delta_is_never_accepted_wrongly(noise: bytes, value: object, ascii_only: bool, place: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    for delta in (text, text[:place] + noise + text[place:]):
        accepted = ADAPTER_MESSAGES.accept(delta_body(delta))
        if accepted is not None:
            assert isinstance(accepted, SemanticDelta)
            answer = slow(delta_body(delta), dict(DEFAULT_LIMITS))
            assert isinstance(answer, SemanticDelta)
            assert parse(bytes(accepted.delta), TERMWRIGHT) == parse(bytes(answer.delta), TERMWRIGHT)


@settings(max_examples=max(300, settings().max_examples))
@given(st.sampled_from(ACCEPTED), st.data())
def test_a_mutated_snapshot_is_never_accepted_wrongly(snapshot: object, choose: st.DataObject) -> None:
    mutant = copy.deepcopy(snapshot)
    container, key = choose.draw(st.sampled_from(places(mutant)))
    match choose.draw(st.sampled_from(["replace", "delete", "repeat", "add"])):
        case "replace":
            container[key] = choose.draw(values)
        case "delete":
            del container[key]
        case "repeat" if isinstance(container, list):
            container.insert(0, container[key])
        case _ if isinstance(container, dict):
            container[choose.draw(st.sampled_from(["extended", "px", "x", "prototype", "labelledBy"]))] = choose.draw(values)
    body = body_of(mutant)
    limits = {**DEFAULT_LIMITS, **choose.draw(st.sampled_from([{}, {"maxNodes": 2}, {"maxStringBytes": 8}, {"maxRelationTargets": 1}]))}
    accepted = ADAPTER_MESSAGES.accept(body, limits)
    if accepted is not None:
        assert accepted == slow(body, limits)


@given(st.lists(st.text(st.sampled_from('ab"\\\nż🎉\u2028'), max_size=30)), st.integers(1, 40), st.booleans())
def test_string_sizes(texts: list[str], limit: int, ascii_only: bool) -> None:
    body = json.dumps(texts, ensure_ascii=ascii_only).encode()
    if strings_fit(body, limit, b"\\" in body):
        assert all(len(text.encode()) <= limit for text in texts)
    elif not ascii_only and "\\" not in body.decode():
        assert any(len(text.encode()) > limit // 2 for text in texts)
