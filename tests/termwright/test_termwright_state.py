"""Deltas: the recorded cases, the order of the checks, what stays when a delta is refused, and what a delta costs."""

from __future__ import annotations

import copy
import json
import time
from functools import partial
from typing import Any

import msgspec
import pytest

from delta_kit import as_raw, canonical, delta_of, held, plain, refusal
from shared_data import data
from triptych.errors import LocalProtocolError, RemoteProtocolError
from triptych.generated.termwright.models import Delta, SemanticDelta, SemanticFull, Snapshot
from triptych.machines.termwright.framing import FrameDecoder
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.messages import read_adapter_message
from triptych.machines.termwright.semantic_state import BaseMismatch, SemanticState, diff, resync_request
from triptych.machines.termwright.validate import validate_snapshot

VECTORS = json.loads(data("termwright", "deltas-v3.json").read_text())


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


# Deltas of our own.


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
