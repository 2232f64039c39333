# Written by `make gen` from schemas/collector/. Do not edit: change the schema and run `make gen`.
"""The closed vocabularies, limits and constants of collector."""

from __future__ import annotations

from typing import Final

FIXTURE_POWER: Final[tuple[str, ...]] = ('sleep', 'wake')
"""The machine is about to sleep, or has woken."""

PROTOCOL_VERSION: Final[int] = 1
"""The only version of the collector protocol."""

CAPABILITY: Final[tuple[str, ...]] = ('app-focus', 'window-metadata', 'resource-uri', 'secure-field-detection')
"""What a collector says it can report."""

PLATFORM: Final[tuple[str, ...]] = ('darwin', 'win32', 'linux')
"""The operating system a collector runs on."""

ARCH: Final[tuple[str, ...]] = ('arm64', 'x64', 'x86')
"""The processor a collector runs on, in the same words on every platform."""

NATIVE_PROVIDER: Final[tuple[str, ...]] = ('macos-ax', 'windows-uia', 'at-spi')
"""The accessibility interface a native observation came from; darwin, win32 and linux in this order."""

PROVIDER: Final[tuple[str, ...]] = ('macos-ax', 'windows-uia', 'at-spi', 'companion')
"""Where a stored observation came from; companion never comes over the collector wire."""

COLLECTOR_STATE_NAME: Final[tuple[str, ...]] = ('running', 'paused', 'permission-required', 'degraded')
"""What a collector says about itself."""

DIAGNOSTIC_LEVEL: Final[tuple[str, ...]] = ('debug', 'info', 'warn')
"""How grave a diagnostic is; there is no error level."""

DIAGNOSTIC_CODE: Final[tuple[str, ...]] = ('at-spi-unavailable', 'uia-unavailable', 'ax-unavailable', 'no-allowed-applications')
"""The diagnostic codes that shipped collectors send; the field itself is open."""

STATE_REASON: Final[tuple[str, ...]] = ('sleep', 'wake', 'accessibility')
"""The reason words of a state message that a host knows; the field itself is open."""

PRIVACY_REASON: Final[tuple[str, ...]] = ('protected-app', 'protected-metadata', 'secure-field', 'focused-element-unqueryable', 'unreadable-focused-element')
"""Why a collector held metadata back; the field itself is open."""

ELEMENT_STATE: Final[tuple[str, ...]] = ('not-secure', 'secure', 'unqueryable', 'unreadable')
"""What a collector could find out about the focused element."""

SHUTDOWN_REASON: Final[tuple[str, ...]] = ('plugin-dispose', 'host-shutdown', 'protocol-error')
"""Why the host ends a collector."""

POLICY_MODE: Final[tuple[str, ...]] = ('include-only', 'exclude')
"""How the rules are read; exclude allows nothing and never reaches the wire."""

RULE_DIMENSION: Final[tuple[str, ...]] = ('app', 'resource')
"""What a policy rule is matched against."""

RULE_ACTION: Final[tuple[str, ...]] = ('allow', 'deny', 'protect')
"""What a policy rule does with what it matches."""

RULE_MATCHER: Final[tuple[str, ...]] = ('exact', 'prefix', 'glob')
"""How the pattern of a rule is compared; in a glob only * is special and it matches any run."""

CONSENT_KIND: Final[tuple[str, ...]] = ('browser-origin', 'editor-workspace')
"""What a companion's consent entry is about."""

CONSENT_MODE: Final[tuple[str, ...]] = ('all', 'selected', 'none')
"""Which targets of one kind a companion may report."""

UNKNOWN_FIELD_POLICY: Final[tuple[str, ...]] = ('refuse', 'extension', 'count')
"""What is done with a field that nobody knows: refuse it, refuse it unless its name starts with x-, or drop and count it."""

REFUSAL_REASON: Final[tuple[str, ...]] = (
    'protected-app',
    'secure-field',
    'not-an-adapter',
    'protected-metadata',
    'unknown-adapter',
    'unlocatable-name',
    'browser-unpaired',
    'secure-path',
    'policy',
    'future-timestamp',
    'expired',
    'capture-disabled',
    'capture-not-owned',
    'capture-paused',
    'collector-not-running',
    'duplicate',
    'deleted-range',
    'bad-resource',
    'unknown',
)
"""Why an observation was not stored; each is counted under this name."""

