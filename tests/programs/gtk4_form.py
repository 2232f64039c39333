"""A small GTK 4 form for the tests; run with Debian's own /usr/bin/python3: `gtk4_form.py [--title TITLE]`.

It writes `ready` to standard output when it is shown. Standard input takes lines `focus NAME` (User, Password, Save) and `title TEXT`; its
end quits.
"""

from __future__ import annotations

import sys

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import GLib, Gtk  # noqa: E402  the version must be fixed before the import


def activate(application: Gtk.Application) -> None:
    title = sys.argv[sys.argv.index("--title") + 1] if "--title" in sys.argv else "GTK 4 form"
    window = Gtk.ApplicationWindow(application=application, title=title, default_width=480, default_height=240)
    box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
    widgets = {"User": Gtk.Entry(), "Password": Gtk.PasswordEntry(), "Save": Gtk.Button(label="Save")}
    for widget in widgets.values():
        box.append(widget)
    window.set_child(box)

    def commanded(_stream: object, _condition: GLib.IOCondition) -> bool:
        verb, _, rest = sys.stdin.readline().strip().partition(" ")
        if not verb:
            application.quit()
        elif verb == "focus":
            widgets[rest].grab_focus()
        elif verb == "title":
            window.set_title(rest)
        return bool(verb)

    GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, commanded)
    window.present()
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    app = Gtk.Application(application_id="org.example.Gtk4Form")
    app.connect("activate", activate)
    app.run([])
