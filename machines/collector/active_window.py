"""Reads which window a compositor says is in front, out of the answers of sway and i3, of Hyprland and of GNOME Shell extensions.

The foreground adapters call it with parsed JSON. What is not in the expected shape is no window: never an error, and never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ActiveWindow:
    """The window in front. `window`: its number where it has one, else 0. `names`: its application id, window class and instance,
    best first. `pid`: None when nobody says which process it belongs to."""

    window: int
    pid: int | None
    names: tuple[str, ...]


def sway_window(tree: object) -> tuple[ActiveWindow, str | None] | None:
    """The focused view of a sway or i3 tree (GET_TREE), with its title; None when a workspace, or nothing, has the focus.

    i3 names no process: `pid` is None there.
    """
    for node in _nodes(tree):
        properties = node.get("window_properties")
        properties = properties if isinstance(properties, Mapping) else {}
        if node.get("focused") is True and (_number(node.get("pid")) or node.get("window") is not None):
            names = _names(node.get("app_id"), properties.get("class"), properties.get("instance"))
            return ActiveWindow(_number(node.get("id")) or 0, _number(node.get("pid")), names), _text(node.get("name"))
    return None


def hyprland_window(answer: object) -> tuple[ActiveWindow, str | None] | None:
    """The window of an `activewindow` answer of Hyprland, with its title; None when none is in front."""
    if not isinstance(answer, Mapping):
        return None
    try:
        window = int(_text(answer.get("address")) or "", 16)
    except ValueError:
        return None
    names = _names(answer.get("class"), answer.get("initialClass"))
    return ActiveWindow(window, _number(answer.get("pid")), names), _text(answer.get("title"))


def gnome_window(answer: object) -> tuple[ActiveWindow, str | None] | None:
    """The window of a `Get` answer of the GNOME Shell extension Focused Window D-Bus, with its title; None when none is in front."""
    if not isinstance(answer, Mapping) or not (pid := _number(answer.get("pid"))):
        return None
    names = _names(answer.get("gtk_application_id"), answer.get("wm_class"), answer.get("wm_class_instance"))
    return ActiveWindow(_number(answer.get("id")) or 0, pid, names), _text(answer.get("title"))


def _nodes(tree: object) -> Iterator[Mapping[str, object]]:
    """Every node of a tree. It is walked with a list, since nothing bounds how deep containers are nested."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            yield node
            for below in (node.get("nodes"), node.get("floating_nodes")):
                waiting += below if isinstance(below, list) else ()


def _names(*values: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and value))


def _number(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
