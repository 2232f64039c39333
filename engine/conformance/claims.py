"""Whether what a tree claims is true: every hit run is clicked, every visible rectangle compared with the painted cells, the focus moved by
keys, values and names compared with the screen. The fixture manifest says how; a claim that nothing demonstrates is unproved.

What the program really did comes from itself (the events it received) and from the terminal (the cells), never from its adapter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final

from msgspec import UNSET

from ...adapters.termwright.screen import Cell
from ...generated.termwright.models import (
    Absent,
    KnownCoordinateSpace,
    KnownHitGrid,
    KnownRect,
    Node,
    NodeState,
    Rect,
    Snapshot,
    ValueKnown,
)
from ...machines.termwright.viewport import clip
from .findings import Check, Finding, judged, passed, skipped, unproved
from .fixture import Received
from .scenario import Scenario, Tell
from .stage import DRAWING, Lab, Stage

HIT = Check("claim-hit-grid", "termwright/3, pointer ownership", "a click in each hit run is received by its recipient")
PAINTED = Check("claim-visible-rect", "termwright/3, observations", "each known visibleRect is exactly the cells that its node painted")
FOCUS = Check("claim-focus", "termwright/3, observations", "the node that is focused is the one that receives the keys")
VALUE = Check("claim-value", "termwright/3, semantic conventions", "each known value is what the screen shows, and what was typed")
TEXT = Check("claim-text", "termwright/3, semantic conventions", "a name that comes from the framework is what the screen shows")

#: Seconds for the program to report what it received, and for a click that nobody should receive.
REPORTING, NOBODY = 2.0, 0.2
MAX_CLICKS = 1000
#: Clicks that may go wrong before the rest is not worth the time.
MANY_FAULTS = 8
#: Roles whose name is their visible text; the names of containers are titles that need not be shown.
_SHOWN_ROLES: Final = frozenset(
    ("alert", "button", "cell", "checkbox", "heading", "listitem", "menuitem", "radio", "status", "tab", "text")
)  # fmt: skip

Cells = tuple[tuple[Cell, ...], ...]


def _proof(check: Check, prove: Callable[[Stage], Awaitable[Finding]]) -> Scenario:
    """A run of its own for each claim: clicks and keys of one must not disturb another."""

    async def run(lab: Lab, tell: Tell) -> None:
        async with lab.stage() as stage:
            await stage.attach()
            await stage.quiet()
            tell(check.name, await prove(stage))

    return Scenario((check,), run)


def _tree(stage: Stage) -> Snapshot:
    tree = stage.session.tree
    assert tree is not None  # a stage that is attached has one
    return tree


def _moment(stage: Stage) -> tuple[Snapshot, Cells]:
    """A tree and the cells that it describes: those of its marker, or, without markers, those of now."""
    session, screen = stage.session, stage.bench.marked
    newest = session.marks[-1].revision if session.marks else None
    tree = next((published.tree for published in reversed(session.publications) if published.revision == newest), None)
    if tree is None or screen is None:
        return _tree(stage), stage.bench.screen().cells
    return tree, screen.cells


def _label(node: Node) -> str:
    return node.test_id if node.test_id is not UNSET and node.test_id else node.id


def _is(node: Node, target: str | None) -> bool:
    return target in (node.test_id, node.id)


def _aimable(tree: Snapshot) -> bool:
    return type(tree.coordinate_space) is KnownCoordinateSpace and tree.coordinate_space.value == "viewport-cells"


def _area(tree: Snapshot, rect: Rect) -> set[tuple[int, int]]:
    part = clip(rect, tree.columns, tree.rows).rect
    return {(row, column) for row in range(part.row, part.row + part.height) for column in range(part.column, part.column + part.width)}


def _visible(tree: Snapshot, node: Node) -> set[tuple[int, int]]:
    fact = node.geometry.visible_rect
    return _area(tree, fact.value) if type(fact) is KnownRect else set()


# visible rectangles


async def _painted(stage: Stage) -> Finding:
    tree, cells = _moment(stage)
    claimed = [node for node in tree.nodes if type(node.geometry.visible_rect) is KnownRect]
    if not claimed:
        return skipped("no visibleRect is known")
    if not _aimable(tree):
        return unproved("rectangles that are not in viewport cells cannot be compared with the screen")
    paint = stage.lab.fixture.paint
    missing = [_label(node) for node in claimed if _label(node) not in paint]
    by_label = {_label(node): node for node in tree.nodes}
    colours = {_rgb(colour): by_label[name] for name, listed in paint.items() if name in by_label for colour in listed}
    owners = {
        (row, column): colours.get(_background(cell) or (-1, -1, -1)) for row, line in enumerate(cells) for column, cell in enumerate(line)
    }
    faults = [fault for node in tree.nodes if _label(node) in paint for fault in _paint_faults(tree, node, owners)]
    if faults:
        return judged(faults)
    if missing:
        return unproved(f"the fixture names no colour of {', '.join(missing)}")
    return passed(f"{len(claimed)} rectangles")


def _paint_faults(tree: Snapshot, node: Node, owners: dict[tuple[int, int], Node | None]) -> Iterator[str]:
    """What is painted outside the claimed cells, and what inside is neither of the node, nor below it, nor of a node that overlaps it."""
    fact = node.geometry.visible_rect
    if type(fact) not in (KnownRect, Absent):
        return
    parents = {other.id: other.parent_id for other in tree.nodes}
    claim = _visible(tree, node)
    own = {cell for cell, owner in owners.items() if owner is node}
    stray = own - claim
    if stray:
        yield f"{_label(node)} is painted at {_at(min(stray))}, outside its visibleRect"
    for cell in sorted(claim - own):
        owner = owners.get(cell)
        if owner is None:
            yield f"{_label(node)}: nothing known is painted at {_at(cell)}, inside its visibleRect"
            return
        over = node.id in _ancestors(owner.id, parents) or (owner.id not in _ancestors(node.id, parents) and cell in _visible(tree, owner))
        if not over:
            yield f"{_label(node)}: {_label(owner)} is painted at {_at(cell)}, inside its visibleRect"
            return


def _ancestors(name: str, parents: Mapping[str, object]) -> set[object]:
    found: set[object] = set()
    step: object = parents[name]
    while step is not UNSET:
        found.add(step)
        step = parents[str(step)]
    return found


def _at(cell: tuple[int, int]) -> str:
    return f"row {cell[0]}, column {cell[1]}"


def _rgb(text: str) -> tuple[int, int, int]:
    digits = text.removeprefix("#")
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def _background(cell: Cell) -> tuple[int, int, int] | None:
    return cell.style.foreground if cell.style.inverse else cell.style.background


# names and values


def _shown(tree: Snapshot, node: Node, cells: Cells) -> str:
    """The text in the node's visible rectangle, words separated by one blank."""
    rows: dict[int, list[str]] = {}
    for row, column in sorted(_visible(tree, node)):
        if row < len(cells) and column < len(cells[row]):
            rows.setdefault(row, []).append(cells[row][column].text or " " * min(cells[row][column].width, 1))
    return _words(" ".join("".join(line) for line in rows.values()))


