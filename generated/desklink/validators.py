# Written by `make gen` from schemas/desklink/. Do not edit: change the schema and run `make gen`.
"""The decoders of desklink, and what machines/wire/walk.py needs to explain a refusal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from msgspec.json import Decoder

from . import models


@cache
def bridge_envelope_decoder() -> Decoder[models.BridgeEnvelope]:
    return Decoder(models.BridgeEnvelope)


@cache
def capabilities_decoder() -> Decoder[models.Capabilities]:
    return Decoder(models.Capabilities)


@cache
def client_control_decoder() -> Decoder[models.ClientControl]:
    return Decoder(models.ClientControl)


@cache
def engine_control_decoder() -> Decoder[models.EngineControl]:
    return Decoder(models.EngineControl)


@cache
def event_decoder() -> Decoder[models.Event]:
    return Decoder(models.Event)


@cache
def keeper_report_decoder() -> Decoder[models.KeeperReport]:
    return Decoder(models.KeeperReport)


@cache
def keeper_refusal_decoder() -> Decoder[models.KeeperRefusal]:
    return Decoder(models.KeeperRefusal)


@cache
def result_reply_decoder() -> Decoder[models.ResultReply]:
    return Decoder(models.ResultReply)


@cache
def error_reply_decoder() -> Decoder[models.ErrorReply]:
    return Decoder(models.ErrorReply)


@cache
def open_result_decoder() -> Decoder[models.OpenResult]:
    return Decoder(models.OpenResult)


@cache
def accepted_result_decoder() -> Decoder[models.AcceptedResult]:
    return Decoder(models.AcceptedResult)


@cache
def frame_result_decoder() -> Decoder[models.FrameResult]:
    return Decoder(models.FrameResult)


@cache
def clipboard_read_result_decoder() -> Decoder[models.ClipboardReadResult]:
    return Decoder(models.ClipboardReadResult)


@cache
def clipboard_write_result_decoder() -> Decoder[models.ClipboardWriteResult]:
    return Decoder(models.ClipboardWriteResult)


@cache
def close_result_decoder() -> Decoder[models.CloseResult]:
    return Decoder(models.CloseResult)


@cache
def metrics_result_decoder() -> Decoder[models.MetricsResult]:
    return Decoder(models.MetricsResult)


@cache
def point_result_decoder() -> Decoder[models.PointResult]:
    return Decoder(models.PointResult)


@cache
def empty_result_decoder() -> Decoder[models.EmptyResult]:
    return Decoder(models.EmptyResult)


@cache
def request_decoder() -> Decoder[models.Request]:
    return Decoder(models.Request)


@cache
def request_envelope_decoder() -> Decoder[models.RequestEnvelope]:
    return Decoder(models.RequestEnvelope)


@cache
def hello_params_decoder() -> Decoder[models.HelloParams]:
    return Decoder(models.HelloParams)


@cache
def open_params_decoder() -> Decoder[models.OpenParams]:
    return Decoder(models.OpenParams)


@cache
def description_params_decoder() -> Decoder[models.DescriptionParams]:
    return Decoder(models.DescriptionParams)


@cache
def candidate_params_decoder() -> Decoder[models.CandidateParams]:
    return Decoder(models.CandidateParams)


@cache
def session_params_decoder() -> Decoder[models.SessionParams]:
    return Decoder(models.SessionParams)


@cache
def frame_params_decoder() -> Decoder[models.FrameParams]:
    return Decoder(models.FrameParams)


@cache
def feed_params_decoder() -> Decoder[models.FeedParams]:
    return Decoder(models.FeedParams)


@cache
def clipboard_write_params_decoder() -> Decoder[models.ClipboardWriteParams]:
    return Decoder(models.ClipboardWriteParams)


@cache
def point_params_decoder() -> Decoder[models.PointParams]:
    return Decoder(models.PointParams)


DECODERS: Final[dict[str, Callable[[], Decoder[Any]]]] = {
    'BridgeEnvelope': bridge_envelope_decoder,
    'Capabilities': capabilities_decoder,
    'ClientControl': client_control_decoder,
    'EngineControl': engine_control_decoder,
    'Event': event_decoder,
    'KeeperReport': keeper_report_decoder,
    'KeeperRefusal': keeper_refusal_decoder,
    'ResultReply': result_reply_decoder,
    'ErrorReply': error_reply_decoder,
    'OpenResult': open_result_decoder,
    'AcceptedResult': accepted_result_decoder,
    'FrameResult': frame_result_decoder,
    'ClipboardReadResult': clipboard_read_result_decoder,
    'ClipboardWriteResult': clipboard_write_result_decoder,
    'CloseResult': close_result_decoder,
    'MetricsResult': metrics_result_decoder,
    'PointResult': point_result_decoder,
    'EmptyResult': empty_result_decoder,
    'Request': request_decoder,
    'RequestEnvelope': request_envelope_decoder,
    'HelloParams': hello_params_decoder,
    'OpenParams': open_params_decoder,
    'DescriptionParams': description_params_decoder,
    'CandidateParams': candidate_params_decoder,
    'SessionParams': session_params_decoder,
    'FrameParams': frame_params_decoder,
    'FeedParams': feed_params_decoder,
    'ClipboardWriteParams': clipboard_write_params_decoder,
    'PointParams': point_params_decoder,
}
"""Each root and the function that makes its decoder, once, when it is first needed."""

DIRECTIONS: Final[dict[str, str]] = {
    'BridgeEnvelope': 'tolerant',
    'Capabilities': 'tolerant',
    'ClientControl': 'tolerant',
    'EngineControl': 'tolerant',
    'Event': 'tolerant',
    'KeeperReport': 'tolerant',
    'KeeperRefusal': 'tolerant',
    'ResultReply': 'tolerant',
    'ErrorReply': 'tolerant',
    'OpenResult': 'tolerant',
    'AcceptedResult': 'tolerant',
    'FrameResult': 'tolerant',
    'ClipboardReadResult': 'tolerant',
    'ClipboardWriteResult': 'tolerant',
    'CloseResult': 'tolerant',
    'MetricsResult': 'tolerant',
    'PointResult': 'tolerant',
    'EmptyResult': 'tolerant',
    'Request': 'tolerant',
    'RequestEnvelope': 'tolerant',
    'HelloParams': 'tolerant',
    'OpenParams': 'tolerant',
    'DescriptionParams': 'tolerant',
    'CandidateParams': 'tolerant',
    'SessionParams': 'tolerant',
    'FrameParams': 'tolerant',
    'FeedParams': 'tolerant',
    'ClipboardWriteParams': 'tolerant',
    'PointParams': 'tolerant',
}
"""What each root does with an unknown key: strict refuses it, tolerant drops it, report names it."""

CODES: Final[dict[str, dict[str, Any]]] = {
    'BridgeEnvelope': {'default': 'malformed'},
    'Capabilities': {'default': 'malformed'},
    'ClientControl': {'default': 'operation'},
    'EngineControl': {'default': 'operation'},
    'Event': {'default': 'malformed'},
    'KeeperReport': {'default': 'malformed'},
    'KeeperRefusal': {'default': 'malformed'},
    'ResultReply': {'default': 'malformed'},
    'ErrorReply': {'default': 'malformed'},
    'OpenResult': {'default': 'malformed'},
    'AcceptedResult': {'default': 'malformed'},
    'FrameResult': {'default': 'malformed'},
    'ClipboardReadResult': {'default': 'malformed'},
    'ClipboardWriteResult': {'default': 'malformed'},
    'CloseResult': {'default': 'malformed'},
    'MetricsResult': {'default': 'malformed'},
    'PointResult': {'default': 'malformed'},
    'EmptyResult': {'default': 'malformed'},
    'Request': {'default': 'malformed', 'rules': ({'keyword': ('tag',), 'code': 'operation'},)},
    'RequestEnvelope': {'default': 'malformed'},
    'HelloParams': {'default': 'malformed'},
    'OpenParams': {'default': 'malformed'},
    'DescriptionParams': {'default': 'malformed'},
    'CandidateParams': {'default': 'malformed'},
    'SessionParams': {'default': 'malformed'},
    'FrameParams': {'default': 'malformed'},
    'FeedParams': {'default': 'malformed'},
    'ClipboardWriteParams': {'default': 'malformed'},
    'PointParams': {'default': 'malformed'},
}
"""Which stable code a fault of each root has; the first rule that fits wins."""

WALK: Final[dict[str, dict[str, Any]]] = {
    'BridgeEnvelope': {
        'op': 'object',
        'fields': {'id': (False, {'op': 'any'}), 'method': (False, {'op': 'any'}), 'params': (False, {'op': 'any'})},
    },
    'UnavailableReason': {
        'op': 'object',
        'fields': {'reason': (True, {'op': 'ref', 'to': 'Text'}), 'remedy': (True, {'op': 'ref', 'to': 'Text'})},
    },
    'DesktopSession': {'op': 'object', 'fields': {'kind': (True, {'op': 'ref', 'to': 'DesktopKind'})}},
    'X11Facts': {
        'op': 'object',
        'fields': {
            'available': (True, {'op': 'boolean'}),
            'size': (True, {'op': 'types', 'of': ((('array',), {'op': 'ref', 'to': 'SizePair'}), (('null',), {'op': 'null'}))}),
        },
    },
    'SizePair': {'op': 'array', 'items': {'op': 'ref', 'to': 'UnsignedInt32'}, 'least': 2, 'most': 2},
    'LinuxCapture': {
        'op': 'object',
        'fields': {
            'mechanism': (True, {'op': 'ref', 'to': 'Text'}),
            'backends': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'Text'}}),
            'formats': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'PixelFormat'}}),
            'cursor': (True, {'op': 'ref', 'to': 'CursorMode'}),
            'audio': (True, {'op': 'const', 'value': False}),
        },
    },
    'EncodeFacts': {
        'op': 'object',
        'fields': {
            'codecs': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'EncodedCodec'}}),
            'hardware': (True, {'op': 'boolean'}),
        },
    },
    'LinuxInput': {
        'op': 'object',
        'fields': {
            'mechanism': (True, {'op': 'ref', 'to': 'Text'}),
            'pointer': (True, {'op': 'boolean'}),
            'wheel': (True, {'op': 'boolean'}),
            'keyboard': (True, {'op': 'boolean'}),
            'text': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'TextReach'}}),
            'layout': (True, {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))}),
            'unavailable_reason': (
                True,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'UnavailableReason'}), (('null',), {'op': 'null'})),
                },
            ),
            'grant': (True, {'op': 'ref', 'to': 'InputGrant'}),
        },
    },
    'ClipboardFacts': {
        'op': 'object',
        'fields': {
            'read': (True, {'op': 'boolean'}),
            'write': (True, {'op': 'boolean'}),
            'mime': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'Text'}}),
            'maxBytes': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
        },
    },
    'EncodedFacts': {'op': 'object', 'fields': {'codecs': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'FedCodec'}})}},
    'LinuxCapabilities': {
        'op': 'object',
        'fields': {
            'protocol': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'engine': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'platform': (True, {'op': 'const', 'value': 'linux'}),
            'session': (True, {'op': 'ref', 'to': 'DesktopSession'}),
            'x11': (True, {'op': 'ref', 'to': 'X11Facts'}),
            'capture': (True, {'op': 'ref', 'to': 'LinuxCapture'}),
            'encode': (True, {'op': 'ref', 'to': 'EncodeFacts'}),
            'input': (True, {'op': 'ref', 'to': 'LinuxInput'}),
            'clipboard': (True, {'op': 'ref', 'to': 'ClipboardFacts'}),
            'encoded': (True, {'op': 'ref', 'to': 'EncodedFacts'}),
        },
    },
    'MacSession': {
        'op': 'object',
        'fields': {'kind': (True, {'op': 'const', 'value': 'quartz'}), 'on_console': (True, {'op': 'boolean'})},
    },
    'MacDisplay': {
        'op': 'object',
        'fields': {
            'id': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'width': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'height': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'scale': (True, {'op': 'number', 'low': 0}),
            'points': (True, {'op': 'ref', 'to': 'Size'}),
            'origin': (True, {'op': 'ref', 'to': 'Point'}),
            'main': (True, {'op': 'boolean'}),
        },
    },
    'MacCapture': {
        'op': 'object',
        'fields': {
            'mechanism': (True, {'op': 'ref', 'to': 'Text'}),
            'backends': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'Text'}}),
            'formats': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'PixelFormat'}}),
            'cursor': (False, {'op': 'ref', 'to': 'CursorMode'}),
            'audio': (False, {'op': 'const', 'value': False}),
            'displays': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'MacDisplay'}}),
            'grant': (True, {'op': 'ref', 'to': 'CaptureGrant'}),
            'unavailable_reason': (
                True,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'UnavailableReason'}), (('null',), {'op': 'null'})),
                },
            ),
        },
    },
    'MacInput': {
        'op': 'object',
        'fields': {
            'mechanism': (True, {'op': 'ref', 'to': 'Text'}),
            'pointer': (True, {'op': 'boolean'}),
            'wheel': (True, {'op': 'boolean'}),
            'keyboard': (True, {'op': 'boolean'}),
            'text': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'TextReach'}}),
            'layout': (True, {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))}),
            'unavailable_reason': (
                True,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'UnavailableReason'}), (('null',), {'op': 'null'})),
                },
            ),
            'grant': (True, {'op': 'ref', 'to': 'InputGrant'}),
        },
    },
    'MacCapabilities': {
        'op': 'object',
        'fields': {
            'protocol': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'engine': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'platform': (True, {'op': 'const', 'value': 'macos'}),
            'session': (True, {'op': 'ref', 'to': 'MacSession'}),
            'capture': (True, {'op': 'ref', 'to': 'MacCapture'}),
            'encode': (True, {'op': 'ref', 'to': 'EncodeFacts'}),
            'input': (True, {'op': 'ref', 'to': 'MacInput'}),
            'clipboard': (True, {'op': 'ref', 'to': 'ClipboardFacts'}),
            'encoded': (True, {'op': 'ref', 'to': 'EncodedFacts'}),
        },
    },
    'WindowsCapabilities': {
        'op': 'object',
        'fields': {
            'protocol': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'engine': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'platform': (True, {'op': 'const', 'value': 'windows'}),
            'encoded': (True, {'op': 'ref', 'to': 'EncodedFacts'}),
        },
    },
    'Capabilities': {
        'op': 'tagged',
        'tag': 'platform',
        'members': {'linux': 'LinuxCapabilities', 'macos': 'MacCapabilities', 'windows': 'WindowsCapabilities'},
    },
    'ControlPointer': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'pointer'}),
            'phase': (True, {'op': 'ref', 'to': 'PointerPhase'}),
            'x': (True, {'op': 'ref', 'to': 'SafeInt'}),
            'y': (True, {'op': 'ref', 'to': 'SafeInt'}),
            'button': (False, {'op': 'integer', 'low': -9007199254740991, 'high': 9007199254740991}),
            'seq': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'ControlWheel': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'wheel'}),
            'dx': (False, {'op': 'number'}),
            'dy': (False, {'op': 'number'}),
            'seq': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'ControlKey': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'key'}),
            'name': (False, {'op': 'ref', 'to': 'OptionalString'}),
            'character': (False, {'op': 'ref', 'to': 'OptionalString'}),
            'down': (True, {'op': 'boolean'}),
            'modifiers': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'Text'}}),
            'seq': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'ControlText': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'text'}),
            'text': (True, {'op': 'string'}),
            'seq': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'ControlReleaseAll': {
        'op': 'object',
        'fields': {'kind': (True, {'op': 'const', 'value': 'release_all'}), 'seq': (False, {'op': 'ref', 'to': 'UnsignedInt64'})},
    },
    'ControlClipboardRead': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'clipboard_read'}),
            'request': (True, {'op': 'ref', 'to': 'Text'}),
            'seq': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'ControlClipboardWrite': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'clipboard_write'}),
            'request': (True, {'op': 'ref', 'to': 'Text'}),
            'text': (True, {'op': 'string'}),
            'seq': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'ClientControl': {
        'op': 'tagged',
        'tag': 'kind',
        'members': {
            'pointer': 'ControlPointer',
            'wheel': 'ControlWheel',
            'key': 'ControlKey',
            'text': 'ControlText',
            'release_all': 'ControlReleaseAll',
            'clipboard_read': 'ControlClipboardRead',
            'clipboard_write': 'ControlClipboardWrite',
        },
    },
    'ControlHello': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'hello'}),
            'protocol': (True, {'op': 'ref', 'to': 'ProtocolVersion'}),
            'geometry': (True, {'op': 'ref', 'to': 'Geometry'}),
        },
    },
    'ControlPing': {'op': 'object', 'fields': {'kind': (True, {'op': 'const', 'value': 'ping'})}},
    'ControlAck': {
        'op': 'object',
        'fields': {'kind': (True, {'op': 'const', 'value': 'ack'}), 'seq': (True, {'op': 'ref', 'to': 'UnsignedInt64'})},
    },
    'ControlRejected': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'rejected'}),
            'seq': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'code': (True, {'op': 'ref', 'to': 'Code'}),
            'message': (True, {'op': 'ref', 'to': 'Text'}),
        },
    },
    'ControlClipboard': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'clipboard'}),
            'request': (True, {'op': 'ref', 'to': 'Text'}),
            'text': (True, {'op': 'ref', 'to': 'Text'}),
            'truncated': (True, {'op': 'boolean'}),
            'error': (False, {'op': 'ref', 'to': 'OptionalString'}),
        },
    },
    'ControlRevoked': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'revoked'}),
            'reason': (True, {'op': 'ref', 'to': 'Text'}),
            'code': (False, {'op': 'ref', 'to': 'Code'}),
        },
    },
    'EngineControl': {
        'op': 'tagged',
        'tag': 'kind',
        'members': {
            'hello': 'ControlHello',
            'ping': 'ControlPing',
            'ack': 'ControlAck',
            'rejected': 'ControlRejected',
            'clipboard': 'ControlClipboard',
            'revoked': 'ControlRevoked',
        },
    },
    'OfferDescription': {
        'op': 'object',
        'fields': {'type': (True, {'op': 'const', 'value': 'offer'}), 'sdp': (True, {'op': 'ref', 'to': 'Text'})},
    },
    'OfferedDescription': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'generation': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'description': (True, {'op': 'ref', 'to': 'OfferDescription'}),
        },
    },
    'OfferedCandidate': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'generation': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'candidate': (True, {'op': 'ref', 'to': 'Text'}),
            'sdpMid': (True, {'op': 'ref', 'to': 'OptionalString'}),
            'sdpMLineIndex': (
                True,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt16'}), (('null',), {'op': 'null'})),
                },
            ),
        },
    },
    'SessionState': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'capture': (True, {'op': 'ref', 'to': 'CaptureState'}),
            'transport': (True, {'op': 'ref', 'to': 'TransportState'}),
            'firstFrame': (True, {'op': 'boolean'}),
        },
    },
    'FrameChange': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'seq': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'damage': (True, {'op': 'ref', 'to': 'Damage'}),
            'timestamp_us': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'ForwardedControl': {'op': 'map', 'values': {'op': 'any'}},
    'ForwardedInput': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'input': (True, {'op': 'ref', 'to': 'ForwardedControl'}),
        },
    },
    'KeyframeWanted': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'generation': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'RestoreToken': {
        'op': 'object',
        'fields': {'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}), 'token': (True, {'op': 'ref', 'to': 'Text'})},
    },
    'CaptureStopped': {
        'op': 'object',
        'fields': {'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}), 'reason': (True, {'op': 'ref', 'to': 'Text'})},
    },
    'SessionRevoked': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'reason': (True, {'op': 'ref', 'to': 'Text'}),
            'code': (False, {'op': 'ref', 'to': 'Code'}),
        },
    },
    'CursorPosition': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'x': (True, {'op': 'ref', 'to': 'SafeInt'}),
            'y': (True, {'op': 'ref', 'to': 'SafeInt'}),
            'visible': (True, {'op': 'boolean'}),
            'hotspot': (False, {'op': 'types', 'of': ((('object',), {'op': 'ref', 'to': 'Point'}), (('null',), {'op': 'null'}))}),
            'timestamp_us': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
        },
    },
    'DescriptionEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.description'}),
            'params': (True, {'op': 'ref', 'to': 'OfferedDescription'}),
        },
    },
    'CandidateEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.candidate'}),
            'params': (True, {'op': 'ref', 'to': 'OfferedCandidate'}),
        },
    },
    'StateEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.state'}),
            'params': (True, {'op': 'ref', 'to': 'SessionState'}),
        },
    },
    'FrameChangedEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.frame.changed'}),
            'params': (True, {'op': 'ref', 'to': 'FrameChange'}),
        },
    },
    'InputEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.input'}),
            'params': (True, {'op': 'ref', 'to': 'ForwardedInput'}),
        },
    },
    'KeyframeRequestEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.keyframeRequest'}),
            'params': (True, {'op': 'ref', 'to': 'KeyframeWanted'}),
        },
    },
    'RestoreTokenEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.restoreToken'}),
            'params': (True, {'op': 'ref', 'to': 'RestoreToken'}),
        },
    },
    'CaptureStoppedEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.capture.stopped'}),
            'params': (True, {'op': 'ref', 'to': 'CaptureStopped'}),
        },
    },
    'RevokedEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.revoked'}),
            'params': (True, {'op': 'ref', 'to': 'SessionRevoked'}),
        },
    },
    'CursorEvent': {
        'op': 'object',
        'fields': {
            'event': (True, {'op': 'const', 'value': 'session.cursor'}),
            'params': (True, {'op': 'ref', 'to': 'CursorPosition'}),
        },
    },
    'Event': {
        'op': 'tagged',
        'tag': 'event',
        'members': {
            'session.description': 'DescriptionEvent',
            'session.candidate': 'CandidateEvent',
            'session.state': 'StateEvent',
            'session.frame.changed': 'FrameChangedEvent',
            'session.input': 'InputEvent',
            'session.keyframeRequest': 'KeyframeRequestEvent',
            'session.restoreToken': 'RestoreTokenEvent',
            'session.capture.stopped': 'CaptureStoppedEvent',
            'session.revoked': 'RevokedEvent',
            'session.cursor': 'CursorEvent',
        },
    },
    'KeeperWindow': {
        'op': 'object',
        'fields': {
            'id': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'title': (True, {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))}),
            'class': (True, {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))}),
            'pid': (
                True,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt32'}), (('null',), {'op': 'null'})),
                },
            ),
            'width': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'height': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
        },
    },
    'KeeperReport': {'op': 'object', 'fields': {'windows': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'KeeperWindow'}})}},
    'KeeperRefusal': {'op': 'object', 'fields': {'error': (True, {'op': 'ref', 'to': 'NonEmptyText'})}},
    'ResultReply': {'op': 'object', 'fields': {'id': (True, {'op': 'ref', 'to': 'UnsignedInt64'}), 'result': (True, {'op': 'any'})}},
    'ErrorObject': {
        'op': 'object',
        'fields': {'code': (True, {'op': 'ref', 'to': 'Code'}), 'message': (True, {'op': 'ref', 'to': 'Text'})},
    },
    'ErrorReply': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'error': (True, {'op': 'ref', 'to': 'ErrorObject'}),
        },
    },
    'OpenedSource': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'ref', 'to': 'NonEmptyText'}),
            'width': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'height': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'origin': (True, {'op': 'ref', 'to': 'Point'}),
        },
    },
    'OpenResult': {
        'op': 'object',
        'fields': {
            'sessionId': (True, {'op': 'ref', 'to': 'SessionId'}),
            'generation': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'source': (True, {'op': 'ref', 'to': 'OpenedSource'}),
            'geometry': (True, {'op': 'ref', 'to': 'Geometry'}),
        },
    },
    'AcceptedResult': {'op': 'object', 'fields': {'accepted': (True, {'op': 'const', 'value': True})}},
    'FrameResult': {
        'op': 'object',
        'fields': {
            'seq': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'still_ms': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'width': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'height': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'format': (True, {'op': 'ref', 'to': 'FrameFormat'}),
            'damage': (True, {'op': 'ref', 'to': 'Damage'}),
            'written': (True, {'op': 'boolean'}),
        },
    },
    'ClipboardReadResult': {'op': 'object', 'fields': {'text': (True, {'op': 'ref', 'to': 'Text'}), 'truncated': (True, {'op': 'boolean'})}},
    'ClipboardWriteResult': {'op': 'object', 'fields': {'written': (True, {'op': 'const', 'value': True})}},
    'CloseResult': {'op': 'object', 'fields': {'closed': (True, {'op': 'const', 'value': True})}},
    'PointResult': {'op': 'object', 'fields': {'shown': (True, {'op': 'boolean'})}},
    'EmptyResult': {'op': 'object', 'fields': {}},
    'MetricsResult': {
        'op': 'object',
        'fields': {
            'captured_frames': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'dropped_frames': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'encoded_frames': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'encoded_bytes': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'key_frames': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'refined_frames': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'encode_micros': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'target_kbps': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'input_applied': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'input_rejected': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'fed_frames': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'input_forwarded': (True, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'halved_frames': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'motion_frames': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'capture_micros': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'convert_micros': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'queue_micros': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'send_micros': (False, {'op': 'ref', 'to': 'UnsignedInt64'}),
            'codec': (False, {'op': 'ref', 'to': 'OptionalString'}),
            'encoder': (False, {'op': 'ref', 'to': 'OptionalString'}),
        },
    },
    'RequestEnvelope': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'ref', 'to': 'Text'}),
            'params': (False, {'op': 'any'}),
        },
    },
    'HelloParams': {'op': 'object', 'fields': {'protocol': (False, {'op': 'ref', 'to': 'UnsignedInt32'})}},
    'PortalSource': {'op': 'object', 'fields': {'kind': (True, {'op': 'const', 'value': 'portal'})}},
    'X11Source': {
        'op': 'object',
        'fields': {'kind': (True, {'op': 'const', 'value': 'x11'}), 'display': (False, {'op': 'ref', 'to': 'OptionalString'})},
    },
    'DisplaySource': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'display'}),
            'display_id': (
                False,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt32'}), (('null',), {'op': 'null'})),
                },
            ),
        },
    },
    'EncodedSource': {
        'op': 'object',
        'fields': {
            'kind': (True, {'op': 'const', 'value': 'encoded'}),
            'codec': (True, {'op': 'ref', 'to': 'FedCodec'}),
            'width': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
            'height': (True, {'op': 'ref', 'to': 'UnsignedInt32'}),
        },
    },
    'SessionSource': {
        'op': 'tagged',
        'tag': 'kind',
        'members': {'portal': 'PortalSource', 'x11': 'X11Source', 'display': 'DisplaySource', 'encoded': 'EncodedSource'},
    },
    'IceServer': {
        'op': 'object',
        'fields': {
            'urls': (True, {'op': 'array', 'items': {'op': 'ref', 'to': 'Text'}}),
            'username': (False, {'op': 'ref', 'to': 'OptionalString'}),
            'credential': (False, {'op': 'ref', 'to': 'OptionalString'}),
        },
    },
    'OpenParams': {
        'op': 'object',
        'fields': {
            'source': (
                False,
                {
                    'op': 'types',
                    'of': ((('object',), {'op': 'ref', 'to': 'SessionSource'}), (('null',), {'op': 'null'})),
                },
            ),
            'permissions': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'Permission'}}),
            'max_width': (False, {'op': 'integer', 'low': 0, 'high': 4294967295}),
            'max_height': (False, {'op': 'integer', 'low': 0, 'high': 4294967295}),
            'bitrate_kbps': (False, {'op': 'integer', 'low': 0, 'high': 4294967295}),
            'max_fps': (False, {'op': 'integer', 'low': 0, 'high': 4294967295}),
            'ice_servers': (False, {'op': 'array', 'items': {'op': 'ref', 'to': 'IceServer'}}),
            'restore_token': (False, {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))}),
            'ttl_seconds': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'loopback_tcp': (False, {'op': 'boolean'}),
            'agent_indicator': (False, {'op': 'boolean'}),
            'local_frames': (False, {'op': 'boolean'}),
        },
    },
    'ClientDescription': {
        'op': 'object',
        'fields': {'type': (True, {'op': 'ref', 'to': 'Text'}), 'sdp': (True, {'op': 'ref', 'to': 'Text'})},
    },
    'DescriptionParams': {
        'op': 'object',
        'fields': {
            'session_id': (True, {'op': 'ref', 'to': 'Text'}),
            'generation': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'description': (True, {'op': 'ref', 'to': 'ClientDescription'}),
        },
    },
    'CandidateParams': {
        'op': 'object',
        'fields': {
            'session_id': (True, {'op': 'ref', 'to': 'Text'}),
            'generation': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'candidate': (True, {'op': 'ref', 'to': 'Text'}),
            'sdp_mid': (False, {'op': 'ref', 'to': 'OptionalString'}),
            'sdp_m_line_index': (
                False,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt16'}), (('null',), {'op': 'null'})),
                },
            ),
            'sdpMLineIndex': (
                False,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt16'}), (('null',), {'op': 'null'})),
                },
            ),
        },
    },
    'SessionParams': {
        'op': 'object',
        'fields': {
            'session_id': (True, {'op': 'ref', 'to': 'Text'}),
            'generation': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
        },
    },
    'FrameParams': {
        'op': 'object',
        'fields': {
            'session_id': (True, {'op': 'ref', 'to': 'Text'}),
            'generation': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'since': (
                False,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt64'}), (('null',), {'op': 'null'})),
                },
            ),
            'after_seq': (
                False,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt64'}), (('null',), {'op': 'null'})),
                },
            ),
            'still_ms': (
                False,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt64'}), (('null',), {'op': 'null'})),
                },
            ),
            'timeout_ms': (
                False,
                {
                    'op': 'types',
                    'of': ((('integer',), {'op': 'ref', 'to': 'UnsignedInt64'}), (('null',), {'op': 'null'})),
                },
            ),
            'path': (False, {'op': 'string'}),
            'region': (False, {'op': 'types', 'of': ((('array',), {'op': 'ref', 'to': 'Box'}), (('null',), {'op': 'null'}))}),
        },
    },
    'FeedParams': {
        'op': 'object',
        'fields': {
            'session_id': (True, {'op': 'ref', 'to': 'Text'}),
            'generation': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'keyframe': (True, {'op': 'boolean'}),
            'data_b64': (True, {'op': 'string', 'most': 11184812}),
        },
    },
    'ClipboardWriteParams': {
        'op': 'object',
        'fields': {
            'session_id': (True, {'op': 'ref', 'to': 'Text'}),
            'generation': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'text': (False, {'op': 'string'}),
        },
    },
    'PointParams': {
        'op': 'object',
        'fields': {
            'session_id': (True, {'op': 'ref', 'to': 'Text'}),
            'generation': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'x': (False, {'op': 'ref', 'to': 'SafeInt'}),
            'y': (False, {'op': 'ref', 'to': 'SafeInt'}),
            'label': (False, {'op': 'string', 'most': 96, 'pattern': '^[ -~]*\\Z'}),
            'timeout_ms': (False, {'op': 'integer', 'low': 1, 'high': 120000}),
            'clear': (False, {'op': 'boolean'}),
        },
    },
    'HelloRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'hello'}),
            'params': (True, {'op': 'ref', 'to': 'HelloParams'}),
        },
    },
    'CapabilitiesRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'capabilities'}),
            'params': (False, {'op': 'any'}),
        },
    },
    'ShutdownRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'shutdown'}),
            'params': (False, {'op': 'any'}),
        },
    },
    'OpenRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.open'}),
            'params': (True, {'op': 'ref', 'to': 'OpenParams'}),
        },
    },
    'DescriptionRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.description'}),
            'params': (True, {'op': 'ref', 'to': 'DescriptionParams'}),
        },
    },
    'CandidateRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.candidate'}),
            'params': (True, {'op': 'ref', 'to': 'CandidateParams'}),
        },
    },
    'RestartIceRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.restart_ice'}),
            'params': (True, {'op': 'ref', 'to': 'SessionParams'}),
        },
    },
    'FrameRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.frame'}),
            'params': (True, {'op': 'ref', 'to': 'FrameParams'}),
        },
    },
    'FeedRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.feed'}),
            'params': (True, {'op': 'ref', 'to': 'FeedParams'}),
        },
    },
    'ClipboardReadRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.clipboard.read'}),
            'params': (True, {'op': 'ref', 'to': 'SessionParams'}),
        },
    },
    'ClipboardWriteRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.clipboard.write'}),
            'params': (True, {'op': 'ref', 'to': 'ClipboardWriteParams'}),
        },
    },
    'CloseRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.close'}),
            'params': (True, {'op': 'ref', 'to': 'SessionParams'}),
        },
    },
    'MetricsRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.metrics'}),
            'params': (False, {'op': 'any'}),
        },
    },
    'PointRequest': {
        'op': 'object',
        'fields': {
            'id': (False, {'op': 'ref', 'to': 'OptionalUnsignedInt64'}),
            'method': (True, {'op': 'const', 'value': 'session.point'}),
            'params': (True, {'op': 'ref', 'to': 'PointParams'}),
        },
    },
    'Request': {
        'op': 'tagged',
        'tag': 'method',
        'members': {
            'hello': 'HelloRequest',
            'capabilities': 'CapabilitiesRequest',
            'shutdown': 'ShutdownRequest',
            'session.open': 'OpenRequest',
            'session.description': 'DescriptionRequest',
            'session.candidate': 'CandidateRequest',
            'session.restart_ice': 'RestartIceRequest',
            'session.frame': 'FrameRequest',
            'session.feed': 'FeedRequest',
            'session.clipboard.read': 'ClipboardReadRequest',
            'session.clipboard.write': 'ClipboardWriteRequest',
            'session.close': 'CloseRequest',
            'session.metrics': 'MetricsRequest',
            'session.point': 'PointRequest',
        },
    },
    'ProtocolVersion': {'op': 'const', 'value': 3},
    'UnsignedInt16': {'op': 'integer', 'low': 0, 'high': 65535},
    'UnsignedInt32': {'op': 'integer', 'low': 0, 'high': 4294967295},
    'UnsignedInt64': {'op': 'integer', 'low': 0, 'high': 18446744073709551615},
    'OptionalUnsignedInt64': {
        'op': 'types',
        'of': ((('integer',), {'op': 'integer', 'low': 0, 'high': 18446744073709551615}), (('null',), {'op': 'null'})),
    },
    'SafeInt': {'op': 'integer', 'low': -9007199254740991, 'high': 9007199254740991},
    'Text': {'op': 'string'},
    'OptionalString': {'op': 'types', 'of': ((('string',), {'op': 'string'}), (('null',), {'op': 'null'}))},
    'NonEmptyText': {'op': 'string', 'least': 1},
    'SessionId': {'op': 'string', 'pattern': '^[0-9a-f]{32}\\Z'},
    'Code': {'op': 'string', 'least': 1},
    'Size': {
        'op': 'object',
        'fields': {'width': (True, {'op': 'ref', 'to': 'UnsignedInt32'}), 'height': (True, {'op': 'ref', 'to': 'UnsignedInt32'})},
    },
    'Point': {
        'op': 'object',
        'fields': {'x': (True, {'op': 'ref', 'to': 'SafeInt'}), 'y': (True, {'op': 'ref', 'to': 'SafeInt'})},
    },
    'Box': {'op': 'array', 'items': {'op': 'ref', 'to': 'UnsignedInt32'}, 'least': 4, 'most': 4},
    'Damage': {'op': 'array', 'items': {'op': 'ref', 'to': 'Box'}},
    'Geometry': {
        'op': 'object',
        'fields': {
            'source': (True, {'op': 'ref', 'to': 'Size'}),
            'encoded': (True, {'op': 'ref', 'to': 'Size'}),
            'origin': (True, {'op': 'ref', 'to': 'Point'}),
        },
    },
    'Permission': {'op': 'enum', 'values': ('view', 'control', 'clipboard')},
    'FedCodec': {'op': 'enum', 'values': ('h264',)},
    'EncodedCodec': {'op': 'enum', 'values': ('vp9', 'h264')},
    'PixelFormat': {'op': 'enum', 'values': ('bgrx', 'bgra', 'rgbx', 'rgba')},
    'FrameFormat': {'op': 'enum', 'values': ('bgrx',)},
    'CursorMode': {'op': 'enum', 'values': ('embedded', 'hidden', 'metadata')},
    'DesktopKind': {'op': 'enum', 'values': ('wayland', 'x11', 'none')},
    'TextReach': {'op': 'enum', 'values': ('layout-reachable', 'unicode', 'us-ansi-keymap')},
    'CaptureGrant': {'op': 'enum', 'values': ('granted', 'missing-screen-recording')},
    'InputGrant': {'op': 'enum', 'values': ('granted', 'missing-device-access', 'missing-accessibility')},
    'CaptureState': {'op': 'enum', 'values': ('consented', 'streaming', 'ended')},
    'TransportState': {'op': 'enum', 'values': ('new', 'connecting', 'connected', 'disconnected', 'failed', 'closed')},
    'PointerPhase': {'op': 'enum', 'values': ('move', 'down', 'up', 'cancel')},
}
"""The walker: each type as the schema says it, keys in declared order."""
