"""What exactly is run when a caller names a program: its path, its arguments, its variables, its directory. The pty asks before it spawns.

Whatever cannot be handed to the kernel is refused here, by code, before anything was made for it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...errors import LocalProtocolError, Unavailable


def resolve(program: Sequence[str], environment: Mapping[str, str], directory: str | None) -> tuple[str, list[str]]:
    """The path to execute, and all arguments with the program's own name first.

    Raises `LocalProtocolError` (`invalid-program`, `invalid-environment`) for what is no program or no variable, `Unavailable` for a
    program or a directory that is not there.
    """
    _check(program, environment)
    if directory is not None and not Path(directory).is_dir():
        raise Unavailable(f"there is no directory {os.fspath(directory)!r} to run a program in", "create it, or name another")
    name = os.fspath(program[0])
    searched = str(Path(directory, name)) if directory is not None and "/" in name else name  # a path counts from where the program runs
    path = shutil.which(searched, path=environment.get("PATH", os.defpath))
    if path is None:
        raise Unavailable(*_missing(name, searched))
    arguments = [os.fspath(part) for part in program]
    if directory is None:
        return path, arguments
    # posix_spawn cannot change the directory; a shell that replaces itself can.
    return "/bin/sh", [
        "sh",
        "-c",
        'cd -- "$1" && shift && exec "$@"',
        "sh",
        os.fspath(directory),
        str(Path(path).absolute()),
        *arguments[1:],
    ]


def _check(program: Sequence[str], environment: Mapping[str, str]) -> None:
    if isinstance(program, str | bytes) or not isinstance(program, Sequence) or not program:
        raise LocalProtocolError("invalid-program", f"a program is a list of its name and its arguments, not {program!r}", "program")
    for place, part in enumerate(program):
        if not _is_text(part):
            raise LocalProtocolError("invalid-program", f"{part!r} is no argument: text without a null character", f"program.{place}")
    for name, value in environment.items():
        if not (_is_text(name) and name and "=" not in name and _is_text(value)):
            raise LocalProtocolError(
                "invalid-environment", f"{name!r}: {value!r} is no variable: a name without =, and text", "environment"
            )


def _is_text(part: object) -> bool:
    if isinstance(part, os.PathLike):
        part = os.fspath(part)
    if not isinstance(part, str) or "\0" in part:
        return False
    try:
        os.fsencode(part)
    except UnicodeEncodeError:  # an unpaired surrogate that stands for no byte
        return False
    return True


def _missing(name: str, searched: str) -> tuple[str, str]:
    path = Path(searched)
    if "/" in name and path.is_dir():
        return f"{name!r} is a directory, and no program to run", "name the program in it"
    if "/" in name and path.exists():
        return f"{name!r} is not executable", f"chmod +x {name}, or run it with its interpreter"
    return f"there is no program {name!r} to run", "give a path, or a name on PATH"
