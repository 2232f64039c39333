"""The `triptych-desklink` script: the subcommands and exit codes of the original engine, for consumers that start `<engine> serve`.

Deliberately without a command-line library: a consumer that pre-checks with `version` should get its answer at once.
"""

from __future__ import annotations

import sys

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
    match name:
        case "serve":
            from ..adapters.desklink.serve import serve
            from .logs import to_stderr

            to_stderr()
            return serve()
        case "keep":
            return _keep(rest)
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


def _keep(arguments: list[str]) -> int:
    if arguments in (["--help"], ["-h"]):
        sys.stdout.write("usage: triptych-desklink keep --display :N\n")
        return 0
    from ..adapters.desklink.keeper import run_keeper

    match arguments:
        case ["--display", display, *_]:
            return run_keeper(display, "fill", sys.stdout.buffer)
        case _:
            return run_keeper(None, "fill", sys.stdout.buffer)
