"""Writes pixels so that nobody else can read them; called by the host for the paths of `session.frame`, and by the Python API.

Pixels of a desktop are the most private thing that the engine holds. The file is 0600 from its first byte, and appears whole or not at all.
A path that a consumer names lies in a real directory that belongs to this user and to nobody else, so that nobody can redirect it either;
anything less is refused with code `frame` and nothing is written. A person's own path may lie anywhere.
"""

from __future__ import annotations

import os
import secrets
import stat

from ...errors import RemoteProtocolError


def write_private(path: str, data: bytes | memoryview) -> None:
    """Replace the file at `path` by `data`. Raises RemoteProtocolError (code `frame`): no such or no private directory, a path that is
    a symlink or no regular file, or any failure of the file system; the old file is then still there.
    """
    parent, slash, name = path.rpartition("/")
    if name in ("", ".", ".."):
        raise _refused(f"{path!r} names no file")
    try:
        directory = os.open(parent or slash or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _refused(f"the directory of {path!r} cannot be opened as a real directory: {error}") from None
    try:
        _check_private(path, os.fstat(directory))
        _check_target(path, name, directory)
        _write_and_rename(name, directory, data)
    except (OSError, ValueError) as error:
        raise _refused(f"{path!r} cannot be written: {error}") from None
    finally:
        os.close(directory)


def write_owned(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Replace the file at `path`, or the symlink, by `data` that only its owner may read. Raises OSError; the old file then stays."""
    parent, name = os.path.split(os.fspath(path))
    directory = os.open(parent or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _write_and_rename(name, directory, data)
    finally:
        os.close(directory)


def _check_private(path: str, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise _refused(f"the directory of {path!r} belongs to user {found.st_uid}, not to this engine's")
    if found.st_mode & 0o077:
        raise _refused(f"the directory of {path!r} is open to others (mode {stat.S_IMODE(found.st_mode):04o}); make it 0700")


def _check_target(path: str, name: str, directory: int) -> None:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise _refused(f"{path!r} is a symlink or no regular file")


def _write_and_rename(name: str, directory: int, data: bytes | memoryview) -> None:
    temporary = f".triptych-{secrets.token_hex(8)}"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        try:
            rest = memoryview(data).cast("B")
            while rest:
                rest = rest[os.write(file, rest) :]
        finally:
            os.close(file)
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(temporary, dir_fd=directory)
        raise


def _refused(detail: str) -> RemoteProtocolError:
    return RemoteProtocolError("frame", detail, "path")
