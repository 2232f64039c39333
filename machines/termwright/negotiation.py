"""Which adapter, if any, a terminal session gets: the contract between the driver and the program it spawned. The driver core steps it.

    listening ⇄ hello ─▶ attached ─▶ detached
        └─────────┴────▶ refused

The chart is about the session; sockets are numbers in its memory. A socket waits (accepted, no hello yet), becomes the adapter, or is
turned away. Everything that must be counted is counted here, so the socket layer only accepts, reads, writes and closes:

Rule 1. The window opens with the spawn and lasts 2 s (`WINDOW`), or as long as the caller's ready timeout when it requires capabilities.
Rule 2. The first hello that is accepted settles the contract at once, and it is frozen: never upgraded, never downgraded. A hello that is
refused (`bad-token`, `bad-version`, `malformed`) settles nothing: a stray process must not keep the real adapter out.
Rule 3. At most four sockets wait at a time, each with a hello deadline of 10 s of its own; a fifth is dropped without a word.
Rule 4. When the window is over, whoever already waits may still finish its hello; new sockets get `internal`. When the contract is settled,
everybody else gets `internal`, those who wait included.
Rule 5. After attaching, a protocol violation, a second hello, an adapter's own `error` and a closed socket all end in `detached`. The last
tree stays, later semantic waits fail, and the program runs on. There is no second adapter.

Whether a first message is a well formed hello of this protocol version is the message reader's business (it comes here as `violated` with
the reader's code); whether its token is right is the core's (compared in constant time).

After `CloseSocket` of a socket nothing more of that socket is stepped. Deadlines are `window_expired` and `hello_overdue:<socket>`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from statemachine import State
from statemachine.transition_list import TransitionList

from ...generated.termwright import vocabulary
from ..lifecycle import Deadline, Effect, Lifecycle, Plan, plan, stay

WINDOW = vocabulary.NEGOTIATION_MS / 1000  # seconds from the spawn
HELLO_TIMEOUT = vocabulary.HELLO_DEADLINE_MS / 1000  # seconds from the moment a socket was accepted
DRAIN = vocabulary.REFUSAL_DRAIN_MS / 1000  # seconds for a refused peer to read why, before its socket is destroyed
MAX_WAITING = vocabulary.MAX_SOCKETS


@dataclass(frozen=True, slots=True)
class Memory:
    """Who waits, who is attached, and what was agreed."""

    waiting: tuple[int, ...] = ()  #: sockets that have not said hello, oldest first
    adapter: int | None = None  #: the attached socket
    capabilities: tuple[str, ...] = ()  #: what the adapter announced: the frozen contract, kept after it has gone
    window_open: bool = True
    refusal: str = ""  #: the last refused hello: code and detail, so that a timeout can say why


@dataclass(frozen=True, slots=True)
class SendAck(Effect):
    """Answer `hello-ack`: markers when the adapter announced `render-revisions`, a log budget when it announced `logs`."""

    socket: int
    marker: bool
    logs: bool


@dataclass(frozen=True, slots=True)
class SendError(Effect):
    """Write one `error` frame."""

    socket: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CloseSocket(Effect):
    """End the socket: FIN after what is written, destroyed after `drain` seconds (0: destroyed at once)."""

    socket: int
    drain: float


@dataclass(frozen=True, slots=True)
class CloseEndpoint(Effect):
    """Stop listening and remove the endpoint."""


@dataclass(frozen=True, slots=True)
class Diagnostic(Effect):
    """Tell the session's diagnostics."""

    code: str
    detail: str


def _leaving(hello: State, listening: State, refused: State, on: str) -> TransitionList:
    """A waiting socket goes without having settled anything: others may still wait, or the window may still be open."""
    return TransitionList(
        hello.to(hello, cond=["waits", "others_wait"], on=on)
        | hello.to(listening, cond=["waits", "window_is_open"], on=on)
        | hello.to(refused, cond="waits", on=on)
    )


