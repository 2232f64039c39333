"""`triptych demo`: what `make run` plays. It refuses with one line what it cannot do, and leaves nothing running however it is ended."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("demo")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("triptych-demo"),
    show_default=True,
    help="Where the picture and the record go.",
)
@click.option(
    "--keep/--no-keep",
    default=None,
    help="Stay until Ctrl-C, with everything running and the desktop live in a browser. On a terminal this is the default.",
)
def demo_command(out: Path, keep: bool | None) -> None:
    """Show the three panels at work: two programs on a private display and in a private terminal, seen and driven."""
    import asyncio
    import sys

    from .extras import need

    need("all", "PIL", "aiohttp", "dbus_fast", "numpy", "pyghostty", "rich", "xcffib")

    from . import logs
    from .demo.show import play

    logs.to_stderr("error")
    try:
        asyncio.run(play(out, sys.stdout.isatty() if keep is None else keep))
    except asyncio.CancelledError:
        raise click.Abort from None
