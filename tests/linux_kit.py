"""A collector process by its pipes, and services of a private bus that answer what a test says, for the tests of the Linux collector."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

from triptych.engine.activity import collect_command
from triptych.machines.collector.messages import COLLECTOR_MESSAGES

T = TypeVar("T")
DAEMON = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/registry", "org.a11y.atspi.Registry")


def unhurried_command() -> list[str]:
    """Our own collector with an hour between its heartbeats: what it says, something has told it."""
    python, isolated, option, program, *rest = collect_command()
    return [python, isolated, option, f"from triptych.adapters.collector import collect; collect.TICK_MS = 3_600_000; {program}", *rest]


def policy(*allowed: str, **more: Sequence[str]) -> dict[str, object]:
    lists = {"allowedBundleIds": allowed, "blockedBundleIds": (), "protectedBundleIds": (), "protectedPathPatterns": ()}
    return {"mode": "include-only", **{name: list(listed) for name, listed in {**lists, **more}.items()}}


class Collector:
    """A running collector. Every line that it writes is checked against the protocol; `lines` holds all that were read."""

    def __init__(self, env: Mapping[str, str], *arguments: str, command: Sequence[str] | None = None) -> None:
        self.started = time.monotonic()
        command = [*(command or collect_command()), *arguments]
        self.process = subprocess.Popen(command, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.rest = b""
        self.lines: list[dict[str, Any]] = []

    def send(self, data: str | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data if isinstance(data, bytes) else data.encode() + b"\n")
        self.process.stdin.flush()

    def configure(self, revision: int, *allowed: str, **more: Sequence[str]) -> None:
        self.send(json.dumps({"v": 1, "type": "configure", "revision": revision, "policy": policy(*allowed, **more)}))

    def acknowledged(self, revision: int, *allowed: str, **more: Sequence[str]) -> list[dict[str, Any]]:
        """Send a configure; everything that was said before its acknowledgement."""
        before = len(self.lines)
        self.configure(revision, *allowed, **more)
        self.wait_for("configured", revision=revision)
        return self.lines[before:-1]

    def next(self, seconds: float = 60.0) -> dict[str, Any]:
        assert self.process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            assert chunk, f"nothing more after {self.lines}"
            self.rest += chunk
        line, self.rest = self.rest.split(b"\n", 1)
        COLLECTOR_MESSAGES.read(line)
        self.lines.append(json.loads(line))
        return self.lines[-1]

    def wait_for(self, kind: str, seconds: float = 60.0, **fields: object) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while True:
            line = self.next(deadline - time.monotonic())
            if line["type"] == kind and all(line.get(name) == value for name, value in fields.items()):
                return line

    def observes(self, seconds: float = 60.0, **fields: object) -> dict[str, Any]:
        """The next observation with these: `title`, `role`, `reason`, `pid`, `id`."""
        deadline = time.monotonic() + seconds
        while True:
            line = self.wait_for("observation", deadline - time.monotonic())
            seen = {
                "title": line["window"]["title"],
                "role": line["element"]["role"],
                "reason": line["privacy"].get("reason"),
                "pid": line["app"]["pid"],
                "id": line["app"]["bundleId"],
            }
            if all(seen[name] == value for name, value in fields.items()):
                return line

    def says_nothing(self, seconds: float) -> None:
        """Fail on any line within that time."""
        assert self.process.stdout is not None
        assert b"\n" not in self.rest, self.rest
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        assert not ready, os.read(self.process.stdout.fileno(), 65536)

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@contextmanager
def collector(env: Mapping[str, str], *arguments: str, command: Sequence[str] | None = None) -> Iterator[Collector]:
    running = Collector(env, *arguments, command=command)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        for pipe in (running.process.stdin, running.process.stdout, running.process.stderr):
            assert pipe is not None
            pipe.close()


def eventually(condition: Callable[[], T], seconds: float = 60.0) -> T:
    """The first true value of a condition; fails the test when it stays false."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)
    return value


