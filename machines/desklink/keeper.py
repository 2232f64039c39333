"""The display keeper: a window manager for one private display that reports its windows. The keeper process steps it.

    claiming ─▶ keeping ─▶ gone
        └──▶ refused

Rule 1. A display has one window manager. Claiming is a single request that the server grants or refuses; a refused start is one line
{"error": …} and exit 1.
Rule 2. From the moment it is connected, the end of the display is a normal end: exit 0 and no line. So is the consumer's closing of the
output, and a signal: the process ends when the screen has no more use.
Rule 3. The first report follows the claim at once, even when it is empty. After that a change is reported after 100 ms of quiet, and never
later than 300 ms after the first change that was not reported, so that a busy screen cannot starve its consumer. Several X events that are
read together are one change.
"""

from __future__ import annotations

from dataclasses import dataclass

from statemachine import State

from ...generated.desklink.vocabulary import KEEPER_LATEST_MS, KEEPER_QUIET_MS
from ..lifecycle import Deadline, Effect, Lifecycle, Plan, plan, stay

QUIET = KEEPER_QUIET_MS / 1000  # seconds without a change before a report
LATEST = KEEPER_LATEST_MS / 1000  # seconds from the first unreported change to its report


@dataclass(frozen=True, slots=True)
class Memory:
    """What has not been reported."""

    changed_at: float | None = None  #: monotonic seconds of the first unreported change


@dataclass(frozen=True, slots=True)
class Claim(Effect):
    """Connect and ask for SubstructureRedirect on the root; step `claimed`, `occupied`, `display_unopenable` or `display_gone`."""


@dataclass(frozen=True, slots=True)
class Adopt(Effect):
    """Take over the windows that are there, bottom first, and focus the newest content window."""


@dataclass(frozen=True, slots=True)
class Report(Effect):
    """Write one line with every visible top-level window, bottom of the stacking order first."""


@dataclass(frozen=True, slots=True)
class ReportError(Effect):
    """Write the one line {"error": text}."""

    text: str


@dataclass(frozen=True, slots=True)
class Exit(Effect):
    """Let go of the display and end the process with this code."""

    code: int


class Keeper(Lifecycle[Memory]):
    """The keeper of one private display: claimed, kept and reported, until the display or the consumer has gone."""

    initial_memory = Memory()

    claiming = State(initial=True)
    keeping = State()
    gone = State(final=True)
    refused = State(final=True)

    start = stay(claiming, on="claim")
    claimed = claiming.to(keeping, on="keep")

    display_missing = claiming.to(refused, on="refuse_nameless")
    display_unopenable = claiming.to(refused, on="refuse_unopenable")
    occupied = claiming.to(refused, on="refuse_occupied")

    changed = stay(keeping, on="note")
    report_due = stay(keeping, on="report")

    display_gone = gone.from_(claiming, keeping, on="leave")
    output_closed = gone.from_(claiming, keeping, on="leave")
    stop = gone.from_(claiming, keeping, on="leave")

    def claim(self, memory: Memory) -> Plan[Memory]:
        """Ask to be this display's window manager."""
        return plan(memory, Claim())

    def keep(self, memory: Memory) -> Plan[Memory]:
        """Adopt what is there and report it, even when it is nothing."""
        return plan(memory, Adopt(), Report())

    def refuse_nameless(self, memory: Memory) -> Plan[Memory]:
        """Say that no display was named."""
        return _refused(memory, "no display given")

    def refuse_unopenable(self, memory: Memory, display: str, detail: str) -> Plan[Memory]:
        """Say why the display could not be opened."""
        return _refused(memory, f"cannot open X display {display}: {detail}")

    def refuse_occupied(self, memory: Memory) -> Plan[Memory]:
        """Say that the display has a window manager."""
        return _refused(memory, "another window manager")

    def note(self, memory: Memory, now: float) -> Plan[Memory]:
        """Report after the quiet, or at the latest when the first change has waited long enough."""
        first = now if memory.changed_at is None else memory.changed_at
        return plan(Memory(changed_at=first), Deadline("report_due", min(now + QUIET, first + LATEST)))

    def report(self, memory: Memory) -> Plan[Memory]:
        """Report what has changed; a deadline that nothing is left for reports nothing."""
        return plan(Memory(), *((Report(),) if memory.changed_at is not None else ()))

    def leave(self, memory: Memory) -> Plan[Memory]:
        """End without a line."""
        return plan(memory, Deadline("report_due", None), Exit(0))


def _refused(memory: Memory, text: str) -> Plan[Memory]:
    return plan(memory, ReportError(text), Exit(1))
