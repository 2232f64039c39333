"""Focus and fill through the keyboard, each step proved by the tree before the next. Locators are its only user."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import LocalProtocolError, WaitTimeout
from ...generated.termwright.models import InputRecipe, Node, PressStep, ValueKnown
from ...machines.termwright import mouse
from .aim import NotActionable, aim, refuse
from .query import state_of

if TYPE_CHECKING:
    from .locator import Locator

#: Seconds for the program to answer one Tab with a moved focus.
STEP = 2.0
#: Clearings and typings before a text box is taken to refuse the text.
ROUNDS = 6


async def focus(locator: Locator, deadline: float) -> None:
    """Give the node the focus. `deadline` is monotonic seconds."""
    app = locator._app

    def ready(node: Node) -> Node:
        locator._usable(node)
        return node

    node = await locator._acting(ready, deadline - time.monotonic())
    if "focus-state" not in app.capabilities:
        refuse("focus", "the adapter does not observe the focus, so it could not be known who gets the keys")
    if state_of(node, "focused") is True:
        return
    recipe = _recipe(node, "focus")
    if recipe is not None:
        await _follow(locator, recipe, "")
    elif node.role == "textbox" and (data := _click(locator, node)) is not None:
        app._act({"type": "focus", "locator": repr(locator), "by": "click"}, data)
    else:
        await _walk(locator, deadline)
        return
    await _until(locator, lambda found: state_of(found, "focused") is True, "the focus", deadline)


async def fill(locator: Locator, text: str, deadline: float) -> None:
    """Make the text the value of the node. `deadline` is monotonic seconds."""

    def ready(node: Node) -> Node:
        locator._usable(node)
        if state_of(node, "readonly") is True:
            refuse("readonly", f"{locator!r} is read-only")
        return node

    node = await locator._acting(ready, deadline - time.monotonic())
    recipe = _recipe(node, "setValue")
    if recipe is not None:
        if recipe.requires_focus:
            await focus(locator, deadline)
        await _follow(locator, recipe, text)
    else:
        if node.role != "textbox" or _public(node) is None:
            refuse("fill", f"{locator!r} has no recipe for it, and is no text box with a value that can be seen")
        if "\n" in text or state_of(node, "multiline") is True:
            refuse("fill", f"{locator!r} has no recipe for it, and several lines cannot be replaced key by key")
        await focus(locator, deadline)
        await _replace(locator, text, deadline)
    if _public(node) is not None:
        await _until(locator, lambda found: _public(found) == text, f"the value {text!r}", deadline)


async def _replace(locator: Locator, text: str, deadline: float) -> None:
    """Take away from the end as many characters as the tree says there are, and type, until the tree says that the text is there.

    The tree tells of keys that were sent before only after a while: hence the wait before each look, and another round when it was short.
    """
    app, driver = locator._app, locator._app._driver
    for _ in range(ROUNDS):
        await driver.wait_settled()
        value = _public(locator._single_node())
        if value == text or time.monotonic() >= deadline:
            return
        keys = driver.encode_keys(["end", *["backspace"] * len(value)]) if value else driver.emulator.encode_text(text)
        app._act({"type": "clear" if value else "fill", "locator": repr(locator), "by": "keys"}, keys)

        def changed(was: str | None = value) -> bool:
            return _public(locator._single_node()) != was

        await driver.wait_until(changed, min(STEP, deadline - time.monotonic()))


async def _walk(locator: Locator, deadline: float) -> None:
    """Press Tab until the node has the focus; each step is awaited. Given up when the focus comes round, or stays."""
    app = locator._app
    tab, seen = app._driver.encode_keys(["tab"]), {_focused(locator)}
    while True:
        before = _focused(locator)
        app._act({"type": "focus", "locator": repr(locator), "by": "tab"}, tab)
        step = min(STEP, deadline - time.monotonic())
        moved = await app._driver.wait_until(lambda before=before: _focused(locator) not in (before, None), step)  # type: ignore[misc]
        if state_of(locator._single_node(), "focused") is True:
            return
        if not moved or _focused(locator) in seen:
            refuse("focus", f"Tab does not lead to {locator!r}")
        seen.add(_focused(locator))


def _focused(locator: Locator) -> str | None:
    tree = locator._app.tree
    return None if tree is None else next((node.id for node in tree.nodes if state_of(node, "focused") is True), None)


def _click(locator: Locator, node: Node) -> bytes | None:
    """A click on the node, where it can be proved; None where it cannot."""
    app = locator._app
    assert app.tree is not None
    try:
        return app._driver.emulator.encode_pointer(mouse.click(*aim(app.tree, node, app._driver.emulator.size)))
    except LocalProtocolError:
        return None


def _recipe(node: Node, action: str) -> InputRecipe | None:
    return next((recipe for recipe in node.input_recipes or () if recipe.action == action), None)


async def _follow(locator: Locator, recipe: InputRecipe, value: str) -> None:
    """Carry out a recipe; a key that we do not know makes it one that cannot be carried out, and then nothing is sent.

    Where keys and text take turns the program gets time to answer: a framework may take what is typed before it has acted on a key.
    """
    app, emulator = locator._app, locator._app._driver.emulator
    # A line feed or a tab is text in a paste; as a key it may mean something else.
    pasted = emulator.modes.bracketed_paste and any(character in value for character in "\n\t")
    insert = emulator.encode_paste if pasted else emulator.encode_text
    parts: list[tuple[bool, bytes]] = []
    try:
        for step in recipe.steps:
            pressed = isinstance(step, PressStep)
            data = emulator.encode_key(step.key) if isinstance(step, PressStep) else insert(value)
            if parts and parts[-1][0] is pressed:
                data = parts.pop()[1] + data
            parts.append((pressed, data))
    except LocalProtocolError as unknown:
        raise NotActionable(f"its recipe for {recipe.action} names a key that is none: {unknown.detail}", "recipe", waits=False) from None
    action = {"type": "fill" if recipe.action == "setValue" else "focus", "locator": repr(locator), "by": "recipe"}
    for place, (_, data) in enumerate(parts):
        if place:
            await app._driver.wait_settled()
            app._check_runs()
            app._driver.write(data)
        else:
            app._act(action, data)


def _public(node: Node) -> str | None:
    value = node.value
    return value.value if type(value) is ValueKnown and value.sensitivity == "public" else None


async def _until(locator: Locator, met: Callable[[Node], bool], what: str, deadline: float) -> None:
    app = locator._app

    def settled() -> bool:
        try:
            return met(locator._single_node())
        except NotActionable:  # it is not there just now
            return False

    if not await app._driver.wait_until(settled, deadline - time.monotonic()):
        raise WaitTimeout(f"{what} of {locator!r}", app._seen())
