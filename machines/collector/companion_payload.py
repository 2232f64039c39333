"""Reads the body of a companion's report, and refuses it with the protocol's own sentence; the intake hands it every body.

The shape is the schema's, whether a URL is canonical included: the rule is a conservative one in pure Python, so that intake, schema
command and conformance checks refuse the same. It takes no URL that a WHATWG parser would write otherwise, which a test holds against one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from ...errors import RemoteProtocolError
from ...generated.collector.models import BrowserPayload, CompanionPayload
from ...generated.collector.vocabulary import INTAKE_SENTENCES, MAX_COMPANION_TITLE_UNITS
from ..wire.faults import UnknownKey
from ..wire.read import Reader
from ..wire.text import COMPANION, FAULT_KINDS
from .unknown_fields import UNKNOWN_FIELD, UnknownFields

COMPANION_PAYLOADS: Reader[CompanionPayload] = Reader(
    "collector", "CompanionPayload", replace(COMPANION, codes=dict.fromkeys(FAULT_KINDS, "malformed-json"))
)


def read(body: bytes, unknown_fields: UnknownFields) -> CompanionPayload:
    """The payload of one report. Raises RemoteProtocolError whose `detail` is the sentence to answer; nothing is counted then."""
    try:
        payload, unknown = COMPANION_PAYLOADS.read_reporting(body)
    except RemoteProtocolError as error:
        # An array is an object to JavaScript, one that names no source.
        array = error.code == "payload-required" and body.lstrip(b"\t\n\r ").startswith(b"[")
        _refuse("source" if array else error.code, error.path)
    try:
        unknown_fields.take(unknown)
    except RemoteProtocolError as error:
        key = error.path.key if isinstance(error.path, UnknownKey) else error.path
        of_app = key != error.path  # the only object inside of one
        place = "a browser payload" if isinstance(payload, BrowserPayload) else "a declared application" if of_app else "an editor payload"
        _refuse(UNKNOWN_FIELD, error.path, place=place, name=key)
    return payload


def cut(text: str) -> str:
    """The first 1,024 UTF-16 code units of a title or name, as JavaScript counts them; never half a character."""
    if len(text) * 2 <= MAX_COMPANION_TITLE_UNITS:
        return text
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * MAX_COMPANION_TITLE_UNITS]
    if len(units) == 2 * MAX_COMPANION_TITLE_UNITS and 0xD8 <= units[-1] <= 0xDB:
        units = units[:-2]
    return units.decode("utf-16-le", "surrogatepass")


def _refuse(code: str, path: str, **words: str) -> NoReturn:
    sentence = INTAKE_SENTENCES[code].format(**{"field": path.rpartition(".")[2], **words})
    raise RemoteProtocolError(code, sentence, path) from None
