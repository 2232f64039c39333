"""A Textual form whose claims can be demonstrated: each widget has a background of its own, and reports the pointer and key events it gets.

The reports come from the widgets' own event handlers, so they say who received an event and not who a probe thinks should.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Button, Input, Label, ListItem, ListView, Static

EVENTS = os.environ.get("TRIPTYCH_FIXTURE_EVENTS", "")

COLOURS = {
    "form": "#101830",
    "heading": "#501010",
    "title": "#105010",
    "targets": "#303030",
    "linux": "#404010",
    "linux-name": "#505020",
    "windows": "#104040",
    "windows-name": "#205050",
    "buttons": "#401040",
    "approve": "#107010",
    "reject": "#701010",
    "locked": "#707070",
    "status": "#602080",
}


class FormApp(App[None]):
    CSS = """
    Screen { background: #0c0c0c; layers: base above; }
    * { scrollbar-size: 0 0; }
    Vertical, Horizontal, ListView, ListItem, Label, Static, Button, Input {
        border: none !important; padding: 0; margin: 0; background-tint: transparent !important; tint: transparent !important;
        text-style: none !important; text-opacity: 100% !important; opacity: 100% !important; color: #ffffff !important;
    }
    #form { height: 16; width: 60; }
    #heading { width: 20; }
    #title { width: 24; height: 1; }
    #title > .input--cursor { background: #0000fe; color: #ffffff; text-style: none; }
    #targets { height: 2; width: 30; }
    ListItem { height: 1; }
    #linux-name { width: 10; }
    #windows-name { width: 12; }
    #buttons { height: 3; }
    Button { height: 3; width: 12; min-width: 0; }
    #status { width: 40; margin-top: 1; }
    """ + "\n".join(f"#{name} {{ background: {colour} !important; }}" for name, colour in COLOURS.items())
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+q", "quit", "Quit"), ("ctrl+l", "chatter", "Log")]

    def get_default_screen(self) -> Screen[None]:
        return Screen(id="main")

    def compose(self) -> ComposeResult:
        with Vertical(id="form"):
            yield Label("Release form", id="heading")
            yield Input(id="title", select_on_focus=False)
            with ListView(id="targets"):
                yield ListItem(Label("Linux", id="linux-name"), id="linux")
                yield ListItem(Label("Windows", id="windows-name"), id="windows")
            with Horizontal(id="buttons"):
                yield Button("Approve", id="approve")
                yield Button("Reject", id="reject")
                yield Button("Locked", id="locked", disabled=True)
            yield Static("Waiting", id="status")

    def on_mount(self) -> None:
        self.query_one("#title", Input).cursor_blink = False
        self.query_one("#title", Input).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.query_one("#status", Static).update(f"{event.button.label}: {self.query_one('#title', Input).value}")

    def action_chatter(self) -> None:
        for number in range(60):
            logging.getLogger("form").warning("record %d", number)


def report(widget: Widget, event: events.MouseDown | events.Key) -> None:
    if isinstance(event, events.Key):
        told = {"event": "key", "target": None if isinstance(widget, Screen) else widget.id, "key": event.key}
    else:
        told = {"event": "pointer", "target": widget.id}
    with Path(EVENTS).open("a") as file:
        file.write(json.dumps(told) + "\n")


def report_events() -> None:
    """Every widget tells of the pointer presses and keys that reach it first, before they bubble."""
    received = MessagePump.on_event

    async def on_event(self: MessagePump, event: events.Event) -> None:
        if isinstance(self, Widget) and isinstance(event, events.MouseDown | events.Key) and not hasattr(event, "told"):
            event.told = True  # type: ignore[union-attr]  # a mark of ours
            report(self, event)
        await received(self, event)

    MessagePump.on_event = on_event  # type: ignore[method-assign]  # the one place that every event passes


if __name__ == "__main__":
    if EVENTS:
        report_events()
    if "--forward-logs" in sys.argv:
        from triptych.engine.probe import LogHandler

        logging.getLogger("form").addHandler(LogHandler())
    FormApp().run()
