"""Activity panel, the Linux collector: how soon it tells a change of focus, what it costs the watched program, and what it costs at rest.

Real GTK programs on a private display and bus, and real processes of ours. Where there is no peer, the peer is the bound that we set.
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from harness import Benchmark, Sides, Skip
from triptych.adapters.display import PrivateDisplay
from triptych.errors import Unavailable

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "/usr/bin/python3"
MANY = "org.example.Many.desktop"
TRIPTYCH = [sys.executable, "-P", "-c", "from triptych.engine.cli import main; main()", "activity"]
KEEPER = (
    "import sys; from triptych.adapters.desklink.keeper import run_keeper; sys.exit(run_keeper(sys.argv[1], 'natural', sys.stdout.buffer))"
)
STALL_SECONDS = 2.0
REST_SECONDS = 5.0  # one heartbeat
WAIT_SECONDS = 15.0


class Program:
    """A process that is spoken to in lines, ended by its process id."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdin is not None and self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout
        self._rest = b""

    def say(self, line: str) -> None:
        self._in.write(line.encode() + b"\n")
        self._in.flush()

    def line(self) -> str:
        deadline = time.monotonic() + WAIT_SECONDS
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._out.fileno(), 1 << 20) if ready else b""
            if not chunk:
                raise Skip("a program of the benchmark said nothing more")
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def says(self, seconds: float) -> bool:
        """Whether it says something within that time."""
        return b"\n" in self._rest or bool(select.select([self._out], [], [], seconds)[0])

    def drain(self) -> None:
        """Drop what it has said so far."""
        self._rest = b""
        while select.select([self._out], [], [], 0.0)[0]:
            os.read(self._out.fileno(), 1 << 20)

    def until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            line: dict[str, Any] = json.loads(self.line())
            if found(line):
                return line

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        self._in.close()
        self._out.close()


class Desktop:
    """A private display with a window manager and the program of many widgets in front."""

    def __init__(self, stack: ExitStack) -> None:
        probe = "import gi; gi.require_version('Gtk', '3.0'); from gi.repository import Gtk"
        if not Path(PYTHON).exists() or subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode != 0:
            raise Skip(f"{PYTHON} has no GTK 3: apt install python3-gi gir1.2-gtk-3.0")
        self.stack = stack
        try:
            self.display = stack.enter_context(PrivateDisplay())
        except Unavailable as lacking:
            raise Skip(str(lacking)) from lacking
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triptych-bench-")))
        applications = self.folder / "share" / "applications"
        applications.mkdir(parents=True)
        (applications / MANY).write_text("[Desktop Entry]\nType=Application\nExec=python3 gtk_many.py\nStartupWMClass=GtkMany\n")
        entry = {"id": "many", "surfaceKind": "window", "suppressesWindowTitle": False, "documentResourceKind": "file"}
        entry |= {"focusedElementPolicy": "require", "ids": {"darwin": [], "win32": [], "linux": [MANY]}}
        self.table = self.folder / "adapters.json"
        self.table.write_text(json.dumps({"adapters": [entry]}))
        self.env = {**self.display.env, "XDG_DATA_DIRS": f"{self.folder / 'share'}:/usr/share", "HOME": str(self.folder)}
        self.start([sys.executable, "-c", KEEPER, self.display.name]).line()
        # Accessibility is on before the program starts: it offers its widgets whether or not anybody listens.
        collector = self.collector()
        collector.close()
        self.program = self.start([PYTHON, str(ROOT / "tests" / "programs" / "gtk_many.py")])
        if self.program.line() != "ready":
            raise Skip("the GTK program did not start")

    def start(self, command: list[str]) -> Program:
        program = Program(command, self.env)
        self.stack.callback(program.close)
        return program

    def collector(self) -> Program:
        """A collector that may look at the program; the caller closes it."""
        collector = Program([*TRIPTYCH, "collect", "--enable-accessibility", "--adapter-table", str(self.table)], self.env)
        try:
            collector.until(lambda line: line["type"] == "state" and line["state"] == "running")
            lists = {"blockedBundleIds": [], "protectedBundleIds": [], "protectedPathPatterns": []}
            policy = {"mode": "include-only", "allowedBundleIds": [MANY], **lists}
            collector.say(json.dumps({"v": 1, "type": "configure", "revision": 1, "policy": policy}))
            collector.until(lambda line: line["type"] == "configured")
        except BaseException:
            collector.close()
            raise
        return collector


def is_told(line: dict[str, Any]) -> bool:
    """An observation that tells a window: not one that withholds it."""
    return line["type"] == "observation" and line["element"]["role"] is not None


