"""Typed protocol violations: every code that termwright/3 has for a refusal, and the exceptions that carry them.

A violation is a `ProtocolViolation`, which is the root's ProtocolError: `code`, `path`, `detail`. `RemoteProtocolError` says that the peer
broke the rule, `LocalProtocolError` that our caller did. termwright/3, error codes.
"""

from __future__ import annotations

from typing import Final

from ...errors import IllegalEvent, LocalProtocolError, RemoteProtocolError
from ...errors import ProtocolError as ProtocolViolation
from ...generated.termwright.vocabulary import DELTA_CODE as DELTA_CODES
from ...generated.termwright.vocabulary import DIAGNOSTIC_CODE as DIAGNOSTIC_CODES
from ...generated.termwright.vocabulary import PROTOCOL_VIOLATION_CODE as PROTOCOL_VIOLATION_CODES
from ...generated.termwright.vocabulary import RUN_TRANSITION_CODE as RUN_TRANSITION_CODES
from ...generated.termwright.vocabulary import VALIDATION_CODE as VALIDATION_CODES
from ...generated.termwright.vocabulary import WIRE_ERROR_CODE as WIRE_ERROR_CODES
from .messages import wire_code

__all__ = [
    "DELTA_CODES",
    "DIAGNOSTIC_CODES",
    "PARSER_CODES",
    "PROTOCOL_VIOLATION_CODES",
    "RUN_TRANSITION_CODES",
    "VALIDATION_CODES",
    "WIRE_ERROR_CODES",
    "IllegalEvent",
    "LocalProtocolError",
    "ProtocolViolation",
    "RemoteProtocolError",
    "wire_code",
]

#: What reading a message may answer, beside the codes of a body that is no JSON text at all.
PARSER_CODES: Final = ("bad-version", "malformed", "limit-exceeded", "capability-provider-violation")
