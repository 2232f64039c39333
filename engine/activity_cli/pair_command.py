"""`triptych activity pair`: gives a browser or an editor its token, shows it once, and says what to do with it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import data_option, json_option

if TYPE_CHECKING:
    from ...machines.collector.pairing import CompanionKind


@click.command("pair")
@click.argument("kind", type=click.Choice(["browser", "editor"]))
@data_option
@click.option("--port", type=click.IntRange(1, 65535), help="The port of the companion intake; by default that of the host that runs.")
@click.option("--forget", is_flag=True, help="End the pairing instead: nothing more is taken from companions of this kind.")
@json_option
def pair_command(kind: CompanionKind, data_dir: Path, port: int | None, forget: bool, as_json: bool) -> None:
    """Pair a browser, or an editor, with the record of this computer.

    Each pairing makes a new token and ends the one before it. Only a digest of the token is kept, so it cannot be shown again.
    """
    from ...adapters.collector import bootstrap
    from ...adapters.collector.pairing import Pairings
    from ...adapters.collector.store import Store

    chosen = port or _intake_port(data_dir)
    now_ms, folder = time.time_ns() // 1_000_000, bootstrap.companions_dir()
    with Store(data_dir, now_ms) as store:
        if kind == "editor":
            bootstrap.remove_bootstrap(folder)  # its token is worth nothing in a moment
        if forget:
            Pairings(store).forget(kind, now_ms)
        else:
            package = bootstrap.write_editor_package(folder) if kind == "editor" else None
            token = Pairings(store).rotate(kind, now_ms)
    if forget:
        click.echo(json.dumps({"kind": kind, "paired": False}) if as_json else f"Nothing more is taken from the {kind} companion.")
    elif package is None:
        said: dict[str, Any] = {"kind": kind, "token": token, "port": chosen, "extension": str(bootstrap.BROWSER)}
        click.echo(json.dumps(said) if as_json else _browser(**said))
    else:
        left = bootstrap.write_bootstrap(token, chosen, now_ms, folder)
        said = {"kind": kind, "token": token, "port": chosen, "extension": str(bootstrap.EDITOR), "package": str(package)}
        said |= {"bootstrap": str(left.path), "validUntilMs": left.valid_until_ms}
        click.echo(json.dumps(said) if as_json else _editor(**said))


def _intake_port(data_dir: Path) -> int:
    """The port on which the host of this directory listens, or would."""
    from ...adapters.collector.control_socket import ask
    from ...errors import TriptychError
    from ...generated.collector.vocabulary import DEFAULT_INTAKE_PORT

    try:
        companion = ask(data_dir, "status", 2.0)["health"]["companion"]
    except (TriptychError, KeyError, TypeError):
        return DEFAULT_INTAKE_PORT
    return (companion or {}).get("port") or DEFAULT_INTAKE_PORT


def _browser(*, token: str, port: int, extension: str, **_: object) -> str:
    return f"""The browser's token, shown this once:

    {token}

1. Load the extension. Chromium, Chrome, Edge, Brave: open chrome://extensions, switch on "Developer mode", choose "Load unpacked", and
   give it this folder (Firefox: about:debugging, "This Firefox", "Load Temporary Add-on", its manifest.json):

    {extension}

2. Open the extension's settings (the Triptych button, "Settings"), paste the token, set the port to {port}, and choose "Save and test".
3. Let pages into the record:  triptych activity policy allow companion.browser
"""


def _editor(*, token: str, port: int, package: str, bootstrap: str, **_: object) -> str:
    return f"""The editor's pairing is left for it in {bootstrap}, valid for five minutes.

1. Install the extension (Cursor, VSCodium, Windsurf: the same option of their own command):

    code --install-extension {package}

2. Open a folder in the editor. It takes the pairing, and its status bar says what it does. If it does not within the five minutes, run
   "Triptych: Pair" in the editor; the port is {port}, and the token, shown this once, is

    {token}

3. Let its files into the record:  triptych activity policy allow com.microsoft.VSCode
"""
