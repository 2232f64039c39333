"""The host's side of a collector process: when it is started, told, believed, restarted and given up. The host core steps it.

    idle ─▶ spawning ─▶ hello ─▶ configuring ─▶ running, paused, permission-required, degraded
               ▲           └──────────┴────────────────────┤
               │                                           ├─▶ stopping ─▶ terminating ─▶ stopped (asked for), broken (a failure)
               └── backoff ◀── (crash) ◀── failing, exited ┴─▶ broken (the breaker) ─▶ spawning (start, recover)

Rule 1. Capture runs only under an acknowledged policy. After hello the manager configures; until the acknowledgement it is `configuring`,
whatever the collector says about itself. A missing, mismatched or unexpected acknowledgement stops the collector: "the policy may not have
arrived" is not a state that capture may run in.
Rule 2. One command is outstanding at a time, for at most 5 s. What is asked for meanwhile waits its turn: see `controls`.
Rule 3. Only the exit of the process restarts it: after 1, 2, 5, 15, 30 s, and not after the fifth crash within 600 s (the breaker). A
protocol error, an ack or a hello that did not come, a write that failed and `fatal` stop it for good, until `start` or `recover`.
Rule 4. One process at a time. A process whose end was never confirmed is in the way: nothing is spawned until its exit has been seen.
Rule 5. Whatever is not right has a name: every degraded state carries a reason.

The chart says which part of its life the process is in. `Memory` holds what is desired, the queue, the crashes, and the deadline that is
set (there is never more than one). The caller holds the capture ownership before `start` or `recover`; `ReleaseOwnership` comes once for
each. While the process is on its way out (stopping, terminating, failing), what it says changes nothing, but that an acknowledgement which
comes after its time is told as the protocol error that it is. Where no process can be told (idle, backoff, broken, and on its way out), a
control only changes what is desired, and is resolved at once: the next process is initialized with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from statemachine import State

from ...generated.collector.models import CollectorStateName, ShutdownReason
from ...generated.collector.vocabulary import (
    ACK_TIMEOUT_MS,
    CRASH_BREAKER,
    CRASH_WINDOW_MS,
    DRAIN_TIMEOUT_MS,
    HELLO_TIMEOUT_MS,
    RESTART_DELAYS_MS,
    SHUTDOWN_GRACE_MS,
)
from ..lifecycle import Deadline, Effect, Lifecycle, Plan, plan, stay
from . import controls as queue
from .controls import Command, Control, Controls, ResolveAck
from .effects import CloseStdin, DrainMessages, ReleaseOwnership, ReportDegraded, ReportState, SendShutdown, Spawn, Terminate

HELLO_TIMEOUT = HELLO_TIMEOUT_MS / 1000  # seconds from the spawn
ACK_TIMEOUT = ACK_TIMEOUT_MS / 1000  # seconds for configure, pause and resume each
GRACE = SHUTDOWN_GRACE_MS / 1000  # seconds for each of the two waits of a stop
DRAIN = DRAIN_TIMEOUT_MS / 1000  # seconds for messages that are still being handled after a stop
RESTART_DELAYS = tuple(delay / 1000 for delay in RESTART_DELAYS_MS)  # seconds, by crashes in the window; the last stays unused
CRASH_WINDOW = CRASH_WINDOW_MS / 1000  # seconds

Asked = Literal["apply-policy", "pause", "resume"]

_ACK_REASON: dict[Command, str] = {"configure": "configure-ack-timeout", "pause": "paused-ack-timeout", "resume": "running-ack-timeout"}
_STOPPED = "collector stopped before acknowledgement"
_EXITED = "collector exited before acknowledgement"
_UNEXPECTED = "collector sent unexpected policy acknowledgement"


@dataclass(frozen=True, slots=True)
class Memory:
    """What the manager remembers beside the part of its life that the process is in."""

    restart: bool = True  #: whether a crash is answered with a restart
    controls: Controls = field(default_factory=Controls)
    policy: int | None = None  #: the revision that this process last acknowledged
    crashes: tuple[float, ...] = ()  #: monotonic seconds of the crashes in the window
    respawning: bool = False  #: this process was spawned after a crash
    stop: ShutdownReason | None = None  #: why it is being stopped
    reason: str = ""  #: why it is degraded
    deadline: str = ""  #: the deadline that is set
    owned: bool = True  #: the capture ownership has not been released since it was last taken
    unconfirmed: bool = False  #: a process of ours may still be alive


class Manager(Lifecycle[Memory]):
    """One collector process as its host sees it: started, told the policy, believed, restarted, given up."""

    initial_memory = Memory()
    refusals = MappingProxyType({"start": "collector-start-refused", "recover": "collector-recover-refused"})

    idle = State(initial=True)
    spawning = State()
    hello = State()
    configuring = State()
    running = State()
    paused = State()
    permission_required = State(value="permission-required")
    degraded = State()
    failing = State()
    backoff = State()
    stopping = State()
    terminating = State()
    broken = State()
    stopped = State(final=True)

    _live = (running, paused, permission_required, degraded)  # initialized: the chart follows the collector's own word
    _serving = (configuring, *_live)
    _leaving = (stopping, terminating, failing)

    start = spawning.from_(idle, on="launch") | spawning.from_(broken, cond="is_alone", on="launch")
    recover = spawning.from_(broken, cond="is_alone", on="launch_afresh") | spawning.from_(idle, backoff, on="launch_afresh")
    restart_due = spawning.from_(backoff, on="respawn")

    spawned = (
        spawning.to(terminating, cond="is_unpiped", on="refuse_unpiped")
        | spawning.to(stopping, cond="is_to_stop", on="stop_at_birth")
        | spawning.to(hello, on="await_hello")
    )
    spawn_failed = (
        spawning.to(stopped, cond="is_dismissed", on="fail_spawn")
        | spawning.to(broken, unless="is_respawning", on="fail_spawn")
        | spawning.to(broken, cond="opens_breaker", on="count_failed_spawn")
        | spawning.to(backoff, on="count_failed_spawn")
    )

    hello_received = hello.to(configuring, on="initialize") | stopping.from_(*_serving, on="refuse_second_hello") | stay(*_leaving)
    hello_overdue = hello.to(stopping, on="fail_hello")
    state_reported = (
        hello.to(stopping, on="refuse_before_hello")
        | stay(configuring, unless="is_initialized", on="heed")
        | running.from_(*_serving, cond="says_target", on="heed")
        | paused.from_(*_serving, cond="says_target", on="heed")
        | permission_required.from_(*_serving, cond="says_target", on="heed")
        | degraded.from_(*_serving, cond="says_target", on="heed")
        | stay(*_leaving)
    )
    policy_acknowledged = (
        hello.to(stopping, on="refuse_before_hello")
        | configuring.to(*_live, cond=["is_expected", "said_target"], on="accept")
        | stay(*_serving, cond="is_expected", on="accept")
        | stopping.from_(*_serving, on="refuse_acknowledgement")
        | stay(stopping, terminating, unless="is_dismissed", on="tell_late_acknowledgement")
        | stay(*_leaving)
    )
    ack_overdue = stopping.from_(*_serving, cond="is_awaiting", on="fail_acknowledgement")
    fatal_received = hello.to(stopping, on="refuse_before_hello") | stopping.from_(*_serving, on="heed_fatal") | stay(*_leaving)
    protocol_broken = stopping.from_(hello, *_serving, on="fail_protocol") | stay(*_leaving)
    write_failed = stopping.from_(*_serving, on="fail_write") | stay(*_leaving)
    handler_failed = failing.from_(hello, *_serving, on="fail_handler") | stay(*_leaving)

    control = stay(idle, backoff, broken, *_leaving, on="remember") | stay(spawning, hello, on="enqueue") | stay(*_serving, on="take_up")
    stop = (
        stopped.from_(idle, backoff, broken, on="release")
        | stay(spawning, on="remember_stop")
        | stopping.from_(hello, *_serving, on="stop_now")
        | failing.to(terminating, on="remember_stop")
        | stay(stopping, terminating, on="remember_stop")
    )

    exited = (
        broken.from_(hello, *_serving, cond="opens_breaker", on="count_exit")
        | backoff.from_(hello, *_serving, on="count_exit")
        | failing.to(broken, cond="opens_breaker", on="count_failure")
        | failing.to(backoff, on="count_failure")
        | stopped.from_(stopping, terminating, cond="is_dismissed", on="confirm_exit")
        | broken.from_(stopping, terminating, on="confirm_exit")
        | stay(broken, unless="is_alone", on="see_exit")
    )
    grace_over = (
        stopping.to(terminating, on="terminate")
        | terminating.to(stopped, cond="is_dismissed", on="give_up_exit")
        | broken.from_(terminating, failing, on="give_up_exit")
    )

    # guards

    def is_alone(self, memory: Memory) -> bool:
        """No process of ours may still be alive."""
        return not memory.unconfirmed

    def is_unpiped(self, piped: bool) -> bool:
        """The process came without its standard input or output."""
        return not piped

    def is_to_stop(self, memory: Memory) -> bool:
        """A stop was asked for while the process was being spawned."""
        return memory.stop is not None

    def is_dismissed(self, memory: Memory) -> bool:
        """The host asked for the stop, so this is the end and not a failure."""
        return memory.stop in ("plugin-dispose", "host-shutdown")

    def is_respawning(self, memory: Memory) -> bool:
        """The spawn answers a crash."""
        return memory.respawning

    def is_initialized(self, memory: Memory) -> bool:
        """This process has acknowledged a policy."""
        return memory.policy is not None

    def is_awaiting(self, memory: Memory) -> bool:
        """A command waits to become true."""
        return memory.controls.awaiting is not None

    def is_expected(self, memory: Memory, revision: int) -> bool:
        """The outstanding configure carried this revision."""
        return queue.expected(memory.controls) == revision

    def opens_breaker(self, memory: Memory, now: float) -> bool:
        """With this crash there are five in the window, or restarts are switched off."""
        return not memory.restart or len(_crashes(memory, now)) >= CRASH_BREAKER

    def says_target(self, report: CollectorStateName, target: State) -> bool:
        """The state message names the target."""
        return bool(report == target.value)

    def said_target(self, memory: Memory, target: State) -> bool:
        """The last state message named the target."""
        return bool(memory.controls.report == target.value)

    # planners: a process begins

    def launch(self, memory: Memory) -> Plan[Memory]:
        """Spawn a process; the crashes of the past still count."""
        return plan(replace(_fresh(memory), respawning=False, owned=True), Spawn())

    def launch_afresh(self, memory: Memory) -> Plan[Memory]:
        """Spawn a process and forget the crashes of the past."""
        memory, cancelled = _cancelled(replace(_fresh(memory), crashes=(), respawning=False, owned=True))
        return plan(memory, *cancelled, Spawn())

    def respawn(self, memory: Memory) -> Plan[Memory]:
        """Spawn a process in place of the one that crashed."""
        return plan(replace(_fresh(_fired(memory)), respawning=True), Spawn())

    def await_hello(self, memory: Memory, now: float) -> Plan[Memory]:
        """Give the process five seconds to introduce itself."""
        memory, waiting = _until(memory, "hello_overdue", now + HELLO_TIMEOUT)
        return plan(memory, *waiting)

    def refuse_unpiped(self, memory: Memory, now: float) -> Plan[Memory]:
        """Terminate a process that cannot be talked to."""
        detail = "collector requires piped stdio"
        memory, answers = _abandoned(replace(memory, reason="collector-stdio-missing"), detail)
        memory, waiting = _until(replace(memory, stop=memory.stop or "protocol-error"), "grace_over", now + GRACE)
        return plan(memory, ReportDegraded("collector-stdio-missing", detail), *answers, Terminate(), *waiting)

    def stop_at_birth(self, memory: Memory, now: float) -> Plan[Memory]:
        """Stop at once what was asked to stop while it was being spawned."""
        return _stopping(memory, now, memory.stop or "host-shutdown", _STOPPED)

    def fail_spawn(self, memory: Memory, detail: str) -> Plan[Memory]:
        """Give up: there is nothing that could be restarted."""
        memory, answers = _abandoned(replace(memory, reason="collector-spawn-failed"), detail)
        memory, released = _released(memory)
        return plan(memory, ReportDegraded("collector-spawn-failed", detail), *answers, *released)

    def count_failed_spawn(self, memory: Memory, now: float, target: State, detail: str) -> Plan[Memory]:
        """Count a respawn that failed as one more crash."""
        return _crashed(memory, now, target, "collector-spawn-failed", detail)

    # planners: what the process says

    def initialize(self, memory: Memory, now: float, revision: int) -> Plan[Memory]:
        """Pause first when paused is desired, then configure; nothing else is written before."""
        return _advanced(replace(memory, controls=queue.greeted(memory.controls, revision)), now)

    def heed(self, memory: Memory, now: float, report: CollectorStateName, trusted: bool, reason: str = "") -> Plan[Memory]:
        """Show the collector's word; it may be what a command waits for."""
        if report == "degraded" and not reason:
            reason = "collector-degraded"
        heard = replace(memory, controls=queue.heard(memory.controls, report), reason=reason if report == "degraded" else "")
        then = _advanced(heard, now)
        return plan(then.memory, ReportState(report, trusted, reason), *then.effects)

    def accept(self, memory: Memory, now: float, revision: int) -> Plan[Memory]:
        """The policy is in force; go on with the queue."""
        return _advanced(replace(memory, policy=revision, controls=queue.acknowledged(memory.controls)), now)

    def refuse_acknowledgement(self, memory: Memory, now: float, revision: int) -> Plan[Memory]:
        """Stop: it acknowledged what was not asked, so its policy is not known."""
        wanted = queue.expected(memory.controls)
        mismatch = f"collector policy acknowledgement mismatch: expected {wanted}, received {revision}"
        return _failed(memory, now, "protocol-error", _UNEXPECTED if wanted is None else mismatch)

    def tell_late_acknowledgement(self, memory: Memory) -> Plan[Memory]:
        """Tell that it acknowledged when nothing was asked any more."""
        return plan(replace(memory, reason="protocol-error"), ReportDegraded("protocol-error", _UNEXPECTED))

    def refuse_before_hello(self, memory: Memory, now: float) -> Plan[Memory]:
        """Stop: hello is the first message."""
        return _failed(memory, now, "protocol-error", "collector must send hello first")

    def refuse_second_hello(self, memory: Memory, now: float) -> Plan[Memory]:
        """Stop: hello is sent once."""
        return _failed(memory, now, "protocol-error", "collector sent duplicate hello")

    def heed_fatal(self, memory: Memory, now: float, code: str, message: str) -> Plan[Memory]:
        """Stop with the collector's own code as the reason."""
        return _failed(memory, now, code, message, quoted=True)

    def fail_protocol(self, memory: Memory, now: float, detail: str) -> Plan[Memory]:
        """Stop: a line could not be read, or broke a rule that the reader holds."""
        return _failed(memory, now, "protocol-error", detail)

    # planners: what goes wrong on our side

    def fail_hello(self, memory: Memory, now: float, spoke: bool) -> Plan[Memory]:
        """Stop: no hello in time, and say whether there was any byte at all."""
        if spoke:
            return _failed(_fired(memory), now, "collector-spoke-without-hello", "the collector wrote something, but no hello within 5 s")
        return _failed(_fired(memory), now, "hello-timeout", "the collector wrote nothing within 5 s")

    def fail_acknowledgement(self, memory: Memory, now: float) -> Plan[Memory]:
        """Stop: a command did not become true in time."""
        command = memory.controls.awaiting
        assert command is not None  # the guard
        return _failed(_fired(memory), now, _ACK_REASON[command], f"{command} was not answered within 5 s")

    def fail_write(self, memory: Memory, now: float, command: Command, detail: str) -> Plan[Memory]:
        """Stop: a command could not be written."""
        asked = memory.controls.queue
        named = "apply-policy" if asked and asked[0].kind == "apply-policy" else command
        return _failed(memory, now, f"{named}-send-failed", f"collector is not writable: {detail}", "collector is not writable")

    def fail_handler(self, memory: Memory, now: float, detail: str) -> Plan[Memory]:
        """Terminate the process, which counts as a crash: what it says can no longer be taken in. A reason already shown stands."""
        report = () if memory.reason else (ReportDegraded("host-message-handler-error", detail),)
        memory, answers = _abandoned(replace(memory, reason=memory.reason or "host-message-handler-error"), _EXITED)
        memory, waiting = _until(memory, "grace_over", now + GRACE)
        return plan(memory, *report, *answers, Terminate(), *waiting)

    # planners: what the host asks

    def remember(self, memory: Memory, kind: Asked, ticket: int, revision: int = 0) -> Plan[Memory]:
        """Change what is desired; the next process is initialized with it."""
        return plan(replace(memory, controls=queue.wished(memory.controls, kind)), ResolveAck(ticket))

    def enqueue(self, memory: Memory, kind: Asked, ticket: int, revision: int = 0) -> Plan[Memory]:
        """Let it wait behind the initialize."""
        return plan(replace(memory, controls=queue.asked(memory.controls, Control(kind, ticket, revision))))

    def take_up(self, memory: Memory, now: float, kind: Asked, ticket: int, revision: int = 0) -> Plan[Memory]:
        """Do it, or let it wait its turn."""
        return _advanced(replace(memory, controls=queue.asked(memory.controls, Control(kind, ticket, revision))), now)

    def release(self, memory: Memory, reason: ShutdownReason) -> Plan[Memory]:
        """There is no process: give up a restart that is due, and the ownership."""
        memory, cancelled = _cancelled(replace(memory, stop=reason))
        memory, released = _released(memory)
        return plan(memory, *cancelled, *released)

    def remember_stop(self, memory: Memory, reason: ShutdownReason) -> Plan[Memory]:
        """It is being stopped, or will be; what the host says about it outweighs a failure."""
        return plan(replace(memory, stop=memory.stop if memory.stop and reason == "protocol-error" else reason))

    def stop_now(self, memory: Memory, now: float, reason: ShutdownReason) -> Plan[Memory]:
        """Ask the process to leave."""
        if reason == "protocol-error":
            return _failed(memory, now, reason, "stopped by the host")
        return _stopping(memory, now, reason, _STOPPED)

    # planners: a process ends

    def count_exit(self, memory: Memory, now: float, target: State, status: int) -> Plan[Memory]:
        """Count a crash: restart after the delay of its number, or open the breaker."""
        return _crashed(memory, now, target, "collector-exited", f"the collector exited with status {status}")

    def count_failure(self, memory: Memory, now: float, target: State) -> Plan[Memory]:
        """Count a crash of our own making; its reason stands."""
        return _crashed(memory, now, target, "", "")

    def terminate(self, memory: Memory, now: float) -> Plan[Memory]:
        """It did not leave when asked: terminate it, and wait once more."""
        memory, waiting = _until(_fired(memory), "grace_over", now + GRACE)
        return plan(memory, Terminate(), *waiting)

    def confirm_exit(self, memory: Memory) -> Plan[Memory]:
        """It is gone: release the ownership, and let what it said be stored."""
        memory, cancelled = _cancelled(memory)
        memory, released = _released(memory)
        return plan(memory, *cancelled, *released, DrainMessages(DRAIN))

    def give_up_exit(self, memory: Memory) -> Plan[Memory]:
        """It is not known to be gone: end it by force, say so, and release the ownership all the same."""
        memory, released = _released(replace(_fired(memory), unconfirmed=True, reason="collector-exit-unconfirmed"))
        report = ReportDegraded("collector-exit-unconfirmed", "the collector did not confirm its exit")
        return plan(memory, Terminate(force=True), report, *released, DrainMessages(DRAIN))

    def see_exit(self, memory: Memory) -> Plan[Memory]:
        """Now it is gone: another may be spawned."""
        return plan(replace(memory, unconfirmed=False))


