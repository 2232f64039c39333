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

  serve                              the engine on stdin and stdout, one JSON object a line
  keep --display :N                  keep the windows of a private X screen in order and report them
  capabilities                       print what this machine can do, as JSON
  capture-probe [seconds] [display]  look at an X display for a while and print what was seen, as JSON
  setup-input                        print how a session of the desktop portal gets its input devices
  version                            print the version
  help                               print this
"""
USAGE = {line.split()[0]: line[2:36].strip() for line in HELP.splitlines() if line.startswith("  ")}
PROBE_SECONDS = 3.0


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; the console script exits with what it returns."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["help"]
    if rest in (["--help"], ["-h"]) and name in USAGE:
        sys.stdout.write(f"usage: triptych-desklink {USAGE[name]}\n")
        return 0
    try:
        return _run(name, rest)
    except TriptychError as error:
        sys.stderr.write(f"triptych-desklink: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def serve(log_level: str = "warning") -> int:
    """The engine on the standard streams, until stdin ends; the exit code. Raises Unavailable."""
    from .extras import need
    from .logs import to_stderr

    need("desktop", "numpy", "xcffib")
    to_stderr(log_level)
    from ..adapters.desklink.serve import serve as serve_on_stdio

    if code := serve_on_stdio():
        sys.stderr.write("error: the engine failed; what broke it stands above\n")
    return code


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
            return keep(_display(rest), "fill")
        case "capabilities":
            from .desktop_command import pretty
            from .desktop_sync import capabilities

            sys.stdout.write(pretty(capabilities()) + "\n")
            return 0
        case "capture-probe":
            return _probe_capture(rest)
        case "setup-input":
            from .uinput_setup import instructions

            sys.stdout.write(instructions())
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


def _display(options: list[str]) -> str | None:
    """The value of `--display :N` or `--display=:N`: versions of the original differ about the second, and nobody is hurt by it."""
    match options:
        case ["--display", value, *_]:
            return value
        case [option, *_] if option.startswith("--display="):
            return option.partition("=")[2]
        case _:
            return None


def _probe_capture(rest: list[str]) -> int:
    from .desktop_command import pretty
    from .extras import need

    need("desktop", "xcffib")
    seconds, display = PROBE_SECONDS, None
    for word in rest[:2]:
        if word.replace(".", "", 1).isdigit():
            seconds = float(word)
        else:
            display = word
    from ..adapters.desklink.capture_probe import capture_probe

    sys.stdout.write(pretty(capture_probe(seconds, display)) + "\n")
    return 0
