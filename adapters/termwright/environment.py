"""The environment of a program under test: an allow-list by default, so that nothing of the caller's leaks into what is tested."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...generated.termwright.vocabulary import ENDPOINT_VARIABLE, TOKEN_VARIABLE

ALLOWED = ("PATH", "HOME", "LANG", "LC_ALL", "SHELL", "TMPDIR", "USER")
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


def child_environment(overrides: Mapping[str, str], *, endpoint: str, token: str, inherit: bool = False) -> dict[str, str]:
    """The variables of the child: the allowed ones of ours (all with `inherit`), the terminal's, the caller's, then endpoint and token."""
    ours = {name: value for name, value in os.environ.items() if inherit or name in ALLOWED}
    return {**ours, **TERMINAL, **overrides, ENDPOINT_VARIABLE: endpoint, TOKEN_VARIABLE: token}
