"""The groups of commands that find the right one: each command has its own module, imported when it is called. engine/cli.py makes one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows its commands' help lines without importing their modules: `--help` answers at once.

    `table`: command → (module, relative to `package`; attribute; help line), in the order that help shows.
    """

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str, str]], package: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._table = table
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command name, in the order of the table."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, imported now."""
        if cmd_name not in self._table:
            return None
        module, attribute, _ = self._table[cmd_name]
        command = getattr(import_module(f".{module}", self._package), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in self._table.items()])
