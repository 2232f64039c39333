# Written by `make gen` from schemas/termwright/. Do not edit: change the schema and run `make gen`.
"""The messages of termwright as frozen structs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field


class SemanticDelta(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="semantic-delta"):
    """What changed since the last accepted tree. It is checked when it is applied."""

    delta: Annotated[
        Raw, Meta(description="The delta as it came; any JSON passes here.")
    ]
    """The delta as it came; any JSON passes here."""


ClearableNodeField: TypeAlias = Annotated[
    Literal["parentId", "description", "value", "state", "extended", "actions", "inputRecipes", "labelledBy", "describedBy", "textRanges", "testId", "frameworkType", "opaqueChildren", "p", "px", "scroll", "paintedRegion"],
    Meta(description="An optional field of a node, which a delta can take away."),
]
"""An optional field of a node, which a delta can take away."""


ClearableSnapshotField: TypeAlias = Annotated[
    Literal["cursor", "providerEvidence"],
    Meta(description="An optional field of a snapshot, which a delta can take away."),
]
"""An optional field of a snapshot, which a delta can take away."""


class MarkerSettings(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Whether the adapter marks revisions in the terminal stream."""

    enabled: bool


LogAttribute: TypeAlias = Annotated[str | float | bool, Meta(description="One flat attribute of a log record.")] | None
"""One flat attribute of a log record."""


class InsertActionValueStep(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="insert-action-value"):
    """Type the value that the action carries."""


ExtendedObject: TypeAlias = Annotated[dict[str, Any], Meta(max_length=1024)]
"""A program's own state, free in form."""


class FocusNowhere(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="none"):
    """No node has the focus."""


SafeInt: TypeAlias = Annotated[
    int,
    Meta(
        description="An integer that a JavaScript number holds exactly.",
        ge=-9007199254740991,
        le=9007199254740991,
    ),
]
"""An integer that a JavaScript number holds exactly."""


NonNegativeInt: TypeAlias = Annotated[
    int,
    Meta(description="A safe integer that is zero or more.", ge=0, le=9007199254740991),
]
"""A safe integer that is zero or more."""


PositiveInt: TypeAlias = Annotated[
    int,
    Meta(description="A safe integer that is one or more.", ge=1, le=9007199254740991),
]
"""A safe integer that is one or more."""


Identifier: TypeAlias = Annotated[
    str,
    Meta(
        description="A non-empty identifier of at most 1024 UTF-16 code units.",
        max_length=1024,
        min_length=1,
    ),
]
"""A non-empty identifier of at most 1024 UTF-16 code units."""


ErrorText: TypeAlias = Annotated[
    str,
    Meta(
        description="A sentence for people, of at most 1024 UTF-16 code units.",
        max_length=1024,
    ),
]
"""A sentence for people, of at most 1024 UTF-16 code units."""


ProviderName: TypeAlias = Annotated[
    str,
    Meta(
        description="The name of an evidence provider, of at most 256 UTF-16 code units.",
        max_length=256,
        min_length=1,
    ),
]
"""The name of an evidence provider, of at most 256 UTF-16 code units."""


Text: TypeAlias = Annotated[
    str, Meta(description="Text whose UTF-8 form fits the negotiated maxStringBytes.")
]
"""Text whose UTF-8 form fits the negotiated maxStringBytes."""


NonEmptyText: TypeAlias = Annotated[
    str,
    Meta(
        description="Text of at least one character whose UTF-8 form fits the negotiated maxStringBytes.",
        min_length=1,
    ),
]
"""Text of at least one character whose UTF-8 form fits the negotiated maxStringBytes."""


NodeRefs: TypeAlias = Annotated[
    tuple[Text, ...],
    Meta(
        description="Ids of other nodes, in the order the program gave them.",
        max_length=1024,
    ),
]
"""Ids of other nodes, in the order the program gave them."""


