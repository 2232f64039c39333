"""A picture on standard output: what `-` means in place of a file's name. The desktop's commands that write a picture call it."""

from __future__ import annotations

import sys

import click

PIPE = "-"


def check(path: str | None, as_json: bool) -> bool:
    """Whether the picture goes to standard output; a file of that name is `./-`.

    Raises click.UsageError when something else goes there, or a terminal would show it.
    """
    if path != PIPE:
        return False
    if as_json:
        raise click.UsageError("standard output takes the picture or the answer: name a file, or leave --json out")
    if sys.stdout.isatty():
        raise click.UsageError("a terminal cannot show the picture: name a file, or send it through a pipe")
    return True


def write(png: bytes) -> None:
    """Write the picture and nothing else."""
    with click.open_file("-", "wb") as stdout:
        stdout.write(png)
