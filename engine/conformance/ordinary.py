"""The undisturbed session: a driver that keeps every rule, keys, floods, resizes, resynchronisation. rules.py judges most of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET

from ...generated.termwright.models import Snapshot
from . import rules
from .findings import Check, Finding, Silent, failed, judged, passed, skipped
from .scenario import Scenario, Tell
from .session import Session
from .stage import DRAWING, Lab, Stage

#: Presses of the stimulus keys that are sent at once, and resync requests.
FLOOD = 40
REQUESTS = 200

_RULES: Final[tuple[tuple[str, str, str, Callable[[Session], Finding]], ...]] = (
    ("hello-first", "handshake", "the first message on the socket is hello", rules.hello_first),
    ("hello-valid", "handshake", "hello is valid, of termwright/3, with the token given", rules.hello_valid),
    ("hello-once", "handshake", "hello is sent exactly once", rules.hello_once),
    ("one-socket", "transport", "one adapter connects, once", rules.one_socket),
    ("messages-valid", "directional strictness", "every frame and message is valid, with no unknown field", rules.messages_valid),
    ("no-errors", "error codes", "the adapter reports no error in an undisturbed session", rules.no_errors),
    ("first-tree-full", "semantic publication", "the first revision is a semantic-full", rules.first_tree_full),
    ("session-named", "semantic publication", "every tree names the session of the hello-ack", rules.session_named),
    ("revisions-increase", "semantic publication", "revisions strictly increase", rules.revisions_increase),
    ("publication-order", "semantic publication", "tree N, then commit N, then the next tree", rules.publication_order),
    ("commits-paired", "semantic publication", "each revision is committed exactly once", rules.commits_paired),
    ("marker-last", "semantic publication", "marker N is printed after tree N and commit N were sent", rules.marker_last),
    ("markers-paired", "pairing", "each revision has exactly one marker, in order", rules.markers_paired),
    ("marker-authentic", "render marker", "every OSC 8487 is a canonical marker whose MAC verifies", rules.markers_authentic),
    ("in-flight", "limits", "at most maxQueuedFrames revisions wait for their marker", rules.in_flight),
    ("announced-only", "capabilities", "nothing goes beyond the announced capabilities", rules.announced_only),
    ("guarantees", "observations", "committed observations are settled where that was announced", rules.guarantees),
    ("delta-applies", "semantic publication", "every delta applies to the tree before it", rules.deltas_apply),
    ("log-order", "structured logs", "the seq of log records strictly increases", rules.log_order),
    ("log-budget", "structured logs", "log records stay within the granted budget", rules.log_budget),
)  # fmt: skip
_JUDGED: Final = tuple((Check(name, f"termwright/3, {clause}", rule), judge) for name, clause, rule, judge in _RULES)

STIMULUS = Check("stimulus", "termwright/3, semantic publication", "a key or a resize that changes the screen gives a revision")
HIDDEN = Check("marker-hidden", "termwright/3, render marker", "no part of a marker is ever seen on the screen")
VIEWPORT = Check("viewport", "termwright/3, snapshot", "the tree has the size of the terminal, also after a resize")
RESYNC = Check("resync-full", "termwright/3, resynchronisation", "the publication after a resync request is a full tree")
CHAIN = Check("delta-chain", "termwright/3, semantic publication", "the deltas lead to the tree that the next full one says")
RESYNC_FLOOD = Check("resync-flood", "termwright/3, resynchronisation", f"{REQUESTS} requests at once leave program and session working")
FLOODED = Check("input-flood", "termwright/3, semantic publication", f"{FLOOD} changes at once still end in a complete revision")


async def _run(lab: Lab, tell: Tell) -> None:
    async with lab.stage() as stage:
        session = stage.session
        try:
            await _live(stage, tell)
        finally:
            if session.hello is not None:
                await stage.until(lambda: not session.marked or session.revision >= _newest(session), 1.0)
            for check, judge in _JUDGED:
                tell(check.name, judge(session))


def _newest(session: Session) -> int:
    return max((published.revision for published in session.publications), default=0)


async def _live(stage: Stage, tell: Tell) -> None:
    session, seen = stage.session, _Screens(stage)
    await stage.attach()
    seen.look()
    drew = [await stage.stimulate() for _ in range(3)]
    tell(STIMULUS.name, passed() if any(drew) else failed(f"{' '.join(stage.lab.fixture.stimulus)} and a resize gave no revision"))
    seen.look()
    await stage.resize(stage.size[0] - 7, stage.size[1] - 3)
    await stage.quiet()
    smaller = _size_fault(stage)
    await stage.resize(stage.lab.fixture.columns, stage.lab.fixture.rows)
    await stage.quiet()
    fault = smaller or _size_fault(stage)
    tell(VIEWPORT.name, failed(fault) if fault else passed())
    if stage.lab.fixture.log:
        stage.press(stage.lab.fixture.log)
        await stage.quiet()
    tell(FLOODED.name, await _flood(stage))
    await _resync(stage, tell)
    tell(RESYNC_FLOOD.name, await _resync_flood(stage))
    seen.look()
    tell(HIDDEN.name, judged(seen.faults) if session.marked else skipped("render-revisions is not announced"))


def _size_fault(stage: Stage) -> str:
    tree = stage.session.tree
    if tree is None or (tree.columns, tree.rows) == stage.size:
        return ""
    return f"the tree is {tree.columns}x{tree.rows}, the terminal {stage.size[0]}x{stage.size[1]}"


async def _flood(stage: Stage) -> Finding:
    before = stage.session.revision
    for _ in range(FLOOD):
        stage.press(stage.lab.fixture.stimulus)
    await stage.until(lambda: stage.session.revision > before, DRAWING)
    await stage.quiet(timeout=2 * DRAWING)
    newest = _newest(stage.session)
    if stage.session.revision < newest:
        return failed(f"revision {newest} was published last, and {stage.session.revision} is the last complete one")
    if stage.session.revision == before and not await stage.stimulate():
        return failed("no revision came after the flood")
    return passed(f"{stage.session.revision - before} revisions")


async def _resync(stage: Stage, tell: Tell) -> None:
    """Two requests with a full tree after each: the chain's last tree, the first full one and the second must agree."""
    session = stage.session
    chain = session.tree
    trees: list[Snapshot] = []
    for _ in range(2):
        count = len(session.publications)
        await stage.resync()
        await stage.wiggle()
        if not await stage.until(lambda count=count: len(session.publications) > count, DRAWING):  # type: ignore[misc]  # bound at once
            tell(RESYNC.name, failed("no revision came after the request"))
            raise Silent("no revision came after a resync request")
        if not session.publications[count].full:
            tell(RESYNC.name, failed(f"revision {session.publications[count].revision}, the next, is a delta"))
            raise Silent("the publication after a resync request is a delta")
        await stage.quiet()
        if session.tree is not None:
            trees.append(session.tree)
    tell(RESYNC.name, passed())
    if "incremental-tree" not in session.announced:
        tell(CHAIN.name, skipped("incremental-tree is not announced"))
    elif chain is None or len(trees) < 2:
        tell(CHAIN.name, failed("there is no tree to compare"))
    elif (still := _difference(trees[0], trees[1])) is not None:
        tell(CHAIN.name, skipped(f"the tree changes by itself: {still}"))
    else:
        fault = _difference(chain, trees[0])
        tell(CHAIN.name, failed(f"the full tree says otherwise: {fault}") if fault else passed())


