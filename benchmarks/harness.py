"""Measures our way and a peer's way of doing one thing, in turns on the same machine, and says how many times better ours is.

A benchmark file (one a panel: termwright.py, activity.py, desktop.py) offers `BENCHMARKS`, a tuple of `Benchmark`. Rounds are interleaved
and their order alternates, so that a machine that gets slower meanwhile slows both sides; the ratio is the median of the rounds' own
ratios, never one of figures that were taken far apart. `run.py` is the command.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Side: TypeAlias = Callable[[], float | None]
"""One piece of work. The call is timed, unless it returns a measurement of its own in the benchmark's unit (a rate, a share, a size)."""

MILLISECONDS = 1000.0
CLOCKS: Mapping[str, Callable[[], float]] = {"wall": time.perf_counter, "process": time.process_time}


@dataclass(frozen=True)
class Sides:
    """The two sides, ready to run. `beside` are reference figures that are shown and not compared, such as a plain memory copy."""

    ours: Side
    peer: Side
    beside: Mapping[str, Side] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """One comparison. `name` is dotted by panel (`desktop.grab_1080p`), `peer` says who is compared with, `prepare` yields the sides.

    Raise `Skip` in `prepare` when the machine lacks something. `unit` is "ms" for timed calls. Every round times `calls` calls in a row,
    or, with `turn`, as many as take about so many seconds: then the quick side sees as much of the machine's weather as the slow one does.
    `clock` is what times a call: the wall, or this process's own time, which is right where both sides are one thread that never waits.
    """

    name: str
    peer: str
    prepare: Callable[[], AbstractContextManager[Sides]]
    unit: str = "ms"
    better: Literal["lower", "higher"] = "lower"
    rounds: int = 40
    calls: int = 1
    turn: float = 0.0
    clock: Literal["wall", "process"] = "wall"


class Skip(Exception):
    """This machine cannot run the benchmark; the text says what it lacks."""


@dataclass(frozen=True)
class Result:
    """Medians of both sides in `unit`. `ratio`, the median of the rounds' ratios, is above 1 where ours is better.

    `spread` is the interquartile range of those ratios, as a share of their median.
    """

    name: str
    peer_name: str
    unit: str
    ours: float
    peer: float
    ratio: float
    spread: float
    beside: Mapping[str, float]

    def as_json(self) -> str:
        """One line: name, unit, ours, peer, ratio, spread, and what was measured beside."""
        fields = {"name": self.name, "unit": self.unit, "ours": self.ours, "peer": self.peer, "ratio": self.ratio, "spread": self.spread}
        numbers = {key: round(value, 4) if isinstance(value, float) else value for key, value in fields.items()}
        beside = {"beside": {name: round(value, 4) for name, value in self.beside.items()}} if self.beside else {}
        return json.dumps({**numbers, "peer_name": self.peer_name, **beside})


def measure(benchmark: Benchmark) -> Result:
    """Run one benchmark. Raises Skip, or what a side raises."""
    with benchmark.prepare() as sides:
        every: dict[str, Side] = {"ours": sides.ours, "peer": sides.peer, **sides.beside}
        taken: dict[str, list[float]] = {name: [] for name in every}
        calls = {name: _calls(benchmark, side) for name, side in every.items()}
        with _no_garbage_collection():
            for number in range(benchmark.rounds):
                order = list(every) if number % 2 else list(reversed(every))
                for name in order:
                    taken[name].append(_once(every[name], calls[name], CLOCKS[benchmark.clock]))
    ratios = [peer / ours if benchmark.better == "lower" else ours / peer for ours, peer in zip(taken["ours"], taken["peer"], strict=True)]
    medians = {name: statistics.median(values) for name, values in taken.items()}
    ours, peer = medians.pop("ours"), medians.pop("peer")
    return Result(benchmark.name, benchmark.peer, benchmark.unit, ours, peer, statistics.median(ratios), _spread(ratios), medians)


def table(results: Iterable[Result]) -> str:
    """The results for people."""
    rows = [("benchmark", "ours", "peer", "", "times better", "spread")]
    for result in results:
        rows.append(
            (
                result.name,
                f"{result.ours:.3g}",
                f"{result.peer:.3g}",
                f"{result.unit}, {result.peer_name}",
                f"{result.ratio:.2f}",
                f"{result.spread:.0%}",
            )
        )
        rows += [(f"  beside: {name}", f"{value:.3g}", "", result.unit, "", "") for name, value in result.beside.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _calls(benchmark: Benchmark, side: Side) -> int:
    """How many calls make one round of a side. It warms the side up too: imports, caches, first pages."""
    side()
    return max(1, round(benchmark.turn * MILLISECONDS / _once(side, 1, time.perf_counter))) if benchmark.turn else benchmark.calls


def _once(side: Side, calls: int, clock: Callable[[], float]) -> float:
    started = clock()
    for _ in range(calls):
        value = side()
    spent = clock() - started
    return spent / calls * MILLISECONDS if value is None else value


def _spread(values: list[float]) -> float:
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / middle if middle else 0.0


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """As timeit does: a collection that falls into one side's time says nothing about that side."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
