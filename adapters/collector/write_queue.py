"""What a host has admitted and not yet committed, with the boundaries between; the host puts in, and flushes after every reading.

A record that cannot be written for a while (its disk is full, another program holds it) loses nothing: a flush that fails leaves the rest
where it is, and is tried again by itself. The queue has no bound of its own: its host stops reading when it is `crowded`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from ...errors import Unavailable
from ...machines.collector.episodes import MarkedReason
from ...machines.collector.gates import Admitted
from ..log import get_logger
from .stored import Added

_log = get_logger()

RETRY = 0.25  #: seconds after which a record that could not be written is tried again
LAST = 5.0  #: seconds for which a companion, and the end of a host, wait for a record that cannot be written
PASSING = ("storage-locked", "storage-full")  # what may be over at the next try
MOST_WAITING = 4096  #: observations; with more of them a host reads nothing new


class RecordStore(Protocol):
    """What a store offers for it; each call is one transaction, and raises Unavailable when nothing of it is there."""

    def add(self, batch: Sequence[Admitted]) -> Added:
        """Commit observations with their episodes."""

    def mark_boundary(self, reason: MarkedReason, at_ms: int) -> None:
        """Commit the end of an episode."""

    def briefly(self) -> AbstractContextManager[None]:
        """Meanwhile, what another program keeps locked is refused after a moment."""


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
    """In the order in which it came. On the thread of the loop.

    `counted` is told what became of each batch. `moved` is called when `waits` has changed: the reason (`storage-locked`, `storage-full`)
    why the record is not written for now. `failed` is told what a later try meets that no further one would mend.
    """

    def __init__(
        self, store: RecordStore, counted: Callable[[Added], None], moved: Callable[[], None], failed: Callable[[Exception], None]
    ) -> None:
        self._store = store
        self._counted = counted
        self._moved = moved
        self._failed = failed
        self._retry: asyncio.TimerHandle | None = None
        self.waits: str | None = None
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
        """No episode reaches over this moment. One that says nothing new is none: a collector may say a thousand at once."""
        boundary = _Boundary(reason, at_ms)
        if not self._waiting or self._waiting[-1] != boundary:
            self._append(boundary)

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
        """Commit all that waits, in order, or let it wait for the next try.

        Raises Unavailable for what a later try would not mend; what was committed before is out of the queue, and the rest still waits.
        """
        if self._retry is not None or not self._waiting:
            return
        try:
            with self._store.briefly():
                self._commit()
        except Unavailable as error:
            if not error.reason.startswith(PASSING):
                raise
            if self.waits is None:
                _log.warning("the record cannot be written for now", reason=error.reason)
            self._retry = asyncio.get_running_loop().call_later(RETRY, self._try_again)
            self._now_waits(error.reason.partition(":")[0])
        else:
            self._now_waits(None)

    async def close(self) -> None:
        """Commit what still waits, for which a locked record is waited for; what cannot be written by then is given up, and said so."""
        if self._retry is not None:
            self._retry.cancel()
        end = asyncio.get_running_loop().time() + LAST
        while self._waiting:
            try:
                with self._store.briefly():
                    self._commit()
            except Unavailable as error:
                if error.reason.startswith(PASSING[0]) and asyncio.get_running_loop().time() < end:
                    await asyncio.sleep(RETRY)
                else:
                    _log.error("what was seen last cannot be stored", reason=error.reason, lost=self.clear())
        self._retry = None
        self._now_waits(None)

    def _commit(self) -> None:
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

    def _try_again(self) -> None:
        self._retry = None
        try:
            self.flush()
        except Exception as error:
            self._failed(error)
        else:
            if self._retry is None:  # all that waited may have been withdrawn
                self._now_waits(None)

    def _now_waits(self, reason: str | None) -> None:
        if reason != self.waits:
            self.waits = reason
            if reason is None:
                _log.info("the record is written again")
            self._moved()

    def _append(self, one: Batch | _Boundary) -> None:
        self._waiting.append(one)
        self._open = None
