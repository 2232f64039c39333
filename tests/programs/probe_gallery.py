"""Textual's own widgets, one of each kind that a probe recognises. F2 chooses an option and moves the progress bar."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import (
    Collapsible,
    Digits,
    Header,
    Label,
    ListItem,
    ListView,
    Markdown,
    OptionList,
    ProgressBar,
    RadioButton,
    RadioSet,
    Rule,
    Select,
    Static,
    Switch,
    TabbedContent,
    TabPane,
)


class Gallery(App[None]):
    CSS = "#options, #list { height: 3; }"
    BINDINGS: ClassVar[list[BindingType]] = [("f2", "choose", "Choose")]
    TITLE = "Gallery"

    def compose(self) -> ComposeResult:
        yield Header()
        yield Switch(id="switch")
        with RadioSet():
            yield RadioButton("Red", id="red")
            yield RadioButton("Blue", id="blue")
        yield ListView(ListItem(Label("First item"), id="first-item"), ListItem(Label("Second item")), id="list")
        yield OptionList("One", "Two", id="options")
        yield Select([("First", 1), ("Second", 2)], id="select")
        yield ProgressBar(total=None, id="progress", show_eta=False)
        yield Rule(id="rule")
        with Collapsible(title="Fold", id="fold"):
            yield Static("inside the fold")
        with TabbedContent():
            with TabPane("Pane one", id="pane"):
                yield Static("first pane")
            with TabPane("Pane two", id="other-pane"):
                yield Static("second pane")
        yield Digits("12:34", id="digits")
        titled = Vertical(id="titled")
        titled.border_title = "A title"
        titled.styles.height = 1
        yield titled
        yield Markdown("# Chapter\n\ntext", id="markdown")

    def action_choose(self) -> None:
        self.query_one(Select).value = 2
        self.query_one(ProgressBar).update(total=100, progress=25)


if __name__ == "__main__":
    Gallery().run()
