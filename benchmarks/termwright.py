"""Terminal panel: trees, deltas, message streams, markers, the way from the pty into the emulator, and from a key to its tree.

The peer is the published Python client `termwright` where it has the same part, and the bare thing itself where it has not.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness import Benchmark, Sides, Skip

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT.parent / "shared" / "data" / "termwright"
MILLISECONDS = 1000.0

# The trees are made by rule, with nothing drawn by chance. Where the recorded frames lie beside the checkout, they are the same bytes.

COLUMNS, ROWS = 200, 60
EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "bench-probe"}
TOKEN, SESSION = "t" * 43, "s-bench"


def known(value: object, **more: object) -> dict[str, object]:
    return {"status": "known", "value": value, **more, "evidence": EVIDENCE}


def node(number: int) -> dict[str, object]:
    """One node: a root, then by turns texts, text boxes, buttons and regions, ten to a parent."""
    role = "application" if not number else "region" if number % 7 == 0 else ("button", "text", "textbox")[number % 3]
    rect = {"row": number % ROWS, "column": number * 7 % (COLUMNS - 12), "width": 10, "height": 1}
    if not number:
        rect |= {"width": COLUMNS, "height": ROWS}
    return {
        "id": f"w{number}",
        **({"parentId": f"w{(number - 1) // 10}"} if number else {}),
        "role": role,
        "name": f"Node {number} label",
        **({"value": known(f"v{number}", sensitivity="public")} if role == "textbox" else {}),
        **({"state": {"focused": number == 3, "disabled": False}, "actions": ["focus", "activate"]} if role == "button" else {}),
        **({"testId": f"t{number}"} if number % 5 == 0 else {}),
        "p": "framework",
        "geometry": {"displayed": known(True), "intendedRect": known(rect), "visibleRect": known(rect)},
    }


def framed(message: object) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    return len(body).to_bytes(4, "big") + body


def full_frame(nodes: int) -> bytes:
    """A semantic-full of so many nodes, as a frame; a hit grid of up to 240 runs."""
    runs = [
        {"rect": {"row": number // 4, "column": number % 4 * 20, "width": 20, "height": 1}, "recipientId": f"w{number}"}
        for number in range(min(nodes, ROWS * 4))
    ]
    snapshot = {
        "v": 3,
        "sessionId": SESSION,
        "revision": 1,
        "columns": COLUMNS,
        "rows": ROWS,
        "cursor": {"row": 0, "column": 0, "visible": True},
        "rootIds": ["w0"],
        "nodes": [node(number) for number in range(nodes)],
        "coordinateSpace": known("viewport-cells"),
        "hitGrid": known({"regions": runs}),
    }
    return recorded(f"frame-full-{nodes}.bin", framed({"type": "semantic-full", "snapshot": snapshot}))


def delta_frame(nodes: int) -> bytes:
    """A semantic-delta that changes every hundredth node of such a tree, as a frame."""
    updates = [{"id": f"w{number}", "set": {"name": f"Changed {number}", "state": {"disabled": True}}} for number in range(50, nodes, 100)]
    delta = {"v": 3, "sessionId": SESSION, "revision": 2, "baseRevision": 1, "updateNodes": updates}
    return recorded(f"frame-delta-{nodes}-1pct.bin", framed({"type": "semantic-delta", "delta": delta}))


def recorded(name: str, made: bytes) -> bytes:
    path = RECORDED / name
    if path.exists() and path.read_bytes() != made:
        raise AssertionError(f"the rule does not make the recorded {name}")
    return made


def peer_client() -> SimpleNamespace:
    """What is measured of the published client."""
    try:
        from termwright import framing, limits, marker, messages, validate
    except ImportError as missing:
        raise Skip("the peer is not installed: pip install 'triptych[dev]'") from missing
    wide = replace(limits.DEFAULT_LIMITS, maxFrameBytes=1 << 23, maxSnapshotBytes=1 << 23)
    return SimpleNamespace(
        decoder=lambda: framing.FrameDecoder(wide.maxFrameBytes, wide.maxDepth),
        validate=lambda snapshot: validate.validate_snapshot(snapshot, wide),
        parse=lambda value: messages.parse_adapter_message(value, wide),
        encode_marker=marker.encode_marker,
        verify_marker=marker.verify_marker_payload,
    )


def our_client() -> SimpleNamespace:
    """The same of ours; the ceilings are as wide, for the largest tree."""
    from triptych.machines.termwright.framing import FrameDecoder
    from triptych.machines.termwright.limits import DEFAULT_LIMITS
    from triptych.machines.termwright.messages import read_adapter_message

    wide = {**DEFAULT_LIMITS, "maxFrameBytes": 1 << 23, "maxSnapshotBytes": 1 << 23}
    return SimpleNamespace(
        decoder=lambda: FrameDecoder(wide["maxFrameBytes"]), read=lambda body: read_adapter_message(body, wide), limits=wide
    )


def reads_full(frame: bytes, nodes: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Our way and the peer's way from a frame to its checked tree; both must find all its nodes."""
    our, peer = our_client(), peer_client()

    def ours() -> object:
        (body,) = our.decoder().bodies(frame)
        snapshot = our.read(body).snapshot
        assert len(snapshot.nodes) == nodes
        return snapshot

    def theirs() -> object:
        (message,) = peer.decoder().push(frame)
        result = peer.validate(message["snapshot"])
        assert result.ok and len(result.snapshot["nodes"]) == nodes
        return result.snapshot

    return ours, theirs