def _words(text: str) -> str:
    return " ".join(text.split())


def _agrees(text: str, shown: str) -> bool:
    """The text is on the screen, or the screen shows a part of a text that is longer than its room."""
    text = _words(text)
    part = shown.rstrip("…")
    return text in shown or (bool(part) and len(part) < len(text) and part in text)


async def _texts(stage: Stage) -> Finding:
    tree, cells = _moment(stage)
    looked, faults = 0, []
    for node in tree.nodes:
        source = node.px.get("name", node.p) if node.px is not UNSET else node.p
        if node.role in _SHOWN_ROLES and node.name.strip() and source != "annotation" and _visible(tree, node):
            looked += 1
            shown = _shown(tree, node, cells)
            if not _agrees(node.name, shown):
                faults.append(f"{_label(node)} is named {node.name!r}, and shows {shown!r}")
    return judged(faults, f"{looked} names") if looked else skipped("no visible node has a name of its framework")


def _known(node: Node) -> str | None:
    return node.value.value if type(node.value) is ValueKnown else None


async def _values(stage: Stage) -> Finding:
    tree, cells = _moment(stage)
    claimed = [node for node in tree.nodes if _known(node) is not None]
    if not claimed:
        return skipped("no value is known")
    faults = []
    for node in claimed:
        shown, value = _shown(tree, node, cells), _known(node) or ""
        if value.strip() and _public(node) and _visible(tree, node) and not _agrees(value, shown):
            faults.append(f"{_label(node)} has the value {value!r}, and shows {shown!r}")
    typed = {typing.target for typing in stage.lab.fixture.type}
    for typing in stage.lab.fixture.type:
        faults += await _typed(stage, typing.target, typing.text)
    if faults:
        return judged(faults)
    bare = [
        _label(node) for node in claimed
        if _label(node) not in typed and not ((_known(node) or "").strip() and _public(node) and _visible(tree, node))
    ]  # fmt: skip
    return unproved(f"nothing shows or changes the value of {', '.join(bare)}") if bare else passed(f"{len(claimed)} values")