COMPANION_REFUSAL: Final[tuple[str, ...]] = ('capture-disabled', 'capture-not-owned', 'capture-paused', 'collector-not-running')
"""The refusal reasons that a companion is told; all others stay inside."""

STORAGE_REFUSAL: Final[tuple[str, ...]] = ('storage-full', 'storage-locked', 'storage-corrupt', 'storage-failed')
"""Why the record could not be read or written; a sentence follows the word. Nothing of that transaction is there, and everything of the earlier ones is."""

DEGRADED_REASON: Final[tuple[str, ...]] = (
    'hello-timeout',
    'collector-spoke-without-hello',
    'collector-start-refused',
    'collector-spawn-failed',
    'collector-stdio-missing',
    'protocol-error',
    'configure-ack-timeout',
    'paused-ack-timeout',
    'running-ack-timeout',
    'configure-send-failed',
    'pause-send-failed',
    'resume-send-failed',
    'apply-policy-send-failed',
    'host-message-handler-error',
    'collector-exited',
    'collector-exit-unconfirmed',
)
"""Why the host calls a collector degraded; a fatal message adds its own code."""

INTAKE_REASON: Final[tuple[str, ...]] = ('not-started', 'port-in-use', 'cannot-listen', 'package-missing', 'stopped')
"""Why the companion intake is not listening."""

HEALTH_REASON: Final[tuple[str, ...]] = ('capture-owned-by-another-host', 'no-apps-allowed', 'collector-starting', 'storage-locked', 'storage-full')
"""Why nothing is captured, or nothing is stored yet, when no state message says it."""

CAPTURE_WORD: Final[tuple[str, ...]] = ('stopped', 'running', 'paused', 'permission-required', 'degraded')
"""The capture line of the health report."""

PROTOCOL_ERROR_CODE: Final[tuple[str, ...]] = (
    'line-too-long',
    'invalid-json',
    'version-mismatch',
    'unknown-type',
    'malformed',
    'unknown-field',
    'unsupported-capability',
    'platform-mismatch',
    'unsupported-architecture',
    'unsupported-provider',
    'invalid-state',
    'invalid-level',
    'hello-required',
    'duplicate-hello',
    'session-mismatch',
    'provider-mismatch',
    'sequence-regression',
    'sequence-conflict',
    'unexpected-acknowledgement',
    'acknowledgement-mismatch',
)
"""What a collector did wrong on the wire; the host then stops it with the reason protocol-error."""

INTAKE_ERROR_CODE: Final[tuple[str, ...]] = (
    'malformed-request',
    'not-found',
    'unexpected-host',
    'unexpected-origin',
    'browser-pairing-required',
    'editor-pairing-required',
    'pairing-required',
    'body-too-large',
    'slow-body',
    'malformed-json',
    'payload-required',
    'unknown-field',
    'source',
    'origin-path',
    'session',
    'seq',
    'observed-at',
    'incognito',
    'app',
    'app-bundle-id',
    'app-name',
    'workspace-root',
    'file-path',
    'file-path-outside',
    'event',
    'language-id',
    'surface-kind',
    'rate-limit',
    'incognito-refused',
    'stopping',
    'delivery-failed',
)
"""Why the companion intake refused a request; each stands for one answer sentence."""

SURFACE_KIND: Final[tuple[str, ...]] = ('editor', 'diff', 'terminal', 'output', 'browser', 'document', 'window')
"""The kind of surface that a person works in."""

ADAPTER_SURFACE_KIND: Final[tuple[str, ...]] = ('editor', 'terminal', 'browser', 'document', 'window')
"""The kind of surface that an adapter stands for."""

EDITOR_SURFACE_KIND: Final[tuple[str, ...]] = ('editor', 'diff', 'terminal', 'output')
"""What a person looks at inside an editor."""

DOCUMENT_RESOURCE_KIND: Final[tuple[str, ...]] = ('file', 'directory')
"""What the document of a window is taken for."""

FOCUSED_ELEMENT_POLICY: Final[tuple[str, ...]] = ('require', 'window-only')
"""Whether a window is reported when its focused element cannot be asked."""

RESOURCE_KIND: Final[tuple[str, ...]] = ('file', 'directory', 'url', 'document', 'workspace')
"""What a person works on."""

RESOURCE_SENSITIVITY: Final[tuple[str, ...]] = ('normal', 'protected')
"""Whether a stored resource may be shown."""

