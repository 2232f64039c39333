"""The grab of one session's source: it runs, it is lost, it is tried again without asking anybody, it is over. The engine core steps it.

    starting ─▶ streaming ─▶ stopped ⇄ retrying ─▶ ended
        │            ▲                     │          ▲
        │            └─────────────────────┘          │
        └─────────────────────────────────────────────┘

Rule 1. A lost capture never serves an old picture. With the loss the kept frame is dropped, whoever waits for one is woken, and from then
on `session.frame` is refused with `stream-stopped`, during the retries too.
Rule 2. A loss is told once (`session.capture.stopped`), however many retries follow.
Rule 3. At most three retries, and none asks for consent: an X display is connected again, a portal stream only on the node still granted.
Rule 4. A retry that works starts again at full: capture is `streaming`, and a later loss has three retries of its own. After the third that
does not, capture is `ended`; the session, its lease and its control channel stay until they are closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from statemachine import State

from ..lifecycle import Deadline, Effect, Lifecycle, Plan, plan

RETRY_DELAYS = (0.2, 1.0, 3.0)  # seconds before each of the CAPTURE_RETRIES: what restarts is often back at once, else soon


@dataclass(frozen=True, slots=True)
class Memory:
    """The loss that is being mended."""

    attempt: int = 0  #: the last retry made since the loss
    reason: str = ""  #: of the loss


@dataclass(frozen=True, slots=True)
class EmitCaptureStopped(Effect):
    """Emit `session.capture.stopped`."""

    reason: str


@dataclass(frozen=True, slots=True)
class DropFrame(Effect):
    """Forget the kept frame; the next one is damaged whole."""


@dataclass(frozen=True, slots=True)
class WakeWaiters(Effect):
    """Refuse every waiting `session.frame` with this code."""

    code: Literal["stream-stopped", "session"]


@dataclass(frozen=True, slots=True)
class Reopen(Effect):
    """Open the grab again without any prompt; step `reopened` or `reopen_failed`."""

    attempt: int


@dataclass(frozen=True, slots=True)
class EmitCapture(Effect):
    """Step `capture_changed` of the session with this word."""

    capture: Literal["streaming", "ended"]


@dataclass(frozen=True, slots=True)
class Halt(Effect):
    """Stop the grab, if it runs, and wait for its thread."""


class Capture(Lifecycle[Memory]):
    """The grab of one session's source: running, lost, retried at most three times, over."""

    initial_memory = Memory()

    starting = State(initial=True)
    streaming = State()
    stopped = State()
    retrying = State()
    ended = State(final=True)

    started = starting.to(streaming)
    start_failed = starting.to(ended, on="give_back")
    lost = streaming.to(stopped, on="tell_loss")
    retry_due = stopped.to(retrying, on="retry")
    reopened = retrying.to(streaming, on="resume")
    reopen_failed = retrying.to(stopped, cond="has_retries", on="wait") | retrying.to(ended, on="give_up")
    close = ended.from_(starting, streaming, stopped, retrying, on="halt")

    # guards

    def has_retries(self, memory: Memory) -> bool:
        """Fewer than three retries have been made since the loss."""
        return memory.attempt < len(RETRY_DELAYS)

    # planners

    def give_back(self, memory: Memory) -> Plan[Memory]:
        """End what was opened; the open is refused."""
        return plan(memory, Halt())

    def tell_loss(self, memory: Memory, now: float, reason: str) -> Plan[Memory]:
        """Tell it once, serve nothing old, and try again soon."""
        return plan(
            Memory(attempt=0, reason=reason),
            DropFrame(),
            WakeWaiters("stream-stopped"),
            EmitCaptureStopped(reason),
            Deadline("retry_due", now + RETRY_DELAYS[0]),
        )

    def retry(self, memory: Memory) -> Plan[Memory]:
        """Open it again."""
        attempt = memory.attempt + 1
        return plan(replace(memory, attempt=attempt), Reopen(attempt))

    def resume(self, memory: Memory) -> Plan[Memory]:
        """Say that it runs again."""
        return plan(Memory(), EmitCapture("streaming"))

    def wait(self, memory: Memory, now: float) -> Plan[Memory]:
        """Try again later."""
        return plan(memory, Deadline("retry_due", now + RETRY_DELAYS[memory.attempt]))

    def give_up(self, memory: Memory) -> Plan[Memory]:
        """Say that it is over; the session stays."""
        return plan(memory, Halt(), EmitCapture("ended"))

    def halt(self, memory: Memory) -> Plan[Memory]:
        """Stop and join the grab; the session says the rest."""
        return plan(memory, Deadline("retry_due", None), Halt(), DropFrame(), WakeWaiters("session"))
