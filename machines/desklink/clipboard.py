"""Decides what of a clipboard's text goes over the wire, and with which words a clipboard request is refused; called by both its ends.

The adapter of the X selection asks it what bytes mean, the engine core how a failure is said. A text has at most 262,144 bytes of UTF-8.
Reading a longer one cuts it between two characters and says so, writing a longer one is refused. Every refusal has the code `clipboard`
on the local protocol (desklink v3, "Clipboard over the local protocol").
"""

from __future__ import annotations

import codecs

from ...errors import RemoteProtocolError
from ...generated.desklink.vocabulary import CLIPBOARD_TIMEOUT_MS, MAX_CLIPBOARD_BYTES

CODE = "clipboard"
SECONDS = CLIPBOARD_TIMEOUT_MS / 1000
"""How long one reading or writing may take."""

NO_PERMISSION = "this session was opened without the clipboard permission"
NO_CLIPBOARD = "this source has no clipboard"
NO_ANSWER = "the desktop clipboard did not answer"
EMPTY = "the desktop clipboard is empty"
NO_TEXT = "the desktop clipboard holds no text"
NOT_UTF8 = "the text on the desktop clipboard is not UTF-8"
BROKEN_OFF = "the program that holds the desktop clipboard broke off"
TAKEN = "another program took the desktop clipboard"
BUSY = "too many clipboard requests are under way"
ENDED = "the session has ended"


def refused(sentence: str) -> RemoteProtocolError:
    """A clipboard request cannot be met, for the reason that the sentence says."""
    return RemoteProtocolError(CODE, sentence)


def encoded(text: str, limit: int = MAX_CLIPBOARD_BYTES) -> bytes:
    """A text that shall go on the clipboard, as UTF-8. Raises RemoteProtocolError (clipboard) above `limit` bytes, or with a surrogate."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise refused("the text has a surrogate, which UTF-8 cannot say") from None
    if len(data) > limit:
        raise refused(f"the text has {len(data)} bytes; the clipboard takes at most {limit}")
    return data


def decoded(data: bytes, limit: int = MAX_CLIPBOARD_BYTES) -> tuple[str, bool]:
    """The text of a clipboard that holds `data`, or at least its first `limit` + 1 bytes; and whether it was cut to `limit` bytes.

    Raises RemoteProtocolError (clipboard) when something before the cut is not UTF-8.
    """
    cut = len(data) > limit
    try:
        # Not final: what the cut left of its last character is dropped, not an error.
        return codecs.getincrementaldecoder("utf-8")().decode(data[:limit], final=not cut), cut
    except UnicodeDecodeError:
        raise refused(NOT_UTF8) from None
