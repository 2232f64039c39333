"""Runs vector files of termwright/3 against our own library and tells every case whose code differs. `triptych conformance termwright
--vectors DIR` calls it; what each format means is in vector_formats.py.

A file's format is known by its content, never by its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import Unavailable
from .vector_cases import Untestable, Verdict
from .vector_formats import recognise

#: Characters of an expected or actual value that a line shows.
SHOWN = 120
#: Digits of the longest integer that a double holds, and its sign.
MAX_DIGITS = 310


@dataclass
class Tally:
    """What a run over vector files found."""

    files: int = 0
    cases: int = 0
    mismatches: list[tuple[str, Verdict]] = field(default_factory=list)
    untestable: list[tuple[str, Untestable]] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)  #: JSON files of no known format

    def lines(self) -> Iterator[str]:
        """One line a mismatch (file, case, expected, actual), one a reason why cases were not run, then the count."""
        for name, verdict in self.mismatches:
            yield _line(f"mismatch  {name}  {verdict.case}  expected {_short(verdict.expected)}, actual {_short(verdict.actual)}")
        reasons = dict.fromkeys((name, case.reason) for name, case in self.untestable)
        for name, reason in reasons:
            cases = [case.case for file, case in self.untestable if (file, case.reason) == (name, reason)]
            yield _line(f"not run   {name}  {', '.join(cases)}: {reason}")
        if self.ignored:
            yield _line(f"ignored   {', '.join(self.ignored)}: no known vector format")
        yield f"{self.files} files, {self.cases} cases, {len(self.mismatches)} mismatches, {len(self.untestable)} not run"


def run_vectors(directory: Path) -> Tally:
    """Every `*.json` of a known format in `directory`, in the order of the names.

    A file that cannot be read or is no JSON is a mismatch of its own, and the others still run.

    Raises `Unavailable` when there is no vector file at all: nothing looked at is not the same as nothing wrong.
    """
    tally = Tally()
    for path in sorted(directory.glob("*.json")):
        try:
            document = json.loads(path.read_text("utf-8"), parse_int=_integer, parse_constant=_no_number)
        except (ValueError, RecursionError, OSError) as cause:
            tally.files += 1
            tally.cases += 1
            tally.mismatches.append((path.name, Verdict("(the file)", "JSON", f"{type(cause).__name__}: {cause}")))
            continue
        runner = recognise(document)
        if runner is None:
            tally.ignored.append(path.name)
            continue
        tally.files += 1
        for answer in runner(document):
            if isinstance(answer, Untestable):
                tally.untestable.append((path.name, answer))
                continue
            tally.cases += 1
            if answer.expected != answer.actual:
                tally.mismatches.append((path.name, answer))
    if not tally.files:
        raise Unavailable(f"no vector file in {directory}", "give the folder of *.json files in one of the twelve formats")
    return tally


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


def _line(text: str) -> str:
    """One line for a person's terminal, whatever a vector's names and values hold."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _integer(digits: str) -> int | float:
    """An integer; one that is beyond every double is infinite, as where vectors come from."""
    return float(digits) if len(digits) > MAX_DIGITS else int(digits)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON")
