"""`triptych desktop`: the engine on stdio, the display keeper, and a few answers for a person. engine/cli.py adds it."""

from __future__ import annotations

import sys
from typing import Any, Literal

import click

from .desktop_agent.commands import COMMANDS, home


@click.group("desktop", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Without a command: print the state as one JSON object.")
@click.pass_context
def desktop_command(context: click.Context, as_json: bool) -> None:
    """See and drive a desktop (desklink v3). Without a command: the session of this display, and its windows."""
    if context.invoked_subcommand is None:
        home(as_json)
    elif as_json:
        raise click.UsageError("--json belongs behind the command")


for _command in COMMANDS:
    desktop_command.add_command(_command)


@desktop_command.command("serve")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="warning", show_default=True)
def serve_command(log_level: str) -> None:
    """Serve the desklink protocol on stdin and stdout, one JSON object a line, until stdin ends."""
    from .desklink_command import serve

    sys.exit(serve(log_level))


@desktop_command.command("keep")
@click.option("--display", metavar=":N", help="The X screen to keep; it must not have a window manager.")
@click.option(
    "--dialogs",
    type=click.Choice(["fill", "natural"]),
    default="fill",
    show_default=True,
    help="Fill the screen with dialogs too, or leave them their own size, centred.",
)
def keep_command(display: str | None, dialogs: Literal["fill", "natural"]) -> None:
    """Keep the windows of a private X screen in order and report them, one JSON line for each change."""
    from .desklink_command import keep

    sys.exit(keep(display, dialogs))


@desktop_command.command("bridge")
@click.option(
    "--listen", metavar="HOST:PORT", default="127.0.0.1:19400", show_default=True, help="Where; a bare number is a port of 127.0.0.1."
)
@click.option("--token", help="What a browser must bring; random when left out. Others on this machine see a command line.")
@click.option(
    "--source", "kind", type=click.Choice(["x11", "portal", "display"]), envvar="MUXR_DESKTOP_SOURCE", default="x11", show_default=True
)
@click.option("--display", metavar=":N", envvar="MUXR_DESKTOP_X11_DISPLAY", help="The X display; the environment's by default.")
@click.option("--display-id", type=click.IntRange(0, 2**32 - 1), envvar="MUXR_DESKTOP_DISPLAY_ID", help="The display of a Mac.")
@click.option(
    "--host", "hosts", multiple=True, metavar="NAME", help="A name under which browsers reach it, such as a proxy's. May be repeated."
)
def bridge_command(listen: str, **options: Any) -> None:
    """Show a desktop live in a browser, at the address that is printed, until Ctrl-C."""
    from .desktop_bridge import listen_address, run

    try:
        host, port = listen_address(listen)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from None
    # `--host` adds names; where it listens is `--listen`'s.
    run({**options, "host": host, "port": port})


@desktop_command.command("capabilities")
def capabilities_command() -> None:
    """Print what this machine can do, as JSON. Prompts nobody."""
    from .desktop_sync import capabilities

    click.echo(pretty(capabilities()))


@desktop_command.command("screenshot")
@click.option("--display", metavar=":N", help="The X display; the environment's by default.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object about the picture.")
@click.argument("path", type=click.Path(dir_okay=False))
def screenshot_command(display: str | None, as_json: bool, path: str) -> None:
    """Write the present picture of an X display to PATH as PNG, or to stdout for `-`."""
    from . import desktop_sync, picture_pipe
    from .extras import need

    need("desktop", "numpy", "PIL")
    piped = picture_pipe.check(path, as_json)
    with desktop_sync.open(display) as session:
        frame = session.frame()
    if piped:
        picture_pipe.write(frame.png())
        return
    frame.save_png(path)
    told = {"path": path, "width": frame.width, "height": frame.height}
    click.echo(pretty(told) if as_json else f"{path}: {frame.width}x{frame.height}")


def pretty(value: dict[str, Any]) -> str:
    """A JSON object for a person."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
