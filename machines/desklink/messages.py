"""The ready readers of all that is read on the desklink wires, and the one rule about absent members; used by the cores beside it."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from ...generated.desklink import models
from ..wire.read import Reader
from ..wire.text import CONTROL, DESKLINK

T = TypeVar("T")
D = TypeVar("D")


ENVELOPE: Reader[models.RequestEnvelope] = Reader("desklink", "RequestEnvelope", DESKLINK)
HELLO_PARAMS: Reader[models.HelloParams] = Reader("desklink", "HelloParams", DESKLINK)
OPEN_PARAMS: Reader[models.OpenParams] = Reader("desklink", "OpenParams", DESKLINK)
SESSION_PARAMS: dict[str, Reader[Any]] = {
    "session.description": Reader("desklink", "DescriptionParams", DESKLINK),
    "session.candidate": Reader("desklink", "CandidateParams", DESKLINK),
    "session.restart_ice": Reader("desklink", "SessionParams", DESKLINK),
    "session.frame": Reader("desklink", "FrameParams", DESKLINK),
    "session.feed": Reader("desklink", "FeedParams", DESKLINK),
    "session.clipboard.read": Reader("desklink", "SessionParams", DESKLINK),
    "session.clipboard.write": Reader("desklink", "ClipboardWriteParams", DESKLINK),
    "session.close": Reader("desklink", "SessionParams", DESKLINK),
    "session.point": Reader("desklink", "PointParams", DESKLINK),
}
"""The methods that name a session, and what they carry."""

CONTROL_MESSAGES: Reader[models.ClientControl] = Reader("desklink", "ClientControl", CONTROL)


def given(value: T | UnsetType | None, default: D) -> T | D:
    """The value of an optional member; on this wire null is the same as absent."""
    return default if value is UNSET or value is None else value
