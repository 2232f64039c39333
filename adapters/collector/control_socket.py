"""The way into a host that runs: a 0600 unix socket in its data directory, one JSON object a line, each answered by one line.

The process that records serves it, and holds the capture lock while it does; other commands of the same person ask it with `ask`. What a
command means is decided by who serves it. An answer is `{"ok": true, ...}` or `{"ok": false, "code": ..., "reason": ..., "remedy": ...}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from ...errors import LocalProtocolError, ProtocolError, TriptychError, Unavailable
from .. import process_end, unix_socket

FILE_NAME = "control.sock"
MAX_LINE_BYTES = 1_048_576  # a policy of thousands of rules
MOST_CLIENTS = 64  # at once; one more is hung up on
REQUEST_SECONDS = 10.0  # how long a client may take over a line
ANSWER_SECONDS = 0.5  # what clients get to hang up when the host ends
ASK_SECONDS = 30.0  # longer than the deadlines of a collector's acknowledgements, one after another

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class NoHost(Unavailable):
    """Nobody serves the control socket of a data directory."""


@asynccontextmanager
async def served(data_dir: Path, handle: Handler) -> AsyncIterator[Path]:
    """Serve the control socket of `data_dir` while the block runs. Raises Unavailable.

    Only the owner of the capture lock may call it: a socket that it finds was left by a host that is gone, and is replaced.
    """
    path = data_dir / FILE_NAME
    listening = unix_socket.listen(path, "use a data directory on a local disk")
    made = path.lstat()
    clients: set[asyncio.Task[None]] = set()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: asyncio.Task[None] | None = asyncio.current_task()
        assert task is not None
        if len(clients) >= MOST_CLIENTS:  # whoever holds them all is a program of this person; the host keeps its descriptors
            writer.close()
            return
        clients.add(task)
        task.add_done_callback(clients.discard)
        await _client(reader, writer, handle)

    server = await asyncio.start_unix_server(client, sock=listening, limit=MAX_LINE_BYTES)
    try:
        yield path
    finally:
        server.close()
        if clients:
            await asyncio.wait(clients, timeout=ANSWER_SECONDS)  # whoever asked it to stop is told so
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        unix_socket.remove(path, made)


def ask(data_dir: Path, command: str, seconds: float = ASK_SECONDS, **fields: Any) -> dict[str, Any]:
    """Send one command to the host of `data_dir`, and return its answer.

    Raises NoHost, Unavailable, and for a refused command what the host raised: Unavailable or LocalProtocolError.
    """
    request = json.dumps({"command": command, **fields}).encode() + b"\n"
    with _connected(data_dir, seconds) as connection:
        try:
            connection.sendall(request)
            answer = _line(connection)
        except TimeoutError:
            raise Unavailable("the host does not answer", "end it and start it again: triptych activity start") from None
        except OSError:
            answer = b""
    if not answer:
        raise Unavailable("the host went away before it answered", "triptych activity status")
    try:
        said = json.loads(answer)
        if said["ok"] is True:
            return dict(said)
        code, reason, remedy = str(said["code"]), str(said["reason"]), str(said["remedy"])
    except (ValueError, TypeError, KeyError):
        raise Unavailable("the host does not speak as this version does", "stop it and start it again") from None
    raise LocalProtocolError(code, reason) if code else Unavailable(reason, remedy)


def wait_until_gone(pid: int, seconds: float = ASK_SECONDS) -> None:
    """Return when the process of a host that was told to stop has ended. Raises Unavailable when it has not in time."""
    if not process_end.wait_until_gone(pid, seconds):
        raise Unavailable(f"process {pid} was told to stop, and has not ended", f"kill {pid}")


@contextmanager
def _connected(data_dir: Path, seconds: float) -> Iterator[socket.socket]:
    nobody = NoHost(f"no host records into {data_dir}", "triptych activity start")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(seconds)
        try:
            with unix_socket.address(data_dir / FILE_NAME) as address:
                connection.connect(address)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            raise nobody from None
        except TimeoutError:
            raise Unavailable("the host does not answer", "end it and start it again: triptych activity start") from None
        except OSError as error:
            raise Unavailable(
                f"cannot reach the host through {data_dir / FILE_NAME}: {error.strerror}", "check the data directory"
            ) from None
        yield connection


def _line(connection: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n") and len(received) < MAX_LINE_BYTES:
        chunk = connection.recv(65536)
        if not chunk:
            return b""
        received += chunk
    return bytes(received)


async def _client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handler) -> None:
    """Answer the lines of one client until it hangs up, is silent for too long, or sends what is no line."""
    try:
        while line := await asyncio.wait_for(reader.readline(), REQUEST_SECONDS):
            answer = await _answer(line, handle)
            writer.write(json.dumps(answer).encode() + b"\n")
            await asyncio.wait_for(writer.drain(), REQUEST_SECONDS)
    except (OSError, TimeoutError, ValueError):
        pass  # it has gone, or is not worth an answer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _answer(line: bytes, handle: Handler) -> Mapping[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict) or not isinstance(request.get("command"), str):
        return _refusal("a line is one JSON object with a command", "")
    try:
        return {"ok": True, **await handle(request)}
    except Unavailable as error:
        return _refusal(error.reason, error.remedy)
    except ProtocolError as error:
        return _refusal(error.detail, "", error.code)
    except (TriptychError, OSError, sqlite3.Error) as error:
        return _refusal(str(error), "")


def _refusal(reason: str, remedy: str, code: str = "") -> dict[str, Any]:
    return {"ok": False, "code": code, "reason": reason, "remedy": remedy}
