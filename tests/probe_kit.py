"""Helpers for the tests of our own producer side: programs under our probe, what they sent, and what a snapshot says."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from termwright.framing import FrameDecoder as PeerDecoder
from termwright.validate import validate_snapshot as peer_validate

from triptych.engine import terminal
from triptych.generated.termwright.models import KnownHitGrid, Node, Rect, Snapshot
from triptych.machines.termwright.framing import FrameDecoder, encode_frame
from triptych.machines.termwright.validate import validate_snapshot

PROGRAMS = Path(__file__).resolve().parent / "programs"
PROBE = (sys.executable, "-m", "triptych.adapters.termwright.textual_probe", "--")
PATIENCE = 30.0


class Watch:
    """An observer of a session that also keeps the messages which its adapter sent, as plain values."""

    def __init__(self) -> None:
        self.trees: list[Snapshot] = []
        self.messages: list[dict[str, Any]] = []
        self._decoder = FrameDecoder(8 << 20)

    def output(self, data: bytes, at: float) -> None: ...

    def input(self, data: bytes, at: float) -> None: ...

    def resized(self, columns: int, rows: int, at: float) -> None: ...

    def published(self, revision: int, tree: Snapshot, at: float) -> None:
        self.trees.append(tree)

    def acted(self, action: Mapping[str, object], at: float) -> None: ...

    def exited(self, status: int, at: float) -> None: ...

    def tap(self, app: terminal.Terminal) -> None:
        session = app._driver.session
        received = session.received

        def tapped(socket: int, data: bytes, now: float) -> Any:
            self.messages += self._decoder.push(data)
            return received(socket, data, now)

        session.received = tapped  # type: ignore[method-assign]

    def kinds(self) -> list[str]:
        return [message["type"] for message in self.messages]


@asynccontextmanager
async def probed(
    program: str,
    *arguments: str,
    columns: int = 100,
    rows: int = 30,
    watch: Watch | None = None,
    environment: dict[str, str] | None = None,
    limits: Mapping[str, int] | None = None,
) -> AsyncIterator[terminal.Terminal]:
    watch = watch or Watch()
    async with terminal.launch(
        [*PROBE, sys.executable, str(PROGRAMS / program), *arguments],
        columns=columns,
        rows=rows,
        ready_timeout=PATIENCE,
        observers=(watch,),
        environment=environment,
        limits=limits,
    ) as app:
        watch.tap(app)
        await app.wait_for_revision(timeout=PATIENCE)
        yield app


def by_test_id(tree: Snapshot | None, test_id: str) -> Node:
    assert tree is not None
    return next(node for node in tree.nodes if node.test_id == test_id)


def has(tree: Snapshot | None, test_id: str) -> bool:
    return tree is not None and any(node.test_id == test_id for node in tree.nodes)


def visible(node: Node) -> Rect:
    rect = node.geometry.visible_rect.value  # type: ignore[union-attr]
    assert isinstance(rect, Rect)
    return rect


def focused(tree: Snapshot | None) -> str:
    assert tree is not None
    found = [node for node in tree.nodes if getattr(node.state, "focused", None) is True]
    assert len(found) <= 1
    return str(found[0].test_id) if found else ""


def owners(tree: Snapshot) -> dict[tuple[int, int], Node]:
    """(row, column) → the node that the hit grid names."""
    assert isinstance(tree.hit_grid, KnownHitGrid)
    nodes = {node.id: node for node in tree.nodes}
    cells = {}
    for region in tree.hit_grid.value.regions:
        for column in range(region.rect.column, region.rect.column + region.rect.width):
            cells[region.rect.row, column] = nodes[region.recipient_id]
    return cells


def check_by_both(tree: Snapshot) -> None:
    """The tree passes our validator and the published client's, and its frame the published decoder."""
    plain = json.loads(msgspec.json.encode(tree))
    assert validate_snapshot(plain) == tree
    [decoded] = PeerDecoder(8 << 20, 64).push(encode_frame({"type": "semantic-full", "snapshot": tree}, 8 << 20))
    verdict = peer_validate(decoded["snapshot"])
    assert verdict.ok, (verdict.code, verdict.detail)
