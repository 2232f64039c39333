"""Carries out what the engine core decides: sources, input, files, timers; and reports back. Used by the serve loop and by the Python API.

All of it runs on one event loop. What may block runs on threads: a display server on those of its source, a disk on one of the
host, a look at the machine on one of its own.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from ...errors import LocalProtocolError, ProtocolError, RemoteProtocolError, TriptychError, Unavailable
from ...machines.desklink import effects as do
from ...machines.desklink.clipboard import NO_CLIPBOARD, refused
from ...machines.desklink.clipboard_requests import Outcome
from ...machines.desklink.counters import Sent
from ...machines.desklink.engine import Engine
from ...machines.desklink.geometry import Box, Size
from ...machines.desklink.input import Clipboard
from ...machines.desklink.requests import Request
from ...machines.desklink.session import RevokeCode
from ...machines.wire.lines import TooLong
from ..log import get_logger
from ..worker import Worker
from .mailbox import Mailbox
from .overlay import Overlay
from .private_file import write_private
from .probe import look_at_machine
from .source import X11Source
from .transport import NoTransport, Reports, Transport

if TYPE_CHECKING:
    from .newest import NewestFrame
    from .x11_clipboard import X11Clipboard

log = get_logger()

LINGER_SECONDS = 0.5
"""How long the last tasks may take after everything is closed."""


class Host:
    """One engine with its hands. Make it on a running event loop, and wait for `finished` after `shutdown`.

    `on_emit` gets every response and event, in order; `on_pixels` the pixels of a frame request that keeps them, by its id and before its
    response; `on_unavailable` why a source cannot be opened, before the refusal that says it in one sentence. `failure` is what broke the
    engine itself, if anything did: `on_failure` is told at once, and no request is answered any more.
    """

    def __init__(
        self,
        on_emit: Callable[[do.Emit], None],
        on_pixels: Callable[[int, memoryview], None] | None = None,
        transport: Callable[[Reports], Transport] = NoTransport,
        *,
        on_unavailable: Callable[[Unavailable], None] | None = None,
        on_failure: Callable[[BaseException], None] | None = None,
        greeted: bool = False,
    ) -> None:
        self.finished = asyncio.Event()
        self.failure: BaseException | None = None
        self._engine = Engine(new_session_id=lambda: secrets.token_hex(16), greeted=greeted)
        self._on_emit = on_emit
        self._on_pixels = on_pixels
        self._on_unavailable = on_unavailable
        self._on_failure = on_failure
        self._transport = transport(self)
        self._loop = asyncio.get_running_loop()
        self.mailbox = Mailbox()
        self._files = Worker("desklink-files")
        self._copies: dict[int, memoryview] = {}
        self._sources: dict[str, X11Source] = {}
        self._callers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._calls = count(1)
        self._clipboards: dict[str, X11Clipboard] = {}
        self._overlays: dict[str, Overlay] = {}
        self._signals: asyncio.Queue[do.Signal] = asyncio.Queue()
        self._units: asyncio.Queue[do.SendUnit] = asyncio.Queue()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._peering = [self._spawn(self._signal()), self._spawn(self._send_units())]

    def line(self, line: bytes | TooLong) -> None:
        """Take one line of the consumer."""
        self.mailbox.empty()
        self._run(self._engine.line(line, self._loop.time()))

    def request(self, request: Request) -> None:
        """Take one request of a caller in this process."""
        self.mailbox.empty()
        self._run(self._engine.request(request, self._loop.time()))

    def control(self, session_id: str, text: bytes, *, unicode: bool = False) -> asyncio.Future[dict[str, Any]]:
        """Take one control message of a caller in this process; the future has the answer: `ack`, `rejected` or `clipboard`.

        `unicode`: a text may have characters that the keyboard layout lacks.
        """
        to = next(self._calls)
        answer = self._callers[to] = self._loop.create_future()
        self._run(self._engine.control(session_id, text, to, unicode=unicode))
        return answer

    def shutdown(self) -> None:
        """End the engine; `finished` is set when everything is closed. Safe to call twice."""
        self._run(self._engine.shutdown(self._loop.time()))

    def _run(self, effects: list[do.Effect]) -> None:
        for effect in effects:
            self._do(effect)
        deadline = self._engine.deadline()
        if self._timer is not None:
            if self._timer.when() == deadline:
                return
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            self._timer = self._loop.call_at(deadline, self.guarded, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._run(self._engine.tick(self._loop.time()))

    def _do(self, effect: do.Effect) -> None:
        match effect:
            case do.Emit():
                self._on_emit(effect)
            case do.SendControl(session_id, message, to):
                self._answer(session_id, message, to)
            # What an effect needs is looked up here: by the time its task runs, a later effect may have taken it away.
            case do.JudgeInput(session_id, text, present, _):
                self._spawn(self._judge(effect, self._sources[session_id].judge(text, present)))
            case do.LiftInput(session_id):
                self._spawn(_ignoring_loss(self._sources[session_id].lift()))
            case do.ReadFrame():
                self._read(effect)
            case do.WriteFrame():
                self._spawn(self._write(effect))
            case do.DropFrame(token):
                self._copies.pop(token, None)
            case do.Probe(token):
                self._spawn(self._probe(token))
            case do.OpenSource():
                watch = _Watch(self, effect.session_id, at_once=effect.local_frames)
                source = self._sources[effect.session_id] = X11Source(effect.display, effect.control, effect.max_fps, watch)
                self._spawn(self._open(effect.session_id, source))
            case do.StartCapture(session_id, control):
                self._sources[session_id].start(control)
            case do.ReopenSource(session_id):
                self._spawn(self._reopen(session_id, self._sources[session_id]))
            case do.CloseSource(session_id):
                self._spawn(self._close(session_id, self._sources.pop(session_id), self._clipboards.pop(session_id, None)))
            case do.ReadClipboard() | do.WriteClipboard():
                self._spawn(self._use_clipboard(effect, self._clipboard_of(effect.session_id)))
            case do.StartIndicator(session_id):
                self._spawn(self._indicate(session_id, Overlay(self._sources[session_id].display)))
            case do.Indicate(session_id, kind, x, y) if session_id in self._overlays:
                self._overlays[session_id].told(kind, x, y)
            case do.StopIndicator(session_id) if session_id in self._overlays:
                self._spawn(self._overlays.pop(session_id).close())
            case do.Signal():
                self._signals.put_nowait(effect)
            case do.SendUnit():
                self._units.put_nowait(effect)
            case do.DropFeed():
                while not self._units.empty():
                    self._units.get_nowait()
            case do.StartPeer(session_id, plan):
                code: RevokeCode = "transport" if plan.profile is None else "error"
                self._spawn(self._peer(session_id, self._transport.start(session_id, plan), code))
            case do.CheckPath(session_id):
                heard_at = self._transport.last_heard(session_id)
                self._run(self._engine.path_checked(session_id, heard_at, self._loop.time()))
            case do.ForceKeyframe(session_id):
                self._transport.force_keyframe(session_id)
            case do.StopEncoding(session_id):
                self._transport.stop_encoding(session_id)
            case do.ClosePeer(session_id):
                self._spawn(self._peer(session_id, self._transport.close(session_id)))
            case do.Exit():
                self._spawn(self._finish())

    # Sources

    async def _open(self, session_id: str, source: X11Source) -> None:
        try:
            size = await source.open()
        except (TriptychError, OSError) as error:
            # Of the operating system: no memory, no descriptors. The engine goes on.
            if isinstance(error, Unavailable) and self._on_unavailable is not None:
                self._on_unavailable(error)
            refused = RemoteProtocolError("source", str(error), "source")
            self._run(self._engine.open_failed(session_id, refused, self._loop.time()))
            if self._sources.pop(session_id, None):
                await source.close()
        else:
            self._run(self._engine.opened(session_id, size, source.layout, self._loop.time()))

    async def _reopen(self, session_id: str, source: X11Source) -> None:
        try:
            await source.reopen()
        except (TriptychError, OSError) as error:
            log.info("the capture could not be opened again", session=session_id, reason=str(error))
            self._run(self._engine.reopen_failed(session_id, self._loop.time()))
        else:
            self._run(self._engine.reopened(session_id, self._loop.time()))

    async def _close(self, session_id: str, source: X11Source, clipboard: X11Clipboard | None) -> None:
        closing = [clipboard.close()] if clipboard else []
        closed, *_ = await asyncio.gather(source.close(), *closing)
        if not closed:
            log.warning("the display server did not answer; its connections are left behind", session=session_id)
        self._run(self._engine.source_closed(session_id, self._loop.time()))

    def captured(self, session_id: str, damage: tuple[Box, ...], source: Size, micros: int, at: float) -> None:
        """A source saw a change."""
        self._run(self._engine.captured(session_id, damage, source, micros, at))

    def grab_failed(self, session_id: str) -> None:
        """A source got no picture."""
        self._engine.grab_failed(session_id)

    def capture_lost(self, session_id: str, reason: str) -> None:
        """A source ended by itself."""
        self._run(self._engine.capture_lost(session_id, reason, self._loop.time()))

    # What the peer connection says

    def channel_opened(self, session_id: str) -> None:
        """The control channel is open."""
        self._run(self._engine.channel_opened(session_id))

    def channel_closed(self, session_id: str) -> None:
        """The control channel is gone."""
        self._run(self._engine.channel_closed(session_id))

    def control_received(self, session_id: str, text: bytes) -> None:
        """The client sent a control message."""
        self._run(self._engine.control(session_id, text))

    def described(self, session_id: str, sdp: str) -> None:
        """The peer connection offers."""
        self._run(self._engine.described(session_id, sdp))

    def gathered(self, session_id: str, candidate: str, mid: str | None, index: int | None) -> None:
        """The peer connection has a candidate."""
        self._run(self._engine.gathered(session_id, candidate, mid, index))

    def path_up(self, session_id: str) -> None:
        """The peer connection has a path that works."""
        self._run(self._engine.path_up(session_id, self._loop.time()))

    def path_lost(self, session_id: str, event: Literal["transport_failed", "peer_closed"]) -> None:
        """The peer connection is lost for good."""
        self._run(self._engine.path_lost(session_id, event, self._loop.time()))

    def keyframe_wanted(self, session_id: str) -> None:
        """The client lost what it cannot repair."""
        self._run(self._engine.keyframe_wanted(session_id, self._loop.time()))

    def newest(self, session_id: str, surface: Size) -> NewestFrame | None:
        """The newest pictures of a source, for an encoder."""
        source = self._sources.get(session_id)
        return source.newest(surface) if source else None

    def encodes(self, session_id: str, codec: str, encoder: str) -> None:
        """The peer connection encodes with this."""
        self._engine.encodes(session_id, codec, encoder)

    def sent(self, session_id: str, sent: Sent, *, first: bool) -> None:
        """From any thread: the peer connection sent a picture."""
        self.mailbox.put(self.guarded, self._sent, session_id, sent, can_wait=not first)

    def _sent(self, session_id: str, sent: Sent) -> None:
        self._run(self._engine.sent(session_id, sent, self._loop.time()))

    def superseded(self, session_id: str) -> None:
        """A picture was too late for the encoder."""
        self._engine.superseded(session_id)

    def target_changed(self, session_id: str, kbps: int) -> None:
        """The encoder has another bit rate."""
        self._engine.target_changed(session_id, kbps)

    def revoke(self, session_id: str, code: RevokeCode, reason: str) -> None:
        """The session cannot go on."""
        self._run(self._engine.revoke(session_id, code, reason, self._loop.time()))

    # Frames

    def _read(self, effect: do.ReadFrame) -> None:
        def copied(pixels: memoryview) -> None:
            self._copies[effect.token] = pixels
            self._run(self._engine.frame_read(effect.session_id, effect.token, self._loop.time()))

        self._sources[effect.session_id].copy(effect.region, effect.surface, lambda pixels: self.guarded(copied, pixels))

    async def _write(self, effect: do.WriteFrame) -> None:
        if (copy := self._copies.pop(effect.token, None)) is None:
            return  # dropped meanwhile: the request was refused, and nothing is written
        failure: ProtocolError | None = None
        if effect.path:
            try:
                await self._files.submit(write_private, effect.path, copy)
            except ProtocolError as error:
                failure = error
        elif self._on_pixels is not None and effect.request_id is not None:
            self._on_pixels(effect.request_id, copy)
        self._run(self._engine.frame_written(effect.session_id, effect.token, failure, self._loop.time()))

    # The rest

    async def _judge(self, asked: do.JudgeInput, judging: asyncio.Future[dict[str, Any] | Clipboard]) -> None:
        verdict = await judging
        if isinstance(verdict, Clipboard):
            self._run(self._engine.clipboard_asked(asked.session_id, verdict, asked.to))
            return
        self._answer(asked.session_id, verdict, asked.to)
        if verdict["kind"] == "ack":
            self._run(self._engine.applied(asked.session_id, asked.text, asked.present.source))

    def _clipboard_of(self, session_id: str) -> X11Clipboard | None:
        if session_id not in self._clipboards:
            try:
                from .x11_clipboard import X11Clipboard
            except ModuleNotFoundError:
                return None
            self._clipboards[session_id] = X11Clipboard(self._sources[session_id].display)
        return self._clipboards[session_id]

    async def _use_clipboard(self, asked: do.ReadClipboard | do.WriteClipboard, clipboard: X11Clipboard | None) -> None:
        outcome: Outcome = None
        try:
            if clipboard is None:
                raise refused(NO_CLIPBOARD)
            if isinstance(asked, do.ReadClipboard):
                outcome = await clipboard.read()
            else:
                await clipboard.write(asked.text)
        except ProtocolError as error:
            outcome = error
        self._run(self._engine.clipboard_answered(asked.session_id, asked.token, outcome))

    async def _indicate(self, session_id: str, overlay: Overlay) -> None:
        try:
            if session_id in self._sources and await overlay.start() and session_id in self._sources:
                self._overlays[session_id] = overlay
        finally:
            if session_id not in self._overlays:
                await overlay.close()

    def _answer(self, session_id: str, message: dict[str, Any], to: int | None) -> None:
        if to is None:
            self._transport.send(session_id, message)
        elif (answer := self._callers.pop(to, None)) is not None and not answer.done():
            answer.set_result(message)

    async def _peer(self, session_id: str, act: Coroutine[Any, Any, None], code: RevokeCode = "transport") -> None:
        """A peer connection that cannot be built, or closed, costs its own session and no more."""
        try:
            await act
        except Exception as error:
            self._peer_failed(session_id, error, code)

    def _peer_failed(self, session_id: str, error: Exception, code: RevokeCode) -> None:
        log.warning("the peer connection failed", session=session_id, error=repr(error))
        reason = error.detail if isinstance(error, ProtocolError) else f"the peer connection failed: {error}"
        self._run(self._engine.revoke(session_id, code, reason, self._loop.time()))

    async def _probe(self, token: int) -> None:
        facts = await look_at_machine(self._transport.encode_codecs, self._transport.fed_codecs)
        self._run(self._engine.probed(token, facts))

    async def _signal(self) -> None:
        while True:
            effect = await self._signals.get()
            failure: ProtocolError | None = None
            try:
                await self._transport.signal(effect.session_id, effect.kind, effect.params)
            except ProtocolError as error:
                failure = error
            except Exception as error:
                log.warning("the peer connection failed", session=effect.session_id, error=repr(error))
                failure = RemoteProtocolError("transport", f"the peer connection failed: {error}")
            self._run(self._engine.signalled(effect.token, failure, self._loop.time()))

    async def _send_units(self) -> None:
        while True:
            effect = await self._units.get()
            began = time.perf_counter()
            sent: Sent | None = None
            try:
                if size := await self._transport.send_unit(effect.session_id, effect.unit, effect.at):
                    micros = int((time.perf_counter() - began) * 1e6)
                    sent = Sent(size, key=effect.keyframe, encode_micros=micros)
            except Exception as error:
                self._peer_failed(effect.session_id, error, "transport")
            self._run(self._engine.unit_sent(effect.session_id, sent, self._loop.time()))

    async def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._peering:
            task.cancel()
        self._files.close()
        # What is still under way ends in order: a peer connection is closed, a file is written whole.
        others = self._tasks - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=LINGER_SECONDS)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._fail_callers(Unavailable("the engine has ended"))
        self.finished.set()

    def _fail_callers(self, error: BaseException) -> None:
        for answer in self._callers.values():
            if not answer.done():
                answer.set_exception(error)
        self._callers.clear()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    def guarded(self, call: Callable[..., None], *arguments: Any) -> None:
        """Carry out a callback of the event loop, to which nobody listens: what it raises has broken the engine."""
        try:
            call(*arguments)
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """The engine itself is broken: end it in order, as far as that still works."""
        log.error("the engine failed", error=repr(error), exc_info=error)
        if self.failure is None:
            self.failure = error
            self._fail_callers(error)
            if self._on_failure is not None:
                self._on_failure(error)
            try:
                self.shutdown()
            except Exception as another:
                log.error("the engine cannot end in order", error=repr(another))
                self.finished.set()


@dataclass
class _Watch:
    """What a source of one session tells the host; `at_once` of each frame, and always of a new size."""

    host: Host
    session_id: str
    at_once: bool
    size: Size | None = None

    def captured(self, damage: tuple[Box, ...], source: Size, micros: int, at: float) -> None:
        can_wait, self.size = not self.at_once and source == self.size, source
        call = self.host.captured, self.session_id, damage, source, micros, at
        self.host.mailbox.put(self.host.guarded, *call, can_wait=can_wait)

    def grab_failed(self) -> None:
        self.host.guarded(self.host.grab_failed, self.session_id)

    def capture_lost(self, reason: str) -> None:
        self.host.guarded(self.host.capture_lost, self.session_id, reason)


async def _ignoring_loss(lifting: asyncio.Future[None]) -> None:
    try:
        await lifting
    except (Unavailable, LocalProtocolError) as error:
        log.debug("nothing to lift any more", reason=str(error))
