# Written by `make gen` from schemas/desklink/. Do not edit: change the schema and run `make gen`.
"""The closed vocabularies, limits and constants of desklink."""

from __future__ import annotations

from typing import Final

PROTOCOL_VERSION: Final[int] = 3
"""The only version of the desklink protocol that is spoken here."""

METHOD: Final[tuple[str, ...]] = (
    'hello',
    'capabilities',
    'shutdown',
    'session.open',
    'session.description',
    'session.candidate',
    'session.restart_ice',
    'session.frame',
    'session.feed',
    'session.clipboard.read',
    'session.clipboard.write',
    'session.close',
    'session.metrics',
    'session.point',
)
"""What a consumer may ask of the engine."""

UNGATED_METHOD: Final[tuple[str, ...]] = ('hello', 'capabilities', 'shutdown')
"""The methods that answer before a supported hello."""

EVENT_NAME: Final[tuple[str, ...]] = (
    'session.description',
    'session.candidate',
    'session.state',
    'session.frame.changed',
    'session.input',
    'session.keyframeRequest',
    'session.restoreToken',
    'session.capture.stopped',
    'session.revoked',
    'session.cursor',
)
"""What the engine says unasked."""

HOST_LOCAL_EVENT: Final[tuple[str, ...]] = ('session.restoreToken', 'session.frame.changed')
"""The events that a bridge never forwards."""

BRIDGE_REFUSED_METHOD: Final[tuple[str, ...]] = ('session.frame', 'shutdown')
"""The methods that a bridge refuses with the code operation."""

PERMISSION: Final[tuple[str, ...]] = ('view', 'control', 'clipboard')
"""What a session may do; view is needed to open one."""

SOURCE_KIND: Final[tuple[str, ...]] = ('portal', 'x11', 'display', 'encoded')
"""Where the picture of a session comes from."""

CAPTURED_KIND: Final[tuple[str, ...]] = ('monitor', 'window', 'virtual', 'x11-root', 'display', 'encoded')
"""What an open session says its source is; the field itself is open, since a portal has its own words."""

FED_CODEC: Final[tuple[str, ...]] = ('h264',)
"""The codecs that a consumer may feed."""

ENCODED_CODEC: Final[tuple[str, ...]] = ('vp9', 'h264')
"""The codecs that the engine can encode a captured desktop with."""

PIXEL_FORMAT: Final[tuple[str, ...]] = ('bgrx', 'bgra', 'rgbx', 'rgba')
"""The order of the four bytes of a pixel."""

FRAME_FORMAT: Final[tuple[str, ...]] = ('bgrx',)
"""The format of a frame written to a file."""

CURSOR_MODE: Final[tuple[str, ...]] = ('embedded', 'hidden', 'metadata')
"""Whether captured frames contain the pointer, leave it out, or carry it beside the picture."""

PLATFORM: Final[tuple[str, ...]] = ('linux', 'macos', 'windows')
"""The operating system an engine runs on."""

DESKTOP_KIND: Final[tuple[str, ...]] = ('wayland', 'x11', 'none')
"""The kind of desktop session the engine was started in."""

TEXT_REACH: Final[tuple[str, ...]] = ('layout-reachable', 'unicode', 'us-ansi-keymap')
"""Which characters a keyboard back end can produce."""

CAPTURE_GRANT: Final[tuple[str, ...]] = ('granted', 'missing-screen-recording')
"""Whether the system lets the engine capture."""

INPUT_GRANT: Final[tuple[str, ...]] = ('granted', 'missing-device-access', 'missing-accessibility')
"""Whether the system lets the engine inject input."""

CAPTURE_STATE: Final[tuple[str, ...]] = ('consented', 'streaming', 'ended')
"""How far the capture of a session has come."""

TRANSPORT_STATE: Final[tuple[str, ...]] = ('new', 'connecting', 'connected', 'disconnected', 'failed', 'closed')
"""The state of the peer connection of a session."""

REVOCATION_CODE: Final[tuple[str, ...]] = ('transport', 'lease', 'error', 'closed')
"""Why a session ended; only transport invites a new session, and closed is said on the control channel alone."""

