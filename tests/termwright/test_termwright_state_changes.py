"""What a change can touch, one by one: the short check of a delta may not miss any of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import pytest

from delta_kit import ABSENT, EVIDENCE, as_raw, book_code, copied, delta_of, full, held, refusal
from triptych.generated.termwright.models import SemanticFull
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.messages import read_adapter_message
from triptych.machines.termwright.semantic_state import SemanticState


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
