"""The engine without its hands: request lines, captured frames, input and time go in; answers, events and effects come out.

Called by the host (adapters/desklink/host.py), which carries the effects out and knows no rule. One session stands at a time. What waits
(a frame request, a source that opens) never holds up what comes after it; signalling, feeding and input keep their order, since each is
judged, and its effect returned, in the order in which it came. `now` is monotonic seconds (desklink v3, "Requests and responses").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Literal

from ...errors import ProtocolError, RemoteProtocolError
from ...generated.desklink.vocabulary import METHOD, PROTOCOL_VERSION, SESSION_GENERATION, UNGATED_METHOD
from ..wire.lines import TooLong
from .capabilities import Facts, capabilities
from .clipboard_requests import Outcome
from .counters import Sent
from .effects import CloseSource, DropFrame, Effect, Emit, Exit, OpenSource, Probe, SendControl, Signal
from .geometry import Box, Size
from .input import Clipboard
from .keys import Layout
from .live import Live
from .messages import HELLO_PARAMS, OPEN_PARAMS, SESSION_PARAMS, given
from .opening import Opening
from .requests import Request, read_request, refusal, say
from .session import RevokeCode

MOST_BEHIND = 256
"""So many requests may wait for a source that is being opened."""

Then = Callable[[float], list[Effect]]


@dataclass(frozen=True)
class _Opening:
    session_id: str
    request: Request
    asked: Opening


class Engine:
    """One engine. Every method returns what the host must do, in order.

    `new_session_id` makes 32 random hexadecimal digits. `greeted`: the caller is of this very version, so no `hello` is due.
    """

    def __init__(self, new_session_id: Callable[[], str], *, greeted: bool = False) -> None:
        self._new_session_id = new_session_id
        self._tokens = count(1)
        self._greeted = greeted
        self._live: Live | None = None
        self._opening: _Opening | None = None
        self._behind: deque[Request] = deque()
        self._closing: dict[str, tuple[Live | None, Then]] = {}
        self._exit: list[Request] | None = None
        self._probes: dict[int, Request] = {}
        self._signals: dict[int, tuple[str, Request]] = {}

    # What the consumer says

    def line(self, line: bytes | TooLong, now: float) -> list[Effect]:
        """Take one line."""
        try:
            if isinstance(line, TooLong):
                raise RemoteProtocolError("malformed", f"a line is at most {line.limit} bytes long")
            request = read_request(line)
        except RemoteProtocolError as error:
            return [Emit(refusal(error))]
        return [] if request is None else self.request(request, now)

    def request(self, request: Request, now: float) -> list[Effect]:
        """Take one parsed request."""
        try:
            return self._take(request, now)
        except RemoteProtocolError as error:
            return say(request, error)

    def shutdown(self, now: float, request: Request | None = None) -> list[Effect]:
        """End, since the consumer asked, closed its end, or a signal came. `Exit` comes last, when everything is closed and said."""
        if self._exit is not None:
            self._exit += [request] if request else []
            return []
        self._exit = [request] if request else []
        over = RemoteProtocolError("session", "the engine is shutting down")
        effects = [effect for waiting in self._behind for effect in say(waiting, over)]
        self._behind.clear()
        if opening := self._opening:
            self._opening = None
            effects += say(opening.request, over)
            if not opening.asked.encoded:
                self._closing[opening.session_id] = (None, _nothing)
                effects.append(CloseSource(opening.session_id))
        if self._live:
            effects += self._end(self._live, "close", _nothing, now)
        return effects + self._leave()

    def _take(self, request: Request, now: float) -> list[Effect]:
        method = request.method
        if self._exit is not None and method != "shutdown":
            raise RemoteProtocolError("session", "the engine is shutting down")
        if not self._greeted and method not in UNGATED_METHOD:
            raise RemoteProtocolError("unsupported-protocol", f"say hello with protocol {PROTOCOL_VERSION} first")
        match method:
            case "hello":
                return self._hello(request)
            case "capabilities":
                return self._probe(request)
            case "shutdown":
                return self.shutdown(now, request)
            case "session.open" if self._opening is None:
                return self._open(request, now)
            case _ if method not in METHOD:
                raise RemoteProtocolError("operation", f"there is no method {method!r}")
            case _ if self._opening and (method == "session.open" or self._live is None):
                # It could not succeed before the source is open, and a consumer need not wait for that to send it.
                if len(self._behind) == MOST_BEHIND:
                    raise RemoteProtocolError("session", "a session is being opened, and too many requests wait for it")
                self._behind.append(request)
                return []
            case _:
                return self._in_session(request, now)

    def _hello(self, request: Request) -> list[Effect]:
        asked = given(HELLO_PARAMS.read_value(request.params).protocol, 0)
        if asked != PROTOCOL_VERSION:
            raise RemoteProtocolError("unsupported-protocol", f"this engine speaks protocol {PROTOCOL_VERSION}, not {asked}")
        self._greeted = True
        return self._probe(request)

    def _probe(self, request: Request) -> list[Effect]:
        token = next(self._tokens)
        self._probes[token] = request
        return [Probe(token)]

    def probed(self, token: int, facts: Facts) -> list[Effect]:
        """The machine was looked at."""
        return say(self._probes.pop(token), capabilities(facts)) + self._leave()

    def _in_session(self, request: Request, now: float) -> list[Effect]:
        if (live := self._live) is None:
            raise RemoteProtocolError("session", "no session is open")
        if request.method == "session.metrics":
            return say(request, live.metrics())
        params = SESSION_PARAMS[request.method].read_value(request.params)
        if params.session_id != live.id:
            raise RemoteProtocolError("session", "this is not the id of the open session", "session_id")
        if given(params.generation, SESSION_GENERATION) != SESSION_GENERATION:
            raise RemoteProtocolError("generation", f"the session has generation {SESSION_GENERATION}", "generation")
        match request.method:
            case "session.frame":
                return live.frame(request, params, now)
            case "session.feed":
                return live.feed(request, params, now)
            case "session.close":
                return self._end(live, "close", lambda _: say(request, {"closed": True}), now)
            case "session.clipboard.read":
                return live.clipboard(request, None)
            case "session.clipboard.write":
                return live.clipboard(request, given(params.text, ""))
            case "session.point":
                return say(request, live.point(params))
            case "session.description" if params.description.type != "answer":
                raise RemoteProtocolError("operation", "only an answer is taken: the engine makes the offers", "description.type")
            case method:
                live.admit(method, now)
                token = next(self._tokens)
                self._signals[token] = live.id, request
                return [Signal(live.id, token, method.removeprefix("session."), params)]

    def signalled(self, token: int, failure: ProtocolError | None, now: float) -> list[Effect]:
        """The peer connection took an answer, a candidate or a restart, or could not."""
        session_id, request = self._signals.pop(token)
        effects = say(request, failure or {"accepted": True})
        if failure is None and request.method == "session.description":
            effects += self._with_live(session_id, lambda live: live.answer_taken(now), now)
        return effects

    # A session begins

    def _open(self, request: Request, now: float) -> list[Effect]:
        asked = Opening.of(OPEN_PARAMS.read_value(request.params))
        opening = self._opening = _Opening(self._new_session_id(), request, asked)
        if asked.encoded:
            return self.opened(opening.session_id, asked.encoded, None, now)
        return [OpenSource(opening.session_id, asked.display, "control" in asked.permissions, asked.max_fps, asked.local_frames)]

    def opened(self, session_id: str, source: Size, layout: Layout | None, now: float) -> list[Effect]:
        """The source is there. Only now is an earlier session closed: a source that cannot be opened costs nobody the old one."""
        opening = self._opening
        if opening is None or opening.session_id != session_id:
            return []
        live = Live(session_id, opening.asked, source, layout, self._tokens)
        if self._live is None:
            return self._begin(opening, live, now)
        return self._end(self._live, "replace", lambda then: self._begin(opening, live, then), now)

    def open_failed(self, session_id: str, error: ProtocolError, now: float) -> list[Effect]:
        """The source could not be opened."""
        opening = self._opening
        if opening is None or opening.session_id != session_id:
            return []
        self._opening = None
        return say(opening.request, error) + self._catch_up(now)

    def _begin(self, opening: _Opening, live: Live, now: float) -> list[Effect]:
        if self._opening is not opening:
            return []
        self._opening, self._live = None, live
        effects = [*say(opening.request, live.opened()), *live.begin(now)]
        return effects + self._catch_up(now)

    def _catch_up(self, now: float) -> list[Effect]:
        waiting = list(self._behind)
        self._behind.clear()
        return [effect for request in waiting for effect in self.request(request, now)]

    # A session ends

    def _end(self, live: Live, event: Literal["close", "replace"], then: Then, now: float) -> list[Effect]:
        return live.end(event, now) + self._bury(live, then, now)

    def _bury(self, live: Live, then: Then, now: float) -> list[Effect]:
        """`live` is over: no request finds it any more; when its source is closed it says so, and `then` follows."""
        self._live = None
        if live.fed:
            return [*live.farewell(), *then(now)]
        self._closing[live.id] = (live, then)
        return []

    def source_closed(self, session_id: str, now: float) -> list[Effect]:
        """Nothing is held, the capture thread has ended, and the connections are closed."""
        live, then = self._closing.pop(session_id)
        return [*(live.farewell() if live else []), *then(now), *self._leave()]

    def _leave(self) -> list[Effect]:
        # A look at the machine is waited for: a consumer may ask for capabilities and close its end at once.
        if self._exit is None or self._closing or self._probes:
            return []
        return [*(effect for request in self._exit for effect in say(request, {})), Exit()]

    # What the session's source, client and clock do

    def deadline(self) -> float | None:
        """When `tick` is due; None while nothing waits for time."""
        return self._live.deadline() if self._live else None

    def tick(self, now: float) -> list[Effect]:
        """Time has passed."""
        return self._with_live(self._live.id, lambda live: live.tick(now), now) if self._live else []

    def control(self, session_id: str, text: bytes, to: int | None = None, *, unicode: bool = False) -> list[Effect]:
        """Take one control message of the client or, with a token `to`, of a caller in this process, who may ask for any character."""
        if live := self._of(session_id):
            return live.control_message(text, to, unicode=unicode)
        return [SendControl(session_id, {"kind": "rejected", "seq": 0, "code": "session", "message": "the session has ended"}, to)]

    def channel_opened(self, session_id: str) -> list[Effect]:
        """The client's control channel is open."""
        return live.channel_opened() if (live := self._of(session_id)) else []

    def channel_closed(self, session_id: str) -> list[Effect]:
        """The client's control channel is gone."""
        return live.channel_closed() if (live := self._of(session_id)) else []

    def captured(self, session_id: str, damage: tuple[Box, ...], source: Size, micros: int, now: float) -> list[Effect]:
        """The picture changed in the boxes `damage`, in source pixels. `micros`: how long looking at it took."""
        return self._with_live(session_id, lambda live: live.captured(damage, source, micros, now), now)

    def grab_failed(self, session_id: str) -> None:
        """One grab gave no picture, though the display is there."""
        if live := self._of(session_id):
            live.grab_failed()

    def capture_lost(self, session_id: str, reason: str, now: float) -> list[Effect]:
        """The capture has ended by itself."""
        return self._with_live(session_id, lambda live: live.capture_lost(reason, now), now)

    def reopened(self, session_id: str, now: float) -> list[Effect]:
        """The source is connected again."""
        return self._with_live(session_id, lambda live: live.reopened(now), now)

    def reopen_failed(self, session_id: str, now: float) -> list[Effect]:
        """The source could not be connected again."""
        return self._with_live(session_id, lambda live: live.reopen_failed(now), now)

    def frame_read(self, session_id: str, token: int, now: float) -> list[Effect]:
        """The pixels for `token` are copied: those of the frame that the newest `captured` told of."""
        return self._with_live(session_id, lambda live: live.frame_read(token, now), now) if self._of(session_id) else [DropFrame(token)]

    def frame_written(self, session_id: str, token: int, failure: ProtocolError | None, now: float) -> list[Effect]:
        """The pixels for `token` are in their file or with their caller, or could not be written."""
        return self._with_live(session_id, lambda live: live.frame_written(token, failure), now)

    def clipboard_asked(self, session_id: str, asked: Clipboard, to: int | None) -> list[Effect]:
        """A control message for the clipboard passed its checks."""
        if live := self._of(session_id):
            return live.clipboard_asked(asked, to)
        rejected = {"kind": "rejected", "seq": asked.seq, "code": "session", "message": "the session has ended"}
        return [] if to is None else [SendControl(session_id, rejected, to)]

    def clipboard_answered(self, session_id: str, token: int, outcome: Outcome) -> list[Effect]:
        """The clipboard was read or written, or could not be."""
        return live.clipboard_answered(token, outcome) if (live := self._of(session_id)) else []

    def applied(self, session_id: str, text: bytes, source: Size) -> list[Effect]:
        """A control message was carried out, on a source of that size."""
        return live.applied(text, source) if (live := self._of(session_id)) else []

    # What the session's peer connection does

    def described(self, session_id: str, sdp: str) -> list[Effect]:
        """It offers."""
        return live.described(sdp) if (live := self._of(session_id)) else []

    def gathered(self, session_id: str, candidate: str, mid: str | None, index: int | None) -> list[Effect]:
        """It has a candidate."""
        return live.gathered(candidate, mid, index) if (live := self._of(session_id)) else []

    def path_up(self, session_id: str, now: float) -> list[Effect]:
        """It has a path that works."""
        return self._with_live(session_id, lambda live: live.path_up(now), now)

    def path_checked(self, session_id: str, heard_at: float, now: float) -> list[Effect]:
        """Something was last heard on its path at that time."""
        return self._with_live(session_id, lambda live: live.path_checked(heard_at, now), now)

    def path_lost(self, session_id: str, event: Literal["transport_failed", "peer_closed"], now: float) -> list[Effect]:
        """It has no path, and gets none; or the client closed it."""
        return self._with_live(session_id, lambda live: live.path_lost(event, now), now)

    def keyframe_wanted(self, session_id: str, now: float) -> list[Effect]:
        """Its client reports a loss that it cannot repair."""
        return self._with_live(session_id, lambda live: live.keyframe_wanted(now), now)

    def sent(self, session_id: str, sent: Sent, now: float) -> list[Effect]:
        """It sent a captured picture."""
        return self._with_live(session_id, lambda live: live.sent(sent, now), now)

    def unit_sent(self, session_id: str, sent: Sent | None, now: float) -> list[Effect]:
        """It sent a fed unit, or found nothing in it to send."""
        return self._with_live(session_id, lambda live: live.unit_sent(sent, now), now)

    def superseded(self, session_id: str) -> None:
        """It had not encoded a captured picture before a newer one came."""
        if live := self._of(session_id):
            live.superseded()

    def encodes(self, session_id: str, codec: str, encoder: str) -> None:
        """It encodes with this."""
        if live := self._of(session_id):
            live.encodes(codec, encoder)

    def target_changed(self, session_id: str, kbps: int) -> None:
        """Its encoder is told to keep this bit rate."""
        if live := self._of(session_id):
            live.target_changed(kbps)

    def revoke(self, session_id: str, code: RevokeCode, reason: str, now: float) -> list[Effect]:
        """It cannot be built, or the encoder refused a picture."""
        return self._with_live(session_id, lambda live: live.revoke(code, reason, now), now)

    def _of(self, session_id: str) -> Live | None:
        return self._live if self._live and self._live.id == session_id else None

    def _with_live(self, session_id: str, act: Callable[[Live], list[Effect]], now: float) -> list[Effect]:
        """What `act` does to the session, unless it has ended meanwhile; and its burial when that ended it."""
        if (live := self._of(session_id)) is None:
            return []
        effects = act(live)
        return effects + self._bury(live, _nothing, now) if live.over else effects


def _nothing(now: float) -> list[Effect]:
    return []
