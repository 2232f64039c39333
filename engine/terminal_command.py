"""`triptych terminal`: run a terminal program and show what a person, and an assistive tool, would see of it. engine/cli.py adds it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from .terminal import Terminal

#: Seconds without output after which a program is taken to have drawn what it has to draw.
QUIET = 0.2


@click.group("terminal")
def terminal_command() -> None:
    """See and drive terminal programs (termwright/3)."""


def _size(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, int]:
    columns, cross, rows = value.lower().partition("x")
    if not (cross and columns.isascii() and columns.isdigit() and rows.isascii() and rows.isdigit()):
        raise click.BadParameter("write columns x rows, such as 100x30")
    if not (1 <= int(columns) <= 1000 and 1 <= int(rows) <= 1000):
        raise click.BadParameter("from 1x1 to 1000x1000 cells")
    return int(columns), int(rows)


@terminal_command.command("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: revision, tree, screen, exit_status, diagnostics.")
@click.option("--keys", default="", help="Keys to press once the program is quiet, separated by spaces: 'tab tab enter'.")
@click.option("--type", "text", default="", help="Text to type after the keys.")
@click.option("--size", default="80x24", callback=_size, help="Columns x rows of the terminal.")
@click.option("--tree-timeout", default=5.0, show_default=True, help="Seconds that the program has to connect its adapter.")
@click.option("--timeout", default=10.0, show_default=True, help="Seconds to wait for the first tree, and for silence.")
@click.argument("program", nargs=-1, required=True)
def run(as_json: bool, keys: str, text: str, size: tuple[int, int], tree_timeout: float, timeout: float, program: tuple[str, ...]) -> None:
    """Run PROGRAM, wait until it is quiet, press keys, and print its semantic tree, or its screen when it has none; then end it.

    Write -- before the program:
    triptych terminal run --keys "tab enter" -- python -m termwright_probe -- python app.py
    """
    import asyncio

    show = _as_json if as_json else _as_text
    click.echo(asyncio.run(_run(program, keys.split(), text, size, tree_timeout, timeout, show)))


async def _run(
    program: tuple[str, ...],
    keys: list[str],
    text: str,
    size: tuple[int, int],
    tree_timeout: float,
    timeout: float,
    show: Callable[[Terminal], str],
) -> str:
    from ..errors import Unavailable
    from . import terminal

    columns, rows = size
    async with terminal.launch(program, columns=columns, rows=rows, ready_timeout=tree_timeout) as app:
        # Without an adapter there is no tree, and the screen is shown instead.
        with suppress(Unavailable):
            await app.wait_for_revision(timeout=timeout)
        await _quiet(app, timeout)
        for key in keys:
            await app.press(key)
            await _quiet(app, timeout)
        if text:
            await app.type(text)
            await _quiet(app, timeout)
        return show(app)


async def _quiet(app: Terminal, timeout: float) -> None:
    """Let the program draw. One that never stops drawing is looked at when the time is over."""
    from ..errors import WaitTimeout

    with suppress(WaitTimeout):
        await app.wait_quiet(QUIET, timeout=timeout)


def _as_text(app: Terminal) -> str:
    from .terminal import format_tree

    if app.tree is None:
        return app.screen.text
    return format_tree(app.tree)


def _as_json(app: Terminal) -> str:
    import msgspec

    told: dict[str, Any] = {
        "revision": app.revision,
        "tree": app.tree,
        "screen": app.screen.text,
        "exit_status": app.exit_status,
        "diagnostics": [{"at": note.at, "code": note.code, "detail": note.detail} for note in app.diagnostics],
    }
    return msgspec.json.encode(told).decode()
