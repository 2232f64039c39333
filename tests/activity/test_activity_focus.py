"""What of a window may be told, by what the accessibility bus said of the focus: whatever is not known withholds it."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.focus import PASSWORD_ROLE, ElementState, FocusEvidence, element_state, shows_window, wants_display_title

TEXT_ROLE = 61
FOUND = FocusEvidence(answered=True, on_bus=True, window=True)


@pytest.mark.parametrize(
    ("evidence", "state"),
    [
        (FocusEvidence(), ElementState.UNREADABLE),
        (FocusEvidence(on_bus=True, window=True, roles=(TEXT_ROLE,)), ElementState.UNREADABLE),
        (FocusEvidence(answered=True), ElementState.UNQUERYABLE),
        (FocusEvidence(answered=True, on_bus=True), ElementState.UNREADABLE),
        (FOUND, ElementState.UNREADABLE),
        (FocusEvidence(answered=True, on_bus=True, window=True, roles=(TEXT_ROLE,)), ElementState.NOT_SECURE),
        (FocusEvidence(answered=True, on_bus=True, window=True, roles=(TEXT_ROLE, PASSWORD_ROLE, TEXT_ROLE)), ElementState.SECURE),
        (FocusEvidence(answered=True, on_bus=True, window=True, whole=True), ElementState.NOT_SECURE),
        (FocusEvidence(answered=True, on_bus=True, window=True, whole=True, focusable=True), ElementState.UNREADABLE),
        (FocusEvidence(answered=True, on_bus=True, window=True, focusable=True), ElementState.UNREADABLE),
    ],
)
def test_what_is_known_of_the_focused_element(evidence: FocusEvidence, state: ElementState) -> None:
    assert element_state(evidence) is state


def test_no_evidence_of_a_password_is_ever_harmless() -> None:
    for answered, on_bus, window, whole, focusable in itertools.product((False, True), repeat=5):
        evidence = FocusEvidence(answered, on_bus, window, (PASSWORD_ROLE,), whole, focusable)
        assert element_state(evidence) is not ElementState.NOT_SECURE


@pytest.mark.parametrize("policy", ["require", "window-only"])
@pytest.mark.parametrize("state", list(ElementState))
def test_a_window_and_its_title_are_told_and_asked_for_together(state: ElementState, policy: str) -> None:
    plain = BUILT_IN.find("code.desktop")
    assert plain is not None
    adapter = msgspec.structs.replace(plain, focused_element_policy=policy)
    shown = state is ElementState.NOT_SECURE or (state is ElementState.UNQUERYABLE and policy == "window-only")
    assert shows_window(state, adapter) is shown
    assert wants_display_title(state, None, adapter) is shown
    assert wants_display_title(state, "", adapter) is shown
    assert not wants_display_title(state, "A title of its own", adapter)
    assert not wants_display_title(state, None, msgspec.structs.replace(adapter, suppresses_window_title=True))
