"""Deltas: the recorded cases, the cost-saving check against a whole validation, and what stays when a delta is refused."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from shared_data import data
from triptych.errors import LocalProtocolError, RemoteProtocolError
from triptych.generated.termwright.models import Delta, SemanticDelta, SemanticFull, Snapshot
from triptych.machines.termwright.framing import FrameDecoder
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.messages import read_adapter_message
from triptych.machines.termwright.semantic_state import BaseMismatch, SemanticState, diff, resync_request
from triptych.machines.termwright.validate import validate_snapshot

VECTORS = json.loads(data("termwright", "deltas-v3.json").read_text())
EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "p"}
ABSENT = {"status": "absent", "reason": "detached", "evidence": EVIDENCE}


def plain(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def copied(value: Any) -> Any:
    """A deep copy in which no container stands twice."""
    return json.loads(json.dumps(value))


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def held(snapshot: object, limits: Mapping[str, int] = DEFAULT_LIMITS) -> SemanticState:
    return SemanticState.of(validate_snapshot(snapshot, limits), limits)


def as_raw(delta: object) -> msgspec.Raw:
    """The delta as it arrives: out of a message that was read from a frame body."""
    message = read_adapter_message(
        json.dumps({"type": "semantic-delta", "delta": delta}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    )
    assert isinstance(message, SemanticDelta)
    return message.delta


def refusal(call: Callable[[], object]) -> str | None:
    try:
        call()
    except RemoteProtocolError as fault:
        assert (fault.code == "base-revision") == isinstance(fault, BaseMismatch)
        return fault.code
    return None


def by_the_book(base: dict[str, Any], delta: dict[str, Any], limits: Mapping[str, int]) -> tuple[str | None, dict[str, Any]]:
    """The plainest reading of the protocol for a delta of sound shape: patch a plain copy, then validate all of it."""
    nodes = {node["id"]: node for node in base["nodes"]}
    for name in delta.get("removeNodeIds", ()):
        if name not in nodes:
            return "schema", {}
        del nodes[name]
    for node in delta.get("addNodes", ()):
        if node["id"] in nodes:
            return "duplicate-id", {}
        nodes[node["id"]] = node
    for update in delta.get("updateNodes", ()):
        if update["id"] not in nodes:
            return "schema", {}
        merged = {**nodes[update["id"]], **update.get("set", {})}
        nodes[update["id"]] = {key: value for key, value in merged.items() if key not in update.get("clear", ())}
    patch = delta.get("snapshot", {})
    cleared = {*patch.get("clear", ()), "clear"}
    result = {**base, **patch, "revision": delta["revision"], "nodes": list(nodes.values())}
    result = {key: value for key, value in result.items() if key not in cleared}
    return refusal(lambda: validate_snapshot(result, limits)), result


# The recorded cases of the reference.


@pytest.mark.parametrize("framed", [False, True], ids=["plain", "framed"])
@pytest.mark.parametrize("case", VECTORS["apply"], ids=lambda case: case["name"])
def test_apply(case: dict[str, Any], framed: bool) -> None:
    state = held(VECTORS["committed"])
    before = msgspec.json.encode(state.snapshot)
    delta = as_raw(case["delta"]) if framed else case["delta"]
    if not case["ok"]:
        with pytest.raises(RemoteProtocolError) as caught:
            state.apply(delta)
        assert caught.value.code == case["code"]
        assert isinstance(caught.value, BaseMismatch) == case["resyncRequired"]
    else:
        applied = state.apply(delta)
        assert canonical(plain(applied.state.snapshot)) == canonical(case["snapshot"])
        assert sorted(applied.changed) == sorted(case["changedNodeIds"])
    assert msgspec.json.encode(state.snapshot) == before


@pytest.mark.parametrize("case", VECTORS["diff"], ids=lambda case: case["name"])
def test_diff(case: dict[str, Any]) -> None:
    """The reference loses the order of nodes in a delta; ours says None where a delta would, and is byte for byte the same otherwise."""
    previous, following = validate_snapshot(VECTORS["committed"]), validate_snapshot(case["next"])
    delta = diff(previous, following)
    applied = SemanticState.of(previous).apply(case["delta"]).state.snapshot
    if delta is None:
        assert [node.id for node in applied.nodes] != [node.id for node in following.nodes]
        return
    made, wanted = plain(delta), json.loads(case["deltaJson"])
    assert made == wanted
    # Groups and fields come in the protocol's order; inside an observation or evidence, a struct's tag comes first.
    for part in ("updateNodes", "snapshot"):
        made.setdefault(part, {}), wanted.setdefault(part, {})
    assert list(made) == list(wanted)
    assert list(made["snapshot"]) == list(wanted["snapshot"])
    assert [list(update.get("set", ())) for update in made["updateNodes"]] == [
        list(update.get("set", ())) for update in wanted["updateNodes"]
    ]
    assert applied == following


def test_the_two_diffs_that_would_lose_the_order_are_none() -> None:
    previous = validate_snapshot(VECTORS["committed"])
    lost = [case["name"] for case in VECTORS["diff"] if diff(previous, validate_snapshot(case["next"])) is None]
    assert len(VECTORS["diff"]) == 7
    assert [name.split("(")[0] for name in lost] == ["reorder-nodes-only", "insert-in-middle"]


# Order and details of the checks.


def delta_of(**parts: Any) -> dict[str, Any]:
    return {"v": 3, "sessionId": "s", "revision": 5, "baseRevision": 4, **parts}


@pytest.mark.parametrize(
    ("delta", "code"),
    [
        ({"__proto__": 1}, "schema"),
        (delta_of(addNodes=[[[[[[[]]]]]]]), "depth"),
        (delta_of(colour=1, v=2, sessionId="x" * 4000), "bytes"),
        (delta_of(colour=1, revision=0), "schema"),
        (delta_of(v=2, revision=0), "schema"),
        (delta_of(sessionId="other", revision=0), "schema"),
        (delta_of(revision=True), "revision"),
        (delta_of(baseRevision=0, revision=1), "revision"),
        (delta_of(baseRevision=9, revision=1, addNodes={}), "base-revision"),
        (delta_of(revision=4, addNodes={}), "revision"),
        (delta_of(removeNodeIds=["a"] * 4), "count"),
        (delta_of(removeNodeIds=["a", "a", ""]), "schema"),
        (delta_of(removeNodeIds=["zz"], updateNodes=[{"id": "zz"}]), "duplicate-id"),
        (delta_of(removeNodeIds=["zz"], addNodes=[{"id": "a"}]), "schema"),
        (delta_of(addNodes=[{"id": "a"}], updateNodes=[{"id": "zz"}]), "duplicate-id"),
        (delta_of(updateNodes=[{"id": "a", "set": {}, "clear": []}]), "schema"),
        (delta_of(updateNodes=[{"id": "a", "set": 1, "clear": ["p"]}]), "schema"),
        (delta_of(updateNodes=[{"id": "a", "colour": 1, "clear": ["p", "p"]}]), "schema"),
        (delta_of(updateNodes=[{"id": "a", "set": {"id": "b"}}]), "schema"),
        (delta_of(updateNodes=[{"id": "a", "clear": ["colour"]}]), "schema"),
        (delta_of(updateNodes=["a"]), "schema"),
        (delta_of(snapshot=[]), "schema"),
        (delta_of(snapshot={"clear": "cursor"}), "schema"),
        (delta_of(snapshot={"clear": ["cursor", "cursor"]}), "duplicate-id"),
        (delta_of(snapshot={"clear": ["cursor"], "cursor": None}), "schema"),
        (delta_of(snapshot={"cursor": None}), "schema"),
        (delta_of(updateNodes=[{"id": "b", "set": {"role": "?"}}, {"id": "a", "set": {"geometry": 1}}]), "schema"),
        (delta_of(updateNodes=[{"id": "a", "set": {"role": "?"}}, {"id": "b", "set": {"geometry": 1}}]), "unknown-role"),
        (delta_of(snapshot={"hitGrid": 1}, updateNodes=[{"id": "a", "set": {"role": "?"}}]), "unknown-role"),
        (delta_of(updateNodes=[{"id": "a", "set": {"labelledBy": ["zz"]}}], snapshot={"cursor": 1}), "schema"),
        (delta_of(updateNodes=[{"id": "a", "set": {"labelledBy": ["zz"]}}]), "missing-parent"),
        (delta_of(updateNodes=[{"id": "a", "set": {"name": "x" * 99}}]), "string-bytes"),
        (delta_of(snapshot={"columns": 3}), None),
        (delta_of(revision=5.0, updateNodes=None, snapshot={"rows": 25.0, "clear": None}), None),
        (delta_of(updateNodes=[{"id": "a", "set": {"name": "x"}, "clear": None}]), None),
        (delta_of(updateNodes=[{"id": "a", "set": None, "clear": ["description"]}]), None),
    ],
)
def test_the_order_of_the_checks(delta: object, code: str | None) -> None:
    limits = {**DEFAULT_LIMITS, "maxNodes": 3, "maxSnapshotBytes": 3500, "maxStringBytes": 90, "maxDepth": 6}
    state = held(VECTORS["committed"], limits)
    assert refusal(lambda: state.apply(delta)) == code
    if not (isinstance(delta, dict) and "__proto__" in delta) and code != "depth":
        assert refusal(lambda: state.apply(as_raw(delta))) == code


def test_the_result_is_bounded_as_a_whole() -> None:
    base = VECTORS["committed"]
    size = len(msgspec.json.encode(base))
    grows = delta_of(updateNodes=[{"id": "a", "set": {"name": "Az"}}])
    for room, code in ((0, "bytes"), (1, None)):
        state = held(base, {**DEFAULT_LIMITS, "maxSnapshotBytes": size + room})
        assert refusal(partial(state.apply, grows)) == code


def test_the_size_of_the_frame_counts() -> None:
    state, delta = held(VECTORS["committed"]), delta_of()
    assert refusal(lambda: state.apply(delta, size=DEFAULT_LIMITS["maxSnapshotBytes"])) is None
    assert refusal(lambda: state.apply(delta, size=DEFAULT_LIMITS["maxSnapshotBytes"] + 1)) == "bytes"


def test_tighter_limits_bear_on_the_whole_tree() -> None:
    state, delta = held(VECTORS["committed"]), delta_of(updateNodes=[{"id": "b", "set": {"name": ""}}])
    tight = {**DEFAULT_LIMITS, "maxDepth": 4}
    applied = state.apply(delta, limits=tight)
    assert applied.state.limits == tight
    assert refusal(lambda: state.apply(as_raw(delta), limits={**DEFAULT_LIMITS, "maxStringBytes": 2})) == "string-bytes"
    assert refusal(lambda: state.apply(as_raw(delta), limits={**DEFAULT_LIMITS, "maxDepth": 1})) == "depth"


def test_a_delta_struct_of_our_own_is_checked_like_any_other() -> None:
    state = held(VECTORS["committed"])
    good = Delta(v=3, session_id="s", revision=5, base_revision=4, remove_node_ids=("b",))
    assert state.apply(good).changed == ("b",)
    with pytest.raises(RemoteProtocolError) as caught:
        state.apply(Delta(v=3, session_id="s", revision=5, base_revision=4, update_nodes=("b",)))  # type: ignore[arg-type]  # on purpose
    assert caught.value.code == "schema"


def test_a_fault_names_its_place_in_the_whole_tree() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        held(VECTORS["committed"]).apply(delta_of(updateNodes=[{"id": "b", "set": {"role": "slider"}}]))
    assert caught.value.path == "nodes.2.role"


def test_a_recipe_needs_its_action_after_a_patch_too() -> None:
    recipe = {"action": "activate", "requiresFocus": False, "steps": [{"kind": "press", "key": "x"}]}
    state = held(VECTORS["committed"]).apply(delta_of(updateNodes=[{"id": "a", "set": {"inputRecipes": [recipe]}}])).state
    takes_the_action = {**delta_of(updateNodes=[{"id": "a", "clear": ["actions"]}]), "baseRevision": 5, "revision": 6}
    assert refusal(lambda: state.apply(as_raw(takes_the_action))) == "schema"


def test_an_older_state_stays_usable() -> None:
    first = held(VECTORS["committed"])
    second = first.apply(delta_of(removeNodeIds=["b"])).state
    other = first.apply(delta_of(revision=9, updateNodes=[{"id": "b", "set": {"name": "B2"}}])).state
    assert [node.id for node in first.snapshot.nodes] == ["root", "a", "b"]
    assert [node.id for node in second.snapshot.nodes] == ["root", "a"]
    assert (second.node("b"), other.node("b") is not None and other.node("b").name) == (None, "B2")  # type: ignore[union-attr]  # asked before


def test_nothing_of_a_value_handed_in_is_shared() -> None:
    added = {**copy.deepcopy(VECTORS["committed"]["nodes"][1]), "id": "c", "extended": {"list": [1]}, "px": {"name": "framework"}}
    delta = delta_of(addNodes=[added])
    state = held(VECTORS["committed"]).apply(delta).state
    before = msgspec.json.encode(state.snapshot)
    added["extended"]["list"].append(2)
    added["px"]["role"] = "framework"
    added["actions"].append("scroll")
    assert msgspec.json.encode(state.snapshot) == before


# What a change can touch, one by one: the short check may not miss any of it.


def seen(row: int, column: int) -> dict[str, Any]:
    known = {"status": "known", "value": {"row": row, "column": column, "width": 2, "height": 1}, "evidence": EVIDENCE}
    return {"geometry": {"displayed": ABSENT, "intendedRect": ABSENT, "visibleRect": known}}


def text_node(name: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    above = {} if parent is None else {"parentId": parent}
    return {"id": name, **above, "role": "text", "name": name, **seen(0, 0), **fields}


def space(word: str) -> dict[str, Any]:
    return {"status": "known", "value": word, "evidence": EVIDENCE}


def grid(*owners: str, row: int = 0) -> dict[str, Any]:
    regions = [{"rect": {"row": row + n, "column": 0, "width": 1, "height": 1}, "recipientId": name} for n, name in enumerate(owners)]
    return {"status": "known", "value": {"regions": regions}, "evidence": EVIDENCE}


SMALL = copied(
    {
        "v": 3, "sessionId": "s", "revision": 4, "columns": 20, "rows": 10, "cursor": {"row": 9, "column": 19, "visible": True},
        "rootIds": ["r1", "r2", "r3"],
        "nodes": [
            text_node("r1"), text_node("c", "r1", **seen(8, 15)), text_node("r2"), text_node("target"),
            text_node("d", "c", labelledBy=["target"]),
            text_node("r3"), text_node("e", "d", describedBy=["e"]), text_node("owner", "r1"),
        ],
        "coordinateSpace": space("viewport-cells"), "hitGrid": grid("owner"),
    }
)  # fmt: skip
SMALL["rootIds"].append("target")


LOST = {"providerId": "p", "sessionId": "s", "revision": 5, "status": "lost", "reason": "x"}


def framed(tree: object, limits: Mapping[str, int]) -> SemanticState:
    """The state of a tree that came in a frame, so that maxDepth bounds the tree alone."""
    message = read_adapter_message(full(tree), limits)
    assert isinstance(message, SemanticFull)
    return SemanticState.of(message.snapshot, limits)


def patched(name: str, **change: Any) -> dict[str, Any]:
    return {"updateNodes": [{"id": name, **change}]}


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({"removeNodeIds": ["r2"], "snapshot": {"rootIds": ["r1", "r3", "target"]}}, None),
        ({"removeNodeIds": ["e"]}, None),
        ({"removeNodeIds": ["c", "d", "e"]}, None),
        ({"removeNodeIds": ["owner"], "snapshot": {"hitGrid": grid("e")}}, None),
        ({"removeNodeIds": ["r2"]}, "missing-parent"),
        ({"removeNodeIds": ["c"]}, "missing-parent"),
        ({"removeNodeIds": ["target"], "snapshot": {"rootIds": ["r1", "r2", "r3"]}}, "missing-parent"),
        ({"removeNodeIds": ["target"], "snapshot": {"rootIds": ["r1", "r2", "r3"]}, **patched("d", clear=["labelledBy"])}, None),
        ({"removeNodeIds": ["owner"]}, "missing-parent"),
        ({"removeNodeIds": ["owner"], **patched("d", set={"describedBy": ["owner"]})}, "missing-parent"),
        ({"snapshot": {"columns": 15, "clear": ["cursor"]}}, "bad-rect"),
        ({"snapshot": {"rows": 8, "clear": ["cursor"]}}, "bad-rect"),
        ({"snapshot": {"rows": 9}}, "bad-rect"),
        ({"snapshot": {"columns": 16, "clear": ["cursor"]}}, None),
        ({"snapshot": {"columns": 15, "coordinateSpace": space("framework-local-cells"), "clear": ["cursor"]}}, None),
        ({"snapshot": {"cursor": {"row": 10, "column": 0, "visible": True}}}, "bad-rect"),
        ({"snapshot": {"hitGrid": grid("nobody")}}, "missing-parent"),
        ({"snapshot": {"hitGrid": grid("owner", row=10)}}, "bad-rect"),
        ({"snapshot": {"rootIds": ["r1", "r3", "target"]}}, "schema"),
        ({"snapshot": {"rootIds": ["r1", "r2", "r3", "target", "r1"]}}, "duplicate-id"),
        ({"snapshot": {"rootIds": ["r1", "r2", "r3", "target", "nobody"]}}, "missing-parent"),
        ({"snapshot": {"rootIds": ["r1", "r2", "r3", "target", "e"]}}, "schema"),
        ({"snapshot": {"rootIds": ["r1", "r3", "target"]}, **patched("r2", set={"parentId": "r1"})}, None),
        ({"snapshot": {"rootIds": ["r1", "r2", "r3", "target", "e"]}, **patched("e", clear=["parentId"])}, None),
        (patched("r2", set={"parentId": "r1"}), "schema"),
        (patched("e", clear=["parentId"]), "schema"),
        ({"addNodes": [text_node("new")]}, "schema"),
        ({"addNodes": [text_node("new", "nobody")]}, "missing-parent"),
        ({"addNodes": [text_node("new", "later"), text_node("later", "new2"), text_node("new2", "r1")]}, None),
        ({"addNodes": [text_node("new", "e")]}, "depth"),
        ({"addNodes": [text_node("new", "later"), text_node("later", "d")]}, "depth"),
        ({"addNodes": [text_node("new", "later"), text_node("later", "new")]}, "cycle"),
        (patched("c", set={"parentId": "e"}), "cycle"),
        (patched("c", set={"parentId": "c"}), "cycle"),
        (patched("c", set={"parentId": "owner"}), "depth"),
        (patched("e", set={"parentId": "c"}), None),
        (patched("c", set={"parentId": "r2"}), None),
        (patched("c", set=seen(10, 0)), "bad-rect"),
        ({"addNodes": [text_node(f"n{n}", "r1") for n in range(5)]}, "count"),
        ({"addNodes": [text_node(f"n{n}", "r1") for n in range(5)], "removeNodeIds": ["e"]}, None),
        ({"snapshot": {"providerEvidence": [{**LOST, "revision": 4}]}}, "provider"),
        ({"snapshot": {"providerEvidence": [LOST]}}, None),
    ],
)  # fmt: skip
def test_what_a_change_can_touch(parts: dict[str, Any], code: str | None) -> None:
    delta = copied(delta_of(**parts))
    for deepest in (4, 64):
        limits = {**DEFAULT_LIMITS, "maxDepth": deepest, "maxNodes": 12}
        state, (expected, result) = framed(SMALL, limits), book_code(SMALL, delta, limits)
        assert deepest == 64 or expected == code
        assert refusal(partial(state.apply, as_raw(delta))) == expected
    # To the byte, the result is as long as a whole validation finds it.
    size = len(msgspec.json.encode(result))
    for room in (0, -1):
        state = SemanticState.of(state.snapshot, {**limits, "maxSnapshotBytes": size + room})
        assert refusal(partial(state.apply, as_raw(delta), size=0)) == ("bytes" if room else expected)


def test_evidence_of_an_older_revision_ends_with_the_next_delta() -> None:
    state = held(SMALL).apply(delta_of(snapshot={"providerEvidence": [LOST]})).state
    following = {**delta_of(), "baseRevision": 5, "revision": 6}
    assert refusal(partial(state.apply, as_raw(following))) == "provider"
    assert refusal(partial(state.apply, as_raw({**following, "snapshot": {"clear": ["providerEvidence"]}}))) is None


def test_the_coordinate_space_bears_on_every_rectangle() -> None:
    local = {"columns": 15, "coordinateSpace": space("framework-local-cells"), "clear": ["cursor"]}
    state = held(SMALL).apply(as_raw(delta_of(snapshot=local))).state
    following = {**delta_of(snapshot={"coordinateSpace": space("viewport-cells")}), "baseRevision": 5, "revision": 6}
    assert refusal(partial(state.apply, as_raw(following))) == "bad-rect"


def test_moving_to_and_fro_never_ends_in_a_refusal() -> None:
    """The bound on the depth only grows with each move; a whole check makes it exact again."""
    limits = {**DEFAULT_LIMITS, "maxDepth": 6}
    state = framed(SMALL, limits)
    for revision in range(5, 40):
        delta = delta_of(revision=revision, baseRevision=revision - 1, **patched("c", set={"parentId": "owner" if revision % 2 else "r1"}))
        state = state.apply(as_raw(delta)).state


# The short check against a whole validation, on trees and deltas of every kind.


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


def book_code(base: dict[str, Any], delta: dict[str, Any], limits: Mapping[str, int]) -> tuple[str | None, dict[str, Any]]:
    """`by_the_book`, where a ceiling on the depth bounds the tree and not its JSON, as it does for what came out of a frame."""
    code, result = by_the_book(base, delta, {**limits, "maxDepth": 64})
    if code is None and refusal(partial(read_adapter_message, full(result), limits)) is not None:
        code = "depth"
    return code, result


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


def full(tree: object) -> bytes:
    return json.dumps({"type": "semantic-full", "snapshot": tree}).encode()


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


def test_diff_tells_true_from_one_and_takes_lists_for_tuples() -> None:
    def tree(revision: int, extended: object) -> Snapshot:
        base = copy.deepcopy(VECTORS["committed"])
        base["revision"], base["nodes"][1]["extended"] = revision, extended
        return validate_snapshot(base)

    (update,) = diff(tree(4, {"on": True}), tree(5, {"on": 1})).update_nodes  # type: ignore[union-attr,misc]  # there is one
    assert update.id == "a"
    same = tree(5, {"on": True})
    listed = msgspec.structs.replace(same, root_ids=[*same.root_ids])
    delta = diff(tree(4, {"on": True}), listed)
    assert delta is not None
    assert plain(delta) == {"v": 3, "sessionId": "s", "revision": 5, "baseRevision": 4}


def test_diff_refuses_two_sessions_and_what_is_not_newer() -> None:
    tree = validate_snapshot(VECTORS["committed"])
    for following, code in ((msgspec.structs.replace(tree, session_id="t", revision=5), "schema"), (tree, "revision")):
        with pytest.raises(LocalProtocolError) as caught:
            diff(tree, following)
        assert caught.value.code == code


def test_resync_requests() -> None:
    assert plain(resync_request("s", None)) == {
        "type": "semantic-resync-request", "sessionId": "s", "expectedBaseRevision": None, "reason": "missing-base",
    }  # fmt: skip
    request = resync_request("s", validate_snapshot(VECTORS["committed"]))
    assert (request.expected_base_revision, request.reason) == (4, "base-mismatch")


# Cost.


def recorded() -> tuple[SemanticState, bytes]:
    (body,) = FrameDecoder(DEFAULT_LIMITS["maxFrameBytes"]).bodies(data("termwright", "frame-full-1000.bin").read_bytes())
    message = read_adapter_message(body)
    assert isinstance(message, SemanticFull)
    return SemanticState.of(message.snapshot), data("termwright", "frame-delta-1000-1pct.bin").read_bytes()


def decode_and_apply(state: SemanticState, frame: bytes) -> SemanticState:
    (body,) = FrameDecoder(DEFAULT_LIMITS["maxFrameBytes"]).bodies(frame)
    message = read_adapter_message(body)
    assert isinstance(message, SemanticDelta)
    return state.apply(message.delta, size=len(body)).state


def test_the_recorded_delta() -> None:
    state, frame = recorded()
    following = decode_and_apply(state, frame).snapshot
    assert [node.name for node in following.nodes if node.name.startswith("Changed")] == [f"Changed {n}" for n in range(50, 1000, 100)]
    assert sum(old is new for old, new in zip(state.snapshot.nodes, following.nodes, strict=True)) == 990


def test_a_delta_costs_far_less_than_a_tree() -> None:
    """Generous, since other programs run here too; benchmarks/ has the figures."""
    state, frame = recorded()
    body = msgspec.json.encode(SemanticFull(snapshot=state.snapshot))
    spent: dict[str, float] = {}
    for name, work in (("delta", lambda: decode_and_apply(state, frame)), ("tree", lambda: read_adapter_message(body))):
        times = []
        for _ in range(7):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        spent[name] = min(times)
    assert spent["delta"] < spent["tree"] / 3
