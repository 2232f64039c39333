# Written by `make gen` from schemas/termwright/. Do not edit: change the schema and run `make gen`.
"""The decoders of termwright, and what machines/wire/walk.py needs to explain a refusal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from msgspec.json import Decoder

from . import models


@cache
def adapter_message_decoder() -> Decoder[models.AdapterMessage]:
    return Decoder(models.AdapterMessage)


@cache
def delta_decoder() -> Decoder[models.Delta]:
    return Decoder(models.Delta)


@cache
def driver_message_decoder() -> Decoder[models.DriverMessage]:
    return Decoder(models.DriverMessage)


@cache
def log_record_decoder() -> Decoder[models.LogRecord]:
    return Decoder(models.LogRecord)


@cache
def probe_frame_decoder() -> Decoder[models.ProbeFrame]:
    return Decoder(models.ProbeFrame)


@cache
def snapshot_decoder() -> Decoder[models.Snapshot]:
    return Decoder(models.Snapshot)


DECODERS: Final[dict[str, Callable[[], Decoder[Any]]]] = {
    'AdapterMessage': adapter_message_decoder,
    'Delta': delta_decoder,
    'DriverMessage': driver_message_decoder,
    'LogRecord': log_record_decoder,
    'ProbeFrame': probe_frame_decoder,
    'Snapshot': snapshot_decoder,
}
"""Each root and the function that makes its decoder, once, when it is first needed."""

DIRECTIONS: Final[dict[str, str]] = {
    'AdapterMessage': 'strict',
    'Delta': 'strict',
    'DriverMessage': 'tolerant',
    'LogRecord': 'strict',
    'ProbeFrame': 'strict',
    'Snapshot': 'strict',
}
"""What each root does with an unknown key: strict refuses it, tolerant drops it, report names it."""

CODES: Final[dict[str, dict[str, Any]]] = {
    'AdapterMessage': {
        'default': 'malformed',
        'embedded': (
            {
                'at': ('snapshot',),
                'root': 'Snapshot',
                'label': 'snapshot',
                'else': 'malformed',
                'to': {
                    'bytes': 'limit-exceeded',
                    'count': 'limit-exceeded',
                    'depth': 'limit-exceeded',
                    'string-bytes': 'limit-exceeded',
                    'provider': 'capability-provider-violation',
                },
            },
            {
                'at': ('record',),
                'root': 'LogRecord',
                'label': 'log record',
                'else': 'malformed',
                'to': {
                    'bytes': 'limit-exceeded',
                    'count': 'limit-exceeded',
                    'depth': 'limit-exceeded',
                    'string-bytes': 'limit-exceeded',
                },
            },
        ),
    },
    'Delta': {
        'default': 'schema',
        'rules': (
            {'keyword': 'uniqueItems', 'code': 'duplicate-id'},
            {'segment': 'role', 'code': 'unknown-role'},
            {'segment': ('revision', 'baseRevision'), 'code': 'revision'},
            {'last': ('row', 'column', 'width', 'height'), 'code': 'bad-rect'},
            {'keyword': 'hit-regions-row-major', 'code': 'bad-rect'},
            {'keyword': ('maxItems', 'maxLength'), 'code': 'count'},
            {'keyword': 'maxBytes', 'code': 'string-bytes'},
        ),
    },
    'DriverMessage': {'default': 'malformed'},
    'LogRecord': {
        'default': 'schema',
        'rules': (
            {'keyword': 'maxProperties', 'code': 'count'},
            {'keyword': 'maxBytes', 'code': 'string-bytes'},
            {'segment': 'attrs', 'code': 'schema'},
            {'last': ('revision',), 'code': 'revision'},
        ),
    },
    'ProbeFrame': {
        'default': 'schema',
        'rules': (
            {'segment': ('intendedRect', 'visibleRect'), 'code': 'bad-rect'},
            {'segment': 'frame', 'code': 'revision'},
            {'keyword': ('maxItems', 'maxLength'), 'code': 'count'},
        ),
    },
    'Snapshot': {
        'default': 'schema',
        'rules': (
            {'segment': 'role', 'code': 'unknown-role'},
            {'segment': 'revision', 'code': 'revision'},
            {'segment': 'bounds', 'code': 'bad-rect'},
            {'last': ('row', 'column', 'width', 'height'), 'code': 'bad-rect'},
            {'keyword': ('hit-regions-row-major',), 'code': 'bad-rect'},
            {'keyword': ('maxItems', 'maxLength'), 'segment': ('nodes', 'rootIds'), 'code': 'count'},
            {'keyword': ('maxBytes',), 'code': 'string-bytes'},
        ),
    },
}
"""Which stable code a fault of each root has; the first rule that fits wins."""

WALK: Final[dict[str, dict[str, Any]]] = {
    'AdapterInfo': {
        'op': 'object',
        'fields': {'name': (True, {'op': 'ref', 'to': 'Identifier'}), 'version': (True, {'op': 'ref', 'to': 'Identifier'})},
    },
    'Instrumentation': {
        'op': 'object',
        'fields': {
            'highestTier': (True, {'op': 'ref', 'to': 'InjectionTier'}),
            'semanticClass': (True, {'op': 'ref', 'to': 'SemanticClass'}),
            'degradedCapabilities': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'DegradedCapability'}, 'most': 17}),
        },
    },
    'ProbeInfo': {
        'op': 'object',
        'fields': {
            'framework': (True, {'op': 'string', 'least': 1, 'most': 128, 'unit': 'utf16'}),
            'frameworkVersion': (False, {'op': 'string', 'most': 128, 'unit': 'utf16'}),
            'probeVersion': (True, {'op': 'string', 'least': 1, 'most': 128, 'unit': 'utf16'}),
            'identityKind': (True, {'op': 'ref', 'to': 'IdentityKind'}),
            'capabilities': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'ProbeCapability'}, 'most': 7}),
            'instrumentation': (True, {'op': 'ref', 'to': 'Instrumentation'}),
        },
        'rules': ('probe-coherent',),
    },
    'ProviderInfo': {
        'op': 'object',
        'fields': {
            'id': (True, {'op': 'ref', 'to': 'Identifier'}),
            'version': (True, {'op': 'ref', 'to': 'Identifier'}),
            'method': (True, {'op': 'ref', 'to': 'ProviderMethod'}),
            'capabilities': (
                True,
                {
                    'op': 'array',
                    'items': {'op': 'ref', 'to': 'ProviderCapability'},
                    'least': 1,
                    'most': 7,
                    'unique': True,
                },
            ),
        },
    },
    'Hello': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'hello'}),
            'protocol': (True, {'op': 'coded', 'code': 'bad-version', 'of': {'op': 'const', 'value': 'termwright/3'}}),
            'token': (True, {'op': 'ref', 'to': 'Identifier'}),
            'adapter': (True, {'op': 'ref', 'to': 'AdapterInfo'}),
            'capabilities': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'AdapterCapability'}, 'most': 12}),
            'probe': (False, {'op': 'ref', 'to': 'ProbeInfo'}),
            'providers': (
                False,
                {'op': 'array', 'items': {'op': 'ref', 'to': 'ProviderInfo'}, 'most': 64, 'rules': ('unique-by:id',)},
            ),
        },
    },
    'SemanticFull': {
        'op': 'object',
        'fields': {'type': (True, {'op': 'const', 'value': 'semantic-full'}), 'snapshot': (True, {'op': 'ref', 'to': 'Snapshot'})},
    },
    'SemanticDelta': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'semantic-delta'}),
            'delta': (True, {'op': 'raw', 'of': {'op': 'any'}}),
        },
    },
    'RevisionCommit': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'revision-commit'}),
            'revision': (True, {'op': 'ref', 'to': 'PositiveInt'}),
        },
    },
    'FrameBegin': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'frame-begin'}),
            'revision': (True, {'op': 'ref', 'to': 'PositiveInt'}),
        },
    },
    'Log': {
        'op': 'object',
        'fields': {'type': (True, {'op': 'const', 'value': 'log'}), 'record': (True, {'op': 'ref', 'to': 'LogRecord'})},
    },
    'AdapterError': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'error'}),
            'code': (True, {'op': 'ref', 'to': 'WireErrorCode'}),
            'message': (True, {'op': 'ref', 'to': 'ErrorText'}),
        },
    },
    'AdapterMessage': {
        'op': 'tagged',
        'tag': 'type',
        'members': {
            'hello': 'Hello',
            'semantic-full': 'SemanticFull',
            'semantic-delta': 'SemanticDelta',
            'revision-commit': 'RevisionCommit',
            'frame-begin': 'FrameBegin',
            'log': 'Log',
            'error': 'AdapterError',
        },
    },
    'ClearableNodeField': {
        'op': 'enum',
        'values': (
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
        ),
    },
    'ClearableSnapshotField': {'op': 'enum', 'values': ('cursor', 'providerEvidence')},
    'NodePatch': {
        'op': 'object',
        'fields': {
            'parentId': (False, {'op': 'ref', 'to': 'Text'}),
            'role': (False, {'op': 'ref', 'to': 'Role'}),
            'name': (False, {'op': 'ref', 'to': 'Text'}),
            'description': (False, {'op': 'ref', 'to': 'Text'}),
            'value': (False, {'op': 'ref', 'to': 'SemanticValueObservation'}),
            'state': (False, {'op': 'ref', 'to': 'NodeState'}),
            'extended': (False, {'op': 'ref', 'to': 'ExtendedObject'}),
            'actions': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'Action'}, 'most': 7}),
            'inputRecipes': (False, {'op': 'ref', 'to': 'InputRecipes'}),
            'labelledBy': (False, {'op': 'ref', 'to': 'NodeRefs'}),
            'describedBy': (False, {'op': 'ref', 'to': 'NodeRefs'}),
            'textRanges': (
                False,
                {'op': 'array', 'items': {'op': 'ref', 'to': 'TextRange'}, 'most': 1024, 'limit': 'maxRelationTargets'},
            ),
            'testId': (False, {'op': 'ref', 'to': 'Text'}),
            'frameworkType': (False, {'op': 'ref', 'to': 'Text'}),
            'opaqueChildren': (False, {'op': 'boolean'}),
            'p': (False, {'op': 'ref', 'to': 'ProvenanceSource'}),
            'px': (False, {'op': 'ref', 'to': 'FieldProvenance'}),
            'geometry': (False, {'op': 'ref', 'to': 'Geometry'}),
            'scroll': (False, {'op': 'ref', 'to': 'ScrollObservation'}),
            'paintedRegion': (False, {'op': 'ref', 'to': 'PaintedRegionObservation'}),
        },
    },
    'NodeUpdate': {
        'op': 'object',
        'fields': {
            'id': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'set': (
                False,
                {'op': 'types', 'of': ((('object',), {'op': 'ref', 'to': 'NodePatch'}), (('null',), {'op': 'null'}))},
            ),
            'clear': (
                False,
                {
                    'op': 'types',
                    'of': (
                        (
                            ('array',),
                            {
                                'op': 'array',
                                'items': {'op': 'ref', 'to': 'ClearableNodeField'},
                                'most': 17,
                                'unique': True,
                            },
                        ),
                        (('null',), {'op': 'null'}),
                    ),
                },
            ),
        },
        'rules': ('non-empty:set,clear', 'apart:set,clear'),
    },
    'SnapshotPatch': {
        'op': 'object',
        'fields': {
            'columns': (False, {'op': 'ref', 'to': 'PositiveInt'}),
            'rows': (False, {'op': 'ref', 'to': 'PositiveInt'}),
            'cursor': (False, {'op': 'ref', 'to': 'Cursor'}),
            'rootIds': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'Text'}, 'most': 50000, 'limit': 'maxNodes'}),
            'coordinateSpace': (False, {'op': 'ref', 'to': 'CoordinateSpaceObservation'}),
            'hitGrid': (False, {'op': 'ref', 'to': 'HitGridObservation'}),
            'providerEvidence': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'ProviderEvidence'}, 'most': 64}),
            'clear': (
                False,
                {
                    'op': 'types',
                    'of': (
                        (
                            ('array',),
                            {
                                'op': 'array',
                                'items': {'op': 'ref', 'to': 'ClearableSnapshotField'},
                                'most': 2,
                                'unique': True,
                            },
                        ),
                        (('null',), {'op': 'null'}),
                    ),
                },
            ),
        },
        'rules': ('apart:,clear',),
    },
    'Delta': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'const', 'value': 3}),
            'sessionId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'revision': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'baseRevision': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'addNodes': (
                False,
                {
                    'op': 'types',
                    'of': (
                        (
                            ('array',),
                            {'op': 'array', 'items': {'op': 'ref', 'to': 'Node'}, 'most': 50000, 'limit': 'maxNodes'},
                        ),
                        (('null',), {'op': 'null'}),
                    ),
                },
            ),
            'updateNodes': (
                False,
                {
                    'op': 'types',
                    'of': (
                        (
                            ('array',),
                            {
                                'op': 'array',
                                'items': {'op': 'ref', 'to': 'NodeUpdate'},
                                'most': 50000,
                                'limit': 'maxNodes',
                            },
                        ),
                        (('null',), {'op': 'null'}),
                    ),
                },
            ),
            'removeNodeIds': (
                False,
                {
                    'op': 'types',
                    'of': (
                        (
                            ('array',),
                            {
                                'op': 'array',
                                'items': {'op': 'ref', 'to': 'NonEmptyText'},
                                'most': 50000,
                                'limit': 'maxNodes',
                            },
                        ),
                        (('null',), {'op': 'null'}),
                    ),
                },
            ),
            'snapshot': (
                False,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'SnapshotPatch'}), (('null',), {'op': 'null'})),
                },
            ),
        },
        'unknown_first': True,
    },
    'MarkerSettings': {'op': 'object', 'fields': {'enabled': (True, {'op': 'boolean'})}},
    'LogBudget': {
        'op': 'object',
        'fields': {
            'enabled': (True, {'op': 'boolean'}),
            'maxRecordsPerSecond': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'burst': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'HelloAck': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'hello-ack'}),
            'protocol': (True, {'op': 'coded', 'code': 'bad-version', 'of': {'op': 'const', 'value': 'termwright/3'}}),
            'sessionId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'limits': (True, {'op': 'ref', 'to': 'Limits'}),
            'subscribe': (True, {'op': 'const', 'value': 'semantic'}),
            'marker': (True, {'op': 'ref', 'to': 'MarkerSettings'}),
            'logs': (False, {'op': 'ref', 'to': 'LogBudget'}),
        },
    },
    'SemanticResyncRequest': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'semantic-resync-request'}),
            'sessionId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'expectedBaseRevision': (
                True,
                {'op': 'types', 'of': ((('integer',), {'op': 'ref', 'to': 'PositiveInt'}), (('null',), {'op': 'null'}))},
            ),
            'reason': (True, {'op': 'ref', 'to': 'ResyncReason'}),
        },
    },
    'DriverError': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'error'}),
            'code': (True, {'op': 'ref', 'to': 'WireErrorCode'}),
            'message': (True, {'op': 'ref', 'to': 'ErrorText'}),
        },
    },
    'DriverMessage': {
        'op': 'tagged',
        'tag': 'type',
        'members': {'hello-ack': 'HelloAck', 'semantic-resync-request': 'SemanticResyncRequest', 'error': 'DriverError'},
    },
    'Limits': {
        'op': 'object',
        'fields': {
            'maxFrameBytes': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxSnapshotBytes': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxNodes': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxDepth': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxStringBytes': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxRelationTargets': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxQueuedFrames': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxPendingWaiters': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxSessions': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxLogRecordBytes': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'maxLogQueue': (True, {'op': 'ref', 'to': 'PositiveInt'}),
        },
    },
    'LogAttribute': {
        'op': 'types',
        'of': (
            (('string',), {'op': 'string', 'limit': 'maxStringBytes'}),
            (('number',), {'op': 'number'}),
            (('boolean',), {'op': 'boolean'}),
            (('null',), {'op': 'null'}),
        ),
    },
    'LogRecord': {
        'op': 'object',
        'fields': {
            'ts': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'level': (True, {'op': 'ref', 'to': 'LogLevel'}),
            'message': (True, {'op': 'ref', 'to': 'Text'}),
            'seq': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'logger': (False, {'op': 'ref', 'to': 'Text'}),
            'revision': (False, {'op': 'ref', 'to': 'PositiveInt'}),
            'attrs': (
                False,
                {
                    'op': 'map',
                    'keys': {'op': 'ref', 'to': 'Text'},
                    'values': {'op': 'ref', 'to': 'LogAttribute'},
                    'most': 64,
                },
            ),
        },
        'unknown_first': True,
    },
    'Evidence': {
        'op': 'object',
        'fields': {
            'source': (True, {'op': 'ref', 'to': 'EvidenceSource'}),
            'method': (True, {'op': 'ref', 'to': 'EvidenceMethod'}),
            'strength': (True, {'op': 'ref', 'to': 'EvidenceStrength'}),
            'providerId': (True, {'op': 'ref', 'to': 'ProviderName'}),
        },
    },
    'AuthoritativeEvidence': {
        'op': 'object',
        'fields': {
            'source': (True, {'op': 'ref', 'to': 'EvidenceSource'}),
            'method': (True, {'op': 'ref', 'to': 'EvidenceMethod'}),
            'strength': (True, {'op': 'const', 'value': 'authoritative'}),
            'providerId': (True, {'op': 'ref', 'to': 'ProviderName'}),
        },
    },
    'Absent': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'absent'}),
            'reason': (True, {'op': 'ref', 'to': 'AbsentReason'}),
            'evidence': (True, {'op': 'ref', 'to': 'AuthoritativeEvidence'}),
        },
    },
    'Unknown': {
        'op': 'object',
        'fields': {'status': (True, {'op': 'const', 'value': 'unknown'}), 'reason': (True, {'op': 'ref', 'to': 'UnknownReason'})},
    },
    'Unsupported': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'unsupported'}),
            'capability': (True, {'op': 'ref', 'to': 'Text'}),
            'reason': (True, {'op': 'ref', 'to': 'UnsupportedReason'}),
        },
    },
    'KnownBoolean': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'known'}),
            'value': (True, {'op': 'boolean'}),
            'evidence': (True, {'op': 'ref', 'to': 'Evidence'}),
        },
    },
    'KnownRect': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'known'}),
            'value': (True, {'op': 'ref', 'to': 'Rect'}),
            'evidence': (True, {'op': 'ref', 'to': 'Evidence'}),
        },
    },
    'KnownCoordinateSpace': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'known'}),
            'value': (True, {'op': 'ref', 'to': 'CoordinateSpace'}),
            'evidence': (True, {'op': 'ref', 'to': 'Evidence'}),
        },
    },
    'KnownHitGrid': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'known'}),
            'value': (True, {'op': 'ref', 'to': 'HitGrid'}),
            'evidence': (True, {'op': 'ref', 'to': 'Evidence'}),
        },
    },
    'KnownScroll': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'known'}),
            'value': (True, {'op': 'ref', 'to': 'ScrollState'}),
            'evidence': (True, {'op': 'ref', 'to': 'Evidence'}),
        },
    },
    'KnownPaintedRegion': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'known'}),
            'value': (True, {'op': 'ref', 'to': 'PaintedRegion'}),
            'evidence': (True, {'op': 'ref', 'to': 'Evidence'}),
        },
    },
    'BooleanObservation': {
        'op': 'tagged',
        'tag': 'status',
        'members': {'known': 'KnownBoolean', 'absent': 'Absent', 'unknown': 'Unknown', 'unsupported': 'Unsupported'},
    },
    'RectObservation': {
        'op': 'tagged',
        'tag': 'status',
        'members': {'known': 'KnownRect', 'absent': 'Absent', 'unknown': 'Unknown', 'unsupported': 'Unsupported'},
    },
    'CoordinateSpaceObservation': {
        'op': 'tagged',
        'tag': 'status',
        'members': {'known': 'KnownCoordinateSpace', 'absent': 'Absent', 'unknown': 'Unknown', 'unsupported': 'Unsupported'},
    },
    'HitGridObservation': {
        'op': 'tagged',
        'tag': 'status',
        'members': {'known': 'KnownHitGrid', 'absent': 'Absent', 'unknown': 'Unknown', 'unsupported': 'Unsupported'},
    },
    'ScrollObservation': {
        'op': 'tagged',
        'tag': 'status',
        'members': {'known': 'KnownScroll', 'absent': 'Absent', 'unknown': 'Unknown', 'unsupported': 'Unsupported'},
    },
    'PaintedRegionObservation': {
        'op': 'tagged',
        'tag': 'status',
        'members': {'known': 'KnownPaintedRegion', 'absent': 'Absent', 'unknown': 'Unknown', 'unsupported': 'Unsupported'},
    },
    'ValueKnown': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'known'}),
            'value': (True, {'op': 'ref', 'to': 'Text'}),
            'sensitivity': (True, {'op': 'ref', 'to': 'Sensitivity'}),
            'evidence': (True, {'op': 'ref', 'to': 'Evidence'}),
        },
    },
    'ValueAbsent': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'absent'}),
            'reason': (True, {'op': 'ref', 'to': 'ValueAbsentReason'}),
            'evidence': (True, {'op': 'ref', 'to': 'AuthoritativeEvidence'}),
        },
    },
    'ValueUnsupported': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'unsupported'}),
            'capability': (True, {'op': 'const', 'value': 'semantic-value'}),
            'reason': (True, {'op': 'ref', 'to': 'UnsupportedReason'}),
        },
    },
    'ValueWithheld': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'withheld'}),
            'reason': (True, {'op': 'ref', 'to': 'WithheldReason'}),
            'sensitivity': (True, {'op': 'ref', 'to': 'Sensitivity'}),
        },
    },
    'SemanticValueObservation': {
        'op': 'tagged',
        'tag': 'status',
        'members': {
            'known': 'ValueKnown',
            'absent': 'ValueAbsent',
            'unknown': 'Unknown',
            'unsupported': 'ValueUnsupported',
            'withheld': 'ValueWithheld',
        },
    },
    'ProbeIdentity': {
        'op': 'object',
        'fields': {'kind': (True, {'op': 'ref', 'to': 'IdentityKind'}), 'value': (True, {'op': 'ref', 'to': 'NonEmptyText'})},
    },
    'ProbeGeometry': {
        'op': 'object',
        'fields': {'intendedRect': (False, {'op': 'ref', 'to': 'Rect'}), 'visibleRect': (False, {'op': 'ref', 'to': 'Rect'})},
    },
    'TextSelection': {
        'op': 'object',
        'fields': {'start': (True, {'op': 'ref', 'to': 'NonNegativeInt'}), 'end': (True, {'op': 'ref', 'to': 'NonNegativeInt'})},
    },
    'ScrollPosition': {
        'op': 'object',
        'fields': {'row': (True, {'op': 'ref', 'to': 'NonNegativeInt'}), 'column': (True, {'op': 'ref', 'to': 'NonNegativeInt'})},
    },
    'ScrollExtent': {
        'op': 'object',
        'fields': {
            'rows': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'columns': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'ProbeState': {
        'op': 'object',
        'fields': {
            'focused': (False, {'op': 'boolean'}),
            'disabled': (False, {'op': 'boolean'}),
            'checked': (False, {'op': 'enum', 'values': (True, False, 'mixed')}),
            'expanded': (False, {'op': 'boolean'}),
            'readonly': (False, {'op': 'boolean'}),
            'selected': (False, {'op': 'boolean'}),
            'busy': (False, {'op': 'boolean'}),
            'multiline': (False, {'op': 'boolean'}),
            'required': (False, {'op': 'boolean'}),
            'multiselectable': (False, {'op': 'boolean'}),
            'displayed': (False, {'op': 'boolean'}),
            'value': (False, {'op': 'ref', 'to': 'Text'}),
            'valueSensitivity': (False, {'op': 'ref', 'to': 'Sensitivity'}),
            'selectedIndex': (False, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'textSelection': (False, {'op': 'ref', 'to': 'TextSelection'}),
            'scroll': (False, {'op': 'ref', 'to': 'ScrollPosition'}),
            'scrollExtent': (False, {'op': 'ref', 'to': 'ScrollExtent'}),
        },
    },
    'ProbeAccessibility': {
        'op': 'object',
        'fields': {
            'role': (False, {'op': 'ref', 'to': 'Text'}),
            'name': (False, {'op': 'ref', 'to': 'Text'}),
            'description': (False, {'op': 'ref', 'to': 'Text'}),
        },
    },
    'ObjectRefs': {'op': 'array', 'items': {'op': 'ref', 'to': 'NonEmptyText'}, 'most': 1024, 'limit': 'maxRelationTargets'},
    'ProbeAnnotations': {
        'op': 'object',
        'fields': {
            'role': (False, {'op': 'ref', 'to': 'Text'}),
            'name': (False, {'op': 'ref', 'to': 'Text'}),
            'testId': (False, {'op': 'ref', 'to': 'Text'}),
            'description': (False, {'op': 'ref', 'to': 'Text'}),
            'extended': (False, {'op': 'ref', 'to': 'ExtendedObject'}),
            'actions': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'Action'}, 'most': 7}),
            'inputRecipes': (False, {'op': 'ref', 'to': 'InputRecipes'}),
            'labelledBy': (False, {'op': 'ref', 'to': 'ObjectRefs'}),
            'describedBy': (False, {'op': 'ref', 'to': 'ObjectRefs'}),
        },
        'rules': ('recipe-intent',),
    },
    'ProbeObject': {
        'op': 'object',
        'fields': {
            'identity': (True, {'op': 'ref', 'to': 'ProbeIdentity'}),
            'frameworkType': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'parent': (False, {'op': 'ref', 'to': 'Text'}),
            'geometry': (False, {'op': 'ref', 'to': 'ProbeGeometry'}),
            'state': (False, {'op': 'ref', 'to': 'ProbeState'}),
            'text': (False, {'op': 'ref', 'to': 'Text'}),
            'accessibility': (False, {'op': 'ref', 'to': 'ProbeAccessibility'}),
            'annotations': (False, {'op': 'ref', 'to': 'ProbeAnnotations'}),
            'paintOrder': (False, {'op': 'ref', 'to': 'SafeInt'}),
            'unobservable': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'UnobservableField'}, 'most': 21}),
        },
    },
    'ProbeOperation': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'ref', 'to': 'ProbeOperationKind'}),
            'ordinal': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'target': (False, {'op': 'ref', 'to': 'ProbeIdentity'}),
            'frameworkType': (False, {'op': 'ref', 'to': 'Text'}),
            'intendedRect': (False, {'op': 'ref', 'to': 'Rect'}),
        },
    },
    'ProbeFrame': {
        'op': 'object',
        'fields': {
            'frame': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'objects': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'ProbeObject'}, 'most': 50000, 'limit': 'maxNodes'}),
            'operations': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'ProbeOperation'}, 'most': 50000, 'limit': 'maxNodes'}),
        },
    },
    'PressStep': {
        'op': 'object',
        'fields': {'kind': (True, {'op': 'const', 'value': 'press'}), 'key': (True, {'op': 'ref', 'to': 'NonEmptyText'})},
    },
    'InsertActionValueStep': {'op': 'object', 'fields': {'kind': (True, {'op': 'const', 'value': 'insert-action-value'})}},
    'RecipeStep': {
        'op': 'tagged',
        'tag': 'kind',
        'members': {'press': 'PressStep', 'insert-action-value': 'InsertActionValueStep'},
        'fault_at_union': True,
    },
    'InputRecipe': {
        'op': 'object',
        'fields': {
            'action': (True, {'op': 'ref', 'to': 'RecipeAction'}),
            'requiresFocus': (True, {'op': 'boolean'}),
            'steps': (
                True,
                {
                    'op': 'array',
                    'items': {'op': 'ref', 'to': 'RecipeStep'},
                    'least': 1,
                    'most': 1024,
                    'limit': 'maxRelationTargets',
                },
            ),
        },
        'rules': ('recipe-coherent',),
    },
    'InputRecipes': {'op': 'array', 'items': {'op': 'ref', 'to': 'InputRecipe'}, 'most': 4, 'rules': ('recipe-actions-unique',)},
    'TextRange': {
        'op': 'object',
        'fields': {
            'startOffset': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'endOffset': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'rect': (True, {'op': 'ref', 'to': 'Rect'}),
        },
    },
    'NodeState': {
        'op': 'object',
        'fields': {
            'disabled': (False, {'op': 'boolean'}),
            'focused': (False, {'op': 'boolean'}),
            'selected': (False, {'op': 'boolean'}),
            'checked': (False, {'op': 'enum', 'values': (True, False, 'mixed')}),
            'expanded': (False, {'op': 'boolean'}),
            'modal': (False, {'op': 'boolean'}),
            'busy': (False, {'op': 'boolean'}),
            'hidden': (False, {'op': 'boolean'}),
            'offscreen': (False, {'op': 'boolean'}),
            'readonly': (False, {'op': 'boolean'}),
            'multiline': (False, {'op': 'boolean'}),
            'required': (False, {'op': 'boolean'}),
            'multiselectable': (False, {'op': 'boolean'}),
            'orientation': (False, {'op': 'ref', 'to': 'Orientation'}),
            'level': (False, {'op': 'ref', 'to': 'PositiveInt'}),
            'positionInSet': (False, {'op': 'ref', 'to': 'PositiveInt'}),
            'setSize': (False, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'Geometry': {
        'op': 'object',
        'fields': {
            'displayed': (True, {'op': 'ref', 'to': 'BooleanObservation'}),
            'intendedRect': (True, {'op': 'ref', 'to': 'RectObservation'}),
            'visibleRect': (True, {'op': 'ref', 'to': 'RectObservation'}),
        },
    },
    'ExtendedValue': {
        'op': 'types',
        'of': (
            (('null',), {'op': 'null'}),
            (('boolean',), {'op': 'boolean'}),
            (('number',), {'op': 'number', 'low': -9007199254740991, 'high': 9007199254740991}),
            (('string',), {'op': 'ref', 'to': 'Text'}),
            (
                ('array',),
                {
                    'op': 'array',
                    'items': {'op': 'ref', 'to': 'ExtendedValue'},
                    'most': 1024,
                    'limit': 'maxRelationTargets',
                },
            ),
            (('object',), {'op': 'ref', 'to': 'ExtendedObject'}),
        ),
    },
    'ExtendedObject': {
        'op': 'map',
        'keys': {'op': 'ref', 'to': 'Text'},
        'values': {'op': 'ref', 'to': 'ExtendedValue'},
        'most': 1024,
        'limit': 'maxRelationTargets',
        'free': True,
    },
    'FieldProvenance': {'op': 'map', 'keys': {'op': 'ref', 'to': 'Text'}, 'values': {'op': 'ref', 'to': 'ProvenanceSource'}},
    'Node': {
        'op': 'object',
        'fields': {
            'id': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'parentId': (False, {'op': 'ref', 'to': 'Text'}),
            'role': (True, {'op': 'ref', 'to': 'Role'}),
            'name': (True, {'op': 'ref', 'to': 'Text'}),
            'description': (False, {'op': 'ref', 'to': 'Text'}),
            'value': (False, {'op': 'ref', 'to': 'SemanticValueObservation'}),
            'state': (False, {'op': 'ref', 'to': 'NodeState'}),
            'extended': (False, {'op': 'ref', 'to': 'ExtendedObject'}),
            'actions': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'Action'}, 'most': 7}),
            'inputRecipes': (False, {'op': 'ref', 'to': 'InputRecipes'}),
            'labelledBy': (False, {'op': 'ref', 'to': 'NodeRefs'}),
            'describedBy': (False, {'op': 'ref', 'to': 'NodeRefs'}),
            'textRanges': (
                False,
                {'op': 'array', 'items': {'op': 'ref', 'to': 'TextRange'}, 'most': 1024, 'limit': 'maxRelationTargets'},
            ),
            'testId': (False, {'op': 'ref', 'to': 'Text'}),
            'frameworkType': (False, {'op': 'ref', 'to': 'Text'}),
            'opaqueChildren': (False, {'op': 'boolean'}),
            'p': (False, {'op': 'ref', 'to': 'ProvenanceSource'}),
            'px': (False, {'op': 'ref', 'to': 'FieldProvenance'}),
            'geometry': (True, {'op': 'ref', 'to': 'Geometry'}),
            'scroll': (False, {'op': 'ref', 'to': 'ScrollObservation'}),
            'paintedRegion': (False, {'op': 'ref', 'to': 'PaintedRegionObservation'}),
        },
        'rules': ('recipe-intent',),
    },
    'Cursor': {
        'op': 'object',
        'fields': {
            'row': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'column': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'visible': (True, {'op': 'boolean'}),
            'shape': (False, {'op': 'ref', 'to': 'CursorShape'}),
        },
    },
    'ProviderEvidenceSource': {
        'op': 'object',
        'fields': {
            'source': (True, {'op': 'const', 'value': 'application'}),
            'method': (True, {'op': 'ref', 'to': 'ProviderEvidenceMethod'}),
            'strength': (True, {'op': 'const', 'value': 'authoritative'}),
            'providerId': (True, {'op': 'ref', 'to': 'ProviderName'}),
        },
    },
    'ProviderRegion': {
        'op': 'object',
        'fields': {
            'recipientId': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'regionBounds': (True, {'op': 'ref', 'to': 'Rect'}),
            'spans': (True, {'op': 'ref', 'to': 'Spans'}),
        },
    },
    'InputModes': {
        'op': 'object',
        'fields': {
            'mouseTracking': (True, {'op': 'ref', 'to': 'MouseTracking'}),
            'mouseEncoding': (True, {'op': 'ref', 'to': 'MouseEncoding'}),
            'focusReporting': (True, {'op': 'ref', 'to': 'FocusReporting'}),
        },
    },
    'FocusOnNode': {
        'op': 'object',
        'fields': {
            'status': (True, {'op': 'const', 'value': 'focused'}),
            'recipientId': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
        },
    },
    'FocusNowhere': {'op': 'object', 'fields': {'status': (True, {'op': 'const', 'value': 'none'})}},
    'FocusState': {'op': 'tagged', 'tag': 'status', 'members': {'focused': 'FocusOnNode', 'none': 'FocusNowhere'}},
    'RecipientRecipes': {
        'op': 'object',
        'fields': {
            'recipientId': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'recipes': (True, {'op': 'ref', 'to': 'InputRecipes'}),
        },
    },
    'RecipientScroll': {
        'op': 'object',
        'fields': {
            'recipientId': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'axis': (True, {'op': 'ref', 'to': 'Axis'}),
            'offset': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'viewport': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'extent': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
        'rules': ('fits:offset,viewport,extent',),
    },
    'ProviderAvailable': {
        'op': 'object',
        'fields': {
            'providerId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'sessionId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'revision': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'status': (True, {'op': 'const', 'value': 'available'}),
            'evidence': (True, {'op': 'ref', 'to': 'ProviderEvidenceSource'}),
            'pointerRegions': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'ProviderRegion'}, 'most': 50000, 'limit': 'maxNodes'}),
            'paintedRegions': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'ProviderRegion'}, 'most': 50000, 'limit': 'maxNodes'}),
            'inputModes': (False, {'op': 'ref', 'to': 'InputModes'}),
            'focusState': (False, {'op': 'ref', 'to': 'FocusState'}),
            'actionRecipes': (
                False,
                {
                    'op': 'array',
                    'items': {'op': 'ref', 'to': 'RecipientRecipes'},
                    'most': 50000,
                    'limit': 'maxNodes',
                    'rules': ('unique-by:recipientId',),
                },
            ),
            'scrollStates': (
                False,
                {
                    'op': 'array',
                    'items': {'op': 'ref', 'to': 'RecipientScroll'},
                    'most': 50000,
                    'limit': 'maxNodes',
                    'rules': ('unique-by:recipientId',),
                },
            ),
            'hitGrid': (False, {'op': 'ref', 'to': 'HitGrid'}),
        },
    },
    'ProviderLost': {
        'op': 'object',
        'fields': {
            'providerId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'sessionId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'revision': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'status': (True, {'op': 'const', 'value': 'lost'}),
            'reason': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
        },
    },
    'ProviderViolation': {
        'op': 'object',
        'fields': {
            'providerId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'sessionId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'revision': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'status': (True, {'op': 'const', 'value': 'violation'}),
            'reason': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
        },
    },
    'ProviderEvidence': {
        'op': 'tagged',
        'tag': 'status',
        'members': {'available': 'ProviderAvailable', 'lost': 'ProviderLost', 'violation': 'ProviderViolation'},
    },
    'Snapshot': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'const', 'value': 3}),
            'sessionId': (True, {'op': 'ref', 'to': 'Identifier'}),
            'revision': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'columns': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'rows': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'cursor': (False, {'op': 'ref', 'to': 'Cursor'}),
            'rootIds': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'Text'}, 'most': 50000, 'limit': 'maxNodes'}),
            'nodes': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'Node'}, 'most': 50000, 'limit': 'maxNodes'}),
            'coordinateSpace': (True, {'op': 'ref', 'to': 'CoordinateSpaceObservation'}),
            'hitGrid': (True, {'op': 'ref', 'to': 'HitGridObservation'}),
            'providerEvidence': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'ProviderEvidence'}, 'most': 64}),
        },
    },
    'SafeInt': {'op': 'integer', 'low': -9007199254740991, 'high': 9007199254740991},
    'NonNegativeInt': {'op': 'integer', 'low': 0, 'high': 9007199254740991},
    'PositiveInt': {'op': 'integer', 'low': 1, 'high': 9007199254740991},
    'Identifier': {'op': 'string', 'least': 1, 'most': 1024, 'unit': 'utf16'},
    'ErrorText': {'op': 'string', 'most': 1024, 'unit': 'utf16'},
    'ProviderName': {'op': 'string', 'least': 1, 'most': 256, 'unit': 'utf16'},
    'Text': {'op': 'string', 'limit': 'maxStringBytes'},
    'NonEmptyText': {'op': 'string', 'least': 1, 'limit': 'maxStringBytes'},
    'NodeRefs': {'op': 'array', 'items': {'op': 'ref', 'to': 'Text'}, 'most': 1024, 'limit': 'maxRelationTargets'},
    'Rect': {
        'op': 'object',
        'fields': {
            'row': (True, {'op': 'ref', 'to': 'SafeInt'}),
            'column': (True, {'op': 'ref', 'to': 'SafeInt'}),
            'width': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'height': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'HitRect': {
        'op': 'object',
        'fields': {
            'row': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'column': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'width': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'height': (True, {'op': 'const', 'value': 1}),
        },
    },
    'HitRegion': {
        'op': 'object',
        'fields': {'rect': (True, {'op': 'ref', 'to': 'HitRect'}), 'recipientId': (True, {'op': 'ref', 'to': 'Text'})},
    },
    'HitGrid': {
        'op': 'object',
        'fields': {
            'regions': (
                True,
                {
                    'op': 'array',
                    'items': {'op': 'ref', 'to': 'HitRegion'},
                    'most': 50000,
                    'limit': 'maxNodes',
                    'rules': ('hit-regions-row-major',),
                },
            ),
        },
    },
    'Span': {
        'op': 'object',
        'fields': {
            'row': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'from': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'to': (True, {'op': 'ref', 'to': 'PositiveInt'}),
        },
        'rules': ('ascends:from,to',),
    },
    'Spans': {
        'op': 'array',
        'items': {'op': 'ref', 'to': 'Span'},
        'most': 50000,
        'limit': 'maxNodes',
        'rules': ('spans-row-major',),
    },
    'PaintedRegion': {
        'op': 'object',
        'fields': {'regionBounds': (True, {'op': 'ref', 'to': 'Rect'}), 'spans': (True, {'op': 'ref', 'to': 'Spans'})},
    },
    'ScrollState': {
        'op': 'object',
        'fields': {
            'axis': (True, {'op': 'ref', 'to': 'Axis'}),
            'offset': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'viewport': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'extent': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'Role': {
        'op': 'enum',
        'values': (
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
        ),
    },
    'Action': {'op': 'enum', 'values': ('focus', 'activate', 'toggle', 'setValue', 'scroll', 'select', 'expand')},
    'RecipeAction': {'op': 'enum', 'values': ('focus', 'activate', 'toggle', 'setValue')},
    'Orientation': {'op': 'enum', 'values': ('horizontal', 'vertical')},
    'Axis': {'op': 'enum', 'values': ('vertical', 'horizontal')},
    'CursorShape': {'op': 'enum', 'values': ('block', 'underline', 'bar')},
    'CoordinateSpace': {'op': 'enum', 'values': ('viewport-cells', 'framework-local-cells')},
    'ProvenanceSource': {'op': 'enum', 'values': ('annotation', 'recognizer', 'framework', 'application', 'correlation', 'heuristic')},
    'EvidenceSource': {'op': 'enum', 'values': ('framework', 'application', 'terminal', 'recognizer', 'driver')},
    'EvidenceMethod': {'op': 'enum', 'values': ('native', 'instrumented', 'declared', 'correlated', 'measured', 'derived', 'heuristic')},
    'EvidenceStrength': {'op': 'enum', 'values': ('authoritative', 'diagnostic')},
    'AbsentReason': {'op': 'enum', 'values': ('detached', 'not-displayed', 'not-laid-out')},
    'ValueAbsentReason': {'op': 'enum', 'values': ('detached', 'not-displayed', 'not-laid-out', 'no-value')},
    'UnknownReason': {'op': 'enum', 'values': ('awaiting-revision-pair', 'provider-refresh', 'stale-revision')},
    'UnsupportedReason': {'op': 'enum', 'values': ('capability', 'framework-unobservable', 'not-negotiated')},
    'WithheldReason': {'op': 'enum', 'values': ('sensitive', 'artifact-policy', 'provider-policy')},
    'Sensitivity': {'op': 'enum', 'values': ('public', 'sensitive')},
    'AdapterCapability': {
        'op': 'enum',
        'values': (
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
        ),
    },
    'ProbeCapability': {
        'op': 'enum',
        'values': ('stable-identity', 'intended-rect', 'visible-rect', 'operations', 'annotations', 'frame-begin', 'paint-order'),
    },
    'ProviderCapability': {
        'op': 'enum',
        'values': (
            'pointer-regions',
            'hit-test',
            'focus-state',
            'action-recipes',
            'scroll-state',
            'painted-regions',
            'terminal-input-modes',
        ),
    },
    'ProviderMethod': {'op': 'enum', 'values': ('native', 'declared')},
    'ProviderEvidenceMethod': {'op': 'enum', 'values': ('native', 'instrumented', 'declared')},
    'IdentityKind': {'op': 'enum', 'values': ('stable', 'frame-local')},
    'InjectionTier': {'op': 'enum', 'values': ('T0', 'T1', 'T2', 'T3')},
    'SemanticClass': {'op': 'enum', 'values': ('A', 'B')},
    'DegradedCapability': {
        'op': 'enum',
        'values': (
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
        ),
    },
    'MouseTracking': {'op': 'enum', 'values': ('none', 'x10', 'vt200', 'drag', 'any')},
    'MouseEncoding': {'op': 'enum', 'values': ('default', 'sgr', 'urxvt', 'utf8')},
    'FocusReporting': {'op': 'enum', 'values': ('on', 'off')},
    'ProbeOperationKind': {'op': 'enum', 'values': ('render', 'layout')},
    'UnobservableField': {
        'op': 'enum',
        'values': (
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
        ),
    },
    'ResyncReason': {'op': 'enum', 'values': ('base-mismatch', 'missing-base', 'driver-reset')},
    'LogLevel': {'op': 'enum', 'values': ('trace', 'debug', 'info', 'warn', 'error', 'fatal')},
    'WireErrorCode': {
        'op': 'enum',
        'values': (
            'bad-token',
            'bad-version',
            'malformed',
            'limit-exceeded',
            'duplicate-semantic-key',
            'adapter-guarantee-violation',
            'capability-provider-violation',
            'internal',
        ),
    },
}
"""The walker: each type as the schema says it, keys in declared order."""