def _difference(before: Snapshot, after: Snapshot) -> str | None:
    """The first thing in which two trees differ, but for what every revision changes."""
    before, after = (msgspec.structs.replace(tree, revision=1, cursor=UNSET, provider_evidence=UNSET) for tree in (before, after))
    if before == after:
        return None
    if [node.id for node in before.nodes] != [node.id for node in after.nodes]:
        return "the nodes, or their order"
    for one, other in zip(before.nodes, after.nodes, strict=True):
        for field in type(one).__struct_fields__:
            if getattr(one, field) != getattr(other, field):
                return f"{field} of node {one.id!r}"
    return "the roots, the size, the coordinate space or the hit grid"


async def _resync_flood(stage: Stage) -> Finding:
    session = stage.session
    request = stage.resync_request()
    for _ in range(REQUESTS):
        if not await stage.say(request):
            return failed("the adapter closed its socket, or no longer reads it")
    fault = await stage.dead()
    if fault:
        return failed(fault)
    before = session.revision
    await stage.stimulate()
    return passed() if session.revision > before or session.revision == _newest(session) else failed("no complete revision came after it")


class _Screens:
    """Looks at the screen for what should not be there."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.faults: list[str] = []

    def look(self) -> None:
        text = self._stage.bench.text()
        self.faults += [f"{word!r} is on the screen" for word in rules.MARKER_TEXT if word in text]
        stray = self._stage.bench.output.count(b"8487;twm;") - len(self._stage.session.marks)
        if stray > 0 and not self.faults:
            self.faults.append(f"{stray} markers are not whole OSC sequences")


UNDISTURBED = Scenario(
    (*(check for check, _ in _JUDGED), STIMULUS, HIDDEN, VIEWPORT, FLOODED, RESYNC, CHAIN, RESYNC_FLOOD),
    _run,
)
