"""Decides which variables a program under test gets; the driver calls it. Nothing of the caller's leaks in that is not on a short list."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...generated.termwright.vocabulary import ENDPOINT_VARIABLE, TOKEN_VARIABLE

ALLOWED = ("PATH", "HOME", "LANG", "LC_ALL", "SHELL", "TMPDIR", "USER")
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


def child_environment(
    overrides: Mapping[str, str], *, endpoint: str, token: str, inherit: bool = False, temporary: str | None = None
) -> dict[str, str]:
    """The variables of the child: the allowed ones of ours (all with `inherit`), the terminal's, the caller's, then endpoint and token.

    Without `inherit`, `temporary` is its TMPDIR: a folder that goes with the session, since programs that are ended leave things behind.
    """
    ours = {name: value for name, value in os.environ.items() if inherit or name in ALLOWED}
    own = {"TMPDIR": temporary} if temporary is not None and not inherit else {}
    return {**ours, **own, **TERMINAL, **overrides, ENDPOINT_VARIABLE: endpoint, TOKEN_VARIABLE: token}
