# Written by `make gen` from schemas/collector/. Do not edit: change the schema and run `make gen`.
"""The messages of collector as frozen structs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field


class ObservedActivity(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How long the person has been still."""

    idle_seconds: (
        Annotated[
            float,
            Meta(description="Seconds since the last input, fractions allowed; null is the same as absent.", ge=0.0),
        ]
        | None
        | UnsetType
    ) = field(name="idleSeconds", default=UNSET)
    """Seconds since the last input, fractions allowed; null is the same as absent."""


class ReceivedPolicy(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A policy as it came in: what is not an array counts as empty, and what is not a string in an array is dropped."""

    allowed_bundle_ids: (
        Annotated[
            Any, Meta(description="Any value; only the strings of an array count.")
        ]
        | UnsetType
    ) = field(name="allowedBundleIds", default=UNSET)
    """Any value; only the strings of an array count."""
    blocked_bundle_ids: (
        Annotated[
            Any, Meta(description="Any value; only the strings of an array count.")
        ]
        | UnsetType
    ) = field(name="blockedBundleIds", default=UNSET)
    """Any value; only the strings of an array count."""
    protected_bundle_ids: (
        Annotated[
            Any, Meta(description="Any value; only the strings of an array count.")
        ]
        | UnsetType
    ) = field(name="protectedBundleIds", default=UNSET)
    """Any value; only the strings of an array count."""
    protected_path_patterns: (
        Annotated[
            Any, Meta(description="Any value; only the strings of an array count.")
        ]
        | UnsetType
    ) = field(name="protectedPathPatterns", default=UNSET)
    """Any value; only the strings of an array count."""


class ReceivedPause(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="pause"):
    """A pause; nothing beside the type is looked at."""


class ReceivedResume(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="resume"):
    """A resume; nothing beside the type is looked at."""


class ReceivedShutdown(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="shutdown"):
    """A shutdown; nothing beside the type is looked at."""


RequiredText: TypeAlias = Annotated[
    str, Meta(description="A non-empty string.", min_length=1)
]
"""A non-empty string."""


class DeclaredApp(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The application that an editor companion says it is: a claim, not a fact."""

    bundle_id: Annotated[str, Meta(description="A letter or digit, then 2 to 127 letters, digits, dots and hyphens, all ASCII.", pattern="^[A-Za-z0-9][A-Za-z0-9.-]{2,127}\\Z")] = field(
        name="bundleId"
    )
    """A letter or digit, then 2 to 127 letters, digits, dots and hyphens, all ASCII."""
    name: Annotated[str, Meta(description="Not blank; cut at 1024 UTF-16 code units.")]
    """Not blank; cut at 1024 UTF-16 code units."""


class CompanionStored(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Answer 201: the observation is stored."""

    stored: bool


class CompanionError(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Any refusal of the intake, in one sentence."""

    error: Annotated[
        str, Meta(description="The sentence that says what was wrong.", min_length=1)
    ]
    """The sentence that says what was wrong."""


class FixtureAvailability(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Whether the accessibility interface may be read and answers."""

    trusted: Annotated[bool, Meta(description="It may, and does.")]
    """It may, and does."""
    reason: Annotated[str, Meta(description="Why not.")] | UnsetType = UNSET
    """Why not."""


FixturePower: TypeAlias = Annotated[
    Literal["sleep", "wake"],
    Meta(description="The machine is about to sleep, or has woken."),
]
"""The machine is about to sleep, or has woken."""


class AxWindow(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Attributes of AXFocusedWindow."""

    title: Annotated[str, Meta(description="AXTitle.")] | UnsetType = UNSET
    """AXTitle."""
    document: (
        Annotated[str, Meta(description="AXDocument, a URL or a path.")] | UnsetType
    ) = UNSET
    """AXDocument, a URL or a path."""


AxError: TypeAlias = Annotated[
    int, Meta(description="An AXError; 0 is success.", ge=-25299, le=0)
]
"""An AXError; 0 is success."""


class AxFocus(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """AXFocusedUIElement and its attributes."""

    error: AxError
    role: (
        Annotated[str, Meta(description="AXRole; absent when it could not be read.")]
        | UnsetType
    ) = UNSET
    """AXRole; absent when it could not be read."""
    subrole: Annotated[str, Meta(description="AXSubrole.")] | UnsetType = UNSET
    """AXSubrole."""
    subrole_error: AxError | UnsetType = field(name="subroleError", default=UNSET)


class UiaWindow(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The foreground window."""

    title: Annotated[str, Meta(description="What GetWindowText gives.")] | UnsetType = (
        UNSET
    )
    """What GetWindowText gives."""


class UiaFocus(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """GetFocusedElement and its properties."""

    error: Annotated[
        int,
        Meta(
            description="The HRESULT as an unsigned number; 0 is success, 2147746308 UIA_E_NOTSUPPORTED.",
            ge=0,
            le=4294967295,
        ),
    ]
    """The HRESULT as an unsigned number; 0 is success, 2147746308 UIA_E_NOTSUPPORTED."""
    control_type: (
        Annotated[int, Meta(description="CurrentControlType.", ge=0, le=65535)]
        | UnsetType
    ) = field(name="controlType", default=UNSET)
    """CurrentControlType."""
    is_password: Annotated[bool, Meta(description="CurrentIsPassword.")] | UnsetType = (
        field(name="isPassword", default=UNSET)
    )
    """CurrentIsPassword."""


class AtSpiWindow(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The active frame of the application on the accessibility bus."""

    application_name: (
        Annotated[str, Meta(description="Name of the application's root.")] | UnsetType
    ) = field(name="applicationName", default=UNSET)
    """Name of the application's root."""
    title: Annotated[str, Meta(description="Name of the frame.")] | UnsetType = UNSET
    """Name of the frame."""


class AtSpiFocused(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One node with the state FOCUSED."""

    role: Annotated[
        int, Meta(description="GetRole; 40 is a password field.", ge=0, le=65535)
    ]
    """GetRole; 40 is a password field."""
    role_name: Annotated[str, Meta(description="GetRoleName.")] = field(name="roleName")
    """GetRoleName."""


class AtSpiFocus(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What the accessibility bus says of the focus."""

    answered: Annotated[bool, Meta(description="Every question had its answer.")]
    """Every question had its answer."""
    on_bus: Annotated[bool, Meta(description="The program can be asked.")] = field(
        name="onBus"
    )
    """The program can be asked."""
    focused: (
        Annotated[
            tuple[AtSpiFocused, ...],
            Meta(
                description="The nodes that say that they have the focus, the latest last."
            ),
        ]
        | UnsetType
    ) = UNSET
    """The nodes that say that they have the focus, the latest last."""


class WirePolicy(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What the collector may look at: only what is allowed."""

    mode: Literal["include-only"]
    allowed_bundle_ids: Annotated[tuple[str, ...], Meta(description="Applications that may be observed.")] = field(
        name="allowedBundleIds"
    )
    """Applications that may be observed."""
    blocked_bundle_ids: Annotated[tuple[str, ...], Meta(description="Applications about which nothing is said.")] = field(
        name="blockedBundleIds"
    )
    """Applications about which nothing is said."""
    protected_bundle_ids: Annotated[tuple[str, ...], Meta(description="Applications of which only the identity is said.")] = field(
        name="protectedBundleIds"
    )
    """Applications of which only the identity is said."""
    protected_path_patterns: Annotated[tuple[str, ...], Meta(description="Globs over documents and titles that must not be reported; only * is special.")] = field(
        name="protectedPathPatterns"
    )
    """Globs over documents and titles that must not be reported; only * is special."""


ProtocolVersion: TypeAlias = Annotated[
    Literal[1], Meta(description="The only version of the collector protocol.")
]
"""The only version of the collector protocol."""


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


Port: TypeAlias = Annotated[int, Meta(description="A TCP port.", ge=0, le=65535)]
"""A TCP port."""


UnsignedInt64: TypeAlias = Annotated[
    int, Meta(description="An integer from 0 to 2^64-1.", ge=0)
]
"""An integer from 0 to 2^64-1."""


Name: TypeAlias = Annotated[
    str,
    Meta(
        description="A non-empty string of at most 4096 UTF-8 bytes.",
        max_length=4096,
        min_length=1,
    ),
]
"""A non-empty string of at most 4096 UTF-8 bytes."""


BundleId: TypeAlias = Annotated[
    str,
    Meta(
        description="An application identifier of 1 to 512 UTF-8 bytes: a bundle id, an executable's file name or a .desktop file name.",
        max_length=512,
        min_length=1,
    ),
]
"""An application identifier of 1 to 512 UTF-8 bytes: a bundle id, an executable's file name or a .desktop file name."""


AdapterId: TypeAlias = Annotated[
    str,
    Meta(
        description="The id of an adapter, 1 to 128 UTF-8 bytes.",
        max_length=128,
        min_length=1,
    ),
]
"""The id of an adapter, 1 to 128 UTF-8 bytes."""


OptionalText: TypeAlias = Annotated[str, Meta(description="Text of at most 4096 UTF-8 bytes; null is the same as absent.", max_length=4096)] | None
"""Text of at most 4096 UTF-8 bytes; null is the same as absent."""


OptionalName: TypeAlias = Annotated[str, Meta(description="Text of at most 512 UTF-8 bytes; null is the same as absent.", max_length=512)] | None
"""Text of at most 512 UTF-8 bytes; null is the same as absent."""


OptionalRole: TypeAlias = Annotated[str, Meta(description="Text of at most 2048 UTF-8 bytes; null is the same as absent.", max_length=2048)] | None
"""Text of at most 2048 UTF-8 bytes; null is the same as absent."""


Counts: TypeAlias = dict[str, NonNegativeInt]
"""How often each name was counted."""


Capability: TypeAlias = Annotated[
    Literal["app-focus", "window-metadata", "resource-uri", "secure-field-detection"],
    Meta(description="What a collector says it can report."),
]
"""What a collector says it can report."""


Platform: TypeAlias = Annotated[
    Literal["darwin", "win32", "linux"],
    Meta(description="The operating system a collector runs on."),
]
"""The operating system a collector runs on."""


Arch: TypeAlias = Annotated[
    Literal["arm64", "x64", "x86"],
    Meta(
        description="The processor a collector runs on, in the same words on every platform."
    ),
]
"""The processor a collector runs on, in the same words on every platform."""


NativeProvider: TypeAlias = Annotated[
    Literal["macos-ax", "windows-uia", "at-spi"],
    Meta(
        description="The accessibility interface a native observation came from; darwin, win32 and linux in this order."
    ),
]
"""The accessibility interface a native observation came from; darwin, win32 and linux in this order."""


CollectorStateName: TypeAlias = Annotated[
    Literal["running", "paused", "permission-required", "degraded"],
    Meta(description="What a collector says about itself."),
]
"""What a collector says about itself."""


DiagnosticLevel: TypeAlias = Annotated[
    Literal["debug", "info", "warn"],
    Meta(description="How grave a diagnostic is; there is no error level."),
]
"""How grave a diagnostic is; there is no error level."""


ShutdownReason: TypeAlias = Annotated[
    Literal["plugin-dispose", "host-shutdown", "protocol-error"],
    Meta(description="Why the host ends a collector."),
]
"""Why the host ends a collector."""


PolicyMode: TypeAlias = Annotated[
    Literal["include-only", "exclude"],
    Meta(
        description="How the rules are read; exclude allows nothing and never reaches the wire."
    ),
]
"""How the rules are read; exclude allows nothing and never reaches the wire."""


RuleDimension: TypeAlias = Annotated[
    Literal["app", "resource"],
    Meta(description="What a policy rule is matched against."),
]
"""What a policy rule is matched against."""


RuleAction: TypeAlias = Annotated[
    Literal["allow", "deny", "protect"],
    Meta(description="What a policy rule does with what it matches."),
]
"""What a policy rule does with what it matches."""


RuleMatcher: TypeAlias = Annotated[
    Literal["exact", "prefix", "glob"],
    Meta(
        description="How the pattern of a rule is compared; in a glob only * is special and it matches any run."
    ),
]
"""How the pattern of a rule is compared; in a glob only * is special and it matches any run."""


UnknownFieldPolicy: TypeAlias = Annotated[
    Literal["refuse", "extension", "count"],
    Meta(
        description="What is done with a field that nobody knows: refuse it, refuse it unless its name starts with x-, or drop and count it."
    ),
]
"""What is done with a field that nobody knows: refuse it, refuse it unless its name starts with x-, or drop and count it."""


CompanionRefusal: TypeAlias = Annotated[
    Literal["capture-disabled", "capture-not-owned", "capture-paused", "collector-not-running"],
    Meta(
        description="The refusal reasons that a companion is told; all others stay inside."
    ),
]
"""The refusal reasons that a companion is told; all others stay inside."""


CaptureWord: TypeAlias = Annotated[
    Literal["stopped", "running", "paused", "permission-required", "degraded"],
    Meta(description="The capture line of the health report."),
]
"""The capture line of the health report."""


AdapterSurfaceKind: TypeAlias = Annotated[
    Literal["editor", "terminal", "browser", "document", "window"],
    Meta(description="The kind of surface that an adapter stands for."),
]
"""The kind of surface that an adapter stands for."""


EditorSurfaceKind: TypeAlias = Annotated[
    Literal["editor", "diff", "terminal", "output"],
    Meta(description="What a person looks at inside an editor."),
]
"""What a person looks at inside an editor."""


DocumentResourceKind: TypeAlias = Annotated[
    Literal["file", "directory"],
    Meta(description="What the document of a window is taken for."),
]
"""What the document of a window is taken for."""


FocusedElementPolicy: TypeAlias = Annotated[
    Literal["require", "window-only"],
    Meta(
        description="Whether a window is reported when its focused element cannot be asked."
    ),
]
"""Whether a window is reported when its focused element cannot be asked."""


ActivityEvent: TypeAlias = Annotated[
    Literal["save", "verify-build-success", "verify-build-failure", "verify-test-success", "verify-test-failure", "verify-other-success", "verify-other-failure"],
    Meta(description="What an editor companion says has just happened."),
]
"""What an editor companion says has just happened."""


MaintenanceState: TypeAlias = Annotated[
    Literal["ok", "failed"], Meta(description="How the last retention sweep went.")
]
"""How the last retention sweep went."""


class Hello(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="hello"):
    """The first message of a collector, sent once."""

    v: ProtocolVersion
    capabilities: Annotated[
        tuple[Capability, ...],
        Meta(
            description="What the collector can report; may be empty and may repeat itself."
        ),
    ]
    """What the collector can report; may be empty and may repeat itself."""
    platform: Platform
    arch: Arch
    collector_session: Name = field(name="collectorSession")
    collector_version: Name = field(name="collectorVersion")


class ObservedApp(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The application in front."""

    pid: NonNegativeInt
    bundle_id: BundleId = field(name="bundleId")
    name: OptionalName | UnsetType = UNSET


class ObservedWindow(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The focused window: what it is called and what it shows, never its contents."""

    title: OptionalText | UnsetType = UNSET
    document: OptionalText | UnsetType = UNSET
    url: OptionalText | UnsetType = UNSET


class ObservedElement(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The focused element: its kind, never its value."""

    role: OptionalRole | UnsetType = UNSET
    subrole: OptionalRole | UnsetType = UNSET
    identifier: OptionalRole | UnsetType = UNSET


class ObservedPrivacy(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Whether metadata was held back, and why."""

    secure: Annotated[
        bool,
        Meta(
            description="The focused element is a secret field or could not be asked."
        ),
    ]
    """The focused element is a secret field or could not be asked."""
    protected: Annotated[
        bool, Meta(description="The application or what it shows is protected.")
    ]
    """The application or what it shows is protected."""
    reason: OptionalText | UnsetType = UNSET


class ObservationSource(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Which adapter of which collector saw it."""

    adapter: AdapterId
    provider: (
        Annotated[
            NativeProvider,
            Meta(description="The accessibility interface; absent or null is filled in from the platform of the hello."),
        ]
        | None
        | UnsetType
    ) = UNSET
    """The accessibility interface; absent or null is filled in from the platform of the hello."""


class Observation(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="observation"):
    """Where a person works now."""

    v: ProtocolVersion
    collector_session: Name = field(name="collectorSession")
    seq: NonNegativeInt
    observed_at_ms: NonNegativeInt = field(name="observedAtMs")
    app: ObservedApp
    window: ObservedWindow | None | UnsetType = UNSET
    element: ObservedElement | None | UnsetType = UNSET
    activity: ObservedActivity | None | UnsetType = UNSET
    privacy: ObservedPrivacy
    source: ObservationSource
    workspace: (
        Annotated[
            Any,
            Meta(
                description="A known name with any value: accepted, never read, never stored, never counted."
            ),
        ]
        | UnsetType
    ) = UNSET
    """A known name with any value: accepted, never read, never stored, never counted."""


class CollectorState(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="state"):
    """The collector's own state changed."""

    v: ProtocolVersion
    state: CollectorStateName
    accessibility_trusted: Annotated[bool, Meta(description="Whether the accessibility interface may be read and answers.")] = field(
        name="accessibilityTrusted"
    )
    """Whether the accessibility interface may be read and answers."""
    reason: OptionalText | UnsetType = UNSET


class Configured(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="configured"):
    """The collector has applied a policy revision."""

    v: ProtocolVersion
    revision: NonNegativeInt


class Diagnostic(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="diagnostic"):
    """A note for the person who mends the collector."""

    v: ProtocolVersion
    level: DiagnosticLevel
    code: Name
    message: Name


class Fatal(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="fatal"):
    """The collector cannot go on."""

    v: ProtocolVersion
    code: Name
    message: Name


CollectorMessage: TypeAlias = Annotated[
    Hello | Observation | CollectorState | Configured | Diagnostic | Fatal,
    Meta(description="Any message from a collector to its host."),
]
"""Any message from a collector to its host."""


class ReceivedConfigure(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="configure"):
    """A configure that a collector acts on; without its revision or its policy the line is ignored."""

    revision: UnsignedInt64
    policy: ReceivedPolicy


ReceivedCommand: TypeAlias = Annotated[
    ReceivedConfigure | ReceivedPause | ReceivedResume | ReceivedShutdown,
    Meta(
        description="Any line that a collector understands; a line it does not understand is ignored, never fatal."
    ),
]
"""Any line that a collector understands; a line it does not understand is ignored, never fatal."""


class BrowserPayload(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="source", tag="browser"):
    """The page that a paired browser shows."""

    origin: Annotated[
        str,
        Meta(
            description="The canonical http or https origin, without user, password, path, query or fragment."
        ),
    ]
    """The canonical http or https origin, without user, password, path, query or fragment."""
    path: Annotated[
        str,
        Meta(
            description="The canonical path that starts with a slash, without query or fragment."
        ),
    ]
    """The canonical path that starts with a slash, without query or fragment."""
    browser_session: RequiredText = field(name="browserSession")
    seq: PositiveInt
    observed_at_ms: Annotated[float, Meta(description="Milliseconds since the epoch.")] = field(
        name="observedAtMs"
    )
    """Milliseconds since the epoch."""
    incognito: Annotated[
        bool, Meta(description="Whether the tab is private; a private tab is refused.")
    ]
    """Whether the tab is private; a private tab is refused."""
    title: (
        Annotated[
            Any,
            Meta(
                description="The page title, cut at 1024 UTF-16 code units; anything but a string is ignored in silence."
            ),
        ]
        | UnsetType
    ) = UNSET
    """The page title, cut at 1024 UTF-16 code units; anything but a string is ignored in silence."""


class EditorPayload(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="source", tag="editor"):
    """The file that a paired editor shows, and the workspace it belongs to."""

    app: DeclaredApp
    workspace_root: Annotated[str, Meta(description="An absolute POSIX, drive or UNC path without NUL.")] = field(
        name="workspaceRoot"
    )
    """An absolute POSIX, drive or UNC path without NUL."""
    editor_session: RequiredText = field(name="editorSession")
    seq: PositiveInt
    observed_at_ms: Annotated[float, Meta(description="Milliseconds since the epoch.")] = field(
        name="observedAtMs"
    )
    """Milliseconds since the epoch."""
    file_path: (
        Annotated[
            str,
            Meta(
                description="An absolute path that lies under the workspace root once its dots are resolved."
            ),
        ]
        | UnsetType
    ) = field(name="filePath", default=UNSET)
    """An absolute path that lies under the workspace root once its dots are resolved."""
    event: ActivityEvent | UnsetType = UNSET
    language_id: (
        Annotated[
            str, Meta(description="The editor's word for the language of the file.")
        ]
        | UnsetType
    ) = field(name="languageId", default=UNSET)
    """The editor's word for the language of the file."""
    surface_kind: EditorSurfaceKind | UnsetType = field(
        name="surfaceKind", default=UNSET
    )
    title: (
        Annotated[
            Any,
            Meta(
                description="The tab title, cut at 1024 UTF-16 code units; anything but a string is ignored in silence."
            ),
        ]
        | UnsetType
    ) = UNSET
    """The tab title, cut at 1024 UTF-16 code units; anything but a string is ignored in silence."""


CompanionPayload: TypeAlias = Annotated[
    BrowserPayload | EditorPayload, Meta(description="Any observation of a companion.")
]
"""Any observation of a companion."""


class CompanionWithheld(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Answer 202: the observation was taken but not stored."""

    stored: bool
    reason: CompanionRefusal | UnsetType = UNSET


class CompanionAlive(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Answer 200 to a health question: the intake is listening."""

    ok: bool
    port: Port


class FixtureStart(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="start"):
    """The first line: whose facts follow."""

    fixture: Annotated[Literal[1], Meta(description="The version of this form.")]
    """The version of this form."""
    platform: Platform
    name: Name


class AxApplication(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The frontmost application as NSWorkspace names it."""

    pid: NonNegativeInt
    bundle_identifier: Annotated[str, Meta(description="CFBundleIdentifier.")] = field(
        name="bundleIdentifier"
    )
    """CFBundleIdentifier."""
    localized_name: (
        Annotated[str, Meta(description="The name in the language of the person.")]
        | UnsetType
    ) = field(name="localizedName", default=UNSET)
    """The name in the language of the person."""


class AxStep(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="ax"):
    """What macOS says at one moment; without an application nobody is in front."""

    application: AxApplication | UnsetType = UNSET
    window: AxWindow | UnsetType = UNSET
    focus: AxFocus | UnsetType = UNSET
    idle_seconds: (
        Annotated[
            float,
            Meta(
                description="Seconds since the last input; absent when unknown.", ge=0.0
            ),
        ]
        | UnsetType
    ) = field(name="idleSeconds", default=UNSET)
    """Seconds since the last input; absent when unknown."""
    availability: FixtureAvailability | UnsetType = UNSET
    power: FixturePower | UnsetType = UNSET


class UiaApplication(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The process of the foreground window."""

    pid: NonNegativeInt
    image: Annotated[str, Meta(description="The file name of its executable.")]
    """The file name of its executable."""
    app_user_model_id: (
        Annotated[str, Meta(description="The AppUserModelID of the window.")]
        | UnsetType
    ) = field(name="appUserModelId", default=UNSET)
    """The AppUserModelID of the window."""


class UiaStep(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="uia"):
    """What Windows says at one moment; without an application nobody is in front."""

    application: UiaApplication | UnsetType = UNSET
    window: UiaWindow | UnsetType = UNSET
    focus: UiaFocus | UnsetType = UNSET
    idle_seconds: (
        Annotated[
            float,
            Meta(
                description="Seconds since the last input; absent when unknown.", ge=0.0
            ),
        ]
        | UnsetType
    ) = field(name="idleSeconds", default=UNSET)
    """Seconds since the last input; absent when unknown."""
    availability: FixtureAvailability | UnsetType = UNSET
    power: FixturePower | UnsetType = UNSET


class AtSpiApplication(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The process of the active window."""

    pid: NonNegativeInt
    program: Annotated[str, Meta(description="The base name of its executable.")]
    """The base name of its executable."""
    desktop_file: (
        Annotated[str, Meta(description="The .desktop file that was found for it.")]
        | UnsetType
    ) = field(name="desktopFile", default=UNSET)
    """The .desktop file that was found for it."""


class AtSpiStep(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="at-spi"):
    """What a Linux desktop says at one moment; without an application nobody is in front."""

    application: AtSpiApplication | UnsetType = UNSET
    window: AtSpiWindow | UnsetType = UNSET
    focus: AtSpiFocus | UnsetType = UNSET
    idle_seconds: (
        Annotated[
            float,
            Meta(
                description="Seconds since the last input; absent when unknown.", ge=0.0
            ),
        ]
        | UnsetType
    ) = field(name="idleSeconds", default=UNSET)
    """Seconds since the last input; absent when unknown."""
    availability: FixtureAvailability | UnsetType = UNSET
    power: FixturePower | UnsetType = UNSET


FixtureLine: TypeAlias = Annotated[
    FixtureStart | AxStep | UiaStep | AtSpiStep,
    Meta(description="Any line of a fixture."),
]
"""Any line of a fixture."""


class CollectorIdentity(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Which collector is running."""

    version: Name
    arch: Arch


class CompanionHealth(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Whether companions can report, and when they last did."""

    listening: Annotated[bool, Meta(description="Whether the intake has its port.")]
    """Whether the intake has its port."""
    port: Port | None
    paired: Annotated[bool, Meta(description="Whether a browser has a token.")]
    """Whether a browser has a token."""
    editor_paired: Annotated[bool, Meta(description="Whether an editor has a token.")] = field(
        name="editorPaired"
    )
    """Whether an editor has a token."""
    reason: Annotated[str, Meta(description="Why the intake is not listening.")] | None
    """Why the intake is not listening."""
    last_seen_at_ms: NonNegativeInt | None = field(name="lastSeenAtMs")
    browser_last_seen_at_ms: NonNegativeInt | None = field(name="browserLastSeenAtMs")
    editor_last_seen_at_ms: NonNegativeInt | None = field(name="editorLastSeenAtMs")


class RefusalCounts(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How many observations were refused since the host started."""

    total: NonNegativeInt
    by_reason: Counts = field(name="byReason")


class UnknownFieldCounts(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Which fields were dropped because nobody knows them, by dotted name and never by value."""

    policy: UnknownFieldPolicy
    total: NonNegativeInt
    by_name: Counts = field(name="byName")
    other: NonNegativeInt


class Maintenance(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Whether what has expired is being deleted."""

    retention: MaintenanceState
    last_failure_at_ms: NonNegativeInt | None = field(name="lastFailureAtMs")


class Health(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Whether capture works, and if not, why."""

    capture: CaptureWord
    reason: Annotated[str, Meta(description="A reason of the state message, a degraded reason or a health reason; null when all is well.")] | None
    """A reason of the state message, a degraded reason or a health reason; null when all is well."""
    detail: Annotated[str, Meta(description="A sentence of the host about that reason, never the collector's own words; null when there is none.")] | None
    """A sentence of the host about that reason, never the collector's own words; null when there is none."""
    collector: CollectorIdentity | None
    accessibility_trusted: (
        Annotated[
            bool,
            Meta(
                description="What the last state message said; null before the first."
            ),
        ]
        | None
    ) = field(name="accessibilityTrusted")
    """What the last state message said; null before the first."""
    companion: CompanionHealth | None
    refusals: RefusalCounts
    unknown_fields: UnknownFieldCounts = field(name="unknownFields")
    maintenance: Maintenance | None


class Configure(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="configure"):
    """Apply this policy, whole or not at all, and acknowledge its revision."""

    v: ProtocolVersion
    revision: NonNegativeInt
    policy: WirePolicy


class Pause(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="pause"):
    """Stop emitting observations."""

    v: ProtocolVersion


class Resume(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="resume"):
    """Emit observations again."""

    v: ProtocolVersion


class Shutdown(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="type", tag="shutdown"):
    """Exit cleanly; the host closes stdin after it."""

    v: ProtocolVersion
    reason: ShutdownReason


HostCommand: TypeAlias = Annotated[
    Configure | Pause | Resume | Shutdown,
    Meta(
        description="Any command from the host to a collector, in its canonical form."
    ),
]
"""Any command from the host to a collector, in its canonical form."""


class PolicyRule(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One rule of the policy."""

    id: Annotated[
        str,
        Meta(
            description="The rule's own name; built-in rules start with builtin: and consent rules repeat their pattern.",
            min_length=1,
        ),
    ]
    """The rule's own name; built-in rules start with builtin: and consent rules repeat their pattern."""
    dimension: RuleDimension
    action: RuleAction
    matcher: RuleMatcher
    pattern: Annotated[
        str, Meta(description="What is compared, case-sensitive.", min_length=1)
    ]
    """What is compared, case-sensitive."""
    built_in: Annotated[bool, Meta(description="Whether the rule came with the program and cannot be replaced.")] = field(
        name="builtIn"
    )
    """Whether the rule came with the program and cannot be replaced."""
    created_at_ms: NonNegativeInt = field(name="createdAtMs")
    updated_at_ms: NonNegativeInt = field(name="updatedAtMs")


class PolicySnapshot(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The whole policy at one revision."""

    revision: NonNegativeInt
    mode: PolicyMode
    rules: Annotated[
        tuple[PolicyRule, ...], Meta(description="Built-in rules first, then by id.")
    ]
    """Built-in rules first, then by id."""
    updated_at_ms: NonNegativeInt = field(name="updatedAtMs")


class AdapterIds(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The application ids of an adapter on each platform."""

    darwin: Annotated[
        tuple[BundleId, ...], Meta(description="Bundle identifiers, compared exactly.")
    ]
    """Bundle identifiers, compared exactly."""
    win32: Annotated[
        tuple[BundleId, ...],
        Meta(
            description="Executable names, compared without case when both end in .exe."
        ),
    ]
    """Executable names, compared without case when both end in .exe."""
    linux: Annotated[
        tuple[BundleId, ...],
        Meta(description="Desktop file names with their suffix, compared exactly."),
    ]
    """Desktop file names with their suffix, compared exactly."""


class AdapterEntry(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One kind of application that may be observed."""

    id: AdapterId
    surface_kind: AdapterSurfaceKind = field(name="surfaceKind")
    suppresses_window_title: Annotated[bool, Meta(description="Whether window titles of this kind are never reported.")] = field(
        name="suppressesWindowTitle"
    )
    """Whether window titles of this kind are never reported."""
    document_resource_kind: DocumentResourceKind = field(name="documentResourceKind")
    focused_element_policy: FocusedElementPolicy = field(name="focusedElementPolicy")
    ids: AdapterIds


class AdapterTable(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """All adapters; their order decides the order of the wire lists."""

    adapters: Annotated[
        tuple[AdapterEntry, ...], Meta(description="The adapters in table order.")
    ]
    """The adapters in table order."""
