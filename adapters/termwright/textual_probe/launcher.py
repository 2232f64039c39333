"""Starts a program under the Textual probe: in place of this process, in the same terminal, with the same signals and exit status.

`python -m triptych.adapters.termwright.textual_probe` and `triptych terminal probe` call it. Without a driver's endpoint and token in the
environment it starts the program exactly as it was written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from ..client import Endpoint

STARTUP = str(Path(__file__).parent / "startup")
#: What shells answer for a program that is not there, and for one that cannot be run.
NOT_FOUND, NOT_RUNNABLE = 127, 126


def probed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which the first Python interpreter becomes the adapter; unchanged when nobody drives."""
    changed = dict(environment)
    if Endpoint.of(environment) is not None:
        given = environment.get("PYTHONPATH")
        changed["PYTHONPATH"] = STARTUP if not given else f"{STARTUP}{os.pathsep}{given}"
    return changed


def run(program: Sequence[str]) -> NoReturn:
    """Become `program` (a name on PATH or a path, then its arguments), under the probe when a driver started this process."""
    try:
        os.execvpe(program[0], list(program), probed_environment(os.environ))
    except FileNotFoundError:
        sys.stderr.write(f"there is no program {program[0]!r} to run\n")
        raise SystemExit(NOT_FOUND) from None
    except OSError as cause:
        sys.stderr.write(f"{program[0]!r} cannot be started: {cause.strerror}\n")
        raise SystemExit(NOT_RUNNABLE) from None


def main(arguments: Sequence[str]) -> NoReturn:
    """Run what stands after `--` (which may be left out)."""
    program = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not program:
        sys.stderr.write("usage: python -m triptych.adapters.termwright.textual_probe -- PROGRAM [ARGUMENT...]\n")
        raise SystemExit(2)
    run(program)
