"""A small Textual program to be seen and driven in a terminal: a checklist, a note, and two buttons that decide."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Checkbox, Footer, Header, Input, Static


class ReleaseBoard(App[None]):
    """Everything on one screen; Tab walks through it."""

    TITLE = "Release board"
    CSS = """
    Vertical { padding: 1 2; }
    #status { margin-bottom: 1; color: $text-muted; }
    Input { margin: 1 0; }
    Horizontal { height: auto; }
    Button { margin-right: 2; }
    """

    def compose(self) -> ComposeResult:
        """The widgets, from top to bottom."""
        yield Header()
        with Vertical():
            yield Static("Version 2.4 waits for a decision", id="status")
            yield Checkbox("Tests are green", True, id="tests")
            yield Checkbox("Changelog is written", id="changelog")
            yield Input(placeholder="A note for the team", id="note")
            with Horizontal():
                yield Button("Approve", variant="success", id="approve")
                yield Button("Hold", variant="warning", id="hold")
        yield Footer()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Say what was decided."""
        word = {"approve": "approved", "hold": "on hold"}[event.button.id or "hold"]
        self.query_one("#status", Static).update(f"Version 2.4 is {word}")


if __name__ == "__main__":
    ReleaseBoard().run()
