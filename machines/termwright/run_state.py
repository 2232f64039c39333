"""The closed run lifecycle: fifteen states, nine verdicts, and whether one may become another. Reporters and hosts of test runs use it.

`passed-with-skips` is a verdict of its own: neither `passed` nor `skipped`, and whether it certifies is the host's policy. The chart itself
is `Run`. The words are not on the wire. termwright/3, run states.
"""

from __future__ import annotations

from ...generated.termwright.vocabulary import RUN_TRANSITIONS
from .run import RUN_STATES, VERDICTS, Conclude, Run, validate_transition

__all__ = ["RUN_STATES", "RUN_TRANSITIONS", "VERDICTS", "Conclude", "Run", "is_verdict", "may_become", "validate_transition"]


def is_verdict(state: str) -> bool:
    """Whether a run in `state` is over."""
    return state in VERDICTS


def may_become(source: str, target: str) -> bool:
    """Whether a run in `source` may go to `target`; False for words that are no states, too."""
    return target in RUN_TRANSITIONS.get(source, ())