def parses_full(frame: bytes) -> Callable[[], None]:
    """The peer's way to the whole checked message: what ours answers too, where `validate_snapshot` leaves the envelope unchecked."""
    peer = peer_client()

    def parse() -> None:
        (message,) = peer.decoder().push(frame)
        assert peer.parse(message).ok

    return parse


def silent(side: Callable[[], object]) -> Callable[[], None]:
    """A side whose answer is no measurement."""

    def run() -> None:
        side()

    return run


def validate(nodes: int) -> Callable[[], AbstractContextManager[Sides]]:
    """Both sides take a whole frame through a fresh frame decoder and validate the tree in it.

    The peer is at its quickest: it validates the snapshot alone, where ours checks the message around it too.
    """

    @contextmanager
    def prepare() -> Iterator[Sides]:
        ours, theirs = reads_full(full_frame(nodes), nodes)
        yield Sides(silent(ours), silent(theirs))

    return prepare


def message(nodes: int) -> Callable[[], AbstractContextManager[Sides]]:
    """The same frame to the whole checked message on both sides: equal work."""

    @contextmanager
    def prepare() -> Iterator[Sides]:
        frame = full_frame(nodes)
        ours, _ = reads_full(frame, nodes)
        yield Sides(silent(ours), parses_full(frame))

    return prepare


@contextmanager
def delta_1pct() -> Iterator[Sides]:
    """1 % of 1,000 nodes changes: ours decodes and applies a delta; the peer knows only whole trees, and decodes and validates one."""
    from triptych.machines.termwright.semantic_state import SemanticState

    full, delta = full_frame(1000), delta_frame(1000)
    read, theirs = reads_full(full, 1000)
    our = our_client()
    held = SemanticState.of(read(), our.limits)

    def ours() -> None:
        (body,) = our.decoder().bodies(delta)
        applied = held.apply(our.read(body).delta, size=len(body))
        assert applied.state.snapshot.revision == 2 and len(applied.changed) == 10

    yield Sides(ours, silent(theirs))


COMMITS = [{"type": "revision-commit", "revision": number} for number in range(1, 401)]
LOGS = [
    {
        "type": "log",
        "record": {
            "ts": 1_700_000_000_000 + number,
            "level": ("debug", "info", "warn")[number % 3],
            "message": f"request {number} was answered",
            "logger": "app.server",
            "seq": number,
            "attrs": {"status": 200, "path": f"/items/{number}", "cached": number % 2 == 0},
        },
    }
    for number in range(400)
]
CHUNK = 1400  # bytes: most chunks end inside a message


def stream(messages: Sequence[object]) -> Callable[[], AbstractContextManager[Sides]]:
    """400 messages in chunks of 1,400 bytes through one frame decoder; both sides check each of them."""

    @contextmanager
    def prepare() -> Iterator[Sides]:
        our, peer = our_client(), peer_client()
        data = b"".join(framed(message) for message in messages)
        chunks = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]

        def ours() -> None:
            decoder = our.decoder()
            assert len([our.read(body) for chunk in chunks for body in decoder.bodies(chunk)]) == len(messages)

        def theirs() -> None:
            decoder = peer.decoder()
            read = [peer.parse(value) for chunk in chunks for value in decoder.push(chunk)]
            assert len(read) == len(messages) and all(result.ok for result in read)

        yield Sides(ours, theirs)

    return prepare


