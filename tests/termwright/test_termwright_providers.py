"""What evidence providers add to a published tree, and every way in which they can break their word."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json

import termwright_kit as kit
from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.models import KnownHitGrid, KnownPaintedRegion, KnownScroll, Node, ProviderInfo, Snapshot
from triptych.machines.termwright.negotiation import Diagnostic
from triptych.machines.termwright.pairing import Pair
from triptych.machines.termwright.providers import compose
from triptych.machines.termwright.session import DriverSession
from triptych.machines.termwright.validate import validate_snapshot

ALL = ("pointer-regions", "hit-test", "focus-state", "action-recipes", "scroll-state", "painted-regions", "terminal-input-modes")
RECIPE = {"action": "activate", "requiresFocus": False, "steps": [{"kind": "press", "key": "x"}]}
OTHER = {"action": "activate", "requiresFocus": True, "steps": [{"kind": "press", "key": "x"}]}
MODES = {"mouseTracking": "any", "mouseEncoding": "sgr", "focusReporting": "off"}
PAINT = {"regionBounds": kit.rect(0, 0, 4, 1), "spans": [{"row": 0, "from": 0, "to": 4}]}
SCROLL = {"axis": "vertical", "offset": 1, "viewport": 2, "extent": 9}


def provider(name: str, *capabilities: str) -> ProviderInfo:
    return ProviderInfo(id=name, version="1", method="native", capabilities=capabilities)  # type: ignore[arg-type]  # words of the protocol


def entry(name: str = "p", **parts: Any) -> dict[str, Any]:
    evidence = {"source": "application", "method": "native", "strength": "authoritative", "providerId": name}
    return {
        "providerId": name, "status": "available", "sessionId": "s", "revision": 1, "evidence": evidence, "pointerRegions": [], **parts
    }  # fmt: skip


def bad(name: str, status: str) -> dict[str, Any]:
    return {"providerId": name, "status": status, "sessionId": "s", "revision": 1, "reason": "it is gone"}


def tree(*entries: dict[str, Any], a: dict[str, Any] | None = None, hits: list[dict[str, Any]] | None = None) -> Snapshot:
    nodes = (
        kit.node("root", role="application"),
        kit.node("a", "root", **{"actions": ["activate"], **(a or {})}),
        kit.node("b", "root", actions=["activate"]),
    )
    return validate_snapshot(kit.snapshot(1, *nodes, session="s", hits=hits, providerEvidence=list(entries)))


def node(snapshot: Snapshot, name: str) -> Node:
    return next(node for node in snapshot.nodes if node.id == name)


FULL = {
    "pointerRegions": [{"recipientId": "a", **PAINT}],
    "hitGrid": {"regions": [kit.region("a", 0, 0, 4), kit.region("b", 4, 0, 4)]},
    "focusState": {"status": "focused", "recipientId": "b"},
    "actionRecipes": [{"recipientId": "a", "recipes": [RECIPE]}],
    "scrollStates": [{"recipientId": "a", **SCROLL}],
    "paintedRegions": [{"recipientId": "b", **PAINT}],
    "inputModes": MODES,
}


def test_a_tree_without_providers_is_itself() -> None:
    for given in (tree(), validate_snapshot(kit.snapshot(1, kit.node("root"), session="s"))):
        assert compose(given, ()) is given


def test_every_part_comes_to_its_place() -> None:
    composed = compose(tree(entry(**FULL)), (provider("p", *ALL),))
    assert type(composed.hit_grid) is KnownHitGrid
    assert [(run.recipient_id, run.rect.column, run.rect.width) for run in composed.hit_grid.value.regions] == [("a", 0, 4), ("b", 4, 4)]
    assert composed.hit_grid.evidence.source == "application"
    assert composed.hit_grid.evidence.provider_id == "p"
    a, b = node(composed, "a"), node(composed, "b")
    assert a.input_recipes
    assert a.input_recipes[0].action == "activate"
    assert type(a.scroll) is KnownScroll
    assert (a.scroll.value.offset, a.scroll.value.extent) == (1, 9)
    assert type(b.painted_region) is KnownPaintedRegion
    assert b.state
    assert b.state.focused is True
    # What is composed is a tree like any other.
    assert validate_snapshot(json.decode(json.encode(composed))) == composed


def test_two_providers_complete_each_other() -> None:
    first = entry("p", hitGrid={"regions": [kit.region("a", 0, 0, 4), kit.region("a", 0, 2, 3)]})
    second = entry("q", hitGrid={"regions": [kit.region("a", 2, 0, 4), kit.region("b", 0, 1, 2)]})
    composed = compose(tree(first, second), (provider("p", "hit-test"), provider("q", "hit-test")))
    assert type(composed.hit_grid) is KnownHitGrid
    runs = [(run.recipient_id, run.rect.column, run.rect.row, run.rect.width) for run in composed.hit_grid.value.regions]
    assert runs == [("a", 0, 0, 4), ("a", 4, 0, 2), ("b", 0, 1, 2), ("a", 0, 2, 3)]
    assert validate_snapshot(json.decode(json.encode(composed))) == composed


def test_the_framework_s_known_grid_stays() -> None:
    given = tree(entry(hitGrid={"regions": [kit.region("a", 1, 0, 2)]}), hits=[kit.region("a", 0, 0, 9)])
    assert compose(given, (provider("p", "hit-test"),)).hit_grid is given.hit_grid


@pytest.mark.parametrize(
    ("registered", "given", "said"),
    [
        ((provider("p", "hit-test"),), tree(), "delivers nothing"),
        ((), tree(entry()), "not registered"),
        ((provider("p", "pointer-regions"),), tree(entry(), entry("q")), "not registered"),
        ((provider("p", "hit-test"),), tree(bad("p", "lost")), "lost: it is gone"),
        ((provider("p", "hit-test"),), tree(bad("p", "violation")), "in violation: it is gone"),
        *(((provider("p", name),), tree(entry()), f"registered {name}") for name in ALL if name != "pointer-regions"),
        ((provider("p", "hit-test"),), tree(entry(hitGrid=FULL["hitGrid"], inputModes=MODES)), "did not register"),
        ((provider("p", "hit-test"),), tree(entry(hitGrid=FULL["hitGrid"], pointerRegions=FULL["pointerRegions"])), "pointer-regions"),
    ],
)
def test_a_provider_that_does_not_keep_its_word(registered: tuple[ProviderInfo, ...], given: Snapshot, said: str) -> None:
    with pytest.raises(RemoteProtocolError) as refusal:
        compose(given, registered)
    assert refusal.value.code == "capability-provider-violation"
    assert said in refusal.value.detail


@pytest.mark.parametrize(
    ("capability", "first", "second"),
    [
        ("hit-test", {"hitGrid": {"regions": [kit.region("a", 0, 0, 4)]}}, {"hitGrid": {"regions": [kit.region("b", 3, 0, 2)]}}),
        ("focus-state", {"focusState": {"status": "none"}}, {"focusState": FULL["focusState"]}),
        ("terminal-input-modes", {"inputModes": MODES}, {"inputModes": {**MODES, "mouseTracking": "none"}}),
        ("action-recipes", {"actionRecipes": FULL["actionRecipes"]}, {"actionRecipes": [{"recipientId": "a", "recipes": [OTHER]}]}),
        ("scroll-state", {"scrollStates": FULL["scrollStates"]}, {"scrollStates": [{"recipientId": "a", **SCROLL, "offset": 2}]}),
        ("pointer-regions", {"pointerRegions": FULL["pointerRegions"]}, {"pointerRegions": [{"recipientId": "a", **PAINT, "spans": []}]}),
        ("painted-regions", {"paintedRegions": FULL["paintedRegions"]}, {"paintedRegions": [{"recipientId": "b", **PAINT, "spans": []}]}),
    ],
)
def test_facts_that_contradict_each_other(capability: str, first: dict[str, Any], second: dict[str, Any]) -> None:
    registered = (provider("p", capability), provider("q", capability))
    agreed = compose(tree(entry("p", **first), entry("q", **first)), registered)
    assert agreed.revision == 1
    with pytest.raises(RemoteProtocolError) as refusal:
        compose(tree(entry("p", **first), entry("q", **second)), registered)
    assert refusal.value.code == "capability-provider-violation"


@pytest.mark.parametrize(
    ("capability", "part", "a", "hits"),
    [
        ("focus-state", {"focusState": FULL["focusState"]}, {"state": {"focused": True}}, None),
        ("focus-state", {"focusState": {"status": "focused", "recipientId": "a"}}, {"state": {"focused": False}}, None),
        ("action-recipes", {"actionRecipes": FULL["actionRecipes"]}, {"inputRecipes": [OTHER]}, None),
        ("scroll-state", {"scrollStates": FULL["scrollStates"]}, {"scroll": kit.known({**SCROLL, "extent": 8})}, None),
        (
            "painted-regions",
            {"paintedRegions": [{"recipientId": "a", **PAINT}]},
            {"paintedRegion": kit.known({**PAINT, "spans": []})},
            None,
        ),
        ("hit-test", {"hitGrid": FULL["hitGrid"]}, {}, [kit.region("b", 0, 0, 1)]),
    ],
)
def test_facts_that_contradict_the_framework(capability: str, part: dict[str, Any], a: dict[str, Any], hits: Any) -> None:
    with pytest.raises(RemoteProtocolError) as refusal:
        compose(tree(entry(**part), a=a, hits=hits), (provider("p", capability),))
    assert refusal.value.code == "capability-provider-violation"


def test_the_session_fails_under_the_code_and_tells_the_peer_one_it_knows() -> None:
    from test_termwright_session import SESSION, TOKEN, codes, frame, full, hello, sent, snapshot

    core = DriverSession[str](TOKEN, SESSION, now=0.0, now_ms=1_000_000)
    core.spawned(0.0)
    core.connected(1, 0.1)
    registered = {"id": "p", "version": "1", "method": "native", "capabilities": ["hit-test"]}
    core.received(1, hello("tree", providers=[registered]), 0.2)
    given = {**snapshot(1), "providerEvidence": [{**entry(hitGrid={"regions": []}), "sessionId": SESSION}]}
    (published,) = core.received(1, frame({"type": "semantic-full", "snapshot": given}), 0.3)
    assert isinstance(published, Pair)
    assert published.tree.hit_grid.__struct_config__.tag == "known"
    assert core.tree is not None
    assert core.tree.hit_grid.__struct_config__.tag == "unsupported"  # what deltas are applied to is what was sent
    outputs = core.received(1, full(2), 0.4)
    assert codes(outputs) == ["capability-provider-violation", "protocol-violation"]
    assert sent(outputs)[0]["code"] == "malformed"
    assert isinstance(core.failure, Diagnostic)
    assert core.failure.code == "capability-provider-violation"
    assert (core.broken, core.may_publish) == (True, False)
