"""The `triptych` command: it finds the right sub-command and turns errors into one line and an exit code. Each panel has its own module.

Exit codes: 0 done, 1 failed, 2 wrong usage. stdout carries the answer or the protocol and nothing else; messages go to stderr.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from .. import __version__
from ..errors import ProtocolError, TriptychError

#: command → (module beside this one, attribute, help line). The modules are imported only when their command runs.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "terminal": ("terminal_command", "terminal_command", "See and drive a program in a terminal (termwright/3)."),
    "desktop": ("desktop_command", "desktop_command", "See and drive a desktop (desklink v3)."),
    "activity": ("activity_command", "activity_command", "Keep a private record of where a person works (collector protocol)."),
    "demo": ("demo_command", "demo_command", "Show the three panels at work on a private display."),
    "schema": ("schema_command", "schema_command", "Print a message's schema, or explain every fault of a document."),
    "machines": ("machines_command", "machines_command", "Print a lifecycle as a diagram or a table."),
    "doctor": ("doctor_command", "doctor_command", "Say what this machine can do, what is missing and what mends it."),
    "version": ("cli", "version_command", "Print the version."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' help lines without importing their modules: `--help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command name, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: Any = getattr(import_module(f".{module}", __package__), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
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

    click.echo(json.dumps({"triptych": __version__, "termwright": 3, "collector": 1, "desklink": 3}))


def main() -> NoReturn:
    """Entry point of the script: run the command, and end with one clear line when it cannot be done."""
    try:
        code = triptych.main(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("triptych: interrupted", err=True)
        code = 1
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ProtocolError as error:
        click.echo(f"triptych: [{error.code}] {error.path + ': ' if error.path else ''}{error.detail}", err=True)
        code = 1
    except TriptychError as error:
        click.echo(f"triptych: {error}", err=True)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