WORKSPACE_SOURCE: Final[tuple[str, ...]] = ('dsh', 'git', 'filesystem', 'companion', 'none')
"""Who named the workspace of an observation."""

ACTIVITY_EVENT: Final[tuple[str, ...]] = (
    'save',
    'verify-build-success',
    'verify-build-failure',
    'verify-test-success',
    'verify-test-failure',
    'verify-other-success',
    'verify-other-failure',
)
"""What an editor companion says has just happened."""

COMPANION_KIND: Final[tuple[str, ...]] = ('browser', 'editor')
"""The two kinds of companion, each paired by its own token."""

EPISODE_BOUNDARY: Final[tuple[str, ...]] = (
    'first-observation',
    'workspace-switch',
    'app-switch',
    'idle',
    'sleep',
    'pause',
    'collector-restart',
    'timeout',
    'manual-rebuild',
)
"""Why an episode began or ended."""

EPISODE_STATE: Final[tuple[str, ...]] = ('open', 'closed', 'invalidated')
"""Whether an episode still counts."""

SUMMARY_KIND: Final[tuple[str, ...]] = ('deterministic', 'local', 'remote')
"""Who wrote the summary of an episode."""

DELETION_SCOPE: Final[tuple[str, ...]] = ('time-range', 'episode', 'app', 'all')
"""What a person asked to forget."""

MAINTENANCE_STATE: Final[tuple[str, ...]] = ('ok', 'failed')
"""How the last retention sweep went."""

FIXTURE_VARIABLE: Final = 'TRIPTYCH_COLLECTOR_FIXTURE'

FIXTURE_CODE: Final = 'fixture'

MAX_PROTOCOL_LINE_BYTES: Final[int] = 65536

MAX_STDERR_BYTES: Final[int] = 32768

MAX_TEXT_BYTES: Final[int] = 4096

MAX_APP_BYTES: Final[int] = 512

MAX_ROLE_BYTES: Final[int] = 2048

MAX_ADAPTER_BYTES: Final[int] = 128

MAX_COMMAND_DEPTH: Final[int] = 127

FIRST_SEQ: Final[int] = 1

PROVIDER_OF_PLATFORM: Final[dict[str, str]] = {'darwin': 'macos-ax', 'win32': 'windows-uia', 'linux': 'at-spi'}

PROTECTED_ADAPTER: Final = 'protected'

COMPANION_BROWSER_BUNDLE_ID: Final = 'companion.browser'

COMPANION_BROWSER_NAME: Final = 'Browser companion'

HELLO_TIMEOUT_MS: Final[int] = 5000

ACK_TIMEOUT_MS: Final[int] = 5000

SHUTDOWN_GRACE_MS: Final[int] = 1500

DRAIN_TIMEOUT_MS: Final[int] = 15000

RESTART_DELAYS_MS: Final[tuple[int, ...]] = (1000, 2000, 5000, 15000, 30000)

CRASH_WINDOW_MS: Final[int] = 600000

CRASH_BREAKER: Final[int] = 5

OWNER_PROBE_MS: Final[int] = 4500

REPEAT_WINDOW: Final[int] = 1024

SLEEP_GAP_MS: Final[int] = 2000

CLOCK_JUMP_MS: Final[int] = 5000

TICK_MS: Final[int] = 5000

DEFAULT_LIVENESS_SECONDS: Final[int] = 0

LIVENESS_FLOOR_MS: Final[int] = 30000

IDLE_BOUNDARY_SECONDS: Final[int] = 480

DEFAULT_UNKNOWN_FIELDS: Final = 'extension'

EXTENSION_PREFIX: Final = 'x-'

MAX_EXTENSION_NAME_BYTES: Final[int] = 64

MAX_EXTENSION_NAMES: Final[int] = 256

DEFAULT_INTAKE_PORT: Final[int] = 19388

MAX_INTAKE_BODY_BYTES: Final[int] = 8192

INTAKE_READ_TIMEOUT_MS: Final[int] = 5000

INTAKE_RATE: Final[int] = 120

INTAKE_RATE_WINDOW_MS: Final[int] = 60000

MAX_COMPANION_TITLE_UNITS: Final[int] = 1024

PAIRING_TOKEN_BYTES: Final[int] = 32

PAIRING_FILE_TTL_MS: Final[int] = 300000