ERROR_CODE: Final[tuple[str, ...]] = (
    'malformed',
    'unsupported-protocol',
    'operation',
    'session',
    'generation',
    'permission',
    'input-unavailable',
    'source',
    'indicator-unavailable',
    'indicator',
    'encode',
    'input',
    'transport',
    'clipboard',
    'frame',
    'frame-timeout',
    'stream-stopped',
    'coordinates',
)
"""Why the engine refused a request."""

CONTROL_ERROR_CODE: Final[tuple[str, ...]] = (
    'permission',
    'session',
    'input-replay',
    'coordinates',
    'text-too-large',
    'text-unsupported',
    'input-unavailable',
    'operation',
    'input',
    'clipboard-unsupported',
)
"""Why the engine refused a message on the control channel."""

BRIDGE_ERROR_CODE: Final[tuple[str, ...]] = ('malformed', 'operation', 'source', 'engine', 'consent-timeout')
"""The codes that a bridge adds to the engine's own."""

LAUNCHER_ERROR_CODE: Final[tuple[str, ...]] = ('missing-system-library',)
"""Why the engine could not even be started."""

POINTER_PHASE: Final[tuple[str, ...]] = ('move', 'down', 'up', 'cancel')
"""What a pointer does; cancel releases everything that is held."""

CLIENT_CONTROL_KIND: Final[tuple[str, ...]] = ('pointer', 'wheel', 'key', 'text', 'release_all', 'clipboard_read', 'clipboard_write')
"""What a client may say on the control channel."""

ENGINE_CONTROL_KIND: Final[tuple[str, ...]] = ('hello', 'ping', 'ack', 'rejected', 'clipboard', 'revoked')
"""What the engine says on the control channel."""

NAMED_KEY: Final[tuple[str, ...]] = (
    'Enter',
    'Return',
    'Tab',
    'Escape',
    'Backspace',
    'DeleteBackward',
    'Delete',
    'DeleteForward',
    'ArrowUp',
    'ArrowDown',
    'ArrowLeft',
    'ArrowRight',
    'Home',
    'End',
    'PageUp',
    'PageDown',
    'F1',
    'F2',
    'F3',
    'F4',
    'F5',
    'F6',
    'F7',
    'F8',
    'F9',
    'F10',
    'F11',
    'F12',
)
"""The keys that every engine knows by name."""

EXTRA_NAMED_KEY: Final[tuple[str, ...]] = (
    'Space',
    'Insert',
    'CapsLock',
    'NumLock',
    'ScrollLock',
    'Pause',
    'PrintScreen',
    'ContextMenu',
    'F13',
    'F14',
    'F15',
    'F16',
    'F17',
    'F18',
    'F19',
    'F20',
    'F21',
    'F22',
    'F23',
    'F24',
    'Numpad0',
    'Numpad1',
    'Numpad2',
    'Numpad3',
    'Numpad4',
    'Numpad5',
    'Numpad6',
    'Numpad7',
    'Numpad8',
    'Numpad9',
    'NumpadAdd',
    'NumpadSubtract',
    'NumpadMultiply',
    'NumpadDivide',
    'NumpadDecimal',
    'NumpadComma',
    'NumpadEnter',
    'NumpadEqual',
    'IntlBackslash',
    'IntlRo',
    'IntlYen',
    'KanaMode',
    'Convert',
    'NonConvert',
    'Lang1',
    'Lang2',
    'Help',
    'Again',
    'Undo',
    'Cut',
    'Copy',
    'Paste',
    'Open',
    'Find',
    'AudioVolumeMute',
    'AudioVolumeDown',
    'AudioVolumeUp',
    'MediaPlayPause',
    'MediaPlay',
    'MediaPause',
    'MediaStop',
    'MediaTrackNext',
    'MediaTrackPrevious',
    'MediaFastForward',
    'MediaRewind',
    'MediaRecord',
    'Eject',
    'BrightnessDown',
    'BrightnessUp',
    'BrowserBack',
    'BrowserForward',
    'BrowserRefresh',
    'BrowserStop',
    'BrowserHome',
    'BrowserSearch',
    'BrowserFavorites',
    'LaunchMail',
)
"""Further keys that this engine knows by name."""

