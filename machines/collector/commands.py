"""Reads the lines that a host writes to a collector. What is not understood is ignored whole: never fatal, never half applied.

The collector process calls `parse_command` with each line. The version is never read; a key that a command does not use is never looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..wire.lines import TooLong
from ..wire.text import COLLECTOR_COMMAND, TextFault, parse
from .policy import CollectorPolicy

MAX_COMMAND_BYTES = 1_048_576  # the protocol names no bound for commands; this one only keeps a flood out of memory
MAX_REVISION = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Configure:
    """Put `policy` in force, whole, and acknowledge `revision`."""

    revision: int
    policy: CollectorPolicy


@dataclass(frozen=True, slots=True)
class Pause:
    """Stop making observations."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Make observations again."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End cleanly."""


Command: TypeAlias = Configure | Pause | Resume | Shutdown

_SIMPLE: dict[object, Command] = {"pause": Pause(), "resume": Resume(), "shutdown": Shutdown()}


def parse_command(line: bytes | TooLong) -> Command | None:
    """The command of one line; None when it is not understood, or too long to be kept. A 0x0D before the newline is white space."""
    if isinstance(line, TooLong):
        return None
    try:
        value = parse(line, COLLECTOR_COMMAND)
    except TextFault:
        return None
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        return None
    if kind != "configure":
        return _SIMPLE.get(kind)
    revision, policy = value.get("revision"), value.get("policy")
    # `1.0`, `1e2` and `-0` are read as floats, and true is no number: only an integer token counts here.
    if type(revision) is not int or not 0 <= revision <= MAX_REVISION or not isinstance(policy, dict):
        return None
    return Configure(
        revision,
        CollectorPolicy(
            allowed=_strings(policy.get("allowedBundleIds")),
            blocked=_strings(policy.get("blockedBundleIds")),
            protected=_strings(policy.get("protectedBundleIds")),
            path_patterns=_strings(policy.get("protectedPathPatterns")),
        ),
    )


def _strings(value: object) -> tuple[str, ...]:
    """The strings of an array; what is no array is empty, and members that are no strings are dropped."""
    return tuple(member for member in value if isinstance(member, str)) if isinstance(value, list) else ()
