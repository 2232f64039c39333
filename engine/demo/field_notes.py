"""A small GTK program to be seen and driven: a line to write, the list of lines, and a passphrase that nobody may record.

It runs under a Python that has PyGObject (Debian: /usr/bin/python3 with python3-gi), so it imports nothing of Triptych.
"""

from typing import Any

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402 -- the versions have to be chosen first

APP_ID = "org.triptych.FieldNotes"
STYLE = b"""
window { background: #17212b; }
.bar { background: #0f766e; padding: 18px 36px; }
.bar label { color: #ecfdf5; }
.title { font-size: 26px; font-weight: bold; }
.hint { color: #99f6e4; font-size: 15px; }
entry { font-size: 18px; padding: 10px 14px; min-height: 30px; color: #e6edf3; background: #22303c; }
entry { border: 2px solid #334656; border-radius: 8px; }
entry:focus { border-color: #2dd4bf; }
list { background: transparent; }
list row { background: #1e2a35; border-radius: 8px; margin: 0 0 8px 0; padding: 12px 16px; }
list row label { font-size: 17px; color: #e6edf3; }
list row .time { color: #5eead4; font-size: 15px; }
button { font-size: 16px; padding: 10px 24px; color: #17212b; background: #fbbf24; }
button { border: none; border-radius: 8px; box-shadow: none; text-shadow: none; }
"""
LINES = (
    ("06:58", "Two herons on the north bank"),
    ("07:10", "Water level 1.4 m, falling"),
    ("07:21", "Otter tracks below the weir"),
    ("07:35", "Mist clears, light wind from the west"),
)


def labelled(text: str, style: str) -> Any:
    """A left-aligned label in one of the styles above."""
    label = Gtk.Label(label=text, xalign=0.0)
    label.get_style_context().add_class(style)
    return label


def named(widget: Any, name: str) -> Any:
    """The widget, with the name that assistive technology reads."""
    widget.get_accessible().set_name(name)
    return widget


class FieldNotes(Gtk.Window):  # type: ignore[misc]  # PyGObject has no static types
    """The only window: everything on one page, first field focused."""

    def __init__(self) -> None:
        super().__init__(title="Field notes")
        self.set_default_size(900, 620)
        bar = Gtk.Box(spacing=16)
        bar.get_style_context().add_class("bar")
        bar.pack_start(labelled("Field notes", "title"), False, False, 0)
        bar.pack_end(labelled("What you write stays in this window", "hint"), False, False, 0)
        self.note = named(Gtk.Entry(placeholder_text="Write a line and press Enter"), "Note")
        self.note.connect("activate", self.keep)
        self.lines = Gtk.ListBox(selection_mode=Gtk.SelectionMode.NONE)
        secret = named(Gtk.Entry(visibility=False, placeholder_text="Passphrase"), "Passphrase")
        clear = Gtk.Button(label="Clear")
        clear.connect("clicked", self.clear)
        foot = Gtk.Box(spacing=14)
        foot.pack_start(secret, True, True, 0)
        foot.pack_start(clear, False, False, 0)
        page = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=18, margin=36)
        page.pack_start(self.note, False, False, 0)
        page.pack_start(self.lines, True, True, 0)
        page.pack_start(foot, False, False, 0)
        window = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        window.pack_start(bar, False, False, 0)
        window.pack_start(page, True, True, 0)
        self.add(window)
        for time, line in LINES:
            self.append(time, line)
        self.connect("destroy", Gtk.main_quit)

    def append(self, time: str, text: str) -> None:
        """Show one more line."""
        row = Gtk.Box(spacing=18)
        row.pack_start(labelled(time, "time"), False, False, 0)
        row.pack_start(labelled(text, "line"), False, False, 0)
        self.lines.add(row)
        row.show_all()

    def keep(self, entry: Any) -> None:
        """Enter was pressed: the text becomes a line."""
        if entry.get_text():
            self.append("07:42", entry.get_text())
            entry.set_text("")

    def clear(self, _button: Any) -> None:
        """Forget every line."""
        for row in self.lines.get_children():
            self.lines.remove(row)


def main() -> None:
    """Show the window until it is closed or the display goes away."""
    GLib.set_prgname(APP_ID)
    Gdk.set_program_class(APP_ID)
    style = Gtk.CssProvider()
    style.load_from_data(STYLE)
    Gtk.StyleContext.add_provider_for_screen(Gdk.Screen.get_default(), style, Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)
    Gtk.Settings.get_default().set_property("gtk-cursor-blink", False)  # a still window is a still picture
    window = FieldNotes()
    window.show_all()
    window.note.grab_focus()
    Gtk.main()


if __name__ == "__main__":
    main()