@contextmanager
def marker_encode() -> Iterator[Sides]:
    """Make the marker of one revision after the other."""
    from triptych.machines.termwright.marker import encode_marker

    peer, ours_at, peer_at = peer_client(), count(1), count(1)
    yield Sides(
        silent(lambda: encode_marker(TOKEN, SESSION, next(ours_at))), silent(lambda: peer.encode_marker(TOKEN, SESSION, next(peer_at)))
    )


@contextmanager
def marker_verify() -> Iterator[Sides]:
    """Verify a true marker; beside it, what a forged one costs."""
    from triptych.machines.termwright.marker import encode_marker, verify_marker

    peer = peer_client()
    payload = encode_marker(TOKEN, SESSION, 1234)[len(b"\x1b]8487;") : -1].decode()
    forged = payload.replace("1234", "1235")
    assert verify_marker(payload, TOKEN, SESSION) == peer.verify_marker(payload, TOKEN, SESSION).revision == 1234
    assert verify_marker(forged, TOKEN, SESSION) is peer.verify_marker(forged, TOKEN, SESSION) is None
    yield Sides(
        silent(lambda: verify_marker(payload, TOKEN, SESSION)),
        silent(lambda: peer.verify_marker(payload, TOKEN, SESSION)),
        {
            "ours, a forged marker": silent(lambda: verify_marker(forged, TOKEN, SESSION)),
            "peer, a forged marker": silent(lambda: peer.verify_marker(forged, TOKEN, SESSION)),
        },
    )


