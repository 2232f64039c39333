"""What the tests of the terminal API share: a program with buttons, an observer that keeps what it is told, and a refusal."""

from __future__ import annotations

from typing import Any

import pytest

import termwright_kit as kit
from termwright_kit import scripted
from triptych.errors import LocalProtocolError

ALL = (
    "tree", "intended-geometry", "clipped-geometry", "states", "focus-state", "actions", "action-recipes", "render-revisions",
    "pointer-hit-grid",
)  # fmt: skip
CLICKED = "\x1b[?1000h\x1b[?1006h"


class Told:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.actions: list[dict[str, object]] = []
        self.sent = b""
        self.events: list[str] = []

    def output(self, data: bytes, at: float) -> None:
        self.events.append("output")

    def input(self, data: bytes, at: float) -> None:
        self.sent += data
        self.events.append("input")

    def resized(self, columns: int, rows: int, at: float) -> None:
        self.events.append(f"resized {columns}x{rows}")

    def published(self, revision: int, tree: object, at: float) -> None:
        self.events.append(f"published {revision}")

    def acted(self, action: Any, at: float) -> None:
        self.actions.append(dict(action))
        self.events.append(f"acted {action['type']}")

    def exited(self, status: int, at: float) -> None:
        self.events.append(f"exited {status}")


async def refused(action: Any, path: str, code: str = "not-actionable") -> str:
    with pytest.raises(LocalProtocolError) as refusal:
        await action
    assert (refusal.value.code, refusal.value.path) == (code, path)
    return refusal.value.detail


def board(
    *, hits: Any = "own", space: Any = None, print_first: str = CLICKED, capabilities: tuple[str, ...] = ALL, **nodes: Any
) -> list[str]:
    """A scripted program with two buttons and a box, whose pointer input comes back as hex."""
    given = (
        kit.node("app", role="application", seen=kit.rect(0, 0, 80, 24)),
        kit.node("go", "app", seen=kit.rect(10, 5, 6), **nodes.get("go", {})),
        kit.node("stop", "app", seen=kit.rect(20, 6, 6), **nodes.get("stop", {})),
        kit.node("box", "app", role="textbox", seen=kit.rect(30, 7, 9), **nodes.get("box", {})),
    )
    runs = [kit.region("go", 10, 5, 6), kit.region("stop", 20, 6, 6), kit.region("box", 30, 7, 9)] if hits == "own" else hits
    return scripted(kit.full(1, *given, hits=runs, space=space), {"marker": 1}, print=print_first, capabilities=capabilities)


def hexed(data: bytes) -> str:
    return f"[{data.hex()}]"
