"""What a host has admitted and not yet committed, with the boundaries between; the host puts in, and flushes after every reading.

A record that cannot be written for a while (its disk is full, another program holds it) loses nothing: a flush that fails leaves the rest
where it is, for the next one. The queue has no bound of its own: its host stops reading when it is `crowded`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...machines.collector.episodes import MarkedReason
from ...machines.collector.gates import Admitted
from .stored import Added

MOST_WAITING = 4096  #: observations; with more of them a host reads nothing new


class RecordStore(Protocol):
    """What a store offers for it; each call is one transaction, and raises Unavailable when nothing of it is there."""

    def add(self, batch: Sequence[Admitted]) -> Added:
        """Commit observations with their episodes."""

    def mark_boundary(self, reason: MarkedReason, at_ms: int) -> None:
        """Commit the end of an episode."""


@dataclass(eq=False, slots=True)
class Batch:
    """What becomes one transaction. `committed` is called after its commit; `added` says then what became of it."""

    admitted: list[Admitted] = field(default_factory=list)
    committed: Callable[[], None] | None = None
    added: Added | None = None


@dataclass(frozen=True, slots=True)
class _Boundary:
    reason: MarkedReason
    at_ms: int


class WriteQueue:
    """In the order in which it came. `counted` is told what became of each batch."""

    def __init__(self, store: RecordStore, counted: Callable[[Added], None]) -> None:
        self._store = store
        self._counted = counted
        self._waiting: list[Batch | _Boundary] = []
        self._open: Batch | None = None  # the last one, while more may join it

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def observations(self) -> int:
        """How many observations wait."""
        return sum(len(one.admitted) for one in self._waiting if isinstance(one, Batch))

    @property
    def crowded(self) -> bool:
        """Whether so much waits that nothing more should be read."""
        return self.observations + len(self._waiting) >= MOST_WAITING

    def put(self, admitted: Admitted) -> None:
        """Add one observation to those that were read with it."""
        if self._open is None:
            self._open = Batch()
            self._waiting.append(self._open)
        self._open.admitted.append(admitted)

    def put_alone(self, admitted: Admitted, committed: Callable[[], None]) -> Batch:
        """Add one observation whose sender waits for its commit."""
        batch = Batch([admitted], committed)
        self._append(batch)
        return batch

    def mark(self, reason: MarkedReason, at_ms: int) -> None:
        """No episode reaches over this moment."""
        self._append(_Boundary(reason, at_ms))

    def withdraw(self, batch: Batch) -> None:
        """Take a batch out whose sender waits no longer."""
        if batch in self._waiting:
            self._waiting.remove(batch)

    def screen(self, keeps: Callable[[Admitted], bool]) -> None:
        """Take out what `keeps` does not let stay: the rules have changed since it was admitted."""
        for one in self._waiting:
            if isinstance(one, Batch):
                one.admitted[:] = [admitted for admitted in one.admitted if keeps(admitted)]

    def clear(self) -> int:
        """Give up what waits, and return how many observations that were."""
        lost = self.observations
        self._waiting.clear()
        self._open = None
        return lost

    def flush(self) -> None:
        """Commit all that waits, in order. Raises Unavailable; what was committed before is out of the queue, and the rest still waits."""
        self._open = None
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, _Boundary):
                self._store.mark_boundary(first.reason, first.at_ms)
            else:
                first.added = self._store.add(first.admitted) if first.admitted else Added(0, 0, 0)
            del self._waiting[0]
            if isinstance(first, Batch) and first.added is not None:
                self._counted(first.added)
                if first.committed is not None:
                    first.committed()

    def _append(self, one: Batch | _Boundary) -> None:
        self._waiting.append(one)
        self._open = None