@contextmanager
def memory_5000() -> Iterator[Sides]:
    """Megabytes that a checked tree of 5,000 nodes takes once its frame is forgotten."""
    from triptych.machines.termwright.semantic_state import SemanticState

    our = our_client()
    ours, theirs = reads_full(full_frame(5000), 5000)

    def taken(side: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            tracemalloc.start()
            try:
                held = side()
                return tracemalloc.get_traced_memory()[0] / 1e6 if held is not None else 0.0
            finally:
                tracemalloc.stop()

        return run

    with_index = taken(lambda: SemanticState.of(ours(), our.limits))
    yield Sides(taken(ours), taken(theirs), {"ours, with the index that deltas are applied to": with_index})


def painted(size: int) -> bytes:
    """About so many bytes of what programs print: coloured text, cursor jumps, erased lines, some that is not ASCII."""
    line = "\x1b[{row};1H\x1b[2K\x1b[3{colour}m{number:>6}\x1b[0m │ the quick brown fox jumps over \x1b[1;4mżółw\x1b[0m {number}\r\n"
    lines = (line.format(row=number % 24 + 1, colour=number % 8, number=number).encode() for number in count())
    data = bytearray()
    while len(data) < size:
        data += next(lines)
    return bytes(data)


@contextmanager
def pty_feed() -> Iterator[Sides]:
    """MB of a program's output a second, from its first byte to its end: the whole driver, and a bare loop of os.read and feed.

    The seconds are those of this process: by the wall, which stands beside, it is the kernel that decides when reader and program run.
    """
    from triptych.adapters.termwright.driver import Driver
    from triptych.adapters.termwright.emulator import open_emulator
    from triptych.errors import Unavailable

    data = painted(4_000_000)
    try:
        open_emulator(80, 24).close()
    except Unavailable as lacking:
        raise Skip(str(lacking)) from lacking

    with tempfile.NamedTemporaryFile() as file, asyncio.Runner() as runner:
        file.write(data)
        file.flush()
        # It waits for a line, so that no start-up is measured.
        program = ["sh", "-c", f"stty -echo; echo ready; read go; exec cat {file.name}"]

        async def drive(clock: Callable[[], float]) -> float:
            driver = await Driver.start(program, columns=80, rows=24, window=1.0)
            try:
                assert await driver.wait_until(lambda: "ready" in driver.text(), 10.0)
                started = clock()
                driver.write(b"\n")
                assert await driver.wait_until(lambda: driver.exit_status == 0, 60.0)
                return len(data) / (clock() - started) / 1e6
            finally:
                await driver.close()

        def bare(clock: Callable[[], float]) -> float:
            emulator = open_emulator(80, 24)
            master, slave = os.openpty()
            child = subprocess.Popen(program, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
            os.close(slave)
            try:
                while "ready" not in emulator.text():
                    emulator.feed(os.read(master, 1 << 16))
                started = clock()
                os.write(master, b"\n")
                try:
                    while True:
                        emulator.feed(os.read(master, 1 << 16))
                except OSError:  # EIO: the program has closed its terminal
                    return len(data) / (clock() - started) / 1e6
            finally:
                os.close(master)
                child.wait()
                emulator.close()

        wall, own = time.perf_counter, time.process_time
        by_wall = {"ours, by the wall": lambda: runner.run(drive(wall)), "bare loop, by the wall": lambda: bare(wall)}
        yield Sides(lambda: runner.run(drive(own)), lambda: bare(own), by_wall)


class Watch:
    """An observer that notes when the last marker came out of the pty, before anything parsed it, and when its tree was published."""

    def __init__(self) -> None:
        self.marked = self.shown = 0.0

    def output(self, data: bytes, at: float) -> None:
        if b"\x1b]8487;" in data:
            self.marked = time.perf_counter()

    def published(self, revision: int, tree: object, at: float) -> None:
        self.shown = time.perf_counter()

    def _ignored(self, *facts: object) -> None:
        """Of no interest here."""

    input = resized = acted = exited = _ignored


@contextmanager
def key_to_revision() -> Iterator[Sides]:
    """Milliseconds from a key into a small Textual app to the paired revision, and to the app's own render: its marker out of the pty."""
    from triptych.adapters.termwright.driver import Driver
    from triptych.errors import Unavailable

    app = ROOT / "tests" / "programs" / "textual_form.py"
    if not app.exists():
        raise Skip("the Textual app of the tests is not here")
    program = [sys.executable, "-m", "triptych.adapters.termwright.textual_probe", "--", sys.executable, str(app)]
    watch, keys = Watch(), count()

    async def pressed(driver: Driver) -> tuple[float, float]:
        """Type a letter, then take it back, by turns; the times until the marker and until the pair."""
        assert driver.pair is not None
        await driver.wait_quiet(0.02, 5.0)
        before, started = driver.pair.revision, time.perf_counter()
        driver.write(b"x" if next(keys) % 2 == 0 else b"\x7f")
        assert await driver.wait_until(lambda: driver.pair is not None and driver.pair.revision > before, 10.0)
        return (watch.marked - started) * MILLISECONDS, (watch.shown - started) * MILLISECONDS

    with asyncio.Runner() as runner:
        try:
            driver = runner.run(Driver.start(program, columns=100, rows=30, window=20.0, observers=(watch,)))
        except Unavailable as lacking:
            raise Skip(str(lacking)) from lacking
        try:
            if not runner.run(driver.wait_until(lambda: driver.pair is not None, 30.0)):
                raise Skip(f"the probe did not attach: {list(driver.diagnostics)}")
            runner.run(driver.wait_quiet(0.5, 10.0))
            yield Sides(lambda: runner.run(pressed(driver))[1], lambda: runner.run(pressed(driver))[0])
        finally:
            runner.run(driver.close())


PEER = "termwright 0.7.7"
BENCHMARKS = (
    Benchmark("termwright.validate_10", PEER, validate(10), rounds=60, turn=0.02, clock="process"),
    Benchmark("termwright.validate_100", PEER, validate(100), rounds=40, turn=0.02, clock="process"),
    Benchmark("termwright.validate_1000", PEER, validate(1000), rounds=12, turn=0.1, clock="process"),
    Benchmark("termwright.validate_5000", PEER, validate(5000), rounds=6, turn=0.5, clock="process"),
    Benchmark("termwright.message_10", PEER, message(10), rounds=40, turn=0.02, clock="process"),
    Benchmark("termwright.message_100", PEER, message(100), rounds=25, turn=0.02, clock="process"),
    Benchmark("termwright.message_1000", PEER, message(1000), rounds=8, turn=0.15, clock="process"),
    Benchmark("termwright.message_5000", PEER, message(5000), rounds=4, turn=0.5, clock="process"),
    Benchmark("termwright.delta_1pct", "termwright 0.7.7, a whole tree", delta_1pct, rounds=12, turn=0.1, clock="process"),
    Benchmark("termwright.commits", PEER, stream(COMMITS), rounds=40, turn=0.02, clock="process"),
    Benchmark("termwright.logs", PEER, stream(LOGS), rounds=40, turn=0.02, clock="process"),
    Benchmark("termwright.marker_encode", PEER, marker_encode, rounds=40, turn=0.01, clock="process"),
    Benchmark("termwright.marker_verify", PEER, marker_verify, rounds=40, turn=0.01, clock="process"),
    Benchmark("termwright.pty_feed", "os.read and feed", pty_feed, unit="MB/s", better="higher", rounds=16),
    Benchmark("termwright.key_to_revision", "the marker out of the pty", key_to_revision, rounds=40),
    Benchmark("termwright.memory_5000", PEER, memory_5000, unit="MB", rounds=4),
)
