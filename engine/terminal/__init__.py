"""Drive a terminal program: `launch` it on a pty of its own, look at its tree and screen, act on what is there, wait for what happens.

    async with terminal.launch(["python", "-m", "termwright_probe", "--", "python", "app.py"], columns=100, rows=30) as app:
        await app.get_by_label("Title").fill("v1.2")
        await app.get_by_role("button", name="Approve").click()
        await terminal.expect(app.get_by_test_id("status")).to_have_text("Approved: v1.2")

`triptych.engine.terminal_sync` has the same names without `await`.
"""

from __future__ import annotations

from ...adapters.termwright.diagnostics import Noted
from ...adapters.termwright.emulator import Cell, Modes, Policy, Screen, Style
from ...adapters.termwright.observer import Observer
from ...generated.termwright.models import Node, Rect, Snapshot
from ...machines.termwright.logs import Logged
from ...machines.termwright.outline import format_tree
from .app import Terminal, launch
from .expectation import Expectation, expect
from .locator import TIMEOUT, Locator
from .screen_text import ScreenText
from .seen import format_logs

__all__ = [
    "TIMEOUT",
    "Cell",
    "Expectation",
    "Locator",
    "Logged",
    "Modes",
    "Node",
    "Noted",
    "Observer",
    "Policy",
    "Rect",
    "Screen",
    "ScreenText",
    "Snapshot",
    "Style",
    "Terminal",
    "expect",
    "format_logs",
    "format_tree",
    "launch",
]
