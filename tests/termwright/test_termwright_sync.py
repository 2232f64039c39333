"""The twin without await: its locators and expectations on a real program, and its names."""

from __future__ import annotations

import pytest

import termwright_kit as kit
from termwright_app_kit import board, hexed
from termwright_kit import PATIENCE
from triptych.engine import terminal, terminal_sync
from triptych.errors import LocalProtocolError, Unavailable
from triptych.generated.termwright.models import Rect


def test_the_sync_twin_has_locators_and_expectations() -> None:
    with terminal_sync.launch(board(box={"value": kit.public("x")})) as app:
        app.wait_for_revision(timeout=PATIENCE)
        go = app.get_by_role("button", name="Go")
        go.click(timeout=PATIENCE)
        app.wait_for_text(hexed(b"\x1b[<0;13;6M\x1b[<0;13;6m"), timeout=PATIENCE)
        go.wheel(-1)
        go.drag_to(app.get_by_text("Stop"))
        terminal_sync.expect(go).to_be_visible()
        terminal_sync.expect(go).not_.to_be_checked()
        terminal_sync.expect(go).not_.to_be_focused()
        terminal_sync.expect(go).not_.to_be_disabled()
        terminal_sync.expect(go).to_have_text("Go")
        terminal_sync.expect(go).to_contain_text("g")
        terminal_sync.expect(app.get_by_label("Box")).to_have_value("x")
        terminal_sync.expect(app.get_by_role("button")).to_have_count(2)
        assert repr(app.get_by_role("application").get_by_role("button").first) == "get_by_role('application').get_by_role('button').first"
        inside = app.get_by_role("application").filter(has=app.get_by_text("Go"))
        assert (inside.count(), inside.get_by_label("Box").value(), inside.get_by_test_id("x").count()) == (1, "x", 0)
        assert inside.get_by_text("Stop").nth(0).last.text() == "Stop"
        assert app.locator(go.ref()).rect() == Rect(row=5, column=10, width=6, height=1)
        assert go.resolve() is not None
        for refuse, path in (
            (go.hover, "mouse-mode"),
            (lambda: go.fill("x", timeout=0.1), "fill"),
            (lambda: go.focus(timeout=0.1), "focus"),
        ):
            with pytest.raises(LocalProtocolError) as refusal:
                refuse()
            assert refusal.value.path == path
        app.paste("z")
        app.wait_for_text(hexed(b"z"), timeout=PATIENCE)
        app.click_cell(0, 0)
        assert (app.clipboard, app.lost_logs, app.link_at(0, 0), app.modes.mouse_tracking) == (None, 0, None, "vt200")
        assert "pointer-hit-grid" in app.capabilities
        assert app.screenshot().startswith(b"\x89PNG")
        with pytest.raises(Unavailable):
            app.wait_for_log(timeout=1)


def test_the_twins_have_the_same_names_everywhere() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    for kind in ("Terminal", "Locator", "Expectation"):
        assert public(getattr(terminal_sync, kind)) == public(getattr(terminal, kind))
    assert set(terminal_sync.__all__) == set(terminal.__all__)
