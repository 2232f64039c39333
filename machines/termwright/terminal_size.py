"""Which sizes a terminal may have. Asked before a terminal is made or resized, so that no other layer meets a size it cannot hold."""

from __future__ import annotations

from typing import Final

from ...errors import LocalProtocolError

#: The most columns, and the most rows: beyond any screen, and small enough to keep copies of.
MAX_CELLS: Final = 1000


def check_size(columns: int, rows: int) -> None:
    """Raise `LocalProtocolError` (`terminal-size`, path `columns` or `rows`) unless both are from 1 to 1000."""
    for name, cells in (("columns", columns), ("rows", rows)):
        if type(cells) is not int or not 1 <= cells <= MAX_CELLS:
            raise LocalProtocolError("terminal-size", f"a terminal has from 1 to {MAX_CELLS} {name}, not {cells!r}", name)
