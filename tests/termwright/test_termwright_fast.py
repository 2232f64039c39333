"""The fast gate may only say yes where the explaining walker would too, and with an equal message."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import data
from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.models import AdapterMessage
from triptych.machines.termwright.fast import strings_fit
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.messages import ADAPTER_MESSAGES
from triptych.machines.wire.text import TERMWRIGHT, TextFault, parse

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
    try:
        return ADAPTER_MESSAGES.read_value(parse(body, TERMWRIGHT), limits)
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


@pytest.mark.parametrize(
    ("limit", "snapshot"),
    [
        ("maxNodes", {**base(), "nodes": base()["nodes"] * 2}),
        ("maxNodes", {**base(), "rootIds": ["a", "b"]}),
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
    if strings_fit(body, limit):
        assert all(len(text.encode()) <= limit for text in texts)
    elif not ascii_only and "\\" not in body.decode():
        assert any(len(text.encode()) > limit // 2 for text in texts)
