"""What a scenario of the termwright suite is. suite.py lists all of them."""

from __future__ import annotations

from typing import TypeAlias

from .running import ScenarioOf, Tell
from .stage import Lab

__all__ = ["Scenario", "Tell"]

Scenario: TypeAlias = ScenarioOf[Lab]
