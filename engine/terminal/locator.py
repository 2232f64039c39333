"""Locators: how to find a node, kept as a recipe and followed anew at each use; and what can be done with the node once it is found.

`Terminal.get_by_…` and `Terminal.locator` make them. What may be done is decided in aim.py (the pointer) and keyboard.py (focus, fill).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import UNSET

from ...errors import LocalProtocolError
from ...generated.termwright.models import KnownRect, Node, Rect, ValueKnown
from ...machines.termwright import mouse
from . import keyboard, query
from .aim import NotActionable, aim, refuse
from .matching import Wanted
from .screen_text import ScreenText, find

if TYPE_CHECKING:
    from .app import Terminal

#: Seconds that a wait lasts unless told otherwise.
TIMEOUT = 10.0

T = TypeVar("T")
Found = Node | ScreenText


class Locator:
    """How to find a node of the newest published tree. It is found anew at each use, so a locator outlives every revision.

    Without a semantic tree, `get_by_text` (and `first`, `last`, `nth` on it) find text on the screen: it can be read and waited for, but a
    pointer action is refused, since a screen does not say who receives it.

    Errors: `LocalProtocolError` with the codes `not-found`, `ambiguous`, `stale-ref`, and `not-actionable`, whose path is the reason.
    """

    def __init__(self, app: Terminal, steps: Sequence[query.Step], on_screen: Callable[[], list[ScreenText]] | None = None) -> None:
        self._app = app
        self._steps = tuple(steps)
        self._on_screen = on_screen

    def __repr__(self) -> str:
        return ".".join(step.said for step in self._steps)

    # finding

    def get_by_role(self, role: str, *, name: Wanted | None = None, exact: bool = False) -> Locator:
        """Nodes of a role inside, whose name holds `name` (in either case; `exact`: is it as written; or a pattern found in it)."""
        return self._then(query.by_role(role, name, exact))

    def get_by_test_id(self, test_id: str) -> Locator:
        """Nodes inside with this test id."""
        return self._then(query.by_test_id(test_id))

    def get_by_text(self, text: Wanted, *, exact: bool = False) -> Locator:
        """The innermost nodes inside whose name or public value says the text."""
        return self._then(query.by_text(text, exact))

    def get_by_label(self, text: Wanted, *, exact: bool = False) -> Locator:
        """Nodes inside that a label of this text labels, and fields of this name."""
        return self._then(query.by_label(text, exact))

    def filter(
        self, *, text: Wanted | None = None, exact: bool = False, has: Locator | None = None, visible: bool | None = None, **states: object
    ) -> Locator:
        """Those that say the text, hold a node that `has` finds inside them, are visible or not, and declare the states: `checked=True`."""
        return self._then(query.filtered(text, exact, None if has is None else has._steps, visible, states))

    def nth(self, number: int) -> Locator:
        """The one of this number, from 0; from the end when negative."""
        screen = self._on_screen
        picked = None if screen is None else (lambda: screen()[number : number + 1 or None])
        return Locator(self._app, [*self._steps, query.nth(number)], picked)

    @property
    def first(self) -> Locator:
        """The first one."""
        return self.nth(0)

    @property
    def last(self) -> Locator:
        """The last one."""
        return self.nth(-1)

    def _then(self, step: query.Step) -> Locator:
        return Locator(self._app, [*self._steps, step])

    # looking

    async def resolve(self, *, timeout: float = TIMEOUT) -> Node | ScreenText:
        """Wait until there is exactly one match, and return it; more than one is `ambiguous` at once."""
        return await self._when(lambda found: found, timeout)

    async def count(self) -> int:
        """How many there are now."""
        return len(self._matches())

    async def text(self, *, timeout: float = TIMEOUT) -> str:
        """What it says: its name, else the names of what is in it."""
        return self._text(await self.resolve(timeout=timeout))

    async def value(self, *, timeout: float = TIMEOUT) -> str | None:
        """Its value; None when it has none. Raises `LocalProtocolError` (`not-observable`) when it may not be shown, or is not known."""
        return _value(await self._node(timeout))

    async def rect(self, *, timeout: float = TIMEOUT) -> Rect:
        """The cells where it is seen, in the tree's coordinate space; raises `LocalProtocolError` (`not-observable`) if not known."""
        found = await self.resolve(timeout=timeout)
        if isinstance(found, ScreenText):
            return found.rect
        visible = found.geometry.visible_rect
        if type(visible) is not KnownRect:
            raise LocalProtocolError("not-observable", f"where {self!r} is seen is {visible.__struct_config__.tag}", "visibleRect")
        return visible.value

    async def ref(self, *, timeout: float = TIMEOUT) -> str:
        """A reference such as `n8@42`, for `Terminal.locator`: it means this node as long as it stays, and says when it is stale."""
        return self._app._refs.ref(await self._node(timeout))

    # acting

    async def click(self, *, button: str = "left", modifiers: str = "", count: int = 1, timeout: float = TIMEOUT) -> None:
        """Click on a cell that the hit grid proves to be its own. Waits while it is disabled, hidden or covered.

        Raises `not-actionable` with the reason `coordinate-space`, `hit-grid`, `mouse-mode`, `hidden`, `disabled` or `no-tree`.
        """
        await self._point("click", lambda column, row: mouse.click(column, row, button=button, modifiers=modifiers, count=count), timeout)

    async def hover(self, *, timeout: float = TIMEOUT) -> None:
        """Move the pointer onto it; the program must have asked for motion (`mouse-mode`)."""
        await self._point("hover", mouse.hover, timeout)

    async def wheel(self, down: int = 1, right: int = 0, *, modifiers: str = "", timeout: float = TIMEOUT) -> None:
        """Turn the wheel on it: `down` notches (up when negative), `right` notches to the right (left when negative)."""
        await self._point("wheel", lambda column, row: mouse.wheel(column, row, down, right, modifiers=modifiers), timeout)

    async def drag_to(self, target: Locator, *, button: str = "left", modifiers: str = "", timeout: float = TIMEOUT) -> None:
        """Press on a cell of its own, move, and release on a cell of the target's own."""
        ends: list[tuple[int, int]] = []

        def ready(node: Node) -> bytes:
            start, end = self._aim(node), target._aim(target._single_node())
            ends[:] = [start, end]
            return self._app._driver.emulator.encode_pointer(mouse.drag(start, end, button=button, modifiers=modifiers))

        data = await self._acting(ready, timeout)
        (column, row), (to_column, to_row) = ends
        to = {"target": repr(target), "to_column": to_column, "to_row": to_row}
        self._app._act({"type": "drag", "locator": repr(self), "column": column, "row": row, **to}, data)

    async def focus(self, *, timeout: float = TIMEOUT) -> None:
        """Give it the keyboard's focus: by its own recipe, by a click on a text box, or by Tab; done when the tree says that it has it.

        Raises `not-actionable` with the reason `focus` when the tree does not observe the focus, or Tab does not lead there.
        """
        await keyboard.focus(self, time.monotonic() + timeout)

    async def press(self, *names: str, timeout: float = TIMEOUT) -> None:
        """Focus it, then press keys."""
        self._app._driver.encode_keys(names)  # an unknown key is refused before anything is sent
        await self.focus(timeout=timeout)
        await self._app.press(*names)

    async def type(self, text: str, *, timeout: float = TIMEOUT) -> None:
        """Focus it, then type the text, key by key, to what is there."""
        await self.focus(timeout=timeout)
        await self._app.type(text)

    async def fill(self, text: str, *, timeout: float = TIMEOUT) -> None:
        """Make the text its value, and wait until the tree says so: by its own recipe, or by emptying and typing into a text box.

        Raises `not-actionable` with the reason `fill` when the value cannot be observed or there is no such way.
        """
        await keyboard.fill(self, text, time.monotonic() + timeout)

    # for the expectations, and for keyboard.py

    def _matches(self) -> Sequence[Found]:
        index = self._app._index()
        if index is not None:
            return query.pick_all(index, self._steps)
        return self._on_screen() if self._on_screen is not None else []

    def _single(self) -> Found | None:
        """The one match now, or None; raises `ambiguous`."""
        found = self._matches()
        if len(found) > 1:
            raise LocalProtocolError("ambiguous", f"{self!r} finds {len(found)}: {', '.join(_named(one) for one in found[:5])}", repr(self))
        return found[0] if found else None

    def _single_node(self) -> Node:
        found = self._single()
        if found is None:
            raise NotActionable(f"{self!r} finds nothing", "not-found", waits=True)
        if isinstance(found, ScreenText):
            cell = f"click_cell({found.rect.column}, {found.rect.row})"
            why = f"{self!r} is text on the screen, which does not say who receives an action there; a cell is clicked with {cell}"
            raise NotActionable(why, "no-tree", waits=self._app._may_get_tree())
        return found

    async def _when(self, look: Callable[[Found], T | None], timeout: float) -> T:
        """Wait until there is one match and `look` finds something in it."""
        seen: list[T] = []

        def met() -> bool:
            found = self._single()
            looked = None if found is None else look(found)
            if looked is not None:
                seen[:] = [looked]
            return bool(seen) or self._app.exit_status is not None

        started = time.monotonic()
        await self._app._driver.wait_until(met, timeout)
        if not seen:
            waited = f"waited {time.monotonic() - started:.1f} s"
            raise LocalProtocolError("not-found", f"{self!r} finds nothing ({waited}); seen instead:\n{self._app._seen()}", repr(self))
        return seen[0]

    async def _node(self, timeout: float) -> Node:
        def settled(found: Found) -> Found | None:
            return found if isinstance(found, Node) or not self._app._may_get_tree() else None

        found: Found = await self._when(settled, timeout)
        if isinstance(found, ScreenText):
            raise LocalProtocolError("not-observable", f"{self!r} is text on the screen; there is no semantic tree", "tree")
        return found

    async def _acting(self, ready: Callable[[Node], T], timeout: float) -> T:
        """Wait until the node is ready for an action, and prepare it; what can never become ready is refused at once."""
        prepared: list[T] = []
        refusal: list[NotActionable] = []

        def met() -> bool:
            try:
                prepared[:] = [ready(self._single_node())]
            except NotActionable as why:
                refusal[:] = [why]
                return not why.waits or self._app.exit_status is not None
            return True

        # What was sent before may move everything: the proof must be of the tree that answers it.
        await self._app._driver.wait_settled()
        await self._app._driver.wait_until(met, timeout)
        if prepared:
            return prepared[0]
        if refusal[0].path == "not-found":
            raise LocalProtocolError("not-found", f"{refusal[0].detail}; seen instead:\n{self._app._seen()}", repr(self))
        raise refusal[0]

    async def _point(self, what: str, gesture: Callable[[int, int], list[mouse.PointerEvent]], timeout: float) -> None:
        def ready(node: Node) -> tuple[tuple[int, int], str, bytes]:
            cell = self._aim(node)
            return cell, self._app._refs.ref(node), self._app._driver.emulator.encode_pointer(gesture(*cell))

        (column, row), ref, data = await self._acting(ready, timeout)
        self._app._act({"type": what, "locator": repr(self), "ref": ref, "column": column, "row": row}, data)

    def _aim(self, node: Node) -> tuple[int, int]:
        self._usable(node)
        index = self._app._index()
        assert index is not None
        return aim(index.tree, node, self._app._driver.emulator.size)

    def _usable(self, node: Node) -> None:
        """Refuse what cannot be acted on whatever the action."""
        app = self._app
        if app.exit_status is not None:
            refuse("exited", f"the program exited with {app.exit_status}")
        failure = app._driver.session.failure
        if failure is not None:
            refuse("no-tree", f"revision {app.revision} is the last that will be known: {failure.code}: {failure.detail}")
        if query.state_of(node, "disabled") is True:
            refuse("disabled", f"{self!r} is disabled")
        if not query.is_visible(node):
            refuse("hidden", f"{self!r} cannot be seen")

    def _text(self, found: Found) -> str:
        index = self._app._index()
        return found.text if isinstance(found, ScreenText) or index is None else index.text(found)  # type: ignore[union-attr]  # a node has an index


def on_screen(app: Terminal, text: Wanted, exact: bool) -> Callable[[], list[ScreenText]]:
    """How text is found where there is no tree."""
    return lambda: find(app.screen, text, exact)


def _value(node: Node) -> str | None:
    value = node.value
    if value is UNSET:
        return None
    if type(value) is ValueKnown and value.sensitivity == "public":
        return value.value
    tag = value.__struct_config__.tag
    if tag == "absent":
        return None
    raise LocalProtocolError("not-observable", "the value is sensitive" if tag == "known" else f"the value is {tag}", "value")


def _named(found: Found) -> str:
    if isinstance(found, ScreenText):
        return f"{found.text!r} at {found.rect.column},{found.rect.row}"
    return f"{found.role} {found.name!r} ({found.id})"
