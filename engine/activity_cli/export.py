"""Episodes as JSON, CSV and iCalendar; `activity_export_page` has the HTML page. `triptych activity export` writes them.

A text in a record was chosen by other programs. So no cell of the CSV is a formula for a spreadsheet, and no text ends a line or a
property of the calendar.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...adapters.collector.stored import StoredEpisode
from ...errors import Unavailable
from .day import apps_of, things_of, workspace_label
from .spelling import json_text

JSON_VERSION = 1
MAX_LINE_OCTETS = 75  # RFC 5545, 3.1
#: What makes a spreadsheet read a cell as a formula, also in its wide forms.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")

COLUMNS = (
    "started_at",
    "ended_at",
    "duration_seconds",
    "workspace",
    "workspace_root",
    "applications",
    "resources",
    "summary",
    "start_reason",
    "end_reason",
    "confidence",
    "id",
)


def episode_value(episode: StoredEpisode) -> dict[str, Any]:
    """An episode as plain JSON: times in milliseconds since 1970, and in ISO 8601."""
    workspace = episode.workspace
    return {
        "id": episode.id,
        "startedAtMs": episode.started_at_ms,
        "endedAtMs": episode.ended_at_ms,
        "startedAt": _iso(episode.started_at_ms),
        "endedAt": _iso(episode.ended_at_ms),
        "durationMs": episode.duration_ms,
        "startReason": episode.start_reason,
        "endReason": episode.end_reason,
        "workspace": None if workspace is None else asdict(workspace),
        "confidence": episode.confidence,
        "summary": episode.summary,
        "applications": [
            {
                "bundleId": surface.bundle_id,
                "name": surface.app_name,
                "surfaceKind": surface.surface_kind,
                "title": surface.title,
                "count": surface.count,
            }
            for surface in episode.surfaces
        ],
        "resources": [
            {"kind": resource.kind, "uri": resource.uri, "label": resource.label, "count": resource.count} for resource in episode.resources
        ],
    }


def as_json(episodes: Sequence[StoredEpisode], exported_at_ms: int) -> str:
    """One JSON object with all episodes."""
    value = {
        "format": "triptych-activity",
        "version": JSON_VERSION,
        "exportedAt": _iso(exported_at_ms),
        "episodes": [episode_value(episode) for episode in episodes],
    }
    return json_text(value, 2) + "\n"


def as_csv(episodes: Sequence[StoredEpisode]) -> str:
    """A row for each episode under a heading (RFC 4180). Several applications or resources of one are joined by `; `."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for episode in episodes:
        workspace = episode.workspace
        writer.writerow(
            (
                _iso(episode.started_at_ms),
                _iso(episode.ended_at_ms),
                episode.duration_ms / 1000,
                _cell(workspace_label(episode)),
                _cell("" if workspace is None else workspace.root),
                _cell("; ".join(apps_of(episode))),
                _cell("; ".join(things_of(episode))),
                _cell(episode.summary),
                episode.start_reason,
                episode.end_reason,
                episode.confidence,
                _cell(episode.id),
            )
        )
    return text.getvalue()


def as_ics(episodes: Sequence[StoredEpisode], exported_at_ms: int) -> str:
    """A calendar with an event for each episode (RFC 5545): times in UTC, private, and not blocking other appointments."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Triptych//Activity//EN", "CALSCALE:GREGORIAN", "METHOD:PUBLISH"]
    for episode in episodes:
        about = ": ".join(part for part in (", ".join(apps_of(episode)), ", ".join(things_of(episode)[:3])) if part)
        lines += [
            "BEGIN:VEVENT",
            f"UID:{hashlib.sha256(episode.id.encode('utf-8', 'replace')).hexdigest()[:32]}@triptych.invalid",
            f"DTSTAMP:{_utc(exported_at_ms)}",
            f"DTSTART:{_utc(episode.started_at_ms)}",
            # An end that does not come after the start is not allowed; without one, an event ends as it starts.
            *([f"DTEND:{_utc(episode.ended_at_ms)}"] if _utc(episode.ended_at_ms) > _utc(episode.started_at_ms) else []),
            f"SUMMARY:{_ics_text(' · '.join(part for part in (workspace_label(episode), about) if part) or 'Activity')}",
            f"DESCRIPTION:{_ics_text(episode.summary)}",
            "CLASS:PRIVATE",
            "TRANSP:TRANSPARENT",
            "END:VEVENT",
        ]
    return "".join(_folded(line) + "\r\n" for line in [*lines, "END:VCALENDAR"])


def write_private(path: Path, text: str, remedy: str = "choose another place with -o") -> None:
    """Write the file so that only its owner can read it (0600), whole or not at all; what was there is replaced.

    Raises Unavailable, with this remedy.
    """
    folder = path.parent
    temporary = ""
    try:
        if path.exists() and not path.is_file():
            raise Unavailable(f"{path} is no file", remedy)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=folder)  # made with 0600
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
        Path(temporary).replace(path)
        temporary = ""
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror or error}", remedy) from None
    finally:
        if temporary:
            with suppress(OSError):
                Path(temporary).unlink()


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe before what would begin one."""
    return f"'{text}" if text.lstrip(" \v\f\xa0").startswith(_FORMULA) else text


def _ics_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter for letter in escaped if letter.isprintable() or letter in "\n\t").replace("\n", "\\n")


def _folded(line: str) -> str:
    """The line in pieces of at most 75 octets, cut between characters."""
    pieces, piece, room = [], "", MAX_LINE_OCTETS
    for letter in line:
        size = len(letter.encode("utf-8", "replace"))
        if size > room:
            pieces.append(piece)
            piece, room = " ", MAX_LINE_OCTETS - 1
        piece, room = piece + letter, room - size
    return "\r\n".join([*pieces, piece])


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000).astimezone().isoformat(timespec="seconds")


def _utc(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
