"""What the host asks of a running collector, one thing at a time: the queue that the manager lifecycle keeps in its memory.

A control is a list of commands. A command is written, and then waited for until it is true; only then comes the next command, and after the
last the next control, in the order in which they were asked for.

    initialize     [pause, when paused is desired] configure
    apply-policy   pause, configure, resume, when it runs and shall run; otherwise configure in place: a paused collector reports no state
                   change, so waiting for one more `paused` would never end
    pause, resume  themselves

Rule 1. `pause` and `resume` change what is desired at the moment they are asked for, not when their turn comes. So an apply-policy does not
resume what a pause behind it has asked to be paused.
Rule 2. A command that is already true is written all the same, and not waited for. The state line that answers it later is simply news.
Rule 3. `resume` is true when the collector says `running`, and also when it says `permission-required`: that is all it can do.
Rule 4. A control is answered once: resolved when done, rejected when it will not be. Apply-policy is never rejected: a collector that died
must not make storing a policy fail, and the next one is configured with it.

All functions are pure: they take the queue and return the new one, with what is to be written and answered, in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...generated.collector.models import CollectorStateName
from ..lifecycle import Effect

INITIALIZE = 0  # the ticket of the initialize, which nobody asked for

Desired = Literal["running", "paused"]
Kind = Literal["initialize", "apply-policy", "pause", "resume"]
Command = Literal["pause", "configure", "resume"]

_TRUE_WHEN: dict[Command, tuple[CollectorStateName, ...]] = {
    "pause": ("paused",),
    "configure": (),
    "resume": ("running", "permission-required"),
}


@dataclass(frozen=True, slots=True)
class Control:
    """One thing that was asked for, under the asker's own number."""

    kind: Kind
    ticket: int
    revision: int = 0  #: of the policy that its configure carries


@dataclass(frozen=True, slots=True)
class Controls:
    """The queue, what is desired, and what the collector said last."""

    desired: Desired = "running"
    report: CollectorStateName | None = None  #: the last state message of this process
    queue: tuple[Control, ...] = ()  #: the first one is under way when `steps` is not None
    steps: tuple[Command, ...] | None = None  #: what the first one still has to write
    awaiting: Command | None = None  #: written, and not yet true


@dataclass(frozen=True, slots=True)
class SendConfigure(Effect):
    """Write `configure` with the policy of this revision; step `write_failed` when it cannot be written."""

    revision: int


@dataclass(frozen=True, slots=True)
class SendPause(Effect):
    """Write `pause`; step `write_failed` when it cannot be written."""


@dataclass(frozen=True, slots=True)
class SendResume(Effect):
    """Write `resume`; step `write_failed` when it cannot be written."""


@dataclass(frozen=True, slots=True)
class ResolveAck(Effect):
    """The control with this ticket is done, or needs no collector to be."""

    ticket: int


@dataclass(frozen=True, slots=True)
class RejectAck(Effect):
    """The control with this ticket will not be done."""

    ticket: int
    detail: str


def wished(controls: Controls, kind: Kind) -> Controls:
    """What is desired once this kind of control has been asked for."""
    if kind == "pause":
        return replace(controls, desired="paused")
    if kind == "resume":
        return replace(controls, desired="running")
    return controls


def asked(controls: Controls, control: Control) -> Controls:
    """With one more control at the end of the queue."""
    return replace(wished(controls, control.kind), queue=(*controls.queue, control))


def greeted(controls: Controls, revision: int) -> Controls:
    """With the initialize before everything that was asked for before the process said hello."""
    return replace(controls, queue=(Control("initialize", INITIALIZE, revision), *controls.queue))


def heard(controls: Controls, report: CollectorStateName) -> Controls:
    """After a state message, which may be what is waited for."""
    satisfied = controls.awaiting is not None and report in _TRUE_WHEN[controls.awaiting]
    return replace(controls, report=report, awaiting=None if satisfied else controls.awaiting)


def expected(controls: Controls) -> int | None:
    """The revision whose acknowledgement is waited for."""
    return controls.queue[0].revision if controls.awaiting == "configure" else None


def acknowledged(controls: Controls) -> Controls:
    """After the acknowledgement that was waited for."""
    return replace(controls, awaiting=None)


def advanced(controls: Controls) -> tuple[Controls, tuple[Effect, ...]]:
    """Write commands and answer controls until one has to be waited for, or nothing is left to do."""
    effects: list[Effect] = []
    while controls.awaiting is None and controls.queue:
        control = controls.queue[0]
        steps = _steps(controls, control) if controls.steps is None else controls.steps
        if not steps:
            effects.append(ResolveAck(control.ticket))
            controls = replace(controls, queue=controls.queue[1:], steps=None)
            continue
        command = steps[0]
        controls = replace(controls, steps=steps[1:])
        if command == "resume" and control.kind == "apply-policy" and controls.desired == "paused":
            continue
        effects.append(_send(command, control))
        if controls.report not in _TRUE_WHEN[command]:
            controls = replace(controls, awaiting=command)
    return controls, tuple(effects)


def abandoned(controls: Controls, detail: str) -> tuple[Controls, tuple[Effect, ...]]:
    """Answer everything in the queue: nobody is left to be told."""
    answers: tuple[Effect, ...] = tuple(
        ResolveAck(control.ticket) if control.kind == "apply-policy" else RejectAck(control.ticket, detail) for control in controls.queue
    )
    return replace(controls, queue=(), steps=None, awaiting=None), answers


def _steps(controls: Controls, control: Control) -> tuple[Command, ...]:
    match control.kind:
        case "initialize":
            return ("pause", "configure") if controls.desired == "paused" else ("configure",)
        case "apply-policy":
            runs = controls.report == "running" and controls.desired == "running"
            return ("pause", "configure", "resume") if runs else ("configure",)
        case "pause":
            return ("pause",)
        case "resume":
            return ("resume",)


def _send(command: Command, control: Control) -> Effect:
    match command:
        case "pause":
            return SendPause()
        case "configure":
            return SendConfigure(control.revision)
        case "resume":
            return SendResume()
