"""Acting on nodes of real programs: a Textual form under the published probe, and hand-written adapters."""

from __future__ import annotations

import re
from typing import Any

import pytest

import termwright_kit as kit
from termwright_app_kit import ALL, CLICKED, Told, board, hexed, refused
from termwright_kit import FORM, PATIENCE, run, scripted
from triptych.engine import terminal
from triptych.engine.terminal import expect
from triptych.errors import WaitTimeout
from triptych.generated.termwright.models import Node


def test_a_textual_form_is_filled_in_and_sent() -> None:
    told = Told()

    async def main() -> None:
        async with terminal.launch(FORM, columns=80, rows=30, observers=[told], ready_timeout=PATIENCE) as app:
            title, approve = app.get_by_test_id("title"), app.get_by_role("button", name="Approve")
            await expect(title).to_be_focused(timeout=PATIENCE)
            await expect(title).to_have_value("")
            await expect(approve).not_.to_be_focused()
            await expect(app.get_by_role("button")).to_have_count(2)
            await title.type("v1")
            await title.fill("v1.2", timeout=PATIENCE)
            await expect(title).to_have_value("v1.2")
            assert await title.value() == "v1.2"

            ref = await approve.ref()
            await approve.click()
            status = app.get_by_test_id("status")
            await expect(status).to_have_text("Approve: v1.2", timeout=PATIENCE)
            await expect(status).to_contain_text("v1.2")
            await expect(status).to_have_text(re.compile(r"v\d\.\d$"))
            click = told.actions[-1]
            rect = await approve.rect()
            assert (click["type"], click["locator"]) == ("click", "get_by_role('button', name='Approve')")
            assert click["ref"] == ref.replace(ref.rpartition("@")[2], str(click["ref"]).rpartition("@")[2])
            assert (click["column"], click["row"]) == (rect.column + 7, rect.row + 1)

            # The reference of an old revision still means the same button.
            await app.get_by_role("textbox", name="Reviewer").fill("Ada", timeout=PATIENCE)
            await app.locator(ref).press("enter", timeout=PATIENCE)
            await expect(app.locator(ref)).to_be_focused()

            urgent = app.get_by_label("Urgent")
            await expect(urgent).not_.to_be_checked()
            await urgent.click()
            await expect(urgent).to_be_checked(timeout=PATIENCE)
            await expect(urgent).not_.to_be_disabled()
            await expect(app.get_by_role("list").get_by_text("Windows")).to_be_visible()
            await expect(app.get_by_text("Solaris")).not_.to_be_visible()

            reject = app.get_by_role("button").filter(text="Reject")
            await reject.focus(timeout=PATIENCE)
            await expect(reject).to_be_focused()
            await app.press("ctrl+q")
            assert await app.exited(timeout=PATIENCE) == 0
            await refused(reject.click(), "exited")
        assert told.events[0] == "resized 80x30"
        assert told.events[-2:] == ["exited 0", "acted close"]
        assert told.events.index("published 1") < told.events.index("acted type")

    run(main)


def test_what_is_not_found_is_told_with_what_was_seen() -> None:
    async def main() -> None:
        async with terminal.launch(FORM, ready_timeout=PATIENCE) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            nothing = app.get_by_role("button", name="Publish")
            seen = await refused(nothing.click(timeout=0.1), repr(nothing), "not-found")
            assert 'button "Approve" #approve' in seen
            assert "Release notes" in seen
            await refused(nothing.resolve(timeout=0.1), repr(nothing), "not-found")
            both = app.get_by_role("button")
            assert "Approve" in await refused(both.click(), "get_by_role('button')", "ambiguous")
            assert isinstance(await both.first.resolve(), Node)
            assert await both.nth(1).text() == "Reject"
            assert await both.last.text() == "Reject"
            with pytest.raises(WaitTimeout) as late:
                await expect(both.first).to_be_focused(timeout=0.1)
            assert "get_by_role('button').first to be focused" in late.value.waited_for
            assert "#title [focused]" in late.value.seen
            with pytest.raises(WaitTimeout, match="not to be visible"):
                await expect(both.first).not_.to_be_visible(timeout=0.1)
            with pytest.raises(WaitTimeout, match="to be 3"):
                await expect(both).to_have_count(3, timeout=0.1)
            await refused(app.locator("nobody@1").click(timeout=0.1), "nobody@1", "stale-ref")
            await refused(both.first.press("hyper+a"), "hyper+a", "unknown-key")

    run(main)


