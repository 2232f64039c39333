"""A small Textual program: a form with inputs, a checkbox, a list and two buttons. It writes what was approved on a status line."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Checkbox, Input, Label, ListItem, ListView, Static


class FormApp(App[None]):
    CSS = "Horizontal { height: 3; } ListView { height: 5; }"
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+q", "quit", "Quit")]
    TITLE = "Release form"

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("Release notes", id="heading")
            yield Input(placeholder="Title", id="title")
            yield Input(placeholder="Reviewer", id="reviewer")
            yield Checkbox("Urgent", id="urgent")
            yield ListView(*(ListItem(Label(name)) for name in ("Linux", "Windows", "macOS")), id="targets")
            with Horizontal():
                yield Button("Approve", id="approve", variant="success")
                yield Button("Reject", id="reject", variant="error")
            yield Static("Waiting", id="status")

    def on_mount(self) -> None:
        self.query_one("#title", Input).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        title = self.query_one("#title", Input).value
        self.query_one("#status", Static).update(f"{event.button.label}: {title}")


if __name__ == "__main__":
    FormApp().run()
