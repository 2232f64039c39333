"""Finds the `.desktop` id of a program, the name under which Linux knows an application, in the data directories of XDG, flatpak and snap.

Used by the collector when a window comes to the front. The id is the path below `applications/` with `-` for `/`, suffix included
(`org.gnome.Terminal.desktop`). Which entry fits is decided by `machines.collector.desktop_entries`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ...machines.collector.desktop_entries import DesktopEntry, find_entry, parse_entry

MAX_FILE_BYTES = 262_144  # what is longer is cut
SANDBOXED = ("/var/lib/flatpak/exports/share", "/var/lib/snapd/desktop")


class DesktopFiles:
    """An index over `$XDG_DATA_HOME`, `$XDG_DATA_DIRS` and what flatpak and snap export, read again when one of the folders has changed.

    An earlier folder overrides a later one. A session that was not told of flatpak or snap still finds their programs, last.
    """

    def __init__(self, env: Mapping[str, str] = os.environ, *, sandboxed: tuple[str, ...] = SANDBOXED) -> None:
        home = env.get("XDG_DATA_HOME") or str(Path(env.get("HOME", "/nonexistent")) / ".local" / "share")
        dirs = env.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        folders = (home, *dirs.split(":"), str(Path(home) / "flatpak" / "exports" / "share"), *sandboxed)
        self._roots = tuple(dict.fromkeys(Path(folder) / "applications" for folder in folders if folder.startswith("/")))
        self._stamp: tuple[object, ...] | None = None
        self._entries: tuple[DesktopEntry, ...] = ()

    def find(self, names: tuple[str, ...], program: str | None) -> str | None:
        """The id of a program with these window classes or application ids and this executable base name; None when no file fits."""
        found = self.entry(names, program)
        return None if found is None else found.id

    def entry(self, names: tuple[str, ...], program: str | None) -> DesktopEntry | None:
        """The same with what else its file says of it."""
        stamp = tuple(_modified(root) for root in self._roots)
        if stamp != self._stamp:
            self._stamp, self._entries = stamp, self._read()
        return find_entry(self._entries, names, program)

    def _read(self) -> tuple[DesktopEntry, ...]:
        found: dict[str, DesktopEntry | None] = {}
        for root in self._roots:
            for path in sorted(root.rglob("*.desktop")):
                identifier = "-".join(path.relative_to(root).parts)
                if identifier not in found:  # an earlier folder overrides a later one, even to hide the entry
                    found[identifier] = parse_entry(identifier, _text(path))
        return tuple(entry for entry in found.values() if entry is not None)


def _modified(folder: Path) -> object:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return None


def _text(path: Path) -> str:
    """A file's text; empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
