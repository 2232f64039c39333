"""Finds the `.desktop` id of a program, the name under which Linux knows an application, in the XDG data directories.

Used by the collector when a window comes to the front. The id is the path below `applications/` with `-` for `/`, suffix included
(`org.gnome.Terminal.desktop`). A program is known by its window class or application id first, and by its executable only if that is not an
interpreter or launcher, which many programs share.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MAX_FILE_BYTES = 262_144
_SHARED_PROGRAMS = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|java|mono|gjs|lua|php|wine|wine64|sh|bash|dash|zsh|env|sudo|pkexec|flatpak|snap|xdg-open)[\d.]*\Z"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True)
class DesktopEntry:
    """What of one file says which program it starts."""

    id: str
    window_classes: tuple[str, ...]  # folded
    program: str | None  # base name of the program that Exec starts, None when it is shared by many


class DesktopFiles:
    """An index over `$XDG_DATA_HOME` and `$XDG_DATA_DIRS`, read again when one of the folders has changed."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        home = env.get("XDG_DATA_HOME") or str(Path(env.get("HOME", "/nonexistent")) / ".local" / "share")
        dirs = env.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        self._roots = tuple(dict.fromkeys(Path(folder) / "applications" for folder in (home, *dirs.split(":")) if folder.startswith("/")))
        self._stamp: tuple[object, ...] | None = None
        self._entries: dict[str, DesktopEntry] = {}

    def find(self, names: tuple[str, ...], program: str | None) -> str | None:
        """The id of a program with these window classes or application ids and this executable base name; None when no file fits."""
        self._refresh()
        folded = tuple(name.casefold() for name in names if name)
        entries = self._entries.values()
        for name in folded:
            for entry in entries:
                if name in entry.window_classes:
                    return entry.id
        for name in folded:
            for entry in entries:
                if entry.id.casefold() == f"{name}.desktop":
                    return entry.id
        if program and not _SHARED_PROGRAMS.match(program):
            for entry in entries:
                if entry.program == program:
                    return entry.id
        return None

    def _refresh(self) -> None:
        stamp = tuple(_modified(root) for root in self._roots)
        if stamp != self._stamp:
            self._stamp = stamp
            self._entries = self._read()

    def _read(self) -> dict[str, DesktopEntry]:
        found: dict[str, DesktopEntry] = {}
        seen: set[str] = set()
        for root in self._roots:
            for path in sorted(root.rglob("*.desktop")):
                identifier = "-".join(path.relative_to(root).parts)
                if identifier in seen:  # an earlier folder overrides a later one, even to hide the entry
                    continue
                seen.add(identifier)
                keys = dict(_keys(path))
                if keys and keys.get("Hidden", "").casefold() != "true":
                    classes = keys.get("StartupWMClass", "").split(";")
                    found[identifier] = DesktopEntry(
                        identifier, tuple(name.strip().casefold() for name in classes if name.strip()), _program(keys.get("Exec", ""))
                    )
        return found


def _modified(folder: Path) -> object:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return None


def _keys(path: Path) -> Iterator[tuple[str, str]]:
    """The keys of the main group. A file that cannot be read, or is unreasonably large, has none."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            group = line
        elif group == "[Desktop Entry]" and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            yield key.strip(), value.strip()


def _program(command: str) -> str | None:
    """The base name of what an Exec line starts, behind `env` and assignments; None when it names nothing of its own."""
    for word in command.replace('"', "").split():
        name = word.rpartition("/")[2]
        if name == "env" or _ASSIGNMENT.match(word) or word.startswith(("-", "%")):
            continue
        return None if _SHARED_PROGRAMS.match(name) else name
    return None
