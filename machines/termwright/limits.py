"""The ceilings of a session: what a driver grants by default, and what neither side ever goes beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...errors import LocalProtocolError
from ...generated.termwright import vocabulary

DEFAULT_LIMITS: Final[Mapping[str, int]] = vocabulary.DEFAULT_LIMITS
ABSOLUTE_LIMITS: Final[Mapping[str, int]] = vocabulary.ABSOLUTE_LIMITS


def clamp(limits: Mapping[str, int]) -> dict[str, int]:
    """The eleven ceilings, none above the absolute one: a driver's grant may be read wider than the protocol allows, never used wider."""
    return {name: min(limits[name], ceiling) for name, ceiling in ABSOLUTE_LIMITS.items()}


def grant(changes: Mapping[str, int]) -> dict[str, int]:
    """What a driver grants: the defaults with these changes, up to the absolute ceilings.

    Raises `LocalProtocolError` (`invalid-limits`, path the key) for a name that is no ceiling and for what is no positive whole number.
    """
    for name, value in changes.items():
        if name not in DEFAULT_LIMITS:
            raise LocalProtocolError("invalid-limits", f"there is no limit {name!r}; there are {', '.join(DEFAULT_LIMITS)}", str(name))
        if type(value) is not int or value <= 0:
            raise LocalProtocolError("invalid-limits", f"a limit is a positive whole number, not {value!r}", name)
    return clamp({**DEFAULT_LIMITS, **changes})
