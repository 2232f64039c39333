"""A small Textual program that looks the same each time it runs: no clock, no animation. q quits; c shows what a Python child says."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widgets import Button, Label

from triptych.engine import probe


@probe.annotate(role="heading", name="Announced")
class Title(Label): ...


class Plain(App[int]):
    BINDINGS: ClassVar[list[BindingType]] = [("q", "leave", "Quit"), ("c", "child", "Child")]
    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        yield Title("Plain", id="title")
        yield Button("Press", id="press")
        yield Label("", id="said")

    def on_button_pressed(self) -> None:
        self.query_one("#said", Label).update("pressed")

    def action_child(self) -> None:
        said = subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True, check=True)
        self.query_one("#said", Label).update(said.stdout + said.stderr)

    def action_leave(self) -> None:
        self.exit(7)


if __name__ == "__main__":
    app = Plain(ansi_color=False)
    app.animation_level = "none"
    app.run()
    sys.exit(app.return_value)
