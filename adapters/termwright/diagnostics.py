"""What a terminal session noted: bounded whatever a program prints or an adapter sends, and readable in a flood. The driver keeps one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

#: Diagnostics of one code that are kept; a flood of one kind leaves those of the others, and its own beginning, as they are.
MAX_OF_A_CODE = 100
#: Characters of a detail: it may quote what a peer sent.
MAX_DETAIL = 1000


@dataclass(frozen=True)
class Noted:
    """One diagnostic: `at` is seconds since the spawn."""

    at: float
    code: str
    detail: str


class Diagnostics:
    """The diagnostics of one session, oldest first. Codes are a closed set, so that this many of each is a bound.

    The last one that is kept of a code says how many like it came after it, and what the newest of them was.
    """

    def __init__(self) -> None:
        self._kept: list[Noted] = []
        self._count: Counter[str] = Counter()
        self._last: dict[str, tuple[int, Noted]] = {}  # of a code with as many as are kept: its place, and itself as it came

    def __iter__(self) -> Iterator[Noted]:
        return iter(self._kept)

    def note(self, at: float, code: str, detail: str) -> None:
        """Keep one."""
        detail = detail if len(detail) <= MAX_DETAIL else f"{detail[:MAX_DETAIL]}… ({len(detail)} characters)"
        self._count[code] += 1
        more = self._count[code] - MAX_OF_A_CODE
        if more <= 0:
            noted = Noted(at, code, detail)
            self._last[code] = len(self._kept), noted
            self._kept.append(noted)
            return
        place, last = self._last[code]
        self._kept[place] = replace(last, detail=f"{last.detail}; {more} more since, the newest after {at:.3f} s: {detail}")
