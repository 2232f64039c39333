"""What a scenario is: some checks, and one run of the program (or several) that answers them. plan.py lists all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .findings import Check, Finding
from .stage import Lab

#: How a scenario tells what one of its checks found.
Tell = Callable[[str, Finding], None]


@dataclass(frozen=True)
class Scenario:
    """`run` tells one finding for each of `checks`; what it leaves out when the adapter fell silent has failed for that reason."""

    checks: tuple[Check, ...]
    run: Callable[[Lab, Tell], Awaitable[None]]
