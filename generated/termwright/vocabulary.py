# Written by `make gen` from schemas/termwright/. Do not edit: change the schema and run `make gen`.
"""The closed vocabularies, limits and constants of termwright."""

from __future__ import annotations

from typing import Final

CLEARABLE_NODE_FIELD: Final[tuple[str, ...]] = (
    'parentId',
    'description',
    'value',
    'state',
    'extended',
    'actions',
    'inputRecipes',
    'labelledBy',
    'describedBy',
    'textRanges',
    'testId',
    'frameworkType',
    'opaqueChildren',
    'p',
    'px',
    'scroll',
    'paintedRegion',
)
"""An optional field of a node, which a delta can take away."""

CLEARABLE_SNAPSHOT_FIELD: Final[tuple[str, ...]] = ('cursor', 'providerEvidence')
"""An optional field of a snapshot, which a delta can take away."""

ROLE: Final[tuple[str, ...]] = (
    'application',
    'region',
    'dialog',
    'alert',
    'status',
    'list',
    'listitem',
    'menu',
    'menuitem',
    'button',
    'checkbox',
    'radio',
    'tab',
    'textbox',
    'heading',
    'text',
    'progressbar',
    'separator',
    'scrollbar',
    'table',
    'row',
    'cell',
    'generic',
)
"""What a node is, in the protocol's own 23 words."""

ACTION: Final[tuple[str, ...]] = ('focus', 'activate', 'toggle', 'setValue', 'scroll', 'select', 'expand')
"""What a node says can be done to it."""

RECIPE_ACTION: Final[tuple[str, ...]] = ('focus', 'activate', 'toggle', 'setValue')
"""An action that an input recipe can carry out with real keys."""

ORIENTATION: Final[tuple[str, ...]] = ('horizontal', 'vertical')
"""Which way a node extends."""

AXIS: Final[tuple[str, ...]] = ('vertical', 'horizontal')
"""The direction of a scroll."""

CURSOR_SHAPE: Final[tuple[str, ...]] = ('block', 'underline', 'bar')
"""What the text cursor looks like."""

COORDINATE_SPACE: Final[tuple[str, ...]] = ('viewport-cells', 'framework-local-cells')
"""What the rectangles of a snapshot are measured in; only viewport cells can be clicked."""

PROVENANCE_SOURCE: Final[tuple[str, ...]] = ('annotation', 'recognizer', 'framework', 'application', 'correlation', 'heuristic')
"""Where a semantic fact came from."""

EVIDENCE_SOURCE: Final[tuple[str, ...]] = ('framework', 'application', 'terminal', 'recognizer', 'driver')
"""Who observed a fact."""

EVIDENCE_METHOD: Final[tuple[str, ...]] = ('native', 'instrumented', 'declared', 'correlated', 'measured', 'derived', 'heuristic')
"""How a fact was observed."""

EVIDENCE_STRENGTH: Final[tuple[str, ...]] = ('authoritative', 'diagnostic')
"""Whether a fact decides, or only hints."""

ABSENT_REASON: Final[tuple[str, ...]] = ('detached', 'not-displayed', 'not-laid-out')
"""Why a fact is known not to exist."""

VALUE_ABSENT_REASON: Final[tuple[str, ...]] = ('detached', 'not-displayed', 'not-laid-out', 'no-value')
"""Why a node is known to have no value."""

UNKNOWN_REASON: Final[tuple[str, ...]] = ('awaiting-revision-pair', 'provider-refresh', 'stale-revision')
"""Why a fact is not settled yet."""

UNSUPPORTED_REASON: Final[tuple[str, ...]] = ('capability', 'framework-unobservable', 'not-negotiated')
"""Why a session can never know a fact."""

WITHHELD_REASON: Final[tuple[str, ...]] = ('sensitive', 'artifact-policy', 'provider-policy')
"""Why a value is kept back."""

SENSITIVITY: Final[tuple[str, ...]] = ('public', 'sensitive')
"""Whether a value may be shown."""

ADAPTER_CAPABILITY: Final[tuple[str, ...]] = (
    'tree',
    'intended-geometry',
    'clipped-geometry',
    'states',
    'focus-state',
    'actions',
    'action-recipes',
    'text-ranges',
    'render-revisions',
    'logs',
    'pointer-hit-grid',
    'incremental-tree',
)
"""What an adapter announces that it can deliver."""

