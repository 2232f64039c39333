"""Our Textual probe under our own driver: each thing that it claims of a frame, on a program that shows one of everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from probe_kit import PATIENCE, Watch, by_test_id, check_by_both, focused, has, owners, probed, visible
from triptych.engine.terminal import Terminal
from triptych.generated.termwright.models import (
    Absent,
    KnownBoolean,
    KnownCoordinateSpace,
    KnownRect,
    KnownScroll,
    Rect,
    Unknown,
    Unsupported,
    ValueAbsent,
    ValueKnown,
    ValueWithheld,
)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 2 * PATIENCE))


async def until(app: Terminal, met: Callable[[], bool]) -> None:
    await app.wait_until(met, timeout=PATIENCE)


@pytest.fixture
def notes(tmp_path: Path) -> str:
    return str(tmp_path)


def test_a_key_moves_the_focus_in_a_new_revision(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await until(app, lambda: focused(app.tree) == "word")
            before = app.revision
            await app.press("tab")
            await until(app, lambda: focused(app.tree) == "secret")
            assert app.revision > before
            assert app.revision_screen is not None

    run(main)


def test_values_are_known_empty_absent_or_withheld(notes: str) -> None:
    async def main() -> None:
        watch = Watch()
        async with probed("probe_zoo.py", notes, watch=watch) as app:
            word = by_test_id(app.tree, "word").value
            assert isinstance(word, ValueKnown)
            assert (word.value, word.sensitivity) == ("plain", "public")
            assert by_test_id(app.tree, "secret").value == ValueWithheld(reason="sensitive", sensitivity="sensitive")
            assert by_test_id(app.tree, "heading").value is UNSET
            await app.press(*["backspace"] * 5)
            await until(app, lambda: getattr(by_test_id(app.tree, "word").value, "value", None) == "")
            assert "hunter2" not in json.dumps(watch.messages)
            assert "hunter2" not in app.screen.text

    run(main)


def test_a_value_that_does_not_exist_is_absent() -> None:
    async def main() -> None:
        async with probed("probe_gallery.py") as app:
            select = by_test_id(app.tree, "select").value
            assert isinstance(select, ValueAbsent)
            assert select.reason == "no-value"
            await app.press("f2")
            await until(app, lambda: getattr(by_test_id(app.tree, "select").value, "value", None) == "Second")
            progress = by_test_id(app.tree, "progress").value
            assert getattr(progress, "value", None) == "25%"

    run(main)


def test_roles_names_and_states_of_textual_s_own_widgets() -> None:
    async def main() -> None:
        async with probed("probe_gallery.py", rows=60) as app:

            def said(test_id: str) -> tuple[str, str]:
                node = by_test_id(app.tree, test_id)
                return node.role, node.name

            assert said("switch") == ("checkbox", "")
            assert said("red") == ("radio", "Red")
            assert said("list") == ("list", "")
            assert said("first-item") == ("listitem", "First item")
            assert said("options") == ("list", "")
            assert said("rule") == ("separator", "")
            assert said("fold") == ("region", "Fold")
            assert said("pane") == ("region", "Pane one")
            assert said("digits") == ("text", "12:34")
            assert said("titled") == ("region", "A title")
            assert said("markdown") == ("region", "")
            assert app.tree is not None
            heads = [node for node in app.tree.nodes if node.role == "heading"]
            assert [(node.name, getattr(node.state, "level", None)) for node in heads] == [("Gallery", 1), ("Chapter", 1)]
            tabs = [node for node in app.tree.nodes if node.role == "tab"]
            assert [(node.name, getattr(node.state, "selected", None)) for node in tabs] == [("Pane one", True), ("Pane two", False)]
            assert by_test_id(app.tree, "options").opaque_children is True
            assert by_test_id(app.tree, "fold").state.expanded is False  # type: ignore[union-attr]
            assert app.tree.nodes[0].role == "application"
            assert app.tree.nodes[0].name == "Gallery"
            # The pane that is not shown is not claimed to be anywhere.
            assert isinstance(by_test_id(app.tree, "other-pane").geometry.visible_rect, Absent)
            check_by_both(app.tree)

    run(main)


def test_checked_and_disabled(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            assert by_test_id(app.tree, "no").state.disabled is True  # type: ignore[union-attr]
            assert by_test_id(app.tree, "word").state.disabled is False  # type: ignore[union-attr]
            assert by_test_id(app.tree, "agree").state.checked is False  # type: ignore[union-attr]
            await app.press("tab", "tab")
            await until(app, lambda: focused(app.tree) == "agree")
            await app.press("space")
            await until(app, lambda: by_test_id(app.tree, "agree").state.checked is True)  # type: ignore[union-attr]

    run(main)


def test_no_observation_is_ever_unknown(notes: str) -> None:
    async def main() -> None:
        watch = Watch()
        async with probed("probe_zoo.py", notes, watch=watch) as app:
            await app.press("f7", "tab", "f2")
            await until(app, lambda: has(app.tree, "question"))
            assert watch.trees
            for tree in watch.trees:
                facts = [tree.hit_grid, tree.coordinate_space]
                for node in tree.nodes:
                    facts += [node.geometry.displayed, node.geometry.intended_rect, node.geometry.visible_rect, node.value, node.scroll]  # type: ignore[list-item]
                assert not any(isinstance(fact, Unknown) for fact in facts)

    run(main)


def test_a_scrolled_container_clips_what_is_seen_and_not_what_is_meant(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            scroller = visible(by_test_id(app.tree, "scroller"))
            first, hidden = by_test_id(app.tree, "line-0"), by_test_id(app.tree, "line-30")
            assert visible(first).row == scroller.row
            assert hidden.geometry.intended_rect.value.row == scroller.row + 30  # type: ignore[union-attr]
            assert (visible(hidden).width, visible(hidden).height) == (0, 0)
            assert hidden.state.offscreen is True  # type: ignore[union-attr]
            await app.press("f7")
            await until(app, lambda: visible(by_test_id(app.tree, "line-10")).row == scroller.row)
            first = by_test_id(app.tree, "line-0")
            assert first.geometry.intended_rect.value.row == scroller.row - 10  # type: ignore[union-attr]
            assert visible(first).height == 0
            scroll = by_test_id(app.tree, "scroller").scroll
            assert isinstance(scroll, KnownScroll)
            assert (scroll.value.axis, scroll.value.offset, scroll.value.viewport, scroll.value.extent) == ("vertical", 10, 6, 40)
            # What is said to be seen is on the screen of the same revision, and nothing else of that container is.
            assert app.tree is not None and app.revision_screen is not None
            for number in range(40):
                rect = visible(by_test_id(app.tree, f"line-{number}"))
                if rect.height:
                    assert f"line {number}" in app.revision_screen.lines[rect.row][rect.column : rect.column + rect.width + 1]
                else:
                    assert not 10 <= number < 16

    run(main)


def test_what_is_not_displayed_has_no_place(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            for test_id in ("gone", "unseen"):
                geometry = by_test_id(app.tree, test_id).geometry
                assert isinstance(geometry.displayed, KnownBoolean)
                assert geometry.displayed.value is False
                assert isinstance(geometry.intended_rect, Absent)
                assert isinstance(geometry.visible_rect, Absent)
                assert geometry.visible_rect.reason == "not-displayed"

    run(main)


def test_the_hit_grid_is_textual_s_own_routing_for_every_cell(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            for number, key in enumerate(("tab", "f7", "f9"), 1):
                before = app.revision
                await app.press(key)
                await app.wait_for_revision(after=before, timeout=PATIENCE)
                if key == "f9":  # what loads is animated, and never quiet
                    await until(app, lambda: app.tree is not None and any(each.role == "progressbar" for each in app.tree.nodes))
                else:
                    await app.wait_quiet(timeout=PATIENCE)
                await app.press("ctrl+r")
                await app.wait_for_text(f"routing {number} written", timeout=PATIENCE)
                routing = json.loads((Path(notes) / "routing.json").read_text())
                assert app.tree is not None
                grid, nodes = owners(app.tree), {node.id: node for node in app.tree.nodes}
                for index, owner in enumerate(routing["owners"]):
                    cell = divmod(index, routing["width"])
                    node = grid.get(cell)
                    while node is not None and node.framework_type is UNSET:
                        node = nodes[str(node.parent_id)]  # an item: Textual routes to the widget that drew it
                    kind, _, name = owner.partition("#")
                    assert (node.framework_type if node else "") == kind, cell
                    if node is not None and name and not name.startswith("_"):
                        assert node.test_id in (name, "orders-status"), cell

    run(main)


def test_overlapping_layers_route_to_the_top_and_a_click_proves_it(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            assert app.tree is not None
            grid = owners(app.tree)
            over, under = visible(by_test_id(app.tree, "over")), visible(by_test_id(app.tree, "under"))
            assert under.row <= over.row < under.row + under.height and under.column <= over.column < under.column + under.width
            assert grid[over.row, over.column].test_id == "over"
            assert grid[under.row, under.column].test_id == "under"
            assert grid[over.row, under.column].test_id == "under"
            agree = visible(by_test_id(app.tree, "agree"))
            assert grid[agree.row + 1, agree.column + 2].test_id == "agree"
            await app.click_cell(agree.column + 2, agree.row + 1)
            await until(app, lambda: by_test_id(app.tree, "agree").state.checked is True)  # type: ignore[union-attr]
            # A scroll bar is a node of its own, and a pointer there belongs to it.
            assert grid[visible(by_test_id(app.tree, "scroller")).row, 69].role == "scrollbar"

    run(main)


def test_a_modal_screen_takes_the_tree_and_the_pointer_and_gives_them_back(notes: str) -> None:
    async def main() -> None:
        watch = Watch()
        async with probed("probe_zoo.py", notes, watch=watch) as app:
            word = by_test_id(app.tree, "word").id
            await app.press("f2")
            await until(app, lambda: has(app.tree, "question"))
            tree = app.tree
            assert tree is not None
            root = next(node for node in tree.nodes if node.id == tree.root_ids[0])
            assert (root.role, root.name, root.state.modal) == ("dialog", "Really?", True)  # type: ignore[union-attr]
            assert not has(tree, "word")
            assert {node.test_id for node in owners(tree).values()} <= {UNSET, "question", "box", "yes"}
            await until(app, lambda: focused(app.tree) == "yes")
            await app.press("f4")
            await until(app, lambda: has(app.tree, "word"))
            assert by_test_id(app.tree, "word").id == word
            for published in watch.trees:
                check_by_both(published)

    run(main)


def test_another_screen(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await app.press("f3")
            await until(app, lambda: focused(app.tree) == "elsewhere")
            assert app.tree is not None
            assert app.tree.nodes[0].role == "application"
            await app.wait_for_text("The other screen", timeout=PATIENCE)

    run(main)


def test_resize(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await app.resize(90, 35)
            await until(app, lambda: app.tree is not None and (app.tree.columns, app.tree.rows) == (90, 35))
            assert app.tree is not None
            assert visible(app.tree.nodes[0]) == Rect(row=0, column=0, width=90, height=35)
            assert app.tree.coordinate_space.value == "viewport-cells"  # type: ignore[union-attr]

    run(main)


def test_the_cursor_is_where_the_terminal_has_it(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await app.type("xy")
            await until(app, lambda: getattr(by_test_id(app.tree, "word").value, "value", "") == "plainxy")
            await app.wait_quiet(timeout=PATIENCE)
            assert app.tree is not None and app.tree.cursor is not UNSET and app.revision_screen is not None
            assert app.tree.cursor.visible is False
            assert app.revision_screen.cursor == (app.tree.cursor.column, app.tree.cursor.row)

    run(main)


def test_an_annotation_wins_where_it_may_and_nowhere_else(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            node = by_test_id(app.tree, "orders-status")
            assert (node.id, node.role, node.name, node.actions) == ("orders", "status", "Orders: 3", ("activate",))
            assert node.extended == {"orders": 3, "currency": "EUR"}
            assert node.labelled_by == (by_test_id(app.tree, "heading").id,)  # the target that is not there is left out
            assert node.described_by == (by_test_id(app.tree, "word").id,)
            # Focus and visibility were declared, too, and are measured all the same.
            assert node.state.busy is True  # type: ignore[union-attr]
            assert node.state.focused is False  # type: ignore[union-attr]
            assert node.state.hidden is UNSET  # type: ignore[union-attr]
            assert app.revision_screen is not None
            assert app.revision_screen.lines[visible(node).row].startswith("three orders")
            assert node.px == {
                "role": "annotation",
                "name": "annotation",
                "testId": "annotation",
                "actions": "annotation",
                "labelledBy": "annotation",
                "describedBy": "annotation",
                "state.busy": "annotation",
                "extended": "application",
            }

    run(main)


def test_every_field_names_its_source(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            assert app.tree is not None
            assert {node.p for node in app.tree.nodes} == {"framework"}
            recognised = dict.fromkeys(("role", "actions", "inputRecipes"), "recognizer")
            assert by_test_id(app.tree, "word").px == {**recognised, "name": "heuristic"}
            assert by_test_id(app.tree, "heading").px == {"role": "recognizer"}
            assert by_test_id(app.tree, "drawn").px is UNSET

    run(main)


def test_an_unrecognised_widget_is_generic_and_opaque_unless_its_children_are_proved(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            drawn, composed = by_test_id(app.tree, "drawn"), by_test_id(app.tree, "composed")
            assert (drawn.role, drawn.framework_type, drawn.opaque_children) == ("generic", "Drawn", True)
            assert (composed.role, composed.framework_type, composed.opaque_children) == ("generic", "Composed", UNSET)
            assert by_test_id(app.tree, "inside").parent_id == composed.id
            table = by_test_id(app.tree, "table")
            assert [node.role for node in app.tree.nodes if node.parent_id == table.id] == ["row"]  # of its columns' names
            assert table.opaque_children is UNSET
            assert by_test_id(app.tree, "left").opaque_children is UNSET

    run(main)


def test_a_loading_widget_is_busy_and_its_cover_gets_the_pointer(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await app.press("f9")
            await until(app, lambda: getattr(by_test_id(app.tree, "scroller").state, "busy", None) is True)
            await until(app, lambda: app.tree is not None and any(node.framework_type == "LoadingIndicator" for node in app.tree.nodes))
            assert app.tree is not None
            scroller = by_test_id(app.tree, "scroller")
            cover = next(node for node in app.tree.nodes if node.framework_type == "LoadingIndicator")
            assert cover.parent_id == scroller.id
            assert owners(app.tree)[visible(cover).row + 1, visible(cover).column + 1] == cover

    run(main)


def test_where_clipping_is_not_known_it_is_unsupported_and_never_a_copy() -> None:
    async def main() -> None:
        async with probed("probe_compositor.py") as app:
            hello = app._driver.session.hello
            assert hello is not None and hello.probe is not UNSET
            assert "clipped-geometry" not in hello.capabilities
            assert "visible-rect" not in hello.probe.capabilities
            assert "clipped-geometry" in hello.probe.instrumentation.degraded_capabilities
            assert app.tree is not None
            for node in app.tree.nodes:
                assert isinstance(node.geometry.intended_rect, KnownRect)
                assert node.geometry.visible_rect == Unsupported(capability="clipped-geometry", reason="framework-unobservable")
            # The routing is still asked, now cell by cell, and follows the program's own rule.
            grid = owners(app.tree)
            assert grid[3, 10].test_id == "second"
            assert grid[3, 11].test_id == "first"
            check_by_both(app.tree)

    run(main)


def test_an_inline_program_has_a_tree_whose_cells_are_not_the_terminal_s() -> None:
    async def main() -> None:
        async with probed("probe_compositor.py", "inline") as app:
            hello = app._driver.session.hello
            assert hello is not None
            assert "pointer-hit-grid" not in hello.capabilities
            assert app.tree is not None
            assert isinstance(app.tree.coordinate_space, KnownCoordinateSpace)
            assert app.tree.coordinate_space.value == "framework-local-cells"
            assert app.tree.hit_grid == Unsupported(capability="pointer-hit-grid", reason="framework-unobservable")
            assert app.tree.cursor is UNSET
            assert has(app.tree, "first")

    run(main)
