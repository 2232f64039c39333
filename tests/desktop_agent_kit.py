"""Runs `triptych desktop` commands on a private display as an agent does, one process each, and ends the session that they started."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from triptych.adapters.display import PrivateDisplay
from triptych.adapters.process_end import wait_until_gone
from triptych.engine.child import triptych_command


class Agent:
    """The commands of one display; its session ends with the block."""

    def __init__(self, display: PrivateDisplay, **env: str) -> None:
        self.env = {**display.env, **env}
        self.name = f"display-{display.number}"
        self.folder = Path(self.env["XDG_RUNTIME_DIR"]) / "triptych" / "desktop"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for path in self.folder.glob("*.sock"):
            self.run("stop", "--session", path.stem)

    def start_process(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            triptych_command("desktop", *arguments), env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            triptych_command("desktop", *arguments),
            env={**self.env, **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def say(self, *arguments: str, stdin: str = "") -> str:
        """The text of a command that must succeed."""
        done = self.run(*arguments, stdin=stdin)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def ask(self, *arguments: str, stdin: str = "") -> dict[str, Any]:
        """The JSON answer of a command that must succeed."""
        answer: dict[str, Any] = json.loads(self.say(*arguments, "--json", stdin=stdin))
        assert answer["ok"], answer
        return answer

    def refused(self, *arguments: str, code: str, exit_code: int = 1, effect: str = "none") -> str:
        """The message of a command that must be refused, the same as text and as JSON."""
        said = self.run(*arguments, "--json")
        answer = json.loads(said.stdout)
        assert (said.returncode, answer["ok"], answer["error"]["code"], answer["effect"]) == (exit_code, False, code, effect), said
        told = self.run(*arguments)
        assert (told.returncode, told.stdout) == (exit_code, ""), told
        assert told.stderr.startswith(f"error: {answer['error']['message']}"), told
        assert told.stderr.count("suggestion: ") == bool(answer["error"]["suggestion"])
        return str(answer["error"]["message"])

    @property
    def pid(self) -> int:
        return int(self.ask("health")["pid"])

    def kill(self, number: int) -> None:
        """Send a signal to the daemon and wait until it has ended."""
        pid = self.pid
        os.kill(pid, number)
        assert wait_until_gone(pid, 5.0)

    @contextmanager
    def connected(self) -> Iterator[Line]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(self.folder / f"{self.name}.sock"))
            yield Line(connection)


class Line:
    """A connection to the daemon without the command between."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._rest = b""

    def send(self, request: object) -> None:
        self.connection.sendall(request if isinstance(request, bytes) else json.dumps(request).encode() + b"\n")

    def answer(self) -> dict[str, Any] | None:
        """The next line; None when the daemon has closed."""
        while b"\n" not in self._rest:
            chunk = self.connection.recv(1 << 16)
            if not chunk:
                return None
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **request: object) -> dict[str, Any]:
        self.send(request)
        answer = self.answer()
        assert answer is not None
        return answer
