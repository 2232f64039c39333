"""Locators and expectations of the synchronous terminal API: the same names as in `triptych.engine.terminal`, without `await`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from re import Pattern
from typing import Any

from . import terminal
from .terminal import TIMEOUT, Node, Rect, ScreenText

#: Runs a coroutine on the loop's thread, and answers with its result.
Run = Callable[[Coroutine[Any, Any, Any]], Any]


class Locator:
    """As `terminal.Locator`."""

    def __init__(self, locator: terminal.Locator, run: Run) -> None:
        self._locator = locator
        self._run = run

    def __repr__(self) -> str:
        return repr(self._locator)

    def get_by_role(self, role: str, *, name: str | Pattern[str] | None = None, exact: bool = False) -> Locator:
        """As `terminal.Locator.get_by_role`."""
        return Locator(self._locator.get_by_role(role, name=name, exact=exact), self._run)

    def get_by_test_id(self, test_id: str) -> Locator:
        """As `terminal.Locator.get_by_test_id`."""
        return Locator(self._locator.get_by_test_id(test_id), self._run)

    def get_by_text(self, text: str | Pattern[str], *, exact: bool = False) -> Locator:
        """As `terminal.Locator.get_by_text`."""
        return Locator(self._locator.get_by_text(text, exact=exact), self._run)

    def get_by_label(self, text: str | Pattern[str], *, exact: bool = False) -> Locator:
        """As `terminal.Locator.get_by_label`."""
        return Locator(self._locator.get_by_label(text, exact=exact), self._run)

    def filter(
        self,
        *,
        text: str | Pattern[str] | None = None,
        exact: bool = False,
        has: Locator | None = None,
        visible: bool | None = None,
        **states: object,
    ) -> Locator:
        """As `terminal.Locator.filter`."""
        inner = None if has is None else has._locator
        return Locator(self._locator.filter(text=text, exact=exact, has=inner, visible=visible, **states), self._run)

    def nth(self, number: int) -> Locator:
        """As `terminal.Locator.nth`."""
        return Locator(self._locator.nth(number), self._run)

    @property
    def first(self) -> Locator:
        """As `terminal.Locator.first`."""
        return Locator(self._locator.first, self._run)

    @property
    def last(self) -> Locator:
        """As `terminal.Locator.last`."""
        return Locator(self._locator.last, self._run)

    def resolve(self, *, timeout: float = TIMEOUT) -> Node | ScreenText:
        """As `terminal.Locator.resolve`."""
        found: Node | ScreenText = self._run(self._locator.resolve(timeout=timeout))
        return found

    def count(self) -> int:
        """As `terminal.Locator.count`."""
        number: int = self._run(self._locator.count())
        return number

    def text(self, *, timeout: float = TIMEOUT) -> str:
        """As `terminal.Locator.text`."""
        said: str = self._run(self._locator.text(timeout=timeout))
        return said

    def value(self, *, timeout: float = TIMEOUT) -> str | None:
        """As `terminal.Locator.value`."""
        value: str | None = self._run(self._locator.value(timeout=timeout))
        return value

    def rect(self, *, timeout: float = TIMEOUT) -> Rect:
        """As `terminal.Locator.rect`."""
        rect: Rect = self._run(self._locator.rect(timeout=timeout))
        return rect

    def ref(self, *, timeout: float = TIMEOUT) -> str:
        """As `terminal.Locator.ref`."""
        ref: str = self._run(self._locator.ref(timeout=timeout))
        return ref

    def click(self, *, button: str = "left", modifiers: str = "", count: int = 1, timeout: float = TIMEOUT) -> None:
        """As `terminal.Locator.click`."""
        self._run(self._locator.click(button=button, modifiers=modifiers, count=count, timeout=timeout))

    def hover(self, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Locator.hover`."""
        self._run(self._locator.hover(timeout=timeout))

    def wheel(self, down: int = 1, right: int = 0, *, modifiers: str = "", timeout: float = TIMEOUT) -> None:
        """As `terminal.Locator.wheel`."""
        self._run(self._locator.wheel(down, right, modifiers=modifiers, timeout=timeout))

    def drag_to(self, target: Locator, *, button: str = "left", modifiers: str = "", timeout: float = TIMEOUT) -> None:
        """As `terminal.Locator.drag_to`."""
        self._run(self._locator.drag_to(target._locator, button=button, modifiers=modifiers, timeout=timeout))

    def focus(self, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Locator.focus`."""
        self._run(self._locator.focus(timeout=timeout))

    def press(self, *names: str, timeout: float = TIMEOUT) -> None:
        """As `terminal.Locator.press`."""
        self._run(self._locator.press(*names, timeout=timeout))

    def type(self, text: str, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Locator.type`."""
        self._run(self._locator.type(text, timeout=timeout))

    def fill(self, text: str, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Locator.fill`."""
        self._run(self._locator.fill(text, timeout=timeout))


def expect(locator: Locator) -> Expectation:
    """As `terminal.expect`."""
    return Expectation(terminal.expect(locator._locator), locator._run)


class Expectation:
    """As `terminal.Expectation`."""

    def __init__(self, expectation: terminal.Expectation, run: Run) -> None:
        self._expectation = expectation
        self._run = run

    @property
    def not_(self) -> Expectation:
        """As `terminal.Expectation.not_`."""
        return Expectation(self._expectation.not_, self._run)

    def to_be_focused(self, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Expectation.to_be_focused`."""
        self._run(self._expectation.to_be_focused(timeout=timeout))

    def to_be_checked(self, *, checked: object = True, timeout: float = TIMEOUT) -> None:
        """As `terminal.Expectation.to_be_checked`."""
        self._run(self._expectation.to_be_checked(checked=checked, timeout=timeout))

    def to_be_disabled(self, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Expectation.to_be_disabled`."""
        self._run(self._expectation.to_be_disabled(timeout=timeout))

    def to_be_visible(self, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Expectation.to_be_visible`."""
        self._run(self._expectation.to_be_visible(timeout=timeout))

    def to_have_text(self, text: str | Pattern[str], *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Expectation.to_have_text`."""
        self._run(self._expectation.to_have_text(text, timeout=timeout))

    def to_contain_text(self, text: str | Pattern[str], *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Expectation.to_contain_text`."""
        self._run(self._expectation.to_contain_text(text, timeout=timeout))

    def to_have_value(self, value: str | None, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Expectation.to_have_value`."""
        self._run(self._expectation.to_have_value(value, timeout=timeout))

    def to_have_count(self, count: int, *, timeout: float = TIMEOUT) -> None:
        """As `terminal.Expectation.to_have_count`."""
        self._run(self._expectation.to_have_count(count, timeout=timeout))
