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
@click.option("--keep", is_flag=True, help="Stay, with everything running, until Ctrl-C.")
def demo_command(out: Path, keep: bool) -> None:
    """Show the three panels at work: two programs on a private display and in a private terminal, seen and driven."""
    import asyncio

    from .extras import need

    need("all", "PIL", "dbus_fast", "numpy", "pyghostty", "rich", "xcffib")

    from . import logs
    from .demo.show import play

    logs.to_stderr("error")
    try:
        asyncio.run(play(out, keep))
    except asyncio.CancelledError:
        raise click.Abort from None
