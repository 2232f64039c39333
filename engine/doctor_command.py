"""`triptych doctor`: what each panel can do on this machine, printed for a person or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from .doctor import Finding

MARKS = {"ok": ("ok", "green"), "limited": ("--", "yellow"), "missing": ("no", "red")}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor_command(as_json: bool) -> None:
    """Say for each panel what this machine can do, what is missing, and the command that mends it.

    Exit code 0 when every panel can work, 1 when one cannot.
    """
    from . import doctor

    findings = doctor.examine()
    show(findings, as_json)
    if any(finding.status == "missing" for finding in findings):
        sys.exit(1)


def show(findings: Sequence[Finding], as_json: bool) -> None:
    """Print findings, panel by panel, or as one JSON object."""
    if as_json:
        healthy = all(finding.status != "missing" for finding in findings)
        click.echo(json.dumps({"healthy": healthy, "findings": [finding.as_dict() for finding in findings]}, indent=2))
        return
    for panel in dict.fromkeys(finding.panel for finding in findings):
        click.secho(panel, bold=True)
        for finding in findings:
            if finding.panel == panel:
                mark, colour = MARKS[finding.status]
                click.echo(f"  {click.style(mark, fg=colour)}  {finding.what}: {finding.detail}")
                if finding.remedy:
                    click.echo(f"      → {finding.remedy}")