@contextmanager
def stall_p95() -> Iterator[Sides]:
    """The main loop of a program of 2,000 widgets whose focus moves 20 times a second: the 95th percentile of how late a turn comes."""
    with ExitStack() as stack:
        desktop = Desktop(stack)

        def alone() -> float:
            desktop.program.say(f"measure {STALL_SECONDS}")
            stalls = json.loads(desktop.program.line())["stalls"]
            return statistics.quantiles(stalls, n=20)[-1]

        def watched() -> float:
            collector = desktop.collector()
            try:
                collector.until(lambda line: line["type"] == "observation")
                late = alone()
                collector.until(is_told)  # it did look
                return late
            finally:
                collector.close()

        yield Sides(watched, alone)


@contextmanager
def focus_to_line() -> Iterator[Sides]:
    """From a widget's focus to the observation on standard output; the peer is the bare event at a listener on the accessibility bus."""
    with ExitStack() as stack:
        desktop = Desktop(stack)
        collector = desktop.collector()
        stack.callback(collector.close)
        for _ in range(20):  # until it listens: what has the focus among so many widgets only an event tells
            desktop.program.say("next")
            desktop.program.line()
            if collector.says(1.0) and is_told(json.loads(collector.line())):
                break
        listener = desktop.start([sys.executable, "-P", "-c", LISTENER])
        listener.line()
        taken: list[float] = []

        def ours() -> float:
            time.sleep(0.1)  # the change before is done with
            collector.drain()
            desktop.program.say("next")
            moved, role = json.loads(desktop.program.line())
            collector.until(lambda line: is_told(line) and line["element"]["role"] == role)
            taken.append(time.time() * 1000 - moved)
            return taken[-1]

        def bare() -> float:
            time.sleep(0.1)
            listener.say("ready")
            listener.line()
            desktop.program.say("next")
            moved, _ = json.loads(desktop.program.line())
            return float(listener.line()) - moved

        def p95() -> float:
            return statistics.quantiles(taken, n=20)[-1] if len(taken) > 1 else 0.0

        yield Sides(ours, bare, {"ours, 95th percentile so far": p95})


LISTENER = """
import asyncio, sys, time
from triptych.adapters.collector.atspi_bus import AccessibilityBus
async def main():
    told = asyncio.Event()
    at = 0.0
    def event(event):
        nonlocal at
        if event.kind == "focused" and event.on and not told.is_set():
            at = time.time() * 1000
            told.set()
    bus = await AccessibilityBus.connect(event)
    await bus.subscribe()
    print("listens", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        told.clear()
        print("waits", flush=True)
        await told.wait()
        print(at, flush=True)
    await bus.close()
asyncio.run(main())
"""


class Recording:
    """A host and its collector at rest, with a program in front that is recorded."""

    def __init__(self, desktop: Desktop) -> None:
        options = ["--data", str(desktop.folder / "history"), "--allow", MANY, "--adapter-table", str(desktop.table), "--json"]
        host = desktop.start([*TRIPTYCH, "record", *options, "--enable-accessibility"])
        for _ in range(20):  # until the collector listens and has seen one
            desktop.program.say("next")
            desktop.program.line()
            if host.says(1.0):
                break
        host.line()
        children = Path(f"/proc/{host.process.pid}/task/{host.process.pid}/children").read_text().split()
        self.pids = [host.process.pid, *map(int, children)]
        if len(self.pids) != 2:
            raise Skip("the host has not exactly one child, its collector")
        time.sleep(REST_SECONDS)  # the start is over

    def seconds(self) -> float:
        """The processor time of all threads of both so far."""
        threads = [path for pid in self.pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int(path.read_text().split()[0]) for path in threads) / 1e9

    def megabytes(self) -> float:
        """The memory of both; what they share counts half each."""
        lines = [line for pid in self.pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


@contextmanager
def at_rest(measure: Callable[[Recording], float], bound: float) -> Iterator[Sides]:
    """Host and collector while nothing changes, against the bound that is set for both together."""
    with ExitStack() as stack:
        recording = Recording(Desktop(stack))
        yield Sides(lambda: measure(recording), lambda: bound)


def share_of_a_core(recording: Recording) -> float:
    """Per cent of one core."""
    before, began = recording.seconds(), time.monotonic()
    time.sleep(REST_SECONDS)
    return (recording.seconds() - before) / (time.monotonic() - began) * 100


BENCHMARKS = (
    Benchmark("activity_collector.focus_to_line", "the bare focus event on the bus", focus_to_line, rounds=40),
    Benchmark("activity_collector.stall_p95", "the same program without a collector", stall_p95, rounds=4),
    Benchmark("activity_collector.rest_cpu", "the bound", lambda: at_rest(share_of_a_core, 0.3), unit="% of a core", rounds=4),
    Benchmark("activity_collector.rest_memory", "the bound", lambda: at_rest(Recording.megabytes, 110.0), unit="MB", rounds=2),
)
