"""What the terminal tests share: trees by hand, and programs to run."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = sys.executable
#: The Textual form under the published probe.
FORM = [PYTHON, "-m", "termwright_probe", "--", PYTHON, str(PROGRAMS / "textual_form.py")]
CURSES = [PYTHON, str(PROGRAMS / "curses_menu.py")]
PATIENCE = 30.0

EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "p"}
ABSENT = {"status": "absent", "reason": "not-laid-out", "evidence": EVIDENCE}
UNKNOWN = {"status": "unknown", "reason": "provider-refresh"}


def run(main: Any) -> None:
    """Run the coroutine function to its end."""
    coroutine: Coroutine[Any, Any, None] = main()
    asyncio.run(coroutine)


def known(value: object) -> dict[str, Any]:
    return {"status": "known", "value": value, "evidence": EVIDENCE}


def unsupported(capability: str = "x") -> dict[str, Any]:
    return {"status": "unsupported", "capability": capability, "reason": "not-negotiated"}


def rect(column: int, row: int, width: int = 1, height: int = 1) -> dict[str, int]:
    return {"row": row, "column": column, "width": width, "height": height}


def region(recipient: str, column: int, row: int, width: int) -> dict[str, Any]:
    return {"rect": rect(column, row, width), "recipientId": recipient}


def public(value: str) -> dict[str, Any]:
    return {**known(value), "sensitivity": "public"}


def node(key: str, parent: str | None = None, *, role: str = "button", seen: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """A node of id `key`, displayed, at the cells `seen` when they are known."""
    where = ABSENT if seen is None else known(seen)
    geometry = {"displayed": known(True), "intendedRect": where, "visibleRect": where}
    given = {"id": key, "role": role, "name": key.title(), "geometry": geometry, **more}
    return given if parent is None else {**given, "parentId": parent}


def snapshot(
    revision: int,
    *nodes: dict[str, Any],
    session: str = "$SESSION",
    hits: list[dict[str, Any]] | None = None,
    space: Any = None,
    size: tuple[int, int] = (80, 24),
    **more: Any,
) -> dict[str, Any]:
    """A snapshot whose first node is the root; `hits` are the runs of a known hit grid."""
    grid = unsupported("pointer-hit-grid") if hits is None else known({"regions": hits})
    told = {
        "v": 3, "sessionId": session, "revision": revision, "columns": size[0], "rows": size[1], "rootIds": [nodes[0]["id"]],
        "nodes": list(nodes), "coordinateSpace": known("viewport-cells") if space is None else space, "hitGrid": grid, **more,
    }  # fmt: skip
    copied: dict[str, Any] = json.loads(json.dumps(told))  # no two places share an object
    return copied


def full(revision: int, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "semantic-full", "snapshot": snapshot(revision, *nodes, **more)}


def scripted(*send: dict[str, Any], capabilities: tuple[str, ...] = ("tree",), **more: Any) -> list[str]:
    """A program with the scripted adapter."""
    script = {"capabilities": list(capabilities), "send": list(send), **more}
    return [PYTHON, str(PROGRAMS / "scripted_adapter.py"), json.dumps(script)]
