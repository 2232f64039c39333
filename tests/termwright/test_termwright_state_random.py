"""The short check of a delta against a whole validation, on trees and deltas of every kind."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from delta_kit import ABSENT, EVIDENCE, as_raw, book_code, canonical, copied, full, plain, refusal
from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.models import SemanticFull
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.messages import read_adapter_message
from triptych.machines.termwright.semantic_state import SemanticState, diff
from triptych.machines.termwright.validate import validate_snapshot

NAMES = ("a", "b", "c", "d", "e", "f")
RECTS = st.builds(
    lambda row, column, width, height: {"row": row, "column": column, "width": width, "height": height},
    st.sampled_from([0, 1, 5, -1]),
    st.sampled_from([0, 2, 9]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([1, 1, 2]),
)
KNOWN_RECT = RECTS.map(lambda rect: {"status": "known", "value": rect, "evidence": EVIDENCE})
GEOMETRY = st.builds(
    lambda intended, visible: {"displayed": ABSENT, "intendedRect": intended, "visibleRect": visible},
    st.just(ABSENT),
    st.just(ABSENT) | KNOWN_RECT,
)
SPACES = st.sampled_from(
    [ABSENT, *({"status": "known", "value": space, "evidence": EVIDENCE} for space in ("viewport-cells", "framework-local-cells"))]
)
IDS = st.sampled_from(NAMES)
RECIPE = {"action": "activate", "requiresFocus": False, "steps": [{"kind": "press", "key": "x"}]}


def grids(names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    runs = st.lists(names, max_size=3).map(
        lambda owners: [
            {"rect": {"row": row * 3, "column": 0, "width": 2, "height": 1}, "recipientId": name} for row, name in enumerate(owners)
        ]
    )
    return st.just(ABSENT) | runs.map(lambda regions: {"status": "known", "value": {"regions": regions}, "evidence": EVIDENCE})


@st.composite
def evidence(draw: st.DrawFn, revision: int) -> list[Any]:
    provider = {"providerId": "p", "sessionId": "s", "revision": draw(st.sampled_from([revision, revision, 1]))}
    if draw(st.booleans()):
        return [{**provider, "status": "lost", "reason": "gone"}]
    source = {**EVIDENCE, "source": "application"}
    focus = {"status": "focused", "recipientId": draw(IDS)}
    recipes = draw(st.just([]) | IDS.map(lambda name: [{"recipientId": name, "recipes": [RECIPE]}]))
    return [{**provider, "status": "available", "evidence": source, "pointerRegions": [], "focusState": focus, "actionRecipes": recipes}]


@st.composite
def fields(draw: st.DrawFn) -> dict[str, Any]:
    """Fields of a node without id and parent."""
    role = draw(st.sampled_from(["button", "text", "generic"]))
    optional = st.fixed_dictionaries(
        {},
        optional={
            "labelledBy": st.lists(IDS, max_size=2),
            "describedBy": st.lists(IDS, min_size=1, max_size=2),
            "actions": st.sampled_from([[], ["activate"], ["focus", "activate"]]),
            "state": st.sampled_from([{}, {"offscreen": True}, {"offscreen": True, "hidden": True}]),
            "frameworkType": st.sampled_from(["", "Box"]),
            "extended": st.sampled_from([{}, {"a": [1, True, None]}]),
        },
    )
    return {"role": role, "name": draw(st.sampled_from(["", "N", "żółw"])), "geometry": draw(GEOMETRY), **draw(optional)}


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """A tree that a whole validation accepts."""
    nodes: list[dict[str, Any]] = []
    for name in draw(st.permutations(NAMES))[: draw(st.integers(0, len(NAMES)))]:
        parent = draw(st.none() | st.sampled_from([node["id"] for node in nodes])) if nodes else None
        nodes.append({"id": name, **({} if parent is None else {"parentId": parent}), **draw(fields())})
    names = [node["id"] for node in nodes]
    for node in nodes:
        for key in ("labelledBy", "describedBy"):
            if key in node:
                node[key] = [name for name in node[key] if name in names]
        if node["role"] == "generic":
            node["frameworkType"] = "Box"
        if "offscreen" in node.get("state", {}):
            node["state"] = {"offscreen": True, "hidden": True}
    tree = {
        "v": 3, "sessionId": "s", "revision": 4, "columns": 10, "rows": 8, "cursor": {"row": 0, "column": 0, "visible": True},
        "rootIds": [node["id"] for node in nodes if "parentId" not in node], "nodes": draw(st.permutations(nodes)),
        "coordinateSpace": draw(SPACES), "hitGrid": draw(grids(st.sampled_from(names))) if names else ABSENT,
    }  # fmt: skip
    if draw(st.booleans()):
        tree["coordinateSpace"] = ABSENT
    return copied(tree)


@st.composite
def deltas(draw: st.DrawFn, tree: dict[str, Any]) -> dict[str, Any]:
    """A delta of sound shape for this tree; what it makes of the tree may be wrong in any way."""
    base, present = tree["revision"], {node["id"] for node in tree["nodes"]}
    revision = base + draw(st.sampled_from([1, 6]))
    names = draw(st.lists(IDS, min_size=draw(st.sampled_from([0, 1, 1])), max_size=draw(st.sampled_from([1, 2, 4])), unique=True))
    delta: dict[str, Any] = {"v": 3, "sessionId": "s", "revision": revision, "baseRevision": base}
    for name in names:
        blind = draw(st.integers(0, 19)) == 0
        match draw(st.sampled_from(["update", "remove"] if name in present and not blind else ["add"])):
            case "add":
                parent = draw(st.none() | (st.sampled_from(sorted(present)) if present and draw(st.booleans()) else IDS))
                node = {"id": name, **({} if parent is None else {"parentId": parent}), **draw(fields())}
                delta.setdefault("addNodes", []).append(node)
            case "remove":
                delta.setdefault("removeNodeIds", []).append(name)
            case _:
                given = draw(st.fixed_dictionaries({}, optional={"parentId": IDS})) | {
                    key: value for key, value in draw(fields()).items() if draw(st.integers(0, 3)) == 0
                }
                cleared = draw(st.lists(st.sampled_from(["parentId", "actions", "labelledBy", "describedBy"]), max_size=2, unique=True))
                cleared = [key for key in cleared if key not in given]
                if given or cleared:
                    delta.setdefault("updateNodes", []).append({"id": name, "set": given, "clear": cleared})
    if draw(st.booleans()):
        delta["snapshot"] = draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "columns": st.integers(3, 11),
                    "rows": st.integers(1, 9),
                    "cursor": st.builds(lambda row: {"row": row, "column": 2, "visible": False}, st.integers(0, 9)),
                    "rootIds": st.lists(IDS, max_size=4),
                    "coordinateSpace": SPACES,
                    "hitGrid": grids(IDS),
                    "providerEvidence": evidence(revision),
                },
            )
        )
        if "cursor" not in delta["snapshot"] and draw(st.booleans()):
            delta["snapshot"]["clear"] = ["cursor"]
    return copied(delta)


@settings(max_examples=max(400, settings().max_examples))
@given(trees(), st.data(), st.sampled_from([{}, {"maxDepth": 3}, {"maxNodes": 4}, {"maxRelationTargets": 1}]))
def test_chains_of_deltas_against_a_whole_validation(tree: dict[str, Any], choose: st.DataObject, tight: dict[str, int]) -> None:
    limits = {**DEFAULT_LIMITS, **tight}
    try:
        message = read_adapter_message(full(tree), limits)
    except RemoteProtocolError:
        reject()
    assert isinstance(message, SemanticFull)
    state, base = SemanticState.of(message.snapshot, limits), tree
    for _ in range(3):
        delta = choose.draw(deltas(base))
        code, result = book_code(base, delta, limits)
        raw, before = as_raw(delta), msgspec.json.encode(state.snapshot)
        assert refusal(partial(state.apply, raw)) == code
        assert msgspec.json.encode(state.snapshot) == before
        if code is None:
            applied = state.apply(raw)
            state, base = applied.state, result
            assert canonical(plain(state.snapshot)) == canonical(result)
            touched = [part["id"] for group in ("addNodes", "updateNodes") for part in delta.get(group, ())]
            assert set(applied.changed) == {*delta.get("removeNodeIds", ()), *touched}


@given(trees(), trees())
def test_a_delta_made_from_two_trees_makes_the_second_out_of_the_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    second["revision"] = 7
    assume(refusal(partial(validate_snapshot, first)) is None and refusal(partial(validate_snapshot, second)) is None)
    previous, following = validate_snapshot(first), validate_snapshot(second)
    delta = diff(previous, following)
    if delta is None:
        before, after = [node.id for node in previous.nodes], [node.id for node in following.nodes]
        surviving = [name for name in before if name in after]
        assert after[: len(surviving)] != surviving
        return
    applied = SemanticState.of(previous).apply(as_raw(plain(delta)))
    assert canonical(plain(applied.state.snapshot)) == canonical(plain(following))
    assert msgspec.json.encode(diff(previous, following)) == msgspec.json.encode(delta)
