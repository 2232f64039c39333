"""`triptych activity today`, `episodes` and `search`: what was worked on. They only read, and hold no host up."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import data_option, day_option, json_lines_option, json_option, since_option, until_option

if TYPE_CHECKING:
    from ...adapters.collector.stored import Found, StoredEpisode
    from .day import Arranged
    from .timeline import Line


@click.command("today")
@data_option
@day_option
@json_option
def today_command(data_dir: Path, day: date, as_json: bool) -> None:
    """Show the episodes of a day as a timeline, with a bar and the total time of each workspace.

    An episode without a workspace counts for its application. In the end: what was refused, and why.
    """
    from .day import arrange
    from .options import day_span
    from .spelling import print_json
    from .status import look

    start_ms, end_ms = day_span(day)
    episodes, status = _episodes(data_dir, start_ms, end_ms), look(data_dir)
    arranged = arrange(episodes, start_ms, end_ms)
    if as_json:
        print_json(_day_value(day, arranged, episodes, status))
    else:
        _print_day(day, arranged, status)


@click.command("episodes")
@data_option
@since_option
@until_option
@click.option("--workspace", help="Only those of the workspace with this id.")
@json_lines_option
def episodes_command(data_dir: Path, since: int | None, until: int | None, workspace: str | None, as_json: bool) -> None:
    """List the episodes, oldest first, with their ids; without a time, all that are kept."""
    from .export import episode_value
    from .spelling import print_json_line

    found = _episodes(data_dir, since or 0, _until(until), workspace)
    for episode in found:
        if as_json:
            print_json_line(episode_value(episode))
        else:
            click.echo("\n".join(_episode_lines(episode)))
    if not found:
        click.echo("no episode" + (f" is recorded in {data_dir}" if since is None and until is None else " in that time"), err=True)


@click.command("search")
@data_option
@click.argument("text")
@since_option
@until_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The most to show.")
@json_lines_option
def search_command(data_dir: Path, text: str, since: int | None, until: int | None, limit: int, as_json: bool) -> None:
    """Find TEXT, in any case, in window titles, file names, addresses and workspaces; newest first.

    Exit code 1 when nothing was found.
    """
    from ...adapters.collector.store import Store
    from .spelling import print_json_line

    store = Store.reading(data_dir)
    found: list[Found] = []
    if store is not None:
        with store:
            found = store.search(text, since_ms=since, until_ms=until, limit=limit)
    for row in found:
        if as_json:
            print_json_line(row)
        else:
            click.echo(_found_line(row))
    if not found:
        click.echo(f"nothing about {text!r} is recorded in {data_dir}", err=True)
        raise click.exceptions.Exit(1)


def _episodes(data_dir: Path, start_ms: int, end_ms: int, workspace: str | None = None) -> list[StoredEpisode]:
    from ...adapters.collector.store import Store

    store = Store.reading(data_dir)
    if store is None:
        return []
    with store:
        return store.episodes(start_ms, end_ms, workspace=workspace)


def _until(until: int | None) -> int:
    return 2**53 - 1 if until is None else until


def _print_day(day: date, arranged: Arranged, status: dict[str, Any]) -> None:
    import shutil
    import sys

    from ...machines.collector.durations import duration_text
    from .timeline import Span, day_lines, glyphs_for, plain

    width = shutil.get_terminal_size().columns
    glyphs = glyphs_for(sys.stdout.encoding)
    heading = f"{day:%A} {day.day} {day:%B %Y}"
    lines: list[Line]
    if arranged.entries:
        count = len(arranged.entries)
        told = f"{duration_text(arranged.total_ms)} in {count} episode{'' if count == 1 else 's'}"
        lines = [(Span(heading, "bold"), Span(f"  {told}")), (), *day_lines(arranged, width, glyphs)]
    else:
        lines = [(Span(heading, "bold"), Span("  nothing is recorded")), (Span(_why_nothing(status)),)]
    lines += [(), (Span(_refused(status), "dim"),)]
    if not _print_rich(lines, width):
        click.echo(plain(lines))


def _print_rich(lines: list[Line], width: int) -> bool:
    """Print in colour, where a person looks and rich is there."""
    import sys
    from importlib.util import find_spec

    if not sys.stdout.isatty() or find_spec("rich") is None:
        return False
    from rich.console import Console

    from .timeline import styled

    Console(width=width, highlight=False).print(styled(lines))
    return True


def _why_nothing(status: dict[str, Any]) -> str:
    """The next command for somebody whose day is empty."""
    if not status["policy"]["allowed"]:
        return "no application is allowed yet; see what is open: triptych activity policy allow"
    if not status["owned"]:
        return "no host runs: triptych activity start --detach"
    return "what keeps it empty: triptych activity doctor"


def _refused(status: dict[str, Any]) -> str:
    from .reasons import refused_line

    if status["health"] is None:
        why = "the host that records takes no commands" if status["owned"] else "no host runs"
        return f"refused: not known, since {why} (it counts while it runs, and keeps nothing of what it refuses)"
    return f"refused since the host started: {refused_line(status['health']['refusals']['byReason'])}"


def _day_value(day: date, arranged: Arranged, episodes: list[StoredEpisode], status: dict[str, Any]) -> dict[str, Any]:
    from .export import episode_value

    lanes = [
        {"label": lane.label, "isWorkspace": lane.is_workspace, "totalMs": lane.total_ms, "episodes": lane.episodes}
        for lane in arranged.lanes
    ]
    health = status["health"]
    return {
        "date": day.isoformat(),
        "startMs": arranged.start_ms,
        "endMs": arranged.end_ms,
        "totalMs": arranged.total_ms,
        "lanes": lanes,
        "episodes": [episode_value(episode) for episode in episodes],
        "refused": None if health is None else health["refusals"],
        "capture": "stopped" if health is None else health["capture"],
    }


def _episode_lines(episode: StoredEpisode) -> list[str]:
    from datetime import datetime

    from ...machines.collector.durations import duration_text
    from .day import apps_of, things_of, workspace_label
    from .timeline import clock, listed, printable

    began = datetime.fromtimestamp(episode.started_at_ms / 1000)
    span = f"{began:%Y-%m-%d %H:%M}–{clock(episode.ended_at_ms)}"
    what = ": ".join(part for part in (workspace_label(episode), listed(apps_of(episode))) if part)
    lines = [f"{span}  {duration_text(episode.duration_ms).ljust(18)}  {what}"]
    if things := things_of(episode):
        lines.append(f"    {listed(things, 6)}")
    lines.append(f"    {episode.id}")
    return [printable(line) for line in lines]


def _found_line(row: Found) -> str:
    from datetime import datetime

    from .day import app_shown
    from .timeline import printable

    last = datetime.fromtimestamp(row.last_seen_at_ms / 1000).strftime("%Y-%m-%d %H:%M")
    parts = [last, row.kind.ljust(9), row.text, app_shown(row.app_name, row.bundle_id) if row.bundle_id else "", _times(row.count)]
    return "  ".join(printable(part) for part in parts if part)


def _times(count: int) -> str:
    """How many observations have it; none is left of what only an episode still tells of."""
    return f"{count} times" if count > 1 else "once" if count else ""
