"""How a text that a caller wants is held against one that is there: part of it, all of it, or a pattern. Locators and expectations ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import Pattern

Wanted = str | Pattern[str]


def plain(text: str) -> str:
    """The text with its white space made single blanks."""
    return " ".join(text.split())


def matches(wanted: Wanted, text: str, exact: bool = False) -> bool:
    """Whether the text is what is wanted: a pattern found in it, else a part of it in either case, or with `exact` all of it as written."""
    if isinstance(wanted, Pattern):
        return wanted.search(text) is not None
    if exact:
        return plain(wanted) == plain(text)
    return plain(wanted).casefold() in plain(text).casefold()


def spans(wanted: Wanted, line: str, exact: bool) -> Iterator[tuple[int, int]]:
    """Where a row shows the text. With `exact`, only where it stands alone: between the row's ends, gaps of two blanks, or line drawing."""
    if isinstance(wanted, Pattern):
        found = wanted.finditer(line)
    else:
        words = r"\s+".join(re.escape(word) for word in wanted.split())
        if not words:
            return
        found = re.finditer(words, line, 0 if exact else re.IGNORECASE)
    for match in found:
        start, end = match.span()
        if start < end and (not exact or isinstance(wanted, Pattern) or _alone(line, start, end)):
            yield start, end


def _alone(line: str, start: int, end: int) -> bool:
    before, after = line[max(start - 2, 0) : start], line[end : end + 2]
    return _is_gap(before[::-1]) and _is_gap(after)


def _is_gap(beside: str) -> bool:
    """Whether what stands beside a text, nearest first, is not more text: an edge, two blanks, a frame."""
    if beside == "" or beside.isspace():
        return True
    return not beside.lstrip()[0].isalnum() and not beside[0].isalnum()
