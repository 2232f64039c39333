"""Episodes as one HTML page that needs nothing else: a timeline picture for each day, totals, and a table of what was worked on.

The page asks the network for nothing, runs no script, and its Content-Security-Policy forbids both. It follows the reader's light or dark
setting, prints well, and says in words and tables all that it says in pictures. `triptych activity export --format html` writes it.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from html import escape

from ...adapters.collector.stored import StoredEpisode
from ...machines.collector.durations import duration_text
from .day import Arranged, Entry, Lane, arrange
from .options import day_span
from .timeline import axis, clock, listed

WIDTH, LABEL, TOTAL, ROW, HEAD = 1000, 168, 150, 30, 26  # of a timeline picture, in its own units
MOST_TICKS = 12

STYLE = """
:root { color-scheme: light dark; --paper: #fdfcfa; --card: #ffffff; --ink: #1d1f24; --soft: #5f6470; --line: #e4e2dc; --track: #f3f1ec;
  --l0: #2563c9; --l1: #b4457d; --l2: #2c8560; --l3: #b7701b; --l4: #7455c7; --l5: #1a7f93; --l6: #b5483a; --l7: #6b7280;
  --face: system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14161a; --card: #1b1e24; --ink: #eceae4; --soft: #a2a7b3; --line: #2d3139; --track: #23272f;
  --l0: #74a5ff; --l1: #ee8fc0; --l2: #66c79b; --l3: #e9ae5f; --l4: #b39bff; --l5: #5cc6da; --l6: #f0907f; --l7: #9aa1ad; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 var(--face); }
main { max-width: 64rem; margin: 0 auto; padding: 3.5rem 1.5rem 4rem; }
h1 { font-size: 2.1rem; line-height: 1.15; letter-spacing: -.02em; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; letter-spacing: -.01em; margin: 0; }
p { margin: 0; }
.soft, caption, th, footer { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 1.4rem 1.5rem 1.1rem; margin-top: 1.5rem; }
.head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .2rem 1.5rem; margin-bottom: 1rem; }
.wide { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 40rem; height: auto; font: 13px var(--face); }
svg text { fill: var(--ink); } svg .faint { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .track { fill: var(--track); } svg .grid { stroke: var(--line); stroke-width: 1; }
svg .end { text-anchor: end; } svg .mid { text-anchor: middle; } svg .strong { font-weight: 600; }
.f0 { fill: var(--l0); } .f1 { fill: var(--l1); } .f2 { fill: var(--l2); } .f3 { fill: var(--l3); }
.f4 { fill: var(--l4); } .f5 { fill: var(--l5); } .f6 { fill: var(--l6); } .f7 { fill: var(--l7); }
table { width: 100%; border-collapse: collapse; margin-top: 1.1rem; font-size: .92rem; table-layout: fixed; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th { text-align: left; font-weight: 500; font-size: .8rem; padding: 0 .9rem .35rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; padding: .5rem .9rem .5rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
tbody tr:last-child td { border-bottom: 0; }
td.time { white-space: nowrap; font-variant-numeric: tabular-nums; }
.c1 { width: 8.4rem; } .c2 { width: 10.8rem; } .c3 { width: 12rem; }
.dot { display: inline-block; width: .7em; height: .7em; margin-right: .5em; border-radius: 50%; background: currentColor; }
.k0 { color: var(--l0); } .k1 { color: var(--l1); } .k2 { color: var(--l2); } .k3 { color: var(--l3); }
.k4 { color: var(--l4); } .k5 { color: var(--l5); } .k6 { color: var(--l6); } .k7 { color: var(--l7); }
footer { margin-top: 2.2rem; font-size: .85rem; }
@media (max-width: 40rem) { main { padding: 2rem 1rem; }
  thead { position: absolute; clip-path: inset(50%); } table, tbody, tr { display: block; }
  tr { border-bottom: 1px solid var(--line); padding: .6rem 0; } tr:last-child { border-bottom: 0; }
  td { display: inline; border: 0; padding: 0 .5rem 0 0; } td:nth-child(n + 3) { display: block; } }
@media print { :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #ccc; --track: #f2f2f2;
    --l0: #2563c9; --l1: #b4457d; --l2: #2c8560; --l3: #b7701b; --l4: #7455c7; --l5: #1a7f93; --l6: #b5483a; --l7: #6b7280; }
  body { font-size: 11pt; } main { max-width: none; padding: 0; } .card { border-radius: 0; border-width: 1px 0 0; padding: .8rem 0 0; }
  .c1 { width: 7.4rem; } .c2 { width: 9.4rem; } .c3 { width: 9.6rem; }
  svg { min-width: 0; break-inside: avoid; } tr, .head { break-inside: avoid; } .head { break-after: avoid; }
  rect, .dot { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def as_html(episodes: Sequence[StoredEpisode], exported_at_ms: int, since_ms: int | None = None, until_ms: int | None = None) -> str:
    """The page. `since_ms` and `until_ms` cut the episodes at the edge of the span that was asked for."""
    start = since_ms if since_ms is not None else min((episode.started_at_ms for episode in episodes), default=exported_at_ms)
    end = until_ms if until_ms is not None else max((episode.ended_at_ms for episode in episodes), default=exported_at_ms) + 1
    whole = arrange(episodes, start, end)
    colours = {(lane.is_workspace, lane.label): number for number, lane in enumerate(whole.lanes)}
    days = [_day(day, arranged, colours) for day, arranged in _days(episodes, start, end)]
    policy = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    title = f"Activity, {_span(whole)}" if whole.entries else "Activity"
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-",
            policy,
            "'; base-uri 'none'; form-action 'none'\">\n",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n',
            f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n",
            _header(whole),
            *([_totals(whole)] if len(days) > 1 else []),
            *(days or ['<section class="card"><p>Nothing is recorded in this time.</p></section>\n']),
            f"<footer><p>Exported {_moment(exported_at_ms)}. It says which applications, windows and files were in front, ",
            "and nothing of what was in them. Times are local.</p></footer>\n</main>\n</body>\n</html>\n",
        )
    )


def _days(episodes: Sequence[StoredEpisode], start_ms: int, end_ms: int) -> Iterator[tuple[date, Arranged]]:
    """Each local day that has an entry, with its part of the episodes."""
    by_day: dict[date, list[StoredEpisode]] = {}
    for episode in episodes:
        day, last = _date(episode.started_at_ms), _date(episode.ended_at_ms)
        while day <= last:
            by_day.setdefault(day, []).append(episode)
            day += timedelta(days=1)
    for day in sorted(by_day):
        first, next_day = day_span(day)
        arranged = arrange(by_day[day], max(first, start_ms), min(next_day, end_ms))
        if arranged.entries:
            yield day, arranged


def _header(whole: Arranged) -> str:
    if not whole.entries:
        return "<header><h1>Activity</h1></header>\n"
    count = len(whole.entries)
    told = f"{duration_text(whole.total_ms)} in {count:,} episode{'' if count == 1 else 's'}, {_span(whole)}"
    return f'<header><h1>Activity</h1><p class="soft">{_text(told)}</p></header>\n'


def _totals(whole: Arranged) -> str:
    """How the whole time was spent, a bar for each lane; for more than one day."""
    most = max(max(lane.total_ms for lane in whole.lanes), 1)
    room, height = WIDTH - LABEL - TOTAL, ROW * len(whole.lanes)
    rows = []
    for number, lane in enumerate(whole.lanes):
        y, long = number * ROW, max(3, round(room * lane.total_ms / most))
        rows += [
            _label(lane, y),
            _total(lane, y),
            f'<rect class="f{number}" x="{LABEL}" y="{y + 6}" width="{long}" height="{ROW - 12}" rx="4"/>',
        ]
    told = "; ".join(f"{lane.label}: {duration_text(lane.total_ms)}" for lane in whole.lanes)
    return (
        '<section class="card"><div class="head"><h2>In all</h2></div><div class="wide" tabindex="0" role="group" aria-label="Picture">'
        f"{_picture(height, 'Total time by workspace', told, rows)}</div></section>\n"
    )


def _day(day: date, arranged: Arranged, colours: dict[tuple[bool, str], int]) -> str:
    count = len(arranged.entries)
    heading = f"{day:%A} {day.day} {day:%B %Y}"
    return (
        f'<section class="card"><div class="head"><h2>{_text(heading)}</h2>'
        f'<p class="soft">{duration_text(arranged.total_ms)} in {count} episode{"" if count == 1 else "s"}</p></div>\n'
        f'<div class="wide" tabindex="0" role="group" aria-label="Picture">{_timeline(heading, arranged, colours)}</div>\n'
        f"{_table(heading, arranged, colours)}</section>\n"
    )


def _timeline(heading: str, arranged: Arranged, colours: dict[tuple[bool, str], int]) -> str:
    start, end, ticks = axis(arranged, MOST_TICKS)
    room, height = WIDTH - LABEL - TOTAL, HEAD + ROW * len(arranged.lanes)

    def across(at_ms: int) -> float:
        return LABEL + room * (at_ms - start) / (end - start)

    rows = [
        f'<rect class="track" x="{LABEL}" y="{HEAD + n * ROW + 5}" width="{room}" height="{ROW - 10}" rx="4"/>'
        for n in range(len(arranged.lanes))
    ]
    for tick in ticks:
        x = f"{across(tick):.1f}"
        rows += [
            f'<line class="grid" x1="{x}" x2="{x}" y1="{HEAD - 4}" y2="{height}"/>',
            f'<text class="faint mid" x="{x}" y="14">{clock(tick)}</text>',
        ]
    for number, lane in enumerate(arranged.lanes):
        y = HEAD + number * ROW
        rows += [_label(lane, y), _total(lane, y)]
        for entry in arranged.entries:
            if entry.lane == number:
                left = across(entry.start_ms)
                long = max(2.5, across(entry.end_ms) - left)
                place = f'x="{left:.1f}" y="{y + 5}" width="{long:.1f}" height="{ROW - 10}" rx="{min(4, long / 2):.1f}"'
                rows.append(f'<rect class="f{_colour(lane, colours)}" {place}><title>{_text(_entry_title(entry))}</title></rect>')
    told = "; ".join(f"{lane.label}: {duration_text(lane.total_ms)} in {lane.episodes} episodes" for lane in arranged.lanes)
    return _picture(height, f"Timeline of {heading}", told, rows)


def _table(heading: str, arranged: Arranged, colours: dict[tuple[bool, str], int]) -> str:
    rows = []
    for entry in arranged.entries:
        lane = arranged.lanes[entry.lane]
        what = '<br><span class="soft">'.join(_text(listed(part, 6)) for part in entry.about) + "</span>" * (len(entry.about) - 1)
        rows.append(
            f'<tr><td class="time">{_times(entry)}</td><td>{duration_text(entry.duration_ms)}</td>'
            f'<td class="w3"><span class="dot k{_colour(lane, colours)}"></span><bdi>{_text(lane.label)}</bdi></td>'
            f"<td><bdi>{what}</bdi></td></tr>\n"
        )
    return (
        f"<table><caption>Episodes of {_text(heading)}</caption>\n<thead><tr>"
        '<th scope="col" class="c1">Time</th><th scope="col" class="c2">Duration</th><th scope="col" class="c3">Workspace</th>'
        f'<th scope="col">Worked on</th></tr></thead>\n<tbody>\n{"".join(rows)}</tbody></table>\n'
    )


def _picture(height: int, title: str, described: str, rows: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{_text(title)}. {_text(described)}">{"".join(rows)}</svg>'


def _label(lane: Lane, y: int) -> str:
    label = lane.label if len(lane.label) <= 22 else lane.label[:21] + "…"
    return f'<text class="{"strong" if lane.is_workspace else ""}" x="0" y="{y + ROW / 2 + 4.5:.1f}">{_text(label)}</text>'


def _total(lane: Lane, y: int) -> str:
    return f'<text class="end" x="{WIDTH}" y="{y + ROW / 2 + 4.5:.1f}">{duration_text(lane.total_ms)}</text>'


def _colour(lane: Lane, colours: dict[tuple[bool, str], int]) -> int:
    return colours.get((lane.is_workspace, lane.label), 7)


def _entry_title(entry: Entry) -> str:
    what = ": ".join(map(listed, entry.about))
    return f"{clock(entry.start_ms)}–{clock(entry.end_ms)}, {duration_text(entry.duration_ms)}\n{what}"


def _times(entry: Entry) -> str:
    start, end = clock(entry.start_ms), clock(entry.end_ms)
    return ("…" if entry.before else "") + (start if start == end else f"{start}–{end}") + ("…" if entry.after else "")


def _span(whole: Arranged) -> str:
    first, last = _date(whole.entries[0].start_ms), _date(max(entry.end_ms for entry in whole.entries))
    if first == last:
        return _long(first)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {_long(last)}"
    return f"{_long(first)} to {_long(last)}"


def _long(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _date(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000).date()


def _moment(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms / 1000)
    return f"{_long(moment.date())}, {moment:%H:%M}"


def _text(text: str) -> str:
    """A text that another program chose: escaped, without control characters and without those that turn the direction of what follows."""
    kept = "".join(
        letter for letter in text if letter == "\n" or (unicodedata.category(letter) not in ("Cc", "Cs") and letter not in _BIDI)
    )
    return escape(kept, quote=True)


_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")