class Rect(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A rectangle in cells. Its origin may lie outside the viewport."""

    row: SafeInt
    column: SafeInt
    width: NonNegativeInt
    height: NonNegativeInt


class HitRect(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One run of cells in one row."""

    row: NonNegativeInt
    column: NonNegativeInt
    width: PositiveInt
    height: Literal[1]


class HitRegion(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The node that receives the pointer in one run of cells."""

    rect: HitRect
    recipient_id: Text = field(name="recipientId")


class HitGrid(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """All pointer runs of the viewport, row-major and without overlap."""

    regions: Annotated[tuple[HitRegion, ...], Meta(max_length=50000)]


class Span(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A half-open run of painted cells in one row."""

    row: NonNegativeInt
    from_: Annotated[NonNegativeInt, Meta(description="The first column of the run.")] = field(
        name="from"
    )
    """The first column of the run."""
    to: Annotated[
        PositiveInt, Meta(description="The column after the last one of the run.")
    ]
    """The column after the last one of the run."""


Spans: TypeAlias = Annotated[
    tuple[Span, ...],
    Meta(description="Painted runs, row-major and without overlap.", max_length=50000),
]
"""Painted runs, row-major and without overlap."""


class PaintedRegion(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The cells that a node painted."""

    region_bounds: Rect = field(name="regionBounds")
    spans: Spans


Role: TypeAlias = Annotated[
    Literal["application", "region", "dialog", "alert", "status", "list", "listitem", "menu", "menuitem", "button", "checkbox", "radio", "tab", "textbox", "heading", "text", "progressbar", "separator", "scrollbar", "table", "row", "cell", "generic"],
    Meta(description="What a node is, in the protocol's own 23 words."),
]
"""What a node is, in the protocol's own 23 words."""


Action: TypeAlias = Annotated[
    Literal["focus", "activate", "toggle", "setValue", "scroll", "select", "expand"],
    Meta(description="What a node says can be done to it."),
]
"""What a node says can be done to it."""


RecipeAction: TypeAlias = Annotated[
    Literal["focus", "activate", "toggle", "setValue"],
    Meta(description="An action that an input recipe can carry out with real keys."),
]
"""An action that an input recipe can carry out with real keys."""


Orientation: TypeAlias = Annotated[
    Literal["horizontal", "vertical"], Meta(description="Which way a node extends.")
]
"""Which way a node extends."""


Axis: TypeAlias = Annotated[
    Literal["vertical", "horizontal"], Meta(description="The direction of a scroll.")
]
"""The direction of a scroll."""


CursorShape: TypeAlias = Annotated[
    Literal["block", "underline", "bar"],
    Meta(description="What the text cursor looks like."),
]
"""What the text cursor looks like."""


CoordinateSpace: TypeAlias = Annotated[
    Literal["viewport-cells", "framework-local-cells"],
    Meta(
        description="What the rectangles of a snapshot are measured in; only viewport cells can be clicked."
    ),
]
"""What the rectangles of a snapshot are measured in; only viewport cells can be clicked."""


ProvenanceSource: TypeAlias = Annotated[
    Literal["annotation", "recognizer", "framework", "application", "correlation", "heuristic"],
    Meta(description="Where a semantic fact came from."),
]
"""Where a semantic fact came from."""


EvidenceSource: TypeAlias = Annotated[
    Literal["framework", "application", "terminal", "recognizer", "driver"],
    Meta(description="Who observed a fact."),
]
"""Who observed a fact."""


EvidenceMethod: TypeAlias = Annotated[
    Literal["native", "instrumented", "declared", "correlated", "measured", "derived", "heuristic"],
    Meta(description="How a fact was observed."),
]
"""How a fact was observed."""


EvidenceStrength: TypeAlias = Annotated[
    Literal["authoritative", "diagnostic"],
    Meta(description="Whether a fact decides, or only hints."),
]
"""Whether a fact decides, or only hints."""


AbsentReason: TypeAlias = Annotated[
    Literal["detached", "not-displayed", "not-laid-out"],
    Meta(description="Why a fact is known not to exist."),
]
"""Why a fact is known not to exist."""


ValueAbsentReason: TypeAlias = Annotated[
    Literal["detached", "not-displayed", "not-laid-out", "no-value"],
    Meta(description="Why a node is known to have no value."),
]
"""Why a node is known to have no value."""


UnknownReason: TypeAlias = Annotated[
    Literal["awaiting-revision-pair", "provider-refresh", "stale-revision"],
    Meta(description="Why a fact is not settled yet."),
]
"""Why a fact is not settled yet."""


UnsupportedReason: TypeAlias = Annotated[
    Literal["capability", "framework-unobservable", "not-negotiated"],
    Meta(description="Why a session can never know a fact."),
]
"""Why a session can never know a fact."""


WithheldReason: TypeAlias = Annotated[
    Literal["sensitive", "artifact-policy", "provider-policy"],
    Meta(description="Why a value is kept back."),
]
"""Why a value is kept back."""


Sensitivity: TypeAlias = Annotated[
    Literal["public", "sensitive"], Meta(description="Whether a value may be shown.")
]
"""Whether a value may be shown."""


AdapterCapability: TypeAlias = Annotated[
    Literal["tree", "intended-geometry", "clipped-geometry", "states", "focus-state", "actions", "action-recipes", "text-ranges", "render-revisions", "logs", "pointer-hit-grid", "incremental-tree"],
    Meta(description="What an adapter announces that it can deliver."),
]
"""What an adapter announces that it can deliver."""


ProbeCapability: TypeAlias = Annotated[
    Literal["stable-identity", "intended-rect", "visible-rect", "operations", "annotations", "frame-begin", "paint-order"],
    Meta(description="What a framework probe can observe."),
]
"""What a framework probe can observe."""


ProviderCapability: TypeAlias = Annotated[
    Literal["pointer-regions", "hit-test", "focus-state", "action-recipes", "scroll-state", "painted-regions", "terminal-input-modes"],
    Meta(description="What an evidence provider delivers with each revision."),
]
"""What an evidence provider delivers with each revision."""


ProviderMethod: TypeAlias = Annotated[
    Literal["native", "declared"],
    Meta(description="How an evidence provider knows what it says."),
]
"""How an evidence provider knows what it says."""


ProviderEvidenceMethod: TypeAlias = Annotated[
    Literal["native", "instrumented", "declared"],
    Meta(description="How a provider's evidence was observed."),
]
"""How a provider's evidence was observed."""


IdentityKind: TypeAlias = Annotated[
    Literal["stable", "frame-local"],
    Meta(description="Whether an identity outlives its frame."),
]
"""Whether an identity outlives its frame."""


InjectionTier: TypeAlias = Annotated[
    Literal["T0", "T1", "T2", "T3"],
    Meta(description="How deeply a probe is injected into its framework."),
]
"""How deeply a probe is injected into its framework."""


SemanticClass: TypeAlias = Annotated[
    Literal["A", "B"],
    Meta(
        description="Class A has a tree and geometry, class B a tree without geometry."
    ),
]
"""Class A has a tree and geometry, class B a tree without geometry."""


DegradedCapability: TypeAlias = Annotated[
    Literal["semantic-tree", "stable-identity", "intended-geometry", "clipped-geometry", "painted-region", "pointer-geometry", "pointer-hit-testing", "focus", "scroll", "render-order", "action-strategies", "keyboard-input", "pointer-input", "focus-input", "paired-revisions", "inactive-screen-tree", "custom-container-enumeration"],
    Meta(
        description="What a probe delivers only in part: the session capabilities and two that only a probe has."
    ),
]
"""What a probe delivers only in part: the session capabilities and two that only a probe has."""


MouseTracking: TypeAlias = Annotated[
    Literal["none", "x10", "vt200", "drag", "any"],
    Meta(description="Which mouse events a program asked its terminal for."),
]
"""Which mouse events a program asked its terminal for."""


MouseEncoding: TypeAlias = Annotated[
    Literal["default", "sgr", "urxvt", "utf8"],
    Meta(description="How a program wants mouse events encoded."),
]
"""How a program wants mouse events encoded."""


FocusReporting: TypeAlias = Annotated[
    Literal["on", "off"], Meta(description="Whether a program asked for focus events.")
]
"""Whether a program asked for focus events."""


ProbeOperationKind: TypeAlias = Annotated[
    Literal["render", "layout"],
    Meta(description="What a framework did in one step of a frame."),
]
"""What a framework did in one step of a frame."""


UnobservableField: TypeAlias = Annotated[
    Literal["focused", "disabled", "checked", "expanded", "readonly", "selected", "busy", "multiline", "required", "multiselectable", "displayed", "value", "selectedIndex", "textSelection", "scroll", "scrollExtent", "intendedRect", "visibleRect", "paintOrder", "text", "parent"],
    Meta(description="A field that a probe says it cannot observe on one object."),
]
"""A field that a probe says it cannot observe on one object."""


ResyncReason: TypeAlias = Annotated[
    Literal["base-mismatch", "missing-base", "driver-reset"],
    Meta(description="Why a driver asks for a whole tree."),
]
"""Why a driver asks for a whole tree."""


LogLevel: TypeAlias = Annotated[
    Literal["trace", "debug", "info", "warn", "error", "fatal"],
    Meta(description="How grave a log record is."),
]
"""How grave a log record is."""


WireErrorCode: TypeAlias = Annotated[
    Literal["bad-token", "bad-version", "malformed", "limit-exceeded", "duplicate-semantic-key", "adapter-guarantee-violation", "capability-provider-violation", "internal"],
    Meta(
        description="The stable codes of an error message; its sender closes afterwards."
    ),
]
"""The stable codes of an error message; its sender closes afterwards."""


class AdapterInfo(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Which adapter speaks."""

    name: Identifier
    version: Identifier


class Instrumentation(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How deeply the probe sees into the framework."""

    highest_tier: InjectionTier = field(name="highestTier")
    semantic_class: SemanticClass = field(name="semanticClass")
    degraded_capabilities: Annotated[tuple[DegradedCapability, ...], Meta(max_length=17)] = (
        field(name="degradedCapabilities")
    )


class ProbeInfo(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What a framework probe announces about itself."""

    framework: Annotated[str, Meta(max_length=128, min_length=1)]
    framework_version: Annotated[str, Meta(max_length=128)] | UnsetType = field(
        name="frameworkVersion", default=UNSET
    )
    probe_version: Annotated[str, Meta(max_length=128, min_length=1)] = field(
        name="probeVersion"
    )
    identity_kind: IdentityKind = field(name="identityKind")
    capabilities: Annotated[tuple[ProbeCapability, ...], Meta(max_length=7)]
    instrumentation: Instrumentation


class ProviderInfo(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """An evidence provider that will speak with each revision."""

    id: Identifier
    version: Identifier
    method: ProviderMethod
    capabilities: Annotated[tuple[ProviderCapability, ...], Meta(max_length=7, min_length=1)]


class Hello(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="hello"):
    """The first message of an adapter."""

    protocol: Literal["termwright/3"]
    token: Identifier
    adapter: AdapterInfo
    capabilities: Annotated[tuple[AdapterCapability, ...], Meta(max_length=12)]
    probe: ProbeInfo | UnsetType = UNSET
    providers: Annotated[tuple[ProviderInfo, ...], Meta(max_length=64)] | UnsetType = UNSET


class RevisionCommit(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="revision-commit"):
    """The frame of a revision is complete."""

    revision: PositiveInt


class FrameBegin(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="frame-begin"):
    """The program starts to draw a revision."""

    revision: PositiveInt


class AdapterError(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="error"):
    """The adapter gives up and closes."""

    code: WireErrorCode
    message: ErrorText


class LogBudget(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How much an adapter may log."""

    enabled: bool
    max_records_per_second: PositiveInt = field(name="maxRecordsPerSecond")
    burst: NonNegativeInt


class SemanticResyncRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="semantic-resync-request"):
    """The driver asks for a whole tree."""

    session_id: Identifier = field(name="sessionId")
    expected_base_revision: PositiveInt | None = field(name="expectedBaseRevision")
    reason: ResyncReason


class DriverError(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="error"):
    """The driver refuses and closes."""

    code: WireErrorCode
    message: ErrorText


class Limits(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The ceilings of a session. The driver alone decides them, and never above the absolute ones."""

    max_frame_bytes: Annotated[PositiveInt, Meta(description="Bytes of one frame's JSON body.")] = field(
        name="maxFrameBytes"
    )
    """Bytes of one frame's JSON body."""
    max_snapshot_bytes: Annotated[PositiveInt, Meta(description="Bytes of one snapshot or delta, its envelope included.")] = field(
        name="maxSnapshotBytes"
    )
    """Bytes of one snapshot or delta, its envelope included."""
    max_nodes: Annotated[PositiveInt, Meta(description="Nodes of a tree, and entries of its roots, hit regions, spans, provider lists and delta operations.")] = field(
        name="maxNodes"
    )
    """Nodes of a tree, and entries of its roots, hit regions, spans, provider lists and delta operations."""
    max_depth: Annotated[PositiveInt, Meta(description="Depth of a tree; a root is at depth 1.")] = field(
        name="maxDepth"
    )
    """Depth of a tree; a root is at depth 1."""
    max_string_bytes: Annotated[PositiveInt, Meta(description="UTF-8 bytes of one string.")] = field(
        name="maxStringBytes"
    )
    """UTF-8 bytes of one string."""
    max_relation_targets: Annotated[PositiveInt, Meta(description="Entries of a relation, of text ranges, of recipe steps and of a container in extended.")] = field(
        name="maxRelationTargets"
    )
    """Entries of a relation, of text ranges, of recipe steps and of a container in extended."""
    max_queued_frames: Annotated[PositiveInt, Meta(description="Revisions that wait for their other half.")] = field(
        name="maxQueuedFrames"
    )
    """Revisions that wait for their other half."""
    max_pending_waiters: Annotated[PositiveInt, Meta(description="Waits that a driver holds at once.")] = field(
        name="maxPendingWaiters"
    )
    """Waits that a driver holds at once."""
    max_sessions: Annotated[PositiveInt, Meta(description="Sessions that a driver holds at once.")] = field(
        name="maxSessions"
    )
    """Sessions that a driver holds at once."""
    max_log_record_bytes: Annotated[PositiveInt, Meta(description="Bytes of one serialised log record.")] = field(
        name="maxLogRecordBytes"
    )
    """Bytes of one serialised log record."""
    max_log_queue: Annotated[PositiveInt, Meta(description="Log records that a driver keeps.")] = field(
        name="maxLogQueue"
    )
    """Log records that a driver keeps."""


class LogRecord(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One line of a program's log."""

    ts: Annotated[PositiveInt, Meta(description="Milliseconds since the epoch.")]
    """Milliseconds since the epoch."""
    level: LogLevel
    message: Text
    seq: NonNegativeInt
    logger: Text | UnsetType = UNSET
    revision: PositiveInt | UnsetType = UNSET
    attrs: Annotated[dict[str, LogAttribute], Meta(max_length=64)] | UnsetType = UNSET


class Evidence(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Who observed a fact, how, and how far it can be trusted."""

    source: EvidenceSource
    method: EvidenceMethod
    strength: EvidenceStrength
    provider_id: ProviderName = field(name="providerId")


class AuthoritativeEvidence(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Evidence that is authoritative, as absence must be."""

    source: EvidenceSource
    method: EvidenceMethod
    strength: Literal["authoritative"]
    provider_id: ProviderName = field(name="providerId")


class Absent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="absent"):
    """The fact is known not to exist."""

    reason: AbsentReason
    evidence: AuthoritativeEvidence


class Unknown(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="unknown"):
    """The fact is not known now and may be known soon."""

    reason: UnknownReason


class Unsupported(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="unsupported"):
    """The fact can never be known in this session."""

    capability: Text
    reason: UnsupportedReason


class KnownBoolean(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="known"):
    """A known yes or no."""

    value: bool
    evidence: Evidence


class KnownRect(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="known"):
    """A known rectangle."""

    value: Rect
    evidence: Evidence


class KnownCoordinateSpace(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="known"):
    """A known coordinate space."""

    value: CoordinateSpace
    evidence: Evidence


class KnownHitGrid(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="known"):
    """A known hit grid."""

    value: HitGrid
    evidence: Evidence


class KnownPaintedRegion(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="known"):
    """A known painted region."""

    value: PaintedRegion
    evidence: Evidence


BooleanObservation: TypeAlias = Annotated[
    KnownBoolean | Absent | Unknown | Unsupported,
    Meta(description="An observation of a yes or no."),
]
"""An observation of a yes or no."""


RectObservation: TypeAlias = Annotated[
    KnownRect | Absent | Unknown | Unsupported,
    Meta(description="An observation of a rectangle."),
]
"""An observation of a rectangle."""


CoordinateSpaceObservation: TypeAlias = Annotated[
    KnownCoordinateSpace | Absent | Unknown | Unsupported,
    Meta(description="An observation of the coordinate space."),
]
"""An observation of the coordinate space."""


HitGridObservation: TypeAlias = Annotated[
    KnownHitGrid | Absent | Unknown | Unsupported,
    Meta(description="An observation of the pointer hit grid."),
]
"""An observation of the pointer hit grid."""


PaintedRegionObservation: TypeAlias = Annotated[
    KnownPaintedRegion | Absent | Unknown | Unsupported,
    Meta(description="An observation of the cells a node painted."),
]
"""An observation of the cells a node painted."""


class ValueKnown(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="known"):
    """A semantic value that may be shown according to its sensitivity."""

    value: Text
    sensitivity: Sensitivity
    evidence: Evidence


class ValueAbsent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="absent"):
    """The node has no value."""

    reason: ValueAbsentReason
    evidence: AuthoritativeEvidence


class ValueUnsupported(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="unsupported"):
    """The adapter cannot observe values."""

    capability: Literal["semantic-value"]
    reason: UnsupportedReason


class ValueWithheld(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="withheld"):
    """The value exists and is kept back."""

    reason: WithheldReason
    sensitivity: Sensitivity


SemanticValueObservation: TypeAlias = Annotated[
    ValueKnown | ValueAbsent | Unknown | ValueUnsupported | ValueWithheld,
    Meta(description="An observation of what a node holds."),
]
"""An observation of what a node holds."""


class ProbeIdentity(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Which object of the framework it is."""

    kind: IdentityKind
    value: NonEmptyText


class ProbeGeometry(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Where the framework laid an object out, and what of it can be seen."""

    intended_rect: Rect | UnsetType = field(name="intendedRect", default=UNSET)
    visible_rect: Rect | UnsetType = field(name="visibleRect", default=UNSET)


class TextSelection(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The selected run of an object's text."""

    start: NonNegativeInt
    end: NonNegativeInt


class ScrollPosition(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The first row and column that a scrolled object shows."""

    row: NonNegativeInt
    column: NonNegativeInt


class ScrollExtent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How many rows and columns a scrolled object has."""

    rows: NonNegativeInt
    columns: NonNegativeInt


class ProbeState(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What the framework itself knows about an object's state."""

    focused: bool | UnsetType = UNSET
    disabled: bool | UnsetType = UNSET
    checked: Literal["mixed"] | bool | UnsetType = UNSET
    expanded: bool | UnsetType = UNSET
    readonly: bool | UnsetType = UNSET
    selected: bool | UnsetType = UNSET
    busy: bool | UnsetType = UNSET
    multiline: bool | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    multiselectable: bool | UnsetType = UNSET
    displayed: bool | UnsetType = UNSET
    value: Text | UnsetType = UNSET
    value_sensitivity: Sensitivity | UnsetType = field(
        name="valueSensitivity", default=UNSET
    )
    selected_index: NonNegativeInt | UnsetType = field(
        name="selectedIndex", default=UNSET
    )
    text_selection: TextSelection | UnsetType = field(
        name="textSelection", default=UNSET
    )
    scroll: ScrollPosition | UnsetType = UNSET
    scroll_extent: ScrollExtent | UnsetType = field(name="scrollExtent", default=UNSET)


class ProbeAccessibility(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What the framework tells assistive technology, in its own words."""

    role: Text | UnsetType = UNSET
    name: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET


ObjectRefs: TypeAlias = Annotated[
    tuple[NonEmptyText, ...],
    Meta(
        description="Identity values of other objects, in the order the program gave them.",
        max_length=1024,
    ),
]
"""Identity values of other objects, in the order the program gave them."""


class ProbeOperation(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One step of the framework's work on a frame."""

    kind: ProbeOperationKind
    ordinal: NonNegativeInt
    target: (
        Annotated[ProbeIdentity, Meta(description="The object it worked on.")]
        | UnsetType
    ) = UNSET
    """The object it worked on."""
    framework_type: Text | UnsetType = field(name="frameworkType", default=UNSET)
    intended_rect: Rect | UnsetType = field(name="intendedRect", default=UNSET)


class PressStep(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="press"):
    """Press one key."""

    key: NonEmptyText


RecipeStep: TypeAlias = Annotated[
    PressStep | InsertActionValueStep, Meta(description="One real input of a recipe.")
]
"""One real input of a recipe."""


class InputRecipe(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How to carry out one action with real keys."""

    action: RecipeAction
    requires_focus: bool = field(name="requiresFocus")
    steps: Annotated[tuple[RecipeStep, ...], Meta(max_length=1024, min_length=1)]


InputRecipes: TypeAlias = Annotated[
    tuple[InputRecipe, ...],
    Meta(description="At most one recipe for each action.", max_length=4),
]
"""At most one recipe for each action."""


class TextRange(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Where a run of a node's text stands."""

    start_offset: NonNegativeInt = field(name="startOffset")
    end_offset: NonNegativeInt = field(name="endOffset")
    rect: Rect


class NodeState(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The states a node declares. A state that is not there was not declared."""

    disabled: bool | UnsetType = UNSET
    focused: bool | UnsetType = UNSET
    selected: bool | UnsetType = UNSET
    checked: Literal["mixed"] | bool | UnsetType = UNSET
    expanded: bool | UnsetType = UNSET
    modal: bool | UnsetType = UNSET
    busy: bool | UnsetType = UNSET
    hidden: bool | UnsetType = UNSET
    offscreen: bool | UnsetType = UNSET
    readonly: bool | UnsetType = UNSET
    multiline: bool | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    multiselectable: bool | UnsetType = UNSET
    orientation: Orientation | UnsetType = UNSET
    level: PositiveInt | UnsetType = UNSET
    position_in_set: PositiveInt | UnsetType = field(
        name="positionInSet", default=UNSET
    )
    set_size: NonNegativeInt | UnsetType = field(name="setSize", default=UNSET)


class Geometry(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Where a node is meant to be and what of it can be seen."""

    displayed: BooleanObservation
    intended_rect: RectObservation = field(name="intendedRect")
    visible_rect: RectObservation = field(name="visibleRect")


FieldProvenance: TypeAlias = dict[str, ProvenanceSource]
"""Where single fields came from, by field name."""


class Cursor(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Where the text cursor stands."""

    row: NonNegativeInt
    column: NonNegativeInt
    visible: bool
    shape: CursorShape | UnsetType = UNSET


class ProviderEvidenceSource(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Evidence of a provider, which always speaks for the application."""

    source: Literal["application"]
    method: ProviderEvidenceMethod
    strength: Literal["authoritative"]
    provider_id: ProviderName = field(name="providerId")


class ProviderRegion(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The cells of one recipient, as a provider reports them."""

    recipient_id: NonEmptyText = field(name="recipientId")
    region_bounds: Rect = field(name="regionBounds")
    spans: Spans


class InputModes(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The terminal input modes the program has switched on."""

    mouse_tracking: MouseTracking = field(name="mouseTracking")
    mouse_encoding: MouseEncoding = field(name="mouseEncoding")
    focus_reporting: FocusReporting = field(name="focusReporting")


class FocusOnNode(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="focused"):
    """A node has the focus."""

    recipient_id: NonEmptyText = field(name="recipientId")


FocusState: TypeAlias = Annotated[
    FocusOnNode | FocusNowhere, Meta(description="Where a provider says the focus is.")
]
"""Where a provider says the focus is."""


class RecipientRecipes(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The recipes of one recipient."""

    recipient_id: NonEmptyText = field(name="recipientId")
    recipes: InputRecipes


class RecipientScroll(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The scroll position of one recipient."""

    recipient_id: NonEmptyText = field(name="recipientId")
    axis: Axis
    offset: NonNegativeInt
    viewport: NonNegativeInt
    extent: NonNegativeInt


class ProviderAvailable(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="available"):
    """What a provider delivered for this revision."""

    provider_id: Identifier = field(name="providerId")
    session_id: Identifier = field(name="sessionId")
    revision: PositiveInt
    evidence: ProviderEvidenceSource
    pointer_regions: Annotated[tuple[ProviderRegion, ...], Meta(max_length=50000)] = field(
        name="pointerRegions"
    )
    painted_regions: (
        Annotated[tuple[ProviderRegion, ...], Meta(max_length=50000)] | UnsetType
    ) = field(name="paintedRegions", default=UNSET)
    input_modes: InputModes | UnsetType = field(name="inputModes", default=UNSET)
    focus_state: FocusState | UnsetType = field(name="focusState", default=UNSET)
    action_recipes: (
        Annotated[tuple[RecipientRecipes, ...], Meta(max_length=50000)] | UnsetType
    ) = field(name="actionRecipes", default=UNSET)
    scroll_states: (
        Annotated[tuple[RecipientScroll, ...], Meta(max_length=50000)] | UnsetType
    ) = field(name="scrollStates", default=UNSET)
    hit_grid: HitGrid | UnsetType = field(name="hitGrid", default=UNSET)


class ProviderLost(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="lost"):
    """A provider that went away."""

    provider_id: Identifier = field(name="providerId")
    session_id: Identifier = field(name="sessionId")
    revision: PositiveInt
    reason: NonEmptyText


class ProviderViolation(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="violation"):
    """A provider that broke its own contract."""

    provider_id: Identifier = field(name="providerId")
    session_id: Identifier = field(name="sessionId")
    revision: PositiveInt
    reason: NonEmptyText


ProviderEvidence: TypeAlias = Annotated[
    ProviderAvailable | ProviderLost | ProviderViolation,
    Meta(description="What one evidence provider says about this revision."),
]
"""What one evidence provider says about this revision."""


class ScrollState(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How far a node is scrolled along one axis."""

    axis: Axis
    offset: Annotated[
        NonNegativeInt, Meta(description="Cells, or items, before the first one shown.")
    ]
    """Cells, or items, before the first one shown."""
    viewport: Annotated[NonNegativeInt, Meta(description="How much is shown.")]
    """How much is shown."""
    extent: Annotated[NonNegativeInt, Meta(description="How much there is.")]
    """How much there is."""


class Log(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="log"):
    """One log record."""

    record: LogRecord


class SnapshotPatch(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What changes on the snapshot itself."""

    columns: PositiveInt | UnsetType = UNSET
    rows: PositiveInt | UnsetType = UNSET
    cursor: Cursor | UnsetType = UNSET
    root_ids: Annotated[tuple[Text, ...], Meta(max_length=50000)] | UnsetType = field(
        name="rootIds", default=UNSET
    )
    coordinate_space: CoordinateSpaceObservation | UnsetType = field(
        name="coordinateSpace", default=UNSET
    )
    hit_grid: HitGridObservation | UnsetType = field(name="hitGrid", default=UNSET)
    provider_evidence: (
        Annotated[tuple[ProviderEvidence, ...], Meta(max_length=64)] | UnsetType
    ) = field(name="providerEvidence", default=UNSET)
    clear: (
        Annotated[tuple[ClearableSnapshotField, ...], Meta(max_length=2)] | None | UnsetType
    ) = UNSET


class HelloAck(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="hello-ack"):
    """The driver accepts the adapter."""

    protocol: Literal["termwright/3"]
    session_id: Identifier = field(name="sessionId")
    limits: Limits
    subscribe: Literal["semantic"]
    marker: MarkerSettings
    logs: LogBudget | UnsetType = UNSET


DriverMessage: TypeAlias = Annotated[
    HelloAck | SemanticResyncRequest | DriverError,
    Meta(description="Any message from the driver to the adapter."),
]
"""Any message from the driver to the adapter."""


class KnownScroll(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="status", tag="known"):
    """A known scroll position."""

    value: ScrollState
    evidence: Evidence


ScrollObservation: TypeAlias = Annotated[
    KnownScroll | Absent | Unknown | Unsupported,
    Meta(description="An observation of a scroll position."),
]
"""An observation of a scroll position."""


class ProbeAnnotations(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What the program itself declares about an object; the role is free text here."""

    role: Text | UnsetType = UNSET
    name: Text | UnsetType = UNSET
    test_id: Text | UnsetType = field(name="testId", default=UNSET)
    description: Text | UnsetType = UNSET
    extended: ExtendedObject | UnsetType = UNSET
    actions: Annotated[tuple[Action, ...], Meta(max_length=7)] | UnsetType = UNSET
    input_recipes: InputRecipes | UnsetType = field(name="inputRecipes", default=UNSET)
    labelled_by: ObjectRefs | UnsetType = field(name="labelledBy", default=UNSET)
    described_by: ObjectRefs | UnsetType = field(name="describedBy", default=UNSET)


class ProbeObject(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One object of the framework, as the probe sees it."""

    identity: ProbeIdentity
    framework_type: NonEmptyText = field(name="frameworkType")
    parent: (
        Annotated[Text, Meta(description="The identity value of the parent.")]
        | UnsetType
    ) = UNSET
    """The identity value of the parent."""
    geometry: ProbeGeometry | UnsetType = UNSET
    state: ProbeState | UnsetType = UNSET
    text: Text | UnsetType = UNSET
    accessibility: ProbeAccessibility | UnsetType = UNSET
    annotations: ProbeAnnotations | UnsetType = UNSET
    paint_order: SafeInt | UnsetType = field(name="paintOrder", default=UNSET)
    unobservable: (
        Annotated[tuple[UnobservableField, ...], Meta(max_length=21)] | UnsetType
    ) = UNSET


class ProbeFrame(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What a framework probe hands to its adapter for one frame; it never crosses the wire."""

    frame: PositiveInt
    objects: Annotated[tuple[ProbeObject, ...], Meta(max_length=50000)]
    operations: Annotated[tuple[ProbeOperation, ...], Meta(max_length=50000)] | UnsetType = (
        UNSET
    )


class Node(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One element of the semantic tree."""

    id: NonEmptyText
    parent_id: Text | UnsetType = field(name="parentId", default=UNSET)
    role: Role
    name: Text
    description: Text | UnsetType = UNSET
    value: SemanticValueObservation | UnsetType = UNSET
    state: NodeState | UnsetType = UNSET
    extended: ExtendedObject | UnsetType = UNSET
    actions: Annotated[tuple[Action, ...], Meta(max_length=7)] | UnsetType = UNSET
    input_recipes: InputRecipes | UnsetType = field(name="inputRecipes", default=UNSET)
    labelled_by: NodeRefs | UnsetType = field(name="labelledBy", default=UNSET)
    described_by: NodeRefs | UnsetType = field(name="describedBy", default=UNSET)
    text_ranges: Annotated[tuple[TextRange, ...], Meta(max_length=1024)] | UnsetType = field(
        name="textRanges", default=UNSET
    )
    test_id: Text | UnsetType = field(name="testId", default=UNSET)
    framework_type: Text | UnsetType = field(name="frameworkType", default=UNSET)
    opaque_children: bool | UnsetType = field(name="opaqueChildren", default=UNSET)
    p: ProvenanceSource | UnsetType = UNSET
    px: FieldProvenance | UnsetType = UNSET
    geometry: Geometry
    scroll: ScrollObservation | UnsetType = UNSET
    painted_region: PaintedRegionObservation | UnsetType = field(
        name="paintedRegion", default=UNSET
    )


class Snapshot(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The whole semantic tree of a terminal program at one revision."""

    v: Literal[3]
    session_id: Identifier = field(name="sessionId")
    revision: PositiveInt
    columns: PositiveInt
    rows: PositiveInt
    cursor: Cursor | UnsetType = UNSET
    root_ids: Annotated[tuple[Text, ...], Meta(max_length=50000)] = field(name="rootIds")
    nodes: Annotated[tuple[Node, ...], Meta(max_length=50000)]
    coordinate_space: CoordinateSpaceObservation = field(name="coordinateSpace")
    hit_grid: HitGridObservation = field(name="hitGrid")
    provider_evidence: (
        Annotated[tuple[ProviderEvidence, ...], Meta(max_length=64)] | UnsetType
    ) = field(name="providerEvidence", default=UNSET)


class SemanticFull(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="semantic-full"):
    """The whole tree of one revision."""

    snapshot: Snapshot


AdapterMessage: TypeAlias = Annotated[
    Hello | SemanticFull | SemanticDelta | RevisionCommit | FrameBegin | Log | AdapterError,
    Meta(description="Any message from the adapter to the driver."),
]
"""Any message from the adapter to the driver."""


class NodePatch(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """New values of a node's fields; a field that is not there stays as it is, and one that is there is replaced whole."""

    parent_id: Text | UnsetType = field(name="parentId", default=UNSET)
    role: Role | UnsetType = UNSET
    name: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    value: SemanticValueObservation | UnsetType = UNSET
    state: NodeState | UnsetType = UNSET
    extended: ExtendedObject | UnsetType = UNSET
    actions: Annotated[tuple[Action, ...], Meta(max_length=7)] | UnsetType = UNSET
    input_recipes: InputRecipes | UnsetType = field(name="inputRecipes", default=UNSET)
    labelled_by: NodeRefs | UnsetType = field(name="labelledBy", default=UNSET)
    described_by: NodeRefs | UnsetType = field(name="describedBy", default=UNSET)
    text_ranges: Annotated[tuple[TextRange, ...], Meta(max_length=1024)] | UnsetType = field(
        name="textRanges", default=UNSET
    )
    test_id: Text | UnsetType = field(name="testId", default=UNSET)
    framework_type: Text | UnsetType = field(name="frameworkType", default=UNSET)
    opaque_children: bool | UnsetType = field(name="opaqueChildren", default=UNSET)
    p: ProvenanceSource | UnsetType = UNSET
    px: FieldProvenance | UnsetType = UNSET
    geometry: Geometry | UnsetType = UNSET
    scroll: ScrollObservation | UnsetType = UNSET
    painted_region: PaintedRegionObservation | UnsetType = field(
        name="paintedRegion", default=UNSET
    )


class NodeUpdate(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What changes on one node: at least one field to set or to clear, and none in both."""

    id: NonEmptyText
    set: NodePatch | None | UnsetType = UNSET
    clear: (
        Annotated[tuple[ClearableNodeField, ...], Meta(max_length=17)] | None | UnsetType
    ) = UNSET


class Delta(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What changed between two revisions of a tree; a null group is the same as an absent one."""

    v: Literal[3]
    session_id: Identifier = field(name="sessionId")
    revision: Annotated[
        PositiveInt, Meta(description="The revision that the delta makes.")
    ]
    """The revision that the delta makes."""
    base_revision: Annotated[PositiveInt, Meta(description="The revision that the delta is applied to.")] = field(
        name="baseRevision"
    )
    """The revision that the delta is applied to."""
    add_nodes: Annotated[tuple[Node, ...], Meta(max_length=50000)] | None | UnsetType = field(
        name="addNodes", default=UNSET
    )
    update_nodes: (
        Annotated[tuple[NodeUpdate, ...], Meta(max_length=50000)] | None | UnsetType
    ) = field(name="updateNodes", default=UNSET)
    remove_node_ids: (
        Annotated[tuple[NonEmptyText, ...], Meta(max_length=50000)] | None | UnsetType
    ) = field(name="removeNodeIds", default=UNSET)
    snapshot: SnapshotPatch | None | UnsetType = UNSET
