"""Says how long something took in words for people, never more exactly than samples can tell. Used wherever an episode is shown."""

from __future__ import annotations

MINUTE_MS = 60_000


def duration_text(duration_ms: int) -> str:
    """`under a minute`, `42 minutes`, `1 hour 5 minutes`; minutes are rounded.

    What was seen once has a duration of 0 ms, and anything below a minute is as vague: an unchanged state is not told again.
    """
    if duration_ms < MINUTE_MS:
        return "under a minute"
    hours, minutes = divmod((duration_ms + MINUTE_MS // 2) // MINUTE_MS, 60)
    return " ".join(_counted(number, word) for number, word in ((hours, "hour"), (minutes, "minute")) if number)


def span_text(span_ms: int) -> str:
    """The wall-clock span of several episodes together: the time between them was not seen, so it is approximate."""
    return f"approximately {duration_text(span_ms)}" if span_ms >= MINUTE_MS else duration_text(span_ms)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
