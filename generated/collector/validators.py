# Written by `make gen` from schemas/collector/. Do not edit: change the schema and run `make gen`.
"""The decoders of collector, and what machines/wire/walk.py needs to explain a refusal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from msgspec.json import Decoder

from . import models


@cache
def collector_message_decoder() -> Decoder[models.CollectorMessage]:
    return Decoder(models.CollectorMessage)


@cache
def received_command_decoder() -> Decoder[models.ReceivedCommand]:
    return Decoder(models.ReceivedCommand)


@cache
def companion_payload_decoder() -> Decoder[models.CompanionPayload]:
    return Decoder(models.CompanionPayload)


@cache
def companion_stored_decoder() -> Decoder[models.CompanionStored]:
    return Decoder(models.CompanionStored)


@cache
def companion_withheld_decoder() -> Decoder[models.CompanionWithheld]:
    return Decoder(models.CompanionWithheld)


@cache
def companion_alive_decoder() -> Decoder[models.CompanionAlive]:
    return Decoder(models.CompanionAlive)


@cache
def companion_error_decoder() -> Decoder[models.CompanionError]:
    return Decoder(models.CompanionError)


@cache
def fixture_line_decoder() -> Decoder[models.FixtureLine]:
    return Decoder(models.FixtureLine)


@cache
def health_decoder() -> Decoder[models.Health]:
    return Decoder(models.Health)


@cache
def host_command_decoder() -> Decoder[models.HostCommand]:
    return Decoder(models.HostCommand)


@cache
def policy_snapshot_decoder() -> Decoder[models.PolicySnapshot]:
    return Decoder(models.PolicySnapshot)


@cache
def policy_rule_decoder() -> Decoder[models.PolicyRule]:
    return Decoder(models.PolicyRule)


@cache
def adapter_entry_decoder() -> Decoder[models.AdapterEntry]:
    return Decoder(models.AdapterEntry)


@cache
def adapter_table_decoder() -> Decoder[models.AdapterTable]:
    return Decoder(models.AdapterTable)


DECODERS: Final[dict[str, Callable[[], Decoder[Any]]]] = {
    'CollectorMessage': collector_message_decoder,
    'ReceivedCommand': received_command_decoder,
    'CompanionPayload': companion_payload_decoder,
    'CompanionStored': companion_stored_decoder,
    'CompanionWithheld': companion_withheld_decoder,
    'CompanionAlive': companion_alive_decoder,
    'CompanionError': companion_error_decoder,
    'FixtureLine': fixture_line_decoder,
    'Health': health_decoder,
    'HostCommand': host_command_decoder,
    'PolicySnapshot': policy_snapshot_decoder,
    'PolicyRule': policy_rule_decoder,
    'AdapterEntry': adapter_entry_decoder,
    'AdapterTable': adapter_table_decoder,
}
"""Each root and the function that makes its decoder, once, when it is first needed."""

DIRECTIONS: Final[dict[str, str]] = {
    'CollectorMessage': 'report',
    'ReceivedCommand': 'tolerant',
    'CompanionPayload': 'report',
    'CompanionStored': 'strict',
    'CompanionWithheld': 'strict',
    'CompanionAlive': 'strict',
    'CompanionError': 'strict',
    'FixtureLine': 'strict',
    'Health': 'strict',
    'HostCommand': 'strict',
    'PolicySnapshot': 'strict',
    'PolicyRule': 'strict',
    'AdapterEntry': 'strict',
    'AdapterTable': 'strict',
}
"""What each root does with an unknown key: strict refuses it, tolerant drops it, report names it."""

CODES: Final[dict[str, dict[str, Any]]] = {
    'CollectorMessage': {
        'default': 'malformed',
        'rules': (
            {'keyword': ('unknown',), 'code': 'unknown-field'},
            {'keyword': ('tag',), 'code': 'unknown-type'},
            {'last': ('v',), 'code': 'version-mismatch'},
            {'segment': 'capabilities', 'keyword': ('enum',), 'code': 'unsupported-capability'},
            {'last': ('platform',), 'keyword': ('enum',), 'code': 'platform-mismatch'},
            {'last': ('arch',), 'keyword': ('enum',), 'code': 'unsupported-architecture'},
            {'last': ('provider',), 'keyword': ('enum',), 'code': 'unsupported-provider'},
            {'last': ('state',), 'keyword': ('enum',), 'code': 'invalid-state'},
            {'last': ('level',), 'keyword': ('enum',), 'code': 'invalid-level'},
        ),
    },
    'ReceivedCommand': {'default': 'malformed', 'rules': ({'keyword': ('tag',), 'code': 'unknown-type'},)},
    'CompanionPayload': {
        'default': 'payload-required',
        'rules': (
            {'keyword': ('unknown',), 'code': 'unknown-field'},
            {'last': ('source',), 'code': 'source'},
            {'last': ('origin', 'path'), 'code': 'origin-path'},
            {'last': ('browserSession', 'editorSession'), 'code': 'session'},
            {'last': ('seq',), 'code': 'seq'},
            {'last': ('observedAtMs',), 'code': 'observed-at'},
            {'last': ('incognito',), 'code': 'incognito'},
            {'last': ('app',), 'code': 'app'},
            {'last': ('bundleId',), 'code': 'app-bundle-id'},
            {'last': ('name',), 'code': 'app-name'},
            {'last': ('workspaceRoot',), 'code': 'workspace-root'},
            {'keyword': ('inside:filePath,workspaceRoot',), 'code': 'file-path-outside'},
            {'last': ('filePath',), 'code': 'file-path'},
            {'last': ('event',), 'code': 'event'},
            {'last': ('languageId',), 'code': 'language-id'},
            {'last': ('surfaceKind',), 'code': 'surface-kind'},
        ),
    },
    'CompanionStored': {'default': 'malformed'},
    'CompanionWithheld': {'default': 'malformed'},
    'CompanionAlive': {'default': 'malformed'},
    'CompanionError': {'default': 'malformed'},
    'FixtureLine': {
        'default': 'malformed',
        'rules': (
            {'keyword': ('unknown',), 'code': 'unknown-field'},
            {'keyword': ('tag',), 'code': 'unknown-type'},
            {'last': ('fixture',), 'code': 'version-mismatch'},
        ),
    },
    'Health': {'default': 'malformed'},
    'HostCommand': {'default': 'malformed'},
    'PolicySnapshot': {'default': 'malformed'},
    'PolicyRule': {'default': 'malformed'},
    'AdapterEntry': {'default': 'malformed'},
    'AdapterTable': {'default': 'malformed'},
}
"""Which stable code a fault of each root has; the first rule that fits wins."""

WALK: Final[dict[str, dict[str, Any]]] = {
    'Hello': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'type': (True, {'op': 'const', 'value': 'hello'}),
            'capabilities': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'Capability'}}),
            'platform': (True, {'op': 'ref', 'to': 'Platform'}),
            'arch': (True, {'op': 'ref', 'to': 'Arch'}),
            'collectorSession': (True, {'op': 'ref', 'to': 'Name'}),
            'collectorVersion': (True, {'op': 'ref', 'to': 'Name'}),
        },
    },
    'ObservedApp': {
        'op': 'object',
        'fields': {
            'pid': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'bundleId': (True, {'op': 'ref', 'to': 'BundleId'}),
            'name': (False, {'op': 'ref', 'to': 'OptionalName'}),
        },
    },
    'ObservedWindow': {
        'op': 'object',
        'fields': {
            'title': (False, {'op': 'ref', 'to': 'OptionalText'}),
            'document': (False, {'op': 'ref', 'to': 'OptionalText'}),
            'url': (False, {'op': 'ref', 'to': 'OptionalText'}),
        },
    },
    'ObservedElement': {
        'op': 'object',
        'fields': {
            'role': (False, {'op': 'ref', 'to': 'OptionalRole'}),
            'subrole': (False, {'op': 'ref', 'to': 'OptionalRole'}),
            'identifier': (False, {'op': 'ref', 'to': 'OptionalRole'}),
        },
    },
    'ObservedActivity': {
        'op': 'object',
        'fields': {
            'idleSeconds': (False, {'op': 'types', 'of': ((('number',), {'op': 'number', 'low': 0}), (('null',), {'op': 'null'}))}),
        },
    },
    'ObservedPrivacy': {
        'op': 'object',
        'fields': {
            'secure': (True, {'op': 'boolean'}),
            'protected': (True, {'op': 'boolean'}),
            'reason': (False, {'op': 'ref', 'to': 'OptionalText'}),
        },
    },
    'ObservationSource': {
        'op': 'object',
        'fields': {
            'adapter': (True, {'op': 'ref', 'to': 'AdapterId'}),
            'provider': (
                False,
                {
                    'op': 'types',
                    'of': ((('string',), {'op': 'ref', 'to': 'NativeProvider'}), (('null',), {'op': 'null'})),
                },
            ),
        },
    },
    'Observation': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'type': (True, {'op': 'const', 'value': 'observation'}),
            'collectorSession': (True, {'op': 'ref', 'to': 'Name'}),
            'seq': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'observedAtMs': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'app': (True, {'op': 'ref', 'to': 'ObservedApp'}),
            'window': (
                False,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'ObservedWindow'}), (('null',), {'op': 'null'})),
                },
            ),
            'element': (
                False,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'ObservedElement'}), (('null',), {'op': 'null'})),
                },
            ),
            'activity': (
                False,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'ObservedActivity'}), (('null',), {'op': 'null'})),
                },
            ),
            'privacy': (True, {'op': 'ref', 'to': 'ObservedPrivacy'}),
            'source': (True, {'op': 'ref', 'to': 'ObservationSource'}),
            'workspace': (False, {'op': 'any'}),
        },
    },
    'CollectorState': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'type': (True, {'op': 'const', 'value': 'state'}),
            'state': (True, {'op': 'ref', 'to': 'CollectorStateName'}),
            'accessibilityTrusted': (True, {'op': 'boolean'}),
            'reason': (False, {'op': 'ref', 'to': 'OptionalText'}),
        },
    },
    'Configured': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'type': (True, {'op': 'const', 'value': 'configured'}),
            'revision': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'Diagnostic': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'type': (True, {'op': 'const', 'value': 'diagnostic'}),
            'level': (True, {'op': 'ref', 'to': 'DiagnosticLevel'}),
            'code': (True, {'op': 'ref', 'to': 'Name'}),
            'message': (True, {'op': 'ref', 'to': 'Name'}),
        },
    },
    'Fatal': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'type': (True, {'op': 'const', 'value': 'fatal'}),
            'code': (True, {'op': 'ref', 'to': 'Name'}),
            'message': (True, {'op': 'ref', 'to': 'Name'}),
        },
    },
    'CollectorMessage': {
        'op': 'tagged',
        'tag': 'type',
        'members': {
            'hello': 'Hello',
            'observation': 'Observation',
            'state': 'CollectorState',
            'configured': 'Configured',
            'diagnostic': 'Diagnostic',
            'fatal': 'Fatal',
        },
    },
    'ReceivedPolicy': {
        'op': 'object',
        'fields': {
            'allowedBundleIds': (False, {'op': 'any'}),
            'blockedBundleIds': (False, {'op': 'any'}),
            'protectedBundleIds': (False, {'op': 'any'}),
            'protectedPathPatterns': (False, {'op': 'any'}),
        },
    },
    'ReceivedConfigure': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'configure'}),
            'revision': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'policy': (True, {'op': 'ref', 'to': 'ReceivedPolicy'}),
        },
    },
    'ReceivedPause': {'op': 'object', 'fields': {'type': (True, {'op': 'const', 'value': 'pause'})}},
    'ReceivedResume': {'op': 'object', 'fields': {'type': (True, {'op': 'const', 'value': 'resume'})}},
    'ReceivedShutdown': {'op': 'object', 'fields': {'type': (True, {'op': 'const', 'value': 'shutdown'})}},
    'ReceivedCommand': {
        'op': 'tagged',
        'tag': 'type',
        'members': {
            'configure': 'ReceivedConfigure',
            'pause': 'ReceivedPause',
            'resume': 'ReceivedResume',
            'shutdown': 'ReceivedShutdown',
        },
    },
    'RequiredText': {'op': 'string', 'least': 1},
    'BrowserPayload': {
        'op': 'object',
        'fields': {
            'source': (True, {'op': 'const', 'value': 'browser'}),
            'origin': (True, {'op': 'string', 'rules': ('canonical-origin',)}),
            'path': (True, {'op': 'string', 'rules': ('canonical-path',)}),
            'browserSession': (True, {'op': 'ref', 'to': 'RequiredText'}),
            'seq': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'observedAtMs': (True, {'op': 'number'}),
            'incognito': (True, {'op': 'boolean'}),
            'title': (False, {'op': 'any'}),
        },
    },
    'DeclaredApp': {
        'op': 'object',
        'fields': {
            'bundleId': (True, {'op': 'string', 'pattern': '^[A-Za-z0-9][A-Za-z0-9.-]{2,127}\\Z'}),
            'name': (True, {'op': 'string', 'rules': ('not-blank',)}),
        },
    },
    'EditorPayload': {
        'op': 'object',
        'fields': {
            'source': (True, {'op': 'const', 'value': 'editor'}),
            'app': (True, {'op': 'ref', 'to': 'DeclaredApp'}),
            'workspaceRoot': (True, {'op': 'string', 'rules': ('absolute-path',)}),
            'editorSession': (True, {'op': 'ref', 'to': 'RequiredText'}),
            'seq': (True, {'op': 'ref', 'to': 'PositiveInt'}),
            'observedAtMs': (True, {'op': 'number'}),
            'filePath': (False, {'op': 'string'}),
            'event': (False, {'op': 'ref', 'to': 'ActivityEvent'}),
            'languageId': (False, {'op': 'string'}),
            'surfaceKind': (False, {'op': 'ref', 'to': 'EditorSurfaceKind'}),
            'title': (False, {'op': 'any'}),
        },
        'rules': ('inside:filePath,workspaceRoot',),
    },
    'CompanionPayload': {'op': 'tagged', 'tag': 'source', 'members': {'browser': 'BrowserPayload', 'editor': 'EditorPayload'}},
    'CompanionStored': {'op': 'object', 'fields': {'stored': (True, {'op': 'const', 'value': True})}},
    'CompanionWithheld': {
        'op': 'object',
        'fields': {'stored': (True, {'op': 'const', 'value': False}), 'reason': (False, {'op': 'ref', 'to': 'CompanionRefusal'})},
    },
    'CompanionAlive': {
        'op': 'object',
        'fields': {'ok': (True, {'op': 'const', 'value': True}), 'port': (True, {'op': 'ref', 'to': 'Port'})},
    },
    'CompanionError': {'op': 'object', 'fields': {'error': (True, {'op': 'string', 'least': 1})}},
    'FixtureStart': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'start'}),
            'fixture': (True, {'op': 'const', 'value': 1}),
            'platform': (True, {'op': 'ref', 'to': 'Platform'}),
            'name': (True, {'op': 'ref', 'to': 'Name'}),
        },
    },
    'FixtureAvailability': {'op': 'object', 'fields': {'trusted': (True, {'op': 'boolean'}), 'reason': (False, {'op': 'string'})}},
    'FixturePower': {'op': 'enum', 'values': ('sleep', 'wake')},
    'AxApplication': {
        'op': 'object',
        'fields': {
            'pid': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'bundleIdentifier': (True, {'op': 'string'}),
            'localizedName': (False, {'op': 'string'}),
        },
    },
    'AxWindow': {'op': 'object', 'fields': {'title': (False, {'op': 'string'}), 'document': (False, {'op': 'string'})}},
    'AxError': {'op': 'integer', 'low': -25299, 'high': 0},
    'AxFocus': {
        'op': 'object',
        'fields': {
            'error': (True, {'op': 'ref', 'to': 'AxError'}),
            'role': (False, {'op': 'string'}),
            'subrole': (False, {'op': 'string'}),
            'subroleError': (False, {'op': 'ref', 'to': 'AxError'}),
        },
    },
    'AxStep': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'ax'}),
            'application': (False, {'op': 'ref', 'to': 'AxApplication'}),
            'window': (False, {'op': 'ref', 'to': 'AxWindow'}),
            'focus': (False, {'op': 'ref', 'to': 'AxFocus'}),
            'idleSeconds': (False, {'op': 'number', 'low': 0}),
            'availability': (False, {'op': 'ref', 'to': 'FixtureAvailability'}),
            'power': (False, {'op': 'ref', 'to': 'FixturePower'}),
        },
    },
    'UiaApplication': {
        'op': 'object',
        'fields': {
            'pid': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'image': (True, {'op': 'string'}),
            'appUserModelId': (False, {'op': 'string'}),
        },
    },
    'UiaWindow': {'op': 'object', 'fields': {'title': (False, {'op': 'string'})}},
    'UiaFocus': {
        'op': 'object',
        'fields': {
            'error': (True, {'op': 'integer', 'low': 0, 'high': 4294967295}),
            'controlType': (False, {'op': 'integer', 'low': 0, 'high': 65535}),
            'isPassword': (False, {'op': 'boolean'}),
        },
    },
    'UiaStep': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'uia'}),
            'application': (False, {'op': 'ref', 'to': 'UiaApplication'}),
            'window': (False, {'op': 'ref', 'to': 'UiaWindow'}),
            'focus': (False, {'op': 'ref', 'to': 'UiaFocus'}),
            'idleSeconds': (False, {'op': 'number', 'low': 0}),
            'availability': (False, {'op': 'ref', 'to': 'FixtureAvailability'}),
            'power': (False, {'op': 'ref', 'to': 'FixturePower'}),
        },
    },
    'AtSpiApplication': {
        'op': 'object',
        'fields': {
            'pid': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'program': (True, {'op': 'string'}),
            'desktopFile': (False, {'op': 'string'}),
        },
    },
    'AtSpiWindow': {'op': 'object', 'fields': {'applicationName': (False, {'op': 'string'}), 'title': (False, {'op': 'string'})}},
    'AtSpiFocused': {
        'op': 'object',
        'fields': {'role': (True, {'op': 'integer', 'low': 0, 'high': 65535}), 'roleName': (True, {'op': 'string'})},
    },
    'AtSpiFocus': {
        'op': 'object',
        'fields': {
            'answered': (True, {'op': 'boolean'}),
            'onBus': (True, {'op': 'boolean'}),
            'focused': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'AtSpiFocused'}}),
        },
    },
    'AtSpiStep': {
        'op': 'object',
        'fields': {
            'type': (True, {'op': 'const', 'value': 'at-spi'}),
            'application': (False, {'op': 'ref', 'to': 'AtSpiApplication'}),
            'window': (False, {'op': 'ref', 'to': 'AtSpiWindow'}),
            'focus': (False, {'op': 'ref', 'to': 'AtSpiFocus'}),
            'idleSeconds': (False, {'op': 'number', 'low': 0}),
            'availability': (False, {'op': 'ref', 'to': 'FixtureAvailability'}),
            'power': (False, {'op': 'ref', 'to': 'FixturePower'}),
        },
    },
    'FixtureLine': {
        'op': 'tagged',
        'tag': 'type',
        'members': {'start': 'FixtureStart', 'ax': 'AxStep', 'uia': 'UiaStep', 'at-spi': 'AtSpiStep'},
    },
    'CollectorIdentity': {
        'op': 'object',
        'fields': {'version': (True, {'op': 'ref', 'to': 'Name'}), 'arch': (True, {'op': 'ref', 'to': 'Arch'})},
    },
    'CompanionHealth': {
        'op': 'object',
        'fields': {
            'listening': (True, {'op': 'boolean'}),
            'port': (True, {'op': 'types', 'of': ((('integer',), {'op': 'ref', 'to': 'Port'}), (('null',), {'op': 'null'}))}),
            'paired': (True, {'op': 'boolean'}),
            'editorPaired': (True, {'op': 'boolean'}),
            'reason': (True, {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))}),
            'lastSeenAtMs': (
                True,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'NonNegativeInt'}), (('null',), {'op': 'null'})),
                },
            ),
            'browserLastSeenAtMs': (
                True,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'NonNegativeInt'}), (('null',), {'op': 'null'})),
                },
            ),
            'editorLastSeenAtMs': (
                True,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'NonNegativeInt'}), (('null',), {'op': 'null'})),
                },
            ),
        },
    },
    'RefusalCounts': {
        'op': 'object',
        'fields': {'total': (True, {'op': 'ref', 'to': 'NonNegativeInt'}), 'byReason': (True, {'op': 'ref', 'to': 'Counts'})},
    },
    'UnknownFieldCounts': {
        'op': 'object',
        'fields': {
            'policy': (True, {'op': 'ref', 'to': 'UnknownFieldPolicy'}),
            'total': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'byName': (True, {'op': 'ref', 'to': 'Counts'}),
            'other': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'Maintenance': {
        'op': 'object',
        'fields': {
            'retention': (True, {'op': 'ref', 'to': 'MaintenanceState'}),
            'lastFailureAtMs': (
                True,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'NonNegativeInt'}), (('null',), {'op': 'null'})),
                },
            ),
        },
    },
    'Health': {
        'op': 'object',
        'fields': {
            'capture': (True, {'op': 'ref', 'to': 'CaptureWord'}),
            'reason': (True, {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))}),
            'detail': (True, {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))}),
            'collector': (
                True,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'CollectorIdentity'}), (('null',), {'op': 'null'})),
                },
            ),
            'accessibilityTrusted': (True, {'op': 'types', 'of': ((('boolean',), {'op': 'boolean'}), (('null',), {'op': 'null'}))}),
            'companion': (
                True,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'CompanionHealth'}), (('null',), {'op': 'null'})),
                },
            ),
            'refusals': (True, {'op': 'ref', 'to': 'RefusalCounts'}),
            'unknownFields': (True, {'op': 'ref', 'to': 'UnknownFieldCounts'}),
            'maintenance': (
                True,
                {'op': 'types', 'of': ((('object',), {'op': 'ref', 'to': 'Maintenance'}), (('null',), {'op': 'null'}))},
            ),
        },
    },
    'WirePolicy': {
        'op': 'object',
        'fields': {
            'mode': (True, {'op': 'const', 'value': 'include-only'}),
            'allowedBundleIds': (True, {'op': 'array', 'items': {'op': 'string'}}),
            'blockedBundleIds': (True, {'op': 'array', 'items': {'op': 'string'}}),
            'protectedBundleIds': (True, {'op': 'array', 'items': {'op': 'string'}}),
            'protectedPathPatterns': (True, {'op': 'array', 'items': {'op': 'string'}}),
        },
    },
    'Configure': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'type': (True, {'op': 'const', 'value': 'configure'}),
            'revision': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'policy': (True, {'op': 'ref', 'to': 'WirePolicy'}),
        },
    },
    'Pause': {
        'op': 'object',
        'fields': {'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}), 'type': (True, {'op': 'const', 'value': 'pause'})},
    },
    'Resume': {
        'op': 'object',
        'fields': {'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}), 'type': (True, {'op': 'const', 'value': 'resume'})},
    },
    'Shutdown': {
        'op': 'object',
        'fields': {
            'v': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'type': (True, {'op': 'const', 'value': 'shutdown'}),
            'reason': (True, {'op': 'ref', 'to': 'ShutdownReason'}),
        },
    },
    'HostCommand': {
        'op': 'tagged',
        'tag': 'type',
        'members': {'configure': 'Configure', 'pause': 'Pause', 'resume': 'Resume', 'shutdown': 'Shutdown'},
    },
    'PolicyRule': {
        'op': 'object',
        'fields': {
            'id': (True, {'op': 'string', 'least': 1}),
            'dimension': (True, {'op': 'ref', 'to': 'RuleDimension'}),
            'action': (True, {'op': 'ref', 'to': 'RuleAction'}),
            'matcher': (True, {'op': 'ref', 'to': 'RuleMatcher'}),
            'pattern': (True, {'op': 'string', 'least': 1}),
            'builtIn': (True, {'op': 'boolean'}),
            'createdAtMs': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'updatedAtMs': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'PolicySnapshot': {
        'op': 'object',
        'fields': {
            'revision': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
            'mode': (True, {'op': 'ref', 'to': 'PolicyMode'}),
            'rules': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'PolicyRule'}}),
            'updatedAtMs': (True, {'op': 'ref', 'to': 'NonNegativeInt'}),
        },
    },
    'AdapterIds': {
        'op': 'object',
        'fields': {
            'darwin': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'BundleId'}}),
            'win32': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'BundleId'}}),
            'linux': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'BundleId'}}),
        },
    },
    'AdapterEntry': {
        'op': 'object',
        'fields': {
            'id': (True, {'op': 'ref', 'to': 'AdapterId'}),
            'surfaceKind': (True, {'op': 'ref', 'to': 'AdapterSurfaceKind'}),
            'suppressesWindowTitle': (True, {'op': 'boolean'}),
            'documentResourceKind': (True, {'op': 'ref', 'to': 'DocumentResourceKind'}),
            'focusedElementPolicy': (True, {'op': 'ref', 'to': 'FocusedElementPolicy'}),
            'ids': (True, {'op': 'ref', 'to': 'AdapterIds'}),
        },
    },
    'AdapterTable': {'op': 'object', 'fields': {'adapters': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'AdapterEntry'}})}},
    'ProtocolVersion': {'op': 'const', 'value': 1},
    'NonNegativeInt': {'op': 'integer', 'low': 0, 'high': 9007199254740991},
    'PositiveInt': {'op': 'integer', 'low': 1, 'high': 9007199254740991},
    'Port': {'op': 'integer', 'low': 0, 'high': 65535},
    'UnsignedInt64': {'op': 'integer', 'low': 0, 'high': 18446744073709551615},
    'Name': {'op': 'string', 'least': 1, 'most': 4096, 'unit': 'utf8'},
    'BundleId': {'op': 'string', 'least': 1, 'most': 512, 'unit': 'utf8'},
    'AdapterId': {'op': 'string', 'least': 1, 'most': 128, 'unit': 'utf8'},
    'OptionalText': {'op': 'types', 'of': ((('string',), {'op': 'string', 'most': 4096, 'unit': 'utf8'}), (('null',), {'op': 'null'}))},
    'OptionalName': {'op': 'types', 'of': ((('string',), {'op': 'string', 'most': 512, 'unit': 'utf8'}), (('null',), {'op': 'null'}))},
    'OptionalRole': {'op': 'types', 'of': ((('string',), {'op': 'string', 'most': 2048, 'unit': 'utf8'}), (('null',), {'op': 'null'}))},
    'Counts': {'op': 'map', 'values': {'op': 'ref', 'to': 'NonNegativeInt'}},
    'Capability': {'op': 'enum', 'values': ('app-focus', 'window-metadata', 'resource-uri', 'secure-field-detection')},
    'Platform': {'op': 'enum', 'values': ('darwin', 'win32', 'linux')},
    'Arch': {'op': 'enum', 'values': ('arm64', 'x64', 'x86')},
    'NativeProvider': {'op': 'enum', 'values': ('macos-ax', 'windows-uia', 'at-spi')},
    'CollectorStateName': {'op': 'enum', 'values': ('running', 'paused', 'permission-required', 'degraded')},
    'DiagnosticLevel': {'op': 'enum', 'values': ('debug', 'info', 'warn')},
    'ShutdownReason': {'op': 'enum', 'values': ('plugin-dispose', 'host-shutdown', 'protocol-error')},
    'PolicyMode': {'op': 'enum', 'values': ('include-only', 'exclude')},
    'RuleDimension': {'op': 'enum', 'values': ('app', 'resource')},
    'RuleAction': {'op': 'enum', 'values': ('allow', 'deny', 'protect')},
    'RuleMatcher': {'op': 'enum', 'values': ('exact', 'prefix', 'glob')},
    'UnknownFieldPolicy': {'op': 'enum', 'values': ('refuse', 'extension', 'count')},
    'CompanionRefusal': {'op': 'enum', 'values': ('capture-disabled', 'capture-not-owned', 'capture-paused', 'collector-not-running')},
    'CaptureWord': {'op': 'enum', 'values': ('stopped', 'running', 'paused', 'permission-required', 'degraded')},
    'AdapterSurfaceKind': {'op': 'enum', 'values': ('editor', 'terminal', 'browser', 'document', 'window')},
    'EditorSurfaceKind': {'op': 'enum', 'values': ('editor', 'diff', 'terminal', 'output')},
    'DocumentResourceKind': {'op': 'enum', 'values': ('file', 'directory')},
    'FocusedElementPolicy': {'op': 'enum', 'values': ('require', 'window-only')},
    'ActivityEvent': {
        'op': 'enum',
        'values': (
            'save',
            'verify-build-success',
            'verify-build-failure',
            'verify-test-success',
            'verify-test-failure',
            'verify-other-success',
            'verify-other-failure',
        ),
    },
    'MaintenanceState': {'op': 'enum', 'values': ('ok', 'failed')},
}
"""The walker: each type as the schema says it, keys in declared order."""
