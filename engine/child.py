"""Says how a part of Triptych starts another as a process of its own: the collector, the display keeper."""

from __future__ import annotations

import sys


def triptych_command(*arguments: str) -> list[str]:
    """The command line of `triptych ARGUMENTS...` under this very Python, whatever the path and the current folder are."""
    return [sys.executable, "-P", "-c", "from triptych.engine.__main__ import main; main()", *arguments]
