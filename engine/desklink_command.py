"""The `triptych-desklink` script: the subcommands and exit codes of the original engine, for consumers that start `<engine> serve`.

Deliberately without a command-line library: a consumer that pre-checks with `version` should get its answer at once. `serve` and `keep`
are what `triptych desktop` runs too.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..errors import TriptychError, Unavailable

if TYPE_CHECKING:
    from ..machines.desklink.kiosk import Dialogs

HELP = """triptych-desklink: see and drive a desktop over a private channel

usage: triptych-desklink COMMAND

  serve                the engine on stdin and stdout, one JSON object a line
  keep --display :N    keep the windows of a private X screen in order and report them
  capabilities         print what this machine can do, as JSON
  version              print the version
  help                 print this
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; the console script exits with what it returns."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["help"]
    if rest in (["--help"], ["-h"]) and name in ("serve", "keep", "capabilities", "version"):
        sys.stdout.write(f"usage: triptych-desklink {name}{' --display :N' * (name == 'keep')}\n")
        return 0
    try:
        return _run(name, rest)
    except TriptychError as error:
        sys.stderr.write(f"triptych-desklink: {error}\n")
        return 1


def serve(log_level: str = "warning") -> int:
    """The engine on the standard streams, until stdin ends; the exit code. Raises Unavailable."""
    from .extras import need
    from .logs import to_stderr

    need("desktop", "numpy")
    to_stderr(log_level)
    from ..adapters.desklink.serve import serve as serve_on_stdio

    return serve_on_stdio()


def keep(display: str | None, dialogs: Dialogs) -> int:
    """The display keeper, with its reports on stdout, until the display goes away; the exit code. A refusal is one line on stdout."""
    from .extras import need

    try:
        need("desktop", "xcffib")
    except Unavailable as error:
        import json

        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        return 1
    from ..adapters.desklink.keeper import run_keeper

    return run_keeper(display, dialogs, sys.stdout.buffer)


def _run(name: str, rest: list[str]) -> int:
    match name:
        case "serve":
            return serve()
        case "keep":
            return keep(rest[1] if rest[:1] == ["--display"] and len(rest) > 1 else None, "fill")
        case "capabilities":
            from .desktop_command import pretty
            from .desktop_sync import capabilities

            sys.stdout.write(pretty(capabilities()) + "\n")
            return 0
        case "version" | "--version" | "-V":
            from .. import __version__

            sys.stdout.write(__version__ + "\n")
            return 0
        case "help" | "--help" | "-h":
            sys.stdout.write(HELP)
            return 0
        case _:
            sys.stderr.write(f"unknown command: {name}\n")
            sys.stdout.write(HELP)
            return 2
