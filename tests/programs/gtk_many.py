"""A GTK 3 window of 2,000 widgets that moves its focus 20 times a second and measures its own main loop; run with /usr/bin/python3.

It writes `ready` when it is shown. Each `measure SECONDS` line on standard input is answered with one JSON line: `stalls`, by how many
milliseconds each turn of the main loop came later than it was due, and `focused`, a pair of the wall clock (ms) and the accessible role for
each change of the focus. `next` moves the focus once and answers the same pair. The end of standard input quits.
"""

from __future__ import annotations

import json
import sys
import time

import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402  the version must be fixed before the import

WIDGETS = 2000
FOCUS_MS = 50
TURN_MS = 5


class Many:
    def __init__(self) -> None:
        Gdk.set_program_class("GtkMany")
        self.window = Gtk.Window(title="Many widgets")
        self.window.set_default_size(1000, 700)
        grid = Gtk.Grid()
        self.places: list[Gtk.Widget] = []
        for number in range(WIDGETS):
            widget = Gtk.Entry(width_chars=2) if number % 40 == 0 else Gtk.Button(label="b") if number % 40 == 1 else Gtk.Label(label=".")
            if number % 40 < 2:
                self.places.append(widget)
            grid.attach(widget, number % 40, number // 40, 1, 1)
        scrolled = Gtk.ScrolledWindow()
        scrolled.add(grid)
        self.window.add(scrolled)
        self.position = 0
        self.stalls: list[float] = []
        self.focused: list[tuple[float, str]] = []
        self.due: float | None = None
        self.window.connect("destroy", lambda _window: Gtk.main_quit())
        GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, self.commanded)
        self.window.show_all()
        GLib.timeout_add(200, lambda: self.say("ready") and False)

    def say(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def move(self) -> tuple[float, str]:
        self.position = (self.position + 1) % len(self.places)
        widget = self.places[self.position]
        moved = (time.time() * 1000, "text" if isinstance(widget, Gtk.Entry) else "push button")
        widget.grab_focus()
        return moved

    def commanded(self, _stream: object, _condition: GLib.IOCondition) -> bool:
        verb, _, rest = sys.stdin.readline().strip().partition(" ")
        if not verb:
            Gtk.main_quit()
        elif verb == "next":
            self.say(json.dumps(self.move()))
        elif verb == "measure":
            self.stalls, self.focused = [], []
            self.ends = time.monotonic() + float(rest)
            self.due = None
            GLib.timeout_add(FOCUS_MS, self.step)
            self.turn()
        return bool(verb)

    def step(self) -> bool:
        if time.monotonic() >= self.ends:
            self.say(json.dumps({"stalls": self.stalls, "focused": self.focused}))
            return False
        self.focused.append(self.move())
        return True

    def turn(self) -> bool:
        now = time.monotonic()
        if self.due is not None:
            self.stalls.append(max(0.0, now - self.due) * 1000)
        self.due = now + TURN_MS / 1000
        if now < self.ends:
            GLib.timeout_add(TURN_MS, self.turn)
        return False


if __name__ == "__main__":
    many = Many()
    Gtk.main()
