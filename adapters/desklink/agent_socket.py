"""The way into a session of the agent command line: one private unix socket each, in a directory that only its owner can enter.

Its daemon listens, the commands of the same person connect, and nobody else gets so far: the directories are real ones, of this user and of
mode 0700, the socket is 0600, and both ends ask the kernel who the other is. Whoever starts a daemon, or clears away what one left, holds
the session's lock meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import Unavailable
from .. import unix_socket

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,39}")
LOCK_SECONDS = 30.0
"""How long another command may take to start the same session."""
_PAUSE = 0.02  # seconds between two tries: the kernel tells nobody in time that a lock is free
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


class NoDaemon(Unavailable):
    """Nobody serves this session."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no session {name!r} runs", "triptych desktop start")


class NotPrivate(Unavailable):
    """A directory, or the other end of a socket, is not this user's alone."""


def private_folder() -> Path:
    """$XDG_RUNTIME_DIR/triptych/desktop, or /tmp/triptych-UID/desktop without one; made when missing. Raises NotPrivate, Unavailable."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if given.startswith("/") and Path(given).is_dir():
        _check(Path(given), "unset XDG_RUNTIME_DIR, or set it to your own directory")
        top = Path(given) / "triptych"
    else:
        top = Path(f"/tmp/triptych-{os.geteuid()}")
    for folder in (top, top / "desktop"):
        try:
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
        except OSError as error:
            raise Unavailable(f"cannot make {folder}: {error.strerror}", "set XDG_RUNTIME_DIR to a directory of yours") from None
        _check(folder, f"move it away, or make it yours alone: chmod 700 {folder}")
    return top / "desktop"


def session_names(folder: Path) -> list[str]:
    """The sessions that have a socket here; one may be left from a daemon that was killed."""
    return sorted(path.stem for path in folder.glob("*.sock") if NAME.fullmatch(path.stem))


@contextmanager
def starting(folder: Path, name: str, seconds: float = LOCK_SECONDS) -> Iterator[int]:
    """Hold the session's lock; its descriptor, for a child that shall hold it too. Raises Unavailable when another keeps it for so long."""
    descriptor = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise Unavailable(f"another command is still starting session {name!r}", "try again") from None
                time.sleep(_PAUSE)
        yield descriptor
    finally:
        os.close(descriptor)


def listen(folder: Path, name: str) -> socket.socket:
    """A listening socket for the session, in place of one that was left. Only the holder of the lock, or who it waits for, may call it."""
    return unix_socket.listen(folder / f"{name}.sock", "set XDG_RUNTIME_DIR to a directory on a local disk")


def remove(folder: Path, name: str, made: os.stat_result) -> None:
    """Take the socket `made` away, unless another stands in its place, or somebody is about to put one there."""
    with contextlib.suppress(OSError, Unavailable), starting(folder, name, 0.0):
        unix_socket.remove(folder / f"{name}.sock", made)


def connect(folder: Path, name: str, seconds: float) -> socket.socket:
    """A connection to the session's daemon. `seconds`: how long each later operation may take. Raises NoDaemon, NotPrivate, Unavailable."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        with unix_socket.address(folder / f"{name}.sock") as address:
            connection.connect(address)
        if peer(connection)[1] != os.geteuid():
            raise NotPrivate(f"session {name!r} is served by another user", f"remove {folder / name}.sock")
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        raise NoDaemon(name) from None
    except OSError as error:
        connection.close()
        raise Unavailable(f"cannot reach session {name!r}: {error.strerror or error}", f"look at {folder}") from None
    except NotPrivate:
        connection.close()
        raise
    return connection


def peer(connection: socket.socket) -> tuple[int, int]:
    """The process id and the user id of the other end, as the kernel has noted them."""
    pid, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, uid


def _check(folder: Path, remedy: str) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(f"{folder} is a symlink or no directory", remedy)
    if found.st_uid != os.geteuid():
        raise NotPrivate(f"{folder} belongs to user {found.st_uid}, not to you", remedy)
    if found.st_mode & 0o077:
        raise NotPrivate(f"{folder} is open to others (mode {stat.S_IMODE(found.st_mode):04o})", remedy)
