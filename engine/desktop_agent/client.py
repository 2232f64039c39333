"""The commands' end of a session's socket: finds the daemon, starts it when there is none, sends one request and returns the answer.

It imports little, since it runs once for every click. Refusals of the daemon come back as `Refused`, with what the answer says.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import IO, Any

from ...adapters.desklink import agent_socket
from ...adapters.desklink.agent_socket import NoDaemon
from ...adapters.process_end import wait_until_gone
from ...errors import TriptychError, Unavailable
from ..child import triptych_command
from .where import Where, which

ANSWER_SECONDS = 180.0
"""How long an answer may take beyond what it waits for itself: another's longest wait may be before it."""
START_SECONDS = 20.0
LEAVE_SECONDS = 5.0
"""How long a daemon may take to release everything and end."""
IDLE_VARIABLE = "TRIPTYCH_DESKTOP_IDLE"
DEFAULT_IDLE_SECONDS = 900.0
DEFAULT_WAIT_MS = 5000
MAX_ANSWER_BYTES = 16 << 20


class Refused(TriptychError):
    """The daemon's answer that something could not be done."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.code: str = answer["error"]["code"]
        self.message: str = answer["error"]["message"]
        self.suggestion: str = answer["error"]["suggestion"]
        super().__init__(self.message)


def ask(request: dict[str, Any], session: str | None, display: str | None, *, start: bool = True) -> dict[str, Any]:
    """The answer to one request. Raises Refused, NoDaemon (without `start` only), Unavailable, LocalProtocolError (usage).

    `session` and `display` are what the command line says; None where it says nothing.
    """
    folder = agent_socket.private_folder()
    where = which(session, display, folder)
    if where.display is not None:
        request = {"display": where.display, **request}
    for _ in range(3):
        try:
            return _asked(folder, where, request)
        except NoDaemon:
            if not start:
                raise
            started(folder, where)
        except Refused as refused:
            if refused.code != "ended" or not start:
                raise
            # It was just leaving, and has done nothing with the request.
            wait_until_gone(refused.answer["pid"], LEAVE_SECONDS)
    raise Unavailable(f"session {where.name!r} ends as soon as it is started", f"look at {folder / where.name}.log")


def stopped(session: str | None, display: str | None) -> dict[str, Any]:
    """End the session; its last answer, once everything it held is released and its process has gone. Raises as `ask` does."""
    answer = ask({"command": "stop"}, session, display, start=False)
    if not wait_until_gone(answer["pid"], LEAVE_SECONDS):
        raise Unavailable(f"process {answer['pid']} was told to stop, and has not ended", f"kill {answer['pid']}")
    return answer


def started(
    folder: Path, where: Where, *, idle_seconds: float | None = None, control: bool = True, indicator: bool = True
) -> dict[str, Any] | None:
    """Start the daemon of a session, unless another command just did; what it said of itself. Raises Refused, Unavailable."""
    with agent_socket.starting(folder, where.name) as lock:
        try:
            agent_socket.connect(folder, where.name, ANSWER_SECONDS).close()
            return None
        except NoDaemon:
            pass
        idle = _idle_seconds() if idle_seconds is None else idle_seconds
        arguments = ["--session", where.name, "--idle", str(idle), "--lock", str(lock)]
        arguments += [] if where.display is None else ["--display", where.display]
        arguments += [] if control else ["--view-only"]
        arguments += [] if indicator else ["--no-indicator"]
        log = os.open(folder / f"{where.name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            process = subprocess.Popen(
                triptych_command("desktop", "daemon", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock,),
            )
        finally:
            os.close(log)
        assert process.stdout is not None
        with process.stdout as said:
            answer = _first_line(said)
        if answer is not None and answer["ok"]:
            process.returncode = 0  # it outlives this command, and is nobody's to wait for
            return answer
        process.kill()
        process.wait()
    if answer is None:
        raise Unavailable(f"session {where.name!r} does not start", f"look at {folder / where.name}.log")
    raise Refused(answer)


def _asked(folder: Path, where: Where, request: dict[str, Any]) -> dict[str, Any]:
    with agent_socket.connect(folder, where.name, ANSWER_SECONDS + _waits_ms(request) / 1000) as connection:
        pid = agent_socket.peer(connection)[0]
        try:
            connection.sendall(json.dumps(request).encode() + b"\n")
            received = bytearray()
            while not received.endswith(b"\n") and len(received) < MAX_ANSWER_BYTES and (chunk := connection.recv(1 << 16)):
                received += chunk
        except TimeoutError:
            raise Unavailable(f"session {where.name!r} does not answer", f"end it: kill {pid}") from None
        except OSError:
            received = bytearray()
    try:
        answer: dict[str, Any] = json.loads(received)
    except ValueError:
        raise Unavailable(f"session {where.name!r} ended before it answered", f"look at {folder / where.name}.log") from None
    # A batch that stopped half way tells what was done before it tells what was not.
    if not answer["ok"] and "steps" not in answer:
        raise Refused({**answer, "pid": pid})
    return answer


def _waits_ms(request: dict[str, Any]) -> int:
    """The milliseconds that a request, or the steps of a batch, may wait for."""
    steps = request.get("steps", [request])
    asked = [step.get(name) for step in steps if isinstance(step, dict) for name in ("timeout", "until", "wait")]
    return sum(value if isinstance(value, int) else DEFAULT_WAIT_MS for value in asked if value is not None)


def _first_line(said: IO[bytes]) -> dict[str, Any] | None:
    """What the daemon says of its start; None when it ends, or takes too long, without a word."""
    import select

    ready, _, _ = select.select([said], [], [], START_SECONDS)
    try:
        line = said.readline() if ready else b""
        answer: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return answer


def _idle_seconds() -> float:
    given = os.environ.get(IDLE_VARIABLE, "")
    try:
        seconds = float(given) if given else DEFAULT_IDLE_SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise Unavailable(f"{IDLE_VARIABLE} is {given!r}, not a number of seconds", "set it to 0 (never), or to seconds such as 900")
    return seconds