CONSENT_PREFIX: Final = '@dch-consent/v1/'

MAX_CONSENT_TARGETS: Final[int] = 64

MAX_CONSENT_TARGET_CHARS: Final[int] = 1024

INTAKE_STATUS: Final[dict[str, int]] = {
    'malformed-request': 400,
    'not-found': 404,
    'unexpected-host': 403,
    'unexpected-origin': 403,
    'browser-pairing-required': 401,
    'editor-pairing-required': 401,
    'pairing-required': 401,
    'body-too-large': 413,
    'slow-body': 408,
    'malformed-json': 400,
    'payload-required': 400,
    'unknown-field': 400,
    'source': 400,
    'origin-path': 400,
    'session': 400,
    'seq': 400,
    'observed-at': 400,
    'incognito': 400,
    'app': 400,
    'app-bundle-id': 400,
    'app-name': 400,
    'workspace-root': 400,
    'file-path': 400,
    'file-path-outside': 400,
    'event': 400,
    'language-id': 400,
    'surface-kind': 400,
    'rate-limit': 429,
    'incognito-refused': 403,
    'stopping': 503,
    'delivery-failed': 500,
}

INTAKE_SENTENCES: Final[dict[str, str]] = {
    'malformed-request': 'malformed request',
    'not-found': 'not found',
    'unexpected-host': 'unexpected host',
    'unexpected-origin': 'unexpected origin',
    'browser-pairing-required': 'browser pairing token required',
    'editor-pairing-required': 'editor pairing token required',
    'pairing-required': 'pairing token required',
    'body-too-large': 'body too large',
    'slow-body': 'body took too long',
    'malformed-json': 'malformed json',
    'payload-required': 'payload required',
    'unknown-field': 'unknown field for {place}: {name}',
    'source': 'source must be "browser" or "editor"',
    'origin-path': 'origin/path must be canonical http(s) URL metadata without credentials, query or fragment',
    'session': '{field} required',
    'seq': 'seq must be a positive integer',
    'observed-at': 'observedAtMs must be a finite number',
    'incognito': 'incognito must be a boolean',
    'app': 'app is required for an editor payload',
    'app-bundle-id': 'app.bundleId must look like an application id',
    'app-name': 'app.name is required',
    'workspace-root': 'workspaceRoot must be an absolute POSIX or Windows path',
    'file-path': 'filePath must be a string',
    'file-path-outside': 'filePath must live under workspaceRoot',
    'event': 'event must be a supported editor activity event',
    'language-id': 'languageId must be a string',
    'surface-kind': 'surfaceKind must be editor, diff, terminal or output',
    'rate-limit': 'rate limit exceeded',
    'incognito-refused': 'incognito tabs are never reported',
    'stopping': 'companion intake is stopping',
    'delivery-failed': 'observation delivery failed',
}

MAX_FUTURE_MS: Final[int] = 5000

DEFAULT_OBSERVATION_RETENTION_HOURS: Final[int] = 24

MAX_OBSERVATION_RETENTION_HOURS: Final[int] = 720

DEFAULT_EPISODE_RETENTION_DAYS: Final[int] = 30

MAX_EPISODE_RETENTION_DAYS: Final[int] = 365

SWEEP_INTERVAL_MS: Final[int] = 900000

EPISODE_QUIET_MS: Final[int] = 480000

EPISODE_IDLE_MS: Final[int] = 480000

EPISODE_DETOUR_GRACE_MS: Final[int] = 90000

EPISODE_URL_ATTACH_MS: Final[int] = 90000

STRONG_WORKSPACE_CONFIDENCE: Final[float] = 0.8

GIT_WORKSPACE_CONFIDENCE: Final[float] = 0.9

COMPANION_WORKSPACE_CONFIDENCE: Final[float] = 1.0

MAX_SUMMARY_BYTES: Final[int] = 1024

MAX_SUMMARY_ITEMS: Final[int] = 8