class Negotiation(Lifecycle[Memory]):
    """The contract of one terminal session: which adapter attached, and until when."""

    initial_memory = Memory()

    listening = State(initial=True)
    hello = State()
    attached = State()
    refused = State()
    detached = State()
    closed = State(final=True)

    spawned = stay(listening, hello, on="start_window")
    window_expired = listening.to(refused, on="give_up") | stay(hello, on="end_window")

    connected = (
        listening.to(hello, on="await_hello")
        | stay(hello, cond=["window_is_open", "has_room"], on="await_hello")
        | stay(hello, cond="window_is_open", on="drop_fifth")
        | stay(hello, attached, refused, detached, on="turn_away")
    )
    hello_received = (
        hello.to(attached, cond=["waits", "token_is_right"], on="attach")
        | _leaving(hello, listening, refused, on="refuse_token")
        | attached.to(detached, cond="is_adapter", on="refuse_second_hello")
    )
    hello_overdue = _leaving(hello, listening, refused, on="refuse_silence")
    violated = _leaving(hello, listening, refused, on="refuse_violation") | attached.to(detached, cond="is_adapter", on="end_violation")
    adapter_failed = _leaving(hello, listening, refused, on="refuse_no_hello") | attached.to(
        detached, cond="is_adapter", on="record_failure"
    )
    disconnected = _leaving(hello, listening, refused, on="forget") | attached.to(detached, cond="is_adapter", on="lose_adapter")

    close = closed.from_(listening, hello, attached, refused, detached, on="close_all")

    # guards

    def has_room(self, memory: Memory) -> bool:
        """Fewer than four sockets wait."""
        return len(memory.waiting) < MAX_WAITING

    def window_is_open(self, memory: Memory) -> bool:
        """New sockets may still say hello."""
        return memory.window_open

    def waits(self, memory: Memory, socket: int) -> bool:
        """This socket has not said hello yet."""
        return socket in memory.waiting

    def others_wait(self, memory: Memory) -> bool:
        """Another socket than this one waits too."""
        return len(memory.waiting) > 1

    def token_is_right(self, token_matches: bool) -> bool:
        """The hello carried the session's token."""
        return token_matches

    def is_adapter(self, memory: Memory, socket: int) -> bool:
        """This socket is the attached adapter."""
        return socket == memory.adapter

    # planners

    def start_window(self, memory: Memory, now: float, window: float = WINDOW) -> Plan[Memory]:
        """Give the program `window` seconds to connect."""
        return plan(memory, Deadline("window_expired", now + window))

    def give_up(self, memory: Memory) -> Plan[Memory]:
        """Settle without an adapter: nobody said hello in time."""
        return plan(replace(memory, window_open=False), _nobody(memory.refusal))

    def end_window(self, memory: Memory) -> Plan[Memory]:
        """Take no new sockets; those that wait may finish."""
        return plan(replace(memory, window_open=False))

    def await_hello(self, memory: Memory, now: float, socket: int) -> Plan[Memory]:
        """Give the socket ten seconds for its hello."""
        return plan(replace(memory, waiting=(*memory.waiting, socket)), Deadline(f"hello_overdue:{socket}", now + HELLO_TIMEOUT))

    def drop_fifth(self, memory: Memory, socket: int) -> Plan[Memory]:
        """Destroy a socket beyond the fourth without a word."""
        return plan(memory, CloseSocket(socket, 0.0))

    def turn_away(self, memory: Memory, socket: int) -> Plan[Memory]:
        """Tell a socket that came too late."""
        return plan(memory, *_refusal(socket, "internal", "the session no longer takes adapters"))

    def attach(self, memory: Memory, socket: int, capabilities: tuple[str, ...]) -> Plan[Memory]:
        """Settle: acknowledge this adapter, freeze what it announced, turn away whoever else waits."""
        late = tuple(other for other in memory.waiting if other != socket)
        return plan(
            replace(memory, waiting=(), adapter=socket, capabilities=capabilities, window_open=False),
            Deadline(f"hello_overdue:{socket}", None),
            Deadline("window_expired", None),
            SendAck(socket, marker="render-revisions" in capabilities, logs="logs" in capabilities),
            Diagnostic("adapter-attached", " ".join(capabilities)),
            *(effect for other in late for effect in _turned_away(other, "internal", "another adapter has attached")),
        )

    def refuse_token(self, memory: Memory, socket: int) -> Plan[Memory]:
        """Refuse a hello that does not carry the session's token."""
        return _refused(memory, socket, "bad-token", "the token is not this session's")

    def refuse_silence(self, memory: Memory, socket: int) -> Plan[Memory]:
        """Refuse a socket that said nothing for ten seconds."""
        return _refused(memory, socket, "internal", "no hello within 10 s")

    def refuse_violation(self, memory: Memory, socket: int, code: str, detail: str) -> Plan[Memory]:
        """Refuse a first message that is no hello of this protocol, with the reader's code."""
        return _refused(memory, socket, code, detail)

    def refuse_no_hello(self, memory: Memory, socket: int, code: str, message: str) -> Plan[Memory]:
        """Refuse a socket whose first message is an error of its own: the first message is a hello."""
        return _refused(memory, socket, "malformed", f"the first message must be hello, not error {code}: {message}")

    def forget(self, memory: Memory, socket: int) -> Plan[Memory]:
        """Forget a socket that closed before its hello."""
        return _gone(memory, socket, Deadline(f"hello_overdue:{socket}", None))

    def refuse_second_hello(self, memory: Memory, socket: int) -> Plan[Memory]:
        """End the channel: hello is sent exactly once."""
        return _violation(memory, socket, "malformed", "a second hello")

    def end_violation(self, memory: Memory, socket: int, code: str, detail: str) -> Plan[Memory]:
        """End the channel with the reader's or the gate's code."""
        return _violation(memory, socket, code, detail)

    def record_failure(self, memory: Memory, socket: int, code: str, message: str) -> Plan[Memory]:
        """Record the adapter's own error under its code, and destroy the socket."""
        return plan(
            replace(memory, adapter=None),
            Diagnostic(code, message),
            Diagnostic("adapter-disconnected", f"after its error {code}"),
            CloseSocket(socket, 0.0),
        )

    def lose_adapter(self, memory: Memory) -> Plan[Memory]:
        """Record that the adapter has gone."""
        return plan(replace(memory, adapter=None), Diagnostic("adapter-disconnected", "the adapter closed its socket"))

    def close_all(self, memory: Memory) -> Plan[Memory]:
        """End every socket and the endpoint."""
        held = memory.waiting if memory.adapter is None else (*memory.waiting, memory.adapter)
        return plan(
            replace(memory, waiting=(), adapter=None, window_open=False),
            Deadline("window_expired", None),
            *(Deadline(f"hello_overdue:{socket}", None) for socket in memory.waiting),
            *(CloseSocket(socket, DRAIN) for socket in held),
            CloseEndpoint(),
        )


