"""`triptych activity doctor`: why the record is empty, and the command that mends it."""

from __future__ import annotations

from pathlib import Path

import click

from .options import data_option, json_option


@click.command("doctor")
@data_option
@json_option
def doctor_command(data_dir: Path, as_json: bool) -> None:
    """Explain an empty record: look at packages, disk, session, host, collector, policy and companions, each with what mends it.

    Exit code 0 when it records, 1 when something must be done first.
    """
    from ..doctor_command import show
    from . import doctor

    findings = doctor.examine(data_dir)
    show(findings, as_json)
    if any(finding.status == "missing" for finding in findings):
        raise click.exceptions.Exit(1)
