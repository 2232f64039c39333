"""The path to the client: is there one, is it silent, may it be tried anew? The peer connection steps it.

    new ─▶ connecting ─▶ connected ⇄ disconnected ─▶ failed ─▶ closed
                             ▲            │ restart     ▲
                             └─────── restarting ───────┘

Rule 1. A path is judged by what is heard on it, and by nothing else: silent for 5 s it is disconnected, for 30 s it is failed. Packets are
not events: when the deadline comes, the adapter steps `path_silent` with the time at which it last heard anything, and the chart decides.
Rule 2. Held input is released the moment the path is not connected, before anything is said about it.
Rule 3. `disconnected` keeps the session: the picture is frozen, and the client may restart. `failed` is its end: revoked, `transport`.
Rule 4. A restart turns over the ICE generation and nothing else: a new offer with new credentials on the same peer connection, DTLS and
control channel. It is allowed as soon as there is an offer, also over a path that works, which goes on working until the new one is there.
It gives the path a new 30 s. Before the first offer it is refused with `transport`, as is an answer that no offer waits for.
Rule 5. On every change to connected a key frame is wanted: nothing that was sent before has arrived.

`restarting` is not a word of the protocol: until the new path is there, the transport is what it was, `disconnected`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from statemachine import State

from ..lifecycle import Deadline, Effect, Lifecycle, Plan, plan, stay
from .session import REASONS, ReleaseInput, RevokeCode, Transport

SILENT = 5.0  # seconds without a packet: disconnected
LOST = 30.0  # seconds without a packet, or since the last try began: failed


@dataclass(frozen=True, slots=True)
class Memory:
    """The generation, and from when silence counts."""

    generation: int = 0  #: of the newest offer; 0 before the first
    answer_due: bool = False  #: the newest offer has not been answered
    since: float = 0.0  #: monotonic seconds of the last try or of the path's coming up


@dataclass(frozen=True, slots=True)
class SendOffer(Effect):
    """Gather and emit `session.description`, with new ICE credentials when the generation is above 1."""

    generation: int


@dataclass(frozen=True, slots=True)
class StartChecks(Effect):
    """Check the candidate pairs of this generation; step `path_up` when one is nominated."""

    generation: int


@dataclass(frozen=True, slots=True)
class EmitTransport(Effect):
    """Step `transport_changed` of the session with this word."""

    transport: Transport


@dataclass(frozen=True, slots=True)
class RequestKeyframe(Effect):
    """The next frame must be a key frame; for fed video emit `session.keyframeRequest`."""


@dataclass(frozen=True, slots=True)
class Revoke(Effect):
    """Step `revoke` of the session."""

    reason: str
    code: RevokeCode


class Ice(Lifecycle[Memory]):
    """The path of one peer connection: connecting, connected, silent, restarted, lost."""

    initial_memory = Memory()
    refusal = "transport"

    new = State(initial=True)
    connecting = State()
    connected = State()
    disconnected = State()
    restarting = State()
    failed = State()
    closed = State(final=True)

    offer = stay(new, unless="has_offered", on="offer_first")
    restart = (
        stay(new, cond="has_offered", on="offer_again")
        | stay(connecting, restarting, on="try_again")
        | stay(connected, on="offer_again")
        | disconnected.to(restarting, on="try_again")
    )
    answered = (
        new.to(connecting, cond="is_answer_due", on="begin")
        | stay(connecting, connected, restarting, cond="is_answer_due", on="check")
        | disconnected.to(restarting, cond="is_answer_due", on="check")
    )

    path_up = connected.from_(connecting, disconnected, restarting, on="connect") | stay(connected, on="switch")
    path_silent = (
        stay(connected, cond="was_just_heard", on="watch")
        | connected.to(disconnected, on="freeze")
        | connected.from_(disconnected, restarting, cond="was_just_heard", on="connect")
        | failed.from_(connecting, disconnected, restarting, cond="is_lost", on="fail")
        | stay(connecting, disconnected, restarting, on="wait")
    )

    transport_failed = failed.from_(new, connecting, connected, disconnected, restarting, on="fail") | stay(failed)
    peer_closed = closed.from_(new, connecting, connected, disconnected, restarting, on="lose_peer") | failed.to(closed)
    close = closed.from_(new, connecting, connected, disconnected, restarting, failed, on="let_go")

    # guards

    def has_offered(self, memory: Memory) -> bool:
        """There has been an offer."""
        return memory.generation > 0

    def is_answer_due(self, memory: Memory) -> bool:
        """The newest offer has not been answered."""
        return memory.answer_due

    def was_just_heard(self, now: float, heard_at: float) -> bool:
        """Something was heard within the last 5 s."""
        return now < heard_at + SILENT

    def is_lost(self, memory: Memory, now: float, heard_at: float) -> bool:
        """Nothing was heard, and nothing new tried, for 30 s."""
        return now >= _lost_at(memory, heard_at)

    # planners

    def offer_first(self, memory: Memory) -> Plan[Memory]:
        """Offer."""
        return _offered(memory)

    def offer_again(self, memory: Memory) -> Plan[Memory]:
        """Offer with new credentials; what is there stays until the new path is."""
        return _offered(memory)

    def try_again(self, memory: Memory, now: float) -> Plan[Memory]:
        """Offer with new credentials, and give them 30 s."""
        offered = _offered(replace(memory, since=now))
        return plan(offered.memory, *offered.effects, Deadline("path_silent", now + LOST))

    def begin(self, memory: Memory, now: float) -> Plan[Memory]:
        """Check the pairs, and give them 30 s."""
        return plan(
            replace(memory, answer_due=False, since=now),
            StartChecks(memory.generation),
            EmitTransport("connecting"),
            Deadline("path_silent", now + LOST),
        )

    def check(self, memory: Memory) -> Plan[Memory]:
        """Check the pairs of the new generation."""
        return plan(replace(memory, answer_due=False), StartChecks(memory.generation))

    def connect(self, memory: Memory, now: float) -> Plan[Memory]:
        """Say so, ask for a key frame, and listen for silence."""
        return plan(replace(memory, since=now), EmitTransport("connected"), RequestKeyframe(), Deadline("path_silent", now + SILENT))

    def switch(self, memory: Memory, now: float) -> Plan[Memory]:
        """Go over to the new generation's path; nothing was lost, so nothing is said."""
        return plan(replace(memory, since=now), Deadline("path_silent", now + SILENT))

    def watch(self, memory: Memory, heard_at: float) -> Plan[Memory]:
        """Look again when it would have been silent for 5 s."""
        return plan(memory, Deadline("path_silent", heard_at + SILENT))

    def freeze(self, memory: Memory, heard_at: float) -> Plan[Memory]:
        """Release the input, then say that the path is lost for now."""
        return plan(memory, ReleaseInput(), EmitTransport("disconnected"), Deadline("path_silent", _lost_at(memory, heard_at)))

    def wait(self, memory: Memory, heard_at: float) -> Plan[Memory]:
        """Look again when it would be lost."""
        return plan(memory, Deadline("path_silent", _lost_at(memory, heard_at)))

    def fail(self, memory: Memory) -> Plan[Memory]:
        """Release the input, say that the path is lost for good, and revoke the session."""
        return _lost(memory, "failed")

    def lose_peer(self, memory: Memory) -> Plan[Memory]:
        """Release the input, say that the client closed the connection, and revoke the session."""
        return _lost(memory, "closed")

    def let_go(self, memory: Memory) -> Plan[Memory]:
        """Release the input; the session says the rest."""
        return plan(replace(memory, answer_due=False), ReleaseInput(), Deadline("path_silent", None))


def _offered(memory: Memory) -> Plan[Memory]:
    generation = memory.generation + 1
    return plan(replace(memory, generation=generation, answer_due=True), SendOffer(generation))


def _lost_at(memory: Memory, heard_at: float) -> float:
    return max(memory.since, heard_at) + LOST


def _lost(memory: Memory, transport: Transport) -> Plan[Memory]:
    return plan(
        replace(memory, answer_due=False),
        ReleaseInput(),
        Deadline("path_silent", None),
        EmitTransport(transport),
        Revoke(REASONS["transport"], "transport"),
    )
