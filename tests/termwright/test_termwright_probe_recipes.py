"""Which fields tell how they are filled in, and that it fills them: passwords, several lines, nothing at all."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import UNSET

from probe_kit import PATIENCE, probed
from triptych.engine import terminal
from triptych.errors import LocalProtocolError


def recipes(app: terminal.Terminal) -> dict[str, list[str]]:
    assert app.tree is not None
    found = {}
    for node in app.tree.nodes:
        if node.test_id is not UNSET and node.role == "textbox":
            steps = [step for recipe in node.input_recipes or () for step in recipe.steps]
            found[node.test_id] = [getattr(step, "key", "the value") for step in steps]
    return found


def test_a_field_tells_its_recipe_where_the_keys_are_textuals_own() -> None:
    async def main() -> None:
        async with probed("probe_fields.py") as app:
            await app.wait_for_revision(timeout=PATIENCE)
            emptying = ["home", "ctrl+k", "the value"]
            wanted = {"word": emptying, "password": emptying, "lines": ["f7", "backspace", "the value"], "fixed": [], "deaf": []}
            assert recipes(app) == wanted
        async with probed("probe_fields.py", "bound") as app:
            await app.wait_for_revision(timeout=PATIENCE)
            assert recipes(app) == {name: [] for name in wanted}

    asyncio.run(main())


@pytest.mark.parametrize("text", ["", "new", "wörter 你好", "one\n\n  indented\tand tabbed\nlast"])
def test_several_lines_are_filled_in(text: str) -> None:
    async def main() -> None:
        async with probed("probe_fields.py") as app:
            lines = app.get_by_test_id("lines")
            await lines.fill(text, timeout=PATIENCE)
            assert await lines.value() == text
            await lines.fill("once more", timeout=PATIENCE)
            await terminal.expect(lines).to_have_value("once more", timeout=PATIENCE)

    asyncio.run(main())


def test_a_password_is_filled_in_without_being_seen() -> None:
    async def main() -> None:
        async with probed("probe_fields.py") as app:
            field = app.get_by_test_id("password")
            await field.fill("correct horse", timeout=PATIENCE)
            await app.wait_for_text("password correct horse", timeout=PATIENCE)
            with pytest.raises(LocalProtocolError) as refused:
                await field.value()
            assert refused.value.code == "not-observable"
            await field.fill("", timeout=PATIENCE)
            await app.wait_until(lambda: "password correct" not in app.screen.text, timeout=PATIENCE)

    asyncio.run(main())


def test_a_field_that_cannot_be_filled_in_says_so() -> None:
    async def main() -> None:
        async with probed("probe_fields.py") as app:
            with pytest.raises(LocalProtocolError) as refused:
                await app.get_by_test_id("fixed").fill("x", timeout=PATIENCE)
            assert (refused.value.code, refused.value.path) == ("not-actionable", "readonly")

    asyncio.run(main())
