"""Expectations of locators: each waits until what was expected is so, or says what was there instead.

await expect(app.get_by_role("textbox", name="Title")).to_have_value("v1.2")
await expect(app.get_by_text("Saving")).not_.to_be_visible()
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...errors import LocalProtocolError, WaitTimeout
from ...generated.termwright.models import Node
from . import query
from .locator import TIMEOUT, Found, Locator, _value
from .matching import Wanted, matches
from .screen_text import ScreenText


def expect(locator: Locator) -> Expectation:
    """What is to come true of what the locator finds."""
    return Expectation(locator)


class Expectation:
    """Waits for one fact; `not_` waits for its opposite. Both need exactly one match, but for visibility and for the count.

    Raises `WaitTimeout` with what was seen instead, and `LocalProtocolError`: `ambiguous`, and `not-observable` for a fact that the adapter
    never tells, which is no proof of the opposite.
    """

    def __init__(self, locator: Locator, negated: bool = False) -> None:
        self._locator = locator
        self._negated = negated

    @property
    def not_(self) -> Expectation:
        """The opposite."""
        return Expectation(self._locator, not self._negated)

    async def to_be_focused(self, *, timeout: float = TIMEOUT) -> None:
        """It has the keyboard's focus."""
        await self._state("focused", True, "to be focused", "focus-state", timeout)

    async def to_be_checked(self, *, checked: object = True, timeout: float = TIMEOUT) -> None:
        """It is checked; `checked="mixed"` for the third state."""
        await self._state("checked", checked, "to be checked" if checked is True else f"to have checked={checked!r}", "states", timeout)

    async def to_be_disabled(self, *, timeout: float = TIMEOUT) -> None:
        """It is disabled."""
        await self._state("disabled", True, "to be disabled", "states", timeout)

    async def to_be_visible(self, *, timeout: float = TIMEOUT) -> None:
        """It is there and can be seen."""

        def seen(found: list[Found]) -> bool:
            return any(isinstance(one, ScreenText) or query.is_visible(one) for one in found)

        await self._meet(seen, "to be visible", timeout)

    async def to_have_text(self, text: Wanted, *, timeout: float = TIMEOUT) -> None:
        """All it says is this text, white space apart; or the pattern is found in it."""
        await self._meet(
            self._one(lambda found: matches(text, self._locator._text(found), exact=True)), f"to have the text {text!r}", timeout
        )

    async def to_contain_text(self, text: Wanted, *, timeout: float = TIMEOUT) -> None:
        """It says this text, in either case, among other words."""
        await self._meet(self._one(lambda found: matches(text, self._locator._text(found))), f"to contain the text {text!r}", timeout)

    async def to_have_value(self, value: str | None, *, timeout: float = TIMEOUT) -> None:
        """Its value is this one: "" is a value too, None is to have none."""
        await self._meet(self._node(lambda node: _value(node) == value), f"to have the value {value!r}", timeout)

    async def to_have_count(self, count: int, *, timeout: float = TIMEOUT) -> None:
        """There are so many."""
        await self._meet(lambda found: len(found) == count, f"to be {count}", timeout)

    async def _state(self, state: str, value: object, what: str, capability: str, timeout: float) -> None:
        def has(node: Node) -> bool:
            if capability not in self._locator._app.capabilities:
                raise LocalProtocolError("not-observable", f"the adapter did not announce {capability}", capability)
            return query.state_of(node, state) == value

        await self._meet(self._node(has), what, timeout)

    def _one(self, has: Callable[[Found], bool]) -> Callable[[list[Found]], bool | None]:
        """The fact of the single match; None while there is none, which is neither the fact nor its opposite."""
        return lambda found: has(found[0]) if found and self._locator._single() is not None else None

    def _node(self, has: Callable[[Node], bool]) -> Callable[[list[Found]], bool | None]:
        def fact(found: Found) -> bool:
            if isinstance(found, ScreenText):
                raise LocalProtocolError("not-observable", f"{self._locator!r} is text on the screen", "tree")
            return has(found)

        return self._one(fact)

    async def _meet(self, fact: Callable[[list[Found]], bool | None], what: str, timeout: float) -> None:
        app, started = self._locator._app, time.monotonic()

        def met() -> bool:
            found = fact(list(self._locator._matches()))
            return found is not None and found is not self._negated

        def settled() -> bool:
            return met() or app.exit_status is not None

        if not (await app._driver.wait_until(settled, timeout) and met()):
            words = f"{self._locator!r} {'not ' if self._negated else ''}{what} ({time.monotonic() - started:.1f} s)"
            raise WaitTimeout(words, app._seen())