def _public(node: Node) -> bool:
    return type(node.value) is ValueKnown and node.value.sensitivity == "public"


async def _typed(stage: Stage, target: str, text: str) -> list[str]:
    node = next((node for node in _tree(stage).nodes if _is(node, target)), None)
    cell = min(_visible(_tree(stage), node), default=None) if node is not None else None
    if cell is None:
        return [f"{target} is not to be seen, and cannot be typed into"]
    stage.bench.click(cell[1], cell[0])
    await stage.quiet()
    stage.bench.type(text)
    await stage.until(lambda: text in (_value_of(stage, target) or ""), DRAWING)
    await stage.quiet()
    tree, cells = _moment(stage)
    node = next((node for node in tree.nodes if _is(node, target)), None)
    value = None if node is None else _known(node)
    if node is None or value is None or text not in value:
        return [f"{target} has the value {value!r} after {text!r} was typed"]
    shown = _shown(tree, node, cells)
    return [f"{target} shows {shown!r} after {text!r} was typed"] if _public(node) and not _agrees(value, shown) else []


def _value_of(stage: Stage, target: str) -> str | None:
    return next((_known(node) for node in _tree(stage).nodes if _is(node, target)), None)


# focus


def _focused(tree: Snapshot) -> list[Node]:
    return [node for node in tree.nodes if type(node.state) is NodeState and node.state.focused is True]


def _focus_is(tree: Snapshot, target: str | None) -> bool:
    focused = _focused(tree)
    return bool(focused) == (target is not None) and all(_is(node, target) for node in focused)


async def _focus(stage: Stage) -> Finding:
    if "focus-state" not in stage.session.announced:
        return skipped("focus-state is not announced")
    keys = stage.lab.fixture.focus
    if keys is None:
        return unproved("the fixture names no keys that move the focus")
    faults, targets = [], set()
    for key in keys.keys:
        stage.press([key])
        deadline = stage.bench.now + DRAWING
        while True:
            await stage.quiet()
            received = await _reported(stage, "key", lambda: stage.press([keys.witness]), keys.witness)
            if received is None:
                return unproved(f"no receiver of {keys.witness} was reported after {key}")
            if _focus_is(_tree(stage), received.target):
                targets.add(received.target)
                break
            if stage.bench.now > deadline:  # until then the focus, or the tree, may still have been on its way
                names = ", ".join(map(_label, _focused(_tree(stage)))) or "nobody"
                faults.append(f"after {key} {names} is focused, and {received.target or 'nobody'} receives the keys")
                break
    if faults:
        return judged(faults)
    return passed(f"{len(targets)} nodes") if len(targets) > 1 else unproved("the focus never moved")


