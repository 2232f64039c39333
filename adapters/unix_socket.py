"""Makes and names the unix sockets by which one person's processes reach each other: adapters/collector/control_socket.py and its like.

Where a socket stands, who may connect and what is said is decided by who calls.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import Unavailable

PATH_BYTES = 107
"""The longest path that a unix socket of Linux can have."""


def listen(path: Path, remedy: str) -> socket.socket:
    """A listening, non-blocking socket of mode 0600 in place of one that was left there. Raises Unavailable.

    Only who knows that nobody serves the one that was left may call it. `remedy`: what to do when none can be made there.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISSOCK(path.lstat().st_mode):
                raise Unavailable(f"{path} is no socket", "move it away")
            path.unlink()
        with address(path) as name:
            listening.bind(name)
        path.chmod(0o600)  # before anybody can connect
        listening.listen()
    except OSError as error:
        listening.close()
        raise Unavailable(f"cannot make {path}: {error.strerror or error}", remedy) from None
    except Unavailable:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


def remove(path: Path, made: os.stat_result) -> None:
    """Take the socket `made` away, unless another stands in its place."""
    with contextlib.suppress(OSError):
        if os.path.samestat(path.lstat(), made):
            path.unlink()


@contextmanager
def address(path: Path) -> Iterator[str]:
    """What to bind or connect to: the path, or while the block runs a short name of it when it is too long for a socket."""
    if len(os.fsencode(path)) <= PATH_BYTES or not Path("/proc/self/fd").exists():
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