PROBE_CAPABILITY: Final[tuple[str, ...]] = ('stable-identity', 'intended-rect', 'visible-rect', 'operations', 'annotations', 'frame-begin', 'paint-order')
"""What a framework probe can observe."""

PROVIDER_CAPABILITY: Final[tuple[str, ...]] = (
    'pointer-regions',
    'hit-test',
    'focus-state',
    'action-recipes',
    'scroll-state',
    'painted-regions',
    'terminal-input-modes',
)
"""What an evidence provider delivers with each revision."""

PROVIDER_METHOD: Final[tuple[str, ...]] = ('native', 'declared')
"""How an evidence provider knows what it says."""

PROVIDER_EVIDENCE_METHOD: Final[tuple[str, ...]] = ('native', 'instrumented', 'declared')
"""How a provider's evidence was observed."""

IDENTITY_KIND: Final[tuple[str, ...]] = ('stable', 'frame-local')
"""Whether an identity outlives its frame."""

INJECTION_TIER: Final[tuple[str, ...]] = ('T0', 'T1', 'T2', 'T3')
"""How deeply a probe is injected into its framework."""

SEMANTIC_CLASS: Final[tuple[str, ...]] = ('A', 'B')
"""Class A has a tree and geometry, class B a tree without geometry."""

SESSION_CAPABILITY: Final[tuple[str, ...]] = (
    'semantic-tree',
    'stable-identity',
    'intended-geometry',
    'clipped-geometry',
    'painted-region',
    'pointer-geometry',
    'pointer-hit-testing',
    'focus',
    'scroll',
    'render-order',
    'action-strategies',
    'keyboard-input',
    'pointer-input',
    'focus-input',
    'paired-revisions',
)
"""What a session can guarantee to the one who tests with it."""

DEGRADED_CAPABILITY: Final[tuple[str, ...]] = (
    'semantic-tree',
    'stable-identity',
    'intended-geometry',
    'clipped-geometry',
    'painted-region',
    'pointer-geometry',
    'pointer-hit-testing',
    'focus',
    'scroll',
    'render-order',
    'action-strategies',
    'keyboard-input',
    'pointer-input',
    'focus-input',
    'paired-revisions',
    'inactive-screen-tree',
    'custom-container-enumeration',
)
"""What a probe delivers only in part: the session capabilities and two that only a probe has."""

MOUSE_TRACKING: Final[tuple[str, ...]] = ('none', 'x10', 'vt200', 'drag', 'any')
"""Which mouse events a program asked its terminal for."""

MOUSE_ENCODING: Final[tuple[str, ...]] = ('default', 'sgr', 'urxvt', 'utf8')
"""How a program wants mouse events encoded."""

FOCUS_REPORTING: Final[tuple[str, ...]] = ('on', 'off')
"""Whether a program asked for focus events."""

PROBE_OPERATION_KIND: Final[tuple[str, ...]] = ('render', 'layout')
"""What a framework did in one step of a frame."""

UNOBSERVABLE_FIELD: Final[tuple[str, ...]] = (
    'focused',
    'disabled',
    'checked',
    'expanded',
    'readonly',
    'selected',
    'busy',
    'multiline',
    'required',
    'multiselectable',
    'displayed',
    'value',
    'selectedIndex',
    'textSelection',
    'scroll',
    'scrollExtent',
    'intendedRect',
    'visibleRect',
    'paintOrder',
    'text',
    'parent',
)
"""A field that a probe says it cannot observe on one object."""

RESYNC_REASON: Final[tuple[str, ...]] = ('base-mismatch', 'missing-base', 'driver-reset')
"""Why a driver asks for a whole tree."""

LOG_LEVEL: Final[tuple[str, ...]] = ('trace', 'debug', 'info', 'warn', 'error', 'fatal')
"""How grave a log record is."""

WIRE_ERROR_CODE: Final[tuple[str, ...]] = (
    'bad-token',
    'bad-version',
    'malformed',
    'limit-exceeded',
    'duplicate-semantic-key',
    'adapter-guarantee-violation',
    'capability-provider-violation',
    'internal',
)
"""The stable codes of an error message; its sender closes afterwards."""

PROTOCOL_VIOLATION_CODE: Final[tuple[str, ...]] = (
    'frame-oversized',
    'frame-malformed',
    'frame-encoding',
    'decoder-poisoned',
    'dto-scalar',
    'dto-string',
    'dto-alias',
    'dto-accessor',
    'dto-symbol',
    'dto-prototype',
    'dto-sparse',
    'dto-key',
    'dto-depth',
    'marker-argument',
)
"""What framing, projection and markers refuse with."""

