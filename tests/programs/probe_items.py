"""Lists, a tree and a table whose items are no widgets. Every click is shown by the item that Textual says was meant."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.events import Click
from textual.widgets import DataTable, OptionList, SelectionList, Static, Tree
from textual.widgets.option_list import Option


class Items(App[None]):
    CSS = """
    #lists { height: 8; }
    #options { width: 30; }
    #choices { width: 30; }
    #tree { height: 7; width: 40; }
    #table { height: 6; width: 40; }
    """

    def compose(self) -> ComposeResult:
        with Horizontal(id="lists"):
            options = [Option("[b]Red[/b]", id="red"), Option("Two\nlines"), None, Option("Never", disabled=True)]
            yield OptionList(*options, *(f"Number {number}" for number in range(1, 21)), id="options")
            yield SelectionList(("Apple", 1), ("Pear", 2, True), id="choices")
        tree: Tree[int] = Tree("Root", id="tree")
        tree.root.expand()
        branch = tree.root.add("Branch", expand=True)
        branch.add_leaf("Leaf one")
        branch.add_leaf("Leaf two")
        tree.root.add("Closed").add_leaf("Inside")
        yield tree
        yield DataTable(id="table", cursor_type="cell", fixed_columns=1)
        yield Static("nothing yet", id="said")

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_columns("City", "People", "Country", "A column that is wide")
        table.add_rows([(f"City {row}", row * 1000, f"Country {row}", f"words of {row}") for row in range(30)])

    def say(self, text: str) -> None:
        self.query_one("#said", Static).update(text)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.say(f"option {event.option_index}")

    def on_selection_list_selected_changed(self, event: SelectionList.SelectedChanged[int]) -> None:
        self.say(f"selected {sorted(event.selection_list.selected)}")

    def on_tree_node_selected(self, event: Tree.NodeSelected[int]) -> None:
        self.say(f"tree {event.node.label}")

    def on_data_table_cell_highlighted(self, event: DataTable.CellHighlighted) -> None:
        self.say(f"cell {event.value}")

    def on_click(self, event: Click) -> None:
        self.sub_title = str(event.style.meta)


if __name__ == "__main__":
    Items().run()
