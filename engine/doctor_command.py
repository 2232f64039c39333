"""`triptych doctor`: what each panel can do on this machine, printed for a person or as JSON."""

from __future__ import annotations

import json
import sys

import click

MARKS = {"ok": ("ok", "green"), "limited": ("--", "yellow"), "missing": ("no", "red")}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor_command(as_json: bool) -> None:
    """Say for each panel what this machine can do, what is missing, and the command that mends it.

    Exit code 0 when every panel can work, 1 when one cannot.
    """
    from . import doctor

    findings = doctor.examine()
    healthy = all(finding.status != "missing" for finding in findings)
    if as_json:
        click.echo(json.dumps({"healthy": healthy, "findings": [finding.as_dict() for finding in findings]}, indent=2))
    else:
        for panel in dict.fromkeys(finding.panel for finding in findings):
            click.secho(panel, bold=True)
            for finding in findings:
                if finding.panel == panel:
                    mark, colour = MARKS[finding.status]
                    click.echo(f"  {click.style(mark, fg=colour)}  {finding.what}: {finding.detail}")
                    if finding.remedy:
                        click.echo(f"      → {finding.remedy}")
    if not healthy:
        sys.exit(1)
