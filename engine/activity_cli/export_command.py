"""`triptych activity export`: the episodes of a span of time as JSON, CSV, a calendar or a page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .options import data_option, since_option, until_option


@click.command("export")
@data_option
@click.option("--format", "kind", type=click.Choice(["json", "csv", "ics", "html"]), required=True, help="What to write.")
@since_option
@until_option
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), help="The file; without it, stdout.")
def export_command(data_dir: Path, kind: str, since: int | None, until: int | None, output: Path | None) -> None:
    """Write the episodes: all that are kept, or those that touch a span of time. A file is made so that only you can read it (0600).

    html is one page that needs nothing else, with a timeline for each day; ics is for calendars, csv for spreadsheets.
    """
    import time

    from ...adapters.collector.store import Store
    from . import export

    now_ms = time.time_ns() // 1_000_000
    store = Store.reading(data_dir)
    episodes = []
    if store is not None:
        with store:
            episodes = store.episodes(since or 0, 2**53 - 1 if until is None else until)
    match kind:
        case "json":
            text = export.as_json(episodes, now_ms)
        case "csv":
            text = export.as_csv(episodes)
        case "ics":
            text = export.as_ics(episodes, now_ms)
        case _:
            from .export_page import as_html

            text = as_html(episodes, now_ms, since, until)
    if output is None or str(output) == "-":
        if sys.stdout.isatty():  # no title may command the terminal; a file or a pipe gets every character
            from .timeline import printable

            text = "\n".join(map(printable, text.replace("\r\n", "\n").split("\n")))
        click.echo(text.encode("utf-8", "replace"), nl=False)
    else:
        export.write_private(output, text)
        click.echo(f"{len(episodes)} episode{'' if len(episodes) == 1 else 's'} in {output}", err=True)
