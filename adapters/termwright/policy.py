"""What a terminal grants the program that runs in it beyond drawing: which questions it answers, and what of the clipboard it lets through.

The emulator asks; callers choose with `launch(policy=…)`. The clipboard is never read for a program, and pictures are never stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: What programs ask of a terminal, and the shape of each answer.
_ANSWERS = {
    "attributes": rb"\x1b\[[?>=][\d;]*c|\x1bP!\|.*",  # DA1, DA2, DA3
    "status": rb"\x1b\[\??[\d;]*[nR]",  # DSR and the cursor's position
    "modes": rb"\x1b\[\??[\d;]*\$y|\x1bP[01]\$r.*",  # DECRQM and DECRQSS
    "colors": rb"\x1b\](?:4|1\d);.*",
    "size": rb"\x1b\[(?:4|6|8|48)[;:\d]*t",
    "version": rb"\x1bP>\|.*",  # XTVERSION
    "keyboard": rb"\x1b\[\?\d*u",  # the kitty keyboard flags
    "capabilities": rb"\x1bP[01]\+r.*",  # XTGETTCAP
}
_PATTERNS = {name: re.compile(pattern, re.DOTALL) for name, pattern in _ANSWERS.items()}

#: The names of all questions.
QUESTIONS = frozenset(_ANSWERS)


@dataclass(frozen=True)
class Policy:
    """What one terminal grants.

    `answers`: the questions that are answered, of `QUESTIONS`; an empty set is a terminal that never speaks.
    `clipboard_bytes`: a program may set the clipboard (OSC 52) to at most so many bytes of text; 0 lets it set nothing. Reading is denied.
    `grapheme_clusters`: start with mode 2027 on, in which ZWJ sequences and VS16 join into one wide cell; a program can switch it itself.
    """

    answers: frozenset[str] = QUESTIONS
    clipboard_bytes: int = 0
    grapheme_clusters: bool = False

    def __post_init__(self) -> None:
        """Refuse names that are no questions, which would be answered by silence, and a number of bytes that is none."""
        if type(self.clipboard_bytes) is not int or self.clipboard_bytes < 0:
            raise ValueError(f"clipboard_bytes is a number of bytes, 0 or more, not {self.clipboard_bytes!r}")
        unknown = sorted(set(self.answers) - QUESTIONS)
        if unknown:
            raise ValueError(f"no such questions: {', '.join(unknown)}; there are {', '.join(sorted(QUESTIONS))}")

    def permits(self, answer: bytes) -> bool:
        """Whether the terminal may send this answer. One that belongs to no question of ours is the terminal's own refusal, and sent."""
        kind = next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(answer)), None)
        return bool(self.answers) if kind is None else kind in self.answers
