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
window { background: #f6f4ef; }
.title { font-size: 26px; font-weight: bold; color: #2b2a33; }
.hint { color: #6b6a75; }
entry { font-size: 17px; padding: 10px; min-height: 28px; }
list { background: #ffffff; border: 1px solid #d8d5cc; border-radius: 6px; }
list row { padding: 10px 14px; font-size: 16px; color: #2b2a33; }
button { font-size: 15px; padding: 8px 18px; }
"""


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
        page = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=14, margin=36)
        self.note = named(Gtk.Entry(placeholder_text="Write a line and press Enter"), "Note")
        self.note.connect("activate", self.keep)
        self.lines = Gtk.ListBox(selection_mode=Gtk.SelectionMode.NONE)
        self.secret = named(Gtk.Entry(visibility=False, placeholder_text="Passphrase"), "Passphrase")
        clear = Gtk.Button(label="Clear")
        clear.connect("clicked", self.clear)
        foot = Gtk.Box(spacing=14)
        foot.pack_start(self.secret, True, True, 0)
        foot.pack_start(clear, False, False, 0)
        for widget, grows in (
            (labelled("Field notes", "title"), False),
            (labelled("What you write stays in this window.", "hint"), False),
            (self.note, False),
            (self.lines, True),
            (foot, False),
        ):
            page.pack_start(widget, grows, grows, 0)
        self.add(page)
        for line in ("Two herons on the north bank", "Water level: 1.4 m"):
            self.append(line)
        self.connect("destroy", Gtk.main_quit)

    def append(self, text: str) -> None:
        """Show one more line."""
        row = Gtk.Label(label=text, xalign=0.0)
        self.lines.add(row)
        row.show()

    def keep(self, entry: Any) -> None:
        """Enter was pressed: the text becomes a line."""
        if entry.get_text():
            self.append(entry.get_text())
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
