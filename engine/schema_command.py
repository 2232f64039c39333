"""`triptych schema`: print a schema, list the messages, or explain every fault of a document."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ..errors import LocalProtocolError
from . import schemas


@click.command("schema")
@click.argument("protocol", type=click.Choice(schemas.PROTOCOLS))
@click.argument("message", required=False)
@click.option("--list", "list_messages", is_flag=True, help="List the messages and types of the protocol, one a line.")
@click.option(
    "--check",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="A JSON document to check as MESSAGE; - reads it.",
)
@click.option("--json", "as_json", is_flag=True, help="With --check: print the faults as JSON.")
def schema_command(protocol: str, message: str | None, list_messages: bool, check: Path | None, as_json: bool) -> None:
    """Print the JSON Schema of MESSAGE (or of the whole PROTOCOL), or explain every fault of a document with --check.

    \b
    triptych schema termwright Hello
    triptych schema desklink --list
    triptych schema collector Observation --check line.json
    """
    if list_messages:
        for name, definition in schemas.definitions(protocol).items():
            click.echo(f"{name:32} {definition.get('description', '')}")
        return
    try:
        asked = schemas.schema(protocol, message)
    except LocalProtocolError as unknown:
        raise click.UsageError(unknown.detail) from None
    if check is None:
        click.echo(json.dumps(asked, indent=2, ensure_ascii=False))
        return
    if message is None:
        raise click.UsageError("--check needs MESSAGE: what the document should be")
    found = schemas.faults(protocol, message, sys.stdin.buffer.read() if str(check) == "-" else check.read_bytes())
    if as_json:
        click.echo(
            json.dumps(
                {"valid": not found, "faults": [{"path": fault.path, "detail": fault.detail} for fault in found]}, ensure_ascii=False
            )
        )
    elif found:
        for fault in found:
            click.echo(f"{fault.path or '(document)'}: {fault.detail}")
    else:
        click.echo(f"{check}: a valid {protocol} {message}")
    if found:
        sys.exit(1)
