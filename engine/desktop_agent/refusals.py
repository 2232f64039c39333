"""Says an error as the daemon's answer has it: a code, a sentence, and what to do about it; used by both ends of the socket."""

from __future__ import annotations

from typing import Any

from ...errors import ProtocolError, Unavailable, WaitTimeout

UNAVAILABLE, TIMEOUT, IO = "unavailable", "timeout", "io"
SUGGESTIONS = {
    "clipboard": "put a text there: triptych desktop clipboard write TEXT",
    "coordinates": "places are pixels of the frame; its size: triptych desktop health",
    "ended": "repeat the command: it starts the session anew",
    "input": "is the display still there? triptych desktop health",
    "other-display": "choose another session: --session NAME, or stop this one: triptych desktop stop",
    "not-found": "see what there is: triptych desktop windows, or diff",
    "permission": "this session only looks: triptych desktop stop, then start without --view-only",
    "session": "start anew: triptych desktop stop, then repeat the command",
    "stale-ref": "look again: triptych desktop diff",
    "text-unsupported": "type it with --unicode, or name keys as in Control+Shift+t, Enter, F5",
    "timeout": "give it longer with --timeout MS, or look: triptych desktop shot",
    "usage": "triptych desktop COMMAND --help",
}


def refusal(error: BaseException) -> dict[str, Any]:
    """The `error` member of an answer."""
    match error:
        case ProtocolError(code=code, detail=detail):
            suggestion = SUGGESTIONS.get(code, "")
            message = detail
        case Unavailable(reason=message, remedy=suggestion):
            code = UNAVAILABLE
        case WaitTimeout():
            code, message, suggestion = TIMEOUT, str(error), SUGGESTIONS[TIMEOUT]
        case OSError():
            code, message, suggestion = IO, f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "), ""
        case _:
            code, message, suggestion = "internal", repr(error), "triptych desktop stop, then repeat the command"
    return {"code": code, "message": message, "suggestion": suggestion}
