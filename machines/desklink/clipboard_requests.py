"""Decides how a clipboard request is answered, on the local protocol and on the control channel; called by the live session.

They wait side by side with everything else; the clipboard gets them in the order in which they came. A local request fails with the code
`clipboard`, whatever the reason. On the channel, reading that fails is a `clipboard` message with an empty text and the reason, and
writing that fails is rejected with the seq of its message; success is a `clipboard` message in both cases, without an `ack` (desklink v3,
clipboard).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...errors import ProtocolError, RemoteProtocolError
from .clipboard import BUSY, ENDED, NO_CLIPBOARD, NO_PERMISSION, refused
from .effects import Effect, ReadClipboard, SendControl, WriteClipboard
from .input import Clipboard
from .requests import Request, say

MOST_WAITING = 32
"""So many may wait for the clipboard at a time: a client cannot fill the memory of the engine."""

Outcome = tuple[str, bool] | ProtocolError | None
"""What was read and whether it was cut; None after writing; or why it failed."""


@dataclass(frozen=True)
class _Message:
    """A message of the control channel, or of the caller `to` in this process."""

    asked: Clipboard
    to: int | None


class ClipboardRequests:
    """The clipboard requests of one session that are not answered yet. `rejected` counts the messages that were rejected here."""

    def __init__(self, session_id: str, tokens: Iterator[int], *, exists: bool, permitted: bool) -> None:
        self.rejected = 0
        self._session_id = session_id
        self._tokens = tokens
        self._refusal = NO_CLIPBOARD if not exists else "" if permitted else NO_PERMISSION
        self._waiting: dict[int, Request | _Message] = {}

    def ask(self, request: Request, text: str | None) -> list[Effect]:
        """A local request: to write `text` or, when it is None, to read."""
        return self._ask(request, text)

    def ask_by_message(self, asked: Clipboard, to: int | None) -> list[Effect]:
        """A control message that passed all its checks."""
        return self._ask(_Message(asked, to), asked.text)

    def answered(self, token: int, outcome: Outcome) -> list[Effect]:
        """The clipboard was read or written, or could not be."""
        asked = self._waiting.pop(token, None)
        return [] if asked is None else self._answer(asked, outcome)

    def end(self) -> list[Effect]:
        """The session is over."""
        waiting, self._waiting = self._waiting, {}
        return [effect for asked in waiting.values() for effect in self._ended(asked)]

    def _ended(self, asked: Request | _Message) -> list[Effect]:
        if isinstance(asked, Request):
            return say(asked, RemoteProtocolError("session", ENDED))
        # On the channel nothing follows `revoked`.
        rejected = {"kind": "rejected", "seq": asked.asked.seq, "code": "session", "message": ENDED}
        return [] if asked.to is None else [SendControl(self._session_id, rejected, asked.to)]

    def _ask(self, asked: Request | _Message, text: str | None) -> list[Effect]:
        if refusal := self._refusal or (BUSY if len(self._waiting) >= MOST_WAITING else ""):
            return self._answer(asked, refused(refusal))
        token = next(self._tokens)
        self._waiting[token] = asked
        if text is None:
            return [ReadClipboard(self._session_id, token)]
        return [WriteClipboard(self._session_id, token, text)]

    def _answer(self, asked: Request | _Message, outcome: Outcome) -> list[Effect]:
        if isinstance(asked, _Message):
            return [SendControl(self._session_id, self._reply(asked.asked, outcome), asked.to)]
        if isinstance(outcome, ProtocolError):
            return say(asked, outcome)
        return say(asked, {"written": True} if outcome is None else {"text": outcome[0], "truncated": outcome[1]})

    def _reply(self, asked: Clipboard, outcome: Outcome) -> dict[str, Any]:
        text, truncated, error = "", False, {}
        if isinstance(outcome, ProtocolError):
            if asked.text is not None:
                self.rejected += 1
                return {"kind": "rejected", "seq": asked.seq, "code": "operation", "message": outcome.detail}
            error = {"error": outcome.detail}
        elif outcome is not None:
            text, truncated = outcome
        return {"kind": "clipboard", "request": asked.request, "text": text, "truncated": truncated, **error}
