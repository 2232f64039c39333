"""`triptych activity record`, `show` and `collect`: observations as they come, as they were stored, and the collector itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import TriptychError, Unavailable
from ..extras import need
from .options import data_option, enable_option, finite, json_lines_option, liveness_option, table_option

if TYPE_CHECKING:
    from ..activity import StoredObservation


@click.command("collect")
@enable_option
@click.option(
    "--adapter-table",
    "adapter_tables",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A JSON file of more applications; repeatable.",
)
@liveness_option
@click.pass_context
def collect_command(context: click.Context, enable_accessibility: bool, adapter_tables: tuple[Path, ...], liveness_seconds: float) -> None:
    """Be a collector: commands on stdin, messages on stdout. Emits nothing until a host allows applications."""
    import asyncio

    from ...adapters.collector.introduction import refuse

    try:
        need("activity", "dbus_fast", "xcffib")
        from ...adapters.collector.adapter_file import read_adapter_tables
        from ...adapters.collector.collect import CollectorProcess

        process = CollectorProcess(
            table=read_adapter_tables(adapter_tables), enable_accessibility=enable_accessibility, liveness_seconds=liveness_seconds
        )
    except TriptychError as error:  # the host reads it, and does not start the collector again
        refuse(error)
        raise
    context.exit(asyncio.run(process.run()))


@click.command("record")
@data_option
@click.option("--allow", multiple=True, metavar="ID", help="An application to record, such as org.gnome.TextEditor.desktop; repeatable.")
@click.option("--for", "seconds", type=click.FloatRange(min=0), callback=finite, help="Stop after so many seconds instead of at Ctrl-C.")
@enable_option
@table_option
@liveness_option
@json_lines_option
def record_command(
    data_dir: Path,
    allow: tuple[str, ...],
    seconds: float | None,
    enable_accessibility: bool,
    adapter_table: Path | None,
    liveness_seconds: float,
    as_json: bool,
) -> None:
    """Record until Ctrl-C, and print each observation as it is stored; without --allow, under the policy that is stored already."""
    import asyncio

    from .. import logs

    logs.to_stderr()
    asyncio.run(_record(data_dir, allow, seconds, enable_accessibility, adapter_table, liveness_seconds, as_json))


@click.command("show")
@data_option
@json_lines_option
def show_command(data_dir: Path, as_json: bool) -> None:
    """Print the recorded observations, oldest first."""
    from ..activity import observations

    rows = observations(data_dir)
    for row in rows:
        _print(row, as_json)
    if not rows:
        click.echo(f"nothing is recorded in {data_dir}", err=True)


async def _record(
    data_dir: Path,
    allow: tuple[str, ...],
    seconds: float | None,
    enable: bool,
    adapter_table: Path | None,
    liveness_seconds: float,
    as_json: bool,
) -> None:
    import asyncio

    from .. import activity
    from . import service
    from .reasons import refused_line

    ended = asyncio.Event()
    async with activity.record(
        data_dir, allow=allow or None, adapter_table=adapter_table, enable_accessibility=enable, liveness_seconds=liveness_seconds
    ) as recording:
        with service.ended_by_signals(ended):
            await service.require_bus()
            if seconds is not None:
                asyncio.get_running_loop().call_later(seconds, ended.set)
            last, said = recording.last_id, ""

            def changed() -> None:
                nonlocal last, said
                for row in recording.observations(after_id=last):
                    last = row.id
                    _print(row, as_json)
                health, word = recording.health, service.last_line(recording.collector_stderr)
                if recording.failed:
                    raise Unavailable(
                        f"the collector was given up: {health.reason}{f': {word}' if word else ''}", "see triptych activity doctor"
                    )
                if (state := service.state_line(health, word if health.reason == "collector-exited" else "")) != said:
                    said = state
                    click.echo(state, err=True)

            async with service.controlled(recording, ended):
                await service.watch(recording, ended, changed)
        refused = recording.health.refusals
    click.echo(f"refused: {refused_line(refused.by_reason)}", err=True)


def _print(row: StoredObservation, as_json: bool) -> None:
    from .spelling import print_json_line

    if as_json:
        print_json_line(row)
    else:
        click.echo(_line(row))


def _line(row: StoredObservation) -> str:
    from datetime import datetime

    from .day import app_shown
    from .timeline import printable

    at = datetime.fromtimestamp(row.observed_at_ms / 1000).strftime("%Y-%m-%d %H:%M:%S")
    what = row.resource[2] if row.resource else row.title
    parts = (at, row.surface_kind.ljust(8), app_shown(row.app_name, row.bundle_id), what, row.role and f"({row.role})")
    return "  ".join(printable(part) for part in parts if part)
