"""Options, tree lines and table cells as nodes: where they are, what they are, that a click on one means it, and when none is told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from msgspec import UNSET

from probe_kit import PATIENCE, probed
from triptych.engine import terminal
from triptych.generated.termwright.models import KnownHitGrid, KnownRect, Node, Rect, Snapshot

PROGRAM = "probe_items.py"
SIZE = {"columns": 90, "rows": 30}


def children(tree: Snapshot, node: Node) -> list[Node]:
    return [child for child in tree.nodes if child.parent_id == node.id]


def widget(app: terminal.Terminal, test_id: str) -> Node:
    assert app.tree is not None
    return next(node for node in app.tree.nodes if node.test_id == test_id)


def items(app: terminal.Terminal, test_id: str) -> list[Node]:
    assert app.tree is not None
    return [node for node in children(app.tree, widget(app, test_id)) if node.role in ("listitem", "row")]


def visible(node: Node) -> Rect:
    fact = node.geometry.visible_rect
    assert type(fact) is KnownRect
    return fact.value


def runs(tree: Snapshot, node: Node) -> Iterator[tuple[int, int, int]]:
    assert type(tree.hit_grid) is KnownHitGrid
    for region in tree.hit_grid.value.regions:
        if region.recipient_id == node.id:
            yield region.rect.row, region.rect.column, region.rect.width


def shown(app: terminal.Terminal, node: Node) -> str:
    rect = visible(node)
    lines = app.screen.text.splitlines()[rect.row : rect.row + rect.height]
    return " ".join(" ".join(line[rect.column : rect.column + rect.width] for line in lines).split())


async def start(app: terminal.Terminal) -> None:
    await app.wait_for_revision(timeout=PATIENCE)
    await app.wait_until(lambda: "Number 1" in app.screen.text and bool(items(app, "table")), timeout=PATIENCE)
    await app.wait_quiet(0.2, timeout=PATIENCE)


def test_items_are_nodes_with_name_state_and_place() -> None:
    async def main() -> None:
        async with probed(PROGRAM, **SIZE) as app:
            await start(app)
            options = items(app, "options")
            assert [option.name for option in options] == ["Red", "Two\nlines", "Never", "Number 1"]
            assert options[0].test_id == "red"
            assert [(option.state.selected, option.state.disabled) for option in options] == [
                (True, False), (False, False), (False, True), (False, False)]  # fmt: skip
            assert [option.state.position_in_set for option in options] == [1, 2, 3, 4]
            assert {option.state.set_size for option in options} == {23}
            assert visible(options[1]).height == 2
            assert widget(app, "options").opaque_children is True  # nineteen more are out of view
            choices = items(app, "choices")
            assert [(choice.name, choice.state.checked, choice.actions) for choice in choices] == [
                ("Apple", False, ("toggle",)), ("Pear", True, ("toggle",))]  # fmt: skip
            assert widget(app, "choices").opaque_children is UNSET  # all there are
            lines = items(app, "tree")
            assert [(line.name, line.state.level, line.state.expanded) for line in lines] == [
                ("Root", 1, True), ("Branch", 2, True), ("Leaf one", 3, UNSET), ("Leaf two", 3, UNSET), ("Closed", 2, False)]  # fmt: skip
            header, first, *_ = items(app, "table")
            assert [cell.name for cell in children(app.tree, header)][:3] == ["City", "People", "Country"]
            assert [cell.name for cell in children(app.tree, first)] == ["City 0", "0", "Country 0", "words of 0"]
            assert children(app.tree, first)[0].state.selected is True
            for node in (*options, *choices, *lines, *children(app.tree, first)):
                assert shown(app, node).removeprefix("▐X▌ ").lstrip("│├└─▼▶ ") in " ".join(node.name.split()), node.name
                assert {node.p, node.px["role"]} == {"framework", "recognizer"}
                intended, seen = node.geometry.intended_rect.value, visible(node)
                assert intended.row <= seen.row and intended.column <= seen.column

    asyncio.run(main())


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        ("options", "Two\nlines", "option 1"),
        ("options", "Number 1", "option 3"),
        ("choices", "Apple", "selected [1, 2]"),
        ("tree", "Leaf two", "tree Leaf two"),
    ],
)
def test_each_run_of_an_item_is_a_click_on_it(owner: str, name: str, said: str) -> None:
    async def main() -> None:
        async with probed(PROGRAM, **SIZE) as app:
            await start(app)
            node = next(node for node in items(app, owner) if node.name == name)
            assert app.tree is not None
            found = list(runs(app.tree, node))
            assert found
            row, column, width = found[-1]
            await app.click_cell(column + width - 1, row)
            await app.wait_for_text(said, timeout=PATIENCE)

    asyncio.run(main())


def test_cells_are_clicked_where_they_are_also_after_scrolling() -> None:
    async def main() -> None:
        async with probed(PROGRAM, **SIZE) as app:
            await start(app)
            table = app.get_by_test_id("table")
            await table.get_by_role("cell", name="1000", exact=True).click(timeout=PATIENCE)
            await app.wait_for_text("cell 1000", timeout=PATIENCE)
            await app.press("pagedown", "right")
            await app.wait_for_text("Country 5", timeout=PATIENCE)
            await app.press("end")
            await app.wait_for_text("words of 5", timeout=PATIENCE)
            await app.wait_quiet(0.3, timeout=PATIENCE)
            assert app.tree is not None
            rows = items(app, "table")[1:]
            cells = [cell for row in rows for cell in children(app.tree, row)]
            assert any(cell.name.startswith("words") for cell in cells)
            for cell in cells:
                assert shown(app, cell) in cell.name, cell.name
            await table.get_by_role("cell", name=rows[0].name or "words of 5").click(timeout=PATIENCE)
            await app.wait_for_text("cell words of 5", timeout=PATIENCE)

    asyncio.run(main())


def test_an_item_keeps_its_id_while_its_list_scrolls() -> None:
    async def main() -> None:
        async with probed(PROGRAM, **SIZE) as app:
            await start(app)
            before = {option.name: option.id for option in items(app, "options")}
            await app.press("down", "down", "down", "down")
            await app.wait_until(lambda: any(option.name == "Number 3" for option in items(app, "options")), timeout=PATIENCE)
            await app.wait_quiet(0.2, timeout=PATIENCE)
            after = {option.name: option.id for option in items(app, "options")}
            both = before.keys() & after.keys()
            assert both and all(before[name] == after[name] for name in both)
            assert len({*before.values(), *after.values()}) == len(before.keys() | after.keys())

    asyncio.run(main())


def test_the_locators_find_and_act_on_items() -> None:
    async def main() -> None:
        async with probed(PROGRAM, **SIZE) as app:
            await start(app)
            apple = app.get_by_role("listitem", name="Apple")
            await apple.click(timeout=PATIENCE)
            await terminal.expect(apple).to_be_checked(timeout=PATIENCE)
            closed = app.get_by_role("listitem", name="Closed")
            await closed.click(timeout=PATIENCE)
            await terminal.expect(app.get_by_role("listitem", name="Inside")).to_be_visible(timeout=PATIENCE)
            never = app.get_by_role("listitem", name="Never")
            await terminal.expect(never).to_be_disabled(timeout=PATIENCE)

    asyncio.run(main())


@pytest.mark.parametrize("how", ["drawn", "many"])
def test_items_that_are_not_proved_or_too_many_are_not_told(how: str) -> None:
    async def main() -> None:
        async with probed("probe_opaque_items.py", how, columns=200, rows=60) as app:
            tree = await app.wait_for_revision(timeout=PATIENCE)
            await app.wait_quiet(0.2, timeout=PATIENCE)
            assert app.tree is not None
            owner = next(node for node in app.tree.nodes if node.test_id == "items")
            assert owner.opaque_children is True
            assert [node.role for node in children(app.tree, owner) if node.role != "scrollbar"] == []
            assert tree is not None

    asyncio.run(main())
