"""`triptych activity delete`: what is deleted is overwritten in the database, and what was made from it is made anew, or goes too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import data_option, json_option, since_option, until_option

if TYPE_CHECKING:
    from ...adapters.collector.store import Store
    from ...adapters.collector.stored import Deleted, StoredEpisode


@click.command("delete")
@data_option
@click.option("--all", "everything", is_flag=True, help="All that is recorded. The policy stays.")
@click.option("--app", "bundle_id", metavar="ID", help="All of one application.")
@click.option("--episode", "episode_id", metavar="ID", help="One episode; `triptych activity episodes` shows their ids.")
@since_option
@until_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete_command(
    data_dir: Path,
    everything: bool,
    bundle_id: str | None,
    episode_id: str | None,
    since: int | None,
    until: int | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete all, an application, an episode, or a span of time. What comes late of it is not recorded either.

    A host that runs goes on recording. Copies that you have exported stay.
    """
    import time

    from ...adapters.collector.store import Store
    from ...adapters.collector.stored import App, Deleted, Everything, OneEpisode, TimeRange
    from .spelling import print_json_line

    span = since is not None or until is not None
    if sum((everything, bundle_id is not None, episode_id is not None, span)) != 1:
        raise click.UsageError("say what: one of --all, --app ID, --episode ID, or --since and --until")
    now_ms = time.time_ns() // 1_000_000
    looking = Store.reading(data_dir)
    if looking is None:
        if as_json:
            print_json_line(Deleted(0, 0, 0))
        else:
            click.echo(f"nothing is recorded in {data_dir}", err=True)
        return
    scope: App | Everything | OneEpisode | TimeRange
    with looking:
        if everything:
            counts = looking.counts()
            scope, what = Everything(), f"everything: {_count(counts.observations, 'observation')} and {_count(counts.episodes, 'episode')}"
        elif bundle_id is not None:
            scope, what = App(bundle_id), f"everything of {bundle_id}"
        elif episode_id is not None:
            scope, what = OneEpisode(episode_id), _episode(looking, episode_id)
        else:
            start, end = since or 0, now_ms + 1 if until is None else until
            scope, what = TimeRange(start, end), _span(since, until)
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("nobody is there to be asked; add --yes")
        click.confirm(f"Delete {what}?", abort=True, err=True)
    with Store(data_dir, now_ms) as store:
        gone = store.delete(scope, time.time_ns() // 1_000_000)
    if as_json:
        print_json_line(gone)
    else:
        click.echo(_said(gone))


def _episode(store: Store, identifier: str) -> str:
    from ...errors import LocalProtocolError

    found: StoredEpisode | None = store.episode(identifier)
    if found is None:
        raise LocalProtocolError("unknown-episode", f"there is no episode {identifier}; see: triptych activity episodes")
    from datetime import datetime

    from .day import apps_of, workspace_label
    from .timeline import clock, printable

    began = datetime.fromtimestamp(found.started_at_ms / 1000)
    about = workspace_label(found) or ", ".join(apps_of(found))
    return f"the episode of {began:%Y-%m-%d %H:%M}–{clock(found.ended_at_ms)}, {printable(about)}"


def _span(since: int | None, until: int | None) -> str:
    from datetime import datetime

    parts = [
        f"{word} {datetime.fromtimestamp(at / 1000):%Y-%m-%d %H:%M:%S}" for word, at in (("from", since), ("to", until)) if at is not None
    ]
    return f"everything {' '.join(parts)}"


def _said(gone: Deleted) -> str:
    rebuilt = f"; {_count(gone.episodes_rebuilt, 'episode')} made anew from what is left" if gone.episodes_rebuilt else ""
    return f"deleted {_count(gone.observations, 'observation')} and {_count(gone.episodes_deleted, 'episode')}{rebuilt}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
