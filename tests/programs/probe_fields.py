"""Fields of every kind to be filled in. The argument `bound` gives Ctrl-K and F7 another meaning in the whole program."""

from __future__ import annotations

import sys
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import Input, Static, TextArea


class Deaf(Input):
    async def _on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()


class Fields(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding(key, "other", priority=True) for key in ("ctrl+k", "f7") if sys.argv[1:] == ["bound"]]

    def compose(self) -> ComposeResult:
        yield Input("as it was", id="word")
        yield Input("secret", password=True, id="password")
        yield TextArea("one\ntwo", id="lines")
        yield TextArea("fixed", id="fixed", read_only=True)
        yield Deaf("deaf", id="deaf")
        yield Static(id="said")

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "password":
            self.query_one("#said", Static).update(f"password {event.value}")

    def action_other(self) -> None:
        self.query_one("#said", Static).update("other")


if __name__ == "__main__":
    Fields().run()
