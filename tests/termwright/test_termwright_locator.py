"""Finding nodes in trees made by hand, aiming at what the hit grid proves, and references that say when they are stale."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import termwright_kit as kit
from triptych.adapters.termwright.emulator import open_emulator
from triptych.engine.terminal import query
from triptych.engine.terminal.aim import NotActionable, aim
from triptych.engine.terminal.matching import matches
from triptych.engine.terminal.refs import Refs
from triptych.engine.terminal.screen_text import find
from triptych.errors import LocalProtocolError
from triptych.generated.termwright.models import Node, Snapshot
from triptych.machines.termwright.validate import validate_snapshot

FORM = (
    kit.node("app", role="application", name="Form"),
    kit.node("label", "app", role="text", name="Your  name:"),
    kit.node("field", "app", role="textbox", name="", labelledBy=["label"], value=kit.public("Ada")),
    kit.node("secret", "app", role="textbox", name="Password", value={**kit.known("hunter2"), "sensitivity": "sensitive"}),
    kit.node("box", "app", role="region", name="", testId="choices"),
    kit.node("yes", "box", role="checkbox", seen=kit.rect(0, 3), name="Approve", state={"checked": True}),
    kit.node("no", "box", role="checkbox", seen=kit.rect(0, 4), name="Approve later", state={"checked": False, "disabled": True}),
    kit.node("item", "box", role="listitem", name="Linux"),
    kit.node("words", "item", role="text", name="Linux"),
    kit.node("gone", "box", role="button", name="Approve", state={"hidden": True}),
)


def tree(*nodes: dict[str, Any], **more: Any) -> Snapshot:
    return validate_snapshot(kit.snapshot(more.pop("revision", 1), *(nodes or FORM), session="s", **more))


def found(*steps: query.Step, given: Snapshot | None = None) -> list[str]:
    return [node.id for node in query.pick_all(query.TreeIndex(given or tree()), steps)]


def node(snapshot: Snapshot, name: str) -> Node:
    return next(node for node in snapshot.nodes if node.id == name)


@pytest.mark.parametrize(
    ("step", "ids"),
    [
        (query.by_role("checkbox", None, False), ["yes", "no"]),
        (query.by_role("checkbox", "approve", False), ["yes", "no"]),
        (query.by_role("checkbox", "Approve", True), ["yes"]),
        (query.by_role("checkbox", "approve", True), []),
        (query.by_role("checkbox", re.compile("later$"), False), ["no"]),
        (query.by_role("region", "approve linux", False), []),
        (query.by_role("listitem", "linux", False), ["item"]),
        (query.by_test_id("choices"), ["box"]),
        (query.by_test_id("choice"), []),
        (query.by_text("Linux", True), ["words"]),
        (query.by_text("ada", False), ["field"]),
        (query.by_text("hunter2", False), []),
        (query.by_text(re.compile("^Approve$"), False), ["yes", "gone"]),
        (query.by_label("your name", False), ["field"]),
        (query.by_label("Your name:", True), ["field"]),
        (query.by_label("password", False), ["secret"]),
        (query.by_label("Linux", False), []),
    ],
)
def test_one_step(step: query.Step, ids: list[str]) -> None:
    assert found(step) == ids


def test_steps_follow_each_other() -> None:
    box = query.by_test_id("choices")
    assert found(box, query.by_role("checkbox", None, False)) == ["yes", "no"]
    assert found(box, query.by_role("textbox", None, False)) == []
    assert found(query.by_role("checkbox", None, False), query.nth(-1)) == ["no"]
    assert found(query.by_role("checkbox", None, False), query.nth(5)) == []
    # Inside several nodes at once, each node is found once, in the order of the tree.
    assert found(query.filtered(None, False, None, None, {}), query.by_role("text", None, False)) == ["label", "words"]


@pytest.mark.parametrize(
    ("how", "ids"),
    [
        ({"states": {"checked": True}}, ["yes"]),
        ({"states": {"checked": False}}, ["no"]),
        ({"states": {"disabled": False}}, ["yes"]),
        ({"states": {"disabled": True, "checked": False}}, ["no"]),
        ({"text": "later"}, ["no"]),
        ({"text": "Approve", "exact": True}, ["yes"]),
        ({"visible": True}, ["yes", "no"]),
        ({"inner": [query.by_text("Linux", False)]}, []),
    ],
)
def test_filters(how: dict[str, Any], ids: list[str]) -> None:
    given = {"text": None, "exact": False, "inner": None, "visible": None, "states": {}, **how}
    assert found(query.by_role("checkbox", None, False), query.filtered(**given)) == ids


def test_a_filter_by_what_is_inside() -> None:
    inner = [query.by_role("checkbox", "later", False)]
    assert found(query.filtered(None, False, inner, None, {})) == ["app", "box"]


def test_words_that_are_none() -> None:
    for make, code in (
        (lambda: query.by_role("slider", None, False), "unknown-role"),
        (lambda: query.filtered(None, False, None, None, {"pressed": True}), "unknown-state"),
    ):
        with pytest.raises(LocalProtocolError) as refusal:
            make()
        assert refusal.value.code == code


def test_what_a_locator_is_called() -> None:
    steps = (
        query.by_role("button", "Go", True),
        query.nth(0),
        query.filtered("x", False, [query.by_test_id("t")], True, {"checked": True}),
    )
    assert [step.said for step in steps] == [
        "get_by_role('button', name='Go', exact=True)",
        "first",
        "filter('x', visible=True, checked=True, has=get_by_test_id('t'))",
    ]


@pytest.mark.parametrize(
    ("geometry", "state", "visible"),
    [
        ({"displayed": kit.known(True), "visibleRect": kit.known(kit.rect(0, 0))}, {}, True),
        ({"displayed": kit.known(False), "visibleRect": kit.known(kit.rect(0, 0))}, {}, False),
        ({"displayed": kit.ABSENT, "visibleRect": kit.ABSENT}, {}, False),
        ({"displayed": kit.known(True), "visibleRect": kit.known(kit.rect(0, 0, 0, 1))}, {}, False),
        ({"displayed": kit.known(True), "visibleRect": kit.ABSENT}, {}, False),
        ({"displayed": kit.known(True), "visibleRect": kit.unsupported()}, {}, True),
        ({"displayed": kit.known(True), "visibleRect": kit.unsupported()}, {"hidden": True}, False),
        ({"displayed": kit.unsupported(), "visibleRect": kit.known(kit.rect(0, 0))}, {}, False),
    ],
)
def test_what_can_be_seen(geometry: dict[str, Any], state: dict[str, Any], visible: bool) -> None:
    given = tree(kit.node("a", state=state, geometry={"intendedRect": kit.unsupported(), **geometry}))
    assert query.is_visible(given.nodes[0]) is visible


BOARD = (kit.node("root", role="application"), kit.node("a", "root", seen=kit.rect(2, 1, 10, 3)), kit.node("b", "root"))


def aimed(hits: list[dict[str, Any]] | None, name: str = "a", size: tuple[int, int] = (80, 24), **more: Any) -> tuple[int, int]:
    given = tree(*BOARD, hits=hits, **more)
    return aim(given, node(given, name), size)


def refusal(*args: Any, **more: Any) -> tuple[str, str, bool]:
    with pytest.raises(NotActionable) as refused:
        aimed(*args, **more)
    return refused.value.code, refused.value.path, refused.value.waits


def test_the_aim_is_the_owned_cell_nearest_to_the_middle() -> None:
    whole = [kit.region("a", 2, row, 10) for row in (1, 2, 3)]
    assert aimed(whole) == (6, 2)
    assert aimed([kit.region("a", 2, 1, 2), kit.region("b", 4, 1, 8)]) == (3, 1)
    assert aimed([kit.region("b", 0, 2, 9), kit.region("a", 9, 2, 3)]) == (9, 2)
    assert aimed([kit.region("b", 5, 5, 9)], "b") == (9, 5)  # what is not known to be seen somewhere has its runs


def test_what_cannot_be_proved_is_refused() -> None:
    runs = [kit.region("a", 2, 1, 10)]
    assert refusal(runs, space=kit.known("framework-local-cells")) == ("not-actionable", "coordinate-space", False)
    assert refusal(runs, space=kit.unsupported()) == ("not-actionable", "coordinate-space", False)
    assert refusal(runs, space=kit.UNKNOWN) == ("not-actionable", "coordinate-space", False)
    assert refusal(runs, size=(80, 25)) == ("not-actionable", "coordinate-space", True)
    assert refusal(None) == ("not-actionable", "hit-grid", False)
    assert refusal([]) == ("not-actionable", "hit-grid", True)
    assert refusal([kit.region("b", 2, 1, 10)]) == ("not-actionable", "hit-grid", True)
    with pytest.raises(NotActionable, match="its cells belong to button 'B'"):
        aimed([kit.region("b", 2, 1, 10)])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 90), st.integers(0, 30), st.integers(1, 9)), max_size=20))
def test_an_aimed_cell_always_lies_in_a_run_of_the_node(runs: list[tuple[str, int, int, int]]) -> None:
    hits: list[dict[str, Any]] = []
    for owner, column, row, width in sorted(runs, key=lambda run: (run[2], run[1])):
        last = hits[-1]["rect"] if hits else None
        if column < 80 and row < 24 and (last is None or row > last["row"] or column >= last["column"] + last["width"]):
            hits.append(kit.region(owner, column, row, width))
    try:
        column, row = aimed(hits)
    except NotActionable as refused:
        assert refused.path == "hit-grid"
        assert not any(hit["recipientId"] == "a" for hit in hits)
        return
    owners = [
        hit["recipientId"]
        for hit in hits
        if hit["rect"]["row"] == row and hit["rect"]["column"] <= column < hit["rect"]["column"] + hit["rect"]["width"]
    ]
    assert owners == ["a"]
    assert column < 80
    assert row < 24


def test_references() -> None:
    refs = Refs()
    first = tree(kit.node("a"), kit.node("b", "a"), kit.node("x@y", "a"), revision=1)
    refs.published(first)
    assert refs.ref(node(first, "b")) == "b@1"
    assert refs.check("x@y@1") == "x@y"
    refs.published(tree(kit.node("a"), kit.node("b", "a"), revision=4))
    assert refs.check("b@1") == refs.check("b@4") == "b"
    refs.published(tree(kit.node("a"), revision=5))
    refs.published(tree(kit.node("a"), kit.node("b", "a"), revision=6))
    assert refs.check("b@6") == "b"
    for ref, code in (
        ("b@4", "stale-ref"),
        ("b@7", "stale-ref"),
        ("c@6", "stale-ref"),
        ("b", "not-found"),
        ("@6", "not-found"),
        ("b@", "not-found"),
        ("b@x", "not-found"),
    ):
        with pytest.raises(LocalProtocolError) as refused:
            refs.check(ref)
        assert refused.value.code == code
    refs.stable = False
    assert refs.check("a@6") == "a"
    with pytest.raises(LocalProtocolError) as refused:
        refs.check("a@5")
    assert refused.value.code == "stale-ref"


@pytest.mark.parametrize(
    ("wanted", "text", "exact", "held"),
    [
        ("save", "Save as", False, True),
        ("Save", "  Save ", True, True),
        ("save", "Save", True, False),
        ("STRASSE", "Straße", False, True),
        ("a  b", "xa\nbx", False, True),
        (re.compile("^S.+e$"), "Save", True, True),
        ("", "anything", False, True),
    ],
)
def test_matching(wanted: Any, text: str, exact: bool, held: bool) -> None:
    assert matches(wanted, text, exact) is held


def test_text_on_the_screen_and_its_cells() -> None:
    emulator = open_emulator(30, 4)
    try:
        emulator.feed("中文  Save   save all\r\n│ Save │ x\r\n[Save]".encode())
        screen = emulator.screen()
    finally:
        emulator.close()

    def cells(wanted: Any, exact: bool = False) -> list[tuple[int, int, int]]:
        return [(match.rect.column, match.rect.row, match.rect.width) for match in find(screen, wanted, exact)]

    assert cells("save") == [(6, 0, 4), (13, 0, 4), (2, 1, 4), (1, 2, 4)]
    assert cells("Save", exact=True) == [(6, 0, 4), (2, 1, 4), (1, 2, 4)]
    assert cells("文") == [(2, 0, 2)]
    assert cells(re.compile("s.ve a..")) == [(13, 0, 8)]
    assert cells("never") == cells("") == cells(re.compile("q*z*")) == []
    assert find(screen, "文", False)[0].text == "文"