async def _reported(
    stage: Stage, event: str, act: Callable[[], None], key: str | None = None, within: float = REPORTING
) -> Received | None:
    """The first new line about `event` (of `key`) after `act`, or None."""
    before = len(stage.received())
    act()
    deadline = stage.bench.now + within
    while stage.bench.now < deadline:
        for received in stage.received()[before:]:
            if received.event == event and (key is None or received.key == key):
                return received
        await asyncio.sleep(0.01)  # the events file tells nobody that it has grown
    return None


# hit grid


async def _hits(stage: Stage) -> Finding:
    tree = _tree(stage)
    if type(tree.hit_grid) is not KnownHitGrid:
        return unproved("pointer-hit-grid is announced, and no hit grid is known") if _owes_grid(stage) else skipped("no hit grid is known")
    if not _aimable(tree):
        return unproved("a hit grid that is not in viewport cells cannot be clicked")
    faults: list[str] = []
    done: set[tuple[int, int, int, str]] = set()
    clicks = 0
    while (run := next((run for run in _runs(_tree(stage)) if run not in done), None)) is not None:
        done.add(run)
        row, first, last, name = run
        recipient = next(node for node in _tree(stage).nodes if node.id == name)
        for column in dict.fromkeys((first, last)):
            clicks += 1
            if clicks > MAX_CLICKS:
                return unproved(f"more than {MAX_CLICKS} clicks are not enough: the hit grid changes with each")
            fault = await _clicked(stage, recipient, row, column)
            if fault and await _moved(stage, run):
                done.discard(run)  # an earlier click had changed the grid: what it is now comes up again
            elif fault:
                faults.append(fault)
        if len(faults) > MANY_FAULTS or stage.bench.exit_status is not None:
            break
        if len(faults) == clicks > 2 and not any(received.event == "pointer" for received in stage.received()):
            return unproved("the program reports no pointer event at all")
    if stage.bench.exit_status is not None:
        faults.append(f"the program exited with {stage.bench.exit_status} after a click")
    return judged(faults, f"{len(done)} runs, {clicks} clicks")


def _owes_grid(stage: Stage) -> bool:
    return "pointer-hit-grid" in stage.session.announced


def _runs(tree: Snapshot) -> Iterator[tuple[int, int, int, str]]:
    """Row, first and last visible column, and recipient of each run."""
    if type(tree.hit_grid) is KnownHitGrid:
        for region in tree.hit_grid.value.regions:
            last = min(region.rect.column + region.rect.width, tree.columns) - 1
            if region.rect.row < tree.rows and last >= region.rect.column:
                yield region.rect.row, region.rect.column, last, region.recipient_id


async def _moved(stage: Stage, run: tuple[int, int, int, str]) -> bool:
    """Whether the run is no longer claimed, once the program is quiet."""
    await stage.quiet()
    return run not in set(_runs(_tree(stage)))


async def _clicked(stage: Stage, recipient: Node, row: int, column: int) -> str:
    disabled = type(recipient.state) is NodeState and recipient.state.disabled is True
    received = await _reported(stage, "pointer", lambda: stage.bench.click(column, row), within=NOBODY if disabled else REPORTING)
    await stage.quiet(0.05, DRAWING)
    where = f"a click at {_at((row, column))}, in the run of {_label(recipient)},"
    if received is None:
        return "" if disabled else f"{where} is received by nobody"
    return "" if _is(recipient, received.target) else f"{where} is received by {received.target or 'nobody'}"


CLAIMS: Final = (_proof(PAINTED, _painted), _proof(TEXT, _texts), _proof(FOCUS, _focus), _proof(VALUE, _values), _proof(HIT, _hits))
