"""Writes what an episode was about in a few lines, always the same for the same episode. The store keeps the text with the episode."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ...generated.collector.vocabulary import MAX_SUMMARY_BYTES, MAX_SUMMARY_ITEMS

ELLIPSIS = "…"


def summary(workspace_title: str | None, labels: Iterable[str], bundle_ids: Iterable[str]) -> str:
    """At most 1,024 bytes of UTF-8. `labels` and `bundle_ids` in the order in which they were first seen; the first eight count."""
    heading = "Recent computer activity." if workspace_title is None else f"Worked in {_line(workspace_title)}."
    parts = [heading]
    listed = [f"- {_line(label)}" for label in islice(labels, MAX_SUMMARY_ITEMS)]
    if listed:
        parts.append("\n".join(("Observed resources:", *listed)))
    parts.append("Applications: " + ", ".join(dict.fromkeys(_line(one) for one in islice(bundle_ids, MAX_SUMMARY_ITEMS))))
    return cut("\n\n".join(parts), MAX_SUMMARY_BYTES)


def cut(text: str, most_bytes: int) -> str:
    """The text, or as much of it as leaves room for an ellipsis, cut between two characters. `most_bytes` of UTF-8, 3 at least."""
    if len(text) * 4 <= most_bytes or len(encoded := text.encode()) <= most_bytes:
        return text
    return encoded[: most_bytes - len(ELLIPSIS.encode())].decode(errors="ignore") + ELLIPSIS


def _line(text: str) -> str:
    """One line: no label can pass for a line of its own."""
    return " ".join(text.split()) if not text.isprintable() else text