VALIDATION_CODE: Final[tuple[str, ...]] = (
    'schema',
    'unknown-role',
    'duplicate-id',
    'missing-parent',
    'cycle',
    'depth',
    'count',
    'string-bytes',
    'bad-rect',
    'provider',
    'revision',
    'bytes',
)
"""What a snapshot, a log record or a probe frame is refused with."""

DELTA_CODE: Final[tuple[str, ...]] = (
    'schema',
    'unknown-role',
    'duplicate-id',
    'missing-parent',
    'cycle',
    'depth',
    'count',
    'string-bytes',
    'bad-rect',
    'provider',
    'revision',
    'bytes',
    'base-revision',
)
"""What a delta is refused with; base-revision alone asks for a whole tree."""

DIAGNOSTIC_CODE: Final[tuple[str, ...]] = (
    'negotiation-timeout',
    'adapter-attached',
    'adapter-disconnected',
    'adapter-capability',
    'adapter-guarantee-violation',
    'duplicate-semantic-key',
    'revision-commit',
    'revision-superseded',
    'revision-pairing-watchdog',
    'revision-dropped',
    'marker-unverified',
    'protocol-violation',
    'endpoint-error',
    'log-dropped',
)
"""What a driver notes about a session without refusing anything."""

RUN_STATE: Final[tuple[str, ...]] = (
    'requested',
    'collecting',
    'scheduled',
    'running',
    'cancelling',
    'finalizing',
    'passed',
    'passed-with-skips',
    'failed',
    'skipped',
    'cancelled',
    'infrastructure-failed',
    'crashed',
    'incomplete',
    'flaky',
)
"""Where a test run stands."""

RUN_VERDICT: Final[tuple[str, ...]] = (
    'passed',
    'passed-with-skips',
    'failed',
    'skipped',
    'cancelled',
    'infrastructure-failed',
    'crashed',
    'incomplete',
    'flaky',
)
"""How a test run ended; nothing follows."""

RUN_TRANSITION_CODE: Final[tuple[str, ...]] = ('invalid-run-state', 'illegal-run-transition')
"""Why a run transition is refused; not on the wire."""

DEFAULT_LIMITS: Final[dict[str, int]] = {
    'maxFrameBytes': 1048576,
    'maxSnapshotBytes': 2097152,
    'maxNodes': 5000,
    'maxDepth': 64,
    'maxStringBytes': 16384,
    'maxRelationTargets': 64,
    'maxQueuedFrames': 32,
    'maxPendingWaiters': 256,
    'maxSessions': 16,
    'maxLogRecordBytes': 32768,
    'maxLogQueue': 1000,
}

ABSOLUTE_LIMITS: Final[dict[str, int]] = {
    'maxFrameBytes': 8388608,
    'maxSnapshotBytes': 8388608,
    'maxNodes': 50000,
    'maxDepth': 256,
    'maxStringBytes': 262144,
    'maxRelationTargets': 1024,
    'maxQueuedFrames': 256,
    'maxPendingWaiters': 4096,
    'maxSessions': 128,
    'maxLogRecordBytes': 262144,
    'maxLogQueue': 10000,
}

PROTOCOL_VERSION: Final[int] = 3

PROTOCOL_ID: Final = 'termwright/3'

ENDPOINT_VARIABLE: Final = 'TERMWRIGHT_ENDPOINT'

TOKEN_VARIABLE: Final = 'TERMWRIGHT_TOKEN'

FRAME_HEADER_BYTES: Final[int] = 4

PROJECTION_DEPTH: Final[int] = 64

RESERVED_KEYS: Final[tuple[str, ...]] = ('__proto__', 'constructor', 'prototype')

MARKER_OSC_CODE: Final[int] = 8487

MARKER_PREFIX: Final = 'twm;'

MARKER_MAC_BYTES: Final[int] = 16

NEGOTIATION_MS: Final[int] = 2000

HELLO_DEADLINE_MS: Final[int] = 10000

REFUSAL_DRAIN_MS: Final[int] = 1000

PAIRING_WATCHDOG_MS: Final[int] = 1000

MAX_SOCKETS: Final[int] = 4

MAX_LOG_ATTRIBUTES: Final[int] = 64

LOG_RECORDS_PER_SECOND: Final[int] = 200

LOG_BURST: Final[int] = 500

