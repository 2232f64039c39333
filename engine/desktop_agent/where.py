"""Says which session a command means: by the name that was given, or by its display."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ...adapters.desklink.agent_socket import NAME, session_names
from ...errors import LocalProtocolError, Unavailable


@dataclass(frozen=True)
class Where:
    """A session and, where the command says so, the display that it must be on."""

    name: str
    display: str | None


def which(session: str | None, display: str | None, folder: Path) -> Where:
    """The session that is called `session`, or that of `display`; without both that of $DISPLAY, or the only one that there is.

    Raises LocalProtocolError (usage) for a name that is none, and Unavailable when nothing tells which.
    """
    if session is not None:
        if not NAME.fullmatch(session):
            raise LocalProtocolError("usage", f"{session!a} is no session name: letters, digits, '.', '_' and '-', at most 40")
        return Where(session, display)
    if meant := display or os.environ.get("DISPLAY"):
        return Where("display-" + re.sub(r"[^A-Za-z0-9]+", "-", plain_display(meant)).strip("-")[:30], display)
    there = session_names(folder)
    if len(there) == 1:
        return Where(there[0], None)
    more = f"; sessions that run: {', '.join(there)}" if there else ""
    raise Unavailable(f"DISPLAY is not set{more}", "name a display: --display :0" + (", or a session: --session NAME" if there else ""))


def plain_display(display: str) -> str:
    """A display's name without the number of its screen, when that is 0: `:7.0` is `:7`."""
    return display.removesuffix(".0")
