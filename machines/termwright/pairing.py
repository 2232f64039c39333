"""Which revision an observer may see: the one whose tree came over the socket and whose verified marker came through the terminal.

Either half may come first. A half that waits too long is only reported, and kept. One `Pairing` belongs to one attached adapter; the driver
session feeds it and hands out what it publishes. termwright/3, pairing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...generated.termwright.vocabulary import PAIRING_WATCHDOG_MS

#: Seconds of silence from the terminal before an unmatched half starts to count, and then until it is reported.
QUIET = OVERDUE = PAIRING_WATCHDOG_MS / 1000

Tree = TypeVar("Tree")
Screen = TypeVar("Screen")
Held = TypeVar("Held")


@dataclass(frozen=True)
class Pair(Generic[Tree, Screen]):
    """A published revision: its tree, and the screen as it was when its marker was parsed (None when the adapter sends no markers)."""

    revision: int
    tree: Tree
    screen: Screen | None


@dataclass(frozen=True)
class Notice:
    """Something to report about a half: `code` is `revision-dropped`, `revision-superseded` or `revision-pairing-watchdog`."""

    code: str
    revision: int
    detail: str


@dataclass
class _Half(Generic[Held]):
    value: Held
    arrived: float
    reported: bool = False


class Pairing(Generic[Tree, Screen]):
    """Holds the unmatched halves, at most `max_queued` trees and as many markers; the oldest goes first.

    `marked` says whether the adapter marks its revisions: when it does not, a tree is published as it arrives.
    """

    def __init__(self, max_queued: int, *, marked: bool, now: float) -> None:
        self.published = 0
        self._max_queued = max_queued
        self._marked = marked
        self._trees: dict[int, _Half[Tree]] = {}
        self._markers: dict[int, _Half[Screen]] = {}
        self._open_frame = 0
        self._quiet_since = now

    def tree(self, revision: int, tree: Tree, now: float) -> list[Pair[Tree, Screen] | Notice]:
        """The tree of `revision` was accepted."""
        if revision <= self.published:
            return [Notice("revision-dropped", revision, f"tree is not newer than published revision {self.published}")]
        if not self._marked:
            return self._publish(Pair(revision, tree, None))
        if revision in self._markers:
            return self._publish(Pair(revision, tree, self._markers[revision].value))
        return [*self._hold(self._trees, revision, _Half(tree, now), "trees")]

    def marker(self, revision: int, screen: Screen, now: float) -> list[Pair[Tree, Screen] | Notice]:
        """The verified marker of `revision` was parsed while the terminal showed `screen`."""
        if revision <= self.published:
            return [Notice("revision-dropped", revision, f"marker is not newer than published revision {self.published}")]
        if revision in self._trees:
            return self._publish(Pair(revision, self._trees[revision].value, screen))
        return [*self._hold(self._markers, revision, _Half(screen, now), "markers")]

    def output(self, now: float) -> None:
        """The terminal has parsed output of the program: an unmatched half is not late yet."""
        self._quiet_since = now

    def frame_begin(self, revision: int) -> None:
        """The program draws `revision`; the frames below it are closed."""
        self._open_frame = max(self._open_frame, revision)

    def commit(self, revision: int, now: float) -> None:
        """The frame of `revision` is complete. Advice only: it closes an open frame, and the wait for a half starts now at the earliest."""
        if self._open_frame and revision >= self._open_frame:
            self._open_frame = 0
            self._quiet_since = max(self._quiet_since, now - QUIET)

    def deadline(self) -> float | None:
        """When the next unmatched half becomes worth a report, or None."""
        if self._open_frame:
            return None
        waiting = [half.arrived for half in self._halves() if not half.reported]
        return max(min(waiting), self._quiet_since + QUIET) + OVERDUE if waiting else None

    def overdue(self, now: float) -> list[Notice]:
        """The halves that have now waited too long, each reported once and kept."""
        notices = []
        for name, halves in (("tree", self._trees), ("marker", self._markers)):
            for revision, half in halves.items():
                if not half.reported and not self._open_frame and now >= max(half.arrived, self._quiet_since + QUIET) + OVERDUE:
                    half.reported = True
                    notices.append(Notice("revision-pairing-watchdog", revision, f"the {name} still waits for its other half"))
        return notices

    def waiting(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The revisions of the trees, and of the markers, that wait for their other half."""
        return tuple(self._trees), tuple(self._markers)

    def _halves(self) -> Iterator[_Half[Tree] | _Half[Screen]]:
        yield from self._trees.values()
        yield from self._markers.values()

    def _publish(self, pair: Pair[Tree, Screen]) -> list[Pair[Tree, Screen] | Notice]:
        self.published = pair.revision
        older: set[int] = set()
        for halves in (self._trees, self._markers):
            for revision in [held for held in halves if held <= pair.revision]:
                del halves[revision]
                older.add(revision)
        older.discard(pair.revision)
        superseded = [
            Notice("revision-superseded", revision, f"revision {pair.revision} was published first") for revision in sorted(older)
        ]
        return [*superseded, pair]

    def _hold(self, halves: dict[int, _Half[Held]], revision: int, half: _Half[Held], name: str) -> list[Notice]:
        evicted = []
        if revision not in halves and len(halves) >= self._max_queued:
            oldest = next(iter(halves))
            del halves[oldest]
            evicted.append(Notice("revision-dropped", oldest, f"{self._max_queued} {name} wait already"))
        halves[revision] = half
        return evicted
