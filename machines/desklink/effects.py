"""What the engine core asks its host to do: one frozen dataclass each, carried out in the order in which they are returned.

The host answers those that say so by calling the named method of the engine; it decides nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...generated.desklink import models
from .geometry import Box, Size
from .input import ControlInput, Present


@dataclass(frozen=True)
class Emit:
    """Send `message`, a response or an event, to the consumer as one line.

    `droppable`: a consumer that is behind may miss it, since a later one of its kind tells more.
    """

    message: dict[str, Any]
    droppable: bool = False


@dataclass(frozen=True)
class Probe:
    """Look at the machine without prompting anybody; answer with `probed(token, facts)`."""

    token: int


@dataclass(frozen=True)
class OpenSource:
    """Connect to an X display; answer with `opened` or `open_failed`. `display` None is the one of the environment.

    `local_frames`: each changed frame is told of at once; else they are only counted, and `captured` may come late.
    """

    session_id: str
    display: str | None
    control: bool
    max_fps: int
    local_frames: bool


@dataclass(frozen=True)
class StartCapture:
    """Begin to report changed frames of an opened source: `captured`, `grab_failed`, `capture_lost`. `control` judges its input."""

    session_id: str
    control: ControlInput


@dataclass(frozen=True)
class ReopenSource:
    """Connect the capture of a session again, asking nobody; answer with `reopened` or `reopen_failed`."""

    session_id: str


@dataclass(frozen=True)
class CloseSource:
    """Lift what is held, end the capture and wait for its thread, close the connections; answer with `source_closed`."""

    session_id: str


@dataclass(frozen=True)
class JudgeInput:
    """Let the session's `ControlInput` judge `text`, carry out what it says, and send its answer as `SendControl` would.

    Then call `applied` when it was carried out; a clipboard message is answered by the engine instead: call `clipboard_asked`.
    It happens on the thread of the source's input, in order: the rules ask the live keyboard layout, which a display server may delay.
    `present` is what holds of the session now, when the message comes in; that thread looks at nothing else of it.
    """

    session_id: str
    text: bytes
    present: Present
    to: int | None


@dataclass(frozen=True)
class LiftInput:
    """Lift every key and button that the session holds."""

    session_id: str


@dataclass(frozen=True)
class ReadFrame:
    """Copy `region` of the newest frame, scaled to `surface`; answer with `frame_read(token)`, exactly between two `captured`."""

    session_id: str
    token: int
    region: Box
    surface: Size


@dataclass(frozen=True)
class WriteFrame:
    """Write the copy that was read for `token` to the private file `path`; when that is empty, hand it to the caller of `request_id`.

    Answer with `frame_written(token, failure)`.
    """

    session_id: str
    token: int
    path: str
    request_id: int | None


@dataclass(frozen=True)
class DropFrame:
    """Forget the copy that was, or will be, read for `token`."""

    token: int


@dataclass(frozen=True)
class Signal:
    """Hand an answer, a candidate or an ICE restart to the session's peer connection; answer with `signalled(token, failure)`."""

    session_id: str
    token: int
    kind: str
    params: Any


@dataclass(frozen=True)
class SendControl:
    """Send `message` to the client: on the control channel, or, when `to` is a token, to the caller of `control` in this process."""

    session_id: str
    message: dict[str, Any]
    to: int | None = None


@dataclass(frozen=True)
class PeerPlan:
    """What a peer connection carries: video of `surface` pixels, at most `max_fps` pictures and `target_kbps` kilobits a second.

    `profile`: the video is H.264 that is fed, of this profile-level-id, and none of the three holds for it.
    """

    surface: Size
    max_fps: int
    target_kbps: int
    ice_servers: tuple[models.IceServer, ...]
    loopback_tcp: bool
    profile: str | None = None


@dataclass(frozen=True)
class StartPeer:
    """Build the peer connection of a session and let it offer, if this build has one."""

    session_id: str
    plan: PeerPlan


@dataclass(frozen=True)
class CheckPath:
    """Answer with `path_checked`: when was anything last heard on the path of the session's peer connection?"""

    session_id: str


@dataclass(frozen=True)
class ForceKeyframe:
    """The next picture that the session's peer connection encodes must be a key frame."""

    session_id: str


@dataclass(frozen=True)
class StopEncoding:
    """From now on the session's peer connection sends no picture."""

    session_id: str


@dataclass(frozen=True)
class SendUnit:
    """Send a fed access unit, after those before it; answer with `unit_sent`."""

    session_id: str
    unit: bytes
    keyframe: bool
    at: float


@dataclass(frozen=True)
class DropFeed:
    """Forget the units of the session that are not sent yet."""

    session_id: str


@dataclass(frozen=True)
class ClosePeer:
    """Close the session's peer connection, if it has one."""

    session_id: str


@dataclass(frozen=True)
class ReadClipboard:
    """Read the clipboard of the session's display, after what was asked of it before; answer with `clipboard_answered(token, outcome)`."""

    session_id: str
    token: int


@dataclass(frozen=True)
class WriteClipboard:
    """Put `text` on the clipboard of the session's display, after what was asked of it before; answer with `clipboard_answered`."""

    session_id: str
    token: int
    text: str


@dataclass(frozen=True)
class StartIndicator:
    """Show on the session's display that an agent acts there, if that can be; nothing depends on it."""

    session_id: str


@dataclass(frozen=True)
class Indicate:
    """The agent acted: `kind` is M for a pointer that moved to (x, y) in source pixels, C for a button there, T for typing (-1, -1)."""

    session_id: str
    kind: Literal["M", "C", "T"]
    x: int
    y: int


@dataclass(frozen=True)
class StopIndicator:
    """Take the indicator away."""

    session_id: str


@dataclass(frozen=True)
class Exit:
    """Everything is closed and said: flush, and end."""


Effect = (
    Emit
    | Probe
    | OpenSource
    | StartCapture
    | ReopenSource
    | CloseSource
    | JudgeInput
    | LiftInput
    | ReadFrame
    | WriteFrame
    | DropFrame
    | Signal
    | SendControl
    | StartPeer
    | CheckPath
    | ForceKeyframe
    | StopEncoding
    | SendUnit
    | DropFeed
    | ClosePeer
    | ReadClipboard
    | WriteClipboard
    | StartIndicator
    | Indicate
    | StopIndicator
    | Exit
)
