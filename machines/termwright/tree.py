"""The types of a semantic tree: snapshots, nodes, observations and rectangles, with the few questions that everybody asks of them.

All are frozen structs whose arrays are tuples; optional fields that are not there are msgspec.UNSET. Only `extended` and `px` hold plain
dicts, made by the decoder and shared with nobody. termwright/3, snapshot and observations.
"""

from __future__ import annotations

from ...generated.termwright.models import (
    Absent,
    BooleanObservation,
    CoordinateSpaceObservation,
    Cursor,
    Evidence,
    FieldProvenance,
    Geometry,
    HitGrid,
    HitGridObservation,
    HitRect,
    HitRegion,
    InputRecipe,
    InsertActionValueStep,
    KnownBoolean,
    KnownCoordinateSpace,
    KnownHitGrid,
    KnownPaintedRegion,
    KnownRect,
    KnownScroll,
    Node,
    NodeState,
    PaintedRegion,
    PaintedRegionObservation,
    PressStep,
    ProviderAvailable,
    ProviderEvidence,
    ProviderLost,
    ProviderViolation,
    Rect,
    RectObservation,
    ScrollObservation,
    ScrollState,
    SemanticValueObservation,
    Snapshot,
    Span,
    TextRange,
    Unknown,
    Unsupported,
    ValueAbsent,
    ValueKnown,
    ValueUnsupported,
    ValueWithheld,
)
from ...generated.termwright.vocabulary import COORDINATE_SPACE as COORDINATE_SPACES
from ...generated.termwright.vocabulary import PROVENANCE_SOURCE as PROVENANCE_SOURCES
from .viewport import Clipped, clip

__all__ = [
    "COORDINATE_SPACES",
    "OBSERVATION_STATUSES",
    "PROVENANCE_SOURCES",
    "Absent",
    "BooleanObservation",
    "Clipped",
    "CoordinateSpaceObservation",
    "Cursor",
    "Evidence",
    "FieldProvenance",
    "Geometry",
    "HitGrid",
    "HitGridObservation",
    "HitRect",
    "HitRegion",
    "InputRecipe",
    "InsertActionValueStep",
    "KnownBoolean",
    "KnownCoordinateSpace",
    "KnownHitGrid",
    "KnownPaintedRegion",
    "KnownRect",
    "KnownScroll",
    "Node",
    "NodeState",
    "PaintedRegion",
    "PaintedRegionObservation",
    "PressStep",
    "ProviderAvailable",
    "ProviderEvidence",
    "ProviderLost",
    "ProviderViolation",
    "Rect",
    "RectObservation",
    "ScrollObservation",
    "ScrollState",
    "SemanticValueObservation",
    "Snapshot",
    "Span",
    "TextRange",
    "Unknown",
    "Unsupported",
    "ValueAbsent",
    "ValueKnown",
    "ValueUnsupported",
    "ValueWithheld",
    "clip",
    "intersection",
    "status_of",
]

#: What an observation may be; a semantic value can be `withheld` as well.
OBSERVATION_STATUSES = ("known", "absent", "unknown", "unsupported")

_STATUS: dict[type, str] = {
    kind: str(kind.__struct_config__.tag)
    for kind in (
        *(KnownBoolean, KnownRect, KnownCoordinateSpace, KnownHitGrid, KnownScroll, KnownPaintedRegion, ValueKnown),
        *(Absent, ValueAbsent, Unknown, Unsupported, ValueUnsupported, ValueWithheld),
    )
}


def status_of(observation: object) -> str:
    """The status word of any observation struct. Raises KeyError for what is none."""
    return _STATUS[type(observation)]


def intersection(first: Rect, second: Rect) -> Rect:
    """What two half-open rectangles share. Where they only touch, or lie apart, it is empty: its width or height is 0."""
    row, column = max(first.row, second.row), max(first.column, second.column)
    return Rect(
        row=row,
        column=column,
        width=max(min(first.column + first.width, second.column + second.width) - column, 0),
        height=max(min(first.row + first.height, second.row + second.height) - row, 0),
    )
