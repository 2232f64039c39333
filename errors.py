"""Every error that Triptych raises on purpose. This module imports nothing, and opens the documentation.

    TriptychError
    ├── ProtocolError            a rule of a wire protocol was broken: `code`, `path`, `detail`
    │   ├── LocalProtocolError   our caller broke it; nothing was sent
    │   │   └── IllegalEvent     a lifecycle does not allow this event in its present state
    │   └── RemoteProtocolError  the peer broke it; nothing of the message was applied
    ├── Unavailable              this machine cannot do it: `reason`, `remedy`
    └── WaitTimeout              a condition was not met in time: `waited_for`, `seen`

Codes are the protocols' own words and stable: tests, and callers, match on `code`, never on the sentence.
"""

from __future__ import annotations


class TriptychError(Exception):
    """Root of the tree. Catch it to catch everything that Triptych raises on purpose."""


class ProtocolError(TriptychError):
    """A rule of a wire protocol was broken.

    `code` is the protocol's stable word for the refusal, `path` the dotted place in the message ("" for the whole message), and
    `detail` a sentence that says what is wrong and, where there is one, the remedy.
    """

    def __init__(self, code: str, detail: str, path: str = "") -> None:
        super().__init__(f"{code} at {path}: {detail}" if path else f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.path = path


class LocalProtocolError(ProtocolError):
    """Our own caller asked for something that the protocol does not allow. Nothing was sent and nothing has changed."""


class IllegalEvent(LocalProtocolError):
    """A lifecycle does not allow `event` in `state`. Nothing has changed."""

    def __init__(self, lifecycle: str, state: str, event: str, code: str = "illegal-event") -> None:
        super().__init__(code, f"{lifecycle} does not allow {event!r} while {state!r}; nothing has changed", lifecycle)
        self.lifecycle = lifecycle
        self.state = state
        self.event = event


class RemoteProtocolError(ProtocolError):
    """The peer broke the protocol. Nothing of its message was applied."""


class Unavailable(TriptychError):
    """This machine cannot do what was asked. `reason` says why, `remedy` what mends it (one line each)."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason} ({remedy})" if remedy else reason)
        self.reason = reason
        self.remedy = remedy


class WaitTimeout(TriptychError):
    """A condition was not met in time. `waited_for` names the condition, `seen` what was there instead."""

    def __init__(self, waited_for: str, seen: str = "") -> None:
        super().__init__(f"timed out waiting for {waited_for}" + (f"; seen instead: {seen}" if seen else ""))
        self.waited_for = waited_for
        self.seen = seen
