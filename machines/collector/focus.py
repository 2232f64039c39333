"""Decides from what a platform found whether a focused element may be a secret, and whether the window system may be asked for the title.

The Linux source asks it between its questions, so that no text is read of what must not be told. What cannot be known counts as unreadable.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ...generated.collector.models import AdapterEntry

PASSWORD_ROLE = 40  # ATSPI_ROLE_PASSWORD_TEXT. Its name must not be asked: GTK 4 and Qt 5 call it "text box" and "text"


class ElementState(Enum):
    """What is known of the focused element; the value is the reason that withholds the window."""

    NOT_SECURE = ""
    SECURE = "secure-field"  # a password field
    UNQUERYABLE = "focused-element-unqueryable"  # the program has no way to be asked
    UNREADABLE = "unreadable-focused-element"  # it has one, and the answer did not come: fails closed


@dataclass(frozen=True, slots=True)
class FocusEvidence:
    """What the accessibility bus said of the focus of one program. The plain value says nothing at all."""

    answered: bool = False  #: every question had its answer
    on_bus: bool = False  #: the program can be asked
    window: bool = False  #: it has an active window
    roles: tuple[int, ...] = ()  #: AT-SPI role numbers of all elements that say that they have the focus
    whole: bool = False  #: without any: all that shows in the window was looked at
    focusable: bool = False  #: without any: something that shows could have it


def element_state(evidence: FocusEvidence) -> ElementState:
    """What is known of the focused element. One password field among several that claim the focus is enough."""
    if not evidence.answered:
        return ElementState.UNREADABLE
    if not evidence.on_bus:
        return ElementState.UNQUERYABLE
    if not evidence.window:
        return ElementState.UNREADABLE
    if PASSWORD_ROLE in evidence.roles:
        return ElementState.SECURE
    nowhere = evidence.whole and not evidence.focusable  # the focus is on the window itself
    return ElementState.NOT_SECURE if evidence.roles or nowhere else ElementState.UNREADABLE


def shows_window(element: ElementState, adapter: AdapterEntry) -> bool:
    """Whether a window may be told: nothing in it is a secret, or the application cannot be asked and its entry does not require it."""
    if element is ElementState.UNQUERYABLE:
        return adapter.focused_element_policy == "window-only"
    return element is ElementState.NOT_SECURE


def wants_display_title(element: ElementState, title: str | None, adapter: AdapterEntry) -> bool:
    """Whether the window system is asked for a title: the program did not give one, and it may be told."""
    return not title and not adapter.suppresses_window_title and shows_window(element, adapter)