KEYS: Final[dict[str, tuple[str, ...]]] = {
    'Hello': ('v', 'type', 'capabilities', 'platform', 'arch', 'collectorSession', 'collectorVersion'),
    'ObservedApp': ('pid', 'bundleId', 'name'),
    'ObservedWindow': ('title', 'document', 'url'),
    'ObservedElement': ('role', 'subrole', 'identifier'),
    'ObservedActivity': ('idleSeconds',),
    'ObservedPrivacy': ('secure', 'protected', 'reason'),
    'ObservationSource': ('adapter', 'provider'),
    'Observation': (
        'v',
        'type',
        'collectorSession',
        'seq',
        'observedAtMs',
        'app',
        'window',
        'element',
        'activity',
        'privacy',
        'source',
        'workspace',
    ),
    'CollectorState': ('v', 'type', 'state', 'accessibilityTrusted', 'reason'),
    'Configured': ('v', 'type', 'revision'),
    'Diagnostic': ('v', 'type', 'level', 'code', 'message'),
    'Fatal': ('v', 'type', 'code', 'message'),
    'ReceivedPolicy': ('allowedBundleIds', 'blockedBundleIds', 'protectedBundleIds', 'protectedPathPatterns'),
    'ReceivedConfigure': ('type', 'revision', 'policy'),
    'ReceivedPause': ('type',),
    'ReceivedResume': ('type',),
    'ReceivedShutdown': ('type',),
    'BrowserPayload': ('source', 'origin', 'path', 'browserSession', 'seq', 'observedAtMs', 'incognito', 'title'),
    'DeclaredApp': ('bundleId', 'name'),
    'EditorPayload': (
        'source',
        'app',
        'workspaceRoot',
        'editorSession',
        'seq',
        'observedAtMs',
        'filePath',
        'event',
        'languageId',
        'surfaceKind',
        'title',
    ),
    'CompanionStored': ('stored',),
    'CompanionWithheld': ('stored', 'reason'),
    'CompanionAlive': ('ok', 'port'),
    'CompanionError': ('error',),
    'FixtureStart': ('type', 'fixture', 'platform', 'name'),
    'FixtureAvailability': ('trusted', 'reason'),
    'AxApplication': ('pid', 'bundleIdentifier', 'localizedName'),
    'AxWindow': ('title', 'document'),
    'AxFocus': ('error', 'role', 'subrole', 'subroleError'),
    'AxStep': ('type', 'application', 'window', 'focus', 'idleSeconds', 'availability', 'power'),
    'UiaApplication': ('pid', 'image', 'appUserModelId'),
    'UiaWindow': ('title',),
    'UiaFocus': ('error', 'controlType', 'isPassword'),
    'UiaStep': ('type', 'application', 'window', 'focus', 'idleSeconds', 'availability', 'power'),
    'AtSpiApplication': ('pid', 'program', 'desktopFile'),
    'AtSpiWindow': ('applicationName', 'title'),
    'AtSpiFocused': ('role', 'roleName'),
    'AtSpiFocus': ('answered', 'onBus', 'focused'),
    'AtSpiStep': ('type', 'application', 'window', 'focus', 'idleSeconds', 'availability', 'power'),
    'CollectorIdentity': ('version', 'arch'),
    'CompanionHealth': (
        'listening',
        'port',
        'paired',
        'editorPaired',
        'reason',
        'lastSeenAtMs',
        'browserLastSeenAtMs',
        'editorLastSeenAtMs',
    ),
    'RefusalCounts': ('total', 'byReason'),
    'UnknownFieldCounts': ('policy', 'total', 'byName', 'other'),
    'Maintenance': ('retention', 'lastFailureAtMs'),
    'Health': (
        'capture',
        'reason',
        'detail',
        'collector',
        'accessibilityTrusted',
        'companion',
        'refusals',
        'unknownFields',
        'maintenance',
    ),
    'WirePolicy': ('mode', 'allowedBundleIds', 'blockedBundleIds', 'protectedBundleIds', 'protectedPathPatterns'),
    'Configure': ('v', 'type', 'revision', 'policy'),
    'Pause': ('v', 'type'),
    'Resume': ('v', 'type'),
    'Shutdown': ('v', 'type', 'reason'),
    'PolicyRule': ('id', 'dimension', 'action', 'matcher', 'pattern', 'builtIn', 'createdAtMs', 'updatedAtMs'),
    'PolicySnapshot': ('revision', 'mode', 'rules', 'updatedAtMs'),
    'AdapterIds': ('darwin', 'win32', 'linux'),
    'AdapterEntry': ('id', 'surfaceKind', 'suppressesWindowTitle', 'documentResourceKind', 'focusedElementPolicy', 'ids'),
    'AdapterTable': ('adapters',),
}
"""The keys of every object, in the order that the protocol declares."""
