"""The options that the `triptych activity` commands share, and what they mean: the data directory, spans of time, ways to print."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from math import isfinite
from pathlib import Path

import click

from ...generated.collector.vocabulary import DEFAULT_LIVENESS_SECONDS, DEFAULT_UNKNOWN_FIELDS, UNKNOWN_FIELD_POLICY


def default_data_dir(env: Mapping[str, str] = os.environ) -> Path:
    """Where a person's record is kept: `$XDG_DATA_HOME/triptych/activity`, below `~/.local/share` when that is not set."""
    home = env.get("XDG_DATA_HOME") or ""
    return (Path(home) if home.startswith("/") else Path("~").expanduser() / ".local" / "share") / "triptych" / "activity"


data_option = click.option(
    "--data",
    "data_dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=default_data_dir,
    show_default="$XDG_DATA_HOME/triptych/activity",
    help="The data directory.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
json_lines_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
table_option = click.option(
    "--adapter-table",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A JSON file of more applications (schema: triptych schema collector AdapterTable).",
)
enable_option = click.option(
    "--enable-accessibility",
    is_flag=True,
    help="Turn accessibility on in this session (org.a11y.Status IsEnabled): every program that starts then offers its widgets to be read.",
)
liveness_option = click.option(
    "--liveness-seconds",
    type=float,
    default=DEFAULT_LIVENESS_SECONDS,
    show_default=True,
    help="Tell again what has not changed for so long, 30 seconds or more; 0 never does.",
)
unknown_fields_option = click.option(
    "--unknown-fields",
    type=click.Choice(UNKNOWN_FIELD_POLICY),
    default=DEFAULT_UNKNOWN_FIELDS,
    show_default=True,
    help="What a field that nobody knows does: it is refused, refused unless its name starts with x-, or dropped and counted.",
)


def finite(context: click.Context, parameter: click.Parameter, seconds: float | None) -> float | None:
    """Let no `nan` and no `inf` in: no timer can be set to them."""
    if seconds is not None and not isfinite(seconds):
        raise click.BadParameter(f"{seconds} is no number of seconds")
    return seconds


def _to_moment(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Milliseconds since 1970; a usage error for what is no time."""
    try:
        return None if text is None else _ms(_moment(text.strip(), datetime.now()))
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{text!r} is no time; write 2026-11-30, 2026-11-30T14:05, 14:05, yesterday, or 90m, 3h, 2d (ago)"
        ) from None


def _to_day(context: click.Context, parameter: click.Parameter, text: str) -> date:
    """A local day; a usage error for what is none."""
    try:
        day = _named_day(text.strip(), date.today()) or date.fromisoformat(text.strip())
        day_span(day)
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(f"{text!r} is no day; write 2026-11-30, today or yesterday") from None
    return day


since_option = click.option(
    "--since",
    metavar="TIME",
    callback=_to_moment,
    help="From this moment on: 2026-11-30, 2026-11-30T14:05, 14:05 (today), yesterday, or 90m, 3h, 2d (ago).",
)
until_option = click.option("--until", metavar="TIME", callback=_to_moment, help="Up to this moment.")
day_option = click.option(
    "--date", "day", metavar="DAY", default="today", show_default=True, callback=_to_day, help="Another day: 2026-11-30, yesterday."
)


def day_span(day: date) -> tuple[int, int]:
    """When a local day begins and when the next one does, in milliseconds since 1970; a day may have 23 or 25 hours."""
    return _ms(datetime.combine(day, time.min)), _ms(datetime.combine(day + timedelta(days=1), time.min))


def _ms(moment: datetime) -> int:
    return round(moment.astimezone().timestamp() * 1000)


def _named_day(text: str, today: date) -> date | None:
    return {"today": today, "yesterday": today - timedelta(days=1)}.get(text.casefold())


def _moment(text: str, now: datetime) -> datetime:
    if (day := _named_day(text, now.date())) is not None:
        return datetime.combine(day, time.min)
    if text.casefold() == "now":
        return now
    unit = {"m": "minutes", "h": "hours", "d": "days"}.get(text[-1:].casefold())
    if unit and text[:-1].isascii() and text[:-1].isdigit():
        return now - timedelta(**{unit: int(text[:-1])})
    if "-" not in text:
        return datetime.combine(now.date(), time.fromisoformat(text))
    return datetime.fromisoformat(text)
