"""One open session: what its source, its client and its consumer do to it, and what it says to them; called by the engine core.

Pixels, connections and threads belong to the host; here are the numbers, the permissions and the order of things (desklink v3, "State").
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import Any, Literal

from ...errors import IllegalEvent, ProtocolError, RemoteProtocolError
from ...generated.desklink import models
from ...generated.desklink.vocabulary import MAX_ACCESS_UNIT_BYTES, PROTOCOL_VERSION, SESSION_GENERATION
from ..lifecycle import Deadline
from . import capture as grab
from . import ice as path
from . import session as chart
from .clipboard_requests import ClipboardRequests, Outcome
from .counters import Counters, Sent
from .effects import (
    CheckPath,
    ClosePeer,
    CloseSource,
    DropFeed,
    Effect,
    Emit,
    ForceKeyframe,
    Indicate,
    JudgeInput,
    LiftInput,
    ReopenSource,
    SendControl,
    SendUnit,
    StartCapture,
    StartIndicator,
    StartPeer,
    StopEncoding,
    StopIndicator,
)
from .feed import AskForKeyframe, Feed, Offer, Order, Send
from .frame_requests import FrameRequests
from .frames import Frames
from .geometry import Box, Size, contains, damage_to_encoded, to_source
from .input import Answer, Clipboard, ControlInput, Forward, Present
from .keys import Layout
from .messages import CONTROL_MESSAGES, given
from .opening import Opening, opened
from .requests import Request, say


class Live:
    """An open session. `source` is the size of what is captured, or of the video that the consumer feeds."""

    def __init__(self, session_id: str, asked: Opening, source: Size, layout: Layout | None, tokens: Iterator[int]) -> None:
        self.id = session_id
        self.fed = asked.encoded is not None
        self._asked = asked
        self._source = self._present = source
        self._surface = asked.surface(source)
        self._control = ControlInput(asked.permissions, self._surface, layout, forwards=self.fed, clipboard=not self.fed)
        self._channel_open = self._refusing = False
        self._frames = Frames(self._surface)
        self._requests = FrameRequests(session_id, self._frames, tokens)
        self._clipboard = ClipboardRequests(session_id, tokens, exists=not self.fed, permitted="clipboard" in asked.permissions)
        self._session = chart.Session()
        self._capture = grab.Capture()
        self._path = path.Ice()
        self._feed = Feed()
        self._profile: str | None = None
        self._deadlines: dict[str, float] = {}
        self._farewell: list[Effect] = []
        self._counters = Counters()
        self._target_kbps = asked.target_kbps(self._surface)

    @property
    def over(self) -> bool:
        """Whether the session has ended. Its last event comes with `farewell`, when nothing of it runs any more."""
        return self._session.state == "ended"

    # Beginning, time, end

    def opened(self) -> dict[str, Any]:
        """The result of `session.open`."""
        return opened(self.id, "encoded" if self.fed else "x11-root", self._source, self._surface)

    def begin(self, now: float) -> list[Effect]:
        """The source is open and the consumer knows the session."""
        told = self._step("opened", now, captured=not self.fed, lease=float(self._asked.ttl_seconds))
        if self.fed:
            return told
        self._capture.step("started", now)
        shown: list[Effect] = [StartIndicator(self.id)] if self._asked.agent_indicator else []
        return [*told, StartCapture(self.id, self._control), *shown]

    def end(self, event: Literal["close", "replace"], now: float) -> list[Effect]:
        """The consumer wants no more of it."""
        return self._step(event, now)

    def farewell(self) -> list[Effect]:
        """The source is closed: what is still to be said."""
        said, self._farewell = self._farewell, []
        return said

    def deadline(self) -> float | None:
        """When `tick` is due."""
        times = [*self._deadlines.values(), self._requests.deadline(), self._feed.deadline()]
        return min((at for at in times if at is not None), default=None)

    def tick(self, now: float) -> list[Effect]:
        """Time has passed."""
        effects: list[Effect] = []
        for name in [name for name, at in self._deadlines.items() if at <= now]:
            if self._deadlines.pop(name, None) is None:
                continue  # an earlier one of them has cancelled it
            match name:
                case "lease_expired":
                    effects += self._step(name, now)
                case "path_silent":
                    effects.append(CheckPath(self.id))
                case _:
                    effects += self._step_capture(name, now)
        if (due := self._feed.deadline()) is not None and due <= now:
            effects += self._feed_orders(self._feed.tick(now), now)
        return effects + self._requests.look(now)

    def revoke(self, code: chart.RevokeCode, reason: str, now: float) -> list[Effect]:
        """The engine ends the session by itself."""
        return self._step("revoke", now, code=code, reason=reason)

    # The peer connection

    def described(self, sdp: str) -> list[Effect]:
        """The peer connection offers."""
        return [self._event("session.description", generation=SESSION_GENERATION, description={"type": "offer", "sdp": sdp})]

    def gathered(self, candidate: str, mid: str | None, index: int | None) -> list[Effect]:
        """The peer connection has a candidate."""
        return [self._event("session.candidate", generation=SESSION_GENERATION, candidate=candidate, sdpMid=mid, sdpMLineIndex=index)]

    def admit(self, method: str, now: float) -> None:
        """Whether the path can take an answer or a restart now. Raises RemoteProtocolError (`transport`)."""
        if method == "session.description" and not self._path.memory.answer_due:
            raise RemoteProtocolError("transport", "no offer waits for an answer")
        if method == "session.restart_ice":
            try:
                self._path.step("restart", now)
            except IllegalEvent:
                raise RemoteProtocolError("transport", "there is no offer yet that could be made anew") from None

    def answer_taken(self, now: float) -> list[Effect]:
        """The peer connection took the client's answer."""
        return self._step_path("answered", now) if self._path.memory.answer_due else []

    def path_up(self, now: float) -> list[Effect]:
        """The peer connection has a path that works."""
        return self._step_path("path_up", now)

    def path_checked(self, heard_at: float, now: float) -> list[Effect]:
        """Something was last heard on the path at that time."""
        return self._step_path("path_silent", now, heard_at=heard_at)

    def path_lost(self, event: Literal["transport_failed", "peer_closed"], now: float) -> list[Effect]:
        """The path cannot be had, or the client closed the connection."""
        return self._step_path(event, now)

    def keyframe_wanted(self, now: float) -> list[Effect]:
        """The client reports a loss that it cannot repair (PLI or FIR)."""
        return self._feed_orders(self._feed.lose(now), now) if self.fed else [ForceKeyframe(self.id)]

    def sent(self, sent: Sent, now: float) -> list[Effect]:
        """The peer connection sent a picture; with the first of them the stream begins."""
        return self._step("first_frame", now) if self._counters.sent(sent) else []

    def unit_sent(self, sent: Sent | None, now: float) -> list[Effect]:
        """A fed unit left the queue: it was sent, or there was nothing in it to send."""
        self._feed.sent()
        return self.sent(sent, now) if sent else []

    def encodes(self, codec: str, encoder: str) -> None:
        """What the pictures are encoded with."""
        self._counters.codec, self._counters.encoder = codec, encoder

    def superseded(self) -> None:
        """A captured picture was replaced by a newer one before it was encoded."""
        self._counters.dropped += 1

    def target_changed(self, kbps: int) -> None:
        """The bit rate that the encoder is told to keep."""
        self._target_kbps = kbps

    # The source

    def captured(self, damage: tuple[Box, ...], source: Size, capture_micros: int, now: float) -> list[Effect]:
        """A frame with changes was captured; `damage` is in source pixels, and everything when the source has a new size."""
        # A root window that was resized is scaled into the surface of the open, and pointer positions follow it.
        self._present = source
        boxes = damage if source == self._surface else tuple(damage_to_encoded(box, source, self._surface) for box in damage)
        self._counters.captured += 1
        self._counters.capture_micros += capture_micros
        if not self._asked.local_frames:
            return []
        self._frames.captured(boxes, now)
        told = {"seq": self._frames.seq, "damage": [list(box) for box in self._frames.damage], "timestamp_us": int(now * 1e6)}
        changed = self._event("session.frame.changed", **told)
        # The next one tells of a sequence number further on.
        return [Emit(changed.message, droppable=True), *self._requests.look(now)]

    def grab_failed(self) -> None:
        """One grab gave no picture, and the display is still there."""
        self._counters.dropped += 1

    def capture_lost(self, reason: str, now: float) -> list[Effect]:
        """The capture has ended by itself."""
        return self._step_capture("lost", now, reason=reason)

    def reopened(self, now: float) -> list[Effect]:
        """The source is connected again."""
        return self._step_capture("reopened", now)

    def reopen_failed(self, now: float) -> list[Effect]:
        """The source could not be connected again."""
        return self._step_capture("reopen_failed", now)

    # What the consumer asks

    def frame(self, request: Request, params: models.FrameParams, now: float) -> list[Effect]:
        """`session.frame`. Raises RemoteProtocolError (`operation`) when this session keeps no frames."""
        if not self._asked.local_frames:
            why = "an encoded source has no lossless frame" if self.fed else "the session was opened without local frames"
            raise RemoteProtocolError("operation", why)
        return self._requests.ask(request, params, now)

    def frame_read(self, token: int, now: float) -> list[Effect]:
        """The pixels for a frame request are copied."""
        return self._requests.read(token, now)

    def frame_written(self, token: int, failure: ProtocolError | None) -> list[Effect]:
        """The pixels for a frame request are where they were asked to be, or could not be put there."""
        return self._requests.written(token, failure)

    def feed(self, request: Request, params: models.FeedParams, now: float) -> list[Effect]:
        """`session.feed`. Raises RemoteProtocolError: `operation`, `malformed`."""
        if not self.fed:
            raise RemoteProtocolError("operation", "only an encoded source is fed")
        unit = _from_base64(params.data_b64)
        if len(unit) > MAX_ACCESS_UNIT_BYTES:
            raise RemoteProtocolError("malformed", f"an access unit is at most {MAX_ACCESS_UNIT_BYTES} bytes", "data_b64")
        if not unit:
            raise RemoteProtocolError("operation", "the access unit is empty", "data_b64")
        orders = self._feed.take(unit, params.keyframe, now)
        # The answer acknowledges the hand-off, and an offer that the unit made possible comes after it.
        return [*say(request, {"accepted": True}), *self._feed_orders(orders, now)]

    def clipboard(self, request: Request, text: str | None) -> list[Effect]:
        """`session.clipboard.write`, or `session.clipboard.read` when there is no text."""
        return self._clipboard.ask(request, text)

    def clipboard_answered(self, token: int, outcome: Outcome) -> list[Effect]:
        """The clipboard was read or written, or could not be."""
        return self._clipboard.answered(token, outcome)

    def point(self, params: models.PointParams) -> dict[str, Any]:
        """`session.point`. Raises RemoteProtocolError: `malformed`, `coordinates`.

        Nothing is shown: on a bare X server the pointer's own sprite is all that stays out of the picture, and it is where the pointer is.
        """
        x, y = given(params.x, None), given(params.y, None)
        if not given(params.clear, False):
            if x is None or y is None:
                raise RemoteProtocolError("malformed", "a point needs x and y", "x" if x is None else "y")
            if not contains(self._surface, x, y):
                raise RemoteProtocolError("coordinates", f"({x},{y}) is outside the {self._surface.width}x{self._surface.height} surface")
        return {"shown": False}

    def metrics(self) -> dict[str, Any]:
        """`session.metrics`: the counters since the session was opened."""
        counted = self._counters.metrics()
        return {
            **counted,
            "dropped_frames": counted["dropped_frames"] + self._feed.dropped,
            "target_kbps": self._target_kbps,
            "input_applied": self._control.applied,
            "input_rejected": self._control.rejected + self._clipboard.rejected,
            "fed_frames": self._feed.fed,
            "input_forwarded": self._control.forwarded,
        }

    # What the client sends

    def channel_opened(self) -> list[Effect]:
        """The control channel is open."""
        self._channel_open = True
        hello = {"kind": "hello", "protocol": PROTOCOL_VERSION, "geometry": self.opened()["geometry"]}
        return [SendControl(self.id, hello)]

    def channel_closed(self) -> list[Effect]:
        """The control channel is gone: nothing that its client held stays down."""
        self._channel_open = False
        return [] if self.fed else [LiftInput(self.id)]

    def control_message(self, text: bytes, to: int | None, *, unicode: bool) -> list[Effect]:
        """One control message, from the channel or from a caller in this process (`to`)."""
        present = Present(self._present, reachable=self._channel_open or to is not None, ended=self._refusing, unicode=unicode)
        if not self.fed:
            return [JudgeInput(self.id, text, present, to)]
        # Nothing physical belongs to a fed source, so there is no thread to wait for.
        match self._control.receive(text, present):
            case Forward(message, reply):
                return [self._event("session.input", input=message), SendControl(self.id, reply, to)]
            case Answer(message):
                return [SendControl(self.id, message, to)]
            case _:
                raise AssertionError("a fed source applies nothing")

    def clipboard_asked(self, asked: Clipboard, to: int | None) -> list[Effect]:
        """A control message for the clipboard passed its checks."""
        return self._clipboard.ask_by_message(asked, to)

    def applied(self, text: bytes, source: Size) -> list[Effect]:
        """A control message was carried out, while the source had that size: show it, if that was asked for."""
        if not self._asked.agent_indicator:
            return []
        match CONTROL_MESSAGES.read(text):
            case models.ControlPointer(phase="move" | "up", x=x, y=y):
                return [Indicate(self.id, "M", *to_source(self._surface, source, x, y))]
            case models.ControlPointer(phase="down", x=x, y=y):
                return [Indicate(self.id, "C", *to_source(self._surface, source, x, y))]
            case models.ControlText() | models.ControlKey(down=True):
                return [Indicate(self.id, "T", -1, -1)]
            case _:
                return []

    # What the lifecycles decide

    def _step(self, event: str, now: float, **data: Any) -> list[Effect]:
        effects: list[Effect] = []
        for effect in self._session.step(event, now, **data):
            match effect:
                case Deadline():
                    self._schedule(effect)
                case chart.EmitState(capture, transport, first_frame):
                    said = self._event("session.state", capture=capture, transport=transport, firstFrame=first_frame)
                    # The last event of a session waits until its source is closed.
                    (self._farewell if self.over else effects).append(said)
                case chart.EmitRevoked(reason, code):
                    effects.append(self._event("session.revoked", reason=reason, code=code))
                case chart.RefuseControl():
                    self._refusing = True
                case chart.ReleaseInput() if not self.fed:
                    effects.append(LiftInput(self.id))
                case chart.StartTransport():
                    effects += self._step_path("offer", now)
                case chart.StopEncoding():
                    effects.append(StopEncoding(self.id))
                case chart.DropFeed():
                    effects += [DropFeed(self.id)] if self.fed else []
                    effects += [StopIndicator(self.id)] if self._asked.agent_indicator else []
                case chart.CloseControl(reason, code):
                    effects.append(SendControl(self.id, {"kind": "revoked", "reason": reason, "code": code}))
                case chart.ClosePeer():
                    effects += [*([] if self._path.is_over else self._step_path("close", now)), ClosePeer(self.id)]
                case chart.StopCapture() if not self.fed:
                    # A capture that was given up has ended before; its source is closed with the session all the same.
                    effects += [] if self._capture.state == "ended" else self._step_capture("close", now)
                    effects += [*self._requests.end(), *self._clipboard.end(), CloseSource(self.id)]
        return effects

    def _step_path(self, event: str, now: float, **data: Any) -> list[Effect]:
        effects: list[Effect] = []
        for effect in self._path.step(event, now, **data):
            match effect:
                case Deadline():
                    self._schedule(effect)
                case path.SendOffer(1):
                    effects.append(StartPeer(self.id, self._asked.peer(self._surface, self._profile)))
                case chart.ReleaseInput() if not self.fed and not self.over:
                    effects.append(LiftInput(self.id))
                case path.EmitTransport(transport):
                    if transport != "connected":
                        self._feed.disconnect()
                    effects += self._step("transport_changed", now, transport=transport)
                case path.RequestKeyframe():
                    effects += self._feed_orders(self._feed.connect(now), now) if self.fed else [ForceKeyframe(self.id)]
                case path.Revoke(reason, code):
                    effects += self._step("revoke", now, code=code, reason=reason)
        return effects

    def _feed_orders(self, orders: list[Order], now: float) -> list[Effect]:
        effects: list[Effect] = []
        for order in orders:
            match order:
                case Offer(profile):
                    self._profile = profile
                    effects += self._step("described", now)
                case Send(unit, keyframe):
                    effects.append(SendUnit(self.id, unit, keyframe, now))
                case AskForKeyframe():
                    effects.append(self._event("session.keyframeRequest", generation=SESSION_GENERATION))
        return effects

    def _step_capture(self, event: str, now: float, **data: Any) -> list[Effect]:
        effects: list[Effect] = []
        for effect in self._capture.step(event, now, **data):
            match effect:
                case Deadline():
                    self._schedule(effect)
                case grab.EmitCaptureStopped(reason):
                    # Input goes to the same display: forget what is held there.
                    effects += [LiftInput(self.id), self._event("session.capture.stopped", reason=reason)]
                case grab.WakeWaiters("stream-stopped"):
                    effects += self._requests.stop(self._capture.memory.reason)
                case grab.DropFrame():
                    self._frames.drop()
                case grab.Reopen():
                    effects.append(ReopenSource(self.id))
                case grab.EmitCapture(capture):
                    if capture == "streaming":
                        self._requests.resume()
                    effects += self._step("capture_changed", now, capture=capture)
        return effects

    def _schedule(self, deadline: Deadline) -> None:
        self._deadlines.pop(deadline.name, None)
        if deadline.at is not None:
            self._deadlines[deadline.name] = deadline.at

    def _event(self, name: str, **members: Any) -> Emit:
        return Emit({"event": name, "params": {"sessionId": self.id, **members}})


def _from_base64(text: str) -> bytes:
    try:
        if len(text) % 4 == 0:  # strict mode alone takes a needless padding
            unit = binascii.a2b_base64(text, strict_mode=True)
            # And it takes bits after the last byte, which no encoder writes.
            if not text.endswith("=") or binascii.b2a_base64(unit[-(len(unit) % 3) :], newline=False).decode() == text[-4:]:
                return unit
    except ValueError:
        pass
    raise RemoteProtocolError("malformed", "not standard base64 with padding", "data_b64")
