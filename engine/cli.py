"""The `triptych` command: it finds the right sub-command and turns errors into one line and an exit code. Each panel has its own module.

Exit codes: 0 done, 1 failed, 2 wrong usage. stdout carries the answer or the protocol and nothing else; messages go to stderr.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

import click

from .. import __version__
from ..errors import ProtocolError, TriptychError
from .lazy_group import LazyGroup

#: command → (module beside this one, attribute, help line). The modules are imported only when their command runs.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "terminal": ("terminal_command", "terminal_command", "See and drive a program in a terminal (termwright/3)."),
    "desktop": ("desktop_command", "desktop_command", "See and drive a desktop (desklink v3)."),
    "activity": ("activity_cli.group", "activity_command", "Keep a private record of where a person works (collector protocol)."),
    "demo": ("demo_command", "demo_command", "Show the three panels at work on a private display."),
    "conformance": ("conformance_command", "conformance_command", "Check an adapter, in any language, against its protocol."),
    "schema": ("schema_command", "schema_command", "Print a message's schema, or explain every fault of a document."),
    "machines": ("machines_command", "machines_command", "Print a lifecycle as a diagram or a table."),
    "doctor": ("doctor_command", "doctor_command", "Say what this machine can do, what is missing and what mends it."),
    "version": ("cli", "version_command", "Print the version."),
}


@click.group(cls=LazyGroup, table=COMMANDS, package=__package__, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def triptych() -> None:
    """See and drive what a person sees: terminals, desktops and activity, through three open wire protocols."""


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with the versions of the protocols too.")
def version_command(as_json: bool) -> None:
    """Print the version."""
    if not as_json:
        click.echo(__version__)
        return
    import json

    from ..generated.collector.vocabulary import PROTOCOL_VERSION as COLLECTOR
    from ..generated.desklink.vocabulary import PROTOCOL_VERSION as DESKLINK
    from ..generated.termwright.vocabulary import PROTOCOL_ID as TERMWRIGHT

    versions = {"termwright": int(TERMWRIGHT.partition("/")[2]), "collector": COLLECTOR, "desklink": DESKLINK}
    click.echo(json.dumps({"triptych": __version__, **versions}))


def main() -> NoReturn:
    """Run the command, and end with one clear line when it cannot be done."""
    try:
        code = triptych.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        code = _failed("interrupted")
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ProtocolError as error:
        code = _failed(f"[{error.code}] {error.path + ': ' if error.path else ''}{error.detail}")
    except TriptychError as error:
        code = _failed(str(error))
    except BrokenPipeError:
        code = _failed("")  # whoever read the answer has gone, and has seen enough
    except (OSError, UnicodeError) as error:
        code = _failed(str(error))
    sys.exit(code if isinstance(code, int) else 0)


def _failed(sentence: str) -> int:
    """Say what is wrong on stderr, where there is one, and drop what stdout cannot take: Python would try it again at the very end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        if sentence:
            # A sentence may quote what another program printed: no control character of it reaches a person's terminal.
            shown = "".join(letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in sentence)
            click.echo(f"triptych: {shown}", err=True)
    with contextlib.suppress(OSError, ValueError, AttributeError):  # the last one where stdout was closed from the start
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