MODIFIER: Final[tuple[str, ...]] = (
    'Control',
    'ControlLeft',
    'Ctrl',
    'ControlRight',
    'Shift',
    'ShiftLeft',
    'ShiftRight',
    'Alt',
    'AltLeft',
    'AltRight',
    'AltGraph',
    'Meta',
    'MetaLeft',
    'Super',
    'Command',
    'MetaRight',
)
"""The names of the modifier keys."""

MAX_LINE_BYTES: Final[int] = 16777216

SESSION_GENERATION: Final[int] = 1

DEFAULT_MAX_WIDTH: Final[int] = 3840

DEFAULT_MAX_HEIGHT: Final[int] = 2160

DEFAULT_MAX_FPS: Final[int] = 30

MIN_FPS: Final[int] = 1

MAX_FPS: Final[int] = 60

DEFAULT_TTL_SECONDS: Final[int] = 3600

ROOT_DEPTH: Final[int] = 24

CAPTURE_RETRIES: Final[int] = 3

BITRATE_BASE_KBPS: Final[int] = 1500

BITRATE_KBPS_PER_10000_PIXELS: Final[int] = 18

MAX_BITRATE_KBPS: Final[int] = 25000

START_BITRATE_KBPS: Final[int] = 3000

REFINE_AFTER_MS: Final[int] = 150

KEEPALIVE_AFTER_MS: Final[int] = 1000

MIN_QUANTIZER: Final[int] = 2

MOTION_MIN_QUANTIZER: Final[int] = 8

MOTION_MAX_QUANTIZER: Final[int] = 52

REFINE_MAX_QUANTIZER: Final[int] = 10

FRAME_BURST_MS: Final[int] = 60

BUDGET_HEADROOM: Final[float] = 1.25

LARGE_FRAME_FACTOR: Final[int] = 4

HALF_MIN_WIDTH_PIXELS: Final[int] = 640

HALF_AFTER_FRAMES: Final[int] = 5

HALF_AFTER_DEBT_FRAMES: Final[int] = 2

FULL_AFTER_FRAMES: Final[int] = 30

PACER_MIN_BITS_PER_SECOND: Final[int] = 20000000

PACER_BITRATE_FACTOR: Final[int] = 3

PACER_BURST_BITS: Final[int] = 256000

RATE_FLOOR_KBPS: Final[int] = 500

RATE_FLOOR_FRACTION: Final[float] = 0.125

QUEUE_HIGH_MS: Final[int] = 25

QUEUE_LOW_MS: Final[int] = 10

QUEUE_DECREASE_INTERVAL_MS: Final[int] = 300

QUEUE_DECREASE_FACTOR: Final[float] = 0.85

LOSS_REPORT_INTERVAL_MS: Final[int] = 1000

LOSS_HIGH_FRACTION: Final[float] = 0.1

LOSS_LOW_FRACTION: Final[float] = 0.02

LOSS_DECREASE_FACTOR: Final[float] = 0.7

RATE_INCREASE_FACTOR: Final[float] = 1.08

RATE_INCREASE_KBPS: Final[int] = 64

BASE_DELAY_WINDOW_MS: Final[int] = 15000

STANDING_DELAY_WINDOW_MS: Final[int] = 200

DELIVERED_WINDOW_MS: Final[int] = 500

MAX_FED_WIDTH: Final[int] = 7680

MAX_FED_HEIGHT: Final[int] = 4320

MAX_ACCESS_UNIT_BYTES: Final[int] = 8388608

MAX_ACCESS_UNIT_BASE64: Final[int] = 11184812

FEED_QUEUE_UNITS: Final[int] = 8

KEYFRAME_REQUEST_INTERVAL_MS: Final[int] = 500

DEFAULT_FRAME_TIMEOUT_MS: Final[int] = 5000

MAX_FRAME_TIMEOUT_MS: Final[int] = 120000

DEFAULT_STILL_MS: Final[int] = 150

TILE_PIXELS: Final[int] = 32

PING_INTERVAL_MS: Final[int] = 500

MAX_TEXT_BYTES: Final[int] = 4096