LOG_WINDOW_MS: Final[int] = 250

LOG_SEVERITY: Final[dict[str, int]] = {'trace': 10, 'debug': 20, 'info': 30, 'warn': 40, 'error': 50, 'fatal': 60}

RUN_TRANSITIONS: Final[dict[str, tuple[str, ...]]] = {
    'requested': ('collecting', 'cancelling', 'infrastructure-failed'),
    'collecting': ('scheduled', 'cancelling', 'infrastructure-failed', 'incomplete'),
    'scheduled': ('running', 'cancelling', 'finalizing', 'infrastructure-failed', 'incomplete'),
    'running': ('cancelling', 'finalizing', 'infrastructure-failed', 'crashed', 'incomplete'),
    'cancelling': ('finalizing', 'cancelled', 'infrastructure-failed', 'incomplete'),
    'finalizing': (
        'passed',
        'passed-with-skips',
        'failed',
        'skipped',
        'cancelled',
        'infrastructure-failed',
        'crashed',
        'incomplete',
        'flaky',
    ),
    'passed': (),
    'passed-with-skips': (),
    'failed': (),
    'skipped': (),
    'cancelled': (),
    'infrastructure-failed': (),
    'crashed': (),
    'incomplete': (),
    'flaky': (),
}

KEYS: Final[dict[str, tuple[str, ...]]] = {
    'AdapterInfo': ('name', 'version'),
    'Instrumentation': ('highestTier', 'semanticClass', 'degradedCapabilities'),
    'ProbeInfo': ('framework', 'frameworkVersion', 'probeVersion', 'identityKind', 'capabilities', 'instrumentation'),
    'ProviderInfo': ('id', 'version', 'method', 'capabilities'),
    'Hello': ('type', 'protocol', 'token', 'adapter', 'capabilities', 'probe', 'providers'),
    'SemanticFull': ('type', 'snapshot'),
    'SemanticDelta': ('type', 'delta'),
    'RevisionCommit': ('type', 'revision'),
    'FrameBegin': ('type', 'revision'),
    'Log': ('type', 'record'),
    'AdapterError': ('type', 'code', 'message'),
    'NodePatch': (
        'parentId',
        'role',
        'name',
        'description',
        'value',
        'state',
        'extended',
        'actions',
        'inputRecipes',
        'labelledBy',
        'describedBy',
        'textRanges',
        'testId',
        'frameworkType',
        'opaqueChildren',
        'p',
        'px',
        'geometry',
        'scroll',
        'paintedRegion',
    ),
    'NodeUpdate': ('id', 'set', 'clear'),
    'SnapshotPatch': ('columns', 'rows', 'cursor', 'rootIds', 'coordinateSpace', 'hitGrid', 'providerEvidence', 'clear'),
    'Delta': ('v', 'sessionId', 'revision', 'baseRevision', 'addNodes', 'updateNodes', 'removeNodeIds', 'snapshot'),
    'MarkerSettings': ('enabled',),
    'LogBudget': ('enabled', 'maxRecordsPerSecond', 'burst'),
    'HelloAck': ('type', 'protocol', 'sessionId', 'limits', 'subscribe', 'marker', 'logs'),
    'SemanticResyncRequest': ('type', 'sessionId', 'expectedBaseRevision', 'reason'),
    'DriverError': ('type', 'code', 'message'),
    'Limits': (
        'maxFrameBytes',
        'maxSnapshotBytes',
        'maxNodes',
        'maxDepth',
        'maxStringBytes',
        'maxRelationTargets',
        'maxQueuedFrames',
        'maxPendingWaiters',
        'maxSessions',
        'maxLogRecordBytes',
        'maxLogQueue',
    ),
    'LogRecord': ('ts', 'level', 'message', 'seq', 'logger', 'revision', 'attrs'),
    'Evidence': ('source', 'method', 'strength', 'providerId'),
    'AuthoritativeEvidence': ('source', 'method', 'strength', 'providerId'),
    'Absent': ('status', 'reason', 'evidence'),
    'Unknown': ('status', 'reason'),
    'Unsupported': ('status', 'capability', 'reason'),
    'KnownBoolean': ('status', 'value', 'evidence'),
    'KnownRect': ('status', 'value', 'evidence'),
    'KnownCoordinateSpace': ('status', 'value', 'evidence'),
    'KnownHitGrid': ('status', 'value', 'evidence'),
    'KnownScroll': ('status', 'value', 'evidence'),
    'KnownPaintedRegion': ('status', 'value', 'evidence'),
    'ValueKnown': ('status', 'value', 'sensitivity', 'evidence'),
    'ValueAbsent': ('status', 'reason', 'evidence'),
    'ValueUnsupported': ('status', 'capability', 'reason'),
    'ValueWithheld': ('status', 'reason', 'sensitivity'),
    'ProbeIdentity': ('kind', 'value'),
    'ProbeGeometry': ('intendedRect', 'visibleRect'),
    'TextSelection': ('start', 'end'),
    'ScrollPosition': ('row', 'column'),
    'ScrollExtent': ('rows', 'columns'),
    'ProbeState': (
        'focused',
        'disabled',
        'checked',
        'expanded',
        'readonly',
        'selected',
        'busy',
        'multiline',
        'required',
        'multiselectable',
        'displayed',
        'value',
        'valueSensitivity',
        'selectedIndex',
        'textSelection',
        'scroll',
        'scrollExtent',
    ),
    'ProbeAccessibility': ('role', 'name', 'description'),
    'ProbeAnnotations': ('role', 'name', 'testId', 'description', 'extended', 'actions', 'inputRecipes', 'labelledBy', 'describedBy'),
    'ProbeObject': (
        'identity',
        'frameworkType',
        'parent',
        'geometry',
        'state',
        'text',
        'accessibility',
        'annotations',
        'paintOrder',
        'unobservable',
    ),
    'ProbeOperation': ('kind', 'ordinal', 'target', 'frameworkType', 'intendedRect'),
    'ProbeFrame': ('frame', 'objects', 'operations'),
    'PressStep': ('kind', 'key'),
    'InsertActionValueStep': ('kind',),
    'InputRecipe': ('action', 'requiresFocus', 'steps'),
    'TextRange': ('startOffset', 'endOffset', 'rect'),
    'NodeState': (
        'disabled',
        'focused',
        'selected',
        'checked',
        'expanded',
        'modal',
        'busy',
        'hidden',
        'offscreen',
        'readonly',
        'multiline',
        'required',
        'multiselectable',
        'orientation',
        'level',
        'positionInSet',
        'setSize',
    ),
    'Geometry': ('displayed', 'intendedRect', 'visibleRect'),
    'Node': (
        'id',
        'parentId',
        'role',
        'name',
        'description',
        'value',
        'state',
        'extended',
        'actions',
        'inputRecipes',
        'labelledBy',
        'describedBy',
        'textRanges',
        'testId',
        'frameworkType',
        'opaqueChildren',
        'p',
        'px',
        'geometry',
        'scroll',
        'paintedRegion',
    ),
    'Cursor': ('row', 'column', 'visible', 'shape'),
    'ProviderEvidenceSource': ('source', 'method', 'strength', 'providerId'),
    'ProviderRegion': ('recipientId', 'regionBounds', 'spans'),
    'InputModes': ('mouseTracking', 'mouseEncoding', 'focusReporting'),
    'FocusOnNode': ('status', 'recipientId'),
    'FocusNowhere': ('status',),
    'RecipientRecipes': ('recipientId', 'recipes'),
    'RecipientScroll': ('recipientId', 'axis', 'offset', 'viewport', 'extent'),
    'ProviderAvailable': (
        'providerId',
        'sessionId',
        'revision',
        'status',
        'evidence',
        'pointerRegions',
        'paintedRegions',
        'inputModes',
        'focusState',
        'actionRecipes',
        'scrollStates',
        'hitGrid',
    ),
    'ProviderLost': ('providerId', 'sessionId', 'revision', 'status', 'reason'),
    'ProviderViolation': ('providerId', 'sessionId', 'revision', 'status', 'reason'),
    'Snapshot': (
        'v',
        'sessionId',
        'revision',
        'columns',
        'rows',
        'cursor',
        'rootIds',
        'nodes',
        'coordinateSpace',
        'hitGrid',
        'providerEvidence',
    ),
    'Rect': ('row', 'column', 'width', 'height'),
    'HitRect': ('row', 'column', 'width', 'height'),
    'HitRegion': ('rect', 'recipientId'),
    'HitGrid': ('regions',),
    'Span': ('row', 'from', 'to'),
    'PaintedRegion': ('regionBounds', 'spans'),
    'ScrollState': ('axis', 'offset', 'viewport', 'extent'),
}
"""The keys of every object, in the order that the protocol declares."""
