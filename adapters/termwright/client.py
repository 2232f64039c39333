"""The adapter's end of the semantic socket, for any program: connects to the driver that the environment names, and disturbs nothing.

Probes and hand-written adapters use it (public name: `triptych.engine.probe.Client`). A thread of its own reads what the driver says; what
the program publishes is written by the thread that publishes. All decisions are in machines/termwright/publisher.py. No method raises for
what the driver, the socket or a tree does: `refusal` and `ended` say what happened. Without the two environment variables it does nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...errors import LocalProtocolError, ProtocolError
from ...generated.termwright.models import AdapterCapability, AdapterInfo, LogAttribute, LogLevel, ProbeInfo
from ...generated.termwright.vocabulary import ENDPOINT_VARIABLE, TOKEN_VARIABLE
from ...machines.termwright.publisher import Attached, Closed, Publication, Publisher, Resync, Tree

#: What a hand-written adapter announces unless it says otherwise.
CAPABILITIES: Final[tuple[AdapterCapability, ...]] = (
    "tree",
    "states",
    "focus-state",
    "actions",
    "render-revisions",
    "incremental-tree",
    "logs",
)
#: Seconds that the driver has to accept the hello, and to take a frame.
START = 5.0
WRITE = 0.25

#: The file that gets a line for what went wrong: a full-screen program has no other place for it.
DEBUG_VARIABLE = "TERMWRIGHT_DEBUG_FILE"
READ_BYTES = 1 << 16


@dataclass(frozen=True)
class Endpoint:
    """Where the driver of this process listens, and the token that it expects."""

    path: str
    token: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Endpoint | None:
        """What the environment names; None when either variable is missing or empty: nobody drives this process."""
        path, token = environment.get(ENDPOINT_VARIABLE), environment.get(TOKEN_VARIABLE)
        return cls(path, token) if path and token else None


class Client:
    """One session with the driver. Every method may be called from any thread, and from none at all when nobody drives the process.

    `endpoint` is that of the environment unless given. `probe` is what a framework probe says of itself.
    """

    def __init__(
        self,
        name: str,
        version: str,
        *,
        capabilities: Sequence[AdapterCapability] = CAPABILITIES,
        probe: ProbeInfo | None = None,
        endpoint: Endpoint | None = None,
    ) -> None:
        self.refusal: ProtocolError | None = None  #: why the newest tree or log record was not sent, when the protocol forbids it
        self.ended = ""  #: why the session is over, once it is
        self._endpoint = endpoint or Endpoint.of(os.environ)
        token = self._endpoint.token if self._endpoint is not None else ""
        self._publisher = Publisher(token, AdapterInfo(name=name, version=version), capabilities, probe)
        self._lock = threading.Lock()
        self._link: socket.socket | None = None
        self._settled = threading.Event()  # the hello was answered, or never will be
        self._thread: threading.Thread | None = None
        self._on_attached: Callable[[], None] | None = None

    @property
    def attached(self) -> bool:
        """Whether the driver has accepted this adapter, and the session is not over."""
        return self._publisher.state == "attached" and not self.ended

    @property
    def session(self) -> Attached | None:
        """What the driver granted, once it did: session id, limits, whether it wants markers, the log budget."""
        return self._publisher.session

    @property
    def revision(self) -> int:
        """The number of the newest published revision; 0 before the first."""
        return self._publisher.revision

    @property
    def logs_dropped(self) -> int:
        """Log records that were not sent: no budget, budget used up, no session, or not allowed by the protocol."""
        return self._publisher.logs_dropped

    def start(self, timeout: float = START) -> bool:
        """Connect, say hello and wait for the answer. False when nobody drives this process, or the driver did not accept in time."""
        self.start_soon(timeout=timeout)
        self._settled.wait(timeout + WRITE)
        return self.attached

    def start_soon(self, on_attached: Callable[[], None] | None = None, timeout: float = START) -> None:
        """The same without waiting. `on_attached` is called in the client's own thread. While a session lasts, a second start does nothing.

        Once it is over, a start connects anew: revisions go on counting, and the first publication is a whole tree.
        """
        if self._thread is not None and self.ended:
            self._thread.join(WRITE)
        with self._lock:
            if self._endpoint is None or (self._thread is not None and self._thread.is_alive()):
                return
            self.ended = ""
            self._settled.clear()
            self._on_attached = on_attached
            self._thread = threading.Thread(target=self._serve, args=(self._endpoint, timeout), name="termwright-client", daemon=True)
        _clients.add(self)
        self._thread.start()

    def publish(self, tree: Tree | Mapping[str, object]) -> bytes:
        """Send the tree of the frame that was just drawn; returns the marker to print after the frame's last byte.

        Nothing comes back (b"") when the driver wants no marker, nobody listens, or the tree was refused: then `refusal` says why and the
        session lives.
        """
        if not self.attached:
            return b""
        with self._lock:
            self.refusal = None
            try:
                publication: Publication = self._publisher.publish(tree)
            except LocalProtocolError as fault:
                self.refusal = fault
                note(f"a tree was not sent: {fault}")
                return b""
            return publication.marker if self._write(publication.frames) else b""

    def log(
        self,
        level: LogLevel,
        message: str,
        *,
        logger: str | None = None,
        attributes: Mapping[str, LogAttribute] | None = None,
        at_ms: int | None = None,
    ) -> bool:
        """Send one log record, if the driver granted a budget and some of it is left; else it is only counted. `at_ms` is wall clock."""
        now_ms = time.time_ns() // 1_000_000 if at_ms is None else at_ms
        with self._lock:
            try:
                frame = self._publisher.log(level, message, time.monotonic(), now_ms, logger=logger, attributes=attributes)
            except LocalProtocolError as fault:
                self.refusal = fault
                return False
            return bool(frame) and self._write(frame)

    def fail(self, code: str, detail: str) -> None:
        """Tell the driver that this adapter gives up, and why; the program goes on without it."""
        with self._lock:
            if self.attached:
                self._close(self._publisher.fail(code, detail))

    def close(self) -> None:
        """End the session."""
        with self._lock:
            self._end("closed by the program")
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(WRITE)

    def _serve(self, endpoint: Endpoint, timeout: float) -> None:
        """The client's own thread, from connecting to the end of the socket."""
        deadline = time.monotonic() + timeout
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            link.settimeout(timeout)
            link.connect(endpoint.path)
            link.settimeout(None)
            with self._lock:
                if self.ended:
                    return
                self._link = link
                self._write(self._publisher.hello())
            self._listen(link, deadline)
        except Exception as cause:  # a traceback in a full-screen program would be on its screen
            with self._lock:
                self._end(f"{type(cause).__name__}: {cause}")
        finally:
            with self._lock:
                self._end("the driver closed the socket")
                link.close()
            self._settled.set()

    def _listen(self, link: socket.socket, deadline: float) -> None:
        readable = select.poll()
        readable.register(link, select.POLLIN)
        while not self.ended:
            waiting = self._publisher.state == "hello"
            if not readable.poll(max(deadline - time.monotonic(), 0) * 1000 if waiting else None):
                raise TimeoutError("the driver did not answer the hello in time")
            data = link.recv(READ_BYTES)
            if not data:
                return
            with self._lock:
                events = self._publisher.received(data, time.monotonic())
            for event in events:
                self._happened(event)

    def _happened(self, event: Attached | Resync | Closed) -> None:
        if isinstance(event, Closed):
            with self._lock:
                self._close(event)
        elif isinstance(event, Attached):
            self._settled.set()
            if self._on_attached is not None:
                self._on_attached()

    def _write(self, data: bytes) -> bool:
        """Send it all within the deadline, or end the session: a driver that does not read must not hold the program."""
        link, rest = self._link, memoryview(data)
        deadline = time.monotonic() + WRITE
        while rest:
            if link is None or self.ended:
                return False
            try:
                # A program may have given SIGPIPE back its deadly default.
                rest = rest[link.send(rest, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                writable = select.poll()
                writable.register(link, select.POLLOUT)
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not writable.poll(remaining * 1000):
                    self._end(f"the driver did not take a frame within {WRITE} s")
            except OSError as cause:
                self._end(str(cause))
        return True

    def _close(self, event: Closed) -> None:
        self._write(event.data)
        self._end(f"{event.code}: {event.detail}")

    def _end(self, why: str) -> None:
        if self.ended:
            return
        self.ended = why
        self._publisher.disconnected()
        note(f"the session is over: {why}")
        if self._link is not None:
            with contextlib.suppress(OSError):
                self._link.shutdown(socket.SHUT_RDWR)  # which wakes the thread that reads
            self._link = None

    def _forked(self) -> None:
        """In a child process the session is the parent's: the socket is closed here, and nothing is said on it."""
        self._lock = threading.Lock()
        link, self._link = self._link, None
        self.ended = self.ended or "the session belongs to the parent process"
        if link is not None:
            link.close()


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


def current() -> Client | None:
    """The client of this process that a driver has accepted, or None: what log handlers send to."""
    return next((client for client in list(_clients) if client.attached), None)


def _after_fork() -> None:
    for client in list(_clients):
        client._forked()


os.register_at_fork(after_in_child=_after_fork)


def note(line: str) -> None:
    """Write a line to the file that `TERMWRIGHT_DEBUG_FILE` names, if it names one."""
    path = os.environ.get(DEBUG_VARIABLE)
    if path:
        with contextlib.suppress(OSError), Path(path).open("a", encoding="utf-8") as file:
            file.write(f"triptych {os.getpid()}: {line}\n")