def _nobody(refusal: str) -> Diagnostic:
    return Diagnostic("negotiation-timeout", f"no adapter attached; last refused: {refusal}" if refusal else "no adapter connected")


def _refusal(socket: int, code: str, message: str) -> tuple[Effect, ...]:
    return SendError(socket, code, message), CloseSocket(socket, DRAIN)


def _turned_away(socket: int, code: str, message: str) -> tuple[Effect, ...]:
    return Deadline(f"hello_overdue:{socket}", None), *_refusal(socket, code, message)


def _refused(memory: Memory, socket: int, code: str, message: str) -> Plan[Memory]:
    refusal = f"{code}: {message}"
    return _gone(replace(memory, refusal=refusal), socket, *_turned_away(socket, code, message), Diagnostic("adapter-refused", refusal))


def _gone(memory: Memory, socket: int, *effects: Effect) -> Plan[Memory]:
    """A waiting socket is no longer there. When it was the last and the window is over, the session is refused and says so."""
    waiting = tuple(other for other in memory.waiting if other != socket)
    settled = not waiting and not memory.window_open
    return plan(replace(memory, waiting=waiting), *effects, *((_nobody(memory.refusal),) if settled else ()))


def _violation(memory: Memory, socket: int, code: str, detail: str) -> Plan[Memory]:
    return plan(
        replace(memory, adapter=None),
        Diagnostic("protocol-violation", f"{code}: {detail}"),
        *_refusal(socket, code, detail),
    )
