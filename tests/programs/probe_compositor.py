"""Programs at the edges of what a probe can know; argv[1] picks one: a foreign compositor (none given), inline, large, many, broken."""

from __future__ import annotations

import sys
from typing import ClassVar

from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Grid
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Button, Static

MODE = sys.argv[1] if len(sys.argv) > 1 else "foreign"


class ForeignCompositor(Compositor):
    """What it says of clipping nobody has looked at; it gives every even cell of row 3 to the second widget."""

    def get_widget_at(self, x: int, y: int) -> tuple[Widget, Region]:
        if y == 3 and self.root is not None:
            wanted = "second" if x % 2 == 0 else "first"
            widget = self.root.query_one(f"#{wanted}")
            return widget, widget.region
        return super().get_widget_at(x, y)


class ForeignScreen(Screen[None]):
    def __init__(self) -> None:
        super().__init__()
        self._compositor = ForeignCompositor()


class Broken(Static):
    """Cannot be looked at."""

    @property
    def tooltip(self) -> str:
        raise RuntimeError("nobody may look")


class Edges(App[None]):
    CSS = "Grid { grid-size: 20; } Button { min-width: 3; height: 1; border: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [("f2", "grow", "Grow")]

    def get_default_screen(self) -> Screen[None]:
        return ForeignScreen() if MODE == "foreign" else Screen()

    def compose(self) -> ComposeResult:
        yield Static("small" if MODE == "large" else "first", id="first")
        yield Static("second", id="second")
        if MODE == "many":
            with Grid():
                for number in range(500):
                    yield Button(f"{number}", id=f"b{number}")

    def on_key(self) -> None:
        if MODE == "many":
            first = self.query_one("#first", Static)
            first.update(f"{first.visual}"[-20:] + "x")

    async def action_grow(self) -> None:
        """Become too large for a frame, and back: a thousand widgets that nobody sees."""
        first = self.query_one("#first", Static)
        if MODE == "broken":
            await self.mount(Broken("mounted all the same"))
            return
        if self.query("Grid"):
            await self.query("Grid").remove()
            first.update("small")
        else:
            await self.mount(Grid(*(Static(f"{number}" * 40) for number in range(1500))))
            first.update("large")


if __name__ == "__main__":
    Edges().run(inline=MODE == "inline")
