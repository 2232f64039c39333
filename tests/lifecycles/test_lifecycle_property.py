"""Random lives of the manager, of a session and of its path, watched by what must hold whatever happens."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from triptych.errors import IllegalEvent
from triptych.machines.collector.controls import RejectAck, ResolveAck, SendConfigure
from triptych.machines.collector.manager import Manager, Memory, ReleaseOwnership, Spawn, Terminate
from triptych.machines.desklink.ice import EmitTransport, Ice, Revoke
from triptych.machines.desklink.session import ClosePeer, EmitRevoked, EmitState, ReleaseInput, Session, StartTransport
from triptych.machines.lifecycle import Deadline

BAD = ("degraded", "failing", "backoff", "broken")
SERVING = ("configuring", "running", "paused", "permission-required", "degraded")
reports = st.sampled_from(["running", "paused", "permission-required", "degraded"])
reasons = st.sampled_from(["plugin-dispose", "host-shutdown", "protocol-error"])


class Host(RuleBasedStateMachine):
    """A manager beside the truth about its process: whether one lives, what it was told, which tickets are open."""

    @initialize(restart=st.sampled_from([True, True, True, False]))
    def begin(self, restart: bool) -> None:
        self.life = Manager(Memory(restart=restart))
        self.now = 0.0
        self.alive = self.spawning = False
        self.configure: int | None = None  # sent and neither acknowledged nor abandoned
        self.deadlines: dict[str, float] = {}
        self.open: set[int] = set()
        self.tickets = self.steps = 0
        self.owned = True

    def step(self, event: str, **data: Any) -> bool:
        before = self.life.state
        self.steps += 1
        try:
            effects = self.life.step(event, self.now, **data)
        except IllegalEvent:
            return False
        if event in ("start", "recover"):
            self.owned = True
        if event == "policy_acknowledged" and self.configure == data["revision"]:
            self.configure = None
        if self.life.state not in ("hello", *SERVING):
            self.configure = None
        for effect in effects:
            match effect:
                case Spawn():
                    assert not self.alive, "two processes"
                    assert not self.spawning, "two spawns"
                    self.spawning = True
                case SendConfigure(revision):
                    assert self.alive
                    assert self.configure is None, "two configures outstanding"
                    self.configure = revision
                case ResolveAck(ticket) | RejectAck(ticket, _) if ticket:
                    assert ticket in self.open, "answered twice"
                    self.open.discard(ticket)
                case ReleaseOwnership():
                    assert self.owned, "released twice"
                    self.owned = False
                case Terminate():
                    assert self.alive
                case Deadline(name, None):
                    assert name in self.deadlines, f"{name} was not set"
                    del self.deadlines[name]
                case Deadline(name, at):
                    assert at is not None
                    assert at > self.now
                    self.deadlines[name] = at
        if before == "configuring" and self.life.state in SERVING[1:]:
            assert self.life.memory.policy is not None, "it runs under no policy"
        return True

    @rule(report=st.sampled_from(["running", "paused"]))
    def go_on(self, report: str) -> None:
        """What happens next when nothing goes wrong: without this, random lives end young."""
        if self.life.is_over:
            self.begin(True)
        elif self.life.state in ("idle", "broken"):
            self.exit(0) if self.alive else self.step("start")
        elif self.life.state == "backoff":
            self.time_comes(False)
        elif self.spawning:
            self.end_spawn(True, True)
        elif self.life.state == "hello":
            self.hello(1)
        elif self.configure is not None:
            self.acknowledge()
        elif self.life.state in SERVING:
            awaited = {"pause": "paused", "resume": "running"}.get(self.life.memory.controls.awaiting or "", report)
            assert self.step("state_reported", report=awaited, trusted=True)
        else:
            self.time_comes(False)

    @rule(report=st.sampled_from(["running", "paused"]))
    def go_on_twice(self, report: str) -> None:
        self.go_on(report)
        self.go_on(report)

    @rule(event=st.sampled_from(["start", "recover"]))
    def begin_process(self, event: str) -> None:
        self.step(event)

    @precondition(lambda self: self.spawning)
    @rule(works=st.booleans(), piped=st.sampled_from([True, True, True, False]))
    def end_spawn(self, works: bool, piped: bool) -> None:
        self.spawning, self.alive = False, works
        assert self.step("spawned", piped=piped) if works else self.step("spawn_failed", detail="no such file")

    @precondition(lambda self: self.alive)
    @rule(revision=st.integers(1, 2))
    def hello(self, revision: int) -> None:
        self.step("hello_received", revision=revision)

    @precondition(lambda self: self.alive)
    @rule(report=reports)
    def state(self, report: str) -> None:
        self.step("state_reported", report=report, trusted=True)

    @precondition(lambda self: self.alive and self.configure is not None)
    @rule()
    def acknowledge(self) -> None:
        revision = self.configure
        assert self.step("policy_acknowledged", revision=revision)
        assert self.life.memory.policy == revision

    @precondition(lambda self: self.alive)
    @rule(revision=st.integers(1, 2))
    def acknowledge_anything(self, revision: int) -> None:
        right = self.configure == revision
        if self.step("policy_acknowledged", revision=revision) and not right:
            assert self.life.state in ("stopping", "terminating", "failing")

    @precondition(lambda self: self.alive)
    @rule(what=st.sampled_from(["fatal_received", "protocol_broken", "handler_failed", "write_failed"]))
    def go_wrong(self, what: str) -> None:
        data = {"fatal_received": {"code": "x", "message": "y"}, "write_failed": {"command": "pause", "detail": "EPIPE"}}
        self.step(what, **data.get(what, {"detail": "y"}))

    @precondition(lambda self: self.alive)
    @rule(status=st.integers(-15, 1))
    def exit(self, status: int) -> None:
        self.alive = False
        if not self.life.is_over:
            assert self.step("exited", status=status), f"an exit is illegal in {self.life.state}"

    @rule(kind=st.sampled_from(["pause", "resume", "apply-policy"]), revision=st.integers(1, 2))
    def control(self, kind: str, revision: int) -> None:
        if self.life.is_over:
            return
        self.tickets += 1
        self.open.add(self.tickets)
        assert self.step("control", kind=kind, ticket=self.tickets, revision=revision)
        if kind != "apply-policy":
            assert self.life.memory.controls.desired == {"pause": "paused", "resume": "running"}[kind]

    @precondition(lambda self: self.steps > 20 and not self.life.is_over)
    @rule(reason=reasons)
    def stop(self, reason: str) -> None:
        assert self.step("stop", reason=reason)

    @precondition(lambda self: self.deadlines)
    @rule(spoke=st.booleans())
    def time_comes(self, spoke: bool) -> None:
        name, self.now = min(self.deadlines.items(), key=lambda item: item[1])
        del self.deadlines[name]
        assert self.step(name, **({"spoke": spoke} if name == "hello_overdue" else {})), f"{name} is illegal in {self.life.state}"

    @precondition(lambda self: self.alive and self.deadlines)
    @rule()
    def exit_after_a_while(self) -> None:
        self.now += 0.1 if self.now + 0.1 < min(self.deadlines.values()) else 0.0
        self.exit(0)

    @invariant()
    def every_degraded_state_has_a_name(self) -> None:
        if self.life.state in BAD:
            assert self.life.memory.reason

    @invariant()
    def one_deadline_at_most_and_the_memory_knows_it(self) -> None:
        assert list(self.deadlines) == ([self.life.memory.deadline] if self.life.memory.deadline else [])

    @invariant()
    def it_runs_only_under_a_policy_and_only_while_a_process_lives(self) -> None:
        if self.life.state in SERVING:
            assert self.alive
        if self.life.state in SERVING[1:]:
            assert self.life.memory.policy is not None
            assert self.life.state == self.life.memory.controls.report

    @invariant()
    def what_waits_has_a_deadline(self) -> None:
        if self.life.memory.controls.awaiting:
            assert self.life.memory.deadline == "ack_overdue"
        elif self.life.state in SERVING[1:]:
            assert not self.open, "a control is forgotten"

    @invariant()
    def the_end_answers_everything_and_holds_nothing(self) -> None:
        if self.life.state in ("stopped", "broken"):
            assert not self.open
            assert not self.owned
            assert not self.deadlines


class Desktop(RuleBasedStateMachine):
    """A session and its path, wired as the engine wires them: what the path emits about itself goes into the session."""

    @initialize(captured=st.booleans())
    def begin(self, captured: bool) -> None:
        self.session, self.ice = Session(), Ice()
        self.now = 0.0
        self.held = False
        self.said: list[EmitState | EmitRevoked] = []
        self.transport = "new"
        self.steps = 0
        self.step(self.session, "opened", captured=captured, lease=120.0)

    def step(self, life: Session | Ice, event: str, **data: Any) -> bool:
        over = life.is_over
        self.steps += 1
        try:
            effects = life.step(event, self.now, **data)
        except IllegalEvent:
            return False
        assert not over, "something happened after the end"
        for effect in effects:
            match effect:
                case EmitState() | EmitRevoked():
                    self.said.append(effect)
                case ReleaseInput():
                    self.held = False
                case StartTransport():
                    assert self.step(self.ice, "offer")
                case ClosePeer():
                    self.step(self.ice, "close")
                case EmitTransport(word):
                    if word != "connected":
                        assert not self.held, f"held input when {word}"
                    assert word != self.transport, "said twice"
                    self.transport = word
                    self.step(self.session, "transport_changed", transport=word)
                case Revoke(reason, code):
                    self.step(self.session, "revoke", reason=reason, code=code)
        return True

    @precondition(lambda self: self.ice.state == "connected" and not self.session.is_over)
    @rule()
    def hold(self) -> None:
        self.held = True

    @rule()
    def go_on(self) -> None:
        """What happens next when nothing goes wrong: without this, random lives end young."""
        if self.session.is_over:
            self.begin(True)
        elif self.ice.state == "new":
            self.step(self.session, "described")
            assert self.step(self.ice, "answered")
        elif self.ice.state in ("connecting", "disconnected", "restarting"):
            assert self.step(self.ice, "path_up")
        else:
            self.step(self.session, "first_frame")

    @rule(event=st.sampled_from(["answered", "restart", "path_up"]))
    def path_event(self, event: str) -> None:
        self.step(self.ice, event)

    @rule(capture=st.sampled_from(["streaming", "ended"]))
    def capture(self, capture: str) -> None:
        self.step(self.session, "capture_changed", capture=capture)

    @precondition(lambda self: self.steps > 8)
    @rule(event=st.sampled_from(["close", "replace", "lease_expired"]))
    def end_session(self, event: str) -> None:
        self.step(self.session, event)

    @precondition(lambda self: self.steps > 8)
    @rule(event=st.sampled_from(["transport_failed", "peer_closed"]))
    def end_path(self, event: str) -> None:
        self.step(self.ice, event)

    @rule(silence=st.sampled_from([0.5, 4.9, 5.0, 12.0, 30.0, 31.0]))
    def silence(self, silence: float) -> None:
        self.now += silence
        self.step(self.ice, "path_silent", heard_at=self.now - silence)

    @invariant()
    def nothing_stays_pressed_without_a_path(self) -> None:
        if self.ice.state != "connected" or self.session.is_over:
            assert not self.held

    @invariant()
    def a_path_that_is_lost_for_good_ends_the_session(self) -> None:
        if self.ice.state in ("failed", "closed"):
            assert self.session.is_over
        if self.session.is_over:
            assert self.ice.is_over

    @invariant()
    def ended_is_the_last_word_and_revoked_is_said_once(self) -> None:
        if self.session.is_over:
            assert self.said[-1] == EmitState("ended", "closed", False)
        assert sum(isinstance(word, EmitRevoked) for word in self.said) <= 1


Host.TestCase.settings = settings(stateful_step_count=40)
Desktop.TestCase.settings = settings(stateful_step_count=30)
TestHost = Host.TestCase
TestDesktop = Desktop.TestCase