def test_pointer_actions_go_to_the_proved_cell() -> None:
    async def main() -> None:
        told = Told()
        async with terminal.launch(board(), observers=[told]) as app:
            go = app.get_by_role("button", name="Go")
            await go.click(timeout=PATIENCE)
            await app.wait_for_text(hexed(b"\x1b[<0;13;6M\x1b[<0;13;6m"), timeout=PATIENCE)
            await go.click(button="right", modifiers="ctrl", count=2)
            await go.wheel(2)
            await go.drag_to(app.get_by_role("button", name="Stop"))
            expected = b"\x1b[<18;13;6M\x1b[<18;13;6m" * 2 + b"\x1b[<65;13;6M" * 2 + b"\x1b[<0;13;6M\x1b[<0;23;7m"
            assert told.sent.endswith(expected)
            drag = {"type": "drag", "locator": repr(go), "column": 12, "row": 5, "target": "get_by_role('button', name='Stop')"}
            assert told.actions[-1] == {**drag, "to_column": 22, "to_row": 6}
            await refused(go.hover(), "mouse-mode")
            assert terminal.format_tree(app.tree, refs=True).splitlines()[1] == '  button "Go" at 10,5 6x1 [go@1]'  # type: ignore[arg-type]  # published
            await refused(app.get_by_role("application").click(timeout=0.05), "hit-grid")
            assert told.sent.endswith(expected)

    run(main)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"space": kit.known("framework-local-cells")}, "coordinate-space"),
        ({"space": kit.unsupported()}, "coordinate-space"),
        ({"hits": None, "capabilities": ALL[:-1]}, "hit-grid"),
        ({"hits": [kit.region("stop", 10, 5, 6)]}, "hit-grid"),
        ({"print_first": ""}, "mouse-mode"),
        ({"go": {"state": {"disabled": True}}}, "disabled"),
        ({"go": {"state": {"hidden": True}}}, "hidden"),
    ],
)
def test_what_is_not_proved_is_refused_and_nothing_is_sent(how: dict[str, Any], path: str) -> None:
    async def main() -> None:
        told = Told()
        async with terminal.launch(board(**how), observers=[told]) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            go = app.get_by_role("button", name="Go")
            for action in (go.click(timeout=0.05), go.wheel(timeout=0.05), go.hover(timeout=0.05), go.drag_to(go, timeout=0.05)):
                await refused(action, path)
            assert told.sent == b""
            assert told.actions == []

    run(main)


def test_an_action_waits_until_the_node_is_ready() -> None:
    def at(revision: int, **go: Any) -> dict[str, Any]:
        nodes = (kit.node("app", role="application"), kit.node("go", "app", seen=kit.rect(10, 5, 6), **go))
        return kit.full(revision, *nodes, hits=[kit.region("go", 10, 5, 6)])

    program = scripted(
        at(1, state={"disabled": True}), {"marker": 1}, {"key": True}, at(2, state={"hidden": True}), {"marker": 2}, {"key": True}, at(3),
        {"marker": 3}, print=CLICKED, capabilities=ALL,
    )  # fmt: skip

    async def main() -> None:
        import asyncio

        async with terminal.launch(program) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            click = asyncio.create_task(app.get_by_role("button").click(timeout=PATIENCE))
            for revision in (2, 3):
                await app.press("x")
                await app.wait_for_revision(revision, timeout=PATIENCE)
            await click
            await app.wait_for_text(hexed(b"\x1b[<0;13;6M\x1b[<0;13;6m"), timeout=PATIENCE)

    run(main)


