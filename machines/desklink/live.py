"""One open session: what its source, its client and its consumer do to it, and what it says to them; called by the engine core.

Pixels, connections and threads belong to the host; here are the numbers, the permissions and the order of things (desklink v3, "State").
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from typing import Any, Literal

from ...errors import ProtocolError, RemoteProtocolError
from ...generated.desklink import models
from ...generated.desklink.vocabulary import MAX_ACCESS_UNIT_BYTES, PROTOCOL_VERSION
from ..lifecycle import Deadline
from . import capture as grab
from . import session as chart
from .effects import ClosePeer, CloseSource, Effect, Emit, JudgeInput, LiftInput, ReopenSource, SendControl, StartCapture, StartPeer
from .frame_requests import FrameRequests
from .frames import Frames
from .geometry import Box, Size, damage_to_encoded
from .input import Answer, Apply, ControlInput, Forward, Present
from .keys import Layout
from .opening import Opening, opened
from .requests import Request


class Live:
    """An open session. `source` is the size of what is captured, or of the video that the consumer feeds."""

    def __init__(self, session_id: str, asked: Opening, source: Size, layout: Layout | None, tokens: Iterator[int]) -> None:
        self.id = session_id
        self.fed = asked.encoded is not None
        self._asked = asked
        self._source = self._present = source
        self._surface = asked.surface(source)
        self._control = ControlInput(asked.permissions, self._surface, layout, forwards=self.fed)
        self._channel_open = self._refusing = False
        self._frames = Frames(self._surface)
        self._requests = FrameRequests(session_id, self._frames, tokens)
        self._session = chart.Session()
        self._capture = grab.Capture()
        self._deadlines: dict[str, float] = {}
        self._farewell: list[Effect] = []
        self._captured = self._dropped = self._fed_units = self._capture_micros = 0

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
        return [*told, StartCapture(self.id, self._control)]

    def end(self, event: Literal["close", "replace"], now: float) -> list[Effect]:
        """The consumer wants no more of it."""
        return self._step(event, now)

    def farewell(self) -> list[Effect]:
        """The source is closed: what is still to be said."""
        said, self._farewell = self._farewell, []
        return said

    def deadline(self) -> float | None:
        """When `tick` is due."""
        times = [*self._deadlines.values(), self._requests.deadline()]
        return min((at for at in times if at is not None), default=None)

    def tick(self, now: float) -> list[Effect]:
        """Time has passed."""
        effects: list[Effect] = []
        for name in [name for name, at in self._deadlines.items() if at <= now]:
            if self._deadlines.pop(name, None) is not None:
                effects += self._step(name, now) if name == "lease_expired" else self._step_capture(name, now)
        return effects + self._requests.look(now)

    def transport_changed(self, transport: chart.Transport, now: float) -> list[Effect]:
        """The peer connection says how it is."""
        return self._step("transport_changed", now, transport=transport)

    def revoke(self, code: chart.RevokeCode, reason: str, now: float) -> list[Effect]:
        """The engine ends the session by itself."""
        return self._step("revoke", now, code=code, reason=reason)

    # The source

    def captured(self, damage: tuple[Box, ...], source: Size, capture_micros: int, now: float) -> list[Effect]:
        """A frame with changes was captured; `damage` is in source pixels, and everything when the source has a new size."""
        # A root window that was resized is scaled into the surface of the open, and pointer positions follow it.
        self._present = source
        boxes = damage if source == self._surface else tuple(damage_to_encoded(box, source, self._surface) for box in damage)
        self._captured += 1
        self._capture_micros += capture_micros
        if not self._asked.local_frames:
            return []
        self._frames.captured(boxes, now)
        changed = self._event("session.frame.changed", seq=self._frames.seq, damage=[list(box) for box in self._frames.damage])
        # The next one tells of a sequence number further on.
        return [Emit(changed.message, droppable=True), *self._requests.look(now)]

    def grab_failed(self) -> None:
        """One grab gave no picture, and the display is still there."""
        self._dropped += 1

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

    def feed(self, params: models.FeedParams) -> dict[str, Any]:
        """`session.feed`. Raises RemoteProtocolError: `operation`, `malformed`."""
        if not self.fed:
            raise RemoteProtocolError("operation", "only an encoded source is fed")
        unit = _from_base64(params.data_b64)
        if len(unit) > MAX_ACCESS_UNIT_BYTES:
            raise RemoteProtocolError("malformed", f"an access unit is at most {MAX_ACCESS_UNIT_BYTES} bytes", "data_b64")
        if not unit:
            raise RemoteProtocolError("operation", "the access unit is empty", "data_b64")
        self._fed_units += 1
        # Nobody is connected: nothing sent now would arrive, and a stale backlog is worth less than the next unit.
        self._dropped += 1
        return {"accepted": True}

    def metrics(self) -> dict[str, Any]:
        """`session.metrics`: the counters since the session was opened."""
        return {
            "captured_frames": self._captured,
            "dropped_frames": self._dropped,
            "encoded_frames": 0,
            "encoded_bytes": 0,
            "key_frames": 0,
            "refined_frames": 0,
            "encode_micros": 0,
            "target_kbps": self._asked.target_kbps(self._surface),
            "input_applied": self._control.applied,
            "input_rejected": self._control.rejected,
            "fed_frames": self._fed_units,
            "input_forwarded": self._control.forwarded,
            "halved_frames": 0,
            "motion_frames": 0,
            "capture_micros": self._capture_micros,
            "convert_micros": 0,
            "queue_micros": 0,
            "send_micros": 0,
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

    def control_message(self, text: bytes, to: int | None) -> list[Effect]:
        """One control message, from the channel or from a caller in this process (`to`)."""
        present = Present(self._present, reachable=self._channel_open or to is not None, ended=self._refusing)
        if not self.fed:
            return [JudgeInput(self.id, text, present, to)]
        # Nothing physical belongs to a fed source, so there is no thread to wait for.
        match self._control.receive(text, present):
            case Forward(message, reply):
                return [self._event("session.input", input=message), SendControl(self.id, reply, to)]
            case Answer(message):
                return [SendControl(self.id, message, to)]
            case Apply():
                raise AssertionError("a fed source applies nothing")

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
                    effects.append(StartPeer(self.id))
                case chart.CloseControl(reason, code):
                    effects.append(SendControl(self.id, {"kind": "revoked", "reason": reason, "code": code}))
                case chart.ClosePeer():
                    effects.append(ClosePeer(self.id))
                case chart.StopCapture() if not self.fed:
                    # A capture that was given up has ended before; its source is closed with the session all the same.
                    effects += [] if self._capture.state == "ended" else self._step_capture("close", now)
                    effects += [*self._requests.end(), CloseSource(self.id)]
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
            return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        pass
    raise RemoteProtocolError("malformed", "not standard base64 with padding", "data_b64")
