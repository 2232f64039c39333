"""A Textual program with one of everything that a probe must tell the truth about. Keys are in BINDINGS; argv[1] is a folder for notes.

ctrl+r writes routing.json: for every cell of the terminal the widget that Textual's own routing gives it, asked from inside the program.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.errors import NoWidget
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Button, Checkbox, DataTable, Input, Label, Static, TextArea

from triptych.engine import probe

HANDLER = probe.LogHandler()
LOG = logging.getLogger("zoo")
LOG.setLevel(logging.DEBUG)
LOG.propagate = False
LOG.addHandler(HANDLER)


class Drawn(Widget):
    """Draws its own text: nobody knows what is inside."""

    DEFAULT_CSS = "Drawn { height: 1; width: 12; }"

    def render(self) -> str:
        return "one two"


class Composed(Widget):
    """Draws nothing but its children."""

    DEFAULT_CSS = "Composed { height: 1; width: 12; }"

    def compose(self) -> ComposeResult:
        yield Label("inside", id="inside")


@probe.annotate(
    role="status",
    name=lambda widget: f"Orders: {widget.orders}",
    test_id="orders-status",
    labelled_by=("heading", "nowhere"),
    described_by=("#word",),
    actions=("activate",),
    key="orders",
    state=lambda widget: {"busy": True, "focused": True, "hidden": False},
    extended=lambda widget: {"orders": widget.orders, "currency": "EUR"},
)
class Orders(Static, can_focus=True):
    orders = 3


class Dialog(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [("f4", "app.back", "Back")]
    CSS = "Dialog { align: center middle; } #box { width: 30; height: 5; background: $panel; }"
    TITLE = "Really?"

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Label("Sure?", id="question")
            yield Button("Yes", id="yes")


class Other(Screen[None]):
    def compose(self) -> ComposeResult:
        yield Label("The other screen", id="other")
        yield Input(id="elsewhere")


class Zoo(App[None]):
    CSS = """
    Screen { layers: below above; }
    #left { width: 40; } #scroller { height: 6; width: 30; }
    #over { layer: above; offset: 44 1; width: 10; height: 3; background: red; }
    #under { height: 5; width: 20; background: blue; }
    #gone { display: none; } #unseen { visibility: hidden; height: 1; }
    #table { height: 3; } #note { height: 3; } Input { height: 3; } .row { height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("ctrl+q", "quit", "Quit"),
        ("ctrl+r", "routing", "Routing"),
        ("f2", "dialog", "Dialog"),
        ("f3", "other", "Other"),
        ("f4", "back", "Back"),
        ("f5", "logs", "Logs"),
        ("f6", "children", "Children"),
        ("f7", "scroll", "Scroll"),
        ("f8", "swap", "Swap"),
        ("f9", "load", "Load"),
        ("f10", "twins", "Twins"),
    ]
    TITLE = "Zoo"
    asked = 0

    def compose(self) -> ComposeResult:
        with Horizontal():
            with Vertical(id="left"):
                yield Label("Heading", id="heading")
                yield Input(value="plain", placeholder="Word", id="word", max_length=40, select_on_focus=False)
                yield Input(value="hunter2", password=True, placeholder="Secret", id="secret")
                with Horizontal(classes="row"):
                    yield Checkbox("Agree", id="agree")
                    yield Button("No way", id="no", disabled=True)
                yield Orders("three orders", id="orders-widget")
                yield Drawn(id="drawn")
                yield Composed(id="composed")
                yield Static("gone", id="gone")
                yield Static("unseen", id="unseen")
                yield TextArea("text", id="note")
            with Vertical(id="right"):
                yield Static("under everything", id="under")
                with VerticalScroll(id="scroller"):
                    for number in range(40):
                        yield Label(f"line {number}", id=f"line-{number}")
                yield DataTable(id="table")
                yield Static("", id="status")
        yield Static("over", id="over")

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns("a", "b")
        self.query_one("#word", Input).focus()

    async def on_event(self, event: events.Event) -> None:
        await super().on_event(event)
        if isinstance(event, events.MouseDown) and self.screen.query("#status"):
            self.query_one("#status", Static).update(f"at {event.screen_x},{event.screen_y}")

    def on_mouse_down(self, event: events.MouseDown) -> None:
        pass

    def action_routing(self) -> None:
        width, height = self.size
        owners = []
        for row in range(height):
            for column in range(width):
                try:
                    widget, _ = self.screen.get_widget_at(column, row)
                    owners.append(f"{type(widget).__name__}#{widget.id or ''}")
                except NoWidget:
                    owners.append("")
        self.asked += 1
        (Path(sys.argv[1]) / "routing.json").write_text(json.dumps({"width": width, "height": height, "owners": owners}))
        self.query_one("#status", Static).update(f"routing {self.asked} written")

    def action_dialog(self) -> None:
        self.push_screen(Dialog())

    def action_other(self) -> None:
        self.push_screen(Other())

    def action_back(self) -> None:
        self.pop_screen()

    def action_logs(self) -> None:
        LOG.warning("low on %s", "hay", extra={"animal": "horse", "left": 3})
        for number in range(2000):
            LOG.debug("flood %d", number)
        self.query_one("#status", Static).update(f"sent {HANDLER.sent} dropped {HANDLER.dropped}")

    def action_children(self) -> None:
        code = (
            "import os, sys; print(sorted(k for k in os.environ if k.startswith(('TERMWRIGHT', 'PYTHONPATH'))), 'textual' in sys.modules)"
        )
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        self.query_one("#status", Static).update(said.replace("[", "(").replace("]", ")"))

    def action_scroll(self) -> None:
        self.query_one("#scroller").scroll_to(y=10, animate=False)

    def action_swap(self) -> None:
        left = self.query_one("#left")
        left.move_child(left.query_one("#drawn"), before=0)

    def action_load(self) -> None:
        scroller = self.query_one("#scroller")
        scroller.loading = not scroller.loading

    def action_twins(self) -> None:
        self.query_one("#left").mount(Orders("twin"))


if __name__ == "__main__":
    Zoo().run()
