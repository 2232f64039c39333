"""The probe IR: what a framework probe hands to its adapter for one frame, and the vocabularies of what a probe says about itself.

A probe runs inside the program under test, so its frames are checked like anything from a peer. They never cross the wire. An adapter calls
`validate_probe_frame` for a frame, and `validate_annotations` for one annotation that application code attached, so that only a bad
annotation is left out. termwright/3, probe IR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NoReturn, cast

from msgspec import UNSET, Struct, structs
from msgspec.json import encode

from ...errors import RemoteProtocolError
from ...generated.termwright.models import (
    Instrumentation,
    ProbeAccessibility,
    ProbeAnnotations,
    ProbeFrame,
    ProbeGeometry,
    ProbeIdentity,
    ProbeInfo,
    ProbeObject,
    ProbeOperation,
    ProbeState,
)
from ...generated.termwright.vocabulary import DEGRADED_CAPABILITY as DEGRADED_CAPABILITIES
from ...generated.termwright.vocabulary import IDENTITY_KIND as IDENTITY_KINDS
from ...generated.termwright.vocabulary import INJECTION_TIER as INJECTION_TIERS
from ...generated.termwright.vocabulary import PROBE_CAPABILITY as PROBE_CAPABILITIES
from ...generated.termwright.vocabulary import PROVENANCE_SOURCE as PROVENANCE_SOURCES
from ...generated.termwright.vocabulary import SEMANTIC_CLASS as SEMANTIC_CLASSES
from ...generated.termwright.vocabulary import UNOBSERVABLE_FIELD as UNOBSERVABLE_FIELDS
from ..wire.read import Reader
from ..wire.text import TERMWRIGHT
from .limits import DEFAULT_LIMITS
from .projection import project

__all__ = [
    "DEGRADED_CAPABILITIES",
    "IDENTITY_KINDS",
    "INJECTION_TIERS",
    "PROBE_CAPABILITIES",
    "PROVENANCE_SOURCES",
    "SEMANTIC_CLASSES",
    "UNOBSERVABLE_FIELDS",
    "Instrumentation",
    "ProbeAccessibility",
    "ProbeAnnotations",
    "ProbeFrame",
    "ProbeGeometry",
    "ProbeIdentity",
    "ProbeInfo",
    "ProbeObject",
    "ProbeOperation",
    "ProbeState",
    "validate_annotations",
    "validate_probe_frame",
]

FRAMES: Final[Reader[ProbeFrame]] = Reader("termwright", "ProbeFrame", TERMWRIGHT)


def validate_probe_frame(value: object, limits: Mapping[str, int] = DEFAULT_LIMITS) -> ProbeFrame:
    """The frame in a plain value. The first failure wins: projection, size, shape, repeated identities, then object by object.

    Raises RemoteProtocolError: `depth`, `bytes`, `schema`, `bad-rect` (a rectangle's shape), `revision` (the frame number), `count`,
    `duplicate-id` (an identity, or an unobservable field), `missing-parent`, `cycle` (an object that is its own parent).
    """
    try:
        plain = project(value, limits["maxDepth"])
    except RemoteProtocolError as fault:
        _fail("depth" if fault.code == "dto-depth" else "schema", fault.detail, fault.path)
    size = len(encode(plain))
    if size > limits["maxSnapshotBytes"]:
        _fail("bytes", f"{size} bytes; the ceiling is {limits['maxSnapshotBytes']}")
    frame = FRAMES.read_value(plain, limits)
    known: set[str] = set()
    for index, each in enumerate(frame.objects):
        if each.identity.value in known:
            _fail("duplicate-id", f"identity {each.identity.value!r} appears twice", f"objects.{index}.identity.value")
        known.add(each.identity.value)
    for index, each in enumerate(frame.objects):
        _check_object(each, known, f"objects.{index}")
    return frame


def validate_annotations(value: object, limits: Mapping[str, int] = DEFAULT_LIMITS) -> ProbeAnnotations:
    """One object's annotations in a plain value, under the rules that they have inside a frame. Raises RemoteProtocolError."""
    bearer = {"identity": {"kind": "stable", "value": "annotated"}, "frameworkType": "annotated", "annotations": value}
    return cast("ProbeAnnotations", validate_probe_frame({"frame": 1, "objects": [bearer]}, limits).objects[0].annotations)


def _check_object(each: ProbeObject, known: set[str], path: str) -> None:
    if each.parent is not UNSET and each.parent not in known:
        _fail("missing-parent", f"parent {each.parent!r} is no object of this frame", f"{path}.parent")
    if each.parent == each.identity.value:
        _fail("cycle", "an object cannot be its own parent", f"{path}.parent")
    if each.state and each.state.value_sensitivity is not UNSET and each.state.value is UNSET:
        _fail("schema", "a value that was not reported has no sensitivity", f"{path}.state.valueSensitivity")
    fields = each.unobservable or ()
    if len(set(fields)) != len(fields):
        _fail("duplicate-id", "an unobservable field is listed twice", f"{path}.unobservable")
    both = next((name for name in _reported(each) if name in fields), None)
    if both is not None:
        _fail("schema", f"{both} is reported and said to be unobservable", f"{path}.unobservable")


def _reported(each: ProbeObject) -> Iterator[str]:
    """The fields that an object reports, by their names on the wire."""
    for part in (each, each.geometry, each.state):
        if isinstance(part, Struct):
            yield from (field.encode_name for field in structs.fields(part) if getattr(part, field.name) is not UNSET)


def _fail(code: str, detail: str, path: str = "") -> NoReturn:
    raise RemoteProtocolError(code, detail, path)
