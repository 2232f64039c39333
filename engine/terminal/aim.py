"""Where a pointer may go: the cell of a node of which the hit grid proves that this node, and no other, receives what happens there. Pure.

Every pointer action of the locators asks here first. What cannot be proved is refused, and nothing is sent.
"""

from __future__ import annotations

from typing import NoReturn

from ...errors import LocalProtocolError
from ...generated.termwright.models import HitRect, KnownCoordinateSpace, KnownHitGrid, KnownRect, Node, Snapshot


def aim(tree: Snapshot, node: Node, size: tuple[int, int]) -> tuple[int, int]:
    """The (column, row) of a cell that the node owns, nearest to its middle. `size` is the terminal's, in columns and rows.

    Raises `LocalProtocolError` (`not-actionable`) with the path `coordinate-space` or `hit-grid`.
    """
    space = tree.coordinate_space
    if type(space) is not KnownCoordinateSpace:
        refuse("coordinate-space", f"what the tree measures in is {space.__struct_config__.tag}")
    if space.value != "viewport-cells":
        refuse("coordinate-space", f"the tree measures in {space.value}, which say nothing about the cells of the terminal")
    if (tree.columns, tree.rows) != size:
        refuse("viewport", f"the tree is of {tree.columns}x{tree.rows} cells and the terminal has {size[0]}x{size[1]}")
    grid = tree.hit_grid
    if type(grid) is not KnownHitGrid:
        refuse("hit-grid", f"who receives the pointer is {grid.__struct_config__.tag}")
    columns, rows = size
    runs = [region.rect for region in grid.value.regions if region.recipient_id == node.id and region.rect.row < rows]
    runs = [run for run in runs if run.column < columns]
    if not runs:
        refuse("no-run", f"no cell belongs to node {node.id!r}{_owners(tree, node, grid)}")
    if type(node.geometry.visible_rect) is KnownRect:
        rect = node.geometry.visible_rect.value
        middle = rect.column + (rect.width - 1) / 2, rect.row + (rect.height - 1) / 2
    else:
        longest = max(runs, key=lambda run: run.width)
        middle = longest.column + (longest.width - 1) / 2, longest.row
    best = min(runs, key=lambda run: (abs(run.row - middle[1]), abs(_nearest(run, middle[0], columns) - middle[0])))
    return _nearest(best, middle[0], columns), best.row


def refuse(reason: str, detail: str) -> NoReturn:
    """Refuse an action. Reasons that are words for the same missing proof share its name."""
    path = {"no-run": "hit-grid", "viewport": "coordinate-space"}.get(reason, reason)
    raise NotActionable(detail, path, waits=reason in ("no-run", "viewport", "hidden", "disabled", "readonly"))


class NotActionable(LocalProtocolError):
    """Code `not-actionable`; the path is the reason. `waits`: the next revision of the program may change it."""

    def __init__(self, detail: str, path: str, *, waits: bool) -> None:
        super().__init__("not-actionable", detail, path)
        self.waits = waits


def _nearest(run: HitRect, column: float, columns: int) -> int:
    last = min(run.column + run.width, columns) - 1
    return max(run.column, min(int(column), last))


def _owners(tree: Snapshot, node: Node, grid: KnownHitGrid) -> str:
    """Who owns the cells where the node is seen, for the message."""
    visible = node.geometry.visible_rect
    if type(visible) is not KnownRect:
        return ""
    rect, names = visible.value, {other.id: f"{other.role} {other.name!r}" for other in tree.nodes}
    owners = {
        names.get(region.recipient_id, region.recipient_id): None
        for region in grid.value.regions
        if rect.row <= region.rect.row < rect.row + rect.height
        and region.rect.column < rect.column + rect.width
        and rect.column < region.rect.column + region.rect.width
    }
    return f"; its cells belong to {', '.join(owners)}" if owners else ""