MAX_WHEEL_DELTA: Final[int] = 100

MAX_WHEEL_CLICKS: Final[int] = 20

MAX_CLIPBOARD_BYTES: Final[int] = 262144

CLIPBOARD_TIMEOUT_MS: Final[int] = 3000

CLIPBOARD_MIME: Final = 'text/plain;charset=utf-8'

MAX_POINT_LABEL_CHARS: Final[int] = 96

MAX_POINT_TIMEOUT_MS: Final[int] = 120000

KEEPER_CONTENT_PIXELS: Final[int] = 120

KEEPER_PARKED_POSITION: Final[int] = -30000

KEEPER_QUIET_MS: Final[int] = 100

KEEPER_LATEST_MS: Final[int] = 300

DEFAULT_BRIDGE_HOST: Final = '127.0.0.1'

DEFAULT_BRIDGE_PORT: Final[int] = 19400

BRIDGE_TOKEN_BYTES: Final[int] = 24

BRIDGE_REQUEST_TIMEOUT_MS: Final[int] = 30000

NAMED_KEY_CODES: Final[dict[str, int]] = {
    'Enter': 28,
    'Return': 28,
    'Tab': 15,
    'Escape': 1,
    'Backspace': 14,
    'DeleteBackward': 14,
    'Delete': 111,
    'DeleteForward': 111,
    'ArrowUp': 103,
    'ArrowDown': 108,
    'ArrowLeft': 105,
    'ArrowRight': 106,
    'Home': 102,
    'End': 107,
    'PageUp': 104,
    'PageDown': 109,
    'F1': 59,
    'F2': 60,
    'F3': 61,
    'F4': 62,
    'F5': 63,
    'F6': 64,
    'F7': 65,
    'F8': 66,
    'F9': 67,
    'F10': 68,
    'F11': 87,
    'F12': 88,
}

EXTRA_KEY_CODES: Final[dict[str, int]] = {
    'Space': 57,
    'Insert': 110,
    'CapsLock': 58,
    'NumLock': 69,
    'ScrollLock': 70,
    'Pause': 119,
    'PrintScreen': 99,
    'ContextMenu': 127,
    'F13': 183,
    'F14': 184,
    'F15': 185,
    'F16': 186,
    'F17': 187,
    'F18': 188,
    'F19': 189,
    'F20': 190,
    'F21': 191,
    'F22': 192,
    'F23': 193,
    'F24': 194,
    'Numpad0': 82,
    'Numpad1': 79,
    'Numpad2': 80,
    'Numpad3': 81,
    'Numpad4': 75,
    'Numpad5': 76,
    'Numpad6': 77,
    'Numpad7': 71,
    'Numpad8': 72,
    'Numpad9': 73,
    'NumpadAdd': 78,
    'NumpadSubtract': 74,
    'NumpadMultiply': 55,
    'NumpadDivide': 98,
    'NumpadDecimal': 83,
    'NumpadComma': 121,
    'NumpadEnter': 96,
    'NumpadEqual': 117,
    'IntlBackslash': 86,
    'IntlRo': 89,
    'IntlYen': 124,
    'KanaMode': 93,
    'Convert': 92,
    'NonConvert': 94,
    'Lang1': 122,
    'Lang2': 123,
    'Help': 138,
    'Again': 129,
    'Undo': 131,
    'Cut': 137,
    'Copy': 133,
    'Paste': 135,
    'Open': 134,
    'Find': 136,
    'AudioVolumeMute': 113,
    'AudioVolumeDown': 114,
    'AudioVolumeUp': 115,
    'MediaPlayPause': 164,
    'MediaPlay': 207,
    'MediaPause': 201,
    'MediaStop': 166,
    'MediaTrackNext': 163,
    'MediaTrackPrevious': 165,
    'MediaFastForward': 208,
    'MediaRewind': 168,
    'MediaRecord': 167,
    'Eject': 161,
    'BrightnessDown': 224,
    'BrightnessUp': 225,
    'BrowserBack': 158,
    'BrowserForward': 159,
    'BrowserRefresh': 173,
    'BrowserStop': 128,
    'BrowserHome': 172,
    'BrowserSearch': 217,
    'BrowserFavorites': 156,
    'LaunchMail': 155,
}

