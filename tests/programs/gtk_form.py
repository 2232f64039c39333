"""A small GTK 3 form that tells what a person does to it; run with Debian's own /usr/bin/python3: `gtk_form.py REPORT [--title TITLE]`.

REPORT is a file or /dev/fd/N. One JSON object a line is written to it: `layout` (root coordinates of each widget, again whenever they
change), `focus` (name of the widget), `text` (the entry's text after a change), `password` (only the length), `activate`, `click` (name,
count) and `close`. Standard input, when it is not a terminal, takes lines `resize W H`, `dialog`, `close-dialog` and `quit`; its end quits.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402  the version must be fixed before the import


class Form:
    def __init__(self, report: str, title: str) -> None:
        self.report = Path(report).open("w", encoding="utf-8")  # noqa: SIM115  held open as long as the program runs
        Gdk.set_program_class("GtkForm")
        self.window = Gtk.Window(title=title)
        self.window.set_default_size(480, 240)
        self.entry = Gtk.Entry()
        self.password = Gtk.Entry(visibility=False, input_purpose=Gtk.InputPurpose.PASSWORD)
        self.button = Gtk.Button(label="Save")
        self.dialog: Gtk.Dialog | None = None
        self.clicks = 0
        self.layout: dict[str, list[int]] = {}
        grid = Gtk.Grid(row_spacing=12, column_spacing=12, margin=12)
        for row, (name, widget) in enumerate((("Name", self.entry), ("Password", self.password))):
            label = Gtk.Label(label=name, halign=Gtk.Align.START)
            label.set_mnemonic_widget(widget)
            widget.set_hexpand(True)
            widget.get_accessible().set_name(name)
            grid.attach(label, 0, row, 1, 1)
            grid.attach(widget, 1, row, 1, 1)
        grid.attach(self.button, 1, 2, 1, 1)
        self.window.add(grid)
        self.widgets = {"Name": self.entry, "Password": self.password, "Save": self.button}
        for name, widget in self.widgets.items():
            widget.connect("focus-in-event", lambda _widget, _event, name=name: self.tell("focus", name=name))
        self.entry.connect("changed", lambda entry: self.tell("text", value=entry.get_text()))
        self.entry.connect("activate", lambda entry: self.tell("activate", value=entry.get_text()))
        self.password.connect("changed", lambda entry: self.tell("password", length=len(entry.get_text())))
        self.button.connect("clicked", self.clicked)
        self.window.connect("destroy", lambda _window: self.closed())
        self.window.connect("configure-event", lambda _window, _event: GLib.idle_add(self.tell_layout) and False)
        grid.connect_after("size-allocate", lambda _grid, _size: GLib.idle_add(self.tell_layout))
        self.window.show_all()
        if not sys.stdin.isatty():
            GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, self.commanded)

    def tell(self, event: str, **fields: object) -> bool:
        self.report.write(json.dumps({"event": event, **fields}) + "\n")
        self.report.flush()
        return False

    def tell_layout(self) -> bool:
        window = self.window.get_window()
        if window is None:
            return False
        _, left, top = window.get_origin()
        layout = {"window": [left, top, window.get_width(), window.get_height()]}
        for name, widget in self.widgets.items():
            size = widget.get_allocation()
            # The form's widgets have no window of their own: their allocation is relative to the top-level's.
            layout[name] = [left + size.x, top + size.y, size.width, size.height]
        if layout != self.layout:
            self.layout = layout
            self.tell("layout", xid=window.get_xid(), widgets=layout)
        return False

    def clicked(self, _button: Gtk.Button) -> None:
        self.clicks += 1
        self.tell("click", name="Save", count=self.clicks)

    def commanded(self, stream: object, condition: GLib.IOCondition) -> bool:
        words = sys.stdin.readline().split()
        if not words or words[0] == "quit":
            self.window.destroy()
            return False
        if words[0] == "resize":
            self.window.resize(int(words[1]), int(words[2]))
        elif words[0] == "dialog":
            self.dialog = Gtk.Dialog(title="Sure?", transient_for=self.window)
            self.dialog.set_default_size(300, 160)
            self.dialog.show_all()
        elif words[0] == "close-dialog" and self.dialog is not None:
            self.dialog.destroy()
        return True

    def closed(self) -> None:
        self.tell("close")
        Gtk.main_quit()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("report")
    parser.add_argument("--title", default="Triptych form")
    arguments = parser.parse_args()
    form = Form(arguments.report, arguments.title)
    Gtk.main()
    form.report.close()


if __name__ == "__main__":
    main()
