"""Items that a probe may not tell. The argument: `drawn` (a list that draws its lines itself), `many` (a table of too many cells)."""

from __future__ import annotations

import sys

from textual.app import App, ComposeResult
from textual.strip import Strip
from textual.widgets import DataTable, OptionList


class Drawn(OptionList):
    def render_line(self, y: int) -> Strip:
        return super().render_line(0)


class Opaque(App[None]):
    def compose(self) -> ComposeResult:
        yield Drawn("One", "Two", id="items") if sys.argv[1] == "drawn" else DataTable(id="items")

    def on_mount(self) -> None:
        for table in self.query(DataTable):
            table.add_columns(*(f"c{number}" for number in range(30)))
            table.add_rows([[f"{row}"] * 30 for row in range(58)])


if __name__ == "__main__":
    Opaque().run()