MODIFIER_CODES: Final[dict[str, int]] = {
    'Control': 29,
    'ControlLeft': 29,
    'Ctrl': 29,
    'ControlRight': 97,
    'Shift': 42,
    'ShiftLeft': 42,
    'ShiftRight': 54,
    'Alt': 56,
    'AltLeft': 56,
    'AltRight': 100,
    'AltGraph': 100,
    'Meta': 125,
    'MetaLeft': 125,
    'Super': 125,
    'Command': 125,
    'MetaRight': 126,
}

KEYS: Final[dict[str, tuple[str, ...]]] = {
    'BridgeEnvelope': ('id', 'method', 'params'),
    'UnavailableReason': ('reason', 'remedy'),
    'DesktopSession': ('kind',),
    'X11Facts': ('available', 'size'),
    'LinuxCapture': ('mechanism', 'backends', 'formats', 'cursor', 'audio'),
    'EncodeFacts': ('codecs', 'hardware'),
    'LinuxInput': ('mechanism', 'pointer', 'wheel', 'keyboard', 'text', 'layout', 'unavailable_reason', 'grant'),
    'ClipboardFacts': ('read', 'write', 'mime', 'maxBytes'),
    'EncodedFacts': ('codecs',),
    'LinuxCapabilities': ('protocol', 'engine', 'platform', 'session', 'x11', 'capture', 'encode', 'input', 'clipboard', 'encoded'),
    'MacSession': ('kind', 'on_console'),
    'MacDisplay': ('id', 'width', 'height', 'scale', 'points', 'origin', 'main'),
    'MacCapture': ('mechanism', 'backends', 'formats', 'cursor', 'audio', 'displays', 'grant', 'unavailable_reason'),
    'MacInput': ('mechanism', 'pointer', 'wheel', 'keyboard', 'text', 'layout', 'unavailable_reason', 'grant'),
    'MacCapabilities': ('protocol', 'engine', 'platform', 'session', 'capture', 'encode', 'input', 'clipboard', 'encoded'),
    'WindowsCapabilities': ('protocol', 'engine', 'platform', 'encoded'),
    'ControlPointer': ('kind', 'phase', 'x', 'y', 'button', 'seq'),
    'ControlWheel': ('kind', 'dx', 'dy', 'seq'),
    'ControlKey': ('kind', 'name', 'character', 'down', 'modifiers', 'seq'),
    'ControlText': ('kind', 'text', 'seq'),
    'ControlReleaseAll': ('kind', 'seq'),
    'ControlClipboardRead': ('kind', 'request', 'seq'),
    'ControlClipboardWrite': ('kind', 'request', 'text', 'seq'),
    'ControlHello': ('kind', 'protocol', 'geometry'),
    'ControlPing': ('kind',),
    'ControlAck': ('kind', 'seq'),
    'ControlRejected': ('kind', 'seq', 'code', 'message'),
    'ControlClipboard': ('kind', 'request', 'text', 'truncated', 'error'),
    'ControlRevoked': ('kind', 'reason', 'code'),
    'OfferDescription': ('type', 'sdp'),
    'OfferedDescription': ('sessionId', 'generation', 'description'),
    'OfferedCandidate': ('sessionId', 'generation', 'candidate', 'sdpMid', 'sdpMLineIndex'),
    'SessionState': ('sessionId', 'capture', 'transport', 'firstFrame'),
    'FrameChange': ('sessionId', 'seq', 'damage', 'timestamp_us'),
    'ForwardedInput': ('sessionId', 'input'),
    'KeyframeWanted': ('sessionId', 'generation'),
    'RestoreToken': ('sessionId', 'token'),
    'CaptureStopped': ('sessionId', 'reason'),
    'SessionRevoked': ('sessionId', 'reason', 'code'),
    'CursorPosition': ('sessionId', 'x', 'y', 'visible', 'hotspot', 'timestamp_us'),
    'DescriptionEvent': ('event', 'params'),
    'CandidateEvent': ('event', 'params'),
    'StateEvent': ('event', 'params'),
    'FrameChangedEvent': ('event', 'params'),
    'InputEvent': ('event', 'params'),
    'KeyframeRequestEvent': ('event', 'params'),
    'RestoreTokenEvent': ('event', 'params'),
    'CaptureStoppedEvent': ('event', 'params'),
    'RevokedEvent': ('event', 'params'),
    'CursorEvent': ('event', 'params'),
    'KeeperWindow': ('id', 'title', 'class', 'pid', 'width', 'height'),
    'KeeperReport': ('windows',),
    'KeeperRefusal': ('error',),
    'ResultReply': ('id', 'result'),
    'ErrorObject': ('code', 'message'),
    'ErrorReply': ('id', 'error'),
    'OpenedSource': ('kind', 'width', 'height', 'origin'),
    'OpenResult': ('sessionId', 'generation', 'source', 'geometry'),
    'AcceptedResult': ('accepted',),
    'FrameResult': ('seq', 'still_ms', 'width', 'height', 'format', 'damage', 'written'),
    'ClipboardReadResult': ('text', 'truncated'),
    'ClipboardWriteResult': ('written',),
    'CloseResult': ('closed',),
    'PointResult': ('shown',),
    'EmptyResult': (),
    'MetricsResult': (
        'captured_frames',
        'dropped_frames',
        'encoded_frames',
        'encoded_bytes',
        'key_frames',
        'refined_frames',
        'encode_micros',
        'target_kbps',
        'input_applied',
        'input_rejected',
        'fed_frames',
        'input_forwarded',
        'halved_frames',
        'motion_frames',
        'capture_micros',
        'convert_micros',
        'queue_micros',
        'send_micros',
        'codec',
        'encoder',
    ),
    'RequestEnvelope': ('id', 'method', 'params'),
    'HelloParams': ('protocol',),
    'PortalSource': ('kind',),
    'X11Source': ('kind', 'display'),
    'DisplaySource': ('kind', 'display_id'),
    'EncodedSource': ('kind', 'codec', 'width', 'height'),
    'IceServer': ('urls', 'username', 'credential'),
    'OpenParams': (
        'source',
        'permissions',
        'max_width',
        'max_height',
        'bitrate_kbps',
        'max_fps',
        'ice_servers',
        'restore_token',
        'ttl_seconds',
        'loopback_tcp',
        'agent_indicator',
        'local_frames',
    ),
    'ClientDescription': ('type', 'sdp'),
    'DescriptionParams': ('session_id', 'generation', 'description'),
    'CandidateParams': ('session_id', 'generation', 'candidate', 'sdp_mid', 'sdp_m_line_index', 'sdpMLineIndex'),
    'SessionParams': ('session_id', 'generation'),
    'FrameParams': ('session_id', 'generation', 'since', 'after_seq', 'still_ms', 'timeout_ms', 'path', 'region'),
    'FeedParams': ('session_id', 'generation', 'keyframe', 'data_b64'),
    'ClipboardWriteParams': ('session_id', 'generation', 'text'),
    'PointParams': ('session_id', 'generation', 'x', 'y', 'label', 'timeout_ms', 'clear'),
    'HelloRequest': ('id', 'method', 'params'),
    'CapabilitiesRequest': ('id', 'method', 'params'),
    'ShutdownRequest': ('id', 'method', 'params'),
    'OpenRequest': ('id', 'method', 'params'),
    'DescriptionRequest': ('id', 'method', 'params'),
    'CandidateRequest': ('id', 'method', 'params'),
    'RestartIceRequest': ('id', 'method', 'params'),
    'FrameRequest': ('id', 'method', 'params'),
    'FeedRequest': ('id', 'method', 'params'),
    'ClipboardReadRequest': ('id', 'method', 'params'),
    'ClipboardWriteRequest': ('id', 'method', 'params'),
    'CloseRequest': ('id', 'method', 'params'),
    'MetricsRequest': ('id', 'method', 'params'),
    'PointRequest': ('id', 'method', 'params'),
    'Size': ('width', 'height'),
    'Point': ('x', 'y'),
    'Geometry': ('source', 'encoded', 'origin'),
}
"""The keys of every object, in the order that the protocol declares."""