@contextmanager
def private_bus(folder: Path) -> Iterator[str]:
    """The address of a bus of its own, such as a system bus without the system's services."""
    address = f"unix:path={folder}/private-bus"
    command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog", f"--address={address}", "--print-address=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}) as daemon:
        try:
            assert daemon.stdout is not None and daemon.stdout.readline().startswith(b"unix:")
            yield address
        finally:
            daemon.terminate()
            daemon.wait()


class Peer:
    """A program on a bus, run on a thread of its own: it owns names, answers calls as it is told to, sends signals and asks.

    `answers` maps (path, interface, member) to a function of the call's arguments that returns (signature, values), or raises LookupError
    for a D-Bus error of that text. `calls` is every call that was answered, with its sender.
    """

    def __init__(self, address: str) -> None:
        self.answers: dict[tuple[str, str, str], Callable[..., tuple[str, list[Any]]]] = {}
        self.calls: list[tuple[str, str, str, str, list[Any]]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._bus = self._run(self._connect(address))

    @property
    def name(self) -> str:
        return str(self._bus.unique_name)

    def own(self, name: str) -> None:
        self.call(*DAEMON, "RequestName", "su", [name, 4])

    def disown(self, name: str) -> None:
        self.call(*DAEMON, "ReleaseName", "s", [name])

    def call(self, name: str, path: str, interface: str, member: str, signature: str = "", body: Sequence[object] = ()) -> list[Any]:
        async def ask() -> Message:
            reply = await asyncio.wait_for(self._bus.call(Message(name, path, interface, member, signature=signature, body=list(body))), 5)
            assert reply is not None
            return reply

        reply = self._run(ask())
        assert reply.message_type is MessageType.METHOD_RETURN, f"{member}: {reply.error_name} {reply.body}"
        return list(reply.body)

    def emit(self, path: str, interface: str, member: str, signature: str, body: Sequence[object]) -> None:
        async def send() -> None:
            await self._bus.send(Message.new_signal(path, interface, member, signature, list(body)))

        self._run(send())

    def others(self) -> set[str]:
        """The unique names of all other programs on the bus."""
        names = self.call(*DAEMON, "ListNames")[0]
        return {name for name in names if name.startswith(":") and name != self.name}

    def settle(self) -> None:
        """Return when every other program has taken in all that was sent to it before: each answers a ping, in order."""
        for name in self.others():
            self.call(name, "/", "org.freedesktop.DBus.Peer", "Ping")

    def close(self) -> None:
        async def leave() -> None:
            self._bus.disconnect()
            with contextlib.suppress(OSError, EOFError):
                await self._bus.wait_for_disconnect()

        self._run(leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _connect(self, address: str) -> MessageBus:
        bus = await MessageBus(bus_address=address).connect()
        bus.add_message_handler(self._received)
        return bus

    def _received(self, message: Message) -> Message | None:
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        key = (message.path or "", message.interface or "", message.member or "")
        if key not in self.answers:
            return None
        self.calls.append((message.sender or "", *key, message.body))
        try:
            signature, body = self.answers[key](*message.body)
        except LookupError as error:
            return Message.new_error(message, str(error.args[0]), "as the test says")
        return Message.new_method_return(message, signature, body)


@contextmanager
def peer(address: str) -> Iterator[Peer]:
    made = Peer(address)
    try:
        yield made
    finally:
        made.close()


def accessibility_address(session: Peer) -> str:
    return str(session.call("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")[0])


def registered(accessibility: Peer) -> set[str]:
    """The names of all programs that the accessibility registry sends events to."""
    return {name for name, *_ in accessibility.call(*REGISTRY, "GetRegisteredEvents")[0]}


def process_of(bus: Peer, name: str) -> int:
    """The process behind a name of a bus; AssertionError when nobody has it."""
    return int(bus.call(*DAEMON, "GetConnectionUnixProcessID", "s", [name])[0])
