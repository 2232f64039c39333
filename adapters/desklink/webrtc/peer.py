"""One peer connection: it offers, takes the answer, and holds path, DTLS, control channel and sender together; called by the transport.

The order of a life: an offer; the answer; a path; DTLS over it; then the control channel and the pictures. A restart goes back to the
offer and touches nothing of what stands. What happens is told to the host's `Reports`; what it means, the engine core decides.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ....errors import RemoteProtocolError
from ....machines.desklink import sdp
from ....machines.desklink.effects import PeerPlan
from ...log import get_logger
from ..transport import Reports
from . import library
from .control_channel import ControlChannel
from .path import Path
from .sender import Sender
from .servers import servers

if TYPE_CHECKING:
    from ..encode_loop import Outlet

log = get_logger()

FLUSH_SECONDS = 0.3
"""So long may the client take to acknowledge the last messages."""

HANDSHAKE_SECONDS = 20.0
"""So long may DTLS take on a path that works."""


class Encoding(Protocol):
    """The encode loop of one captured session, on a thread of its own."""

    encoder: str

    @property
    def codec(self) -> str:
        """What it makes, for the metrics; `encoder` is with what."""
        ...

    def wake(self) -> None:
        """A key frame is wanted, or there may be room for a picture: look again."""
        ...

    async def close(self) -> None:
        """End, and wait for the thread."""
        ...


Encode: TypeAlias = "Callable[[str, PeerPlan, Outlet], Encoding]"
"""Begins to encode the pictures of a session for an outlet; called on the event loop."""


class Peer:
    """The peer connection of one session."""

    def __init__(self, session_id: str, plan: PeerPlan, reports: Reports, encode: Encode | None) -> None:
        self._id = session_id
        self._plan = plan
        self._reports = reports
        self._encode = encode
        self._encoding: Encoding | None = None
        certificate, self._fingerprint = library.certificate()
        self._session_number = secrets.randbits(62)
        self._version = 0
        codec: sdp.Codec = "h264" if plan.profile else "vp9"
        ssrc = secrets.randbits(31) * 2 + 1
        self._video = sdp.VideoOffer(codec, plan.profile, ssrc, ssrc ^ 1 or 2, secrets.token_hex(8))
        self._path = Path(servers(plan.ice_servers), plan.loopback_tcp, self)
        self._sender = Sender(self._video, 0 if plan.profile else plan.target_kbps, self)
        self._dtls = library.Dtls(self._path, certificate, self._sender.rtcp)
        self._dtls.on("statechange", self._dtls_changed)
        self._sctp = library.Sctp(self._dtls)
        self._control = ControlChannel(
            self._sctp,
            opened=lambda: reports.channel_opened(session_id),
            closed=lambda: reports.channel_closed(session_id),
            received=lambda text: reports.control_received(session_id, text),
            stuck=lambda: reports.revoke(session_id, "transport", "the client does not read its control channel"),
        )
        self._loop = asyncio.get_running_loop()
        self._negotiated: sdp.Negotiated | None = None
        self._live = False
        self._closed = False
        self._connecting: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def heard_at(self) -> float:
        """When anything came last, in monotonic seconds."""
        return self._path.heard_at

    # Signalling

    async def offer(self) -> None:
        """Offer: for the first time, or again with fresh ICE."""
        credentials, hosts = await self._path.gather()
        self._version += 1
        text = sdp.offer(
            session_id=self._session_number,
            version=self._version,
            ice=credentials,
            fingerprint=self._fingerprint,
            video=self._video,
        )
        self._reports.described(self._id, text)
        for host in hosts:
            self.gathered(host)
        self._path.gather_more()

    def answer(self, text: str) -> None:
        """Take the client's answer. Raises RemoteProtocolError (`transport`), and the offer goes on waiting."""
        if not self._path.is_answer_due:
            raise RemoteProtocolError("transport", "no offer waits for an answer")
        answer = sdp.read_answer(text)
        negotiated = sdp.negotiate(answer, self._video)
        if self._negotiated is not None and negotiated.fingerprint != self._negotiated.fingerprint:
            raise RemoteProtocolError("transport", "the answer to a restart comes from another peer connection", "description.sdp")
        self._sender.negotiated(negotiated.video)
        self._begin_encoding()
        self._path.answer(negotiated.ice, answer.candidates, lite=answer.ice_lite)
        self._negotiated = negotiated

    def _begin_encoding(self) -> None:
        """Have an encoder ready when the path is there; it makes nothing before."""
        if self._encode is not None and self._encoding is None and self._plan.profile is None and not self._sender.muted:
            self._encoding = self._encode(self._id, self._plan, self._sender)
            self._reports.encodes(self._id, self._encoding.codec, self._encoding.encoder)

    def candidate(self, text: str) -> None:
        """Take a candidate of the client. Raises RemoteProtocolError (`transport`)."""
        self._path.candidate(text)

    # The path

    def gathered(self, candidate: str) -> None:
        """There is a candidate."""
        self._reports.gathered(self._id, candidate, self._video.mid, 0)

    def path_found(self) -> None:
        """A path of the newest generation works."""
        if self._connecting is None:
            self._connecting = self._spawn(self._connect())
        elif self._live:
            self._sender.path_changed()
            self._reports.path_up(self._id)

    def path_back(self) -> None:
        """The path is heard again."""
        if self._live:
            self._sender.path_changed()
            self._reports.path_up(self._id)

    async def _connect(self) -> None:
        assert self._negotiated is not None
        mark, server = self._negotiated.fingerprint, self._negotiated.setup == "active"
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                shaken = await self._dtls.begin(server=server, algorithm=mark.algorithm, fingerprint=mark.value)
        except TimeoutError:
            shaken = False
        if self._closed:
            return
        if not shaken:
            self._reports.path_lost(self._id, "transport_failed")
            return
        self._live = True
        self._sender.start(self._dtls)
        self._reports.path_up(self._id)
        await self._sctp.begin(self._negotiated.sctp_port, self._negotiated.max_message_size)

    def _dtls_changed(self) -> None:
        # A handshake that fails is told where it was begun.
        if self._dtls.state == "closed" and self._live and not self._closed:
            self._live = False
            self._reports.path_lost(self._id, "peer_closed")

    # Pictures and messages

    def send(self, message: dict[str, Any]) -> None:
        """Queue a control message, if the channel is open."""
        self._control.send(message)

    def force_keyframe(self) -> None:
        """The next captured picture must be a key frame."""
        self._sender.want_key()

    def stop_encoding(self) -> None:
        """Send no picture any more."""
        self._sender.mute()
        if self._encoding is not None:
            encoding, self._encoding = self._encoding, None
            self._spawn(encoding.close())

    async def send_unit(self, unit: bytes, at: float) -> int:
        """Send a fed access unit."""
        return await self._sender.send_unit(unit, at)

    # What the sender says

    def keyframe_wanted(self) -> None:
        """The client lost what it cannot repair."""
        self._reports.keyframe_wanted(self._id)

    def target_changed(self, kbps: int) -> None:
        """The encoder is to keep this bit rate."""
        self._reports.target_changed(self._id, kbps)

    def room_changed(self) -> None:
        """There may be room for a picture."""
        if self._encoding is not None:
            self._encoding.wake()

    def sending_failed(self, reason: str) -> None:
        """No packet can be sent any more."""
        if not self._closed:
            self._reports.revoke(self._id, "transport", f"no packet can be sent any more: {reason}")

    # The end

    async def close(self) -> None:
        """Send what is queued, say goodbye, and close everything."""
        if self._closed:
            return
        self._closed = True
        self._dtls.remove_all_listeners()
        self.stop_encoding()
        if self._live:
            await self._control.flush(FLUSH_SECONDS)
        self._control.stop()
        self._sender.stop()
        # The handshake is given up; an encoder ends by itself, and is waited for.
        if self._connecting is not None:
            self._connecting.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._sctp.stop()
        await self._dtls.stop()
        await self._path.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("the peer connection failed", session=self._id, error=repr(error), exc_info=error)
            if not self._closed:
                self._reports.revoke(self._id, "transport", f"the peer connection failed: {error}")
