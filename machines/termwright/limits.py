"""The ceilings of a session: what a driver grants by default, and what neither side ever goes beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...generated.termwright import vocabulary

DEFAULT_LIMITS: Final[Mapping[str, int]] = vocabulary.DEFAULT_LIMITS
ABSOLUTE_LIMITS: Final[Mapping[str, int]] = vocabulary.ABSOLUTE_LIMITS


def clamp(limits: Mapping[str, int]) -> dict[str, int]:
    """The eleven ceilings, none above the absolute one: a driver's grant may be read wider than the protocol allows, never used wider."""
    return {name: min(limits[name], ceiling) for name, ceiling in ABSOLUTE_LIMITS.items()}
