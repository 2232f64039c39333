"""The collector's own side: may it look at the desktop now, and what does it say about itself? The collector process core steps it.

    starting ─▶ unconfigured ─▶ running ⇄ paused, asleep, unavailable ─▶ exited

Rule 1. It observes in `running` and nowhere else. `running` needs a policy (it is configured: `memory.revision`), a trusted accessibility
service, a machine that is awake, and no pause. Pausing, sleeping or losing trust never loses the policy.
Rule 2. Every configure is acknowledged with its revision: the same one twice, while paused, asleep and without trust too. The
acknowledgement is written before the first observation under that policy.
Rule 3. While paused it says nothing at all by itself, not even that availability changed; resume then tells the truth of that moment. A
pause or resume is always answered by a state line, also when nothing changes: a host waits for it.
Rule 4. Sleep detaches observation and is said as `degraded`, reason `sleep`; wake is said as `running`, reason `wake`, before the first
observation after it. Waking clears the fingerprint, so what is in front is observed anew.
Rule 5. `shutdown` and the end of standard input are one thing: exit 0, without a farewell line.
Rule 6. What a restart does not cure is said in one `fatal` line, after the hello where that was not yet said, and ends with exit 1. Nothing
follows it. What nobody expected is no event of this machine: the process crashes, so that the host's back-off applies.

`EmitState` speaks the wire's words: `unconfigured` is `running` there too (the collector is fit to run; the host knows that it has not yet
sent a policy) and `unavailable` is `permission-required`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from statemachine import State
from statemachine.transition_list import TransitionList

from ...generated.collector.models import CollectorStateName
from ..lifecycle import Effect, Lifecycle, Plan, plan, stay


@dataclass(frozen=True, slots=True)
class Memory:
    """The policy in force and the truth about this machine, kept up to date in every state."""

    revision: int | None = None  #: of the policy in force; None before the first configure
    trusted: bool = False  #: whether the accessibility service answers
    reason: str = ""  #: why not, in one line
    warning: str = ""  #: the platform's diagnostic code for it, such as `at-spi-unavailable`
    asleep: bool = False


@dataclass(frozen=True, slots=True)
class EmitHello(Effect):
    """Write the `hello` line: the first line, once."""


@dataclass(frozen=True, slots=True)
class EmitState(Effect):
    """Write a `state` line; an empty reason is left out."""

    state: CollectorStateName
    trusted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EmitConfigured(Effect):
    """Put the policy that came with `revision` in force, then write the `configured` line."""

    revision: int


@dataclass(frozen=True, slots=True)
class EmitDiagnostic(Effect):
    """Write a `diagnostic` line of level `warn`."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class EmitFatal(Effect):
    """Write the `fatal` line: the last one."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ClearFingerprint(Effect):
    """Forget what was observed last, so that the next look is observed even when it is the same."""


@dataclass(frozen=True, slots=True)
class Reconcile(Effect):
    """Attach the observers where they are missing, look at what is in front now, and observe it."""


@dataclass(frozen=True, slots=True)
class Detach(Effect):
    """Take the observers off the desktop; nothing is looked at until the next `Reconcile`."""


@dataclass(frozen=True, slots=True)
class Exit(Effect):
    """Flush what is written and end the process with this code."""

    code: int


def _awake(source: State, running: State, unconfigured: State, unavailable: State, on: str) -> TransitionList:
    """From `source` to what the memory says the collector is fit for."""
    return TransitionList(
        source.to(running, cond=["is_trusted", "is_configured"], on=on)
        | source.to(unconfigured, cond="is_trusted", on=on)
        | source.to(unavailable, on=on)
    )


class Collector(Lifecycle[Memory]):
    """One collector process as it sees itself: whether it may observe, and what it tells the host."""

    initial_memory = Memory()

    starting = State(initial=True)
    unconfigured = State()
    running = State()
    paused = State()
    asleep = State()
    unavailable = State()
    exited = State(final=True)

    start = starting.to(unconfigured, cond="becomes_trusted", on="introduce") | starting.to(unavailable, on="introduce")

    configure = (
        unconfigured.to(running, on="take_policy") | stay(running, on="take_policy") | stay(paused, asleep, unavailable, on="keep_policy")
    )

    pause = paused.from_(unconfigured, running, asleep, unavailable, on="rest") | stay(paused, on="rest")
    resume = (
        paused.to(asleep, cond="is_asleep", on="stay_detached")
        | _awake(paused, running, unconfigured, unavailable, on="take_up")
        | stay(unconfigured, running, unavailable, on="take_up")
        | stay(asleep, on="stay_detached")
    )

    availability = (
        stay(unconfigured, running, cond="becomes_trusted", on="note")
        | unavailable.from_(unconfigured, running, on="lose_trust")
        | unavailable.to(running, cond=["becomes_trusted", "is_configured"], on="gain_trust")
        | unavailable.to(unconfigured, cond="becomes_trusted", on="gain_trust")
        | stay(unavailable, cond="says_otherwise", on="lose_trust")
        | stay(unavailable, paused, asleep, on="note")
    )

    sleep = asleep.from_(unconfigured, running, unavailable, on="fall_asleep") | stay(paused, on="fall_asleep_quietly") | stay(asleep)
    wake = (
        _awake(asleep, running, unconfigured, unavailable, on="wake_up")
        | stay(paused, on="wake_quietly")
        | stay(running, on="look_anew")  # a sleep that nobody announced
        | stay(unconfigured, unavailable)
    )

    shutdown = exited.from_(starting, unconfigured, running, paused, asleep, unavailable, on="leave")
    input_ended = exited.from_(starting, unconfigured, running, paused, asleep, unavailable, on="leave")
    fail = starting.to(exited, on="fail_at_once") | exited.from_(unconfigured, running, paused, asleep, unavailable, on="give_up")

    # guards

    def becomes_trusted(self, trusted: bool) -> bool:
        """The accessibility service answers now."""
        return trusted

    def is_trusted(self, memory: Memory) -> bool:
        """The accessibility service answered when it was last asked."""
        return memory.trusted

    def is_configured(self, memory: Memory) -> bool:
        """A policy is in force."""
        return memory.revision is not None

    def is_asleep(self, memory: Memory) -> bool:
        """The machine fell asleep while paused."""
        return memory.asleep

    def says_otherwise(self, memory: Memory, reason: str = "") -> bool:
        """The reason is not the one already told."""
        return reason != memory.reason

    # planners

    def introduce(self, memory: Memory, trusted: bool, reason: str = "", warning: str = "") -> Plan[Memory]:
        """Say hello, then what state it is in, then why when it cannot observe."""
        after = _noted(memory, trusted, reason, warning)
        return plan(after, EmitHello(), *_told(after))

    def take_policy(self, memory: Memory, revision: int, allows_any: bool) -> Plan[Memory]:
        """Acknowledge, warn when the policy allows nothing, then observe under it."""
        after, effects = _acknowledged(memory, revision, allows_any)
        return plan(after, *effects, ClearFingerprint(), Reconcile())

    def keep_policy(self, memory: Memory, revision: int, allows_any: bool) -> Plan[Memory]:
        """Acknowledge; the policy waits for the next time it may observe."""
        after, effects = _acknowledged(memory, revision, allows_any)
        return plan(after, *effects)

    def rest(self, memory: Memory) -> Plan[Memory]:
        """Stop observing and say so, with the truth about trust and no reason."""
        return plan(memory, Detach(), EmitState("paused", memory.trusted))

    def take_up(self, memory: Memory) -> Plan[Memory]:
        """Say what it may do now and, when that is to observe, look anew."""
        return plan(memory, _state(memory), *_look(memory))

    def stay_detached(self, memory: Memory) -> Plan[Memory]:
        """Answer the resume: the machine sleeps, so nothing is observed yet."""
        return plan(memory, EmitState("degraded", memory.trusted, "sleep"))

    def note(self, memory: Memory, trusted: bool, reason: str = "", warning: str = "") -> Plan[Memory]:
        """Remember the truth; there is nothing to say."""
        return plan(_noted(memory, trusted, reason, warning))

    def lose_trust(self, memory: Memory, trusted: bool, reason: str = "", warning: str = "") -> Plan[Memory]:
        """Stop observing and say why."""
        after = _noted(memory, trusted, reason, warning)
        return plan(after, Detach(), *_told(after))

    def gain_trust(self, memory: Memory, trusted: bool, reason: str = "", warning: str = "") -> Plan[Memory]:
        """Say that it may observe again, and look anew."""
        after = _noted(memory, trusted, reason, warning)
        return plan(after, _state(after), *_look(after))

    def fall_asleep(self, memory: Memory) -> Plan[Memory]:
        """Stop observing and say that the machine sleeps."""
        return plan(replace(memory, asleep=True), Detach(), EmitState("degraded", memory.trusted, "sleep"))

    def fall_asleep_quietly(self, memory: Memory) -> Plan[Memory]:
        """Remember it; a paused collector says nothing."""
        return plan(replace(memory, asleep=True))

    def wake_up(self, memory: Memory) -> Plan[Memory]:
        """Say so before the first observation, and look anew."""
        after = replace(memory, asleep=False)
        said = EmitState("running", True, "wake") if after.trusted else _state(after)
        return plan(after, said, *_look(after))

    def wake_quietly(self, memory: Memory) -> Plan[Memory]:
        """Remember it; a paused collector says nothing."""
        return plan(replace(memory, asleep=False))

    def look_anew(self, memory: Memory) -> Plan[Memory]:
        """Observe what is in front, even when it is what was in front before."""
        return plan(memory, *_look(memory))

    def leave(self, memory: Memory) -> Plan[Memory]:
        """Take the observers off and end cleanly, without a farewell line."""
        return plan(memory, Detach(), Exit(0))

    def fail_at_once(self, memory: Memory, code: str, message: str) -> Plan[Memory]:
        """Introduce itself, so that the host can read the reason, and end."""
        return plan(memory, EmitHello(), EmitFatal(code, message), Exit(1))

    def give_up(self, memory: Memory, code: str, message: str) -> Plan[Memory]:
        """Say why it cannot go on, and end."""
        return plan(memory, Detach(), EmitFatal(code, message), Exit(1))


def _noted(memory: Memory, trusted: bool, reason: str, warning: str) -> Memory:
    return replace(memory, trusted=trusted, reason="" if trusted else reason, warning="" if trusted else warning)


def _state(memory: Memory) -> EmitState:
    return EmitState("running", True) if memory.trusted else EmitState("permission-required", False, memory.reason)


def _told(memory: Memory) -> tuple[Effect, ...]:
    """The state line and, when the platform has a code for what is missing, the diagnostic after it."""
    return _state(memory), *((EmitDiagnostic(memory.warning, memory.reason or memory.warning),) if memory.warning else ())


def _look(memory: Memory) -> tuple[Effect, ...]:
    """Nothing is looked at without a policy and trust, whatever the host has asked for."""
    return (ClearFingerprint(), Reconcile()) if memory.trusted and memory.revision is not None else ()


def _acknowledged(memory: Memory, revision: int, allows_any: bool) -> tuple[Memory, tuple[Effect, ...]]:
    nothing = EmitDiagnostic("no-allowed-applications", "the policy allows no application, so nothing will be observed")
    return replace(memory, revision=revision), (EmitConfigured(revision), *(() if allows_any else (nothing,)))