RECIPES = [
    {"action": "focus", "requiresFocus": False, "steps": [{"kind": "press", "key": "f6"}]},
    {"action": "setValue", "requiresFocus": True, "steps": [{"kind": "press", "key": "ctrl+u"}, {"kind": "insert-action-value"}]},
]


def test_recipes_are_carried_out_with_real_keys() -> None:
    box = {"actions": ["focus", "setValue"], "inputRecipes": RECIPES, "value": kit.public("old")}

    def at(revision: int, focused: bool, value: str) -> dict[str, Any]:
        given = {**box, "state": {"focused": focused}, "value": kit.public(value)}
        return kit.full(
            revision, kit.node("app", role="application"), kit.node("box", "app", role="textbox", seen=kit.rect(0, 0), **given), hits=[]
        )

    program = scripted(
        at(1, False, "old"), {"marker": 1}, {"key": True}, at(2, True, "old"), {"marker": 2}, *[{"key": True}] * 4, at(3, True, "new"),
        {"marker": 3}, capabilities=ALL,
    )  # fmt: skip

    async def main() -> None:
        told = Told()
        async with terminal.launch(program, observers=[told]) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            await app.get_by_role("textbox").fill("new", timeout=PATIENCE)
            assert told.sent == b"\x1b[17~\x15new"
            assert [action["type"] for action in told.actions] == ["focus", "fill"]

    run(main)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"box": {"state": {"readonly": True}}}, "readonly"),
        ({"box": {"state": {"focused": True}}}, "fill"),
        ({"box": {"value": {**kit.known("x"), "sensitivity": "sensitive"}}}, "fill"),
        ({"box": {"value": kit.public("x"), "state": {"multiline": True}}}, "fill"),
        ({"box": {"value": kit.public("x")}, "capabilities": tuple(name for name in ALL if name != "focus-state")}, "focus"),
        (
            {"box": {"actions": ["setValue"], "inputRecipes": [{**RECIPES[1], "requiresFocus": False,
                                                                "steps": [{"kind": "press", "key": "Hyper"}, RECIPES[1]["steps"][1]]}]}},  # type: ignore[index]
            "recipe",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_filled_is_refused(how: dict[str, Any], path: str) -> None:
    async def main() -> None:
        told = Told()
        async with terminal.launch(board(**how), observers=[told]) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            await refused(app.get_by_role("textbox").fill("new", timeout=0.05), path)
            assert told.sent == b""

    run(main)


def test_facts_that_are_not_observed_are_no_proof_of_the_opposite() -> None:
    secret = {"value": {**kit.known("hunter2"), "sensitivity": "sensitive"}}
    plain = tuple(name for name in ALL if name not in ("focus-state", "states"))

    async def main() -> None:
        async with terminal.launch(board(box=secret, capabilities=plain)) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            go, box = app.get_by_role("button", name="Go"), app.get_by_role("textbox")
            await refused(expect(go).not_.to_be_focused(), "focus-state", "not-observable")
            await refused(expect(go).not_.to_be_disabled(), "states", "not-observable")
            await refused(box.value(), "value", "not-observable")
            await refused(expect(box).to_have_value("hunter2"), "value", "not-observable")
            assert await go.value() is None
            await expect(go).to_have_value(None)
            await expect(go).not_.to_have_value("")

    run(main)


def test_after_the_adapter_has_gone_its_hit_grid_proves_nothing() -> None:
    async def main() -> None:
        async with terminal.launch(board()) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            for link in list(app._driver._listener._links.values()):
                link.transport.abort()
            await app.wait_until(lambda: app.diagnostics[-1].code == "adapter-disconnected", timeout=PATIENCE)
            await refused(app.get_by_role("button", name="Go").click(timeout=0.05), "no-tree")
            assert await app.get_by_role("button", name="Go").text() == "Go"

    run(main)
