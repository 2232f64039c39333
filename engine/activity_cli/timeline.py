"""Lays out a day as lines of text: a timeline with a bar for each workspace, their totals, and the episodes one by one.

One layout serves everybody: with rich it has colours, without it is plain text, and where the terminal has no block characters it is
ASCII. No control character of a title reaches a terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime, time
from typing import TYPE_CHECKING, NamedTuple

from ...machines.collector.durations import duration_text
from .day import Arranged, Entry

if TYPE_CHECKING:
    from rich.text import Text

MINUTE_MS = 60_000
TICKS = tuple(minutes * MINUTE_MS for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360))
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_black")  # by lane
MAX_LABEL = 22
TICK_CELLS = 9  # what a tick with its label takes at least


class Span(NamedTuple):
    """A piece of a line, and its style in rich's words."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


class Glyphs(NamedTuple):
    """The characters of a timeline: a cell that is full, its left or right half, a trace, the axis, its ticks, and what is cut."""

    full: str
    left: str
    right: str
    rule: str
    tick: str
    cut: str
    dash: str


UNICODE = Glyphs("█", "▌", "▐", "─", "┬", "…", "–")
ASCII = Glyphs("#", "#", "#", "-", "+", "~", "-")


def day_lines(day: Arranged, width: int, glyphs: Glyphs = UNICODE, *, episodes: int | None = None) -> list[Line]:
    """The timeline of a day and its episodes, no line wider than `width` cells (60 or more); `episodes`: list only the last."""
    if not day.entries:
        return []
    label = min(max(cells(printable(lane.label)) for lane in day.lanes), MAX_LABEL, width // 4)
    return [*_timeline(day, max(width, 40), label, glyphs), (), *_entries(day, width, label, glyphs, episodes)]


def plain(lines: Sequence[Line]) -> str:
    """The lines without their styles."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


def styled(lines: Sequence[Line]) -> Text:
    """The lines for rich."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(lines):
        text.append("\n" if number else "")
        for span in line:
            text.append(span.text, span.style or None)
    return text


def glyphs_for(encoding: str | None) -> Glyphs:
    """The characters that an output of this encoding can show."""
    try:
        "".join(UNICODE).encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return ASCII
    return UNICODE


def axis(day: Arranged, most_ticks: int) -> tuple[int, int, tuple[int, ...]]:
    """From when to when a timeline of the entries goes, on whole ticks, and where the ticks are; all in milliseconds since 1970."""
    first, last = day.entries[0].start_ms, max(entry.end_ms for entry in day.entries)
    midnight = round(datetime.combine(datetime.fromtimestamp(first / 1000), time.min).astimezone().timestamp() * 1000)
    for tick in TICKS:
        start = midnight + (first - midnight) // tick * tick
        count = max(1, -((start - last) // tick))
        if count <= most_ticks:
            break
    else:
        tick = -((start - last) // most_ticks)
        count = most_ticks
    return start, start + count * tick, tuple(start + number * tick for number in range(count + 1))


def clock(at_ms: int) -> str:
    """The local time of day."""
    return datetime.fromtimestamp(at_ms / 1000).strftime("%H:%M")


def printable(text: str) -> str:
    """A text that another program chose, for a terminal: no control character of it."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return sum(0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def fit(text: str, width: int, cut: str = "…") -> str:
    """The text as exactly `width` cells: printable, cut or filled up."""
    text = printable(text)
    if cells(text) > width:
        while text and cells(text) > width - 1:
            text = text[:-1]
        text += cut if width > 0 else ""
    return text + " " * (width - cells(text))


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _timeline(day: Arranged, width: int, label: int, glyphs: Glyphs) -> list[Line]:
    totals = [duration_text(lane.total_ms) for lane in day.lanes]
    room = max(12, width - label - max(map(len, totals)) - 4)
    start, end, ticks = axis(day, max(1, room // TICK_CELLS))
    place = [(tick - start) * room // (end - start) for tick in ticks]
    heading, rule = [" "] * (room + 5), [glyphs.rule] * room
    for at, tick in zip(place, ticks, strict=True):
        if at < room:
            rule[at] = glyphs.tick
            heading[at : at + 5] = clock(tick)
    margin = " " * (label + 2)
    lines: list[Line] = [(Span(margin), Span("".join(heading).rstrip(), "dim")), (Span(margin), Span("".join(rule), "dim"))]
    for number, (lane, total) in enumerate(zip(day.lanes, totals, strict=True)):
        halves = [False] * (2 * room)
        for entry in day.entries:
            if entry.lane == number:
                left = min(int((entry.start_ms - start) * 2 * room / (end - start)), 2 * room - 1)
                right = max(left + 1, round((entry.end_ms - start) * 2 * room / (end - start)))
                halves[left:right] = [True] * (min(right, 2 * room) - left)
        bar = "".join(_cell(halves[2 * at], halves[2 * at + 1], glyphs) for at in range(room))
        name = Span(fit(lane.label, label, glyphs.cut), "bold" if lane.is_workspace else "")
        lines.append((name, Span("  "), Span(bar, COLOURS[number]), Span("  "), Span(total)))
    return lines


def _cell(left: bool, right: bool, glyphs: Glyphs) -> str:
    return (glyphs.full if right else glyphs.left) if left else (glyphs.right if right else " ")


def _entries(day: Arranged, width: int, label: int, glyphs: Glyphs, most: int | None) -> list[Line]:
    shown = day.entries if most is None else day.entries[-most:]
    hidden = len(day.entries) - len(shown)
    durations = [duration_text(entry.duration_ms) for entry in shown]
    longest = max(map(len, durations))
    lines: list[Line] = [(Span(f"{hidden} earlier episodes", "dim"),)] if hidden else []
    for entry, duration in zip(shown, durations, strict=True):
        times, lane = _times(entry, glyphs), day.lanes[entry.lane].label
        what = ": ".join(map(listed, entry.about))
        room = width - len(times) - longest - label - 6
        lines.append(
            (
                Span(times, "dim"),
                Span("  "),
                Span(duration.ljust(longest)),
                Span("  "),
                Span(fit(lane, label, glyphs.cut), COLOURS[entry.lane]),
                Span("  "),
                Span(fit(what, max(room, 6), glyphs.cut).rstrip()),
            )
        )
    return lines


def _times(entry: Entry, glyphs: Glyphs) -> str:
    """From when to when; a `<` or `>` where it began before, or goes on after, the day."""
    start = ("<" if entry.before else " ") + clock(entry.start_ms)
    end = "" if clock(entry.end_ms) == clock(entry.start_ms) else glyphs.dash + clock(entry.end_ms)
    return start + end.ljust(6) + (">" if entry.after else " ")