def _fresh(memory: Memory) -> Memory:
    """Nothing of the last process, but what it is shown as until the new one speaks."""
    return replace(memory, controls=Controls(desired=memory.controls.desired), policy=None, stop=None)


def _until(memory: Memory, deadline: str, at: float) -> tuple[Memory, tuple[Effect, ...]]:
    """Set the one deadline, in place of the one that is set."""
    memory, cancelled = _cancelled(memory) if memory.deadline != deadline else (memory, ())
    return replace(memory, deadline=deadline), (*cancelled, Deadline(deadline, at))


def _fired(memory: Memory) -> Memory:
    """The deadline has come, so it is no longer set."""
    return replace(memory, deadline="")


def _cancelled(memory: Memory) -> tuple[Memory, tuple[Effect, ...]]:
    return replace(memory, deadline=""), (Deadline(memory.deadline, None),) if memory.deadline else ()


def _released(memory: Memory) -> tuple[Memory, tuple[Effect, ...]]:
    return replace(memory, owned=False), (ReleaseOwnership(),) if memory.owned else ()


def _abandoned(memory: Memory, detail: str) -> tuple[Memory, tuple[Effect, ...]]:
    controls, answers = queue.abandoned(memory.controls, detail)
    return replace(memory, controls=controls), answers


def _advanced(memory: Memory, now: float) -> Plan[Memory]:
    """Go on with the queue; the deadline is that of the command that is waited for."""
    controls, effects = queue.advanced(memory.controls)
    memory = replace(memory, controls=controls)
    deadline: tuple[Effect, ...] = ()
    if controls.awaiting is None:
        memory, deadline = _cancelled(memory)
    elif effects:
        memory, deadline = _until(memory, "ack_overdue", now + ACK_TIMEOUT)
    return plan(memory, *effects, *deadline)


