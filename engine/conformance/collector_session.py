"""What one collector said in one run, as the suite understood it, in one order with what was sent to it.

The stage feeds it; the rules look at it. It judges nothing but what belongs to reading.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...errors import RemoteProtocolError
from ...generated.collector.models import CollectorMessage, CollectorState, Configured, Diagnostic, Fatal, Hello, Observation
from ...generated.collector.vocabulary import FIXTURE_CODE
from ...machines.collector.messages import COLLECTOR_MESSAGES
from ...machines.wire.faults import UnknownKey


@dataclass(frozen=True)
class Said:
    """One line. `value` is its JSON object; `message` what a host reads; `fault` why it reads nothing, without any text of a window."""

    place: int
    at: float
    data: bytes
    value: dict[str, Any] | None = None
    message: CollectorMessage | None = None
    fault: str = ""
    unknown: tuple[UnknownKey, ...] = ()


@dataclass(frozen=True)
class Sent:
    """One thing that was sent: a command by its type, "raw" bytes, "eof", or a "step" of the fixture."""

    place: int
    at: float
    kind: str
    revision: int = -1


@dataclass
class Session:
    """One process. `fixture` says that its facts were made up, so that their texts may be quoted."""

    started: float
    started_ms: int
    fixture: bool = False
    said: list[Said] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    ended: bool = False  #: the suite has told it to end
    place: int = 0

    def hear(self, at: float, line: bytes) -> None:
        """Take one line of its output."""
        line = line.removesuffix(b"\r")
        if line:
            self.place += 1
            self.said.append(_read(self.place, at, line))

    def send(self, at: float, kind: str, revision: int = -1) -> int:
        """Note a command; returns its place."""
        self.place += 1
        self.sent.append(Sent(self.place, at, kind, revision))
        return self.place

    @property
    def hello(self) -> Hello | None:
        """The first hello."""
        return next((line.message for line in self.said if isinstance(line.message, Hello)), None)

    def observations(self, after: int = 0) -> list[Said]:
        """The lines that are observations, valid or not, after that place."""
        return [line for line in self.said if line.place > after and (line.value or {}).get("type") == "observation"]

    def valid_observations(self) -> Iterator[tuple[Said, Observation]]:
        """Those that a host can read."""
        return ((line, line.message) for line in self.said if isinstance(line.message, Observation))

    def states(self, after: int = 0) -> list[CollectorState]:
        """The state messages after that place."""
        return [line.message for line in self.said if line.place > after and isinstance(line.message, CollectorState)]

    def acknowledged(self, after: int = 0) -> list[int]:
        """The revisions of the `configured` lines after that place."""
        return [line.message.revision for line in self.said if line.place > after and isinstance(line.message, Configured)]

    def steps(self) -> set[str]:
        """The numbers of the steps of the fixture that it is done with."""
        return {line.message.message for line in self.said if isinstance(line.message, Diagnostic) and line.message.code == FIXTURE_CODE}

    def fatals(self) -> list[Fatal]:
        """Its last words."""
        return [line.message for line in self.said if isinstance(line.message, Fatal)]


def _read(place: int, at: float, line: bytes) -> Said:
    try:
        message, unknown = COLLECTOR_MESSAGES.read_reporting(line)
        line.decode()
    except UnicodeDecodeError:
        return Said(place, at, line, fault="no UTF-8")
    except RemoteProtocolError as refused:
        value = None if refused.code == "invalid-json" else json.loads(line.decode("utf-8", "replace"))
        if not isinstance(value, dict):
            return Said(place, at, line, fault="no JSON object")
        return Said(place, at, line, value, fault=f"{refused.code} at {refused.path or 'the message'}")
    return Said(place, at, line, json.loads(line), message, unknown=unknown)
