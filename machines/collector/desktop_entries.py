"""Decides which `.desktop` entry a program belongs to: what an entry says of its program, and which evidence counts first.

Asked by the scan of the XDG data directories. A program is known by its window class or application id first, and by its executable only if
that is not an interpreter or launcher, which many programs share. All functions are pure; a text that is no entry has no keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

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
    is_browser: bool = False  # by its own word (Categories)


def parse_entry(identifier: str, text: str) -> DesktopEntry | None:
    """The entry of a file's text; None when it has no main group, or is hidden."""
    keys = _keys(text)
    if not keys or keys.get("Hidden", "").casefold() == "true":
        return None
    classes = keys.get("StartupWMClass", "").split(";")
    folded = tuple(name.strip().casefold() for name in classes if name.strip())
    return DesktopEntry(identifier, folded, _program(keys.get("Exec", "")), "WebBrowser" in keys.get("Categories", "").split(";"))


def find_entry(entries: Iterable[DesktopEntry], names: tuple[str, ...], program: str | None) -> DesktopEntry | None:
    """The entry of a program with these window classes or application ids, best first, and this executable; None when none fits."""
    entries = tuple(entries)
    folded = tuple(name.casefold() for name in names if name)
    for name in folded:
        for entry in entries:
            if name in entry.window_classes:
                return entry
    for name in folded:
        for entry in entries:
            if entry.id.casefold() == f"{name}.desktop":
                return entry
    if program and not _SHARED_PROGRAMS.match(program):
        for entry in entries:
            if entry.program == program:
                return entry
    return None


def _keys(text: str) -> dict[str, str]:
    """The keys of the main group."""
    keys: dict[str, str] = {}
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line
        elif group == "[Desktop Entry]" and "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            keys[key.strip()] = value.strip()
    return keys


def _program(command: str) -> str | None:
    """The base name of what an Exec line starts, behind `env`, assignments and flatpak; None when it names nothing of its own."""
    words = command.replace('"', "").split()
    for position, word in enumerate(words):
        name = _base(word)
        if name == "env" or _ASSIGNMENT.match(word) or word.startswith(("-", "%")):
            continue
        if name == "flatpak":  # `flatpak run --command=gedit org.gnome.gedit`: without the option the sandbox decides
            name = next((_base(option.removeprefix("--command=")) for option in words[position:] if option.startswith("--command=")), "")
        return None if not name or _SHARED_PROGRAMS.match(name) else name
    return None


def _base(path: str) -> str:
    return path.rpartition("/")[2]