def _stopping(memory: Memory, now: float, stop: ShutdownReason, detail: str, *before: Effect) -> Plan[Memory]:
    memory, answers = _abandoned(replace(memory, stop=stop), detail)
    memory, waiting = _until(memory, "grace_over", now + GRACE)
    return plan(memory, *before, *answers, SendShutdown(stop), CloseStdin(), *waiting)


def _failed(memory: Memory, now: float, reason: str, detail: str, answer: str = _STOPPED, *, quoted: bool = False) -> Plan[Memory]:
    return _stopping(replace(memory, reason=reason), now, "protocol-error", answer, ReportDegraded(reason, detail, quoted))


def _crashes(memory: Memory, now: float) -> tuple[float, ...]:
    """The crashes in the window that ends now, this one included."""
    return (*(at for at in memory.crashes if now - at < CRASH_WINDOW), now)


def _crashed(memory: Memory, now: float, target: State, reason: str, detail: str) -> Plan[Memory]:
    """Restart, or with the breaker open give up the ownership; an empty reason leaves the one that is shown."""
    crashes = _crashes(memory, now)
    memory, answers = _abandoned(replace(memory, crashes=crashes, reason=reason or memory.reason), _EXITED)
    if target.value == "backoff":
        delay = RESTART_DELAYS[min(len(crashes), len(RESTART_DELAYS)) - 1]
        memory, then = _until(memory, "restart_due", now + delay)
    else:
        memory, cancelled = _cancelled(memory)
        memory, released = _released(memory)
        then = (*cancelled, *released)
    return plan(memory, *((ReportDegraded(reason, detail),) if reason else ()), *answers, *then)
