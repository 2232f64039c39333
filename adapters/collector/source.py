"""What the collector process asks of a desktop, and what it is told: the seam between the process and a platform, or recorded facts.

The process calls one method at a time, but for `detach`, which it calls at any moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...generated.collector.models import Platform
from ...machines.collector.tracking import Application, Describe, Description


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether windows can be read: `trusted`, else the `reason` for a person."""

    trusted: bool
    reason: str = ""


class Source(Protocol):
    """A desktop. Whoever makes one hands it `changed`, to be called when another look is worth while, and `slept`.

    `slept(True)` is called when the machine is going to sleep, `slept(False)` when it is awake again.
    """

    @property
    def platform(self) -> Platform:
        """What kind of desktop it is."""
        ...

    @property
    def broken(self) -> bool:
        """Whether something was lost, so that `availability` has to be asked before the next look."""
        ...

    @property
    def notes(self) -> str:
        """Where it takes its facts from and what it cannot know, for a person; "" for nothing to say."""
        ...

    async def availability(self) -> Availability:
        """Connect where nothing is connected, check what is; answers within about a second and never raises for what is missing."""
        ...

    async def attach(self) -> None:
        """Begin to listen to the desktop where it does not listen already; what fails shows in `broken`."""
        ...

    def detach(self) -> None:
        """Stop listening at once."""
        ...

    async def foreground(self) -> Application | None:
        """The application in front by its possible ids, or None when that is not known."""
        ...

    async def describe(self, asked: Describe) -> Description | None:
        """Read the focused window of the application in front; None when another window was in front afterwards."""
        ...

    async def close(self) -> None:
        """Let everything go."""
        ...
