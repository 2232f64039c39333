"""`triptych activity`: the collector process, a recording, and what was recorded. engine/cli.py adds it."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import Unavailable
from .extras import need

if TYPE_CHECKING:
    from .activity import Health, Recording, StoredObservation

_DATA = click.option("--data", "data_dir", type=click.Path(path_type=Path, file_okay=False), required=True, help="The data directory.")
_TABLE = click.option(
    "--adapter-table",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A JSON file of more applications (schema: triptych schema collector AdapterTable).",
)
_ENABLE = click.option(
    "--enable-accessibility",
    is_flag=True,
    help="Turn accessibility on in this session (org.a11y.Status IsEnabled): every program that starts then offers its widgets to be read.",
)
_LIVENESS = click.option(
    "--liveness-seconds",
    type=float,
    default=0.0,
    show_default=True,
    help="Tell again what has not changed for so long, 30 seconds or more; 0 never does.",
)


def _finite(context: click.Context, parameter: click.Parameter, seconds: float | None) -> float | None:
    """Let no `nan` and no `inf` in: no timer can be set to them."""
    if seconds is not None and not isfinite(seconds):
        raise click.BadParameter(f"{seconds} is no number of seconds")
    return seconds


_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")


@click.group("activity")
def activity_command() -> None:
    """Keep a private, include-only record of where a person works."""


@activity_command.command("collect")
@_ENABLE
@_TABLE
@_LIVENESS
@click.pass_context
def collect(context: click.Context, enable_accessibility: bool, adapter_table: Path | None, liveness_seconds: float) -> None:
    """Run the Linux collector: the collector protocol on stdin and stdout, for a host to start."""
    import asyncio

    need("activity", "dbus_fast", "xcffib")
    from ..adapters.collector.adapter_file import read_adapter_table
    from ..adapters.collector.collect import CollectorProcess

    process = CollectorProcess(
        table=read_adapter_table(adapter_table), enable_accessibility=enable_accessibility, liveness_seconds=liveness_seconds
    )
    context.exit(asyncio.run(process.run()))


@activity_command.command("record")
@_DATA
@click.option("--allow", multiple=True, metavar="ID", help="An application to record, such as org.gnome.TextEditor.desktop; repeatable.")
@click.option("--for", "seconds", type=click.FloatRange(min=0), callback=_finite, help="Stop after so many seconds instead of at Ctrl-C.")
@_ENABLE
@_TABLE
@_JSON
def record(
    data_dir: Path, allow: tuple[str, ...], seconds: float | None, enable_accessibility: bool, adapter_table: Path | None, as_json: bool
) -> None:
    """Record until Ctrl-C, and print each observation as it is stored; without --allow, under the policy that is stored already."""
    import asyncio

    from . import logs

    logs.to_stderr()
    asyncio.run(_record(data_dir, allow, seconds, enable_accessibility, adapter_table, as_json))


@activity_command.command("show")
@_DATA
@_JSON
def show(data_dir: Path, as_json: bool) -> None:
    """Print the recorded observations, oldest first."""
    from .activity import observations

    rows = observations(data_dir)
    for row in rows:
        click.echo(_json(row) if as_json else _line(row))
    if not rows:
        click.echo(f"nothing is recorded in {data_dir}", err=True)


async def _record(
    data_dir: Path, allow: tuple[str, ...], seconds: float | None, enable: bool, adapter_table: Path | None, as_json: bool
) -> None:
    import asyncio
    import signal

    from . import activity

    ended = False

    def end() -> None:
        nonlocal ended
        ended = True
        changed.set()

    loop = asyncio.get_running_loop()
    async with activity.record(data_dir, allow=allow or None, adapter_table=adapter_table, enable_accessibility=enable) as recording:
        with recording.changes() as changed:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                    loop.add_signal_handler(number, end)
            await _require_bus()
            if seconds is not None:
                loop.call_later(seconds, end)
            last, said = recording.last_id, ""
            while not ended:
                changed.clear()
                for row in recording.observations(after_id=last):
                    last = row.id
                    click.echo(_json(row) if as_json else _line(row))
                if recording.failed:
                    raise Unavailable(
                        f"the collector was given up: {recording.health.reason}{_last_word(recording)}", "see triptych doctor"
                    )
                if (state := _state(recording)) != said:
                    said = state
                    click.echo(state, err=True)
                await changed.wait()
        refused = recording.health.refusals
    click.echo(f"{refused.total} observations refused{_reasons(refused.by_reason)}", err=True)


async def _require_bus() -> None:
    """Raise Unavailable in a session without an accessibility bus: nothing would ever be recorded. One that is off can be turned on."""
    from ..adapters.collector.atspi_bus import AccessibilityBus, AccessibilityUnavailable

    try:
        await (await AccessibilityBus.connect(lambda event: None)).close()
    except AccessibilityUnavailable as error:
        if error.absent:
            raise Unavailable(error.reason, error.remedy) from None


def _state(recording: Recording) -> str:
    health: Health = recording.health
    match health.reason:
        case None:
            return f"capture {health.capture}"
        case "no-apps-allowed":
            return f"capture {health.capture}: no application is allowed, so nothing will be recorded; allow one with --allow ID"
        case "collector-exited":
            return f"capture {health.capture}: {health.reason}{_last_word(recording)}"
        case reason:
            return f"capture {health.capture}: {reason}"


def _last_word(recording: Recording) -> str:
    """The last line that the collector wrote to its standard error, which says why it ended."""
    lines = recording.collector_stderr.decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {''.join(character if character.isprintable() else '?' for character in last)}" if last else ""


def _reasons(counts: dict[str, int]) -> str:
    return ": " + ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items())) if counts else ""


def _line(row: StoredObservation) -> str:
    from datetime import datetime

    at = datetime.fromtimestamp(row.observed_at_ms / 1000).strftime("%Y-%m-%d %H:%M:%S")
    what = row.resource[2] if row.resource else row.title
    return "  ".join(
        part for part in (at, row.surface_kind.ljust(8), row.app_name or row.bundle_id, what, row.role and f"({row.role})") if part
    )


def _json(row: StoredObservation) -> str:
    import json
    from dataclasses import asdict

    shown: dict[str, Any] = asdict(row)
    return json.dumps(shown, ensure_ascii=False)
