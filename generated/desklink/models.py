# Written by `make gen` from schemas/desklink/. Do not edit: change the schema and run `make gen`.
"""The messages of desklink as frozen structs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field


class BridgeEnvelope(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A message on the bridge's socket: any object; without a method that is a string it is ignored."""

    id: (
        Annotated[Any, Meta(description="Any value; it comes back with the reply.")]
        | UnsetType
    ) = UNSET
    """Any value; it comes back with the reply."""
    method: (
        Annotated[
            Any,
            Meta(
                description="A method of the engine; session.frame and shutdown are refused with operation."
            ),
        ]
        | UnsetType
    ) = UNSET
    """A method of the engine; session.frame and shutdown are refused with operation."""
    params: (
        Annotated[
            Any,
            Meta(
                description="The parameters; session.open must not carry a source here, not even null."
            ),
        ]
        | UnsetType
    ) = UNSET
    """The parameters; session.open must not carry a source here, not even null."""


class MacSession(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The login session of a Mac."""

    kind: Literal["quartz"]
    on_console: Annotated[
        bool, Meta(description="Whether the session is the one on the screen.")
    ]
    """Whether the session is the one on the screen."""


class ControlPing(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="ping"):
    """The heartbeat, twice a second while the channel is open."""


ForwardedControl: TypeAlias = dict[str, Any]
"""A control message exactly as the client sent it: the same members with the same values."""


class AcceptedResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The answer to session.description, session.candidate, session.restart_ice and session.feed."""

    accepted: bool


class ClipboardWriteResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The clipboard holds the text now."""

    written: bool


class CloseResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The session is closed."""

    closed: bool


class PointResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Whether the labelled pointer is on the desktop."""

    shown: Annotated[
        bool, Meta(description="False after clear, or where nothing can be shown.")
    ]
    """False after clear, or where nothing can be shown."""


class EmptyResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The answer to shutdown: an object without members."""


class PortalSource(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="portal"):
    """A screen cast that the person at the desktop consents to."""


ProtocolVersion: TypeAlias = Annotated[
    Literal[3],
    Meta(description="The only version of the desklink protocol that is spoken here."),
]
"""The only version of the desklink protocol that is spoken here."""


UnsignedInt16: TypeAlias = Annotated[
    int, Meta(description="An integer from 0 to 65535.", ge=0, le=65535)
]
"""An integer from 0 to 65535."""


UnsignedInt32: TypeAlias = Annotated[
    int, Meta(description="An integer from 0 to 4294967295.", ge=0, le=4294967295)
]
"""An integer from 0 to 4294967295."""


UnsignedInt64: TypeAlias = Annotated[
    int, Meta(description="An integer from 0 to 2^64-1.", ge=0)
]
"""An integer from 0 to 2^64-1."""


OptionalUnsignedInt64: TypeAlias = Annotated[int, Meta(description="An integer from 0 to 2^64-1; null is the same as absent.", ge=0)] | None
"""An integer from 0 to 2^64-1; null is the same as absent."""


SafeInt: TypeAlias = Annotated[
    int,
    Meta(
        description="An integer that a JavaScript number holds exactly.",
        ge=-9007199254740991,
        le=9007199254740991,
    ),
]
"""An integer that a JavaScript number holds exactly."""


Text: TypeAlias = Annotated[str, Meta(description="Any text.")]
"""Any text."""


OptionalString: TypeAlias = Annotated[str, Meta(description="Text; null is the same as absent.")] | None
"""Text; null is the same as absent."""


NonEmptyText: TypeAlias = Annotated[
    str, Meta(description="Text of at least one character.", min_length=1)
]
"""Text of at least one character."""


SessionId: TypeAlias = Annotated[
    str,
    Meta(
        description="The id of a session: 16 random bytes in lower-case hexadecimal.",
        pattern="^[0-9a-f]{32}\\Z",
    ),
]
"""The id of a session: 16 random bytes in lower-case hexadecimal."""


Code: TypeAlias = Annotated[
    str,
    Meta(
        description="A stable refusal code; the known ones are in the vocabulary, and a reader accepts others.",
        min_length=1,
    ),
]
"""A stable refusal code; the known ones are in the vocabulary, and a reader accepts others."""


class Size(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A size in pixels."""

    width: UnsignedInt32
    height: UnsignedInt32


class Point(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A position in pixels."""

    x: SafeInt
    y: SafeInt


Box: TypeAlias = Annotated[
    tuple[UnsignedInt32, ...],
    Meta(
        description="A box in pixels of the encoded surface: x, y, width, height.",
        max_length=4,
        min_length=4,
    ),
]
"""A box in pixels of the encoded surface: x, y, width, height."""


Damage: TypeAlias = Annotated[
    tuple[Box, ...],
    Meta(description="The boxes that changed, in coordinates of the whole frame."),
]
"""The boxes that changed, in coordinates of the whole frame."""


class Geometry(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The size of what is captured, the size of what is sent, and where the source lies on its desktop; it never changes within a session."""

    source: Size
    encoded: Size
    origin: Point


Permission: TypeAlias = Annotated[
    Literal["view", "control", "clipboard"],
    Meta(description="What a session may do; view is needed to open one."),
]
"""What a session may do; view is needed to open one."""


FedCodec: TypeAlias = Annotated[
    Literal["h264"], Meta(description="The codecs that a consumer may feed.")
]
"""The codecs that a consumer may feed."""


EncodedCodec: TypeAlias = Annotated[
    Literal["vp9", "h264"],
    Meta(description="The codecs that the engine can encode a captured desktop with."),
]
"""The codecs that the engine can encode a captured desktop with."""


PixelFormat: TypeAlias = Annotated[
    Literal["bgrx", "bgra", "rgbx", "rgba"],
    Meta(description="The order of the four bytes of a pixel."),
]
"""The order of the four bytes of a pixel."""


FrameFormat: TypeAlias = Annotated[
    Literal["bgrx"], Meta(description="The format of a frame written to a file.")
]
"""The format of a frame written to a file."""


CursorMode: TypeAlias = Annotated[
    Literal["embedded", "hidden", "metadata"],
    Meta(
        description="Whether captured frames contain the pointer, leave it out, or carry it beside the picture."
    ),
]
"""Whether captured frames contain the pointer, leave it out, or carry it beside the picture."""


DesktopKind: TypeAlias = Annotated[
    Literal["wayland", "x11", "none"],
    Meta(description="The kind of desktop session the engine was started in."),
]
"""The kind of desktop session the engine was started in."""


TextReach: TypeAlias = Annotated[
    Literal["layout-reachable", "unicode", "us-ansi-keymap"],
    Meta(description="Which characters a keyboard back end can produce."),
]
"""Which characters a keyboard back end can produce."""


CaptureGrant: TypeAlias = Annotated[
    Literal["granted", "missing-screen-recording"],
    Meta(description="Whether the system lets the engine capture."),
]
"""Whether the system lets the engine capture."""


InputGrant: TypeAlias = Annotated[
    Literal["granted", "missing-device-access", "missing-accessibility"],
    Meta(description="Whether the system lets the engine inject input."),
]
"""Whether the system lets the engine inject input."""


CaptureState: TypeAlias = Annotated[
    Literal["consented", "streaming", "ended"],
    Meta(description="How far the capture of a session has come."),
]
"""How far the capture of a session has come."""


TransportState: TypeAlias = Annotated[
    Literal["new", "connecting", "connected", "disconnected", "failed", "closed"],
    Meta(description="The state of the peer connection of a session."),
]
"""The state of the peer connection of a session."""


PointerPhase: TypeAlias = Annotated[
    Literal["move", "down", "up", "cancel"],
    Meta(description="What a pointer does; cancel releases everything that is held."),
]
"""What a pointer does; cancel releases everything that is held."""


class UnavailableReason(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Why something cannot be done here, and what mends it."""

    reason: Text
    remedy: Text


class DesktopSession(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The desktop session the engine was started in."""

    kind: DesktopKind


SizePair: TypeAlias = Annotated[
    tuple[UnsignedInt32, ...],
    Meta(description="Width and height in pixels.", max_length=2, min_length=2),
]
"""Width and height in pixels."""


class LinuxCapture(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How this build captures."""

    mechanism: Text
    backends: Annotated[
        tuple[Text, ...],
        Meta(
            description="The capture back ends of this build, whether or not this machine can use them."
        ),
    ]
    """The capture back ends of this build, whether or not this machine can use them."""
    formats: Annotated[
        tuple[PixelFormat, ...], Meta(description="The pixel formats it takes.")
    ]
    """The pixel formats it takes."""
    cursor: CursorMode
    audio: Annotated[bool, Meta(description="Sound is never captured.")]
    """Sound is never captured."""


class EncodeFacts(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How this build encodes."""

    codecs: Annotated[
        tuple[EncodedCodec, ...], Meta(description="In the order of the offer.")
    ]
    """In the order of the offer."""
    hardware: Annotated[bool, Meta(description="Whether a hardware encoder is used.")]
    """Whether a hardware encoder is used."""


class LinuxInput(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The input path of portal sessions; sessions on an X display do not need it."""

    mechanism: Text
    pointer: Annotated[bool, Meta(description="Whether a pointer can be moved.")]
    """Whether a pointer can be moved."""
    wheel: Annotated[bool, Meta(description="Whether a wheel can be turned.")]
    """Whether a wheel can be turned."""
    keyboard: Annotated[bool, Meta(description="Whether keys can be pressed.")]
    """Whether keys can be pressed."""
    text: Annotated[tuple[TextReach, ...], Meta(description="Which characters can be typed.")]
    """Which characters can be typed."""
    layout: Annotated[str, Meta(description="The keyboard layout, with its variant in brackets.")] | None
    """The keyboard layout, with its variant in brackets."""
    unavailable_reason: UnavailableReason | None
    grant: InputGrant


class ClipboardFacts(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What can be done with the clipboard."""

    read: Annotated[bool, Meta(description="Whether it can be read.")]
    """Whether it can be read."""
    write: Annotated[bool, Meta(description="Whether it can be written.")]
    """Whether it can be written."""
    mime: Annotated[tuple[Text, ...], Meta(description="The types it carries.")]
    """The types it carries."""
    max_bytes: UnsignedInt32 = field(name="maxBytes")


class EncodedFacts(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What a consumer may feed itself."""

    codecs: Annotated[
        tuple[FedCodec, ...], Meta(description="The codecs this build carries.")
    ]
    """The codecs this build carries."""


class MacDisplay(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One active display of a Mac."""

    id: UnsignedInt32
    width: UnsignedInt32
    height: UnsignedInt32
    scale: Annotated[float, Meta(description="Pixels to a point.", ge=0.0)]
    """Pixels to a point."""
    points: Size
    origin: Point
    main: Annotated[
        bool, Meta(description="Whether an absent display_id means this one.")
    ]
    """Whether an absent display_id means this one."""


class MacCapture(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How a Mac is captured."""

    mechanism: Text
    backends: (
        Annotated[tuple[Text, ...], Meta(description="The capture back ends of this build.")]
        | UnsetType
    ) = UNSET
    """The capture back ends of this build."""
    formats: Annotated[
        tuple[PixelFormat, ...], Meta(description="The pixel formats it takes.")
    ]
    """The pixel formats it takes."""
    cursor: CursorMode | UnsetType = UNSET
    audio: Annotated[bool, Meta(description="Sound is never captured.")] | UnsetType = (
        UNSET
    )
    """Sound is never captured."""
    displays: Annotated[tuple[MacDisplay, ...], Meta(description="The active displays.")]
    """The active displays."""
    grant: CaptureGrant
    unavailable_reason: UnavailableReason | None


class MacInput(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The input path of a Mac."""

    mechanism: Text
    pointer: Annotated[bool, Meta(description="Whether a pointer can be moved.")]
    """Whether a pointer can be moved."""
    wheel: Annotated[bool, Meta(description="Whether a wheel can be turned.")]
    """Whether a wheel can be turned."""
    keyboard: Annotated[bool, Meta(description="Whether keys can be pressed.")]
    """Whether keys can be pressed."""
    text: Annotated[tuple[TextReach, ...], Meta(description="Which characters can be typed.")]
    """Which characters can be typed."""
    layout: Annotated[str, Meta(description="The current keyboard layout; a hint, not proof.")] | None
    """The current keyboard layout; a hint, not proof."""
    unavailable_reason: UnavailableReason | None
    grant: InputGrant


class MacCapabilities(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="platform", tag="macos"):
    """What an engine can do on macOS."""

    protocol: ProtocolVersion
    engine: NonEmptyText
    session: MacSession
    capture: MacCapture
    encode: EncodeFacts
    input: MacInput
    clipboard: ClipboardFacts
    encoded: EncodedFacts


class WindowsCapabilities(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="platform", tag="windows"):
    """What an engine can do on Windows: carry what its consumer feeds, no more."""

    protocol: ProtocolVersion
    engine: NonEmptyText
    encoded: EncodedFacts


class ControlPointer(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="pointer"):
    """Moves, presses or releases the pointer at a pixel of the encoded surface."""

    phase: PointerPhase
    x: SafeInt
    y: SafeInt
    button: (
        Annotated[
            int,
            Meta(
                description="1 left, 2 middle, 3 right, anything else left; default 1.",
                ge=-9007199254740991,
                le=9007199254740991,
            ),
        ]
        | UnsetType
    ) = UNSET
    """1 left, 2 middle, 3 right, anything else left; default 1."""
    seq: UnsignedInt64 | UnsetType = UNSET


class ControlWheel(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="wheel"):
    """Turns the wheel; beyond 100 in either direction it is refused with coordinates."""

    dx: (
        Annotated[float, Meta(description="Clicks to the right; default 0.")]
        | UnsetType
    ) = UNSET
    """Clicks to the right; default 0."""
    dy: Annotated[float, Meta(description="Clicks down; default 0.")] | UnsetType = (
        UNSET
    )
    """Clicks down; default 0."""
    seq: UnsignedInt64 | UnsetType = UNSET


class ControlKey(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="key"):
    """Presses or releases a key, by its name or by the character it makes."""

    name: OptionalString | UnsetType = UNSET
    character: OptionalString | UnsetType = UNSET
    down: Annotated[bool, Meta(description="Whether the key goes down or up.")]
    """Whether the key goes down or up."""
    modifiers: (
        Annotated[
            tuple[Text, ...],
            Meta(
                description="Modifiers to hold with it; names nobody knows are ignored."
            ),
        ]
        | UnsetType
    ) = UNSET
    """Modifiers to hold with it; names nobody knows are ignored."""
    seq: UnsignedInt64 | UnsetType = UNSET


class ControlText(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="text"):
    """Types a text, all of it or none."""

    text: Annotated[
        str, Meta(description="At most 4096 UTF-8 bytes, else text-too-large.")
    ]
    """At most 4096 UTF-8 bytes, else text-too-large."""
    seq: UnsignedInt64 | UnsetType = UNSET


class ControlReleaseAll(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="release_all"):
    """Releases every key and button that this session holds."""

    seq: UnsignedInt64 | UnsetType = UNSET


class ControlClipboardRead(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="clipboard_read"):
    """Asks for the desktop's clipboard, on an action of the person."""

    request: Text
    seq: UnsignedInt64 | UnsetType = UNSET


class ControlClipboardWrite(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="clipboard_write"):
    """Puts a text on the desktop's clipboard, on an action of the person."""

    request: Text
    text: Annotated[str, Meta(description="At most 262144 UTF-8 bytes.")]
    """At most 262144 UTF-8 bytes."""
    seq: UnsignedInt64 | UnsetType = UNSET


ClientControl: TypeAlias = Annotated[
    ControlPointer | ControlWheel | ControlKey | ControlText | ControlReleaseAll | ControlClipboardRead | ControlClipboardWrite,
    Meta(description="Anything a client says on the control channel."),
]
"""Anything a client says on the control channel."""


class ControlHello(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="hello"):
    """The first message of the engine, once, when the channel opens."""

    protocol: ProtocolVersion
    geometry: Geometry


class ControlAck(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="ack"):
    """A message was applied, or accepted for the owner of an encoded source."""

    seq: UnsignedInt64


class ControlRejected(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="rejected"):
    """A message was refused and had no effect; seq is 0 when it could not be read."""

    seq: UnsignedInt64
    code: Code
    message: Text


class ControlClipboard(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="clipboard"):
    """The answer to a clipboard message; a read that failed has an empty text and an error."""

    request: Text
    text: Text
    truncated: Annotated[
        bool, Meta(description="Whether the text was cut at 262144 UTF-8 bytes.")
    ]
    """Whether the text was cut at 262144 UTF-8 bytes."""
    error: OptionalString | UnsetType = UNSET


class ControlRevoked(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="revoked"):
    """The session is over; nothing follows."""

    reason: Text
    code: Code | UnsetType = UNSET


EngineControl: TypeAlias = Annotated[
    ControlHello | ControlPing | ControlAck | ControlRejected | ControlClipboard | ControlRevoked,
    Meta(description="Anything the engine says on the control channel."),
]
"""Anything the engine says on the control channel."""


class OfferDescription(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The engine's offer."""

    type: Literal["offer"]
    sdp: Text


class OfferedDescription(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """An offer for the client to answer."""

    session_id: SessionId = field(name="sessionId")
    generation: UnsignedInt64
    description: OfferDescription


class OfferedCandidate(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """An ICE candidate of the engine."""

    session_id: SessionId = field(name="sessionId")
    generation: UnsignedInt64
    candidate: Text
    sdp_mid: OptionalString = field(name="sdpMid")
    sdp_m_line_index: UnsignedInt16 | None = field(name="sdpMLineIndex")


class SessionState(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Where a session stands."""

    session_id: SessionId = field(name="sessionId")
    capture: CaptureState
    transport: TransportState
    first_frame: Annotated[bool, Meta(description="Whether a frame has been encoded.")] = field(
        name="firstFrame"
    )
    """Whether a frame has been encoded."""


class FrameChange(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The captured picture changed."""

    session_id: SessionId = field(name="sessionId")
    seq: UnsignedInt64
    damage: Damage
    timestamp_us: (
        Annotated[
            UnsignedInt64,
            Meta(
                description="When it was seen: microseconds of this machine's monotonic clock."
            ),
        ]
        | UnsetType
    ) = UNSET
    """When it was seen: microseconds of this machine's monotonic clock."""


class ForwardedInput(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Input for the owner of an encoded source."""

    session_id: SessionId = field(name="sessionId")
    input: ForwardedControl


class KeyframeWanted(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The receiver needs a key frame that only the feeder can make."""

    session_id: SessionId = field(name="sessionId")
    generation: UnsignedInt64


class RestoreToken(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A token that spares the next consent; secret to this machine."""

    session_id: SessionId = field(name="sessionId")
    token: Text


class CaptureStopped(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The capture was lost; the transport is still up."""

    session_id: SessionId = field(name="sessionId")
    reason: Text


class SessionRevoked(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The engine ends the session by itself."""

    session_id: SessionId = field(name="sessionId")
    reason: Text
    code: Code | UnsetType = UNSET


class CursorPosition(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Where the desktop's own pointer is."""

    session_id: SessionId = field(name="sessionId")
    x: SafeInt
    y: SafeInt
    visible: Annotated[bool, Meta(description="Whether the pointer is shown.")]
    """Whether the pointer is shown."""
    hotspot: Point | None | UnsetType = UNSET
    timestamp_us: UnsignedInt64


class DescriptionEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.description"):
    """The engine offers."""

    params: OfferedDescription


class CandidateEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.candidate"):
    """The engine has a candidate."""

    params: OfferedCandidate


class StateEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.state"):
    """The session changed state; the last event of a session is ended."""

    params: SessionState


class FrameChangedEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.frame.changed"):
    """A new frame is kept; local to the host."""

    params: FrameChange


class InputEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.input"):
    """Input to be applied by the consumer."""

    params: ForwardedInput


class KeyframeRequestEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.keyframeRequest"):
    """Feed a key frame."""

    params: KeyframeWanted


class RestoreTokenEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.restoreToken"):
    """The portal gave a restore token; local to the host."""

    params: RestoreToken


class CaptureStoppedEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.capture.stopped"):
    """The capture stopped."""

    params: CaptureStopped


class RevokedEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.revoked"):
    """The session is revoked."""

    params: SessionRevoked


class CursorEvent(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="event", tag="session.cursor"):
    """The desktop's pointer moved."""

    params: CursorPosition


Event: TypeAlias = Annotated[
    DescriptionEvent | CandidateEvent | StateEvent | FrameChangedEvent | InputEvent | KeyframeRequestEvent | RestoreTokenEvent | CaptureStoppedEvent | RevokedEvent | CursorEvent,
    Meta(description="Anything the engine says unasked."),
]
"""Anything the engine says unasked."""


class KeeperWindow(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One visible top-level window; what it does not carry is null, never absent."""

    id: UnsignedInt32
    title: Annotated[str, Meta(description="The window's title: _NET_WM_NAME, else WM_NAME.")] | None
    """The window's title: _NET_WM_NAME, else WM_NAME."""
    class_: (
        Annotated[str, Meta(description="The second string of WM_CLASS.")] | None
    ) = field(name="class")
    """The second string of WM_CLASS."""
    pid: Annotated[UnsignedInt32, Meta(description="The process that says it owns the window: _NET_WM_PID.")] | None
    """The process that says it owns the window: _NET_WM_PID."""
    width: UnsignedInt32
    height: UnsignedInt32


class KeeperReport(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Every visible window of the screen, bottom of the stack first."""

    windows: Annotated[
        tuple[KeeperWindow, ...], Meta(description="The windows; none is an empty list.")
    ]
    """The windows; none is an empty list."""


class KeeperRefusal(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Why the keeper could not start."""

    error: NonEmptyText


class ResultReply(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The answer to a request that was carried out; the shape of its result depends on the method."""

    id: UnsignedInt64
    result: Annotated[Any, Meta(description="The result of the method.")]
    """The result of the method."""


class ErrorObject(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Why a request was refused."""

    code: Code
    message: Text


class ErrorReply(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The answer to a request that was refused; a line that is no request is answered without an id."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    error: ErrorObject


class OpenedSource(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What a session captures: x11-root, encoded, monitor, or the portal's own word."""

    kind: NonEmptyText
    width: UnsignedInt32
    height: UnsignedInt32
    origin: Point


class OpenResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The session that session.open made."""

    session_id: SessionId = field(name="sessionId")
    generation: UnsignedInt64
    source: OpenedSource
    geometry: Geometry


class FrameResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The frame that session.frame found; a written file holds width times height pixels of four bytes, row by row."""

    seq: UnsignedInt64
    still_ms: UnsignedInt64
    width: UnsignedInt32
    height: UnsignedInt32
    format: FrameFormat
    damage: Damage
    written: Annotated[
        bool, Meta(description="Whether pixels were written to the path.")
    ]
    """Whether pixels were written to the path."""


class ClipboardReadResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What the desktop's clipboard holds."""

    text: Text
    truncated: Annotated[
        bool,
        Meta(
            description="Whether the text was cut at 262144 UTF-8 bytes, on a character."
        ),
    ]
    """Whether the text was cut at 262144 UTF-8 bytes, on a character."""


class MetricsResult(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The counters of a session since it was opened."""

    captured_frames: UnsignedInt64
    dropped_frames: UnsignedInt64
    encoded_frames: UnsignedInt64
    encoded_bytes: UnsignedInt64
    key_frames: UnsignedInt64
    refined_frames: UnsignedInt64
    encode_micros: UnsignedInt64
    target_kbps: UnsignedInt64
    input_applied: UnsignedInt64
    input_rejected: UnsignedInt64
    fed_frames: UnsignedInt64
    input_forwarded: UnsignedInt64
    halved_frames: UnsignedInt64 | UnsetType = UNSET
    motion_frames: UnsignedInt64 | UnsetType = UNSET
    capture_micros: UnsignedInt64 | UnsetType = UNSET
    convert_micros: UnsignedInt64 | UnsetType = UNSET
    queue_micros: UnsignedInt64 | UnsetType = UNSET
    send_micros: UnsignedInt64 | UnsetType = UNSET
    codec: OptionalString | UnsetType = UNSET
    encoder: OptionalString | UnsetType = UNSET


class RequestEnvelope(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What is read of a line before its method is known; a request without an id is carried out and not answered."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    method: Text
    params: (
        Annotated[Any, Meta(description="Any value; absent is the same as null.")]
        | UnsetType
    ) = UNSET
    """Any value; absent is the same as null."""


class HelloParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The version that a consumer wants to speak."""

    protocol: UnsignedInt32 | UnsetType = UNSET


class X11Source(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="x11"):
    """The root window of an X display, by default the one the environment names."""

    display: OptionalString | UnsetType = UNSET


class DisplaySource(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="display"):
    """A display of a Mac, by default the main one."""

    display_id: UnsignedInt32 | None | UnsetType = UNSET


class EncodedSource(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="kind", tag="encoded"):
    """Video that the consumer encodes and feeds itself; 1 to 7680 by 1 to 4320 pixels, beyond which session.open answers source."""

    codec: FedCodec
    width: UnsignedInt32
    height: UnsignedInt32


SessionSource: TypeAlias = Annotated[
    PortalSource | X11Source | DisplaySource | EncodedSource,
    Meta(description="Where the picture of a session comes from."),
]
"""Where the picture of a session comes from."""


class IceServer(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One STUN or TURN server."""

    urls: Annotated[
        tuple[Text, ...], Meta(description="The server's addresses; all of them are used.")
    ]
    """The server's addresses; all of them are used."""
    username: OptionalString | UnsetType = UNSET
    credential: OptionalString | UnsetType = UNSET


class OpenParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """How to open a session; every member has a default."""

    source: (
        Annotated[
            SessionSource,
            Meta(description="The picture's source; absent or null asks the portal."),
        ]
        | None
        | UnsetType
    ) = UNSET
    """The picture's source; absent or null asks the portal."""
    permissions: (
        Annotated[
            tuple[Permission, ...],
            Meta(
                description="What the session may do; none by default, and a session without view is refused."
            ),
        ]
        | UnsetType
    ) = UNSET
    """What the session may do; none by default, and a session without view is refused."""
    max_width: (
        Annotated[
            int,
            Meta(
                description="The width of the box the picture is scaled into, never up; default 3840, 0 is no box.",
                ge=0,
                le=4294967295,
            ),
        ]
        | UnsetType
    ) = UNSET
    """The width of the box the picture is scaled into, never up; default 3840, 0 is no box."""
    max_height: (
        Annotated[
            int,
            Meta(
                description="The height of the box the picture is scaled into, never up; default 2160, 0 is no box.",
                ge=0,
                le=4294967295,
            ),
        ]
        | UnsetType
    ) = UNSET
    """The height of the box the picture is scaled into, never up; default 2160, 0 is no box."""
    bitrate_kbps: (
        Annotated[
            int,
            Meta(
                description="The bit rate ceiling; default 0, which sizes it to the picture.",
                ge=0,
                le=4294967295,
            ),
        ]
        | UnsetType
    ) = UNSET
    """The bit rate ceiling; default 0, which sizes it to the picture."""
    max_fps: (
        Annotated[
            int,
            Meta(
                description="The frame rate cap, brought into 1 to 60; default 30.",
                ge=0,
                le=4294967295,
            ),
        ]
        | UnsetType
    ) = UNSET
    """The frame rate cap, brought into 1 to 60; default 30."""
    ice_servers: (
        Annotated[
            tuple[IceServer, ...], Meta(description="STUN and TURN servers; none by default.")
        ]
        | UnsetType
    ) = UNSET
    """STUN and TURN servers; none by default."""
    restore_token: (
        Annotated[
            str,
            Meta(description="The token of an earlier session.restoreToken event."),
        ]
        | None
        | UnsetType
    ) = UNSET
    """The token of an earlier session.restoreToken event."""
    ttl_seconds: OptionalUnsignedInt64 | UnsetType = UNSET
    loopback_tcp: (
        Annotated[
            bool,
            Meta(
                description="Whether to offer ICE over TCP on 127.0.0.1 too; default false."
            ),
        ]
        | UnsetType
    ) = UNSET
    """Whether to offer ICE over TCP on 127.0.0.1 too; default false."""
    agent_indicator: (
        Annotated[
            bool,
            Meta(
                description="Whether the desktop shows that an agent acts; default false."
            ),
        ]
        | UnsetType
    ) = UNSET
    """Whether the desktop shows that an agent acts; default false."""
    local_frames: (
        Annotated[
            bool,
            Meta(
                description="Whether the newest frame is kept for session.frame; default true."
            ),
        ]
        | UnsetType
    ) = UNSET
    """Whether the newest frame is kept for session.frame; default true."""


class ClientDescription(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A session description from the client; any type but answer is refused with operation."""

    type: Text
    sdp: Text


class DescriptionParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """The client's answer to the engine's offer."""

    session_id: Text
    generation: OptionalUnsignedInt64 | UnsetType = UNSET
    description: ClientDescription


class CandidateParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """An ICE candidate of the client."""

    session_id: Text
    generation: OptionalUnsignedInt64 | UnsetType = UNSET
    candidate: Text
    sdp_mid: OptionalString | UnsetType = UNSET
    sdp_m_line_index: (
        Annotated[UnsignedInt16, Meta(description="The index of the media line.")]
        | None
        | UnsetType
    ) = UNSET
    """The index of the media line."""
    sdp_m_line_index_1: (
        Annotated[
            UnsignedInt16,
            Meta(description="The browser's spelling of sdp_m_line_index, taken when that is absent."),
        ]
        | None
        | UnsetType
    ) = field(name="sdpMLineIndex", default=UNSET)
    """The browser's spelling of sdp_m_line_index, taken when that is absent."""


class SessionParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Only which session is meant: session.restart_ice, session.clipboard.read, session.close."""

    session_id: Text
    generation: OptionalUnsignedInt64 | UnsetType = UNSET


class FrameParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Which frame to wait for, and where to write it."""

    session_id: Text
    generation: OptionalUnsignedInt64 | UnsetType = UNSET
    since: (
        Annotated[
            UnsignedInt64,
            Meta(description="The sequence number that damage is told since."),
        ]
        | None
        | UnsetType
    ) = UNSET
    """The sequence number that damage is told since."""
    after_seq: (
        Annotated[
            UnsignedInt64,
            Meta(description="Wait until the sequence number exceeds this."),
        ]
        | None
        | UnsetType
    ) = UNSET
    """Wait until the sequence number exceeds this."""
    still_ms: (
        Annotated[
            UnsignedInt64,
            Meta(description="Wait until nothing has changed for so many milliseconds."),
        ]
        | None
        | UnsetType
    ) = UNSET
    """Wait until nothing has changed for so many milliseconds."""
    timeout_ms: (
        Annotated[
            UnsignedInt64,
            Meta(description="How long to wait, at most 120000; default 5000."),
        ]
        | None
        | UnsetType
    ) = UNSET
    """How long to wait, at most 120000; default 5000."""
    path: (
        Annotated[
            str,
            Meta(
                description="The file to write, in a directory private to the caller; empty or absent asks for metadata only."
            ),
        ]
        | UnsetType
    ) = UNSET
    """The file to write, in a directory private to the caller; empty or absent asks for metadata only."""
    region: (
        Annotated[
            Box,
            Meta(description="The part of the encoded surface to write; all of it by default."),
        ]
        | None
        | UnsetType
    ) = UNSET
    """The part of the encoded surface to write; all of it by default."""


class FeedParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One access unit of an encoded source."""

    session_id: Text
    generation: OptionalUnsignedInt64 | UnsetType = UNSET
    keyframe: Annotated[
        bool,
        Meta(
            description="Whether the unit is an IDR; counted, and trusted for nothing else."
        ),
    ]
    """Whether the unit is an IDR; counted, and trusted for nothing else."""
    data_b64: Annotated[
        str,
        Meta(
            description="The Annex B unit in standard base64 with padding, at most 8 MiB when decoded.",
            max_length=11184812,
        ),
    ]
    """The Annex B unit in standard base64 with padding, at most 8 MiB when decoded."""


class ClipboardWriteParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """What to put on the desktop's clipboard."""

    session_id: Text
    generation: OptionalUnsignedInt64 | UnsetType = UNSET
    text: (
        Annotated[
            str,
            Meta(description="The text, at most 262144 UTF-8 bytes; empty by default."),
        ]
        | UnsetType
    ) = UNSET
    """The text, at most 262144 UTF-8 bytes; empty by default."""


class PointParams(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Where to show a labelled pointer, or to take it away."""

    session_id: Text
    generation: OptionalUnsignedInt64 | UnsetType = UNSET
    x: SafeInt | UnsetType = UNSET
    y: SafeInt | UnsetType = UNSET
    label: (
        Annotated[
            str,
            Meta(
                description="Printable ASCII to show beside it.",
                max_length=96,
                pattern="^[ -~]*\\Z",
            ),
        ]
        | UnsetType
    ) = UNSET
    """Printable ASCII to show beside it."""
    timeout_ms: (
        Annotated[
            int, Meta(description="How long it stays; default 3000.", ge=1, le=120000)
        ]
        | UnsetType
    ) = UNSET
    """How long it stays; default 3000."""
    clear: Annotated[bool, Meta(description="Take it away instead.")] | UnsetType = (
        UNSET
    )
    """Take it away instead."""


class HelloRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="hello"):
    """The first request of a consumer."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: HelloParams


class CapabilitiesRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="capabilities"):
    """Asks what this machine can do; needs no hello and never prompts."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: Annotated[Any, Meta(description="Not read.")] | UnsetType = UNSET
    """Not read."""


class ShutdownRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="shutdown"):
    """Ends every session and the engine."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: Annotated[Any, Meta(description="Not read.")] | UnsetType = UNSET
    """Not read."""


class OpenRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.open"):
    """Opens a session and replaces the one before."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: OpenParams


class DescriptionRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.description"):
    """Hands over the client's answer."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: DescriptionParams


class CandidateRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.candidate"):
    """Hands over a candidate of the client; before the answer it is kept."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: CandidateParams


class RestartIceRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.restart_ice"):
    """Asks for a fresh offer on the same peer connection."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: SessionParams


class FrameRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.frame"):
    """Waits for a frame and writes it to a file."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: FrameParams


class FeedRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.feed"):
    """Feeds one access unit."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: FeedParams


class ClipboardReadRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.clipboard.read"):
    """Reads the desktop's clipboard."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: SessionParams


class ClipboardWriteRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.clipboard.write"):
    """Writes the desktop's clipboard."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: ClipboardWriteParams


class CloseRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.close"):
    """Closes a session."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: SessionParams


class MetricsRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.metrics"):
    """Asks for the counters of the open session."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: Annotated[Any, Meta(description="Not read.")] | UnsetType = UNSET
    """Not read."""


class PointRequest(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="method", tag="session.point"):
    """Shows a labelled pointer on the desktop."""

    id: OptionalUnsignedInt64 | UnsetType = UNSET
    params: PointParams


Request: TypeAlias = Annotated[
    HelloRequest | CapabilitiesRequest | ShutdownRequest | OpenRequest | DescriptionRequest | CandidateRequest | RestartIceRequest | FrameRequest | FeedRequest | ClipboardReadRequest | ClipboardWriteRequest | CloseRequest | MetricsRequest | PointRequest,
    Meta(description="Any request of a consumer to the engine."),
]
"""Any request of a consumer to the engine."""


class X11Facts(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True):
    """Whether the X display of the environment answers, and how large it is."""

    available: Annotated[
        bool, Meta(description="Whether a connection to the display was made.")
    ]
    """Whether a connection to the display was made."""
    size: SizePair | None


class LinuxCapabilities(Struct, frozen=True, forbid_unknown_fields=True, gc=False, kw_only=True, tag_field="platform", tag="linux"):
    """What an engine can do on Linux."""

    protocol: ProtocolVersion
    engine: NonEmptyText
    session: DesktopSession
    x11: X11Facts
    capture: LinuxCapture
    encode: EncodeFacts
    input: LinuxInput
    clipboard: ClipboardFacts
    encoded: EncodedFacts


Capabilities: TypeAlias = Annotated[
    LinuxCapabilities | MacCapabilities | WindowsCapabilities,
    Meta(description="What an engine can do on its machine."),
]
"""What an engine can do on its machine."""
