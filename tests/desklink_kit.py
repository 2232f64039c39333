"""Drives the desklink engine as a consumer does: a process on two pipes, one JSON object a line; every line it says is checked."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stopwatch_kit import Stopwatch
from triptych.machines.wire.read import Reader
from triptych.machines.wire.text import DESKLINK

EVENT: Reader[Any] = Reader("desklink", "Event", DESKLINK)
RESULT: Reader[Any] = Reader("desklink", "ResultReply", DESKLINK)
ERROR: Reader[Any] = Reader("desklink", "ErrorReply", DESKLINK)
SERVE = "import sys; from triptych.engine.desklink_command import main; sys.exit(main(['serve']))"


class EngineProcess:
    """A running engine. `said` holds every message so far, in order."""

    def __init__(self, env: Mapping[str, str], program: str = SERVE, stdin: int = subprocess.PIPE) -> None:
        self.said: list[dict[str, Any]] = []
        self.asked = 0
        self._rest = b""
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(env)
        )
        assert self.process.stdout is not None
        self._out = self.process.stdout.fileno()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                stream.close()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, params: Any = None) -> int:
        """Send a request and return its id."""
        self.asked += 1
        self.write(json.dumps({"id": self.asked, "method": method, "params": params}).encode() + b"\n")
        return self.asked

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool], what: str, seconds: float = 60.0) -> dict[str, Any]:
        """The first message that is wanted, waiting for it if need be."""
        deadline = time.monotonic() + seconds
        looked = 0
        while True:
            for message in self.said[looked:]:
                if wanted(message):
                    return message
            looked = len(self.said)
            if not self.read(deadline):
                raise AssertionError(f"no {what} in {seconds} s; said: {self.said}; stderr: {self.errors()}")

    def answer(self, request: int, seconds: float = 60.0) -> dict[str, Any]:
        return self.wait_for(lambda message: message.get("id") == request, f"answer to {request}", seconds)

    def ask(self, method: str, params: Any = None, seconds: float = 60.0) -> Any:
        """The result of a request."""
        answer = self.answer(self.send(method, params), seconds)
        assert "result" in answer, answer
        return answer["result"]

    def code(self, method: str, params: Any = None) -> str:
        """The code with which a request is refused."""
        answer = self.answer(self.send(method, params))
        assert "error" in answer, answer
        return str(answer["error"]["code"])

    def event(self, name: str, seconds: float = 60.0, **fields: object) -> dict[str, Any]:
        """The parameters of the first such event with those fields."""

        def wanted(message: dict[str, Any]) -> bool:
            return message.get("event") == name and all(message["params"].get(field) == value for field, value in fields.items())

        params: dict[str, Any] = self.wait_for(wanted, f"{name} {fields}", seconds)["params"]
        return params

    def events(self, name: str) -> list[dict[str, Any]]:
        return [message["params"] for message in self.said if message.get("event") == name]

    def open(self, display: str, *permissions: str, **more: Any) -> str:
        """Say hello, open an X11 session and return its id."""
        self.ask("hello", {"protocol": 3})
        source = {"kind": "x11", "display": display}
        return str(self.ask("session.open", {"source": source, "permissions": list(permissions or ("view",)), **more})["sessionId"])

    def exit_code(self, seconds: float = 60.0) -> int:
        """Read to the end and wait for the process, which has so many seconds, without those in which the machine lets it wait."""
        watch = Stopwatch(self.process.pid)
        while self.read(time.monotonic() + 0.1) or (not self._has_ended() and watch.seconds() < seconds):
            pass
        return self.process.wait(0.1)

    def _has_ended(self) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.05)
        return self.process.returncode is not None

    def read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._out], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(self._out, 1 << 20) if ready else b""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            (EVENT if "event" in message else RESULT if "result" in message else ERROR).read(line)
            self.said.append(message)
        return bool(chunk)

    def errors(self) -> str:
        """What stands on stderr by now, without the warning that a root user gets."""
        assert self.process.stderr is not None
        ready, _, _ = select.select([self.process.stderr], [], [], 0)
        text = os.read(self.process.stderr.fileno(), 1 << 16).decode() if ready else ""
        return "".join(line for line in text.splitlines(keepends=True) if "running as root" not in line)

    def listening(self) -> list[str]:
        """The sockets of it and of its helpers that accept connections or datagrams from elsewhere: their lines of /proc/net.

        Those of a peer connection, which a `session.candidate` names, are not among them.
        """
        deadline = time.monotonic() + 2
        while (found := self._listening()) and time.monotonic() < deadline:
            self.read(time.monotonic() + 0.1)  # a candidate is told right after its socket was made
        return found

    def _listening(self) -> list[str]:
        named = {int(event["candidate"].split()[5]) for event in self.events("session.candidate")}
        folder = Path(f"/proc/{self.process.pid}")
        folders = [folder, *(Path(f"/proc/{pid}") for pid in self.helpers())]
        links = [str(path.readlink()) for each in folders for path in (each / "fd").iterdir() if path.is_symlink()]
        inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
        found = []
        for table, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", None), ("udp6", None), ("raw", None)):
            path = folder / "net" / table
            for line in path.read_text().splitlines()[1:] if path.exists() else []:
                columns = line.split()
                offered = state is None and int(columns[1].rpartition(":")[2], 16) in named
                if columns[9] in inodes and (state is None or columns[3] == state) and not offered:
                    found.append(line)
        for line in (folder / "net" / "unix").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[6] in inodes and int(columns[3], 16) & 0x10000:  # __SO_ACCEPTCON
                found.append(line)
        return found

    def helpers(self) -> list[int]:
        """The processes that it has started and that still run, by their process ids."""
        children: list[int] = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # a thread that has ended
                children += map(int, (task / "children").read_text().split())
        return children
