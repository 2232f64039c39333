"""Sessions in which the driver is slow, tight, strange, hostile or gone: what an adapter must survive, and the program under it always."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ...generated.termwright.models import Hello
from .findings import Check, Finding, failed, judged, passed, skipped
from .scenario import Scenario, Tell
from .stage import DRAWING, QUIET, Lab, Stage

#: Seconds after which a hello-ack is merely slow, and too late for everyone.
SLOW, LATE = 1.0, 5.5
#: Seconds of patience for what the adapter should do at once.
SOON = 3.0
#: Ceilings that no tree with more than one node fits.
TIGHT_FRAME, TIGHT_NODES = 256, 1
#: Seconds of key presses while the driver does not read: enough to fill what the kernel holds for it.
UNREAD = 4.0
UNREAD_ANSWERS = 400
LONGEST_UNREAD = 60.0

Play = Callable[[Stage], Awaitable[Finding]]


def _alone(name: str, clause: str, rule: str, play: Play) -> Scenario:
    """A scenario of one check and one run."""

    async def run(lab: Lab, tell: Tell) -> None:
        async with lab.stage() as stage:
            tell(name, await play(stage))

    return Scenario((Check(name, f"termwright/3, {clause}", rule),), run)


async def _unharmed(stage: Stage, detail: str = "") -> Finding:
    fault = await stage.dead()
    return failed(fault) if fault else passed(detail)


async def _nothing_published(stage: Stage, why: str) -> Finding:
    """After the driver said `why`, no tree and no marker may come, and the program lives."""
    await stage.quiet(2 * QUIET, SOON)
    fault = await stage.dead()
    await stage.quiet()
    session = stage.session
    if session.publications or session.marks:
        return failed(f"{len(session.publications)} trees and {len(session.marks)} markers came after {why}")
    return failed(fault) if fault else passed()


async def _unknown_fields(stage: Stage) -> Finding:
    await stage.hello()
    await stage.send(stage.acknowledgement(extra={"x-later": {"nested": [1, None]}, "added": True}))
    await stage.published()
    return judged([f"{error.code}: {error.message}" for error in stage.session.errors])


async def _in_pieces(stage: Stage) -> Finding:
    await stage.hello()
    frame = stage.acknowledgement()
    for piece in (frame[:2], frame[2:5], frame[5:-1], frame[-1:]):
        await stage.send(piece)
        await asyncio.sleep(0.02)  # so that each piece is a read of its own
    await stage.published()
    return passed()


async def _slow_ack(stage: Stage) -> Finding:
    await stage.hello()
    await asyncio.sleep(SLOW)  # what is checked is that nothing comes meanwhile
    session = stage.session
    early = [message for _, _, message in session.messages if not isinstance(message, Hello)]
    if early or session.marks or session.faults:
        return failed(f"{len(early) + len(session.faults)} messages and {len(session.marks)} markers came before the hello-ack")
    await stage.send(stage.acknowledgement())
    await stage.published()
    return passed()


async def _late_ack(stage: Stage) -> Finding:
    await stage.hello()
    await asyncio.sleep(LATE)  # longer than any adapter waits
    await stage.send(stage.acknowledgement())
    return await _unharmed(stage)


async def _closed(stage: Stage) -> Finding:
    await stage.attach()
    stage.bench.cut(stage.session.link)
    await stage.quiet()
    last = max(published.revision for published in stage.session.publications)
    fault = await stage.dead()
    stage.press(stage.lab.fixture.stimulus)  # the first may only have shown the adapter that the socket is closed
    await stage.quiet()
    late = [mark.revision for mark in stage.session.marks if mark.revision is None or mark.revision > last]
    if late:
        return failed(f"{len(late)} markers of revisions after the last that was sent, {last}")
    return failed(fault) if fault else passed()


def _refused(code: str, message: str) -> Play:
    async def play(stage: Stage) -> Finding:
        await stage.hello()
        await stage.say({"type": "error", "code": code, "message": message})
        await stage.quiet(QUIET, 1.0)
        stage.bench.cut(stage.session.link)
        return await _nothing_published(stage, f"the error {code}")

    return play


def _bad_ack(why: str, **changes: Any) -> Play:
    async def play(stage: Stage) -> Finding:
        await stage.hello()
        await stage.send(stage.acknowledgement(**changes))
        return await _nothing_published(stage, why)

    return play


async def _half_ack(stage: Stage) -> Finding:
    await stage.hello()
    await stage.send(stage.acknowledgement()[:-40])
    await stage.quiet(QUIET, 1.0)
    stage.bench.cut(stage.session.link)
    return await _nothing_published(stage, "half a hello-ack and a closed socket")


def _bad_bytes(data: bytes, why: str) -> Play:
    async def play(stage: Stage) -> Finding:
        await stage.attach()
        session = stage.session
        await stage.send(data)
        await stage.until(lambda: session.gone, 1.0)
        before = len(session.publications)
        fault = await stage.dead()
        await stage.quiet()
        if len(session.publications) > before:
            return failed(f"the adapter publishes on after {why}")
        return failed(fault) if fault else passed("closed" if session.gone else "silent")

    return play


async def _foreign_resync(stage: Stage) -> Finding:
    await stage.attach()
    await stage.resync("another-session")
    if not await stage.until(lambda: stage.session.gone, SOON):
        return failed(f"the socket is still open {SOON:.0f} s after a request for another session")
    return await _unharmed(stage)


async def _unread(stage: Stage) -> Finding:
    await stage.attach()
    bench = stage.bench
    bench.hold(stage.session.link)
    until, pressed = bench.now + UNREAD, 0
    # As many answers as fill the socket, also where the program is slow.
    while bench.now < until or (pressed < UNREAD_ANSWERS and bench.now < until + LONGEST_UNREAD):
        before, pressed = bench.printed, pressed + 1
        stage.press(stage.lab.fixture.stimulus)
        if not await stage.until(lambda before=before: bench.printed > before, SOON):  # type: ignore[misc]  # bound at once
            break
    return await _unharmed(stage)


def _tight(limits: Mapping[str, int]) -> Play:
    async def play(stage: Stage) -> Finding:
        await stage.hello()
        await stage.send(stage.acknowledgement(limits=limits))
        sent = len(stage.session.sizes)
        await stage.quiet(2 * QUIET, SOON)
        fault = await stage.dead()
        await stage.quiet()
        session = stage.session
        faults = [problem for _, _, problem in session.faults]
        most = session.granted["maxFrameBytes"]
        faults += [f"a frame of {size} bytes; the ceiling is {most}" for size in session.sizes[sent:] if size > most]
        return judged([*faults, *([fault] if fault else [])], f"{len(session.publications)} trees fitted")

    return play


async def _no_markers(stage: Stage) -> Finding:
    await stage.hello()
    if not stage.session.marked:
        return skipped("render-revisions is not announced")
    await stage.send(stage.acknowledgement(marker=False))
    await stage.until(lambda: bool(stage.session.publications))
    await stage.quiet()
    await stage.dead()
    await stage.quiet()
    if stage.session.marks:
        return failed(f"{len(stage.session.marks)} markers were printed")
    return passed() if stage.session.publications else failed("no tree came")


async def _no_budget(stage: Stage) -> Finding:
    await stage.hello()
    if "logs" not in stage.session.announced:
        return skipped("logs is not announced")
    if not stage.lab.fixture.log:
        return skipped("the fixture names no keys that log")
    await stage.send(stage.acknowledgement(logs=False))
    await stage.published()
    stage.press(stage.lab.fixture.log)
    await stage.until(lambda: bool(stage.session.logs), DRAWING / 2)
    return failed(f"{len(stage.session.logs)} records came") if stage.session.logs else passed()


MISBEHAVIOUR: Final = (
    _alone("ack-late", "handshake", f"a hello-ack after {LATE:g} s leaves the program running", _late_ack),
    _alone("ack-unknown-fields", "directional strictness", "unknown fields of a hello-ack are ignored", _unknown_fields),
    _alone("ack-in-pieces", "framing", "a frame that comes in pieces is put together", _in_pieces),
    _alone("ack-slow", "handshake", f"nothing is sent before the hello-ack, and one that takes {SLOW:g} s is taken", _slow_ack),
    _alone(
        "ack-closed-set", "directional strictness", "a hello-ack with a word outside a closed set is refused",
        _bad_ack("a hello-ack that subscribes to snapshots", subscribe="snapshots"),
    ),
    _alone(
        "ack-version", "handshake", "a hello-ack of another protocol version is refused",
        _bad_ack("a hello-ack of termwright/2", protocol="termwright/2"),
    ),
    _alone("ack-cut", "framing", "a socket that closes in the middle of a frame leaves the program running", _half_ack),
    _alone(
        "refused-token", "handshake", "after an error at the handshake the adapter is dormant and the program runs",
        _refused("bad-token", "the token is not this session's"),
    ),
    _alone(
        "second-adapter", "transport", "an adapter that comes second is refused, and dormant, and its program runs",
        _refused("internal", "another adapter has attached"),
    ),
    _alone(
        "frame-oversized", "framing", "a frame that declares more than the ceiling ends the channel, not the program",
        _bad_bytes(b"\xff\xff\xff\xff", "a frame of 4 GiB was declared"),
    ),
    _alone(
        "frame-malformed", "framing", "a frame that is no JSON ends the channel, not the program",
        _bad_bytes(b"\x00\x00\x00\x03{{{", "a frame that is no JSON"),
    ),
    _alone("resync-foreign", "resynchronisation", "a resync request for another session closes the channel", _foreign_resync),
    _alone("socket-closed", "transport", "a closed socket leaves the program running, and ends the markers", _closed),
    _alone("slow-peer", "transport", "a driver that does not read never holds the program up", _unread),
    _alone("limits-frame", "limits", f"no frame is over a granted ceiling ({TIGHT_FRAME} bytes)", _tight({"maxFrameBytes": TIGHT_FRAME})),
    _alone("limits-nodes", "limits", f"no tree is over a granted ceiling ({TIGHT_NODES} node)", _tight({"maxNodes": TIGHT_NODES})),
    _alone("marker-disabled", "handshake", "without granted markers none is printed, and trees still come", _no_markers),
    _alone("log-unbudgeted", "structured logs", "without a granted budget no log record is sent", _no_budget),
)  # fmt: skip
